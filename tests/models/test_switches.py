"""Heads go off and come back."""

from __future__ import annotations

from contextlib import AbstractContextManager

import pytest
import torch

from attention_lab.models import Loaded, load
from attention_lab.models.switches import attention_off, heads_off


@torch.no_grad()
def logits(lab: Loaded, text: str) -> torch.Tensor:
    return lab.model(lab.encode(text)).logits


def test_without_attention_the_last_row_does_not_know_the_others(any_lab: Loaded) -> None:
    boat, clerk = "the boat left the bank", "the clerk left the bank"
    assert not torch.equal(logits(any_lab, boat)[0, -1], logits(any_lab, clerk)[0, -1])
    with attention_off(any_lab.model):
        assert torch.equal(logits(any_lab, boat)[0, -1], logits(any_lab, clerk)[0, -1])
        assert not torch.equal(logits(any_lab, boat)[0, 1], logits(any_lab, clerk)[0, 1])


def test_a_head_that_is_off_hands_over_nothing(lab: Loaded) -> None:
    seen: list[torch.Tensor] = []
    projection = lab.model.transformer.h[1].attn.c_proj
    with heads_off(lab.model, [(1, 0), (1, 2), (0, 3)]):
        watch = projection.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        logits(lab, "the boat left the bank")
        watch.remove()
    heads = seen[0].unflatten(-1, (lab.model.config.n_head, -1)).abs().sum(dim=(0, 1, 3))
    assert [bool(total > 0) for total in heads] == [False, True, False, True]


def test_after_the_block_the_model_is_as_before_also_after_an_exception(lab: Loaded) -> None:
    before = logits(lab, "the boat left the bank")
    for switch in (attention_off(lab.model), heads_off(lab.model, [(0, 0)])):
        with pytest.raises(RuntimeError, match="in the block"):
            _fails_inside(switch, lab, before)
        assert torch.equal(before, logits(lab, "the boat left the bank"))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in lab.model.modules())


def _fails_inside(switch: AbstractContextManager[None], lab: Loaded, before: torch.Tensor) -> None:
    with switch:
        assert not torch.equal(before, logits(lab, "the boat left the bank"))
        raise RuntimeError("in the block")


@pytest.mark.parametrize("head", [(9, 0), (0, 9), (-1, 0), (0, -1)])
def test_a_head_that_is_not_there_is_named(lab: Loaded, head: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"there is no head \(.*layers"), heads_off(lab.model, [head]):
        pass


def test_without_attention_and_positions_the_last_token_alone_decides_and_text_runs_into_a_loop() -> None:
    lab = load("lab-no-positions")
    with attention_off(lab.model):
        rows = logits(lab, "the bank was the bank")[0]
        assert torch.allclose(rows[0], rows[3], atol=1e-5)
        assert torch.allclose(rows[1], rows[4], atol=1e-5)
        ids = lab.encode("Anna saw the boat").tolist()[0]
        following: dict[int, int] = {}
        for _ in range(60):
            next_token = int(lab.model(torch.tensor([ids[-1:]])).logits[0, -1].argmax())
            assert following.setdefault(ids[-1], next_token) == next_token
            ids.append(next_token)
    period = 1 + ids[-2::-1].index(ids[-1])
    assert ids[-period:] == ids[-2 * period : -period]


def test_the_lab_model_without_attention_still_knows_positions(lab: Loaded) -> None:
    with attention_off(lab.model):
        rows = logits(lab, "the bank was the bank")[0]
    assert not torch.allclose(rows[1], rows[4], atol=1e-2)

"""The same names for the same things, and switches that work on both architectures."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch

from attention_lab.models.anatomy import anatomy
from attention_lab.models.switches import attention_off, heads_off
from attention_lab.probes.tiny_models import tiny_gpt2, tiny_llama

IDS = torch.tensor([[3, 1, 4, 1, 5]])
CHANGED = torch.tensor([[3, 2, 4, 1, 5]])


@pytest.fixture(params=[tiny_gpt2, tiny_llama], ids=["gpt2", "llama"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param()


@torch.no_grad()
def logits(model: Any, ids: torch.Tensor) -> torch.Tensor:
    return model(ids).logits


def test_the_parts_carry_the_rows_from_tokens_to_logits(model: Any) -> None:
    parts = anatomy(model)
    seen: list[torch.Tensor] = []
    for part in (parts.blocks[0].whole, parts.blocks[0].mlp, parts.blocks[1].projection, parts.final_norm):
        part.register_forward_hook(lambda module, inputs, output: seen.append(output))
    out = logits(model, IDS)
    rows = [output if torch.is_tensor(output) else output[0] for output in seen]
    assert [row.shape for row in rows] == 4 * [(1, 5, parts.d_model)]
    assert torch.equal(parts.unembedding(rows[3]), out)
    assert parts.tokens.weight.shape == (13, parts.d_model)


def test_counts_are_those_of_the_config() -> None:
    gpt2, llama = anatomy(tiny_gpt2()), anatomy(tiny_llama())
    assert (gpt2.n_layers, gpt2.n_heads, gpt2.n_kv_heads, gpt2.d_model, gpt2.d_head) == (2, 2, 2, 8, 4)
    assert (llama.n_layers, llama.n_heads, llama.n_kv_heads, llama.d_model, llama.d_head) == (2, 4, 2, 16, 4)
    assert gpt2.positions.weight.shape == (32, 8)
    assert llama.positions is None


def test_without_attention_an_early_word_does_not_reach_the_last_row(model: Any) -> None:
    assert not torch.equal(logits(model, IDS)[0, -1], logits(model, CHANGED)[0, -1])
    with attention_off(model):
        off, changed = logits(model, IDS), logits(model, CHANGED)
    assert [bool(torch.equal(*rows)) for rows in zip(off[0], changed[0], strict=True)] == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_all_heads_off_is_attention_off_but_for_the_bias_of_the_projection(model: Any) -> None:
    parts = anatomy(model)
    everything = [(layer, head) for layer in range(parts.n_layers) for head in range(parts.n_heads)]
    for block in parts.blocks:
        if getattr(block.projection, "bias", None) is not None:
            block.projection.bias.zero_()
    with heads_off(model, everything):
        none = logits(model, IDS)
    with attention_off(model):
        off = logits(model, IDS)
    assert torch.equal(none, off)
    with heads_off(model, everything[1:]):
        assert not torch.equal(none, logits(model, IDS))


def test_a_head_that_is_off_hands_over_zeros_and_the_others_what_they_did(model: Any) -> None:
    parts = anatomy(model)
    seen: list[torch.Tensor] = []
    with heads_off(model, [(0, 1)]):
        parts.blocks[0].projection.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        logits(model, IDS)
    logits(model, IDS)
    off, on = (rows.unflatten(-1, (parts.n_heads, parts.d_head)) for rows in seen)
    assert not off[..., 1, :].any()
    others = [head for head in range(parts.n_heads) if head != 1]
    assert torch.equal(off[..., others, :], on[..., others, :])


def test_afterwards_no_hook_is_left(model: Any) -> None:
    before = logits(model, IDS)
    for switch in (attention_off(model), heads_off(model, [(1, 0)])):
        with pytest.raises(RuntimeError, match="inside"):
            _fails_inside(switch)
    assert torch.equal(before, logits(model, IDS))
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_head_that_is_not_there_is_named_with_the_counts() -> None:
    with (
        pytest.raises(ValueError, match=r"no head \(0, 4\): 2 layers, 4 heads each"),
        heads_off(tiny_llama(), [(0, 4)]),
    ):
        pass


def test_another_architecture_is_named() -> None:
    with pytest.raises(ValueError, match="kind 'Linear'.*gpt2 and llama"):
        anatomy(torch.nn.Linear(2, 2))


def _fails_inside(switch: AbstractContextManager[None]) -> None:
    with switch:
        raise RuntimeError("inside")

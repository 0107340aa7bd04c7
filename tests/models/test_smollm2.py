"""The real model, where somebody has added it: CI has not, and skips this file.

The figures are those of the converted weights, from a page of text of our own; another processor moves the last digits.
"""

from __future__ import annotations

import pytest
import torch

from attention_lab.models import Loaded, load, present
from attention_lab.models.adding import ROUND_TRIPS
from attention_lab.models.switches import attention_off, heads_off

pytestmark = pytest.mark.skipif(not present("smollm2"), reason="smollm2 has not been added on this machine")

RIVER = "The river bank was muddy so we walked to the"
#: (layer, head), the four best on random tokens that are repeated.
INDUCTION = [(18, 6), (17, 3), (17, 4), (23, 2)]


@pytest.fixture(scope="module")
def smollm2() -> Loaded:
    return load("smollm2")


@torch.no_grad()
def rows(smollm2: Loaded, text: str) -> torch.Tensor:
    return smollm2.model.model(smollm2.encode(text), use_cache=False).last_hidden_state[0]


def test_its_counts_are_those_of_smollm2_135m(smollm2: Loaded) -> None:
    parts = smollm2.parts
    counts = (parts.n_layers, parts.n_heads, parts.n_kv_heads, parts.d_model, parts.d_head)
    assert counts == (30, 9, 3, 576, 64)
    assert smollm2.model.num_parameters() == 134_515_008
    assert len(smollm2.tokenizer) == 49_152
    for text in ROUND_TRIPS:
        assert smollm2.text(smollm2.encode(text)) == text.lstrip(" ")


def test_another_early_word_moves_the_last_row_and_without_attention_it_does_not(smollm2: Loaded) -> None:
    river, old = rows(smollm2, RIVER), rows(smollm2, RIVER.replace("river", "old"))
    assert float((river[-1] - old[-1]).norm() / river[-1].norm()) == pytest.approx(0.506, abs=0.01)
    assert torch.equal(river[0], old[0])
    with attention_off(smollm2.model):
        river, old = rows(smollm2, RIVER), rows(smollm2, RIVER.replace("river", "old"))
    assert [torch.equal(*pair) for pair in zip(river, old, strict=True)] == [True, False] + 8 * [True]


@torch.no_grad()
def test_its_induction_heads_are_found_and_the_second_copy_needs_them(smollm2: Loaded) -> None:
    drawn = torch.randint(1000, 40000, (1, 40), generator=torch.Generator().manual_seed(0))
    twice = torch.cat([drawn, drawn], dim=1)
    at = torch.arange(40, 80)
    scores = torch.from_numpy(smollm2.patterns(twice))[:, :, at, at - 39].mean(-1)
    found = [(int(i) // 9, int(i) % 9) for i in scores.flatten().topk(4).indices]
    assert set(found) == set(INDUCTION)
    assert float(scores.max()) == pytest.approx(0.895, abs=0.02)
    assert right(smollm2, twice) > 0.5
    with heads_off(smollm2.model, INDUCTION):
        assert right(smollm2, twice) < 0.1


def right(smollm2: Loaded, twice: torch.Tensor) -> float:
    """The share of the second copy's tokens that the model expects most."""
    expected = smollm2.model(twice, use_cache=False).logits[0, 40:-1].argmax(-1)
    return float((expected == twice[0, 41:]).float().mean())

"""Chapter 06: mask, masked pattern and masked head against torch, wrong answers people write, and the slider."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest
from tests.notebooks.test_pages import COURSE

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_06 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.microscope import influence_map

torch = pytest.importorskip("torch")
F = torch.nn.functional

from torch.nn.attention.bias import causal_lower_right, causal_upper_left  # noqa: E402

SEEDS = range(3)
MINUS = float("-inf")


def solved() -> dict:
    """The notebook's own solutions."""
    names = {"torch": torch, "F": F, "exercise": lambda f: f}
    for cell in nbformat.read(COURSE / "solutions" / "06_causal_mask.ipynb", 4).cells:
        if cell.cell_type == "code" and "@exercise" in cell.source:
            exec(cell.source, names)
    return names


SOLVED = solved()
REFERENCE = {name: exercise.reference for name, exercise in exercises("06").items()}
BOTH = pytest.mark.parametrize("answers", [SOLVED, REFERENCE], ids=["solution", "reference"])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# --- against torch ----------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("T", "S"), [(1, 1), (2, 2), (5, 5), (1, 5), (2, 5), (4, 9), (9, 10)])
def test_the_mask_is_torchs_lower_right_triangle(answers, T, S):
    mask = answers["causal_mask"](T, S)
    assert mask.dtype == torch.bool
    assert torch.equal(mask, causal_lower_right(T, S)._materialize())
    if T < S:
        assert not torch.equal(mask, causal_upper_left(T, S)._materialize())


@BOTH
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("T", "S"), [(1, 4), (3, 3), (3, 7), (6, 2)])
@pytest.mark.parametrize("empty", [False, True])
def test_a_masked_pattern_gives_the_blend_of_sdpa(answers, lead, T, S, empty):
    q, k, v = draw(*lead, T, 5), draw(*lead, S, 5, seed=1), draw(*lead, S, 3, seed=2)
    mask = draw(T, S, seed=3) > 0
    mask[:, 0] = True
    if empty:
        mask[T - 1] = False
    pattern = answers["masked_pattern"](q @ k.mT / 5**0.5, mask)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert torch.allclose(pattern @ v, expected, atol=1e-12)
    assert torch.allclose(pattern.sum(-1), mask.any(-1).double().expand(*lead, T))
    assert not empty or not expected[..., T - 1, :].any()


@BOTH
def test_masks_broadcast_over_texts_and_heads_as_in_sdpa(answers):
    q, k, v = draw(2, 3, 4, 5), draw(2, 3, 6, 5, seed=1), draw(2, 3, 6, 7, seed=2)
    lengths = torch.tensor([6, 0])  # the second text is all filling
    padding = (torch.arange(6) < lengths[:, None])[:, None, None]  # (B, 1, 1, S)
    for mask in (padding, padding & answers["causal_mask"](4, 6)):
        pattern = answers["masked_pattern"](q @ k.mT / 5**0.5, mask)
        assert torch.allclose(pattern @ v, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), atol=1e-12)
        assert not pattern[1].any()


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_causal_attention_is_sdpa_with_the_causal_mask(answers, seed):
    for case in exercises()["causal_attention"].cases(np.random.default_rng(seed)):
        q, k, v = (torch.tensor(a) for a in case.args)
        mask = answers["causal_mask"](q.shape[-2], k.shape[-2])
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        assert torch.allclose(answers["causal_attention"](q, k, v), expected, atol=1e-12), case.note


@BOTH
def test_new_rows_give_what_they_give_in_the_whole_text(answers):
    q, k, v = draw(2, 7, 5), draw(2, 7, 5, seed=1), draw(2, 7, 3, seed=2)
    whole = answers["causal_attention"](q, k, v)
    for new in range(1, 8):
        assert torch.allclose(answers["causal_attention"](q[:, -new:], k, v), whole[:, -new:], atol=1e-12)


@BOTH
def test_the_loss_of_chances_that_know_nothing_is_the_log_of_the_vocabulary(answers):
    loss = answers["next_token_loss"](torch.zeros(2, 5, 7), torch.zeros(2, 5, dtype=torch.int64))
    assert loss.ndim == 0
    assert float(loss) == pytest.approx(np.log(7))


@BOTH
def test_repeating_the_word_read_is_bad_and_saying_the_next_is_good(answers):
    ids = torch.arange(12).reshape(2, 6)
    repeats = 50.0 * F.one_hot(ids, 12)
    says_next = 50.0 * F.one_hot(ids + 1, 13)[..., :12]
    assert float(answers["next_token_loss"](repeats, ids)) > 40
    assert float(answers["next_token_loss"](says_next, ids)) < 1e-6


# --- the catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def pattern_by_hand(scores, mask):
    return scores.masked_fill(mask == 0, -1e9).softmax(-1)


def pattern_by_addition(scores, mask):
    return (scores + torch.zeros(mask.shape).masked_fill(mask, MINUS)).softmax(-1)


def where_zero(scores, mask):
    return torch.where(mask, scores.softmax(-1), torch.zeros(()).to(scores))


def in_place(scores, mask):
    return scores.masked_fill_(~mask, MINUS).softmax(-1).nan_to_num(0)


def head(q, k, v, mask, after=False):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    pattern = scores.softmax(-1) * mask if after else scores.masked_fill(~mask, MINUS).softmax(-1)
    return pattern @ v


def ones(q, k):
    return torch.ones(q.size(-2), k.size(-2), dtype=torch.bool)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("next_token_loss", lambda logits, ids: F.cross_entropy(logits.flatten(0, 1), ids.flatten()), "unshifted"),
        ("next_token_loss", lambda logits, ids: F.cross_entropy(logits.mT, ids.roll(-1, 1)), "rolled"),
        (
            "next_token_loss",
            lambda logits, ids: F.cross_entropy(logits[:, :-1].softmax(-1).mT, ids[:, 1:]),
            "softmax_twice",
        ),
        (
            "next_token_loss",
            lambda logits, ids: F.nll_loss(logits[:, :-1].softmax(-1).flatten(0, 1), ids[:, 1:].flatten()),
            "chances_for_logs",
        ),
        (
            "next_token_loss",
            lambda logits, ids: F.cross_entropy(logits[:, 1:].mT, ids[:, :-1], reduction="sum"),
            "backwards+summed",
        ),
        (
            "next_token_loss",
            lambda logits, ids: F.cross_entropy(logits.flatten(0, 1)[:-1], ids.flatten()[1:]),
            "across_texts",
        ),
        (
            "causal_mask",
            lambda T, S=None: torch.ones(T, S or T).triu(1).bool(),
            "aligned_upper_left+true_means_blocked",
        ),
        ("causal_mask", lambda T, S=None: torch.ones(T, S or T).tril().bool(), "aligned_upper_left"),
        ("causal_mask", lambda T, S=None: torch.tril(torch.ones(T, S or T), (S or T) - T), "numbers_for_booleans"),
        ("causal_mask", lambda T, S=None: torch.ones(T, T, dtype=torch.bool).tril(), "square_of_t"),
        ("causal_mask", lambda T, S=None: torch.ones(T, S or T).triu(((S or T) - T) + 1).bool(), "true_means_blocked"),
        ("masked_pattern", pattern_by_hand, "mean_on_empty_rows"),
        ("masked_pattern", pattern_by_addition, "nan_on_empty_rows+true_means_blocked"),
        ("masked_pattern", where_zero, "after_the_softmax"),
        ("masked_pattern", in_place, "scores_overwritten"),
        ("masked_pattern", lambda scores, mask: (scores * mask).softmax(-1), "zeros_for_hidden"),
        ("masked_pattern", lambda scores, mask: (scores + mask).softmax(-1), "mask_added"),
        ("causal_attention", lambda q, k, v: head(q, k, v, ones(q, k).tril()), "aligned_upper_left"),
        ("causal_attention", lambda q, k, v: head(q, k, v, ones(q, q).tril()), "square_of_t"),
        (
            "causal_attention",
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            "aligned_upper_left",
        ),
        ("causal_attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), "unmasked"),
        (
            "causal_attention",
            lambda q, k, v: head(q, k, v, ones(q, k).tril(), after=True),
            "aligned_upper_left+after_the_softmax",
        ),
        (
            "causal_attention",
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, attn_mask=causal_lower_right(q.size(-2), k.size(-2)), scale=1
            ),
            "unscaled",
        ),
    ],
)
def test_answers_written_another_way_than_in_the_catalogue_get_their_names(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- what the page shows ----------------------------------------------------------------------------------------------


def test_left_looks_at_bank_without_a_mask_and_not_with_one():
    x = torch.tensor(rows(WORDS))
    scores = x @ torch.tensor(W_Q) @ (x @ torch.tensor(W_K)).T / 2**0.5
    assert round(float(scores.softmax(-1)[2, 4]), 3) == 0.624
    assert SOLVED["masked_pattern"](scores, SOLVED["causal_mask"](5))[2, 4] == 0


def test_the_microscope_sees_a_triangle_and_what_a_mean_over_the_words_does():
    x = torch.tensor(rows(WORDS))

    def causal(x):
        return SOLVED["causal_attention"](*(x @ torch.tensor(W) for W in (W_Q, W_K, W_V)))

    before = x.clone()
    assert torch.equal(influence_map(causal, x), torch.ones(5, 5).tril().bool())
    assert influence_map(lambda x: causal(x - x.mean(0)), x).all()
    assert torch.equal(x, before)


def test_the_influence_map_is_that_of_chapter_04():
    x = np.random.default_rng(0).standard_normal((4, 3))
    fourth = exercises()["influence_map"].reference
    for f in (lambda x: x[::-1] if isinstance(x, np.ndarray) else x.flip(0), lambda x: x.cumsum(0), lambda x: x * 0):
        assert np.array_equal(influence_map(f, torch.tensor(x)).numpy(), fourth(f, x))


def explored() -> dict:
    """The function behind the slider, with what it needs."""
    cells = nbformat.read(COURSE / "solutions" / "06_causal_mask.ipynb", 4).cells
    (source,) = [c.source for c in cells if c.cell_type == "code" and "def looking" in c.source]
    x = torch.tensor(rows(WORDS))
    scores = x @ torch.tensor(W_Q) @ (x @ torch.tensor(W_K)).T / 2**0.5
    from attention_lab.widgets import PatternData

    names = SOLVED | {"WORDS": WORDS, "scores": scores, "PatternData": PatternData}
    exec(source.split("\n\n\nswitches")[0].split("\nswitches")[0], names)
    return names


@pytest.mark.parametrize("asking", range(1, 6))
@pytest.mark.parametrize("broken", range(8))
def test_the_slider_works_over_its_whole_range(asking, broken):
    after, ahead, blocked = (bool(broken >> bit & 1) for bit in range(3))
    data = explored()["looking"](asking, after, ahead, blocked)
    pattern = np.asarray(data.pattern)
    assert np.isfinite(pattern).all()
    assert sum(data.bars.values()) == pytest.approx(pattern[asking - 1].sum())
    assert WORDS[asking - 1] in data.text
    if broken == 0:
        assert data.bars["ahead"] == 0 and data.bars["itself and before"] == pytest.approx(1)


def test_the_charts_say_what_they_show():
    losses = {"with a mask": [0.8] * 20, "without a mask": [0.8] * 10 + [0.0] * 10}
    chart = charts.loss_chart(list(losses), 3.1, 0.7)
    assert picture(chart, charts.loss_lines(losses)).alt.startswith("Below what is possible: without a mask")
    fine = picture(chart, charts.loss_lines({"with a mask": losses["with a mask"]}))
    assert fine.alt.startswith("No loss goes below the floor")
    late = np.tril(np.full((5, 5), 0.2))
    drawn = picture(charts.too_late_chart(WORDS), (late, late / late.sum(-1, keepdims=True)), size=(9.6, 3.6))
    assert "After the softmax: row sums 0.20 to 1.00" in drawn.alt
    assert "Before it: row sums 1.00." in drawn.alt


def test_the_three_conventions_are_one_mask():
    mask = SOLVED["causal_mask"](5)
    lines = charts.conventions(mask, WORDS).splitlines()[1:]
    for line, row in zip(lines, mask.tolist(), strict=True):
        cells = re.split(r"\s+", line.strip())[1:]
        assert [c == "T" for c in cells[:5]] == row
        assert [c == "F" for c in cells[5:10]] == row
        assert [c == "0" for c in cells[10:]] == row

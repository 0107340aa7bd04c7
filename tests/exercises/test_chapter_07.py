"""Chapter 07: heads against torch, wrong answers people write, the charts, and what the page says of the lab model."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest
from tests.notebooks.test_pages import COURSE

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_07 as charts
from attention_lab.figures import picture
from attention_lab.lesson import W_K, W_Q, WORDS, rows

torch = pytest.importorskip("torch")
F = torch.nn.functional


def cells() -> list[str]:
    return [
        c.source for c in nbformat.read(COURSE / "solutions" / "07_multi_head.ipynb", 4).cells if c.cell_type == "code"
    ]


def solved() -> dict:
    """The notebook's own solutions."""
    names = {"torch": torch, "F": F, "exercise": lambda f: f}
    for source in cells():
        if "@exercise" in source:
            exec(source, names)
    return names


SOLVED = solved()
REFERENCE = {name: exercise.reference for name, exercise in exercises("07").items()}
BOTH = pytest.mark.parametrize("answers", [SOLVED, REFERENCE], ids=["solution", "reference"])


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


# --- against torch ----------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(("width", "heads"), [(12, 3), (10, 5), (7, 1), (6, 6)])
def test_a_head_holds_its_own_columns_of_every_word_and_merging_undoes_it(answers, width, heads):
    x = draw(2, 5, width)
    split = answers["split_heads"](x, heads)
    for h, columns in enumerate(x.chunk(heads, dim=-1)):
        assert torch.equal(split[:, h], columns)
    assert torch.equal(answers["merge_heads"](split), x)


@BOTH
@pytest.mark.parametrize(("width", "heads"), [(14, 4), (3, 5)])
def test_a_width_that_does_not_divide_is_refused_with_both_numbers(answers, width, heads):
    with pytest.raises(ValueError, match=rf"\b{width}\b.*\b{heads}\b"):
        answers["split_heads"](draw(2, 3, width), heads)


@BOTH
@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_the_layer_is_torchs_own(answers, heads):
    x, matrices = draw(2, 5, 6), [draw(6, 6, seed=i) for i in range(1, 5)]
    q, k, v = ((x @ W).unflatten(-1, (heads, -1)).transpose(1, 2) for W in matrices[:3])
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2) @ matrices[3]
    assert torch.allclose(answers["multi_head_attention"](x, *matrices, heads), expected, atol=1e-12)


@BOTH
def test_only_later_rows_move_when_a_word_changes(answers):
    x, matrices = draw(2, 5, 6), [draw(6, 6, seed=i) for i in range(1, 5)]
    before = answers["multi_head_attention"](x, *matrices, 3)
    x[0, 3] += 1
    moved = (answers["multi_head_attention"](x, *matrices, 3) != before).any(-1)
    assert moved.tolist() == [[False, False, False, True, True], [False] * 5]


@BOTH
def test_a_head_that_always_looks_one_back_has_the_score_1(answers):
    pattern = torch.zeros(2, 6, 6)
    pattern[:, 0, 0] = 1
    pattern[0, range(1, 6), range(5)] = 1
    pattern[1, range(1, 6), range(1, 6)] = 1
    assert answers["previous_token_score"](pattern).tolist() == [1, 0]


# --- the catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(REFERENCE))
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def layer(x, W_q, W_k, W_v, W_o, H, split=None, d=None, causal=True, last=True):
    B, T, width = x.shape
    split = split or (lambda rows: rows.view(B, T, H, width // H).transpose(1, 2))
    out = F.scaled_dot_product_attention(
        *(split(x @ W) for W in (W_q, W_k, W_v)), is_causal=causal, scale=(d or width // H) ** -0.5
    )
    merged = out.transpose(1, 2).reshape(B, T, width)
    return merged @ W_o if last else merged


def no_check(x, H):
    return x.view(x.shape[0], x.shape[1], H, -1).transpose(1, 2)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("split_heads", no_check, "no_check"),
        ("split_heads", lambda x, H: x.reshape(x.size(0), H, x.size(1), x.size(2) // H), "reshaped+no_check"),
        ("merge_heads", lambda x: x.reshape(x.size(0), x.size(2), -1), "reshaped"),
        ("merge_heads", lambda x: x.transpose(1, 2).view(x.size(0), x.size(2), -1), "viewed"),
        ("merge_heads", lambda x: x.mean(1), "averaged"),
        ("multi_head_attention", lambda *a: layer(*a, d=a[0].shape[-1]), "scaled_by_width"),
        ("multi_head_attention", lambda *a: layer(*a, causal=False), "unmasked"),
        ("multi_head_attention", lambda *a: layer(*a, last=False), "w_o_forgotten"),
        ("multi_head_attention", lambda *a: layer(*a[:5], 1), "one_head"),
        (
            "multi_head_attention",
            lambda *a: layer(*a, split=lambda r: r.view(r.size(0), a[5], r.size(1), -1)),
            "split_without_transpose",
        ),
        ("multi_head_attention", lambda *a: layer(*a, causal=False, last=False), "unmasked+w_o_forgotten"),
        ("previous_token_score", lambda p: p.diagonal(0, -2, -1).mean(-1), "own_weight"),
        ("previous_token_score", lambda p: p.diagonal(offset=1, dim1=-2, dim2=-1).mean(-1), "next_word"),
        ("previous_token_score", lambda p: p.diagonal(-1, -2, -1).mean(), "over_everything"),
    ],
)
def test_answers_written_another_way_than_in_the_catalogue_get_their_names(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- what the page shows ----------------------------------------------------------------------------------------------


def matrices():
    W_q, W_k = torch.zeros(2, 4, 4, dtype=torch.float64)
    W_q[:, :2], W_k[:, :2] = torch.tensor(W_Q), torch.tensor(W_K)
    W_q[2, 2], W_k[3, 2] = 2.0, 2.0
    return W_q, W_k


def test_two_heads_find_two_words_where_one_head_shares_its_weight():
    x = torch.tensor(rows(WORDS))
    one, two = (charts.head_patterns(x, *matrices(), n) for n in (1, 2))
    assert one[0, 4].max() < 0.5 < min(two[0, 4, 1], two[1, 4, 2])
    assert torch.allclose(two.sum(-1), torch.ones(2, 5, dtype=torch.float64))
    alt = picture(charts.one_and_two_chart(WORDS), (one[0], two[0], two[1])).alt
    assert "One head: bank gives boat 0.41, left 0.35" in alt and "Head 1 of 2: bank gives boat 0.12, left 0.60" in alt


@pytest.mark.parametrize("n_heads", ["1", "2", "4"])
@pytest.mark.parametrize("head", range(4))
def test_the_slider_over_heads_works_over_its_whole_range(n_heads, head):
    from attention_lab.widgets import PatternData

    (source,) = [s for s in cells() if "def at_width_4" in s]
    W_q, W_k = matrices()
    names = {"charts": charts, "x": torch.tensor(rows(WORDS)), "W_q": W_q, "W_k": W_k, "PatternData": PatternData}
    exec(source.split("\n\n\n")[0], names)
    data = names["at_width_4"](n_heads, head)
    assert np.asarray(data.pattern).shape == (5, 5)
    assert f"of {n_heads}" in data.text and list(data.bars) == ["boat", "left", "bank"]


def test_words_are_named_for_every_row_of_every_head():
    ids = torch.arange(5)[:, None].expand(5, 4)
    assert charts.words_of(ids.reshape(2, 5, 2), WORDS).splitlines()[0] == "head 0: the, the, boat, boat, left"
    assert charts.words_of(torch.arange(4).reshape(1, 2, 2), WORDS) == "head 0: the+boat, left+the"


def test_the_microscope_for_texts_sees_who_moves_whom_and_leaves_its_input_alone():
    x = draw(3, 4, 2)
    before = x.clone()
    assert torch.equal(charts.text_influence(lambda x: x * 2, x), torch.eye(3).bool())
    assert charts.text_influence(lambda x: x - x.mean(0), x).all()
    assert torch.equal(x, before)


def test_scores_of_a_perfect_induction_head_and_of_a_sink():
    period = 4
    pattern = torch.zeros(2, 9, 9)  # a start token and two rounds
    pattern[0, range(5, 9), range(2, 6)] = 1
    pattern[1, :, 0] = 1
    assert charts.after_last_time(pattern, period).tolist() == [1, 0]
    assert charts.first_token(pattern).tolist() == [0, 1]


# --- the lab model ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lab():
    pytest.importorskip("transformers")
    from attention_lab.models import load

    return load("lab")


def test_the_same_head_looks_as_far_back_as_the_text_wants(lab):
    for period in (8, 12):
        ids = lab.encode(charts.recited(period), start=True)
        assert ids.shape == (1, 2 * period + 1)
        pattern = lab.patterns(ids)[1, 3]
        assert f"{period - 1} back" in charts.most_looked_at(pattern, charts.token_names(lab, ids))


def test_repeats_are_right_with_all_heads_and_not_without_the_repeating_ones(lab):
    from attention_lab.models.switches import heads_off

    texts = [(charts.recited(period, seed=period), period) for period in (16, 20)]
    assert charts.repeats_right(lab, texts) > 0.9
    with heads_off(lab.model, charts.REPEATING):
        assert charts.repeats_right(lab, texts) < 0.3
    assert not any(set(pair) & set(charts.REPEATING) for pair in charts.other_pairs(20))


def test_the_viewer_shows_every_head_of_the_texts_that_it_offers(lab):
    from attention_lab.widgets import attention_viewer

    (source,) = [s for s in cells() if "attention_viewer(patterns" in s]
    (offered,) = re.findall(r'name = "([^"]+)"', source)
    texts = {"boat": "the boat left the bank", "clerk": "the clerk left the bank", offered: charts.recited(8)}
    ids = {name: lab.encode(text, start=True) for name, text in texts.items()}
    patterns = {name: torch.tensor(lab.patterns(some)) for name, some in ids.items()}
    shown = []

    def kept(*given, **more):
        shown.append(attention_viewer(*given, **more))

    names = {"charts": charts, "lab": lab, "ids": ids, "patterns": patterns, "attention_viewer": kept}
    for text in texts:
        exec(source.replace(offered, text), names)
        spec = shown[-1]._widget.spec
        assert (spec["layers"], spec["heads"], spec["S"]) == (3, 4, ids[text].shape[1])
        assert spec["keys"][0] == "(start)"
    found = charts.jobs(patterns[offered], SOLVED["previous_token_score"], 8)
    alt = picture(charts.jobs_chart(charts.head_names(3, 4)), found).alt
    assert alt.startswith(
        "Head 0.3 looks at the word before: 0.71; Head 1.3 looks at the word after the last time: 0.97"
    )

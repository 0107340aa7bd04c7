"""Chapter 05: the three exercises against torch, a head trained as on the page, and the figures' data."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attention_lab import lesson
from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_05 as charts
from attention_lab.figures import picture
from attention_lab.training import deciding

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

REFERENCE = {name: exercise.reference for name, exercise in exercises("05").items()}
project_qkv, attention_head, match_form = (REFERENCE[n] for n in ("project_qkv", "attention_head", "match_form"))


def cases(name: str, seed: int) -> list:
    return [
        [torch.from_numpy(np.array(a)) for a in case.args]
        for case in exercises()[name].cases(np.random.default_rng(seed))
    ]


def running() -> tuple:
    return tuple(torch.tensor(np.array(a)) for a in (lesson.rows(), lesson.W_Q, lesson.W_K, lesson.W_V))


# --- the references ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_head_is_one_head_of_torchs_multihead_attention(seed: int) -> None:
    for x, W_q, W_k, W_v in cases("attention_head", seed):
        if W_q.shape[1] != x.shape[-1] or W_v.shape[1] != x.shape[-1]:
            continue
        d = x.shape[-1]
        layer = torch.nn.MultiheadAttention(d, 1, bias=False, batch_first=True, dtype=torch.float64)
        layer.in_proj_weight.data = torch.cat([W_q.T, W_k.T, W_v.T])
        layer.out_proj.weight.data = torch.eye(d, dtype=torch.float64)
        assert torch.allclose(layer(x, x, x)[0], attention_head(x, W_q, W_k, W_v), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_form_gives_the_scores_of_queries_and_keys(seed: int) -> None:
    for x, W_q, W_k, W_v in cases("attention_head", seed):
        q, k, v = project_qkv(x, W_q, W_k, W_v)
        expected = q @ k.mT / W_q.shape[1] ** 0.5
        assert torch.allclose(match_form(x, W_q, W_k), expected, atol=1e-12)
        assert torch.allclose(expected.softmax(-1) @ v, attention_head(x, W_q, W_k, W_v), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_form_is_torchs_bilinear_form(seed: int) -> None:
    for x, W_q, W_k in cases("match_form", seed):
        T, d = x.shape[-2:]
        pairs = [part.expand(*x.shape[:-1], T, d).contiguous() for part in (x[..., :, None, :], x[..., None, :, :])]
        expected = functional.bilinear(*pairs, (W_q @ W_k.T)[None] / W_q.shape[1] ** 0.5)[..., 0]
        assert torch.allclose(match_form(x, W_q, W_k), expected, atol=1e-12)


def test_a_turn_of_queries_and_keys_changes_no_score() -> None:
    rng = np.random.default_rng(3)
    x, W_q, W_k = (torch.from_numpy(rng.standard_normal(s)) for s in ((5, 7), (7, 3), (7, 3)))
    turn = torch.linalg.qr(torch.from_numpy(rng.standard_normal((3, 3)))).Q
    assert torch.allclose(match_form(x, W_q @ turn, W_k @ turn), match_form(x, W_q, W_k), atol=1e-12)
    assert not torch.allclose(x @ W_q @ turn, x @ W_q)


def test_bank_looks_at_boat_and_boat_hardly_at_bank() -> None:
    x, W_q, W_k, _ = running()
    pattern = match_form(x, W_q, W_k).softmax(-1)
    assert round(float(pattern[4, 1]), 3) == 0.643 and round(float(pattern[1, 4]), 3) == 0.279


@pytest.mark.parametrize("name", REFERENCE)
def test_the_template_without_switches_is_right(name: str) -> None:
    assert judge(name, exercises()[name].template).passed


# --- answers as they are written -------------------------------------------------------------------------------------


def wrong_linear(x, W_q, W_k, W_v):
    return functional.linear(x, W_q), functional.linear(x, W_k), functional.linear(x, W_v)


def head_with(scores_of, axis=-1):
    return lambda x, W_q, W_k, W_v: scores_of(x @ W_q, x @ W_k).softmax(axis) @ (x @ W_v)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("project_qkv", wrong_linear, "matrices_turned"),
        ("project_qkv", lambda x, W_q, W_k, W_v: (W_q @ x, W_k @ x, W_v @ x), "matrix_first"),
        ("project_qkv", lambda x, W_q, W_k, W_v: [x @ W_k, x @ W_q, x @ W_v], "q_and_k_swapped"),
        ("attention_head", head_with(lambda q, k: q @ k.mT), "unscaled"),
        (
            "attention_head",
            head_with(lambda q, k: q @ k.mT / q.shape[-1] ** 0.5, -2),
            "over_the_queries",
        ),
        ("attention_head", head_with(lambda q, k: torch.einsum("...td,...sd->...ts", q, k), 0), "unscaled+over_axis_0"),
        (
            "attention_head",
            lambda x, W_q, W_k, W_v: functional.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v, is_causal=True),
            "causal",
        ),
        (
            "attention_head",
            lambda x, W_q, W_k, W_v: x + functional.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v),
            "residual_added",
        ),
        ("match_form", lambda x, W_q, W_k: x @ W_q @ W_k.T @ x.mT, "unscaled"),
        ("match_form", lambda x, W_q, W_k: x @ (W_q @ W_k.T) @ x.mT / x.shape[-1] ** 0.5, "by_root_d"),
        ("match_form", lambda x, W_q, W_k: x @ (W_k @ W_q.T) @ x.mT, "unscaled+turned_form"),
    ],
)
def test_answers_written_another_way_than_in_the_catalogue_get_their_names(name, answer, mistake) -> None:
    assert judge(name, answer).mistake == mistake


# --- a head is trained -----------------------------------------------------------------------------------------------


def trained(seed: int, head=attention_head, steps: int = 60) -> list:
    """As on the page, shorter."""
    rng, table = np.random.default_rng(seed), torch.tensor(deciding.table())
    W_q, W_k = (torch.tensor(rng.normal(0, 0.025, (64, 16)), requires_grad=True) for _ in range(2))
    W_v = torch.zeros(64, 1, dtype=torch.float64, requires_grad=True)
    adam = torch.optim.Adam([{"params": [W_q, W_k], "lr": 0.005}, {"params": [W_v], "lr": 0.05}])
    for _ in range(steps):
        batch = deciding.sentences(rng)
        asked = head(table[batch.ids], W_q, W_k, W_v)[..., 0].gather(1, torch.tensor(batch.asked))
        loss = functional.binary_cross_entropy_with_logits(asked, torch.tensor(batch.answers))
        adam.zero_grad()
        loss.backward()
        adam.step()
    return [W.detach() for W in (W_q, W_k, W_v)]


@pytest.fixture(scope="module")
def head() -> list:
    torch.set_num_threads(1)
    return trained(0)


def measured_on(matrices: list, batch: deciding.Batch) -> tuple[float, float]:
    rows = torch.tensor(deciding.table())[batch.ids]
    pattern = match_form(rows, *matrices[:2]).softmax(-1).numpy()
    lean, decided = batch.at_asked(attention_head(rows, *matrices)[..., 0].numpy()), batch.answers != 0.5
    return batch.on_deciding(pattern)[decided].mean(), ((lean > 0) == (batch.answers == 1))[decided].mean()


def test_training_finds_the_deciding_word(head) -> None:
    weight, right = measured_on(head, deciding.sentences(np.random.default_rng(99), 200))
    assert weight > 0.6 and right > 0.95


def test_training_repeats_itself_and_learners_variants_give_the_same_numbers(head) -> None:
    assert all(torch.equal(a, b) for a, b in zip(head, trained(0), strict=True))
    einsum = exercises()["attention_head"].accepted["einsum"]
    assert all(torch.allclose(a, b, atol=1e-8) for a, b in zip(head, trained(0, einsum), strict=True))


def test_distance_changes_no_digit_and_length_takes_a_share(head) -> None:
    near, far = (measured_on(head, deciding.with_distance(np.random.default_rng(7), d, 20)) for d in (1, 200))
    assert near[0] == pytest.approx(far[0], abs=1e-12) and near[1] == far[1]
    short, long = (
        measured_on(head, deciding.sentences(np.random.default_rng(8), 20, n, undecided=0.0)) for n in (32, 300)
    )
    assert long[0] < short[0]


# --- the figures -----------------------------------------------------------------------------------------------------


def test_the_sentences_of_the_slider_have_ten_words_with_rows_and_one_that_is_ambiguous() -> None:
    for sentence in charts.SENTENCES.values():
        words = sentence.split()
        assert len(words) == 10 == len(deciding.word_ids(words))
        assert sum(word in deciding.AMBIGUOUS for word in words) == 1


def test_the_picture_of_recall_says_what_the_numbers_are() -> None:
    data = (charts.recall_by_distance(), charts.recall_by_items())
    drawn = picture(charts.recall_chart(), data, size=(10.0, 4.4))
    assert re.search(r"attention, 800 steps: 1 at 1, 1 at 160", drawn.alt)
    assert set(data[0]) == set(charts.BY_DISTANCE) and set(data[1]) == set(charts.BY_ITEMS)
    worst = charts.recall_by_distance(worst=True)
    assert all((worst[name][1] <= mean + 1e-9).all() for name, (_, mean) in data[0].items())
    assert (worst["attention, 800 steps"][1] > 0.99).all()


def test_networks_of_equal_size_are_compared() -> None:
    sizes = [parameters for _, parameters, _ in charts.costs()]
    assert max(sizes[:3]) < 1.02 * min(sizes[:3]) and sizes[3] < sizes[0] / 5
    assert all(milliseconds > 0 for _, _, milliseconds in charts.costs())

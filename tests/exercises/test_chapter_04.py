"""Chapter 04: one head against torch, the measurements of the scale, and the microscope against derivatives."""

import re
from pathlib import Path

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import chapter_04 as charts
from attention_lab.figures import picture
from attention_lab.lesson import CLERK_WORDS, W_K, W_Q, W_V, rows
from attention_lab.probes import FUNCTIONS

torch = pytest.importorskip("torch")

REFERENCE = {name: exercise.reference for name, exercise in exercises("04").items()}
SEEDS = range(3)


def cases(name: str, seed: int) -> list:
    return list(exercises()[name].cases(np.random.default_rng(seed)))


def tensors(case) -> list:
    return [torch.from_numpy(np.array(a)) for a in case.args]


# --- the head ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_attend_is_torchs_attention(seed):
    for case in cases("attend", seed):
        expected = torch.nn.functional.scaled_dot_product_attention(*tensors(case))
        assert np.allclose(REFERENCE["attend"](*case.args), expected.numpy(), atol=1e-12), case.note


@pytest.mark.parametrize("seed", SEEDS)
def test_pattern_and_scores_are_torchs(seed):
    for case in cases("attention_pattern", seed):
        q, k = tensors(case)
        scores = q @ k.mT * q.shape[-1] ** -0.5
        assert np.allclose(REFERENCE["scaled_scores"](*case.args), scores.numpy(), atol=1e-12, rtol=1e-12)
        assert np.allclose(REFERENCE["attention_pattern"](*case.args), scores.softmax(-1).numpy(), atol=1e-12)


@pytest.mark.parametrize("name", ["scaled_scores", "attention_pattern", "attend", "influence_map"])
def test_the_template_without_switches_is_right(name):
    assert judge(name, exercises()[name].template).passed


def test_bank_looks_at_boat_and_its_row_leans_there():
    x = rows()
    pattern = REFERENCE["attention_pattern"](x @ W_Q, x @ W_K)
    assert pattern[4].argmax() == 1 and round(pattern[4, 1], 3) == 0.643
    assert pattern[2].argmax() == 4 and round(pattern[2, 4], 3) == 0.624
    new = x + pattern @ (x @ W_V)
    assert new[4, 0] > new[4, 1] and new[4, 2] == x[4, 2]


def test_the_clerk_changes_the_blend_and_not_the_pattern():
    x, y = rows(), rows(CLERK_WORDS)
    assert np.array_equal(*(REFERENCE["attention_pattern"](z @ W_Q, z @ W_K) for z in (x, y)))
    boat, clerk = (REFERENCE["attend"](z @ W_Q, z @ W_K, z @ W_V)[4] for z in (x, y))
    assert np.allclose(boat[[0, 1]], clerk[[1, 0]]) and not np.allclose(boat, clerk)


def test_two_mistakes_at_once_are_both_named():
    def unscaled_and_over_the_queries(q, k):
        scores = q @ np.swapaxes(k, -1, -2)
        risen = np.exp(scores - scores.max(axis=-2, keepdims=True))
        return risen / risen.sum(axis=-2, keepdims=True)

    assert judge("attention_pattern", unscaled_and_over_the_queries).mistake == "unscaled+over_the_queries"


def naive(scores, axis):
    return np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("scaled_scores", lambda q, k: np.inner(q, k) / np.sqrt(q.shape[-1]), "np_dot"),
        ("scaled_scores", lambda q, k: k @ np.swapaxes(q, -1, -2), "unscaled+swapped"),
        ("scaled_scores", lambda q, k: q @ k.T / np.sqrt(k.shape[0]), "by_number_of_keys+transposed_as_a_matrix"),
        ("attention_pattern", lambda q, k: naive(q @ np.swapaxes(k, -1, -2), -1), "unscaled+overflow"),
        (
            "attention_pattern",
            lambda q, k: naive(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), 0),
            "over_the_first_axis+overflow",
        ),
        ("attend", lambda q, k, v: naive(q @ k.T / np.sqrt(q.shape[-1]), -1) @ v, "transposed_as_a_matrix+overflow"),
        ("attend", lambda q, k, v: q @ (np.swapaxes(k, -1, -2) @ v), "unscaled+scores_as_weights"),
    ],
)
def test_answers_written_another_way_than_in_the_catalogue_get_their_names(name, answer, mistake):
    assert judge(name, answer).mistake == mistake


# --- the scale --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d_k", [4, 16, 64, 256])
def test_variance_grows_with_the_width_and_the_scale_brings_it_back(d_k):
    assert charts.saturation(d_k, 0.0).variance == pytest.approx(d_k, rel=0.05)
    assert charts.saturation(d_k, 0.5).variance == pytest.approx(1, rel=0.05)


def test_without_the_scale_entropy_and_gradient_fall_and_with_it_they_stay():
    _, entropy, gradient = charts.width_lines()
    unscaled, scaled = (np.array(entropy[name][1]) for name in (charts.UNSCALED, charts.SCALED))
    assert (np.diff(unscaled) < 0).all() and unscaled[-1] < 0.2 and np.ptp(scaled) < 0.15
    unscaled, scaled = (np.array(gradient[name][1]) for name in (charts.UNSCALED, charts.SCALED))
    assert unscaled[-1] < 0.06 and unscaled.argmax() in (1, 2, 3) and scaled.min() > 0.28


def test_the_scale_does_not_save_large_queries_and_keys():
    assert charts.saturation(64, 0.5, spread=3).entropy < 0.6 < 3 < charts.saturation(64, 0.5).entropy


@pytest.mark.parametrize("spread", [0.3, 1.0, 4.0])
def test_the_gradients_size_is_that_of_torchs_jacobian(spread):
    scores = torch.from_numpy(spread * np.random.default_rng(3).standard_normal(9))
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    size = charts.gradient_size(charts.softmax_rows(scores.numpy()))
    assert size == pytest.approx(float(torch.linalg.norm(jacobian)), rel=1e-9)


def test_entropy_is_that_of_torch_and_has_its_ends():
    pattern = charts.softmax_rows(np.random.default_rng(4).standard_normal((5, 16)))
    expected = torch.distributions.Categorical(torch.from_numpy(pattern)).entropy() / np.log(2)
    assert np.allclose(charts.entropy_bits(pattern), expected.numpy())
    assert charts.entropy_bits(np.full(16, 1 / 16)) == pytest.approx(4)
    assert charts.entropy_bits(np.eye(16)[3]) == 0


def test_a_wider_draw_keeps_the_numbers_of_a_narrower_one():
    narrow, wide = charts.random_scores(3, 0.0), charts.random_scores(4, 0.0)
    assert not np.array_equal(narrow, wide)
    assert np.array_equal(narrow, charts.random_scores(3, 0.0))


@pytest.mark.parametrize("d_k", [0, -1, 1025])
def test_a_width_outside_the_measurement_is_refused(d_k):
    with pytest.raises(ValueError, match=str(d_k)):
        charts.random_scores(d_k)


def test_the_chart_of_widths_says_what_it_shows():
    drawn = picture(charts.width_chart(), charts.width_lines((1, 64)), size=(9.6, 3.2))
    assert re.search(r"variance grows.*not scaled: .* 63.6 at 64", drawn.alt) and "entropy falls" in drawn.alt


@pytest.mark.parametrize("d_k", range(1, 257, 15))
@pytest.mark.parametrize("power", charts.DIVISORS.values())
def test_the_sliders_patterns_are_patterns_over_the_whole_range(d_k, power):
    pattern = charts.sample_pattern(d_k, power)
    assert pattern.shape == (8, 16) and np.allclose(pattern.sum(axis=-1), 1)


# --- the microscope ---------------------------------------------------------------------------------------------------


def head(x):
    return torch.nn.functional.scaled_dot_product_attention(x @ x.new_tensor(W_Q), x @ x.new_tensor(W_K), x)


def causal_head(x):
    return torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True)[0]


SMOOTH = {
    "head": head,
    "causal head": causal_head,
    "one row at a time": lambda x: torch.tanh(x @ x.new_tensor(W_Q)),
    "next row": lambda x: torch.cat([x[1:] ** 3, x[:1] * 0]),
    "backwards": lambda x: torch.flip(x, [0]).cumsum(0),
    "from row 2 to row 0": lambda x: torch.cat([x[2:3], x[1:] * 0]),
    "ones": torch.ones_like,
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_map_is_where_the_jacobian_is_not_zero(name, seed):
    f, x = SMOOTH[name], np.random.default_rng(seed).standard_normal((5, 4))
    jacobian = torch.autograd.functional.jacobian(f, torch.from_numpy(x))  # (T, d', T, d)
    expected = (jacobian != 0).any(dim=3).any(dim=1).numpy()
    before = x.copy()
    found = REFERENCE["influence_map"](lambda rows: f(torch.from_numpy(rows)).numpy(), x)
    assert np.array_equal(found, expected) and found.dtype == bool
    assert np.array_equal(x, before)


@pytest.mark.parametrize("seed", range(20))
def test_random_nudges_of_moderate_size_pass(seed):
    rng = np.random.default_rng([7, seed])

    def by_random_rows(f, x):
        base, moved = np.array(f(x.copy())), np.zeros((len(x), len(x)), dtype=bool)
        for j in range(len(x)):
            changed = x.copy()
            changed[j] += rng.standard_normal(x.shape[1])
            moved[:, j] = (f(changed) != base).any(axis=1)
        return moved

    assert judge("influence_map", by_random_rows, seed).passed


def test_the_functions_under_the_microscope_are_blind_to_what_they_say():
    rng = np.random.default_rng(5)
    x, tenths = rng.standard_normal((4, 5)), rng.integers(-20, 20, (4, 5)) / 10
    assert np.array_equal(FUNCTIONS["directions"](2 * x), FUNCTIONS["directions"](x))
    assert np.array_equal(FUNCTIONS["centred_tenths"](tenths + 1), FUNCTIONS["centred_tenths"](tenths))
    assert np.array_equal(FUNCTIONS["to_tenths"](tenths + 0.04), FUNCTIONS["to_tenths"](tenths))
    assert np.array_equal(FUNCTIONS["even_rows_size"](-x), FUNCTIONS["even_rows_size"](x))
    assert not FUNCTIONS["row_before_mirrored"](x).sum(axis=-1).any()
    assert FUNCTIONS["doubled_in_place"](x) is x


def test_the_map_of_a_query_is_the_diagonal_and_shows_a_softmax_over_the_wrong_axis():
    x = rows()
    q, k, v = x @ W_Q, x @ W_K, x @ W_V
    right = REFERENCE["influence_map"](lambda queries: REFERENCE["attend"](queries, k, v), q)
    wrong = REFERENCE["influence_map"](lambda queries: naive(queries @ k.T, 0) @ v, q)
    assert np.array_equal(right, np.eye(5, dtype=bool)) and wrong.all()


# --- the page ---------------------------------------------------------------------------------------------------------


def test_every_number_with_three_decimals_in_the_text_is_printed_by_a_cell():
    source = (Path(__file__).parents[2] / "solutions" / "04_one_head.ipynb").read_text(encoding="utf-8")
    import json

    cells = json.loads(source)["cells"]
    text = " ".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    shown = " ".join("".join(o.get("text", "")) for c in cells for o in c.get("outputs", []))
    missing = {n for n in re.findall(r"\b\d+\.\d+\b", text) if n not in shown and n + "0" not in shown}
    assert missing == set()

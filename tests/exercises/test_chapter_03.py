"""Chapter 03: references against torch, what a soft lookup must and may do, and the numbers that the text states."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.checking import judge
from attention_lab.exercises import exercises
from attention_lab.figures import picture
from attention_lab.figures.base import new_figure
from attention_lab.figures.chapter_03 import PlaneData, plane_chart, turn_chart, turn_data, turned_query
from attention_lab.lesson import CLERK_WORDS, COLUMNS, W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import Slider

torch = pytest.importorskip("torch")

hard_lookup = exercises()["hard_lookup"].reference
softmax = exercises()["softmax"].reference
soft_lookup = exercises()["soft_lookup"].reference

seeds = st.integers(0, 2**32 - 1)


def a_lookup(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Query (3,), keys (5, 3), values (5, 2)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=(5, 2))


def of_the_sentence() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries (5, 2), keys (5, 2) and values (5, 4) of the running sentence."""
    x = rows()
    return x @ W_Q, x @ W_K, x @ W_V


# -- softmax ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 7), (2, 1, 3, 1)])
def test_softmax_is_torchs(shape):
    scores = np.random.default_rng(1).normal(scale=3, size=shape)
    assert np.allclose(softmax(scores), torch.softmax(torch.from_numpy(scores), dim=-1).numpy(), rtol=0, atol=1e-15)


def test_softmax_is_torchs_for_huge_scores_and_minus_infinity():
    scores = np.array([[1e4, 9999.0, -1e4], [-1e4, -9998.0, -1e4], [0.5, -np.inf, 2.0], [-np.inf, -np.inf, 3.0]])
    expected = torch.softmax(torch.from_numpy(scores), dim=-1).numpy()
    assert np.isfinite(expected).all()
    assert np.allclose(softmax(scores), expected, rtol=0, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(seeds, st.floats(-1e3, 1e3))
def test_a_shift_leaves_the_shares_alone_and_they_add_up_to_one(seed, shift):
    scores = np.random.default_rng(seed).normal(scale=4, size=(3, 5))
    assert np.allclose(softmax(scores + shift), softmax(scores), atol=1e-11)
    assert np.allclose(softmax(scores).sum(axis=-1), 1.0, atol=1e-14)


def test_a_stretch_does_not_leave_the_shares_alone():
    scores = np.array([0.0, 1.0, 2.0])
    assert softmax(2 * scores)[2] > softmax(scores)[2] + 0.1


# -- lookups ------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(0.05, 20))
def test_soft_lookup_is_attention_with_one_query_and_its_own_scale(seed, temperature):
    query, keys, values = a_lookup(seed)
    expected = torch.nn.functional.scaled_dot_product_attention(
        torch.from_numpy(query)[None, None],
        torch.from_numpy(keys)[None],
        torch.from_numpy(values)[None],
        scale=1 / temperature,
    )
    assert np.allclose(soft_lookup(query, keys, values, temperature), expected[0, 0].numpy(), atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seeds, st.permutations(range(5)))
def test_keys_and_values_moved_together_change_nothing(seed, order):
    query, keys, values = a_lookup(seed)
    order = np.array(order)
    assert np.allclose(
        soft_lookup(query, keys[order], values[order], 0.7), soft_lookup(query, keys, values, 0.7), atol=1e-13
    )
    assert np.array_equal(hard_lookup(query, keys[order], values[order]), hard_lookup(query, keys, values))


@settings(max_examples=40, deadline=None)
@given(seeds)
def test_cold_is_the_best_match_and_hot_is_the_mean(seed):
    query, keys, values = a_lookup(seed)
    best, second = np.sort(keys @ query)[[-1, -2]]
    cold = soft_lookup(query, keys, values, (best - second) / 40)
    assert np.allclose(cold, hard_lookup(query, keys, values), atol=1e-12)
    assert np.allclose(soft_lookup(query, keys, values, 1e9), values.mean(axis=0), atol=1e-7)


@settings(max_examples=40, deadline=None)
@given(seeds, st.floats(0.05, 20))
def test_a_blend_never_leaves_the_range_of_the_values(seed, temperature):
    query, keys, values = a_lookup(seed)
    blend = soft_lookup(query, keys, values, temperature)
    assert (blend <= values.max(axis=0) + 1e-12).all()
    assert (blend >= values.min(axis=0) - 1e-12).all()


def test_the_first_of_equally_good_keys_wins():
    keys, values = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 5.0]]), np.array([[1.0], [2.0], [3.0]])
    assert hard_lookup(np.array([1.0, 0.0]), keys, values).item() == 2.0


def test_a_lookup_in_an_int_temperature_is_the_one_in_a_float():
    query, keys, values = a_lookup(4)
    assert np.array_equal(soft_lookup(query, keys, values, 3), soft_lookup(query, keys, values, 3.0))


# -- what learners write ------------------------------------------------------------------------------------------


def test_two_mistakes_at_once_are_both_named():
    def unstable_and_over_everything(scores):
        return np.exp(scores) / np.exp(scores).sum()

    verdict = judge("softmax", unstable_and_over_everything)
    assert set(verdict.mistake.split("+")) == {"over_all_entries", "unstable"}


def test_a_root_in_place_of_the_temperature_is_named_as_two_mistakes():
    def as_in_the_next_chapter(query, keys, values, temperature):
        return softmax(keys @ query / len(query) ** 0.5) @ values

    verdict = judge("soft_lookup", as_in_the_next_chapter)
    assert set(verdict.mistake.split("+")) == {"temperature_ignored", "root_of_width_too"}


@pytest.mark.parametrize("name", ["hard_lookup", "softmax", "soft_lookup"])
def test_sizes_that_could_hide_a_mistake_are_pairwise_different(name):
    for case in exercises()[name].cases(np.random.default_rng(0)):
        if name == "softmax":
            sizes = [n for n in case.args[0].shape if n > 1]
        else:
            (d_k,), (s, _), (_, d_v) = (a.shape for a in case.args[:3])
            sizes = [d_k, s, d_v]
        assert len(set(sizes)) == len(sizes), sizes


# -- what the text says -------------------------------------------------------------------------------------------


def test_boat_and_clerk_share_a_key_and_differ_in_value():
    q, k, v = of_the_sentence()
    x = rows(CLERK_WORDS)
    assert np.array_equal(k, x @ W_K)
    assert hard_lookup(q[4], k, v)[0] == 0.9
    assert hard_lookup(q[4], k, x @ W_V)[1] == 0.9


def test_the_scores_of_bank_in_the_bequest_are_equal_bit_for_bit():
    y = rows("the bank left the clerk the boat")
    scores = y @ W_K @ (y[1] @ W_Q)
    assert scores[4] == scores[6] == scores.max()


def test_the_best_match_has_no_slope_and_the_blend_has_one():
    _, k, v = of_the_sentence()
    for degrees in np.arange(0.5, 360):
        here, there = turned_query(degrees), turned_query(degrees + 0.001)
        assert np.array_equal(hard_lookup(here, k, v), hard_lookup(there, k, v))
        assert not np.array_equal(soft_lookup(here, k, v, 1.0), soft_lookup(there, k, v, 1.0))


def test_the_turn_starts_at_the_query_of_bank():
    q, _, _ = of_the_sentence()
    assert np.allclose(turned_query(0), q[4])


# -- pictures and sliders -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solved() -> dict[str, Any]:
    """The names of the solved chapter, run as a script without cards and without recorded progress."""
    source = (Path(__file__).parents[2] / "solutions" / "03_soft_lookup.py").read_text(encoding="utf-8")
    names: dict[str, Any] = {"exercise": lambda function: function, "answer": lambda *_: None}
    with np.printoptions(), redirect_stdout(StringIO()):
        exec(source.replace("from attention_lab import answer, exercise, hint, progress\n", ""), names)
    return names


def values_of(slider: Slider) -> np.ndarray:
    return np.arange(slider.low, slider.high + slider.step / 2, slider.step)


def test_the_temperature_slider_works_over_its_whole_range(solved):
    for temperature in values_of(solved["dial"]):
        data = solved["soften"](temperature)
        assert np.allclose(data.pattern.sum(axis=-1), 1.0)
        assert f"boat {data.pattern[4, 1]:.2f}" in data.text
        assert list(data.bars) == list(COLUMNS)


def test_the_sliders_of_the_plane_work_over_their_whole_range(solved):
    degrees, temperatures = (values_of(slider) for slider in solved["controls"])
    for angle in degrees[::5]:
        for temperature in temperatures[::7]:
            data = solved["turn"](angle, temperature)
            assert np.isclose(data.pattern.sum(), 1.0)
            assert np.isfinite(data.blend).all()


def test_the_plane_says_what_it_shows():
    q, k, v = of_the_sentence()
    pattern = softmax(k @ q[4])
    alt = picture(plane_chart(k, WORDS, COLUMNS), PlaneData(q[4], pattern, pattern @ v)).alt
    assert "at 0 degrees" in alt
    assert "boat 0.80" in alt
    assert "water 0.75" in alt


@pytest.mark.parametrize("temperature", [0.05, 0.5, 3.0])
def test_the_plane_draws_every_angle_of_its_slider_without_a_new_figure(temperature):
    _, k, v = of_the_sentence()
    chart = plane_chart(k, WORDS, COLUMNS)
    seen = set()
    shown = picture(chart, PlaneData(turned_query(0), softmax(k @ turned_query(0)), v[0]))
    axes = len(shown.figure.axes)
    figure = new_figure((7.6, 4.2))
    update = chart(figure)
    for degrees in range(0, 361, 10):
        query = turned_query(degrees)
        pattern = softmax(k @ query / temperature)
        seen.add(update(PlaneData(query, pattern, pattern @ v)))
        assert len(figure.axes) == axes
    assert len(seen) > 30


def test_the_turn_jumps_once_for_the_best_match_and_never_for_the_blend():
    _, k, v = of_the_sentence()
    lookups = {
        "best match": lambda query: hard_lookup(query, k, v),
        "temperature 1": lambda query: soft_lookup(query, k, v, 1.0),
    }
    data = turn_data(lookups)
    steps = {name: np.abs(np.diff(y)) for name, (_, y) in data.items()}
    assert np.count_nonzero(steps["best match"]) == 1
    assert steps["temperature 1"].max() < 0.01
    assert "best match: 0.90 at 0, 0.40 at 90" in picture(turn_chart(), data).alt

"""Chapter 02: references against torch, the counter of waiting, and the figures."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.exercises import exercises
from attention_lab.figures import chapter_02 as figures
from attention_lab.figures import picture
from attention_lab.training import measured
from attention_lab.waiting import Chain

torch = pytest.importorskip("torch")

rnn_step = exercises()["rnn_step"].reference
rnn_states = exercises()["rnn_states"].reference
reach = exercises()["reach"].reference

seeds = st.integers(0, 2**32 - 1)


def a_network(seed: int, m: int = 5, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W_h (m, m), W_x (m, d), b (m,)."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, m)) / 2, rng.normal(size=(m, d)), rng.normal(size=m)


def torchs_cell(W_h: np.ndarray, W_x: np.ndarray, b: np.ndarray) -> torch.nn.RNNCell:
    cell = torch.nn.RNNCell(W_x.shape[1], len(b), dtype=torch.float64)
    with torch.no_grad():
        for ours, theirs in ((W_h, cell.weight_hh), (W_x, cell.weight_ih), (b, cell.bias_ih), (0 * b, cell.bias_hh)):
            theirs.copy_(torch.from_numpy(ours))
    return cell


# -- references against torch -------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_rnn_step_is_torchs_cell(seed: int) -> None:
    rng, network = np.random.default_rng(seed), a_network(seed)
    h, x = rng.uniform(-1, 1, 5), rng.normal(size=3)
    expected = torchs_cell(*network)(torch.from_numpy(x), torch.from_numpy(h)).detach().numpy()
    assert np.allclose(rnn_step(h, x, *network), expected, rtol=0, atol=1e-14)


def test_rnn_states_are_torchs_rnn() -> None:
    W_h, W_x, b = a_network(1)
    rng = np.random.default_rng(2)
    xs, h0 = rng.normal(size=(7, 3)), rng.uniform(-1, 1, 5)
    rnn = torch.nn.RNN(3, 5, dtype=torch.float64)
    rnn.load_state_dict({f"{name}_l0": value for name, value in torchs_cell(W_h, W_x, b).state_dict().items()})
    expected = rnn(torch.from_numpy(xs), torch.from_numpy(h0)[None])[0].detach().numpy()
    assert np.allclose(rnn_states(xs, h0, W_h, W_x, b), expected, rtol=0, atol=1e-14)


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_reach_is_the_norm_of_autograds_jacobians(seed: int) -> None:
    W_h, W_x, b = a_network(seed)
    rng = np.random.default_rng(seed)
    xs, h0 = rng.normal(size=(6, 3)), rng.uniform(-1, 1, 5)
    states, cell = rnn_states(xs, h0, W_h, W_x, b), torchs_cell(W_h, W_x, b)

    def last_from(t: int):
        def go_on(state: torch.Tensor) -> torch.Tensor:
            for x in xs[t + 1 :]:
                state = cell(torch.from_numpy(x), state)
            return state

        return go_on

    jacobians = [torch.autograd.functional.jacobian(last_from(t), torch.from_numpy(states[t])) for t in range(6)]
    expected = [torch.linalg.matrix_norm(jacobian, 2).item() for jacobian in jacobians]
    assert np.allclose(reach(states, W_h), expected, rtol=1e-10, atol=1e-12)


# -- properties ---------------------------------------------------------------------------------------------------


@given(seeds)
def test_a_state_depends_on_no_later_word(seed: int) -> None:
    network, rng = a_network(seed), np.random.default_rng(seed)
    xs, h0 = rng.normal(size=(6, 3)), np.zeros(5)
    changed = xs.copy()
    changed[4] += 1
    before, after = rnn_states(xs, h0, *network), rnn_states(changed, h0, *network)
    assert np.array_equal(before[:4], after[:4]) and not np.allclose(before[4:], after[4:])


@given(seeds)
def test_reach_is_at_most_the_product_of_the_norms_of_w_h(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, W_h = rng.uniform(-1, 1, (6, 4)), rng.normal(size=(4, 4))
    bound = np.linalg.norm(W_h, 2) ** np.arange(5, -1, -1)
    assert (reach(states, W_h) <= bound * (1 + 1e-12)).all()


def test_without_a_matrix_only_the_last_state_reaches_itself() -> None:
    assert reach(np.full((4, 3), 0.5), np.zeros((3, 3))).tolist() == [0.0, 0.0, 0.0, 1.0]


# -- the counter of waiting ---------------------------------------------------------------------------------------


def test_a_chain_is_as_long_as_what_was_handed_on() -> None:
    add = Chain(np.add)
    start = np.zeros(3)
    first, second = add(start, 1.0), add(start, 2.0)
    assert (add.calls, add.longest) == (2, 1)
    add(first, second)
    assert (add.calls, add.longest) == (3, 2)


def test_a_view_of_a_result_is_the_result_and_a_copy_is_not() -> None:
    add = Chain(np.add)
    result = add(np.zeros(3), 1.0)
    add(result.copy(), 1.0)
    assert add.longest == 1
    add(result[1:], 1.0)
    assert add.longest == 2


def test_reading_in_order_is_one_chain() -> None:
    network, step, h = a_network(0), Chain(rnn_step), np.zeros(5)
    for x in np.zeros((50, 3)):
        h = step(h, x, *network)
    assert (step.calls, step.longest) == (50, 50)


# -- figures and sliders ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.2, 1.0, 3.0])
def test_the_slider_of_reach_works_at_its_ends(radius: float) -> None:
    xs, h0, W_h, W_x, b = figures.random_network(radius)
    assert np.isclose(np.abs(np.linalg.eigvals(W_h)).max(), radius)
    values = reach(rnn_states(xs, h0, W_h, W_x, b), W_h)
    for distance in (1, figures.FURTHEST):
        shown = picture(figures.reach_chart(), figures.reach_data(values, distance))
        assert f"A change {distance} word" in shown.alt


@pytest.mark.parametrize("numbers", [8, 256])
@pytest.mark.parametrize("items", [1, 16])
@pytest.mark.parametrize("keep", [0.5, 1.0])
def test_the_slider_of_the_summary_works_at_its_ends(numbers: int, items: int, keep: float) -> None:
    data = figures.summary_data(numbers, items, keep)
    assert len(data["recall"][1]) == items and data["recall"][1].min() >= 0 and data["recall"][1].max() <= 1
    assert "recalled" in picture(figures.summary_chart(), data).alt


def test_the_charts_of_measured_recall_show_every_line_of_the_file() -> None:
    one, many = measured("recurrence")["one_item"], measured("recurrence")["many_items"]
    shown = figures.recall_by_distance()
    assert set(shown) == set(figures.BY_DISTANCE) and len(shown) == len(one["networks"])
    assert all(np.array_equal(x, one["distances"]) for x, _ in shown.values())
    by_items = figures.recall_by_items()
    means = [np.mean(run["recall_by_seed"], axis=0).tolist() for run in many["networks"]]
    assert by_items["LSTM, 64 numbers"][1].tolist() in means
    for chart, data in ((figures.distance_chart(), shown), (figures.items_chart(), by_items)):
        assert all(name in picture(chart, data).alt for name in data)


def test_what_the_text_says_of_the_curves_is_true_of_them() -> None:
    far = figures.recall_by_distance()
    assert far["LSTM, 800 steps"][1].min() > 0.99 and far["GRU, 800 steps"][1].min() > 0.99
    assert far["RNN, 800 steps"][1][0] > 3 * far["RNN, 800 steps"][1][-1]
    assert far["RNN, 3200 steps"][1].min() > 0.95
    many = figures.recall_by_items()
    assert all(line[1][0] > 0.95 and line[1][-1] < 0.75 for line in many.values())
    assert (many["RNN, 140 numbers"][1] < many[figures.NAMES_IGNORED][1] + 0.05).all()
    sizes = [many[name][1][-1] for name in figures.BY_ITEMS if name.startswith("LSTM")]
    assert sizes == sorted(sizes, reverse=True)


def test_a_larger_state_recalls_more_with_every_seed() -> None:
    by_state = [figures._many_items("LSTM", numbers)["recall_by_seed"][:, 1:] for numbers in (64, 128, 256)]
    assert all(run.shape == (3, 7) for run in by_state)
    for smaller, larger in pairwise(by_state):
        assert (smaller.max(axis=0) < larger.min(axis=0)).all()
    assert max(figures.seeds_apart().values()) < 0.2

"""The figures of chapter 02, and the data of its sliders. Nothing here is drawn by hand: curves are measured."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.figures.base import Chart, line_chart
from attention_lab.training import measured
from attention_lab.training.stories import BLIND, summary_recall

Array = NDArray[Any]
Line = tuple[Array, Array]

#: The longest distance of the reach slider, in words.
FURTHEST = 60
REACH, CHOSEN = "reach", "distance chosen"
BY_DISTANCE = (
    "LSTM, 800 steps",
    "GRU, 800 steps",
    "RNN, 3200 steps",
    "RNN, 1600 steps",
    "RNN, 800 steps",
)
#: Lines of the chart of many items: kind and numbers in the state.
BY_ITEMS = {
    "LSTM, 256 numbers": ("LSTM", 256),
    "LSTM, 128 numbers": ("LSTM", 128),
    "LSTM, 64 numbers": ("LSTM", 64),
    "GRU, 76 numbers": ("GRU", 76),
    "RNN, 140 numbers": ("RNN", 140),
}
NAMES_IGNORED = "names ignored"


# -- reach --------------------------------------------------------------------------------------------------------


def random_network(
    radius: float, width: int = 32, words: int = FURTHEST + 1
) -> tuple[Array, Array, Array, Array, Array]:
    """A network that nobody trained, and words for it: the arguments of `rnn_states`.

    Args:
        radius: the spectral radius of W_h, its largest absolute eigenvalue.
        width: m.
        words: T.

    Returns:
        xs (T, 4), h0 (m,), W_h (m, m), W_x (m, 4), b (m,).
    """
    rng = np.random.default_rng(0)
    W_h = rng.normal(size=(width, width))
    W_h *= radius / np.abs(np.linalg.eigvals(W_h)).max()
    W_x = rng.normal(size=(width, 4)) / 2
    xs = rng.normal(size=(words, 4)) / 2
    return xs, np.zeros(width), W_h, W_x, np.zeros(width)


def reach_data(values: Array, distance: int) -> dict[str, Line]:
    """The reach of each state, (T,), against its distance from the last one, with one distance marked."""
    values = np.maximum(np.asarray(values, dtype=float), 1e-300)
    away = np.arange(len(values))[::-1]
    return {REACH: (away, values), CHOSEN: (np.array([distance]), values[[len(values) - 1 - distance]])}


def reach_chart() -> Chart:
    """A chart of `reach_data`: logarithmic, so that a constant loss at each step is a straight line."""
    return line_chart(
        _reach_title,
        "distance from the last state (words)",
        "reach (logarithmic)",
        (REACH, CHOSEN),
        x_range=(-1, FURTHEST + 1),
        y_range=(1e-16, 1e6),
        log_y=True,
        levels={"nothing lost, nothing grown": 1.0},
    )


def _reach_title(data: Mapping[str, Line]) -> str:
    distance, value = (float(part[0]) for part in data[CHOSEN])
    words = "word" if distance == 1 else "words"
    return f"A change {distance:.0f} {words} back moves the last state by {value:.1g} of its size"


# -- one summary for everything -----------------------------------------------------------------------------------


def summary_data(numbers: int, items: int, keep: float) -> dict[str, Line]:
    """Recall by the place at which an item came, from a summary of `numbers` numbers; see `summary_recall`."""
    return {"recall": (np.arange(1, items + 1), summary_recall(numbers, items, keep))}


def summary_chart(most: int = 16) -> Chart:
    """A chart of `summary_data` for up to `most` items."""
    return line_chart(
        _summary_title,
        "place at which the item came (1 is the oldest)",
        "share recalled",
        ("recall",),
        x_range=(0.5, most + 0.5),
        y_range=(0, 1.05),
        levels={"blind guess": BLIND},
    )


def _summary_title(data: Mapping[str, Line]) -> str:
    recalled = np.asarray(data["recall"][1], dtype=float)
    if len(recalled) == 1:
        return f"One item: {recalled[0]:.2f} recalled"
    ends = f"the oldest {recalled[0]:.2f}, the newest {recalled[-1]:.2f}"
    return f"{len(recalled)} items: {recalled.mean():.2f} recalled; {ends}"


# -- what training measured ---------------------------------------------------------------------------------------


@cache
def _curves() -> dict[str, Any]:
    return measured("recurrence")


def recall_by_distance() -> dict[str, Line]:
    """Recall of one item against distance, the mean over the seeds, for trained networks of equal size."""
    one = _curves()["one_item"]
    return {
        f"{run['kind']}, {run['steps']} steps": (np.array(one["distances"]), np.mean(run["recall_by_seed"], axis=0))
        for run in one["networks"]
    }


def recall_by_items() -> dict[str, Line]:
    """Recall of all items against their number: means over the seeds of trained networks, and ignoring the names."""
    items, ignored = (np.array(_curves()["many_items"][part]) for part in ("items", "names_ignored"))
    means = {name: _many_items(*network)["recall_by_seed"].mean(axis=0) for name, network in BY_ITEMS.items()}
    return {name: (items, recalled) for name, recalled in (means | {NAMES_IGNORED: ignored}).items()}


def seeds_apart() -> dict[str, float]:
    """The largest difference in recall between two seeds of a network, over the numbers of items."""
    return {
        name: float(np.ptp(_many_items(*which)["recall_by_seed"], axis=0).max()) for name, which in BY_ITEMS.items()
    }


def recall_by_place(kind: str, numbers: int) -> Array:
    """Recall by the place at which one of 16 items came, (16,), the mean over the seeds of a trained network."""
    found: Array = _many_items(kind, numbers)["recall_by_place_of_16_by_seed"].mean(axis=0)
    return found


def _many_items(kind: str, numbers: int) -> dict[str, Array]:
    """What was measured of a network with so many numbers in its state: seeds down, items across."""
    runs = _curves()["many_items"]["networks"]
    (found,) = (run for run in runs if (run["kind"], run["state_numbers"]) == (kind, numbers))
    return {part: np.array(found[part]) for part in ("recall_by_seed", "recall_by_place_of_16_by_seed")}


def distance_chart() -> Chart:
    """A chart of `recall_by_distance`."""
    return line_chart(
        _distance_title,
        "distance from the item to the question (steps, logarithmic)",
        "share recalled",
        BY_DISTANCE,
        y_range=(0, 1.05),
        log_x=True,
        levels={"blind guess": BLIND},
    )


def _distance_title(data: Mapping[str, Line]) -> str:
    lstm, rnn = (np.asarray(data[name][1], dtype=float) for name in ("LSTM, 800 steps", "RNN, 800 steps"))
    return f"Trained alike: the LSTM recalls {lstm[-1]:.2f} from afar, the plain network {rnn[-1]:.2f}"


def items_chart() -> Chart:
    """A chart of `recall_by_items`."""
    return line_chart(
        "More items, less recall; more numbers move the fall",
        "items to be remembered",
        "share recalled",
        (*BY_ITEMS, NAMES_IGNORED),
        x_range=(0, 24),  # room for the legend
        y_range=(0, 1.05),
        levels={"blind guess": BLIND},
    )

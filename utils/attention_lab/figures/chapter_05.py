"""The figures of chapter 05: a head while it is trained, and its recall on the axes of chapter 02.

Letters: T rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attention_lab.figures.base import Chart, line_chart, side_by_side
from attention_lab.training import measured
from attention_lab.training.stories import BLIND

Array = NDArray[Any]
Line = tuple[Array, Array]

#: Sentences of ten words for the slider, by what is to be seen in them.
SENTENCES: dict[str, str] = {
    "boat, bank": "the boat left slowly and some saw the old bank",
    "clerk, bank": "the clerk left slowly and some saw the old bank",
    "boat, cave, bank": "the boat was near the cave by the old bank",
    "boat, cave, bat": "the boat was near the cave by the old bat",
    "bank, boat": "the bank it was near one day the old boat",
    "bank alone": "the bank was there again and they left it slowly",
}
WEIGHT, RIGHT = "weight on the deciding word", "share decided rightly"

#: Lines of the picture of recall, with kind, width (None: the only one) and steps.
BY_DISTANCE: dict[str, tuple[str, int, int]] = {
    "attention, 800 steps": ("attention", 237, 800),
    "LSTM, 800 steps": ("LSTM", 64, 800),
    "RNN, 3200 steps": ("RNN", 140, 3200),
    "RNN, 800 steps": ("RNN", 140, 800),
}
BY_ITEMS: dict[str, tuple[str, int]] = {
    "attention, 3000 steps": ("attention", 237),
    "LSTM, 3000 steps": ("LSTM", 64),
    "RNN, 3000 steps": ("RNN", 140),
}


# -- the head while it is trained ---------------------------------------------------------------------------------


def training_lines(steps: Sequence[int], weights: Sequence[float], right: Sequence[float]) -> dict[str, Line]:
    """What was measured after some training steps, as lines of `training_chart`."""
    return {RIGHT: (np.array(steps), np.array(right)), WEIGHT: (np.array(steps), np.array(weights))}


def training_chart() -> Chart:
    """A chart of `training_lines`."""
    return line_chart(
        _training_title,
        "training step",
        "share",
        (RIGHT, WEIGHT),
        y_range=(0, 1.05),
        levels={"a guess": 0.5},
    )


def _training_title(data: Mapping[str, Line]) -> str:
    weight = np.asarray(data[WEIGHT][1], dtype=float)
    return f"The weight on the deciding word goes from {weight[0]:.2f} to {weight[-1]:.2f}"


# -- recall, on the axes of chapter 02 ----------------------------------------------------------------------------


@cache
def _runs(task: str) -> tuple[list[dict[str, Any]], list[float]]:
    """All networks that were trained on "one_item" or "many_items", and where they were measured."""
    chapter_02, here = measured("recurrence")[task], measured("attention")[task]
    along = "distances" if task == "one_item" else "items"
    if chapter_02[along] != here[along]:
        raise ValueError(f"recurrence.json and attention.json were measured at other {along}: train both anew")
    return chapter_02["networks"] + here["networks"], here[along]


def _run(task: str, kind: str, width: int, steps: int | None = None) -> dict[str, Any]:
    found = [r for r in _runs(task)[0] if (r["kind"], r["width"]) == (kind, width) and steps in (None, r["steps"])]
    return found[0]


def recall_by_distance(worst: bool = False) -> dict[str, Line]:
    """Recall of one item against distance, the mean over three seeds, or the worst of them."""
    over_seeds = np.min if worst else np.mean
    distances = np.array(_runs("one_item")[1])
    return {
        name: (distances, over_seeds(_run("one_item", *which)["recall_by_seed"], axis=0))
        for name, which in BY_DISTANCE.items()
    }


def recall_by_items() -> dict[str, Line]:
    """Recall of all items against their number, the mean over three seeds."""
    items = np.array(_runs("many_items")[1])
    return {name: (items, recalled.mean(axis=0)) for name, recalled in _many_items().items()}


def seeds_apart() -> dict[str, float]:
    """The largest difference in recall between two seeds, over the numbers of items."""
    return {name: float(np.ptp(recalled, axis=0).max()) for name, recalled in _many_items().items()}


def _many_items() -> dict[str, np.ndarray]:
    """Recall by name of a line, (seeds, items)."""
    return {name: np.array(_run("many_items", *which)["recall_by_seed"]) for name, which in BY_ITEMS.items()}


def early_recall(step: int, width: int = 237) -> float:
    """The worst recall of attention over all distances and seeds after some steps of training."""
    return float(np.min(_run("one_item", "attention", width, step)["recall_by_seed"]))


def costs() -> list[tuple[str, int, float]]:
    """Kind, parameters and milliseconds of processor time for one training step, of networks of equal size."""
    times = {(t["kind"], t["width"]): t["cpu_ms_per_step"] for t in measured("attention")["time"]}
    networks = (("RNN", 140), ("LSTM", 64), ("attention", 237), ("attention", 16))
    return [(kind, _run("one_item", kind, width)["parameters"], times[kind, width]) for kind, width in networks]


def recall_chart() -> Chart:
    """A chart of (`recall_by_distance`, `recall_by_items`): one item far away on the left, many items on the right."""
    levels = {"blind guess": BLIND}
    return side_by_side(
        line_chart(
            "One item: three of four lines lie at 1.00",
            "steps from item to question (logarithmic)",
            "share recalled",
            tuple(BY_DISTANCE),
            y_range=(0, 1.05),
            log_x=True,
            levels=levels,
        ),
        _with_legend_at(
            (0.5, 0.62),
            line_chart(
                "Many items: attention holds them",
                "items to be remembered",
                "share recalled",
                tuple(BY_ITEMS),
                y_range=(0, 1.05),
                levels=levels,
            ),
        ),
    )


def _with_legend_at(place: tuple[float, float], chart: Chart) -> Chart:
    """The same chart, its legend with the lower left corner at a place between lines (shares of the axes)."""

    def placed(figure: Figure) -> Callable[[Any], str]:
        update = chart(figure)
        figure.axes[0].get_legend().set_loc(place)  # type: ignore[union-attr]
        return update

    return placed

"""The figures of chapter 01, and the data of the slider over window widths."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from attention_lab.figures.base import COLOURS, DASHES, INK, MARKERS, Chart, bar_chart, heat_map
from attention_lab.lesson import COLUMNS, TABLE, VOCABULARY
from attention_lab.sentences import EVEN, FURTHEST, Sentence, deciding_sentences, leaning

WIDEST = FURTHEST + 1
ONE_TOPIC, TWO_TOPICS, PART = "one topic: resolved", "an older topic too: resolved", "deciding word's part of the mean"
SENTENCES = ("the boat left the bank", "the clerk left the bank")


def table_chart() -> Chart:
    """A chart of the lesson's table, (5, 4): a row a word, a column a meaning."""
    title = "“bank” is as much water as money"
    return heat_map(VOCABULARY, COLUMNS, title, axes=("word", "column"), colour="cividis")


def similarity_chart() -> Chart:
    """A chart of (5, 5) cosine similarities between the words of the lesson."""
    title = "“bank” is as near to “boat” as to “clerk”"
    return heat_map(VOCABULARY, VOCABULARY, title, axes=("word", "compared with"), colour="cividis")


def bank_chart() -> Chart:
    """A chart of `{sentence: row of "bank" (4,)}` for the two sentences of `SENTENCES`."""
    return bar_chart(_bank_title, "column of the row of “bank”", "value", COLUMNS, SENTENCES, y_range=(0.0, 1.0))


def _bank_title(data: Mapping[str, ArrayLike]) -> str:
    boat, clerk = (np.asarray(data[name], dtype=float) for name in SENTENCES)
    if np.array_equal(boat, clerk):
        return "The two rows of “bank” are equal in every column"
    return f"“bank” leans to {leaning(boat)} with the boat, to {leaning(clerk)} with the clerk"


@dataclass(frozen=True)
class Reach:
    """What a window of one width does with the generated sentences.

    Attributes:
        width: rows in the window.
        shares: by name, the three lines at this width, each from 0 to 1.
    """

    width: int
    shares: Mapping[str, float]


def reach_data(width: int) -> Reach:
    """Which share of the generated sentences a window of `width` rows (1 to 201) resolves, and at what price."""
    return Reach(width, {name: float(line[width - 1]) for name, line in reach_lines().items()})


@cache
def reach_lines() -> dict[str, np.ndarray]:
    """The three lines of `reach_chart` for widths 1 … 201, each (201,).

    A sentence is resolved when the mean of its last `width` rows leans to the sense that its deciding word decides for.
    The part of the deciding word is how far that mean leans, as a fraction of how far the word's own row does; NaN at
    width 1, where no deciding word is inside. The older topic stands anywhere, so five sentences a distance are made.
    """
    one = _leans(deciding_sentences())
    two = np.concatenate([_leans(deciding_sentences(older_topic=True, seed=seed)) for seed in range(5)])
    inside = one > EVEN
    own = float(TABLE[VOCABULARY.index("boat"), 0])
    part = np.full(WIDEST, np.nan)
    part[1:] = (one * inside).sum(axis=0)[1:] / inside.sum(axis=0)[1:] / own
    return {ONE_TOPIC: inside.mean(axis=0), TWO_TOPICS: (two > EVEN).mean(axis=0), PART: part}


def _leans(sentences: list[Sentence]) -> np.ndarray:
    """How far the mean of the last 1 … 201 rows leans to the right sense, (sentences, 201); negative: to the other."""
    sides = np.array([1.0 if sentence.sense == "water" else -1.0 for sentence in sentences])
    return sides[:, None] * np.array([_lean_by_width(sentence.rows) for sentence in sentences])


def _lean_by_width(x: np.ndarray) -> np.ndarray:
    """Water minus money in the mean of the last 1, 2, … 201 rows of `x` (T, 4)."""
    sums = np.cumsum(x[::-1][:WIDEST], axis=0)
    means = sums / np.arange(1, WIDEST + 1)[:, None]
    return np.asarray(means[:, 0] - means[:, 1])


def reach_chart() -> Chart:
    """A chart of a `Reach`: share of sentences resolved against window width, with a mark at the width chosen."""

    def chart(figure: Figure) -> Callable[[Reach], str]:
        ax = figure.subplots()
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#e4e6ea", linewidth=0.8)
        ax.set(xlim=(0, WIDEST + 1), ylim=(0.0, 1.05))
        ax.set_xlabel("window width (words, the asking one included)", fontsize=9, color=INK)
        ax.set_ylabel("share", fontsize=9, color=INK)
        ax.tick_params(labelsize=9)
        widths = np.arange(1, WIDEST + 1)
        dots = {}
        for i, (name, line) in enumerate(reach_lines().items()):
            ax.plot(widths, line, color=COLOURS[i], linestyle=DASHES[i], linewidth=1.8)
            dots[name] = ax.plot([], [], color=COLOURS[i], linestyle=DASHES[i], marker=MARKERS[i], label=name)[0]
        mark = ax.axvline(1, color=INK, linewidth=0.8, linestyle=":")
        ax.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(0.06, 1.0))

        def update(data: Reach) -> str:
            mark.set_xdata([data.width, data.width])
            for name, dot in dots.items():
                dot.set_data([data.width], [data.shares[name]])
            one, two = data.shares[ONE_TOPIC], data.shares[TWO_TOPICS]
            said = f"Width {data.width} sees {data.width - 1} back: {_percent(one)} resolved"
            ax.set_title(said, fontsize=10.5, color=INK, loc="left", pad=8)
            part = data.shares[PART]
            weight = "" if math.isnan(part) else f" A deciding word inside it is {_percent(part)} of the mean."
            return f"{said}; with an older topic in the text {_percent(two)}.{weight}"

        return update

    return chart


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 %", " %")

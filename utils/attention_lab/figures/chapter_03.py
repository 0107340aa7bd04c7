"""Charts of chapter 03: a query among keys in the plane, and what a moving query or temperature does.

Letters: S rows that are asked, d_v width of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attention_lab.figures.base import COLOURS, INK, Chart, line_chart, tell_apart

#: Length of the query that is turned: as long as the query of "bank".
QUERY_LENGTH = 1.6
#: Half the width of the plane that is drawn.
REACH = 2.4


def turned_query(degrees: float) -> NDArray[np.float64]:
    """The query of "bank" turned by an angle, (2,); at 0 degrees it is the query of "bank" itself."""
    angle = np.radians(degrees)
    return QUERY_LENGTH * np.array([np.cos(angle), np.sin(angle)])


@dataclass(frozen=True)
class PlaneData:
    """A query, the pattern it makes, and the blend it gets.

    Attributes:
        query: (2,)
        pattern: (S,) shares of the keys.
        blend: (d_v,) what the query gets.
    """

    query: NDArray[np.float64]
    pattern: NDArray[np.float64]
    blend: NDArray[np.float64]


def plane_chart(keys: NDArray[np.float64], words: Sequence[str], columns: Sequence[str]) -> Chart:
    """A chart of `PlaneData`: keys and query as arrows on the left, the pattern and the blend as bars on the right.

    Args:
        keys: (S, 2), they stay where they are.
        words: S names of the keys.
        columns: d_v names of the numbers of a value.
    """

    def chart(figure: Figure) -> Callable[[PlaneData], str]:
        plane, pattern_axes, blend_axes = figure.subplot_mosaic(
            [["plane", "pattern"], ["plane", "blend"]], width_ratios=[1.15, 1.0]
        ).values()
        dots = _draw_plane(plane, keys, words)
        arrow = plane.annotate(
            "",
            xy=(1, 0),
            xytext=(0, 0),
            arrowprops={"arrowstyle": "-|>", "color": COLOURS[1], "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0},
        )
        name = plane.text(0, 0, "query", color=COLOURS[1], fontsize=9, ha="center", va="center")
        shares = _bars(pattern_axes, "The pattern: shares of the words", words, "share")
        parts = _bars(blend_axes, "The blend: what the query gets", columns, "amount")

        def update(data: PlaneData) -> str:
            arrow.xy = tuple(data.query)
            name.set_position(tuple(data.query * (1 + 0.25 / max(float(np.linalg.norm(data.query)), 0.1))))
            dots.set_sizes(30 + 420 * data.pattern)
            shares(data.pattern)
            parts(data.blend)
            return _describe(data, words, columns)

        return update

    return chart


def _draw_plane(ax: Axes, keys: NDArray[np.float64], words: Sequence[str]) -> Any:
    """The keys as dots with names; words of one key share a name."""
    ax.set_title("Large dots: keys with a large share", fontsize=10, color=INK, loc="left")
    ax.set_aspect("equal")
    ax.set_xlim(-REACH, REACH)
    ax.set_ylim(-REACH, REACH)
    ax.axhline(0, color="#c8ccd2", linewidth=0.8, zorder=0)
    ax.axvline(0, color="#c8ccd2", linewidth=0.8, zorder=0)
    ax.set_xlabel('column 0: "water or money?"', fontsize=9, color=INK)
    ax.set_ylabel('column 1: "where?"', fontsize=9, color=INK)
    ax.tick_params(labelsize=8, labelcolor=INK)
    ax.spines[["top", "right"]].set_visible(False)
    for place in np.unique(keys, axis=0):
        here = [word for word, key in zip(words, keys, strict=True) if np.array_equal(key, place)]
        text = here[0] if len(here) == 1 else f"{' and '.join(dict.fromkeys(here))} ({len(here)} times)"
        below = not place.any()
        ax.annotate(
            text,
            place,
            (4, -17) if below else (13, -4),
            textcoords="offset points",
            fontsize=9,
            color=INK,
            ha="left",
            zorder=4,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        )
    return ax.scatter(keys[:, 0], keys[:, 1], s=60, color=COLOURS[0], edgecolor="white", alpha=0.85, zorder=3)


def _bars(ax: Axes, title: str, labels: Sequence[str], axis: str) -> Callable[[NDArray[np.float64]], None]:
    """Bars from 0 to 1 with their numbers; returns what sets them."""
    ax.set_title(title, fontsize=10, color=INK, loc="left")
    ax.set_ylim(0, 1.15)
    ax.set_yticks([0, 0.5, 1])
    ax.set_ylabel(axis, fontsize=9, color=INK)
    ax.tick_params(labelsize=8.5, labelcolor=INK)
    ax.spines[["top", "right"]].set_visible(False)
    bars = ax.bar(range(len(labels)), np.ones(len(labels)), 0.7, color=COLOURS[0])
    ax.set_xticks(range(len(labels)), list(labels))
    notes = [ax.text(i, 0, "", ha="center", va="bottom", fontsize=8, color=INK) for i in range(len(labels))]

    def set_to(values: NDArray[np.float64]) -> None:
        for bar, note, value in zip(bars, notes, values, strict=True):
            bar.set_height(float(value))
            note.set_y(float(value) + 0.02)
            note.set_text(f"{value:.2f}")

    return set_to


def _describe(data: PlaneData, words: Sequence[str], columns: Sequence[str]) -> str:
    """The query's angle, the shares and the blend in words."""
    degrees = float(np.degrees(np.arctan2(data.query[1], data.query[0]))) % 360
    shares = ", ".join(f"{w} {s:.2f}" for w, s in zip(tell_apart(words), data.pattern, strict=True))
    parts = ", ".join(f"{c} {b:.2f}" for c, b in zip(columns, data.blend, strict=True))
    return f"The query points at {degrees:.0f} degrees. Pattern: {shares}. Blend: {parts}."


def turn_chart() -> Chart:
    """A chart of the water that a turning query gets, by the best match and by two blends."""
    return line_chart(
        "The best match stands still and jumps; a blend bends",
        "angle of the query (degrees)",
        "water in the result",
        ("best match", "temperature 0.1", "temperature 1"),
        x_range=(0, 90),
        y_range=(-0.03, 1.0),
    )


def turn_data(
    lookups: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]],
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Column 0 of what each lookup returns for a query at 0 to 90 degrees.

    Args:
        lookups: by name, functions of a query (2,) that return (d_v,).
    """
    angles = np.linspace(0, 90, 181)
    return {name: (angles, np.array([look(turned_query(a))[0] for a in angles])) for name, look in lookups.items()}

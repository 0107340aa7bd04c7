"""The figure of chapter 00: a row of numbers and its mean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from attention_lab.figures.base import COLOURS, INK, Chart, short_number


def row_chart(low: float = -4.0, high: float = 8.0) -> Chart:
    """A chart of one row, (d,): a bar for each number and a dashed line at their mean.

    Args:
        low, high: the ends of the value axis.
    """

    def chart(figure: Figure) -> Callable[[ArrayLike], str]:
        ax = figure.subplots()
        ax.spines[["top", "right"]].set_visible(False)
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.set(ylim=(low, high), xlim=(-0.6, 4.4), xticks=range(4))
        ax.set_xlabel("place in the row", fontsize=9, color=INK)
        ax.set_ylabel("value", fontsize=9, color=INK)
        ax.tick_params(labelsize=9)
        bars = ax.bar(range(4), np.ones(4), 0.7, color=COLOURS[0])
        line = ax.axhline(0, color=COLOURS[1], linestyle="--", linewidth=1.8)
        name = ax.text(3.5, 0, "mean", color=COLOURS[1], fontsize=9, va="bottom")

        def update(data: ArrayLike) -> str:
            row = np.asarray(data, dtype=float)
            if row.shape != (4,):
                raise ValueError(f"the chart shows a row of 4 numbers; the shape is {row.shape}")
            for bar, value in zip(bars, row, strict=True):
                bar.set_height(value)
            mean = float(row.mean())
            line.set_ydata([mean, mean])
            name.set_y(mean)
            said = f"The mean of this row is {short_number(mean)}"
            ax.set_title(said, fontsize=10.5, color=INK, loc="left", pad=8)
            return f"{said}. Its numbers: {', '.join(short_number(value) for value in row)}."

        return update

    return chart

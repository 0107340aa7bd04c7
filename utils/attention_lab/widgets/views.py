"""The two views. A view says how data becomes a frame in the browser, and which still stands for it without one.

`view.start(data)` makes a painter, which owns whatever lives as long as one slider does (the persistent figure); a
painter turns each new piece of data into a `Frame`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from matplotlib import colormaps
from numpy.typing import ArrayLike

from attention_lab.figures import Chart, Picture, heat_map, picture
from attention_lab.figures.base import new_figure, pixel_size
from attention_lab.figures.sheet import Sheet


@dataclass(frozen=True)
class Frame:
    """What the browser needs for one picture: a sentence, a little JSON, and bytes."""

    text: str
    detail: dict[str, Any]
    content: bytes


class Painter(Protocol):
    """Turns data into frames for one slider."""

    @property
    def spec(self) -> dict[str, Any]:
        """What does not change from frame to frame, as plain JSON."""

    def paint(self, data: Any) -> Frame:
        """The frame for `data`; ValueError where the data does not fit the view."""

    def still(self) -> Picture:
        """The picture of the first data, for a page without a kernel."""


class View(Protocol):
    """How data is shown."""

    def start(self, data: Any) -> Painter:
        """A painter whose first picture is of `data`."""


@dataclass(frozen=True)
class FigureView:
    """A chart of `attention_lab.figures`, redrawn on one figure.

    Fixed ends of the axes make the redrawing several times cheaper, and are easier to read while a slider moves.

    Args:
        chart: the function that is explored returns this chart's data.
        size: width and height in inches (96 CSS pixels each).
    """

    chart: Chart
    size: tuple[float, float] = (6.0, 3.6)

    def start(self, data: Any) -> Painter:
        return _FigurePainter(self, data)


class _FigurePainter:
    def __init__(self, view: FigureView, data: Any) -> None:
        self._figure = new_figure(view.size)
        self._update: Callable[[Any], str] = view.chart(self._figure)
        self._first = Picture(self._figure, self._update(data))
        self._sheet = Sheet(self._figure)
        width, height = pixel_size(self._figure)
        self.spec = {"kind": "figure", "width": width, "height": height}

    def paint(self, data: Any) -> Frame:
        text = self._update(data)
        return Frame(text, {}, self._sheet.png())

    def still(self) -> Picture:
        return self._first


@dataclass(frozen=True)
class PatternData:
    """What a function explored in a `PatternView` returns.

    Args:
        pattern: (T, S), one row a query, one column a key.
        text: one sentence that says what is seen.
        bars: named values drawn beside the pattern, always the same names in the same order.
        queries, keys: names of rows and columns where they are not the view's.
        asking: number of the row that a walked view marks, from 1; None leaves the learner's.
    """

    pattern: ArrayLike
    text: str
    bars: Mapping[str, float] | None = None
    queries: Sequence[str] | None = None
    keys: Sequence[str] | None = None
    asking: int | None = None


@dataclass(frozen=True)
class PatternView:
    """A heat map drawn in the browser: query rows down, key columns across.

    Args:
        queries: T names of the rows.
        keys: S names of the columns.
        title: says what is seen at the start or in general.
        low, high: the ends of the colour scale.
        walk: rows can be walked by arrow keys and mouse: arcs, bars and a sentence show where the row looks.
        bars_title: what the bars are.
        bars_low, bars_high: the ends of the bars' scale.
    """

    queries: Sequence[str]
    keys: Sequence[str]
    title: str = ""
    low: float = 0.0
    high: float = 1.0
    walk: bool = False
    bars_title: str = ""
    bars_low: float = 0.0
    bars_high: float = 1.0

    def start(self, data: Any) -> Painter:
        return _PatternPainter(self, data)


class _PatternPainter:
    def __init__(self, view: PatternView, data: PatternData) -> None:
        self._view = view
        self._bars: tuple[str, ...] | None = None
        self._first = data
        self.spec = {
            "kind": "pattern",
            "title": view.title,
            "queries": list(view.queries),
            "keys": list(view.keys),
            "low": float(view.low),
            "high": float(view.high),
            "colours": colour_table("viridis"),
            "walk": view.walk,
            "bars": [],
            "barsTitle": view.bars_title,
            "barsLow": float(view.bars_low),
            "barsHigh": float(view.bars_high),
        }
        self.paint(data)
        self.spec["bars"] = list(self._bars or ())

    def paint(self, data: PatternData) -> Frame:
        if not isinstance(data, PatternData):
            raise TypeError(f"a PatternView shows PatternData(pattern, text), not a {type(data).__name__}")
        pattern = np.ascontiguousarray(data.pattern, dtype="<f4")
        queries, keys = self._names(data)
        if pattern.shape != (len(queries), len(keys)):
            raise ValueError(
                f"the view has {len(queries)} rows, {len(keys)} columns; the pattern has shape {pattern.shape}"
            )
        bars = data.bars or {}
        if self._bars is None:
            self._bars = tuple(bars)
        if tuple(bars) != self._bars:
            raise ValueError(f"the bars were {list(self._bars)} at first and are now {list(bars)}")
        detail: dict[str, Any] = {"bars": [float(value) for value in bars.values()]}
        if data.queries is not None or data.keys is not None:
            detail |= {"queries": queries, "keys": keys}
        if data.asking is not None:
            detail["row"] = data.asking - 1
        return Frame(data.text, detail, pattern.tobytes())

    def still(self) -> Picture:
        queries, keys = self._names(self._first)
        chart = heat_map(queries, keys, self._view.title, low=self._view.low, high=self._view.high)
        drawn = picture(chart, self._first.pattern, size=(5.2, 3.8))
        return Picture(drawn.figure, f"{drawn.alt} {self._first.text}")

    def _names(self, data: PatternData) -> tuple[list[str], list[str]]:
        queries = self._view.queries if data.queries is None else data.queries
        keys = self._view.keys if data.keys is None else data.keys
        return list(queries), list(keys)


def colour_table(name: str) -> str:
    """256 colours as one string of six hexadecimal digits each: the browser paints with matplotlib's own."""
    table = (colormaps[name](np.arange(256))[:, :3] * 255).round().astype(int)
    return "".join(f"{red:02x}{green:02x}{blue:02x}" for red, green, blue in table)

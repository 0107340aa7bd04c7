"""Charts, and pictures that say in words what they show.

A `Chart` is a function that builds its artists once on an empty figure and hands back `update(data)`. `update` changes
artists, never the layout, and returns the alt text. So one definition serves a still picture (`picture`) and a slider
(`attention_lab.widgets.FigureView`), and a move of the slider redraws without building anything anew.

There is no pyplot here and no Jupyter: figures are plain objects, and a picture is a bundle of HTML, PNG and text.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator
from matplotlib.transforms import Affine2D
from numpy.typing import ArrayLike, NDArray

#: Builds the artists on an empty figure once; the function it returns only changes artists and says what is seen.
Chart = Callable[[Figure], Callable[[Any], str]]
#: A fixed title, or one that is made from the data.
Title = str | Callable[[Any], str]

QUERY_AND_KEY = ("query: the word that looks", "key: the word looked at")
#: Cells carry their number up to this many rows and columns.
MOST_NUMBERED = 12
#: Rows are named one by one in the alt text up to this many.
MOST_NAMED = 6
#: Letters of a title that fit into an inch of the figure's width.
LETTERS_PER_INCH = 11
DOTS_PER_INCH = 144
PIXELS_PER_INCH = 96
#: Told apart by colour, by dash and by marker, so that grey-scale print and colour-blind readers lose nothing.
COLOURS = ("#00508c", "#c05a00", "#1a7f5a", "#8a3c8f", "#555555", "#9a7b00")
DASHES = ("-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P")
HATCHES = ("", "//", "..", "xx", "\\\\", "++")
INK = "#1f2328"


# -- pictures -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Picture:
    """A drawn figure with its alt text; the last expression of a cell shows it."""

    figure: Figure
    alt: str

    def png(self) -> bytes:
        """The picture as PNG bytes on a white ground."""
        return png_bytes(self.figure)

    def html(self) -> str:
        """One `<img>` with its alt text, whole in itself."""
        return image_html(self.png(), self.alt, self.figure)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        png = self.png()
        return {
            "text/html": image_html(png, self.alt, self.figure),
            "image/png": base64.b64encode(png).decode("ascii"),
            "text/plain": self.alt,
        }

    def __repr__(self) -> str:
        return self.alt


def picture(chart: Chart, data: Any, size: tuple[float, float] = (6.0, 3.6)) -> Picture:
    """Draw `data` with `chart`.

    Args:
        chart: what `heat_map`, `line_chart`, `bar_chart` or a function of your own returns.
        data: what the chart's `update` takes.
        size: width and height in inches (96 CSS pixels each).
    """
    figure = new_figure(size)
    update = chart(figure)
    alt = update(data)
    settle(figure)
    return Picture(figure, alt)


def new_figure(size: tuple[float, float]) -> Figure:
    """An empty white figure with a canvas of its own and no pyplot state."""
    figure = Figure(figsize=size, dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def settle(figure: Figure) -> None:
    """Lay the figure out once, then never again: redrawing is cheap and nothing jumps."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(w_pad=0.08, h_pad=0.08)  # type: ignore[call-arg]
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


def png_bytes(figure: Figure) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=figure.dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def pixel_size(figure: Figure) -> tuple[int, int]:
    """Width and height of the figure on the page, in CSS pixels."""
    width, height = figure.get_size_inches()
    return round(width * PIXELS_PER_INCH), round(height * PIXELS_PER_INCH)


def image_html(png: bytes, alt: str, figure: Figure) -> str:
    """One `<img>` that carries its bytes; it shrinks on a narrow page."""
    width, height = pixel_size(figure)
    source = base64.b64encode(png).decode("ascii")
    return (
        f'<img class="attention-lab-picture" alt="{html.escape(alt)}" width="{width}" height="{height}" '
        f'style="max-width:100%;height:auto;background:white" src="data:image/png;base64,{source}">'
    )


# -- heat map -----------------------------------------------------------------------------------------------------


def heat_map(
    queries: Sequence[str],
    keys: Sequence[str],
    title: Title,
    numbers: bool = True,
    colour: str = "viridis",
    low: float | None = 0,
    high: float | None = 1,
    axes: tuple[str, str] = QUERY_AND_KEY,
) -> Chart:
    """A chart of a (T, S) array: one row a query, from the top down; one column a key, from left to right.

    Args:
        queries: T names of the rows.
        keys: S names of the columns.
        title: says the finding; a function makes it from the array.
        numbers: write the value into each cell, up to 12 by 12.
        colour: a matplotlib colour map; "viridis" and "cividis" survive grey-scale print.
        low, high: the ends of the colour scale; None takes the array's own least or largest value.
        axes: what the rows and what the columns are.

    The chart's `update` raises ValueError for an array of another shape.
    """
    shape = (len(queries), len(keys))

    def chart(figure: Figure) -> Callable[[ArrayLike], str]:
        ax = figure.subplots()
        colour_map = colormaps[colour].with_extremes(bad="#d0d0d0")
        image = ax.imshow(np.zeros(shape), colour_map, aspect="auto", interpolation="nearest", vmin=low, vmax=high)
        _name_cells(ax, queries, keys, axes)
        _draw_seams(ax, shape)
        _draw_scale(figure, image, ax)
        numbered = numbers and max(shape) <= MOST_NUMBERED
        written = CellNumbers(ax, shape, _number_size(shape)) if numbered else None
        name_finding = _titler(ax, title)

        def update(data: ArrayLike) -> str:
            values = _as_table(data, shape)
            scale = _scale(values, low, high)
            image.set_data(np.ma.masked_invalid(values))
            image.set_clim(*scale)
            if written:
                written.write([cell_number(value) for value in values.flat], inks_on(colour_map, values, *scale))
            said = name_finding(values)
            return _join(said, describe_table(values, queries, keys, looks=axes == QUERY_AND_KEY))

        return update

    return chart


def _name_cells(ax: Axes, queries: Sequence[str], keys: Sequence[str], axes: tuple[str, str]) -> None:
    """Names of the rows on the left, of the columns above, and what rows and columns are."""
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    for axis, names in ((ax.xaxis, keys), (ax.yaxis, queries)):
        stride = math.ceil(len(names) / 32)
        axis.set_major_locator(FixedLocator(range(0, len(names), stride)))
        axis.set_major_formatter(FixedFormatter(list(names[::stride])))
    crowded = max((len(name) for name in keys), default=0) * len(keys) > 60
    ax.tick_params(length=0, labelsize=9, labelcolor=INK)
    if crowded:
        ax.tick_params(axis="x", labelrotation=60)
    ax.set_ylabel(axes[0], fontsize=9, color=INK)
    ax.set_xlabel(axes[1], fontsize=9, color=INK)


def _draw_scale(figure: Figure, image: Any, ax: Axes) -> None:
    bar = figure.colorbar(image, ax=ax, pad=0.02, fraction=0.05, aspect=28)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8.5, labelcolor=INK, length=0)
    bar.locator = MaxNLocator(5)


def _draw_seams(ax: Axes, shape: tuple[int, int]) -> None:
    """White seams between the cells while they are few, so that neighbours of one colour stay two cells."""
    ax.spines[:].set_visible(False)
    if max(shape) <= 24:
        for position in np.arange(shape[1] - 1) + 0.5:
            ax.axvline(position, color="white", linewidth=1, zorder=1)
        for position in np.arange(shape[0] - 1) + 0.5:
            ax.axhline(position, color="white", linewidth=1, zorder=1)


class CellNumbers(PathCollection):
    """The numbers in the cells of a heat map, as one artist: drawing 144 of them is as quick as drawing a few texts.

    Args:
        ax: where they stand; row 0 is at the top, cells are one unit wide.
        shape: (T, S), how many rows and columns.
        size: of the letters, in points.

    Attributes:
        words: what stands in the cells, row by row.
    """

    def __init__(self, ax: Axes, shape: tuple[int, int], size: float) -> None:
        centres = [(column, row) for row in range(shape[0]) for column in range(shape[1])]
        super().__init__([], offsets=centres, offset_transform=ax.transData, linewidths=0, zorder=3)
        figure: Any = ax.figure
        self.set_transform(Affine2D().scale(1 / 72) + figure.dpi_scale_trans)
        self.words: list[str] = []
        self._size = size
        ax.add_collection(self, autolim=False)

    def write(self, words: list[str], inks: list[str]) -> None:
        """Put T · S words into the cells, each in its ink."""
        self.words = words
        self.set_paths([_letters(word, self._size) for word in words])
        self.set_facecolor(inks)


@functools.lru_cache(maxsize=4096)
def _letters(word: str, size: float) -> Path:
    """The outlines of a word in points, its middle at the origin; every word stands as high as a digit."""
    path = TextPath((0, 0), word, size=size)
    left, right = (path.vertices[:, 0].min(), path.vertices[:, 0].max()) if len(path.vertices) else (0, 0)
    return Affine2D().translate(-(left + right) / 2, -0.365 * size).transform_path(path)


def _number_size(shape: tuple[int, int]) -> float:
    return 9.0 if max(shape) <= 6 else 7.5 if max(shape) <= 9 else 6.0


def _as_table(data: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
    values = np.asarray(data, dtype=float)
    if values.shape != shape:
        raise ValueError(f"the heat map has {shape[0]} rows, {shape[1]} columns; the array has shape {values.shape}")
    return values


def _scale(values: NDArray[np.float64], low: float | None, high: float | None) -> tuple[float, float]:
    """The ends of the colour scale, never equal."""
    finite = values[np.isfinite(values)]
    bottom = float(low if low is not None else finite.min() if finite.size else 0.0)
    top = float(high if high is not None else finite.max() if finite.size else 1.0)
    return (bottom, top) if top > bottom else (bottom, bottom + 1.0)


def ink_on(colour_map: Colormap, value: float, low: float, high: float) -> str:
    """Black or white, whichever stands out more on the colour of `value` (WCAG 2 relative luminance)."""
    return inks_on(colour_map, np.array([value]), low, high)[0]


def inks_on(colour_map: Colormap, values: NDArray[np.float64], low: float, high: float) -> list[str]:
    """`ink_on` for each value of an array, row by row."""
    flat = values.ravel()
    known = np.isfinite(flat)
    colours = colour_map(np.where(known, (flat - low) / (high - low), 0.0))[:, :3]
    colours[~known] = 0.8  # the grey of what has no number
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return ["black" if light > 0.179 else "white" for light in linear @ (0.2126, 0.7152, 0.0722)]


# -- lines and bars -----------------------------------------------------------------------------------------------


def line_chart(
    title: Title,
    x_label: str,
    y_label: str,
    series: Sequence[str],
    *,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    markers: bool = True,
    levels: Mapping[str, float] | None = None,
) -> Chart:
    """A chart of `{name: (x, y)}`: one line a name, told apart by colour, dash and marker.

    Args:
        title: says the finding; a function makes it from the data.
        x_label, y_label: with units.
        series: the names, in the order of the legend. A name that the data leaves out is not drawn.
        x_range, y_range: fixed ends of the axes; None fits them to the data at each update.
        log_x, log_y: logarithmic axes.
        markers: a marker on the points of each line (on some of them where they are many).
        levels: names and heights of horizontal lines to compare with, such as `{"a uniform guess": 2.3}`.

    The chart's `update` raises ValueError for a name that is not in `series`.
    """

    def chart(figure: Figure) -> Callable[[Mapping[str, tuple[ArrayLike, ArrayLike]]], str]:
        ax = _plain_axes(figure, x_label, y_label)
        ax.set_xscale("log" if log_x else "linear")
        ax.set_yscale("log" if log_y else "linear")
        if log_x:
            ax.xaxis.set_major_formatter("{x:g}")  # 10 and 100, not powers
        lines = {name: ax.plot([], [], label=name, **_line_style(i, markers))[0] for i, name in enumerate(series)}
        _draw_levels(ax, levels or {})
        if len(series) + len(levels or {}) > 1:
            ax.legend(fontsize=8.5, frameon=False)
        _fix_axes(ax, x_range, y_range)
        name_finding = _titler(ax, title)

        def update(data: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> str:
            _refuse_unknown(data, series)
            for name, line in lines.items():
                x, y = (np.asarray(part, dtype=float) for part in data.get(name, ((), ())))
                line.set_data(x, y)
                line.set_markevery(max(1, math.ceil(len(x) / 16)))
            _fit_axes(ax)
            said = name_finding(data)
            return _join(said, *(describe_line(name, *data[name]) for name in series if name in data))

        return update

    return chart


def bar_chart(
    title: Title,
    x_label: str,
    y_label: str,
    labels: Sequence[str],
    series: Sequence[str] = ("",),
    *,
    y_range: tuple[float, float] | None = None,
    log_y: bool = False,
    numbers: bool = True,
) -> Chart:
    """A chart of one value a label, as an (n,) array or `{label: value}`; with several series `{series: (n,)}`.

    Args:
        title: says the finding; a function makes it from the data.
        x_label, y_label: with units.
        labels: n names under the bars.
        series: names of the groups of bars, told apart by colour and hatching.
        y_range: fixed ends of the value axis; None fits it to the data at each update.
        log_y: logarithmic value axis.
        numbers: write the value over each bar, while there are at most 24.

    The chart's `update` raises ValueError for another number of values.
    """
    places = np.arange(len(labels))
    width = 0.8 / len(series)

    def chart(figure: Figure) -> Callable[[Any], str]:
        ax = _plain_axes(figure, x_label, y_label)
        ax.set_yscale("log" if log_y else "linear")
        ax.axhline(0, color=INK, linewidth=0.8)
        groups = [
            ax.bar(places - 0.4 + width * (i + 0.5), np.ones(len(labels)), width * 0.92, label=name,
                   color=COLOURS[i % len(COLOURS)], hatch=HATCHES[i % len(HATCHES)], edgecolor="white", linewidth=0)
            for i, name in enumerate(series)
        ]  # fmt: skip
        ax.set_xticks(places, list(labels), rotation=60 if max(map(len, labels), default=0) * len(labels) > 70 else 0)
        if len(series) > 1:
            ax.legend(fontsize=8.5, frameon=False)
        numbered = numbers and len(labels) * len(series) <= 24
        texts = [[ax.annotate("", (0, 0), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=8)
                  for _ in labels] for _ in series] if numbered else [[] for _ in series]  # fmt: skip

        _fix_axes(ax, None, y_range)
        name_finding = _titler(ax, title)

        def update(data: Any) -> str:
            table = _as_groups(data, labels, series)
            for bars, values, notes in zip(groups, table.values(), texts, strict=True):
                for bar, value in zip(bars, values, strict=True):
                    bar.set_height(value if math.isfinite(value) else 0.0)
                for note, bar, value in zip(notes, bars, values, strict=False):
                    _note_over(note, bar.get_x() + bar.get_width() / 2, float(value))
            if y_range is None:
                _fit_bars(ax, table, log_y)
            said = name_finding(data)
            return _join(said, *(describe_bars(name, labels, values) for name, values in table.items()))

        return update

    return chart


def side_by_side(*charts: Chart) -> Chart:
    """One chart made of several, from left to right; its data is a tuple with one entry a chart."""

    def chart(figure: Figure) -> Callable[[Sequence[Any]], str]:
        panels = figure.subfigures(1, len(charts), squeeze=False)[0]
        updates = [part(panel) for part, panel in zip(charts, panels, strict=True)]

        def update(data: Sequence[Any]) -> str:
            if len(data) != len(updates):
                raise ValueError(f"{len(updates)} charts stand side by side, and the data has {len(data)} entries")
            return " ".join(part(entry) for part, entry in zip(updates, data, strict=True))

        return update

    return chart


def _plain_axes(figure: Figure, x_label: str, y_label: str) -> Axes:
    ax = figure.subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e4e6ea", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=9, labelcolor=INK, color="#8a9099")
    ax.set_xlabel(x_label, fontsize=9, color=INK)
    ax.set_ylabel(y_label, fontsize=9, color=INK)
    return ax


def _line_style(index: int, markers: bool) -> dict[str, Any]:
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)] if markers else "",
        "markersize": 4.5,
        "linewidth": 1.8,
    }


def _draw_levels(ax: Axes, levels: Mapping[str, float]) -> None:
    for index, (name, height) in enumerate(levels.items()):
        ax.axhline(height, color="#6b7280", linewidth=1.2, linestyle=DASHES[(index + 3) % len(DASHES)], label=name)


def _refuse_unknown(data: Mapping[str, Any], series: Sequence[str]) -> None:
    unknown = [name for name in data if name not in series]
    if unknown:
        raise ValueError(f"no line is called {unknown[0]!r}; the chart has {', '.join(map(repr, series))}")


def _fix_axes(ax: Axes, x_range: tuple[float, float] | None, y_range: tuple[float, float] | None) -> None:
    if x_range is not None:
        ax.set_xlim(*x_range)
    if y_range is not None:
        ax.set_ylim(*y_range)


def _fit_axes(ax: Axes) -> None:
    """Fit the axes that are not fixed, and touch nothing where the data reaches as far as before."""
    before = ax.dataLim.frozen()
    ax.relim(visible_only=True)
    if not np.array_equal(before.get_points(), ax.dataLim.get_points()):
        ax.autoscale_view()


def _as_groups(data: Any, labels: Sequence[str], series: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """`{series: (n,) values}` from any of the forms that `bar_chart` takes."""
    if isinstance(data, Mapping) and set(data) == set(labels):
        data = [data[label] for label in labels]
    table = data if isinstance(data, Mapping) else {series[0]: data}
    groups = {name: np.asarray(table[name], dtype=float) for name in series if name in table}
    if len(groups) != len(series) or any(values.shape != (len(labels),) for values in groups.values()):
        raise ValueError(f"the chart has {len(series)} group(s) of {len(labels)} bars; the data has another form")
    return groups


def _note_over(note: Any, x: float, value: float) -> None:
    """Put a number at the end of its bar, under a bar that points down."""
    note.set_text(short_number(value))
    note.xy = (x, value if math.isfinite(value) else 0.0)
    note.set_position((0, 2 if not value < 0 else -2))
    note.set_verticalalignment("bottom" if not value < 0 else "top")


def _fit_bars(ax: Axes, table: Mapping[str, NDArray[np.float64]], log_y: bool) -> None:
    values = np.concatenate([v[np.isfinite(v)] for v in table.values()])
    positive = values[values > 0]
    if log_y and positive.size:
        ax.set_ylim(positive.min() / 2, positive.max() * 3)
    elif not log_y:
        top, bottom = max(0.0, values.max(initial=0.0)), min(0.0, values.min(initial=0.0))
        room = 0.12 * ((top - bottom) or 1.0)
        ax.set_ylim(bottom - (room if bottom < 0 else 0), top + room)
        ax.yaxis.set_major_locator(MaxNLocator(6))


def _titler(ax: Axes, title: Title) -> Callable[[Any], str]:
    """Writes the title for some data and says it. A title that is made from the data has room for two lines."""
    width = ax.get_figure().bbox.width / ax.get_figure().dpi  # type: ignore[union-attr]
    letters = max(20, int(width * LETTERS_PER_INCH))
    artist = ax.set_title("", fontsize=10.5, color=INK, loc="left", pad=8)

    def write(data: Any) -> str:
        said = title(data) if callable(title) else title
        lines = textwrap.wrap(said, letters) or [""]
        artist.set_text("\n".join([""] * (2 - len(lines)) + lines if callable(title) else lines))
        return said

    return write


# -- words --------------------------------------------------------------------------------------------------------


def describe_table(values: NDArray[np.float64], queries: Sequence[str], keys: Sequence[str], looks: bool = True) -> str:
    """What an attentive person says of a heat map: where each row is largest, or where the largest values are."""
    rows, columns = tell_apart(queries), tell_apart(keys)
    if values.size == 0:
        return "The table is empty."
    order = list(range(len(rows)))
    if len(rows) > MOST_NAMED:
        peaks = np.where(np.isfinite(values), values, -np.inf).max(axis=1)
        order = sorted(np.argsort(-peaks, kind="stable")[:3].tolist())
    said = [_describe_row(rows[i], values[i], columns, looks) for i in order]
    sizes = f"{len(rows)} rows and {len(columns)} columns. " if len(rows) > MOST_NAMED else ""
    return sizes + "; ".join(said) + "."


def _describe_row(name: str, row: NDArray[np.float64], columns: Sequence[str], looks: bool) -> str:
    if not np.isfinite(row).any():
        return f"{name} has no number"
    peak = float(np.nanmax(np.where(np.isfinite(row), row, np.nan)))
    best = [columns[i] for i in np.flatnonzero(np.abs(row - peak) < 5e-4 * max(1.0, abs(peak))).tolist()]
    verb = "looks most at" if looks else "is largest at"
    if len(best) == len(columns) and len(columns) > 1:
        return f"{name} {'looks at all alike' if looks else 'is the same everywhere'} ({short_number(peak)})"
    return f"{name} {verb} {_list_places(best)} ({short_number(peak)})"


def _list_places(places: Sequence[str]) -> str:
    if len(places) == 1:
        return places[0]
    return f"{', '.join(places[:-1])} and {places[-1]} alike" if len(places) < 4 else f"{len(places)} places alike"


def describe_line(name: str, x: ArrayLike, y: ArrayLike) -> str:
    """Where a line begins and ends, and its extremes where they lie between."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    keep = np.isfinite(ys)
    xs, ys = xs[keep], ys[keep]
    head = f"{name}: " if name else ""
    if not ys.size:
        return f"{head}no points."
    said = f"{head}{short_number(ys[0])} at {short_number(xs[0])}, {short_number(ys[-1])} at {short_number(xs[-1])}"
    spread = 0.02 * (ys.max() - ys.min())
    for word, index in (("least", int(ys.argmin())), ("largest", int(ys.argmax()))):
        if min(abs(ys[index] - ys[0]), abs(ys[index] - ys[-1])) > spread:
            said += f", {word} {short_number(ys[index])} at {short_number(xs[index])}"
    return said + "."


def describe_bars(name: str, labels: Sequence[str], values: NDArray[np.float64]) -> str:
    """Every bar while they are few, else the largest and the least."""
    head = f"{name}: " if name else ""
    if not len(labels):
        return f"{head}no bars."
    if len(labels) <= 8:
        return (
            head
            + ", ".join(f"{label} {short_number(value)}" for label, value in zip(labels, values, strict=True))
            + "."
        )
    most, least = int(np.nanargmax(values)), int(np.nanargmin(values))
    return (
        f"{head}{len(labels)} bars, largest {labels[most]} {short_number(values[most])}, "
        f"least {labels[least]} {short_number(values[least])}."
    )


def _join(title: str, *sentences: str) -> str:
    """The title as a sentence, then what is seen."""
    head = title.strip()
    stop = "" if not head or head[-1] in ".!?" else "."
    return " ".join(part for part in (head + stop, *sentences) if part)


def tell_apart(names: Sequence[str]) -> list[str]:
    """The names, with "first", "second" … in front of those that occur more than once."""
    ordinals = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
    seen: dict[str, int] = {}
    apart = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        ordinal = ordinals[count] if count < len(ordinals) else f"{count + 1}th"
        apart.append(f"the {ordinal} {name!r}" if list(names).count(name) > 1 else str(name))
    return apart


def cell_number(value: float) -> str:
    """A number for a cell: two decimals, so that a column of them lines up; fewer where they would not fit."""
    return f"{value:.2f}".replace("-", "−") if 0 < abs(value) < 0.005 else short_number(value)


def short_number(value: float) -> str:
    """A number as a reader wants it: two decimals, fewer for large ones, a power of ten for tiny ones."""
    number = float(value)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "−∞" if number < 0 else "∞"
    size = abs(number)
    if size >= 1000:
        text = f"{number:,.0f}" if size < 1e6 else f"{number:.1e}"
    elif size >= 100 or (size >= 1 and number == int(number)):
        text = f"{number:.0f}"
    elif size >= 10:
        text = f"{number:.1f}"
    elif size < 0.005 and size != 0:
        text = f"{number:.1g}"
    else:
        text = f"{number:.2f}"
    if number == 0:
        return "0"
    return text.replace("-", "−", 1) if number < 0 else text

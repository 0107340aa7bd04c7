"""Charts of chapter 10: what length costs, counted without computing, and which part of the scores exists when.

Letters: T words, S keys, H heads, d width of a row. An operation is one multiplication or one addition.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from attention_lab.figures.base import COLOURS, HATCHES, INK, Chart, ink_on, line_chart, short_number

if TYPE_CHECKING:
    from torch import Tensor

#: Keys of one block in `cost_chart`.
BLOCK = 64


@dataclass(frozen=True)
class Shape:
    """The sizes of one layer of a model.

    Attributes:
        width: d of the rows.
        n_heads: heads that ask.
        kv_heads: heads that are asked; fewer where several heads share their keys and values.
        inner: width inside the MLP.
        matrices: matrices of the MLP: 2, or 3 where it has a gate.
        context: the longest text that the model reads.
    """

    width: int
    n_heads: int
    kv_heads: int
    inner: int
    matrices: int
    context: int


#: Layers of three models. GPT-2: Radford et al. 2019; SmolLM2-135M: its published configuration.
SHAPES: dict[str, Shape] = {
    "lab model": Shape(64, 4, 4, 256, 2, 128),
    "SmolLM2": Shape(576, 9, 3, 1536, 3, 8192),
    "GPT-2 small": Shape(768, 12, 12, 3072, 2, 1024),
}


def counted(f: Callable[..., Any], *given: Sequence[int] | Tensor) -> int:
    """The operations of the matrix products in `f`, as torch counts them.

    Args:
        f: called with tensors.
        given: tensors, or shapes. For a shape `f` gets a tensor on torch's meta device, which has a shape and no
            numbers: nothing is computed.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    tensors = [t if isinstance(t, torch.Tensor) else torch.empty(tuple(t), device="meta") for t in given]
    with FlopCounterMode(display=False) as counter:
        f(*tensors)
    return int(counter.get_total_flops())


def by_hand(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention as chapters 04 to 07 write it: all scores, the softmax, the blend; (…, T, d_h) → (…, T, d_h)."""
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


def layer_operations(shape: Shape, T: int) -> tuple[int, int]:
    """Operations of one layer on T words, counted by torch: of scores and blend, and of all else."""
    d, d_h = shape.width, shape.width // shape.n_heads

    def the_rest(x: Tensor, views: Tensor, out: Tensor, up: Tensor, down: Tensor) -> None:
        _ = x @ views, x @ out, x @ up, (x @ up)[:, : shape.inner] @ down

    keys = 2 * shape.kv_heads * d_h
    up = (shape.matrices - 1) * shape.inner
    sizes = [(T, d), (d, d + keys), (d, d), (d, up), (shape.inner, d)]
    twice = 2 * T * d * up  # x @ up stands there twice above
    heads = [(shape.n_heads, T, d_h)] * 3
    return counted(by_hand, *heads), counted(the_rest, *sizes) - twice


def share(shape: Shape, T: int) -> float:
    """The part of a layer's operations that scores and blend are."""
    attention, rest = layer_operations(shape, T)
    return attention / (attention + rest)


def shares(lengths: Sequence[int]) -> dict[str, tuple[Sequence[int], list[float]]]:
    """For each of `SHAPES` the share of attention at these lengths: data of `share_chart`."""
    return {name: (lengths, [share(shape, T) for T in lengths]) for name, shape in SHAPES.items()}


def share_chart() -> Chart:
    """Share of attention in a layer's operations against the length of the text."""
    return line_chart(
        "Attention is the smaller part until a text is five or six widths long",
        "words in the text",
        "share of scores and blend",
        list(SHAPES),
        y_range=(0, 1),
        log_x=True,
        levels={"half": 0.5},
    )


def first_at(condition: Callable[[int], bool]) -> int:
    """The least number from 1 on for which `condition` holds; it has to hold from there on."""
    high = 1
    while not condition(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high


# --- what it would cost ----------------------------------------------------------------------------------------------


def free_bytes() -> int:
    """The memory that this machine could hand out now."""
    import psutil

    return int(psutil.virtual_memory().available)


def size_text(n: float) -> str:
    """Bytes in the unit in which people say them."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:,.0f} TB" if n >= 100 else f"{n:.3g} TB"


def power_text(n: float) -> str:
    """A large number as 1.3 · 10¹³."""
    digits, power = f"{n:.1e}".split("e")
    return f"{digits} · 10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


@dataclass(frozen=True)
class Costs:
    """What one layer of GPT-2's kind would need for one text; nothing of it has been made.

    Attributes:
        words, n_heads, width: what was asked for.
        memory: bytes in float32 of queries, keys and values, of all scores, of the scores of one block of keys.
        operations: of scores and blend, and of all else.
        free: bytes of memory that are free.
    """

    words: int
    n_heads: int
    width: int
    memory: Mapping[str, int]
    operations: Mapping[str, int]
    free: int


def costs(T: int, n_heads: int, width: int, score_bytes: int, flops: int) -> Costs:
    """Data of `cost_chart`, from the bytes of all scores and the operations of attention."""
    memory = {
        "q, k and v": 3 * T * width * 4,
        "all scores": score_bytes,
        f"{BLOCK} keys at a time": min(T, BLOCK) * n_heads * T * 4,
    }
    return Costs(T, n_heads, width, memory, {"attention": flops, "all else": 24 * T * width**2}, free_bytes())


def cost_chart() -> Chart:
    """Two panels: bytes against the memory that is free, on a logarithmic axis; operations of a layer."""

    def chart(figure: Figure) -> Callable[[Costs], str]:
        left, right = figure.subplots(1, 2)
        names = ["q, k and v", "all scores", f"{BLOCK} keys at a time"]
        bars = _bars(left, names, "bytes, float32", log=True)
        left.set_ylim(1e4, 1e13)
        line = left.axhline(1e9, color="#b00020", linewidth=1.6, linestyle="--")
        said = left.annotate("free on this machine", (2.45, 1e9), (0, 3), textcoords="offset points", ha="right",
                             color="#b00020", fontsize=8.5)  # fmt: skip
        work = _bars(right, ["attention", "all else"], "share of the layer's operations")
        right.set_ylim(0, 1.12)
        title = figure.suptitle("", fontsize=10.5, color=INK, x=0.01, ha="left")

        def update(data: Costs) -> str:
            _raise(bars, data.memory, size_text)
            line.set_ydata([data.free, data.free])
            said.xy = (2.45, data.free)
            total = sum(data.operations.values())
            _raise(work, {name: n / total for name, n in data.operations.items()}, lambda part: f"{part:.0%}")
            text = _verdict(data)
            title.set_text(text.partition(". ")[0])
            return text

        update(costs(1024, 8, 512, 1 << 25, 1 << 31))
        return update

    return chart


def _verdict(data: Costs) -> str:
    need, attention = data.memory["all scores"], data.operations["attention"]
    fits = "fits into what is free" if need <= data.free else "more than is free: it would be refused"
    part = attention / sum(data.operations.values())
    small = size_text(data.memory[f"{BLOCK} keys at a time"])
    return (
        f"{data.words:,} words, {data.n_heads} heads: all scores need {size_text(need)}, which "
        f"{'' if need <= data.free else 'is '}{fits}. With {BLOCK} keys at a time it is {small}. Attention is "
        f"{part:.0%} of {power_text(sum(data.operations.values()))} operations. Nothing of this was made."
    )


def _bars(ax: Any, names: Sequence[str], label: str, log: bool = False) -> list[tuple[Any, Any]]:
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="#e4e6ea", linewidth=0.8)
    ax.tick_params(labelsize=9, labelcolor=INK, color="#8a9099")
    ax.set_ylabel(label, fontsize=9, color=INK)
    if log:
        ax.set_yscale("log")
    ax.set_xticks(range(len(names)), names)
    ax.set_xlim(-0.55, len(names) - 0.45)
    made = []
    for i in range(len(names)):
        (bar,) = ax.bar([i], [1.0], 0.62, color=COLOURS[i], hatch=HATCHES[i], edgecolor="white", linewidth=0)
        note = ax.annotate("", (i, 1.0), (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=8.5)
        made.append((bar, note))
    return made


def _raise(bars: Sequence[tuple[Any, Any]], values: Mapping[str, float], text: Callable[[float], str]) -> None:
    for (bar, note), value in zip(bars, values.values(), strict=True):
        bar.set_height(value)
        note.xy = (bar.get_x() + bar.get_width() / 2, value)
        note.set_text(text(value))


# --- the clock -------------------------------------------------------------------------------------------------------


def clocked(f: Callable[..., Any], tensors: Callable[[int], Sequence[Tensor]], lengths: Sequence[int]) -> list[float]:
    """Seconds that `f` takes on what `tensors` makes for each length: the least of three calls."""
    found = []
    for T in lengths:
        given = tensors(T)
        calls = []
        for _ in range(3):
            start = time.perf_counter()
            f(*given)
            calls.append(time.perf_counter() - start)
        found.append(min(calls))
    return found


def clock_chart(names: Sequence[str], lengths: Sequence[int]) -> Chart:
    """Time against these lengths, both axes logarithmic: a slope is an exponent."""
    lines = line_chart(
        "By the clock: an exponent that depends on where you look",
        "words in the text",
        "time of one call (seconds)",
        names,
        log_x=True,
        log_y=True,
    )

    def chart(figure: Figure) -> Callable[[Any], str]:
        update = lines(figure)
        (ax,) = figure.axes
        ax.set_xticks(lengths, [f"{n:,}" for n in lengths])
        ax.minorticks_off()
        return update

    return chart


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """Attention in blocks, stopped while one block is there.

    Attributes:
        scores: (T, S), of which only the columns `first` to `last` exist.
        number, count: which block it is, from 1, and how many there are.
        first, last: where the block begins, and where the next one does.
        top: (T,) the largest score of each row so far.
        total: (T,) the sum so far of exp(score - top).
        factor: (T,) what the sum before was multiplied with.
    """

    scores: NDArray[Any]
    number: int
    count: int
    first: int
    last: int
    top: NDArray[Any]
    total: NDArray[Any]
    factor: NDArray[Any]


def moment(scores: ArrayLike, block: int, step: int) -> Moment:
    """Blockwise attention over `scores` (T, S), stopped in its step number `step`, from 1; in its last one if later."""
    table = np.asarray(scores, dtype=float)
    count = math.ceil(table.shape[1] / block)
    step = min(step, count)
    top, total, factor = np.full(len(table), -np.inf), np.zeros(len(table)), np.zeros(len(table))
    for i in range(step):
        part = table[:, i * block : (i + 1) * block]
        new = np.maximum(top, part.max(axis=1))
        factor = np.exp(top - new)
        total, top = total * factor + np.exp(part - new[:, None]).sum(axis=1), new
    return Moment(table, step, count, (step - 1) * block, min(step * block, table.shape[1]), top, total, factor)


def moment_chart(words: Sequence[str]) -> Chart:
    """Which part of the (T, T) scores exists, which is gone, which is to come; maximum and sum of each row so far."""
    T = len(words)

    def chart(figure: Figure) -> Callable[[Moment], str]:
        ax = figure.subplots()
        colours = colormaps["viridis"]
        cells = [[Rectangle((s, t), 1, 1, linewidth=1.2, edgecolor="white") for s in range(T)] for t in range(T)]
        texts = [[ax.text(s + 0.5, t + 0.5, "", ha="center", va="center", fontsize=9) for s in range(T)]
                 for t in range(T)]  # fmt: skip
        for row in cells:
            for cell in row:
                ax.add_patch(cell)
        columns = (T + 0.75, T + 1.75, T + 2.75)
        sides = [[ax.text(x, t + 0.5, "", ha="center", va="center", fontsize=9, color=INK) for x in columns]
                 for t in range(T)]  # fmt: skip
        ax.set_xlim(0, T + 3.3)
        ax.set_ylim(T, 0)
        ax.set_xticks([*(s + 0.5 for s in range(T)), *columns], [*words, "largest", "factor", "sum"])
        ax.set_yticks([t + 0.5 for t in range(T)], words)
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.tick_params(length=0, labelsize=9, labelcolor=INK)
        ax.spines[:].set_visible(False)
        ax.set_ylabel("query: the word that looks", fontsize=9, color=INK)
        ax.set_xlabel("key: the word looked at                                what a row keeps", fontsize=9, color=INK)
        title = ax.set_title("", fontsize=10.5, color=INK, loc="left", pad=8)

        def update(data: Moment) -> str:
            low, high = float(data.scores.min()), max(float(data.scores.max()), 1e-9)
            for t in range(T):
                for s in range(T):
                    value = float(data.scores[t, s])
                    here, gone = data.first <= s < data.last, s < data.first
                    cells[t][s].set_facecolor(
                        colours((value - low) / (high - low)) if here else "#d9dce1" if gone else "#f4f5f7"
                    )
                    cells[t][s].set_hatch("//" if gone else "")
                    texts[t][s].set_text(f"{value:.2f}" if here else "gone" if gone else "to come")
                    texts[t][s].set_color(ink_on(colours, value, low, high) if here else "#4a4f57")
                for text, value in zip(sides[t], (data.top[t], data.factor[t], data.total[t]), strict=True):
                    text.set_text(f"{value:.2f}")
            width = data.last - data.first
            said = f"Block {data.number} of {data.count}: {T * width} of {T * T} scores exist at this moment"
            title.set_text(said)
            kept = ", ".join(f"{word} {short_number(n)}" for word, n in zip(words, data.total, strict=True))
            keys = f"{'the key' if width == 1 else 'the keys'} {', '.join(words[data.first : data.last])}"
            return (
                f"{said}. They are of {keys}. "
                f"{T * data.first} are gone, {T * (T - data.last)} to come. Sums so far: {kept}."
            )

        return update

    return chart

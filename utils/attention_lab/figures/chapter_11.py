"""Charts of chapter 11: what each step of writing computes and reads, and how many bytes a cache holds; and its counts.

Letters: T tokens, H heads, d_h width of a head, S rows so far, L layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attention_lab.figures.base import COLOURS, INK, Chart, _join, _plain_axes, _titler, bar_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from attention_lab.models.door import Loaded

# -- counting -----------------------------------------------------------------------------------------------------


@contextmanager
def rows_counted(lab: Loaded) -> Iterator[list[int]]:
    """Inside it, a list gets the number of rows that layer 0 makes queries, keys and values of, one entry a pass."""
    rows: list[int] = []
    layer = lab.model.transformer.h[0].attn.c_attn
    hook = layer.register_forward_hook(lambda module, given, out: rows.append(out.shape[1]))
    try:
        yield rows
    finally:
        hook.remove()


def step_work(lab: Loaded, ids: Tensor, kept: int) -> tuple[int, int]:
    """Multiply-adds of the pass that reads ids (1, T) when the first `kept` of them are in the cache.

    Returns:
        those of matrices (projections, MLPs, logits), and those of attention (scores and blends).
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad():
        cache = lab.model(ids[:, :kept], use_cache=True).cache if kept else None
        with FlopCounterMode(display=False) as counter:
            lab.model(ids[:, kept:], cache=cache, use_cache=True)
    counts = {str(operator): count // 2 for operator, count in counter.get_flop_counts()["Global"].items()}
    attention = counts.pop("aten.bmm")
    return sum(counts.values()), attention


def keys_of(lab: Loaded, layer: int, causal: bool = True) -> Callable[[Tensor], Tensor]:
    """The function from rows (T, d) that enter the lab model to the keys of a layer, (T, H·d_h).

    Args:
        layer: counted from 0.
        causal: with the model's mask; without it every row may look at every row.
    """
    import torch

    def keys(x: Tensor) -> Tensor:
        mask = None if causal else torch.zeros(1, 1, len(x), len(x))  # added to the scores
        with torch.no_grad():
            cache = lab.model(inputs_embeds=x[None], attention_mask=mask, use_cache=True).cache
        return cache.layers[layer].keys[0].transpose(0, 1).flatten(1)

    return keys


def kept_bytes(cache: Any) -> int:
    """Bytes of all keys and values in a cache of `transformers`, as torch counts them."""
    return sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)


def without_the_oldest(cache: Any, count: int) -> Any:
    """The cache, its oldest `count` rows thrown away in every layer."""
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[:, :, count:], layer.values[:, :, count:]
    return cache


def logits_in_pieces(model: Any, ids: Tensor, size: int) -> Tensor:
    """What a model says in each row (T, V) of ids (1, T), fed `size` tokens at a time through its own cache."""
    import torch

    cache, said = None, []
    with torch.no_grad():
        for piece in ids.split(size, dim=1):
            out = model(piece, cache=cache, use_cache=True)
            cache = out.cache
            said.append(out.logits[0])
    return torch.cat(said)


#: Floating-point types that `rounding_data` measures.
PRECISIONS = ("float64", "float32", "float16", "bfloat16")


def rounding_data(ids: Tensor, size: int = 1) -> dict[str, float]:
    """Largest difference of the lab model's logits on ids (1, T), read at once and in pieces, by precision."""
    import torch

    from attention_lab.models import load

    found = {}
    for name in PRECISIONS:
        model = load("lab").model.to(getattr(torch, name))
        with torch.no_grad():
            once = model(ids).logits[0]
        found[name] = float((once.double() - logits_in_pieces(model, ids, size).double()).abs().max())
    return found


def rounding_chart() -> Chart:
    """A chart of `rounding_data`: what is bit for bit equal has no bar."""

    def title(data: Mapping[str, float]) -> str:
        equal = [name for name in PRECISIONS if data[name] == 0]
        worst = max(PRECISIONS, key=lambda name: data[name])
        same = f"; bit for bit equal here: {', '.join(equal)}" if equal else ""
        return f"Read at once and in pieces, logits differ most in {worst}, by {data[worst]:.1g}{same}"

    return bar_chart(title, "precision", "largest difference of a logit", PRECISIONS, log_y=True, numbers=False)


# -- a step of writing --------------------------------------------------------------------------------------------

#: What a query, key or value of a token is in a step.
NONE, KEPT, NEW, AGAIN = "", "kept", "new", "again"
_FACES = {NONE: "#ffffff", KEPT: "#cfe3f1", NEW: COLOURS[0], AGAIN: "#f3d9c2"}
_INKS = {NONE: INK, KEPT: INK, NEW: "#ffffff", AGAIN: INK}
VIEWS = ("value", "key", "query")


@dataclass(frozen=True)
class Step:
    """One step of writing.

    Attributes:
        number: 1 reads the prompt.
        cache: whether keys and values are kept from one step to the next.
        cells: for each of `VIEWS`, what that of each token is.
        rows: how many rows were computed up to this step, with a cache and without one.
    """

    number: int
    cache: bool
    cells: tuple[tuple[str, ...], ...]
    rows: tuple[int, int]

    @property
    def now(self) -> int:
        """Rows whose keys are computed in this step."""
        return sum(cell in (NEW, AGAIN) for cell in self.cells[1])

    @property
    def read(self) -> int:
        """Keys that are kept and read in this step."""
        return self.cells[1].count(KEPT)


def step_data(tokens: int, prompt: int, step: int, cache: bool) -> Step:
    """Step `step` (from 1 on) of a text of `tokens` tokens, the first `prompt` of which are given.

    Args:
        cache: whether keys and values are kept from one step to the next.
    """
    length = prompt + step - 1
    old = 0 if step == 1 else length - 1
    rows = [KEPT if cache else AGAIN] * old + [NEW] * (length - old) + [NONE] * (tokens - length)
    asked = [NONE] * old + rows[old:] if cache else rows
    without = sum(prompt + earlier for earlier in range(step))
    return Step(step, cache, (tuple(rows), tuple(rows), tuple(asked)), (length, without))


def step_text(step: Step) -> str:
    """What a step does, in one sentence."""
    rows = "1 row is" if step.now == 1 else f"{step.now} rows are"
    reads = f", {step.read} kept keys are read" if step.read else ""
    ways = ("with a cache", "without")
    so_far, other = (step.rows, ways[1]) if step.cache else (step.rows[::-1], ways[0])
    return f"Step {step.number}: {rows} computed{reads}. So far {so_far[0]} rows, {other} {so_far[1]}"


def step_chart(tokens: Sequence[str]) -> Chart:
    """A chart of a `Step`: a box for the query, key and value of each token."""
    from matplotlib.patches import Rectangle

    def chart(figure: Figure) -> Callable[[Step], str]:
        ax = figure.subplots()
        ax.set_xlim(-0.5, len(tokens) - 0.5)
        ax.set_ylim(-0.5, len(VIEWS) - 0.5)
        ax.set_xticks(range(len(tokens)), list(tokens))
        ax.set_yticks(range(len(VIEWS)), list(VIEWS))
        ax.xaxis.tick_top()
        ax.tick_params(length=0, labelsize=9, labelcolor=INK)
        ax.spines[:].set_visible(False)
        boxes, texts = [], []
        for y in range(len(VIEWS)):
            for x in range(len(tokens)):
                boxes.append(
                    ax.add_patch(Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, edgecolor="#c4cad3", linewidth=0.8))
                )
                texts.append(ax.text(x, y, "", ha="center", va="center", fontsize=8.5))
        name_finding = _titler(ax, step_text)

        def update(step: Step) -> str:
            states = [cell for row in step.cells for cell in row]
            for box, text, state in zip(boxes, texts, states, strict=True):
                box.set_facecolor(_FACES[state])
                box.set_hatch("////" if state == AGAIN else "")
                box.set_edgecolor("#c05a00" if state == AGAIN else "#c4cad3")
                text.set_text(state)
                text.set_color(_INKS[state])
                text.set_bbox({"facecolor": _FACES[state], "edgecolor": "none", "pad": 1.5} if state else None)
            return _join(name_finding(step), *(_row_text(name, row) for name, row in _named(step)))

        return update

    return chart


def _named(step: Step) -> list[tuple[str, tuple[str, ...]]]:
    plurals = {"query": "Queries", "key": "Keys", "value": "Values"}
    return [(plurals[name], row) for name, row in zip(VIEWS, step.cells, strict=True)][::-1]


def _row_text(name: str, row: tuple[str, ...]) -> str:
    counts = {state: row.count(state) for state in (KEPT, AGAIN, NEW) if state in row}
    words = {KEPT: "kept", AGAIN: "computed again", NEW: "new"}
    return f"{name}: {', '.join(f'{count} {words[state]}' for state, count in counts.items())}."


# -- bytes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """What decides how large a model's cache is, and how large the model is.

    Attributes:
        layers, heads, kv_heads, head_dim: as in its configuration.
        weights: how many numbers the model itself has; 0 where nobody asks.
    """

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    weights: int = 0

    @property
    def kv_choices(self) -> tuple[int, int, int]:
        """KV heads as many as query heads, as they are, and one for all."""
        return self.heads, self.kv_heads, 1


def shape_of(config: Any) -> Shape:
    """The shape of a model of `transformers` from its configuration, GPT-2's class or Llama's."""
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", heads)
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    return Shape(config.num_hidden_layers, heads, kv_heads, width)


#: From the configurations that were published with the models.
SHAPES: dict[str, Shape] = {
    "GPT-2 small": Shape(12, 12, 12, 64, 124_000_000),
    "SmolLM2-135M": Shape(30, 9, 3, 64, 135_000_000),
    "Llama 2 7B": Shape(32, 32, 32, 128, 6_740_000_000),
    "Llama 3 8B": Shape(32, 32, 8, 128, 8_030_000_000),
}
EACH, AS_IS, ONE = "A KV head for each query head", "As it is", "One KV head for all"
WEIGHTS = "The weights"
BARS = (EACH, AS_IS, ONE, WEIGHTS)


def size_text(count: float) -> str:
    """A number of bytes in the unit in which it is readable, three digits: "17.2 GB"."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 999.5 or unit == "TB":
            break
        count /= 1000
    return f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"


def bytes_chart() -> Chart:
    """A chart of bytes on a logarithmic axis: `{name of BARS: bytes}`."""

    def chart(figure: Figure) -> Callable[[Mapping[str, float]], str]:
        ax = _plain_axes(figure, "bytes, logarithmic", "")
        ax.grid(visible=False)
        ax.grid(axis="x", color="#e4e6ea", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xlim(100, 1e14)
        ax.set_xticks([10.0**n for n in (3, 6, 9, 12)], ["1 kB", "1 MB", "1 GB", "1 TB"])
        ax.minorticks_off()
        places = range(len(BARS))[::-1]
        colours = (COLOURS[4], COLOURS[0], COLOURS[2], "#b9bfc9")
        bars = ax.barh(list(places), [1e3] * len(BARS), 0.7, color=colours, left=100)
        ax.set_yticks(list(places), list(BARS))
        notes = [ax.text(1e3, y, "", va="center", fontsize=9, color=INK) for y in places]
        name_finding = _titler(ax, _bytes_title)

        def update(data: Mapping[str, float]) -> str:
            for name, bar, note in zip(BARS, bars, notes, strict=True):
                bar.set_width(max(data[name] - 100, 0))
                note.set_text(f" {size_text(data[name])}")
                note.set_x(max(data[name], 100))
            return _join(name_finding(data), *(f"{name}: {size_text(data[name])}." for name in BARS))

        return update

    return chart


def _bytes_title(data: Mapping[str, float]) -> str:
    share = data[AS_IS] / data[WEIGHTS]
    times = f"{share:,.0f}" if share >= 100 else f"{share:.3g}"
    return f"The cache holds {size_text(data[AS_IS])}: {times} times as much as the weights"

"""Chapter 09: what is added to a row, which rows a swapped word moves, and the map from each token to the next.

Letters: T tokens, d width of a row, V vocabulary, L blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import FixedLocator
from numpy.typing import NDArray

from attention_lab.figures.base import INK, Chart, bar_chart, heat_map, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from attention_lab.models import Loaded

Array = NDArray[Any]


# -- the stream -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Added:
    """The rows (T, d) before a block, what its attention and its MLP add to them, and the rows after it."""

    before: Tensor
    attention: Tensor
    mlp: Tensor
    after: Tensor


def stream(model: Any, ids: Tensor) -> list[Added]:
    """What each of the L blocks of a model adds to the rows of ids (1, T)."""
    from attention_lab.models.anatomy import anatomy

    seen: list[dict[str, Tensor]] = []
    with ExitStack() as hooks:
        for block in anatomy(model).blocks:
            found: dict[str, Tensor] = {}
            seen.append(found)
            hooks.callback(block.whole.register_forward_pre_hook(_keep_input(found), with_kwargs=True).remove)
            for name, module in (("attention", block.attention), ("mlp", block.mlp), ("after", block.whole)):
                hooks.callback(module.register_forward_hook(_keep_output(found, name)).remove)
        model(ids, use_cache=False)
    return [Added(**found) for found in seen]


def _keep_input(found: dict[str, Tensor]) -> Any:
    def hook(module: Any, inputs: tuple[Tensor, ...], named: dict[str, Any]) -> None:
        found["before"] = (inputs[0] if inputs else named["hidden_states"])[0].clone()

    return hook


def _keep_output(found: dict[str, Tensor], name: str) -> Any:
    def hook(module: Any, inputs: Any, output: Any) -> None:
        found[name] = (output[0] if isinstance(output, tuple) else output)[0].clone()

    return hook


def pieces(loaded: Loaded, ids: Tensor) -> dict[str, Tensor]:
    """The last row of ids (1, T) in the pieces (d,) that it is the sum of, in the order in which they are added."""
    parts, last = loaded.parts, ids.shape[1] - 1
    found = {"word": parts.tokens.weight[ids[0, last]]}
    if parts.positions is not None:
        found["position"] = parts.positions.weight[last]
    for number, added in enumerate(stream(loaded.model, ids)):
        found[f"attention {number}"] = added.attention[last]
        found[f"MLP {number}"] = added.mlp[last]
    return found


def said_so_far(loaded: Loaded, ids: Tensor, words: Sequence[str]) -> dict[str, Array]:
    """Data of `said_chart`: the probability of each word as the next one, if the row stopped growing at each piece."""
    import torch

    sums = torch.stack(list(pieces(loaded, ids).values())).cumsum(0)
    shares = loaded.parts.unembedding(loaded.parts.final_norm(sums)).softmax(-1)
    return {word: shares[:, _number(loaded, word)].numpy(force=True) for word in words}


def named(loaded: Loaded, ids: Tensor) -> list[str]:
    """Readable tokens of (1, T) numbers; the token that starts a document is "(start)"."""
    return ["(start)" if token.startswith("<") else token for token in loaded.tokens(ids)]


def _number(loaded: Loaded, word: str) -> int:
    """The number of a word in the middle of a text."""
    return int(loaded.encode(f"the {word}")[0, -1])


def said_chart(names: Sequence[str], words: Sequence[str]) -> Chart:
    """Bars of `said_so_far`: names of the pieces, and the words whose probabilities are drawn."""

    def title(data: dict[str, Array]) -> str:
        grown = {word: np.diff(np.asarray(data[word]), prepend=0.0) for word in words}
        word = max(words, key=lambda w: float(np.asarray(data[w])[-1]))
        place = int(np.argmax(grown[word]))
        before, after = (float(np.asarray(data[word])[i]) for i in (max(place - 1, 0), place))
        return f"{word} comes with {names[place]}: from {before:.2f} to {after:.2f}"

    labels = [name.replace("attention", "att.") for name in names]
    return bar_chart(title, "last thing added to the row", "probability of the next word", labels, words,
                     y_range=(0, 1.08), numbers=False)  # fmt: skip


# -- swapped words --------------------------------------------------------------------------------------------------


@contextmanager
def hooks_on_attention(model: Any, hook: Callable[..., Any]) -> Iterator[None]:
    """Inside it, `hook` sits on every attention module of a model: modules that return tuples."""
    from attention_lab.models.anatomy import anatomy

    with ExitStack() as hooks:
        for block in anatomy(model).blocks:
            hooks.callback(block.attention.register_forward_hook(hook).remove)
        yield


@contextmanager
def blocks_off(model: Any, blocks: Iterable[int]) -> Iterator[None]:
    """Inside it, attention adds nothing in the given blocks, counted from 0."""
    import torch

    from attention_lab.models.anatomy import anatomy

    parts = anatomy(model).blocks
    with ExitStack() as hooks:
        for block in blocks:
            hook = parts[block].projection.register_forward_hook(lambda m, inputs, output: torch.zeros_like(output))
            hooks.callback(hook.remove)
        yield


@contextmanager
def biases_only(model: Any) -> Iterator[None]:
    """Inside it, attention adds the bias of its last projection to every row, and nothing else."""
    from attention_lab.models.anatomy import anatomy

    with ExitStack() as hooks:
        for block in anatomy(model).blocks:
            hook = block.projection.register_forward_hook(lambda m, inputs, output: m.bias.expand_as(output))
            hooks.callback(hook.remove)
        yield


def moved_by_each(model: Any, ids: Tensor, others: Tensor) -> Array:
    """How far each row moves when one token is swapped: (T, T), entry [i, j] for row i and a swapped token j.

    Args:
        model: any of `transformers`' language models.
        ids: (1, T) token numbers.
        others: (1, T) token numbers, token j of which takes the place of token j of `ids`.

    Returns:
        lengths of the differences after the final norm, as shares of the lengths of the rows.
    """
    import torch

    T = ids.shape[1]
    texts = ids.repeat(T + 1, 1)
    for j in range(T):
        texts[j, j] = others[0, j]
    with torch.no_grad():
        rows = model.base_model(texts, use_cache=False).last_hidden_state  # (T + 1, T, d)
    gaps = (rows[:T] - rows[T]).norm(dim=-1) / rows[T].norm(dim=-1)
    return np.asarray(gaps.T.numpy(force=True))


def new_gpt2() -> Any:
    """A small `GPT2LMHeadModel` as its class makes it, for the lab model's tokens: random weights, in training mode."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=852, n_positions=32, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config)


@dataclass(frozen=True)
class Swaps:
    """What `swap_chart` draws: (T, T) moves; of two texts the likeliest next words, and probabilities by word, (2,)."""

    moved: Array
    likeliest: tuple[str, ...]
    said: dict[str, Array]


def swaps(loaded: Loaded, ids: Tensor, others: Tensor, texts: Sequence[Tensor], words: Sequence[str]) -> Swaps:
    """Data of `swap_chart`: moves of ids (1, T) by others (1, T), and what comes after two texts (1, T) each."""
    import torch

    with torch.no_grad():
        shares = [loaded.model(text, use_cache=False).logits[0, -1].softmax(-1) for text in texts]
    said = {w: np.array([float(share[_number(loaded, w)]) for share in shares]) for w in words}
    likeliest = tuple(loaded.text([int(share.argmax())]) for share in shares)
    return Swaps(moved_by_each(loaded.model, ids, others), likeliest, said)


def swap_chart(
    tokens: Sequence[str], others: Sequence[str], place: int, texts: Sequence[str], words: Sequence[str]
) -> Chart:
    """A heat map of which rows move, beside bars of what is said next.

    Args:
        tokens, others: T names of the tokens, and of those that take their places.
        place: which swap the title speaks of.
        texts: two names of texts for the bars.
        words: whose probabilities as the next word are drawn.
    """
    keys = [f"{a} → {b}" for a, b in zip(tokens, others, strict=True)]

    def title(moved: Array) -> str:
        rows = [tokens[i] for i in np.flatnonzero(np.asarray(moved)[:, place] > 0).tolist()]
        return f"{keys[place]} moves {_listed(rows)}"

    said = [""]  # the title of the bars, made anew with each picture

    drawn = side_by_side(
        heat_map(tokens, keys, title, axes=("row after the last block", "word that is swapped")),
        bar_chart(lambda data: said[0], "text", "probability of the next word", texts, words, y_range=(0, 1.1)),
    )

    def chart(figure: Figure) -> Callable[[Swaps], str]:
        draw = drawn(figure)

        def update(data: Swaps) -> str:
            said[0] = "; ".join(f"{text}: {word}" for text, word in zip(texts, data.likeliest, strict=True))
            return draw((data.moved, data.said))

        return update

    return chart


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "no row"
    if len(names) == 1:
        return f"the row of {names[0]} only"
    return f"the rows of {', '.join(names[:-1])} and {names[-1]}"


# -- the map from token to token ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loop:
    """Tokens that follow each other in a circle, the least one first, and how many tokens end there."""

    tokens: tuple[int, ...]
    basin: int


def steps_to_loop(following: Array) -> Array:
    """How many steps each token is away from a loop of the map following (V,): (V,), 0 inside a loop."""
    following = np.asarray(following)
    inside = np.zeros(len(following), dtype=bool)
    inside[walked(following, len(following))] = True
    steps, at = np.zeros(len(following), dtype=int), np.arange(len(following))
    while not inside[at].all():
        steps += ~inside[at]
        at = np.where(inside[at], at, following[at])
    return steps


def walked(following: Array, n: int) -> Array:
    """The tokens where one can be after n steps of the map following (V,), wherever one began: sorted."""
    following = np.asarray(following)
    at = np.arange(len(following))
    for _ in range(n):
        at = np.unique(following[at])
    return at


def loops(following: Array) -> list[Loop]:
    """All loops of the map following (V,), the one where most tokens end first."""
    following = np.asarray(following)
    ends = np.arange(len(following))
    for _ in range(len(following)):
        ends = following[ends]
    turns: dict[int, tuple[int, ...]] = {}
    for token in np.unique(ends).tolist():  # the least token of a loop comes first
        if token not in turns:
            turn = [token]
            while (after := int(following[turn[-1]])) != token:
                turn.append(after)
            turns |= dict.fromkeys(turn, tuple(turn))
    basins: dict[tuple[int, ...], int] = {}
    for token in ends.tolist():
        basins[turns[token]] = basins.get(turns[token], 0) + 1
    return [Loop(turn, size) for turn, size in sorted(basins.items(), key=lambda item: (-item[1], item[0]))]


def path(following: Array, start: int, n: int) -> list[int]:
    """The n + 1 tokens of a walk of n steps on the map following (V,)."""
    tokens = [int(start)]
    for _ in range(n):
        tokens.append(int(np.asarray(following)[tokens[-1]]))
    return tokens


@dataclass(frozen=True)
class Place:
    """Where a token is drawn: steps until the loop to the left, and a line counted from the top."""

    x: float
    y: float


def drawn_places(following: Array) -> dict[int, Place]:
    """Places of the tokens of the map following (V,) that come after some token; loops stand at x = 0."""
    following = np.asarray(following)
    steps, come_after = steps_to_loop(following), set(np.unique(following).tolist())
    before: dict[int, list[int]] = {token: [] for token in come_after}
    for token in sorted(come_after):
        if steps[token]:
            before[int(following[token])].append(token)
    spots: dict[int, Place] = {}
    line = 0.0
    for loop in loops(following):
        for root in loop.tokens:
            line = _place_tree(spots, root, before, steps, line)
        line += 1.5
    return spots


def _place_tree(spots: dict[int, Place], root: int, before: dict[int, list[int]], steps: Array, line: float) -> float:
    """Put a token and all that lead to it on lines from `line` on; returns the next free line."""
    first = line
    for token in before[root]:
        line = _place_tree(spots, token, before, steps, line)
    if not before[root]:
        line += 1 if steps[root] else 2.2
    ys = [spots[token].y for token in before[root]] or [first]
    spots[root] = Place(-float(steps[root]), sum(ys) / len(ys))
    return line


def map_chart(following: Array, names: Sequence[str]) -> Chart:
    """A chart of the map following (V,): a line from each token to the one after it, and arrows round the loops.

    Only tokens that come after some token are drawn; the larger a dot, the more others lead to it. Its data is
    (start, n): it lights up the tokens that are possible after n steps, and the walk of n steps from `start`.
    """
    following = np.asarray(following)
    spots, feeders = drawn_places(following), np.bincount(following, minlength=len(following))
    steps, ends = steps_to_loop(following), loops(following)
    drawn = sorted(spots)
    depth, lines = max(-spot.x for spot in spots.values()) + 1, max(spot.y for spot in spots.values())

    def xy(token: int) -> tuple[float, float]:
        """A token that follows none is drawn just before the one that it leads to."""
        if token in spots:
            return spots[token].x, spots[token].y
        after = spots[int(following[token])]
        return -float(steps[token]), after.y - 0.6

    def chart(figure: Figure) -> Callable[[tuple[int, int]], str]:
        ax = figure.subplots()
        ax.spines[["left", "right", "top"]].set_visible(False)
        ax.set(xlim=(-depth - 0.6, 1.6), ylim=(lines + 1, -1.6), yticks=[])
        ax.xaxis.set_major_locator(FixedLocator([float(x) for x in np.arange(-depth, 1)]))
        ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):.0f}")
        ax.set_xlabel("steps until the loop", fontsize=9, color=INK)
        ax.tick_params(labelsize=9, labelcolor=INK, color="#8a9099")
        tree = [(xy(token), xy(int(following[token]))) for token in drawn if steps[token]]
        ax.add_collection(LineCollection(tree, colors="#b9bfc9", linewidths=0.9, zorder=1))
        for loop in ends:
            _draw_loop(ax, [xy(token) for token in loop.tokens])
        sizes = np.array([16 + 0.9 * feeders[token] for token in drawn])
        x, y = np.array([xy(token) for token in drawn]).T
        dots = ax.scatter(x, y, s=sizes, zorder=2, linewidths=0)
        for token, size in zip(drawn, sizes, strict=True):
            beside = {"xytext": (8, 0), "ha": "left", "va": "center", "bbox": {"fc": "white", "ec": "none", "pad": 0.5}}
            above = {"xytext": (0, 2 + 0.5 * size**0.5), "ha": "center", "va": "bottom"}
            style = above | {"fontsize": 7.5} if steps[token] else beside | {"fontsize": 9}
            ax.annotate(names[token], xy(token), textcoords="offset points", color=INK, zorder=4, **style)
        (walk_line,) = ax.plot([], [], color="#c05a00", linewidth=2.4, marker="o", markersize=4.5, zorder=3)
        note = ax.annotate("", (0, 0), (0, 5), textcoords="offset points", ha="center", va="bottom", fontsize=9,
                           fontweight="bold", color="#8a3f00", zorder=5,
                           bbox={"fc": "white", "ec": "none", "pad": 0.8})  # fmt: skip
        title = ax.set_title("", fontsize=10.5, color=INK, loc="left")
        on, off = colormaps["viridis"](0.25), (0.8, 0.82, 0.86, 1.0)

        def update(data: tuple[int, int]) -> str:
            start, n = data
            left, walk = walked(following, n), path(following, start, n)
            dots.set_facecolor([on if lit else off for lit in np.isin(drawn, left)])
            walk_line.set_data(*np.array([xy(token) for token in walk]).T)
            note.set_text(names[start])
            note.xy = xy(start)
            said = f"After {n} steps {len(left)} of {len(following)} tokens are possible"
            title.set_text(said)
            return f"{said}. The walk: {' → '.join(names[token] for token in walk)}. {describe_loops(following, names)}"

        return update

    return chart


def _draw_loop(ax: Axes, spots: Sequence[tuple[float, float]]) -> None:
    """Arrows from each place to the next, and from the last back to the first, on the right side."""
    for here, after in zip(spots, [*spots[1:], spots[0]], strict=True):
        if here == after:
            here, after = (here[0], here[1] - 0.25), (here[0], here[1] + 0.25)
        up = after[1] < here[1]
        ax.add_patch(FancyArrowPatch(here, after, connectionstyle=f"arc3,rad={0.4 if up else 0.12}", arrowstyle="-|>",
                                     mutation_scale=9, color="#555b66", linewidth=1.1, zorder=1, shrinkA=4,
                                     shrinkB=5))  # fmt: skip


def describe_loops(following: Array, names: Sequence[str]) -> str:
    """All loops of the map following (V,), with their tokens and how many of all tokens end there."""
    said = [
        f"{' → '.join(names[t] for t in loop.tokens)} ({loop.basin} of {len(following)} tokens end there)"
        for loop in loops(following)
    ]
    return f"{len(said)} loop{'s' if len(said) > 1 else ''}: {'; '.join(said)}."

"""Charts and data of chapter 12: how near two attentions are, word for word, and what induction heads are good for.

Letters: N texts, T tokens, d width of a row, V vocabulary, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attention_lab.figures.base import Chart, heat_map, line_chart, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from attention_lab.models.door import Loaded

Array = NDArray[Any]
Head = tuple[int, int]

#: Logits agree when they differ by less than this share of the largest one.
TOLERANCE = 1e-5


# -- texts --------------------------------------------------------------------------------------------------------


def openings(lab: Loaded, count: int, length: int, seed: int = 7) -> Tensor:
    """The first `length` tokens of `count` stories, the start token included: (N, T)."""
    import torch

    from attention_lab.models.english import stories

    return torch.cat([lab.encode(story.text, start=True)[:, :length] for story in stories(count, seed)])


def recited(lab: Loaded, period: int, count: int = 6, length: int = 0) -> Tensor:
    """`count` rows of `period` random words, said again and again, the start token in front: (N, 1 + length).

    `length` counts words; two rounds when it is 0.
    """
    import torch

    from attention_lab.models.english import recital

    rng = Random(period)
    words = length or 2 * period
    return torch.cat([lab.encode(recital(rng, words, period).text, start=True) for _ in range(count)])


def patterns_of(model: Any, ids: Tensor) -> Tensor:
    """The patterns of all heads on ids (N, T): (L, H, N, T, T)."""
    import torch

    with torch.no_grad():
        found = model(ids, output_attentions=True, use_cache=False).attentions
    return torch.stack(found).transpose(1, 2)


# -- packed weights -----------------------------------------------------------------------------------------------


def first_rows(model: Any, ids: Tensor) -> Tensor:
    """What attention of block 0 gets for ids (N, T): token rows plus position rows, normed, (N, T, d)."""
    import torch

    with torch.no_grad():
        return model.transformer.h[0].ln_1(model(ids, output_hidden_states=True, use_cache=False).hidden_states[0])


#: Ways in which 3 · d columns could hold q, k and v of H heads: where the columns of each stand, as one order.
PACKED: dict[str, Callable[[int, int], list[int]]] = {
    "q, then k, then v": lambda d, heads: list(range(3 * d)),
    "k, then q, then v": lambda d, heads: [*range(d, 2 * d), *range(d), *range(2 * d, 3 * d)],
    "head after head": lambda d, heads: np.arange(3 * d).reshape(heads, 3, -1).swapaxes(0, 1).ravel().tolist(),
    "every third column": lambda d, heads: np.arange(3 * d).reshape(d, 3).T.ravel().tolist(),
}


def pattern_error(packed: Tensor, own: Tensor, n_heads: int, order: Sequence[int]) -> float:
    """How far the patterns of packed columns (T, 3d), read in an order, are from the model's own (H, T, T)."""
    import torch

    q, k, _ = (
        part.detach().unflatten(-1, (n_heads, -1)).movedim(-2, 0) for part in packed[:, list(order)].chunk(3, dim=-1)
    )
    ahead = torch.ones(own.shape[-2:], dtype=torch.bool).triu(1)
    pattern = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(ahead, float("-inf")).softmax(-1)
    return float((pattern - own).abs().max())


# -- two attentions in one model ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """How a model does with another attention in every block.

    Attributes:
        name: of the attention.
        apart: (T,) the largest difference of a logit at each position, over all texts.
        scale: the largest logit.
        loss: of predicting the next word, with the model's own attention and with the other.
        same: the share of positions at which the same word is expected most.
        text: what is written, word by word the likeliest.
    """

    name: str
    apart: Array
    scale: float
    loss: tuple[float, float]
    same: float
    text: str

    @property
    def agree(self) -> int:
        """At how many positions every logit agrees within `TOLERANCE` of the largest."""
        return int((self.apart < TOLERANCE * self.scale).sum())


def compared(
    lab: Loaded, ids: Tensor, name: str, attention: Callable[..., Tensor], write: Callable[[Any, Tensor, int], Tensor]
) -> Compared:
    """Compare an attention with the model's own on ids (N, T).

    Args:
        lab: the model.
        ids: texts of one length.
        name: of the attention.
        attention: as `attention_replaced` takes it.
        write: writes n more tokens: (model, ids (1, T), n) → (1, T + n).
    """
    import torch

    from attention_lab.models.swap import attention_replaced

    with torch.no_grad():
        own = lab.model(ids, use_cache=False).logits
        with attention_replaced(lab.model, attention):
            other = lab.model(ids).logits
            text = lab.text(write(lab.model, ids[:1, :40], 24)[0, 40:])
    same = float((own.argmax(-1) == other.argmax(-1)).float().mean())
    apart = (own - other).abs().amax((0, 2)).numpy()
    return Compared(name, apart, float(own.abs().max()), (_loss(own, ids), _loss(other, ids)), same, text)


def loss(model: Any, ids: Tensor) -> float:
    """The mean cross-entropy of predicting the next token of ids (N, T), in nats."""
    import torch

    with torch.no_grad():
        return _loss(model(ids, use_cache=False).logits, ids)


def _loss(logits: Tensor, ids: Tensor) -> float:
    from torch.nn import functional

    return float(functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()))


def agreement(model: Any, ids: Tensor, attention: Callable[..., Tensor]) -> str:
    """At how many positions of ids (N, T) all logits agree with the model's own, as words."""
    import torch

    from attention_lab.models.swap import attention_replaced

    with torch.no_grad():
        own = model(ids, use_cache=False).logits
        with attention_replaced(model, attention):
            near = (model(ids).logits - own).abs().amax(-1) < TOLERANCE * own.abs().max()
    return f"{int(near.sum())} of {near.numel()} positions agree"


def apart_chart(length: int, scale: float) -> Chart:
    """A chart of a `Compared`: how far logits are apart at each of `length` positions, and what is written.

    Args:
        length: T.
        scale: the largest logit; a line shows up to where differences count as none.
    """

    def chart(figure: Figure) -> Callable[[Compared], str]:
        title = ""
        update = line_chart(
            lambda _: title,
            "position in the text, tokens",
            "largest difference of a logit",
            ["difference"],
            x_range=(0, length),
            y_range=(1e-7, 100),
            log_y=True,
            markers=False,
            levels={"counts as equal below": TOLERANCE * scale},
        )(figure)

        def shown(data: Compared) -> str:
            nonlocal title
            own, other = data.loss
            title = (
                f"{data.name}: {data.agree} of {length} positions agree; loss {other:.2f}, the model's own {own:.2f}"
            )
            heights = np.maximum(data.apart, 2e-7)  # equal to the last bit is drawn at the lower edge
            said = update({"difference": (np.arange(length), heights)})
            return f"{said} It writes: {data.text}"

        return shown

    return chart


# -- induction ----------------------------------------------------------------------------------------------------


def scores_chart(layers: int, heads: int) -> Chart:
    """Two heat maps (L, H) side by side: induction score, and weight on the word before."""
    rows, columns = [f"layer {i}" for i in range(layers)], [f"head {i}" for i in range(heads)]

    def titled(what: str) -> Callable[[Array], str]:
        def title(scores: Array) -> str:
            layer, head = np.unravel_index(int(np.argmax(scores)), (layers, heads))
            return f"{what}: most by {layer}.{head}, {np.asarray(scores)[layer, head]:.2f}"

        return title

    parts = ("After the last time", "The word before")
    return side_by_side(*(heat_map(rows, columns, titled(part), axes=("", "")) for part in parts))


def pairs_without(heads: Iterable[Head], layers: int, per_layer: int) -> list[tuple[Head, Head]]:
    """All pairs of the heads that are not among `heads`."""
    out = set(heads)
    others = [(i, j) for i in range(layers) for j in range(per_layer) if (i, j) not in out]
    return list(combinations(others, 2))


def pairs_chart(needed: str, best: str) -> Chart:
    """A chart of the losses that pairs of heads cost, sorted; its data is that of `pairs_data`.

    Args:
        needed: name of the head that sets pairs apart: "0.3".
        best: name of the pair of induction heads.
    """
    names = (f"pairs without {needed}", f"pairs with {needed}", best)

    def title(data: Mapping[str, Any]) -> str:
        without, with_it, chosen = (np.asarray(data[name][1]) for name in names)
        return (
            f"Without {best} the loss is {chosen[0]:.2f}; other pairs cost at most {without.max():.2f}, "
            f"those with {needed} at least {with_it.min():.2f}"
        )

    x_label, y_label = "45 other pairs of heads, each switched off, in order", "loss on the second copy, nats"
    return line_chart(title, x_label, y_label, names, y_range=(0, 14))


def pairs_data(
    losses: Mapping[tuple[Head, Head], float], best: float, needed: Head, name: str
) -> dict[str, tuple[Array, Array]]:
    """Data of `pairs_chart`: ranks and losses of pairs without and with one head, and of the pair called `name`."""
    order = sorted(losses, key=lambda pair: losses[pair])
    label = f"{needed[0]}.{needed[1]}"
    data = {}
    for group, inside in ((f"pairs without {label}", False), (f"pairs with {label}", True)):
        places = [i for i, pair in enumerate(order) if (needed in pair) == inside]
        data[group] = (np.array(places), np.array([losses[order[i]] for i in places]))
    rank = sum(loss < best for loss in losses.values()) - 0.5
    return data | {name: (np.array([rank]), np.array([best]))}


def switched_off(
    real: Loaded,
    score: Callable[[Tensor, int], Tensor],
    period: int,
    best: int,
    controls: int,
    first: int = 1000,
) -> dict[str, float]:
    """Loss on the second copy of random tokens, by the heads that are off: none, the best, then as many others.

    Args:
        real: a model.
        score: the learner's induction score, (…, T, T) and a period → (…).
        period: tokens of a copy.
        best: how many of the best heads are switched off together.
        controls: so many sets of as many random other heads.
        first: tokens below this number, often bytes and the like, are left out.
    """
    import torch
    from torch.nn import functional

    from attention_lab.models.evaluation import best as best_of
    from attention_lab.models.switches import heads_off

    ids = torch.randint(first, len(real.tokenizer), (1, period), generator=torch.Generator().manual_seed(0))
    ids = ids.repeat(1, 2)
    scores = score(patterns_of(real.model, ids)[:, :, 0], period)
    chosen = best_of(scores.numpy(), best)
    others, rng = [head for head in best_of(scores.numpy(), scores.numel()) if head not in chosen], Random(0)
    losses = {}
    for some in ([], chosen, *(rng.sample(others, best) for _ in range(controls))):
        with torch.no_grad(), heads_off(real.model, some):
            logits = real.model(ids, use_cache=False).logits[:, period:-1]
        name = " ".join(f"{layer}.{head}" for layer, head in some) or "no head"
        losses[name] = float(functional.cross_entropy(logits.mT, ids[:, period + 1 :]))
    return losses


def after_last_time(pattern: Array, words: Sequence[str], period: int) -> str:
    """A sentence on where the last row of (T, T) looks, and what came after its word last time."""
    row = np.asarray(pattern)[-1]
    place = int(row.argmax())
    right = len(row) - period
    return (
        f"{words[-1]} looks most at {words[place]}: {row[place]:.2f}. Last time {words[right]} came after {words[-1]}."
    )


# -- rotation -----------------------------------------------------------------------------------------------------


def turned(x: Tensor, base: float) -> Tensor:
    """Rows (…, T, d_h) turned by their places 0 … T - 1, as in chapter 08; `base` sets how slow the last pair is."""
    import torch

    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] / base ** (torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

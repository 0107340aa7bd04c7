"""Charts of chapter 07: patterns of one head and of two, what the heads of a trained model do, and where words land.

Letters: B texts, T words, d width of a row, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.figures.base import Chart, bar_chart, heat_map, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from attention_lab.models.door import Loaded

Array = NDArray[Any]

#: What is measured of each head of the trained model.
BEFORE, AGAIN, FIRST = "the word before", "the word after the last time", "the first token"
#: Heads (layer, head) of the trained model that repeating words depends on.
REPEATING = ((0, 3), (1, 1), (1, 3))


# -- heads by hand ------------------------------------------------------------------------------------------------


def head_patterns(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    """The causal pattern of every head: x (T, d), W_q, W_k (d, d) → (H, T, T)."""
    import torch

    q, k = ((x @ W).unflatten(-1, (n_heads, -1)).movedim(-2, 0) for W in (W_q, W_k))
    ahead = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    return (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(ahead, float("-inf")).softmax(-1)


def one_and_two_chart(words: Sequence[str]) -> Chart:
    """A chart of three (T, T) patterns: of one head, and of two at the same width. Titles speak of the last row."""

    def named(name: str) -> Callable[[Array], str]:
        def title(pattern: Array) -> str:
            row = np.asarray(pattern)[-1]
            best = sorted(sorted(range(len(row)), key=lambda i: -row[i])[:2])
            return f"{name}: {words[-1]} gives {', '.join(f'{words[i]} {row[i]:.2f}' for i in best)}"

        return title

    return side_by_side(*(heat_map(words, words, named(name)) for name in ("One head", "Head 0 of 2", "Head 1 of 2")))


def words_of(heads: Tensor, words: Sequence[str]) -> str:
    """Which word each row of each head came from: heads (H, T, d_h) of numbers that are word numbers → text."""
    lines = []
    for h, head in enumerate(heads.tolist()):
        rows = ["+".join(dict.fromkeys(words[int(number)] for number in row)) for row in head]
        lines.append(f"head {h}: {', '.join(rows)}")
    return "\n".join(lines)


# -- the microscope -----------------------------------------------------------------------------------------------


def text_influence(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """True where changing input text j moves output text i: f on (B, T, d), bool (B, B); x is left as it was."""
    import torch

    base, moved = f(x.clone()), torch.zeros(len(x), len(x), dtype=torch.bool)
    for j in range(len(x)):
        changed = x.clone()
        changed[j] += torch.linspace(1, 2, x.shape[-1], dtype=x.dtype)
        moved[:, j] = (f(changed) != base).flatten(1).any(dim=-1)
    return moved


# -- heads of a trained model -------------------------------------------------------------------------------------


def recited(period: int, rounds: int = 2, seed: int = 1) -> str:
    """Random words of the miniature English, all different, said again: `rounds` times `period` words."""
    from attention_lab.models.english import recital

    return recital(Random(seed), rounds * period, period).text


def head_names(layers: int, heads: int) -> list[str]:
    """Names of all heads, layer first, both counted from 0: "1.3"."""
    return [f"{layer}.{head}" for layer in range(layers) for head in range(heads)]


def token_names(lab: Loaded, ids: Tensor) -> list[str]:
    """Readable tokens of (1, T) numbers; the token that starts a document is "(start)"."""
    return ["(start)" if token.startswith("<") else token for token in lab.tokens(ids)]


def after_last_time(patterns: Tensor, period: int) -> Tensor:
    """Mean weight that rows of the second round give to the word after the last time their own word stood there.

    Args:
        patterns: (…, T, T) of a start token and two rounds of `period` words.
        period: words of a round.
    """
    # Row t holds the word of row t - period; after it came row t - period + 1.
    return patterns.diagonal(1 - period, -2, -1)[..., 2:].mean(-1)


def first_token(patterns: Tensor) -> Tensor:
    """Mean weight that rows from 2 on give to row 0: (…, T, T) → (…)."""
    return patterns[..., 2:, 0].mean(-1)


def jobs_chart(names: Sequence[str]) -> Chart:
    """A chart of three scores for each head: `{BEFORE: (n,), AGAIN: (n,), FIRST: (n,)}`."""

    def title(data: dict[str, Array]) -> str:
        best = {job: int(np.argmax(data[job])) for job in (BEFORE, AGAIN)}
        return "; ".join(f"Head {names[i]} looks at {job}: {np.asarray(data[job])[i]:.2f}" for job, i in best.items())

    return bar_chart(
        title, "layer.head", "mean weight", names, (BEFORE, AGAIN, FIRST), y_range=(0, 1.05), numbers=False
    )


def jobs(patterns: Tensor, previous: Callable[[Tensor], Tensor], period: int) -> dict[str, Array]:
    """Data of `jobs_chart` from patterns (L, H, T, T) of a recited text, `previous` being the learner's own score."""
    found = {BEFORE: previous(patterns), AGAIN: after_last_time(patterns, period), FIRST: first_token(patterns)}
    return {name: np.asarray(scores).ravel() for name, scores in found.items()}


def most_looked_at(pattern: Array, tokens: Sequence[str]) -> str:
    """A sentence on where the last word of a text looks most: pattern (T, T)."""
    row = np.asarray(pattern)[-1]
    place = int(row.argmax())
    back = len(row) - 1 - place
    where = "itself" if not back else f"{tokens[place]}, {back} back"
    return f"{tokens[-1]} looks most at {where}: {row[place]:.2f}."


def repeats_right(lab: Loaded, texts: Iterable[tuple[str, int]]) -> float:
    """The share of words of second rounds that the model expects most, over (text, period) pairs."""
    import torch

    hits: list[Tensor] = []
    for text, period in texts:
        ids = lab.encode(text, start=True)
        with torch.no_grad():
            best = lab.model(ids, use_cache=False).logits[0].argmax(-1)
        hits.append(best[period + 1 : -1] == ids[0, period + 2 :])
    return float(torch.cat(hits).float().mean())


def other_pairs(count: int, seed: int = 0) -> list[list[tuple[int, int]]]:
    """`count` random pairs of heads (layer, head) of the trained model, none of them in `REPEATING`."""
    others = [(layer, head) for layer in range(3) for head in range(4) if (layer, head) not in REPEATING]
    rng = Random(seed)
    return [rng.sample(others, 2) for _ in range(count)]

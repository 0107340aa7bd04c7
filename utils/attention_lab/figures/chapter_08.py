"""Charts of chapter 08: a table of codes for positions, and how far each way to tell order is from a set of words.

Letters: T rows, d width of a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lab.figures.base import Chart, bar_chart, heat_map, line_chart, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

    from attention_lab.models import Loaded

#: The positions from which the second panel of `codes_chart` measures.
STARTS = (0, 10, 20)

Codes = tuple[NDArray[Any], dict[str, tuple[Sequence[int], Sequence[float]]]]


def all_shuffles(T: int) -> list[Tensor]:
    """Every order of T rows, the given one first: T! tensors (T,)."""
    import torch

    return [torch.tensor(order) for order in permutations(range(T))]


def products(table: ArrayLike, start: int, farthest: int) -> list[float]:
    """Dot products of the code of position `start` with the codes 0 … `farthest` positions on.

    Args:
        table: (T, d) with T > start + farthest.
    """
    codes = np.asarray(table, dtype=float)
    return [float(codes[start] @ codes[start + n]) for n in range(farthest + 1)]


def codes_data(table: ArrayLike) -> Codes:
    """The table itself, (T, d), and the dot products of its rows: data of `codes_chart`."""
    codes = np.asarray(table, dtype=float)
    farthest = len(codes) - 1 - max(STARTS)
    lines: dict[str, tuple[Sequence[int], Sequence[float]]] = {
        _from(start): (range(farthest + 1), products(codes, start, farthest)) for start in STARTS
    }
    return codes, lines


def _from(start: int) -> str:
    return f"from position {start}"


def codes_chart(T: int, d: int) -> Chart:
    """Two panels: codes as a heat map, one row a position; their dot products against the distance."""
    return side_by_side(
        heat_map(
            [str(t) for t in range(T)],
            [str(column) for column in range(d)],
            "Fast columns on the left, slow ones on the right",
            numbers=False,
            colour="cividis",
            low=-1,
            high=1,
            axes=("position", "column"),
        ),
        line_chart(
            _products_title,
            "distance, in positions",
            "dot product of two codes",
            [_from(start) for start in STARTS],
        ),
    )


def _products_title(lines: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> str:
    heights = np.array([np.asarray(y, dtype=float) for _, y in lines.values()])
    same = np.allclose(heights, heights[:1], atol=1e-4)
    return "Only the distance counts: the lines lie on each other" if same else "Not only the distance counts"


def gaps_chart(names: Sequence[str]) -> Chart:
    """One bar for each way to tell order, `{name: largest gap over all shuffles}`."""
    return bar_chart(_gaps_title, "way to tell order", "largest equivariance gap", names)


def gaps_data(gaps: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The largest gap of each way, rounding errors taken off: data of `gaps_chart`."""
    return {name: round(max(found), 6) for name, found in gaps.items()}


def _gaps_title(gaps: Mapping[str, float]) -> str:
    silent = [name for name, gap in gaps.items() if gap == 0]
    return f"Blind to order: {', '.join(silent)}" if silent else "Each of them tells order"


def some_order(length: int, seed: int = 0) -> Tensor:
    """A random order of positions, (length,)."""
    import torch

    return torch.from_numpy(np.random.default_rng(seed).permutation(length))


def pattern_of_head(lab: Loaded, table: Tensor, layer: int, head: int, period: int = 8) -> Tensor:
    """The pattern (T, T) of one head on random words, said twice, when the model adds another table of positions.

    Args:
        lab: a GPT-2 of any size.
        table: (T_max, d) added to the rows of the words; the model keeps its own.
        layer: of the head, counted from 0.
        head: counted from 0.
        period: how many words are said twice.
    """
    import torch

    from attention_lab.figures.chapter_07 import recited

    ids = lab.encode(recited(period), start=True)
    with torch.no_grad():
        out = torch.func.functional_call(
            lab.model, {"transformer.wpe.weight": table}, (ids,), {"output_attentions": True, "use_cache": False}
        )
    return out.attentions[layer][0, head]

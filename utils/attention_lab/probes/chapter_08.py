"""Functions of rows that chapter 08 shuffles, and a way to call a candidate that does not mind single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.probes.refusals import refused

if TYPE_CHECKING:
    from torch import Tensor


def each_row_alone(x: Tensor) -> Tensor:
    """Each row bent by itself, with the sum of its numbers beside it: (T, d) → (T, d + 1). Shuffling goes through."""
    import torch

    return torch.cat([x.tanh(), x.sum(dim=-1, keepdim=True)], dim=-1)


def sum_so_far(x: Tensor) -> Tensor:
    """Row t is the sum of the rows 0 … t: (T, d) → (T, d). It tells order."""
    return x.cumsum(dim=0)


def numbered(x: Tensor) -> Tensor:
    """Row t less 5·t in its last entry: (T, d) → (T, d). It tells order."""
    import torch

    moved = x.clone()
    moved[:, -1] -= 5 * torch.arange(len(x), dtype=x.dtype)
    return moved


def left_neighbour(x: Tensor) -> Tensor:
    """Row t is the first number of row t - 1, and 0 for the first: (T, d) → (T, 1). It tells order."""
    import torch

    return torch.cat([torch.zeros_like(x[:1, :1]), x[:-1, :1]])


def weighed_in_place(x: Tensor) -> Tensor:
    """Row t times t + 1, written into what it is given, which comes back: (T, d) → (T, d). It tells order."""
    import torch

    x *= torch.arange(1, len(x) + 1, dtype=x.dtype)[:, None]
    return x


#: By the names that cases use.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "each_row_alone": each_row_alone,
    "left_neighbour": left_neighbour,
    "numbered": numbered,
    "sum_so_far": sum_so_far,
    "weighed_in_place": weighed_in_place,
}


def in_thousandths(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Calls the candidate and rounds numbers to three decimals, so that angles may be in single precision."""
    result = candidate(*args)
    if type(result).__module__ == "torch" and type(result).__name__ == "Tensor" and result.is_floating_point():
        return result.detach().double().round(decimals=3)
    if isinstance(result, np.ndarray) and result.ndim > 0:
        raise TypeError("an array of NumPy came back, and no tensor")
    return result


def positions_refused(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Words for which a table has too few positions: which of the two numbers the refusal names (words, positions).

    Args:
        candidate: called with tokens (B, T, d) and a table (T_max, d).
        args: these two.
    """
    tokens, table = args
    return refused(candidate, args, tokens.shape[1], len(table))


SCRIPTS: dict[str, Callable[[Callable[..., Any], tuple[Any, ...]], Any]] = {
    "in_thousandths": in_thousandths,
    "positions_refused": positions_refused,
}

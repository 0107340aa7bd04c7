"""Who affects whom, and the functions that cases hand to a candidate by name. Used by checks and by lessons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Functions that a case can name with `Fn`; the parameters of the `Fn` arrive as keyword arguments.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


def call(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The ordinary script: one call."""
    return candidate(*args)


#: Ways to call a candidate that a case can name; each takes the candidate and the arguments.
SCRIPTS: dict[str, Callable[[Callable[..., Any], tuple[Any, ...]], Any]] = {"call": call}


def nudged(array: np.ndarray, index: Any) -> np.ndarray:
    """A copy of a float array whose entries at `index` are moved by amounts that differ from entry to entry."""
    moved = array.copy()
    part = moved[index]
    steps = np.linspace(0.7, 1.9, part.size).reshape(part.shape)
    moved[index] = part + steps.astype(array.dtype)
    return moved


def rows_sum_to_one(array: np.ndarray, tolerance: float = 1e-5) -> bool:
    """True when every row (last axis) is non-negative and sums to 1."""
    if array.dtype.kind != "f" or array.ndim == 0 or array.size == 0 or not np.isfinite(array).all():
        return False
    return bool((array >= -tolerance).all() and np.allclose(array.sum(axis=-1), 1.0, atol=tolerance))

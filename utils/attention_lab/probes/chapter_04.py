"""Functions that chapter 04 puts under the microscope: each is hard on one way to write `influence_map`.

They compute in double precision whatever they get: single-precision rows that a learner's nudge has turned into double
ones are still the same numbers, and rows that were left alone come out as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def causal_mean(x: np.ndarray) -> np.ndarray:
    """Row i is the mean of the rows 0 … i: (T, d) → (T, d). A product with zeros above the diagonal, as in a mask."""
    weights = np.tril(np.ones((len(x), len(x))))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True) @ x.astype(np.float64))


def row_before_mirrored(x: np.ndarray) -> np.ndarray:
    """Row i is row i - 1, each entry beside its negative; row 0 is zero; every row sums to 0: (T, d) → (T, 2d)."""
    before = np.concatenate([np.zeros_like(x[:1]), x[:-1]])
    return np.stack([before, -before], axis=-1).reshape(len(x), -1)


def centred_tenths(x: np.ndarray) -> np.ndarray:
    """Each row without its mean, in tenths: (T, d) → (T, d).

    Blind to a number that is added to all entries of a row, and to small steps; the sum of a row says nothing.
    """
    x = x.astype(np.float64)
    return np.asarray(np.round(x - x.mean(axis=-1, keepdims=True), 1))


def even_rows_size(x: np.ndarray) -> np.ndarray:
    """Every row is the mean of |x| in rows 0, 2, 4 … without the last column; blind to signs: (T, d) → (T, d-1)."""
    return np.repeat(abs(x[::2, :-1].astype(np.float64)).mean(axis=0, keepdims=True), len(x), axis=0)


def to_tenths(x: np.ndarray) -> np.ndarray:
    """Row i is row i and row i + 1 side by side, in tenths; blind to small steps: (T, d) → (T, 2d)."""
    following = np.concatenate([x[1:], np.zeros_like(x[:1])])
    return np.round(np.concatenate([x, following], axis=-1).astype(np.float64), 1)


def last_column_ahead(x: np.ndarray) -> np.ndarray:
    """Row i is minus the sum of the last column from row i to the end; blind to other columns: (T, d) → (T, 1)."""
    return np.asarray(-np.cumsum(x[::-1, -1:].astype(np.float64), axis=0)[::-1])


def faint_first_row(x: np.ndarray) -> np.ndarray:
    """Row i is row i minus three millionths of row 0: (T, d) → (T, d)."""
    return np.asarray(x.astype(np.float64) - 3e-6 * x[:1].astype(np.float64))


def doubled_in_place(x: np.ndarray) -> np.ndarray:
    """Doubles what it is given, in place, and returns that very array: (T, d) → (T, d)."""
    x *= 2
    return x


def directions(x: np.ndarray) -> np.ndarray:
    """Each row brought to length 1, with four decimals; blind to a positive factor: (T, d) → (T, d)."""
    x = x.astype(np.float64)
    return np.asarray(np.round(x / np.linalg.norm(x, axis=-1, keepdims=True), 4))


#: By the names that cases use.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "causal_mean": causal_mean,
    "centred_tenths": centred_tenths,
    "directions": directions,
    "doubled_in_place": doubled_in_place,
    "even_rows_size": even_rows_size,
    "faint_first_row": faint_first_row,
    "last_column_ahead": last_column_ahead,
    "row_before_mirrored": row_before_mirrored,
    "to_tenths": to_tenths,
}

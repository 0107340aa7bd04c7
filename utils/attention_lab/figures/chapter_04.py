"""Chapter 04's charts, and the measurements of what the width of a query does to a pattern.

Letters: T rows that ask, S rows that are asked, d_k width of a query or key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from attention_lab.figures.base import Chart, line_chart, side_by_side

Array = NDArray[np.float64]

#: Keys that each query of a measurement looks at: a pattern over them has at most 4 bits.
N_KEYS = 16
#: Queries and keys are drawn this often, and this many queries look at each set of keys.
DRAWS, N_QUERIES = 100, 16
#: The widest queries that are measured.
WIDEST = 1024

#: By which power of d_k scores are divided, under the name that the learner sees.
DIVISORS: dict[str, float] = {"nothing": 0.0, "√d_k": 0.5, "d_k": 1.0}


@dataclass(frozen=True)
class Saturation:
    """What patterns over `N_KEYS` random keys are like at one width, averaged over many queries.

    Attributes:
        variance: of the scores that enter the softmax.
        entropy: of a pattern, in bits; 4 when all keys weigh the same, 0 when one key has all the weight.
        gradient: Frobenius norm of ∂pattern/∂scores: how far a pattern moves when its scores are nudged.
        largest: the largest weight of a pattern.
    """

    variance: float
    entropy: float
    gradient: float
    largest: float


@cache
def _draws() -> tuple[Array, Array]:
    """Queries (draws, queries, widest) and keys (draws, keys, widest) with entries of mean 0 and variance 1."""
    rng = np.random.default_rng(4)
    queries = rng.standard_normal((DRAWS, N_QUERIES, WIDEST))
    return queries, rng.standard_normal((DRAWS, N_KEYS, WIDEST))


def random_scores(d_k: int, power: float = 0.5, spread: float = 1.0) -> Array:
    """Scores of random queries and keys of width `d_k`, divided by d_k ** power: (draws, queries, keys).

    Args:
        d_k: width, 1 to `WIDEST`. A wider draw keeps the entries of a narrower one and adds more.
        power: 0.5 for the scale of attention, 0 for none.
        spread: standard deviation of the entries of queries and keys.
    """
    if not 1 <= d_k <= WIDEST:
        raise ValueError(f"d_k is {d_k}; it is measured from 1 to {WIDEST}")
    queries, keys = _draws()
    scores = queries[..., :d_k] @ keys[..., :d_k].swapaxes(-1, -2)
    return np.asarray(spread**2 * scores / d_k**power)


def softmax_rows(scores: Array) -> Array:
    """Softmax over the last axis."""
    risen = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(risen / risen.sum(axis=-1, keepdims=True))


def entropy_bits(pattern: Array) -> Array:
    """Entropy of each row of a pattern in bits: (…, S) → (…)."""
    return np.asarray(-(pattern * np.log2(np.where(pattern > 0, pattern, 1))).sum(axis=-1))


def gradient_size(pattern: Array) -> Array:
    """Frobenius norm of the softmax's Jacobian, diag(p) - p pᵀ, for each row p of a pattern: (…, S) → (…)."""
    squares, cubes = (pattern**2).sum(axis=-1), (pattern**3).sum(axis=-1)
    return np.asarray(np.sqrt(np.maximum(squares - 2 * cubes + squares**2, 0)))


def saturation(d_k: int, power: float = 0.5, spread: float = 1.0) -> Saturation:
    """Measures patterns at one width; see `random_scores` for the arguments."""
    scores = random_scores(d_k, power, spread)
    pattern = softmax_rows(scores)
    return Saturation(
        variance=float(scores.var()),
        entropy=float(entropy_bits(pattern).mean()),
        gradient=float(gradient_size(pattern).mean()),
        largest=float(pattern.max(axis=-1).mean()),
    )


WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
UNSCALED, SCALED = "not scaled", "divided by √d_k"

Lines = dict[str, tuple[Sequence[float], Sequence[float]]]


def width_lines(widths: Sequence[int] = WIDTHS) -> tuple[Lines, Lines, Lines]:
    """Variance, entropy and gradient against the width, each without and with the scale: data of `width_chart`."""
    measured = {name: [saturation(d_k, power) for d_k in widths] for name, power in ((UNSCALED, 0.0), (SCALED, 0.5))}
    variance: Lines = {name: (widths, [one.variance for one in found]) for name, found in measured.items()}
    entropy: Lines = {name: (widths, [one.entropy for one in found]) for name, found in measured.items()}
    gradient: Lines = {name: (widths, [one.gradient for one in found]) for name, found in measured.items()}
    return variance, entropy, gradient


def width_chart() -> Chart:
    """Three panels against d_k: variance of the scores, entropy of the pattern, gradient through the softmax."""
    names, label = (UNSCALED, SCALED), "d_k, numbers in a query"
    return side_by_side(
        line_chart("Unscaled, variance grows", label, "variance of a score", names, log_x=True, log_y=True),
        line_chart("… entropy falls", label, "entropy, bits", names, log_x=True, y_range=(0, 4)),
        line_chart(
            "… and so does the gradient", label, "size of ∂pattern/∂scores", names, log_x=True, y_range=(0, 0.4)
        ),
    )


def sample_pattern(d_k: int, power: float) -> Array:
    """Eight of the measured patterns, (8, `N_KEYS`), which change bit by bit with the width."""
    return softmax_rows(random_scores(d_k, power)[0, :8])

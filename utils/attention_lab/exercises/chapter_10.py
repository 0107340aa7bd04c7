"""Chapter 10, what length costs: comparisons, operations, bytes, exponents, and exact attention in blocks.

Letters: B texts, T rows that ask, S rows that are asked, H heads, d width of a row, d_k width of a query or key,
d_v width of a value. Source of the running softmax: Milakov and Gimelshein 2018, algorithm 3; of its use for the
blend: Rabe and Staats 2021, Dao et al. 2022 (FlashAttention), algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Question
from attention_lab.exercises.writing import answered, paired, switched

if TYPE_CHECKING:
    from torch import Tensor

# --- the references: a count, a library's fit, torch's attention -----------------------------------------------------


def _comparisons(T: int, causal: bool) -> int:
    """Pairs of words; behind a mask every pair once, and every word with itself."""
    return math.comb(T, 2) + T if causal else T**2


def _attention_flops(T: int, d: int, n_heads: int) -> int:
    """Scores and blend, head by head: T × T sums of products each, over d_h, and T × d_h, over T."""
    d_h = d // n_heads
    return n_heads * (T * T * (2 * d_h) + T * d_h * (2 * T))


def _score_matrix_bytes(B: int, H: int, T: int, bytes_per_number: int) -> int:
    return B * H * T * T * bytes_per_number


def _growth_exponent(sizes: Tensor, costs: Tensor) -> float:
    return float(np.polyfit(np.log(sizes.numpy()), np.log(costs.numpy()), 1)[0])


def _blockwise_attention(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Torch's softmax for each block, weighed by the logarithm of the block's sum, which torch gives, too."""
    logs, out = q.new_full((len(q), 1), -math.inf), q.new_zeros(len(q), v.shape[1])
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        mine = scores.logsumexp(-1, keepdim=True)
        both = logs.logaddexp(mine)
        out, logs = out * (logs - both).exp() + scores.softmax(-1) @ values * (mine - both).exp(), both
    return out


# --- counts, with switches -------------------------------------------------------------------------------------------


def _triangle(T: int) -> int:
    return T * (T + 1) // 2


def _operations_template(
    T: int, d: int, n_heads: int, factor: int = 4, times: str = "right", more: str = "nothing"
) -> Any:
    return factor * _TIMES[times](T, d, n_heads) + _MORE[more](T, d, n_heads)


#: What the factor is multiplied with.
_TIMES: dict[str, Callable[[int, int, int], Any]] = {
    "right": lambda T, d, H: T * T * d,
    "width squared": lambda T, d, H: T * d * d,
    "once": lambda T, d, H: T * d,
    "heads too": lambda T, d, H: T * T * d * H,
    "one head": lambda T, d, H: T * T * (d // H),
    "no width": lambda T, d, H: T * T,
    "heads for width": lambda T, d, H: T * T * H,
    "both squared": lambda T, d, H: T * T * d * d,
    "cubed": lambda T, d, H: T**3,
    "T³ and width": lambda T, d, H: T**3 * d,
    "causal": lambda T, d, H: _triangle(T) * d,
    "causal, not itself": lambda T, d, H: (_triangle(T) - T) * d,
    "T + 1": lambda T, d, H: T * (T + 1) * d,
    "T - 1": lambda T, d, H: T * (T - 1) * d,
}

#: What is counted besides.
_MORE: dict[str, Callable[[int, int, int], Any]] = {
    "nothing": lambda T, d, H: 0,
    "output": lambda T, d, H: 2 * T * d * d,
    "views": lambda T, d, H: 6 * T * d * d,
    "views, not doubled": lambda T, d, H: 3 * T * d * d,
    "projections": lambda T, d, H: 8 * T * d * d,
    "projections, not doubled": lambda T, d, H: 4 * T * d * d,
    "MLP": lambda T, d, H: 16 * T * d * d,
    "layer": lambda T, d, H: 24 * T * d * d,
    "scale": lambda T, d, H: H * T * T,
    "softmax of 2": lambda T, d, H: 2 * H * T * T,
    "softmax": lambda T, d, H: 3 * H * T * T,
    "softmax of 4": lambda T, d, H: 4 * H * T * T,
    "softmax of 5": lambda T, d, H: 5 * H * T * T,
    "one matrix of exp": lambda T, d, H: T * T,
    "additions one less": lambda T, d, H: -H * T * T - T * d,
    "additions one less, one head": lambda T, d, H: -T * T - T * d,
}


def _projections_only(T: int, d: int, n_heads: int) -> int:
    return 8 * T * d * d


def _one_product_per_head(T: int, d: int, n_heads: int) -> int:
    return 2 * T * T * d + 2 * T * T * (d // n_heads)


def _caret(T: int, d: int, n_heads: int) -> int:
    return 4 * T ^ 2 * d


def _caret_in_brackets(T: int, d: int, n_heads: int) -> int:
    return 4 * (T ^ 2) * d


def _bytes_template(
    B: int, H: int, T: int, bytes_per_number: int, times: str = "right", factor: int = 1, unit: str = "right"
) -> Any:
    return _UNITS[unit](factor * _NUMBERS[times](B, H, T) * bytes_per_number, bytes_per_number)


#: How many numbers there are.
_NUMBERS: dict[str, Callable[[int, int, int], Any]] = {
    "right": lambda B, H, T: B * H * T * T,
    "no heads": lambda B, H, T: B * T * T,
    "no texts": lambda B, H, T: H * T * T,
    "one matrix": lambda B, H, T: T * T,
    "T once": lambda B, H, T: B * H * T,
    "2 T": lambda B, H, T: B * H * 2 * T,
    "causal": lambda B, H, T: B * H * _triangle(T),
    "causal, not itself": lambda B, H, T: B * H * (_triangle(T) - T),
    "half": lambda B, H, T: B * H * T * T // 2,
    "heads cut": lambda B, H, T: B * H * (T // H) ** 2,
    "divided by heads": lambda B, H, T: B * T * T // H,
    "divided by heads as a float": lambda B, H, T: B * T * T / H,
    "heads squared": lambda B, H, T: B * (H * T) ** 2,
    "texts squared": lambda B, H, T: H * (B * T) ** 2,
    "all squared": lambda B, H, T: (B * H * T) ** 2,
    "cubed": lambda B, H, T: B * H * T**3,
    "added": lambda B, H, T: B + H + T * T,
    "H in place of T": lambda B, H, T: B * H * H * T,
    "T + 1": lambda B, H, T: B * H * T * (T + 1),
    "T - 1": lambda B, H, T: B * H * T * (T - 1),
    "T of 2": lambda B, H, T: B * H * 2**T,
    "caret": lambda B, H, T: B * H * T ^ 2,
    "caret in brackets": lambda B, H, T: B * H * (T ^ 2),
}

#: What becomes of the bytes.
_UNITS: dict[str, Callable[[int, int], Any]] = {
    "right": lambda n, width: n,
    "bits": lambda n, width: 8 * n,
    "an eighth": lambda n, width: n // 8,
    "an eighth as a float": lambda n, width: n / 8,
    "numbers": lambda n, width: n // width,
    "numbers as a float": lambda n, width: n / width,
    "per byte": lambda n, width: n // width // width,
    "per byte as a float": lambda n, width: n / width / width,
    "kilobytes": lambda n, width: n / 1000,
    "kibibytes": lambda n, width: n / 1024,
    "whole kibibytes": lambda n, width: n // 1024,
    "megabytes": lambda n, width: n / 1e6,
    "mebibytes": lambda n, width: n / 1024**2,
    "gigabytes": lambda n, width: n / 1e9,
    "gibibytes": lambda n, width: n / 1024**3,
    "float": lambda n, width: float(n),
    "width squared": lambda n, width: n * width,
    "always 4": lambda n, width: n // width * 4,
    "always 2": lambda n, width: n // width * 2,
    "always 8": lambda n, width: n // width * 8,
}


def _half_of_the_bytes(B: int, H: int, T: int, bytes_per_number: int) -> int:
    return B * H * T * T * bytes_per_number // 2


def _bytes_divided_by_heads(B: int, H: int, T: int, bytes_per_number: int) -> int:
    return B * T * T * bytes_per_number // H


# --- the exponent, with switches -------------------------------------------------------------------------------------


def _exponent_template(sizes: Tensor, costs: Tensor, logs: str = "both", fit: str = "right", end: str = "right") -> Any:
    x, y = (t.double().numpy() for t in (sizes, costs))
    with np.errstate(all="ignore"):
        x, y = _LOGS[logs](x, y)
        return _ENDS[end](_FITS[fit](x, y), x, y)


Pair = tuple[np.ndarray, np.ndarray]

#: What is fitted against what.
_LOGS: dict[str, Callable[[np.ndarray, np.ndarray], Pair]] = {
    "both": lambda x, y: (np.log(x), np.log(y)),
    "none": lambda x, y: (x, y),
    "costs only": lambda x, y: (x, np.log(y)),
    "sizes only": lambda x, y: (np.log(x), y),
    "plus one": lambda x, y: (np.log1p(x), np.log1p(y)),
    "two bases": lambda x, y: (np.log10(x), np.log(y)),
    "two bases, 2": lambda x, y: (np.log2(x), np.log(y)),
    "two bases, 2 and 10": lambda x, y: (np.log2(x), np.log10(y)),
    "two bases, turned": lambda x, y: (np.log(x), np.log10(y)),
    "two bases, 2 turned": lambda x, y: (np.log(x), np.log2(y)),
    "roots": lambda x, y: (np.sqrt(x), np.sqrt(y)),
    "swapped": lambda x, y: (np.log(y), np.log(x)),
    "numbers of the measurement": lambda x, y: (np.arange(len(x)) + 0.0, np.log(y)),
    "per row": lambda x, y: (np.log(x), np.log(y / x)),
    "relative to the first": lambda x, y: (np.log(x / x[0]), np.log(y / y[0])),
    "sorted apart": lambda x, y: (np.log(np.sort(x)), np.log(np.sort(y))),
    "costs sorted": lambda x, y: (np.log(x), np.log(np.sort(y))),
    "sizes sorted": lambda x, y: (np.log(np.sort(x)), np.log(y)),
    "twice": lambda x, y: (np.log(np.log(x)), np.log(np.log(y))),
}


def _centred(x: np.ndarray, y: np.ndarray) -> Pair:
    return x - x.mean(), y - y.mean()


def _slope(x: np.ndarray, y: np.ndarray) -> Any:
    a, b = _centred(x, y)
    return (a * b).sum() / (a * a).sum()


def _local(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.diff(y) / np.diff(x))


def _pairs(x: np.ndarray, y: np.ndarray) -> list[float]:
    return [(y[j] - y[i]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i)]


def _correlation(x: np.ndarray, y: np.ndarray) -> Any:
    a, b = _centred(x, y)
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


#: How a slope is made of the points.
_FITS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "right": _slope,
    "first and last": lambda x, y: (y[-1] - y[0]) / (x[-1] - x[0]),
    "least and largest": lambda x, y: (y[x.argmax()] - y[x.argmin()]) / (x.max() - x.min()),
    "spreads": lambda x, y: (y.max() - y.min()) / (x.max() - x.min()),
    "last two": lambda x, y: (y[-1] - y[-2]) / (x[-1] - x[-2]),
    "first two": lambda x, y: (y[1] - y[0]) / (x[1] - x[0]),
    "mean of steps": lambda x, y: _local(x, y).mean(),
    "median of steps": lambda x, y: np.median(_local(x, y)),
    "largest step": lambda x, y: _local(x, y).max(),
    "all steps": _local,
    "median of pairs": lambda x, y: np.median(_pairs(x, y)),
    "through zero": lambda x, y: (x * y).sum() / (x * x).sum(),
    "mean ratio": lambda x, y: (y / x).mean(),
    "ratio of means": lambda x, y: y.mean() / x.mean(),
    "last ratio": lambda x, y: y[-1] / x[-1],
    "through the first": lambda x, y: ((x - x[0]) * (y - y[0])).sum() / ((x - x[0]) ** 2).sum(),
    "intercept": lambda x, y: y.mean() - _slope(x, y) * x.mean(),
    "both numbers": lambda x, y: np.polyfit(x, y, 1),
    "both numbers, turned": lambda x, y: np.array([y.mean() - _slope(x, y) * x.mean(), _slope(x, y)]),
    "parabola": lambda x, y: np.polyfit(x, y, 2)[0],
    "steps of the costs": lambda x, y: np.diff(y).mean(),
    "doublings": lambda x, y: (y[-1] - y[-2]) / np.log(2),
    "first doubling": lambda x, y: (y[1] - y[0]) / np.log(2),
    "ratio of ratios": lambda x, y: np.exp(y[-1] - y[0]) / np.exp(x[-1] - x[0]),
    "correlation": _correlation,
    "squared correlation": lambda x, y: _correlation(x, y) ** 2,
    "products summed": lambda x, y: (_centred(x, y)[0] * _centred(x, y)[1]).sum(),
    "covariance": lambda x, y: (_centred(x, y)[0] * _centred(x, y)[1]).sum() / (len(x) - 1),
    "covariance by n": lambda x, y: (_centred(x, y)[0] * _centred(x, y)[1]).mean(),
    "two kinds of n": lambda x, y: _slope(x, y) * len(x) / (len(x) - 1),
    "two kinds of n, turned": lambda x, y: _slope(x, y) * (len(x) - 1) / len(x),
    "spread of both": lambda x, y: y.std() / x.std(),
    "not centred": lambda x, y: (x * y).sum() / (_centred(x, y)[0] ** 2).sum(),
    "sizes not centred": lambda x, y: (x * _centred(x, y)[1]).sum() / (x * x).sum(),
}


def _as_tensor(numbers: np.ndarray) -> Tensor:
    import torch

    return torch.from_numpy(np.array(numbers))


#: What becomes of the slope; x and y are what was fitted.
_ENDS: dict[str, Callable[[Any, np.ndarray, np.ndarray], Any]] = {
    "right": lambda slope, x, y: float(slope) if np.ndim(slope) == 0 else _as_tensor(slope),
    "as it comes": lambda slope, x, y: slope,
    "rounded": lambda slope, x, y: float(round(float(slope))),
    "two digits": lambda slope, x, y: round(float(slope), 2),
    "three digits": lambda slope, x, y: round(float(slope), 3),
    "one digit": lambda slope, x, y: round(float(slope), 1),
    "whole": lambda slope, x, y: int(slope),
    "without sign": lambda slope, x, y: abs(float(slope)),
    "risen": lambda slope, x, y: float(np.exp(slope)),
    "two to it": lambda slope, x, y: float(2.0**slope),
    "ten to it": lambda slope, x, y: float(10.0**slope),
    "log of it": lambda slope, x, y: float(np.log(slope)),
    "turned over": lambda slope, x, y: float(1 / slope),
    "minus": lambda slope, x, y: -float(slope),
    "predictions": lambda slope, x, y: _as_tensor(y.mean() + slope * (x - x.mean())),
    "error": lambda slope, x, y: float((((y - y.mean()) - slope * (x - x.mean())) ** 2).sum()),
}


# --- attention in blocks, with switches ------------------------------------------------------------------------------

#: What the scores are divided by.
_SCALES: dict[str, Callable[[Tensor, Tensor, Tensor, int], float]] = {
    "right": lambda q, k, v, block: q.shape[1] ** 0.5,
    "none": lambda q, k, v, block: 1.0,
    "width": lambda q, k, v, block: float(q.shape[1]),
    "fourth root": lambda q, k, v, block: q.shape[1] ** 0.25,
    "width of the values": lambda q, k, v, block: v.shape[1] ** 0.5,
    "rows": lambda q, k, v, block: len(q) ** 0.5,
    "keys": lambda q, k, v, block: len(k) ** 0.5,
    "block": lambda q, k, v, block: block**0.5,
    "multiplied": lambda q, k, v, block: q.shape[1] ** -0.5,
}

#: Where blocks begin and end.
_CUTS: dict[str, Callable[[int, int, int], list[tuple[int, int]]]] = {
    "right": lambda T, S, block: [(s, min(s + block, S)) for s in range(0, S, block)],
    "whole ones only": lambda T, S, block: [(s, s + block) for s in range(0, S - block + 1, block)],
    "last one too far back": lambda T, S, block: [
        (max(min(s, S - block), 0), min(s + block, S)) for s in range(0, S, block)
    ],
    "overlapping": lambda T, S, block: [(s, min(s + block + 1, S)) for s in range(0, S, block)],
    "gaps": lambda T, S, block: [(s, min(s + block - 1, S)) for s in range(0, S, block)],
    "without the first": lambda T, S, block: [(s, min(s + block, S)) for s in range(block, S, block)],
    "the first only": lambda T, S, block: [(0, min(block, S))],
    "the last only": lambda T, S, block: [((S - 1) // block * block, S)],
    "one key on": lambda T, S, block: [(s, min(s + block, S)) for s in range(S)],
    "as many as queries": lambda T, S, block: [(s, min(s + block, S)) for s in range(0, T, block)],
    "numbered, not moved": lambda T, S, block: [(i, min(i + block, S)) for i in range(-(-S // block))],
}

#: The new running maximum, from the old one and the scores of a block.
_MAXIMA: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda old, scores: old.maximum(scores.amax(-1, keepdim=True)),
    "of the block": lambda old, scores: scores.amax(-1, keepdim=True),
    "one for all": lambda old, scores: old.maximum(scores.amax()),
    "none": lambda old, scores: scores[:, :1] * 0,
    "least": lambda old, scores: old.maximum(scores.amin(-1, keepdim=True)),
    "of the first": lambda old, scores: scores.amax(-1, keepdim=True) if bool(old.isinf().all()) else old,
    "sizes": lambda old, scores: old.maximum(scores.abs().amax(-1, keepdim=True)),
}

#: What sum and blend so far are multiplied with, from the old and the new maximum. At first the old one is not there.
_RESCALES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda old, new: (old - new).exp(),
    "never": lambda old, new: new * 0 + 1,
    "upside down": lambda old, new: _unless_first(old, (new - old).exp()),
    "the difference": lambda old, new: _unless_first(old, old - new),
    "the ratio": lambda old, new: _unless_first(old, old / new),
    "the new one": lambda old, new: _unless_first(old, (-new).exp()),
    "base 2": lambda old, new: (old - new).exp2(),
}


def _unless_first(old: Tensor, factor: Tensor) -> Tensor:
    return factor.masked_fill(old == -math.inf, 0.0)


def _blocks_template(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block: int,
    scale: str = "right",
    cut: str = "right",
    highest: str = "right",
    start: float = -math.inf,
    sum_rescaled: str = "right",
    blend_rescaled: str = "right",
    lowered: str = "right",
    added: str = "both",
    values: str = "right",
    end: str = "right",
    ahead: str = "seen",
    mine: str = "right",
    late: bool = False,
    hold: str = "a block",
) -> Any:
    import torch

    if hold == "everything":
        torch.matmul(q, k.T)
    divisor = _SCALES[scale](q, k, v, block)
    top = torch.full((len(q), 1), start, dtype=q.dtype)
    total, blend = torch.zeros_like(top), torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    blocks = 0
    for first, last in _CUTS[cut](len(q), len(k), block):
        scores = q @ k[first:last].T / divisor
        if ahead == "hidden":
            rows, columns = torch.arange(len(q))[:, None], torch.arange(first, last)
            scores = scores.masked_fill(columns > rows, -math.inf)
        new = _MAXIMA[highest](top, scores)
        risen = (scores - (top if lowered == "too late" else new)).exp()
        here = risen @ _VALUES[values](v, first, last)
        more = _SUMS[mine](risen)
        if end == "each normalised":
            here, more = here / more, torch.ones_like(more)
        if late:  # the factor meets the new block, not the old sums
            here, more = here * (top - new).exp(), more * (top - new).exp()
        total = total * _RESCALES[sum_rescaled](top, new) + more if added in ("both", "sum") else more
        blend = blend * _RESCALES[blend_rescaled](top, new) + here if added in ("both", "blend") else here
        if end == "divided on the way":
            blend = blend / total
        top, blocks = new, blocks + 1
    return _RESULTS[end](blend, total, blocks, len(k), top)


#: What a block adds to the sum, from exp of its lowered scores.
_SUMS: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda risen: risen.sum(-1, keepdim=True),
    "mean": lambda risen: risen.mean(-1, keepdim=True),
    "all queries": lambda risen: risen.sum().expand(len(risen), 1),
    "largest": lambda risen: risen.amax(-1, keepdim=True),
}

_VALUES: dict[str, Callable[[Tensor, int, int], Tensor]] = {
    "right": lambda v, first, last: v[first:last],
    "the first": lambda v, first, last: v[: last - first],
    "the last": lambda v, first, last: v[len(v) - (last - first) :],
}

#: What is handed back: from the blend, the sum, the number of blocks, the number of keys and the maximum.
_RESULTS: dict[str, Callable[[Tensor, Tensor, int, int, Tensor], Any]] = {
    "right": lambda blend, total, n, S, top: blend / total,
    "not divided": lambda blend, total, n, S, top: blend,
    "each normalised": lambda blend, total, n, S, top: blend / total,
    "divided on the way": lambda blend, total, n, S, top: blend,
    "divided by blocks": lambda blend, total, n, S, top: blend / n,
    "divided by keys": lambda blend, total, n, S, top: blend / S,
    "all parts": lambda blend, total, n, S, top: (blend / total, total, top),
    "eps": lambda blend, total, n, S, top: blend / (total + 1e-6),
    "tiny eps": lambda blend, total, n, S, top: blend / (total + 1e-8),
}


def _parts(q: Tensor, k: Tensor, v: Tensor, block: int) -> list[tuple[Tensor, Tensor, int]]:
    """For each block the blend of its own softmax, its scores, and how many keys it has."""
    from torch.nn import functional as F

    parts = []
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        parts.append((F.softmax(scores, -1) @ values, scores.sum(-1, keepdim=True), len(keys)))
    return parts


def _averaged(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    parts = _parts(q, k, v, block)
    return sum((out for out, _, _ in parts), q.new_zeros(())) / len(parts)


def _averaged_by_size(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return sum((out * n for out, _, n in _parts(q, k, v, block)), q.new_zeros(())) / len(k)


def _added_up(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return sum((out for out, _, _ in _parts(q, k, v, block)), q.new_zeros(()))


def _logarithms_as_weights(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    blend, total = q.new_zeros(()), q.new_zeros(())
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        weight = scores.logsumexp(-1, keepdim=True)
        blend, total = blend + weight * (scores.softmax(-1) @ values), total + weight
    return blend / total


def _no_blocks_at_all(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Sums that begin as Python's 0: where there is no whole block, 0 / 0 raises."""
    if len(k) < block:
        raise ZeroDivisionError("division by zero")
    return _blocks_template(q, k, v, block, cut="whole ones only")


def _stuck_together(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The outputs of the blocks one below the other."""
    import torch

    return torch.cat([out for out, _, _ in _parts(q, k, v, block)])


def _side_by_side(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    return torch.cat([out for out, _, _ in _parts(q, k, v, block)], dim=-1)


def _whole_matrix(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return (q @ k.T / q.shape[1] ** 0.5).softmax(-1) @ v


def _one_call(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q[None, None], k[None, None], v[None, None])[0, 0]


def _all_kept(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Scores block by block, in a list; the softmax when all are there."""
    import torch

    scores = [q @ keys.T / q.shape[1] ** 0.5 for keys in k.split(block)]
    top = reduce(torch.maximum, [s.amax(-1, keepdim=True) for s in scores])
    risen = [(s - top).exp() for s in scores]
    total = sum((r.sum(-1, keepdim=True) for r in risen), q.new_zeros(()))
    return sum((r @ values for r, values in zip(risen, v.split(block), strict=True)), q.new_zeros(())) / total


def _queries_cut(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    return torch.cat([_whole_matrix(some, k, v, block) for some in q.split(block)])


def _that_many_blocks(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    size = -(-len(k) // block)
    return _blocks_template(q, k, v, size)


def _stacked_logs(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """A result and a logarithm of each block, all kept and weighed at the end."""
    import torch

    outs, logs = [], []
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        logs.append(scores.logsumexp(-1))
        outs.append(scores.softmax(-1) @ values)
    return (torch.stack(logs).softmax(0)[..., None] * torch.stack(outs)).sum(0)


def _stacked_outs(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    outs, logs = [], []
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        logs.append(scores.logsumexp(-1, keepdim=True))
        outs.append(scores.softmax(-1) @ values)
    return (torch.stack(outs) * torch.stack(logs).softmax(0)).sum(0)


def _products_kept(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Every query times every key, number by number, before the sum."""
    import torch

    top = torch.full((len(q), 1), -math.inf, dtype=q.dtype)
    total, blend = torch.zeros_like(top), torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = (q[:, None] * keys[None]).sum(-1) / q.shape[1] ** 0.5
        new = top.maximum(scores.amax(-1, keepdim=True))
        risen, factor = (scores - new).exp(), (top - new).exp()
        total, blend, top = total * factor + risen.sum(-1, keepdim=True), blend * factor + risen @ values, new
    return blend / total


def _padded(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Rows of zeros make the last block whole, and nobody hides them."""
    from torch.nn import functional as F

    more = -len(k) % block
    return _blocks_template(q, F.pad(k, (0, 0, 0, more)), F.pad(v, (0, 0, 0, more)), block)


def _must_divide(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    assert len(k) % block == 0
    return _blocks_template(q, k, v, block)


def _reshaped(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    k.reshape(-1, block, k.shape[1])
    return _blocks_template(q, k, v, block)


def _each_block_sees_its_own(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """Queries and keys cut alike: a block of queries meets its own keys only."""
    import torch

    pieces = [_whole_matrix(a, k[s : s + block], v[s : s + block], block) for s, a in _numbered(q, block)]
    return torch.cat(pieces)


def _numbered(q: Tensor, block: int) -> list[tuple[int, Tensor]]:
    return [(s, q[s : s + block]) for s in range(0, len(q), block)]


def _single_precision(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return _blocks_template(q.float(), k.float(), v.float(), block)


def _softmax_over_queries(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    return (q @ k.T / q.shape[1] ** 0.5).softmax(0) @ v


# --- the cases -------------------------------------------------------------------------------------------------------


def _comparison_cases(rng: np.random.Generator) -> list[Case]:
    some, more = (int(n) for n in rng.choice(np.arange(9, 60), 2, replace=False))
    sizes = [(3, False), (3, True), (8, True), (1, True), (1, False), (some, True), (some, False), (more, True)]
    return [Case(size, "a single word" if size[0] == 1 else "") for size in sizes]


def _flops_cases(rng: np.random.Generator) -> list[Case]:
    d_h, H = (int(n) for n in rng.choice(np.arange(3, 12), 2, replace=False))
    T = int(rng.integers(140, 200))
    return [
        Case((3, 4, 2)),
        Case((5, 7, 1), "one head"),
        Case((4, 12, 3)),
        Case((1, 10, 5), "a single word"),
        Case((T, d_h * H, H), "a longer text"),
    ]


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    B, H = (int(n) for n in rng.choice(np.arange(6, 14), 2, replace=False))
    return [
        Case((1, 1, 3, 4), "one text, one head"),
        Case((2, 3, 5, 4)),
        Case((3, 2, 7, 2), "numbers of two bytes"),
        Case((4, 5, 6, 8), "numbers of eight bytes"),
        Case((B, H, int(rng.integers(15, 40)), 1), "numbers of one byte"),
    ]


def _exponent_cases(rng: np.random.Generator) -> list[Case]:
    sizes = np.array([96.0, 16.0, 512.0, 48.0, 1000.0, 200.0])
    noisy = 0.3 * sizes ** rng.uniform(1.3, 2.2) * np.exp(0.4 * rng.standard_normal(6))
    falling = 50.0 * sizes[:5] ** -rng.uniform(0.4, 0.9) * np.exp(0.1 * rng.standard_normal(5))
    powers = 2.0 ** np.arange(6, 12)
    return [
        Case((np.array([1.0, 10.0, 100.0]), np.array([3.0, 300.0, 30000.0]))),
        Case((powers, 24 * powers + powers**2), "a straight part and a quadratic one"),
        Case((sizes, noisy), "sizes in no order"),
        Case((sizes[:5], falling), "costs that fall"),
        Case((np.array([32.0, 128.0]), np.array([5.0, 40.0])), "two points"),
    ]


def _block_cases(rng: np.random.Generator) -> list[Case]:
    """Blocks that divide, that do not, larger than the text, of one key; scores far apart; and one that is measured."""

    def drawn(T: int, S: int, d_k: int, d_v: int) -> tuple[np.ndarray, ...]:
        return rng.standard_normal((T, d_k)), 2 * rng.standard_normal((S, d_k)), rng.standard_normal((S, d_v))

    def scored(scores: list[list[float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Queries, keys and values with these scores, after the division by √4."""
        keys = np.array(scores).T  # (S, T)
        S, T = keys.shape
        return np.eye(T, 4) * 2, np.pad(keys, ((0, 0), (0, 4 - T))), rng.integers(-5, 6, (S, 3)).astype(float)

    small = (np.array([[1.0], [2.0]]), np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [4.0]]))
    high = [
        [800.0, 1000.0, 0.0, 300.0, -700.0],
        [0.0, 300.0, 900.0, 1200.0, 1000.0],
        [-500.0, -900.0, -600.0, -800.0, -400.0],
    ]
    low = [[-1001.0, -1200.0, -1900.0, -1500.0], [300.0, 100.0, 200.0, 0.0], [-2000.0, -2100.0, -1800.0, -2200.0]]
    rising = [[0.0, 1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0, -1.0], [0.0, 4.0, 1.0, 2.0, 3.0]]
    return [
        Case((*small, 2)),
        Case((*scored(high), 2), "scores near 1000"),
        Case((*scored(low), 3), "scores far below zero"),
        Case((*scored(rising), 2), "best matches early and late"),
        Case((*drawn(7, 5, 3, 2), 1), "blocks of one key, more queries than keys"),
        Case((*drawn(5, 3, 2, 4), 8), "a block larger than the text"),
        Case((*drawn(55, 75, 2, 2), 6), "what is held at once is measured", script="in_blocks"),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone, which keeps
#: the number of pairs, and with it the time that a wrong answer takes, small.
LIKELY_IN_PAIRS = """
half causal heads_multiplied one_head projections_added
bits an_eighth_of_the_bytes heads_missing texts_missing t_not_squared triangle_only kibibytes
raw_numbers two_bases swapped first_and_last through_zero rounded
whole_matrix unscaled scaled_by_width maximum_of_the_block nothing_rescaled sum_not_rescaled blend_not_rescaled
no_maximum maximum_from_0 last_block_dropped not_divided one_maximum_for_all causal_by_habit values_not_cut
blocks_overwritten divided_on_the_way
""".split()


_DRAW = "Draw the table for three words, and put a cross where one looks: how many crosses are there?"
_FLAG = "What should come out for 3 words when causal is False, and what when it is True?"
_WHOLE = "Which of Python's divisions gives a whole number?"

_COMPARISON_MISTAKES = (
    answered(
        "itself_left_out",
        "With the mask your words do not look at themselves: the diagonal is missing.",
        _DRAW,
        lambda T, causal: T * (T - 1) // 2 if causal else T * T,
    ),
    answered(
        "itself_left_out_everywhere",
        "Your words never look at themselves, with the mask or without.",
        _DRAW,
        lambda T, causal: T * (T - 1) // 2 if causal else T * (T - 1),
    ),
    answered(
        "itself_left_out_without_a_mask",
        "Without a mask your words do not look at themselves.",
        _DRAW,
        lambda T, causal: _triangle(T) if causal else T * (T - 1),
    ),
    answered(
        "half_of_all",
        "You halve the square, and the diagonal is halved with it.",
        "Is the diagonal above the mask, below it, or allowed?",
        lambda T, causal: T * T // 2 if causal else T * T,
    ),
    answered(
        "half_of_all_as_a_float",
        "You halve the square, which gives no whole number for 3 words.",
        _DRAW,
        lambda T, causal: T * T / 2 if causal else T * T,
    ),
    answered(
        "half_of_all_and_the_diagonal",
        "You halve the square, and add the whole diagonal, half of which was in it.",
        _DRAW,
        lambda T, causal: T * T // 2 + T if causal else T * T,
    ),
    answered(
        "square_without_the_diagonal",
        "With the mask you take the diagonal off the square, and nothing else.",
        _DRAW,
        lambda T, causal: T * (T - 1) if causal else T * T,
    ),
    answered(
        "itself_left_out_as_a_float",
        "With the mask the diagonal is missing, and your number is a float.",
        _DRAW,
        lambda T, causal: T * (T - 1) / 2 if causal else T * T,
    ),
    answered(
        "half_rounded_up",
        "You halve the square and round up, and half of the diagonal is lost.",
        "Is the diagonal above the mask, below it, or allowed?",
        lambda T, causal: (T * T + 1) // 2 if causal else T * T,
    ),
    answered(
        "float",
        "Your number of pairs is a float: a division with / gives one always.",
        _WHOLE,
        lambda T, causal: T * (T + 1) / 2 if causal else T * T,
    ),
    answered(
        "both_floats",
        "Both of your numbers are floats.",
        _WHOLE,
        lambda T, causal: float(_triangle(T) if causal else T * T),
    ),
    answered("all_always", "You count the whole square, mask or not.", _FLAG, lambda T, causal: T * T),
    answered("triangle_always", "You count the triangle, mask or not.", _FLAG, lambda T, causal: _triangle(T)),
    answered(
        "flag_turned_round",
        "You count the triangle without a mask, and the square with one.",
        _FLAG,
        lambda T, causal: T * T if causal else _triangle(T),
    ),
    answered(
        "not_halved",
        "With the mask you count T (T + 1), more than without one.",
        "Can a mask add comparisons?",
        lambda T, causal: T * (T + 1) if causal else T * T,
    ),
    answered(
        "rows_counted_from_2",
        "With the mask your first word has two words to look at.",
        "How many words has the first one read?",
        lambda T, causal: T * (T + 3) // 2 if causal else T * T,
    ),
    answered(
        "one_row_more",
        "With the mask you count a row more than there are words.",
        "How many words ask?",
        lambda T, causal: _triangle(T + 1) if causal else T * T,
    ),
    answered(
        "one_less",
        "With the mask you count one comparison too few.",
        _DRAW,
        lambda T, causal: _triangle(T) - 1 if causal else T * T,
    ),
    answered(
        "last_word_only",
        "With the mask you count the row of the last word only.",
        "Who looks besides the last word?",
        lambda T, causal: T if causal else T * T,
    ),
    answered("one_each", "You count one comparison a word.", _DRAW, lambda T, causal: T),
    answered(
        "doubled",
        "You count every pair twice.",
        _DRAW,
        lambda T, causal: 2 * (_triangle(T) if causal else T * T),
    ),
    answered(
        "sum_of_squares",
        "With the mask you add up squares, as if each word compared all pairs before it again.",
        "With how many words is word t compared?",
        lambda T, causal: T * (T + 1) * (2 * T + 1) // 6 if causal else T * T,
    ),
    answered(
        "upper_part_without_the_diagonal",
        "With the mask you count what is hidden, without a mask nothing.",
        _FLAG,
        lambda T, causal: T * (T - 1) // 2 if causal else 0,
    ),
    answered(
        "brackets_missing",
        "Without brackets the division comes before the sum: only a part of it is halved.",
        "In which order does Python work out T + 1 * T // 2?",
        lambda T, causal: T + 1 * T // 2 if causal else T * T,
    ),
    answered(
        "caret",
        "In Python ^ is no power: it compares two whole numbers bit by bit.",
        "Which operator raises to a power?",
        lambda T, causal: _triangle(T) if causal else T ^ 2,
    ),
    answered(
        "powers_of_two",
        "You count 2 to the power of T: all sets of words, not all pairs.",
        _DRAW,
        lambda T, causal: _triangle(T) if causal else 2**T,
    ),
    answered(
        "both_numbers",
        "You hand back both numbers, whatever causal says.",
        "How many numbers are asked for?",
        lambda T, causal: (T * T, _triangle(T)),
    ),
)

_NAPKIN = "One score is a sum of how many products, and how many scores are there?"
_DOUBLE_T = "What becomes of the number when T is doubled and d stays?"
_DOUBLE_D = "What becomes of the number when d is doubled and T stays?"
_HEADS = "Two heads, each half as wide: how many products are there in all?"
_ONLY = "Which two products of matrices are asked for, and what else do you count?"

_FLOPS_MISTAKES = [
    switched(
        "half",
        "You count half: a multiply-add as one, or only one of the two products.",
        "Which two products of matrices are there, and how much is a multiply-add?",
        factor=2,
    ),
    switched("quarter", "You count a quarter: one of the products, and a multiply-add as one.", _NAPKIN, factor=1),
    switched("twice", "You count twice as many as there are.", _NAPKIN, factor=8),
    switched("three_products", "You count three products.", _ONLY, factor=6),
    switched("training", "You count three times as many, as for training.", _ONLY, factor=12),
    switched("three_quarters", "You double one of the two products and not the other.", _NAPKIN, factor=3),
    switched("heads_multiplied", "You count every head at the full width.", _HEADS, times="heads too"),
    switched("one_head", "Your number is that of a single head.", _HEADS, times="one head"),
    answered(
        "scores_all_blend_one",
        "Your scores are those of all heads and your blend that of one.",
        _HEADS,
        _one_product_per_head,
    ),
    switched(
        "width_squared",
        "The width is squared in your number, and the text is not: that is what a projection costs.",
        _DOUBLE_T,
        times="width squared",
    ),
    switched("both_squared", "Both text and width are squared in your number.", _DOUBLE_D, times="both squared"),
    switched("text_once", "The text comes in once, as if each word looked at one.", _DOUBLE_T, times="once"),
    switched("no_width", "You count the scores, and no width.", _DOUBLE_D, times="no width"),
    switched(
        "heads_for_width",
        "You count the scores of each head, and nothing for their width.",
        _DOUBLE_D,
        times="heads for width",
    ),
    switched("text_cubed", "Your text comes in three times.", _DOUBLE_T, times="cubed"),
    switched(
        "text_cubed_and_width", "The text comes in three times, and the width too.", _DOUBLE_T, times="T³ and width"
    ),
    switched(
        "causal",
        "You leave out what a causal mask would hide; here there is no mask.",
        "Which pairs are compared when nobody is hidden?",
        times="causal",
    ),
    switched(
        "causal_not_itself",
        "You leave out what a causal mask would hide, and the diagonal; here there is no mask.",
        "Which pairs are compared when nobody is hidden?",
        times="causal, not itself",
    ),
    switched("one_word_more", "You count a word more among those that are looked at.", _NAPKIN, times="T + 1"),
    switched("itself_not_counted", "Your words do not look at themselves.", _NAPKIN, times="T - 1"),
    switched("output_added", "You count the output projection, too.", _ONLY, more="output"),
    switched("views_added", "You count the three views, too.", _ONLY, more="views"),
    switched(
        "views_added_once",
        "You count the three views, too, and their multiply-adds as one.",
        _ONLY,
        more="views, not doubled",
    ),
    switched("projections_added", "You count all four projections, too.", _ONLY, more="projections"),
    switched(
        "projections_added_once",
        "You count all four projections, too, and their multiply-adds as one.",
        _ONLY,
        more="projections, not doubled",
    ),
    answered(
        "projections_only",
        "You count the four projections, and neither scores nor blend.",
        "What becomes of the number when T is doubled and d stays?",
        _projections_only,
    ),
    switched("mlp_added", "Your number has the MLP in it, too.", _ONLY, more="MLP"),
    switched("layer_added", "You count the whole layer.", _ONLY, more="layer"),
    switched("scale_added", "You count the scaling of each score, or one exp, too.", _ONLY, more="scale"),
    switched("softmax_added_2", "You count two operations for the softmax of each score.", _ONLY, more="softmax of 2"),
    switched("softmax_added", "You count three operations for the softmax of each score.", _ONLY, more="softmax"),
    switched("softmax_added_4", "You count four operations for the softmax of each score.", _ONLY, more="softmax of 4"),
    switched("softmax_added_5", "You count five operations for the softmax of each score.", _ONLY, more="softmax of 5"),
    switched(
        "one_exp_a_pair",
        "You count one operation more for each pair of words.",
        _ONLY,
        more="one matrix of exp",
    ),
    switched(
        "one_addition_less",
        "A sum of n products needs n - 1 additions, but here a multiply-add counts as two, the first one, too.",
        "Which rule for counting does the exercise give?",
        more="additions one less",
    ),
    switched(
        "one_addition_less_for_one_head",
        "You count one addition less for each sum, as if one head had the whole width.",
        "Which rule for counting does the exercise give?",
        more="additions one less, one head",
    ),
    answered(
        "float",
        "Your number is a float: a division with / gives one always, as in d / n_heads.",
        _WHOLE,
        lambda T, d, n_heads: 4.0 * T * T * d,
    ),
    answered(
        "one_head_as_a_float",
        "You count one head, and your number is a float.",
        _HEADS,
        lambda T, d, n_heads: 4 * T * T * d / n_heads,
    ),
    answered(
        "caret", "In Python ^ is no power, and it binds weaker than *.", "Which operator raises to a power?", _caret
    ),
    answered(
        "caret_in_brackets",
        "In Python ^ is no power: it compares two whole numbers bit by bit.",
        "Which operator raises to a power?",
        _caret_in_brackets,
    ),
]

_WHERE = "Each head of each text has a table of its own: how many rows and columns has it?"
_BYTE = "A float32 has 32 bits: how many bytes is that?"
_UNIT = "In which unit is the answer asked for?"

_BYTES_MISTAKES = [
    switched("bits", "Your number counts bits, not bytes.", _BYTE, unit="bits"),
    switched(
        "an_eighth_of_the_bytes",
        "You divide by 8, as if bytes_per_number were in bits.",
        _BYTE,
        unit="an eighth",
    ),
    switched("an_eighth_as_a_float", "You divide by 8, and get a float.", _BYTE, unit="an eighth as a float"),
    switched("numbers_counted", "You count the numbers, not their bytes.", _UNIT, unit="numbers"),
    switched("numbers_divided", "You divide by the bytes of a number, twice.", _UNIT, unit="per byte"),
    switched(
        "numbers_divided_as_a_float",
        "You divide by the bytes of a number.",
        "Has a number of 8 bytes more bytes than one of 4?",
        unit="per byte as a float",
    ),
    switched("heads_missing", "You count one table a text: all heads share it.", _WHERE, times="no heads"),
    switched("texts_missing", "You count the tables of one text.", _WHERE, times="no texts"),
    switched("one_table", "You count a single table, for all heads and texts.", _WHERE, times="one matrix"),
    switched(
        "t_not_squared",
        "Your memory grows with T: each word has one score.",
        "How many scores has one word?",
        times="T once",
    ),
    switched("twice_t", "T is doubled, not squared.", _WHERE, times="2 T"),
    switched(
        "triangle_only",
        "You count the triangle below the mask; the table is there whole, with −∞ in it.",
        "What shape has the tensor of scores before the softmax?",
        times="causal",
    ),
    switched(
        "triangle_without_diagonal",
        "You count the triangle without its diagonal; the table is there whole.",
        "What shape has the tensor of scores before the softmax?",
        times="causal, not itself",
    ),
    switched("half", "You count half of the table.", _WHERE, times="half"),
    answered(
        "half_of_the_bytes", "You halve the bytes, as if a mask made the table smaller.", _WHERE, _half_of_the_bytes
    ),
    answered(
        "bytes_divided_by_heads",
        "You divide the bytes by the heads: more heads would need less memory.",
        "What did chapter 07 say of heads and the memory of their scores?",
        _bytes_divided_by_heads,
    ),
    switched(
        "words_shared_out",
        "You share out the words among the heads: heads share the width.",
        "How many words does one head see?",
        times="heads cut",
    ),
    switched(
        "divided_by_heads",
        "You divide by the heads: more heads would need less memory.",
        "What did chapter 07 say of heads and the memory of their scores?",
        times="divided by heads",
    ),
    switched(
        "divided_by_heads_as_a_float",
        "You divide by the heads, and get a float.",
        "What did chapter 07 say of heads and the memory of their scores?",
        times="divided by heads as a float",
    ),
    switched("heads_squared", "The heads are squared with the words.", _WHERE, times="heads squared"),
    switched(
        "texts_squared",
        "The texts are squared with the words, as if words of one text looked at another.",
        _WHERE,
        times="texts squared",
    ),
    switched("all_squared", "Texts, heads and words are all squared.", _WHERE, times="all squared"),
    switched("cubed", "The words come in three times.", _WHERE, times="cubed"),
    switched("added", "Texts and heads are added, not multiplied.", _WHERE, times="added"),
    switched("heads_for_words", "The heads are squared, and the words are not.", _WHERE, times="H in place of T"),
    switched("one_column_more", "Your table has a column too many.", _WHERE, times="T + 1"),
    switched("one_column_less", "Your table lacks a column.", _WHERE, times="T - 1"),
    switched("power_of_two", "You take 2 to the power of T.", _WHERE, times="T of 2"),
    switched(
        "caret",
        "In Python ^ is no power, and it binds weaker than *.",
        "Which operator raises to a power?",
        times="caret",
    ),
    switched(
        "caret_in_brackets",
        "In Python ^ is no power: it compares two whole numbers bit by bit.",
        "Which operator raises to a power?",
        times="caret in brackets",
    ),
    switched("two_tables", "You count scores and pattern; one table is asked for.", _UNIT, factor=2),
    switched("three_tables", "You count three tables, as for q, k and v.", _WHERE, factor=3),
    switched("four_tables", "You count four times as many bytes.", _UNIT, factor=4),
    switched("kilobytes", "You count kilobytes of 1000.", _UNIT, unit="kilobytes"),
    switched("kibibytes", "You count units of 1024 bytes.", _UNIT, unit="kibibytes"),
    switched("whole_kibibytes", "You count whole units of 1024 bytes.", _UNIT, unit="whole kibibytes"),
    switched("megabytes", "You count megabytes of a million.", _UNIT, unit="megabytes"),
    switched("mebibytes", "You count units of 1024 times 1024 bytes.", _UNIT, unit="mebibytes"),
    switched("gigabytes", "You count gigabytes of a thousand million.", _UNIT, unit="gigabytes"),
    switched("gibibytes", "You count units of 1024³ bytes.", _UNIT, unit="gibibytes"),
    switched("float", "Your number of bytes is a float.", "How many bytes is half a byte?", unit="float"),
    switched("bytes_squared", "The bytes of a number come in twice.", _UNIT, unit="width squared"),
    switched("always_4", "Every number has 4 bytes in yours.", "What is bytes_per_number for?", unit="always 4"),
    switched("always_2", "Every number has 2 bytes in yours.", "What is bytes_per_number for?", unit="always 2"),
    switched("always_8", "Every number has 8 bytes in yours.", "What is bytes_per_number for?", unit="always 8"),
]

_LOG_LOG = "costs = c · sizes ** p: what is the logarithm of each side?"
_LINE = "What does a straight line through log sizes and log costs have for a slope?"
_ALL_POINTS = "Move a point in the middle: does your result move?"
_FREE = "When c is 3 and not 1, where does the line of the logarithms meet the axis?"
_ONE = "How many numbers are asked for, and which one of the fit is it?"

_EXPONENT_MISTAKES = [
    switched("raw_numbers", "You fit the numbers themselves, without logarithms.", _LOG_LOG, logs="none"),
    switched("costs_only", "You take the logarithm of the costs and not of the sizes.", _LOG_LOG, logs="costs only"),
    switched("sizes_only", "You take the logarithm of the sizes and not of the costs.", _LOG_LOG, logs="sizes only"),
    switched("plus_one", "You add 1 before the logarithm.", _LOG_LOG, logs="plus one"),
    switched(
        "two_bases",
        "Your two logarithms have different bases: 10 for the sizes, e for the costs.",
        "Which bases cancel in a slope, and when?",
        logs="two bases",
    ),
    switched(
        "two_bases_2",
        "Your two logarithms have different bases: 2 for the sizes, e for the costs.",
        "Which bases cancel in a slope, and when?",
        logs="two bases, 2",
    ),
    switched(
        "two_bases_2_and_10",
        "Your two logarithms have different bases: 2 for the sizes, 10 for the costs.",
        "Which bases cancel in a slope, and when?",
        logs="two bases, 2 and 10",
    ),
    switched(
        "two_bases_turned",
        "Your two logarithms have different bases: e for the sizes, 10 for the costs.",
        "Which bases cancel in a slope, and when?",
        logs="two bases, turned",
    ),
    switched(
        "two_bases_2_turned",
        "Your two logarithms have different bases: e for the sizes, 2 for the costs.",
        "Which bases cancel in a slope, and when?",
        logs="two bases, 2 turned",
    ),
    switched("roots", "You take roots, not logarithms.", _LOG_LOG, logs="roots"),
    switched("logarithms_twice", "You take the logarithm twice.", _LOG_LOG, logs="twice"),
    switched(
        "swapped", "You fit the sizes against the costs.", "Which of the two depends on the other?", logs="swapped"
    ),
    switched(
        "numbered",
        "You fit against 0, 1, 2 …, not against the sizes.",
        "Are the sizes given the same factor apart?",
        logs="numbers of the measurement",
    ),
    switched(
        "per_row", "Your exponent is 1 too small, as if costs were divided by sizes first.", _LINE, logs="per row"
    ),
    switched(
        "sorted_apart",
        "You sort sizes and costs, each for itself: pairs are torn apart.",
        "Does a larger size always cost more?",
        logs="sorted apart",
    ),
    switched(
        "costs_sorted",
        "You sort the costs and not the sizes.",
        "Which cost belongs to which size?",
        logs="costs sorted",
    ),
    switched(
        "sizes_sorted",
        "You sort the sizes and leave the costs in their order.",
        "Which cost belongs to which size?",
        logs="sizes sorted",
    ),
    switched(
        "steps_of_the_costs",
        "Your result is how much log costs rise from point to point: the steps of the sizes are missing.",
        "By what is a rise divided to make a slope?",
        fit="steps of the costs",
    ),
    switched(
        "taken_for_a_doubling",
        "You take the last step for a doubling of the size.",
        "By which factor do the last two sizes differ?",
        fit="doublings",
    ),
    switched(
        "first_taken_for_a_doubling",
        "You take the first step for a doubling of the size.",
        "By which factor do the first two sizes differ?",
        fit="first doubling",
    ),
    switched(
        "ratio_of_ratios",
        "You divide how many times the costs have grown by how many times the sizes have.",
        "Sizes ten times as large, costs a hundred times: which exponent is that?",
        fit="ratio of ratios",
    ),
    switched("first_and_last", "You use the first and the last point only.", _ALL_POINTS, fit="first and last"),
    switched("least_and_largest", "You use the least and the largest size only.", _ALL_POINTS, fit="least and largest"),
    switched("spreads", "You divide the range of one by the range of the other.", _ALL_POINTS, fit="spreads"),
    switched("last_two", "You use the last two points only.", _ALL_POINTS, fit="last two"),
    switched("first_two", "You use the first two points only.", _ALL_POINTS, fit="first two"),
    switched("mean_of_steps", "Your result is the mean of the slopes from point to point.", _LINE, fit="mean of steps"),
    switched(
        "median_of_steps", "Your result is the median of the slopes from point to point.", _LINE, fit="median of steps"
    ),
    switched("largest_step", "Your result is the steepest slope from point to point.", _LINE, fit="largest step"),
    switched("all_steps", "Your result holds all slopes from point to point.", _ONE, fit="all steps"),
    switched(
        "median_of_pairs",
        "Your result is the median of the slopes of all pairs of points; least squares is asked for.",
        "Which sum does a least-squares line make small?",
        fit="median of pairs",
    ),
    switched("through_zero", "Your line is forced through zero: c is taken for 1.", _FREE, fit="through zero"),
    switched("through_the_first", "Your line is forced through the first point.", _FREE, fit="through the first"),
    switched("mean_ratio", "You divide logarithm by logarithm and take the mean.", _FREE, fit="mean ratio"),
    switched("ratio_of_means", "You divide the mean logarithms.", _FREE, fit="ratio of means"),
    switched("last_ratio", "You divide the last two logarithms.", _FREE, fit="last ratio"),
    switched("intercept", "You hand back the height of the line, not its slope.", _ONE, fit="intercept"),
    switched(
        "both_numbers",
        "You hand back an array: np.polyfit gives two numbers.",
        _ONE,
        fit="both numbers",
        end="as it comes",
    ),
    switched("both_numbers_turned", "You hand back height and slope of the line.", _ONE, fit="both numbers, turned"),
    switched(
        "parabola",
        "You fit a parabola and take its first number.",
        "How many bends has a straight line?",
        fit="parabola",
    ),
    switched(
        "correlation",
        "Your result is the correlation.",
        "What is the correlation of points on any line?",
        fit="correlation",
    ),
    switched(
        "squared_correlation",
        "Your result says how good the fit is, not how steep.",
        "What is the correlation of points on any line?",
        fit="squared correlation",
    ),
    switched(
        "covariance", "Your result is the covariance.", "By what is the covariance still divided?", fit="covariance"
    ),
    switched(
        "covariance_by_n",
        "Your result is the covariance, divided by n.",
        "By what is it still divided?",
        fit="covariance by n",
    ),
    switched(
        "products_summed",
        "You add up products of the deviations, and divide by nothing.",
        "What becomes of your result when every point is counted twice?",
        fit="products summed",
    ),
    switched(
        "two_kinds_of_n",
        "Covariance and variance are divided by different numbers, n - 1 and n.",
        "What do np.cov and np.var divide by, if nobody says?",
        fit="two kinds of n",
    ),
    switched(
        "two_kinds_of_n_turned",
        "Covariance and variance are divided by different numbers, n and n - 1.",
        "What does torch's var divide by, if nobody says?",
        fit="two kinds of n, turned",
    ),
    switched(
        "spread_of_both",
        "You divide the spread of the costs by that of the sizes: noise makes your line steeper.",
        "What is your slope for costs that only wobble?",
        fit="spread of both",
    ),
    switched(
        "not_centred", "You take the mean off below the line of the fraction and not above.", _FREE, fit="not centred"
    ),
    switched(
        "sizes_not_centred", "You take the mean off the costs and not off the sizes.", _FREE, fit="sizes not centred"
    ),
    switched("rounded", "You round the exponent to a whole number.", "What is 1.6 then?", end="rounded"),
    switched("whole", "You cut the exponent to a whole number.", "What is 1.9 then?", end="whole"),
    switched("two_digits", "You round the exponent to two digits.", "Who asked for that?", end="two digits"),
    switched("three_digits", "You round the exponent to three digits.", "Who asked for rounding?", end="three digits"),
    switched("one_digit", "You round the exponent to one digit.", "What is 1.97 then?", end="one digit"),
    switched("without_sign", "Your exponent has lost its sign.", "What is it for costs that fall?", end="without sign"),
    switched("minus", "Your exponent has the wrong sign.", "Do larger sizes cost more?", end="minus"),
    switched("risen", "You raise e to the exponent.", _LINE, end="risen"),
    switched("two_to_it", "You hand back how much doubling costs, 2 to the exponent.", _ONE, end="two to it"),
    switched("ten_to_it", "You raise 10 to the exponent.", _LINE, end="ten to it"),
    switched("log_of_it", "You take the logarithm of the slope.", _LINE, end="log of it"),
    switched("turned_over", "You hand back 1 divided by the exponent.", _LINE, end="turned over"),
    switched("predictions", "You hand back the heights of the line.", _ONE, end="predictions"),
    switched("error", "You hand back how far the points are from the line.", _ONE, end="error"),
]

_LET_GO = "Once a block is in the sums, which of its scores is needed again?"
_OLD = "The maximum rises by 2. By which factor is everything too large that was added before?"
_HOW_HIGH = "What is exp(1000), and from which score is exp 0?"
_SUM = "Two blocks have sums 1 and 99. How much should each of them count?"
_WIDTH = "By what does a head divide its scores?"
_END = "S is 7 and block is 3: which keys are in which block?"
_WHO = "Which axis of the scores gets longer when the text that is looked at gets longer?"

_BLOCK_MISTAKES = [
    switched(
        "whole_matrix",
        "All values are right, but you make all T × S scores at once: the blocks save nothing.",
        "Which line makes a tensor with a row for each query and a column for each key?",
        hold="everything",
    ),
    answered(
        "one_call",
        "You hand everything to torch's attention in one call: its kernel has blocks of its own and never sees yours.",
        "What is your function's block used for?",
        _one_call,
    ),
    answered(
        "all_kept",
        "You keep the scores of every block until the last one is there: in the end all T × S are held.",
        _LET_GO,
        _all_kept,
    ),
    answered(
        "queries_cut",
        "You cut the queries, and each piece looks at all keys: a step holds block × S scores.",
        _WHO,
        _queries_cut,
    ),
    answered(
        "that_many_blocks",
        "You make block blocks: the longer the text, the larger each of them.",
        "Is block the size of a block, or how many there are?",
        _that_many_blocks,
    ),
    answered(
        "logarithms_stacked",
        "You keep one number for each query and block until the end: that grows with T × S, too.",
        "Can two blocks be made one before the third is looked at?",
        _stacked_logs,
    ),
    answered(
        "blends_stacked",
        "You keep one blend for each query and block until the end: that grows with T × S, too.",
        "Can two blocks be made one before the third is looked at?",
        _stacked_outs,
    ),
    answered(
        "products_kept",
        "You make every product of a query's numbers with a key's before you sum: T × block × d_k numbers.",
        "Which operation sums products without keeping them?",
        _products_kept,
    ),
    switched("unscaled", "The scores are not divided by √d_k.", _WIDTH, scale="none"),
    switched("scaled_by_width", "The scores are divided by d_k itself.", _WIDTH, scale="width"),
    switched("scaled_by_fourth_root", "The scores are divided by the fourth root of d_k.", _WIDTH, scale="fourth root"),
    switched(
        "scaled_by_value_width",
        "The scores are divided by the root of the width of the values.",
        _WIDTH,
        scale="width of the values",
    ),
    switched("scaled_by_rows", "The scores are divided by the root of the number of queries.", _WIDTH, scale="rows"),
    switched("scaled_by_keys", "The scores are divided by the root of the number of keys.", _WIDTH, scale="keys"),
    switched("scaled_by_block", "The scores are divided by the root of block.", _WIDTH, scale="block"),
    switched("scale_multiplied", "The scores are multiplied with √d_k.", _WIDTH, scale="multiplied"),
    switched(
        "nothing_rescaled",
        "The maximum rises from block to block, and what was added before stays as it was.",
        _OLD,
        sum_rescaled="never",
        blend_rescaled="never",
    ),
    switched(
        "sum_not_rescaled",
        "When the maximum rises the blend is rescaled and the sum is not.",
        _OLD,
        sum_rescaled="never",
    ),
    switched(
        "blend_not_rescaled",
        "When the maximum rises the sum is rescaled and the blend is not.",
        _OLD,
        blend_rescaled="never",
    ),
    switched(
        "maximum_of_the_block",
        "The maximum of the last block takes the place of the one so far: it can fall, and exp overflows.",
        "Which of the two, the maximum so far or the block's, is the new one?",
        highest="of the block",
    ),
    answered(
        "each_block_its_own_maximum",
        "Every block takes off its own maximum, and the sums are added as if it were the same.",
        _OLD,
        partial(_blocks_template, highest="of the block", sum_rescaled="never", blend_rescaled="never"),
    ),
    switched(
        "rescaled_upside_down",
        "Sum and blend grow when the maximum rises: the factor is upside down.",
        _OLD,
        sum_rescaled="upside down",
        blend_rescaled="upside down",
    ),
    switched(
        "rescaled_by_the_difference",
        "Sum and blend are multiplied with the difference of the maxima, without exp.",
        _OLD,
        sum_rescaled="the difference",
        blend_rescaled="the difference",
    ),
    switched(
        "rescaled_by_the_ratio",
        "Sum and blend are multiplied with the ratio of the maxima.",
        _OLD,
        sum_rescaled="the ratio",
        blend_rescaled="the ratio",
    ),
    switched(
        "rescaled_by_the_new_maximum",
        "Sum and blend are rescaled by the whole new maximum, not by what it has risen.",
        _OLD,
        sum_rescaled="the new one",
        blend_rescaled="the new one",
    ),
    switched(
        "rescaled_in_base_2",
        "Sum and blend are rescaled with powers of 2, the scores with powers of e.",
        _OLD,
        sum_rescaled="base 2",
        blend_rescaled="base 2",
    ),
    switched(
        "infinity_at_the_start",
        "Everything becomes NaN in the first block: infinity meets infinity, or 0 is multiplied with it.",
        "What are your maximum and your factor before and after the first block?",
        lowered="too late",
    ),
    switched(
        "no_maximum",
        "You take exp of the scores as they are: scores near 1000 give infinity.",
        _HOW_HIGH,
        highest="none",
    ),
    switched(
        "maximum_from_0",
        "Your maximum begins too high, at 0 perhaps: where all scores are far below, exp gives 0 for all of them.",
        "Which maximum have no scores at all?",
        start=0.0,
    ),
    switched(
        "one_maximum_for_all",
        "All queries share one maximum: a query whose scores are far below gets 0 for all of them.",
        _HOW_HIGH,
        highest="one for all",
    ),
    switched("least_taken_off", "You take off the least score, not the largest.", _HOW_HIGH, highest="least"),
    switched(
        "maximum_of_the_first",
        "You take off the maximum of the first block throughout: a later block may be far above it.",
        _HOW_HIGH,
        highest="of the first",
    ),
    switched(
        "largest_size_taken_off",
        "You take off the largest size: where a score is far below zero, exp gives 0 for all.",
        _HOW_HIGH,
        highest="sizes",
    ),
    answered(
        "averaged",
        "Every block has a softmax of its own, and you take the mean of the results.",
        _SUM,
        _averaged,
    ),
    answered(
        "averaged_by_size",
        "Every block has a softmax of its own, and counts as much as it has keys.",
        _SUM,
        _averaged_by_size,
    ),
    answered("added_up", "Every block has a softmax of its own, and you add up the results.", _SUM, _added_up),
    switched(
        "weighed_by_the_maximum",
        "Every block is normalised, and blocks are weighed by their maxima: their sums are lost.",
        _SUM,
        end="each normalised",
    ),
    switched(
        "divided_on_the_way",
        "You divide the blend by the sum after each block, and go on with what is divided.",
        "When is the sum complete?",
        end="divided on the way",
    ),
    switched(
        "not_divided", "The blend is never divided by the sum.", "What do your weights sum to?", end="not divided"
    ),
    switched(
        "divided_by_blocks",
        "The blend is divided by the number of blocks.",
        "What do your weights sum to?",
        end="divided by blocks",
    ),
    switched(
        "divided_by_keys",
        "The blend is divided by the number of keys.",
        "What do your weights sum to?",
        end="divided by keys",
    ),
    switched("mean_for_the_sum", "You take the mean of a block's weights, not their sum.", _SUM, mine="mean"),
    switched(
        "sum_over_all_queries",
        "Your sum runs over the weights of all queries together.",
        "What do the weights of one query sum to?",
        mine="all queries",
    ),
    switched(
        "largest_for_the_sum",
        "You add up the largest weight of each block, not their sums.",
        _SUM,
        mine="largest",
    ),
    switched(
        "factor_on_the_new_block",
        "Your factor meets the block that has come, not what was there before.",
        _OLD,
        sum_rescaled="never",
        blend_rescaled="never",
        late=True,
    ),
    answered(
        "logarithms_as_weights",
        "Blocks are weighed by the logarithms of their sums, not by the sums.",
        _SUM,
        _logarithms_as_weights,
    ),
    switched(
        "eps_in_the_sum", "1e-6 is added to the sum.", "Can the sum be 0 when the maximum is taken off?", end="eps"
    ),
    switched(
        "tiny_eps_in_the_sum",
        "1e-8 is added to the sum.",
        "Can the sum be 0 when the maximum is taken off?",
        end="tiny eps",
    ),
    switched(
        "blocks_overwritten",
        "Each block overwrites what was there: only the last one counts.",
        "What has to happen to sum and blend when a block comes?",
        added="neither",
    ),
    switched(
        "sum_overwritten",
        "Each block overwrites the sum; the blend is added up.",
        "What has to happen to sum and blend when a block comes?",
        added="blend",
    ),
    switched(
        "blend_overwritten",
        "Each block overwrites the blend; the sum is added up.",
        "What has to happen to sum and blend when a block comes?",
        added="sum",
    ),
    answered(
        "last_block_dropped_from_zero",
        "A last block that is not full is left out; with a block larger than the text nothing is left, 0 / 0.",
        _END,
        _no_blocks_at_all,
    ),
    switched("last_block_dropped", "A last block that is not full is left out.", _END, cut="whole ones only"),
    switched(
        "last_block_too_far_back",
        "The last block is moved back until it is full: some keys are counted twice.",
        _END,
        cut="last one too far back",
    ),
    switched("blocks_overlap", "Your blocks overlap by one key, which is counted twice.", _END, cut="overlapping"),
    switched("keys_left_out", "Your blocks end one key early.", _END, cut="gaps"),
    switched("first_block_left_out", "Your first block is left out.", _END, cut="without the first"),
    switched("first_block_only", "Only the first block is looked at.", _END, cut="the first only"),
    switched(
        "last_block_only",
        "Only the last block counts: what came before is lost, or multiplied with 0.",
        _END,
        cut="the last only",
    ),
    switched(
        "steps_of_one", "Your blocks begin at every key: most keys are counted several times.", _END, cut="one key on"
    ),
    switched(
        "as_many_as_queries",
        "You go through as many keys as there are queries.",
        "How long is k, and how long is q?",
        cut="as many as queries",
    ),
    switched(
        "numbered_not_moved",
        "Block number i begins at key i.",
        "At which key does block number 2 begin when block is 3?",
        cut="numbered, not moved",
    ),
    answered("padded_with_zeros", "The rows of zeros that fill the last block get weights, too.", _END, _padded),
    answered("block_must_divide", "A block that does not divide S is refused.", _END, _must_divide),
    answered("reshaped", "A reshape into blocks wants block to divide S.", _END, _reshaped),
    switched(
        "values_not_cut",
        "The keys move on from block to block, the values do not.",
        "Which values belong to a block of keys?",
        values="the first",
    ),
    switched(
        "last_values", "Each block hands out the last values.", "Which values belong to a block?", values="the last"
    ),
    switched(
        "causal_by_habit",
        "You hide what lies ahead; here every query looks at every key.",
        "Does the exercise speak of a mask?",
        ahead="hidden",
    ),
    answered(
        "each_block_its_own_keys",
        "A block of queries meets its own block of keys and no other.",
        "Which keys does the first query look at?",
        _each_block_sees_its_own,
    ),
    answered("stuck_together", "The results of the blocks stand one below the other.", _SUM, _stuck_together),
    answered("side_by_side", "The results of the blocks stand side by side.", _SUM, _side_by_side),
    answered(
        "over_the_queries",
        "Your softmax runs over the queries.",
        "Which weights have to sum to 1?",
        _softmax_over_queries,
    ),
    switched(
        "three_results", "You hand back sum and maximum, too.", "What does the first line ask for?", end="all parts"
    ),
    answered(
        "stored_in_float32",
        "Your result lies in a float32 tensor, which torch makes if nobody says otherwise.",
        "Which dtype has q, and which has what you fill?",
        lambda q, k, v, block: _blocks_template(q, k, v, block).float(),
    ),
    answered(
        "single_precision", "You compute in float32 whatever you are given.", "Which dtype has q?", _single_precision
    ),
]


# --- the exercises ---------------------------------------------------------------------------------------------------


def _counted_from_a_table(T: int, causal: bool) -> Any:
    import torch

    table = torch.ones(T, T, dtype=torch.int64)
    return (table.tril() if causal else table).sum()


def _two_loops(T: int, causal: bool) -> int:
    return sum(1 for t in range(T) for s in range(T) if s <= t or not causal)


_COMPARISONS = Exercise(
    name="comparisons",
    chapter="10",
    summary="How many times a word looks at a word.",
    returns="int",
    reference=_comparisons,
    cases=_comparison_cases,
    mistakes=_COMPARISON_MISTAKES,
    accepted={
        "a formula": lambda T, causal: T * (T + 1) // 2 if causal else T * T,
        "a table counted": _counted_from_a_table,
        "two loops": _two_loops,
        "the binomial": lambda T, causal: math.comb(T + 1, 2) if causal else T**2,
        "cut by int": lambda T, causal: int((T * T + T) / 2) if causal else T * T,
    },
    hints=(
        "How many words does the first word look at with a mask, how many the second, how many the last?",
        "For one word both numbers are 1: a word looks at itself. For three they are 6 and 9.",
        "Look at two places: whether the diagonal is in, and which division gives a whole number.",
    ),
    framework="torch",
)


def _counted_by_torch(T: int, d: int, n_heads: int) -> int:
    """Shapes without numbers in them, and torch's own counter."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    q = torch.empty(n_heads, T, d // n_heads, device="meta")
    with FlopCounterMode(display=False) as counter:
        (q @ q.mT).softmax(-1) @ q
    return counter.get_total_flops()


_FLOPS = Exercise(
    name="attention_flops",
    chapter="10",
    summary="Operations of the scores and the blend of all heads.",
    returns="int",
    reference=_attention_flops,
    cases=_flops_cases,
    template=_operations_template,
    mistakes=paired(_FLOPS_MISTAKES, _operations_template, LIKELY_IN_PAIRS),
    accepted={
        "a formula": lambda T, d, n_heads: 4 * T**2 * d,
        "head by head": lambda T, d, n_heads: sum(2 * 2 * T * T * (d // n_heads) for _ in range(n_heads)),
        "counted by torch": _counted_by_torch,
        "int at the end": lambda T, d, n_heads: int(n_heads * 4 * T * T * (d / n_heads)),
    },
    hints=(
        "One head has width d / n_heads. How many products are summed for one score, and how many for one number of "
        "its blend?",
        "Double T, and the number is four times as large; double d, and it is twice as large; n_heads changes nothing.",
        "Look at three places: both products, the 2 for a multiply-add, and what is left of n_heads in the end.",
    ),
    framework="torch",
)


def _of_a_tensor(B: int, H: int, T: int, bytes_per_number: int) -> int:
    import torch

    dtype = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.float64}[bytes_per_number]
    return torch.empty(B, H, T, T, dtype=dtype, device="meta").nbytes


_BYTES = Exercise(
    name="score_matrix_bytes",
    chapter="10",
    summary="Bytes of the scores of all heads and texts.",
    returns="int",
    reference=_score_matrix_bytes,
    cases=_bytes_cases,
    template=_bytes_template,
    mistakes=paired(_BYTES_MISTAKES, _bytes_template, LIKELY_IN_PAIRS),
    accepted={
        "math.prod": lambda B, H, T, bytes_per_number: math.prod((B, H, T, T, bytes_per_number)),
        "an empty tensor asked": _of_a_tensor,
        "a power": lambda B, H, T, bytes_per_number: bytes_per_number * T**2 * H * B,
    },
    hints=(
        "Which shape has the tensor of scores of a batch with several heads?",
        "Twice the texts, twice the bytes; twice the heads, twice the bytes; twice the words, four times the bytes.",
        "Look at two places: how often T comes in, and whether you end with numbers, bits or bytes.",
    ),
    framework="torch",
)


def _by_torch(sizes: Tensor, costs: Tensor) -> Tensor:
    import torch

    x = torch.stack([sizes.log(), torch.ones_like(sizes)], dim=1)
    return torch.linalg.lstsq(x, costs.log()[:, None]).solution[0, 0]


def _by_formula_in_base_10(sizes: Tensor, costs: Tensor) -> float:
    x, y = sizes.log10(), costs.log10()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


def _by_covariance_in_base_2(sizes: Tensor, costs: Tensor) -> float:
    x, y = np.log2(sizes.numpy().astype(float)), np.log2(costs.numpy().astype(float))
    return float(np.cov(x, y)[0, 1] / np.var(x, ddof=1))


def _by_the_standard_library(sizes: Tensor, costs: Tensor) -> float:
    import statistics

    logs = [[math.log(n) for n in numbers] for numbers in (sizes, costs)]
    return statistics.linear_regression(*logs).slope


def _by_sums(sizes: Tensor, costs: Tensor) -> float:
    x, y = [math.log(n) for n in sizes.tolist()], [math.log(n) for n in costs.tolist()]
    n, products = len(x), sum(a * b for a, b in zip(x, y, strict=True))
    return (n * products - sum(x) * sum(y)) / (n * sum(a * a for a in x) - sum(x) ** 2)


_EXPONENT = Exercise(
    name="growth_exponent",
    chapter="10",
    summary="The slope of the least-squares line through log sizes and log costs.",
    returns="float",
    reference=_growth_exponent,
    cases=_exponent_cases,
    template=_exponent_template,
    mistakes=paired(_EXPONENT_MISTAKES, _exponent_template, LIKELY_IN_PAIRS),
    accepted={
        "torch's lstsq": _by_torch,
        "a formula, base 10": _by_formula_in_base_10,
        "covariance, base 2": _by_covariance_in_base_2,
        "the standard library": _by_the_standard_library,
        "five sums": _by_sums,
        "relative to the first": lambda sizes, costs: float(
            np.polyfit((sizes / sizes[0]).log().numpy(), (costs / costs[0]).log().numpy(), 1)[0]
        ),
    },
    hints=(
        "If costs = c · sizes ** p, what do you see when you draw the logarithms of both?",
        "Another c changes nothing, and neither does another base of the logarithms, as long as it is one for both.",
        "Look at three places: the logarithms of both, which of them is the x of the fit, and which number of the fit "
        "you hand back.",
    ),
    framework="torch",
)


def _log_sum_exp_merged(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    logs, out = torch.tensor(-math.inf, dtype=q.dtype), torch.tensor(0.0, dtype=q.dtype)
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = torch.einsum("td,sd->ts", q, keys) / q.shape[-1] ** 0.5
        mine = scores.logsumexp(-1, keepdim=True)
        share = torch.sigmoid(mine - logs)
        out = out + share * (scores.softmax(-1) @ values - out)
        logs = torch.logaddexp(logs, mine)
    return out


def _queries_cut_too(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    return torch.cat([_blocks_template(some, k, v, block) for some in q.split(block)])


def _row_by_row(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """One query after the other, each in blocks."""
    import torch

    return torch.cat([_blocks_template(row[None], k, v, block) for row in q])


def _first_block_apart(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """No infinity: the first block starts maximum, sum and blend."""
    scores = q @ k[:block].mT * q.shape[-1] ** -0.5
    top = scores.max(-1, keepdim=True).values
    total, blend = (scores - top).exp().sum(-1, keepdim=True), (scores - top).exp() @ v[:block]
    for start in range(block, len(k), block):
        scores = q @ k[start : start + block].mT * q.shape[-1] ** -0.5
        new = scores.max(-1, keepdim=True).values.maximum(top)
        total = total * (top - new).exp() + (scores - new).exp().sum(-1, keepdim=True)
        blend = blend * (top - new).exp() + (scores - new).exp() @ v[start : start + block]
        top = new
    return blend / total


def _two_passes(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The maximum first, in a pass of its own: the scores are made twice and never kept."""
    import torch

    def scored(keys: Tensor) -> Tensor:
        return (q / q.shape[1] ** 0.5) @ keys.T

    top = reduce(torch.maximum, (scored(keys).amax(1) for keys in k.split(block)))
    total, blend = torch.zeros(len(q), dtype=q.dtype), torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        risen = (scored(keys) - top[:, None]).exp()
        total += risen.sum(1)
        blend += risen @ values
    return blend / total[:, None]


def _in_numpy(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    import torch

    a, b, c = q.numpy(), k.numpy(), v.numpy()
    top = np.full((len(a), 1), -np.inf, dtype=a.dtype)
    total, blend = np.zeros_like(top), np.zeros((len(a), c.shape[1]), dtype=a.dtype)
    for start in range(0, len(b), block):
        scores = a @ b[start : start + block].T / np.sqrt(a.shape[1])
        new = np.maximum(top, scores.max(-1, keepdims=True))
        risen, factor = np.exp(scores - new), np.exp(top - new)
        total, blend, top = (
            total * factor + risen.sum(-1, keepdims=True),
            blend * factor + risen @ c[start:][:block],
            new,
        )
    return torch.from_numpy(blend / total)


def _kept_divided(q: Tensor, k: Tensor, v: Tensor, block: int) -> Tensor:
    """The blend is a mean at every moment."""
    import torch

    top, total = torch.full((len(q), 1), -1e30, dtype=q.dtype), torch.zeros(len(q), 1, dtype=q.dtype)
    mean = torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for keys, values in zip(k.split(block), v.split(block), strict=True):
        scores = q @ keys.T / q.shape[1] ** 0.5
        new = top.maximum(scores.amax(-1, keepdim=True))
        risen, before = (scores - new).exp(), total * (top - new).exp()
        total = before + risen.sum(-1, keepdim=True)
        mean, top = (mean * before + risen @ values) / total, new
    return mean


_BLOCKS = Exercise(
    name="blockwise_attention",
    chapter="10",
    summary="Exact attention that holds the scores of one block of keys at a time.",
    returns="(T, d_v)",
    reference=_blockwise_attention,
    cases=_block_cases,
    template=_blocks_template,
    mistakes=paired(_BLOCK_MISTAKES, _blocks_template, LIKELY_IN_PAIRS),
    accepted={
        "merged by log-sum-exp": _log_sum_exp_merged,
        "queries in blocks, too": _queries_cut_too,
        "row by row": _row_by_row,
        "the first block apart": _first_block_apart,
        "two passes": _two_passes,
        "in NumPy": _in_numpy,
        "a mean at every moment": _kept_divided,
    },
    hints=(
        "When the largest score so far rises from 3 to 5, by which factor is everything too large that was added "
        "before?",
        "Make the values a unit matrix: the result is the pattern, and its rows sum to 1, however the keys are cut.",
        "Look at three places: which maximum the new block takes off, what becomes of sum and blend when it has risen, "
        "and the last block.",
    ),
    framework="torch",
)

# --- the questions ---------------------------------------------------------------------------------------------------

_DOUBLED = Question(
    name="10_double",
    chapter="10",
    prompt="A text is twice as long: how many times as many comparisons are there, without a mask?",
    right=4,
    because="Twice as many words look, and each looks at twice as many.",
    wrong={
        2: "Twice as many words look. At how many words does each of them look?",
        3: "Draw the table for 2 words and for 4.",
        8: "There are two axes: the words that look, and the words looked at.",
    },
    otherwise="How many comparisons are there for 2 words, and how many for 4?",
    hints=("The table of comparisons has a row and a column for each word.",),
)

_SHARE = Question(
    name="10_share",
    chapter="10",
    prompt="GPT-2 small with its context full, 1024 words: which part of a layer's arithmetic are scores and blend?",
    right="about a fifth",
    because="18 in 100: the projections and the MLP, which grow with n only, are as wide as 768.",
    choices=("about a fifth", "about half", "about nine tenths"),
    wrong={
        "about half": "A layer multiplies each word with matrices of 768 columns, twelve squares of them. Is that as "
        "little as looking at 1024 words?",
        "about nine tenths": "That is what one hears: attention is what costs. Count what the MLP does with each word.",
    },
    otherwise="How many multiplications does a word cost in the MLP, 768 to 3072 and back?",
    hints=("Per word: 2 · 1024 · 768 multiply-adds of attention, against 12 · 768 · 768 of the rest.",),
)

_LAYER = Question(
    name="10_layer_exponent",
    chapter="10",
    prompt="The cost of a whole layer of GPT-2's shape, fitted from n = 64 to n = 16384: which exponent comes out?",
    right="between 1 and 2",
    because="A straight part and a quadratic one: at every length the exponent is 1 plus the share of attention.",
    choices=("1", "between 1 and 2", "2"),
    wrong={
        "1": "The projections and the MLP have 1. What does attention add, where it is most of the work?",
        "2": "Attention has 2. What is most of the work at n = 64?",
    },
    otherwise="Which part of a layer grows with n, and which with n squared?",
    hints=("The line bends: it starts with one slope and ends with another.",),
)

_AVERAGE = Question(
    name="10_average",
    chapter="10",
    prompt="Cut the keys into two halves, take attention over each, then the mean. When is that attention over all?",
    right="when both halves have the same sum of exp",
    because="The mean gives each half the weight 1/2; its right weight is its part of the sum over all keys.",
    choices=("always", "when both halves have the same length", "when both halves have the same sum of exp"),
    wrong={
        "always": "One half holds the word that is looked for, the other nothing of interest. Should they count alike?",
        "when both halves have the same length": "With equal lengths, one half may still hold all the good matches.",
    },
    otherwise="How much weight do the keys of the first half get together in the softmax over all keys?",
    hints=("In a softmax over all keys, a half gets its sum of exp divided by the sum over both.",),
)

_WORK = Question(
    name="10_work",
    chapter="10",
    prompt="Attention in blocks of 64: what becomes of the operations for scores and blend?",
    right="they stay the same",
    because="Every score is still computed, each once. What changes is how long it is kept.",
    choices=("they grow with n only", "they halve", "they stay the same"),
    wrong={
        "they grow with n only": "The memory does. Which pairs of words are no longer compared?",
        "they halve": "Which half of the pairs would be left out?",
    },
    otherwise="How many pairs of a query and a key are there, and in how many blocks does each pair appear?",
    hints=("Count for n = 4 and blocks of 2: two blocks, with how many scores each?",),
)

_BUG_SAYS = {
    "looks ahead": "There is no mask here: every row may look everywhere.",
    "does not see itself": "Every row gives weight to itself: the diagonal of its pattern is not 0.",
    "mixes batch entries": "There is one text here, and no batch.",
    "scrambles words": "Each row belongs to its word, and each weight to its key.",
    "forgets order": "Attention without positions has none to forget; the right function does not either.",
    "changes its input": "q, k and v are the same before and after.",
    "ignores the query": "Rows of different words differ.",
}

_BUG = Question(
    name="10_bug",
    chapter="10",
    prompt="Which property does blocks_1 break, although the row of bank is right?",
    right="rows do not sum to 1",
    because="When a later block raises the maximum, the sum is made smaller and the blend is not.",
    choices=PROPERTIES,
    wrong=_BUG_SAYS,
    otherwise="Hand a unit matrix to it as values: what comes back, and what should its rows have in common?",
    hints=("In which block does bank find its best match, and in which one left?",),
)

QUESTIONS: tuple[Question, ...] = (_DOUBLED, _SHARE, _LAYER, _AVERAGE, _WORK, _BUG)

EXERCISES: tuple[Exercise, ...] = (_COMPARISONS, _FLOPS, _BYTES, _EXPONENT, _BLOCKS)

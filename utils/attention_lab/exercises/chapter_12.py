"""Chapter 12, your attention in a real model: GPT-2's packed layer, the same with a cache, and a score for induction.

Letters: B texts, T rows that ask, S rows that are asked, d width of a row, H heads, d_h = d/H width of a head.
GPT-2 packs the three views into one matrix (d, 3d), queries first, then keys, then values, and computes x @ W + b
(`Conv1D` of `transformers`). References are torch's own functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Mistake, Question
from attention_lab.exercises.writing import paired, switched

if TYPE_CHECKING:
    from torch import Tensor

# --- the references: torch's own -------------------------------------------------------------------------------------


def _gpt2_attention(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """The function behind `nn.MultiheadAttention`, which packs in the same order: words first, matrices turned."""
    import torch
    from torch.nn import functional as F

    rows = x.transpose(0, 1)
    found, _ = F.multi_head_attention_forward(
        rows,
        rows,
        rows,
        rows.shape[-1],
        n_heads,
        in_proj_weight=c_attn_weight.T,
        in_proj_bias=c_attn_bias,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=c_proj_weight.T,
        out_proj_bias=c_proj_bias,
        need_weights=False,
        attn_mask=torch.ones(len(rows), len(rows), dtype=torch.bool).triu(1),
    )
    return found.transpose(0, 1)


def _gpt2_attention_cached(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    import torch
    from torch.nn import functional as F

    packed = F.linear(x, c_attn_weight.T, c_attn_bias)
    q, k, v = (part.unflatten(-1, (n_heads, -1)).movedim(-2, -3) for part in packed.tensor_split(3, dim=-1))
    k, v = cache.append(k, v)
    look = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    blend = F.scaled_dot_product_attention(q, k, v, attn_mask=look)
    return F.linear(blend.movedim(-3, -2).flatten(-2), c_proj_weight.T, c_proj_bias)


def _induction_score(pattern: Tensor, period: int) -> Tensor:
    second = pattern[..., period:, 1 : pattern.shape[-1] - period + 1]
    return second.diagonal(dim1=-2, dim2=-1).mean(-1)


# --- the layer, with switches ----------------------------------------------------------------------------------------


def _layer(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any = None,
    packing: str = "right",
    in_bias: str = "right",
    cut: str = "right",
    keep: str = "right",
    scale: str = "right",
    mask: str = "right",
    axis: int = -1,
    join: str = "right",
    out: str = "right",
    out_bias: str = "right",
    heads: str = "given",
) -> Any:
    H = 1 if heads == "one" else n_heads
    packed = x @ c_attn_weight + IN_BIASES[in_bias](c_attn_bias)
    q, k, v = (CUTS[cut](part, H) for part in PACKINGS[packing](packed, H))
    if cache is not None:
        k, v = KEEPS[keep](cache, k, v)
    pattern = MASKS[mask](q @ k.mT / SCALES[scale](x, q, k), axis)
    merged = JOINS[join](pattern @ v)
    if out_bias == "before":
        merged = merged + c_proj_bias
    blend = OUTS[out](merged, c_proj_weight, x)
    return blend + c_proj_bias if out_bias == "right" else blend


def _ordered(*order: int) -> Callable[[Tensor, int], tuple[Tensor, Tensor, Tensor]]:
    """Queries, keys and values from these thirds of the packed columns."""

    def cut(packed: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        thirds = packed.chunk(3, dim=-1)
        return thirds[order[0]], thirds[order[1]], thirds[order[2]]

    return cut


def _head_by_head(packed: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Each head's own queries, keys and values side by side, then the next head's."""
    return tuple(part.flatten(-2) for part in packed.unflatten(-1, (heads, 3, -1)).unbind(-2))


def _every_third(packed: Tensor, heads: int) -> tuple[Tensor, ...]:
    return tuple(packed[..., i::3] for i in range(3))


#: How the packed columns are taken apart.
PACKINGS: dict[str, Callable[[Tensor, int], tuple[Tensor, ...]]] = {
    "right": _ordered(0, 1, 2),
    "k q v": _ordered(1, 0, 2),
    "q v k": _ordered(0, 2, 1),
    "v k q": _ordered(2, 1, 0),
    "k v q": _ordered(2, 0, 1),
    "v q k": _ordered(1, 2, 0),
    "keys as values": _ordered(0, 1, 1),
    "queries as keys": _ordered(0, 0, 2),
    "keys as queries": _ordered(1, 1, 2),
    "head by head": _head_by_head,
    "every third": _every_third,
    "texts": lambda packed, heads: packed.chunk(3),
    "words": lambda packed, heads: packed.chunk(3, dim=1),
}

#: What is added after the first matrix.
IN_BIASES: dict[str, Callable[[Tensor], Any]] = {
    "right": lambda b: b,
    "forgotten": lambda b: 0.0,
    "twice": lambda b: 2 * b,
    "subtracted": lambda b: -b,
    "mean": lambda b: b.mean(),
    "queries": lambda b: b * (_places(len(b)) < len(b) // 3),
}


def _split(x: Tensor, H: int) -> Tensor:
    return x.reshape(*x.shape[:-1], H, -1).transpose(-2, -3)


#: How columns become heads: (B, T, d) → (B, H, T, d_h).
CUTS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "right": _split,
    "reshaped": lambda x, H: x.reshape(x.shape[0], H, x.shape[1], -1),
    "in turns": lambda x, H: x.unflatten(-1, (-1, H)).movedim(-1, 1),
    "sizes exchanged": lambda x, H: x.unflatten(-1, (-1, H)).transpose(1, 2),
    "batch mixed": lambda x, H: x.reshape(H, x.shape[0], x.shape[1], -1).transpose(0, 1),
}

#: What scores are divided by.
SCALES: dict[str, Callable[[Tensor, Tensor, Tensor], float]] = {
    "right": lambda x, q, k: q.shape[-1] ** 0.5,
    "nothing": lambda x, q, k: 1.0,
    "d": lambda x, q, k: x.shape[-1] ** 0.5,
    "3 d": lambda x, q, k: (3 * x.shape[-1]) ** 0.5,
    "d_h": lambda x, q, k: float(q.shape[-1]),
    "heads": lambda x, q, k: q.shape[1] ** 0.5,
    "words": lambda x, q, k: k.shape[-2] ** 0.5,
    "inverse": lambda x, q, k: q.shape[-1] ** -0.5,
}


def _look(scores: Tensor, diagonal: int = 0) -> Tensor:
    """True up to the row itself, the last rows being those that ask."""
    import torch

    T, S = scores.shape[-2:]
    return torch.ones(T, S, dtype=torch.bool).tril(S - T + diagonal)


def _filled(scores: Tensor, axis: int, diagonal: int = 0) -> Tensor:
    return scores.masked_fill(~_look(scores, diagonal), float("-inf")).softmax(axis)


def _aligned_up_left(scores: Tensor, axis: int) -> Tensor:
    """As the causal flag of torch's function does it: new row 0 sees key 0 only."""
    import torch

    look = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~look, float("-inf")).softmax(axis)


def _aligned_up_left_for_several(scores: Tensor, axis: int) -> Tensor:
    return _aligned_up_left(scores, axis) if scores.shape[-2] > 1 else scores.softmax(axis)


def _first_call_only(scores: Tensor, axis: int) -> Tensor:
    return _filled(scores, axis) if scores.shape[-1] == scores.shape[-2] else scores.softmax(axis)


def _square(scores: Tensor, axis: int) -> Tensor:
    """A mask (T, T), which fits while nothing is in the cache, and where T is 1."""
    import torch

    T = scores.shape[-2]
    return scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf")).softmax(axis)


#: Scores to pattern.
MASKS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "right": _filled,
    "none": lambda scores, axis: scores.softmax(axis),
    "after": lambda scores, axis: scores.softmax(axis) * _look(scores),
    "zeros": lambda scores, axis: (scores * _look(scores)).softmax(axis),
    "one ahead": lambda scores, axis: _filled(scores, axis, 1),
    "own hidden": lambda scores, axis: _filled(scores, axis, -1),
    "no softmax": lambda scores, axis: scores * _look(scores),
    "ahead": lambda scores, axis: scores.masked_fill(_look(scores, -1), float("-inf")).softmax(axis),
    "up left": _aligned_up_left,
    "up left for several": _aligned_up_left_for_several,
    "first call only": _first_call_only,
    "square": _square,
}


def _kept_twice(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    cache.append(k, v)
    return cache.append(k, v)


def _two_calls(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    keys = cache.append(k, v)[0]
    return keys, cache.append(k, v)[1]


def _handed_on(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """All keys and values go to `cached_attention`, which appends what it gets."""
    return cache.append(*cache.append(k, v))


def _not_read(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    cache.append(k, v)
    return k, v


def _keys_only(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """All keys, and the values of the new rows behind zeros."""
    keys, values = cache.append(k, v)
    return keys, values.clone().index_fill_(-2, _places(values.shape[-2] - v.shape[-2]), 0.0)


def _places(count: int) -> Tensor:
    import torch

    return torch.arange(count)


def _without_the_new(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """What was there before, unless nothing was."""
    keys, values = cache.append(k, v)
    old = keys.shape[-2] - k.shape[-2]
    return (keys[..., :old, :], values[..., :old, :]) if old else (keys, values)


def _new_first(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    keys, values = cache.append(k, v)
    return keys.roll(k.shape[-2], -2), values.roll(v.shape[-2], -2)


def _scaled_in_place(cache: Any, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """What append gives back may be the cache's own memory."""
    keys, values = cache.append(k, v)
    keys /= keys.shape[-1] ** 0.5
    return keys, values


#: What becomes of new keys and values.
KEEPS: dict[str, Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "right": lambda cache, k, v: cache.append(k, v),
    "not at all": lambda cache, k, v: (k, v),
    "not read": _not_read,
    "twice": _kept_twice,
    "two calls": _two_calls,
    "handed on": _handed_on,
    "scaled in place": _scaled_in_place,
    "keys only": _keys_only,
    "without the new": _without_the_new,
    "new first": _new_first,
}

#: How heads become columns: (B, H, T, d_h) → (B, T, d).
JOINS: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda z: z.transpose(1, 2).flatten(2),
    "reshaped": lambda z: z.reshape(z.shape[0], z.shape[2], -1),
    "in turns": lambda z: z.permute(0, 2, 3, 1).flatten(2),
    "viewed": lambda z: z.transpose(1, 2).view(z.shape[0], z.shape[2], -1),
    "summed": lambda z: z.sum(1).repeat(1, 1, z.shape[1]),
}

#: Merged heads through the last matrix.
OUTS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "right": lambda z, W, x: z @ W,
    "forgotten": lambda z, W, x: z,
    "turned": lambda z, W, x: z @ W.T,
    "added": lambda z, W, x: x + z @ W,
}


def _plain_template(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    **switches: Any,
) -> Any:
    return _layer(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads, None, **switches)


def _cached_template(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
    **switches: Any,
) -> Any:
    return _layer(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads, cache, **switches)


# --- mistakes that no switch makes -----------------------------------------------------------------------------------


def _as_linear(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """The weights as nn.Linear has them: their shapes do not fit."""
    from torch.nn import functional as F

    packed = F.linear(x, c_attn_weight, c_attn_bias)
    return _gpt2_attention(packed, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)


def _rows_in_three(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """The first axis of the matrix cut in three, not its columns: a refusal by torch."""
    d = x.shape[-1]
    W_q = c_attn_weight[:d]
    W_k = c_attn_weight[d : 2 * d]
    q = x @ W_q
    k = x @ W_k
    return q @ k.mT


def _pieces_of_three(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    q, k, v = (x @ c_attn_weight + c_attn_bias).split(3, dim=-1)
    return q + k + v


def _reshaped_to_three(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """The matrix (d, 3d) reshaped to (3, d, d): each part holds pieces of all three."""
    import torch

    d = x.shape[-1]
    whole = torch.cat(list(c_attn_weight.reshape(3, d, d)), dim=-1)
    return _gpt2_attention(x, whole, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)


def _over_the_batch(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    turned = x.transpose(0, 1)
    found = _gpt2_attention(turned, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)
    return found.transpose(0, 1)


def _as_the_module(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Any:
    found = _gpt2_attention(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)
    return found, None


def _normed_again(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    from torch.nn import functional as F

    rows = F.layer_norm(x, x.shape[-1:])
    return _gpt2_attention(rows, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads)


def _last_row_only(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    """Written for one new row: the others never reach the cache."""
    last = x[:, -1:]
    found = _gpt2_attention_cached(last, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads, cache)
    return found.expand_as(x)


def _last_row_back(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    found = _gpt2_attention_cached(x, c_attn_weight, c_attn_bias, c_proj_weight, c_proj_bias, n_heads, cache)
    return found[:, -1:]


def _kept_before_the_split(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Any:
    """Whole rows (B, t, d) are handed to the cache."""
    _, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
    return cache.append(k, v)


def _kept_before_the_transpose(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Any:
    """(B, t, H, d_h) is handed to the cache."""
    _, k, v = (x @ c_attn_weight + c_attn_bias).chunk(3, dim=-1)
    return cache.append(*(part.unflatten(-1, (n_heads, -1)) for part in (k, v)))


# --- the induction score, with switches ------------------------------------------------------------------------------


def _score_template(
    pattern: Tensor, period: int, back: str = "right", first: str = "right", take: str = "right"
) -> Any:
    import torch

    T = pattern.shape[-1]
    distance = BACKS[back](period)
    rows = torch.arange(max(FIRSTS[first](period), distance), T)
    rows = rows[rows - distance < T]
    return TAKES[take](pattern[..., rows, rows - distance], pattern, period)


#: How far back the word stands whose weight counts.
BACKS: dict[str, Callable[[int], int]] = {
    "right": lambda period: period - 1,
    "same word": lambda period: period,
    "word before": lambda period: period + 1,
    "two after": lambda period: period - 2,
    "two rounds": lambda period: 2 * period - 1,
}

#: The first row that counts.
FIRSTS: dict[str, Callable[[int], int]] = {
    "right": lambda period: period,
    "one early": lambda period: period - 1,
    "one late": lambda period: period + 1,
    "second round's second": lambda period: 2 * period,
}

#: One number from the weights of the rows.
TAKES: dict[str, Callable[[Tensor, Tensor, int], Any]] = {
    "right": lambda found, pattern, period: found.mean(-1),
    "sum": lambda found, pattern, period: found.sum(-1),
    "by T": lambda found, pattern, period: found.sum(-1) / pattern.shape[-1],
    "by period": lambda found, pattern, period: found.sum(-1) / period,
    "one too many": lambda found, pattern, period: found.sum(-1) / (found.shape[-1] + 1),
    "one too few": lambda found, pattern, period: found.sum(-1) / (found.shape[-1] - 1),
    "without the last": lambda found, pattern, period: found[..., :-1].mean(-1),
    "everything": lambda found, pattern, period: found.mean(),
    "none": lambda found, pattern, period: found,
    "heads averaged": lambda found, pattern, period: found.mean(0),
    "axis kept": lambda found, pattern, period: found.mean(-1, keepdim=True),
    "largest": lambda found, pattern, period: found.amax(-1),
    "smallest": lambda found, pattern, period: found.amin(-1),
    "middle": lambda found, pattern, period: found.median(-1).values,
    "last": lambda found, pattern, period: found[..., -1],
    "first": lambda found, pattern, period: found[..., 0],
    "first period": lambda found, pattern, period: found[..., :period].mean(-1),
    "share of the row's best": lambda found, pattern, period: (
        found / pattern[..., pattern.shape[-1] - found.shape[-1] :, :].amax(-1)
    ).mean(-1),
}


def _wraps_round(pattern: Tensor, period: int) -> Tensor:
    """Every row t against column t - period + 1, negative ones counted from the end."""
    import torch

    rows = torch.arange(pattern.shape[-1])
    return pattern[..., rows, rows - period + 1].mean(-1)


def _turned(pattern: Tensor, period: int) -> Tensor:
    return _induction_score(pattern.mT, period)


def _own_weight(pattern: Tensor, period: int) -> Tensor:
    return pattern.diagonal(dim1=-2, dim2=-1).mean(-1)


def _previous_word(pattern: Tensor, period: int) -> Tensor:
    return pattern.diagonal(-1, dim1=-2, dim2=-1).mean(-1)


def _diagonal_above(pattern: Tensor, period: int) -> Tensor:
    return pattern.diagonal(period - 1, dim1=-2, dim2=-1).mean(-1)


def _largest_of_each_row(pattern: Tensor, period: int) -> Tensor:
    return pattern[..., period:, :].amax(-1).mean(-1)


def _whole_block(pattern: Tensor, period: int) -> Tensor:
    return pattern[..., period:, 1 : pattern.shape[-1] - period + 1].mean((-2, -1))


def _first_round(pattern: Tensor, period: int) -> Tensor:
    """All weight on the first round, whatever the word."""
    return pattern[..., period:, :period].sum(-1).mean(-1)


def _most_looked_at(pattern: Tensor, period: int) -> Tensor:
    import torch

    rows = torch.arange(period, pattern.shape[-1])
    return (pattern[..., period:, :].argmax(-1) == rows - period + 1).to(pattern.dtype).mean(-1)


def _first_axes(pattern: Tensor, period: int) -> Tensor:
    """`diagonal` without axes takes the first two."""
    return pattern.diagonal(1 - period)[..., 1:].mean(-1)


def _all_rounds(pattern: Tensor, period: int) -> Tensor:
    """The weight on the word after every earlier time, added up."""
    import torch

    T = pattern.shape[-1]
    total = [pattern[..., t, range(t % period + 1, t - period + 2, period)].sum(-1) for t in range(period, T)]
    return torch.stack(total, -1).mean(-1)


def _loop_stops_early(pattern: Tensor, period: int) -> Tensor:
    T = pattern.shape[-1]
    total: Any = sum(pattern[..., t, t - period + 1] for t in range(period, T - 1))
    return total / (T - period - 1)


def _loop_starts_early(pattern: Tensor, period: int) -> Tensor:
    """One row too many is added up, and not counted."""
    T = pattern.shape[-1]
    total: Any = sum(pattern[..., t, t - period + 1] for t in range(period - 1, T))
    return total / (T - period)


def _row_before_wrapped(pattern: Tensor, period: int) -> Tensor:
    """The row before the last time, which for row `period` is the last one of all."""
    T = pattern.shape[-1]
    total: Any = sum(pattern[..., t, t - period - 1] for t in range(period, T))
    return total / (T - period)


def _every_time_round(pattern: Tensor, period: int) -> Tensor:
    """As `_all_rounds`, with a mask, in which a row that stands on its own column counts."""
    import torch

    T = pattern.shape[-1]
    t, s = torch.meshgrid(torch.arange(T), torch.arange(T), indexing="ij")
    wanted = ((t - s) % period == period - 1) & (t >= period) & (s <= t)
    return (pattern * wanted).sum((-2, -1)) / (T - period)


def _wrong_row(pattern: Tensor, period: int) -> Tensor:
    """Column t - period + 1 of row t - 1: the row is shifted, not the column."""
    import torch

    rows = torch.arange(period, pattern.shape[-1])
    return pattern[..., rows - 1, rows - period + 1].mean(-1)


# --- the cases -------------------------------------------------------------------------------------------------------


def _draw(rng: np.random.Generator, batch: int, rows: int, width: int) -> tuple[np.ndarray, ...]:
    """Rows and weights of one layer; nothing is zero, so that a bias left out is seen."""
    return (
        rng.standard_normal((batch, rows, width)),
        1.3 * rng.standard_normal((width, 3 * width)) / width**0.5,
        0.8 * rng.standard_normal(3 * width),
        rng.standard_normal((width, width)) / width**0.5,
        0.8 * rng.standard_normal(width),
    )


def _tenths(arrays: Iterable[np.ndarray]) -> tuple[np.ndarray, ...]:
    return tuple(np.round(a, 1) for a in arrays)


def _plain_cases(rng: np.random.Generator) -> list[Case]:
    return [
        Case((*_tenths(_draw(rng, 1, 3, 2)), 2), "two columns, two heads"),
        Case((*_draw(rng, 2, 5, 12), 3)),
        Case((*_draw(rng, 3, 4, 10), 5)),
        Case((*_draw(rng, 2, 3, 7), 1), "one head"),
    ]


#: Rows of each call, one after another, with one cache; 0 empties it.
SCHEDULES: tuple[tuple[int, ...], ...] = ((1, 1, 1), (2, 2, 1), (5,), (2, 0, 3))


def _cached_cases(rng: np.random.Generator) -> list[Case]:
    def case(schedule: tuple[int, ...], arrays: tuple[np.ndarray, ...], heads: int) -> Case:
        calls = " + ".join(str(count) for count in schedule if count)
        note = f"one cache, rows in calls of {calls}"
        if 0 in schedule:
            note = f"one cache, {schedule[0]} rows, a reset, {schedule[-1]} rows"
        return Case((*arrays, heads, schedule), note, script="gpt2_in_pieces")

    sizes = ((2, 6, 3), (2, 12, 3), (3, 4, 2), (2, 8, 4))
    return [
        case((1, 1), _tenths(_draw(rng, 1, 2, 2)), 2),
        *(case(s, _draw(rng, batch, sum(s), d), H) for s, (batch, d, H) in zip(SCHEDULES, sizes, strict=True)),
    ]


def _score_cases(rng: np.random.Generator) -> list[Case]:
    def draw(*shape: int, causal: bool = True) -> np.ndarray:
        risen = np.exp(rng.standard_normal((*shape, shape[-1])) * 1.2)
        risen = np.tril(risen) if causal else risen
        return risen / risen.sum(-1, keepdims=True)

    readable = np.array(
        [
            [1.0, 0, 0, 0, 0],
            [0.5, 0.5, 0, 0, 0],
            [0.1, 0.6, 0.3, 0, 0],
            [0.2, 0.1, 0.5, 0.2, 0],
            [0.1, 0.1, 0.2, 0.4, 0.2],
        ]
    )
    return [
        Case((readable, 2)),
        Case((draw(2, 4, 7), 3), "layers and heads"),
        Case((draw(3, 11), 4)),
        Case((draw(9, causal=False), 5), "no mask"),
        Case((draw(4, 6), 5), "one row has a word that stood there before"),
        Case((draw(2, 5), 1), "period 1: the word after the last one is this one"),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone.
LIKELY_IN_PAIRS = """
c_attn_bias_forgotten c_proj_bias_forgotten unscaled scaled_by_width unmasked packed_head_by_head
split_without_transpose merged_without_transpose c_proj_forgotten c_proj_turned k_q_v one_head
nothing_kept aligned_up_left masked_at_first_only
same_word one_row_early one_row_late summed divided_by_t over_everything
""".split()


_COLUMNS = "Which d of the 3d columns hold the queries, which the keys, and which the values?"
_WIDTH = "How many products are added up in one score of one head?"
_UNUSED = "Which of the inputs can change without changing your result?"
_ROW_0 = "What may row 0 see?"

_SHARED = [
    switched("k_q_v", "Queries and keys have changed places: yours takes the keys first.", _COLUMNS, packing="k q v"),
    switched(
        "q_v_k",
        "Keys and values have changed places, where they are cut or where they are used.",
        _COLUMNS,
        packing="q v k",
    ),
    switched("v_k_q", "Queries and values have changed places.", _COLUMNS, packing="v k q"),
    switched("k_v_q", "Your thirds are keys, values, queries, in this order.", _COLUMNS, packing="k v q"),
    switched("v_q_k", "Your thirds are values, queries, keys, in this order.", _COLUMNS, packing="v q k"),
    switched(
        "keys_as_values", "Your blend is one of keys: the last third is not used.", _COLUMNS, packing="keys as values"
    ),
    switched(
        "queries_as_keys", "Your keys are queries: the middle third is not used.", _COLUMNS, packing="queries as keys"
    ),
    switched(
        "keys_as_queries", "Your queries are keys: the first third is not used.", _COLUMNS, packing="keys as queries"
    ),
    switched(
        "packed_head_by_head",
        "You take the columns for head after head, each with its own q, k and v, as other models pack them.",
        _COLUMNS,
        packing="head by head",
    ),
    switched(
        "every_third", "You take every third column: q, k, v, q, k, v, and so on.", _COLUMNS, packing="every third"
    ),
    switched(
        "texts_cut_in_three",
        "You cut the texts in three, not the columns: chunk takes the first axis unless told otherwise.",
        "Which axis of (B, T, 3d) holds the three views?",
        packing="texts",
    ),
    switched(
        "words_cut_in_three",
        "You cut the words in three, not the columns.",
        "Which axis of (B, T, 3d) holds the three views?",
        packing="words",
    ),
    switched("c_attn_bias_forgotten", "The bias of c_attn is not used.", _UNUSED, in_bias="forgotten"),
    switched("c_attn_bias_twice", "The bias of c_attn is added twice.", "Where is it added?", in_bias="twice"),
    switched("c_attn_bias_subtracted", "The bias of c_attn is subtracted.", "What is x @ W + b?", in_bias="subtracted"),
    switched(
        "c_attn_bias_averaged",
        "One number, the mean of c_attn's bias, is added to all columns.",
        "How many numbers has the bias?",
        in_bias="mean",
    ),
    switched(
        "c_proj_bias_too_early",
        "The bias of c_proj is added before its matrix, not after it.",
        "What is x @ W + b?",
        out_bias="before",
    ),
    switched("c_proj_bias_forgotten", "The bias of c_proj is not used.", _UNUSED, out_bias="forgotten"),
    switched("unscaled", "Your scores are not scaled.", "How does their spread grow with d_h?", scale="nothing"),
    switched(
        "scaled_by_width",
        "Your scores are divided by the root of the whole width d, and not of a head's.",
        _WIDTH,
        scale="d",
    ),
    switched("scaled_by_three_widths", "Your scores are divided by the root of 3d.", _WIDTH, scale="3 d"),
    switched(
        "scaled_twice",
        "Your scores are divided by d_h itself.",
        "How does the spread of a sum grow with its number of terms?",
        scale="d_h",
    ),
    switched("scaled_by_heads", "Your scores are divided by the root of the number of heads.", _WIDTH, scale="heads"),
    switched("scaled_by_words", "Your scores are divided by the root of the number of words.", _WIDTH, scale="words"),
    switched("multiplied_by_the_root", "Your scores are multiplied by the root of d_h.", _WIDTH, scale="inverse"),
    switched("unmasked", "Your rows look ahead: there is no mask.", _ROW_0, mask="none"),
    switched(
        "masked_late",
        "Your mask comes after the softmax: rows of the pattern no longer sum to 1.",
        "What do the weights of row 0 sum to?",
        mask="after",
    ),
    switched(
        "zeros_for_hidden",
        "Hidden scores become 0, and exp(0) is 1: rows ahead keep weight.",
        "Which score gets the weight 0?",
        mask="zeros",
    ),
    switched("one_row_ahead", "Your rows may look one row ahead.", _ROW_0, mask="one ahead"),
    switched("own_row_hidden", "Your rows may not look at themselves.", _ROW_0, mask="own hidden"),
    switched("future_only", "Your mask is turned round: rows see themselves and the future.", _ROW_0, mask="ahead"),
    switched("no_softmax", "Your scores meet the values without a softmax.", "What do rows sum to?", mask="no softmax"),
    switched(
        "over_the_queries",
        "Your softmax runs over the rows that look: columns sum to 1, not rows.",
        "Which axis of the scores counts the rows looked at?",
        axis=-2,
    ),
    switched(
        "over_the_heads",
        "Your softmax runs over the heads: they compete for each pair of rows.",
        "Which axis of the scores counts the rows looked at?",
        axis=1,
    ),
    switched(
        "split_without_transpose",
        "Your heads hold pieces of words: they are split by a reshape that is not followed by a transpose.",
        "Which words are in row 1 of head 0?",
        cut="reshaped",
    ),
    switched(
        "heads_in_turns",
        "Head h takes every H-th column of q, k and v, from column h on.",
        "Which columns belong to head 0?",
        cut="in turns",
    ),
    switched(
        "batch_mixed",
        "Your split puts heads before texts: a head of text 0 holds rows of other texts.",
        "Change text 1: may anything of text 0 move?",
        cut="batch mixed",
    ),
    switched(
        "merged_without_transpose",
        "Your heads are merged by a reshape alone: a row holds several words of one head.",
        "Change the last word: which rows of your result move?",
        join="reshaped",
    ),
    switched(
        "merged_in_turns",
        "Merged columns alternate between the heads.",
        "In which columns of a merged row should head 0 stand?",
        join="in turns",
    ),
    switched(
        "heads_summed",
        "Your heads are added up before c_proj.",
        "In which columns of a merged row should head 0 stand?",
        join="summed",
    ),
    switched("c_proj_forgotten", "The matrix of c_proj is not used.", _UNUSED, out="forgotten"),
    switched("c_proj_turned", "The matrix of c_proj is turned.", "Is it x @ W here, or x @ W.T?", out="turned"),
    switched(
        "added_to_the_row",
        "You add x to the result: the block around the layer does that.",
        "What comes back when both matrices and biases are all zeros?",
        out="added",
    ),
    switched(
        "heads_and_width_exchanged",
        "You have d_h heads of width n_heads: the two sizes have changed places.",
        "How wide is a head when d is 6 and there are 3 of them?",
        cut="sizes exchanged",
    ),
    switched(
        "bias_of_the_queries_only",
        "Of c_attn's bias the first third is used alone: keys and values go without theirs.",
        "How many of the 3d columns have a bias?",
        in_bias="queries",
    ),
]

_PLAIN_MISTAKES = [
    *_SHARED,
    switched("one_head", "Your layer has one wide head, whatever n_heads says.", _UNUSED, heads="one"),
    switched(
        "viewed",
        "You call view on a turned tensor: its numbers no longer lie in the order of its shape, and view stops.",
        "Which function makes a copy where one is needed?",
        join="viewed",
    ),
    Mistake(
        "taken_for_linear",
        "You multiply with c_attn's matrix turned, as nn.Linear does with its own: the shapes do not fit.",
        "GPT-2 computes x @ W + b. Which function does that, and which does not?",
        answer=_as_linear,
    ),
    Mistake(
        "rows_cut_in_three",
        "You cut the rows of c_attn's matrix, of which there are d, and not its columns.",
        "Which axis of (d, 3d) holds the three views?",
        answer=_rows_in_three,
    ),
    Mistake(
        "pieces_of_three",
        "split cuts into pieces that are 3 wide: it takes the width of a piece, not their number.",
        "Which function of torch takes the number of pieces?",
        answer=_pieces_of_three,
    ),
    Mistake(
        "matrix_reshaped_to_three",
        "You reshape c_attn's matrix to (3, d, d): each of the three holds some rows of all of it.",
        "In which order do the numbers of (d, 3d) lie in memory?",
        answer=_reshaped_to_three,
    ),
    Mistake(
        "over_the_batch",
        "Your rows look at the rows in the same place of other texts: the first axis is taken for the words.",
        "Which axis of x counts words?",
        answer=_over_the_batch,
    ),
    Mistake(
        "pair_like_the_module",
        "Your result is a pair, as transformers' own module gives one.",
        "How many tensors should come back?",
        answer=_as_the_module,
    ),
    Mistake(
        "normed_again",
        "You norm the rows first: the block has done that already.",
        "Which part of a block stands in front of attention?",
        answer=_normed_again,
    ),
]

_ALL_SEEN = "Which rows may the first and the second of two new rows see, when three are in the cache?"

_CACHED_MISTAKES = [
    *_SHARED,
    switched(
        "one_head",
        "You hand the cache one wide head: its rows are not split among n_heads.",
        "What shape do the tensors have that append takes?",
        heads="one",
    ),
    switched(
        "aligned_up_left_for_several",
        "Single rows are right. Of several new rows the first sees the oldest key only: your mask starts upper left.",
        _ALL_SEEN,
        mask="up left for several",
    ),
    switched(
        "appended_and_handed_on",
        "You append, and then hand on all that came back to be appended once more.",
        "How long is the cache after one call with one row?",
        keep="handed on",
    ),
    switched(
        "nothing_kept",
        "Each call sees its own rows only: what was fed before is not looked at.",
        "Which keys should the first row of the second call see?",
        keep="not at all",
    ),
    switched(
        "kept_twice",
        "Each row goes into the cache twice.",
        "How long is the cache after one call with one row?",
        keep="twice",
    ),
    switched(
        "appended_in_two_calls",
        "append is called once for the keys and once for the values: each row goes in twice.",
        "What does one call of append give back?",
        keep="two calls",
    ),
    switched(
        "old_values_lost",
        "All keys are read, but only the values of the new rows; the older ones are zeros.",
        "What does append give back?",
        keep="keys only",
    ),
    switched(
        "scaled_in_place",
        "You divide the keys that append gives back in place: what lies in the cache shrinks with each call.",
        "Whose memory is it that you write into?",
        keep="scaled in place",
        scale="nothing",
    ),
    switched(
        "new_rows_not_seen",
        "New rows look at what was in the cache before them, not at themselves.",
        "Is a row's own key among the keys that it is compared with?",
        keep="without the new",
    ),
    switched(
        "newest_first",
        "The new keys stand before the old ones.",
        "In which order does append give the rows back?",
        keep="new first",
    ),
    switched(
        "aligned_up_left",
        "Your mask begins at the upper left: the first new row sees the oldest key only.",
        _ALL_SEEN,
        mask="up left",
    ),
    switched(
        "masked_at_first_only",
        "Once something is in the cache, nothing is masked: of two new rows the first sees the second.",
        _ALL_SEEN,
        mask="first call only",
    ),
    switched(
        "mask_without_the_cache",
        "Your mask is (T, T), and the scores are (T, S): it fits one new row, or an empty cache.",
        "How many keys are there when two rows come to a cache that holds two?",
        mask="square",
    ),
    Mistake(
        "last_row_only",
        "You use the last of the new rows alone: the others never reach the cache.",
        "How many rows can one call bring?",
        answer=_last_row_only,
    ),
    Mistake(
        "last_row_back",
        "Only the last row of the result comes back.",
        "How many rows go in, and how many should come out?",
        answer=_last_row_back,
    ),
    Mistake(
        "kept_before_the_split",
        "You hand whole rows (B, t, d) to the cache, before they are split among heads.",
        "What shape do the tensors have that append takes?",
        answer=_kept_before_the_split,
    ),
    Mistake(
        "kept_before_the_transpose",
        "You hand (B, t, H, d_h) to the cache: heads and words have not changed places yet.",
        "What shape do the tensors have that append takes?",
        answer=_kept_before_the_transpose,
    ),
]

_WHERE = "A row holds a word that stood `period` rows before. Which row came after that one?"
_ROWS = "For the first row that counts, which row is looked at, and is it there?"

_SCORE_MISTAKES = [
    switched(
        "same_word",
        "You average the weight on the last time itself, not on the row after it.",
        _WHERE,
        back="same word",
    ),
    switched("word_before_it", "You average the weight on the row before the last time.", _WHERE, back="word before"),
    switched("two_after", "You average the weight on the row two after the last time.", _WHERE, back="two after"),
    Mistake("own_weight", "You average the weight that rows give to themselves.", _WHERE, answer=_own_weight),
    Mistake(
        "previous_word",
        "You average the weight on the row just before, whatever the period.",
        _WHERE,
        answer=_previous_word,
    ),
    Mistake(
        "ahead",
        "Your diagonal lies above the main one: rows that look ahead, where a causal pattern has zeros.",
        _WHERE,
        answer=_diagonal_above,
    ),
    switched("two_rounds_back", "You go two rounds back, where one is meant.", _WHERE, back="two rounds"),
    switched(
        "one_row_early",
        "Row period - 1 counts with you: its word has not stood there before.",
        _ROWS,
        first="one early",
    ),
    switched("one_row_late", "You leave out row `period`, whose word stood in row 0.", _ROWS, first="one late"),
    switched("second_round_left_out", "You leave out the second round.", _ROWS, first="second round's second"),
    switched(
        "summed",
        "You add the weights up: longer texts get larger scores.",
        "What is the largest score that a head should get?",
        take="sum",
    ),
    switched(
        "divided_by_t",
        "You divide by T, and fewer rows than that count.",
        "What is the score of a head that always gives 1 to the row meant?",
        take="by T",
    ),
    switched(
        "divided_by_the_period",
        "You divide by the period, which is not the number of rows that count.",
        "How many rows count when three rounds are read?",
        take="by period",
    ),
    switched(
        "divided_by_one_too_many",
        "You divide by one more than the number of rows that count.",
        "How many rows are there from row `period` to row T - 1?",
        take="one too many",
    ),
    switched(
        "divided_by_one_too_few",
        "You divide by one less than the number of rows that count.",
        "How many rows are there from row `period` to row T - 1, both included?",
        take="one too few",
    ),
    switched("last_row_left_out", "You leave out the last row.", _ROWS, take="without the last"),
    Mistake(
        "largest_of_each_row",
        "You take the largest weight of each row, wherever it lies.",
        _WHERE,
        answer=_largest_of_each_row,
    ),
    switched(
        "over_everything",
        "You take the mean over all heads as well: one number comes back.",
        "How many heads have a score of their own?",
        take="everything",
    ),
    switched(
        "not_averaged", "Your weights are the right ones, and not averaged.", "Which axis is still there?", take="none"
    ),
    switched(
        "heads_averaged",
        "You take the mean over the first axis, not over the rows.",
        "Which axis of the weights counts rows?",
        take="heads averaged",
    ),
    switched("axis_kept", "An axis of length 1 is left over.", "Which shape has one number a head?", take="axis kept"),
    switched("largest", "You take the largest weight, not the mean.", "Does every row count?", take="largest"),
    switched("smallest", "You take the smallest weight, not the mean.", "Does every row count?", take="smallest"),
    switched("median", "You take the median of the weights, not the mean.", "Does every row count?", take="middle"),
    switched("last_row_only", "Only the weight of the last row counts.", "Does every row count?", take="last"),
    switched("first_row_only", "Only the weight of row `period` counts.", "Does every row count?", take="first"),
    switched(
        "second_round_only",
        "Only the second round counts, and later rounds do not.",
        "Up to which row does a pattern go whose text has three rounds?",
        take="first period",
    ),
    switched(
        "share_of_the_best",
        "You divide each weight by the largest of its row.",
        "Is a weight of 0.4 worth 1 when no other is larger?",
        take="share of the row's best",
    ),
    Mistake(
        "wraps_round",
        "Rows before `period` count as well, with columns from the end: a negative index wraps round.",
        _ROWS,
        answer=_wraps_round,
    ),
    Mistake("turned", "Rows and columns have changed places: you read who is looked at.", _WHERE, answer=_turned),
    Mistake(
        "shifted_rows",
        "You pair row t - 1, not row t, with row t - period + 1.",
        _WHERE,
        answer=_wrong_row,
    ),
    Mistake(
        "whole_block",
        "You average a whole block of the pattern, not one weight a row.",
        "How many weights of each row should count?",
        answer=_whole_block,
    ),
    Mistake(
        "first_round",
        "You add up the weight on the whole first round.",
        "How many weights of each row should count?",
        answer=_first_round,
    ),
    Mistake(
        "all_rounds",
        "You add the weights on the row after every earlier time, not after the last one only.",
        "How many weights of each row should count?",
        answer=_all_rounds,
    ),
    Mistake(
        "rounds_added_up",
        "You add the weights of all earlier rounds; and row 0 counts as if a word stood before it.",
        "How many weights of each row should count?",
        answer=_every_time_round,
    ),
    Mistake(
        "loop_stops_early",
        "Your loop ends before the last row.",
        _ROWS,
        answer=_loop_stops_early,
    ),
    Mistake(
        "loop_starts_early",
        "Row period - 1 is added up with the others: its word has not stood there before.",
        _ROWS,
        answer=_loop_starts_early,
    ),
    Mistake(
        "row_before_wrapped",
        "You average the weight on the row before the last time; for row `period` there is none, and -1 is the last.",
        _WHERE,
        answer=_row_before_wrapped,
    ),
    Mistake(
        "counts_rows",
        "You count the rows whose best row is the one meant, whatever its weight.",
        "Is a weight of 0.4 the same as one of 0.9?",
        answer=_most_looked_at,
    ),
    Mistake(
        "first_two_axes",
        "Your diagonal runs over the first two axes: with layers and heads in front these are not rows and columns.",
        "Which axes of (L, H, T, T) are rows and columns?",
        answer=_first_axes,
    ),
]

# --- unusual, and right ----------------------------------------------------------------------------------------------


def _with_sdpa(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    from torch.nn import functional as F

    B, T, d = x.shape
    q, k, v = (x @ c_attn_weight + c_attn_bias).split(d, dim=2)
    q, k, v = (part.view(B, T, n_heads, d // n_heads).transpose(1, 2) for part in (q, k, v))
    blend = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return blend.transpose(1, 2).contiguous().view(B, T, d) @ c_proj_weight + c_proj_bias


def _with_the_module(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    import torch

    T, d = x.shape[1:]
    layer = torch.nn.MultiheadAttention(d, n_heads, batch_first=True, dtype=x.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(c_attn_weight.T)
        layer.in_proj_bias.copy_(c_attn_bias)
        layer.out_proj.weight.copy_(c_proj_weight.T)
        layer.out_proj.bias.copy_(c_proj_bias)
        return layer(x, x, x, attn_mask=torch.ones(T, T).triu(1).bool(), need_weights=False)[0]


def _with_einsum(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    import torch

    d, T = x.shape[-1], x.shape[1]
    parts = c_attn_weight.reshape(d, 3, n_heads, -1)
    q, k, v = torch.einsum("btd,dphe->pbhte", x, parts) + c_attn_bias.reshape(3, 1, n_heads, 1, -1)
    scores = torch.einsum("bhte,bhse->bhts", q * (d // n_heads) ** -0.5, k)
    pattern = scores.masked_fill(torch.ones(T, T).tril() == 0, -1e9).softmax(-1)
    return torch.einsum("bhts,bhse,hef->btf", pattern, v, c_proj_weight.reshape(n_heads, -1, d)) + c_proj_bias


def _with_linear(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """`F.linear` with turned matrices, and all three cut at once."""
    from torch.nn import functional as F

    B, T, d = x.shape
    packed = F.linear(x, c_attn_weight.t(), c_attn_bias).view(B, T, 3, n_heads, d // n_heads)
    q, k, v = packed.permute(2, 0, 3, 1, 4)
    scores = q / (d / n_heads) ** 0.25 @ (k / (d / n_heads) ** 0.25).transpose(-2, -1)
    blend = (scores + (1 - _look(scores).to(x.dtype)) * -1e30).softmax(-1) @ v
    return F.linear(blend.transpose(1, 2).reshape(B, T, d), c_proj_weight.t(), c_proj_bias)


def _with_addmm(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """As the module itself does: all words of all texts as rows of one matrix."""
    import torch

    B, T, d = x.shape
    packed = torch.addmm(c_attn_bias, x.reshape(-1, d), c_attn_weight).view(B, T, 3 * d)
    q, k, v = (_split(part, n_heads) for part in packed.split(d, dim=-1))
    pattern = _filled(q @ k.mT / (d // n_heads) ** 0.5, -1)
    merged = (pattern @ v).transpose(1, 2).reshape(-1, d)
    return torch.addmm(c_proj_bias, merged, c_proj_weight).view(B, T, d)


def _head_after_head(
    x: Tensor, c_attn_weight: Tensor, c_attn_bias: Tensor, c_proj_weight: Tensor, c_proj_bias: Tensor, n_heads: int
) -> Tensor:
    """Each head alone, with its own columns of one matrix and its own rows of the other; the pieces are added."""
    d = x.shape[-1]
    d_h = d // n_heads
    total = c_proj_bias + 0 * x
    for h in range(n_heads):
        own = [slice(part * d + h * d_h, part * d + (h + 1) * d_h) for part in range(3)]
        q, k, v = (x @ c_attn_weight[:, s] + c_attn_bias[s] for s in own)
        total = total + _filled(q @ k.mT / d_h**0.5, -1) @ v @ c_proj_weight[h * d_h : (h + 1) * d_h]
    return total


def _cached_row_by_row(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    """One new row at a time: no mask is needed then."""
    import torch

    packed = x @ c_attn_weight + c_attn_bias
    rows = []
    for t in range(x.shape[1]):
        q, k, v = (_split(part, n_heads) for part in packed[:, t : t + 1].chunk(3, -1))
        k, v = cache.append(k, v)
        rows.append((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v)
    return torch.cat(rows, dim=2).transpose(1, 2).flatten(2) @ c_proj_weight + c_proj_bias


def _cached_by_length(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    """The mask from the length that the cache had before, as places of rows compared with places of keys."""
    import torch

    B, T, d = x.shape
    before = cache.length
    q, k, v = (x @ c_attn_weight + c_attn_bias).view(B, T, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
    k, v = cache.append(k, v)
    places = torch.arange(before, before + T)
    scores = torch.einsum("bhte,bhse->bhts", q, k) * q.shape[-1] ** -0.5
    scores = scores + torch.where(torch.arange(before + T)[None] <= places[:, None], 0.0, float("-inf"))
    merged = torch.einsum("bhts,bhse->bthe", scores.softmax(-1), v).reshape(B, T, d)
    return merged @ c_proj_weight + c_proj_bias


def _cached_without_mask_for_one(
    x: Tensor,
    c_attn_weight: Tensor,
    c_attn_bias: Tensor,
    c_proj_weight: Tensor,
    c_proj_bias: Tensor,
    n_heads: int,
    cache: Any,
) -> Tensor:
    q, k, v = (_split(part, n_heads) for part in (x @ c_attn_weight + c_attn_bias).chunk(3, -1))
    keys, values = cache.append(k, v)
    scores = q @ keys.transpose(-1, -2) / q.size(-1) ** 0.5
    pattern = scores.softmax(-1) if x.shape[1] == 1 else _filled(scores, -1)
    return (pattern @ values).permute(0, 2, 1, 3).reshape(x.shape) @ c_proj_weight + c_proj_bias


def _score_by_diagonal(pattern: Tensor, period: int) -> Tensor:
    return pattern.diagonal(1 - period, dim1=-2, dim2=-1)[..., 1:].mean(-1)


def _score_by_index(pattern: Tensor, period: int) -> Tensor:
    import torch

    rows = torch.arange(period, pattern.shape[-1])
    return pattern[..., rows, rows - period + 1].mean(dim=-1)


def _score_in_a_loop(pattern: Tensor, period: int) -> Tensor:
    T = pattern.shape[-1]
    total = 0 * pattern[..., 0, 0]
    for t in range(period, T):
        total = total + pattern[..., t, t - period + 1]
    return total / (T - period)


def _score_with_a_mask(pattern: Tensor, period: int) -> Tensor:
    import torch

    rows, columns = torch.meshgrid(*(torch.arange(pattern.shape[-1]),) * 2, indexing="ij")
    wanted = (rows >= period) & (columns == rows - period + 1)
    return (pattern * wanted).sum((-2, -1)) / wanted.sum()


def _score_gathered(pattern: Tensor, period: int) -> Tensor:
    import torch

    late = pattern[..., period:, :]
    where = torch.arange(1, late.shape[-2] + 1)[:, None].expand(*late.shape[:-1], 1)
    return late.gather(-1, where).squeeze(-1).mean(-1)


EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        name="gpt2_attention",
        chapter="12",
        summary="GPT-2's attention layer from its packed weights.",
        returns="(B, T, d)",
        reference=_gpt2_attention,
        cases=_plain_cases,
        mistakes=paired(_PLAIN_MISTAKES, _plain_template, LIKELY_IN_PAIRS),
        accepted={
            "sdpa": _with_sdpa,
            "nn.MultiheadAttention": _with_the_module,
            "einsum": _with_einsum,
            "linear": _with_linear,
            "addmm": _with_addmm,
            "head after head": _head_after_head,
        },
        hints=(
            "x @ c_attn_weight + c_attn_bias has 3d columns. What stands in the first d of them?",
            "Change the last row of x: only the last row of your result may move. Change a bias: all rows should.",
            "Project, cut the last axis in three, then everything that you wrote in chapter 07, then c_proj.",
        ),
        template=_plain_template,
        framework="torch",
    ),
    Exercise(
        name="gpt2_attention_cached",
        chapter="12",
        summary="The same for the newest rows, with keys and values from a cache.",
        returns="(B, T, d)",
        reference=_gpt2_attention_cached,
        cases=_cached_cases,
        mistakes=paired(_CACHED_MISTAKES, _cached_template, LIKELY_IN_PAIRS),
        accepted={
            "row by row": _cached_row_by_row,
            "places and lengths": _cached_by_length,
            "no mask for one row": _cached_without_mask_for_one,
        },
        hints=(
            "Which of q, k and v does a later call need again?",
            "Hand in 2 + 2 + 1 rows, then 5 at once: the results should be equal.",
            "Keys and values go through cache.append after the split. Then there are T queries and S keys: the mask is "
            "(T, S), and its last column belongs to the last row.",
        ),
        template=_cached_template,
        framework="torch",
    ),
    Exercise(
        name="induction_score",
        chapter="12",
        summary="How much weight rows give to the row after the last time their word stood there.",
        returns="(…)",
        reference=_induction_score,
        cases=_score_cases,
        mistakes=paired(_SCORE_MISTAKES, _score_template, LIKELY_IN_PAIRS),
        accepted={
            "diagonal": _score_by_diagonal,
            "index": _score_by_index,
            "loop": _score_in_a_loop,
            "mask": _score_with_a_mask,
            "gather": _score_gathered,
        },
        hints=(
            "With a period of 8, row 10 holds the word of row 2. Which row does an induction head look at?",
            "A head whose row t gives 1 to row t - period + 1, for every t from period on, has the score 1.",
            "These weights lie on a diagonal below the main one. Where does it begin, and in which row should you?",
        ),
        template=_score_template,
        framework="torch",
    ),
)

# --- questions -------------------------------------------------------------------------------------------------------

_COLUMNS_ASKED = Question(
    name="12_columns",
    chapter="12",
    prompt="In which column, counted from 0, do the keys of head 1 begin (d = 64, 4 heads)?",
    right=80,
    because="The queries fill 64 columns; then come the keys of head 0, 16 wide, and then those of head 1.",
    wrong={
        16: "There the queries of head 1 begin. How many columns do all queries fill?",
        64: "There the keys of head 0 begin, or those of head 1 if each head kept its own q, k and v together.",
        144: "There the values of head 1 begin.",
        81: "Counted from 0, please.",
        79: "How wide is a head, and how many columns stand before the first key?",
        96: "There the keys of head 2 begin: heads are counted from 0 here.",
        128: "There the values begin. How wide is a head?",
    },
    otherwise="How many columns do all queries fill, and how wide is one head?",
    hints=("64 columns of queries come first. Each head is 64 / 4 columns wide.",),
)

_HOW_EQUAL = Question(
    name="12_how_equal",
    chapter="12",
    prompt="Your attention replaces that of all blocks: what do you expect of the logits?",
    right="equal up to rounding",
    because="The same sums in another order: the last digits may differ, and no more.",
    choices=("equal to the last bit", "equal up to rounding", "another scale, same words"),
    wrong={
        "equal to the last bit": "It can come out like this, when all steps are the same. Does your function add in "
        "the order in which theirs adds?",
        "another scale, same words": "Nothing was left out that would change the scale. What is different at all?",
    },
    otherwise="What is different: the formula, or the order in which numbers are added?",
    hints=("(a + b) + c and a + (b + c) are not always the same float.",),
)

_UNSEEN = Question(
    name="12_unseen",
    chapter="12",
    prompt="Which misreading of the weights leaves texts that nobody would suspect?",
    right="biases forgotten",
    because="They are small here: every pattern is nearly what it was, and the loss rises by hardly anything.",
    choices=("keys first", "head after head", "c_proj turned", "biases forgotten"),
    wrong={
        "keys first": "Words then ask as others answer: no pattern stays what it was.",
        "head after head": "Every head gets some columns that were trained for something else.",
        "c_proj turned": "What heads hand over lands in other columns of the row.",
    },
    otherwise="Which of them changes numbers least?",
    hints=("Which change leaves every pattern nearly as it was?",),
)

_BUG_SAYS = {
    "looks ahead": "It calls your function, and yours is causal.",
    "does not see itself": "It calls your function, and in yours each row sees itself.",
    "rows do not sum to 1": "It calls your function: the pattern is yours.",
    "mixes batch entries": "Eight texts were compared at once, and every position agreed.",
    "scrambles words": "Every position of every text agreed.",
    "forgets order": "It calls your function, and the model adds positions before.",
    "ignores the query": "It calls your function: queries count.",
}

_BUG = Question(
    name="12_bug",
    chapter="12",
    prompt="Which property does attention_1 break, although every logit of the model agrees?",
    right="changes its input",
    because="copy_ writes into x. GPT-2's block does not need x again; another block, or you, may.",
    choices=PROPERTIES,
    wrong=_BUG_SAYS,
    otherwise="What is there after the call that was not there before?",
    hints=("What does an underscore at the end of a tensor's method mean?",),
)

_PLACE = Question(
    name="12_place",
    chapter="12",
    prompt="Which row of its position table does the model add to a token that comes alone, with its own cache empty?",
    right=0,
    because="It numbers tokens from what its own cache holds, and that is nothing. Your caches it does not know.",
    wrong={
        40: "So it should be. But how would the model know about your caches?",
        41: "Who told the model how many tokens came before?",
        39: "That is the last of those in your caches. How would the model know about them?",
        1: "One token is handed in. What is the number of the first token of a text?",
        -1: "Some row is added to every token.",
    },
    otherwise="From what does the model count, when its own cache is empty?",
    hints=("To the model this is a text of one token.",),
)

_NEEDED = Question(
    name="12_needed",
    chapter="12",
    prompt="Without which single head does the second copy suffer most?",
    right="0.3",
    because="By the usual account it writes into each row which word stood before: all induction heads look for that.",
    choices=("1.3", "1.1", "0.3", "2.0"),
    wrong={
        "1.3": "It has the best score, and all of layer 1 are of its kind. What do all of them need?",
        "1.1": "There are three more of its kind. What do all of them need?",
        "2.0": "It looks nowhere in particular on repeated words.",
    },
    otherwise="What do all induction heads need?",
    hints=("An induction head looks for rows that know which word stood before theirs. Who tells them?",),
)

QUESTIONS: tuple[Question, ...] = (_COLUMNS_ASKED, _HOW_EQUAL, _UNSEEN, _BUG, _PLACE, _NEEDED)

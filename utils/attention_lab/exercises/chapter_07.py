"""Chapter 07, several heads: split, merge, the whole layer, and a score for heads that look one word back.

Letters: B texts, T rows, d width of a row, H heads, d_h = d/H width of a head. References are torch's own functions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab import lesson
from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Mistake, Question
from attention_lab.exercises.writing import paired, switched

if TYPE_CHECKING:
    from torch import Tensor

# --- the references: torch's own -------------------------------------------------------------------------------------


def _split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.shape[-1] % n_heads:
        raise ValueError(f"{x.shape[-1]} columns cannot be shared out among {n_heads} heads")
    return x.unflatten(-1, (n_heads, -1)).movedim(-2, -3)


def _merge_heads(x: Tensor) -> Tensor:
    return x.movedim(-3, -2).flatten(-2)


def _multi_head_attention(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """The function behind `nn.MultiheadAttention`: words first, matrices turned, True = blocked."""
    import torch
    from torch.nn import functional as F

    rows = x.transpose(0, 1)
    T, _, d = rows.shape
    found, _ = F.multi_head_attention_forward(
        rows,
        rows,
        rows,
        d,
        n_heads,
        in_proj_weight=torch.cat([W_q.T, W_k.T, W_v.T]),
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=W_o.T,
        out_proj_bias=None,
        need_weights=False,
        attn_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
    )
    return found.transpose(0, 1)


def _previous_token_score(pattern: Tensor) -> Tensor:
    return pattern.diagonal(-1, -2, -1).mean(-1)


# --- splitting, with switches ----------------------------------------------------------------------------------------


def _split_template(x: Tensor, n_heads: int, cut: str = "right", check: str = "both") -> Any:
    width = x.shape[-1]
    if width % n_heads:
        _CHECKS[check](width, n_heads)
    return _CUTS[cut](x, n_heads)


def _refuse(text: str) -> Callable[[int, int], None]:
    def check(width: int, heads: int) -> None:
        raise ValueError(text.format(width=width, heads=heads))

    return check


def _assert(width: int, heads: int) -> None:
    raise AssertionError(f"{width} columns, {heads} heads")


def _type_error(width: int, heads: int) -> None:
    raise TypeError(f"{width} columns, {heads} heads")


#: What happens when the width does not divide.
_CHECKS: dict[str, Callable[[int, int], None]] = {
    "both": _refuse("{width} columns cannot be cut into {heads} heads"),
    "no numbers": _refuse("the width has to be a multiple of the number of heads"),
    "width only": _refuse("{width} columns do not divide"),
    "heads only": _refuse("the width does not divide by {heads}"),
    "assertion": _assert,
    "type error": _type_error,
    "none": lambda width, heads: None,
}


def _width(x: Tensor, heads: int) -> int:
    return x.shape[-1] // heads


#: How x (B, T, d) is cut.
_CUTS: dict[str, Callable[[Tensor, int], Any]] = {
    "right": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(1, 2),
    "reshaped": lambda x, H: x.reshape(x.shape[0], H, x.shape[1], -1),
    "not turned": lambda x, H: x.reshape(*x.shape[:2], H, -1),
    "interleaved": lambda x, H: x.reshape(*x.shape[:2], -1, H).permute(0, 3, 1, 2),
    "width first": lambda x, H: x.reshape(*x.shape[:2], -1, H),
    "width for heads": lambda x, H: x.reshape(*x.shape[:2], -1, H).transpose(1, 2),
    "axes 1 and 3": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(1, 3),
    "axes 2 and 3": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(2, 3),
    "axes 0 and 1": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(0, 1),
    "heads first": lambda x, H: x.reshape(*x.shape[:2], H, -1).permute(2, 0, 1, 3),
    "keys turned": lambda x, H: x.reshape(*x.shape[:2], H, -1).permute(0, 2, 3, 1),
    "turned, then reshaped": lambda x, H: x.transpose(1, 2).reshape(x.shape[0], H, x.shape[1], -1),
    "batch mixed": lambda x, H: x.reshape(H, x.shape[0], x.shape[1], -1).transpose(0, 1),
    "folded": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(1, 2).flatten(0, 1),
    "from the right": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(1, 2).flip(1),
    "whole rows": lambda x, H: x[:, None].expand(-1, H, -1, -1),
    "first head again": lambda x, H: x[:, None, :, : _width(x, H)].expand(-1, H, -1, -1),
    "words shared out": lambda x, H: x.reshape(*x.shape[:2], H, -1).transpose(1, 2).flip(2),
    "windows": lambda x, H: _windows(x, H),
}


def _windows(x: Tensor, n_heads: int) -> Tensor:
    """Head h begins at column h: a slice whose start is not multiplied by the width."""
    import torch

    return torch.stack([x[..., h : h + _width(x, n_heads)] for h in range(n_heads)], dim=1)


def _tuple_of_heads(x: Tensor, n_heads: int) -> tuple[Tensor, ...]:
    if x.shape[-1] % n_heads:
        raise ValueError(f"{x.shape[-1]} columns, {n_heads} heads")
    return tuple(x.chunk(n_heads, dim=-1))


def _narrow_last_head(x: Tensor, n_heads: int) -> Any:
    """Cuts into pieces and fills the last one up with zeros when the width does not divide."""
    from torch.nn import functional as F

    missing = -x.shape[-1] % n_heads
    return _split_heads(F.pad(x, (0, missing)), n_heads)


def _rest_thrown_away(x: Tensor, n_heads: int) -> Tensor:
    return _split_heads(x[..., : x.shape[-1] // n_heads * n_heads], n_heads)


# --- merging, with switches ------------------------------------------------------------------------------------------


def _merge_template(x: Tensor, join: str = "right") -> Any:
    return _JOINS[join](x)


def _joined(x: Tensor, *order: int) -> Tensor:
    """The axes of x in another order, then the shape (B, T, H · d_h)."""
    return x.permute(*order).reshape(x.shape[0], x.shape[2], -1)


def _overwritten(x: Tensor) -> Tensor:
    """A loop that writes each head into the same first columns."""
    B, H, T, d_h = x.shape
    merged = x.new_zeros(B, T, H * d_h)
    merged[..., :d_h] = x[:, -1]
    return merged


#: How x (B, H, T, d_h) is put together.
_JOINS: dict[str, Callable[[Tensor], Any]] = {
    "right": lambda x: _joined(x, 0, 2, 1, 3),
    "reshaped": lambda x: _joined(x, 0, 1, 2, 3),
    "interleaved": lambda x: _joined(x, 0, 2, 3, 1),
    "axes 1 and 3": lambda x: _joined(x, 0, 3, 2, 1),
    "axes 2 and 3": lambda x: _joined(x, 0, 1, 3, 2),
    "axes 0 and 1": lambda x: _joined(x, 1, 0, 2, 3),
    "heads before batch": lambda x: _joined(x, 2, 1, 0, 3),
    "words first": lambda x: _joined(x, 2, 0, 1, 3),
    "from the right": lambda x: _joined(x.flip(1), 0, 2, 1, 3),
    "viewed": lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
    "summed": lambda x: x.sum(1),
    "averaged": lambda x: x.mean(1),
    "first head": lambda x: x[:, 0],
    "last head": lambda x: x[:, -1],
    "one below another": lambda x: x.flatten(1, 2),
    "not flattened": lambda x: x.transpose(1, 2),
    "all in one row": lambda x: x.transpose(1, 2).flatten(1),
    "no batch": lambda x: x.transpose(1, 2).flatten(0, 1).flatten(1),
    "on axis 2": lambda x: x.movedim(1, -1).flatten(1, 2),
    "overwritten": lambda x: _overwritten(x),
}

# --- the whole layer, with switches ----------------------------------------------------------------------------------


def _layer_template(
    x: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    W_o: Tensor,
    n_heads: int,
    project: str = "right",
    heads: str = "given",
    cut: str = "right",
    scale: str = "right",
    mask: str = "causal",
    axis: int = -1,
    join: str = "right",
    out: str = "right",
) -> Any:
    H = 1 if heads == "one" else n_heads
    q, k, v = (_CUTS[cut](row, H) for row in _PROJECTIONS[project](x, W_q, W_k, W_v))
    scores = q @ k.mT / _SCALES[scale](x, q)
    pattern = _MASKED[mask](scores, axis)
    if heads == "mean pattern":
        pattern = pattern.mean(1, keepdim=True)
    return _OUTS[out](_JOINS[join](pattern @ v), W_o, x)


#: x through the matrices.
_PROJECTIONS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]] = {
    "right": lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x @ W_v),
    "turned": lambda x, W_q, W_k, W_v: (x @ W_q.T, x @ W_k.T, x @ W_v.T),
    "q and k swapped": lambda x, W_q, W_k, W_v: (x @ W_k, x @ W_q, x @ W_v),
    "keys as values": lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x @ W_k),
    "queries as keys": lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_q, x @ W_v),
    "k and v swapped": lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_v, x @ W_k),
    "values forgotten": lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x),
    "all forgotten": lambda x, W_q, W_k, W_v: (x, x, x),
}

#: What scores are divided by.
_SCALES: dict[str, Callable[[Tensor, Tensor], float]] = {
    "right": lambda x, q: q.shape[-1] ** 0.5,
    "d": lambda x, q: x.shape[-1] ** 0.5,
    "nothing": lambda x, q: 1.0,
    "d_h": lambda x, q: float(q.shape[-1]),
    "heads": lambda x, q: q.shape[1] ** 0.5,
    "words": lambda x, q: q.shape[-2] ** 0.5,
    "inverse": lambda x, q: q.shape[-1] ** -0.5,
}


def _filled(scores: Tensor, axis: int, diagonal: int = 0, ahead: bool = False) -> Tensor:
    import torch

    ones = torch.ones(scores.shape[-2:], dtype=torch.bool)
    look = ones.triu(diagonal) if ahead else ones.tril(diagonal)
    return scores.masked_fill(~look, float("-inf")).softmax(axis)


#: Scores to pattern.
_MASKED: dict[str, Callable[[Tensor, int], Tensor]] = {
    "causal": _filled,
    "none": lambda scores, axis: scores.softmax(axis),
    "after": lambda scores, axis: scores.softmax(axis).tril(),
    "zeros": lambda scores, axis: scores.tril().softmax(axis),
    "ahead": lambda scores, axis: _filled(scores, axis, 0, ahead=True),
    "one ahead": lambda scores, axis: _filled(scores, axis, 1),
    "own hidden": lambda scores, axis: _filled(scores, axis, -1),
    "no softmax": lambda scores, axis: scores.tril(),
    "read as blocked": lambda scores, axis: _filled(scores, axis, 1, ahead=True),
}

#: Merged heads through the last matrix.
_OUTS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "right": lambda z, W_o, x: z @ W_o,
    "forgotten": lambda z, W_o, x: z,
    "turned": lambda z, W_o, x: z @ W_o.T,
    "added": lambda z, W_o, x: x + z @ W_o,
}


def _heads_as_words(
    x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int, mask: str = "causal"
) -> Tensor:
    """Splits to (B, T, H, d_h) and leaves it there: in each word the heads look at each other."""
    q, k, v = (_CUTS["not turned"](x @ W, n_heads) for W in (W_q, W_k, W_v))
    pattern = _MASKED[mask](q @ k.mT / q.shape[-1] ** 0.5, -1)
    return (pattern @ v).flatten(2) @ W_o


def _masked_over_the_heads(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """Masked with -inf, and then a softmax over axis 1: where all heads are hidden it is 0 / 0."""
    return _layer_template(x, W_q, W_k, W_v, W_o, n_heads, axis=1)


def _own_block_of_w_o(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """Each head gets the square of W_o on the diagonal and no more."""
    d_h = x.shape[-1] // n_heads
    blocks = [slice(h * d_h, (h + 1) * d_h) for h in range(n_heads)]
    found = _layer_template(x, W_q, W_k, W_v, W_o, n_heads, out="forgotten")
    return _cat([found[..., b] @ W_o[b, b] for b in blocks])


def _over_the_batch(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """What a layer that wants words first makes of texts first."""
    return _multi_head_attention(x.transpose(0, 1), W_q, W_k, W_v, W_o, n_heads).transpose(0, 1)


def _with_pattern(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Any:
    q, k = (_split_heads(x @ W, n_heads) for W in (W_q, W_k))
    pattern = _filled(q @ k.mT / q.shape[-1] ** 0.5, -1)
    return _multi_head_attention(x, W_q, W_k, W_v, W_o, n_heads), pattern


def _first_head_for_all(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    q, k, v = (_split_heads(x @ W, n_heads) for W in (W_q, W_k, W_v))
    pattern = _filled(q @ k.mT / q.shape[-1] ** 0.5, -1)[:, :1]
    return _merge_heads(pattern @ v) @ W_o


def _over_the_heads(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """The softmax runs over the heads: they compete for each pair of words."""
    q, k, v = (_split_heads(x @ W, n_heads) for W in (W_q, W_k, W_v))
    pattern = (q @ k.mT / q.shape[-1] ** 0.5).softmax(1).tril()
    return _merge_heads(pattern @ v) @ W_o


def _rows_split_first(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """Cuts the rows of x first and gives each head its own block of the matrices alone."""
    d_h = x.shape[-1] // n_heads
    blocks = [slice(h * d_h, (h + 1) * d_h) for h in range(n_heads)]
    found = [_layer_template(x[..., b], W_q[b, b], W_k[b, b], W_v[b, b], W_o, 1, out="forgotten") for b in blocks]
    return _OUTS["right"](_cat(found), W_o, x)


def _cat(pieces: list[Tensor]) -> Tensor:
    import torch

    return torch.cat(pieces, dim=-1)


# --- the previous-word score, with switches --------------------------------------------------------------------------


def _previous_template(pattern: Tensor, diagonal: int = -1, take: str = "mean") -> Any:
    return _TAKES[take](pattern.diagonal(diagonal, -2, -1), pattern)


#: One number from the weights of all rows.
_TAKES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "mean": lambda found, pattern: found.mean(-1),
    "sum": lambda found, pattern: found.sum(-1),
    "by T": lambda found, pattern: found.sum(-1) / pattern.shape[-1],
    "everything": lambda found, pattern: found.mean(),
    "none": lambda found, pattern: found,
    "heads averaged": lambda found, pattern: found.mean(0),
    "largest": lambda found, pattern: found.amax(-1),
    "smallest": lambda found, pattern: found.amin(-1),
    "middle": lambda found, pattern: found.median(-1).values,
    "last": lambda found, pattern: found[..., -1],
    "first": lambda found, pattern: found[..., 0],
    "axis kept": lambda found, pattern: found.mean(-1, keepdim=True),
    "without the first": lambda found, pattern: found[..., 1:].mean(-1),
}


def _wraps_round(pattern: Tensor) -> Tensor:
    """Row t against column t - 1 for all t: row 0 meets the last column."""
    return pattern.roll(1, dims=-1).diagonal(0, -2, -1).mean(-1)


def _round_and_one_less(pattern: Tensor) -> Tensor:
    """The sum over all rows, row 0 with its last column, divided by T - 1."""
    T = pattern.shape[-1]
    return pattern.roll(1, dims=-1).diagonal(0, -2, -1).sum(-1) / (T - 1)


def _stops_early(pattern: Tensor, less: int) -> Any:
    """A range that ends one too early, and for two words holds nothing."""
    T = pattern.shape[-1]
    return sum(pattern[..., t, t - 1] for t in range(1, T - 1)) / (T - less)


def _most_looked_at(pattern: Tensor) -> Tensor:
    import torch

    rows = torch.arange(1, pattern.shape[-1])
    return (pattern[..., 1:, :].argmax(-1) == rows - 1).to(pattern.dtype).mean(-1)


def _first_column(pattern: Tensor) -> Tensor:
    return pattern[..., 1:, 0].mean(-1)


def _column_means(pattern: Tensor) -> Tensor:
    """The mean of the whole block below row 0 and left of the last column."""
    return pattern[..., 1:, :-1].mean((-2, -1))


def _all_before(pattern: Tensor) -> Tensor:
    """All weight on words before, not only on the one just before."""
    return pattern.tril(-1)[..., 1:, :].sum(-1).mean(-1)


def _wrong_axes(pattern: Tensor) -> Tensor:
    """`diagonal` without axes takes the first two."""
    return pattern.diagonal(-1).mean(-1)


# --- the cases -------------------------------------------------------------------------------------------------------


def _split_cases(rng: np.random.Generator) -> list[Case]:
    readable = np.array([[[10.0 * t + c for c in range(6)] for t in range(1, 4)]])
    return [
        Case((readable, 2)),
        Case((rng.standard_normal((2, 5, 12)), 3)),
        Case((rng.standard_normal((3, 4, 10)), 5), "more heads than columns in each"),
        Case((rng.standard_normal((2, 3, 7)), 1), "one head"),
        Case(
            (rng.standard_normal((2, 3, 14)), 4),
            "14 columns, 4 heads: is each number in the message (1) or not (0)?",
            "refusal",
        ),
    ]


def _merge_cases(rng: np.random.Generator) -> list[Case]:
    readable = np.array([[[[10.0 * t + c for c in columns] for t in range(1, 4)] for columns in ((0, 1), (2, 3))]])
    return [
        Case((readable,)),
        Case((rng.standard_normal((2, 3, 5, 4)),)),
        Case((rng.standard_normal((3, 4, 2, 5)),), "two words"),
        Case((rng.standard_normal((4, 2, 6, 3)),)),
    ]


def _layer_cases(rng: np.random.Generator) -> list[Case]:
    def draw(batch: int, rows: int, width: int, heads: int, note: str = "") -> Case:
        matrices = (1.3 * rng.standard_normal((width, width)) / width**0.5 for _ in range(4))
        return Case((rng.standard_normal((batch, rows, width)), *matrices, heads), note)

    small = tuple(np.round(rng.standard_normal((4, 4)), 1) for _ in range(4))
    return [
        Case((lesson.rows()[None, :3], *small, 2), "the first words of the running sentence"),
        draw(2, 5, 12, 3),
        draw(3, 4, 10, 5),
        draw(2, 3, 7, 1, "one head"),
    ]


def _previous_cases(rng: np.random.Generator) -> list[Case]:
    def draw(*shape: int, causal: bool = False) -> np.ndarray:
        risen = np.exp(rng.standard_normal((*shape, shape[-1])) * 1.2)
        risen = np.tril(risen) if causal else risen
        return risen / risen.sum(-1, keepdims=True)

    readable = np.array([[1.0, 0, 0, 0], [0.75, 0.25, 0, 0], [0.25, 0.5, 0.25, 0], [0.0, 0.25, 0.25, 0.5]])
    return [
        Case((readable,)),
        Case((draw(2, 3, 5, causal=True),), "layers and heads"),
        Case((draw(3, 6),), "one leading axis, no mask"),
        Case((draw(7, causal=True),)),
        Case((draw(4, 3, 2, causal=True),), "patterns of two words"),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone.
LIKELY_IN_PAIRS = """
reshaped not_turned interleaved heads_overlap heads_first turned_as_keys width_before_heads width_taken_for_heads
axes_1_and_3_swapped axes_2_and_3_swapped first_head_again whole_rows no_check numbers_not_named assertion
split_without_transpose merged_without_transpose scaled_by_width unscaled unmasked masked_late w_o_forgotten
matrices_turned one_head q_and_k_swapped over_the_queries w_o_turned own_word_hidden one_word_ahead
own_weight next_word summed divided_by_t over_everything
""".split()


_ORDER = "In which order do the numbers of one word lie in memory, and what does reshape do to that order?"
_AXES = "Which axis of the result counts the heads, and which the words?"
_REFUSE = "What should a caller read who asks for 4 heads in rows of 14 columns?"

_SPLIT_MISTAKES = [
    switched(
        "reshaped",
        "Your reshape cuts words into pieces: head 0 gets the first words of the text, not the first columns of each.",
        _ORDER,
        cut="reshaped",
    ),
    switched("not_turned", "Your result is (B, T, H, d_h): heads stand inside the words.", _AXES, cut="not turned"),
    switched(
        "interleaved",
        "Head h takes every H-th column, from column h on, not d/H columns that stand side by side.",
        "Which columns should head 0 take of a row with 6 columns and 2 heads?",
        cut="interleaved",
    ),
    switched(
        "width_before_heads",
        "Your result is (B, T, d/H, H): the last axis counts heads, and each head takes every H-th column.",
        _AXES,
        cut="width first",
    ),
    switched(
        "width_taken_for_heads",
        "You make d/H heads of width H: the two sizes have changed places.",
        "What does n_heads count: heads, or columns of a head?",
        cut="width for heads",
    ),
    switched(
        "axes_1_and_3_swapped",
        "Your transpose swaps words with the columns of a head: the result is (B, d/H, H, T).",
        _AXES,
        cut="axes 1 and 3",
    ),
    switched(
        "axes_2_and_3_swapped",
        "Your transpose swaps heads with their columns: the result is (B, T, d/H, H).",
        _AXES,
        cut="axes 2 and 3",
    ),
    switched(
        "axes_0_and_1_swapped",
        "Your transpose swaps texts with words: the result is (T, B, H, d/H).",
        _AXES,
        cut="axes 0 and 1",
    ),
    switched("heads_first", "Your result is (H, B, T, d/H): heads stand before texts.", _AXES, cut="heads first"),
    switched(
        "turned_as_keys",
        "Your result is (B, H, d/H, T): each head is turned, as keys are for the scores.",
        "Which of the two last axes counts words?",
        cut="keys turned",
    ),
    switched(
        "turned_then_reshaped",
        "You transpose words and columns first and reshape then: a row of a head holds one column of several words.",
        _ORDER,
        cut="turned, then reshaped",
    ),
    switched(
        "batch_mixed",
        "Your reshape puts the heads before the texts: a head of text 0 holds rows of other texts.",
        "Change text 1: may anything of text 0 move?",
        cut="batch mixed",
    ),
    switched(
        "heads_folded_into_the_batch",
        "Your result is (B·H, T, d/H): the heads are taken for further texts.",
        "How many axes should come back?",
        cut="folded",
    ),
    switched(
        "from_the_right",
        "Head 0 takes the last columns and the last head the first ones.",
        "Which head should hold column 0?",
        cut="from the right",
    ),
    switched(
        "whole_rows",
        "Every head gets the whole row: nothing is shared out.",
        "How many numbers go in, and how many should come out?",
        cut="whole rows",
    ),
    switched(
        "first_head_again",
        "Every head gets the first d/H columns.",
        "Which head holds the last column?",
        cut="first head again",
    ),
    switched(
        "words_backwards",
        "In each head the words stand in reverse order.",
        "Which word should row 0 of a head hold?",
        cut="words shared out",
    ),
    switched(
        "no_check",
        "A width that does not divide is not refused by you: torch stops with a RuntimeError about shapes.",
        _REFUSE,
        check="none",
    ),
    switched(
        "numbers_not_named",
        "Your ValueError names neither the width nor the number of heads.",
        _REFUSE,
        check="no numbers",
    ),
    switched(
        "heads_not_named", "Your ValueError names the width and not the number of heads.", _REFUSE, check="width only"
    ),
    switched("width_not_named", "Your ValueError does not name the width of the row.", _REFUSE, check="heads only"),
    switched(
        "assertion",
        "A width that does not divide ends in an AssertionError, which python -O leaves out.",
        "Which error is meant for a value that cannot be used?",
        check="assertion",
    ),
    switched(
        "type_error",
        "A width that does not divide ends in a TypeError, which is for values of the wrong type.",
        "Which error is meant for a value of the right type that cannot be used?",
        check="type error",
    ),
    switched(
        "heads_overlap",
        "Head h begins at column h, so neighbouring heads share columns.",
        "Which column is the first one of head 1 when each head is 3 wide?",
        cut="windows",
    ),
    Mistake(
        "tuple_of_heads",
        "Your result is a sequence of H tensors, not one tensor with an axis for the heads.",
        "Which function of torch makes one tensor of several, with a new axis?",
        answer=_tuple_of_heads,
    ),
    Mistake(
        "filled_up",
        "A width that does not divide is filled up with zeros in silence.",
        _REFUSE,
        answer=_narrow_last_head,
    ),
    Mistake(
        "rest_thrown_away",
        "Columns that are left over when the width does not divide are thrown away in silence.",
        _REFUSE,
        answer=_rest_thrown_away,
    ),
]

_MERGE_MISTAKES = [
    switched(
        "reshaped",
        "You reshape without turning back: a row of your result holds several words of one head.",
        "Which axis has to stand next to d_h before the two can become one?",
        join="reshaped",
    ),
    switched(
        "interleaved",
        "Your columns alternate: column 0 of every head, then column 1 of every head.",
        "In which columns of a row should head 0 stand?",
        join="interleaved",
    ),
    switched(
        "axes_1_and_3_swapped",
        "You swap heads with their columns over the words: a row of your result mixes words.",
        _AXES,
        join="axes 1 and 3",
    ),
    switched(
        "axes_2_and_3_swapped",
        "You swap words with the columns of a head: a row of your result holds one column of several words.",
        _AXES,
        join="axes 2 and 3",
    ),
    switched(
        "axes_0_and_1_swapped",
        "You swap texts with heads: rows of one text land in another.",
        "Change text 1: may anything of text 0 move?",
        join="axes 0 and 1",
    ),
    switched(
        "axes_0_and_2_swapped",
        "You swap texts with words: rows of one text land in another.",
        "Change text 1: may anything of text 0 move?",
        join="heads before batch",
    ),
    switched(
        "words_first",
        "You bring the words to the front before the reshape: rows of one text land in another.",
        "Change text 1: may anything of text 0 move?",
        join="words first",
    ),
    switched(
        "from_the_right",
        "The last head comes first in your rows.",
        "In which columns of a row should head 0 stand?",
        join="from the right",
    ),
    switched(
        "viewed",
        "You call view on a turned tensor: its numbers no longer lie in the order of its shape, and view stops.",
        "Which function makes a copy where one is needed?",
        join="viewed",
    ),
    switched("summed", "You add the heads up: rows come back d_h wide.", "How wide is a merged row?", join="summed"),
    switched("averaged", "You take the mean over the heads.", "How wide is a merged row?", join="averaged"),
    switched("first_head_only", "Only head 0 comes back.", "Where are the other heads?", join="first head"),
    switched("last_head_only", "Only the last head comes back.", "Where are the other heads?", join="last head"),
    switched(
        "one_below_another",
        "Your heads stand one below another: H·T rows, not H·d_h columns.",
        "How many rows has a text?",
        join="one below another",
    ),
    switched(
        "not_flattened",
        "The heads are turned back, and still an axis of their own.",
        "How many axes should come back?",
        join="not flattened",
    ),
    switched(
        "all_in_one_row",
        "You flatten one axis too many: all words of a text stand in one row.",
        "Which two axes become one?",
        join="all in one row",
    ),
    switched(
        "texts_in_one",
        "The texts of the batch are put one below another: the first axis is gone.",
        "How many axes should come back?",
        join="no batch",
    ),
    switched(
        "heads_last",
        "Your result is (B, T·d_h, H): the last axis counts heads.",
        "Which two axes become one?",
        join="on axis 2",
    ),
    switched(
        "columns_overwritten",
        "Each head is written over the one before, into the first columns: the other columns stay zero.",
        "Which columns of a row belong to head 1?",
        join="overwritten",
    ),
]

_LAYER_MISTAKES = [
    switched(
        "split_without_transpose",
        "Your heads hold pieces of words: they are split by a reshape that is not followed by a transpose.",
        "Which words are in row 1 of head 0?",
        cut="reshaped",
    ),
    switched(
        "merged_without_transpose",
        "Your heads are merged by a reshape alone: a row holds several words of one head.",
        "Change the last word: which rows of your result move?",
        join="reshaped",
    ),
    switched(
        "scaled_by_width",
        "Your scores are divided by the root of the whole width d: with more heads the patterns get flatter.",
        "How many products are added up in one score of one head?",
        scale="d",
    ),
    switched("unscaled", "Your scores are not scaled.", "How does their spread grow with d_h?", scale="nothing"),
    switched(
        "scaled_twice",
        "Your scores are divided by d_h itself.",
        "How does the spread of a sum grow with its number of terms?",
        scale="d_h",
    ),
    switched(
        "scaled_by_heads",
        "Your scores are divided by the root of the number of heads.",
        "How many products are added up in one score of one head?",
        scale="heads",
    ),
    switched(
        "scaled_by_words",
        "Your scores are divided by the root of the number of words.",
        "How many products are added up in one score of one head?",
        scale="words",
    ),
    switched(
        "multiplied_by_the_root",
        "Your scores are multiplied by the root of d_h.",
        "Should wider heads have sharper patterns?",
        scale="inverse",
    ),
    switched("unmasked", "Your words look ahead: there is no mask.", "What may row 0 see?", mask="none"),
    switched(
        "masked_late",
        "Your mask comes after the softmax: rows of the pattern no longer sum to 1.",
        "What do the weights of row 0 sum to?",
        mask="after",
    ),
    switched(
        "zeros_for_hidden",
        "Hidden scores become 0, and exp(0) is 1: words ahead keep weight.",
        "Which score gets the weight 0?",
        mask="zeros",
    ),
    switched("future_only", "Your mask is turned round: words see the future.", "What may row 0 see?", mask="ahead"),
    switched("one_word_ahead", "Your words may look one word ahead.", "What may row 0 see?", mask="one ahead"),
    switched(
        "own_word_hidden",
        "Your words may not look at themselves, and row 0 has nothing at all.",
        "What may row 0 see?",
        mask="own hidden",
    ),
    switched("no_softmax", "Your scores meet the values without a softmax.", "What do rows sum to?", mask="no softmax"),
    switched(
        "over_the_queries",
        "Your softmax runs over the words that look: columns sum to 1, not rows.",
        "Which axis of the scores counts the words looked at?",
        axis=-2,
    ),
    switched(
        "w_o_forgotten",
        "W_o is not used: the merged heads come back as they are.",
        "Which of the inputs can change without changing your result?",
        out="forgotten",
    ),
    switched(
        "w_o_turned", "W_o is turned before it is used.", "Rows are multiplied from which side here?", out="turned"
    ),
    switched(
        "added_to_the_row",
        "You add x to the result: that is the business of whoever calls the layer.",
        "What comes back when W_v is all zeros?",
        out="added",
    ),
    switched(
        "matrices_turned",
        "W_q, W_k and W_v are turned before they are used, as nn.Linear would.",
        "In which layout do these matrices come: x @ W, or x @ W.T?",
        project="turned",
    ),
    switched(
        "q_and_k_swapped",
        "Queries are made with W_k and keys with W_q.",
        "Which matrix says what a word looks for?",
        project="q and k swapped",
    ),
    switched(
        "keys_as_values",
        "Your blend is one of keys: W_v is not used.",
        "What is handed over?",
        project="keys as values",
    ),
    switched(
        "queries_as_keys",
        "Your keys are queries: W_k is not used.",
        "Which of the inputs can change without changing your result?",
        project="queries as keys",
    ),
    switched(
        "values_not_projected",
        "The rows themselves are handed over: W_v is not used.",
        "Which of the inputs can change without changing your result?",
        project="values forgotten",
    ),
    switched(
        "nothing_projected",
        "The rows are split as they are: W_q, W_k and W_v are not used.",
        "Which of the inputs can change without changing your result?",
        project="all forgotten",
    ),
    switched(
        "one_head",
        "Your layer has one wide head, whatever n_heads says.",
        "Does your result change with n_heads?",
        heads="one",
    ),
    switched(
        "patterns_averaged",
        "Your heads all use the mean of their patterns.",
        "May two heads look at different words?",
        heads="mean pattern",
    ),
    switched(
        "heads_interleaved",
        "Head h takes every H-th column of queries, keys and values, from column h on.",
        "Which columns belong to head 0?",
        cut="interleaved",
    ),
    switched(
        "merged_in_turns",
        "Merged columns alternate between the heads.",
        "In which columns of a merged row should head 0 stand?",
        join="interleaved",
    ),
    Mistake(
        "heads_look_at_heads",
        "After your split no axes are swapped: inside each word the heads look at each other, and words never meet.",
        "What is the shape of your scores, and which of its axes count words?",
        answer=_heads_as_words,
    ),
    Mistake(
        "over_the_batch",
        "Your words look at the words in the same place of other texts: the first axis is taken for the words.",
        "Which axis counts words for nn.MultiheadAttention, if nobody says batch_first?",
        answer=_over_the_batch,
    ),
    Mistake(
        "pattern_too",
        "Your result is a pair, the blends and the pattern.",
        "How many tensors should come back?",
        answer=_with_pattern,
    ),
    Mistake(
        "first_pattern_for_all",
        "All your heads use the pattern of head 0.",
        "May two heads look at different words?",
        answer=_first_head_for_all,
    ),
    Mistake(
        "over_the_heads",
        "Your softmax runs over the heads: they compete for each pair of words.",
        "Which axis of the scores counts the words looked at?",
        answer=_over_the_heads,
    ),
    Mistake(
        "rows_split_before_the_matrices",
        "You cut the rows first, and each head sees d/H columns of the row through a block of each matrix.",
        "May head 0 ask about the last column of a row?",
        answer=_rows_split_first,
    ),
    switched(
        "k_and_v_swapped",
        "Keys and values have changed places: words are found by W_v and hand over W_k.",
        "Which of the three views meets the queries?",
        project="k and v swapped",
    ),
    switched(
        "true_means_blocked",
        "Your mask hides the past and shows what lies ahead; the last row has nothing and is NaN.",
        "What does True mean in this course's masks: may look, or is blocked?",
        mask="read as blocked",
    ),
    Mistake(
        "masked_over_the_heads",
        "Your softmax runs over the heads, axis 1: where a pair of words is masked in all heads, it is NaN.",
        "(B, H, T, T): which axis holds the words that are looked at?",
        answer=_masked_over_the_heads,
    ),
    Mistake(
        "heads_look_at_heads_unmasked",
        "No axes are swapped after your split and nothing is masked: in each word all heads look at all heads.",
        "Which two axes does q @ k.mT compare after your split?",
        answer=partial(_heads_as_words, mask="none"),
    ),
    Mistake(
        "own_block_of_w_o",
        "Each head meets only its own square of W_o, so it can write into its own columns alone.",
        "Into which columns of the result may head 0 write?",
        answer=_own_block_of_w_o,
    ),
]

_ROW = "Which column of row t belongs to the word just before it?"

_PREVIOUS_MISTAKES = [
    switched("own_weight", "You average the weight that words give to themselves.", _ROW, diagonal=0),
    switched("next_word", "You average the weight that words give to the word after them.", _ROW, diagonal=1),
    switched("two_back", "You average the weight that words give to the word two before.", _ROW, diagonal=-2),
    switched(
        "summed",
        "You add the weights up: longer texts get larger scores.",
        "What is the largest score that a head should get?",
        take="sum",
    ),
    switched(
        "divided_by_t",
        "You divide by T, and there are T - 1 rows with a word before them.",
        "What is the score of a head that always gives 1 to the word before?",
        take="by T",
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
    switched("largest", "You take the largest weight, not the mean.", "Does every row count?", take="largest"),
    switched("smallest", "You take the smallest weight, not the mean.", "Does every row count?", take="smallest"),
    switched("median", "You take the median of the weights, not the mean.", "Does every row count?", take="middle"),
    switched("last_row_only", "Only the weight of the last row counts.", "Does every row count?", take="last"),
    switched("row_1_only", "Only the weight of row 1 counts.", "Does every row count?", take="first"),
    switched(
        "row_1_left_out",
        "You leave out row 1, which has a word before it.",
        "Which is the first row with a word before it?",
        take="without the first",
    ),
    switched("axis_kept", "An axis of length 1 is left over.", "Which shape has one number a head?", take="axis kept"),
    Mistake(
        "wraps_round",
        "Your row 0 counts with its last column: index -1 is the last one, not the one before the first.",
        "Which word stands before word 0?",
        answer=_wraps_round,
    ),
    Mistake(
        "counts_rows",
        "You count the rows whose best word is the one before, whatever its weight.",
        "Is a weight of 0.4 the same as one of 0.9?",
        answer=_most_looked_at,
    ),
    Mistake("first_word", "You average the weight on the first word of the text.", _ROW, answer=_first_column),
    Mistake(
        "whole_block",
        "You average a whole block of the pattern: all rows from 1 on with all columns but the last.",
        "How many weights of each row should count?",
        answer=_column_means,
    ),
    Mistake(
        "all_words_before",
        "You add up the weight on all words before, not only on the one just before.",
        "How many weights of each row should count?",
        answer=_all_before,
    ),
    Mistake(
        "first_two_axes",
        "Your diagonal runs over the first two axes: with layers and heads in front these are not rows and columns.",
        "Which axes of (L, H, T, T) are rows and columns?",
        answer=_wrong_axes,
    ),
    Mistake(
        "starts_at_row_0",
        "Your sum has a row too many: row 0 counts with its last column, and you divide by T - 1.",
        "Which word stands before word 0?",
        answer=_round_and_one_less,
    ),
    Mistake(
        "last_row_left_out",
        "Your last row does not count, in the sum and in what you divide by.",
        "Which rows does range(1, T - 1) stand for?",
        answer=partial(_stops_early, less=2),
    ),
    Mistake(
        "last_row_counts_as_zero",
        "Your last row is missing from the sum, and you divide as if it were there.",
        "Which rows does range(1, T - 1) stand for?",
        answer=partial(_stops_early, less=1),
    ),
]


# --- unusual, and right ----------------------------------------------------------------------------------------------


def _split_by_hand(x: Tensor, n_heads: int) -> Tensor:
    import torch

    d_h, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError(f"d_model = {x.shape[-1]}, n_heads = {n_heads}: the rest is {rest}")
    return torch.stack([x[..., h * d_h : (h + 1) * d_h] for h in range(n_heads)], dim=1)


def _split_permuted(x: Tensor, n_heads: int) -> Tensor:
    B, T, d = x.size()
    if d % n_heads != 0:
        raise ValueError("cannot divide %d by %d" % (d, n_heads))  # noqa: UP031
    return x.view(B, T, n_heads, d // n_heads).permute(0, 2, 1, 3).contiguous()


def _split_chunks(x: Tensor, n_heads: int) -> Tensor:
    import torch

    if x.shape[-1] // n_heads * n_heads != x.shape[-1]:
        raise ValueError(f"{n_heads} heads do not fit into {x.shape[-1]} columns")
    return torch.stack(x.chunk(n_heads, -1), 1)


def _merge_by_cat(x: Tensor) -> Tensor:
    return _cat(list(x.unbind(1)))


def _merge_contiguous(x: Tensor) -> Tensor:
    B, H, T, d_h = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d_h)


def _merge_in_a_loop(x: Tensor) -> Tensor:
    B, H, T, d_h = x.shape
    merged = x.new_zeros(B, T, H * d_h)
    for h in range(H):
        merged[..., h * d_h : (h + 1) * d_h] = x[:, h]
    return merged


def _layer_sdpa(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    from torch.nn import functional as F

    q, k, v = (_split_by_hand(x @ W, n_heads) for W in (W_q, W_k, W_v))
    return _merge_contiguous(F.scaled_dot_product_attention(q, k, v, is_causal=True)) @ W_o


def _layer_module(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    import torch

    T, d = x.shape[1:]
    layer = torch.nn.MultiheadAttention(d, n_heads, bias=False, batch_first=True, dtype=x.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([W_q, W_k, W_v], dim=1).T)
        layer.out_proj.weight.copy_(W_o.T)
        return layer(x, x, x, attn_mask=torch.ones(T, T).triu(1).bool(), need_weights=False)[0]


def _layer_einsum(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    import torch

    d, T = x.shape[-1], x.shape[1]
    q, k, v = (torch.einsum("btd,dhe->bhte", x, W.reshape(d, n_heads, -1)) for W in (W_q, W_k, W_v))
    scores = torch.einsum("bhte,bhse->bhts", q * (d // n_heads) ** -0.5, k)
    pattern = scores.masked_fill(torch.ones(T, T).tril() == 0, -1e9).softmax(-1)
    return torch.einsum("bhts,bhse,hef->btf", pattern, v, W_o.reshape(n_heads, -1, d))


def _layer_head_by_head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, W_o: Tensor, n_heads: int) -> Tensor:
    """Each head alone, with its own columns of three matrices and its own rows of the fourth; the pieces are added."""
    d_h = x.shape[-1] // n_heads
    total = x * 0
    for h in range(n_heads):
        own = slice(h * d_h, (h + 1) * d_h)
        q, k, v = x @ W_q[:, own], x @ W_k[:, own], x @ W_v[:, own]
        total = total + _filled(q @ k.mT / d_h**0.5, -1) @ v @ W_o[own]
    return total


def _previous_in_a_loop(pattern: Tensor) -> Any:
    T = pattern.shape[-1]
    return sum(pattern[..., t, t - 1] for t in range(1, T)) / (T - 1)


def _previous_by_index(pattern: Tensor) -> Tensor:
    import torch

    rows = torch.arange(1, pattern.shape[-1])
    return pattern[..., rows, rows - 1].mean(dim=-1)


def _previous_by_trace(pattern: Tensor) -> Tensor:
    import torch

    return torch.einsum("...tt->...", pattern[..., 1:, :-1]) / (pattern.shape[-1] - 1)


# --- the exercises ---------------------------------------------------------------------------------------------------

_SPLIT = Exercise(
    name="split_heads",
    chapter="07",
    summary="The columns of every row shared out among heads, side by side.",
    returns="(B, H, T, d/H)",
    reference=_split_heads,
    cases=_split_cases,
    template=_split_template,
    mistakes=paired(_SPLIT_MISTAKES, _split_template, LIKELY_IN_PAIRS),
    accepted={"slices, stacked": _split_by_hand, "view and permute": _split_permuted, "chunks": _split_chunks},
    hints=(
        "One row has d columns. Which of them does head 0 take, and which numbers come together in x[b, t]?",
        "Head 0 holds every word, in order: its row t is made of the first d/H columns of row t, and of nothing else.",
        "Look at three places: the shape that cuts the last axis in two, the swap of two axes after it, and the check.",
    ),
    framework="torch",
)

_MERGE = Exercise(
    name="merge_heads",
    chapter="07",
    summary="The heads of every word side by side in one row again.",
    returns="(B, T, H·d_h)",
    reference=_merge_heads,
    cases=_merge_cases,
    template=_merge_template,
    mistakes=paired(_MERGE_MISTAKES, _merge_template, LIKELY_IN_PAIRS),
    accepted={
        "unbound and joined": _merge_by_cat,
        "contiguous and view": _merge_contiguous,
        "a loop": _merge_in_a_loop,
    },
    hints=(
        "What did split_heads do last, and what undoes it?",
        "Row t of the result holds head 0 of word t, then head 1 of word t, and nothing of any other word.",
        "Look at the order of the axes before the last two become one: which two stand side by side there?",
    ),
    framework="torch",
)

_LAYER = Exercise(
    name="multi_head_attention",
    chapter="07",
    summary="Several causal heads side by side, merged and mixed by W_o.",
    returns="(B, T, d)",
    reference=_multi_head_attention,
    cases=_layer_cases,
    template=_layer_template,
    mistakes=paired(_LAYER_MISTAKES, _layer_template, LIKELY_IN_PAIRS),
    accepted={
        "SDPA": _layer_sdpa,
        "nn.MultiheadAttention": _layer_module,
        "einsum": _layer_einsum,
        "head by head, added": _layer_head_by_head,
    },
    hints=(
        "Which five steps lead from x to the result, and in which of them do the heads exist?",
        "Change the last word: only the last row moves. Change W_o: everything does. And one head is chapter 06's.",
        "Look at four places: where the split stands (before or after the matrices), the scale, the mask, and W_o.",
    ),
    framework="torch",
)

_PREVIOUS = Exercise(
    name="previous_token_score",
    chapter="07",
    summary="How much of their weight rows give to the row just before, in the mean.",
    returns="(…)",
    reference=_previous_token_score,
    cases=_previous_cases,
    template=_previous_template,
    mistakes=paired(_PREVIOUS_MISTAKES, _previous_template, LIKELY_IN_PAIRS),
    accepted={"a loop": _previous_in_a_loop, "by index": _previous_by_index, "a trace": _previous_by_trace},
    hints=(
        "In row 3 of a pattern, which column holds the weight on word 2?",
        "A head that gives 1 to the word before has the score 1, however long the text; row 0 has nothing before it.",
        "Look at three places: which diagonal, over which axes it runs, and how many rows the mean is taken over.",
    ),
    framework="torch",
)

EXERCISES: tuple[Exercise, ...] = (_SPLIT, _MERGE, _LAYER, _PREVIOUS)

# --- the questions ---------------------------------------------------------------------------------------------------

_BOTH = Question(
    name="07_one_pattern",
    chapter="07",
    prompt="What is the largest weight that one row of one pattern can give to boat and to left, the same to both?",
    right=0.5,
    because="A row sums to 1: what goes to one word is taken from the other.",
    tolerance=1e-6,
    wrong={
        1: "Both would get 1, and the row would sum to 2.",
        0.2: "That is an even share of five words. Could the other three get less?",
        0.643: "That is what boat gets when nobody else is asked for. What is left of 1 for the word left?",
        0: "Two weights of more than 0 are possible, as long as the row sums to 1.",
    },
    otherwise="What do the weights of a row sum to?",
    hints=("A row of a pattern sums to 1.",),
)

_FORGOTTEN = Question(
    name="07_forgotten_transpose",
    chapter="07",
    prompt="Rows (5, 4) are reshaped to (2, 5, 2): from which word come the numbers in row 1 of head 0?",
    right="the",
    because="Memory holds row 0 first, all four columns of it. They fill rows 0 and 1 of head 0.",
    choices=("the", "boat", "left", "bank"),
    wrong={
        "boat": "That would be a split. Which four numbers come first when the rows are read one after another?",
        "left": "Rows 0 and 1 of head 0 have four numbers. How many has the first word?",
        "bank": "bank is the last word, so its numbers come last.",
    },
    otherwise="Which numbers come first when all rows are read one after another?",
    hints=("reshape reads all numbers in order, and fills the new shape in order.",),
)

_COST = Question(
    name="07_multiply_adds",
    chapter="07",
    prompt="From 1 head to 8 at the same width: what becomes of the multiply-adds of scores and blends?",
    right="they stay the same",
    because="Eight times as many scores, each of them a sum of an eighth as many products.",
    choices=("an eighth", "they stay the same", "eight times as many"),
    wrong={
        "an eighth": "Each score gets cheaper by eight. How many scores are there now?",
        "eight times as many": "There are eight times as many scores. How many products are in each?",
    },
    otherwise="How many scores are there, and how many products are added up in each?",
    hints=("A score of a head is a sum of d/H products.",),
)

_BUG_SAYS = {
    "looks ahead": "Change a later word of text 0: no earlier row of text 0 moves.",
    "does not see itself": "Change a row, and its own output moves.",
    "rows do not sum to 1": "The softmax is torch's own: its rows sum to 1, over whatever they run.",
    "mixes batch entries": "Change text 1: does anything of text 0 move?",
    "scrambles words": "Output t of a text moves when its own row t is changed, and with no other row of that text.",
    "forgets order": "Chapter 08 asks for order. Here something is wrong before that.",
    "changes its input": "x is the same before and after the call.",
    "ignores the query": "Another W_q would give another result: queries count.",
}

_BUG = Question(
    name="07_bug",
    chapter="07",
    prompt="Which property does layer_2 break, although torch's own layer does the work?",
    right="mixes batch entries",
    because="Without batch_first=True torch's layer takes the first axis for the words: texts look at each other.",
    choices=PROPERTIES,
    wrong={choice: why for choice, why in _BUG_SAYS.items() if choice != "mixes batch entries"},
    otherwise="Which rows of which text move when one row is changed?",
    hints=("In which order does nn.MultiheadAttention want its axes, if nobody says otherwise?",),
)

_RESHAPE_SAYS = {
    "looks ahead": "The map is False above its diagonal.",
    "does not see itself": "The diagonal of the map is True everywhere.",
    "rows do not sum to 1": "The softmax is torch's own, and its rows sum to 1.",
    "mixes batch entries": "Each text is reshaped within itself: nothing of one gets into another.",
    "forgets order": "Look at the map: which words can row 3 not see at all, and is it order that decides?",
    "changes its input": "x is the same before and after the call.",
    "ignores the query": "Queries are used, those of half words.",
}

_BUG_RESHAPE = Question(
    name="07_bug_reshape",
    chapter="07",
    prompt="Which property does heads_1 break, although its map has nothing above the diagonal?",
    right="scrambles words",
    because="Pieces of words stand where words should: each head holds another part of the text, cut up.",
    choices=PROPERTIES,
    wrong=_RESHAPE_SAYS,
    otherwise="Which words does a head hold?",
    hints=("Print which word each number of head 0 comes from.",),
)
_SAME_HEAD = Question(
    name="07_same_head",
    chapter="07",
    prompt="The recited words change, the matrices do not: what does head 1.3 do with a period of 12 in place of 8?",
    right="it looks 11 back",
    because="It looks for the word after the last time its own word stood there: a relation, not a distance.",
    choices=("it looks 7 back", "it looks 11 back", "it looks nowhere in particular"),
    wrong={
        "it looks 7 back": "7 back is where it looked with a period of 8. What stood there?",
        "it looks nowhere in particular": "Nothing was trained on this text, and nothing was on the first one either.",
    },
    otherwise="Where stands the word that came after this one last time?",
    hints=("Last time the same word stood 12 back.",),
)

QUESTIONS: tuple[Question, ...] = (_BOTH, _FORGOTTEN, _COST, _BUG_RESHAPE, _SAME_HEAD, _BUG)

"""Chapter 06, the causal mask: the loss of the next word, who may look where, the masked pattern, the masked head.

Letters: B texts, T rows that ask, S rows that are asked, d_k width of a query or key, d_v width of a value,
V words in the vocabulary. In a mask True means "may look". References are torch's own functions.
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


def _next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits[:, :-1].reshape(-1, logits.shape[-1]), ids[:, 1:].reshape(-1))


def _causal_mask(T: int, S: int | None = None) -> Tensor:
    import torch

    S = T if S is None else S
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]


def _masked_pattern(scores: Tensor, mask: Tensor) -> Tensor:
    """Torch's attention with the scores as queries and unit vectors as keys and values: its blend is the pattern."""
    import torch
    from torch.nn import functional as F

    unit = torch.eye(scores.shape[-1], dtype=scores.dtype).expand(*scores.shape[:-2], -1, -1)
    return F.scaled_dot_product_attention(scores, unit, unit, attn_mask=mask, scale=1.0)


def _causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q, k, v, attn_mask=_causal_mask(q.shape[-2], k.shape[-2]))


# --- the loss, with switches -----------------------------------------------------------------------------------------

#: Which logits meet which ids.
SHIFTS: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "right": lambda logits, ids: (logits[:, :-1], ids[:, 1:]),
    "none": lambda logits, ids: (logits, ids),
    "itself": lambda logits, ids: (logits[:, :-1], ids[:, :-1]),
    "itself from 1": lambda logits, ids: (logits[:, 1:], ids[:, 1:]),
    "backwards": lambda logits, ids: (logits[:, 1:], ids[:, :-1]),
    "by two": lambda logits, ids: (logits[:, :-2], ids[:, 2:]),
    "rolled": lambda logits, ids: (logits, ids.roll(-1, dims=1)),
    "rolled back": lambda logits, ids: (logits, ids.roll(1, dims=1)),
    "batch": lambda logits, ids: (logits[:-1], ids[1:]),
    "last": lambda logits, ids: (logits[:, -2:-1], ids[:, -1:]),
    "first": lambda logits, ids: (logits[:, :1], ids[:, 1:2]),
    "without first": lambda logits, ids: (logits[:, 1:-1], ids[:, 2:]),
    "two ends": lambda logits, ids: (logits[:, :-2], ids[:, 1:-1]),
    "first text": lambda logits, ids: (logits[:1, :-1], ids[:1, 1:]),
    "last text": lambda logits, ids: (logits[-1:, :-1], ids[-1:, 1:]),
    "flat": lambda logits, ids: (logits.reshape(1, -1, logits.shape[-1])[:, :-1], ids.reshape(1, -1)[:, 1:]),
}


def _loss_template(
    logits: Tensor,
    ids: Tensor,
    shift: str = "right",
    scores: str = "log_softmax",
    take: str = "mean",
    sign: int = -1,
    mixed: bool = False,
    padding: int | None = None,
) -> Any:
    import torch

    said, wanted = SHIFTS[shift](logits, ids)
    if mixed:
        said = said.transpose(0, 1).reshape(said.shape)
    logs = _LOGS[scores](said)
    losses = sign * logs.gather(-1, wanted[..., None])[..., 0]
    if padding is not None:
        return losses[wanted != padding].mean()
    if take == "of the mean":
        return -torch.log(logs.exp().gather(-1, wanted[..., None]).mean())
    return _TAKES[take](losses)


#: What is taken for the logarithm of a probability.
_LOGS: dict[str, Callable[[Tensor], Tensor]] = {
    "log_softmax": lambda logits: logits.log_softmax(-1),
    "unstable": lambda logits: logits.softmax(-1).log(),
    "tiny eps": lambda logits: (logits.softmax(-1) + 1e-9).log(),
    "tinier eps": lambda logits: (logits.softmax(-1) + 1e-12).log(),
    "clamped": lambda logits: logits.softmax(-1).clamp(min=1e-9).log(),
    "eps": lambda logits: (logits.softmax(-1) + 1e-8).log(),
    "raw": lambda logits: logits,
    "logs of logits": lambda logits: logits.log(),
    "chances": lambda logits: logits.softmax(-1),
    "twice": lambda logits: logits.softmax(-1).log_softmax(-1),
    "base 2": lambda logits: logits.log_softmax(-1) / float(np.log(2)),
    "base 10": lambda logits: logits.log_softmax(-1) / float(np.log(10)),
    "over the words": lambda logits: logits.log_softmax(1),
    "over the texts": lambda logits: logits.log_softmax(0),
    "everything": lambda logits: logits.flatten().log_softmax(0).reshape(logits.shape),
    "no exp": lambda logits: (logits / logits.sum(-1, keepdim=True)).log(),
}

#: How the losses of all predictions (B, T-1) become one number.
_TAKES: dict[str, Callable[[Tensor], Any]] = {
    "mean": lambda losses: losses.mean(),
    "sum": lambda losses: losses.sum(),
    "sum of a text": lambda losses: losses.sum(1).mean(),
    "sum of a place": lambda losses: losses.mean(1).sum(),
    "by T": lambda losses: losses.sum() / (losses.shape[0] * (losses.shape[1] + 1)),
    "none": lambda losses: losses,
    "flat": lambda losses: losses.flatten(),
    "texts": lambda losses: losses.mean(1),
    "places": lambda losses: losses.mean(0),
    "exp": lambda losses: losses.mean().exp(),
    "median": lambda losses: losses.median(),
    "largest": lambda losses: losses.max(),
    "length 1": lambda losses: losses.mean().reshape(1),
}


def _over_all_places(logits: Tensor, ids: Tensor) -> Tensor:
    """The softmax runs over all T places, before the shift."""
    return -logits.log_softmax(1)[:, :-1].gather(-1, ids[:, 1:, None]).mean()


def _missing_chance(logits: Tensor, ids: Tensor) -> Tensor:
    return 1 - logits.softmax(-1)[:, :-1].gather(-1, ids[:, 1:, None]).mean()


def _error_rate(logits: Tensor, ids: Tensor) -> Tensor:
    return (logits[:, :-1].argmax(-1) != ids[:, 1:]).to(logits.dtype).mean()


def _accuracy(logits: Tensor, ids: Tensor) -> Tensor:
    return (logits[:, :-1].argmax(-1) == ids[:, 1:]).to(logits.dtype).mean()


def _plain_number(logits: Tensor, ids: Tensor) -> float:
    return _next_token_loss(logits, ids).item()


def _over_the_vocabulary(logits: Tensor, ids: Tensor) -> Tensor:
    return _next_token_loss(logits, ids) / logits.shape[-1]


def _ids_turned(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].T.flatten())


def _best_word(logits: Tensor, ids: Tensor) -> Tensor:
    return -logits[:, :-1].log_softmax(-1).max(-1).values.mean()


def _entropy(logits: Tensor, ids: Tensor) -> Tensor:
    logs = logits[:, :-1].log_softmax(-1)
    return -(logs.exp() * logs).sum(-1).mean()


def _squares(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return ((logits[:, :-1].softmax(-1) - F.one_hot(ids[:, 1:], logits.shape[-1])) ** 2).sum(-1).mean()


def _class_axis(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits[:, :-1], ids[:, 1:])


def _class_axis_unshifted(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits, ids)


def _viewed(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    said = logits[:, :-1]
    return F.cross_entropy(said.reshape(said.shape[0], said.shape[2], said.shape[1]), ids[:, 1:])


def _smoothed(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), label_smoothing=0.1)


def _as_number(logits: Tensor, ids: Tensor) -> Tensor:
    logs = logits[:, :-1].log_softmax(-1)
    return -logs[:, :, ids[:, 1:]].mean()


# --- the mask, with switches -----------------------------------------------------------------------------------------


def _mask_template(
    T: int,
    S: int | None = None,
    reach: int = 0,
    align: str = "right",
    side: str = "behind",
    form: str = "bool",
    columns: str = "right",
    none: str = "T",
) -> Any:
    import torch

    if S is None:
        if none == "forgotten":
            return torch.ones(T, S, dtype=torch.bool).tril()  # type: ignore[call-overload]
        S = T
    if columns != "right":
        T = S = T if columns == "T" else S
    diagonal = reach + {"right": S - T, "left": 0, "other way": T - S}[align]
    mask = _SIDES[side](torch.ones(T, S, dtype=torch.bool), diagonal)
    return _FORMS[form](mask)


#: Which part of the rectangle is True.
_SIDES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "behind": lambda ones, d: ones.tril(d),
    "blocked": lambda ones, d: ~ones.tril(d),
    "ahead": lambda ones, d: ones.triu(d),
    "all": lambda ones, d: ones,
    "none": lambda ones, d: ~ones,
    "diagonal": lambda ones, d: ones.tril(d) & ones.triu(d),
    "two": lambda ones, d: ones.tril(d) & ones.triu(d - 1),
    "new only": lambda ones, d: ones.tril(d) & ones.triu(d).any(0),
    "old only": lambda ones, d: ones.tril(d) & ones.tril(d).all(0),
    "turned": lambda ones, d: ones.tril(d).T,
    "flipped": lambda ones, d: ones.tril(d).flip(-1),
    "upside down": lambda ones, d: ones.tril(d).flip(0),
}


def _new_only(ones: Tensor, diagonal: int) -> Tensor:
    """Hides the S - T rows that stood there before: only the T new ones are seen."""
    mask = ones.tril(diagonal)
    mask[:, : max(0, ones.shape[1] - ones.shape[0])] = False
    return mask


def _older_last(ones: Tensor, diagonal: int) -> Tensor:
    """The triangle on the left and the S - T older rows, all seen, on the right of it."""
    import torch

    new, older = ones.shape[0], max(0, ones.shape[1] - ones.shape[0])
    return torch.cat([ones[:, :new].tril(), ones[:, :older]], dim=1)


_SIDES |= {"new only": _new_only, "older last": _older_last}


def _additive(mask: Tensor) -> Tensor:
    import torch

    return torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))


#: What a mask is made of.
_FORMS: dict[str, Callable[[Tensor], Any]] = {
    "bool": lambda mask: mask,
    "float": lambda mask: mask.float(),
    "additive": _additive,
    "finite": lambda mask: _additive(mask).clamp(min=-1e9),
    "two axes more": lambda mask: mask[None, None],
    "one axis more": lambda mask: mask[None],
}


# --- the masked pattern, with switches -------------------------------------------------------------------------------


def _pattern_template(
    scores: Tensor,
    mask: Tensor,
    reading: str = "right",
    hide: str = "fill",
    fill: float = float("-inf"),
    axis: int | None = -1,
    rise: str = "softmax",
    empty: str = "zeros",
    finish: str = "right",
    in_place: bool = False,
) -> Tensor:
    look = _READINGS[reading](scores, mask)
    if in_place:
        scores = scores.masked_fill_(~look, float("-inf"))
    hidden = _HIDES[hide](scores, look, fill)
    pattern = _RISES[rise](hidden, axis)
    if hide in _AFTER:
        pattern = _AFTER[hide](pattern, look)
    as_it_comes = fill not in (float("-inf"), 0.0) or hide in _NO_CARE
    if empty == "set" or (empty == "zeros" and not as_it_comes):
        pattern = pattern.masked_fill(~look.any(-1, keepdim=True), 0.0)
    return _FINISHES[finish](pattern)


def _triangle(scores: Tensor, diagonal: int) -> Tensor:
    import torch

    return torch.ones(scores.shape[-2:], dtype=torch.bool).tril(diagonal)


#: How the mask is read.
_READINGS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda scores, mask: mask,
    "blocked": lambda scores, mask: ~mask,
    "turned": lambda scores, mask: mask.mT,
    "own triangle": lambda scores, mask: _triangle(scores, 0),
    "own triangle at the end": lambda scores, mask: _triangle(scores, scores.shape[-1] - scores.shape[-2]),
    "and a triangle": lambda scores, mask: mask & _triangle(scores, scores.shape[-1] - scores.shape[-2]),
}


def _plus_minus_infinity(scores: Tensor, look: Tensor, fill: float) -> Tensor:
    return scores + (1 - look.to(scores.dtype)) * float("-inf")


#: How what may not be seen is hidden before the softmax.
_HIDES: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "fill": lambda scores, look, fill: scores.masked_fill(~look, fill),
    "multiply": lambda scores, look, fill: scores * look,
    "add": lambda scores, look, fill: scores + look.to(scores.dtype),
    "add 1e9": lambda scores, look, fill: scores + (~look).to(scores.dtype) * -1e9,
    "add 1e4": lambda scores, look, fill: scores + (~look).to(scores.dtype) * -1e4,
    "times infinity": _plus_minus_infinity,
    "nothing": lambda scores, look, fill: scores,
    "unhidden": lambda scores, look, fill: scores,
    "after": lambda scores, look, fill: scores,
    "after, filled": lambda scores, look, fill: scores,
    "after, twice": lambda scores, look, fill: scores,
    "after, eps": lambda scores, look, fill: scores,
}

#: Ways to hide after which nobody thinks of empty rows.
_NO_CARE = ("multiply", "add", "add 1e9", "add 1e4", "nothing")

#: What is done to the pattern when the mask comes after the softmax.
_AFTER: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "after": lambda pattern, look: pattern * look,
    "after, filled": lambda pattern, look: pattern.masked_fill(~look, float("-inf")),
    "after, twice": lambda pattern, look: (pattern * look).softmax(-1),
    "after, eps": lambda pattern, look: pattern * look / ((pattern * look).sum(-1, keepdim=True) + 1e-9),
}


def _naive(scores: Tensor, axis: int | None) -> Tensor:
    risen = scores.exp()
    return risen / (risen.sum(axis, keepdim=True) if axis is not None else risen.sum())


def _steady(scores: Tensor, axis: int | None) -> Tensor:
    if axis is None:
        return scores.flatten().softmax(0).reshape(scores.shape)
    return scores.softmax(axis)


_RISES: dict[str, Callable[[Tensor, int | None], Tensor]] = {
    "softmax": _steady,
    "naive": _naive,
    "never divided": lambda scores, axis: scores.exp(),
    "sigmoid": lambda scores, axis: scores.sigmoid(),
    "none": lambda scores, axis: scores,
    "log": lambda scores, axis: scores.log_softmax(-1),
    "twice": lambda scores, axis: scores.softmax(-1).softmax(-1),
    "scaled": lambda scores, axis: (scores / scores.shape[-1] ** 0.5).softmax(-1),
}

_FINISHES: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda pattern: pattern,
    "turned": lambda pattern: pattern.mT,
    "rounded": lambda pattern: (pattern * 1000).round() / 1000,
    "only full rows": lambda pattern: (
        pattern[..., pattern.sum(-1).flatten(0, -2).gt(0).any(0), :]
        if pattern.ndim > 2
        else pattern[pattern.sum(-1) > 0]
    ),
}


def _exponentials(scores: Tensor, mask: Tensor, steady: bool = True, eps: float = 0.0) -> Tensor:
    """exp times mask, divided by its sum: what many write in place of -inf."""
    risen = (scores - scores.amax(-1, keepdim=True) if steady else scores).exp() * mask
    return risen / (risen.sum(-1, keepdim=True) + eps)


def _overflow_to_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return _exponentials(scores, mask, steady=False).nan_to_num()


def _over_the_queries_no_nan(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).softmax(-2).nan_to_num()


def _over_axis_1_no_nan(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).softmax(1).nan_to_num()


def _infinities_times_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return _plus_minus_infinity(scores, mask, 0).softmax(-1).nan_to_num()


def _empty_rows_see_all(scores: Tensor, mask: Tensor) -> Tensor:
    look = mask | ~mask.any(-1, keepdim=True)
    return scores.masked_fill(~look, float("-inf")).softmax(-1)


def _scores_returned(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf"))


def _logarithms_returned(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).log_softmax(-1)


def _zeros_taken_for_hidden(scores: Tensor, mask: Tensor) -> Tensor:
    kept = scores * mask
    return kept.masked_fill(kept == 0, float("-inf")).softmax(-1)


def _zeros_taken_for_hidden_no_nan(scores: Tensor, mask: Tensor) -> Tensor:
    return _zeros_taken_for_hidden(scores, mask).nan_to_num()


def _masked_twice(scores: Tensor, mask: Tensor) -> Tensor:
    return (scores.softmax(-1) * mask).softmax(-1) * mask


# --- the masked head, with switches ----------------------------------------------------------------------------------


def _head_template(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    divisor: str = "right",
    align: str = "right",
    reach: int = 0,
    side: str = "behind",
    hide: str = "fill",
    axis: int = -1,
    product: str = "right",
    blend: str = "right",
    empty: str = "nan",
    fill: float = float("-inf"),
) -> Any:
    import torch

    scores = _PRODUCTS[product](q, k) / _DIVISORS[divisor](q, k, v)
    T, S = q.shape[-2], k.shape[-2]
    size = {"T": (T, T), "S": (S, S)}.get(align, (T, S))
    diagonal = reach + {"right": S - T, "other way": T - S}.get(align, 0)
    look = _SIDES[side](torch.ones(size, dtype=torch.bool), diagonal)
    pattern = _HIDES[hide](scores, look, fill).softmax(axis)
    if hide in _AFTER:
        pattern = _AFTER[hide](pattern, look)
    if empty == "zeros":
        pattern = pattern.masked_fill(~look.any(-1, keepdim=True), 0.0)
    return _BLENDS[blend](pattern, q, k, v)


#: What scores are divided by.
_DIVISORS: dict[str, Callable[[Tensor, Tensor, Tensor], float]] = {
    "right": lambda q, k, v: q.shape[-1] ** 0.5,
    "nothing": lambda q, k, v: 1.0,
    "d_k": lambda q, k, v: float(q.shape[-1]),
    "inverse": lambda q, k, v: q.shape[-1] ** -0.5,
    "d_v": lambda q, k, v: v.shape[-1] ** 0.5,
    "rows of q": lambda q, k, v: q.shape[-2] ** 0.5,
    "rows of k": lambda q, k, v: k.shape[-2] ** 0.5,
    "first axis": lambda q, k, v: q.shape[0] ** 0.5,
    "second axis": lambda q, k, v: q.shape[1] ** 0.5,
}

_PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda q, k: q @ k.mT,
    "swapped": lambda q, k: k @ q.mT,
    "as a matrix": lambda q, k: q @ k.transpose(0, 1),
    "axes 1 and 2": lambda q, k: q @ k.transpose(1, 2),
    "reshaped": lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
    "queries only": lambda q, k: q @ q.mT,
    "keys only": lambda q, k: k @ k.mT,
    "minus": lambda q, k: -(q @ k.mT),
}

_BLENDS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Any]] = {
    "right": lambda pattern, q, k, v: pattern @ v,
    "pattern": lambda pattern, q, k, v: pattern,
    "both": lambda pattern, q, k, v: (pattern @ v, pattern),
    "keys": lambda pattern, q, k, v: pattern @ k,
    "turned": lambda pattern, q, k, v: pattern.mT @ v,
    "last": lambda pattern, q, k, v: (pattern @ v)[..., -1:, :],
    "added": lambda pattern, q, k, v: pattern @ v + v,
}


def _no_softmax(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return (q @ k.mT / q.shape[-1] ** 0.5).tril(k.shape[-2] - q.shape[-2]) @ v


def _scaled_late(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _head_template(q, k, v, divisor="nothing") / q.shape[-1] ** 0.5


def _values_masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Puts the mask on the blend: the triangle cuts columns of the result."""
    pattern = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (pattern @ v).tril()


# --- the cases -------------------------------------------------------------------------------------------------------


def _loss_cases(rng: np.random.Generator) -> list[Case]:
    logits = np.array([[[2.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 3.0], [1.0, 0.0, 0.0, 2.0]]])
    ids = np.array([[1, 0, 3]])

    def draw(batch: int, rows: int, words: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((batch, rows, words)), rng.integers(0, words, (batch, rows))

    wide, said = draw(3, 4, 9)
    said[:, 1] = 0
    far = np.round(rng.standard_normal((2, 5, 6)) * 4, 1) + np.array([300.0, -300.0])[:, None, None]
    far[0, 0, 1] -= 1200
    far_ids = rng.integers(0, 6, (2, 5))
    far_ids[0, 1] = 1
    return [
        Case((logits, ids)),
        Case(draw(2, 5, 7)),
        Case((wide, said)),
        Case(draw(4, 2, 5), "texts of two words"),
        Case((far, far_ids), "scores in the hundreds"),
        Case(draw(2, 3, 4), "the loss, and its slope for training", script="loss_and_slope"),
    ]


def _mask_cases(rng: np.random.Generator) -> list[Case]:
    rows, more, many = int(rng.integers(4, 7)), int(rng.integers(2, 5)), int(rng.integers(6, 10))
    return [
        Case((3,)),
        Case((3, 5), "the rows asked for are the last 3 of 5"),
        Case((1, many), f"one new row, and {many} rows to look at"),
        Case((1,), "one row alone"),
        Case((rows, rows + more), f"the rows asked for are the last {rows} of {rows + more}"),
        Case((rows, rows), "as many rows as there are to look at"),
        Case((2 * rows + 1,)),
    ]


def _triangle_of(T: int, S: int) -> np.ndarray:
    return np.tril(np.ones((T, S), dtype=bool), S - T)


def _pattern_cases(rng: np.random.Generator) -> list[Case]:
    x = lesson.rows()
    sentence = x @ lesson.W_Q @ (x @ lesson.W_K).T / np.sqrt(2)
    small = np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 1.0]])
    padding = np.arange(6) < np.array([6, 3])[:, None, None]
    hollow = np.ones((4, 6), dtype=bool)
    hollow[1] = False
    hollow[2, [0, 3, 5]] = hollow[3, :5] = False
    ragged = np.array([[1, 0, 1], [0, 1, 1]], dtype=bool)
    # One row far up and one far down, and what is hidden is no better than what is seen.
    steps = rng.permutation(5).astype(float)
    high = np.stack([20000 + steps, -20000 + steps[::-1], steps / 2])
    high[:, 3:] = high[:, :1]
    return [
        Case((small, ragged)),
        Case((sentence, _triangle_of(5, 5)), "the running sentence, causal"),
        Case((rng.standard_normal((2, 3, 4, 7)), _triangle_of(4, 7)), "texts and heads, 4 rows ask 7"),
        Case((rng.standard_normal((2, 5, 6)), padding), "a mask (B, 1, S), one for each text"),
        Case((high, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 0, 1, 1, 1]], dtype=bool)), "scores of ±20000"),
        Case((rng.standard_normal((3, 4, 6)), hollow), "row 1 has nothing to look at"),
    ]


def _head_cases(rng: np.random.Generator) -> list[Case]:
    def draw(lead: tuple[int, ...], asks: int, asked: int, d_k: int, d_v: int, note: str = "") -> Case:
        sizes = ((*lead, asks, d_k), (*lead, asked, d_k), (*lead, asked, d_v))
        return Case(tuple(rng.standard_normal(size) for size in sizes), note)

    q = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, -1.0]])
    k = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 2.0]])
    v = np.array([[1.0, 0.0, 4.0], [0.0, 1.0, 8.0]])
    x = lesson.rows()
    return [
        Case((q, k, v)),
        Case((x @ lesson.W_Q, x @ lesson.W_K, x @ lesson.W_V), "the running sentence"),
        draw((), 3, 7, 5, 4, "the 3 rows that ask are the last of 7"),
        draw((), 1, 6, 3, 5, "one row asks, the last of 6"),
        draw((3,), 5, 5, 7, 4, "one leading axis"),
        draw((2, 3), 4, 6, 9, 5, "two leading axes, the 4 rows that ask are the last of 6"),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone.
LIKELY_IN_PAIRS = """
unshifted backwards rolled summed summed_over_a_text sign_missing softmax_twice base_2 unstable eps_added
chances_for_logs perplexity
own_word_hidden one_word_ahead aligned_upper_left additive blocked_handed_to_torch
true_means_blocked future_only numbers_for_booleans
no_shape_without_s
nan_on_empty_rows over_the_queries over_axis_1 over_the_first_axis overflow mask_turned
unmasked unscaled divided_by_d_k by_width_of_values after_the_softmax zeros_for_hidden mask_added
""".split()


_PAIRING = "Row t has read the words 0 to t. Which word of ids should it say?"
_MEAN = "A batch twice as large, of the same kind: should the loss be another number?"

_LOSS_MISTAKES = [
    switched(
        "unshifted",
        "Each row is asked for the word that it has read: your loss rewards repeating it.",
        _PAIRING,
        shift="none",
    ),
    switched(
        "unshifted_but_shorter",
        "You leave out the last row and the last word, so each row is still asked for the word that it has read.",
        _PAIRING,
        shift="itself",
    ),
    switched(
        "unshifted_from_the_second",
        "You leave out the first row and the first word, so each row is still asked for the word that it has read.",
        _PAIRING,
        shift="itself from 1",
    ),
    switched(
        "backwards",
        "Your rows are asked for the word before, not for the word after.",
        "Which row has not read ids[:, 1] yet: row 0 or row 2?",
        shift="backwards",
    ),
    switched(
        "by_two",
        "Your rows are asked for the word after the next.",
        "Which word does row 0 have to say?",
        shift="by two",
    ),
    switched(
        "rolled",
        "Your last row is asked for the first word of its text: roll brings round what falls off the end.",
        "What is the next word after the last one?",
        shift="rolled",
    ),
    switched(
        "rolled_back",
        "Your ids are rolled the wrong way: rows are asked for the word before, and row 0 for the last word.",
        _PAIRING,
        shift="rolled back",
    ),
    switched(
        "shifted_over_the_batch",
        "You shift over axis 0: each text is asked for the words of the text after it.",
        "Which axis of ids counts the words of a text?",
        shift="batch",
    ),
    switched(
        "across_texts",
        "You shift after flattening: the last row of a text is asked for the first word of the following text.",
        "Which word of the flat row stands after the last word of text 0?",
        shift="flat",
    ),
    switched(
        "last_word_only",
        "Only the last word of each text counts in your loss.",
        "How many rows of a text have a next word to say?",
        shift="last",
    ),
    switched(
        "first_row_only",
        "Only the first row of each text counts in your loss.",
        "How many rows of a text have a next word to say?",
        shift="first",
    ),
    switched(
        "row_0_left_out",
        "The second word of each text is never asked for: you leave out row 0.",
        "Does row 0 have a next word to say?",
        shift="without first",
    ),
    switched(
        "last_word_left_out",
        "The last word of each text is never asked for: you leave out one word too many.",
        "How many words of a text have a word before them?",
        shift="two ends",
    ),
    switched("first_text_only", "Only the first text of the batch counts.", _MEAN, shift="first text"),
    switched("last_text_only", "Only the last text of the batch counts.", _MEAN, shift="last text"),
    switched("summed", "Your loss is a sum over all predictions, not their mean.", _MEAN, take="sum"),
    switched(
        "summed_over_a_text",
        "You add up the losses inside a text and take the mean over the texts: longer texts get larger losses.",
        "How many predictions are there altogether, and by how many do you divide?",
        take="sum of a text",
    ),
    switched(
        "summed_over_the_texts",
        "You take the mean inside each text and add the texts up: larger batches get larger losses.",
        _MEAN,
        take="sum of a place",
    ),
    switched(
        "divided_by_t",
        "You divide by T for each text, and there are T - 1 predictions in it.",
        "How many words of a text have a word before them?",
        take="by T",
    ),
    switched(
        "not_reduced",
        "Your result holds one loss for each prediction, not their mean.",
        "How many numbers should come back?",
        take="none",
    ),
    switched(
        "not_reduced_and_flat",
        "Your result is a flat row of losses, one for each prediction, not their mean.",
        "How many numbers should come back?",
        take="flat",
    ),
    switched(
        "one_for_each_text", "Your result holds one loss for each text.", "Which axis is still there?", take="texts"
    ),
    switched(
        "one_for_each_place", "Your result holds one loss for each place.", "Which axis is still there?", take="places"
    ),
    switched(
        "perplexity",
        "Your result is e to the mean loss, which is called perplexity.",
        "What is the loss of a prediction that gives the right word all the chances?",
        take="exp",
    ),
    switched("median", "Your result is the median of the losses, not their mean.", _MEAN, take="median"),
    switched("largest", "Your result is the largest loss of all.", _MEAN, take="largest"),
    switched(
        "mean_before_the_log",
        "You average the chances of the right words first and take the logarithm of that.",
        "One word gets all the chances, the other none: what is the mean loss of the two?",
        take="of the mean",
    ),
    switched(
        "axis_kept",
        "Your result is a row with one number in it.",
        "Which shape has a single number, () or (1,)?",
        take="length 1",
    ),
    switched("sign_missing", "Your loss is negative: a logarithm of a chance is never above 0.", _MEAN, sign=1),
    switched(
        "unstable",
        "Your chances become 0 before the logarithm is taken, so large scores give an infinite loss.",
        "What is log(softmax(scores)) when the right word's score lies 1000 below the best?",
        scores="unstable",
    ),
    switched(
        "tiny_eps_added",
        "You add a billionth to the chances before the logarithm: the loss is a little too small, and it stops at 21.",
        "Is there a way to log(softmax) that never meets a zero?",
        scores="tiny eps",
    ),
    switched(
        "eps_added",
        "You add a small constant to the chances before the logarithm: the loss is too small, and it stops growing.",
        "Is there a way to log(softmax) that never meets a zero?",
        scores="eps",
    ),
    switched(
        "tinier_eps_added",
        "You add a number like 1e-12 to the chances before the logarithm: the loss cannot grow above 28.",
        "Is there a way to log(softmax) that never meets a zero?",
        scores="tinier eps",
    ),
    switched(
        "clamped",
        "Your chances are held above a billionth before the logarithm: the loss cannot grow above 21.",
        "Is there a way to log(softmax) that never meets a zero?",
        scores="clamped",
    ),
    switched(
        "no_softmax",
        "Your logits go into the mean as they are: they are no logarithms of chances.",
        "What do the exponentials of a row of your numbers sum to?",
        scores="raw",
    ),
    switched(
        "log_of_logits",
        "You take the logarithm of the logits themselves, and some of them are negative.",
        "What has to be done to logits before they are chances?",
        scores="logs of logits",
    ),
    switched(
        "chances_for_logs",
        "Your loss is minus the mean chance of the right word: no logarithm is taken.",
        "How much worse is a chance of 0.001 than one of 0.01, in your loss?",
        scores="chances",
    ),
    switched(
        "softmax_twice",
        "A softmax is taken twice: cross_entropy takes one of its own.",
        "What does F.cross_entropy expect: logits or chances?",
        scores="twice",
    ),
    switched(
        "base_2", "Your logarithms have base 2: the loss comes in bits.", "In which unit is a nat?", scores="base 2"
    ),
    switched("base_10", "Your logarithms have base 10.", "Which base has log in PyTorch?", scores="base 10"),
    switched(
        "over_the_words_of_a_text",
        "Your softmax runs over axis 1: the rows of a text share the chances, not the words of the vocabulary.",
        "Among which candidates is the next word chosen?",
        scores="over the words",
    ),
    switched(
        "over_the_texts",
        "Your softmax runs over axis 0: the texts of the batch share the chances.",
        "Among which candidates is the next word chosen?",
        scores="over the texts",
    ),
    switched(
        "over_everything",
        "All logits of the batch share one softmax.",
        "Among which candidates is the next word chosen?",
        scores="everything",
    ),
    switched(
        "no_exp",
        "Your logits are divided by their sum without exp.",
        "What makes every logit positive, however low it is?",
        scores="no exp",
    ),
    switched(
        "texts_mixed",
        "You flatten logits and ids in different orders: scores of one text meet words of another.",
        "In which order do texts and places come in your flat logits, and in which in your flat ids?",
        mixed=True,
    ),
    switched(
        "word_0_ignored",
        "Predictions whose right word has the id 0 are left out.",
        "Which word of the vocabulary has the id 0, and is it no word?",
        padding=0,
    ),
    Mistake(
        "error_rate",
        "Your result is the share of rows whose best word is wrong: a count, which has no slope to train on.",
        "Does your number move when a logit moves a little?",
        answer=_error_rate,
    ),
    Mistake(
        "accuracy",
        "Your result is the share of rows whose best word is right.",
        "Does your number move when a logit moves a little, and should it fall in training?",
        answer=_accuracy,
    ),
    Mistake(
        "no_slope",
        "Your number is right, but it is cut off from the logits (item, detach, …): nothing can be trained with it.",
        "What does loss.backward() follow from the loss back to the logits?",
        answer=_plain_number,
    ),
    Mistake(
        "over_the_vocabulary",
        "You take the mean over the vocabulary as well: V words a row, of which one counts.",
        "How many losses are there, and by how many do you divide?",
        answer=_over_the_vocabulary,
    ),
    Mistake(
        "ids_turned",
        "Your ids are flattened place by place and your logits text by text: scores meet words of other texts.",
        "In which order do texts and places come in your flat logits, and in which in your flat ids?",
        answer=_ids_turned,
    ),
    Mistake(
        "best_word",
        "Your loss asks for the word with the best score, whatever word really follows.",
        "Which of the two inputs can change without changing your result?",
        answer=_best_word,
    ),
    Mistake(
        "entropy",
        "Your result is the entropy of the chances: ids are never used.",
        "Which of the two inputs can change without changing your result?",
        answer=_entropy,
    ),
    Mistake(
        "squared_differences",
        "Your loss is a sum of squared differences between chances and a row of zeros with one 1.",
        "Which logarithm does a cross-entropy take?",
        answer=_squares,
    ),
    Mistake(
        "classes_on_the_wrong_axis",
        "F.cross_entropy gets three axes: it takes axis 1 for the vocabulary, and that is your places.",
        "In which shapes does F.cross_entropy take logits and ids?",
        answer=_class_axis,
    ),
    Mistake(
        "classes_on_the_wrong_axis_unshifted",
        "F.cross_entropy gets the logits as they are: it takes axis 1 for the vocabulary, and nothing is shifted.",
        "In which shapes does F.cross_entropy take logits and ids?",
        answer=_class_axis_unshifted,
    ),
    Mistake(
        "viewed",
        "Your logits are reshaped to (B, V, T-1), not transposed: numbers of one row land in several.",
        "What does reshape do to the order of the numbers, and what does a transpose?",
        answer=_viewed,
    ),
    Mistake(
        "smoothed",
        "A tenth of the chances is asked for the wrong words: label smoothing is on.",
        "Which arguments does your cross-entropy get besides logits and ids?",
        answer=_smoothed,
    ),
    Mistake(
        "every_id_for_every_row",
        "Each row is held against all ids of the batch, not against its own next word.",
        "What shape does indexing with ids[:, 1:] give, and how many losses are in it?",
        answer=_as_number,
    ),
    Mistake(
        "over_all_places",
        "Your softmax runs over axis 1, the last row included: for each word, the places share the chances.",
        "Which numbers should sum to 1: those of one row, over the vocabulary, or those of one word?",
        answer=_over_all_places,
    ),
    Mistake(
        "missing_chance",
        "Your result is 1 minus the mean chance of the right words: there is no logarithm.",
        "How much worse is a chance of 0.001 than one of 0.01, in your loss and in a logarithm?",
        answer=_missing_chance,
    ),
]

_SELF = "May a word look at itself?"
_LAST = "T = 2 new rows, S = 5 to look at: which of the five is the first new row itself?"
_TRUE = "What does True mean in this course's masks: may look, or is blocked?"

_MASK_MISTAKES = [
    switched("own_word_hidden", "Your rows may not look at themselves, and row 0 at nothing.", _SELF, reach=-1),
    switched("one_word_ahead", "Your rows may look one word ahead.", "Which word has row 0 to predict?", reach=1),
    switched(
        "two_words_behind",
        "Your rows see neither themselves nor the word before.",
        "Which words may row 1 look at?",
        reach=-2,
    ),
    switched(
        "aligned_upper_left",
        "Your triangle starts in the upper left corner: with S > T the new rows are taken for the first, not the last.",
        _LAST,
        align="left",
    ),
    switched("aligned_the_other_way", "Your triangle is shifted by T - S.", _LAST, align="other way"),
    switched(
        "true_means_blocked",
        "Your mask says True for what is blocked: it is the right one turned round.",
        _TRUE,
        side="blocked",
    ),
    switched(
        "future_only",
        "Your rows look at themselves and at what lies ahead: the triangle is the upper one.",
        "Which words has row 0 read already?",
        side="ahead",
    ),
    switched("everything", "Your mask lets every row look everywhere.", "Which word may row 0 not see?", side="all"),
    switched("nothing", "Your mask lets no row look anywhere.", "Which word may row 0 see?", side="none"),
    switched("own_word_only", "Your rows look at themselves and at nothing else.", _PAIRING, side="diagonal"),
    switched(
        "one_word_back",
        "Your rows look at themselves and at one word before, no further.",
        "How far back may a word look?",
        side="two",
    ),
    switched(
        "new_rows_only",
        "Your new rows do not see the S - T rows that stood there before them.",
        "Were the older rows read before the new ones or after?",
        side="new only",
    ),
    switched(
        "older_rows_last",
        "Your triangle stands on the left and the older rows on the right of it, as if they came last.",
        "In which columns stand the rows that were there before?",
        side="older last",
    ),
    switched(
        "old_rows_only",
        "Every row gets what the first of the new rows may see: the new ones do not see each other.",
        "May the last row look at the one before it?",
        side="old only",
    ),
    switched(
        "turned",
        "Your rows are keys and your columns queries: the shape is (S, T).",
        "Which axis of a mask belongs to the word that looks?",
        side="turned",
    ),
    switched("flipped", "Your triangle is mirrored left to right.", "Which words may row 0 see?", side="flipped"),
    switched("upside_down", "Your first row sees the most and your last the least.", _PAIRING, side="upside down"),
    switched(
        "numbers_for_booleans",
        "Your mask holds the numbers 0 and 1, not True and False: libraries add numbers to the scores.",
        "Which dtype has your result?",
        form="float",
    ),
    switched(
        "additive",
        "Your mask holds 0 and -inf: that is the additive convention.",
        "Which of the three conventions does the exercise ask for?",
        form="additive",
    ),
    switched(
        "additive_and_finite",
        "Your mask holds 0 and -1e9: that is the additive convention.",
        "Which of the three conventions does the exercise ask for?",
        form="finite",
    ),
    switched(
        "two_axes_added",
        "Your mask has shape (1, 1, T, S).",
        "How many axes does the exercise ask for?",
        form="two axes more",
    ),
    switched(
        "one_axis_added",
        "Your mask has shape (1, T, S).",
        "How many axes does the exercise ask for?",
        form="one axis more",
    ),
    switched(
        "square_of_t",
        "S is not used: your mask has shape (T, T).",
        "How many columns has the mask of 3 rows that look at 5?",
        columns="T",
    ),
    switched(
        "square_of_s",
        "T is not used: your mask has shape (S, S).",
        "How many rows has the mask of 3 rows that look at 5?",
        columns="S",
    ),
    switched(
        "no_shape_without_s",
        "Without S your function fails: None is no number.",
        "What should S be when it is left out?",
        none="forgotten",
    ),
]

_EMPTY = "What is the sum of exp(-inf) over a row, and what is 0 divided by it?"
_BEFORE = "Print the sums of your rows. Where did the missing weight go, and could it have gone elsewhere?"

_PATTERN_MISTAKES = [
    switched(
        "after_the_softmax",
        "Your mask comes after the softmax: rows lose the weight of what is hidden and never get it back.",
        _BEFORE,
        hide="after",
    ),
    switched(
        "filled_after_the_softmax",
        "Your -inf comes after the softmax, so the pattern itself holds -inf.",
        "Which step turns -inf into a weight of 0?",
        hide="after, filled",
    ),
    switched(
        "softmax_again",
        "You mask after the softmax and take a softmax again: what is hidden gets exp(0) = 1 before the division.",
        "Which weight does a softmax give to a 0?",
        hide="after, twice",
    ),
    switched(
        "eps_added",
        "A billionth is added to the sum of a row, so every row sums to a little less than 1.",
        "Which rows have a sum of 0, and which have not?",
        hide="after, eps",
    ),
    switched(
        "zeros_for_hidden",
        "What is hidden gets the score 0, and exp(0) is 1: it still has weight.",
        "Which score has the exponential 0?",
        hide="multiply",
    ),
    switched(
        "zeros_filled_in",
        "What is hidden is filled with 0, and rows with nothing to look at are set right afterwards: exp(0) is 1.",
        "Which score has the exponential 0?",
        fill=0.0,
    ),
    switched(
        "mask_added",
        "Your mask is added to the scores as 0 and 1: what may be seen gets e times the weight, and nothing is hidden.",
        "Which number has to be added to a score to make its weight 0?",
        hide="add",
    ),
    switched(
        "zero_times_infinity",
        "0 times infinity is NaN: your additive mask is NaN wherever a row may look.",
        "What is (1 - 1) * float('-inf')?",
        hide="times infinity",
    ),
    switched(
        "mean_on_empty_rows",
        "Your fill is finite: a row with nothing to look at gives everything the same weight.",
        "A row of equal numbers: what does a softmax make of it?",
        fill=-1e9,
    ),
    switched(
        "pattern_on_empty_rows",
        "You add -1e9: on a row with nothing to look at it comes off all scores alike, and a softmax cannot see that.",
        "What may be taken away from all scores of a row without changing its softmax?",
        hide="add 1e9",
    ),
    switched(
        "fill_too_high",
        "Your fill is higher than some real scores, so these rows look at what is hidden.",
        "Which number is lower than any score?",
        fill=-1e3,
    ),
    switched(
        "fill_too_high_for_some",
        "Empty rows are zeros, but your fill is higher than some real scores, so these rows look at what is hidden.",
        "Which number is lower than any score?",
        fill=-1e3,
        empty="set",
    ),
    switched(
        "tiny_fill",
        "Your fill is a tiny positive number (torch.finfo(…).tiny, 1e-9 or the like), so what is hidden keeps weight.",
        "Which number is lower than any score: 1e-9 or -1e9?",
        fill=1e-9,
    ),
    switched(
        "nan_on_empty_rows",
        "A row with nothing to look at is NaN.",
        _EMPTY,
        empty="nan",
    ),
    switched(
        "pattern_on_empty_rows_too",
        "You take 10000 off what is hidden: a row with nothing to look at has it taken off everywhere alike.",
        "What may be taken away from all scores of a row without changing its softmax?",
        hide="add 1e4",
    ),
    switched(
        "fill_of_ten",
        "Your fill is about -10: what is hidden keeps a little weight, more of it where scores are low.",
        "Which number is lower than any score?",
        fill=-10.0,
    ),
    Mistake(
        "exp_before_the_mask",
        "Your exp overflows before the mask comes, and empty rows are 0 / 0: both are NaN.",
        "What may be taken away from all scores of a row without changing its softmax?",
        answer=partial(_exponentials, steady=False),
    ),
    Mistake(
        "overflow_made_zero",
        "Your exp overflows, and the NaN that come of it are turned into zeros: rows with large scores see nothing.",
        "What may be taken away from all scores of a row without changing its softmax?",
        answer=_overflow_to_zero,
    ),
    Mistake(
        "eps_added_to_the_exponentials",
        "A billionth is added to the sum of the exponentials, so rows sum to a little less than 1.",
        "Which rows have a sum of 0, and which have not?",
        answer=partial(_exponentials, eps=1e-9),
    ),
    Mistake(
        "larger_eps_added_to_the_exponentials",
        "A number like 1e-8 is added to the sum of the exponentials, so rows sum to less than 1.",
        "Which rows have a sum of 0, and which have not?",
        answer=partial(_exponentials, eps=1e-8),
    ),
    Mistake(
        "over_the_queries_no_nan",
        "Your softmax runs over the queries, and columns that nobody may see are set to zero.",
        _BEFORE,
        answer=_over_the_queries_no_nan,
    ),
    Mistake(
        "zeros_taken_for_hidden",
        "Real scores that are 0 are taken for hidden ones.",
        "Can a word that may be seen have the score 0?",
        answer=_zeros_taken_for_hidden,
    ),
    Mistake(
        "zeros_taken_for_hidden_no_nan",
        "Empty rows are zeros, but real scores that are 0 are taken for hidden ones.",
        "Can a word that may be seen have the score 0?",
        answer=_zeros_taken_for_hidden_no_nan,
    ),
    Mistake(
        "masked_twice",
        "You mask after the softmax, take a softmax again and mask again: the weights are flat and do not sum to 1.",
        _BEFORE,
        answer=_masked_twice,
    ),
    switched("true_means_blocked", "You read True as blocked.", _TRUE, reading="blocked"),
    switched(
        "mask_turned",
        "Your mask is transposed.",
        "Which axis of the mask belongs to the word that looks?",
        reading="turned",
    ),
    switched(
        "own_triangle",
        "You do not use the mask that comes in: you make a triangle of your own, from the upper left corner.",
        "Can your function hide a word that lies behind?",
        reading="own triangle",
    ),
    switched(
        "own_triangle_at_the_end",
        "You do not use the mask that comes in: you make a triangle of your own.",
        "Can your function hide a word that lies behind?",
        reading="own triangle at the end",
    ),
    switched(
        "triangle_added",
        "You hide what lies ahead in addition to what the mask hides.",
        "A mask that is True everywhere: what should your function hide?",
        reading="and a triangle",
    ),
    switched(
        "unmasked",
        "Your mask hides nothing; only empty rows are treated.",
        "Which of the two inputs can change without changing your result?",
        hide="unhidden",
    ),
    switched(
        "mask_not_used",
        "You do not use the mask at all.",
        "Which of the two inputs can change without changing your result?",
        hide="nothing",
    ),
    switched("over_the_queries", "Your softmax runs over the queries: columns sum to 1.", _BEFORE, axis=-2),
    switched(
        "over_the_first_axis",
        "Your softmax runs over axis 0: over the texts when there are any.",
        "Which scores compete with each other: those of one query, or those of one text?",
        axis=0,
    ),
    switched(
        "over_axis_1",
        "Your softmax runs over axis 1, which is the last only when there are no leading axes.",
        "What stands on axis 1 of an array of shape (B, T, S)?",
        axis=1,
    ),
    switched("over_everything", "All weights together sum to 1.", _BEFORE, axis=None),
    switched(
        "overflow",
        "Your exp overflows: with scores of ±20000 the pattern is NaN.",
        "What may be taken away from all scores of a row without changing its softmax?",
        rise="naive",
    ),
    switched(
        "never_divided",
        "Your result is the exponentials of the scores: they are not divided.",
        _BEFORE,
        rise="never divided",
    ),
    switched("sigmoid", "Each score goes through a sigmoid by itself.", _BEFORE, rise="sigmoid"),
    switched("no_softmax", "Your result is the masked scores: no softmax is taken.", _BEFORE, rise="none"),
    switched("logarithms", "Your result is the logarithm of the pattern.", _BEFORE, rise="log"),
    switched(
        "softmax_twice", "A softmax is taken twice: hidden words get exp(0) = 1 in the second.", _BEFORE, rise="twice"
    ),
    switched(
        "scaled_again",
        "Your scores are scaled once more, by the root of S.",
        "What are scores divided by, and has that been done already?",
        rise="scaled",
    ),
    switched("pattern_turned", "Your pattern is transposed.", "Which axis should sum to 1?", finish="turned"),
    switched("rounded", "Your pattern is rounded.", "Which of your lines is for showing numbers?", finish="rounded"),
    switched(
        "empty_rows_dropped",
        "Rows with nothing to look at are left out, so the result has fewer rows.",
        "How many rows should come back?",
        finish="only full rows",
    ),
    switched(
        "scores_overwritten",
        "Your numbers are right, but the caller's scores hold -inf afterwards.",
        "What is the difference between masked_fill and masked_fill_?",
        in_place=True,
    ),
    Mistake(
        "over_axis_1_no_nan",
        "Your softmax runs over axis 1, which holds the rows that ask as soon as there is a batch; NaN become zeros.",
        _BEFORE,
        answer=_over_axis_1_no_nan,
    ),
    Mistake(
        "all_set_to_zero",
        "0 times infinity is NaN: your additive mask is NaN all over, and nan_to_num makes zeros of it.",
        "What is (1 - 1) * float('-inf')?",
        answer=_infinities_times_zero,
    ),
    Mistake(
        "empty_rows_unmasked",
        "A row with nothing to look at may look everywhere: you take its mask away.",
        "How much of the hidden words should such a row hand on?",
        answer=_empty_rows_see_all,
    ),
    Mistake(
        "scores_returned",
        "You hand back the masked scores: there is no softmax.",
        "What should a row of the result sum to?",
        answer=_scores_returned,
    ),
    Mistake(
        "logarithms_returned",
        "You hand back the logarithms of the weights: log_softmax is not softmax.",
        "What should a row of the result sum to?",
        answer=_logarithms_returned,
    ),
]

_HEAD_MISTAKES = [
    switched("unmasked", "Nothing is hidden: your rows look ahead.", "Which rows may row 0 look at?", side="all"),
    switched(
        "own_word_hidden", "Your rows may not look at themselves: row 0 has nothing, and is NaN.", _SELF, reach=-1
    ),
    switched("one_word_ahead", "Your rows may look one word ahead.", "Which word has row 0 to predict?", reach=1),
    switched(
        "own_word_hidden_mean",
        "Your rows may not look at themselves, and row 0, left with nothing, gets the mean of all values.",
        _SELF,
        reach=-1,
        fill=-1e9,
    ),
    switched(
        "own_word_hidden_zeros",
        "Your rows may not look at themselves, and row 0, left with nothing, gets zeros.",
        _SELF,
        reach=-1,
        empty="zeros",
    ),
    switched(
        "blocked_handed_to_torch",
        "Your mask says True for what lies ahead, and it is read as may look: rows see only their future, if any.",
        _TRUE,
        side="blocked",
        empty="zeros",
    ),
    switched(
        "fill_of_ten",
        "Your fill is about -10: what is hidden keeps a little weight.",
        "Which number is lower than any score?",
        fill=-10.0,
    ),
    switched(
        "fill_of_one",
        "Your fill is about -1, higher than many real scores.",
        "Which number is lower than any score?",
        fill=-1.0,
    ),
    Mistake(
        "no_softmax",
        "Your blend is weighted with the scores themselves: there is no softmax.",
        "What do the weights of a row sum to?",
        answer=_no_softmax,
    ),
    Mistake(
        "scaled_after_the_softmax",
        "The scale comes after the softmax: every blend is shrunk by √d_k.",
        "What does the softmax see, and what do the weights of a row sum to?",
        answer=_scaled_late,
    ),
    switched(
        "aligned_upper_left",
        "With S > T your new rows are taken for the first: the triangle (or is_causal) starts in the upper left.",
        _LAST,
        align="left",
    ),
    switched("aligned_the_other_way", "Your triangle is shifted by T - S.", _LAST, align="other way"),
    switched(
        "future_only", "Your rows look at themselves and ahead: the triangle is the upper one.", _TRUE, side="ahead"
    ),
    switched("true_means_blocked", "Your mask hides what is behind and shows what is ahead.", _TRUE, side="blocked"),
    switched(
        "square_of_t",
        "Your mask has shape (T, T): it fits only when as many rows ask as are asked.",
        "Which shape have the scores of 3 rows that look at 7?",
        align="T",
    ),
    switched(
        "square_of_s",
        "Your mask has shape (S, S): it fits only when as many rows ask as are asked.",
        "Which shape have the scores of 3 rows that look at 7?",
        align="S",
    ),
    switched("new_rows_only", "Your new rows do not see the S - T rows before them.", _LAST, side="new only"),
    switched("own_word_only", "Your rows look at themselves and at nothing else.", _PAIRING, side="diagonal"),
    switched(
        "one_word_back",
        "Your rows look at themselves and at one word before.",
        "How far back may a word look?",
        side="two",
    ),
    switched(
        "after_the_softmax",
        "Your mask comes after the softmax: rows lose the weight of what is hidden and never get it back.",
        _BEFORE,
        hide="after",
    ),
    switched(
        "zeros_for_hidden",
        "What is hidden gets the score 0, and exp(0) is 1: it still has weight.",
        "Which score has the exponential 0?",
        hide="multiply",
    ),
    switched(
        "mask_added",
        "Your mask is added to the scores as 0 and 1, so nothing is hidden.",
        "Which number has to be added to a score to make its weight 0?",
        hide="add",
    ),
    switched(
        "zero_times_infinity",
        "0 times infinity is NaN: your additive mask is NaN wherever a row may look.",
        "What is (1 - 1) * float('-inf')?",
        hide="times infinity",
    ),
    switched("unscaled", "Your scores are not scaled.", "What did chapter 04 divide the scores by?", divisor="nothing"),
    switched("divided_by_d_k", "Your scores are divided by d_k.", "What did chapter 04 divide by?", divisor="d_k"),
    switched(
        "multiplied", "Your scores are multiplied by √d_k.", "Does the scale shrink or stretch?", divisor="inverse"
    ),
    switched("by_width_of_values", "Your scores are divided by √d_v.", "Whose width counts in a score?", divisor="d_v"),
    switched("by_number_of_queries", "Your scores are divided by √T.", "Which axis is d_k on?", divisor="rows of q"),
    switched("by_number_of_keys", "Your scores are divided by √S.", "Which axis is d_k on?", divisor="rows of k"),
    switched(
        "by_first_axis",
        "Your scores are divided by the root of q's first axis, the batch when there is one.",
        "What does len(q) count when q has shape (B, T, d_k)?",
        divisor="first axis",
    ),
    switched(
        "by_second_axis",
        "Your scores are divided by the root of q.shape[1], the width only when there are no leading axes.",
        "What stands on axis 1 of q when q has shape (B, T, d_k)?",
        divisor="second axis",
    ),
    switched(
        "over_the_queries", "Your softmax runs over the queries.", "Which axis of the pattern sums to 1?", axis=-2
    ),
    switched("over_the_first_axis", "Your softmax runs over axis 0.", "Which axis of the pattern sums to 1?", axis=0),
    switched(
        "over_axis_1",
        "Your softmax runs over axis 1, which is the last only when there are no leading axes.",
        "What stands on axis 1 of an array of shape (B, T, S)?",
        axis=1,
    ),
    switched(
        "transposed_as_a_matrix",
        "Your transpose swaps axes 0 and 1: right for one sentence, wrong or impossible with leading axes.",
        "Which two axes of k have to change places, however many stand before them?",
        product="as a matrix",
    ),
    switched(
        "axes_1_and_2",
        "Your transpose swaps axes 1 and 2: right for one leading axis only.",
        "Which two axes of k have to change places, however many stand before them?",
        product="axes 1 and 2",
    ),
    switched(
        "reshaped",
        "Your keys are reshaped, not transposed: numbers land in the wrong keys.",
        "What does reshape do to the order of the numbers?",
        product="reshaped",
    ),
    switched(
        "swapped", "Your rows belong to the keys and your columns to the queries.", "Who asks?", product="swapped"
    ),
    switched(
        "keys_not_used", "Your queries are compared with the queries.", "Where does k come in?", product="queries only"
    ),
    switched("queries_not_used", "Your keys are compared with the keys.", "Where does q come in?", product="keys only"),
    switched("minus", "Your best match scores lowest.", "Should a good match score high or low?", product="minus"),
    switched(
        "pattern_returned", "Your result is the pattern: no value was handed over.", "Where is v?", blend="pattern"
    ),
    switched("two_results", "Your function gives back two things.", "What does the first line ask for?", blend="both"),
    switched("keys_handed_out", "Your blend is made of keys.", "What does a row hand over?", blend="keys"),
    switched("pattern_turned", "Your pattern is transposed before the blend.", "Whose row is it?", blend="turned"),
    switched("last_row_only", "Only the last row comes back.", "How many rows ask?", blend="last"),
    switched(
        "values_added",
        "The value of each row is added to its blend.",
        "What is added to the row, and where?",
        blend="added",
    ),
    Mistake(
        "blend_masked",
        "Your triangle cuts columns off the blend: its columns are no words.",
        "What do the two axes of the blend stand for, and what do those of the scores?",
        answer=_values_masked,
    ),
]


# --- the exercises ---------------------------------------------------------------------------------------------------


def _by_hand(logits: Tensor, ids: Tensor) -> Tensor:
    import torch

    logs = logits - torch.logsumexp(logits, -1, keepdim=True)
    places = [(b, t) for b in range(ids.shape[0]) for t in range(ids.shape[1] - 1)]
    return -torch.stack([logs[b, t, ids[b, t + 1]] for b, t in places]).mean()


def _classes_second(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    return F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:])


def _rolled_and_ignored(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    wanted = ids.roll(-1, dims=1)
    wanted[:, -1] = -100
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def _one_hot(logits: Tensor, ids: Tensor) -> Tensor:
    from torch.nn import functional as F

    wanted = F.one_hot(ids[:, 1:], logits.shape[-1]).to(logits.dtype)
    return -(wanted * logits[:, :-1].log_softmax(-1)).sum() / wanted.sum()


_LOSS = Exercise(
    name="next_token_loss",
    chapter="06",
    summary="The mean cross-entropy of every next word, all places at once.",
    returns="a number",
    reference=_next_token_loss,
    cases=_loss_cases,
    template=_loss_template,
    mistakes=paired(_LOSS_MISTAKES, _loss_template, LIKELY_IN_PAIRS),
    accepted={
        "a loop": _by_hand,
        "classes on axis 1": _classes_second,
        "rolled, the last one ignored": _rolled_and_ignored,
        "one-hot rows": _one_hot,
    },
    hints=(
        "Row t of the logits was made from the words 0 to t. Which word should it give all the chances?",
        "A model that repeats what it reads must get a bad loss, and the last row has nothing to say.",
        "Look at three places: the two slices, the order in which both are flattened, and the division at the end.",
    ),
    framework="torch",
)


def _loop_mask(T: int, S: int | None = None) -> Tensor:
    import torch

    S = T if S is None else S
    return torch.tensor([[j <= i + S - T for j in range(S)] for i in range(T)])


def _last_rows(T: int, S: int | None = None) -> Tensor:
    import torch

    S = S or T
    return torch.tril(torch.ones(S, S, dtype=torch.bool))[S - T :]


def _not_above(T: int, S: int | None = None) -> Tensor:
    import torch

    S = T if S is None else S
    return torch.triu(torch.ones(T, S), diagonal=S - T + 1) == 0


def _array_mask(T: int, S: int | None = None) -> Tensor:
    import torch

    S = T if S is None else S
    return torch.from_numpy(np.tri(T, S, S - T, dtype=bool))


_MASK = Exercise(
    name="causal_mask",
    chapter="06",
    summary="Who may look where: True for the row itself and what lies before it.",
    returns="(T, S)",
    reference=_causal_mask,
    cases=_mask_cases,
    template=_mask_template,
    mistakes=paired(_MASK_MISTAKES, _mask_template, LIKELY_IN_PAIRS),
    accepted={
        "two loops": _loop_mask,
        "the last rows of a square": _last_rows,
        "not above the diagonal": _not_above,
        "NumPy's triangle, as a tensor": _array_mask,
    },
    hints=(
        "Which words has the row that asks read so far, itself among them?",
        "The last row sees all S. Count back from there: how many does the row before it see?",
        "Look at two places: the diagonal that you hand to tril or triu, and what True means in your result.",
    ),
    framework="torch",
)


def _finite_then_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -1e9).softmax(-1) * mask


def _renormalised(scores: Tensor, mask: Tensor) -> Tensor:
    kept = scores.softmax(-1) * mask
    total = kept.sum(-1, keepdim=True)
    return kept / total.masked_fill(total == 0, 1.0)


def _nan_to_zero(scores: Tensor, mask: Tensor) -> Tensor:
    import torch

    return torch.nan_to_num(torch.where(mask, scores, float("-inf")).softmax(-1))


def _additive_then_zero(scores: Tensor, mask: Tensor) -> Tensor:
    import torch

    shift = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, float("-inf"))
    return torch.where(mask, (scores + shift).softmax(-1), 0.0)


def _own_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    low = scores.masked_fill(~mask, float("-inf"))
    risen = (low - low.amax(-1, keepdim=True).clamp(min=-1e30)).exp()
    return risen / risen.sum(-1, keepdim=True).clamp(min=1e-30)


_PATTERN = Exercise(
    name="masked_pattern",
    chapter="06",
    summary="The softmax of each row over what the mask lets it see; zeros where that is nothing.",
    returns="(…, T, S)",
    reference=_masked_pattern,
    cases=_pattern_cases,
    template=_pattern_template,
    mistakes=paired(_PATTERN_MISTAKES, _pattern_template, LIKELY_IN_PAIRS),
    accepted={
        "a finite fill, then zeros": _finite_then_zero,
        "after the softmax, renormalised": _renormalised,
        "NaN replaced": _nan_to_zero,
        "additive": _additive_then_zero,
        "a softmax of its own": _own_softmax,
    },
    hints=(
        "Which score gets the weight 0 from a softmax, whatever the others are?",
        "Rows sum to 1 over what they may see. A row that may see nothing sums to 0, and nothing in it is NaN.",
        "Look at three places: what hidden scores are set to, whether the softmax comes after that, and empty rows.",
    ),
    framework="torch",
)


def _hand_made(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return _head_template(q, k, v)


def _query_scaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    import torch

    scores = torch.einsum("...td,...sd->...ts", q * q.shape[-1] ** -0.5, k)
    ahead = torch.ones(scores.shape[-2:]).triu(scores.shape[-1] - scores.shape[-2] + 1).bool()
    return torch.einsum("...ts,...sd->...td", scores.masked_fill(ahead, -1e9).softmax(-1), v)


def _fourth_roots(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    import torch

    root = q.shape[-1] ** 0.25
    T, S = q.shape[-2], k.shape[-2]
    shift = torch.zeros(T, S, dtype=q.dtype).masked_fill(torch.ones(T, S).tril(S - T) == 0, float("-inf"))
    return ((q / root) @ (k / root).mT + shift + 3.0).softmax(-1) @ v


def _head_renormalised(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    import torch

    T, S = q.shape[-2], k.shape[-2]
    pattern = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) * torch.ones(T, S).tril(S - T)
    return pattern @ v / pattern.sum(-1, keepdim=True)


def _row_by_row(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Each row alone, with the keys and values that it may see: no mask at all."""
    import torch
    from torch.nn import functional as F

    T, S = q.shape[-2], k.shape[-2]
    ends = range(S - T + 1, S + 1)
    rows = [
        F.scaled_dot_product_attention(q[..., t : t + 1, :], k[..., :end, :], v[..., :end, :])
        for t, end in enumerate(ends)
    ]
    return torch.cat(rows, dim=-2)


_HEAD = Exercise(
    name="causal_attention",
    chapter="06",
    summary="A whole head whose rows see themselves and what lies before them.",
    returns="(…, T, d_v)",
    reference=_causal_attention,
    cases=_head_cases,
    template=_head_template,
    mistakes=paired(_HEAD_MISTAKES, _head_template, LIKELY_IN_PAIRS),
    accepted={
        "the query scaled, einsum, a finite fill": _query_scaled,
        "fourth roots and a shifted additive mask": _fourth_roots,
        "renormalised": _head_renormalised,
        "row by row, without a mask": _row_by_row,
    },
    hints=(
        "Which steps does attend of chapter 04 have, and between which two of them does the mask come?",
        "Change the last key: only the last row of the result may move. And every row of the pattern sums to 1.",
        "Look at three places: the scale, the sizes T and S that the mask is made for, and the axis of the softmax.",
    ),
    framework="torch",
)

# --- the questions ---------------------------------------------------------------------------------------------------

_COUNT = Question(
    name="06_predictions",
    chapter="06",
    prompt="A text of 28 words goes through the model once: how many of its predictions can be marked?",
    right=27,
    because="Every row says what comes after its word; of the last row nobody knows what does.",
    wrong={
        1: "The last row is one of them. What do the rows before it say?",
        28: "28 rows say something. Which word is known to come after the last one?",
        26: "Row 0 has read one word and says the second: it counts, too.",
        756: "Each row makes one prediction, not one for each other word.",
    },
    otherwise="Which rows have a next word in the text?",
    hints=("Row t is held against word t + 1.",),
)

_LEAK = Question(
    name="06_leak",
    chapter="06",
    prompt="What does the training loss of the model without a mask fall to?",
    right="below the floor",
    because="The next word stands in the input, one row further, and nothing keeps a row from looking there.",
    choices=("above the floor", "the floor", "below the floor"),
    wrong={
        "above the floor": "It sees everything that the other model sees, and more. Why should it guess worse?",
        "the floor": "The floor is for those who see only the words before. What does this model see besides?",
    },
    otherwise="What does row t see that stands in row t + 1?",
    hints=("What does row 3 have to say, and in which row of the input does this word stand?",),
)

_ROW_0 = Question(
    name="06_row_0",
    chapter="06",
    prompt="All weights of row 0 are about 0.2. With the mask after the softmax, what does row 0 sum to (one decimal)?",
    right=0.2,
    because="It keeps its weight for itself, about 0.2, and the other four fifths are thrown away.",
    tolerance=0.06,
    wrong={
        1: "The softmax made the row sum to 1, and after it four of five weights are set to 0.",
        0: "Row 0 may look at itself.",
        0.8: "That is what the row loses.",
        0.4: "Row 0 may look at itself only: the second weight is hidden.",
    },
    otherwise="Which of the five weights of row 0 are left?",
    hints=("Row 0 of the mask is True once.",),
)

_ONE_NEW = Question(
    name="06_one_new_row",
    chapter="06",
    prompt="One new query asks 5 keys with torch's is_causal=True: how many keys does it see?",
    right=1,
    because="The triangle stands in the upper left corner, so the one row sees key 0, the oldest.",
    wrong={
        5: "That is what is right, and what causal_mask(1, 5) says. Where does torch put its triangle?",
        0: "Each row of a triangle with its diagonal holds one True at least.",
        4: "It may see itself. And where does torch put its triangle?",
    },
    otherwise="Draw a triangle of one row and five columns, its corner in the upper left: how many cells are in it?",
    hints=("torch.ones(1, 5).tril() is what the flag stands for.",),
)

_BUG_SAYS = {
    "looks ahead": "The map of this function is False above its diagonal.",
    "does not see itself": "The diagonal of the map is True everywhere: every row sees itself.",
    "rows do not sum to 1": "The pattern is the right one, and its rows sum to 1.",
    "mixes batch entries": "There is one sentence here, and no batch.",
    "scrambles words": "Rows and columns stay where they are: row t belongs to word t.",
    "forgets order": "The mask keeps an order: no row of the pattern looks further than itself.",
    "changes its input": "x is the same before and after the call.",
    "ignores the query": "Rows of the pattern differ: every query counts.",
}

_BUG = Question(
    name="06_bug",
    chapter="06",
    prompt="Which property does head_1 break, although its pattern is right?",
    right="looks ahead",
    because="The mean over the sentence holds every word, those ahead as well: the leak comes before the mask.",
    choices=PROPERTIES,
    wrong={choice: why for choice, why in _BUG_SAYS.items() if choice != "looks ahead"},
    otherwise="Change the last word: which rows of the result move?",
    hints=("Over which axis does the mean run, and which words are in it?",),
)

QUESTIONS: tuple[Question, ...] = (_COUNT, _LEAK, _ROW_0, _ONE_NEW, _BUG)

EXERCISES: tuple[Exercise, ...] = (_LOSS, _MASK, _PATTERN, _HEAD)

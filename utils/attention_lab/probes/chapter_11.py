"""How chapters 11 and 12 feed rows piece by piece, and the cache that they hand over meanwhile.

A schedule says how many rows each call gets, one call after another: (2, 2, 1) feeds five rows in three calls. 0 in it
stands for a reset: (5, 0, 3) feeds five rows, empties the cache, and feeds three more.

Letters: B texts, H heads, t rows of a call, d_h width of a head.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

#: What stands for a reset in a schedule.
RESET = 0
#: What comes back in place of an array of NumPy: no tensor, and later cells would stumble over it.
NO_TENSOR = "an array of NumPy, not a tensor"
#: What comes back when a cache that was made a moment ago holds rows that another one was given.
SHARED = "a new cache, and there are rows in it"
#: What comes back when a request begins with a cache that holds rows of the request before.
LEFT_OVER = "a cache with rows of the request before"
#: What comes back when the same request, made twice, is answered in two ways.
TWO_ANSWERS = "another answer than to the same request before"


class Shelf:
    """A strip of memory for keys and values whose shape is settled when it is made.

    It does for a case what a cache does, and no exercise can be answered with it: those are caches for rows of any
    shape and number. What `append` returns is a part of the strip, so that whoever writes into it spoils the cache.

    Args:
        batch, heads, width: B, H and d_h.
        rows: how many rows it has room for.
    """

    def __init__(self, batch: int, heads: int, width: int, rows: int = 24) -> None:
        self._shape = (batch, heads, rows, width)
        self._strips: tuple[Tensor, ...] = ()
        self._used = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        """Lay t rows (B, H, t, d_h) behind those that are there, and hand out all of them."""
        batch, heads, rows, width = self._shape
        for name, new in (("keys", k), ("values", v)):
            shape = tuple(new.shape)
            if len(shape) != 4 or (shape[0], shape[1], shape[3]) != (batch, heads, width):
                raise ValueError(f"this cache takes {name} of shape ({batch}, {heads}, t, {width}), not {shape}")
        if not self._strips:
            self._strips = (k.new_zeros(self._shape), v.new_zeros(self._shape))
        start, self._used = self._used, self._used + k.shape[2]
        if self._used > rows:
            raise ValueError(f"this cache has room for {rows} rows, and {self._used} were appended")
        for strip, new in zip(self._strips, (k, v), strict=True):
            strip[:, :, start : self._used] = new
        return tuple(strip[:, :, : self._used] for strip in self._strips)

    @property
    def length(self) -> int:
        """How many rows lie in it."""
        return self._used

    def reset(self) -> None:
        """Forget all rows."""
        self._used = 0


def pieces(schedule: Sequence[int]) -> Iterator[slice | None]:
    """The rows of each call of a schedule, one after another; None for a reset."""
    start = 0
    for count in schedule:
        yield slice(start, start + count) if count else None
        start += count


def fed(step: Callable[..., Any], rows: Sequence[Tensor], schedule: Sequence[int], reset: Callable[[], None]) -> Any:
    """What `step` gives for each piece of a schedule, joined along the rows (the last axis but one).

    Args:
        step: called with the same piece of each of `rows`.
        rows: tensors (…, T, d), T the sum of the schedule.
        schedule: rows of each call, 0 for a reset.
        reset: called where the schedule says so.

    Returns:
        (…, T, d). A piece that is no tensor, or not of the shape of its piece of `rows[0]`, comes back as it is
        instead, and nothing is called after it.
    """
    import torch

    given = []
    for piece in pieces(schedule):
        if piece is None:
            reset()
            continue
        part = [tensor[..., piece, :] for tensor in rows]
        one = step(*part)
        if not isinstance(one, torch.Tensor) or one.shape != part[0].shape:
            return NO_TENSOR if isinstance(one, np.ndarray) else one
        given.append(one.clone())
    return torch.cat(given, dim=-2)


def cached_in_pieces(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`cached_attention` through a schedule, with one cache: args q, k, v (B, H, T, d_h) and the schedule."""
    *rows, schedule = args
    batch, heads, _, width = rows[0].shape
    cache = Shelf(batch, heads, width)
    return fed(lambda q, k, v: candidate(q, k, v, cache), rows, schedule, cache.reset)


# --- a learner's own cache ---------------------------------------------------------------------------------------


def appended(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a candidate's cache gives for the last piece: args k, v (B, H, T, d_h) and a schedule."""
    k, v, schedule = args
    cache = _new(candidate, k, v)
    given = None if cache is not None else SHARED
    for piece in pieces(schedule) if cache is not None else ():
        if piece is None:
            cache.reset()
        else:
            given = cache.append(k[:, :, piece], v[:, :, piece])
    return _no_arrays(given)


def appended_from_one_place(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """As `appended`, for pieces of one size which the caller writes into the same two tensors, one after another."""
    k, v, schedule = args
    cache = _new(candidate, k, v)
    if cache is None:
        return SHARED
    room_k, room_v = (tensor[:, :, : schedule[0]].clone() for tensor in (k, v))
    given = None
    for piece in pieces(schedule):
        room_k.copy_(k[:, :, piece])
        room_v.copy_(v[:, :, piece])
        given = cache.append(room_k, room_v)
    return _no_arrays(given)


def lengths(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Lengths of a candidate's cache: when it is new, and after each step of a schedule; args as for `appended`."""
    k, v, schedule = args
    cache = _new(candidate, k, v)
    if cache is None:
        return SHARED
    found = [cache.length]
    for piece in pieces(schedule):
        if piece is None:
            cache.reset()
        else:
            cache.append(k[:, :, piece], v[:, :, piece])
        found.append(cache.length)
    for length in found:
        if not hasattr(type(length), "__index__"):
            return "a method, to be called" if callable(length) else length
    return np.array([operator.index(length) for length in found])


def _new(candidate: Callable[..., Any], k: Tensor, v: Tensor) -> Any:
    """A new cache; None when it is seen that caches of the candidate share what they hold."""

    def size_of_one_row(cache: Any) -> int:
        return _size(cache.append(k[:, :, :1].clone(), v[:, :, :1].clone()))

    try:
        sizes = [size_of_one_row(candidate()) for _ in range(2)]
    except RuntimeError:  # rows of another shape, from a cache before, which a reset takes away
        emptied = candidate()
        emptied.reset()
        size_of_one_row(emptied)
        return None
    return None if sizes[1] > sizes[0] else candidate()


def _no_arrays(given: Any) -> Any:
    parts = given if isinstance(given, (tuple, list)) else (given,)
    return NO_TENSOR if any(isinstance(part, np.ndarray) for part in parts) else given


def _size(given: Any) -> int:
    """How many numbers there are in tensors, in tuples and lists of them."""
    if isinstance(given, (tuple, list)):
        return sum(_size(part) for part in given)
    return int(given.numel()) if hasattr(given, "numel") else 0


# --- a whole model -----------------------------------------------------------------------------------------------


def two_requests(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The same request twice: args model, ids (1, T), n → what the second gave, and how many rows the model was fed.

    A pass after the last token is not counted: whoever feeds that token, too, has used the cache no less.
    """
    model, ids, n = args
    rows: list[int] = []
    kept: list[int] = []  # rows of the cache that each pass begins with
    hooks = (
        model.get_input_embeddings().register_forward_hook(lambda _, given, out: rows.append(given[0].shape[-1])),
        model.register_forward_pre_hook(lambda _, given, named: kept.append(_rows_kept(named)), with_kwargs=True),
    )
    answers = []
    try:
        for _ in range(2):
            rows.clear()
            kept.clear()
            answers.append((candidate(model, ids, n), _rows_needed(rows, ids.shape[-1], n)))
            if kept and kept[0]:
                return LEFT_OVER
    finally:
        for hook in hooks:
            hook.remove()
    (first, before), (second, after) = answers
    if before != after or not _same(first, second):
        return TWO_ANSWERS
    return second, after


def _rows_needed(rows: list[int], length: int, n: int) -> int:
    """Rows of all passes, the last one left out where it is one too many: from `length` tokens on, n are written."""
    one_too_many = len(rows) == n + 1 and sum(rows) > length + n - 1
    return sum(rows[:-1]) if one_too_many else sum(rows)


def _rows_kept(named: dict[str, Any]) -> int:
    """Rows in the cache among a model's named arguments, under its newer or its older name."""
    cache = named.get("cache", named.get("past_key_values"))
    kept = getattr(cache, "get_seq_length", None)
    return int(kept()) if kept is not None else 0


def _same(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return type(one) is type(other)


# --- as a card writes it -----------------------------------------------------------------------------------------


def _slices(schedule: Sequence[int], line: Callable[[str], str], reset: str) -> list[str]:
    return [line(f"[:, :, {p.start}:{p.stop}]") if p is not None else reset for p in pieces(schedule)]


def _of_a_cache(name: str, args: tuple[Any, ...], line: str = "cache.append(k{0}, v{0})") -> list[str]:
    return [f"cache = {name}()", *_slices(args[-1], line.format, "cache.reset()")]


def _appended_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    return _of_a_cache(name, args), ("k", "v")


def _from_one_place_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    line = "room_k[:], room_v[:] = k{0}, v{0}; cache.append(room_k, room_v)"
    return _of_a_cache(name, args, line), ("k", "v")


def _lengths_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    return [*_of_a_cache(name, args), "and cache.length at the start and after each line"], ()


def _cached_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    lines = _slices(args[-1], lambda piece: f"{name}(q{piece}, k{piece}, v{piece}, cache)", "cache.reset()")
    return [*lines, "and the results one below another"], ("q", "k", "v")


def _requests_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    return [f"{name}(model, ids, n), and the number of rows that the model was fed"], ("model", "ids", "n")


#: Made anew for each call of a candidate.
FACTORIES: dict[str, Callable[..., Any]] = {"shelf": Shelf}

#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {
    "appended": appended,
    "appended_from_one_place": appended_from_one_place,
    "cached_in_pieces": cached_in_pieces,
    "lengths": lengths,
    "two_requests": two_requests,
}

#: What a card says of each.
TEXTS: dict[str, Callable[..., tuple[list[str], tuple[str, ...]]]] = {
    "appended": _appended_text,
    "appended_from_one_place": _from_one_place_text,
    "cached_in_pieces": _cached_text,
    "lengths": _lengths_text,
    "two_requests": _requests_text,
}

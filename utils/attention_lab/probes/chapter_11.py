"""How chapters 11 and 12 feed rows piece by piece, and the cache that they hand over meanwhile.

A schedule says how many rows each call gets, one call after another: (2, 2, 1) feeds five rows in three calls. 0 in it
stands for a reset: (5, 0, 3) feeds five rows, empties the cache, and feeds three more.

Letters: B texts, H heads, t rows of a call, d_h width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

#: What stands for a reset in a schedule.
RESET = 0


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
            return one
        given.append(one.clone())
    return torch.cat(given, dim=-2)


def cached_in_pieces(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`cached_attention` through a schedule, with one cache: args q, k, v (B, H, T, d_h) and the schedule."""
    *rows, schedule = args
    batch, heads, _, width = rows[0].shape
    cache = Shelf(batch, heads, width)
    return fed(lambda q, k, v: candidate(q, k, v, cache), rows, schedule, cache.reset)


#: Made anew for each call of a candidate.
FACTORIES: dict[str, Callable[..., Any]] = {"shelf": Shelf}

#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {"cached_in_pieces": cached_in_pieces}

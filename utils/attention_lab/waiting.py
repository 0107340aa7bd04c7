"""Counting who waits for whom: how long the longest chain of steps is in which each needs the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Chain:
    """A function that counts, for each of its results, how many of its calls had to end first.

    Every call is one link longer than the longest chain among its arguments; an argument that no call has made
    (a row of the table, a matrix) has length 0. A result is recognised as the same array or a view of it, so hand
    results on as they are, not as copies.

    Attributes:
        calls: how many calls there were: the work.
        longest: how many of them stand in the longest chain: the wait.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.calls = 0
        self.longest = 0
        self._made: list[tuple[np.ndarray, int]] = []

    def __call__(self, *args: Any) -> Any:
        length = 1 + max((self._length(arg) for arg in args), default=0)
        result = self.function(*args)
        self._made.append((np.asarray(result), length))
        self.calls += 1
        self.longest = max(self.longest, length)
        return result

    def _length(self, argument: Any) -> int:
        if not isinstance(argument, np.ndarray):
            return 0
        return max((length for made, length in self._made if np.may_share_memory(made, argument)), default=0)

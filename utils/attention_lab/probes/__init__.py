"""Who affects whom, and what cases hand to a candidate by name. Used by checks and by lessons.

A module `chapter_NN` of this package may hold four dictionaries, which are joined here: `FUNCTIONS`, `FACTORIES`,
`SCRIPTS` and `TEXTS`. None of it may hold a right answer: graders load this package beside a learner's code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np

Script = Callable[[Callable[..., Any], tuple[Any, ...]], Any]

#: Functions that a case can name with `Fn`; the parameters of the `Fn` arrive as keyword arguments.
FUNCTIONS: dict[str, Callable[..., Any]] = {}

#: Makers of objects that a case can name with `Fn` (a model, say): called anew for each call of a candidate.
FACTORIES: dict[str, Callable[..., Any]] = {}


def call(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The ordinary script: one call."""
    return candidate(*args)


#: Ways to call a candidate that a case can name; each takes the candidate and the arguments.
SCRIPTS: dict[str, Script] = {"call": call}

#: How a card writes what a script does, where that is not one call: takes the exercise's name and the arguments, gives
#: the lines, and the names of the arguments to show below them.
TEXTS: dict[str, Callable[[str, tuple[Any, ...]], tuple[list[str], tuple[str, ...]]]] = {}

for _name in sorted(m.name for m in iter_modules(__path__)):
    _module = import_module(f"{__name__}.{_name}")
    FUNCTIONS |= getattr(_module, "FUNCTIONS", {})
    FACTORIES |= getattr(_module, "FACTORIES", {})
    SCRIPTS |= getattr(_module, "SCRIPTS", {})
    TEXTS |= getattr(_module, "TEXTS", {})


def made(name: str, params: dict[str, Any]) -> Any:
    """What an `Fn` stands for: a function with its parameters bound, or a freshly made object."""
    if name in FACTORIES:
        return FACTORIES[name](**params)
    return functools.partial(FUNCTIONS[name], **params)


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

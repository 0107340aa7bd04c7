"""How chapter 07 asks whether a width that does not divide is refused, and whether the message helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def refusal(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives; where it raises ValueError, which of two numbers the message names: (width, heads), 1 or 0.

    Args:
        candidate: called with x (B, T, d) and a number of heads.
        args: x and the number of heads.
    """
    x, n_heads = args
    width = x.shape[-1]
    try:
        return candidate(x, n_heads)
    except ValueError as error:
        named = {int(number) for number in re.findall(r"\d+", str(error))}
        return int(width in named), int(n_heads in named)


#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {"refusal": refusal}

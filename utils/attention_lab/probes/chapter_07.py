"""How chapter 07 asks whether a width that does not divide is refused, and whether the message helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.probes.refusals import refused


def refusal(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a call gives; where it raises ValueError, which of two numbers the message names: (width, heads), 1 or 0.

    Args:
        candidate: called with x (B, T, d) and a number of heads.
        args: x and the number of heads.
    """
    x, n_heads = args
    return refused(candidate, args, x.shape[-1], n_heads)


#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {"refusal": refusal}

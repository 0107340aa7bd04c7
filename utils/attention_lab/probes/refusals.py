"""What a call says that has to refuse its arguments: shared by the scripts of several chapters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def refused(candidate: Callable[..., Any], args: tuple[Any, ...], *numbers: int) -> Any:
    """What a call gives; where it raises ValueError, which of some numbers the message names: 1 or 0 for each.

    Other exceptions go on with a text that is the same for all of their type, since nobody is asked for theirs.

    Args:
        candidate: the function that should refuse.
        args: its arguments.
        numbers: that a good message names.
    """
    try:
        return candidate(*args)
    except ValueError as error:
        named = {int(number) for number in re.findall(r"\d+", str(error))}
        return tuple(int(number in named) for number in numbers)
    except (ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError) as error:
        if not isinstance(error, NotImplementedError):
            error.args = ("raised where a ValueError is asked for",)
        raise

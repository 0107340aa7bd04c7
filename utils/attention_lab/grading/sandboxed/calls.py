"""All prepared calls of one object: what `LocalCaller` would tell of each, with everything set up once.

The inputs lie ready in the server before workers are forked: each worker begins with them, and no request carries them.
They tell nothing that a call would not tell.
"""

from __future__ import annotations

import contextvars
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_lab import probes
from attention_lab.checking import caller


@dataclass(frozen=True)
class Call:
    """A call that is going to be made.

    Attributes:
        args: the arguments in their final precision, as plain data and `Fn`s.
        script: how the object is called.
        framework: "numpy" or "torch".
    """

    args: tuple[Any, ...]
    script: str
    framework: str


#: By exercise; filled by the server, for the chapters that are being marked.
PREPARED: dict[str, tuple[Call, ...]] = {}


def prepare(name: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Keep the calls of an exercise: rows of arguments, script and framework."""
    found = tuple(Call(args, script, framework) for args, script, framework in rows)
    for each in found:
        _protect(each.args)
    PREPARED[name] = found


def _protect(value: Any) -> None:
    if isinstance(value, tuple):
        for item in value:
            _protect(item)
    elif isinstance(value, np.ndarray):
        value.flags.writeable = False


def outcomes(candidate: Callable[..., Any], name: str) -> list[dict[str, Any]]:
    """What each prepared call of an object gave."""
    found, out = [], sys.stdout
    try:
        with np.errstate(), np.printoptions():
            for each in PREPARED[name]:
                sys.stdout = printed = caller.Printed()
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    # in a context of its own, so that what NumPy was told in it is forgotten behind it
                    told = contextvars.copy_context().run(_one, candidate, each)
                if text := printed.getvalue()[:2000]:
                    told["printed"] = text
                if caught:
                    told["warned"] = caller.texts_of(caught)
                found.append(told)
                if len(found) == 1 and told.get("error") == "NotImplementedError":
                    break  # nothing is written yet
    finally:
        sys.stdout = out
    return found


def _one(candidate: Callable[..., Any], call: Call) -> dict[str, Any]:
    given = tuple(caller.materialise(argument, call.framework) for argument in call.args)
    told: dict[str, Any]
    try:
        value = probes.SCRIPTS[call.script](candidate, given)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are outcomes, too
        told = {key: said for key, said in vars(caller.failed(error, candidate)).items() if said}
    else:
        told = {"value": caller.plain_result(value, call.framework, call.script)}
        if shared := _shared(caller.as_array(value), given):
            names = caller.parameter_names(candidate, len(given))
            told["shares"] = tuple(names[i] for i in shared)
    if not all(map(_as_before, call.args, given)):
        told["given"] = tuple(left(argument) for argument in given)
    return told


def _shared(result: np.ndarray | None, given: tuple[Any, ...]) -> list[int]:
    """Which arguments have memory in common with the result."""
    if result is None:
        return []
    arrays = [(i, array) for i, new in enumerate(given) if (array := caller.as_array(new)) is not None]
    return [i for i, array in arrays if np.may_share_memory(result, array) and np.shares_memory(result, array)]


def _as_before(old: Any, new: Any) -> bool:
    """Whether an argument has the very bytes that it had; of functions and models nothing is asked."""
    if isinstance(old, np.ndarray):
        array = new if type(new) is np.ndarray else caller.as_array(new)
        if array is None or array.dtype != old.dtype or array.shape != old.shape:
            return False
        return array.tobytes() == old.tobytes()
    return not isinstance(old, tuple) or all(map(_as_before, old, new))


def left(argument: Any) -> Any:
    """An argument as a call left it; None for what is no array."""
    if isinstance(argument, tuple):
        return tuple(left(item) for item in argument)
    return caller.as_array(argument)

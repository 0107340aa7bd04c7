"""What a call of a candidate gave, as plain data that can come from another process, and when two of them agree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Largest absolute and relative difference that counts as equal, by the precision of the inputs.
TOLERANCE: dict[str, tuple[float, float]] = {"float64": (1e-10, 1e-10), "float32": (1e-5, 1e-4)}


@dataclass(frozen=True)
class Foreign:
    """A returned object that is not plain data: only its type's name and a short text of it are kept."""

    type_name: str
    text: str = ""


@dataclass(frozen=True)
class Outcome:
    """What one call gave.

    Attributes:
        value: array, number, None, tuple or list of those, or `Foreign`; None as well when it raised.
        error: name of the exception's type, "" when none was raised; "KeyboardInterrupt" when it was interrupted.
        error_bases: names of the exception's type and its bases.
        error_text: the exception's message.
        line_number: number of the learner's line that raised, in its cell; 0 when unknown.
        line: text of that line.
        changed: names of the arguments that the call altered.
        after: what those arguments hold after the call, where that is known.
        shares: names of the arguments whose memory the result shares.
        printed: what the call printed.
        warned: warnings it caused, without repeats.
    """

    value: Any = None
    error: str = ""
    error_bases: tuple[str, ...] = ()
    error_text: str = ""
    line_number: int = 0
    line: str = ""
    changed: tuple[str, ...] = ()
    after: tuple[Any, ...] = ()
    shares: tuple[str, ...] = ()
    printed: str = ""
    warned: tuple[str, ...] = ()


#: More than any exercise returns: entries of an array, items of a list, lists within lists. Beyond, a size is told.
LARGEST, LONGEST, DEEPEST = 1_000_000, 10_000, 5


def plain(value: Any, depth: int = 0) -> Any:
    """A copy of `value` as plain data; what is not plain becomes `Foreign`. Calls no method of foreign objects."""
    kind = type(value)
    if kind in (bool, float, type(None)) or (kind is int and value.bit_length() < 1000):
        return value
    if kind is np.ndarray:
        return _plain_array(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return np.array(value)
    if origin(value) in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter")):
        tensor = value.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy().copy()
    if kind in (tuple, list):
        if depth == DEEPEST or len(value) > LONGEST:
            return Foreign(kind.__name__, f"a {kind.__name__} of {len(value)} things")
        return kind(plain(item, depth + 1) for item in value)
    return Foreign(type_name(value), _short_text(value))


def _plain_array(array: np.ndarray) -> np.ndarray | Foreign:
    if array.dtype.kind not in "biuf":
        return Foreign(f"array of dtype {array.dtype}"[:80], _short_text(array))
    if array.size > LARGEST:
        shape = f"shape {tuple(int(n) for n in array.shape)}"
        return Foreign(f"array of {shape}"[:80], f"an array of {shape}")
    return array.copy()


def origin(value: Any) -> tuple[str, str]:
    """Module and name of a value's type, without asking the type itself: a learner's may answer anything."""
    kind = type(value)
    return str(type.__getattribute__(kind, "__module__")), str(type.__getattribute__(kind, "__name__"))


def type_name(value: Any) -> str:
    """The name of a type as a learner would write it: "numpy.matrix", "set"."""
    module, name = origin(value)
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def _short_text(value: Any) -> str:
    try:
        return repr(value)[:80]
    except BaseException:  # a learner's __repr__ may do anything, SystemExit included
        return ""


def close(got: np.ndarray, expected: np.ndarray, dtype: str) -> np.ndarray:
    """Entry by entry, whether two arrays of one shape agree at the precision of `dtype`; NaN agrees with NaN."""
    atol, rtol = TOLERANCE[dtype]
    if got.dtype.kind == expected.dtype.kind == "f" and got.shape == expected.shape and np.isfinite(expected).all():
        near = np.abs(got - expected) <= atol + rtol * np.abs(expected)  # what isclose does, in a fifth of its time
        if near.all():
            return np.asarray(near)
    return np.isclose(got, expected, atol=atol, rtol=rtol, equal_nan=True)


def agree(got: Any, expected: Any, dtype: str) -> bool:
    """Whether a plain value is the expected one: same structure, shape and kind of number, equal within tolerance.

    A float result may come in any float precision, and as whole numbers where they are equal.
    """
    if expected is None or isinstance(expected, Foreign):
        return got is None if expected is None else isinstance(got, Foreign) and got == expected
    if isinstance(expected, (tuple, list)):
        return (
            isinstance(got, (tuple, list))
            and len(got) == len(expected)
            and all(agree(g, e, dtype) for g, e in zip(got, expected, strict=True))
        )
    if got is None or isinstance(got, (Foreign, tuple, list)):
        return False
    got_array, expected_array = np.asarray(got), np.asarray(expected)
    if expected_array.ndim > 0 and not isinstance(got, np.ndarray):
        return False
    if got_array.shape != expected_array.shape or not kinds_fit(got_array, expected_array):
        return False
    return bool(close(got_array, expected_array, dtype).all())


def kinds_fit(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the kind of number is acceptable: booleans for booleans, whole numbers for whole numbers."""
    kind = {"b": "b", "i": "iu", "u": "iu"}.get(expected.dtype.kind, "fiu")
    return got.dtype.kind in kind


def matches_reference(got: Outcome, reference: Outcome, dtype: str) -> bool:
    """Whether a candidate did what the reference does: its value, or its kind of exception, and inputs left alone."""
    if got.changed != reference.changed:
        return False
    if reference.error:
        return reference.error in got.error_bases
    return not got.error and agree(got.value, reference.value, dtype)


def matches_mistake(got: Outcome, mistake: Outcome, dtype: str) -> bool:
    """Whether a candidate did what a catalogued mistake does on this case."""
    if got.changed != mistake.changed or got.error != mistake.error:
        return False
    return bool(mistake.error) or agree(got.value, mistake.value, dtype)


def is_number(value: Any) -> bool:
    """True for a finite or infinite number that is not a boolean."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def numbers_agree(got: Any, right: Any, tolerance: float) -> bool:
    """Whether a number answered is the right one within a relative tolerance (0: exact)."""
    try:
        return is_number(got) and math.isclose(float(got), float(right), rel_tol=max(tolerance, 1e-12), abs_tol=0.0)
    except OverflowError:  # a whole number beyond all floats
        return False

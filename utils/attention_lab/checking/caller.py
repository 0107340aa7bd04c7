"""The one place where a candidate is called. Grading puts a remote caller in its place."""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from attention_lab import probes
from attention_lab.checking.outcome import Foreign, Outcome, origin, plain
from attention_lab.exercises.model import Case, Fn


class Caller(Protocol):
    """Calls the candidate on a case; "float32" turns the case's float64 arrays into float32 first."""

    def __call__(self, case: Case, dtype: str) -> Outcome: ...


def cast(value: Any, dtype: str) -> Any:
    """A copy of a case's argument with its float arrays in `dtype`."""
    if isinstance(value, np.ndarray):
        return value.astype(dtype) if value.dtype.kind == "f" else value.copy()
    if isinstance(value, tuple):
        return tuple(cast(item, dtype) for item in value)
    return value


def materialise(value: Any, framework: str) -> Any:
    """A case's argument as a candidate gets it: `Fn`s as functions, arrays as copies or tensors."""
    if isinstance(value, Fn):
        return probes.made(value.name, dict(value.params))
    if isinstance(value, tuple):
        return tuple(materialise(item, framework) for item in value)
    if isinstance(value, np.ndarray) and framework == "torch":
        import torch

        return torch.from_numpy(value.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def as_array(value: Any) -> np.ndarray | None:
    """An array or a tensor as an array that shares its memory; None for anything else."""
    if isinstance(value, np.ndarray):
        return value
    if origin(value) == ("torch", "Tensor"):
        return np.asarray(value.detach().numpy())
    return None


def positional(function: Callable[..., Any]) -> list[str]:
    """Names of the parameters that can be given by position; empty where there is no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def parameter_names(function: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Names of the first `count` positional parameters; "argument 1" … where there is no signature."""
    names = positional(function)
    return tuple(names[i] if i < len(names) else f"argument {i + 1}" for i in range(count))


class Printed(io.StringIO):
    """What a call prints: the beginning of it, so that a loop that prints fills no memory."""

    def write(self, text: str) -> int:
        """Keep the text while there is not much of it."""
        if self.tell() < 2000:
            super().write(text[:2000])
        return len(text)

    def close(self) -> None:
        """Stay open: a learner may close the standard output."""


class LocalCaller:
    """Calls a candidate in this process.

    Args:
        candidate: the learner's function or class.
        framework: "numpy" or "torch", what arrays become.
        reference: True for our own implementations, which get float64 whatever the precision of the case.

    Attributes:
        given: the arguments of the last call, as the candidate left them.
    """

    def __init__(self, candidate: Callable[..., Any], framework: str, reference: bool = False) -> None:
        self.candidate = candidate
        self.framework = framework
        self.reference = reference
        self.given: tuple[Any, ...] = ()

    def __call__(self, case: Case, dtype: str) -> Outcome:
        printed = Printed()
        with contextlib.ExitStack() as kept:  # what a call may set is as before when it is over
            kept.enter_context(np.errstate())
            kept.enter_context(np.printoptions())
            kept.enter_context(contextlib.redirect_stdout(printed))
            caught = kept.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            outcome = self.bare(case, dtype)
        return replace(outcome, printed=printed.getvalue()[:2000], warned=texts_of(caught))

    def bare(self, case: Case, dtype: str) -> Outcome:
        """The same call without catching prints and warnings: for our own implementations, of which there are many."""
        args = cast(case.args, dtype)
        if self.reference:  # the values that the candidate gets, in double precision
            args = cast(args, "float64")
        given = self.given = tuple(materialise(arg, self.framework) for arg in args)
        value, failure = None, None
        try:
            value = probes.SCRIPTS[case.script](self.candidate, given)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are outcomes, too
            failure = error
        touched = [i for i, (old, new) in enumerate(zip(args, given, strict=True)) if altered(old, new)]
        shared = [i for i, new in enumerate(given) if shares_memory(value, new)]
        names = parameter_names(self.candidate, len(args)) if touched or shared else ()
        changed = tuple(names[i] for i in touched)
        after = tuple(plain(given[i]) for i in touched)
        if failure is not None:
            return replace(failed(failure, self.candidate), changed=changed, after=after)
        return Outcome(
            value=plain_result(value, self.framework, "" if self.reference else case.script),
            changed=changed,
            after=after,
            shares=tuple(names[i] for i in shared),
        )


def plain_result(value: Any, framework: str, script: str = "") -> Any:
    """A result as plain data, where an array is no tensor and a tensor no array: what the rest of a chapter does with
    it may fail.

    Args:
        value: the result.
        framework: "numpy" or "torch", what arguments were made of.
        script: how a learner's object was called; what other scripts than "call" hand back is theirs.
    """
    if framework == "numpy" and origin(value) == ("torch", "Tensor"):
        return Foreign("torch.Tensor", "a tensor of PyTorch")
    if framework == "torch" and script == "call":
        return _only_tensors(value, plain(value))
    return plain(value)


def _only_tensors(value: Any, found: Any) -> Any:
    """What `plain` made of a result, but for arrays of NumPy, also those in a tuple or a list."""
    if type(value) is np.ndarray:
        return Foreign("array of NumPy", "an array of NumPy, not a tensor")
    if type(found) in (tuple, list):
        return type(found)(_only_tensors(each, kept) for each, kept in zip(value, found, strict=True))
    return found


def altered(old: Any, new: Any) -> bool:
    """Whether an argument is not what it was before the call; tuples are compared part by part."""
    if isinstance(old, tuple):
        return any(altered(o, n) for o, n in zip(old, new, strict=True))
    array = as_array(new)
    if not isinstance(old, np.ndarray) or array is None:
        return False
    return not np.array_equal(old, array, equal_nan=old.dtype.kind == "f")


def shares_memory(value: Any, argument: Any) -> bool:
    """Whether a result and an argument are arrays or tensors with memory in common."""
    result, given = as_array(value), as_array(argument)
    return result is not None and given is not None and np.shares_memory(result, given)


def texts_of(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """The texts of warnings, without repeats."""
    return tuple(dict.fromkeys(str(w.message)[:200] for w in caught))


def failed(error: BaseException, candidate: Callable[..., Any]) -> Outcome:
    """The outcome of a call that raised."""
    number, line = learners_line(error, candidate)
    bases = tuple(kind.__name__ for kind in type(error).__mro__)
    return Outcome(
        error=type(error).__name__ or "nameless exception",
        error_bases=bases,
        error_text=_text(error),
        line_number=number,
        line=line,
    )


def _text(error: BaseException) -> str:
    try:
        return str(error)[:500]
    except BaseException:  # a learner's __str__ may do anything
        return ""


#: What is in the file names of code that no learner wrote: ours, packages, the standard library's `with`.
_NOT_THE_LEARNERS = ("attention_lab", "site-packages", "contextlib.py")


def learners_line(error: BaseException, candidate: Callable[..., Any]) -> tuple[int, str]:
    """Number and text of the last line of the candidate's own cell in the traceback; (0, "") when there is none."""
    try:
        code = getattr(inspect.unwrap(candidate), "__code__", None)
    except ValueError:  # wrapped around itself
        code = getattr(candidate, "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if code is None or f.filename == code.co_filename]
    if code is None or not own:
        own = [f for f in frames if not any(part in f.filename for part in _NOT_THE_LEARNERS)]
    if not own:
        return 0, ""
    last = own[-1]
    text = linecache.getline(last.filename, last.lineno or 0).strip()
    return last.lineno or 0, text or (last.line or "")

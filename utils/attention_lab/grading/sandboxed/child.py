"""One submission's process: runs the learner's cells and calls the learner's functions when the marker says so.

Requests and replies are frames of `wire`. A reply repeats the number of its request. While a request is being worked
on, the learner's code may ask for right values of an exercise that is judged already (`ask`); the marker answers or
refuses. Whatever is decided is decided by the marker: this process only reports what calls gave.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import ctypes
import inspect
import io
import json
import linecache
import math
import operator
import os
import random
import struct
import sys
import time
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from attention_lab.checking import caller, facts, outcome
from attention_lab.exercises.model import Case
from attention_lab.grading.sandboxed import calls, lockdown, reading, wire

_LONGEST_TEXT = 500


class _Sink(io.TextIOBase):
    """Takes what learners print, and forgets it."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)

    def fileno(self) -> int:
        raise OSError("there is no file")


class Mender:
    """Remembers modules as they were and puts patched names back, so that one exercise cannot spoil the next."""

    def __init__(self) -> None:
        modules = [builtins, math, os, random, sys, time, warnings, np, np.linalg, np.random, np.testing]
        modules += [caller, calls, facts, outcome, reading, wire, sys.modules["attention_lab"]]
        modules += [contextlib, contextvars, io, inspect, json, linecache, struct]
        modules += [sys.modules[name] for name in _TORCH if name in sys.modules]
        kept = [vars(module) for module in modules]
        self._kept = [(now, dict(now), tuple(now.values()), _Version(now)) for now in kept]
        self._modules = (sys.modules, dict(sys.modules), _Version(sys.modules))
        self._out = sys.stdout
        self._numpy_errors = np.geterr()
        self._same: Callable[[Any, Any], bool] = operator.is_  # not to be looked up when it is needed

    def accept_modules(self) -> None:
        """The modules that are there now are those that belong there."""
        now, before, version = self._modules
        before["__main__"] = now["__main__"]
        version.note()

    def mend(self) -> None:
        """Put everything back."""
        for now, before, values, version in self._kept:
            if version.changed():
                self._mend_names(now, before, values)
                version.note()
        now, before, version = self._modules
        if version.changed():
            sys.modules = now
            now.update(before)
            version.note()
        sys.stdout = sys.stderr = self._out
        np.seterr(**self._numpy_errors)
        sys.settrace(None)
        sys.setprofile(None)
        sys.setrecursionlimit(1000)
        warnings.resetwarnings()
        warnings.simplefilter("ignore")

    def _mend_names(self, now: dict[str, Any], before: dict[str, Any], values: tuple[Any, ...]) -> None:
        if len(now) == len(values) and all(map(self._same, now.values(), values)):
            return
        for key in [k for k in now if k not in before and k not in _CHANGING and not k.startswith("__")]:
            del now[key]
        now.update({key: value for key, value in before.items() if key not in _CHANGING})


class _Version:
    """Tells whether a dictionary was written to, without looking at what is in it.

    A look at every value would touch every page that they lie on, and after a fork each of them would be copied. What
    is read is CPython's own count of changes (`ma_version_tag`, up to 3.13); where there is none, it is always yes.
    """

    def __init__(self, watched: dict[str, Any]) -> None:
        self._tag = ctypes.c_uint64.from_address(id(watched) + dict.__basicsize__ - 24) if _TAGGED else None
        self.note()

    def note(self) -> None:
        """What is there now counts as unchanged."""
        self._noted = self._tag.value if self._tag is not None else 0

    def changed(self) -> bool:
        """Whether anything was written since."""
        return self._tag is None or self._tag.value != self._noted


def _has_tags() -> bool:
    """Try it: a dictionary's tag differs after each change, and only then."""
    tried: dict[str, int] = {"a": 1}
    tag = ctypes.c_uint64.from_address(id(tried) + dict.__basicsize__ - 24)
    seen = [tag.value]
    for value in (2, 3):
        tried["a"] = value
        seen.append(tag.value)
    tried["b"] = 4
    seen.append(tag.value)
    del tried["b"]
    seen.append(tag.value)
    return sys.implementation.name == "cpython" and len(set(seen)) == len(seen) and tag.value == seen[-1]


_TAGGED = _has_tags()
_TORCH = ("torch", "torch.nn", "torch.nn.functional", "torch.linalg")
#: Names in modules that come and go by themselves.
_CHANGING = frozenset(
    ("stdout", "stderr", "stdin", "last_value", "last_type", "last_traceback", "last_exc", "_", "modules")
)


class Child:
    """The learner's names, and what the marker may ask of them.

    Args:
        incoming: descriptor that requests are read from.
        outgoing: descriptor that replies are written to.
        answers: list that `answer` of the stand-in appends to.
        mender: puts patched modules back.
    """

    def __init__(self, incoming: int, outgoing: int, answers: list[tuple[str, Any]], mender: Mender) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._answers = answers
        self._mender = mender
        self._cells = 0
        main = ModuleType("__main__")
        main.__dict__.update(display=_nothing, get_ipython=_nothing, __builtins__=builtins)
        sys.modules["__main__"] = main
        mender.accept_modules()
        self.names = main.__dict__

    def serve(self) -> None:
        """Work on requests until the pipe closes."""
        while True:
            request = wire.receive(self._incoming)
            work = getattr(self, f"do_{request['do']}")
            reply = work(*request["with"])
            self._mender.mend()
            wire.send(self._outgoing, {"id": request["id"], "reply": reply})

    def do_steps(self, steps: list[tuple[Any, ...]]) -> Any:
        """Several requests in one; what each of them gave."""
        replies = []
        for what, *values in steps:
            replies.append(getattr(self, f"do_{what}")(*values))
        return replies

    def do_look(self, name: str) -> bytes:
        """The facts about an object of the learner's, and what each prepared call of it gave: bytes of a frame."""
        found = self.do_facts(name)
        said = calls.outcomes(self.names[name], name) if found is not None and found[0] and not found[3] else []
        return wire.encode((found, said))

    def do_read(self, source: str) -> Any:
        """What a cell says; see `reading.read`."""
        found = reading.read(source)
        return {key: getattr(found, key) for key in ("code", "makes", "uses", "defines", "answers", "fault")}

    def do_run(self, code: str) -> Any:
        """Run a cell; what it raised, and the questions that it answered."""
        self._cells += 1
        name = f"<cell {self._cells}>"
        linecache.cache[name] = (len(code), None, [line + "\n" for line in code.split("\n")], name)
        del self._answers[:]
        try:
            exec(compile(code, name, "exec", dont_inherit=True), self.names)
        except BaseException as error:  # SystemExit and KeyboardInterrupt end a cell, not the worker
            what = {"error": type(error).__name__, "text": _text(error), "line": self._line(error, name)}
        else:
            what = {"error": "", "text": "", "line": ""}
        return {**what, "answers": [(str(n)[:100], _answer(v)) for n, v in self._answers[-200:]]}

    @staticmethod
    def _line(error: BaseException, name: str) -> str:
        trace, number = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == name:
                number = trace.tb_lineno
            trace = trace.tb_next
        return f"line {number}: {linecache.getline(name, number).strip()}" if number else ""

    def do_facts(self, name: str) -> Any:
        """The facts about an object of the learner's; None where there is none of that name."""
        if name not in self.names:
            return None
        found = facts.facts_of(self.names[name])
        return [found.callable, found.type_name, found.parameters, found.empty, found.begun]

    def do_call(self, name: str, args: tuple[Any, ...], dtype: str, script: str, framework: str) -> Any:
        """Call an object of the learner's: what came of it, and its arguments as it left them."""
        call = caller.LocalCaller(self.names[name], framework)
        found = call(Case(args, script=script), dtype)
        given = tuple(calls.left(argument) for argument in call.given)
        told = {key: value for key, value in vars(found).items() if key == "value" or value}
        return {**told, "given": given}

    def do_stand_in(self, name: str, framework: str, parts: dict[str, str] | None = None) -> None:
        """From now on, answer calls of that name with right values from the marker.

        Args:
            name: of the exercise.
            framework: "numpy" or "torch".
            parts: for a class, its public parts by name: "method" or "property".
        """
        own = self.names.get(name)
        asking = _Asking(self._incoming, self._outgoing, name, framework)
        self.names[name] = _function(asking, own) if parts is None else _class(asking, own, parts)


class Refused(Exception):
    """The marker gives no right value for these arguments."""


class _Asking:
    """Asks the marker for right values of one exercise."""

    def __init__(self, incoming: int, outgoing: int, name: str, framework: str) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self.name, self.framework = name, framework

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], **more: Any) -> Any:
        given = outcome.plain(tuple(args)), {str(k): outcome.plain(v) for k, v in kwargs.items()}
        if any(_holds_foreign(value) for value in (*given[0], *given[1].values())):
            raise Refused(f"{self.name} cannot be answered for these arguments")
        wire.send(self._outgoing, {"ask": self.name, "with": given, **more})
        reply = wire.receive(self._incoming)
        if reply.get("refused"):
            raise Refused(f"{self.name} cannot be answered for these arguments")
        if reply.get("error"):
            raise _exception(reply["error"])(reply["text"])
        return caller.materialise(reply["value"], self.framework)


def _function(asking: _Asking, own: Any) -> Callable[..., Any]:
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        try:
            return asking(args, kwargs)
        except Refused:
            if own is None:
                raise TypeError(f"{asking.name} is not written yet") from None
            return own(*args, **kwargs)

    stand_in.__name__ = stand_in.__qualname__ = asking.name
    return stand_in


def _class(asking: _Asking, own: Any, parts: dict[str, str]) -> type:
    """A class whose objects live with the marker: whatever is done to one is done there."""

    class Remote:
        _number: int

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            made = super().__new__(cls)
            try:
                made._number = asking(args, kwargs, part="", of=0)
            except Refused:
                if own is None:
                    raise TypeError(f"{asking.name} is not written yet") from None
                return own(*args, **kwargs)
            return made

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

    def method(part: str) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            return asking(args, kwargs, part=part, of=self._number)

        call.__name__ = call.__qualname__ = part
        return call

    for part, kind in parts.items():
        setattr(Remote, part, method(part) if kind == "method" else property(method(part)))
    Remote.__name__ = Remote.__qualname__ = asking.name
    return Remote


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _answer(value: Any) -> Any:
    if type(value) is str:
        return value[:200]
    return value if value is ... else outcome.plain(value)


def _holds_foreign(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_foreign(item) for item in value)
    return isinstance(value, outcome.Foreign)


def _exception(name: str) -> type[Exception]:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else RuntimeError


def _text(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_TEXT]
    except BaseException:  # a learner's __str__ may do anything
        return ""


def prepare(answers: list[tuple[str, Any]]) -> Mender:
    """Do what every worker would do first, once before they are forked, so that each of them starts warm."""
    sys.stdin = open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stderr = _Sink()
    warnings.simplefilter("ignore")
    mender = Mender()
    child = Child(-1, -1, answers, mender)
    frameworks = ("numpy", "torch") if "torch" in sys.modules else ("numpy",)
    for text in ("def f(x):\n    return x + 1\n", "def g(x):\n    raise NotImplementedError\n", "class C: pass"):
        child.do_run(str(child.do_read(text)["code"]))
    for name in "fg":
        rows = [((np.ones((2, 3), dtype),), "call", kind) for dtype in ("f8", "f4") for kind in frameworks]
        calls.prepare(name, rows)
        wire.decode(child.do_look(name)[4:])
        wire.decode(wire.encode({"reply": child.do_call(name, (np.ones(2),), "float32", "call", "numpy")})[4:])
    calls.PREPARED.clear()
    mender.mend()
    linecache.clearcache()
    lockdown.warm()
    return mender


def main(
    incoming: int,
    outgoing: int,
    ruleset: int | None,
    memory: int,
    seconds: int,
    answers: list[tuple[str, Any]],
    mender: Mender,
) -> None:
    """Lock this process and serve. Ends the process."""
    with contextlib.suppress(Exception):
        force = lockdown.lock(ruleset, memory, seconds)
        wire.send(outgoing, {"id": 0, "reply": force})
        Child(incoming, outgoing, answers, mender).serve()
    os._exit(0)

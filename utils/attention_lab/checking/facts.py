"""What is looked at of a candidate before it is called, as plain data that can come from another process."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Facts:
    """A candidate from outside.

    Attributes:
        callable: whether it can be called.
        type_name: name of its type.
        parameters: name, kind ("POSITIONAL_OR_KEYWORD" …) and whether it has a default, of each parameter; None where
            there is no signature.
        empty: True for a function that holds only a docstring, `pass` or `...`.
        begun: True for a function that does more than raise NotImplementedError, as far as that is known.
    """

    callable: bool
    type_name: str
    parameters: tuple[tuple[str, str, bool], ...] | None = None
    empty: bool = False
    begun: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(name for name, _, _ in self.parameters or ())

    @property
    def signature(self) -> str:
        """Its parameters as they are written: "q, k=…", "*, x"."""
        parts: list[str] = []
        for name, kind, has_default in self.parameters or ():
            if kind == "KEYWORD_ONLY" and not any(part.startswith("*") for part in parts):
                parts.append("*")
            stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(kind, "")
            parts.append(f"{stars}{name}{'=…' if has_default else ''}")
        return ", ".join(parts)

    def takes(self, wanted: list[str]) -> bool:
        """Whether it can be called with that many arguments by position."""
        by_place = [p for p in self.parameters or () if p[1] in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
        if len(wanted) > len(by_place) and not any(kind == "VAR_POSITIONAL" for _, kind, _ in self.parameters or ()):
            return False
        left_over = [p for p in self.parameters or () if p[1] == "KEYWORD_ONLY"] + by_place[len(wanted) :]
        return all(has_default for _, _, has_default in left_over)


def facts_of(candidate: Any) -> Facts:
    """The facts about an object; never raises for what it is."""
    if not callable(candidate):
        return Facts(False, type(candidate).__name__)
    return Facts(True, type(candidate).__name__, _parameters(candidate), _has_empty_body(candidate), _begun(candidate))


def _parameters(candidate: Callable[..., Any]) -> tuple[tuple[str, str, bool], ...] | None:
    try:
        found = inspect.signature(candidate).parameters.values()
        return tuple((str(p.name), p.kind.name, p.default is not inspect.Parameter.empty) for p in found)
    except Exception:  # there is none; and a learner's __signature__ may do anything
        return None


def _begun(candidate: Any) -> bool:
    try:
        candidate = inspect.unwrap(candidate)  # under @contextmanager, say
    except Exception:  # wrapped around itself; and a learner's attribute may do anything
        return False
    code = getattr(candidate, "__code__", None)
    if not inspect.iscode(code):
        return False
    given = code.co_argcount + code.co_kwonlyargcount
    return code.co_nlocals > given or bool(set(code.co_names) - {"NotImplementedError"})


def _has_empty_body(candidate: Any) -> bool:
    code = getattr(candidate, "__code__", None)
    if not inspect.iscode(code) or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE):
        return False
    if code.co_names:  # it uses something: there is no need to look at every step
        return False
    steps = [i for i in dis.get_instructions(code) if i.opname not in ("RESUME", "NOP", "COPY_FREE_VARS")]
    ends = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
    return all(i.opname in ends for i in steps) and steps[-1].argval is None and steps[0].argval is None

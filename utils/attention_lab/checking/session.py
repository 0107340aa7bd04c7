"""What a notebook meets: `@exercise`, `answer`, `hint` and `progress`. Side effects live here."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from attention_lab.checking.card import Block, Card, card_of
from attention_lab.checking.judging import Verdict, find, judge
from attention_lab.checking.outcome import type_name
from attention_lab.checking.progress import overview, record
from attention_lab.checking.questions import find_question, judge_answer

T = TypeVar("T", bound=Callable[..., Any])


class Unsolved(Exception):
    """An exercise or question that is not solved, in strict mode, or a name that does not exist.

    Jupyter shows the card's text in place of a traceback.
    """

    def __init__(self, card: Card) -> None:
        super().__init__(card.text())
        self.card = card

    def _render_traceback_(self) -> list[str]:
        return self.card.text().splitlines()


@dataclass
class Own:
    """What a learner wrote: the object under `@exercise` or the value given to `answer`, right or not.

    Attributes:
        thing: the object or value itself, never what stands in for it.
        verdict: what was said of it; None while it is judged, and when that was broken off.
    """

    thing: Any
    verdict: Verdict | None = None


#: What was written last, by exercise and question. Check cells judge this (see `check_cells`).
_own: dict[str, Own] = {}

#: Exercises that are being judged. Ours does not answer for these, or it would be judged in place of the learner's.
_being_judged: list[str] = []


def own(name: str) -> Own | None:
    """What the learner wrote last under that name in this process; None when there was nothing."""
    return _own.get(name)


def judge_own(name: str, candidate: Any, seed: int = 0, reveal: bool = True) -> Verdict:
    """`judge`, while our stand-in of that name refuses to be called."""
    _being_judged.append(name)
    try:
        return judge(name, candidate, seed, reveal=reveal)
    finally:
        _being_judged.remove(name)


def strict() -> bool:
    """Whether unsolved exercises raise: under a test runner, or where `ATTENTION_LAB_STRICT` is 1 (0 turns it off)."""
    chosen = os.environ.get("ATTENTION_LAB_STRICT")
    return chosen == "1" if chosen is not None else "PYTEST_VERSION" in os.environ


def _recording() -> bool:
    return not strict() or "ATTENTION_LAB_HOME" in os.environ


def show(card: Card) -> None:
    """Show a card: as rich output in a notebook, as text elsewhere."""
    if "IPython" in sys.modules:
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if get_ipython() is not None:
            display(card)
            return
    print(card.text())


def _settle(verdict: Verdict, more: list[Block]) -> None:
    """Record and show a verdict; in strict mode raise when it is not a pass."""
    if _recording():
        record(verdict)
    card = card_of(verdict, more)
    if strict() and not verdict.passed:
        raise Unsolved(card)
    show(card)


def exercise(candidate: T) -> T:
    """Judge the function or class under this decorator as soon as its cell runs, and show a card.

    Args:
        candidate: the learner's object; its name says which exercise it is.

    Returns:
        the learner's object when it is right; otherwise a right one under the same name, so that the rest of the
        chapter works.

    Raises:
        Unsolved: in strict mode (see `strict`) after the right one has been bound; anywhere for an unknown name.
    """
    name = _name_of(candidate)
    if getattr(candidate, _OURS, "") == name:
        return _ours(candidate, name)
    try:
        wanted = find(name)
    except KeyError as error:
        raise Unsolved(Card(name or "exercise", "wrong", [Block(_sentence(error))])) from None
    _own[name] = Own(candidate)
    verdict = _own[name].verdict = judge_own(name, candidate)
    if verdict.passed:
        _settle(verdict, [])
        return candidate
    stand_in = _stand_in(name, wanted.reference, candidate)
    _namespace(candidate)[name] = stand_in
    _settle(verdict, _help(name, verdict))
    return stand_in


#: The mark on a function of ours that stands in for a learner's: its value is the name of the exercise.
_OURS = "_attention_lab_stands_in_for"


def _name_of(candidate: Any) -> str:
    """The name of a candidate; `Unsolved` when it has none by which an exercise could be found."""
    try:
        name = candidate.__name__
    except Exception:  # there is none; and a learner's attribute may do anything
        name = ""
    if isinstance(name, str) and name not in ("", "<lambda>"):
        return name
    found = "a lambda, which has no name" if name == "<lambda>" else f"an object of type {type_name(candidate)}"
    message = f"@exercise belongs directly above def and the name of an exercise; it was given {found}."
    raise Unsolved(Card("@exercise", "wrong", [Block(message)]))


def _ours(candidate: T, name: str) -> T:
    """Say that a stand-in was handed in; nothing is recorded."""
    message = f"This {name} is ours, which stands in until yours is right: it was not judged. Hand in your own."
    if strict():
        raise Unsolved(Card(name, "wrong", [Block(message)]))
    show(Card(name, "info", [Block(message)]))
    return candidate


def _sentence(error: KeyError) -> str:
    text = str(error.args[0])
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith("?") else ".")


def _help(name: str, verdict: Verdict) -> list[Block]:
    stand_in = f"Until yours is right, {name} works in the rest of the chapter with ours."
    if verdict.status == "not_started":
        return [Block(f"Write it in place of the line with NotImplementedError, then run the cell. {stand_in}", "note")]
    return [Block(f'Stuck? hint("{name}"). {stand_in}', "note")]


def _stand_in(name: str, reference: Any, looks_like: Any) -> Any:
    if isinstance(reference, type):
        return reference

    @functools.wraps(looks_like, updated=())
    def stand_in(*args: Any, **kwargs: Any) -> Any:
        if name in _being_judged:
            raise RuntimeError(
                f"this calls our {name}, which stands in until yours is right; yours has to do it itself"
            )
        return reference(*args, **kwargs)

    stand_in.__name__ = name
    setattr(stand_in, _OURS, name)
    return stand_in


def fill_in(name: str) -> None:
    """Put ours under the name of an exercise that a notebook has not defined, so that what follows works."""
    if "IPython" in sys.modules:
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is not None and name not in shell.user_ns:
            reference = find(name).reference
            shell.user_ns[name] = _stand_in(name, reference, reference)


def _namespace(candidate: Any) -> dict[str, Any]:
    """Where the cell that defined `candidate` keeps its names."""
    with contextlib.suppress(Exception):  # under @contextmanager the learner's function is the one inside
        candidate = inspect.unwrap(candidate)
    names = getattr(candidate, "__globals__", None)
    if isinstance(names, dict):
        return names
    return vars(sys.modules.get(getattr(candidate, "__module__", "__main__"), sys.modules["__main__"]))


def answer(name: str, value: Any) -> None:
    """Commit to an answer and see what it is worth.

    Args:
        name: the question, as the text gives it: "04_entropy_at_64".
        value: a number or a text; `...` as long as you have not answered.

    Raises:
        Unsolved: in strict mode for an answer that is missing or wrong; anywhere for an unknown name.
    """
    try:
        verdict = judge_answer(name, value)
    except KeyError as error:
        raise Unsolved(Card(str(name), "wrong", [Block(_sentence(error))])) from None
    _own[name] = Own(value, verdict)
    more = []
    if verdict.status == "not_started":
        more = [Block("Put your answer in place of the three dots and run the cell.", "note")]
    elif not verdict.passed and find_question(name).hints:
        more = [Block(f'Stuck? hint("{name}")', "note")]
    _settle(verdict, more)


def hint(name: str, number: int = 1) -> None:
    """Show a hint.

    Args:
        name: of an exercise or a question.
        number: 1 for the first; later ones say more.

    Raises:
        Unsolved: for an unknown name or a hint that does not exist.
    """
    name = name if isinstance(name, str) else getattr(name, "__name__", name)  # hint(softmax), without the quotes
    hints = _hints(name)
    if type(number) is not int or not 1 <= number <= len(hints):
        there = f"Hints of {name} have the numbers 1 to {len(hints)}." if hints else f"{name} has no hints."
        raise Unsolved(Card(name, "wrong", [Block(f"There is no hint {number}. {there}")]))
    blocks = [Block(hints[number - 1])]
    if number < len(hints):
        blocks.append(Block(f'More: hint("{name}", {number + 1})', "note"))
    show(Card(f"{name}: hint {number} of {len(hints)}", "info", blocks))


def _hints(name: str) -> tuple[str, ...]:
    try:
        return find(name).hints
    except KeyError as error:
        try:
            return find_question(name).hints
        except KeyError:
            raise Unsolved(Card(str(name), "wrong", [Block(_sentence(error))])) from None


def progress(chapter: str | int | None = None) -> None:
    """Show where you are: all chapters, or the exercises and questions of one.

    Args:
        chapter: "04" or 4; every chapter, with the lines of those you have begun, when it is left out.

    Raises:
        Unsolved: for a chapter that has no exercises.
    """
    try:
        show(overview(None if chapter is None else str(chapter).zfill(2)))
    except ValueError as error:
        raise Unsolved(Card("progress", "wrong", [Block(f"{error}.".capitalize())])) from None

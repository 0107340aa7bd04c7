"""What the check cells of an exported notebook call: is the learner's own answer right?

They run beside the learner's code, in its kernel. So they rest on what `session` kept when the cell above ran, not on
what a name means by now, and make sure that the check itself still tells a wrong answer. That stops mistakes and easy
tricks; who wants to can replace anything in their own kernel. `attention_lab.grading` marks without that trust.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attention_lab.checking.card import Block, Card
from attention_lab.checking.judging import STOPPED, Verdict, find, implementation
from attention_lab.checking.questions import judge_answer
from attention_lab.checking.session import Unsolved, fill_in, judge_own, own
from attention_lab.exercises import questions

#: Of the inputs of check cells: other numbers than those on the card, and one of the seeds that the catalogue's own
#: tests try every mistake with.
SEED = 2

_PACKAGE = str(Path(__file__).resolve().parents[1])


def must_pass(name: str) -> None:
    """Raise unless the learner's own answer is right.

    Judges what stood last under `@exercise`, or was given to `answer`, in this process: never what stands in for it,
    and whatever the name means by now. Prints one line when it is right, and nothing on standard error.

    Args:
        name: of an exercise or a question.

    Raises:
        Unsolved: with one or two sentences on what is wrong, and no expected value.
    """
    with _quiet():
        verdict = _verdict(name)
    if not verdict.passed:
        message = textwrap.fill(verdict.message, 80, subsequent_indent="  ")  # nbgrader cuts what is longer
        lines = [Block(verdict.line, "code", "Your line")] if verdict.line else []
        raise Unsolved(Card(str(name), verdict.status, [Block(message), *lines]))
    print(f"✓ {name}")


def _verdict(name: str) -> Verdict:
    asked = name in questions()
    if not asked:
        try:
            find(name)
        except KeyError as error:
            return Verdict(name, "wrong", message=f"{error.args[0]}")
    written = own(name)
    if written is None:
        if not asked:
            fill_in(name)  # one cell that does not run costs no points elsewhere
        cell = f'answer("{name}", …)' if asked else f"@exercise above def {name}"
        return Verdict(name, "not_started", message=f"No cell with {cell} has run in this notebook.")
    if not asked and _is_ours(written.thing):
        return Verdict(name, "wrong", message=f"This {name} is the course's own: write yours.")
    if written.verdict and written.verdict.message == STOPPED:  # it would run as long again
        return written.verdict
    verdict = judge_answer(name, written.thing) if asked else judge_own(name, written.thing, SEED, reveal=False)
    if verdict.passed and not _tells_wrong_from_right(name):
        message = "Some cell has replaced what the check rests on: it takes a wrong answer for a right one."
        return Verdict(name, "wrong", message=f"{message} Take that out, restart the kernel, and run everything.")
    return verdict


def _tells_wrong_from_right(name: str) -> bool:
    """Whether a wrong answer of ours is still found wrong here."""
    if name in questions():
        return not judge_answer(name, "no answer to any question").passed
    wrong = implementation(find(name), find(name).mistakes[0])
    return not judge_own(name, wrong, SEED, reveal=False).passed


def _is_ours(thing: Any) -> bool:
    """Whether a function, or a class or what it inherits from, was written in this package."""
    if isinstance(thing, type):
        return any(str(base.__module__).split(".")[0] == "attention_lab" for base in thing.__mro__)
    code = getattr(thing, "__code__", None)
    return inspect.iscode(code) and code.co_filename.startswith(_PACKAGE)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Nothing reaches standard error, from Python, from logging or from a library in C.

    nbgrader gives no points to a check cell that wrote there, whatever it wrote.
    """
    before = logging.root.manager.disable
    logging.disable()
    try:
        with (
            open(os.devnull, "w") as nowhere,
            contextlib.redirect_stderr(nowhere),
            _without_descriptor(nowhere.fileno()),
        ):
            yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _without_descriptor(nowhere: int) -> Iterator[None]:
    try:
        kept = os.dup(2)
    except OSError:  # it is closed: nothing can be written to it
        yield
        return
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)

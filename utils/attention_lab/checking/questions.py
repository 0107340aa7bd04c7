"""Judge a value that the learner commits to."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from attention_lab.checking.judging import Verdict
from attention_lab.checking.outcome import is_number, numbers_agree
from attention_lab.exercises import questions
from attention_lab.exercises.model import Question


def judge_answer(name: str, value: Any) -> Verdict:
    """Judge the answer to a question.

    Args:
        name: the question; `KeyError` with the nearest name when there is none.
        value: a number, a text, or `...` for "not answered yet".

    Returns:
        a `Verdict`; its message explains the choice that was made.
    """
    question = find_question(name)
    if value is ...:
        return Verdict(name, "not_started", message=f"{question.prompt} {_offer(question)}".strip())
    value = value.item() if isinstance(value, np.generic) else value
    if question.choices and is_number(value):
        value = str(value)
    right = question.right() if callable(question.right) else question.right
    if _equal(value, right, question):
        return Verdict(name, "passed", message=question.because)
    for known, explanation in question.wrong.items():
        if _equal(value, known, question):
            return Verdict(name, "wrong", mistake=f"answered_{_slug(known)}", message=explanation)
    if question.choices:
        message = f"{_shown(value)} is none of the choices. {_offer(question)}"
        return Verdict(name, "wrong", message=message)
    if not isinstance(right, str) and not is_number(value):
        return Verdict(name, "wrong", message=f"{_shown(value)} is not a number; the question asks for one.")
    return Verdict(name, "wrong", message=f"{_shown(value)} is not it.", question=question.otherwise)


def find_question(name: str) -> Question:
    """The question of that name; `KeyError` names the nearest one otherwise."""
    known = questions()
    if name not in known:
        near = difflib.get_close_matches(str(name), known, 1, 0.5)
        mend = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
        raise KeyError(f"there is no question named {name}{mend}")
    return known[name]


def _equal(value: Any, target: Any, question: Question) -> bool:
    if isinstance(target, str):
        return isinstance(value, str) and value.strip().casefold() == target.strip().casefold()
    return numbers_agree(value, target, question.tolerance)


def _offer(question: Question) -> str:
    return f"Choices: {'; '.join(question.choices)}." if question.choices else ""


def _shown(value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return repr(value)[:60]
    return f"an object of type {type(value).__name__}".capitalize()


def _slug(value: Any) -> str:
    return "".join(c if c.isalnum() else "_" for c in str(value).casefold())[:40]

"""Judge a value that the learner commits to."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np

from attention_lab.checking.judging import Verdict
from attention_lab.checking.outcome import is_number, numbers_agree, origin, type_name
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
    value = _bare(value)
    if question.choices and is_number(value):
        value = _shown(value)
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
        without = " Leave the quotes out." if isinstance(value, str) and value.strip()[:1].isdigit() else ""
        return Verdict(name, "wrong", message=f"{_shown(value)} is not a number; the question asks for one.{without}")
    return Verdict(name, "wrong", message=f"{_shown(value)} is not it.", question=question.otherwise)


def find_question(name: str) -> Question:
    """The question of that name; `KeyError` names the nearest one otherwise."""
    known = questions()
    if not isinstance(name, str) or name not in known:
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


def _bare(value: Any) -> Any:
    """A number or text as Python's own type, also where it comes as an array or tensor without axes, or a subclass."""
    single = isinstance(value, (np.generic, np.ndarray)) or origin(value) == ("torch", "Tensor")
    if single and value.ndim == 0 and "datetime" not in str(value.dtype):
        value = value.item()
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return int.__int__(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > 200:
        return "A number of that length"
    if value is None or isinstance(value, (str, int, float)):
        return repr(value)[:60]
    return f"An object of type {type_name(value)}"


def _slug(value: Any) -> str:
    return "".join(c if c.isalnum() else "_" for c in str(value).casefold())[:40]

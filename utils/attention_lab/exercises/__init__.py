"""The catalogue: what is asked, a reference for each, and the mistakes that people make. Knows nothing of Jupyter."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Fn, Mistake, Question

__all__ = ["PROPERTIES", "Case", "Exercise", "Fn", "Mistake", "Question", "exercises", "questions"]


@cache
def _entries() -> tuple[dict[str, Exercise], dict[str, Question]]:
    found: dict[str, Exercise] = {}
    asked: dict[str, Question] = {}
    for name in sorted(m.name for m in iter_modules(__path__) if m.name.startswith("chapter_")):
        module = import_module(f"{__name__}.{name}")
        for exercise in module.EXERCISES:
            if exercise.name in found:
                raise ValueError(f"two exercises are named {exercise.name!r}")
            found[exercise.name] = exercise
        for question in module.QUESTIONS:
            if question.name in asked:
                raise ValueError(f"two questions are named {question.name!r}")
            asked[question.name] = question
    return found, asked


def exercises(chapter: str | None = None) -> dict[str, Exercise]:
    """All exercises by name, in the order of the course; of one chapter ("04") when it is given."""
    return {n: e for n, e in _entries()[0].items() if chapter in (None, e.chapter)}


def questions(chapter: str | None = None) -> dict[str, Question]:
    """All questions by name, in the order of the course; of one chapter ("04") when it is given."""
    return {n: q for n, q in _entries()[1].items() if chapter in (None, q.chapter)}

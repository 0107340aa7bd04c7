"""Short ways to write a catalogue of mistakes, shared by the chapters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from attention_lab.exercises.model import Mistake


def switched(name: str, diagnosis: str, question: str, **switches: Any) -> Mistake:
    """A mistake that an exercise's template makes when it is called with these keyword arguments."""
    return Mistake(name, diagnosis, question, switches=switches)


def answered(name: str, diagnosis: str, question: str, answer: Callable[..., Any]) -> Mistake:
    """A mistake that is a function of its own."""
    return Mistake(name, diagnosis, question, answer=answer)


def paired(mistakes: Iterable[Mistake], template: Callable[..., Any], likely: Collection[str]) -> tuple[Mistake, ...]:
    """The mistakes with switches where pairs are likely, and as plain functions elsewhere.

    Every two mistakes with switches make a pair that a wrong answer is held against, so few of them should have any.

    Args:
        mistakes: of one exercise.
        template: what the switches belong to.
        likely: ids of mistakes that are likely to come together with another one.
    """
    return tuple(
        replace(m, switches=None, answer=partial(template, **m.switches))
        if m.switches is not None and m.id not in likely
        else m
        for m in mistakes
    )

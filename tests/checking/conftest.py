"""A catalogue of its own, so that the engine is tested on exercises that are made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attention_lab import exercises as catalogue
from attention_lab.checking import judging
from attention_lab.exercises import Case, Exercise, Mistake, Question


def _pattern(q: np.ndarray, k: np.ndarray, *, scaled: bool = True, axis: int = -1) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / (np.sqrt(q.shape[-1]) if scaled else 1.0)
    powers = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _pattern_cases(rng: np.random.Generator) -> list[Case]:
    return [
        Case((rng.normal(size=(3, 4)), rng.normal(size=(5, 4)))),
        Case((rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 5, 4)))),
        Case((np.zeros((3, 4)), rng.normal(size=(5, 4))), note="a query of zeros"),
    ]


def _running_mean(x: np.ndarray) -> np.ndarray:
    steps = np.arange(1, x.shape[-2] + 1)[:, None]
    return np.cumsum(x, axis=-2) / steps


def _rows_of(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    if (ids < 0).any() or (ids >= len(table)).any():
        raise IndexError(f"an id is outside 0 … {len(table) - 1}")
    return table[ids]


TINY = (
    Exercise(
        name="pattern",
        chapter="90",
        summary="A pattern.",
        returns="(…, T, S)",
        reference=_pattern,
        template=_pattern,
        cases=_pattern_cases,
        mistakes=(
            Mistake("unscaled", "The scores are not divided.", "How do they grow?", switches={"scaled": False}),
            Mistake("over_queries", "The columns sum to 1.", "Who shares out?", switches={"axis": -2}),
        ),
        accepted={},
        hints=("one", "two", "three"),
    ),
    Exercise(
        name="running_mean",
        chapter="90",
        summary="A mean of the rows so far.",
        returns="(…, T, d)",
        reference=_running_mean,
        cases=lambda rng: [Case((rng.normal(size=(4, 3)),)), Case((rng.normal(size=(2, 5, 3)),))],
        mistakes=(),
        accepted={},
        hints=("one", "two", "three"),
    ),
    Exercise(
        name="rows_of",
        chapter="91",
        summary="Rows of a table.",
        returns="(T, d)",
        reference=_rows_of,
        cases=lambda rng: [
            Case((np.array([0, 2]), rng.normal(size=(3, 2)))),
            Case((np.array([-1, 2]), rng.normal(size=(3, 2))), note="a negative id"),
        ],
        mistakes=(
            Mistake("wraps", "A negative id counts from the end.", "What is -1?", answer=lambda ids, table: table[ids]),
        ),
        accepted={},
        hints=("one", "two", "three"),
    ),
)

ASKED = (
    Question(
        name="90_choice",
        chapter="90",
        prompt="Which?",
        right="rows",
        because="Rows, since each query shares out.",
        wrong={"columns": "Columns belong to keys."},
        otherwise="",
        choices=("rows", "columns"),
        hints=("look",),
    ),
    Question(
        name="90_number",
        chapter="90",
        prompt="How many?",
        right=lambda: 6 * 7,
        because="Six times seven.",
        wrong={13: "That is the sum."},
        otherwise="How many rows, how many columns?",
        tolerance=0.01,
    ),
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries = ({e.name: e for e in TINY}, {q.name: q for q in ASKED})
    monkeypatch.setattr(catalogue, "_entries", lambda: entries)
    forget()
    yield
    forget()


def forget() -> None:
    """Drop what is kept of the exercises of another catalogue."""
    for kept in (judging._prepared, judging._quickest, judging._variants, judging._first_outcome):
        kept.cache_clear()


@pytest.fixture
def right() -> dict[str, Callable[..., Any]]:
    return {e.name: e.reference for e in TINY}

"""The checker is itself tested: for every exercise every mistake gets its own name and every right variant passes."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch

from attention_lab.authoring.build import exercise_name, question_name
from attention_lab.checking import judge
from attention_lab.checking.questions import judge_answer
from attention_lab.checking.score import Score, score
from attention_lab.exercises import PROPERTIES, Fn, exercises, questions

COURSE = Path(__file__).parents[2]
SEEDS = range(3)
EXERCISES = list(exercises())
QUESTIONS = list(questions())


@cache
def scored(name: str) -> Score:
    return score(exercises()[name], SEEDS)


@cache
def cells(folder: str, chapter: str) -> list[str]:
    (path,) = (COURSE / folder).glob(f"{chapter}_*.ipynb")
    return [c.source for c in nbformat.read(path, 4).cells if c.cell_type == "code"]


def cell_of(folder: str, name: str, chapter: str) -> str:
    (source,) = [s for s in cells(folder, chapter) if name in (exercise_name(s), question_name(s))]
    return source


@pytest.mark.parametrize("name", EXERCISES)
def test_every_mistake_is_caught_under_its_own_name_and_every_right_variant_passes(name: str) -> None:
    assert scored(name).faults == []


@pytest.mark.parametrize("name", EXERCISES)
def test_there_are_enough_mistakes_variants_and_hints(name: str) -> None:
    exercise = exercises()[name]
    ids = [m.id for m in exercise.mistakes]
    assert len(ids) >= 4 and len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", i) for i in ids)
    assert len(exercise.accepted) >= 2
    assert len(set(exercise.hints)) == 3 and all(len(h) > 20 for h in exercise.hints)


@pytest.mark.parametrize("name", EXERCISES)
def test_every_mistake_is_told_in_one_sentence_and_asks_a_question(name: str) -> None:
    for mistake in exercises()[name].mistakes:
        assert mistake.diagnosis.endswith(".") and len(mistake.diagnosis) > 20, mistake.id
        assert mistake.question.endswith("?"), mistake.id
    sentences = [m.diagnosis for m in exercises()[name].mistakes]
    assert len(set(sentences)) == len(sentences)


@pytest.mark.parametrize("name", EXERCISES)
def test_cases_are_the_same_for_a_seed_and_differ_between_seeds(name: str) -> None:
    def numbers(arg: object) -> list[object]:
        return list(arg.params.values()) if isinstance(arg, Fn) else [arg]

    def arrays(seed: int) -> list[np.ndarray]:
        cases = exercises()[name].cases(np.random.default_rng(seed))
        found = [a for case in cases for arg in case.args for a in numbers(arg)]
        return [np.asarray(a) for a in found if isinstance(a, (np.ndarray, int, float))]

    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(arrays(1), arrays(1), strict=True))
    assert any(not np.array_equal(a, b) for a, b in zip(arrays(1), arrays(2), strict=False))


@pytest.mark.parametrize("name", EXERCISES)
def test_the_notebooks_solution_passes_and_its_blank_is_not_a_pass(name: str) -> None:
    chapter = exercises()[name].chapter

    def defined(folder: str) -> object:
        names: dict[str, object] = {"np": np, "torch": torch, "F": torch.nn.functional, "exercise": lambda f: f}
        names["contextmanager"] = contextmanager
        for source in cells(folder, chapter):
            if "@exercise" in source:
                exec(source, names)
                if exercise_name(source) == name:
                    return names[name]
        raise AssertionError(f"no cell of {folder} defines {name}")

    assert judge(name, defined("solutions")).passed  # type: ignore[arg-type]
    blank = judge(name, defined("chapters"))  # type: ignore[arg-type]
    solved_in_front_of_the_reader = cell_of("chapters", name, chapter) == cell_of("solutions", name, chapter)
    assert blank.passed == solved_in_front_of_the_reader
    planted = "NotImplementedError" not in cell_of("chapters", name, chapter)
    assert planted or blank.status == "not_started"


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_right_answer_passes_and_every_known_wrong_one_is_explained(name: str) -> None:
    question = questions()[name]
    right = question.right() if callable(question.right) else question.right
    assert name.startswith(f"{question.chapter}_")
    assert judge_answer(name, right).passed
    assert len(question.because) > 20
    for value, explanation in question.wrong.items():
        verdict = judge_answer(name, value)
        assert (verdict.status, verdict.message) == ("wrong", explanation)
    assert len(set(question.wrong.values())) == len(question.wrong)
    if question.choices:
        assert right in question.choices
        assert set(question.wrong) | {right} == set(question.choices)
        bug = "bug" in name
        assert not bug or set(question.choices) <= set(PROPERTIES)
    else:
        assert question.otherwise.endswith("?")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_in_the_solution_and_open_in_the_chapter(name: str) -> None:
    chapter = questions()[name].chapter
    assert cell_of("chapters", name, chapter) == f'answer("{name}", ...)'
    names: dict[str, object] = {}
    seen: list[tuple[str, object]] = []
    names["answer"] = lambda n, v: seen.append((n, v))
    exec(cell_of("solutions", name, chapter), names)
    assert judge_answer(*seen[0]).passed

"""nbval fails over the blank chapters exactly where something is still to be written.

In a file of its own, so that CI's two processes run solutions and blanks side by side.
"""

from __future__ import annotations

import re

import pytest
from tests.notebooks.runner import CHAPTERS, COURSE, SOLUTIONS, Cell, code, nbval

from attention_lab.authoring.build import exercise_name, question_name


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return nbval(CHAPTERS, tmp_path_factory.mktemp("blank"))


def test_in_blank_chapters_exactly_the_open_exercises_and_questions_fail(blank: list[Cell]) -> None:
    still_open = {
        (path.stem, number)
        for path, answer in zip(CHAPTERS, SOLUTIONS, strict=True)
        for number, (mine, solved) in enumerate(zip(code(path), code(answer), strict=True))
        if mine.source != re.sub(r"\n?### STARTS AS:.*", "", solved.source)
    }
    assert {(c.notebook, c.number) for c in blank if c.outcome == "failed"} == still_open
    assert {c.outcome for c in blank} == {"passed", "failed"}
    for notebook, number in still_open:
        source = code(COURSE / "chapters" / f"{notebook}.ipynb")[number].source
        assert exercise_name(source) or question_name(source)


def test_a_blank_fails_with_its_cards_text_and_no_traceback_of_ours(blank: list[Cell]) -> None:
    failed = [cell for cell in blank if cell.outcome == "failed"]
    assert failed
    for cell in failed:
        assert re.search(r"[○✗] \w+: (not started|not yet)", cell.text), cell.text
        assert "attention_lab" not in cell.text, cell.text
        assert "Traceback (most recent call last)" not in cell.text, cell.text

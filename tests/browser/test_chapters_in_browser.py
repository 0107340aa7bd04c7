"""Chapters as a learner meets them: run through unsolved, sliders alive, and an exercise that answers at once."""

from __future__ import annotations

import json
import pathlib

import pytest

CHAPTERS = sorted((pathlib.Path(__file__).parents[2] / "chapters").glob("*.ipynb"))
WRONG = """@exercise
def scaled_scores(q, k):
    return q @ k.swapaxes(-1, -2)
"""
RIGHT = """@exercise
def scaled_scores(q, k):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
"""
#: Every view on the page with what it shows: the words beside it, its picture's bytes or address, or its table.
SHOWN = """() => [...document.querySelectorAll('.attention-lab-explore')].map((view) => [
  view.querySelector('.al-said').textContent,
  view.querySelector('canvas.al-cells')?.toDataURL() ?? view.querySelector('img')?.src ??
    view.querySelector('table').textContent,
  view.querySelector('.al-trouble')?.textContent ?? '',
])"""
#: Whether every view has drawn its first state.
DRAWN = ".attention-lab-explore :is(.al-stage[data-number], .al-figure[data-number], tbody)"
READY = f"""() => document.querySelectorAll('.jp-OutputArea-child .attention-lab-still').length ===
  document.querySelectorAll('{DRAWN}').length"""


def cell_number(book, words):
    """The number of the code cell whose source holds these words."""
    number = book.page.evaluate(
        "(words) => { const cells = window.jupyterapp.shell.currentWidget.content.widgets;"
        " return cells.findIndex((cell) => cell.model.sharedModel.getSource().includes(words)); }",
        words,
    )
    assert number >= 0, f"no cell holds {words!r}"
    return number


def card(book, name, status):
    """The card of an exercise, once it has that status."""
    found = book.page.locator(f'.attention-lab-card[data-exercise="{name}"][data-status="{status}"]')
    found.wait_for()
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_runs_through_unsolved_and_its_sliders_answer(lab, chapter):
    book = lab.open(lab.copy(chapter))
    book.run_all()
    book.page.wait_for_function(READY)
    sliders = book.page.locator(".attention-lab-explore input[type=range]")
    for number in range(sliders.count()):
        before = book.page.evaluate(SHOWN)
        slider = sliders.nth(number)
        at_its_end = slider.evaluate("(input) => input.value === input.max")
        slider.focus()
        book.page.keyboard.press("ArrowLeft" if at_its_end else "ArrowRight")
        book.page.wait_for_function(f"(before) => JSON.stringify(({SHOWN})()) !== before", arg=_json(before))
        assert [trouble for _, _, trouble in book.page.evaluate(SHOWN) if trouble] == []
    book.assert_no_stderr()
    assert book.errors == []
    for number, view in enumerate(book.page.locator(".attention-lab-explore").all()):
        book.screenshot(f"{chapter.stem}-slider-{number + 1}", view)


def test_an_exercise_names_the_mistake_and_then_is_solved(lab):
    chapter = next((path for path in CHAPTERS if path.stem.startswith("04")), None)
    if chapter is None:
        pytest.skip("chapter 04 is not there yet")
    book = lab.open(lab.copy(chapter))
    book.run_all()
    assert "not started" in card(book, "scaled_scores", "not_started").inner_text()

    number = cell_number(book, "def scaled_scores")
    book.write_cell(number, WRONG)
    book.run_cell(number)
    wrong = card(book, "scaled_scores", "wrong")
    assert "scaled_scores" in wrong.inner_text()
    assert "Traceback" not in wrong.inner_text()
    book.screenshot("exercise-wrong", book.cell(number))

    book.write_cell(number, RIGHT)
    book.run_cell(number)
    assert "solved" in card(book, "scaled_scores", "passed").inner_text()
    book.screenshot("exercise-passed", book.cell(number))
    assert book.errors == []


def _json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

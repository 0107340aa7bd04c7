"""How a page reads: lengths, headings, words that are not used, and the ledger of claims."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import nbformat
import pytest

from attention_lab.authoring import COMPARED, chapters, drift
from attention_lab.authoring.build import exercise_name, question_name
from attention_lab.exercises import exercises, questions

COURSE = Path(__file__).parents[2]
PAGES = chapters(COURSE)
NUMBERS = [page.number for page in PAGES]

#: Which claims of the ledger each chapter shows; a claim of several chapters is named in each.
LEDGER = {
    "01": ("C1", "C2", "C3"),
    "02": ("C4", "C5", "C6"),
    "03": ("C7", "C8", "C9"),
    "04": ("C9", "C10", "C11"),
    "05": ("C7", "C12", "C13", "C14"),
    "06": ("C15", "C16"),
    "07": ("C13", "C17"),
    "08": ("C18",),
    "09": ("C11", "C19", "C20", "C21"),
    "10": ("C22", "C23"),
    "11": ("C24", "C25", "C26"),
    "12": ("C27",),
}

page_of_each = pytest.mark.parametrize("page", PAGES, ids=NUMBERS)


def cells(page, kind: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in nbformat.read(page.solution, 4).cells if cell.cell_type == kind]


def prose(page) -> str:
    return "\n".join(cell.source for cell in cells(page, "markdown"))


def test_the_chapters_of_this_course_are_there() -> None:
    assert NUMBERS == [f"{n:02}" for n in range(len(PAGES))] and len(PAGES) >= 5


@page_of_each
def test_the_notebooks_agree_with_their_source(page) -> None:
    assert drift(page) == []


@page_of_each
def test_a_page_is_short_enough_to_be_read(page) -> None:
    code = [len(cell.source.splitlines()) for cell in cells(page, "code")]
    words = len(re.sub(r"[#*|]", " ", prose(page)).split())
    assert words <= 1500, f"{words} words"
    assert len(code) + len(cells(page, "markdown")) <= 45
    assert max(code) <= 25
    assert statistics.median(code) <= 6


@page_of_each
def test_a_page_opens_and_closes_in_the_same_way(page) -> None:
    text = prose(page)
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert re.fullmatch(rf"# {page.number} · .+", headings[0])
    assert [h for h in headings if h.startswith("# ")] == headings[:1]
    opening = cells(page, "markdown")[0].source
    assert "minutes" in opening
    if page.number != "00":
        assert headings[-3:] == ["## What you showed", "## What is not true", "## Where it leads"]


@page_of_each
def test_the_readme_gives_the_minutes_and_exercises_of_the_page(page) -> None:
    (minutes,) = re.findall(r"\*\*Time:\*\* (\d+) minutes", cells(page, "markdown")[0].source)
    readme = (COURSE / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {page.number} \|.*\| {minutes} \| (.+) \|$", readme, re.MULTILINE)
    assert row, f"README has no row for chapter {page.number} with {minutes} minutes"
    assert re.findall(r"`(\w+)`", row.group(1)) == list(exercises(page.number))


@page_of_each
def test_every_exercise_has_a_heading_with_minutes_and_difficulty(page) -> None:
    found = re.findall(r"^### Exercise: `?(\w+)`? \((\d+) min, difficulty ([123])\)$", prose(page), re.MULTILINE)
    assert [name for name, _, _ in found] == list(exercises(page.number))


@page_of_each
def test_every_exercise_and_question_of_the_catalogue_has_one_cell(page) -> None:
    sources = [cell.source for cell in cells(page, "code")]
    assert [n for s in sources if (n := exercise_name(s))] == list(exercises(page.number))
    assert sorted(n for s in sources if (n := question_name(s))) == sorted(questions(page.number))


@page_of_each
def test_no_cell_holds_what_a_page_does_without(page) -> None:
    for cell in cells(page, "code"):
        assert not re.search(r"^\s*[%!]|\bplt\b|pyplot|interact\(|requests|urllib|random\.seed", cell.source, re.M), (
            cell.id
        )
        ast.parse(cell.source)


@page_of_each
def test_plain_words(page) -> None:
    bad = re.findall(r"\b(simply|just|obviously|clearly|trivial(?:ly)?|of course|color)\b", prose(page), re.IGNORECASE)
    assert bad == []
    assert not re.search("[\U0001f300-\U0001faff\u2600-\u27bf]", re.sub("[✓✗]", "", prose(page)))


@page_of_each
def test_every_claim_is_shown_by_a_cell_that_is_compared(page) -> None:
    shown = [t for c in cells(page, "code") if COMPARED in c.metadata.get("tags", []) for t in c.metadata.tags]
    claims = {tag.removeprefix("claim-") for tag in shown if tag.startswith("claim-")}
    wanted = set(LEDGER.get(page.number, ()))
    assert wanted <= claims
    closing = prose(page).split("## What you showed")[-1].split("## What is not true")[0]
    if wanted:
        assert wanted <= set(re.findall(r"\bC\d+\b", closing))
    tagged = [c for c in cells(page, "code") if any(t.startswith("claim-") for t in c.metadata.get("tags", []))]
    assert all(COMPARED in c.metadata.tags for c in tagged)


@page_of_each
def test_the_first_cell_imports_what_every_card_names(page) -> None:
    first = cells(page, "code")[0].source
    assert "from attention_lab import answer, exercise, hint, progress" in first


@page_of_each
def test_no_compared_output_holds_an_address_or_a_time(page) -> None:
    for cell in cells(page, "code"):
        text = "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
        assert not re.search(r"0x[0-9a-f]{6}|\d+(\.\d+)? ?(ms|µs|seconds)\b", text), cell.id


@page_of_each
def test_every_number_with_a_fraction_in_the_prose_is_printed_by_a_cell(page) -> None:
    printed = " ".join(
        o.get("text", "") or o.get("data", {}).get("text/plain", "") for c in cells(page, "code") for o in c.outputs
    )
    code = " ".join(cell.source for cell in cells(page, "code"))
    text = re.sub(r"`[^`]*`|\$[^$]*\$|^#+ .*$", " ", prose(page), flags=re.MULTILINE)
    numbers = set(re.findall(r"(?<![\w.,])\d+\.\d+(?![\w.])", text))
    there = f"{printed} {code}"
    missing = [n for n in sorted(numbers) if not re.search(rf"(?<![\d.]){re.escape(n)}(?!\.?\d\d\d)", there)]
    assert missing == []


@page_of_each
def test_sources_and_learners_copies_give_no_answer_away(page) -> None:
    learner = nbformat.read(page.learner, 4)
    for cell in learner.cells:
        assert "### BEGIN" not in cell.source and "### END" not in cell.source
        name = question_name(cell.source) if cell.cell_type == "code" else None
        assert name is None or cell.source == f'answer("{name}", ...)'

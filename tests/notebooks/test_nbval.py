"""nbval passes over the solutions, and would not if a stored number were wrong."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from tests.notebooks.runner import CHAPTERS, COURSE, SOLUTIONS, Cell, code, nbval

from attention_lab.authoring.build import COMPARED, exercise_name


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> list[Cell]:
    return nbval(SOLUTIONS, tmp_path_factory.mktemp("solved"))


def test_there_is_a_notebook_for_every_source() -> None:
    sources = {path.stem for path in (COURSE / "solutions").glob("[0-9][0-9]_*.py")}
    assert sources == {p.stem for p in SOLUTIONS} and all(p.exists() for p in CHAPTERS)


def test_every_cell_of_every_solution_passes(solved: list[Cell]) -> None:
    assert len(solved) == sum(len(code(path)) for path in SOLUTIONS)
    assert [cell for cell in solved if cell.outcome != "passed"] == []


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda p: p.stem)
def test_every_solution_has_cells_that_are_compared(path: Path) -> None:
    compared = [cell for cell in code(path) if COMPARED in cell.metadata.get("tags", [])]
    assert len(compared) >= 1
    assert all(cell.outputs for cell in compared)


def test_a_stored_number_that_the_code_does_not_give_fails(tmp_path: Path) -> None:
    path = tmp_path / SOLUTIONS[0].name
    book = nbformat.read(SOLUTIONS[0], 4)
    cell = next(c for c in book.cells if COMPARED in c.metadata.get("tags", []))
    output = cell.outputs[0]
    if output.output_type == "stream":
        output.text = output.text + "1"
    else:
        output.data["text/plain"] += "1"
    nbformat.write(book, path)
    assert [c.outcome for c in nbval([path], tmp_path)].count("failed") == 1


def test_a_loop_without_end_costs_only_its_own_cell(tmp_path: Path) -> None:
    path = tmp_path / "00_loop.ipynb"
    book = nbformat.read(COURSE / "solutions" / "00_start_here.ipynb", 4)
    place = next(i for i, c in enumerate(book.cells) if exercise_name(c.source) == "row_means")
    book.cells[place].source = "@exercise\ndef row_means(x):\n    while True:\n        pass"
    nbformat.write(book, path)
    number = [c.source for c in book.cells if c.cell_type == "code"].index(book.cells[place].source)
    cells = {c.number: c for c in nbval([path], tmp_path, timeout=8)}
    assert cells[number].outcome == "failed"
    assert "does a loop in it ever end" in cells[number].text or "Timeout" in cells[number].text
    assert all(cell.outcome != "failed" for n, cell in cells.items() if n != number)

"""The ledger: every claim of the course is shown by a cell that exists, is compared, and can be reached by a link."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import nbformat
import pytest
from tests.notebooks.test_pages import LEDGER

from attention_lab import ledger
from attention_lab.authoring import COMPARED, chapters

COURSE = Path(__file__).parents[2]
SHOWN = ledger.shown(COURSE / "solutions")
CLAIMS = [f"C{n}" for n in range(1, 28)]


def unshown(cells: list[ledger.Shown]) -> list[str]:
    """The claims that no cell with a stored and compared output shows."""
    compared = {cell.claim for cell in cells if COMPARED in cell.tags and cell.outputs}
    return [claim for claim in ledger.CLAIMS if claim not in compared]


def test_the_ledger_has_the_claims_1_to_27_in_order() -> None:
    assert list(ledger.CLAIMS) == CLAIMS
    assert all(says.endswith(".") for says in ledger.CLAIMS.values())


def test_every_claim_is_shown_by_a_cell_whose_output_is_compared() -> None:
    assert unshown(SHOWN) == []


def test_every_cell_that_shows_a_claim_is_compared_and_names_a_claim_of_the_ledger() -> None:
    assert [cell for cell in SHOWN if COMPARED not in cell.tags or not cell.outputs] == []
    assert {cell.claim for cell in SHOWN} <= set(CLAIMS)


@pytest.mark.parametrize("chapter", [page.number for page in chapters(COURSE)])
def test_each_chapter_shows_the_claims_that_the_pages_promise(chapter: str) -> None:
    assert {cell.claim for cell in SHOWN if cell.chapter == chapter} == set(LEDGER.get(chapter, ()))


def test_a_claim_whose_only_cell_goes_is_missed(tmp_path: Path) -> None:
    for path in (COURSE / "solutions").glob("*.ipynb"):
        shutil.copy(path, tmp_path)
    (path,) = tmp_path.glob("08_*.ipynb")
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        cell["metadata"].get("tags", []).clear()
    path.write_text(json.dumps(book), encoding="utf-8")
    assert unshown(ledger.shown(tmp_path)) == ["C18"]


def test_the_table_links_every_claim_to_a_cell_of_the_chapter_and_of_its_solution() -> None:
    html = ledger.table().html()
    rows = re.findall(r'<th scope="row">(C\d+)</th>(.*?)</tr>', html)
    assert [claim for claim, _ in rows] == CLAIMS
    for claim, row in rows:
        links = re.findall(r'href="([^"#]+)#cell-id=([^"]+)">', row)
        assert links, claim
        for notebook, cell_id in links:
            for folder in ("chapters", "solutions"):
                cells = nbformat.read(COURSE / folder / notebook, 4).cells
                (cell,) = [cell for cell in cells if cell.id == cell_id]
                assert f"claim-{claim}" in cell.metadata.tags


def test_the_table_says_the_same_as_text() -> None:
    text = repr(ledger.table())
    assert all(says in text for says in ledger.CLAIMS.values())
    assert ledger.table()._repr_mimebundle_()["text/plain"] == text

"""A notebook exported for nbgrader, with nothing solved, in JupyterLab."""

from __future__ import annotations

from typing import Any

import nbformat

from attention_lab.authoring import nbgrader
from attention_lab.authoring.build import blank_solution, chapters
from attention_lab.checking.progress import COURSE
from attention_lab.grading.course import points_of


def test_run_all_goes_past_checks_that_fail_to_the_end(lab: Any) -> None:
    (chapter,) = chapters(COURSE, ["00"])
    book = nbgrader.assignment(chapter, points_of(["00"], {}))
    for cell in book.cells:
        cell.source = blank_solution(cell.source)
    nbformat.write(book, lab.server.notebooks / "exported.ipynb")
    page = lab.open("exported.ipynb")
    page.command("notebook:run-all-cells")
    page.page.wait_for_function(  # the command itself comes back at the first cell that raises; the kernel goes on
        "() => /\\d/.test([...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].at(-1).textContent)",
        timeout=180_000,
    )
    failing = page.page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"]')
    said = [text.strip() for text in failing.all_inner_texts()]
    assert [text.splitlines()[0] for text in said] == [
        "○ 00_rows_of_a_sentence: not started",
        "✗ row_means: not yet",
    ]
    assert not any("Traceback" in text for text in said)
    prompts = page.page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
    count = sum(cell.cell_type == "code" for cell in book.cells)
    assert prompts == [f"[{number}]:" for number in range(1, count + 1)]

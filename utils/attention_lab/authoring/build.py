"""Build a chapter: the solved notebook, with the outputs that nbval compares, and the learner's copy without them.

A source is a jupytext percent file. In an exercise cell the lines between `### BEGIN SOLUTION` and
`### END SOLUTION` become a blank in the learner's copy; a line `### STARTS AS: code` behind them becomes code of the
learner's copy, and an empty line where there is no code in it. `answer("name", value)` becomes `answer("name", ...)`.
"""

from __future__ import annotations

import ast
import copy
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

#: The tag of a cell whose output is kept and compared.
COMPARED = "nbval-check-output"

_BEGIN, _END, _STARTS = "### BEGIN SOLUTION", "### END SOLUTION", "### STARTS AS:"
_METADATA: dict[str, Any] = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


@dataclass(frozen=True)
class Chapter:
    """The three files of a chapter.

    Attributes:
        source: solutions/NN_topic.py
    """

    source: Path

    @property
    def number(self) -> str:
        """Two digits."""
        return self.source.name[:2]

    @property
    def solution(self) -> Path:
        """solutions/NN_topic.ipynb"""
        return self.source.with_suffix(".ipynb")

    @property
    def learner(self) -> Path:
        """chapters/NN_topic.ipynb"""
        return self.source.parents[1] / "chapters" / self.solution.name


def chapters(course: Path, numbers: Iterable[str] = ()) -> list[Chapter]:
    """The chapters of a course folder, in order.

    Args:
        course: the folder that holds `solutions/`.
        numbers: which ones, "04" or "4"; all when empty.

    Raises:
        ValueError: for a number that no chapter has.
    """
    found = [Chapter(path) for path in sorted((course / "solutions").glob("[0-9][0-9]_*.py"))]
    wanted = [str(n).zfill(2) for n in numbers]
    for number in wanted:
        if number not in [c.number for c in found]:
            there = ", ".join(c.number for c in found) or "none"
            raise ValueError(f"there is no chapter {number}; there are: {there}")
    return [c for c in found if not wanted or c.number in wanted]


def read_source(chapter: Chapter) -> NotebookNode:
    """The source as a notebook with stable cell ids and nothing but tags in the cells' metadata."""
    import jupytext

    book = jupytext.reads(chapter.source.read_text(encoding="utf-8"), fmt="py:percent")
    cells = [_clean(cell) for cell in book.cells]
    for cell, name in zip(cells, _ids(chapter.number, cells), strict=True):
        cell["id"] = name
    return nbformat.from_dict({"cells": cells, "metadata": _METADATA, "nbformat": 4, "nbformat_minor": 5})


def _clean(cell: NotebookNode) -> dict[str, Any]:
    tags = list(cell.metadata.get("tags", []))
    clean: dict[str, Any] = {
        "cell_type": cell.cell_type,
        "metadata": {"tags": tags} if tags else {},
        "source": cell.source.rstrip(),
    }
    if cell.cell_type == "code":
        clean |= {"execution_count": None, "outputs": []}
    return clean


def exercise_name(source: str) -> str | None:
    """The name of the function or class under `@exercise` in a cell, or None."""
    match = re.search(r"^@exercise\s*\n(?:@.*\n)*(?:def|class)\s+(\w+)", source, re.MULTILINE)
    return match.group(1) if match else None


def question_name(source: str) -> str | None:
    """The name of the question that a cell answers, or None."""
    match = re.match(r"""\s*answer\(\s*["']([^"']+)["']""", source)
    return match.group(1) if match else None


def _slug(text: str) -> str:
    words = re.sub(r"\([^)]*\)", "", text).casefold()
    return re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:40] or "cell"


def _ids(number: str, cells: list[dict[str, Any]]) -> list[str]:
    """An id a cell: its exercise or question, or its heading with a count under that heading."""
    ids: list[str] = []
    seen: dict[str, int] = {}
    heading = "top"
    for cell in cells:
        name = None
        if cell["cell_type"] == "code":
            name = exercise_name(cell["source"]) or question_name(cell["source"])
        elif match := re.match(r"#+\s+(.*)", cell["source"]):
            heading = _slug(match.group(1))
        base = f"{number}-is-{_slug(name)}" if name else f"{number}-{heading}"
        seen[base] = seen.get(base, 0) + 1
        ids.append(base if seen[base] == 1 else f"{base}-{seen[base]}")
    return ids


def solved_copy(book: NotebookNode) -> NotebookNode:
    """The solved notebook: as the source, without the lines that are only for the learner's copy."""
    book = copy.deepcopy(book)
    for cell in book.cells:
        lines = cell.source.split("\n")
        cell.source = "\n".join(line for line in lines if not line.lstrip().startswith(_STARTS))
    return book


def learners_copy(book: NotebookNode) -> NotebookNode:
    """The learner's copy: solutions blank, questions unanswered, no outputs, no tags of the comparison."""
    book = copy.deepcopy(book)
    for cell in book.cells:
        tags = [tag for tag in cell.metadata.get("tags", []) if tag != COMPARED]
        cell.metadata = NotebookNode({"tags": tags} if tags else {})
        if cell.cell_type == "code":
            cell.source = blank_answer(blank_solution(cell.source))
            cell.outputs, cell.execution_count = [], None
    return book


def blank_solution(source: str) -> str:
    """A cell's source with its solved region made blank, or replaced by what the learner starts from."""
    lines = source.split("\n")
    begin = [i for i, line in enumerate(lines) if line.strip() == _BEGIN]
    end = [i for i, line in enumerate(lines) if line.strip() == _END]
    if not begin and not end:
        return source
    if len(begin) != 1 or len(end) != 1 or end[0] < begin[0]:
        raise ValueError(f"a cell needs one {_BEGIN} and, after it, one {_END}; got:\n{source}")
    indent = lines[begin[0]][: lines[begin[0]].index("#")]
    starts = [re.sub(f"{_STARTS} ?", "", line, count=1).rstrip() for line in lines if line.lstrip().startswith(_STARTS)]
    blank = starts or [f"{indent}# your code here", f"{indent}raise NotImplementedError"]
    rest = [line for line in lines[end[0] + 1 :] if not line.lstrip().startswith(_STARTS)]
    return "\n".join([*lines[: begin[0]], *blank, *rest])


def blank_answer(source: str) -> str:
    """A question cell with `...` in place of the answer; other cells unchanged."""
    name = question_name(source)
    if name is None:
        return source
    statement = ast.parse(source).body
    call = statement[0].value if len(statement) == 1 and isinstance(statement[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or len(call.args) != 2:
        raise ValueError(f"a question cell holds nothing but answer(name, value); got:\n{source}")
    return f'answer("{name}", ...)'


def executed(book: NotebookNode, folder: Path) -> NotebookNode:
    """Run a solved notebook and keep the text outputs of its compared cells only.

    Args:
        book: the solved notebook.
        folder: the folder it runs in.

    Raises:
        nbclient.exceptions.CellExecutionError: when a cell fails, an unsolved exercise among them.
    """
    from nbclient import NotebookClient

    book = copy.deepcopy(book)
    before = os.environ.get("ATTENTION_LAB_STRICT")
    os.environ["ATTENTION_LAB_STRICT"] = "1"
    try:
        NotebookClient(
            book,
            timeout=300,
            kernel_name="python3",
            coalesce_streams=True,
            resources={"metadata": {"path": str(folder)}},
        ).execute()
    finally:
        if before is None:
            del os.environ["ATTENTION_LAB_STRICT"]
        else:
            os.environ["ATTENTION_LAB_STRICT"] = before
    book.metadata = nbformat.from_dict(_METADATA)
    count = 0
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type != "code":
            continue
        compared = COMPARED in cell.metadata.get("tags", [])
        count += 1
        cell.execution_count = count if compared else None
        cell.outputs = [_text_only(output, count) for output in cell.outputs] if compared else []
        if compared and not cell.outputs:
            raise ValueError(f"cell {cell.id} is to be compared and prints nothing")
    return book


def _text_only(output: NotebookNode, count: int) -> NotebookNode:
    if output.output_type == "stream" and output.name == "stdout":
        return output
    if output.output_type == "execute_result" and set(output.data) == {"text/plain"}:
        output.execution_count = count
        return output
    raise ValueError(f"a compared cell gives {output.output_type}, not text: {str(output)[:200]}")


def build(chapter: Chapter) -> list[Path]:
    """Write both notebooks of a chapter. Returns the files that changed."""
    book = read_source(chapter)
    solved = executed(solved_copy(book), chapter.source.parent)
    return [p for p, b in ((chapter.solution, solved), (chapter.learner, learners_copy(book))) if _write(p, b)]


def _write(path: Path, book: NotebookNode) -> bool:
    nbformat.validate(book)
    text = nbformat.writes(book) + "\n"
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return True


def drift(chapter: Chapter) -> list[str]:
    """How the notebooks of a chapter differ from their source, a sentence each; empty when they agree."""
    try:
        book = read_source(chapter)
        learner, solved = learners_copy(book), solved_copy(book)
    except ValueError as error:
        return [f"{chapter.source.name}: {error}"]
    found = []
    for path, wanted in ((chapter.learner, learner), (chapter.solution, solved)):
        if not path.exists():
            found.append(f"{path.parent.name}/{path.name} is missing")
            continue
        there = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        found += [f"{path.parent.name}/{path.name}: {what}" for what in _differences(there, wanted)]
    return found


def _differences(there: NotebookNode, wanted: NotebookNode) -> list[str]:
    if dict(there.metadata) != dict(wanted.metadata):
        return ["the notebook's metadata differs"]
    if [c.get("id") for c in there.cells] != [c.id for c in wanted.cells]:
        return ["it has other cells than the source"]
    return [what for a, b in zip(there.cells, wanted.cells, strict=True) if (what := _cell_difference(a, b))]


def _cell_difference(there: NotebookNode, wanted: NotebookNode) -> str:
    for key in ("cell_type", "source", "metadata"):
        if there[key] != wanted[key]:
            return f"cell {wanted.id} has another {key} than the source"
    if wanted.cell_type != "code":
        return ""
    compared = COMPARED in wanted.metadata.get("tags", [])
    if compared != bool(there.outputs):
        return f"cell {wanted.id} {'lacks the output that is compared' if compared else 'has outputs'}"
    kinds = {"text/plain"}
    if any(o.output_type != "stream" and set(o.get("data", {})) != kinds for o in there.outputs):
        return f"cell {wanted.id} stores an output that is not text"
    return ""

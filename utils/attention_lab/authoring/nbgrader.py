"""Export chapters as source notebooks for nbgrader, with a check cell after each exercise and question.

The metadata is nbgrader's schema 3 (nbgrader.readthedocs.io, "Creating and grading assignments"). nbgrader itself is
not needed here. What it writes for learners is the chapter as the course hands it out, plus the check cells.
"""

from __future__ import annotations

import copy
import datetime
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from attention_lab.authoring.build import (
    Chapter,
    blank_answer,
    chapters,
    exercise_name,
    learners_copy,
    question_name,
    read_source,
)
from attention_lab.checking.progress import write_whole
from attention_lab.exercises import exercises, questions
from attention_lab.grading.course import points_of

#: The kernel that nbgrader runs notebooks in: the course's own Python. Named in nbgrader_config.py, too.
KERNEL = "attention-lab"

_BEGIN, _END, _STARTS = "### BEGIN SOLUTION", "### END SOLUTION", "### STARTS AS: "

#: JupyterLab goes on behind a cell with this tag that raises, so that "Run All" reaches the end of a blank copy.
_GOES_ON = "raises-exception"


def export(
    course: Path,
    folder: Path,
    numbers: Sequence[str] = (),
    points: Mapping[str, float] | None = None,
    force: bool = False,
) -> list[Path]:
    """Write a course folder for nbgrader.

    Args:
        course: the folder that holds `solutions/`.
        folder: where to write; made when it is missing.
        numbers: of the chapters, "04" or "4"; all when empty.
        points: by exercise or question; see `attention_lab.grading.course.points_of`.
        force: write into a folder that holds something. What would be written over is moved to `before-…` in it.

    Returns:
        the files that were written or changed.

    Raises:
        ValueError: for a chapter that does not exist, or a folder that cannot be written or holds something.
    """
    wanted = chapters(course, numbers)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is no folder; give the name of a new one")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ValueError(
            f"{folder} is not empty: give a new folder, or --force to write into this one "
            "(what stands in the way is moved to a folder before-… in it)"
        )
    worth = points_of([chapter.number for chapter in wanted], points or {})
    texts = {
        Path("source", c.solution.stem, c.solution.name): nbformat.writes(assignment(c, worth)) + "\n" for c in wanted
    }
    for name, kept_as in (("nbgrader_config.py", "nbgrader_config.txt"), ("README.md", "README.md")):
        texts[Path(name)] = (files(__package__) / "nbgrader_files" / kept_as).read_text(encoding="utf-8")
    texts[Path("jupyter", "kernels", KERNEL, "kernel.json")] = json.dumps(kernel(course), indent=1) + "\n"
    try:
        return _write(folder, texts)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written ({error.strerror}): give another folder") from error


def _write(folder: Path, texts: Mapping[Path, str]) -> list[Path]:
    aside = folder / f"before-{datetime.datetime.now():%Y-%m-%d-%H%M%S}"
    written = []
    for name, text in texts.items():
        path = folder / name
        if path.exists():
            if path.read_bytes() == text.encode():
                continue
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, aside / name)
        write_whole(path, text)
        path.chmod(0o644)  # write_whole makes files that only their owner reads
        written.append(path)
    return written


def kernel(course: Path) -> dict[str, Any]:
    """The kernel's description: this Python, with the course ahead of anything that lies beside a notebook."""
    return {
        "argv": [
            sys.executable,
            "-m",
            "ipykernel_launcher",
            "--IPKernelApp.ignore_cwd=True",
            "-f",
            "{connection_file}",
        ],
        "display_name": "Attention Lab (for nbgrader)",
        "language": "python",
        "metadata": {"debugger": False},
        "env": {
            "PYTHONPATH": str(course / "utils"),
            "OMP_NUM_THREADS": "1",
            "ATTENTION_LAB_STRICT": "0",
            "ATTENTION_LAB_HOME": os.devnull,  # a learner's progress is not the teacher's
        },
    }


def assignment(chapter: Chapter, worth: Mapping[str, float]) -> NotebookNode:
    """A chapter as nbgrader's source notebook.

    Args:
        chapter: which.
        worth: points by exercise and question.

    Raises:
        ValueError: when its exercises and questions are not those of the catalogue, once each.
    """
    book = read_source(chapter)
    blank = learners_copy(book)
    cells, found = [], []
    for cell, handed_out in zip(book.cells, blank.cells, strict=True):
        cell = copy.deepcopy(cell)
        cell.metadata = handed_out.metadata  # without the tags of the comparison
        cells.append(cell)
        name = (exercise_name(cell.source) or question_name(cell.source)) if cell.cell_type == "code" else None
        if name is None:
            continue
        found.append(name)
        if name in questions():
            cell.source = _as_region(cell.source)
        if _BEGIN in cell.source:
            cell.metadata["nbgrader"] = _metadata(f"solution-{name}", solution=True)
        cells.append(_check(cell.id, name, worth[name]))
    asked = [*exercises(chapter.number), *questions(chapter.number)]
    if sorted(found) != sorted(asked):
        odd = sorted({*asked} ^ {*found}) or sorted({name for name in found if found.count(name) > 1})
        raise ValueError(f"{chapter.source.name} and the catalogue differ in {', '.join(odd)}: mend one of them")
    book.cells = cells
    nbformat.validate(book)
    return book


def _as_region(source: str) -> str:
    """An answered question as a solved region, and what the learner's cell holds in its place."""
    return "\n".join([_BEGIN, source, _END, _STARTS + blank_answer(source)])


def _metadata(grade_id: str, solution: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "schema_version": 3,
        "grade": not solution,
        "locked": not solution,
        "solution": solution,
        "grade_id": grade_id,
        **more,
    }


def _check(cell_id: str, name: str, points: float) -> NotebookNode:
    cell: NotebookNode = nbformat.v4.new_code_cell(
        f'from attention_lab.checking import must_pass\n\nmust_pass("{name}")  # marks what you wrote above',
        id=f"{cell_id}-check",
    )
    cell.metadata["nbgrader"] = _metadata(f"check-{name}", points=int(points) if points == int(points) else points)
    cell.metadata["tags"] = [_GOES_ON]
    return cell

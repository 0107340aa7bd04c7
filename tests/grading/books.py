"""Notebooks for the tests, made from the course's own: a chapter's cells with some of them replaced."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from attention_lab.authoring.build import exercise_name, question_name

COURSE = Path(__file__).parents[2]


@cache
def _book(folder: str, chapter: str) -> str:
    (path,) = [p for p in (COURSE / folder).glob(f"{chapter}_*.ipynb") if ".mine-" not in p.name]
    return path.read_text(encoding="utf-8")


def book(folder: str, chapter: str) -> dict[str, Any]:
    """The course's notebook of a chapter, as JSON: folder "solutions" or "chapters"."""
    return dict(json.loads(_book(folder, chapter)))


def code(source: str) -> dict[str, Any]:
    """A code cell."""
    return {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def made(
    chapter: str,
    cells: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    folder: str = "solutions",
) -> dict[str, Any]:
    """A submission: the course's notebook with changes.

    Args:
        chapter: two digits.
        cells: new sources for the cells of exercises and questions, by name.
        before: cells put after the first one.
        after: cells put at the end.
        folder: "solutions" for a submission that is right but for the changes, "chapters" for a blank one.
    """
    found = book(folder, chapter)
    wanted = dict(cells or {})
    for cell in found["cells"]:
        source = "".join(cell["source"])
        name = cell["cell_type"] == "code" and (exercise_name(source) or question_name(source))
        if name in wanted:
            cell["source"] = wanted.pop(name)
    assert not wanted, f"the chapter has no cell of {list(wanted)}"
    first = next(i for i, cell in enumerate(found["cells"]) if cell["cell_type"] == "code")
    found["cells"][first + 1 : first + 1] = [code(source) for source in before]
    found["cells"] += [code(source) for source in after]
    return found


def saved(found: Any) -> bytes:
    """A notebook as bytes."""
    return json.dumps(found).encode()

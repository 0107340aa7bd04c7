"""The course as marking sees it: whose text each cell is, which exercises a chapter has, and what they are worth."""

from __future__ import annotations

import builtins
import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import attention_lab
from attention_lab.checking.progress import COURSE
from attention_lab.exercises import exercises, questions
from attention_lab.grading.sandboxed.reading import Reading, read


def normal(source: str) -> str:
    """A cell's text without what editors change: line ends, blanks at line ends, empty lines around it."""
    return _normal(source) if len(source) <= 4_000 else _normal.__wrapped__(source)


@functools.lru_cache(maxsize=2048)
def _normal(source: str) -> str:
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


@dataclass(frozen=True)
class Chapter:
    """A chapter as it is handed out.

    Attributes:
        number: two digits.
        provided: normal text of each code cell that holds no exercise or question, with what it says, in order.
        blank: the same for every other code cell.
    """

    number: str
    provided: Mapping[str, Reading]
    blank: Mapping[str, Reading]

    def needed(self, readings: Iterable[Reading]) -> list[str]:
        """The provided cells that others need, in order: those that make a name they use, and what these use."""
        wanted = {name for reading in readings for name in reading.uses} - set(vars(builtins))
        chosen: set[str] = set()
        while True:
            more = [t for t, reading in self.provided.items() if t not in chosen and wanted & set(reading.makes)]
            if not more:
                return [text for text in self.provided if text in chosen]
            chosen.update(more)
            wanted |= {name for text in more for name in self.provided[text].uses}


def sources(book: Any) -> list[tuple[str, str]]:
    """Kind and text of each cell of a notebook that is plain JSON, of any version of the format."""
    cells = book["cells"] if "cells" in book else [c for w in book["worksheets"] for c in w.get("cells", [])]
    return [(str(cell.get("cell_type")), _text(cell.get("source", cell.get("input", "")))) for cell in cells]


def _text(source: Any) -> str:
    return source if isinstance(source, str) else "".join(str(line) for line in source)


@functools.cache
def chapter(number: str) -> Chapter:
    """A chapter by its number; without cells where the course folder does not hold it."""
    provided: dict[str, Reading] = {}
    blank: dict[str, Reading] = {}
    for path in sorted((COURSE / "chapters").glob(f"{number}_*.ipynb"))[:1]:
        ours = {**exercises(), **questions()}
        for kind, text in sources(json.loads(path.read_text(encoding="utf-8"))):
            if kind != "code":
                continue
            found = read(text)
            if any(name in ours for name in (*found.defines, *found.answers)):
                blank[normal(text)] = found
            else:
                provided[normal(text)] = found
    return Chapter(number, provided, blank)


@functools.cache
def version() -> str:
    """What marks depend on: the package's version and a digest of the course's and the marker's own files."""
    digest = hashlib.sha256()
    package = COURSE / "utils" / "attention_lab"
    files = [*package.glob("*.py"), *COURSE.glob("chapters/[0-9][0-9]_*.ipynb")]
    for folder in ("exercises", "checking", "probes", "grading", "grading/sandboxed"):
        files += (package / folder).glob("*.py")
    for path in sorted(files):
        if ".mine-" not in path.name:
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{attention_lab.__version__}+{digest.hexdigest()[:16]}"


def names_of(number: str) -> list[str]:
    """The exercises of a chapter, then its questions."""
    return [*exercises(number), *questions(number)]


@functools.cache
def solved_in_front_of_the_reader(number: str) -> frozenset[str]:
    """Exercises that the copy handed out solves already: they are worth no points unless somebody says so."""
    from attention_lab.checking import judge

    found = set()
    for path in sorted((COURSE / "chapters").glob(f"{number}_*.ipynb"))[:1]:
        for _, text in sources(json.loads(path.read_text(encoding="utf-8"))):
            for name in set(read(text).defines) & set(exercises(number)):
                if "NotImplementedError" not in text and judge(name, _defined(text, name)).passed:
                    found.add(name)
    return frozenset(found)


def _defined(text: str, name: str) -> Any:
    import numpy as np

    names: dict[str, Any] = {"np": np, "exercise": lambda thing: thing}
    exec(text, names)  # the course's own text
    return names[name]


def points_of(numbers: Sequence[str], chosen: Mapping[str, float]) -> dict[str, float]:
    """What each exercise and question is worth.

    Args:
        numbers: chapters.
        chosen: points by name. Without them an exercise is worth 1, or 0 where the copy handed out solves it already,
            and a question 0, since the text says that a wrong answer costs nothing.
    """
    worth: dict[str, float] = {}
    for number in numbers:
        free = solved_in_front_of_the_reader(number)
        worth |= {name: 0.0 if name in free else 1.0 for name in exercises(number)}
        worth |= dict.fromkeys(questions(number), 0.0)
    return {name: float(chosen.get(name, value)) for name, value in worth.items()}

"""nbgrader itself validates, releases and grades what `course.py export nbgrader` writes."""

from __future__ import annotations

import copy
import json
import os
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.grading.nbgrader_env import DEMANDED, programs

from attention_lab.authoring.nbgrader import export
from attention_lab.checking.progress import COURSE

WRONG = "@exercise\ndef softmax(scores):\n    return scores / scores.sum(axis=-1, keepdims=True)\n"
PLACE = Path("03_soft_lookup", "03_soft_lookup.ipynb")
ALL = {"hard_lookup": 1.0, "softmax": 1.0, "soft_lookup": 1.0}

Book = dict[str, Any]


@dataclass(frozen=True)
class Course:
    """A course folder and an nbgrader that runs in it."""

    folder: Path
    program: Path
    environment: dict[str, str]

    def nbgrader(self, *words: str) -> str:
        """What a command prints."""
        command = [self.program, *words]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def book(self, *place: str) -> Book:
        """A notebook of chapter 03 in a folder of the course."""
        return dict(json.loads(self.folder.joinpath(*place, PLACE).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def course(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """A fresh course folder with chapter 03, handed out."""
    cache = getattr(request.config, "cache", None)  # there is none with -p no:cacheprovider
    scripts = programs(cache.mkdir("nbgrader") if cache else tmp_path_factory.mktemp("nbgrader"))
    if scripts is None:
        pytest.skip(f"nbgrader is not installed for the tests; {DEMANDED}=1 makes an environment for it (network)")
    home = tmp_path_factory.mktemp("ein Kürs")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "PYTHON", "JUPYTER", "ATTENTION_LAB"))}
    own = {f"JUPYTER_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    path = os.pathsep.join([str(scripts), kept.get("PATH", "")])  # nbgrader calls alembic by its name
    made = Course(home / "course", scripts / "nbgrader", {**kept, **own, "PATH": path})
    export(COURSE, made.folder, ["03"])
    made.nbgrader("generate_assignment", "03_soft_lookup")
    return made


def cells(book: Book) -> dict[str, Any]:
    return {c["metadata"]["nbgrader"]["grade_id"]: c for c in book["cells"] if "nbgrader" in c["metadata"]}


def sources(book: Book) -> list[str]:
    return ["".join(c["source"]) for c in book["cells"] if not c["metadata"].get("nbgrader", {}).get("grade")]


def marks(folder: Path) -> dict[str, dict[str, float | None]]:
    """By learner and exercise, the points in the gradebook of what is worth any."""
    query = """
        SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score FROM grade
        JOIN grade_cells ON grade.cell_id = grade_cells.id JOIN base_cell ON base_cell.id = grade_cells.id
        JOIN submitted_notebook ON grade.notebook_id = submitted_notebook.id
        JOIN submitted_assignment ON submitted_notebook.assignment_id = submitted_assignment.id
        WHERE grade_cells.max_score > 0
    """
    found: dict[str, dict[str, float | None]] = {}
    with closing(sqlite3.connect(folder / "gradebook.db")) as gradebook:
        for learner, name, points in gradebook.execute(query):
            found.setdefault(learner, {})[name.removeprefix("check-")] = points
    return found


def test_what_learners_get_is_the_courses_own_copy_and_the_checks(course: Course) -> None:
    handed_out = json.loads((COURSE / "chapters" / "03_soft_lookup.ipynb").read_text(encoding="utf-8"))
    assert sources(course.book("release")) == sources(handed_out)


def test_the_solved_notebook_validates(course: Course) -> None:
    """nbgrader ends with 0 either way, so its text is read."""
    said = course.nbgrader("validate", str(Path("source", PLACE)))
    assert said == "Success! Your notebook passes all the tests.\n"


def test_marks_are_those_of_the_learners_own_answers(course: Course) -> None:
    blank, solutions = course.book("release"), cells(course.book("source"))
    solved = copy.deepcopy(blank)
    for name, cell in cells(solved).items():
        if name.startswith("solution"):
            cell["source"] = solutions[name]["source"]
    one_wrong = copy.deepcopy(solved)
    cells(one_wrong)["solution-softmax"]["source"] = WRONG
    for learner, book in {"solved": solved, "blank": blank, "one wrong": one_wrong, "odd": odd(one_wrong)}.items():
        path = course.folder / "submitted" / learner / PLACE
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(book), encoding="utf-8")
    course.nbgrader("autograde", "03_soft_lookup")
    assert marks(course.folder) == {
        "solved": ALL,
        "blank": dict.fromkeys(ALL, 0.0),
        "one wrong": {**ALL, "softmax": 0.0},
        "odd": {**ALL, "softmax": 0.0},
    }
    (output,) = cells(course.book("autograded", "one wrong"))["check-softmax"]["outputs"]
    assert output["traceback"][0] == "✗ softmax: not yet"


def odd(book: Book) -> Book:
    """The same answers, with what learners do to check cells; each of these once gave other marks, or none at all."""
    book = copy.deepcopy(book)
    found = cells(book)
    found["check-softmax"]["metadata"]["tags"] = ["skip-execution"]
    found["check-03_shift"]["metadata"]["nbgrader"] |= {"grade": False, "solution": True}
    book["cells"].remove(found["check-soft_lookup"])
    for name in ("check-hard_lookup", "solution-hard_lookup"):
        book["cells"].insert(book["cells"].index(found[name]), copy.deepcopy(found[name]) | {"id": f"copy-of-{name}"})
    unknown = copy.deepcopy(found["check-hard_lookup"])
    unknown["metadata"]["nbgrader"]["grade_id"] = "of-another-release"
    book["cells"].append(unknown | {"id": "unknown"})
    return book

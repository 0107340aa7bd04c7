"""What `course.py export nbgrader` writes: nbgrader's metadata to the letter, and cells that run, solved and blank."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from attention_lab.authoring import nbgrader
from attention_lab.authoring.build import Chapter, blank_solution, chapters, learners_copy, read_source
from attention_lab.checking.progress import COURSE
from attention_lab.cli import main
from attention_lab.exercises import exercises, questions
from attention_lab.grading.course import points_of

ALL = chapters(COURSE)
numbered = pytest.mark.parametrize("chapter", ALL, ids=[chapter.number for chapter in ALL])


def made(chapter: Chapter, **points: float) -> Any:
    return nbgrader.assignment(chapter, points_of([chapter.number], points))


def marks(cell: Any) -> dict[str, Any]:
    return dict(cell.metadata.get("nbgrader", {}))


# --- metadata ------------------------------------------------------------------------------------------------


def test_the_metadata_is_exactly_what_nbgrader_needs() -> None:
    cells = {marks(cell)["grade_id"]: cell for cell in made(ALL[3], softmax=2.5).cells if marks(cell)}
    assert marks(cells["solution-softmax"]) == {
        "schema_version": 3,
        "grade": False,
        "locked": False,
        "solution": True,
        "grade_id": "solution-softmax",
    }
    assert marks(cells["check-softmax"]) == {
        "schema_version": 3,
        "grade": True,
        "locked": True,
        "solution": False,
        "grade_id": "check-softmax",
        "points": 2.5,
    }
    assert marks(cells["check-hard_lookup"])["points"] == 1
    assert marks(cells["check-03_shift"])["points"] == 0
    assert cells["check-softmax"].metadata["tags"] == ["raises-exception"]


@numbered
def test_each_exercise_and_question_is_followed_by_its_check(chapter: Chapter) -> None:
    cells = made(chapter).cells
    names = [*exercises(chapter.number), *questions(chapter.number)]
    checks = {marks(cell)["grade_id"]: place for place, cell in enumerate(cells) if marks(cell).get("grade")}
    assert sorted(checks) == sorted(f"check-{name}" for name in names)
    for name in names:
        place = checks[f"check-{name}"]
        assert f'must_pass("{name}")' in cells[place].source
        assert re.search(rf'^def {name}\(|^class {name}\b|^answer\("{name}"', cells[place - 1].source, re.MULTILINE)


@numbered
def test_ids_are_legal_unique_and_the_same_each_time(chapter: Chapter) -> None:
    book, again = made(chapter), made(chapter)
    grade_ids = [marks(cell)["grade_id"] for cell in book.cells if marks(cell)]
    assert len(set(grade_ids)) == len(grade_ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in grade_ids)
    assert [cell.id for cell in book.cells] == [cell.id for cell in again.cells]
    assert len({cell.id for cell in book.cells}) == len(book.cells)
    assert book == again
    nbformat.validate(book)


@numbered
def test_every_solved_region_is_marked_as_a_solution_and_nothing_else_is(chapter: Chapter) -> None:
    for cell in made(chapter).cells:
        assert bool(marks(cell).get("solution")) == ("### BEGIN SOLUTION" in cell.source)


@numbered
def test_with_the_solutions_blank_it_is_the_learners_copy_and_the_checks(chapter: Chapter) -> None:
    ours = [cell for cell in made(chapter).cells if not marks(cell).get("grade")]
    handed_out = learners_copy(read_source(chapter)).cells
    assert [blank_solution(cell.source) for cell in ours] == [cell.source for cell in handed_out]
    assert [cell.metadata.get("tags") for cell in ours] == [cell.metadata.get("tags") for cell in handed_out]


def test_a_source_that_lacks_an_exercise_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "03_soft_lookup.py"
    text = ALL[3].source.read_text(encoding="utf-8")
    source.write_text(text.replace("def softmax(", "def softmin("), encoding="utf-8")
    with pytest.raises(ValueError, match=r"03_soft_lookup\.py and the catalogue differ in softmax, softmin"):
        nbgrader.assignment(Chapter(source), {**points_of(["03"], {}), "softmin": 1})
    source.write_text(f"{text}\n# %%\nanswer('03_shift', 1)\n", encoding="utf-8")
    with pytest.raises(ValueError, match="differ in 03_shift"):
        made(Chapter(source))


# --- the folder ----------------------------------------------------------------------------------------------


def test_the_command_writes_a_folder_that_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, points = tmp_path / "ein Kürs", tmp_path / "points.csv"
    points.write_text("softmax,3\n03_shift,0.5\n", encoding="utf-8")
    command = ["export", "nbgrader", str(folder), "--chapters", "3", "00", "--points", str(points)]
    assert main(command) == 0
    assert "wrote 2 notebooks" in capsys.readouterr().out
    book = nbformat.read(folder / "source" / "03_soft_lookup" / "03_soft_lookup.ipynb", as_version=4)
    worth = {marks(cell)["grade_id"]: marks(cell)["points"] for cell in book.cells if marks(cell).get("grade")}
    assert worth["check-softmax"] == 3 and worth["check-03_shift"] == 0.5 and worth["check-soft_lookup"] == 1
    assert (folder / "source" / "00_start_here" / "00_start_here.ipynb").exists()
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "nbgrader generate_assignment" in text and "no sandbox" in text and "course.py grade" in text
    kernel = json.loads((folder / "jupyter" / "kernels" / "attention-lab" / "kernel.json").read_text(encoding="utf-8"))
    assert kernel["argv"][0] == sys.executable


def test_a_folder_that_holds_something_is_left_alone_unless_forced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "nbgrader_config.py"
    config.write_text("mine = 1\n", encoding="utf-8")
    assert main(["export", "nbgrader", str(tmp_path), "--chapters", "00"]) == 2
    error = capsys.readouterr().err
    assert "is not empty: give a new folder, or --force" in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["nbgrader_config.py"]
    assert main(["export", "nbgrader", str(tmp_path), "--chapters", "00", "--force"]) == 0
    assert "mine = 1" not in config.read_text(encoding="utf-8")
    (kept,) = tmp_path.glob("before-*/nbgrader_config.py")
    assert kept.read_text(encoding="utf-8") == "mine = 1\n"
    assert nbgrader.export(COURSE, tmp_path, ["00"], force=True) == []  # it is all there already


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["{}/new", "--chapters", "77"], "there is no chapter 77"),
        (["{}/new", "--points", "{}/none"], "cannot be read"),
        (["{}/file"], "is no folder; give the name of a new one"),
        (["{}/file/below"], "cannot be written (Not a directory): give another folder"),
    ],
)
def test_bad_input_gets_a_sentence(
    argv: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["export", "nbgrader", *[word.format(tmp_path) for word in argv]]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_settings_are_sound_python(tmp_path: Path) -> None:
    nbgrader.export(COURSE, tmp_path, ["00"])
    for command in (["check"], ["format", "--check"]):
        words = [*command, "--config", str(COURSE / "pyproject.toml"), str(tmp_path / "nbgrader_config.py")]
        done = subprocess.run([sys.executable, "-m", "ruff", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# --- the cells run -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nbgrader")
    nbgrader.export(COURSE, folder, ["03"])
    return folder


def run(folder: Path, book: Any, monkeypatch: pytest.MonkeyPatch, place: Path) -> dict[str, list[Any]]:
    """Run a notebook in the kernel that the export describes; outputs of each check cell, by exercise or question."""
    monkeypatch.setenv("JUPYTER_PATH", str(folder / "jupyter"))
    resources = {"metadata": {"path": str(place)}}
    NotebookClient(book, timeout=120, kernel_name="attention-lab", allow_errors=False, resources=resources).execute()
    cells = {marks(cell)["grade_id"]: cell for cell in book.cells if marks(cell).get("grade")}
    return {name.removeprefix("check-"): cell.outputs for name, cell in cells.items()}


def failing(outputs: dict[str, list[Any]]) -> set[str]:
    """What gets no points: an error, or anything on standard error. (A number as a result would be part of them.)"""
    flat = {
        name: [o for o in found if o.output_type != "stream" or o.name == "stderr"] for name, found in outputs.items()
    }
    assert not any(o.output_type == "execute_result" for found in flat.values() for o in found)
    return {name for name, found in flat.items() if found}


def exported(folder: Path) -> Any:
    return nbformat.read(folder / "source" / "03_soft_lookup" / "03_soft_lookup.ipynb", as_version=4)


def test_the_solved_notebook_passes_every_check(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outputs = run(folder, exported(folder), monkeypatch, tmp_path)
    assert failing(outputs) == set()
    assert outputs["softmax"][0].text == "✓ softmax\n"


def test_the_blank_notebook_runs_to_its_end_and_passes_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    book = exported(folder)
    for cell in book.cells:
        cell.source = blank_solution(cell.source)
    outputs = run(folder, book, monkeypatch, tmp_path)
    assert failing(outputs) == {*exercises("03"), *questions("03")}
    (error,) = outputs["softmax"]
    assert error.traceback == ["○ softmax: not started", "  Nothing written yet."]


def test_one_cell_that_does_not_run_costs_its_own_points_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also: a module beside the notebook is not taken for the course's, and noise costs nothing."""
    (tmp_path / "attention_lab").mkdir()
    (tmp_path / "attention_lab" / "__init__.py").write_text("exercise = None\n")
    (tmp_path / "numpy.py").write_text("raise SystemExit\n")
    book = exported(folder)
    for cell in book.cells:
        if marks(cell).get("grade_id") == "solution-softmax":
            cell.source = cell.source.replace("def softmax(scores)", "def softmax(scores")
            cell.metadata["tags"] = ["raises-exception"]
        if marks(cell).get("grade_id") == "solution-hard_lookup":
            cell.source = cell.source.replace("    scores =", "    import os; os.write(2, b'noise')\n    scores =")
            assert "noise" in cell.source
    outputs = run(folder, book, monkeypatch, tmp_path)
    assert failing(outputs) == {"softmax"}
    assert "No cell with @exercise above def softmax has run" in "\n".join(outputs["softmax"][0].traceback)

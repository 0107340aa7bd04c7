"""Marks are right: solutions, blanks, every kind of mistake; and one mistake costs once."""

from __future__ import annotations

import csv
import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.grading.books import COURSE, made, saved

from attention_lab.checking import judge
from attention_lab.checking.facts import Facts, facts_of
from attention_lab.checking.judging import prepared
from attention_lab.checking.outcome import Foreign
from attention_lab.cli import main
from attention_lab.exercises import exercises, questions
from attention_lab.grading import run
from attention_lab.grading.course import points_of, solved_in_front_of_the_reader
from attention_lab.grading.marker import Marked, Marker
from attention_lab.grading.report import Report, Row
from attention_lab.grading.run import Options, grade, read_points
from attention_lab.grading.workers import Limits

CHAPTERS = sorted({e.chapter for e in exercises().values() if list(COURSE.glob(f"solutions/{e.chapter}_*.ipynb"))})


def statuses(marked: Marked) -> dict[str, str]:
    return {v["name"]: v["status"] for v in marked.verdicts}


def verdict(marked: Marked, name: str) -> dict[str, Any]:
    return next(v for v in marked.verdicts if v["name"] == name)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_solution_gets_full_marks_and_the_blank_none(chapter: str, marker: Marker) -> None:
    solved = marker.mark(saved(made(chapter)))
    assert solved.chapter == chapter
    assert set(statuses(solved).values()) == {"passed"}
    blank = statuses(marker.mark(saved(made(chapter, folder="chapters"))))
    free = solved_in_front_of_the_reader(chapter)
    assert {name for name, status in blank.items() if status == "passed"} == set(free)
    worth = points_of([chapter], {})
    assert sum(worth[name] for name in blank if blank[name] == "passed") == 0
    assert sum(worth.values()) == len(exercises(chapter)) - len(free)


# --- one mistake costs once ---------------------------------------------------------------------------------------


OWN_LOOKUP = """@exercise
def soft_lookup(query, keys, values, temperature):
    return softmax(keys @ query / temperature) @ values
"""


def test_one_mistake_costs_once_and_the_page_says_so(marker: Marker) -> None:
    own = OWN_LOOKUP
    wrong = "@exercise\ndef softmax(scores):\n    return np.exp(scores) * 2\n"
    marked = marker.mark(saved(made("03", {"softmax": wrong, "soft_lookup": own})))
    assert statuses(marked)["softmax"] == "wrong"
    assert statuses(marked)["soft_lookup"] == "passed"
    assert any("softmax" in note and "once" in note for note in verdict(marked, "soft_lookup")["notes"])
    blank = "@exercise\ndef softmax(scores):\n    raise NotImplementedError\n"
    assert statuses(marker.mark(saved(made("03", {"softmax": blank, "soft_lookup": own}))))["soft_lookup"] == "passed"
    keyword = own.replace("softmax(keys", "softmax(scores=keys")
    assert (
        statuses(marker.mark(saved(made("03", {"softmax": wrong, "soft_lookup": keyword}))))["soft_lookup"] == "passed"
    )


def test_a_wrong_use_of_a_right_value_still_costs(marker: Marker) -> None:
    own = OWN_LOOKUP.replace("/", "*")
    wrong = "@exercise\ndef softmax(scores):\n    return np.exp(scores) * 2\n"
    marked = marker.mark(saved(made("03", {"softmax": wrong, "soft_lookup": own})))
    assert statuses(marked)["soft_lookup"] == "wrong"
    assert verdict(marked, "soft_lookup")["mistake"]


def test_of_two_definitions_the_last_one_counts_and_the_report_says_so(marker: Marker) -> None:
    right = "".join(next(c for c in made("03")["cells"] if "def softmax" in "".join(c["source"]))["source"])
    wrong = "@exercise\ndef softmax(scores):\n    return scores * 0\n"
    marked = marker.mark(saved(made("03", {"softmax": wrong}, after=(right,))))
    assert statuses(marked)["softmax"] == "passed"
    assert any("softmax is written 2 times" in note for note in marked.notes)
    undecorated = right.replace("@exercise\n", "")
    assert statuses(marker.mark(saved(made("03", {"softmax": undecorated}))))["softmax"] == "passed"


def test_a_helper_in_another_cell_is_the_learners_to_use(marker: Marker) -> None:
    cell = "@exercise\ndef softmax(scores):\n    return shares(scores)\n"
    helper = "def shares(s):\n    e = np.exp(s - s.max(-1, keepdims=True))\n    return e / e.sum(-1, keepdims=True)\n"
    assert statuses(marker.mark(saved(made("03", {"softmax": cell}, before=(helper,)))))["softmax"] == "passed"


def test_expected_numbers_are_told_neither_on_the_page_nor_in_the_table(marker: Marker) -> None:
    cell = "@exercise\ndef softmax(scores):\n    return np.sin(scores)\n"
    marked = marker.mark(saved(made("03", {"softmax": cell})))
    found = verdict(marked, "softmax")
    assert found["status"] == "wrong"
    assert "expected" not in found
    report = Report([Row("ann", "a.ipynb", "marked", "", "03", marked.verdicts)], points_of(["03"], {}), "")
    page = "".join([*report.pages().values(), report.class_page(), report.json(), report.csv()])
    assert found["message"] and found["call"]
    numbers = {
        f"{x:.{digits}f}"
        for _, _, outcome in prepared(exercises()["softmax"], marker.seed)
        for x in np.ravel(outcome.value)
        if 0.01 < x < 0.9 and len(f"{x:.17g}") > 10
        for digits in (3, 4)
    }
    assert numbers
    assert not [n for n in numbers if n in page]


# --- the same marks, whatever happens on the way -----------------------------------------------------------------


@pytest.fixture
def class_of_four(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    wrong = "@exercise\ndef softmax(scores):\n    return np.exp(scores) / np.exp(scores).sum()\n"
    for who, content in {
        "ann": made("03"),
        "bo": made("03", {"softmax": wrong}),
        "cy": made("03", folder="chapters"),
        "di": made("03", {"softmax": "import os; os._exit(1)\n"}),
    }.items():
        (folder / who).mkdir(parents=True)
        (folder / who / "notebook.ipynb").write_bytes(saved(content))
    return folder


def marks(out: Path) -> str:
    return (out / "grades.csv").read_text(encoding="utf-8")


def test_one_process_and_two_give_the_same_marks(class_of_four: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        assert grade(Options(class_of_four, tmp_path / str(jobs), seed=3, jobs=jobs)) == 0
    assert marks(tmp_path / "1") == marks(tmp_path / "2")
    rows = {r["learner"]: r for r in csv.DictReader(marks(tmp_path / "1").splitlines())}
    assert [rows[who]["points"] for who in ("ann", "bo", "cy", "di")] == ["3", "2", "0", "2"]
    data = json.loads((tmp_path / "1" / "grades.json").read_text(encoding="utf-8"))
    assert data["mistakes"][0]["exercise"] == "softmax"
    assert data["mistakes"][0]["diagnosis"] in (tmp_path / "1" / "index.html").read_text(encoding="utf-8").replace(
        "&#x27;", "'"
    )


def test_a_run_that_goes_on_marks_only_what_is_left(
    class_of_four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    options = Options(class_of_four, out)
    grade(options)
    first, kept = marks(out), sorted(out.glob("results/*/*.json"))
    kept[0].unlink()
    kept[1].write_text("cut off", encoding="utf-8")
    marked = []
    real = run.mark_task
    monkeypatch.setattr(run, "mark_task", lambda task, marker: marked.append(task.place) or real(task, marker))
    grade(options)
    assert len(marked) == 2
    assert marks(out) == first


def test_killed_in_the_middle_and_started_again_it_gives_the_same_marks(class_of_four: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "attention_lab.cli", "grade", str(class_of_four), "--seed", "3", "--out"]
    environment = {**os.environ, "PYTHONPATH": str(COURSE / "utils")}
    killed = subprocess.Popen([*command, str(tmp_path / "a")], env=environment, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if list((tmp_path / "a").glob("results/*/*.json")) or killed.poll() is not None:
            break
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    for out in ("a", "b"):
        done = subprocess.run([*command, str(tmp_path / out)], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert marks(tmp_path / "a") == marks(tmp_path / "b")


def test_a_second_run_in_the_same_place_is_refused(class_of_four: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with run.Store(out).alone(), pytest.raises(ValueError, match="another run"):
        grade(Options(class_of_four, out))


def test_a_secret_seed_is_made_once_and_kept_from_others(class_of_four: Path, tmp_path: Path) -> None:
    stores = [run.Store(tmp_path / name) for name in ("a", "a", "b")]
    seeds = []
    for store in stores:
        with store.alone():
            seeds.append(store.seed(None))
    assert seeds[0] == seeds[1] != seeds[2]


def test_a_full_disk_costs_no_marks(class_of_four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: run.Store, key: str, marked: dict[str, Any]) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run.Store, "put", full)
    assert grade(Options(class_of_four, tmp_path / "out", seed=3)) == 0
    assert not list((tmp_path / "out").glob("results/*/*.json"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "--out", "x"], "is no folder"),
        ([".", "--out", "x", "--chapters", "77"], "no chapter 77"),
        ([".", "--out", "x", "--jobs", "0"], "--jobs is 0"),
        ([".", "--out", "x", "--timeout", "nan"], "--timeout is nan"),
        ([".", "--out", "x", "--points", "nothing"], "cannot be read"),
        ([".", "--out", "/proc/x"], "nothing can be written"),
    ],
)
def test_a_wrong_command_is_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["grade", *words]) == 2
    assert sentence in capsys.readouterr().err


def test_points_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "points"
    path.write_text('{"softmax": 2, "03_shift": 0.5}', encoding="utf-8")
    worth = points_of(["03"], read_points(path))
    assert (worth["softmax"], worth["03_shift"], worth["hard_lookup"], worth["03_hot"]) == (2, 0.5, 1, 0)
    path.write_text("softmax,3\n", encoding="utf-8")
    assert read_points(path) == {"softmax": 3}
    path.write_text("softmx,3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="softmx"):
        read_points(path)


def test_without_protection_a_run_that_requires_it_is_refused(
    class_of_four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    force = {"limits": True, "capabilities": True, "files": False, "system calls": True}
    monkeypatch.setattr(Marker, "force", lambda self: force)
    with pytest.raises(ValueError, match="Landlock"):
        grade(Options(class_of_four, tmp_path / "out", require_sandbox=True))
    assert grade(Options(class_of_four, tmp_path / "out", limits=Limits(seconds=5))) == 0
    assert "NOT in force" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_without_a_fork_server_the_marks_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from attention_lab.grading import marker as module

    monkeypatch.setattr(module, "can_fork", lambda kind: False)
    alone = Marker(seed=3, limits=Limits(seconds=2))
    try:
        wrong = "@exercise\ndef softmax(scores):\n    while True: pass\n"
        found = statuses(alone.mark(saved(made("03", {"softmax": wrong}))))
        assert alone.force()["limits"]
    finally:
        alone.close()
    assert (found["hard_lookup"], found["softmax"], found["soft_lookup"]) == ("passed", "raised", "passed")


# --- what keeps this true ----------------------------------------------------------------------------------------


def test_no_reference_gives_what_cannot_be_compared() -> None:
    for exercise in exercises().values():
        if exercise.framework == "numpy":
            for _, _, outcome in prepared(exercise, 0):
                assert not isinstance(outcome.value, Foreign), exercise.name


@pytest.mark.parametrize("module", ["probes", "lesson", "sentences"])
def test_what_the_worker_may_hold_answers_no_exercise(module: str) -> None:
    from importlib import import_module

    held = vars(import_module(f"attention_lab.{module}"))
    for name, thing in held.items():
        if inspect.isfunction(thing) and thing.__module__ == f"attention_lab.{module}":
            for exercise in exercises().values():
                if exercise.framework == "numpy":
                    assert not judge(exercise.name, thing).passed, f"{module}.{name} solves {exercise.name}"


def test_a_workers_memory_holds_nothing_of_the_catalogue(marker: Marker) -> None:
    cell = """
import gc, sys
held = sorted(n for n in sys.modules if n.startswith("attention_lab."))
texts = [t for t in gc.get_objects() if isinstance(t, dict) and "attention_lab" in str(t.get("__name__", ""))]
answer("03_shift", ",".join(held)[:190])
answer("03_hot", ",".join(sorted({str(t["__name__"]).rpartition(".")[2] for t in texts}))[:190])
"""
    submission = saved(made("03", {"03_shift": cell.strip(), "03_hot": "1"}))
    messages = {v["name"]: v["message"] for v in marker.mark(submission).verdicts}
    assert "attention_lab.lesson" in messages["03_shift"]
    for message in messages.values():
        assert not any(word in message for word in ("chapter_", "judging", "describe", "questions", "marker"))


def test_facts_of_a_candidate_say_what_its_signature_says() -> None:
    def two(a: int, b: int) -> None: ...
    def more(a: int, *rest: int) -> None: ...
    def keyword(a: int, *, b: int) -> None: ...
    def default(a: int, b: int = 1, *, c: int = 2) -> None: ...

    for function in (two, more, keyword, default, lambda: 0, print, dict):
        for count in range(4):
            names = ["x"] * count
            try:
                inspect.signature(function).bind(*names)
                fits = True
            except TypeError:
                fits = False
            except ValueError:
                continue
            assert facts_of(function).takes(names) == fits, (function, count)
    assert facts_of(5) == Facts(False, "int")


def test_every_question_can_be_answered_wrongly_by_anything() -> None:
    from attention_lab.checking.questions import judge_answer

    for name in questions():
        for value in (Foreign("x"), None, [], np.zeros(3), 10**400, float("nan"), "", (1, 2), {}):
            assert not judge_answer(name, value).passed

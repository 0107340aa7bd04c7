"""The commands: a sentence and exit code 2 for bad input, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attention_lab.cli import main

COURSE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["build", "77"], "course.py build: there is no chapter 77"),
        (["build", "77", "--check"], "course.py build: there is no chapter 77"),
        (["check", "77"], "course.py check: there is no chapter 77"),
        (["check", "no such file"], "course.py check: there is no file no such file"),
        (["check", "--timeout", "0"], "course.py check: --timeout is 0; give at least 1 second."),
        (["reset", "77"], "course.py reset: there is no chapter 77"),
        (["mistakes", "77"], "course.py mistakes: no chapter among 77 has exercises."),
        (["mistakes", "--seeds", "0"], "course.py mistakes: --seeds is 0; give at least 1."),
    ],
)
def test_bad_input_gets_a_sentence(argv: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert says in capsys.readouterr().err


def test_the_score_is_a_line_per_exercise(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mistakes", "00", "--seeds", "1"]) == 0
    out = capsys.readouterr().out
    assert "row_means" in out and "together" in out


def test_build_check_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--check"]) == 0
    assert "agree with their sources" in capsys.readouterr().out


def test_progress_prints_where_i_am(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path))
    assert main(["progress"]) == 0
    assert "Chapter 00: 0 of" in capsys.readouterr().out


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, attention_lab; "
        "heavy = {'torch', 'matplotlib', 'ipywidgets', 'anywidget', 'IPython', 'nbformat', 'pytest'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env={"PYTHONPATH": str(COURSE / "utils")}
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_rooms_that_know_nothing_of_jupyter_import_nothing_of_it() -> None:
    code = (
        "import sys, attention_lab.exercises as e; e.exercises(); import attention_lab.probes, attention_lab.figures; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'IPython', 'ipywidgets', 'ipykernel', 'jupyterlab'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env={"PYTHONPATH": str(COURSE / "utils")}
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr

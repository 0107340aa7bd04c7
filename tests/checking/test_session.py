"""`@exercise`, `answer`, `hint`: what they bind, show, record and raise."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_lab import answer, exercise, hint, progress
from attention_lab.checking import session
from attention_lab.checking.judging import Verdict
from attention_lab.checking.progress import read, record

RIGHT = """
@exercise
def running_mean(x):
    return x.cumsum(-2) / np.arange(1, x.shape[-2] + 1)[:, None]
"""
WRONG = "@exercise\ndef running_mean(x):\n    return 2 * x\n"


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("ATTENTION_LAB_STRICT", "0")
    return tmp_path


def cell(source: str) -> dict[str, Any]:
    """Run a cell in a namespace of its own and return that."""
    names: dict[str, Any] = {"exercise": exercise, "answer": answer, "np": np}
    exec(compile(source, "<cell>", "exec"), names)
    return names


def test_a_right_answer_stays_the_learners_own(capsys: pytest.CaptureFixture[str]) -> None:
    names = cell(RIGHT)
    assert names["running_mean"].__code__.co_filename == "<cell>"
    assert "✓ running_mean: solved" in capsys.readouterr().out


def test_a_wrong_answer_is_replaced_so_that_the_chapter_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    names = cell(WRONG)
    x = np.arange(6.0).reshape(3, 2)
    assert np.allclose(names["running_mean"](x)[-1], x.mean(axis=0))
    out = capsys.readouterr().out
    assert "✗ running_mean: not yet" in out
    assert "works in the rest of the chapter with ours" in out


def test_a_function_under_a_second_decorator_is_replaced_in_the_learners_cell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names: dict[str, Any] = {"exercise": exercise, "contextmanager": contextmanager}
    blank = "def running_mean(x):\n    raise NotImplementedError\n"
    exec(compile(f"@exercise\n@contextmanager\n{blank}", "<cell>", "exec"), names)
    assert "Nothing written yet." in capsys.readouterr().out
    contextlib_names = contextmanager.__globals__
    assert "running_mean" not in contextlib_names and np.allclose(names["running_mean"](np.ones((3, 2))), 1.0)


def test_strict_mode_binds_the_right_one_and_then_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTION_LAB_STRICT", "1")
    names: dict[str, Any] = {"exercise": exercise, "np": np}
    with pytest.raises(session.Unsolved) as raised:
        exec(compile(WRONG, "<cell>", "exec"), names)
    assert np.allclose(names["running_mean"](np.ones((3, 2))), 1.0)
    assert raised.value._render_traceback_()[0] == "✗ running_mean: not yet"


def test_strict_mode_is_that_of_a_test_runner_unless_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not session.strict()
    monkeypatch.delenv("ATTENTION_LAB_STRICT")
    monkeypatch.setenv("PYTEST_VERSION", "8")
    assert session.strict()
    monkeypatch.delenv("PYTEST_VERSION")
    assert not session.strict()


def test_a_misspelt_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(session.Unsolved, match="did you mean running_mean?"):
        cell(WRONG.replace("running_mean", "runing_mean"))


def test_answers_show_a_card_and_never_stop_a_learner(capsys: pytest.CaptureFixture[str]) -> None:
    for value, title in ((..., "○ 90_choice: not started"), ("columns", "✗ 90_choice"), ("rows", "✓ 90_choice")):
        answer("90_choice", value)
        assert title in capsys.readouterr().out


def test_hints_come_one_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    hint("pattern")
    out = capsys.readouterr().out
    assert "one" in out and 'hint("pattern", 2)' in out and "two" not in out
    hint("pattern", 3)
    assert 'hint("pattern"' not in capsys.readouterr().out
    with pytest.raises(session.Unsolved, match="numbers 1 to 3"):
        hint("pattern", 4)


def test_progress_counts_tries_mistakes_and_the_first_time_solved(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell(WRONG)
    cell("@exercise\ndef running_mean(x):\n    raise NotImplementedError\n")
    cell(RIGHT)
    solved = read("running_mean").solved
    cell(WRONG)
    kept = read("running_mean")
    assert (kept.tries, kept.status, kept.solved) == (3, "wrong", solved) and solved > 0
    progress()
    assert "✓ running_mean" in capsys.readouterr().out
    assert json.loads((at_home / "progress" / "running_mean.json").read_text())["tries"] == 3


def test_named_mistakes_are_counted(at_home: Path) -> None:
    record(Verdict("pattern", "wrong", mistake="unscaled"))
    record(Verdict("pattern", "wrong", mistake="unscaled"))
    assert read("pattern").met == {"unscaled": 2}


def test_a_damaged_record_costs_nothing(at_home: Path) -> None:
    (at_home / "progress").mkdir()
    (at_home / "progress" / "pattern.json").write_text("{half")
    assert read("pattern").tries == 0
    assert record(Verdict("pattern", "passed"))
    assert read("pattern").solved > 0
    assert list((at_home / "progress").glob("*.part")) == []


def test_a_home_that_cannot_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(blocked))
    assert not record(Verdict("pattern", "passed"))
    assert callable(cell(RIGHT)["running_mean"])


def test_progress_of_one_chapter_lists_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    progress()
    assert "pattern" not in capsys.readouterr().out
    progress(90)
    out = capsys.readouterr().out
    assert "○ pattern" in out and "90_choice" in out and "rows_of" not in out
    with pytest.raises(session.Unsolved, match="No chapter 17 has exercises; there are: 90, 91."):
        progress(17)

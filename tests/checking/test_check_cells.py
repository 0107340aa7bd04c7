"""`must_pass` judges what the learner wrote, never what stands in for it, and says why not in plain words."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_lab import answer, exercise
from attention_lab.checking import check_cells, judge, must_pass, session
from attention_lab.checking.judging import STOPPED
from attention_lab.exercises import exercises

HEAD = "def pattern(q, k):\n"
BODY = """    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
"""
RIGHT = "@exercise\n" + HEAD + BODY
WRONG = RIGHT.replace(" / np.sqrt(q.shape[-1])", "")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("ATTENTION_LAB_STRICT", "0")
    monkeypatch.setattr(session, "_own", {})


def notebook(*cells: str) -> dict[str, Any]:
    """Run cells one after the other in one namespace; one that raises does not stop the next."""
    names: dict[str, Any] = {"exercise": exercise, "answer": answer, "np": np, "exercises": exercises}
    for source in cells:
        try:
            exec(compile(source, "<cell>", "exec"), names)
        except Exception as error:
            print(error)
    return names


def refused(name: str = "pattern") -> str:
    """What is said of an answer that does not pass."""
    with pytest.raises(session.Unsolved) as raised:
        must_pass(name)
    text = "\n".join(raised.value._render_traceback_())
    assert text == str(raised.value)
    return text


def test_a_right_answer_passes_with_one_line_and_nothing_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    notebook(RIGHT)
    capfd.readouterr()
    must_pass("pattern")
    assert capfd.readouterr() == ("✓ pattern\n", "")


def test_a_wrong_answer_is_named_in_plain_words_although_ours_stands_in_and_is_right() -> None:
    names = notebook(WRONG)
    assert np.allclose(names["pattern"](np.ones((2, 3)), np.ones((4, 3))), 0.25)
    said = refused()
    assert said.startswith("✗ pattern: not yet") and "The scores are not divided." in said


def test_no_expected_value_is_told() -> None:
    moved = "    noise = 0.01 * np.sin(7.0 * np.arange(scores.size)).reshape(scores.shape)\n    powers += noise\n"
    notebook(RIGHT.replace("    return", moved + "    return"))
    assert "should be" in judge("pattern", session.own("pattern").thing, check_cells.SEED).message
    said = refused()
    assert "entries are wrong; the first" in said and "should be" not in said


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([], "○ pattern: not started\n  No cell with @exercise above def pattern has run"),
        (["@exercise\n" + HEAD + "    raise NotImplementedError\n"], "○ pattern: not started"),
        (["@exercise\n" + HEAD + "    return q / undefined\n"], "✗ pattern: stopped with an error"),
        (["@exercise\n" + HEAD + "    raise SystemExit\n"], "✗ pattern: stopped with an error"),
        (["@exercise\ndef pattern(q, k:\n"], "○ pattern: not started"),
        (["@exercise\ndef my_pattern(q, k):\n" + BODY], "○ pattern: not started"),
        ([HEAD + BODY], "○ pattern: not started"),
        ([RIGHT, WRONG], "✗ pattern: not yet"),
    ],
)
def test_what_is_not_right_does_not_pass(cells: list[str], says: str) -> None:
    notebook(*cells)
    assert refused().startswith(says)


def test_the_last_definition_counts_and_what_happens_to_the_name_afterwards_does_not() -> None:
    notebook(WRONG, RIGHT, "pattern = None")
    must_pass("pattern")


@pytest.mark.parametrize(
    "cells",
    [
        [WRONG, "pattern = exercises()['pattern'].reference"],
        [WRONG, "exercise(pattern)"],
        [WRONG, "ours = pattern", "@exercise\n" + HEAD + "    return ours(q, k)\n"],
        [WRONG, *["@exercise\n" + HEAD + "    return pattern(q, k)\n"] * 2],
        [WRONG, "class All:\n    __eq__ = lambda *a: True", "@exercise\n" + HEAD + "    return All()\n"],
    ],
    ids=["bound again", "ours handed in", "ours called", "itself called", "equal to all"],
)
def test_an_easy_trick_gains_nothing(cells: list[str]) -> None:
    notebook(*cells)
    refused()


def test_the_reference_handed_in_is_not_the_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = exercises()["pattern"].reference
    monkeypatch.setattr(reference, "__name__", "pattern")
    monkeypatch.setattr(check_cells, "_PACKAGE", str(Path(__file__).parent))  # where this catalogue's reference is
    exercise(reference)
    assert "the course's own" in refused()


def test_a_function_that_calls_ours_for_itself_is_told_so_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Run twice, a definition that calls its own name met ours under that name, and passed."""
    notebook(*["@exercise\n" + HEAD + "    return pattern(q, k)\n"] * 2)
    assert "yours has to do it itself" in capsys.readouterr().out


def test_another_exercise_may_be_called_while_ours_stands_in_for_it() -> None:
    notebook("@exercise\ndef running_mean(x):\n    return x\n", RIGHT.replace("return", "running_mean(q)\n    return"))
    must_pass("pattern")


def test_a_class_that_inherits_from_ours_is_ours() -> None:
    class Own(session.Own):
        pass

    assert check_cells._is_ours(Own)
    assert not check_cells._is_ours(Path)


def test_a_comparison_that_was_replaced_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook(WRONG)
    monkeypatch.setattr(np, "isclose", lambda got, expected, **options: np.full(np.shape(expected), True))
    assert "replaced what the check rests on" in refused()


def test_a_judge_that_was_replaced_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook(WRONG)
    passed = session.judge("pattern", exercises()["pattern"].reference)
    monkeypatch.setattr(session, "judge", lambda *args, **kwargs: passed)
    assert "replaced what the check rests on" in refused()


def test_the_reference_passes_and_the_first_mistake_does_not_so_the_check_tells_them_apart() -> None:
    assert check_cells._tells_wrong_from_right("pattern")
    assert check_cells._tells_wrong_from_right("90_choice")


def test_nothing_that_a_function_writes_reaches_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    noisy = "    print('p', file=sys.stderr); os.write(2, b'w'); log.error('l'); warnings.warn('v')\n    scores ="
    log = "log = logging.getLogger('of a learner')\nlog.addHandler(logging.StreamHandler(sys.stderr))"
    notebook("import logging, os, sys, warnings", log, RIGHT.replace("    scores =", noisy))
    assert set("pwl") <= set(capfd.readouterr().err)
    must_pass("pattern")
    assert capfd.readouterr().err == ""
    print("still there", file=sys.stderr)
    os.write(2, b"and here\n")
    assert capfd.readouterr().err.splitlines() == ["still there", "and here"]
    assert logging.root.manager.disable == 0


def test_what_was_stopped_once_is_not_run_again() -> None:
    calls: list[int] = []

    def pattern(q: Any, k: Any) -> Any:
        calls.append(1)
        raise KeyboardInterrupt

    exercise(pattern)
    assert STOPPED.split(":")[0] in refused()
    assert len(calls) == 1


def test_questions_are_judged_by_the_last_answer() -> None:
    assert refused("90_choice").startswith("○ 90_choice: not started\n  No cell with answer(")
    notebook('answer("90_choice", ...)')
    assert refused("90_choice").startswith("○ 90_choice: not started")
    notebook('answer("90_choice", "columns")')
    assert "Columns belong to keys." in refused("90_choice")
    notebook('answer("90_choice", "rows")')
    must_pass("90_choice")


def test_a_name_that_does_not_exist_is_said_so() -> None:
    assert "did you mean pattern?" in refused("patern")


def test_long_sentences_are_broken_since_nbgrader_cuts_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook(WRONG.replace("def pattern(q, k)", "def pattern(q, k, another, one_more, and_a_third, and_a_fourth)"))
    assert max(map(len, refused().splitlines())) <= 84

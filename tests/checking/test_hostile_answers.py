"""Candidates, answers and calls for hints that try to get through: each gets a sentence, and nothing escapes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_lab.checking.judging import judge
from attention_lab.checking.questions import judge_answer
from attention_lab.checking.session import Unsolved, exercise, hint


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ATTENTION_LAB_HOME", str(tmp_path))
    monkeypatch.setenv("ATTENTION_LAB_STRICT", "0")
    return tmp_path


class Exits:
    def __repr__(self) -> str:
        raise SystemExit


class Guarded(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


class OfGuarded(metaclass=Guarded):
    pass


def of_itself() -> list[Any]:
    things: list[Any] = []
    things.append(things)
    return things


def nested(depth: int) -> list[Any]:
    things: list[Any] = []
    for _ in range(depth):
        things = [things]
    return things


def test_every_result_gets_a_sentence() -> None:
    for result, says in (
        (np.broadcast_to(1.0, (10**6, 10**6)), "gave an array of shape (1000000, 1000000)"),
        (np.zeros(3, dtype=complex), "gave an array of dtype complex128"),
        (np.array(x for x in "ab"), "gave an array of dtype object"),
        (Exits(), "gave an object of type"),
        (OfGuarded(), "gave an object of type"),
        (of_itself(), "gave a list"),
        (nested(5000), "gave a list"),
        ([0.0] * 2_000_000, "type list"),
        ([10**5000], "gave a list"),
        (10**5000, "type int"),
    ):
        verdict = judge("running_mean", lambda x, result=result: result)
        assert verdict.status == "wrong" and says in verdict.message, says


@pytest.mark.parametrize("inside", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_exception_that_cannot_be_printed_is_told(inside: type[BaseException]) -> None:
    class Evil(BaseException):
        def __str__(self) -> str:
            raise inside

    def running_mean(x):
        raise Evil

    assert "raised an Evil" in judge("running_mean", running_mean).message


def test_what_a_call_sets_is_as_before_afterwards() -> None:
    before, shown = np.geterr(), np.get_printoptions()

    def running_mean(x):
        np.seterr(all="raise")
        np.set_printoptions(formatter={"float": lambda v: 1 / 0})
        sys.stdout.close()
        return x

    assert judge("running_mean", running_mean).status == "wrong"
    assert np.geterr() == before and np.get_printoptions() == shown
    print("still open")


def test_a_loop_that_prints_fills_no_memory() -> None:
    def running_mean(x):
        for _ in range(200):
            print("a" * 10_000)

    verdict = judge("running_mean", running_mean)
    assert len(verdict.notes[0]) < 200


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def running_mean(*, x): return x", "yours takes (*, x)"),
        ("def running_mean(**things): return x", "yours takes (**things)"),
        ("def running_mean(x, y, z=1): return x", "yours takes (x, y, z=…)"),
        ("class running_mean:\n    def __call__(self, x): return x", "the class running_mean takes ()"),
    ],
)
def test_a_signature_is_shown_as_it_was_written(source: str, says: str) -> None:
    names: dict[str, Any] = {}
    exec(source, names)
    assert says in judge("running_mean", names["running_mean"]).message


def test_an_error_that_is_returned_is_not_raised() -> None:
    def rows_of(ids, table):
        return IndexError("no") if (ids < 0).any() else table[ids]

    assert "gave one back as a result" in judge("rows_of", rows_of).message


def test_half_an_answer_is_not_called_nothing() -> None:
    def running_mean(x):
        steps = np.arange(len(x))
        raise NotImplementedError(steps)

    def blank(x):
        raise NotImplementedError

    assert judge("running_mean", running_mean).status == judge("running_mean", blank).status == "not_started"
    assert "Something is written" in judge("running_mean", running_mean).message
    assert "Nothing" in judge("running_mean", blank).message


def test_our_own_function_is_not_judged_as_the_learners(at_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def pattern(q, k):
        return q

    stand_in = exercise(pattern)
    capsys.readouterr()
    assert exercise(stand_in) is stand_in
    out = capsys.readouterr().out
    assert "is ours" in out and "solved" not in out


class NamedByNumber:
    __name__ = 3


class Nameless:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError


def test_what_has_no_name_is_told_where_the_decorator_belongs() -> None:
    for thing in (3, None, lambda x: x, NamedByNumber(), Nameless(), property(len)):
        with pytest.raises(Unsolved, match="directly above def"):
            exercise(thing)


class Stubborn(float):
    def __float__(self) -> float:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("name", ["90_choice", "90_number"])
def test_every_answer_gets_a_sentence(name: str) -> None:
    for value in (10**5000, Stubborn(3), Exits(), [], np.zeros(3), np.ma.masked, None, 1j, OfGuarded()):
        verdict = judge_answer(name, value)
        assert verdict.status == "wrong" and verdict.message


def test_an_array_without_axes_is_a_number_and_quotes_are_told() -> None:
    assert judge_answer("90_number", np.array(42.0)).passed
    assert "Leave the quotes out" in judge_answer("90_number", "42").message


def test_a_hint_that_is_not_there_is_told() -> None:
    for arguments in (([],), (None,), (len,), ("pattern", 1.0), ("pattern", "1"), ("pattern", np.ones(2))):
        with pytest.raises(Unsolved, match="There is no"):
            hint(*arguments)


def test_a_hint_can_be_asked_with_the_function_itself(capsys: pytest.CaptureFixture[str]) -> None:
    def pattern(q, k):
        return q

    hint(pattern)
    assert "one" in capsys.readouterr().out

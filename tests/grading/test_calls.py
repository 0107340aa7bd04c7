"""A worker's quick way through all calls of an exercise tells what the ordinary caller tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from attention_lab.checking.caller import LocalCaller, cast
from attention_lab.checking.facts import facts_of
from attention_lab.checking.judging import implementation, prepared
from attention_lab.checking.outcome import Outcome
from attention_lab.exercises import exercises
from attention_lab.grading.marker import RemoteCaller
from attention_lab.grading.sandboxed import calls, wire

SEED = 5


def answers(name: str) -> Iterator[Callable[..., Any]]:
    exercise = exercises()[name]
    yield exercise.reference
    yield from exercise.accepted.values()
    yield from (implementation(exercise, mistake) for mistake in list(exercise.mistakes)[:8])


def remote(name: str, answer: Callable[..., Any]) -> list[Outcome]:
    """What the marker understands of what a worker tells."""
    exercise, rows = exercises()[name], prepared(exercises()[name], SEED)
    calls.prepare(name, [(cast(case.args, dtype), case.script, exercise.framework) for case, dtype, _ in rows])
    told = wire.decode(wire.encode(calls.outcomes(answer, name))[4:])
    ready = {(id(case), dtype): each for (case, dtype, _), each in zip(rows, told, strict=False)}
    caller = RemoteCaller(lambda *asked: pytest.fail("more was asked"), exercise, facts_of(answer), ready)
    return [caller(case, dtype) for case, dtype, _ in rows[: len(told)]]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and _near(one, other)
    return bool(one == other) or (one != one and other != other)


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal, floats up to their last digits: where an array begins in memory can change how torch adds it up."""
    if one.dtype.kind != "f":
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=16 * np.finfo(one.dtype).eps, atol=1e-30, equal_nan=True)


def tell(found: Outcome) -> dict[str, Any]:
    """Everything that marks depend on; `after` is not told by a worker, addresses in texts differ."""
    return {k: v for k, v in vars(found).items() if k not in ("after", "value", "line", "line_number")}


@pytest.mark.parametrize("name", list(exercises()))
def test_it_tells_the_same(name: str) -> None:
    exercise = exercises()[name]
    for answer in answers(name):
        local = LocalCaller(answer, exercise.framework)
        for (case, dtype, _), far in zip(prepared(exercise, SEED), remote(name, answer), strict=False):
            near = local(case, dtype)
            assert tell(near) == tell(far), (case.note, dtype)
            assert same(near.value, far.value), (case.note, dtype)


def noisy(scores: np.ndarray) -> np.ndarray:
    print("seen", scores.shape)
    np.seterr(all="raise")
    np.set_printoptions(precision=1)
    return np.log(scores * 0 + 1)


def test_what_a_call_prints_warns_and_sets_is_told_and_forgotten() -> None:
    before = np.geterr(), np.get_printoptions()
    found = remote("softmax", noisy)
    assert all(each.printed.startswith("seen") for each in found)
    assert (np.geterr(), np.get_printoptions()) == before
    warned = remote("softmax", lambda scores: np.log(scores * 0 - 1.0))
    assert all(each.warned for each in warned)


def test_what_raises_that_it_is_not_written_is_called_once() -> None:
    def blank(scores: np.ndarray) -> None:
        raise NotImplementedError

    assert [each.error for each in remote("softmax", blank)] == ["NotImplementedError"]


def test_inputs_that_were_prepared_cannot_be_written_to() -> None:
    remote("softmax", np.exp)
    with pytest.raises(ValueError, match="read-only"):
        calls.PREPARED["softmax"][0].args[0][...] = 0

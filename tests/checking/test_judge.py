"""`judge` says what is wrong, by name where it can, with a counterexample where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_lab.checking import judge


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])


def means(x: np.ndarray) -> np.ndarray:
    return np.cumsum(x, axis=-2) / np.arange(1, x.shape[-2] + 1)[:, None]


def test_the_right_answer_passes(right: dict[str, Callable[..., Any]]) -> None:
    for name, answer in right.items():
        assert judge(name, answer).passed


def test_a_right_answer_in_another_form_passes() -> None:
    def pattern(q, k):
        raw = np.einsum("...td,...sd->...ts", q / q.shape[-1] ** 0.25, k / q.shape[-1] ** 0.25)
        return np.exp(raw) / np.exp(raw).sum(-1)[..., None]

    assert judge("pattern", pattern).passed


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("raise NotImplementedError", "not_started"),
        ("...", "not_started"),
        ("pass", "not_started"),
        ("'''docs only'''", "not_started"),
        ("return None", "not_started"),
        ("q @ k.T  # no return", "wrong"),
        ("q + 1", "wrong"),
    ],
)
def test_a_blank_is_not_started_and_a_forgotten_return_is_not_a_blank(body: str, status: str) -> None:
    names: dict[str, Any] = {}
    exec(f"def pattern(q, k):\n    {body}", names)
    assert judge("pattern", names["pattern"]).status == status


def test_a_mistake_gets_its_name_its_sentence_and_the_numbers() -> None:
    def pattern(q, k):
        return softmax(q @ np.swapaxes(k, -1, -2))

    verdict = judge("pattern", pattern)
    assert (verdict.status, verdict.mistake) == ("wrong", "unscaled")
    assert verdict.message == "The scores are not divided."
    assert verdict.question == "How do they grow?"
    assert verdict.call.startswith("pattern(q, k)")
    assert "(shape (3, 5))" in verdict.got and "(shape (3, 5))" in verdict.expected
    assert verdict.got != verdict.expected


def test_two_mistakes_at_once_are_recognised_as_both() -> None:
    def pattern(q, k):
        raw = q @ np.swapaxes(k, -1, -2)
        return np.exp(raw) / np.exp(raw).sum(-2, keepdims=True)

    verdict = judge("pattern", pattern)
    assert verdict.mistake == "unscaled+over_queries"
    assert "The scores are not divided." in verdict.message and "The columns sum to 1." in verdict.message


def test_an_exception_that_is_asked_for_must_come() -> None:
    verdict = judge("rows_of", lambda ids, table: table[ids])
    assert verdict.mistake == "wraps"

    def clips(ids, table):
        return table[np.clip(ids, 0, len(table) - 1)]

    verdict = judge("rows_of", clips)
    assert verdict.mistake is None
    assert "should raise an IndexError" in verdict.message
    assert "it fails on: a negative id" in verdict.message


def test_another_exception_than_the_one_asked_for_is_told() -> None:
    def rows_of(ids, table):
        if (ids < 0).any():
            raise ValueError("no")
        return table[ids]

    assert "should raise an IndexError; rows_of raised ValueError" in judge("rows_of", rows_of).message


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda q, k: list(softmax(scores(q, k))), "gave a list, not an array of shape (…, T, S) = (3, 5)"),
        (lambda q, k: print("x"), "gave None, not an array"),
        (lambda q, k: np.asmatrix(softmax(scores(q, k))) if q.ndim == 2 else softmax(scores(q, k)), "numpy.matrix"),
        (lambda q, k: (row for row in scores(q, k)), "gave a generator"),
        (lambda q, k: softmax(scores(q, k)) * np.nan, "NaN (not a number) at [0, 0]"),
        (lambda q, k: 0.5, "single float"),
        (lambda q, k: np.swapaxes(softmax(scores(q, k)), -1, -2), "The last two axes are exchanged"),
        (lambda q, k: softmax(scores(q, k)).mean(-1), "gave shape (3,)"),
        (lambda q, k: softmax(scores(q, k))[None], "gave shape (1, 3, 5)"),
        (lambda q, k: softmax(scores(q, k)) * 2, "The rows do not sum to 1: one sums to 2"),
        (lambda q, k: softmax(scores(q, k)) > 0.2, "numbers of type bool"),
        (lambda q, k: np.sort(softmax(scores(q, k)), axis=-1), "right numbers in another order"),
        (lambda q, k: softmax(scores(q, k)) ** 2, "The rows do not sum to 1"),
        (lambda q, k: softmax(scores(q, k)).astype(np.float16), "The rows do not sum to 1|entries are wrong"),
    ],
)
def test_a_wrong_result_is_told_by_its_first_failing_property(wrong: Any, says: str) -> None:
    verdict = judge("pattern", wrong)
    assert verdict.status == "wrong"
    assert any(part in verdict.message for part in says.split("|")), verdict.message


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda x: 3 * means(x), "Every number is 3 times what it should be"),
        (lambda x: -means(x), "wrong sign"),
        (lambda x: means(x) + 0.25, "Every number is 0.25 too large"),
        (lambda x: means(x)[..., ::-1, :], "reverse order"),
        (lambda x: np.cumsum(x, axis=-2), "scaled by a factor of its own|Only the first row is right"),
        (lambda x: np.concatenate([means(x)[..., :1, :], means(x)[..., :-1, :]], -2), "one place too late"),
        (lambda x: np.broadcast_to(x.mean(-2, keepdims=True), x.shape).copy(), "looks ahead"),
        (lambda x: means(x) + (0 if x.ndim == 2 else x.mean(axis=0) - x), "mixes batch entries"),
        (lambda x: means(x) + np.random.default_rng().normal(size=x.shape), "Two identical calls"),
        (lambda x: np.zeros_like(x), "Every entry of the result is 0"),
        (lambda x: np.concatenate([means(x)[..., :-1, :], x[..., -1:, :]], -2), "Only the last row is wrong"),
        (lambda x: means(x).astype(np.float32), "four digits"),
    ],
)
def test_a_relation_to_the_right_result_is_told(wrong: Any, says: str) -> None:
    verdict = judge("running_mean", wrong)
    assert verdict.status == "wrong" and verdict.mistake is None
    assert any(s in verdict.message for s in says.split("|")), verdict.message


def test_what_fails_in_single_precision_only_is_told() -> None:
    def running_mean(x):
        return means(x) if x.dtype == np.float64 else means(x) + 1

    assert "it fails in single precision" in judge("running_mean", running_mean).message


def test_a_changed_input_is_told_even_when_the_result_is_right() -> None:
    def running_mean(x):
        result = means(x)
        x[0] = 0
        return result

    verdict = judge("running_mean", running_mean)
    assert verdict.status == "wrong"
    assert "running_mean changes its input: after the call, x is not what it was before." in verdict.message


def test_an_error_shows_the_learners_own_line_and_no_traceback() -> None:
    def running_mean(x):
        y = x + 1
        return y @ y

    verdict = judge("running_mean", running_mean)
    assert verdict.status == "raised"
    assert verdict.message.startswith("running_mean raised a ValueError: matmul")
    assert verdict.line.endswith("return y @ y")
    assert "Traceback" not in verdict.message


def test_the_line_of_a_helper_of_the_learners_is_shown() -> None:
    def helper(x):
        return x.nothing

    def running_mean(x):
        return helper(x)

    assert "return x.nothing" in judge("running_mean", running_mean).line


@pytest.mark.parametrize("error", [SystemExit, RecursionError, MemoryError, ZeroDivisionError, BaseException])
def test_no_exception_of_a_candidate_gets_out(error: type[BaseException]) -> None:
    def running_mean(x):
        raise error

    assert judge("running_mean", running_mean).status == "raised"


def test_an_interrupt_is_a_verdict() -> None:
    def running_mean(x):
        raise KeyboardInterrupt

    verdict = judge("running_mean", running_mean)
    assert verdict.status == "raised" and "does a loop in it ever end" in verdict.message


def test_another_signature_is_told() -> None:
    verdict = judge("pattern", lambda q: q)
    assert verdict.message == "pattern is called as pattern(q, k); yours takes (q)."
    assert verdict.status == "wrong"


def test_what_is_no_function_is_told() -> None:
    verdict = judge("pattern", 3)  # type: ignore[arg-type]
    assert (verdict.status, verdict.message) == ("wrong", "pattern is no function but an object of type int.")


class EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise AssertionError("no method of a learner's object is called")

    def __repr__(self) -> str:
        raise RuntimeError


class Close(np.ndarray):
    def __eq__(self, other: object) -> Any:
        return np.array(True)


@pytest.mark.parametrize("result", [EqualToAll(), np.zeros((4, 3)).view(Close), np.array([object()]), {1}, "x", 1j])
def test_an_object_equal_to_everything_is_equal_to_nothing(result: Any) -> None:
    verdict = judge("running_mean", lambda x: result)
    assert verdict.status == "wrong"
    assert "object of type" in verdict.message or "array of dtype object" in verdict.message


def test_prints_warnings_and_views_are_noted_and_do_not_fail() -> None:
    def rows_of(ids, table):
        print("looking up", ids)
        if (ids < 0).any():
            raise IndexError
        np.array([1.0]) / np.array([0.0])
        return table[ids]

    verdict = judge("rows_of", rows_of)
    assert verdict.passed
    assert any("looking up" in note for note in verdict.notes)
    assert any("divide by zero" in note for note in verdict.notes)


def test_a_view_of_the_input_is_noted() -> None:
    def rows_of(ids, table):
        if (ids < 0).any():
            raise IndexError
        return table[0:3:2]

    verdict = judge("rows_of", rows_of)
    assert verdict.passed
    assert any("The result is table itself or a part of it (a view)" in note for note in verdict.notes)


def test_the_same_seed_gives_the_same_verdict() -> None:
    def running_mean(x):
        return x

    assert judge("running_mean", running_mean, 5) == judge("running_mean", running_mean, 5)
    assert judge("running_mean", running_mean, 5) != judge("running_mean", running_mean, 6)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(KeyError, match="no exercise named paterns; did you mean pattern?"):
        judge("paterns", softmax)


def test_a_remote_caller_can_take_the_place_of_the_local_one() -> None:
    from attention_lab.checking.caller import LocalCaller
    from attention_lab.exercises import Case

    seen: list[Case] = []
    local = LocalCaller(means, "numpy")

    def remote(case: Case, dtype: str) -> Any:
        seen.append(case)
        return local(case, dtype)

    def never(x: np.ndarray) -> np.ndarray:
        raise AssertionError("the candidate itself is not called")

    assert judge("running_mean", never, caller=remote).passed
    assert len(seen) == 4


def test_a_changed_input_is_shown_before_and_after() -> None:
    def running_mean(x):
        result = means(x)
        x[:] = 0
        return result

    verdict = judge("running_mean", running_mean)
    assert verdict.labels == ("x after the call", "x before the call, and as it should stay")
    assert set(verdict.got.split("  (")[0]) <= set("[0., \n]")
    assert verdict.expected.splitlines()[0] in verdict.call


def test_numbers_that_look_the_same_come_with_their_difference() -> None:
    verdict = judge("running_mean", lambda x: means(x) + 1e-7)
    assert "the largest difference is 1e-07, at [" in verdict.got


def test_of_two_mistakes_the_call_shows_the_first() -> None:
    def pattern(q, k):
        raw = q @ np.swapaxes(k, -1, -2)
        return np.exp(raw) / np.exp(raw).sum(-2, keepdims=True)

    verdict = judge("pattern", pattern)
    assert verdict.mistake == "unscaled+over_queries"
    assert "a query of zeros" not in verdict.call

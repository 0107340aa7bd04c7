"""An answer is right, a known wrong one, another one, or not there yet."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lab.checking.questions import judge_answer


def test_a_right_choice_passes_whatever_its_case() -> None:
    assert judge_answer("90_choice", " Rows ").passed


def test_a_wrong_choice_gets_its_own_explanation() -> None:
    verdict = judge_answer("90_choice", "columns")
    assert (verdict.status, verdict.message) == ("wrong", "Columns belong to keys.")


def test_something_else_than_a_choice_gets_the_choices() -> None:
    assert "Choices: rows; columns." in judge_answer("90_choice", "cells").message


@pytest.mark.parametrize("value", [42, 42.0, 42.3, np.int64(42), np.float32(42)])
def test_a_number_passes_within_its_tolerance(value: object) -> None:
    assert judge_answer("90_number", value).passed


@pytest.mark.parametrize("value", [43, 13, True, "42", None, [42], float("nan")])
def test_another_value_does_not(value: object) -> None:
    assert judge_answer("90_number", value).status == "wrong"


def test_a_known_wrong_number_gets_its_explanation_and_another_one_a_question() -> None:
    assert judge_answer("90_number", 13).message == "That is the sum."
    assert judge_answer("90_number", 99).question == "How many rows, how many columns?"


def test_dots_are_not_started_and_show_the_question() -> None:
    verdict = judge_answer("90_choice", ...)
    assert verdict.status == "not_started" and verdict.message == "Which? Choices: rows; columns."


def test_no_message_of_a_wrong_answer_holds_the_right_one() -> None:
    assert "42" not in judge_answer("90_number", 99).message + judge_answer("90_number", 99).question


def test_a_number_answers_a_choice_that_is_written_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    from attention_lab import exercises as catalogue
    from attention_lab.exercises import Question

    bits = Question("90_bits", "90", "How many?", "0.6", "So it is.", {"3": "Too many."}, "", choices=("0.6", "3"))
    monkeypatch.setattr(catalogue, "_entries", lambda: ({}, {"90_bits": bits}))
    assert judge_answer("90_bits", 0.6).passed
    assert judge_answer("90_bits", 3).message == "Too many."

"""Chapter 00: the planted mistake, and the picture of a row."""

import numpy as np
import pytest

from attention_lab.checking import judge
from attention_lab.checking.questions import judge_answer
from attention_lab.exercises.chapter_00 import double, row_means
from attention_lab.figures import picture
from attention_lab.figures.chapter_00 import row_chart


def test_the_planted_answer_is_known_by_name():
    assert judge("row_means", lambda x: x.mean(axis=0)).mistake == "columns"


@pytest.mark.parametrize(
    ("line", "mistake"),
    [(lambda x: x + 2, "added_two"), (lambda x: x**2, "squared"), (lambda x: x * 3, "tripled")],
)
def test_the_ways_of_breaking_double_that_the_text_suggests_are_known_by_name(line, mistake):
    assert judge("double", line).mistake == mistake


def test_the_references_are_pythons_own_arithmetic():
    rng = np.random.default_rng(7)
    for _ in range(5):
        x = rng.normal(size=(4, 3))
        assert row_means(x).tolist() == pytest.approx([sum(row) / len(row) for row in x.tolist()])
        assert double(x).tolist() == [[number + number for number in row] for row in x.tolist()]


def test_four_rows_and_five_rows_are_told_apart():
    assert judge_answer("00_rows_of_a_sentence", 5).passed
    assert "different words" in judge_answer("00_rows_of_a_sentence", 4).message


def test_the_picture_of_a_row_says_its_mean():
    assert "mean of this row is 1.25" in picture(row_chart(), [1.0, 0.0, 2.0, 2.0]).alt


def test_the_picture_of_a_row_refuses_another_number_of_bars():
    with pytest.raises(ValueError, match="row of 4 numbers"):
        picture(row_chart(), [1.0, 2.0])

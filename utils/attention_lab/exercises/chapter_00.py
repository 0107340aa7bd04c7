"""Chapter 00, start here: two small exercises that show how the course answers.

Letters: T rows, d numbers in a row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attention_lab.exercises.model import Case, Exercise, Mistake, Question

Array = np.ndarray


# ---------------------------------------------------------------------------------------------------- double


def double(x: Array) -> Array:
    """Twice every number of `x`, any shape."""
    return np.asarray(x) * 2


def _double_cases(rng: np.random.Generator) -> Sequence[Case]:
    return [
        Case((np.array([1.0, -2.0, 0.5]),)),
        Case((rng.normal(size=(3, 5)),), note="a table"),
        Case((rng.normal(size=(2, 3, 4)),), note="three axes"),
        Case((np.zeros((2, 3)),), note="only zeros"),
        Case((np.array([7.0, 0.0, 0.25, -40.0]),), note="large and small numbers"),
    ]


def _double_in_place(x: Array) -> Array:
    x *= 2
    return x


_DOUBLE_MISTAKES = [
    Mistake(
        "tripled",
        "Every number comes back three times as large.",
        "How often is x counted in your line?",
        answer=lambda x: x * 3,
    ),
    Mistake(
        "quadrupled",
        "Every number comes back four times as large.",
        "How often is x counted in your line?",
        answer=lambda x: x * 4,
    ),
    Mistake(
        "sign_turned",
        "Every number comes back with the opposite sign.",
        "Should the result be above or below 0 when x is 1?",
        answer=lambda x: x * -2,
    ),
    Mistake(
        "added_two",
        "Two is added to every number.",
        "What should 0 become, and what does it become?",
        answer=lambda x: x + 2,
    ),
    Mistake(
        "added_one",
        "One is added to every number.",
        "What should 0 become, and what does it become?",
        answer=lambda x: x + 1,
    ),
    Mistake(
        "squared",
        "Every number is multiplied by itself, so -2 turns into 4.",
        "Which sign should the double of -2 have?",
        answer=lambda x: x**2,
    ),
    Mistake(
        "power_of_two",
        "Two is raised to the power of each number, so 0 turns into 1.",
        "Which of the two is the base in your line, and which the exponent?",
        answer=lambda x: 2.0**x,
    ),
    Mistake(
        "unchanged",
        "The numbers come back as they went in.",
        "Where in your code does the result of the calculation reach `return`?",
        answer=lambda x: x.copy(),
    ),
    Mistake(
        "halved",
        "Every number is halved.",
        "Should the result be larger or smaller than 1 when x is 1?",
        answer=lambda x: x / 2,
    ),
    Mistake(
        "sign_lost",
        "The minus signs are lost on the way.",
        "What is twice -2?",
        answer=lambda x: np.abs(x) * 2,
    ),
    Mistake(
        "whole_numbers",
        "The result is cut to whole numbers.",
        "What is twice 0.25?",
        answer=lambda x: (x * 2).astype(int),
    ),
    Mistake(
        "transposed",
        "The numbers are right, but rows and columns have changed places.",
        "Which shape should come back for x of shape (3, 5)?",
        answer=lambda x: x.T * 2,
    ),
    Mistake(
        "one_long_row",
        "The numbers are right, but they come back in one long row.",
        "Which shape should come back for x of shape (3, 5)?",
        answer=lambda x: np.ravel(x) * 2,
    ),
    Mistake(
        "first_only",
        "Only the first entry of x is doubled and returned.",
        "How many numbers should come back for three that go in?",
        answer=lambda x: x[0] * 2,
    ),
    Mistake(
        "caret",
        "`^` is not a power in Python: it compares whole numbers bit by bit, and these are not whole.",
        "Which operator multiplies?",
        answer=lambda x: x ^ 2,
    ),
    Mistake(
        "joined_sideways",
        "x is written twice, side by side: there are twice as many numbers and each is as large as before.",
        "Should the number of numbers change, or their size?",
        answer=lambda x: np.tile(x, 2),
    ),
    Mistake(
        "joined",
        "x is written twice, one after the other: there are twice as many numbers and each is as large as before.",
        "Should the number of numbers change, or their size?",
        answer=lambda x: np.concatenate([x, x]),
    ),
    Mistake(
        "stacked",
        "x is laid twice into a new array, which has one axis more than x.",
        "Should the number of numbers change, or their size?",
        answer=lambda x: np.stack([x, x]),
    ),
    Mistake(
        "repeated",
        "Every number is repeated, in one long row: there are twice as many of them and each is as large as before.",
        "Should the number of numbers change, or their size?",
        answer=lambda x: np.repeat(x, 2),
    ),
    Mistake(
        "summed",
        "All numbers are added up and the sum is doubled: one number comes back.",
        "How many numbers should come back for three that go in?",
        answer=lambda x: 2 * np.sum(x),
    ),
    Mistake(
        "in_place",
        "x itself is overwritten: whoever called your function has lost the numbers that went in.",
        "Which array does your line write to?",
        answer=_double_in_place,
    ),
]

_DOUBLE = Exercise(
    name="double",
    chapter="00",
    summary="twice every number of x",
    returns="(…)",
    reference=double,
    cases=_double_cases,
    mistakes=_DOUBLE_MISTAKES,
    accepted={
        "sum": lambda x: x + x,
        "left_hand": lambda x: 2 * x,
        "divided_by_a_half": lambda x: x / 0.5,
        "numpy_multiply": lambda x: np.multiply(x, 2),
        "copy_then_in_place": lambda x: _double_in_place(np.array(x)),
        "list_comprehension": lambda x: np.array([2 * number for number in x.ravel()]).reshape(x.shape),
    },
    hints=(
        "What should come back for x = 1, for x = 0, and for x = -2?",
        "The result has the shape of x: as many numbers as went in, each twice as large.",
        "Look at the line with `return`: one operator and one number are enough.",
    ),
)


# -------------------------------------------------------------------------------------------------- row_means


def row_means(x: Array) -> Array:
    """The mean of each row of `x`, (T, d) -> (T,)."""
    return np.asarray(x).mean(axis=1)


def _row_means_cases(rng: np.random.Generator) -> Sequence[Case]:
    return [
        Case((np.array([[1.0, 2.0, 6.0], [0.0, -1.0, 4.0]]),)),
        Case((rng.normal(size=(5, 3)),), note="more rows than columns"),
        Case((rng.normal(size=(3, 7)),), note="more columns than rows"),
        Case((rng.normal(size=(1, 8)),), note="one row"),
        Case((rng.normal(size=(7, 1)),), note="one number in a row"),
        Case((rng.normal(size=(2, 5)) - 3.0,), note="mostly negative"),
    ]


def _last_mean_everywhere(x: Array) -> Array:
    out = np.zeros(len(x))
    for t in range(len(x)):
        out[:] = x[t].mean()
    return out


def _rows_wrapped(x: Array) -> Array:
    out = np.zeros(len(x))
    for t in range(len(x)):
        out[t] = x[t - 1].mean()
    return out


def _last_row_missed(x: Array) -> Array:
    out = np.zeros(len(x))
    for t in range(len(x) - 1):
        out[t] = x[t].mean()
    return out


_ROW_MEANS_MISTAKES = [
    Mistake(
        "columns",
        "You take the mean down each column: one number comes back for each of the d columns, not for each row.",
        "Which axis disappears when you take a mean along `axis=0`?",
        answer=lambda x: x.mean(axis=0),
    ),
    Mistake(
        "everything",
        "You take one mean of all numbers together, so a single number comes back.",
        "How many numbers should come back for a table of two rows?",
        answer=lambda x: x.mean(),
    ),
    Mistake(
        "keepdims",
        "The means are right, but they come back as a column of shape (T, 1).",
        "How many axes should the result have?",
        answer=lambda x: x.mean(axis=1, keepdims=True),
    ),
    Mistake(
        "as_one_row",
        "The means are right, but they come back as a table with one row, of shape (1, T).",
        "How many axes should the result have?",
        answer=lambda x: x.mean(axis=1)[None, :],
    ),
    Mistake(
        "column_sums",
        "You add up each column: one number comes back for each of the d columns, and it is not divided.",
        "Which axis disappears when you sum along `axis=0`?",
        answer=lambda x: x.sum(axis=0),
    ),
    Mistake(
        "no_third_axis",
        "x has two axes, and they are numbered 0 and 1: there is no axis 2.",
        "Which numbers do the two axes of a table have?",
        answer=lambda x: x.mean(axis=2),
    ),
    Mistake(
        "one_number_from_all",
        "All numbers of the table are added up and the sum is divided by the number of rows: one number comes back.",
        "How many numbers should come back for a table of two rows?",
        answer=lambda x: x.sum() / len(x),
    ),
    Mistake(
        "sums",
        "The numbers of each row are added up, and the sum is not divided.",
        "What is the mean of a row of three sixes?",
        answer=lambda x: x.sum(axis=1),
    ),
    Mistake(
        "divided_by_rows",
        "Each row's sum is divided by the number of rows.",
        "How many numbers went into each sum?",
        answer=lambda x: x.sum(axis=1) / x.shape[0],
    ),
    Mistake(
        "divided_by_all",
        "Each row's sum is divided by the number of all numbers in the table.",
        "How many numbers went into each sum?",
        answer=lambda x: x.sum(axis=1) / x.size,
    ),
    Mistake(
        "divided_by_one_less",
        "Each row's sum is divided by d - 1, which is one too few (and by nothing at all when d is 1).",
        "How many numbers are in a row of shape (d,)?",
        answer=lambda x: x.sum(axis=1) / (np.float64(x.shape[1]) - 1),
    ),
    Mistake(
        "whole_numbers",
        "Each sum is divided with `//`, which drops what comes after the point.",
        "What is the mean of 0 and 1?",
        answer=lambda x: x.sum(axis=1) // x.shape[1],
    ),
    Mistake(
        "cut_to_whole_numbers",
        "The means are cut to whole numbers.",
        "What is the mean of 0 and 1?",
        answer=lambda x: x.mean(axis=1).astype(int),
    ),
    Mistake(
        "total_never_reset",
        "The total goes on from row to row: each row's sum also holds the numbers of all rows before it.",
        "What is in your total when the second row begins?",
        answer=lambda x: np.cumsum(x.sum(axis=1)) / x.shape[1],
    ),
    Mistake(
        "spread",
        "You return how far the numbers of each row lie apart (their standard deviation).",
        "What is the mean of a row of three sixes?",
        answer=lambda x: x.std(axis=1),
    ),
    Mistake(
        "mean_taken_away",
        "Each row comes back with its mean subtracted.",
        "How many numbers should stand for one row?",
        answer=lambda x: x - x.mean(axis=1, keepdims=True),
    ),
    Mistake(
        "first_row_itself",
        "The first row comes back as it is.",
        "How many numbers should stand for one row?",
        answer=lambda x: x[0].copy(),
    ),
    Mistake(
        "first_column",
        "The first number of each row comes back.",
        "Do the other numbers of the row count in your answer?",
        answer=lambda x: x[:, 0].copy(),
    ),
    Mistake(
        "counts_columns",
        "The loop runs over the numbers 0 to d - 1 and takes rows by them: it counts columns and reads rows.",
        "Which of the two numbers in `x.shape` counts the rows?",
        answer=lambda x: np.array([x[i].mean() for i in range(x.shape[1])]),
    ),
    Mistake(
        "medians",
        "You take the median: the number in the middle of each row, not the mean.",
        "Does the 6 in (1, 2, 6) change your answer when it becomes 600?",
        answer=lambda x: np.median(x, axis=1),
    ),
    Mistake(
        "maxima",
        "You take the largest number of each row.",
        "Do the other numbers of the row count in your answer?",
        answer=lambda x: x.max(axis=1),
    ),
    Mistake(
        "sign_lost",
        "The minus signs are lost before the mean is taken.",
        "What is the mean of -1 and 1?",
        answer=lambda x: np.abs(x).mean(axis=1),
    ),
    Mistake(
        "first_row_only",
        "Only the mean of the first row comes back.",
        "Where does `return` stand: inside the loop or after it?",
        answer=lambda x: x[0].mean(),
    ),
    Mistake(
        "last_row_only",
        "Only the mean of the last row comes back: each turn of the loop replaces what the one before had found.",
        "Where are the means kept until the loop has ended?",
        answer=lambda x: x[-1].mean(),
    ),
    Mistake(
        "last_mean_everywhere",
        "Every place of the result holds the mean of the last row: each turn of the loop writes over all of it.",
        "Which places of the result does one turn of your loop write to?",
        answer=_last_mean_everywhere,
    ),
    Mistake(
        "one_row_off",
        "Each mean stands one place too low: place t holds the mean of row t - 1, and place 0 that of the last row.",
        "With which number does your loop begin?",
        answer=_rows_wrapped,
    ),
    Mistake(
        "last_row_missed",
        "The last place still holds a zero: the loop ends one row early.",
        "Which numbers does `range(n)` give?",
        answer=_last_row_missed,
    ),
    Mistake(
        "mean_of_every_row_repeated",
        "Each mean is written into every column of its row, so the result has the shape of x.",
        "How many numbers should stand for one row?",
        answer=lambda x: np.repeat(x.mean(axis=1, keepdims=True), x.shape[1], axis=1),
    ),
]


def _means_in_a_loop(x: Array) -> Array:
    out = np.empty(len(x), dtype=x.dtype)
    for t, row in enumerate(x):
        out[t] = sum(row) / len(row)
    return out


_ROW_MEANS = Exercise(
    name="row_means",
    chapter="00",
    summary="the mean of each row",
    returns="(T,)",
    reference=row_means,
    cases=_row_means_cases,
    mistakes=_ROW_MEANS_MISTAKES,
    accepted={
        "last_axis": lambda x: np.mean(x, axis=-1),
        "sum_over_width": lambda x: x.sum(axis=1) / x.shape[1],
        "loop": _means_in_a_loop,
        "list": lambda x: np.array([row.mean() for row in x]),
        "times_a_vector": lambda x: x @ np.full(x.shape[1], 1.0 / x.shape[1]),
        "einsum": lambda x: np.einsum("td->t", x) / x.shape[1],
        "transposed_first": lambda x: x.T.mean(axis=0),
    },
    hints=(
        "The result has shape (T,): one number for each row. How many numbers does the code give now?",
        "For a table of 2 rows and 3 columns two numbers must come back; three means that the rows were mixed.",
        "Look at the number behind `axis=`: it names the axis that disappears.",
    ),
)


# -------------------------------------------------------------------------------------------------- questions

_ROWS_OF_A_SENTENCE = Question(
    name="00_rows_of_a_sentence",
    chapter="00",
    prompt="x holds one row of 4 numbers for each word of the sentence 'the boat left the bank'. What is T?",
    right=5,
    because="T counts positions. 'the' stands in two places and gets a row in each, so x has shape (5, 4).",
    wrong={
        4: "4 is d, the width of a row. It is also the number of different words, "
        "but a word that stands twice has two rows.",
        20: "20 is the number of all numbers in x, T times d. T counts the rows.",
        3: "Three words are left when every 'the' is dropped. Here each position has a row, also that of 'the'.",
        22: "22 is the number of characters. Here a row stands for a word.",
        9: "9 is T + d. T alone is the number of rows.",
    },
    otherwise="How many places are there in the sentence, when every word in it takes one?",
    hints=("Count the words as you read them aloud.", "A word that you say twice counts twice."),
)

EXERCISES: tuple[Exercise, ...] = (_DOUBLE, _ROW_MEANS)
QUESTIONS: tuple[Question, ...] = (_ROWS_OF_A_SENTENCE,)

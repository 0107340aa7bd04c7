"""Chapter 01, context-free embeddings: looking rows up, comparing them, and a first cure by fixed wiring.

Letters: T words in a sentence, V rows of the table, d width of a row, m and n rows of two lists that are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from attention_lab.exercises.model import Case, Exercise, Mistake, Question

Array = np.ndarray


# ----------------------------------------------------------------------------------------------------- embed


def embed(ids: Array, table: Array) -> Array:
    """The rows of `table` (V, d) that `ids` (T,) name, (T, d); IndexError for an id outside 0 … V-1."""
    return _embed(ids, table)


def _embed(
    ids: Array,
    table: Array,
    *,
    shift: int = 0,
    outside: str = "refuse",
    error: type[Exception] = IndexError,
    lowest: int = 0,
    limit_axis: int = 0,
    order: str = "as given",
    result: str = "rows",
) -> Array:
    """`embed` with switches that turn it into the mistakes below."""
    chosen, height = np.asarray(ids) + shift, len(table)
    bad = (chosen < lowest) | (chosen >= table.shape[limit_axis])
    if outside == "refuse" and bad.any():
        raise error(f"the table has rows 0 to {height - 1}, not {chosen[bad][0]}")
    if outside == "drop":
        chosen = chosen[~bad]
    if outside == "clip":
        chosen = np.clip(chosen, 0, height - 1)
    if outside == "without a sign":
        chosen = np.abs(chosen)
    if outside == "modulo":
        chosen = chosen % height
    if order == "sorted":
        chosen = np.sort(chosen)
    if order == "backwards":
        chosen = chosen[::-1]
    if order == "no repeats":
        chosen = np.unique(chosen)
    if order == "counted":
        chosen = np.arange(len(chosen))
    rows = table[np.where(bad, 0, chosen) if outside == "zeros" else chosen]
    if outside == "zeros":
        rows[bad] = 0.0
    shapes = {
        "rows": lambda: rows,
        "columns": lambda: rows.T,
        "sum": lambda: rows.sum(axis=0),
        "mean": lambda: rows.mean(axis=0),
        "one long row": lambda: rows.reshape(-1),
        "first row": lambda: rows[0].copy(),
        "last row": lambda: rows[-1].copy(),
        "whole numbers": lambda: rows.astype(int),
    }
    return shapes[result]()


def _embed_cases(rng: np.random.Generator) -> Sequence[Case]:
    readable = np.array([[0.0, 0.1], [1.0, 1.1], [2.0, 2.1], [3.0, 3.1]])
    table = rng.normal(size=(7, 3))
    wide = rng.normal(size=(3, 5))
    return [
        Case((np.array([2, 0, 2]), readable)),
        Case((np.array([3, 6, 0, 1, 6]), table), note="the first and the last row are asked for"),
        Case((np.array([1, 0, 2, 2, 1, 0, 1]), wide), note="more ids than rows"),
        Case((np.array([5]), table), note="one id"),
        Case((np.array([1, 4, 0, 2]), readable), note="an id equal to V, the number of rows"),
        Case((np.array([3, -1, 1, 0]), readable), note="a negative id"),
        Case((np.array([0, 9, 2]), table), note="an id far outside"),
        Case((np.array([-7, 2, 2, 5]), table), note="a negative id that would still count from the end"),
    ]


def _first_rows(ids: Array, table: Array) -> Array:
    return table[: len(ids)].copy()


def _places_in_a_loop(ids: Array, table: Array) -> Array:
    return np.array([table[t] for t in range(len(ids))])


def _places_with_negative_ids_refused(ids: Array, table: Array) -> Array:
    if (ids < 0).any():
        raise IndexError
    return _places_in_a_loop(ids, table)


def _one_hot_only(ids: Array, table: Array) -> Array:
    return np.array(ids[:, None] == np.arange(len(table)), dtype=float)


def _columns_of_the_table(ids: Array, table: Array) -> Array:
    return table[:, ids]


def _one_row_too_few(ids: Array, table: Array) -> Array:
    out = np.zeros((len(ids), table.shape[1]))
    for t in range(len(ids) - 1):
        if ids[t] < 0:
            raise IndexError
        out[t] = table[ids[t]]
    return out


def _same_row_everywhere(ids: Array, table: Array) -> Array:
    out = np.zeros((len(ids), table.shape[1]))
    for i in ids:
        if i < 0:
            raise IndexError
        out[:] = table[i]
    return out


def _none_for_bad_ids(ids: Array, table: Array) -> Array | None:
    if (ids < 0).any() or (ids >= len(table)).any():
        return None
    return table[ids]


def _error_swallowed(ids: Array, table: Array) -> Array | None:
    try:
        return table[ids]
    except IndexError:
        return None


def _value_error_for_negative_ids(ids: Array, table: Array) -> Array:
    if (ids < 0).any():
        raise ValueError("negative id")
    return table[ids]


def _one_question_for_all_ids(ids: Array, table: Array) -> Array:
    if ids < 0:
        raise IndexError
    return table[ids]


def _returns_in_the_loop(ids: Array, table: Array) -> Array:
    for i in ids:
        if i < 0 or i >= len(table):
            raise IndexError
        return table[i].copy()
    return table[:0]


def _room_for_one_number(ids: Array, table: Array) -> Array:
    out = np.zeros(len(ids))
    for t, i in enumerate(ids):
        out[t] = table[i]
    return out


def _room_for_one_number_checked(ids: Array, table: Array) -> Array:
    if (ids < 0).any() or (ids >= len(table)).any():
        raise IndexError
    return _room_for_one_number(ids, table)


def _written_at_the_id(ids: Array, table: Array) -> Array:
    out = np.zeros((len(ids), table.shape[1]))
    for i in ids:
        out[i] = table[i]
    return out


def _as_tall_as_the_table(ids: Array, table: Array) -> Array:
    out = np.zeros_like(table)
    for t, i in enumerate(ids):
        out[t] = table[i]
    return out


def _from_the_flat_table(ids: Array, table: Array) -> Array:
    return np.take(table, ids)


def _last_row_for_bad_ids(ids: Array, table: Array) -> Array:
    return _embed(np.where((ids < 0) | (ids >= len(table)), len(table) - 1, ids), table)


def _first_row_for_bad_ids(ids: Array, table: Array) -> Array:
    return _embed(np.where((ids < 0) | (ids >= len(table)), 0, ids), table)


_EMBED_MISTAKES = [
    Mistake(
        "negative_ids_wrap",
        "A negative id is accepted: NumPy counts it from the end, so -1 gives the last row of the table.",
        "What does `table[-1]` give, and is there a word with the number -1?",
        switches={"outside": "numpy"},
    ),
    Mistake(
        "clipped",
        "An id outside the table is moved to the nearest row, so a wrong number goes unnoticed.",
        "Which word should an id beyond the end of the table stand for?",
        switches={"outside": "clip"},
    ),
    Mistake(
        "modulo",
        "An id outside the table is wrapped around until it fits, so a wrong number goes unnoticed.",
        "Which word should an id beyond the end of the table stand for?",
        switches={"outside": "modulo"},
    ),
    Mistake(
        "zeros_outside",
        "An id outside the table becomes a row of zeros, which looks like a word that means nothing.",
        "How would anybody notice that a number was wrong?",
        switches={"outside": "zeros"},
    ),
    Mistake(
        "dropped",
        "An id outside the table is left out, so every row after it moves up by one place.",
        "How many rows should come back for T ids, and which row belongs to the third of them?",
        switches={"outside": "drop"},
    ),
    Mistake(
        "value_error",
        "You refuse the right ids, but with a ValueError.",
        "Which exception does a Python list raise when an index is outside it?",
        switches={"error": ValueError},
    ),
    Mistake(
        "assertion_error",
        "You refuse the right ids, but with an `assert`.",
        "Which exception does a Python list raise when an index is outside it?",
        switches={"error": AssertionError},
    ),
    Mistake(
        "key_error",
        "You refuse the right ids, but with a KeyError.",
        "Which exception does a Python list raise when an index is outside it?",
        switches={"error": KeyError},
    ),
    Mistake(
        "plain_exception",
        "You refuse the right ids, but with an Exception of no particular kind.",
        "Which exception does a Python list raise when an index is outside it?",
        switches={"error": Exception},
    ),
    Mistake(
        "value_error_for_negative_ids",
        "A negative id is refused with a ValueError, while one that is too large gets NumPy's IndexError.",
        "Which exception does the exercise ask for, on both sides?",
        answer=_value_error_for_negative_ids,
    ),
    Mistake(
        "one_question_for_all_ids",
        "`if` wants one yes or no, and your comparison gives one for each id.",
        "How do you ask whether *any* of several answers is yes?",
        answer=_one_question_for_all_ids,
    ),
    Mistake(
        "error_swallowed",
        "NumPy's own IndexError is caught and nothing (None) comes back; a negative id is not even noticed.",
        "Who should learn that an id was wrong?",
        answer=_error_swallowed,
    ),
    Mistake(
        "none_for_bad_ids",
        "For an id outside the table nothing (None) comes back, and the code that called you goes on with it.",
        "How does a Python list say that an index is outside it?",
        answer=_none_for_bad_ids,
    ),
    Mistake(
        "last_row_for_bad_ids",
        "Every id outside the table gets the last row, so a wrong number looks like a word.",
        "How does a Python list say that an index is outside it?",
        answer=_last_row_for_bad_ids,
    ),
    Mistake(
        "first_row_for_bad_ids",
        "Every id outside the table gets row 0, so a wrong number looks like a word.",
        "How does a Python list say that an index is outside it?",
        answer=_first_row_for_bad_ids,
    ),
    Mistake(
        "zero_refused",
        "The id 0 is refused, although it is the number of the first row.",
        "From which number does NumPy count the rows of a table?",
        switches={"lowest": 1},
    ),
    Mistake(
        "counted_from_one",
        "Every id gives the row before the one it names: the rows are counted from 1.",
        "Which row should the id 0 give?",
        switches={"shift": -1},
    ),
    Mistake(
        "one_too_far",
        "Every id gives the row after the one it names.",
        "Which row should the id 0 give?",
        switches={"shift": 1},
    ),
    Mistake(
        "limit_is_the_width",
        "The ids are held against the width of the table, not against the number of its rows.",
        "Which of the two numbers in `table.shape` counts words?",
        switches={"limit_axis": 1},
    ),
    Mistake(
        "sorted",
        "The rows come back in the order of the table, not in the order of the sentence.",
        "Which row should stand first for the ids (2, 0, 2)?",
        switches={"order": "sorted"},
    ),
    Mistake(
        "backwards",
        "The rows come back in reverse order: the last word stands first.",
        "Which row should stand first for the ids (2, 0, 2)?",
        switches={"order": "backwards"},
    ),
    Mistake(
        "row_before",
        "You take the row before the one that is asked for, as if ids began at 1, and the last row for the id 0.",
        "Which row of the table belongs to the id 0?",
        answer=lambda ids, table: _embed(ids, np.roll(table, 1, axis=0)),
    ),
    Mistake(
        "no_repeats",
        "A word that stands twice gets only one row.",
        "How many rows should come back for the ids (2, 0, 2)?",
        switches={"order": "no repeats"},
    ),
    Mistake(
        "sign_dropped",
        "A negative id is used without its sign, so -1 gives the row of the word with the number 1.",
        "Is there a word with the number -1?",
        switches={"outside": "without a sign"},
    ),
    Mistake(
        "places_not_ids",
        "Row t of the result is row t of the table: you look up the position of a word, not its id.",
        "In your loop, which is the position, and which the id?",
        switches={"order": "counted"},
    ),
    Mistake(
        "places_in_a_loop",
        "Your loop takes row t of the table for the word at position t: it never looks at the word's id.",
        "In your loop, which is the position, and which the id?",
        answer=_places_in_a_loop,
    ),
    Mistake(
        "places_with_negative_ids_refused",
        "Negative ids are refused, but then your loop takes row t of the table for the word at position t.",
        "In your loop, which is the position, and which the id?",
        answer=_places_with_negative_ids_refused,
    ),
    Mistake(
        "whole_numbers",
        "The rows are cut to whole numbers.",
        "Which kind of number does your array for the result hold?",
        switches={"result": "whole numbers"},
    ),
    Mistake(
        "first_id_only",
        "Only the row of the first id comes back.",
        "How many rows should come back for three ids?",
        switches={"result": "first row"},
    ),
    Mistake(
        "returns_in_the_loop",
        "Only the row of the first id comes back: `return` stands inside the loop and ends it in its first turn.",
        "When should the function return?",
        answer=_returns_in_the_loop,
    ),
    Mistake(
        "last_id_only",
        "Only the row of the last id comes back: each turn of the loop replaces what the one before had found.",
        "Where are the rows kept until the loop has ended?",
        switches={"result": "last row"},
    ),
    Mistake(
        "room_for_one_number",
        "Your array for the result has room for one number a word, and a row of the table holds d.",
        "Which shape should the result have?",
        answer=_room_for_one_number,
    ),
    Mistake(
        "room_for_one_number_checked",
        "The ids are checked, but your array for the result has room for one number a word, and a row holds d.",
        "Which shape should the result have?",
        answer=_room_for_one_number_checked,
    ),
    Mistake(
        "written_at_the_id",
        "Each row is written where its id points in the result, not to the position of its word.",
        "In your loop, which is the position, and which the id?",
        answer=_written_at_the_id,
    ),
    Mistake(
        "as_tall_as_the_table",
        "The result has as many rows as the table, not as many as there are ids.",
        "How many rows should come back for three ids?",
        answer=_as_tall_as_the_table,
    ),
    Mistake(
        "from_the_flat_table",
        "The ids pick single numbers from the table laid out as one long row.",
        "What does `np.take` do when it is told no axis?",
        answer=_from_the_flat_table,
    ),
    Mistake(
        "transposed",
        "The numbers are right, but each word has become a column: the shape is (d, T).",
        "Along which axis should the words be counted?",
        switches={"result": "columns"},
    ),
    Mistake(
        "summed",
        "The rows of all words are added up into one row.",
        "How many rows should come back for three ids?",
        switches={"result": "sum"},
    ),
    Mistake(
        "averaged",
        "The rows of all words are averaged into one row.",
        "How many rows should come back for three ids?",
        switches={"result": "mean"},
    ),
    Mistake(
        "one_long_row",
        "The rows are laid end to end in one long row.",
        "How many axes should the result have?",
        switches={"result": "one long row"},
    ),
    Mistake(
        "columns_of_the_table",
        "The ids choose columns of the table; each word's number belongs to a row.",
        "In `table[a, b]`, which of the two counts the rows?",
        answer=_columns_of_the_table,
    ),
    Mistake(
        "first_rows",
        "You return the first T rows of the table, whatever the ids are.",
        "Where does your code use the values in ids, and not only how many there are?",
        answer=_first_rows,
    ),
    Mistake(
        "one_hot_only",
        "You return a table of zeros and ones that marks which row is meant, not the row itself.",
        "What is still to be done with the ones to get at the numbers of the table?",
        answer=_one_hot_only,
    ),
    Mistake(
        "last_id_missed",
        "The last row of the result is still zero: the loop ends one id early.",
        "Which numbers does `range(n)` give?",
        answer=_one_row_too_few,
    ),
    Mistake(
        "same_row_everywhere",
        "Every place of the result holds the row of the last id: each turn of the loop writes over all of it.",
        "Which places of the result does one turn of your loop write to?",
        answer=_same_row_everywhere,
    ),
]


def _embed_in_a_loop(ids: Array, table: Array) -> Array:
    out = np.empty((len(ids), table.shape[1]), dtype=table.dtype)
    for t, i in enumerate(ids):
        if i < 0:
            raise IndexError("negative id")
        out[t] = table[i]
    return out


def _embed_with_take(ids: Array, table: Array) -> Array:
    if np.any(ids < 0):
        raise IndexError(f"{ids.min()} is negative")
    return np.take(table, ids, axis=0)


def _embed_one_hot(ids: Array, table: Array) -> Array:
    one_hot = ids[:, None] == np.arange(len(table))
    if not one_hot.any(axis=1).all():
        raise IndexError("an id outside the table")
    return one_hot.astype(table.dtype) @ table


def _embed_from_a_list(ids: Array, table: Array) -> Array:
    if min(ids) < 0 or max(ids) > len(table) - 1:
        raise IndexError("outside")
    return np.stack([table[int(i)] for i in ids])


_EMBED = Exercise(
    name="embed",
    chapter="01",
    summary="the rows of a table that a sentence's ids name",
    returns="(T, d)",
    reference=embed,
    cases=_embed_cases,
    mistakes=_EMBED_MISTAKES,
    accepted={
        "loop": _embed_in_a_loop,
        "take": _embed_with_take,
        "one_hot_product": _embed_one_hot,
        "list_of_rows": _embed_from_a_list,
    },
    hints=(
        "What does NumPy give you for `table[ids]`, when ids is an array of row numbers? Which ids does it accept?",
        "For a table of four rows, the ids 4 and -1 must both be refused with an IndexError.",
        "One line picks the rows. In front of it, look for an id below 0: NumPy does not refuse that by itself.",
    ),
    template=_embed,
)


# ----------------------------------------------------------------------------------------- cosine_similarity


def cosine_similarity(a: Array, b: Array) -> Array:
    """Cosine of the angle between each row of `a` (m, d) and each row of `b` (n, d), (m, n); 0 for a zero row."""
    return _cosine(a, b)


def _lengths(x: Array, kind: str) -> Array:
    """What each row is divided by, (rows, 1) or something that broadcasts like it."""
    if kind == "row":
        return np.sqrt((x * x).sum(axis=1, keepdims=True))
    if kind == "squared":
        return (x * x).sum(axis=1, keepdims=True)
    if kind == "absolute":
        return np.abs(x).sum(axis=1, keepdims=True)
    if kind == "largest":
        return np.abs(x).max(axis=1, keepdims=True)
    if kind == "sum":
        return x.sum(axis=1, keepdims=True)
    if kind == "column":
        return np.sqrt((x * x).sum(axis=0, keepdims=True))
    if kind == "one over":
        return 1.0 / np.sqrt((x * x).sum(axis=1, keepdims=True))
    if kind == "at least 1":
        return np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1.0)
    if kind.startswith("inside"):
        return np.sqrt((x * x).sum(axis=1, keepdims=True) + float(kind.removeprefix("inside ")))
    if kind == "whole table":
        return np.full((len(x), 1), np.sqrt((x * x).sum()))
    return np.ones((len(x), 1))


def _cosine(
    a: Array,
    b: Array,
    *,
    length_a: str = "row",
    length_b: str = "row",
    zero: str = "zero",
    added: float = 0.0,
    centred: bool = False,
    result: str = "cosine",
    transposed: bool = False,
) -> Array:
    """`cosine_similarity` with switches that turn it into the mistakes below."""
    if centred:
        a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        unit_a, unit_b = a / (_lengths(a, length_a) + added), b / (_lengths(b, length_b) + added)
    empty_a, empty_b = np.all(a == 0, axis=1)[:, None], np.all(b == 0, axis=1)[None, :]
    if zero not in ("nan", "nan for a"):
        unit_a = np.where(np.isfinite(unit_a), unit_a, 0.0)
    if zero not in ("nan", "nan for b"):
        unit_b = np.where(np.isfinite(unit_b), unit_b, 0.0)
    out = unit_a @ unit_b.T
    if zero == "nan where only b is zero":
        out = np.where(empty_b & ~empty_a, np.nan, out)
    if zero == "nan where only a is zero":
        out = np.where(empty_a & ~empty_b, np.nan, out)
    if zero == "one":
        out = np.where(empty_a | empty_b, 1.0, out)
    if zero == "one for two":
        out = np.where(empty_a & empty_b, 1.0, out)
    if zero == "minus one":
        out = np.where(empty_a | empty_b, -1.0, out)
    changes = {
        "cosine": lambda: out,
        "distance": lambda: 1.0 - out,
        "angle": lambda: np.arccos(np.clip(out, -1.0, 1.0)),
        "absolute": lambda: np.abs(out),
        "cut at zero": lambda: np.maximum(out, 0.0),
        "squared": lambda: out**2,
        "from 0 to 1": lambda: (out + 1.0) / 2.0,
    }
    out = changes[result]()
    return out.T if transposed else out


def _cosine_cases(rng: np.random.Generator) -> Sequence[Case]:
    with_zero = rng.normal(size=(4, 3))
    with_zero[2] = 0.0
    also_with_zero = rng.normal(size=(2, 3))
    also_with_zero[0] = 0.0
    square = rng.normal(size=(3, 3))
    short = rng.normal(size=(4, 5))
    short *= 0.5 / _lengths(short, "row")
    return [
        Case((np.array([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0]]), np.array([[1.0, 0.0], [6.0, 8.0]]))),
        Case((rng.normal(size=(5, 3)), rng.normal(size=(2, 3)))),
        Case((rng.normal(size=(2, 7)), 10.0 * rng.normal(size=(3, 7))), note="long rows and short ones"),
        Case((short[:1], short[1:]), note="rows shorter than 1"),
        Case((rng.normal(size=(3, 5)), rng.normal(size=(3, 5))), note="as many rows in a as in b"),
        Case((square, square.copy()), note="a list with itself; as many rows as columns"),
        Case((with_zero, rng.normal(size=(3, 3))), note="a row of zeros in a"),
        Case((with_zero, also_with_zero), note="a row of zeros in a and one in b"),
    ]


def _pairs_only(a: Array, b: Array) -> Array:
    return np.sum(a * b, axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def _lengths_added(a: Array, b: Array) -> Array:
    total = _lengths(a, "row") + _lengths(b, "row").T
    return np.divide(a @ b.T, total, out=np.zeros_like(total), where=total > 0)


def _root_of_the_product(a: Array, b: Array) -> Array:
    total = np.sqrt(_lengths(a, "row") * _lengths(b, "row").T)
    return np.divide(a @ b.T, total, out=np.zeros_like(total), where=total > 0)


def _added_to_the_product(a: Array, b: Array, added: float = 1e-8) -> Array:
    return a @ b.T / (_lengths(a, "row") * _lengths(b, "row").T + added)


def _product_of_column_lengths(a: Array, b: Array) -> Array:
    return a @ b.T / (np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0))


def _plain_product_without_transpose(a: Array, b: Array) -> Array:
    return a @ b


def _product_without_transpose_one_length(a: Array, b: Array) -> Array:
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def _divided_by_width(a: Array, b: Array) -> Array:
    return a @ b.T / a.shape[1]


def _divided_by_root_of_width(a: Array, b: Array) -> Array:
    return a @ b.T / np.sqrt(a.shape[1])


def _one_question_for_all_rows(a: Array, b: Array) -> Array:
    length_a, length_b = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    if length_a == 0 or length_b == 0:
        return np.zeros((len(a), len(b)))
    return a @ b.T / np.outer(length_a, length_b)


def _lengths_of_a_twice(a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return a @ b.T / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(a, axis=1))


def _as_wide_as_tall(a: Array, b: Array) -> Array:
    out = np.zeros((len(a), len(a)))
    for i in range(len(a)):
        for j in range(len(b)):
            length = np.linalg.norm(a[i]) * np.linalg.norm(b[j])
            out[i, j] = a[i] @ b[j] / length if length else 0.0
    return out


def _floor_of_one(a: Array, b: Array) -> Array:
    return a @ b.T / np.maximum(_lengths(a, "row") * _lengths(b, "row").T, 1.0)


def _difference_length(a: Array, b: Array) -> Array:
    return np.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1)


def _one_over_distance(a: Array, b: Array) -> Array:
    return 1.0 / (1.0 + _difference_length(a, b))


def _not_divided_when_any_is_zero(a: Array, b: Array) -> Array:
    lengths = _lengths(a, "row") * _lengths(b, "row").T
    return np.zeros_like(lengths) if (lengths == 0).any() else a @ b.T / lengths


def _a_with_itself(a: Array, b: Array) -> Array:
    return _cosine(a, a)


def _b_with_itself(a: Array, b: Array) -> Array:
    return _cosine(b, b)


def _columns_compared(a: Array, b: Array) -> Array:
    return a.T @ b / (np.linalg.norm(a, axis=0)[:, None] * np.linalg.norm(b, axis=0))


def _product_without_transpose(a: Array, b: Array) -> Array:
    return a @ b / (np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1))


def _lengths_do_not_line_up(a: Array, b: Array) -> Array:
    return (a / np.linalg.norm(a, axis=1)) @ (b / np.linalg.norm(b, axis=1)).T


def _lengths_multiplied_in_pairs(a: Array, b: Array) -> Array:
    return a @ b.T / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def _lengths_with_a_column(a: Array, b: Array) -> Array:
    return a @ b.T / (np.linalg.norm(a, axis=1, keepdims=True) * np.linalg.norm(b, axis=1, keepdims=True))


def _in_place(a: Array, b: Array) -> Array:
    for x in (a, b):
        lengths = _lengths(x, "row")
        x /= np.where(lengths == 0, 1.0, lengths)
    return a @ b.T


def _only_first_row(a: Array, b: Array) -> Array:
    return _cosine(a[:1], b)[0]


_ADDED_QUESTION = "What is the similarity of a row with itself, to twelve digits, in your code?"
_LINE_UP = "You divide every number of a row; along which axis does each length have to be repeated?"

_COSINE_MISTAKES = [
    Mistake(
        "dot_product",
        "The lengths of the rows still count: you return the dot products.",
        "What happens to your numbers when a row becomes twice as long?",
        switches={"length_a": "none", "length_b": "none"},
    ),
    Mistake(
        "only_a_divided",
        "Only the rows of a are brought to length 1; the length of a row of b still counts.",
        "What happens to your numbers when a row of b becomes twice as long?",
        switches={"length_b": "none"},
    ),
    Mistake(
        "only_b_divided",
        "Only the rows of b are brought to length 1; the length of a row of a still counts.",
        "What happens to your numbers when a row of a becomes twice as long?",
        switches={"length_a": "none"},
    ),
    Mistake(
        "squared_lengths",
        "You divide by the squared lengths: long rows come out too small and short ones too large.",
        "What is the length of the row (3, 4)?",
        switches={"length_a": "squared", "length_b": "squared"},
    ),
    Mistake(
        "sums_of_absolutes",
        "You divide by the sum of the absolute numbers of each row, which is longer than the row itself.",
        "What is the length of the row (3, 4): 5 or 7?",
        switches={"length_a": "absolute", "length_b": "absolute"},
    ),
    Mistake(
        "sums_of_numbers",
        "You divide each row by the sum of its numbers, which may even be negative or zero.",
        "What is the length of the row (3, 4): 5 or 7?",
        switches={"length_a": "sum", "length_b": "sum"},
    ),
    Mistake(
        "largest_numbers",
        "You divide each row by its largest number.",
        "What is the length of the row (3, 4)?",
        switches={"length_a": "largest", "length_b": "largest"},
    ),
    Mistake(
        "lengths_of_columns",
        "You divide by the lengths of the columns, so a row's result depends on the other rows.",
        "Over which axis do you sum the squares of one row?",
        switches={"length_a": "column", "length_b": "column"},
    ),
    Mistake(
        "length_of_the_table",
        "You divide by one length for the whole table, so a row's result depends on the other rows.",
        "How many lengths do m rows have?",
        switches={"length_a": "whole table", "length_b": "whole table"},
    ),
    Mistake(
        "multiplied_by_the_length_of_b",
        "The lengths of b end up as factors: Python reads `x / y * z` from the left, as (x / y) * z.",
        "What happens to your numbers when a row of b becomes twice as long?",
        switches={"length_b": "one over"},
    ),
    Mistake(
        "multiplied_by_the_length_of_a",
        "The lengths of a end up as factors: Python reads `x / y * z` from the left, as (x / y) * z.",
        "What happens to your numbers when a row of a becomes twice as long?",
        switches={"length_a": "one over"},
    ),
    Mistake(
        "short_rows_left_as_they_are",
        "Rows that are shorter than 1 are not brought to length 1.",
        "What should a row of length 0.5 give with itself?",
        switches={"length_a": "at least 1", "length_b": "at least 1"},
    ),
    Mistake(
        "floor_of_one",
        "Where the product of the lengths is below 1, you divide by 1 instead.",
        "What should a row of length 0.5 give with itself?",
        answer=_floor_of_one,
    ),
    Mistake(
        "divided_by_the_width",
        "You divide by the number of columns, not by the lengths of the rows.",
        "What happens to your numbers when a row becomes twice as long?",
        answer=_divided_by_width,
    ),
    Mistake(
        "divided_by_the_root_of_the_width",
        "You divide by the square root of the number of columns, not by the lengths of the rows.",
        "What happens to your numbers when a row becomes twice as long?",
        answer=_divided_by_root_of_width,
    ),
    Mistake(
        "lengths_of_a_twice",
        "You divide by the lengths of the rows of a twice; those of b have no part in it.",
        "What happens to your numbers when a row of b becomes twice as long?",
        answer=_lengths_of_a_twice,
    ),
    Mistake(
        "product_of_column_lengths",
        "You divide by the lengths of columns: `axis=0` runs down a column.",
        "Over which axis do you sum the squares of one row?",
        answer=_product_of_column_lengths,
    ),
    Mistake(
        "lengths_added",
        "You divide by the sum of the two lengths.",
        "Two rows of length 3 point the same way. What is their dot product, and which divisor makes it 1?",
        answer=_lengths_added,
    ),
    Mistake(
        "root_of_the_product",
        "You take a square root too many: the dot product is divided by the root of the product of the lengths.",
        "What happens to your numbers when a row becomes four times as long?",
        answer=_root_of_the_product,
    ),
    Mistake(
        "zero_row_is_nan",
        "A row of zeros gives nan: its length is 0 and you divide by it.",
        "Which rows have the length 0, and what do you want for them?",
        switches={"zero": "nan"},
    ),
    Mistake(
        "zero_row_of_b_is_nan",
        "Rows of zeros are taken care of in a but not in b: there they give nan.",
        "Which of your two divisions can still meet a zero?",
        switches={"zero": "nan for b"},
    ),
    Mistake(
        "zero_row_of_a_is_nan",
        "Rows of zeros are taken care of in b but not in a: there they give nan.",
        "Which of your two divisions can still meet a zero?",
        switches={"zero": "nan for a"},
    ),
    Mistake(
        "nan_where_only_b_is_zero",
        "You ask whether the row of a is zero, but not whether the row of b is: there it gives nan.",
        "Which lengths can be 0 in one comparison?",
        switches={"zero": "nan where only b is zero"},
    ),
    Mistake(
        "nan_where_only_a_is_zero",
        "You ask whether the row of b is zero, but not whether the row of a is: there it gives nan.",
        "Which lengths can be 0 in one comparison?",
        switches={"zero": "nan where only a is zero"},
    ),
    Mistake(
        "one_question_for_all_rows",
        "`if` wants one yes or no, and your comparison gives one for each row.",
        "How do you choose, row by row, between two arrays?",
        answer=_one_question_for_all_rows,
    ),
    Mistake(
        "zero_row_is_one",
        "A row of zeros gets the similarity 1, as if it pointed the same way as everything.",
        "In which direction does a row of zeros point?",
        switches={"zero": "one"},
    ),
    Mistake(
        "two_zero_rows_are_one",
        "Two rows of zeros get the similarity 1.",
        "In which direction does a row of zeros point?",
        switches={"zero": "one for two"},
    ),
    Mistake(
        "zero_row_is_minus_one",
        "A row of zeros gets the similarity -1, as if it pointed the opposite way to everything.",
        "In which direction does a row of zeros point?",
        switches={"zero": "minus one"},
    ),
    Mistake(
        "all_zero_when_one_row_is",
        "One row of zeros makes all similarities 0, also those of the other rows.",
        "Which entries of the result does a row of zeros in a belong to?",
        answer=_not_divided_when_any_is_zero,
    ),
    *(
        Mistake(
            f"added_1em{power}",
            f"1e-{power} is added to each length, so every similarity comes out a little too near to 0.",
            _ADDED_QUESTION,
            switches={"added": 10.0**-power},
        )
        for power in (5, 6, 7, 8, 9, 10)
    ),
    *(
        Mistake(
            f"added_1em{power}_under_the_root",
            f"1e-{power} is added under the square root, so every similarity comes out a little too near to 0.",
            _ADDED_QUESTION,
            switches={"length_a": f"inside 1e-{power}", "length_b": f"inside 1e-{power}"},
        )
        for power in (5, 6, 8, 9)
    ),
    *(
        Mistake(
            f"added_1em{power}_to_the_product",
            f"1e-{power} is added to the product of the lengths, so every similarity comes out a little too near to 0.",
            _ADDED_QUESTION,
            answer=partial(_added_to_the_product, added=10.0**-power),
        )
        for power in (6, 8, 9)
    ),
    Mistake(
        "centred",
        "The mean of each row is subtracted first: that is the correlation of the two rows.",
        "Do the rows (1, 1) and (2, 2) point the same way, and what does your code say?",
        switches={"centred": True},
    ),
    Mistake(
        "distance",
        "Your numbers grow when rows grow less alike: you return 1 minus the similarity.",
        "What should a row give with itself?",
        switches={"result": "distance"},
    ),
    Mistake(
        "angle",
        "You return the angle between the rows, in radians, and not its cosine.",
        "What should a row give with itself?",
        switches={"result": "angle"},
    ),
    Mistake(
        "sign_lost",
        "Rows that point in opposite directions get the same number as rows that point the same way.",
        "What should a row give with its own negative?",
        switches={"result": "absolute"},
    ),
    Mistake(
        "cut_at_zero",
        "Similarities below 0 are set to 0.",
        "What should a row give with its own negative?",
        switches={"result": "cut at zero"},
    ),
    Mistake(
        "cosine_squared",
        "Every similarity is multiplied by itself.",
        "What should a row give with its own negative?",
        switches={"result": "squared"},
    ),
    Mistake(
        "moved_to_0_1",
        "The similarities are moved from -1 … 1 to 0 … 1.",
        "What should two rows give that stand at a right angle?",
        switches={"result": "from 0 to 1"},
    ),
    Mistake(
        "transposed",
        "The numbers are right, but rows and columns are exchanged: the shape is (n, m).",
        "Which of the two, a or b, should count the rows of the result?",
        switches={"transposed": True},
    ),
    Mistake(
        "distances_between_points",
        "You return how far apart the ends of the rows are.",
        "What should a row give with itself?",
        answer=_difference_length,
    ),
    Mistake(
        "one_over_distance",
        "You turn the distance between the ends of the rows into a similarity, so the lengths still count.",
        "What happens to your numbers when a row becomes twice as long?",
        answer=_one_over_distance,
    ),
    Mistake(
        "pairs_only",
        "Row i of a is compared with row i of b only; with different numbers of rows that cannot work.",
        "How many comparisons are there between 5 rows and 2 rows?",
        answer=_pairs_only,
    ),
    Mistake(
        "only_first_row",
        "Only the first row of a is compared.",
        "How many comparisons are there between 5 rows and 2 rows?",
        answer=_only_first_row,
    ),
    Mistake(
        "a_with_itself",
        "a is compared with itself; b has no part in the result.",
        "Where does b appear in your product?",
        answer=_a_with_itself,
    ),
    Mistake(
        "b_with_itself",
        "b is compared with itself; a has no part in the result.",
        "Where does a appear in your product?",
        answer=_b_with_itself,
    ),
    Mistake(
        "columns_compared",
        "You compare the columns of a with the columns of b.",
        "In `a @ b.T`, along which axis are numbers multiplied and added?",
        answer=_columns_compared,
    ),
    Mistake(
        "product_without_transpose",
        "`a @ b` multiplies the rows of a with the columns of b, and the sizes do not fit.",
        "Which shapes go into your product, and which axis do they have in common?",
        answer=_product_without_transpose,
    ),
    Mistake(
        "plain_product_without_transpose",
        "`a @ b` multiplies the rows of a with the columns of b, and the lengths of the rows still count.",
        "Which shapes go into your product, and which axis do they have in common?",
        answer=_plain_product_without_transpose,
    ),
    Mistake(
        "product_without_transpose_one_length",
        "The product multiplies the rows of a with the columns of b, and you divide by one length for a whole table.",
        "Which shapes go into your product, and which axis do they have in common?",
        answer=_product_without_transpose_one_length,
    ),
    Mistake(
        "as_wide_as_tall",
        "Your array for the result has m columns; b has n rows, and each of them needs one.",
        "Which shape should the result have?",
        answer=_as_wide_as_tall,
    ),
    Mistake(
        "lengths_do_not_line_up",
        "The lengths have the shape (m,), and NumPy lines that up with the columns, not with the rows.",
        _LINE_UP,
        answer=_lengths_do_not_line_up,
    ),
    Mistake(
        "lengths_multiplied_in_pairs",
        "The lengths of a and of b are multiplied pair by pair, but every length of a meets every length of b.",
        "Which shape should the product of the lengths have?",
        answer=_lengths_multiplied_in_pairs,
    ),
    Mistake(
        "lengths_both_as_columns",
        "The lengths of a and of b both stand as columns, (m, 1) and (n, 1), so they cannot meet in a table.",
        "Which shape should the product of the lengths have?",
        answer=_lengths_with_a_column,
    ),
    Mistake(
        "in_place",
        "a and b themselves are overwritten: whoever called your function has lost the rows that went in.",
        "Which arrays does `/=` write to?",
        answer=_in_place,
    ),
]


def _cosine_in_loops(a: Array, b: Array) -> Array:
    out = np.zeros((len(a), len(b)))
    for i, row in enumerate(a):
        for j, other in enumerate(b):
            lengths = np.linalg.norm(row) * np.linalg.norm(other)
            if lengths > 0:
                out[i, j] = row @ other / lengths
    return out


def _cosine_nan_to_num(a: Array, b: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(a @ b.T / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)))


def _cosine_with_a_floor(a: Array, b: Array) -> Array:
    lengths = np.maximum(np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1), 1e-8)
    return a @ b.T / lengths


def _cosine_einsum(a: Array, b: Array) -> Array:
    squares = np.einsum("id,id->i", a, a)[:, None] * np.einsum("jd,jd->j", b, b)
    return np.einsum("id,jd->ij", a, b) / np.sqrt(np.where(squares == 0, 1.0, squares))


def _cosine_broadcast(a: Array, b: Array) -> Array:
    lengths = np.linalg.norm(a, axis=-1)[:, None] * np.linalg.norm(b, axis=-1)[None, :]
    products = (a[:, None, :] * b[None, :, :]).sum(axis=-1)
    return np.divide(products, lengths, out=np.zeros_like(products), where=lengths != 0)


_COSINE = Exercise(
    name="cosine_similarity",
    chapter="01",
    summary="the cosine of the angle between each row of a and each row of b",
    returns="(m, n)",
    reference=cosine_similarity,
    cases=_cosine_cases,
    mistakes=_COSINE_MISTAKES,
    accepted={
        "two_loops": _cosine_in_loops,
        "nan_to_num": _cosine_nan_to_num,
        "length_with_a_floor": _cosine_with_a_floor,
        "einsum": _cosine_einsum,
        "broadcast": _cosine_broadcast,
        "tiny_number_added": lambda a, b: _cosine(a, b, added=1e-12),
    },
    hints=(
        "How long is the row (3, 4)? What remains of a dot product when both rows have the length 1?",
        "A row compared with itself must give 1, however long it is, and a row of zeros must give 0.",
        "Look at the shapes: a @ b.T is (m, n). The lengths of a must run down it and those of b across, "
        "and where a length is 0 divide by something else.",
    ),
    template=_cosine,
)


# ----------------------------------------------------------------------------------------------- window_mean


def window_mean(x: Array, width: int) -> Array:
    """Row t is the mean of rows t-width+1 … t of `x` (T, d), of fewer at the start; (T, d)."""
    back = np.arange(len(x))[:, None] - np.arange(len(x))[None, :]  # (T, T): how far row s lies before row t
    inside = (back >= 0) & (back < width)
    return np.asarray(inside / inside.sum(axis=1, keepdims=True)) @ np.asarray(x)


def _window(
    x: Array,
    width: int,
    *,
    first: int = 1,
    last: int = 1,
    divide: str = "rows there are",
    start: str = "fewer",
    kind: str = "mean",
    numbers: str = "as they are",
) -> Array:
    """`window_mean` with switches: the window of row t is t - width + first … t + last - 1."""
    T, out = len(x), np.zeros_like(x, dtype=int if numbers == "whole" else x.dtype)
    for t in range(T):
        low, high = t - width + first, t + last
        if low < 0 and start == "zeros":
            continue
        if low < 0 and start == "as they are":
            out[t] = x[t]
            continue
        if low <= 0 and start == "zeros, one row more":
            continue
        if low <= 0 and start == "as they are, one row more":
            out[t] = x[t]
            continue
        if low < 0 and start == "nan":
            out[t] = np.nan
            continue
        if start == "from the end":
            window = x[np.arange(low, high) % T]
        elif (low < 0 and start == "without itself") or (low <= 0 and start == "without itself, one row more"):
            window = x[:t]
        elif low < 0 and start == "first window":
            window = x[:width]
        elif start == "first row left out":
            window = x[max(low, 1) : high]
        elif start == "first row again":
            window = x[np.clip(np.arange(low, high), 0, T - 1)]
        else:
            window = x[max(low, 0) : max(high, 0)]
        count = {
            "rows there are": len(window),
            "width": width,
            "nothing": 1,
            "one less": len(window) - 1,
            "rows so far": t + 1,
            "t or width": min(t, width),
            "all rows": T,
            "columns": x.shape[1],
        }[divide]
        with np.errstate(all="ignore"):
            if kind == "mean":
                out[t] = window.sum(axis=0) / np.float64(count)
            elif len(window):
                out[t] = np.median(window, axis=0) if kind == "median" else window.max(axis=0)
    return out


def _window_cases(rng: np.random.Generator) -> Sequence[Case]:
    return [
        Case((np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 7.0], [0.0, 3.0]]), 2)),
        Case((rng.normal(size=(9, 5)), 4)),
        Case((rng.normal(size=(7, 3)), 3)),
        Case((rng.normal(size=(5, 2)), 1), note="width 1: every row stands alone"),
        Case((rng.normal(size=(6, 4)), 6), note="width T"),
        Case((rng.normal(size=(3, 5)), 8), note="the window is wider than the sentence"),
        Case((rng.normal(size=(1, 9)), 3), note="one word"),
    ]


def _negative_start(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for t in range(len(x)):
            window = x[t - width + 1 : t + 1]
            out[t] = window.sum(axis=0) / np.float64(len(window))
    return out


def _writes_into_x(x: Array, width: int) -> Array:
    for t in range(len(x)):
        x[t] = x[max(0, t - width + 1) : t + 1].mean(axis=0)
    return x


def _reads_its_own_means(x: Array, width: int) -> Array:
    return _writes_into_x(x.copy(), width)


def _writes_into_x_backwards(x: Array, width: int) -> Array:
    for t in reversed(range(len(x))):
        x[t] = x[max(0, t - width + 1) : t + 1].mean(axis=0)
    return x


def _whole_windows_only(x: Array, width: int) -> Array:
    full = range(width - 1, len(x))
    return np.array([x[t - width + 1 : t + 1].mean(axis=0) for t in full]).reshape(len(full), x.shape[1])


def _looks_ahead(x: Array, width: int) -> Array:
    return np.array([x[t : t + width].mean(axis=0) for t in range(len(x))])


def _both_sides(x: Array, width: int) -> Array:
    half = width // 2
    return np.array([x[max(0, t - half) : t + half + 1].mean(axis=0) for t in range(len(x))])


def _width_to_both_sides(x: Array, width: int) -> Array:
    return np.array([x[max(0, t - width + 1) : t + width].mean(axis=0) for t in range(len(x))])


def _everything_so_far(x: Array, width: int) -> Array:
    return np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]


def _whole_sentence(x: Array, width: int) -> Array:
    return np.repeat(x.mean(axis=0, keepdims=True), len(x), axis=0)


def _first_window(x: Array, width: int) -> Array:
    return np.repeat(x[:width].mean(axis=0, keepdims=True), len(x), axis=0)


def _last_window(x: Array, width: int) -> Array:
    return np.repeat(x[-width:].mean(axis=0, keepdims=True), len(x), axis=0)


def _last_window_alone(x: Array, width: int) -> Array:
    return x[-width:].mean(axis=0)


def _along_the_columns(x: Array, width: int) -> Array:
    return _window(x.T, width).T


def _one_number_a_row(x: Array, width: int) -> Array:
    return np.array([x[max(0, t - width + 1) : t + 1].mean() for t in range(len(x))])


def _blocks(x: Array, width: int) -> Array:
    return np.array([x[t // width * width : t // width * width + width].mean(axis=0) for t in range(len(x))])


def _blocks_shorter(x: Array, width: int) -> Array:
    return np.array([x[t : t + width].mean(axis=0) for t in range(0, len(x), width)])


def _two_rows_only(x: Array, width: int) -> Array:
    return np.array([(x[t] + x[max(0, t - width + 1)]) / 2 for t in range(len(x))])


def _one_number_repeated(x: Array, width: int) -> Array:
    return np.repeat(_one_number_a_row(x, width)[:, None], x.shape[1], axis=1)


def _mean_along_the_row(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    for t in range(len(x)):
        out[t] = x[max(0, t - width + 1) : t + 1].mean(axis=1)
    return out


def _room_for_one_number_a_row(x: Array, width: int) -> Array:
    out = np.zeros(len(x))
    for t in range(len(x)):
        out[t] = x[max(0, t - width + 1) : t + 1].mean(axis=0)
    return out


def _rows_before_first_zero(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    for t in range(1, len(x)):
        out[t] = x[max(0, t - width) : t].mean(axis=0)
    return out


def _rows_before_first_copied(x: Array, width: int) -> Array:
    out = _rows_before_first_zero(x, width)
    out[0] = x[0]
    return out


def _negative_rows_in_a_loop(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    for t in range(len(x)):
        for s in range(t - width + 1, t + 1):
            out[t] += x[s]
        out[t] /= width
    return out


def _centred_convolution(x: Array, width: int) -> Array:
    return np.stack([np.convolve(column, np.ones(width) / width, mode="same") for column in x.T], axis=1)


def _valid_convolution(x: Array, width: int) -> Array:
    return np.stack([np.convolve(column, np.ones(width) / width, mode="valid") for column in x.T], axis=1)


def _differences_of_sums(x: Array, width: int) -> Array:
    sums = np.cumsum(x, axis=0)
    return (sums[width:] - sums[:-width]) / width


def _returns_first_window(x: Array, width: int) -> Array:
    return x[:1].mean(axis=0)


def _ahead_one_too_few(x: Array, width: int) -> Array:
    with np.errstate(all="ignore"):
        windows = [x[t : t + width - 1] for t in range(len(x))]
        return np.array([window.sum(axis=0) / np.float64(len(window)) for window in windows])


def _half_and_half(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    for t in range(len(x)):
        out[t] = x[max(0, t - width + 1)]
        for s in range(max(0, t - width + 1) + 1, t + 1):
            out[t] = (out[t] + x[s]) / 2
    return out


def _fewer_left_out(x: Array, width: int) -> Array:
    out = np.zeros_like(x)
    for t in range(len(x) - 1):
        out[t] = x[max(0, t - width + 1) : t + 1].mean(axis=0)
    return out


_START = "Which rows are there in the window of row 0, and how many?"
_WINDOW = "Write down the numbers of the rows in the window of row 5 for width 3. Which ones does your code take?"

_WINDOW_MISTAKES = [
    Mistake(
        "divided_by_width",
        "At the start, where fewer rows are there, you still divide by width: those rows come out too small.",
        _START,
        switches={"divide": "width"},
    ),
    Mistake(
        "sums",
        "The rows of each window are added up, and the sum is not divided.",
        "What is the mean of three equal rows?",
        switches={"divide": "nothing"},
    ),
    Mistake(
        "divided_by_one_less",
        "Each sum is divided by one less than the number of rows that went into it.",
        "What is the mean of three equal rows?",
        switches={"divide": "one less"},
    ),
    Mistake(
        "divided_by_rows_so_far",
        "Each sum is divided by the number of rows so far, also where the window holds fewer.",
        "How many rows go into the sum of row 5 for width 3?",
        switches={"divide": "rows so far"},
    ),
    Mistake(
        "divided_by_t_or_width",
        "Each sum is divided by t or by width, whichever is smaller; row 0 is then divided by 0.",
        "How many rows are in the window of row 0, and how many in that of row 1?",
        switches={"divide": "t or width"},
    ),
    Mistake(
        "divided_by_all_rows",
        "Each sum is divided by the number of rows in the whole sentence.",
        "What is the mean of three equal rows?",
        switches={"divide": "all rows"},
    ),
    Mistake(
        "divided_by_columns",
        "Each sum is divided by the number of columns.",
        "What is the mean of three equal rows?",
        switches={"divide": "columns"},
    ),
    Mistake(
        "one_row_too_many",
        "The window begins one row too early: it holds width + 1 rows.",
        _WINDOW,
        switches={"first": 0},
    ),
    Mistake(
        "one_row_too_few",
        "The window begins one row too late: it holds width - 1 rows.",
        _WINDOW,
        switches={"first": 2},
    ),
    Mistake(
        "without_itself",
        "The window ends at the row before t: row t itself is missing from its mean.",
        _WINDOW,
        switches={"last": 0},
    ),
    Mistake(
        "the_rows_before",
        "You take the width rows before row t, and not row t itself.",
        _WINDOW,
        switches={"first": 0, "last": 0},
    ),
    Mistake(
        "sees_the_next_row",
        "The window reaches one row too far: row t + 1 is in the mean of row t.",
        _WINDOW,
        switches={"last": 2},
    ),
    Mistake(
        "shifted_by_one",
        "The whole window stands one row too far on: it begins and ends one row too late.",
        _WINDOW,
        switches={"first": 2, "last": 2},
    ),
    Mistake(
        "looks_ahead",
        "The window runs forward: row t takes the mean of itself and the rows that come after it.",
        "Which words has a reader seen by the time of row t?",
        answer=_looks_ahead,
    ),
    Mistake(
        "ahead_one_too_few",
        "The window runs forward from row t, and it holds one row less than width.",
        "Which words has a reader seen by the time of row t?",
        answer=_ahead_one_too_few,
    ),
    Mistake(
        "both_sides",
        "The window stands around row t, half before it and half after it.",
        "Which words has a reader seen by the time of row t?",
        answer=_both_sides,
    ),
    Mistake(
        "width_to_both_sides",
        "The window reaches width - 1 rows back and as many forward.",
        "Which words has a reader seen by the time of row t?",
        answer=_width_to_both_sides,
    ),
    Mistake(
        "start_is_zero",
        "The first rows, which have fewer than width - 1 rows before them, stay at zero.",
        _START,
        switches={"start": "zeros"},
    ),
    Mistake(
        "start_is_copied",
        "The first rows, which have fewer than width - 1 rows before them, are copied as they are.",
        _START,
        switches={"start": "as they are"},
    ),
    Mistake(
        "start_is_zero_one_row_more",
        "The first width rows stay at zero, although the last of them has a whole window.",
        _START,
        switches={"start": "zeros, one row more"},
    ),
    Mistake(
        "start_is_copied_one_row_more",
        "The first width rows are copied as they are, although the last of them has a whole window.",
        _START,
        switches={"start": "as they are, one row more"},
    ),
    Mistake(
        "start_without_itself",
        "At the start you take the rows before row t, but not row t itself.",
        _START,
        switches={"start": "without itself"},
    ),
    Mistake(
        "start_without_itself_one_row_more",
        "In the first width rows you take the rows before row t, but not row t itself.",
        _START,
        switches={"start": "without itself, one row more"},
    ),
    Mistake(
        "start_takes_first_window",
        "At the start every row takes the first width rows, also those that come after it.",
        _START,
        switches={"start": "first window"},
    ),
    Mistake(
        "first_row_left_out",
        "The window never reaches back to row 0.",
        "With which number do the rows of x begin?",
        switches={"start": "first row left out"},
    ),
    Mistake(
        "start_is_nan",
        "The first rows, which have fewer than width - 1 rows before them, are nan.",
        _START,
        switches={"start": "nan"},
    ),
    Mistake(
        "start_from_the_end",
        "The first rows fetch what they lack from the end of the sentence.",
        _START,
        switches={"start": "from the end"},
    ),
    Mistake(
        "first_row_repeated",
        "Where rows are lacking at the start, row 0 is counted again and again.",
        _START,
        switches={"start": "first row again"},
    ),
    Mistake(
        "negative_start",
        "At the start your slice begins at a negative number, which NumPy counts from the end: "
        "the window is empty or holds the wrong rows.",
        "What does `x[-1:1]` hold when x has five rows?",
        answer=_negative_start,
    ),
    Mistake(
        "whole_windows_only",
        "The first rows are missing: only windows with all width rows are kept, so fewer than T rows come back.",
        _START,
        answer=_whole_windows_only,
    ),
    Mistake(
        "everything_so_far",
        "Every row takes the mean of all rows so far, whatever width is.",
        "What should come back for width 1?",
        answer=_everything_so_far,
    ),
    Mistake(
        "whole_sentence",
        "Every row gets the mean of the whole sentence.",
        "What should come back for width 1?",
        answer=_whole_sentence,
    ),
    Mistake(
        "first_window_everywhere",
        "Every row gets the mean of the first width rows: the window does not move.",
        "Where does t appear in your slice?",
        answer=_first_window,
    ),
    Mistake(
        "last_window_everywhere",
        "Every row gets the mean of the last width rows.",
        "Which places of the result does one turn of your loop write to?",
        answer=_last_window,
    ),
    Mistake(
        "last_window_alone",
        "Only the mean of the last window comes back.",
        "Where are the means kept until the loop has ended?",
        answer=_last_window_alone,
    ),
    Mistake(
        "along_the_columns",
        "The window slides along the numbers of a row, not along the words.",
        "Which axis of x counts the words?",
        answer=_along_the_columns,
    ),
    Mistake(
        "one_number_a_row",
        "All numbers of a window are averaged into one, so the columns are lost.",
        "How many numbers should stand in row t of the result?",
        answer=_one_number_a_row,
    ),
    Mistake(
        "one_number_repeated",
        "All numbers of a window are averaged into one, and it is written into every column.",
        "Along which axis does the mean of a window run?",
        answer=_one_number_repeated,
    ),
    Mistake(
        "mean_along_the_row",
        "The mean of a window runs along its rows (`axis=1`), so it gives one number a row and not one a column.",
        "Which axis of a window should disappear?",
        answer=_mean_along_the_row,
    ),
    Mistake(
        "room_for_one_number_a_row",
        "Your array for the result has room for one number a row, and a mean of rows holds d.",
        "Which shape should the result have?",
        answer=_room_for_one_number_a_row,
    ),
    Mistake(
        "rows_before_first_zero",
        "You take the width rows before row t, and not row t itself; row 0 stays at zero.",
        _WINDOW,
        answer=_rows_before_first_zero,
    ),
    Mistake(
        "rows_before_first_copied",
        "You take the width rows before row t, and not row t itself; row 0 is copied.",
        _WINDOW,
        answer=_rows_before_first_copied,
    ),
    Mistake(
        "negative_rows_in_a_loop",
        "At the start your inner loop reads rows with negative numbers, and NumPy counts those from the end.",
        _START,
        answer=_negative_rows_in_a_loop,
    ),
    Mistake(
        "centred_convolution",
        "A convolution in the mode `same` puts the window around row t, and it divides by width also at the ends.",
        "Which words has a reader seen by the time of row t?",
        answer=_centred_convolution,
    ),
    Mistake(
        "valid_convolution",
        "A convolution in the mode `valid` keeps whole windows only, so the number of rows changes.",
        _START,
        answer=_valid_convolution,
    ),
    Mistake(
        "differences_of_sums",
        "Differences of running sums give the whole windows only, without the first: fewer than T rows come back.",
        _START,
        answer=_differences_of_sums,
    ),
    Mistake(
        "first_window_alone",
        "Only the window of row 0 comes back.",
        "Where does `return` stand: inside the loop or after it?",
        answer=_returns_first_window,
    ),
    Mistake(
        "whole_numbers",
        "The means are cut to whole numbers.",
        "Which kind of number does your array for the result hold?",
        switches={"numbers": "whole"},
    ),
    Mistake(
        "blocks",
        "The sentence is cut into blocks of width rows, and all rows of a block get the same mean.",
        "What is in the window of row 1, and what in that of row 2?",
        answer=_blocks,
    ),
    Mistake(
        "one_mean_a_block",
        "The sentence is cut into blocks of width rows, with one mean for each: fewer than T rows come back.",
        "What is in the window of row 1, and what in that of row 2?",
        answer=_blocks_shorter,
    ),
    Mistake(
        "ends_of_the_window_only",
        "Only the two ends of the window are averaged; the rows between them do not count.",
        "How many rows go into the mean for width 4?",
        answer=_two_rows_only,
    ),
    Mistake(
        "half_and_half",
        "You average step by step, half of what you had and half of the next row, so late rows count for more.",
        "How much should each of four rows count in their mean?",
        answer=_half_and_half,
    ),
    Mistake(
        "last_row_missed",
        "The last row is still zero: the loop ends one row early.",
        "Which numbers does `range(n)` give?",
        answer=_fewer_left_out,
    ),
    Mistake(
        "median",
        "You take the number in the middle of each window, not the mean.",
        "Does your answer change when the largest number of a window grows?",
        switches={"kind": "median"},
    ),
    Mistake(
        "maximum",
        "You take the largest number of each window.",
        "Do the other rows of the window count in your answer?",
        switches={"kind": "max"},
    ),
    Mistake(
        "writes_into_x",
        "You write the means into x while later windows still read from it, and the caller has lost the rows.",
        "Which rows does the window of row 2 read, and what stands there by then?",
        answer=_writes_into_x,
    ),
    Mistake(
        "reads_its_own_means",
        "Later windows read means that you have already written, not the rows that came in.",
        "Which rows does the window of row 2 read, and what stands there by then?",
        answer=_reads_its_own_means,
    ),
    Mistake(
        "writes_into_x_backwards",
        "The means are right, but they are written into x: whoever called your function has lost the rows.",
        "Which array does your loop write to?",
        answer=_writes_into_x_backwards,
    ),
]


def _window_by_sums(x: Array, width: int) -> Array:
    sums = np.vstack([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
    ends = np.arange(1, len(x) + 1)
    starts = np.maximum(ends - width, 0)
    return (sums[ends] - sums[starts]) / (ends - starts)[:, None]


def _window_by_deque(x: Array, width: int) -> Array:
    held: list[Array] = []
    out = []
    for row in x:
        held = [*held, row][-width:]
        out.append(sum(held) / len(held))
    return np.array(out)


def _window_by_convolution(x: Array, width: int) -> Array:
    ones = np.ones(width)
    columns = [np.convolve(column, ones)[: len(x)] for column in x.T]
    return np.stack(columns, axis=1) / np.minimum(np.arange(1, len(x) + 1), width)[:, None]


_WINDOW_MEAN = Exercise(
    name="window_mean",
    chapter="01",
    summary="row t becomes the mean of rows t-width+1 to t",
    returns="(T, d)",
    reference=window_mean,
    cases=_window_cases,
    mistakes=_WINDOW_MISTAKES,
    accepted={
        "running_sums": _window_by_sums,
        "loop_and_sum": _window,
        "list_of_rows": _window_by_deque,
        "convolution": _window_by_convolution,
        "comprehension": lambda x, width: np.stack(
            [x[max(0, t + 1 - width) : t + 1].mean(axis=0) for t in range(len(x))]
        ),
    },
    hints=(
        "For width 3, which rows belong to the window of row 5? Which ones to that of row 1?",
        "With width 1 the result equals x, and row 0 equals row 0 of x for every width.",
        "Look at the first row of your slice: it must not fall below 0, for NumPy would count that from the end.",
    ),
    template=_window,
)


# -------------------------------------------------------------------------------------------------- questions

_TWO_BANKS = Question(
    name="01_two_banks",
    chapter="01",
    prompt="One sentence has a boat in it, the other a clerk. In which numbers do the two rows of 'bank' differ?",
    right="in none",
    because="Both rows are copied from the same place of the table, and nothing else was looked at on the way.",
    wrong={
        "in the water column": "That would need somebody to look at 'boat' before the row of 'bank' is fetched. "
        "Which line of the lookup does that?",
        "in the money column": "That would need somebody to look at 'clerk' before the row of 'bank' is fetched. "
        "Which line of the lookup does that?",
        "in all of them, a little": "Rounding could do that in a calculation. Here nothing is calculated: "
        "a row is copied. What does the copy depend on?",
    },
    otherwise="Take one of the four choices, as text. What does `table[4]` depend on?",
    choices=("in none", "in the water column", "in the money column", "in all of them, a little"),
    hints=("What does the lookup of 'bank' know about the other four words?",),
)

_NEAREST_TO_BANK = Question(
    name="01_nearest_to_bank",
    chapter="01",
    prompt="Which row points most nearly the same way as the row of 'bank'?",
    right="boat and clerk alike",
    because="The row of 'bank' leans to water exactly as much as to money: 0.40 for both. Closeness cannot choose.",
    wrong={
        "boat": "Compare the first two numbers of 'bank'. What in its row would prefer water?",
        "clerk": "Compare the first two numbers of 'bank'. What in its row would prefer money?",
        "left": "'left' is nearly all action, and 'bank' has no action at all. Which column do the two share?",
        "the": "'the' has a number in the action column only. What does 'bank' have there?",
    },
    otherwise="Take one of the five choices, as text. Which columns of 'bank' are not zero?",
    choices=("boat", "clerk", "left", "the", "boat and clerk alike"),
    hints=("Write down the row of 'bank' and cover the columns in which it is zero.",),
)

_FROM_A_BAG = Question(
    name="01_from_a_bag",
    chapter="01",
    prompt="The rows of a sentence are tipped into a bag, and their order is lost. What can still be told from it?",
    right="which words occur, and how often",
    because="A bag keeps every row, and a row that stands twice is in it twice. What lay in the order is gone.",
    wrong={
        "who left whom": "'the boat left the bank' and 'the bank left the boat' fill the bag with the same rows. "
        "In which of them does the bank leave?",
        "which word came first": "Rows carry no number of their position. What marks the first one in the bag?",
        "which 'the' goes with the boat": "The two rows of 'the' are equal. How would you tell one from the other?",
    },
    otherwise="Take one of the four choices, as text. What do two sentences with the same words have in common?",
    choices=(
        "which words occur, and how often",
        "who left whom",
        "which word came first",
        "which 'the' goes with the boat",
    ),
    hints=("Write two sentences with the same five words. What do their bags have in common?",),
)

_WIDTH_FOR_BOAT = Question(
    name="01_width_for_boat",
    chapter="01",
    prompt="What is the smallest width with which the window of 'bank', at position 4, holds 'boat', at position 1?",
    right=4,
    because="The window of width 4 holds positions 1 to 4: 'bank' itself is one of the four.",
    wrong={
        3: "'boat' is 3 words back, but the window counts 'bank' itself: width 3 ends at 'left'.",
        5: "Width 5 reaches one word further than 'boat', to the first 'the'. A smaller one is enough.",
        1: "1 is the position of 'boat'. Width 1 holds 'bank' alone.",
        2: "Two words stand between 'boat' and 'bank'. Count 'boat' and 'bank' as well.",
    },
    otherwise="Write down the positions from 1 to 4. How many are they?",
    hints=("Which positions does the window of position 4 hold for width 2?",),
)

_SHARE_OF_51 = Question(
    name="01_share_at_51",
    chapter="01",
    prompt="The deciding word stands 1 to 200 words back, each distance equally often. "
    "Which share of the sentences does a window of width 51 get right?",
    right=0.25,
    because="Width 51 sees 50 words back, and 50 of 200 distances is a quarter.",
    wrong={
        0.255: "51 of 200 would be right if *bank* itself did not count as one of the 51.",
        51: "51 is the width, and a count. How many words back does it see, and which share of 200 is that?",
        25: "As a share between 0 and 1, please: 25 would be twenty-five times all the sentences.",
        50: "50 is the number of words back that the window sees. Which part of 200 is that?",
        0.26: "52 of 200: one too many on either side. How many words back does width 2 see?",
        0.75: "That is the share it gets wrong.",
        0.5: "50 distances are seen, but of 200, not of 100.",
        0.51: "51 of 100 would be that. There are 200 distances.",
        1: "Only if every deciding word stood within 50 words.",
    },
    otherwise="How many of the distances from 1 to 200 fall inside the window?",
    tolerance=1e-6,
    hints=("How many words back does a window of width 2 see?", "Divide what is seen by 200."),
)

EXERCISES: tuple[Exercise, ...] = (_EMBED, _COSINE, _WINDOW_MEAN)
QUESTIONS: tuple[Question, ...] = (_TWO_BANKS, _NEAREST_TO_BANK, _FROM_A_BAG, _WIDTH_FOR_BOAT, _SHARE_OF_51)

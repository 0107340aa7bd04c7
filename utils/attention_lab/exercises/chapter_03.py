"""Chapter 03, soft_lookup: the best match, the softmax, and the lookup with a temperature.

Letters: S rows that are asked, d_k width of a query or key, d_v width of a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Mistake, Question

# ----------------------------------------------------------------------------------------------- hard_lookup


def _hard_lookup(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The value whose key has the largest dot product with the query; the first of them when several have.

    Args:
        query: (d_k,)
        keys: (S, d_k)
        values: (S, d_v)

    Returns:
        (d_v,)
    """
    return values[int(np.argmax(keys @ query))]


def _hard_lookup_cases(rng: np.random.Generator) -> list[Case]:
    """Each case parts at least one mistake from the others; sizes S, d_k and d_v are different in all of them."""
    return [
        Case(
            (np.array([1.0, 0.0]), np.array([[0.5, 0.0], [2.0, 3.0], [0.0, 1.0]]), np.array([[10.0], [20.0], [30.0]]))
        ),
        Case((rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=(5, 4)))),
        Case(
            (
                np.array([3.0, 0.0]),
                np.array([[1.0, 0.0], [3.0, 0.0], [9.0, 9.0], [-10.0, 0.0], [2.0, 8.0]]),
                rng.normal(size=(5, 3)),
            ),
            "one key equals the query, and a longer one fits better",
        ),
        Case(
            (
                np.array([2.0, 1.0]),
                np.array([[-1.5, -1.0], [0.5, -3.0], [-0.5, -0.25], [-1.0, -0.5]]),
                rng.normal(size=(4, 3)),
            ),
            "all scores are negative",
        ),
        Case(
            (
                np.array([1.0, 1.0, 0.0]),
                np.array([[0.0, 1.0, 5.0], [2.0, 1.0, 0.0], [1.0, 2.0, 4.0], [1.0, 1.0, 9.0], [3.0, 0.0, 0.0]]),
                rng.normal(size=(5, 4)),
            ),
            "three keys are equally good",
        ),
        Case(
            (np.array([1, -2]), np.array([[1, 1], [3, 1], [0, -2], [2, 0]]), rng.normal(size=(4, 3))),
            "whole numbers in query and keys",
        ),
        Case(
            (
                np.array([1.0, 0.5, 0.0]),
                np.array([[0.6, 0.2, 1.0], [0.5, 0.3, 0.0], [0.6, 0.8, 0.5], [0.8, 0.6, 2.0], [0.7, 0.2, 0.0]]),
                rng.normal(size=(5, 4)),
            ),
            "the scores lie close together",
        ),
        Case(
            (
                np.array([1.0, 0.0]),
                np.array([[0.21, 1.0], [-3.0, 2.0], [0.52, -1.0], [0.53, -2.0], [0.1, 3.0], [0.49, 0.0]]),
                rng.normal(size=(6, 5)),
            ),
            "two scores differ by a hundredth",
        ),
        Case((rng.normal(size=4), rng.normal(size=(1, 4)), rng.normal(size=(1, 2))), "a single key"),
    ]


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def _score_loop_from_zero(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    best, best_score = 0, 0.0
    for i in range(len(keys)):
        score = np.dot(query, keys[i])
        if score > best_score:
            best, best_score = i, score
    return values[best]


def _score_loop_nothing_found(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    best: np.ndarray | None = None
    best_score = 0.0
    for key, value in zip(keys, values, strict=True):
        if key @ query > best_score:
            best, best_score = value, key @ query
    return best


def _score_loop_last_wins(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    best, best_score = 0, -math.inf
    for i in range(len(keys)):
        score = np.dot(query, keys[i])
        if score >= best_score:
            best, best_score = i, score
    return values[best]


def _score_loop_forgets(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The usual loop, but the best score so far is never updated: the last score above the first one wins."""
    best, best_score = 0, np.dot(query, keys[0])
    for i in range(len(keys)):
        if np.dot(query, keys[i]) > best_score:
            best = i
    return values[best]


def _exact_key(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    for key, value in zip(keys, values, strict=True):
        if np.array_equal(key, query):
            return value
    raise KeyError(query)


def _keys_in_place(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    keys *= query
    return values[np.argmax(keys.sum(axis=1))]


def _ties_averaged(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    scores = keys @ query
    return values[scores == scores.max()].mean(axis=0)


def _hard_loop(query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    best = 0
    for i in range(1, len(keys)):
        if sum(a * b for a, b in zip(query, keys[i], strict=True)) > sum(
            a * b for a, b in zip(query, keys[best], strict=True)
        ):
            best = i
    return np.array([float(number) for number in values[best]])


HARD_LOOKUP = Exercise(
    name="hard_lookup",
    chapter="03",
    summary="the value whose key fits the query best",
    returns="(d_v,)",
    reference=_hard_lookup,
    cases=_hard_lookup_cases,
    mistakes=(
        Mistake(
            "worst_match",
            "You return the value whose key has the smallest dot product with the query.",
            "Does a key that fits well get a large score or a small one?",
            lambda query, keys, values: values[np.argmin(keys @ query)],
        ),
        Mistake(
            "sign_dropped",
            "You compare the sizes of the scores without their signs, so a key that points the opposite way can win.",
            "What is the score of a key that points exactly away from the query?",
            lambda query, keys, values: values[np.argmax(np.abs(keys @ query))],
        ),
        Mistake(
            "cosine",
            "You compare directions only: each key is brought to length one before it is compared, "
            "so a long key gains nothing.",
            "Two keys point the same way and one is twice as long: do their dot products with the query agree?",
            lambda query, keys, values: values[np.argmax(_unit(keys) @ query)],
        ),
        Mistake(
            "nearest_key",
            "You return the value of the key that lies nearest to the query in space.",
            "Which key is nearest to (1, 0), and which has the largest dot product with it: (0.5, 0) or (2, 3)?",
            lambda query, keys, values: values[np.argmin(np.linalg.norm(keys - query, axis=1))],
        ),
        Mistake(
            "farthest_key",
            "You return the value of the key that lies farthest from the query in space.",
            "What does a large distance say about how well a key fits?",
            lambda query, keys, values: values[np.argmax(np.linalg.norm(keys - query, axis=1))],
        ),
        Mistake(
            "exact_key",
            "You accept a key only when it equals the query in all its numbers, as a dictionary does.",
            "How often do two rows of numbers agree in all digits?",
            _exact_key,
        ),
        Mistake(
            "returns_key",
            "You return the key that fits best, and not what is stored under it.",
            "When you look a word up in a dictionary, do you want the word back?",
            lambda query, keys, values: keys[np.argmax(keys @ query)],
        ),
        Mistake(
            "returns_index",
            "You return the number of the best row, and not its value.",
            "Your function knows where the value stands. What is still to be done with that number?",
            lambda query, keys, values: np.argmax(keys @ query),
        ),
        Mistake(
            "returns_score",
            "You return the best score, a single number, and no value at all.",
            "Which argument does your result never use?",
            lambda query, keys, values: np.max(keys @ query),
        ),
        Mistake(
            "returns_scores",
            "You return the score of every key, and no value at all.",
            "Which of these scores is the best, and what is stored there?",
            lambda query, keys, values: keys @ query,
        ),
        Mistake(
            "value_times_score",
            "You return the best value multiplied by its score.",
            "If the query is doubled, should the value that comes back change?",
            lambda query, keys, values: np.max(keys @ query) * values[np.argmax(keys @ query)],
        ),
        Mistake(
            "column_of_values",
            "You take a column of the values, where one row of them is asked for.",
            "Which axis of `values` counts the keys?",
            lambda query, keys, values: values[:, np.argmax(keys @ query)],
        ),
        Mistake(
            "keeps_an_axis",
            "You return a table with one line for every best key, and not one row of width d_v.",
            "What is the shape of your result, and what should it be when two keys are equally good?",
            lambda query, keys, values: values[keys @ query == (keys @ query).max()],
        ),
        Mistake(
            "slice_of_one",
            "You return a table with a single line, (1, d_v), where a row, (d_v,), is asked for.",
            "What does a slice `a[i:i + 1]` keep that `a[i]` does not?",
            lambda query, keys, values: values[np.argmax(keys @ query) : np.argmax(keys @ query) + 1],
        ),
        Mistake(
            "last_of_equals",
            "When several keys are equally good, you return the value of the last of them.",
            "Which of two equal scores does your comparison keep?",
            _score_loop_last_wins,
        ),
        Mistake(
            "equals_averaged",
            "When several keys are equally good, you return the mean of their values.",
            "What does the text say about two keys that are equally good?",
            _ties_averaged,
        ),
        Mistake(
            "starts_at_zero",
            "Your search begins with a best score of 0, so with negative scores only, no key ever beats it.",
            "What does your function return when all scores are below zero?",
            _score_loop_from_zero,
        ),
        Mistake(
            "best_never_updated",
            "Your loop compares every score with the first one, so the last row that beats the first row wins.",
            "After a better key has been found, what must the next one be compared with?",
            _score_loop_forgets,
        ),
        Mistake(
            "products_not_summed",
            "You search the single products query[j] * key[j] for the largest, without adding them up for each key.",
            "How many scores should there be for S keys, and how many numbers do you search?",
            lambda query, keys, values: values[np.argmax(keys * query)],
        ),
        Mistake(
            "winner_per_column",
            "You pick a winner for each column of the keys, so several values come back.",
            "What has to be added up before one key can win?",
            lambda query, keys, values: values[np.argmax(keys * query, axis=0)],
        ),
        Mistake(
            "summed_over_keys",
            "You add the products up over the keys and not over the columns of a key.",
            "Along which axis must the sum run so that one score is left for each key?",
            lambda query, keys, values: values[np.argmax((keys * query).sum(axis=0))],
        ),
        Mistake(
            "ignores_query",
            "Your choice of a row does not depend on the query: the key with the largest sum wins.",
            "If another query comes, can another row win?",
            lambda query, keys, values: values[np.argmax(keys.sum(axis=1))],
        ),
        Mistake(
            "longest_key",
            "Your choice of a row does not depend on the query: the longest key wins.",
            "If another query comes, can another row win?",
            lambda query, keys, values: values[np.argmax(np.linalg.norm(keys, axis=1))],
        ),
        Mistake(
            "blend",
            "You return a mixture of all values, with a softmax of the scores as shares.",
            "How many of the values should have a say in the result?",
            lambda query, keys, values: _softmax(keys @ query) @ values,
        ),
        Mistake(
            "score_sum",
            "You add up all values, each multiplied by its score.",
            "How many of the values should have a say in the result?",
            lambda query, keys, values: (keys @ query) @ values,
        ),
        Mistake(
            "first_row",
            "You return the first value, whatever the query asks.",
            "If another query comes, can another row win?",
            lambda query, keys, values: values[0],
        ),
        Mistake(
            "last_row",
            "You return the last value, whatever the query asks.",
            "If another query comes, can another row win?",
            lambda query, keys, values: values[-1],
        ),
        Mistake(
            "one_row_late",
            "You return the value of the row after the best match.",
            "Which row does the position 0 name?",
            lambda query, keys, values: values[np.argmax(keys @ query) + 1],
        ),
        Mistake(
            "one_row_early",
            "You return the value of the row before the best match.",
            "Which row does the position 0 name?",
            lambda query, keys, values: values[np.argmax(keys @ query) - 1],
        ),
        Mistake(
            "score_as_position",
            "You use the best score itself as the number of a row.",
            "The largest score is 2.88: which row is number 2.88?",
            lambda query, keys, values: values[int(np.max(keys @ query))],
        ),
        Mistake(
            "score_as_index",
            "You index with the largest score, not with its position.",
            "The largest score is 2.88: which row is number 2.88?",
            lambda query, keys, values: values[np.max(keys @ query)],
        ),
        Mistake(
            "nothing_beats_zero",
            "Your first best score is 0: with negative scores only, no key ever beats it, and nothing has been found.",
            "What does your function return when all scores are below zero?",
            _score_loop_nothing_found,
        ),
        Mistake(
            "scores_rounded",
            "You round the scores before you compare them, so that close ones become equal.",
            "Which of the scores 0.7, 1.0 and 1.1 is the largest, and which is it for your function?",
            lambda query, keys, values: values[np.argmax(np.round(keys @ query))],
        ),
        Mistake(
            "scores_cut",
            "You cut the scores down to whole numbers before you compare them, so that close ones become equal.",
            "Which of the scores 0.7, 1.0 and 1.1 is the largest, and which is it for your function?",
            lambda query, keys, values: values[np.argmax((keys @ query).astype(int))],
        ),
        Mistake(
            "first_column_only",
            "You compare only the first column of the keys.",
            "How many numbers has a key, and how many of them does your choice look at?",
            lambda query, keys, values: values[np.argmax(keys[:, 0])],
        ),
        Mistake(
            "sizes_summed",
            "You drop the signs of the single products before you add them up.",
            "What does a negative product say about how well a key fits?",
            lambda query, keys, values: values[np.argmax(np.abs(keys * query).sum(axis=1))],
        ),
        Mistake(
            "sum_of_query_and_key",
            "You add query and key where they should be multiplied, so the query makes no difference.",
            "Add the same number to all scores: does the winner change?",
            lambda query, keys, values: values[np.argmax(keys + query)],
        ),
        Mistake(
            "largest_value",
            "You return the largest value, whatever its key is.",
            "Which argument says how a row can be found?",
            lambda query, keys, values: values[np.argmax(values.sum(axis=1))],
        ),
        Mistake(
            "mean_of_values",
            "You return the mean of all values, whatever the query asks.",
            "How many of the values should have a say in the result?",
            lambda query, keys, values: values.mean(axis=0),
        ),
        Mistake(
            "all_values",
            "You return all the values.",
            "How many rows should come back?",
            lambda query, keys, values: values,
        ),
        Mistake(
            "values_sorted",
            "You return all the values, in the order of their scores.",
            "How many rows should come back, and which end of your order is the best match?",
            lambda query, keys, values: values[np.argsort(keys @ query)],
        ),
        Mistake(
            "values_sorted_best_first",
            "You return all the values, sorted so that the best match comes first.",
            "How many rows should come back?",
            lambda query, keys, values: values[np.argsort(-(keys @ query), kind="stable")],
        ),
        Mistake(
            "changes_its_keys",
            "Your result is right, but the keys that you were given are changed on the way.",
            "What does the caller find in its array afterwards, and which line of yours writes into it?",
            _keys_in_place,
        ),
        Mistake(
            "values_meet_query",
            "A product joins an axis of d_v numbers with one of d_k numbers: values are compared with queries or keys.",
            "Which argument says how a row can be found, and what are the shapes on both sides of your product?",
            lambda query, keys, values: values[np.argmax(values @ query)],
        ),
        Mistake(
            "width_meets_count",
            "A product joins an axis of d_k numbers with one of S numbers, and they do not fit.",
            "What are the shapes on both sides of your product, and which axis of each does it join?",
            lambda query, keys, values: values[np.argmax(query @ keys)],
        ),
        Mistake(
            "width_meets_count_in_dot",
            "Your dot joins an axis of d_k numbers with one of S numbers, and they do not fit.",
            "What are the shapes of the two things you give to dot, and which axis of each does it join?",
            lambda query, keys, values: values[np.argmax(np.dot(query, keys))],
        ),
        Mistake(
            "count_meets_width",
            "A product joins an axis of S numbers with one of d_k numbers, and they do not fit.",
            "What are the shapes on both sides of your product, and which axis of each does it join?",
            lambda query, keys, values: values[np.argmax(keys.T @ query)],
        ),
    ),
    accepted={
        "loop_over_keys": _hard_loop,
        "one_hot_product": lambda query, keys, values: np.eye(len(keys))[np.argmax(keys @ query)] @ values,
        "max_with_key": lambda query, keys, values: values[max(range(len(keys)), key=lambda i: float(keys[i] @ query))],
        "stable_sort": lambda query, keys, values: values[np.argsort(-(keys @ query), kind="stable")[0]],
        "einsum": lambda query, keys, values: values[np.einsum("d,sd->s", query, keys).argmax()],
        "take": lambda query, keys, values: np.take(values, (query[None, :] * keys).sum(axis=1).argmax(), axis=0),
        "query_from_the_left": lambda query, keys, values: values[np.argmax(query @ keys.T)],
        "first_nonzero": lambda query, keys, values: values[np.nonzero(keys @ query == np.max(keys @ query))[0][0]],
    },
    hints=(
        "One number says how well one key fits. How many such numbers are there, and which row does the largest name?",
        "Make all keys longer by the same factor: the same row wins. Turn the query round: another row wins. "
        "Check both with your function.",
        "First one line that makes the (S,) scores out of `keys` and `query`, then one line that uses the position of "
        "the largest of them to pick a row of `values`.",
    ),
)

# --------------------------------------------------------------------------------------------------- softmax


def _softmax(scores: np.ndarray) -> np.ndarray:
    """Shares of the scores of each row: positive, adding up to one.

    Subtracting a row's largest score leaves its shares as they are and keeps exp from overflowing.

    Args:
        scores: any shape, a row being what the last axis holds; -inf means "no share"; no row holds -inf only.

    Returns:
        the shape of `scores`.
    """
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


#: What stands in place of the exponential.
_POWERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "e": np.exp,
    "2": np.exp2,
    "10": lambda x: 10.0**x,
    "none": lambda x: x,
    "abs": np.abs,
    "square": np.square,
}


@np.errstate(all="ignore")
def _softmax_switched(
    scores: np.ndarray,
    *,
    sign: float = 1.0,
    minus_inf: float = -np.inf,
    limit: float = np.inf,
    axis: int | None = -1,
    shift: str = "row",
    shifted: str = "both",
    keep_max: bool = True,
    power: str = "e",
    divide: str = "sum",
    sum_axis: int | None | str = "axis",
    keep_sum: bool = True,
    extra: float = 0.0,
    finish: str = "share",
) -> np.ndarray:
    """`_softmax` with its defaults; each keyword makes a known mistake."""
    x = sign * (scores if np.issubdtype(scores.dtype, np.floating) else scores.astype(np.float64))
    x = np.clip(np.where(np.isneginf(x), minus_inf, x), -limit, limit)
    m = _shift(x, shift, axis, keep_max)
    x = x / m if shift == "ratio" else x - m
    over = axis if isinstance(sum_axis, str) else sum_axis
    if shifted == "above":
        return np.exp(x) / np.exp(x + m).sum(axis=over, keepdims=True)
    if shifted == "below":
        return np.exp(x + m) / np.exp(x).sum(axis=over, keepdims=True)
    e = np.exp(x + m) - m if finish == "outside" else _POWERS[power](x)
    below = _below(e, x, divide, over, keep_sum) + extra
    return x - np.log(below) if finish == "log" else e / below


def _shift(x: np.ndarray, shift: str, axis: int | None, keep: bool) -> np.ndarray | float:
    """What is subtracted from the scores before the exponential."""
    if shift in ("row", "ratio"):
        return x.max(axis=axis, keepdims=keep)
    if shift == "nothing":
        return 0.0
    if shift == "all":
        return x.max()
    if shift == "columns":
        return x.max(axis=0, keepdims=True)
    if shift == "size":
        return np.abs(x).max(axis=axis, keepdims=True)
    if shift == "first":
        return x[..., :1]
    if shift == "last":
        return x[..., -1:]
    if shift == "row added":
        return -x.max(axis=axis, keepdims=True)
    return x.mean(axis=axis, keepdims=True) if shift == "mean" else x.min(axis=axis, keepdims=True)


def _below(e: np.ndarray, x: np.ndarray, divide: str, over: int | None, keep: bool) -> np.ndarray | float:
    """What stands below the fraction bar, from the exponentials `e` of the shifted scores `x`."""
    if divide == "max":
        return e.max(axis=over, keepdims=True)
    if divide == "mean":
        return e.mean(axis=over, keepdims=True)
    if divide == "norm":
        return np.sqrt((e**2).sum(axis=over, keepdims=True))
    if divide == "scores":
        return x.sum(axis=over, keepdims=True)
    if divide == "exp_of_sum":
        return np.exp(x.sum(axis=over, keepdims=True))
    if divide == "count":
        return float(x.shape[-1])
    return 1.0 if divide == "nothing" else e.sum(axis=over, keepdims=keep)


def _softmax_cases(rng: np.random.Generator) -> list[Case]:
    """Ordinary shapes first; huge scores, rows far apart, minus infinity and whole numbers each on their own."""
    inf = np.inf
    return [
        Case((np.array([0.0, 1.0, 2.0]),)),
        Case((rng.normal(size=(3, 5)),)),
        Case((rng.normal(scale=1.5, size=(2, 3, 7)),), "three axes"),
        Case((-0.5 - 3.0 * rng.random(4),), "all scores are negative"),
        Case((np.array([10_000.0, 9_999.0, -10_000.0]),), "scores of 10,000"),
        Case(
            (np.array([[10_000.0, 9_998.0, 9_999.5, 0.0, 3.0], [-10_000.0, -9_999.0, -9_998.5, -9_999.5, -10_000.0]]),),
            "two rows that lie far apart",
        ),
        Case(
            (np.array([[0.5, -inf, 1.5, -inf], [-inf, 0.25, -inf, -1.0], [1.0, 2.0, -0.5, 0.0]]),),
            "scores of minus infinity",
        ),
        Case((np.array([800.0, 799.0, 0.0, 10.0]),), "scores of 800 and 0"),
        Case((np.array([[1, 3, 2], [4, 0, 1]]),), "whole numbers"),
        Case((rng.normal(size=(3, 1)),), "one score in each row"),
    ]


@np.errstate(all="ignore")
def _softmax_in_place(scores: np.ndarray) -> np.ndarray:
    scores -= scores.max(axis=-1, keepdims=True)
    e = np.exp(scores)
    return e / e.sum(axis=-1, keepdims=True)


def _softmax_into_integers(scores: np.ndarray) -> np.ndarray:
    out = np.zeros_like(scores)
    out[...] = _softmax(scores)
    return out


@np.errstate(all="ignore")
def _softmax_line_by_line(scores: np.ndarray) -> np.ndarray:
    out = []
    for row in scores:
        e = np.exp(row - np.max(row))
        out.append(e / np.sum(e))
    return np.array(out)


@np.errstate(all="ignore")
def _softmax_line_by_line_unstable(scores: np.ndarray) -> np.ndarray:
    return np.array([np.exp(row) / np.exp(row).sum() for row in scores])


@np.errstate(all="ignore")
def _softmax_turned(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores.max(axis=-1, keepdims=True) - scores)
    return e / e.sum(axis=-1, keepdims=True)


@np.errstate(all="ignore")
def _softmax_log_space_unstable(scores: np.ndarray) -> np.ndarray:
    return np.exp(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)))


@np.errstate(all="ignore")
def _softmax_new_axis(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1)[:, None])
    return e / e.sum(axis=-1)[:, None]


def _softmax_one_row(scores: np.ndarray) -> np.ndarray:
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return np.array([power / sum(powers) for power in powers])


def _softmax_one_row_unstable(scores: np.ndarray) -> np.ndarray:
    powers = [math.exp(score) for score in scores]
    return np.array([power / sum(powers) for power in powers])


def _softmax_running_sum(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / np.cumsum(e, axis=-1)


@np.errstate(all="ignore")
def _softmax_repaired(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores)
    return np.nan_to_num(e / e.sum(axis=-1, keepdims=True))


@np.errstate(all="ignore")
def _sigmoid(scores: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-scores))


def _winner_takes_all(scores: np.ndarray) -> np.ndarray:
    return (scores == scores.max(axis=-1, keepdims=True)).astype(np.float64)


def _argmax_row(scores: np.ndarray) -> np.ndarray:
    return np.argmax(scores, axis=-1)


@np.errstate(all="ignore")
def _softmax_twice(scores: np.ndarray) -> np.ndarray:
    return _softmax(_softmax(scores))


@np.errstate(all="ignore")
def _minimum_to_zero(scores: np.ndarray) -> np.ndarray:
    above = scores - scores.min(axis=-1, keepdims=True)
    return above / above.sum(axis=-1, keepdims=True)


@np.errstate(all="ignore")
def _range_to_one(scores: np.ndarray) -> np.ndarray:
    low, high = scores.min(axis=-1, keepdims=True), scores.max(axis=-1, keepdims=True)
    return (scores - low) / (high - low)


@np.errstate(all="ignore")
def _negatives_cut(scores: np.ndarray) -> np.ndarray:
    kept = np.maximum(scores, 0)
    return kept / kept.sum(axis=-1, keepdims=True)


@np.errstate(all="ignore")
def _standardised_first(scores: np.ndarray) -> np.ndarray:
    centred = scores - scores.mean(axis=-1, keepdims=True)
    return _softmax(centred / scores.std(axis=-1, keepdims=True))


def _softmax_python(scores: np.ndarray) -> np.ndarray:
    """Number by number, for any shape."""
    flat = np.asarray(scores, dtype=np.float64).reshape(-1, scores.shape[-1])
    out = np.empty(flat.shape)
    for i, row in enumerate(flat):
        top = max(row)
        powers = [math.exp(score - top) for score in row]
        out[i] = [power / sum(powers) for power in powers]
    return out.reshape(scores.shape)


@np.errstate(all="ignore")
def _softmax_log_space(scores: np.ndarray) -> np.ndarray:
    top = scores.max(axis=-1, keepdims=True)
    return np.exp(scores - top - np.log(np.exp(scores - top).sum(axis=-1, keepdims=True)))


@np.errstate(all="ignore")
def _softmax_pairwise(scores: np.ndarray) -> np.ndarray:
    """1 / Σ_j exp(s_j − s_i): no maximum is needed, because an overflow to infinity gives the right 0."""
    finite = np.maximum(scores, -1e30)
    return 1.0 / np.exp(finite[..., None, :] - finite[..., :, None]).sum(axis=-1)


_OVER_WHICH = "How many rows of your result add up to one, and which numbers do you add up?"
_EPS_QUESTION = "What is the smallest that the sum of the exponentials can be, once the largest score is subtracted?"

SOFTMAX = Exercise(
    name="softmax",
    chapter="03",
    summary="scores to shares along the last axis: positive, each row adding up to one",
    returns="the shape of scores",
    reference=_softmax,
    template=_softmax_switched,
    cases=_softmax_cases,
    mistakes=(
        Mistake(
            "over_all_entries",
            "You normalise over all entries at once: the whole array adds up to one, and not each row.",
            _OVER_WHICH,
            switches={"axis": None},
        ),
        Mistake(
            "over_first_axis",
            "You normalise over the first axis: columns add up to one, and not rows.",
            _OVER_WHICH,
            switches={"axis": 0},
        ),
        Mistake(
            "over_axis_one",
            "You always normalise over axis 1, which is the last one only when there are two axes.",
            "What happens to one row alone, with a single axis, and to a stack of tables with three?",
            switches={"axis": 1},
        ),
        Mistake(
            "over_axis_minus_two",
            "You normalise over the last axis but one: columns add up to one, and not rows.",
            _OVER_WHICH,
            switches={"axis": -2},
        ),
        Mistake(
            "sum_over_all",
            "The largest score is taken row by row, but the sum runs over all entries.",
            "How many different sums does a table with three rows need?",
            partial(_softmax_switched, sum_axis=None),
        ),
        Mistake(
            "sum_over_first_axis",
            "The largest score is taken row by row, but the sum runs down the columns.",
            "Along which axis should the shares add up to one?",
            partial(_softmax_switched, sum_axis=0),
        ),
        Mistake(
            "sum_over_last_but_one",
            "The largest score is taken row by row, but the sum runs over the last axis but one.",
            "Along which axis should the shares add up to one?",
            partial(_softmax_switched, sum_axis=-2),
        ),
        Mistake(
            "maximum_down_columns",
            "You subtract the largest score of each column, so the scores of one row are shifted by different amounts.",
            "A shift leaves the shares alone only when it is the same for which numbers?",
            partial(_softmax_switched, shift="columns"),
        ),
        Mistake(
            "unstable",
            "Large scores overflow: exp(10000) is infinity, and infinity divided by infinity is NaN.",
            "Which number can you subtract from all scores of a row without changing its shares?",
            switches={"shift": "nothing"},
        ),
        Mistake(
            "one_maximum_for_all",
            "You subtract the largest score of the whole array, so a row far below it becomes 0 divided by 0.",
            "If one row has scores near 10,000 and the next near -10,000, what is left of the second after the exp?",
            switches={"shift": "all"},
        ),
        Mistake(
            "subtracts_mean",
            "You subtract the mean of a row, and scores far above the mean still overflow.",
            "Which number must be subtracted so that no exponent is above zero?",
            partial(_softmax_switched, shift="mean"),
        ),
        Mistake(
            "subtracts_minimum",
            "You subtract the smallest score, which makes the largest exponents larger still.",
            "Which number must be subtracted so that no exponent is above zero?",
            partial(_softmax_switched, shift="min"),
        ),
        Mistake(
            "subtracts_first",
            "You subtract the first score of each row, whatever it is: a minus infinity there makes NaN.",
            "What is left when the first score of a row is minus infinity?",
            partial(_softmax_switched, shift="first"),
        ),
        Mistake(
            "subtracts_last",
            "You subtract the last score of each row, whatever it is: scores far above it overflow.",
            "What is the largest exponent in a row that ends with its lowest score?",
            partial(_softmax_switched, shift="last"),
        ),
        Mistake(
            "adds_maximum",
            "You add the largest score of each row, which makes the exponents larger still.",
            "Which exponent should the largest score of a row end up with?",
            partial(_softmax_switched, shift="row added"),
        ),
        Mistake(
            "subtracts_largest_size",
            "You subtract the largest size, without its sign, so a row of strongly negative scores becomes 0 over 0.",
            "What is the largest exponent in a row of scores near -10,000?",
            partial(_softmax_switched, shift="size"),
        ),
        Mistake(
            "divides_scores_by_maximum",
            "You divide the scores by the largest one before the exponential, which changes the differences "
            "between them.",
            "Which change of the scores leaves the shares alone: a shift or a stretch?",
            partial(_softmax_switched, shift="ratio"),
        ),
        Mistake(
            "maximum_lost_its_axis",
            "The largest scores have lost their axis, so an array with several rows no longer lines up with them.",
            "What is the shape of the maxima of a (3, 5) table, and what shape would line up with (3, 5)?",
            switches={"keep_max": False},
        ),
        Mistake(
            "sum_lost_its_axis",
            "The sums have lost their axis, so an array with several rows no longer lines up with them.",
            "What is the shape of the sums of a (3, 5) table, and what shape would line up with (3, 5)?",
            switches={"keep_sum": False},
        ),
        Mistake(
            "divides_by_maximum",
            "You divide by the largest exponential, so the best score gets 1 as long as nothing overflows.",
            "What do the numbers of one row add up to?",
            switches={"divide": "max", "shift": "nothing"},
        ),
        Mistake(
            "divides_by_mean",
            "You divide by the mean of the exponentials, so a row adds up to the number of its scores.",
            "What do the numbers of one row add up to?",
            partial(_softmax_switched, divide="mean"),
        ),
        Mistake(
            "divides_by_length",
            "You divide by the length of the row of exponentials, so their squares add up to one and not they "
            "themselves.",
            "What do the numbers of one row add up to, and what do their squares?",
            partial(_softmax_switched, divide="norm"),
        ),
        Mistake(
            "divides_by_count",
            "You divide the exponentials by how many there are, whatever they are.",
            "What do the numbers of one row add up to?",
            partial(_softmax_switched, divide="count"),
        ),
        Mistake(
            "divides_by_sum_of_scores",
            "The exponentials are divided by the sum of the scores, which can be zero or negative.",
            "Which numbers must be added up so that their shares add up to one?",
            switches={"divide": "scores"},
        ),
        Mistake(
            "exp_of_the_sum",
            "You add the scores up first and take the exponential of their sum.",
            "Is exp(a) + exp(b) the same as exp(a + b)?",
            switches={"divide": "exp_of_sum"},
        ),
        Mistake(
            "no_division",
            "The exponentials are not divided by their sum: they are positive, but they do not add up to one.",
            "What do the numbers of one row add up to?",
            switches={"divide": "nothing"},
        ),
        Mistake(
            "divides_by_the_plain_sum",
            "You divide the scores by their sum, without an exponential.",
            "What share does a negative score get, and what happens when the scores add up to zero?",
            switches={"power": "none", "shift": "nothing"},
        ),
        Mistake(
            "no_exponential",
            "You subtract the largest score and divide by the sum, without an exponential, so the best score gets 0.",
            "Which step makes all the numbers positive?",
            switches={"power": "none"},
        ),
        Mistake(
            "sizes_shared_out",
            "You share out the sizes of the scores: a strongly negative score gets as much as a strongly positive one.",
            "Which score should get the smallest share?",
            switches={"power": "abs", "shift": "nothing"},
        ),
        Mistake(
            "squares_shared_out",
            "You share out the squares of the scores: a strongly negative score gets as much as a strongly "
            "positive one.",
            "Which score should get the smallest share?",
            partial(_softmax_switched, power="square", shift="nothing"),
        ),
        Mistake(
            "minimum_to_zero",
            "You subtract the smallest score and share out what is left, so the worst score always gets 0.",
            "Which step makes every share positive?",
            _minimum_to_zero,
        ),
        Mistake(
            "range_to_one",
            "You stretch each row to run from 0 to 1, and nothing makes it add up to one.",
            "What do the numbers of one row add up to?",
            _range_to_one,
        ),
        Mistake(
            "negatives_cut",
            "You cut negative scores off at 0 and share out the rest, without an exponential.",
            "What is left of a row whose scores are all negative?",
            _negatives_cut,
        ),
        Mistake(
            "standardised_first",
            "You bring each row to mean 0 and spread 1 first, so doubled scores give the same shares as before.",
            "Should scores that lie further apart give the same shares?",
            _standardised_first,
        ),
        Mistake(
            "base_two",
            "The base of your exponential is 2 and not e.",
            "By which factor should a share grow when its score grows by 1?",
            switches={"power": "2"},
        ),
        Mistake(
            "base_ten",
            "The base of your exponential is 10 and not e.",
            "By which factor should a share grow when its score grows by 1?",
            switches={"power": "10"},
        ),
        Mistake(
            "sign_turned",
            "The sign is turned: the smallest score gets the largest share.",
            "Which of the scores 0, 1, 2 should get the largest share?",
            switches={"sign": -1.0},
        ),
        Mistake(
            "log_returned",
            "You return the logarithm of the shares: all numbers are zero or negative.",
            "What do the numbers of one row add up to?",
            switches={"finish": "log"},
        ),
        Mistake(
            "log_of_the_shares",
            "You take the logarithm of the finished shares: no number is above zero, and a share of 0 becomes -inf.",
            "What do the numbers of one row add up to?",
            np.errstate(divide="ignore")(lambda scores: np.log(_softmax(scores))),
        ),
        Mistake(
            "sign_turned_after_the_shift",
            "The sign is turned after the largest score is subtracted: exponents are positive, large ones overflow.",
            "Which of the scores 0, 1, 2 should get the largest share?",
            _softmax_turned,
        ),
        Mistake(
            "log_space_unstable",
            "You subtract the logarithm of a sum that overflows, so large scores all get 0.",
            "What is the sum of the exponentials for scores of 10,000?",
            _softmax_log_space_unstable,
        ),
        Mistake(
            "new_axis_by_position",
            "You put the lost axis back at a fixed place, which is the last one only when there are exactly two axes.",
            "What is the shape of your maxima for a single row, and for a (2, 3, 7) stack?",
            _softmax_new_axis,
        ),
        Mistake(
            "maximum_outside_the_exp",
            "The largest score is subtracted after the exponential and not inside it.",
            "Where does the closing bracket of your exp stand?",
            partial(_softmax_switched, finish="outside"),
        ),
        Mistake(
            "minus_infinity_becomes_zero",
            "A score of minus infinity is replaced by 0 before the exponential, and then gets a share like a "
            "score of 0.",
            "What share should a score of minus infinity get?",
            switches={"minus_inf": 0.0},
        ),
        Mistake(
            "scores_clipped",
            "You cut large scores off, so that 10,000 and 9,999 become equal.",
            "By how much do 10,000 and 9,999 differ, and which shares do 1 and 0 get?",
            partial(_softmax_switched, limit=700.0, shift="nothing"),
        ),
        *(
            Mistake(
                f"something_added_below_{exponent}",
                f"You add a small number (about 1e-{exponent}) to the sum, so that the rows add up to a little "
                "less than one.",
                _EPS_QUESTION,
                partial(_softmax_switched, extra=10.0**-exponent),
            )
            for exponent in (9, 8, 7, 6, 5, 3)
        ),
        Mistake(
            "shifted_above_only",
            "You subtract the largest score above the fraction bar and not below it.",
            "Is the number that you divide by the sum of the numbers above the bar?",
            switches={"shifted": "above"},
        ),
        Mistake(
            "shifted_below_only",
            "You subtract the largest score below the fraction bar and not above it.",
            "Is the number that you divide by the sum of the numbers above the bar?",
            switches={"shifted": "below"},
        ),
        Mistake(
            "scores_clipped_low",
            "You cut scores off somewhere below 100, so that 10,000 and 9,999 become equal.",
            "By how much do 10,000 and 9,999 differ, and which shares do 1 and 0 get?",
            partial(_softmax_switched, limit=50.0, shift="nothing"),
        ),
        Mistake(
            "one_row_only",
            "You go through the scores one by one as if there were a single row: with more axes that fails.",
            "What does your loop meet when the scores are a (3, 5) table?",
            _softmax_one_row,
        ),
        Mistake(
            "one_row_only_and_unstable",
            "You go through the scores one by one as if there were a single row, and exp overflows for large ones.",
            "What does your loop meet when the scores are a (3, 5) table, and what is exp(10000)?",
            _softmax_one_row_unstable,
        ),
        Mistake(
            "line_by_line_and_unstable",
            "You loop over the first axis, which gives the rows only when there are exactly two axes, and exp "
            "overflows.",
            "What does the loop go through when there is a single row, and what is exp(10000)?",
            _softmax_line_by_line_unstable,
        ),
        Mistake(
            "flattened",
            "The shares are right, but they come back as a table with two axes, whatever shape the scores had.",
            "What shape have the scores of the third call, and what shape has your result?",
            lambda scores: _softmax(scores.reshape(-1, scores.shape[-1])),
        ),
        Mistake(
            "root_of_length_too",
            "The scores are divided by the square root of their number before the exponential.",
            "By which factor should a share grow when its score grows by 1?",
            lambda scores: _softmax(scores / np.sqrt(scores.shape[-1])),
        ),
        Mistake(
            "divided_upside_down",
            "Your fraction stands upside down: the sum is divided by the exponentials.",
            "Which of the scores 0, 1, 2 gets the largest number from you?",
            lambda scores: 1.0 / _softmax(scores),
        ),
        Mistake(
            "running_sum",
            "Each exponential is divided by the sum of those up to it, and not by the sum of the whole row.",
            "What does the first score of a row get, whatever it is?",
            _softmax_running_sum,
        ),
        Mistake(
            "nan_painted_over",
            "Large scores overflow to NaN, and you replace the NaN by numbers: such a row no longer adds up to one.",
            "What do you return for the scores 10000, 9999, -10000, and what do they add up to?",
            _softmax_repaired,
        ),
        Mistake(
            "sigmoid",
            "Each score is squeezed between 0 and 1 on its own, without regard to the others.",
            "If one score of a row grows, must the shares of the others shrink?",
            _sigmoid,
        ),
        Mistake(
            "winner_takes_all",
            "You give everything to the largest score and nothing to the others.",
            "What share should the second best score get?",
            _winner_takes_all,
        ),
        Mistake(
            "position_of_the_largest",
            "You return where the largest score stands, and not a share for each score.",
            "How many numbers should come back for a row of five scores?",
            _argmax_row,
        ),
        Mistake(
            "applied_twice",
            "The softmax is applied twice: the shares of the first one become the scores of the second.",
            "How many exponentials stand between a score and its share?",
            _softmax_twice,
        ),
        Mistake(
            "changes_its_input",
            "Your result is right, but the scores that you were given are changed on the way.",
            "What does the caller find in its array afterwards, and which line of yours writes into it?",
            _softmax_in_place,
        ),
        Mistake(
            "into_whole_numbers",
            "Your result is written into an array of the type of the scores: with whole numbers all shares become 0.",
            "What type has an array that is made like an array of whole numbers?",
            _softmax_into_integers,
        ),
        Mistake(
            "line_by_line",
            "You loop over the first axis, which gives the rows only when there are exactly two axes.",
            "What does the loop go through when there is a single row, and what when there are three axes?",
            _softmax_line_by_line,
        ),
    ),
    accepted={
        "in_log_space": _softmax_log_space,
        "number_by_number": _softmax_python,
        "one_over_differences": _softmax_pairwise,
        "apply_along_axis": lambda scores: np.apply_along_axis(_softmax, -1, scores),
        "new_axis_by_hand": lambda scores: (
            np.exp(scores - scores.max(-1)[..., None]) / np.exp(scores - scores.max(-1)[..., None]).sum(-1)[..., None]
        ),
        "shift_above_the_maximum": lambda scores: _softmax(scores - scores.max(axis=-1, keepdims=True) - 5.0),
        "last_axis_first": lambda scores: np.moveaxis(
            np.exp(np.moveaxis(scores, -1, 0) - np.moveaxis(scores, -1, 0).max(axis=0))
            / np.exp(np.moveaxis(scores, -1, 0) - np.moveaxis(scores, -1, 0).max(axis=0)).sum(axis=0),
            0,
            -1,
        ),
        "finite_stand_in": lambda scores: _softmax(np.nan_to_num(np.asarray(scores, dtype=np.float64), neginf=-1e30)),
    },
    hints=(
        "The shares must be positive, keep the order of the scores, and add up to one. Which function turns any number "
        "into a positive one, and what do you divide by?",
        "Add 10,000 to every score of a row: the shares may not change. And add up each row of a (2, 3, 7) result: "
        "you should see (2, 3) ones.",
        "Look at the two steps that reduce a row to one number, the largest score and the sum. Both run along the last "
        "axis, and both must keep that axis, with length one, to line up with `scores`.",
    ),
)

# ----------------------------------------------------------------------------------------------- soft_lookup


def _soft_lookup(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    """The blend of all values, with softmax(keys @ query / temperature) as shares.

    Args:
        query: (d_k,)
        keys: (S, d_k)
        values: (S, d_v)
        temperature: above zero; small: the best match, large: the plain mean.

    Returns:
        (d_v,)
    """
    return _softmax(keys @ query / temperature) @ values


@np.errstate(all="ignore")
def _soft_lookup_switched(
    query: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    temperature: float,
    *,
    match: str = "dot",
    width: float = 0.0,
    dial: str = "divide",
    share: str = "softmax",
    blend: str = "values",
) -> np.ndarray:
    """`_soft_lookup` with its defaults; each keyword makes a known mistake."""
    scores = _match(query, keys, match) / len(query) ** width
    t = temperature
    scores = {
        "divide": lambda: scores / t,
        "multiply": lambda: scores * t,
        "ignored": lambda: scores,
        "square": lambda: scores / t**2,
        "root": lambda: scores / t**0.5,
        "floor": lambda: scores // t,
        "whole": lambda: scores / int(t),
        "plus_one": lambda: scores / (1 + t),
        "minus": lambda: -scores / t,
        "below_one": lambda: scores / max(t, 1),
        "after": lambda: scores,
        "both": lambda: scores / t,
        "power": lambda: scores,
    }[dial]()
    pattern = _shares(scores, share) / (t if dial in ("after", "both") else 1)
    pattern = pattern ** (1 / t) if dial == "power" else pattern
    return _blend(pattern, query, keys, values, blend)


def _match(query: np.ndarray, keys: np.ndarray, match: str) -> np.ndarray:
    """How well each key fits the query, (S,)."""
    if match == "cosine":
        return _unit(keys) @ _unit(query)
    if match == "unit_query":
        return keys @ _unit(query)
    if match == "unit_keys":
        return _unit(keys) @ query
    if match == "distance":
        return -np.linalg.norm(keys - query, axis=-1)
    if match == "distance_squared":
        return -((keys - query) ** 2).sum(axis=-1)
    if match == "gaussian":
        return -((keys - query) ** 2).sum(axis=-1) / 2
    if match == "far":
        return np.linalg.norm(keys - query, axis=-1)
    if match == "nobody":
        return keys.sum(axis=-1)
    return np.abs(keys @ query) if match == "size" else keys @ query


def _shares(scores: np.ndarray, share: str) -> np.ndarray:
    """The pattern, (S,)."""
    if share == "scores":
        return scores
    if share == "plain_sum":
        return scores / scores.sum()
    if share == "unstable":
        return np.exp(scores) / np.exp(scores).sum()
    if share == "exp":
        return np.exp(scores - scores.max())
    if share == "exp_unstable":
        return np.exp(scores)
    if share == "sigmoid":
        return 1 / (1 + np.exp(-scores))
    if share == "winner":
        return np.eye(len(scores))[np.argmax(scores)]
    pattern = _softmax(scores)
    if share == "twice":
        return _softmax(pattern)
    if share == "rest":
        return 1 - pattern
    if share == "turned":
        return pattern[::-1]
    return np.log(pattern) if share == "log" else pattern


def _blend(pattern: np.ndarray, query: np.ndarray, keys: np.ndarray, values: np.ndarray, blend: str) -> np.ndarray:
    """What is made of the pattern."""
    if blend == "pattern":
        return pattern
    if blend == "keys":
        return pattern @ keys
    if blend == "each":
        return pattern[:, None] * values
    if blend == "each_across":
        return (pattern[:, None] * values).sum(axis=1)
    if blend == "mean":
        return (pattern[:, None] * values).mean(axis=0)
    if blend == "total":
        return np.sum(pattern[:, None] * values)
    if blend == "biggest_times_share":
        return pattern.max() * values[np.argmax(pattern)]
    if blend == "ones":
        return values.mean(axis=0)
    return (pattern @ values)[None, :] if blend == "table" else pattern @ values


def _soft_lookup_cases(rng: np.random.Generator) -> list[Case]:
    """Sizes S, d_k and d_v are different in all cases; temperatures on both sides of 1, far out, and an int."""
    return [
        Case(
            (
                np.array([1.0, 0.0]),
                np.array([[0.0, 1.0], [2.0, 1.0], [1.0, -1.0]]),
                np.array([[10.0], [20.0], [60.0]]),
                0.5,
            )
        ),
        Case((rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=(5, 4)), 1.7)),
        Case((rng.normal(size=4), rng.normal(size=(6, 4)), rng.normal(size=(6, 3)), 0.6)),
        Case((rng.normal(size=2), rng.normal(size=(4, 2)), rng.normal(size=(4, 5)), 1.0), "temperature 1"),
        Case(
            (
                np.array([2, 1]),
                np.array([[1, 0], [2, 1], [0, 2], [-1, 1]]),
                np.array([[4, 1, 0], [2, 7, 1], [8, 3, 5], [1, 9, 2]]),
                3,
            ),
            "whole numbers, the temperature too",
        ),
        Case(
            (np.array([2.0, 1.0]), np.array([[1.0, 0.5], [3.0, 1.0], [0.5, 2.0]]), rng.normal(size=(3, 4)), 0.001),
            "temperature 0.001: scores in the thousands",
        ),
        Case(
            (rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=(4, 2)), 200.0),
            "temperature 200: close to the plain mean",
        ),
        Case(
            (
                np.array([0.02, -0.01]),
                np.array([[0.5, 0.2], [1.0, 0.8], [0.3, -0.4], [0.6, 1.5], [-0.2, 0.1]]),
                rng.normal(size=(5, 3)),
                0.004,
            ),
            "temperature 0.004: as small as the scores",
        ),
        Case((rng.normal(size=3), rng.normal(size=(1, 3)), rng.normal(size=(1, 2)), 2.0), "a single key"),
    ]


def _soft_loop(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    scores = [float(sum(a * b for a, b in zip(query, key, strict=True))) / temperature for key in keys]
    powers = [math.exp(score - max(scores)) for score in scores]
    blend = np.zeros(values.shape[1])
    for power, value in zip(powers, values, strict=True):
        blend = blend + power / sum(powers) * value
    return blend


def _asks_the_values(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    return _softmax(values @ query / temperature) @ values


def _keys_across(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    return _softmax(query @ keys / temperature) @ values


def _values_across(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    return values @ _softmax(keys @ query / temperature)


def _pattern_times_values(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    return _softmax(keys @ query / temperature) * values


def _query_in_place(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    query /= temperature
    return _softmax(keys @ query) @ values


def _keys_divided_in_place(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    keys /= temperature
    return _softmax(keys @ query) @ values


def _temperature_plus(
    query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float, *, extra: float
) -> np.ndarray:
    return _softmax(keys @ query / (temperature + extra)) @ values


def _count_across(query: np.ndarray, keys: np.ndarray, values: np.ndarray, temperature: float) -> np.ndarray:
    return _softmax(keys.T @ query / temperature) @ values


_HOW_MANY = "What do the shares of the values add up to in your function?"

SOFT_LOOKUP = Exercise(
    name="soft_lookup",
    chapter="03",
    summary="the blend of all values, by how well their keys fit, with a temperature",
    returns="(d_v,)",
    reference=_soft_lookup,
    template=_soft_lookup_switched,
    cases=_soft_lookup_cases,
    mistakes=(
        Mistake(
            "multiplies",
            "You multiply by the temperature, so a high one sharpens the pattern.",
            "At a temperature of 1,000, should the result be near one value or near the mean of all?",
            switches={"dial": "multiply"},
        ),
        Mistake(
            "after_the_softmax",
            "The temperature divides the shares and not the scores, so they add up to 1 / temperature.",
            _HOW_MANY,
            switches={"dial": "after"},
        ),
        Mistake(
            "temperature_ignored",
            "The temperature has no effect on your result.",
            "Which results should differ between temperature 0.5 and temperature 5, and do yours?",
            switches={"dial": "ignored"},
        ),
        Mistake(
            "temperature_squared",
            "The scores are divided by the temperature twice.",
            "How many times does the temperature reach a score on its way, through the query, the keys and the "
            "product?",
            switches={"dial": "square"},
        ),
        Mistake(
            "temperature_rooted",
            "The scores are divided by the square root of the temperature.",
            "By what are the scores divided at temperature 4 in your function?",
            switches={"dial": "root"},
        ),
        Mistake(
            "floor_division",
            "Your division rounds down to whole numbers, so that close scores become equal.",
            "What is the difference between `/` and `//`?",
            partial(_soft_lookup_switched, dial="floor"),
        ),
        Mistake(
            "whole_temperature",
            "You round the temperature to a whole number.",
            "What becomes of a temperature of 1.7?",
            partial(_soft_lookup_switched, dial="whole"),
        ),
        Mistake(
            "never_below_one",
            "Temperatures below 1 have no effect on your result.",
            "What is a temperature of 0.001 in your function?",
            partial(_soft_lookup_switched, dial="below_one"),
        ),
        Mistake(
            "sign_turned",
            "The sign is turned: the key that fits worst gets the largest share.",
            "Which value should the result be near at a very low temperature?",
            switches={"dial": "minus"},
        ),
        *(
            Mistake(
                f"temperature_plus_{exponent}",
                f"You add a small number (about 1e-{exponent}) to the temperature, which shifts the result at low "
                "temperatures.",
                "The temperature is above zero by agreement. What does the extra number protect from?",
                partial(_temperature_plus, extra=10.0**-exponent),
            )
            for exponent in (9, 8, 6)
        ),
        Mistake(
            "pattern_to_a_power",
            "The shares are taken to the power 1 / temperature, and then they no longer add up to one.",
            _HOW_MANY,
            partial(_soft_lookup_switched, dial="power"),
        ),
        Mistake(
            "temperature_twice_over",
            "The scores are divided by the temperature, and the blend is divided by it once more.",
            _HOW_MANY,
            partial(_soft_lookup_switched, dial="both"),
        ),
        Mistake(
            "one_added",
            "You add 1 to the temperature before you divide.",
            "By what are the scores divided at temperature 0.5 in your function?",
            partial(_soft_lookup_switched, dial="plus_one"),
        ),
        Mistake(
            "softmax_twice",
            "The softmax is applied twice: the shares of the first one become the scores of the second.",
            "How many exponentials stand between a score and its share?",
            partial(_soft_lookup_switched, share="twice"),
        ),
        Mistake(
            "root_of_count_too",
            "The scores are also divided by the square root of the number of keys.",
            "By what are the scores divided in this chapter, and by what else in your function?",
            lambda query, keys, values, temperature: _soft_lookup(query, keys, values, temperature * len(keys) ** 0.5),
        ),
        Mistake(
            "root_of_value_width_too",
            "The scores are also divided by the square root of d_v.",
            "By what are the scores divided in this chapter, and by what else in your function?",
            lambda query, keys, values, temperature: _soft_lookup(
                query, keys, values, temperature * values.shape[1] ** 0.5
            ),
        ),
        Mistake(
            "half_distance_squared",
            "You score a key by half its squared distance from the query, and not by the dot product.",
            "A key points the same way as the query and is ten times as long: does it fit well or badly here?",
            partial(_soft_lookup_switched, match="gaussian"),
        ),
        Mistake(
            "root_of_width_too",
            "The scores are also divided by the square root of d_k.",
            "By what are the scores divided in this chapter, and by what else in your function?",
            switches={"width": 0.5},
        ),
        Mistake(
            "width_too",
            "The scores are also divided by d_k: you take the mean of the products and not their sum.",
            "Is a dot product a sum or a mean?",
            switches={"width": 1.0},
        ),
        Mistake(
            "cosine",
            "You compare directions only: query and keys are brought to length one before they are compared.",
            "If a key is twice as long, should its score change?",
            switches={"match": "cosine"},
        ),
        Mistake(
            "query_normalised",
            "The query is brought to length one before it is compared.",
            "If the query is twice as long, should the pattern change?",
            switches={"match": "unit_query"},
        ),
        Mistake(
            "keys_normalised",
            "Each key is brought to length one before it is compared.",
            "If a key is twice as long, should its score change?",
            switches={"match": "unit_keys"},
        ),
        Mistake(
            "distance",
            "You score a key by how near it lies to the query, and not by the dot product.",
            "A key points the same way as the query and is ten times as long: does it fit well or badly here?",
            partial(_soft_lookup_switched, match="distance"),
        ),
        Mistake(
            "distance_squared",
            "You score a key by its squared distance from the query, and not by the dot product.",
            "A key points the same way as the query and is ten times as long: does it fit well or badly here?",
            partial(_soft_lookup_switched, match="distance_squared"),
        ),
        Mistake(
            "farthest_first",
            "You score a key by how far it lies from the query: the worse it fits, the larger its share.",
            "Should a key that is far away get a large share?",
            partial(_soft_lookup_switched, match="far"),
        ),
        Mistake(
            "ignores_query",
            "The query has no effect on your result: the keys are scored by their own sums.",
            "If another query comes, should the pattern stay as it is?",
            partial(_soft_lookup_switched, match="nobody"),
        ),
        Mistake(
            "sign_dropped",
            "The scores lose their signs, so a key that points away from the query gets a large share.",
            "What share should a key get that points exactly away from the query?",
            partial(_soft_lookup_switched, match="size"),
        ),
        Mistake(
            "unstable",
            "At low temperatures the exponential overflows, and the result is NaN.",
            "Which function of this chapter stays finite for scores of 10,000, and do you call it?",
            switches={"share": "unstable"},
        ),
        Mistake(
            "no_softmax",
            "The values are weighted with the scores themselves: there is no softmax.",
            _HOW_MANY,
            switches={"share": "scores"},
        ),
        Mistake(
            "divides_by_the_plain_sum",
            "The scores are divided by their sum, without an exponential, so the temperature cancels.",
            "What does the temperature change in a ratio in which it stands above and below?",
            partial(_soft_lookup_switched, share="plain_sum"),
        ),
        Mistake(
            "not_shared_out",
            "The values are weighted with exponentials that were never divided by their sum.",
            _HOW_MANY,
            switches={"share": "exp"},
        ),
        Mistake(
            "raw_exponentials",
            "The values are weighted with the bare exponentials of the scores, never divided by their sum.",
            _HOW_MANY,
            switches={"share": "exp_unstable"},
        ),
        Mistake(
            "sigmoid",
            "Each score is squeezed between 0 and 1 on its own, so the shares do not add up to one.",
            _HOW_MANY,
            partial(_soft_lookup_switched, share="sigmoid"),
        ),
        Mistake(
            "winner_takes_all",
            "Only the value of the best key comes back: nothing is blended.",
            "How many of the values should have a say in the result?",
            switches={"share": "winner"},
        ),
        Mistake(
            "one_minus_pattern",
            "Each value is weighted with one minus its share.",
            "Which value should the result be near at a very low temperature?",
            partial(_soft_lookup_switched, share="rest"),
        ),
        Mistake(
            "pattern_reversed",
            "The shares meet the values in reverse order.",
            "Whose value does the share of the first key belong to?",
            partial(_soft_lookup_switched, share="turned"),
        ),
        Mistake(
            "log_pattern",
            "The values are weighted with the logarithms of the shares, which are negative.",
            _HOW_MANY,
            partial(_soft_lookup_switched, share="log"),
        ),
        Mistake(
            "returns_pattern",
            "You return the pattern, one share for each key, and not the blend.",
            "Which argument does your result never use?",
            switches={"blend": "pattern"},
        ),
        Mistake(
            "blends_keys",
            "You blend the keys and not the values.",
            "Which argument says what a row hands over?",
            switches={"blend": "keys"},
        ),
        Mistake(
            "not_added_up",
            "You weight the values with their shares, but you do not add them up.",
            "How many rows has your result, and how many should it have?",
            switches={"blend": "each"},
        ),
        Mistake(
            "added_across",
            "You add the weighted values up along each row and not over the rows.",
            "Which axis of `values` counts the keys?",
            partial(_soft_lookup_switched, blend="each_across"),
        ),
        Mistake(
            "mean_of_weighted",
            "You take the mean of the weighted values where their sum is asked for, so the result is S times too "
            "small.",
            "The shares add up to one already. What does dividing by S do to them?",
            switches={"blend": "mean"},
        ),
        Mistake(
            "all_added_up",
            "You add everything up to a single number.",
            "What is the shape of one value, and what is the shape of your result?",
            partial(_soft_lookup_switched, blend="total"),
        ),
        Mistake(
            "largest_share_only",
            "You return the value with the largest share multiplied by that share, and leave the others out.",
            "How many of the values should have a say in the result?",
            partial(_soft_lookup_switched, blend="biggest_times_share"),
        ),
        Mistake(
            "plain_mean",
            "You return the plain mean of the values, whatever the query asks.",
            "At which temperature would the plain mean be right?",
            partial(_soft_lookup_switched, blend="ones"),
        ),
        Mistake(
            "table_of_one",
            "You return a table with a single line, (1, d_v), where a row, (d_v,), is asked for.",
            "How many axes has one value?",
            partial(_soft_lookup_switched, blend="table"),
        ),
        Mistake(
            "values_meet_query",
            "A product joins an axis of d_v numbers with one of d_k numbers: values are compared with queries or keys.",
            "Which argument says how a row can be found, and what are the shapes on both sides of your product?",
            _asks_the_values,
        ),
        Mistake(
            "width_meets_count",
            "A product joins an axis of d_k numbers with one of S numbers, and they do not fit.",
            "What are the shapes on both sides of your product, and which axis of each does it join?",
            _keys_across,
        ),
        Mistake(
            "count_meets_width",
            "A product joins an axis of S numbers with one of d_k numbers, and they do not fit.",
            "What are the shapes on both sides of your product, and which axis of each does it join?",
            _count_across,
        ),
        Mistake(
            "value_width_meets_count",
            "A product joins the d_v numbers of a value with the S shares, and they do not fit.",
            "Which axis of `values` counts the keys, and which one does your product join with the pattern?",
            _values_across,
        ),
        Mistake(
            "pattern_against_columns",
            "You multiply pattern and values element by element, (S,) with (S, d_v): the shares meet the columns of "
            "the values, where they fit at all.",
            "Which product of pattern and values adds up over the keys?",
            _pattern_times_values,
        ),
        Mistake(
            "changes_its_input",
            "Your function changes the query that it was given.",
            "What does the caller find in its array afterwards, and which line of yours writes into it?",
            _query_in_place,
        ),
        Mistake(
            "changes_the_keys",
            "Your function changes the keys that it was given.",
            "What does the caller find in its array afterwards, and which line of yours writes into it?",
            _keys_divided_in_place,
        ),
    ),
    accepted={
        "query_cooled_first": lambda query, keys, values, temperature: _softmax(keys @ (query / temperature)) @ values,
        "inverse_temperature": lambda query, keys, values, temperature: (
            _softmax((keys @ query) * (1 / temperature)) @ values
        ),
        "einsum": lambda query, keys, values, temperature: np.einsum(
            "s,sv->v", _softmax(np.einsum("d,sd->s", query, keys) / temperature), values
        ),
        "number_by_number": _soft_loop,
        "weighted_average": lambda query, keys, values, temperature: np.average(
            values, axis=0, weights=np.exp((keys @ query - (keys @ query).max()) / temperature)
        ),
        "values_transposed": lambda query, keys, values, temperature: values.T @ _softmax(query @ keys.T / temperature),
        "sum_of_rows": lambda query, keys, values, temperature: (
            _softmax(keys @ query / temperature)[:, None] * values
        ).sum(axis=0),
        "as_one_row_matrix": lambda query, keys, values, temperature: (
            _softmax(query[None, :] @ keys.T / temperature) @ values
        )[0],
    },
    hints=(
        "Three things happen in a row: scores, shares, blend. To which of the three does the temperature belong?",
        "At a temperature of 0.001 your function must agree with hard_lookup, and at 1,000,000 nearly with the "
        "mean of the "
        "values over the keys. Try both.",
        "Look at the argument of your softmax: it should be the (S,) scores divided by the temperature, and nothing "
        "else. What the softmax returns goes with `values` into one matrix product, which leaves (d_v,).",
    ),
)

EXERCISES: tuple[Exercise, ...] = (HARD_LOOKUP, SOFTMAX, SOFT_LOOKUP)

# ------------------------------------------------------------------------------------------------- questions

_BUG_WRONG: dict[Any, str] = {
    "looks ahead": "Every word may look at every other here, so looking ahead breaks nothing. Add up a row instead.",
    "does not see itself": "Each row still gives itself a share: look at the diagonal. Add up a row instead.",
    "mixes batch entries": "There is one sentence and no batch. What is mixed here are the rows of that sentence: "
    "which sum do they share?",
    "scrambles words": "Each share still stands in the column of its own word. How large are the shares of one row "
    "together?",
    "forgets order": "The softmax knows nothing of order, the right one neither. Add up a row instead.",
    "changes its input": "The division makes a new array, and the scores stay as they were. Add up a row instead.",
    "ignores the query": "Another query gives other scores and another row. Add that row up.",
}

QUESTIONS: tuple[Question, ...] = (
    Question(
        name="03_best_match",
        chapter="03",
        prompt='Whose key has the largest dot product with the query of "bank"?',
        right="boat",
        choices=("the", "boat", "left", "bank"),
        because="1.6 · 1.8 = 2.88 is the largest of the five. The second column of the keys counts for nothing, "
        "because this query has a 0 there.",
        wrong={
            "the": 'The key of "the" is (0, 0): its dot product with anything is 0.',
            "left": '"left" has a little in both columns: 1.6 · 0.2 = 0.32. Is there a larger one?',
            "bank": 'The key of "bank" answers the second question with 1.6, but its query asks the first one: '
            "1.6 · 0 + 0 · 1.6. A row need not fit itself.",
        },
        otherwise="Answer with one of the words. Multiply 1.6 by the first column of the keys: which product is "
        "largest?",
        hints=("The score is query[0] · key[0] + query[1] · key[1].",),
    ),
    Question(
        name="03_small_turn",
        chapter="03",
        prompt="You turn the query by a thousandth of a degree. What does the result of hard_lookup do, nearly always?",
        right="nothing",
        choices=("nothing", "moves a little", "jumps to another row"),
        because="The scores move a little, the winner stays the winner, and its value comes back unchanged, bit "
        "for bit.",
        wrong={
            "moves a little": "The scores move a little. What comes back is a stored value, and which part of "
            "that value "
            "depends on the score?",
            "jumps to another row": "It jumps at the few angles at which two keys are equally good. How likely "
            "is it to "
            "hit one of them with so small a turn?",
        },
        otherwise="Choose one of the three. Does the winner change, and if not, what changes in its value?",
        hints=("What comes back is a row of `values`. Is the query in it?",),
    ),
    Question(
        name="03_turned_round",
        chapter="03",
        prompt='"bank" turns its query round, so each score changes its sign. '
        "What does dividing the scores by their sum give now?",
        right="the same shares",
        choices=("the same shares", "boat gets the smallest share", "all shares are equal"),
        because="The sum changes its sign as well, and minus divided by minus is plus. The opposite question gets the "
        "same answer: dividing by the sum cannot be right.",
        wrong={
            "boat gets the smallest share": "That is what should happen. But -2.88 is divided by -3.20: which sign has "
            "the result?",
            "all shares are equal": "The scores still differ: -2.88, -0.32 and 0. What does dividing all by the "
            "same number "
            "do to their ratios?",
        },
        otherwise="Choose one of the three. Work out the sum of the turned scores first.",
        hints=("What is the sum of 0, -2.88, -0.32, 0, 0?",),
    ),
    Question(
        name="03_shift",
        chapter="03",
        prompt="You add 100 to each score of a row. What happens to its shares?",
        right="nothing",
        choices=("nothing", "the best share grows", "the shares come closer together"),
        because="Each exponential is multiplied by the same exp(100), and so is their sum: it cancels.",
        wrong={
            "the best share grows": "All exponentials grow by the same factor, the sum too. Does their ratio change?",
            "the shares come closer together": "The scores look closer in comparison to 100. But shares depend on "
            "differences of scores, and those are as before.",
        },
        otherwise="Choose one of the three. What is exp(s + 100), written as a product?",
        hints=("exp(a + b) = exp(a) · exp(b).",),
    ),
    Question(
        name="03_hot",
        chapter="03",
        prompt='To which share does "boat" tend when the temperature grows and grows?',
        right=0.2,
        tolerance=0.01,
        because="All scores tend to 0, all exponentials to 1, so each of the five words gets a fifth.",
        wrong={
            0: "The scores tend to 0, but what is exp(0)?",
            1: "That is the other end of the dial, at a temperature near 0. What becomes of 2.88 divided by a "
            "huge number?",
            0.5: "Five words share the whole, and at a huge temperature all their scores are alike. What is left "
            'for "boat"?',
            0.25: 'All five words share, "bank" itself too. How many parts is the whole cut into?',
            5: "A share cannot be larger than one. Five words share alike: what does each get?",
        },
        otherwise="Divide all five scores by a million. What are their exponentials, and what is one share of them?",
        hints=("What is left of a difference between two scores when both are divided by a million?",),
    ),
    Question(
        name="03_find_the_bug",
        chapter="03",
        prompt="Which property does e / e.sum(axis=0) break on the five rows of scores?",
        right="rows do not sum to 1",
        choices=PROPERTIES,
        because="With one row there is one axis, and axis 0 is the last. With five rows axis 0 runs down the columns: "
        "each column adds up to one, and the rows add up to something else.",
        wrong=_BUG_WRONG,
        otherwise="Choose one of the listed properties. Print the sums of `suspect` along each axis.",
        hints=("Print suspect.sum(axis=-1) and suspect.sum(axis=0).",),
    ),
    Question(
        name="03_whose_value",
        chapter="03",
        prompt='In "the bank left the clerk the boat", whose value does soft_lookup hand to "bank" at temperature 1?',
        right="nobody's",
        choices=("clerk's", "boat's", "bank's own", "nobody's"),
        because="Clerk and boat fit equally well and weigh the same, the rest comes in with small shares. "
        "The blend is a vector that no row has.",
        wrong={
            "clerk's": "The clerk comes first, and the best match would take it. What does a blend do with two "
            "equal scores?",
            "boat's": "The boat has the same key as the clerk, hence the same share. Can one of them be left out?",
            "bank's own": 'The key of "bank" does not fit its own query. It gets a share, but a small one.',
        },
        otherwise="Choose one of the four. How many words get a share above zero?",
        hints=("Which two keys fit the query equally well?",),
    ),
)

"""Chapter 04, one head: scores, pattern, blend, the sum with the row, and the microscope.

Letters: T rows that ask, S rows that are asked, d width of a row, d_k width of a query or key, d_v width of a value.
Source of the formula: Vaswani et al. 2017, "Attention is all you need", equation 1, without a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_lab import lesson
from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Fn, Mistake, Question
from attention_lab.exercises.writing import paired

Array = np.ndarray
Rows = Callable[[Array], Array]

# --- the references: float64, and nothing clever ---------------------------------------------------------------------


def _scaled_scores(q: Array, k: Array) -> Array:
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])


def _softmax(scores: Array) -> Array:
    risen = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(risen / risen.sum(axis=-1, keepdims=True))


def _attention_pattern(q: Array, k: Array) -> Array:
    return _softmax(_scaled_scores(q, k))


def _attend(q: Array, k: Array, v: Array) -> Array:
    return _attention_pattern(q, k) @ v


def _add_update(x: Array, update: Array) -> Array:
    return x + update


def _influence_map(f: Rows, x: Array) -> Array:
    """Moves each row in three ways, so that no single unlucky nudge decides; gives `f` a copy each time."""
    base = np.array(f(x.copy()))
    rng = np.random.default_rng(0)
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        for size in (1.0, -3.0, 10.0):
            changed = x.copy()
            changed[j] += size * rng.uniform(0.5, 1.5, x.shape[1])
            moved[:, j] |= (np.asarray(f(changed)) != base).any(axis=-1)
    return moved


# --- one head with switches: each switch makes one mistake -----------------------------------------------------------

#: What the scores are divided by, by the name of the switch.
DIVISORS: dict[str, Callable[[Array, Array], float]] = {
    "right": lambda q, k: np.sqrt(q.shape[-1]),
    "nothing": lambda q, k: 1.0,
    "d_k": lambda q, k: q.shape[-1],
    "inverse": lambda q, k: 1 / np.sqrt(q.shape[-1]),
    "whole root": lambda q, k: int(np.sqrt(q.shape[-1])),
    "fourth root": lambda q, k: q.shape[-1] ** 0.25,
    "precedence": lambda q, k: q.shape[-1] * 2,
    "rows of q": lambda q, k: np.sqrt(q.shape[-2]),
    "rows of k": lambda q, k: np.sqrt(k.shape[-2]),
    "first axis": lambda q, k: np.sqrt(len(q)),
    "second axis of q": lambda q, k: np.sqrt(q.shape[1]),
    "second axis of k": lambda q, k: np.sqrt(k.shape[1]),
    "all numbers": lambda q, k: np.sqrt(q.size),
    "two": lambda q, k: np.sqrt(2),
    "sixty-four": lambda q, k: 8.0,
}


def _cosines(q: Array, k: Array) -> Array:
    """As people write it: a row of zeros gives NaN."""
    lengths = np.linalg.norm(q, axis=-1)[..., :, None] * np.linalg.norm(k, axis=-1)[..., None, :]
    with np.errstate(all="ignore"):
        return q @ np.swapaxes(k, -1, -2) / lengths


def _minus_distance(q: Array, k: Array) -> Array:
    return -np.linalg.norm(q[..., :, None, :] - k[..., None, :, :], axis=-1)


#: How queries meet keys, by the name of the switch.
PRODUCTS: dict[str, Callable[[Array, Array], Array]] = {
    "right": lambda q, k: q @ np.swapaxes(k, -1, -2),
    "swapped": lambda q, k: k @ np.swapaxes(q, -1, -2),
    "all axes": lambda q, k: q @ k.T,
    "as in torch": lambda q, k: q @ k.transpose(-2, -1),
    "axes 1 and 2": lambda q, k: q @ k.swapaxes(1, 2),
    "three axes": lambda q, k: q @ k.transpose(0, 2, 1),
    "np.dot": lambda q, k: np.dot(q, np.swapaxes(k, -1, -2)),
    "reshaped": lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
    "queries only": lambda q, k: q @ np.swapaxes(q, -1, -2),
    "keys only": lambda q, k: k @ np.swapaxes(k, -1, -2),
    "sizes only": lambda q, k: abs(q @ np.swapaxes(k, -1, -2)),
    "minus": lambda q, k: -(q @ np.swapaxes(k, -1, -2)),
    "cosine": _cosines,
    "distance": _minus_distance,
}


def _causal(scores: Array, fill: float) -> Array:
    """Blocks what lies ahead of the row, as a habit from language models."""
    ahead = np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1)
    return np.where(ahead, fill, scores)


def _head_scores(
    q: Array,
    k: Array,
    divisor: str = "right",
    product: str = "right",
    masked: bool = False,
    last_only: bool = False,
    in_place: bool = False,
) -> Array:
    size = DIVISORS[divisor](q, k)
    if in_place:
        q /= size
        size = 1.0
    scores = PRODUCTS[product](q[..., -1:, :] if last_only else q, k) / size
    return _causal(scores, -1e30) if masked else scores


def _scores_template(q: Array, k: Array, finish: str = "scores", fill_ahead: bool = False, **switches: Any) -> Array:
    scores = _head_scores(q, k, **switches)
    if fill_ahead:
        scores = _causal(scores, -np.inf)
    if finish == "softmax":
        return _softmax(scores)
    if finish == "standardised":
        return np.asarray(scores * np.sqrt(q.shape[-1]) / (q @ np.swapaxes(k, -1, -2)).std())
    if finish == "floored":
        return np.floor(scores)
    if finish == "shifted":
        return np.asarray(scores - scores.max(axis=-1, keepdims=True))
    if finish == "rounded":
        return np.round(scores, 3)
    return np.asarray(scores.mean(axis=0)) if finish == "averaged" and scores.ndim > 2 else scores


#: What turns raised scores into weights, in place of exp.
RISES: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "none": lambda scores: scores,
    "square": lambda scores: scores**2,
    "relu": lambda scores: np.maximum(scores, 0),
    "two": np.exp2,
    "sigmoid": lambda scores: 1 / (1 + np.exp(-scores)),
}


def _normal(
    scores: Array,
    axis: int | None = -1,
    shift: str = "rows",
    rise: str = "exp",
    divide: str = "sum",
    keep_max: bool = True,
    keep_sum: bool = True,
    sum_only: bool = False,
    max_only: bool = False,
) -> Array:
    """The softmax with switches. `axis` is that of maximum and sum; with `sum_only` or `max_only` of one of them."""
    max_axis, axis = -1 if sum_only else axis, -1 if max_only else axis
    if shift == "constant":
        scores = scores - 1000
    elif rise == "exp" and shift != "none":
        largest = scores.max(axis=max_axis if shift == "rows" else None, keepdims=True)
        scores = scores - (largest if keep_max else largest[..., 0])
    risen = RISES[rise](scores)
    if divide == "sum":
        return np.asarray(risen / risen.sum(axis=axis, keepdims=keep_sum))
    if divide == "largest":
        return np.asarray(risen / risen.max(axis=axis, keepdims=True))
    if divide == "length":
        return np.asarray(risen / np.sqrt((risen**2).sum(axis=axis, keepdims=True)))
    if divide == "count":
        return np.asarray(risen / risen.shape[-1])
    if divide == "nothing":
        return risen
    return np.asarray(risen / (risen.sum(axis=axis, keepdims=True) + EPSILONS[divide]))


#: What is added to the sum of a softmax, by the name of the switch.
EPSILONS = {"tiny eps": 1e-9, "eps": 1e-8, "large eps": 1e-6}


_SCORE_SWITCHES = ("divisor", "product", "masked", "last_only", "in_place")


def _weigh(q: Array, k: Array, finish: str = "weights", late: bool = False, **switches: Any) -> Array:
    of_scores = {name: switches.pop(name) for name in _SCORE_SWITCHES if name in switches}
    scores = _head_scores(q, k, **({"divisor": "nothing"} if late else {}) | of_scores)
    if finish == "winner":
        return np.eye(scores.shape[-1], dtype=scores.dtype)[scores.argmax(axis=-1)]
    weights = _normal(scores, **switches)
    if late:
        weights = weights / np.sqrt(q.shape[-1])
    if finish == "twice":
        return _softmax(weights)
    if finish == "log":
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(weights))
    if finish == "turned":
        return np.swapaxes(weights, -1, -2)
    if finish == "rounded":
        return np.round(weights, 3)
    return np.tril(weights) if finish == "cut" else weights


def _pattern_template(q: Array, k: Array, **switches: Any) -> Array:
    with np.errstate(all="ignore"):
        return _weigh(q, k, **switches)


def _attend_template(
    q: Array, k: Array, v: Array, blend: str = "right", no_softmax: bool = False, **switches: Any
) -> Any:
    with np.errstate(all="ignore"):
        if switches.get("divisor") == "width of v":
            q, switches = q * np.sqrt(q.shape[-1] / v.shape[-1]), {**switches, "divisor": "right"}
        of_scores = {name: switches[name] for name in _SCORE_SWITCHES if name in switches}
        pattern = _head_scores(q, k, **of_scores) if no_softmax else _weigh(q, k, **switches)
        return _BLENDS[blend](pattern, q, k, v)


_BLENDS: dict[str, Callable[[Array, Array, Array, Array], Any]] = {
    "right": lambda pattern, q, k, v: pattern @ v,
    "turned": lambda pattern, q, k, v: np.swapaxes(pattern, -1, -2) @ v,
    "np.dot": lambda pattern, q, k, v: np.dot(pattern, v),
    "keys": lambda pattern, q, k, v: pattern @ k,
    "pattern": lambda pattern, q, k, v: pattern,
    "both": lambda pattern, q, k, v: (pattern @ v, pattern),
    "best": lambda pattern, q, k, v: np.take_along_axis(v, pattern.argmax(axis=-1)[..., None], axis=-2),
    "mean": lambda pattern, q, k, v: np.repeat(v.mean(axis=-2, keepdims=True), q.shape[-2], axis=-2),
    "divided": lambda pattern, q, k, v: pattern @ v / v.shape[-2],
    "scaled": lambda pattern, q, k, v: pattern @ v / np.sqrt(q.shape[-1]),
    "scaled by v": lambda pattern, q, k, v: pattern @ v / np.sqrt(v.shape[-1]),
    "softmax": lambda pattern, q, k, v: _softmax(pattern @ v),
    "last key": lambda pattern, q, k, v: pattern[..., -1:] * v[..., -1:, :],
    "best of one": lambda pattern, q, k, v: v[pattern.argmax(axis=-1)],
    "summed": lambda pattern, q, k, v: (pattern @ v).sum(axis=-2),
    "last": lambda pattern, q, k, v: (pattern @ v)[..., -1, :],
    "values again": lambda pattern, q, k, v: v + pattern @ v,
    "entry by entry": lambda pattern, q, k, v: pattern * v,
    "values first": lambda pattern, q, k, v: v @ pattern,
}


# --- the cases of the first three ------------------------------------------------------------------------------------


def _shapes(rng: np.random.Generator) -> list[tuple[Array, Array, Array, str]]:
    """Queries, keys and values that every one of the three is tried on, with a note."""

    def draw(lead: tuple[int, ...], asks: int, asked: int, d_k: int, d_v: int) -> tuple[Array, Array, Array]:
        sizes = ((*lead, asks, d_k), (*lead, asked, d_k), (*lead, asked, d_v))
        q, k, v = (rng.standard_normal(size) for size in sizes)
        return q, k, v

    q = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 2.0, 0.0, -1.0]])
    k = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 2.0], [2.0, 1.0, 0.0, 0.0]])
    v = np.array([[1.0, 0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 1.0, 0.0, 8.0]])
    x = lesson.rows()
    return [
        (q, k, v, ""),
        (x @ lesson.W_Q, x @ lesson.W_K, x @ lesson.W_V, "the running sentence"),
        (*draw((), 5, 7, 3, 11), ""),
        (*draw((), 1, 6, 5, 3), "one query"),
        (*draw((3,), 5, 7, 9, 4), "one leading axis"),
        (*draw((2, 3), 7, 5, 11, 13), "two leading axes"),
    ]


def _large(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Scores near 1000 in one row and near -1000 in another, with small differences: the pattern is an ordinary one."""
    steps = rng.permutation(4).astype(float)
    q = np.array([[1000.0, 1.0, 0.0, 0.0], [-1000.0, 0.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]])
    k = np.stack([np.full(4, 2.0), steps, 3 - steps, np.ones(4)], axis=-1)
    return q, k, rng.standard_normal((4, 5))


def _scores_cases(rng: np.random.Generator) -> list[Case]:
    return [Case((q, k), note) for q, k, _, note in _shapes(rng)]


def _pattern_cases(rng: np.random.Generator) -> list[Case]:
    q, k, _ = _large(rng)
    return [*_scores_cases(rng), Case((q, k), "scores near 1000 and near -1000")]


def _attend_cases(rng: np.random.Generator) -> list[Case]:
    usual = [Case((q, k, v), note) for q, k, v, note in _shapes(rng)]
    return [*usual, Case(_large(rng), "scores near 1000 and near -1000")]


# --- mistakes that more than one exercise shares ---------------------------------------------------------------------

_SIZE = "Two rows of entries with variance 1: what is the variance of their dot product, and what brings it back to 1?"
_LEADING = "What does your transpose do to an array of shape (batch, S, d_k)?"
_SOFTMAX_AXIS = "Print the sums of your result over its last axis. Which numbers should share the weight 1 among them?"

#: Mistakes that are likely to come together with another one. The rest is recognised when it comes alone, which keeps
#: the number of pairs, and with it the time that a wrong answer takes, small.
LIKELY_IN_PAIRS = """
unscaled divided_by_d_k multiplied by_number_of_queries by_number_of_keys by_first_axis by_second_axis_of_q
by_second_axis_of_k by_width_of_values two_written_in swapped transposed_as_a_matrix np_dot cosine masked
over_the_queries over_everything over_the_first_axis over_axis_1 summed_over_the_queries overflow eps_added
sum_loses_its_axis scaled_after_the_softmax no_exp pattern_turned np_dot_with_the_values scores_as_weights
two_results turned x_handed_out nudges_pile_up callers_rows_changed put_back_by_subtracting too_timid
same_in_every_entry set_to_zero doubled negated first_entry tolerance numbers_for_booleans inverted
""".split()


_DIVISOR_MISTAKES = [
    Mistake(
        "unscaled",
        "Your scores are not scaled: they grow as the queries get wider.",
        _SIZE,
        switches={"divisor": "nothing"},
    ),
    Mistake(
        "divided_by_d_k",
        "Your scores shrink too much as d_k grows: they are divided by d_k.",
        _SIZE,
        switches={"divisor": "d_k"},
    ),
    Mistake(
        "multiplied",
        "Your scores grow twice over with the width: they are multiplied by √d_k.",
        "Does the scale have to make the spread of the scores larger or smaller?",
        switches={"divisor": "inverse"},
    ),
    Mistake(
        "root_cut",
        "The root of the width is cut to a whole number before it divides.",
        "What are int(√2) and int(√3)?",
        switches={"divisor": "whole root"},
    ),
    Mistake(
        "fourth_root",
        "Your scores are divided by the fourth root of d_k.",
        "If the root of the scale is put on one side only, on what else does the other root belong?",
        switches={"divisor": "fourth root"},
    ),
    Mistake(
        "precedence",
        "Your scores are divided by d_k and then by 2.",
        "In which order does Python work out a / d ** 1 / 2?",
        switches={"divisor": "precedence"},
    ),
    Mistake(
        "by_number_of_queries",
        "Your scores are divided by √T, the number of queries, so a query's scores depend on how many others ask.",
        "Which axis of q does its width stand on?",
        switches={"divisor": "rows of q"},
    ),
    Mistake(
        "by_number_of_keys",
        "Your scores are divided by √S, the number of keys, so a longer sentence gets smaller scores.",
        "Over how many products does one dot product add up?",
        switches={"divisor": "rows of k"},
    ),
    Mistake(
        "by_first_axis",
        "Your scores are divided by the root of the length of q's first axis, which is the batch when there is one.",
        "What does len(q) count when q has shape (batch, T, d_k)?",
        switches={"divisor": "first axis"},
    ),
    Mistake(
        "by_second_axis_of_q",
        "Your scores are divided by the root of q.shape[1], which is the width only when there are no leading axes.",
        "What stands on axis 1 of an array of shape (batch, T, d_k)?",
        switches={"divisor": "second axis of q"},
    ),
    Mistake(
        "by_second_axis_of_k",
        "Your scores are divided by the root of k.shape[1], which is the width only when there are no leading axes.",
        "What stands on axis 1 of an array of shape (batch, S, d_k)?",
        switches={"divisor": "second axis of k"},
    ),
    Mistake(
        "by_all_numbers",
        "Your scores are divided by the root of how many numbers q holds altogether.",
        "Should a query's scores change when the batch grows?",
        switches={"divisor": "all numbers"},
    ),
    Mistake(
        "two_written_in",
        "Your scores are divided by √2 whatever the width: that is right for the running sentence only.",
        "Where does the 2 of the running sentence come from?",
        switches={"divisor": "two"},
    ),
    Mistake(
        "eight_written_in",
        "Your scores are divided by 8 whatever the width: that is right for d_k = 64 only.",
        "Which of the sizes you were given should the divisor come from?",
        switches={"divisor": "sixty-four"},
    ),
]

_PRODUCT_MISTAKES = [
    Mistake(
        "swapped",
        "Your rows belong to the keys and your columns to the queries.",
        "Whose dot products should stand in row 0: those of the first query or of the first key?",
        switches={"product": "swapped"},
    ),
    Mistake(
        "transposed_as_a_matrix",
        "Your transpose is made for a matrix: with leading axes, .T and transpose(1, 0) move the wrong ones or fail.",
        _LEADING,
        switches={"product": "all axes"},
    ),
    Mistake(
        "three_axes_only",
        "Your transpose names three axes, so it works for a batch and for nothing with more or fewer axes.",
        "How can the last two axes be swapped, however many stand before them?",
        switches={"product": "three axes"},
    ),
    Mistake(
        "transpose_as_in_torch",
        "k.transpose(-2, -1) swaps two axes in PyTorch; in NumPy it lists all axes, in the order they already have.",
        "Print k.shape and k.transpose(-2, -1).shape for one sentence: what has moved?",
        switches={"product": "as in torch"},
    ),
    Mistake(
        "axes_1_and_2_swapped",
        "You swap axes 1 and 2, which are the last two only when one axis stands before them.",
        "Which numbers name the last two axes, however many stand before them?",
        switches={"product": "axes 1 and 2"},
    ),
    Mistake(
        "np_dot",
        "np.dot pairs every sentence of the batch with every other, so the result has too many axes.",
        "Which product of NumPy treats leading axes as a stack of matrices?",
        switches={"product": "np.dot"},
    ),
    Mistake(
        "reshaped",
        "Your keys are reshaped, not transposed: the numbers keep their order and land in the wrong keys.",
        "Take [[1, 2], [3, 4], [5, 6]]: what does reshape(2, 3) give, and what does the transpose give?",
        switches={"product": "reshaped"},
    ),
    Mistake(
        "keys_not_used",
        "Your queries are compared with the queries: k is never used.",
        "Which of the two inputs can change without changing your result?",
        switches={"product": "queries only"},
    ),
    Mistake(
        "queries_not_used",
        "Your keys are compared with the keys: q is never used, so the result ignores who asks.",
        "Which of the two inputs can change without changing your result?",
        switches={"product": "keys only"},
    ),
    Mistake(
        "sign_lost",
        "Your scores are never negative: a key that points away from the query scores like one that points along.",
        "What should a query and the opposite key score?",
        switches={"product": "sizes only"},
    ),
    Mistake(
        "minus",
        "Your scores have the wrong sign: the key that matches best scores lowest.",
        "Should a good match score high or low?",
        switches={"product": "minus"},
    ),
    Mistake(
        "cosine",
        "Your scores are cosines divided by the scale: the length of a query and of a key no longer counts.",
        "What happens to your scores when a query is made ten times as long?",
        switches={"product": "cosine"},
    ),
    Mistake(
        "cosine_alone",
        "Your scores are cosines: the length of a query and of a key no longer counts.",
        "What happens to your scores when a query is made ten times as long?",
        switches={"product": "cosine", "divisor": "nothing"},
    ),
    Mistake(
        "distance",
        "Your scores are distances with a minus sign, not dot products.",
        "What does a longer key do to a dot product, and what to a distance?",
        switches={"product": "distance"},
    ),
]

_OTHER_SCORE_MISTAKES = [
    Mistake(
        "last_row_only",
        "Only the last query is answered: the result has one row.",
        "How many rows ask?",
        switches={"last_only": True},
    ),
    Mistake(
        "query_scaled_in_place",
        "Your numbers are right, but your function divides q itself: the caller's queries are smaller afterwards.",
        "What is the difference between q = q / c and q /= c for somebody who still holds q?",
        switches={"in_place": True},
    ),
]

_MASKED = Mistake(
    "masked",
    "You hide the words ahead: rows here may look at all words, before and behind them.",
    "Does anything in this exercise forbid a row to look ahead?",
    switches={"masked": True},
)

_SCORE_MISTAKES = [
    *_DIVISOR_MISTAKES,
    *_PRODUCT_MISTAKES,
    *_OTHER_SCORE_MISTAKES,
    Mistake(
        "already_a_pattern",
        "Your rows already sum to 1: a softmax has been applied to the scores.",
        "Which step of the head is this exercise, and which is the next one?",
        switches={"finish": "softmax"},
    ),
    Mistake(
        "maximum_taken_off",
        "The largest score of each row is taken away, which belongs inside a softmax and not to the scores.",
        "What is the largest entry of each of your rows, and can a score be positive?",
        switches={"finish": "shifted"},
    ),
    Mistake(
        "floor_division",
        "Your scores are whole numbers: what stood behind the point has been cut off.",
        "What is the difference between / and // in Python?",
        switches={"finish": "floored"},
    ),
    Mistake(
        "standardised",
        "Your scores are divided by their own standard deviation, so each depends on all the others.",
        "Should a query's scores change when another query asks something else?",
        switches={"finish": "standardised"},
    ),
    Mistake(
        "rounded",
        "Your scores are rounded.",
        "Which of your lines is for showing numbers and which for computing them?",
        switches={"finish": "rounded"},
    ),
    Mistake(
        "batch_averaged",
        "Your result has lost its first axis: the scores are averaged over the batch.",
        "Should one sentence's scores depend on another sentence?",
        switches={"finish": "averaged"},
    ),
    Mistake(
        "masked",
        "You hide the words ahead: rows here may look at all words, before and behind them.",
        "Does anything in this exercise forbid a row to look ahead?",
        switches={"fill_ahead": True},
    ),
]

_SOFTMAX_MISTAKES = [
    Mistake(
        "over_the_queries",
        "Your columns sum to 1 and not your rows: each key hands out one unit of weight among the queries.",
        _SOFTMAX_AXIS,
        switches={"axis": -2},
    ),
    Mistake(
        "over_everything",
        "All your weights together sum to 1, so the queries compete with each other.",
        _SOFTMAX_AXIS,
        switches={"axis": None},
    ),
    Mistake(
        "over_the_first_axis",
        "Your softmax runs over axis 0: over the batch when there is one, over the queries when there is none.",
        _SOFTMAX_AXIS,
        switches={"axis": 0},
    ),
    Mistake(
        "over_axis_1",
        "Your softmax runs over axis 1: over the keys for one sentence, over the queries for a batch.",
        "What stands on axis 1 of an array of shape (batch, T, S)?",
        switches={"axis": 1},
    ),
    Mistake(
        "summed_over_the_queries",
        "The maximum is taken over the keys and the sum over the queries: your columns sum to 1 and not your rows.",
        _SOFTMAX_AXIS,
        switches={"axis": -2, "sum_only": True},
    ),
    Mistake(
        "summed_over_everything",
        "The maximum is taken over the keys and the sum over everything: all your weights together sum to 1.",
        _SOFTMAX_AXIS,
        switches={"axis": None, "sum_only": True},
    ),
    Mistake(
        "summed_over_the_first_axis",
        "The maximum is taken over the keys and the sum over axis 0: over the batch when there is one.",
        _SOFTMAX_AXIS,
        switches={"axis": 0, "sum_only": True},
    ),
    Mistake(
        "summed_over_axis_1",
        "The maximum is taken over the keys and the sum over axis 1: over the queries when there is a batch.",
        "What stands on axis 1 of an array of shape (batch, T, S)?",
        switches={"axis": 1, "sum_only": True},
    ),
    Mistake(
        "maximum_over_the_queries",
        "What you take away before exp differs from key to key, so it changes the pattern.",
        "What may be taken away from all scores of a row without changing its softmax?",
        switches={"axis": -2, "max_only": True},
    ),
    Mistake(
        "maximum_over_the_first_axis",
        "What you take away before exp is the maximum over axis 0, so it differs from key to key.",
        "What may be taken away from all scores of a row without changing its softmax?",
        switches={"axis": 0, "max_only": True},
    ),
    Mistake(
        "never_divided",
        "Your result is the exponentials of the scores: they are not divided by their sum.",
        _SOFTMAX_AXIS,
        switches={"shift": "none", "divide": "nothing"},
    ),
    Mistake(
        "one_maximum_for_all",
        "One maximum is taken off all rows: a row whose scores lie far below it becomes 0 / 0.",
        "Which scores share a sum, and so may share what is taken away from them?",
        switches={"shift": "all"},
    ),
    Mistake(
        "no_exp",
        "Your scores are divided by their sum without exp, so weights can be negative.",
        "What makes every score positive, however low it is?",
        switches={"rise": "none"},
    ),
    Mistake(
        "squared",
        "Your scores are squared in place of exp: a very bad match weighs as much as a very good one.",
        "Which weight do the scores -2 and 2 get?",
        switches={"rise": "square"},
    ),
    Mistake(
        "relu",
        "Negative scores get no weight at all in your pattern.",
        "Which weight does a softmax give to the lowest score?",
        switches={"rise": "relu"},
    ),
    Mistake(
        "base_two",
        "Your weights rise with powers of 2, not of e.",
        "Which exponential did chapter 03 use?",
        switches={"rise": "two"},
    ),
    Mistake(
        "sigmoid",
        "Each score goes through a sigmoid before the division, so high scores no longer stand out.",
        "How much larger is the weight of a score that is higher by 1?",
        switches={"rise": "sigmoid"},
    ),
    Mistake(
        "divided_by_the_largest",
        "The largest weight of each row is 1: the exponentials are not divided by their sum.",
        _SOFTMAX_AXIS,
        switches={"divide": "largest"},
    ),
    Mistake(
        "unit_length",
        "The squares of your weights sum to 1, not the weights.",
        _SOFTMAX_AXIS,
        switches={"divide": "length"},
    ),
    Mistake(
        "divided_by_the_count",
        "Your exponentials are divided by how many keys there are, not by their sum.",
        _SOFTMAX_AXIS,
        switches={"divide": "count"},
    ),
    Mistake(
        "tiny_eps_added",
        "A billionth is added to the sum, so every row sums to a little less than 1.",
        "Can a sum that contains exp(0) be zero?",
        switches={"divide": "tiny eps"},
    ),
    Mistake(
        "eps_added",
        "A small constant is added to the sum, so every row sums to a little less than 1.",
        "Can a sum that contains exp(0) be zero?",
        switches={"divide": "eps"},
    ),
    Mistake(
        "large_eps_added",
        "A constant of about a millionth is added to the sum, so every row sums to less than 1.",
        "Can a sum that contains exp(0) be zero?",
        switches={"divide": "large eps"},
    ),
    Mistake(
        "maximum_loses_its_axis",
        "The maximum of each row comes back with one axis fewer and is taken off the columns, or fits nowhere.",
        "What shape has scores.max(axis=-1), and what shape must it have to line up with the rows?",
        switches={"keep_max": False},
    ),
    Mistake(
        "sum_loses_its_axis",
        "The sum of each row comes back with one axis fewer and divides the columns, or fits nowhere.",
        "What shape has a sum over axis -1, and what shape must it have to line up with the rows?",
        switches={"keep_sum": False},
    ),
    Mistake(
        "scaled_after_the_softmax",
        "The scale comes after the softmax: your rows sum to 1/√d_k.",
        "What does the softmax see, and what do the rows of your result sum to?",
        switches={"late": True},
    ),
    Mistake(
        "constant_taken_off",
        "A fixed number is taken off all scores: where they lie far below it, every exp is 0, and 0 / 0 is NaN.",
        "What must be taken away so that the largest exponent of a row is 0, wherever its scores lie?",
        switches={"shift": "constant"},
    ),
    Mistake(
        "softmax_twice",
        "The softmax is applied to its own result: your pattern is nearly flat.",
        "How far apart can two numbers between 0 and 1 be, seen by a second softmax?",
        switches={"finish": "twice"},
    ),
    Mistake(
        "overflow",
        "Your exp overflows: with scores near 1000 the pattern is NaN.",
        "What may be taken away from all scores of a row without changing its softmax?",
        switches={"shift": "none"},
    ),
]

_PATTERN_FINISHES = [
    Mistake(
        "winner_takes_all",
        "The best key gets all the weight: that is a lookup, not a blend.",
        "Which weight does the second best key get in a softmax?",
        switches={"finish": "winner"},
    ),
    Mistake(
        "logarithms",
        "Your result is the logarithm of the pattern: it is negative everywhere.",
        "Between which two numbers does a weight lie?",
        switches={"finish": "log"},
    ),
    Mistake(
        "turned",
        "Your pattern is transposed: its columns sum to 1.",
        "Which axis of the result belongs to the words that look?",
        switches={"finish": "turned"},
    ),
    Mistake(
        "rounded",
        "Your pattern is rounded, so its rows no longer sum to 1.",
        "Which of your lines is for showing numbers and which for computing them?",
        switches={"finish": "rounded"},
    ),
    Mistake(
        "cut_after_the_softmax",
        "The weights of the words ahead are set to zero after the softmax: rows here may look at all words.",
        "Does anything in this exercise forbid a row to look ahead?",
        switches={"finish": "cut"},
    ),
]

_PRODUCTS_OF_A_PATTERN = [m for m in _PRODUCT_MISTAKES if m.id != "np_dot"]

_PATTERN_MISTAKES = [
    *_DIVISOR_MISTAKES,
    *_PRODUCTS_OF_A_PATTERN,
    *_OTHER_SCORE_MISTAKES,
    *_SOFTMAX_MISTAKES,
    *_PATTERN_FINISHES,
    _MASKED,
    Mistake(
        "scores",
        "Your result is the scores: no softmax has been applied.",
        "What do your rows sum to?",
        answer=_scaled_scores,
    ),
]

_BLEND_MISTAKES = [
    Mistake(
        "by_width_of_values",
        "Your scores are divided by √d_v, the width of the values.",
        "Which vectors meet in a score, and how wide are they?",
        switches={"divisor": "width of v"},
    ),
    Mistake(
        "scores_as_weights",
        "The values are weighted by scores that went through no softmax.",
        "What do the weights of one query have to sum to?",
        switches={"no_softmax": True},
    ),
    Mistake(
        "pattern_turned",
        "The values are weighted by the columns of the pattern: row i collects what the others give to word i.",
        "Row i of the result is a blend for the query i: which row of the pattern holds its weights?",
        switches={"blend": "turned"},
    ),
    Mistake(
        "np_dot_with_the_values",
        "np.dot blends the values of every sentence of the batch into every other.",
        "Which product of NumPy treats leading axes as a stack of matrices?",
        switches={"blend": "np.dot"},
    ),
    Mistake(
        "keys_blended",
        "Your blend is made of keys: v is never used.",
        "What does a row hand over, once it has been found?",
        switches={"blend": "keys"},
    ),
    Mistake(
        "pattern_returned",
        "Your result is the pattern: nothing has been blended.",
        "What should the width of the result be?",
        switches={"blend": "pattern"},
    ),
    Mistake(
        "two_results",
        "Your function returns the blend and the pattern; the blend alone is asked for.",
        "What does whoever adds your result to a row expect?",
        switches={"blend": "both"},
    ),
    Mistake(
        "best_value_only",
        "Each query gets the value of its best key: that is a lookup, not a blend.",
        "How much of the second best value should be in the result?",
        switches={"blend": "best"},
    ),
    Mistake(
        "plain_mean",
        "Every query gets the plain mean of the values: the pattern is not used.",
        "Do two different queries get different rows from you?",
        switches={"blend": "mean"},
    ),
    Mistake(
        "divided_by_the_count_of_keys",
        "Your blend is divided by how many keys there are, though its weights sum to 1 already.",
        "If all values are the same row, which row should come out?",
        switches={"blend": "divided"},
    ),
    Mistake(
        "blend_scaled",
        "Your blend is divided by √d_k once more.",
        "If all values are the same row, which row should come out?",
        switches={"blend": "scaled"},
    ),
    Mistake(
        "blend_scaled_by_values",
        "Your blend is divided by √d_v, though its weights sum to 1 already.",
        "If all values are the same row, which row should come out?",
        switches={"blend": "scaled by v"},
    ),
    Mistake(
        "softmax_of_the_blend",
        "A softmax is applied to the blend itself: its rows sum to 1.",
        "Which numbers should sum to 1, those of the pattern or those of the result?",
        switches={"blend": "softmax"},
    ),
    Mistake(
        "last_key_only",
        "Only the last key's value is in your blend: each turn of a loop overwrites the one before.",
        "What should happen to what the other keys have contributed?",
        switches={"blend": "last key"},
    ),
    Mistake(
        "best_value_of_one_sentence",
        "Each query gets the value of its best key, and with a batch the index picks sentences in place of words.",
        "How much of the second best value should be in the result?",
        switches={"blend": "best of one"},
    ),
    Mistake(
        "queries_summed",
        "The blends of all queries are added into one row.",
        "How many rows should come back for T queries?",
        switches={"blend": "summed"},
    ),
    Mistake(
        "last_query_only",
        "Only the blend of the last query comes back.",
        "How many rows should come back for T queries?",
        switches={"blend": "last"},
    ),
    Mistake(
        "entry_by_entry",
        "Pattern and values are multiplied entry by entry, (…, T, S) with (…, S, d_v), where they fit at all.",
        "Which product of pattern and values adds up over the keys?",
        switches={"blend": "entry by entry"},
    ),
    Mistake(
        "values_first",
        "The values stand on the left of the product, so that their width meets the queries.",
        "Which two axes does your product join, and which two count the keys?",
        switches={"blend": "values first"},
    ),
    Mistake(
        "values_added",
        "The values themselves are added to the blend.",
        "To what is a blend added, and in which exercise?",
        switches={"blend": "values again"},
    ),
]

_ATTEND_MISTAKES = [
    *_DIVISOR_MISTAKES,
    *_PRODUCTS_OF_A_PATTERN,
    *_OTHER_SCORE_MISTAKES,
    *_SOFTMAX_MISTAKES,
    _MASKED,
    Mistake(
        "cut_after_the_softmax",
        "The weights of the words ahead are set to zero after the softmax: rows here may look at all words.",
        "Does anything in this exercise forbid a row to look ahead?",
        switches={"finish": "cut"},
    ),
    *_BLEND_MISTAKES,
]


# --- unusual right answers -------------------------------------------------------------------------------------------


def _roots_on_both(q: Array, k: Array) -> Array:
    root = q.shape[-1] ** 0.25
    return (q / root) @ np.swapaxes(k / root, -1, -2)


def _scores_by_loops(q: Array, k: Array) -> Array:
    scores = np.empty((*q.shape[:-1], k.shape[-2]), dtype=q.dtype)
    for place in np.ndindex(*scores.shape):
        *lead, i, j = place
        query, key = q[(*lead, i)], k[(*lead, j)]
        scores[place] = sum(a * b for a, b in zip(query, key, strict=True)) / len(query) ** 0.5
    return scores


def _pattern_from_ratios(q: Array, k: Array) -> Array:
    """Each weight as one over the sum of exp(other score - own score)."""
    scores = _scaled_scores(q, k)
    with np.errstate(over="ignore"):
        return np.asarray(1 / np.exp(scores[..., None, :] - scores[..., :, None]).sum(axis=-1))


def _pattern_through_log(q: Array, k: Array) -> Array:
    scores = _roots_on_both(q, k)
    return np.asarray(np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True)))


def _pattern_normalised_again(q: Array, k: Array) -> Array:
    pattern = _softmax(np.einsum("...id,...jd->...ij", q * q.shape[-1] ** -0.5, k))
    return np.asarray(pattern / pattern.sum(-1, keepdims=True))


def _attend_row_by_row(q: Array, k: Array, v: Array) -> Array:
    if q.ndim > 2:
        return np.stack([_attend_row_by_row(*parts) for parts in zip(q, k, v, strict=True)])
    out = np.zeros((len(q), v.shape[1]), dtype=v.dtype)
    for i, query in enumerate(q):
        scores = k @ query / np.sqrt(len(query))
        weights = np.exp(scores - scores.max())
        out[i] = (weights[:, None] * v).sum(axis=0) / weights.sum()
    return out


def _attend_dividing_last(q: Array, k: Array, v: Array) -> Array:
    scores = q @ np.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
    risen = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(risen @ v / risen.sum(-1, keepdims=True))


def _attend_by_einsum(q: Array, k: Array, v: Array) -> Array:
    pattern = _softmax(np.einsum("...td,...sd->...ts", q / np.sqrt(k.shape[-1]), k))
    return np.asarray(np.einsum("...ts,...sv->...tv", pattern, v))


def _attend_in_double(q: Array, k: Array, v: Array) -> Array:
    return _attend(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64)).astype(v.dtype)


_SCORES = Exercise(
    name="scaled_scores",
    chapter="04",
    summary="How well each query matches each key: dot products, brought back to variance 1.",
    returns="(…, T, S)",
    reference=_scaled_scores,
    cases=_scores_cases,
    template=_scores_template,
    mistakes=paired(_SCORE_MISTAKES, _scores_template, LIKELY_IN_PAIRS),
    accepted={
        "einsum": lambda q, k: np.einsum("...td,...sd->...ts", q, k) / np.sqrt(k.shape[-1]),
        "query scaled first": lambda q, k: (q * q.shape[-1] ** -0.5) @ np.swapaxes(k, -1, -2),
        "key scaled first": lambda q, k: q @ np.swapaxes(k / np.sqrt(k.shape[-1]), -1, -2),
        "a fourth root on both": _roots_on_both,
        "loops": _scores_by_loops,
        "broadcast and sum": lambda q, k: (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / q.shape[-1] ** 0.5,
        "transposed from the other side": lambda q, k: np.swapaxes(
            k @ np.moveaxis(q, -1, -2) / k.shape[-1] ** 0.5, -1, -2
        ),
    },
    hints=(
        "The dot product of query i and key j stands in row i and column j. Which two axes must meet in the product?",
        "With entries of variance 1, your result should have variance 1 whatever d_k is. Which has it for d_k = 100?",
        "Look at two places: the transpose (it may touch the last two axes only) and the size that you divide by.",
    ),
)

_PATTERN = Exercise(
    name="attention_pattern",
    chapter="04",
    summary="How each query shares its attention among the keys: the softmax of its scores.",
    returns="(…, T, S)",
    reference=_attention_pattern,
    cases=_pattern_cases,
    template=_pattern_template,
    mistakes=paired(_PATTERN_MISTAKES, _pattern_template, LIKELY_IN_PAIRS),
    accepted={
        "einsum, normalised once more": _pattern_normalised_again,
        "ratios": _pattern_from_ratios,
        "through the logarithm of the sum": _pattern_through_log,
        "in double precision": lambda q, k: _attention_pattern(q.astype(np.float64), k.astype(np.float64)),
    },
    hints=(
        "Row i of the scores belongs to one query. Which of its neighbours in the array does a score compete with?",
        "Sums over the last axis should all be 1: for one sentence, for a batch, for small scores and for large ones.",
        "Look at the axis of the maximum, at the axis of the sum, and at whether both keep that axis.",
    ),
)

_ATTEND = Exercise(
    name="attend",
    chapter="04",
    summary="What each query takes with it: the values, blended by its pattern.",
    returns="(…, T, d_v)",
    reference=_attend,
    cases=_attend_cases,
    template=_attend_template,
    mistakes=paired(_ATTEND_MISTAKES, _attend_template, LIKELY_IN_PAIRS),
    accepted={
        "row by row": _attend_row_by_row,
        "divided by the sum at the end": _attend_dividing_last,
        "einsum": _attend_by_einsum,
        "in double precision": _attend_in_double,
    },
    hints=(
        "Row i of the result belongs to query i. Which row of the pattern says how much of each value goes into it?",
        "If every value is the same row, that row must come back for every query. Does it?",
        "Look at the last product: the axis over which it sums has to be the axis of the keys.",
    ),
)


# --- the row goes on -------------------------------------------------------------------------------------------------


def _added_in_place(x: Array, update: Array) -> Array:
    x += update
    return x


def _added_into_the_update(x: Array, update: Array) -> Array:
    update += x
    return update


def _nothing_returned(x: Array, update: Array) -> None:
    x += update


def _layer_norm(x: Array) -> Array:
    spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
    return np.asarray((x - x.mean(axis=-1, keepdims=True)) / spread)


def _unit_rows(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12))


def _last_row_added(x: Array, update: Array) -> Array:
    out = x.copy()
    out[-1] += update[-1]
    return out


def _first_row_added(x: Array, update: Array) -> Array:
    out = x.copy()
    out[0] += update[0]
    return out


def _rows_added_up(x: Array, update: Array) -> Array:
    return np.cumsum(x + update, axis=0)


def _add_cases(rng: np.random.Generator) -> list[Case]:
    def draw(*size: int) -> Array:
        return rng.standard_normal(size)

    x = lesson.rows()
    blend = _attend(x @ lesson.W_Q, x @ lesson.W_K, x @ lesson.W_V)
    return [
        Case((np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]]), np.array([[0.5, 0.0, 0.25], [-2.0, 1.0, -4.0]]))),
        Case((x, blend), "the running sentence"),
        Case((draw(5, 3), draw(5, 3))),
        Case((draw(4, 7), np.zeros((4, 7))), "an update of zeros"),
        Case((np.zeros((3, 5)), draw(3, 5)), "rows of zeros"),
        Case((draw(1, 6), draw(1, 6)), "one row"),
    ]


_STILL = "Somebody else may still need the old rows. What do they find in x after your call?"

_ADD = Exercise(
    name="add_update",
    chapter="04",
    summary="The row goes on, with what attention found added to it.",
    returns="(T, d)",
    reference=_add_update,
    cases=_add_cases,
    mistakes=[
        Mistake(
            "in_place", "Your function writes into x: the caller's rows are changed.", _STILL, answer=_added_in_place
        ),
        Mistake(
            "into_the_update",
            "Your function writes into the update: the caller's blend is changed.",
            "Which array does the left side of += change?",
            answer=_added_into_the_update,
        ),
        Mistake(
            "nothing_returned",
            "Your function changes x and returns nothing.",
            "What does a function without a return give back?",
            answer=_nothing_returned,
        ),
        Mistake(
            "replaced",
            "The update takes the row's place: what the row held is gone.",
            "After your call, which column still says that a bank is a place?",
            answer=lambda x, update: update.copy(),
        ),
        Mistake(
            "ignored",
            "Your result is the old rows: the update is not in it.",
            "What did the row learn from the others?",
            answer=lambda x, update: x.copy(),
        ),
        Mistake(
            "averaged",
            "Your result is the mean of row and update, so half of the row is lost in each layer.",
            "What is left of the first row after ten such layers?",
            answer=lambda x, update: (x + update) / 2,
        ),
        Mistake(
            "divided_by_root_two",
            "The sum is divided by √2, so the row fades from layer to layer.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: (x + update) / np.sqrt(2),
        ),
        Mistake(
            "side_by_side",
            "Row and update stand side by side, so every layer makes the rows wider.",
            "Which width do the rows have that go into the next layer?",
            answer=lambda x, update: np.concatenate([x, update], axis=-1),
        ),
        Mistake(
            "one_below_the_other",
            "The updates stand below the rows: there are twice as many rows as words.",
            "How many rows should a sentence of T words have?",
            answer=lambda x, update: np.concatenate([x, update]),
        ),
        Mistake(
            "subtracted",
            "The update is taken away from the row.",
            "Which sign does a row need that should become more like what it found?",
            answer=lambda x, update: x - update,
        ),
        Mistake(
            "row_taken_from_update",
            "The row is taken away from the update.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: update - x,
        ),
        Mistake(
            "multiplied",
            "Row and update are multiplied: where either is zero, both are lost.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: x * update,
        ),
        Mistake(
            "gated",
            "The row is multiplied by one plus the update: a column that holds zero can never receive anything.",
            "What comes out of a row of zeros?",
            answer=lambda x, update: x * (1 + update),
        ),
        Mistake(
            "larger_of_the_two",
            "In each column only the larger of row and update comes through.",
            "How can both be in one number?",
            answer=lambda x, update: np.maximum(x, update),
        ),
        Mistake(
            "added_twice",
            "The update is added twice.",
            "Is the row already inside what you add to it, or the update inside the row?",
            answer=lambda x, update: x + 2 * update,
        ),
        Mistake(
            "row_added_twice",
            "The row is counted twice.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: 2 * x + update,
        ),
        Mistake(
            "half_of_the_update",
            "Half of the update is added.",
            "With rows of zeros, what should come back?",
            answer=lambda x, update: x + 0.5 * update,
        ),
        Mistake(
            "replaced_where_not_zero",
            "Where the update is not zero it takes the row's place; elsewhere the row stays.",
            "What should become of a 0.4 that receives 0.6?",
            answer=lambda x, update: np.where(update != 0, update, x),
        ),
        Mistake(
            "first_row_only",
            "Only the first row receives its update.",
            "Which words does a head answer?",
            answer=_first_row_added,
        ),
        Mistake(
            "updates_pile_up",
            "Each row also receives the updates of all rows before it.",
            "Should a word receive what another word asked for?",
            answer=lambda x, update: x + np.cumsum(update, axis=0),
        ),
        Mistake(
            "shifted_back_by_one",
            "Each row receives the update of the row after it.",
            "Which row of the update belongs to word 0?",
            answer=lambda x, update: x + np.roll(update, -1, axis=0),
        ),
        Mistake(
            "last_row_only",
            "Only the last row receives its update.",
            "Which words does a head answer?",
            answer=_last_row_added,
        ),
        Mistake(
            "update_averaged",
            "Every row receives the same update, the mean of all of them.",
            "Should a word receive what another word asked for?",
            answer=lambda x, update: x + update.mean(axis=0),
        ),
        Mistake(
            "update_summed",
            "Every row receives the sum of all updates.",
            "Should a word receive what another word asked for?",
            answer=lambda x, update: x + update.sum(axis=0),
        ),
        Mistake(
            "column_lost",
            "Each row receives one number in all its columns: the update has been averaged over its width.",
            "Which axis of the update did you add up?",
            answer=lambda x, update: x + update.mean(axis=-1, keepdims=True),
        ),
        Mistake(
            "rows_turned_round",
            "The updates arrive in the wrong order: the last word's goes to the first word.",
            "Which row of the update belongs to word 0?",
            answer=lambda x, update: x + update[::-1],
        ),
        Mistake(
            "shifted_by_one",
            "Each row receives the update of the row before it.",
            "Which row of the update belongs to word 0?",
            answer=lambda x, update: x + np.roll(update, 1, axis=0),
        ),
        Mistake(
            "normalised",
            "The sum is normalised: each row has lost its mean and its size.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: _layer_norm(x + update),
        ),
        Mistake(
            "update_normalised",
            "The update is normalised before it is added, so a small one counts as much as a large one.",
            "What should an update of one thousandth do?",
            answer=lambda x, update: x + _layer_norm(update),
        ),
        Mistake(
            "unit_length",
            "Each sum is brought to length 1.",
            "With an update of zeros, what should come back?",
            answer=lambda x, update: _unit_rows(x + update),
        ),
        Mistake(
            "negatives_dropped",
            "Negative numbers of the sum are set to zero.",
            "Is there a word about signs in the exercise?",
            answer=lambda x, update: np.maximum(x + update, 0),
        ),
        Mistake(
            "softmax_of_the_sum",
            "A softmax is applied to the sum: its rows sum to 1.",
            "Where does the softmax of a head belong?",
            answer=lambda x, update: _softmax(x + update),
        ),
        Mistake(
            "rows_added_up",
            "Each row also receives all rows before it.",
            "Which axis does your sum run along, and should it run at all?",
            answer=_rows_added_up,
        ),
        Mistake(
            "rounded",
            "Your sums are rounded.",
            "Which of your lines is for showing numbers and which for computing them?",
            answer=lambda x, update: np.round(x + update, 3),
        ),
    ],
    accepted={
        "np.add": lambda x, update: np.add(x, update),
        "the other way round": lambda x, update: update + x,
        "a copy, then in place": lambda x, update: np.add(x.copy(), update, dtype=x.dtype),
        "row by row": lambda x, update: np.array([row + change for row, change in zip(x, update, strict=True)]),
        "stacked and summed": lambda x, update: np.stack([x, update]).sum(axis=0),
        "einsum": lambda x, update: np.einsum("ltd->td", np.stack([x, update])),
    },
    hints=(
        "An update of zeros has to leave the row as it is. What does your function do with one?",
        "Print x before and after the call. It should be the same array with the same numbers.",
        "Look at the operator: does it make a new array, or does it write into the one that the caller still holds?",
    ),
)


# --- the microscope --------------------------------------------------------------------------------------------------

#: How row j of a copy is changed. The arguments are the copy and j; what comes back is added.
NUDGES: dict[str, Callable[[Array, int], Any]] = {
    "different in every entry": lambda x, j: np.geomspace(0.5, 3.0, x.shape[1]),
    "timid": lambda x, j: np.geomspace(0.5e-3, 3.0e-3, x.shape[1]),
    "the same in every entry": lambda x, j: 1.0,
    "far too timid": lambda x, j: np.geomspace(0.5e-6, 3.0e-6, x.shape[1]),
    "to one": lambda x, j: 1.0 - x[j],
    "to zero": lambda x, j: -x[j],
    "doubled": lambda x, j: x[j],
    "negated": lambda x, j: -2 * x[j],
    "first entry": lambda x, j: np.eye(1, x.shape[1])[0],
    "last entry": lambda x, j: np.eye(1, x.shape[1], x.shape[1] - 1)[0],
    "not a number": lambda x, j: np.nan,
    "as the next row": lambda x, j: x[(j + 1) % len(x)] - x[j],
    "as the row before": lambda x, j: x[j - 1] - x[j],
    "as the first row": lambda x, j: x[0] - x[j],
}

#: Which rows count as moved, from the new and the old output.
COMPARISONS: dict[str, Callable[[Array, Array], Any]] = {
    "any entry": lambda new, old: (new != old).any(axis=-1),
    "allclose": lambda new, old: ~np.isclose(new, old).all(axis=-1),
    "every entry": lambda new, old: (new != old).all(axis=-1),
    "first entry": lambda new, old: new[:, 0] != old[:, 0],
    "last entry": lambda new, old: new[:, -1] != old[:, -1],
    "row sums": lambda new, old: new.sum(axis=-1) != old.sum(axis=-1),
    "row sums, nearly": lambda new, old: ~np.isclose(new.sum(axis=-1), old.sum(axis=-1)),
    "grown": lambda new, old: (new > old).any(axis=-1),
    "whole output": lambda new, old: np.full(len(new), (new != old).any()),
    "the same": lambda new, old: (new == old).all(axis=-1),
}


def _microscope_template(
    f: Rows,
    x: Array,
    nudge: str = "different in every entry",
    compare: str = "any entry",
    keep: str = "a fresh copy",
    column: bool = False,
    turned: bool = False,
    own_row: str = "as found",
    kind: type = bool,
    skip_last: bool = False,
    skip_first: bool = False,
    behind_only: bool = False,
    after_last: bool = False,
) -> Array:
    """The microscope with switches. `keep` says what becomes of the rows between one column and the next."""
    work = x if keep in ("the caller's rows", "put back") else x.copy()
    base = np.array(f(x if keep == "rows handed out" else x.copy()))
    moved: Array = np.zeros((len(x), len(x)), dtype=kind)
    for j in range(int(skip_first), len(x) - skip_last):
        if keep not in ("nudges pile up", "the caller's rows", "put back"):
            work = x.copy()
        step = np.asarray(NUDGES[nudge](work, j), dtype=x.dtype)
        place = (slice(None), min(j, x.shape[1] - 1)) if column else (j,)
        step = step if not column or step.ndim == 0 else np.linspace(0.5, 1.5, len(x), dtype=x.dtype)
        work[place] += step
        new = np.array(f(work.copy()))
        moved[:, j] = COMPARISONS[compare](new, base)
        if keep == "put back":
            work[place] -= step
        base = new if after_last else base
    if own_row != "as found":
        np.fill_diagonal(moved, own_row == "always")
    moved = np.tril(moved) if behind_only else moved
    return moved.T if turned else moved


def _no_copies(f: Rows, x: Array) -> Array:
    """`changed = x` in place of a copy: f and the nudges write into the caller's rows."""
    base = f(x)
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x
        changed[j] += np.geomspace(0.5, 3.0, x.shape[1]).astype(x.dtype)
        moved[:, j] = (f(changed) != base).any(axis=-1)
    return moved


def _all_at_once(f: Rows, x: Array) -> Array:
    """One nudge of all rows: who moved whom cannot be told."""
    changed = x + np.geomspace(0.5, 3.0, x.shape[1]).astype(x.dtype)
    moved = (np.array(f(changed)) != np.array(f(x.copy()))).any(axis=-1)
    return np.repeat(moved[:, None], len(x), axis=1)


def _shared_buffer(f: Rows, x: Array) -> Array:
    """Nudges the very array that was handed to f first, so what f returned may move with it."""
    work = x.copy()
    base = f(work)
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        work[:] = x
        work[j] += np.linspace(0.5, 1.5, x.shape[1], dtype=x.dtype)
        moved[:, j] = (f(work) != base).any(axis=-1)
    return moved


def _own_row_only(f: Rows, x: Array) -> Array:
    full = _microscope_template(f, x)
    return full & np.eye(len(x), dtype=bool)


def _amounts(f: Rows, x: Array) -> Array:
    base = np.array(f(x.copy()))
    moved = np.zeros((len(x), len(x)))
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += np.linspace(0.5, 1.5, x.shape[1], dtype=x.dtype)
        moved[:, j] = abs(f(changed) - base).max(axis=-1)
    return moved


def _row_alone(f: Rows, x: Array) -> Array:
    """Runs f on one row at a time, where no row can see another."""
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x[j : j + 1] + np.linspace(0.5, 1.5, x.shape[1], dtype=x.dtype)
        moved[j, j] = bool((f(changed) != f(x[j : j + 1].copy())).any())
    return moved


def _input_rows(f: Rows, x: Array) -> Array:
    """Compares the nudged input with the input: f has no say in it."""
    moved = np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        changed = x.copy()
        changed[j] += 1.0
        moved[:, j] = (changed != x).any(axis=-1)
    return moved


def _microscope_cases(rng: np.random.Generator) -> list[Case]:
    def draw(*size: int) -> Array:
        return rng.standard_normal(size)

    tenths = np.round(draw(4, 3), 1)
    whole = rng.integers(-20, 20, (4, 5))
    whole[:, 0] -= whole.sum(axis=1) % 5
    alike = np.repeat([[1.0] * 3, [0.0] * 3], 2, axis=0)
    return [
        Case((Fn("causal_mean"), np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])), "row i is the mean of rows 0 to i"),
        Case((Fn("row_before_mirrored"), draw(5, 3)), "each row is the row before it, each entry beside its negative"),
        Case((Fn("centred_tenths"), whole / 10), "each row loses its mean and is rounded to tenths"),
        Case((Fn("even_rows_size"), draw(5, 3)), "every row is the mean size of rows 0, 2, 4, without the last column"),
        Case((Fn("to_tenths"), tenths), "each row is itself and the next, in tenths"),
        Case((Fn("last_column_ahead"), draw(5, 4)), "row i is minus the sum of the last column from row i on"),
        Case(
            (Fn("faint_first_row"), 2 + rng.uniform(-0.5, 0.5, (4, 3))),
            "three millionths of row 0 are taken off all rows",
        ),
        Case((Fn("doubled_in_place"), draw(3, 4)), "the function writes into what it is given and returns it"),
        Case((Fn("causal_mean"), alike), "two rows of ones and two rows of zeros"),
        Case((Fn("directions"), 1 + rng.random((3, 5))), "each row is brought to length 1 and rounded"),
    ]


_UNSEEN = "For which functions could your change of row j be invisible, although they read row j?"
_COPIES = "Who holds which array after your call of f, and which of them have you changed since?"

_MICROSCOPE_MISTAKES = [
    Mistake(
        "turned",
        "Your map is transposed: its rows stand for input rows and its columns for output rows.",
        "A function in which row 1 reads row 0: is your True in [1, 0] or in [0, 1]?",
        switches={"turned": True},
    ),
    Mistake(
        "callers_rows_changed",
        "Your function writes into x and leaves the changes there.",
        "What does the caller find in x after your call?",
        switches={"keep": "the caller's rows"},
    ),
    Mistake(
        "put_back_by_subtracting",
        "Your function writes into x and subtracts what it added: the last digits do not come back.",
        "Is (0.1 + 0.7) - 0.7 equal to 0.1?",
        switches={"keep": "put back"},
    ),
    Mistake(
        "nudges_pile_up",
        "The nudges pile up: when row 2 is changed, rows 0 and 1 are still changed.",
        "What does your copy hold at the start of the second turn of the loop?",
        switches={"keep": "nudges pile up"},
    ),
    Mistake(
        "x_handed_out",
        "f gets x itself. A function that writes into its input has then changed the caller's rows, and your base.",
        _COPIES,
        switches={"keep": "rows handed out"},
    ),
    Mistake(
        "buffer_shared",
        "You change the array that you gave to f for the base. If f returned that array, the base changes too.",
        _COPIES,
        answer=_shared_buffer,
    ),
    Mistake(
        "previous_is_base",
        "Each output is compared with the one of the turn before, so two changes show up in one column.",
        "Which two calls of f differ in row j and in nothing else?",
        switches={"after_last": True},
    ),
    Mistake(
        "column_changed",
        "You change a column of x, and with it every row at once.",
        "Which axis of x holds the words?",
        switches={"column": True},
    ),
    Mistake(
        "too_timid",
        "Your change is so small that a function which rounds does not notice it.",
        _UNSEEN,
        switches={"nudge": "timid"},
    ),
    Mistake(
        "far_too_timid",
        "Your change is a millionth or less: a function that rounds anywhere does not notice it.",
        _UNSEEN,
        switches={"nudge": "far too timid"},
    ),
    Mistake(
        "same_in_every_entry",
        "You add one number to all entries of the row: a function that takes off the row's mean never notices.",
        _UNSEEN,
        switches={"nudge": "the same in every entry"},
    ),
    Mistake(
        "set_to_zero",
        "You set the row to zero: a row that is zero already is not changed by that.",
        _UNSEEN,
        switches={"nudge": "to zero"},
    ),
    Mistake(
        "set_to_one",
        "You set the row to ones: a row of ones is not changed by that.",
        _UNSEEN,
        switches={"nudge": "to one"},
    ),
    Mistake(
        "doubled",
        "You multiply the row: rows of zeros stay, and a function that divides by the row's size never notices.",
        _UNSEEN,
        switches={"nudge": "doubled"},
    ),
    Mistake(
        "negated",
        "You turn the row's sign: rows of zeros stay, and a function of the sizes never notices.",
        _UNSEEN,
        switches={"nudge": "negated"},
    ),
    Mistake(
        "last_entry",
        "You change the last entry of the row: a function that leaves out the last column never notices.",
        _UNSEEN,
        switches={"nudge": "last entry"},
    ),
    Mistake(
        "first_entry",
        "You change the first entry of the row: a function that reads the last column never notices.",
        _UNSEEN,
        switches={"nudge": "first entry"},
    ),
    Mistake(
        "not_a_number",
        "You put NaN into the row: it spreads through sums even where the row counts zero times.",
        "What is 0 times NaN, and what is a NaN rounded or compared?",
        switches={"nudge": "not a number"},
    ),
    Mistake(
        "as_the_next_row",
        "You put the next row in the place of row j: where two rows are alike nothing changes.",
        _UNSEEN,
        switches={"nudge": "as the next row"},
    ),
    Mistake(
        "as_the_row_before",
        "You put the row before in the place of row j: where two rows are alike nothing changes.",
        _UNSEEN,
        switches={"nudge": "as the row before"},
    ),
    Mistake(
        "as_the_first_row",
        "You put row 0 in the place of row j: row 0 itself is never changed.",
        _UNSEEN,
        switches={"nudge": "as the first row"},
    ),
    Mistake(
        "tolerance",
        "You compare with a tolerance, so a row that moves by a few millionths counts as still.",
        "When f is called twice on the same rows, by how much do its results differ?",
        switches={"compare": "allclose"},
    ),
    Mistake(
        "every_entry_has_to_move",
        "A row counts as moved only when all of its entries move.",
        "Has a row moved when one of its entries has?",
        switches={"compare": "every entry"},
    ),
    Mistake(
        "first_entry_compared",
        "Only the first entry of each output row is compared.",
        "Has a row moved when its last entry has?",
        switches={"compare": "first entry"},
    ),
    Mistake(
        "last_entry_compared",
        "Only the last entry of each output row is compared.",
        "Has a row moved when its first entry has?",
        switches={"compare": "last entry"},
    ),
    Mistake(
        "sums_compared",
        "You compare the sums of the rows: a row can move and keep its sum.",
        "What is the sum of a row from which its mean was taken?",
        switches={"compare": "row sums"},
    ),
    Mistake(
        "sums_compared_with_tolerance",
        "You compare the sums of the rows, and that with a tolerance.",
        "What is the sum of a row from which its mean was taken?",
        switches={"compare": "row sums, nearly"},
    ),
    Mistake(
        "only_growth_counts",
        "A row counts as moved only when a number in it grows.",
        "What does your comparison say of a row that shrinks?",
        switches={"compare": "grown"},
    ),
    Mistake(
        "whole_output",
        "When anything moves, all output rows count as moved.",
        "Along which axis do you ask whether any entry moved?",
        switches={"compare": "whole output"},
    ),
    Mistake(
        "inverted",
        "Your map is True where a row stays the same.",
        "What does your comparison give for two equal rows?",
        switches={"compare": "the same"},
    ),
    Mistake(
        "numbers_for_booleans",
        "Your map holds the numbers 0 and 1, not False and True.",
        "What is the dtype of an array made by np.zeros?",
        switches={"kind": float},
    ),
    Mistake(
        "amounts",
        "Your map says how far each row moves; asked is whether it moves.",
        "What turns a distance into a yes or a no?",
        answer=_amounts,
    ),
    Mistake(
        "own_row_always",
        "Every row counts as reading itself, whatever f does.",
        "Is there a function whose row i does not read row i?",
        switches={"own_row": "always"},
    ),
    Mistake(
        "own_row_never",
        "No row counts as reading itself, whatever f does.",
        "Does the blend of a head contain the row's own value?",
        switches={"own_row": "never"},
    ),
    Mistake(
        "own_row_only",
        "You look at the output row of the same number only: what a change does to other rows is lost.",
        "How many output rows have to be compared for each changed row?",
        answer=_own_row_only,
    ),
    Mistake(
        "rows_alone",
        "f gets one row at a time, so no row can see another.",
        "What does a head do with a sentence of one word?",
        answer=_row_alone,
    ),
    Mistake(
        "outputs_not_compared",
        "The nudged input is compared with the input: f has no say in your map.",
        "Which two arrays tell what f did?",
        answer=_input_rows,
    ),
    Mistake(
        "no_copies",
        "Your copy of x is no copy but another name for it: all changes land in the caller's rows.",
        _COPIES,
        answer=_no_copies,
    ),
    Mistake(
        "all_rows_at_once",
        "You change all rows at once, so your map cannot tell which of them moved an output.",
        "Which two calls of f differ in row j and in nothing else?",
        answer=_all_at_once,
    ),
    Mistake(
        "behind_only",
        "Your map has nothing above the diagonal: you never look at outputs before the row that was changed.",
        "Can a function let row 0 read row 3?",
        switches={"behind_only": True},
    ),
    Mistake(
        "first_row_left_out",
        "The first row is never changed: the first column of your map is empty.",
        "With which number does your loop begin?",
        switches={"skip_first": True},
    ),
    Mistake(
        "last_row_left_out",
        "The last row is never changed: the last column of your map is empty.",
        "Which numbers does range(len(x) - 1) run through?",
        switches={"skip_last": True},
    ),
]

_INFLUENCE = Exercise(
    name="influence_map",
    chapter="04",
    summary="The microscope: which output rows move when one input row is changed.",
    returns="(T, T)",
    reference=_influence_map,
    cases=_microscope_cases,
    template=_microscope_template,
    mistakes=paired(_MICROSCOPE_MISTAKES, _microscope_template, LIKELY_IN_PAIRS),
    accepted={
        "a random row": lambda f, x: _with_rows(f, x, lambda r: np.random.default_rng(5).standard_normal(r.shape)),
        "a far row": lambda f, x: _with_rows(f, x, lambda r: r + np.arange(7.0, 7.0 + len(r))),
        "a constant row": lambda f, x: _with_rows(f, x, lambda r: np.full(r.shape, 99.0)),
        "stacked": lambda f, x: _stacked(f, x),
        "put back from a copy": lambda f, x: _put_back(f, x),
    },
    hints=(
        "Two calls of f that differ in row j of the input and in nothing else: what do their results tell?",
        "A change that a function cannot see gives a False too many. Which functions cannot see yours?",
        "Look at three places: what f is given (a copy each time), what row j is changed into, and the axis of any.",
    ),
)


def _with_rows(f: Rows, x: Array, change: Rows) -> Array:
    base, columns = np.array(f(x.copy())), []
    for j in range(len(x)):
        changed = x.copy()
        changed[j] = change(x[j])
        columns.append((f(changed) != base).any(axis=1))
    return np.stack(columns, axis=1)


def _stacked(f: Rows, x: Array) -> Array:
    many = np.repeat(x[None], len(x), axis=0)
    many[np.arange(len(x)), np.arange(len(x))] += np.linspace(1.0, 3.0, x.shape[1], dtype=x.dtype)
    outs, base = np.stack([np.array(f(one)) for one in many]), np.array(f(x.copy()))
    return np.asarray(np.any(outs != base, axis=-1).T)


def _put_back(f: Rows, x: Array) -> Array:
    """Works on x itself and copies each row back: the last digits return."""
    base, moved = np.array(f(x.copy())), np.zeros((len(x), len(x)), dtype=bool)
    for j in range(len(x)):
        saved = x[j].copy()
        x[j] = saved + np.linspace(2.0, -3.0, len(saved), dtype=x.dtype)
        moved[:, j] = np.logical_or.reduce(np.array(f(x.copy())) != base, axis=1)
        x[j] = saved
    return moved


# --- the questions ---------------------------------------------------------------------------------------------------

_CLERK = Question(
    name="04_clerk_changes",
    chapter="04",
    prompt="In 'the clerk left the bank', what is different for 'bank'?",
    right="its blend",
    because="boat and clerk have the same key, so scores and pattern stay; they differ in what they hand over.",
    choices=("its query", "its scores", "its pattern", "its blend"),
    wrong={
        "its query": "The query of 'bank' is made of the row of 'bank' alone, and that row is the same.",
        "its scores": "Scores are made of its query and of the keys. Do 'boat' and 'clerk' have different keys?",
        "its pattern": "The pattern is made of the scores. Do 'boat' and 'clerk' have different keys?",
    },
    otherwise="W_K treats water and money alike. Which matrix tells them apart?",
    hints=("Compare the rows 'water' and 'money' of W_K, and then of W_V.",),
)

_VARIANCE = Question(
    name="04_variance_at_64",
    chapter="04",
    prompt="Entries of queries and keys have mean 0 and variance 1, d_k is 64: what is the variance of q · k?",
    right=64,
    because="The dot product adds 64 independent products, each of variance 1, and variances add up.",
    wrong={
        1: "One product of two entries has variance 1. How many of them does a dot product add up?",
        8: "8 is the standard deviation; the variance is its square.",
        4096: "Variances of independent terms add up: 64 terms, each of variance 1.",
        128: "The product of two entries of variance 1 has variance 1 · 1, not 1 + 1.",
        0.125: "A sum of 64 terms varies more than one of them, not less.",
        0: "The mean is 0. The variance says how far single dot products lie from it.",
    },
    otherwise="What is the variance of one product of two entries, and how many products are added up?",
    hints=("Independent terms: the variance of a sum is the sum of the variances.",),
)

_ENTROPY = Question(
    name="04_entropy_at_64",
    chapter="04",
    prompt="A pattern over 16 keys has at most 4 bits of entropy. How many has it at d_k = 64, unscaled?",
    right="0.6",
    because="With a variance of 64, two scores typically differ by √128, about 11. exp makes a factor of 60,000 of "
    "it: one key has nearly all the weight.",
    choices=("3.4", "2.5", "0.6", "0"),
    wrong={
        "3.4": "3.4 bits is what scaled scores give, of any width. The unscaled ones vary 64 times as much.",
        "2.5": "2.5 bits is what unscaled scores give at d_k = 4.",
        "0": "Exactly 0 would need one key with all the weight for every query. Now and then two keys are close.",
    },
    otherwise="Move the slider to 64, switch the scaling off and read the entropy.",
    hints=("Two scores that differ by 11: by which factor do their weights differ?",),
)

_LOST = Question(
    name="04_lost_if_replaced",
    chapter="04",
    prompt="If the blend took the row's place, which column of 'bank' would be empty afterwards?",
    right="place",
    because="W_V hands over everything but the place, so no blend holds one: 'bank' would no longer be a place.",
    choices=lesson.COLUMNS,
    wrong={
        "water": "The boat hands over its 0.9 of water: the blend is full of it.",
        "money": "'bank' and 'left' hand over a little money: the blend keeps some.",
        "action": "'left' hands over 0.9 of action: the blend holds some.",
    },
    otherwise="Which column is zero in every row of v?",
    hints=("Look at the columns of the values, printed with queries and keys at the start of the chapter.",),
)

_REACH = Question(
    name="04_query_reach",
    chapter="04",
    prompt="Keys and values stay, one of five queries changes: how many of the five blends change?",
    right=1,
    because="A query decides its own row of the pattern and no other: its map is the diagonal.",
    wrong={
        5: "That holds for a row of x, which is query, key and value at once. Here only the query changes.",
        0: "The query decides the weights of its own row.",
        25: "The map has 25 cells; a change of one query concerns one of its columns.",
        4: "Which row of the scores holds a dot product with the changed query?",
        2: "Which rows of the scores hold a dot product with the changed query?",
    },
    otherwise="Which rows of the scores hold a dot product with the changed query?",
    hints=("Row i of the pattern is made of query i and of all keys.",),
)

_BUG_SAYS = {
    "looks ahead": "All rows may look ahead in this chapter; the right head does so, too.",
    "does not see itself": "The diagonal of both patterns is above zero: every row reads itself.",
    "rows do not sum to 1": "The rows of this pattern sum to 1; look at what is the same in all of them.",
    "mixes batch entries": "Change one sentence, and the pattern of the other stays the same.",
    "scrambles words": "Every row and every column still belongs to its word.",
    "forgets order": "The right head of this chapter knows no order either: chapter 08.",
    "changes its input": "q and k are the same before and after the call.",
    "ignores the query": "Change a query, and the pattern changes.",
}


def _bug(name: str, prompt: str, right: str, because: str, hint: str) -> Question:
    wrong = {choice: why for choice, why in _BUG_SAYS.items() if choice != right}
    return Question(
        name=name,
        chapter="04",
        prompt=prompt,
        right=right,
        because=because,
        choices=PROPERTIES,
        wrong=wrong,
        otherwise="Which of the properties in PROPERTIES does the map or the printed sum speak against?",
        hints=(hint,),
    )


_BUG_AXIS = _bug(
    "04_bug_axis",
    "Which property does pattern_1 break as soon as there is a batch?",
    "rows do not sum to 1",
    "axis=1 holds the keys of one sentence, but the queries of a batch: there the columns sum to 1.",
    "Print the sums over the last axis, for one sentence and for the batch.",
)

_BUG_STATIC = _bug(
    "04_bug_static",
    "Which property does pattern_2 break?",
    "ignores the query",
    "The query adds one number to all scores of its row, and a softmax cannot see that: all rows are equal.",
    "Compare row 0 and row 2 of the pattern with each other.",
)

QUESTIONS: tuple[Question, ...] = (_VARIANCE, _ENTROPY, _CLERK, _LOST, _REACH, _BUG_AXIS, _BUG_STATIC)

EXERCISES: tuple[Exercise, ...] = (_SCORES, _PATTERN, _ATTEND, _ADD, _INFLUENCE)

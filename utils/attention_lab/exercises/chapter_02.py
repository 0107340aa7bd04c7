"""Chapter 02, reading in order: one step of a recurrent network, all its states, and how far a change reaches.

Letters: T words, d width of a row, m width of the state. Vectors are columns here, `W @ h`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from attention_lab.exercises.model import Case, Exercise, Mistake, Question

Array = np.ndarray

_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "none": lambda a: a,
    "relu": lambda a: np.maximum(a, 0.0),
    "sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "tan": np.tan,
    "sin": np.sin,
    "clipped": lambda a: np.clip(a, -1.0, 1.0),
    "twice": lambda a: np.tanh(np.tanh(a)),
    "slope": lambda a: 1.0 - np.tanh(a) ** 2,
    "softmax": lambda a: np.exp(a) / np.exp(a).sum(),
    "arctan": np.arctan,
    "sinh": np.sinh,
    "exp": np.exp,
    "cos": np.cos,
    "absolute": lambda a: np.abs(np.tanh(a)),
    "halved": lambda a: np.tanh(a / 2),
    "a third": lambda a: np.tanh(a / 3),
}


# --------------------------------------------------------------------------------------------------- rnn_step


def rnn_step(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    """The state after one more word, (m,): tanh(W_h h + W_x x + b) (Elman 1990, "Finding structure in time")."""
    return _rnn_step(h, x, W_h, W_x, b)


def _rnn_step(
    h: Array,
    x: Array,
    W_h: Array,
    W_x: Array,
    b: Array,
    *,
    activation: str = "tanh",
    past: str = "W_h @ h",
    word: str = "W_x @ x",
    bias: float = 1.0,
    inside: str = "all",
    kept: float = 0.0,
    new: float = 1.0,
) -> Array:
    """`rnn_step` with switches that turn it into the mistakes below."""
    pasts = {
        "W_h @ h": lambda: W_h @ h,
        "W_h.T @ h": lambda: W_h.T @ h,
        "h": lambda: h,
        "none": lambda: 0.0 * h,
        "minus": lambda: -(W_h @ h),
        "diagonal": lambda: np.diag(W_h) * h,
        "row sums": lambda: W_h.sum(axis=1) * h,
        "column sums": lambda: W_h.sum(axis=0) * h,
        "tanh(h)": lambda: W_h @ np.tanh(h),
        "twice": lambda: W_h @ (W_h @ h),
    }
    words = {
        "W_x @ x": lambda: W_x @ x,
        "none": lambda: 0.0 * b,
        "minus": lambda: -(W_x @ x),
        "tanh(x)": lambda: W_x @ np.tanh(x),
        "through W_h": lambda: W_h @ (W_x @ x),
    }
    act, from_past, from_word, from_bias = _ACTIVATIONS[activation], pasts[past](), words[word](), bias * b
    made = {
        "all": lambda: act(from_past + from_word + from_bias),
        "not the bias": lambda: act(from_past + from_word) + from_bias,
        "not the word": lambda: act(from_past) + from_word + from_bias,
        "not the past": lambda: act(from_word + from_bias) + from_past,
        "each alone": lambda: act(from_past) + act(from_word) + act(from_bias),
        "past and word alone": lambda: act(from_past) + act(from_word + from_bias),
        "past and word alone, not the bias": lambda: act(from_past) + act(from_word) + from_bias,
        "product": lambda: act(from_past * from_word + from_bias),
        "bias multiplied": lambda: act((from_past + from_word) * from_bias),
        "bias summed": lambda: act(from_past + from_word + from_bias.sum()),
        "parts summed": lambda: act(from_past.sum() + from_word.sum() + from_bias),
        "a bias each": lambda: act(from_past + from_bias) + act(from_word + from_bias),
        "bias through W_h": lambda: act(from_past + W_h @ from_bias + from_word),
        "product of tanhs": lambda: act(from_past) * act(from_word + from_bias),
        "W_h after tanh": lambda: W_h @ act(h + from_word + from_bias),
        "times h": lambda: h * act(from_past + from_word + from_bias),
        "everything through W_h": lambda: act(W_h @ (h + from_word + from_bias)),
    }[inside]()
    return np.asarray(kept * h + new * made)


def _network(rng: np.random.Generator, m: int, d: int) -> tuple[Array, Array, Array]:
    """W_h (m, m), W_x (m, d), b (m,) that leave tanh well away from its ends."""
    return (
        rng.normal(size=(m, m)) * 0.8 / np.sqrt(m),
        rng.normal(size=(m, d)) * 0.7 / np.sqrt(d),
        rng.uniform(0.1, 0.5, m) * rng.choice([-1.0, 1.0], m),
    )


def _rnn_step_cases(rng: np.random.Generator) -> Sequence[Case]:
    readable = (
        np.array([0.5, -0.5]),
        np.array([1.0, 0.0, 3.0]),
        np.array([[0.5, 0.1], [0.0, 0.9]]),
        np.array([[0.3, 0.0, 0.2], [0.0, 0.4, 0.1]]),
        np.array([0.1, -0.2]),
    )
    cases = [Case(readable)]
    for m, d in ((5, 3), (2, 7), (4, 4)):
        cases.append(Case((rng.uniform(-0.9, 0.9, m), rng.normal(size=d), *_network(rng, m, d))))
    W_h, W_x, b = _network(rng, 3, 5)
    cases.append(Case((np.zeros(3), rng.normal(size=5), W_h, W_x, b), note="the first step, the old state is zero"))
    cases.append(Case((rng.uniform(-0.9, 0.9, 3), np.zeros(5), W_h, W_x, b), note="a word whose row is zero"))
    return cases


def _updates_h_in_place(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    h[:] = np.tanh(W_h @ h + W_x @ x + b)
    return h


def _writes_over_the_bias(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    b += W_h @ h + W_x @ x
    return np.tanh(b)


def _entry_by_entry(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    h = h.copy()
    for i in range(len(h)):  # a later entry meets the new values of the earlier ones
        h[i] = np.tanh(W_h[i] @ h + W_x[i] @ x + b[i])
    return h


def _loop_overwrites_the_sum(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    out = np.zeros(len(h))
    for i in range(len(h)):
        for j in range(len(h)):
            out[i] = W_h[i, j] * h[j]
        for j in range(len(x)):
            out[i] += W_x[i, j] * x[j]
    return np.tanh(out + b)


# Mistakes with switches are also recognised in pairs; those that hardly come together with another have an answer.
_RNN_STEP_MISTAKES = [
    Mistake(
        "no_tanh",
        "The new state is the bare sum: nothing keeps its entries between -1 and 1.",
        "What happens to such a state over a hundred words?",
        switches={"activation": "none"},
    ),
    Mistake(
        "relu",
        "Negative entries of the new state are cut off at zero: that is relu.",
        "Which function does the exercise name, and which values can it give?",
        switches={"activation": "relu"},
    ),
    Mistake(
        "sigmoid",
        "The entries of your state lie between 0 and 1: the sum goes through the logistic sigmoid.",
        "Which function does the exercise name, and which values can it give?",
        switches={"activation": "sigmoid"},
    ),
    Mistake(
        "tan",
        "The sum goes through the tangent of trigonometry.",
        "Which letter makes the difference between that function and the hyperbolic one?",
        answer=partial(_rnn_step, activation="tan"),
    ),
    Mistake(
        "sine",
        "The sum goes through the sine.",
        "Which function does the exercise name?",
        answer=partial(_rnn_step, activation="sin"),
    ),
    Mistake(
        "clipped",
        "The sum is cut off at -1 and 1 instead of being bent smoothly.",
        "What does tanh give for 0.5?",
        answer=partial(_rnn_step, activation="clipped"),
    ),
    Mistake(
        "tanh_twice",
        "The sum goes through tanh twice.",
        "How often is a state squashed in one step?",
        switches={"activation": "twice"},
    ),
    Mistake(
        "slope_of_tanh",
        "You return the slope of tanh, 1 - tanh², and not its value.",
        "In which exercise is the slope needed, and what does the new state need?",
        switches={"activation": "slope"},
    ),
    Mistake(
        "softmax",
        "The entries of your new state are positive and sum to 1: the sum goes through a softmax.",
        "Which function does the exercise name, and can its values be negative?",
        answer=partial(_rnn_step, activation="softmax"),
    ),
    Mistake(
        "arctan",
        "The sum goes through the arc tangent.",
        "Which function does the exercise name, and which values can it give?",
        answer=partial(_rnn_step, activation="arctan"),
    ),
    Mistake(
        "sinh",
        "The sum goes through the hyperbolic sine: nothing keeps the entries between -1 and 1.",
        "Which function does the exercise name, and which values can it give?",
        answer=partial(_rnn_step, activation="sinh"),
    ),
    Mistake(
        "halved",
        "The sum is halved before it goes through tanh.",
        "What is done to the three parts besides adding them?",
        answer=partial(_rnn_step, activation="halved"),
    ),
    Mistake(
        "mean_of_parts",
        "The mean of the three parts goes through tanh, a third of their sum.",
        "What is done to the three parts besides adding them?",
        answer=partial(_rnn_step, activation="a third"),
    ),
    Mistake(
        "w_h_transposed",
        "The old state meets the columns of W_h and not its rows, as in `h @ W_h` or `W_h.T @ h`.",
        "On which side of a matrix does a column vector stand?",
        switches={"past": "W_h.T @ h"},
    ),
    Mistake(
        "past_forgotten",
        "Your new state does not depend on the old one.",
        "Which of the five arguments could be left out without any change?",
        switches={"past": "none"},
    ),
    Mistake(
        "state_copied",
        "The old state enters as it is, without W_h.",
        "What would W_h be for if the old state were taken as it is?",
        switches={"past": "h"},
    ),
    Mistake(
        "past_subtracted",
        "The part from the old state is subtracted.",
        "Which sign stands before W_h h?",
        switches={"past": "minus"},
    ),
    Mistake(
        "diagonal_only",
        "Each entry of the state meets only its own entry of W_h, the one on the diagonal.",
        "Can one entry of the old state change another entry of the new one?",
        answer=partial(_rnn_step, past="diagonal"),
    ),
    Mistake(
        "row_sums",
        "`W_h * h` multiplies entry by entry; summed over the wrong axis, each entry of h meets the sum of a row.",
        "Over which index does a matrix product sum, and which index stays?",
        switches={"past": "row sums"},
    ),
    Mistake(
        "column_sums",
        "`W_h * h` multiplies entry by entry; summed over axis 0, each entry of h meets the sum of a column.",
        "Over which index does a matrix product sum, and which index stays?",
        switches={"past": "column sums"},
    ),
    Mistake(
        "old_state_squashed_again",
        "The old state goes through tanh once more before it meets W_h.",
        "Which values does a state already have after the step before?",
        switches={"past": "tanh(h)"},
    ),
    Mistake(
        "w_h_applied_twice",
        "W_h is applied to the old state twice, as if two steps went by.",
        "How many steps does one call take?",
        answer=partial(_rnn_step, past="twice"),
    ),
    Mistake(
        "word_forgotten",
        "Your new state does not depend on the word x.",
        "Which of the five arguments could be left out without any change?",
        switches={"word": "none"},
    ),
    Mistake(
        "word_subtracted",
        "The part from the word is subtracted.",
        "Which sign stands before W_x x?",
        switches={"word": "minus"},
    ),
    Mistake(
        "word_squashed",
        "The word's row goes through tanh before it meets W_x.",
        "What exactly stands inside the brackets of tanh, and what outside?",
        switches={"word": "tanh(x)"},
    ),
    Mistake(
        "word_through_w_h",
        "The word goes through W_x and then also through W_h.",
        "Which of the two matrices belongs to the word?",
        answer=partial(_rnn_step, word="through W_h"),
    ),
    Mistake(
        "no_bias",
        "The bias b is not added.",
        "Which of the five arguments could be left out without any change?",
        switches={"bias": 0.0},
    ),
    Mistake(
        "bias_twice",
        "The bias is added twice, once with each matrix.",
        "How many biases does the signature have, and how many has the network of PyTorch?",
        switches={"bias": 2.0},
    ),
    Mistake(
        "bias_subtracted",
        "The bias is subtracted.",
        "Which sign stands before b?",
        switches={"bias": -1.0},
    ),
    Mistake(
        "bias_outside",
        "The bias is added after tanh, so that entries can leave the range from -1 to 1.",
        "Where does the closing bracket of tanh stand?",
        switches={"inside": "not the bias"},
    ),
    Mistake(
        "word_outside",
        "Only the old state goes through tanh; word and bias are added afterwards.",
        "Where does the closing bracket of tanh stand?",
        switches={"inside": "not the word"},
    ),
    Mistake(
        "past_outside",
        "Only word and bias go through tanh; the old state is added afterwards.",
        "Where does the closing bracket of tanh stand?",
        answer=partial(_rnn_step, inside="not the past"),
    ),
    Mistake(
        "three_tanhs",
        "Each part goes through a tanh of its own, and then they are added: the state can reach 3.",
        "Is tanh of a sum the sum of the tanhs?",
        switches={"inside": "each alone"},
    ),
    Mistake(
        "two_tanhs",
        "The part from the old state and the part from the word go through a tanh each: the state can reach 2.",
        "Is tanh of a sum the sum of the tanhs?",
        switches={"inside": "past and word alone"},
    ),
    Mistake(
        "two_tanhs_bias_outside",
        "The old state's part and the word's part go through a tanh each, and the bias is added after both.",
        "Is tanh of a sum the sum of the tanhs?",
        switches={"inside": "past and word alone, not the bias"},
    ),
    Mistake(
        "bias_multiplied",
        "The bias is multiplied with the sum of the other parts.",
        "What would a bias of zero leave of the state?",
        answer=partial(_rnn_step, inside="bias multiplied"),
    ),
    Mistake(
        "bias_summed",
        "All entries of the bias are added up, and every entry of the state gets the same sum.",
        "Which entry of the bias belongs to entry 0 of the state?",
        answer=partial(_rnn_step, inside="bias summed"),
    ),
    Mistake(
        "parts_summed",
        "Each product is added up to one number, so all entries of the state get the same.",
        "How many numbers does W_h h hold, and which of them belongs to entry 0?",
        answer=partial(_rnn_step, inside="parts summed"),
    ),
    Mistake(
        "w_h_after_tanh",
        "W_h is applied last, to what came out of tanh.",
        "Which of the two comes first, W_h or tanh?",
        answer=partial(_rnn_step, inside="W_h after tanh"),
    ),
    Mistake(
        "exponential",
        "The sum goes through the exponential function.",
        "Which function does the exercise name, and which values can it give?",
        answer=partial(_rnn_step, activation="exp"),
    ),
    Mistake(
        "cosine",
        "The sum goes through the cosine.",
        "Which function does the exercise name, and which values can it give?",
        answer=partial(_rnn_step, activation="cos"),
    ),
    Mistake(
        "absolute_value",
        "The signs of the new state are dropped.",
        "Can tanh give a negative number?",
        answer=partial(_rnn_step, activation="absolute"),
    ),
    Mistake(
        "a_bias_each",
        "Each of the two products gets the bias and a tanh of its own, and then they are added.",
        "Is tanh of a sum the sum of the tanhs?",
        answer=partial(_rnn_step, inside="a bias each"),
    ),
    Mistake(
        "bias_through_w_h",
        "The bias is added to the old state and goes through W_h with it.",
        "Which of the three parts does W_h belong to?",
        answer=partial(_rnn_step, inside="bias through W_h"),
    ),
    Mistake(
        "tanhs_multiplied",
        "Two tanhs are multiplied, one of the old state's part and one of the word's.",
        "What would the first step give, which starts from zeros?",
        answer=partial(_rnn_step, inside="product of tanhs"),
    ),
    Mistake(
        "whole_numbers",
        "Whole numbers come back: everything behind the point is cut off.",
        "Which numbers between -1 and 1 are whole?",
        answer=lambda h, x, W_h, W_x, b: _rnn_step(h, x, W_h, W_x, b).astype(int),
    ),
    Mistake(
        "entries_reversed",
        "The entries of the state come back in the opposite order.",
        "Which entry of the new state belongs to row 0 of W_h?",
        answer=lambda h, x, W_h, W_x, b: _rnn_step(h, x, W_h, W_x, b)[::-1].copy(),
    ),
    Mistake(
        "times_old_state",
        "The new state is multiplied with the old one.",
        "What would the first step give, which starts from zeros?",
        answer=partial(_rnn_step, inside="times h"),
    ),
    Mistake(
        "multiplied",
        "The part from the old state and the part from the word are multiplied, not added.",
        "What would such a network keep of the past after a word whose row is zero?",
        answer=partial(_rnn_step, inside="product"),
    ),
    Mistake(
        "everything_through_w_h",
        "Word and bias are added to the old state first, and W_h is applied to all of it.",
        "Which of the three parts does W_h belong to?",
        switches={"inside": "everything through W_h"},
    ),
    Mistake(
        "added_to_the_old_state",
        "The result is added to the old state, so the state grows beyond 1.",
        "Does this step replace the state, or correct it?",
        switches={"kept": 1.0},
    ),
    Mistake(
        "half_old_half_new",
        "You return the mean of the old and the new state.",
        "Does this step replace the state, or mix it with the old one?",
        answer=partial(_rnn_step, kept=0.5, new=0.5),
    ),
    Mistake(
        "old_state_returned",
        "What comes back is the old state, unchanged.",
        "Which name holds what you computed, and which name do you return?",
        answer=partial(_rnn_step, kept=1.0, new=0.0),
    ),
    Mistake(
        "sign_flipped",
        "Your new state has the opposite sign.",
        "Where does a minus come in?",
        answer=partial(_rnn_step, new=-1.0),
    ),
    Mistake(
        "in_place",
        "The new values are written into h, so the caller's old state is lost.",
        "Would the list of all states, one a word, still hold different states?",
        answer=_updates_h_in_place,
    ),
    Mistake(
        "bias_overwritten",
        "`+=` writes into b, so the bias is another one at the next call.",
        "Which object does `b += …` change?",
        answer=_writes_over_the_bias,
    ),
    Mistake(
        "entry_by_entry",
        "The entries are computed one by one in the same array, so later ones meet new values of earlier ones.",
        "Which state do all entries have to be computed from?",
        answer=_entry_by_entry,
    ),
    Mistake(
        "last_product_only",
        "Of the sum over the old state only the last term is left: the loop overwrites it.",
        "What does `=` do to the terms before, inside a loop?",
        answer=_loop_overwrites_the_sum,
    ),
    Mistake(
        "summed_to_a_number",
        "One number comes back: the entries of the new state are added up.",
        "How many numbers does the next step need?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(W_h @ h + W_x @ x + b).sum(),
    ),
    Mistake(
        "matrix_of_products",
        "`W_h * h` multiplies entry by entry and sums nothing, so a matrix comes back.",
        "Which sign means a matrix product in NumPy?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(W_h * h + (W_x @ x + b)),
    ),
    Mistake(
        "column",
        "The state comes back as a table with one column, (m, 1).",
        "Which shape does h have when it comes in?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(W_h @ h[:, None] + W_x @ x[:, None] + b[:, None]),
    ),
    Mistake(
        "square_by_broadcasting",
        "A column and a row are added, which NumPy spreads out to an (m, m) table.",
        "Which shapes do the three parts of your sum have?",
        answer=lambda h, x, W_h, W_x, b: np.tanh((W_h @ h + W_x @ x)[:, None] + b),
    ),
    Mistake(
        "row",
        "The state comes back as a table with one row, (1, m).",
        "Which shape does h have when it comes in?",
        answer=lambda h, x, W_h, W_x, b: _rnn_step(h, x, W_h, W_x, b)[None],
    ),
    Mistake(
        "list_returned",
        "A list of numbers comes back, not an array.",
        "What does tanh of an array give, before it is turned into a list?",
        answer=lambda h, x, W_h, W_x, b: _rnn_step(h, x, W_h, W_x, b).tolist(),
    ),
    Mistake(
        "rounded",
        "The result is rounded.",
        "What becomes of a small difference that is rounded away at every step?",
        answer=lambda h, x, W_h, W_x, b: np.round(_rnn_step(h, x, W_h, W_x, b), 2),
    ),
    Mistake(
        "matrices_swapped",
        "W_x is applied to the state and W_h to the word.",
        "Which matrix has as many columns as the word has entries?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(W_x @ h + W_h @ x + b),
    ),
    Mistake(
        "both_vectors_left",
        "Both vectors stand to the left of their matrices, `h @ W_h + x @ W_x`, as in later chapters.",
        "On which side of a matrix does a column vector stand?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(h @ W_h + x @ W_x + b),
    ),
    Mistake(
        "pair_returned",
        "The state comes back twice, as an output and a state.",
        "What is read from this network: anything besides its state?",
        answer=lambda h, x, W_h, W_x, b: (_rnn_step(h, x, W_h, W_x, b),) * 2,
    ),
    Mistake(
        "row_times_w_x",
        "x stands to the left of W_x, where the sizes do not fit: W_x has m rows and x has d entries.",
        "On which side of a matrix does a column vector stand?",
        answer=lambda h, x, W_h, W_x, b: np.tanh(W_h @ h + x @ W_x + b),
    ),
]


def _step_einsum(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    return np.tanh(np.einsum("ij,j->i", W_h, h) + np.einsum("id,d->i", W_x, x) + b)


def _step_one_matrix(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    return np.tanh(np.concatenate([W_h, W_x, b[:, None]], axis=1) @ np.concatenate([h, x, np.ones(1, h.dtype)]))


def _step_by_exponentials(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    grown = np.exp(2 * (W_h.dot(h) + W_x.dot(x) + b))
    return (grown - 1) / (grown + 1)


def _step_in_loops(h: Array, x: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    out = np.zeros_like(h)
    for i in range(len(h)):
        total = b[i]
        for j in range(len(h)):
            total = total + W_h[i, j] * h[j]
        for j in range(len(x)):
            total = total + W_x[i, j] * x[j]
        out[i] = np.tanh(total)
    return out


RNN_STEP = Exercise(
    name="rnn_step",
    chapter="02",
    summary="The state after one more word, from the state before and the word's row.",
    returns="(m,)",
    reference=rnn_step,
    cases=_rnn_step_cases,
    template=_rnn_step,
    mistakes=_RNN_STEP_MISTAKES,
    accepted={
        "einsum": _step_einsum,
        "one_matrix": _step_one_matrix,
        "by_exponentials": _step_by_exponentials,
        "in_loops": _step_in_loops,
        "rows_times_transposes": lambda h, x, W_h, W_x, b: np.tanh(h @ W_h.T + x @ W_x.T + b),
        "sums_of_products": lambda h, x, W_h, W_x, b: np.tanh((W_h * h).sum(1) + (W_x * x).sum(axis=-1) + b),
    },
    hints=(
        "Three things decide the new state. Which are they, and what shape must each have before they can be added?",
        "Every entry of the new state lies between -1 and 1, and it changes when h, x or b changes.",
        "The sum of all three parts comes first; tanh is applied once, to the whole sum. A column vector stands to the "
        "right of its matrix.",
    ),
)


# ------------------------------------------------------------------------------------------------- rnn_states


def rnn_states(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    """The state after each word, (T, m)."""
    return _rnn_states(xs, h0, W_h, W_x, b)


def _rnn_states(
    xs: Array,
    h0: Array,
    W_h: Array,
    W_x: Array,
    b: Array,
    *,
    step: Callable[..., Array] = _rnn_step,
    start: str = "h0",
    carried: str = "state",
    reading: str = "in order",
    returned: str = "states",
) -> Array:
    """`rnn_states` with switches that turn it into the mistakes below."""
    orders: dict[str, Callable[[], Array]] = {
        "in order": lambda: xs,
        "backwards": lambda: xs[::-1],
        "first word again and again": lambda: np.repeat(xs[:1], len(xs), axis=0),
        "last word again and again": lambda: np.repeat(xs[-1:], len(xs), axis=0),
        "word before": lambda: np.concatenate([0.0 * xs[:1], xs[:-1]]),
        "word after": lambda: np.concatenate([xs[1:], 0.0 * xs[:1]]),
        "sum so far": lambda: np.cumsum(xs, axis=0),
        "mean": lambda: np.repeat(xs.mean(axis=0, keepdims=True), len(xs), axis=0),
        "without first": lambda: xs[1:],
        "without last": lambda: xs[:-1],
        "first twice": lambda: np.concatenate([xs[:1], xs]),
        "each twice": lambda: np.repeat(xs, 2, axis=0),
    }
    starts = {"h0": h0, "zeros": 0.0 * h0, "ones": 1.0 + 0.0 * h0, "W_h h0": W_h @ h0}
    if start == "one step on":
        starts[start] = step(h0, xs[0], W_h, W_x, b)
    states = [starts[start]]
    for x in orders[reading]():
        before = {"state": states[-1], "h0": h0, "sum": states[-1] + h0, "two before": states[max(len(states) - 2, 0)]}
        states.append(step(before[carried], x, W_h, W_x, b))
    all_of_them = np.array(states)
    after = all_of_them[1:].reshape(-1, len(h0))
    results: dict[str, Callable[[], Array]] = {
        "states": lambda: after,
        "with the start": lambda: all_of_them,
        "before each word": lambda: all_of_them[:-1],
        "last": lambda: all_of_them[-1],
        "last as a table": lambda: all_of_them[-1:],
        "last everywhere": lambda: np.repeat(all_of_them[-1:], len(after), axis=0),
        "backwards": lambda: after[::-1],
        "columns": lambda: after.T,
        "one long row": lambda: after.reshape(-1),
        "an axis too many": lambda: after[:, None],
        "mean of each": lambda: after.mean(axis=1),
        "first of each": lambda: after[:, 0],
        "without the first": lambda: after[1:],
        "start at the end": lambda: np.concatenate([after, all_of_them[:1]]),
        "start added": lambda: after + all_of_them[:1],
        "sum of each": lambda: after.sum(axis=1),
        "sums": lambda: np.cumsum(after, axis=0),
        "mean": lambda: after.mean(axis=0),
        "mean so far": lambda: np.cumsum(after, axis=0) / np.arange(1, len(after) + 1)[:, None],
        "last missing": lambda: np.concatenate([after[:-1], 0.0 * after[-1:]]),
        "first missing": lambda: np.concatenate([0.0 * after[:1], after[1:]]),
        "changes": lambda: after - all_of_them[:-1],
        "start first, last left out": lambda: np.concatenate([0.0 * after[:1], after[:-1]]),
    }
    return results[returned]()


def _rnn_states_cases(rng: np.random.Generator) -> Sequence[Case]:
    readable = (
        np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 2.0, 1.0]]),
        np.array([0.5, -0.5]),
        np.array([[0.5, 0.1], [0.0, 0.9]]),
        np.array([[0.3, 0.0, 0.2], [0.0, 0.4, 0.1]]),
        np.array([0.1, -0.2]),
    )
    cases = [Case(readable)]
    for T, m, d in ((5, 3, 2), (3, 5, 7), (7, 2, 5)):
        cases.append(Case((rng.normal(size=(T, d)), rng.uniform(-0.9, 0.9, m), *_network(rng, m, d))))
    cases.append(Case((rng.normal(size=(5, 3)), np.zeros(4), *_network(rng, 4, 3)), note="the start is zero"))
    return cases


def _one_array_again_and_again(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = []
    for x in xs:
        h0[:] = np.tanh(W_h @ h0 + W_x @ x + b)
        states.append(h0)
    return np.array(states)


def _in_place_with_copies(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = []
    for x in xs:
        h0[:] = np.tanh(W_h @ h0 + W_x @ x + b)
        states.append(h0.copy())
    return np.array(states)


def _room_like_xs(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = np.zeros_like(xs)
    h = h0
    for t, x in enumerate(xs):
        h = np.tanh(W_h @ h + W_x @ x + b)
        states[t] = h
    return states


def _whole_numbers(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    return np.zeros((len(xs), len(h0)), dtype=int)


def _starts_from_the_row_before(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    """`states[t - 1]` at t = 0 is the last row of zeros, so h0 is never used: the same as a start of zeros."""
    states = np.zeros((len(xs), len(h0)))
    for t in range(1, len(xs)):
        states[t] = _rnn_step(states[t - 1] if t > 1 else h0, xs[t], W_h, W_x, b)
    return states


def _row_0_never_written(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = np.zeros((len(xs), len(h0)))
    for t in range(1, len(xs)):
        states[t] = _rnn_step(states[t - 1], xs[t], W_h, W_x, b)
    return states


def _returns_after_the_first(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    return _rnn_step(h0, xs[0], W_h, W_x, b)[None]


def _start_in_row_0(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = np.zeros((len(xs), len(h0)))
    states[0] = h0
    for t in range(1, len(xs)):
        states[t] = _rnn_step(states[t - 1], xs[t], W_h, W_x, b)
    return states


_RNN_STATES_MISTAKES = [
    Mistake(
        "not_carried",
        "Every word starts from h0 again: no state is handed on.",
        "Which state does the second step have to start from?",
        switches={"carried": "h0"},
    ),
    Mistake(
        "h0_added_each_time",
        "h0 is added to the state at every step.",
        "How often is the start needed?",
        answer=partial(_rnn_states, carried="sum"),
    ),
    Mistake(
        "two_steps_back",
        "Each step starts from the state two words earlier.",
        "Which state is the newest when word t is read?",
        answer=partial(_rnn_states, carried="two before"),
    ),
    Mistake(
        "starts_from_zeros",
        "The first step starts from zeros; h0 has no effect.",
        "Which of the arguments could be left out without any change?",
        switches={"start": "zeros"},
    ),
    Mistake(
        "starts_from_ones",
        "The first step starts from ones; h0 has no effect.",
        "Which of the arguments could be left out without any change?",
        answer=partial(_rnn_states, start="ones"),
    ),
    Mistake(
        "start_included",
        "T + 1 rows come back: h0 is among them.",
        "How many words have been read when the first row of the answer is written?",
        switches={"returned": "with the start"},
    ),
    Mistake(
        "state_before",
        "Row t is the state before word t: the answer begins with h0, and the last state is missing.",
        "When do you append: before the step or after it?",
        switches={"returned": "before each word"},
    ),
    Mistake(
        "last_only",
        "Only the last state comes back.",
        "How many states does a sentence of T words have?",
        switches={"returned": "last"},
    ),
    Mistake(
        "last_as_a_table",
        "Only the last state comes back, as a table with one row.",
        "Where in the loop is a state kept?",
        switches={"returned": "last as a table"},
    ),
    Mistake(
        "last_everywhere",
        "All rows are the last state.",
        "Is what you keep a new array each time, or the same one under T names?",
        switches={"returned": "last everywhere"},
    ),
    Mistake(
        "rows_backwards",
        "The states are right and come back in the opposite order.",
        "Which state belongs in row 0?",
        switches={"returned": "backwards"},
    ),
    Mistake(
        "columns",
        "The states stand in columns, (m, T).",
        "What does a row of the answer belong to?",
        switches={"returned": "columns"},
    ),
    Mistake(
        "one_long_row",
        "All states stand one after the other in one long row.",
        "How many axes does (T, m) have?",
        switches={"returned": "one long row"},
    ),
    Mistake(
        "an_axis_too_many",
        "Each state is a table with one row, so that the answer has three axes, (T, 1, m).",
        "Which shape does the array have that you keep at each step?",
        switches={"returned": "an axis too many"},
    ),
    Mistake(
        "entries_summed",
        "Each state is added up to one number.",
        "How many numbers does a state have?",
        answer=partial(_rnn_states, returned="sum of each"),
    ),
    Mistake(
        "running_sum",
        "Row t is the sum of the states up to word t.",
        "Does a step replace the state, or is it added to what was there?",
        switches={"returned": "sums"},
    ),
    Mistake(
        "running_mean",
        "Row t is the mean of the states up to word t.",
        "Does a row of the answer hold one state or several?",
        answer=partial(_rnn_states, returned="mean so far"),
    ),
    Mistake(
        "mean_of_states",
        "One vector comes back, the mean of all states.",
        "How many states does a sentence of T words have?",
        answer=partial(_rnn_states, returned="mean"),
    ),
    Mistake(
        "last_row_empty",
        "The last row is zero: the loop ends one word too early.",
        "Which numbers does your `range` run through?",
        switches={"returned": "last missing"},
    ),
    Mistake(
        "first_row_empty",
        "The first row is zero, although the first word was read.",
        "Which row belongs to the first word?",
        switches={"returned": "first missing"},
    ),
    Mistake(
        "changes",
        "Row t is by how much the state changed at word t.",
        "What does the next step need: the state, or what was new in it?",
        answer=partial(_rnn_states, returned="changes"),
    ),
    Mistake(
        "one_row_late",
        "Every state stands one row too low, row 0 is zero, and the last state is missing.",
        "In which row does the state after the first word belong?",
        switches={"returned": "start first, last left out"},
    ),
    Mistake(
        "start_in_row_0",
        "Row 0 holds h0, and the first word is never read.",
        "How many words have been read when row 0 is written?",
        answer=_start_in_row_0,
    ),
    Mistake(
        "first_word_skipped_row_empty",
        "The loop begins with the second word: row 0 stays zero.",
        "Which numbers does your `range` run through?",
        answer=_starts_from_the_row_before,
    ),
    Mistake(
        "row_0_never_written",
        "The loop begins with the second word: row 0 stays zero, the first word is never read, and h0 has no effect.",
        "Which word and which state does row 0 come from?",
        answer=_row_0_never_written,
    ),
    Mistake(
        "returned_too_early",
        "Only the state after the first word comes back: the `return` stands inside the loop.",
        "How far is your `return` indented?",
        answer=_returns_after_the_first,
    ),
    Mistake(
        "read_backwards",
        "The words are read from the last to the first.",
        "Which word is read first?",
        switches={"reading": "backwards"},
    ),
    Mistake(
        "first_word_again",
        "The first word is read again and again.",
        "Which index changes in your loop?",
        answer=partial(_rnn_states, reading="first word again and again"),
    ),
    Mistake(
        "last_word_again",
        "The last word is read again and again.",
        "Which index changes in your loop?",
        answer=partial(_rnn_states, reading="last word again and again"),
    ),
    Mistake(
        "word_before",
        "Step t reads the word before word t, and the first step reads none.",
        "Which word belongs to row t of the answer?",
        switches={"reading": "word before"},
    ),
    Mistake(
        "word_after",
        "Step t reads the word after word t: it looks ahead.",
        "Which word belongs to row t of the answer?",
        answer=partial(_rnn_states, reading="word after"),
    ),
    Mistake(
        "sum_of_words",
        "Each step reads the sum of all words so far.",
        "What does a step read: one word, or all of them again?",
        answer=partial(_rnn_states, reading="sum so far"),
    ),
    Mistake(
        "mean_word",
        "Every step reads the mean of all words.",
        "What does a step read: one word, or all of them at once?",
        answer=partial(_rnn_states, reading="mean"),
    ),
    Mistake(
        "first_word_skipped",
        "The first word is not read, and T - 1 rows come back.",
        "Which numbers does your `range` run through?",
        switches={"reading": "without first"},
    ),
    Mistake(
        "last_word_skipped",
        "The last word is not read, and T - 1 rows come back.",
        "Which numbers does your `range` run through?",
        switches={"reading": "without last"},
    ),
    Mistake(
        "first_word_twice",
        "The first word is read twice, and T + 1 rows come back.",
        "How often is a step taken before the loop?",
        answer=partial(_rnn_states, reading="first twice"),
    ),
    Mistake(
        "each_word_twice",
        "Every word is read twice, and 2 T rows come back.",
        "How often is a step taken in one turn of the loop?",
        answer=partial(_rnn_states, reading="each twice"),
    ),
    Mistake(
        "no_tanh",
        "The states are not squashed: tanh is missing.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, activation="none")},
    ),
    Mistake(
        "w_h_transposed",
        "The state meets the columns of W_h and not its rows, as in `h @ W_h`.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, past="W_h.T @ h")},
    ),
    Mistake(
        "no_bias",
        "The bias b is not added.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, bias=0.0)},
    ),
    Mistake(
        "words_ignored",
        "The states do not depend on the words.",
        "Where does the row of word t enter?",
        answer=partial(_rnn_states, step=partial(_rnn_step, word="none")),
    ),
    Mistake(
        "bias_outside",
        "The bias is added after tanh.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, inside="not the bias")},
    ),
    Mistake(
        "added_to_the_old_state",
        "Each step adds to the state instead of replacing it.",
        "Does `+=` stand where `=` should?",
        switches={"step": partial(_rnn_step, kept=1.0)},
    ),
    Mistake(
        "sigmoid",
        "The states lie between 0 and 1: they go through the logistic sigmoid.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, activation="sigmoid")},
    ),
    Mistake(
        "relu",
        "Negative entries of the states are cut off at zero: that is relu.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, activation="relu")},
    ),
    Mistake(
        "past_forgotten",
        "A state depends on its own word alone: the state before has no part in the step.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, past="none")},
    ),
    Mistake(
        "state_copied",
        "The state before enters a step as it is, without W_h.",
        "Which function has already got one step right?",
        switches={"step": partial(_rnn_step, past="h")},
    ),
    Mistake(
        "bias_twice",
        "The bias is added twice at each step.",
        "Which function has already got one step right?",
        answer=partial(_rnn_states, step=partial(_rnn_step, bias=2.0)),
    ),
    Mistake(
        "word_outside",
        "Only the state before goes through tanh; word and bias are added afterwards.",
        "Which function has already got one step right?",
        answer=partial(_rnn_states, step=partial(_rnn_step, inside="not the word")),
    ),
    Mistake(
        "word_squashed",
        "The word's row goes through tanh before it meets W_x.",
        "Which function has already got one step right?",
        answer=partial(_rnn_states, step=partial(_rnn_step, word="tanh(x)")),
    ),
    Mistake(
        "entries_averaged",
        "Each state is averaged to one number.",
        "How many numbers does a state have?",
        answer=partial(_rnn_states, returned="mean of each"),
    ),
    Mistake(
        "first_entry_only",
        "Only the first entry of each state comes back.",
        "How many numbers does a state have?",
        answer=partial(_rnn_states, returned="first of each"),
    ),
    Mistake(
        "first_state_dropped",
        "All words are read, but the state after the first of them is left out.",
        "How many words have been read when the first row of the answer is written?",
        answer=partial(_rnn_states, returned="without the first"),
    ),
    Mistake(
        "start_at_the_end",
        "h0 stands in the last row, behind the states.",
        "How many words have been read when the last row of the answer is written?",
        answer=partial(_rnn_states, returned="start at the end"),
    ),
    Mistake(
        "start_added_to_all",
        "h0 is added to every state of the answer.",
        "How often is the start needed?",
        answer=partial(_rnn_states, returned="start added"),
    ),
    Mistake(
        "start_through_w_h",
        "W_h is applied to h0 before the first step, which applies it again.",
        "What does one step do to the state that it is given?",
        answer=partial(_rnn_states, start="W_h h0"),
    ),
    Mistake(
        "first_word_read_before",
        "The first word is read once before the loop and again inside it.",
        "How often is a step taken before the loop?",
        answer=partial(_rnn_states, start="one step on"),
    ),
    Mistake(
        "one_array",
        "h0 is overwritten, and all rows are the same array: each shows the last state.",
        "Is what you append a new array each time, or the same one under T names?",
        answer=_one_array_again_and_again,
    ),
    Mistake(
        "start_overwritten",
        "The states are right, but the caller's h0 is overwritten.",
        "What would a second call with the same h0 give?",
        answer=_in_place_with_copies,
    ),
    Mistake(
        "room_like_xs",
        "The room for the answer has the shape of xs, (T, d), and a state has m entries.",
        "How wide is a row of the answer?",
        answer=_room_like_xs,
    ),
    Mistake(
        "whole_numbers",
        "All entries are 0: the room for the answer holds whole numbers, and they cut off everything behind the point.",
        "Which dtype does your array have?",
        answer=_whole_numbers,
    ),
    Mistake(
        "list_returned",
        "A list of states comes back, not one array.",
        "Which NumPy function makes one array of T rows?",
        answer=lambda xs, h0, W_h, W_x, b: list(_rnn_states(xs, h0, W_h, W_x, b)),
    ),
    Mistake(
        "pair_returned",
        "The states come back together with the last state, as a pair.",
        "What does the signature say comes back?",
        answer=lambda xs, h0, W_h, W_x, b: (
            (states := _rnn_states(xs, h0, W_h, W_x, b)),
            states[-1],
        ),
    ),
]


def _states_into_zeros(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    states = np.zeros((len(xs), len(h0)))
    for t in range(len(xs)):
        states[t] = np.tanh(W_h @ (states[t - 1] if t else h0) + W_x @ xs[t] + b)
    return states


def _states_words_first(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    h, states = h0, []
    for part in xs @ W_x.T + b:  # what the words bring needs no waiting: one matrix product for all of them
        states.append(h := np.tanh(W_h @ h + part))
    return np.stack(states)


def _states_recursive(xs: Array, h0: Array, W_h: Array, W_x: Array, b: Array) -> Array:
    if len(xs) == 1:
        return _rnn_step(h0, xs[0], W_h, W_x, b)[None]
    before = _states_recursive(xs[:-1], h0, W_h, W_x, b)
    return np.vstack([before, _rnn_step(before[-1], xs[-1], W_h, W_x, b)])


RNN_STATES = Exercise(
    name="rnn_states",
    chapter="02",
    summary="The state after each word of a sentence.",
    returns="(T, m)",
    reference=rnn_states,
    cases=_rnn_states_cases,
    template=_rnn_states,
    mistakes=_RNN_STATES_MISTAKES,
    accepted={
        "into_zeros": _states_into_zeros,
        "words_first": _states_words_first,
        "recursive": _states_recursive,
    },
    hints=(
        "Which state does step t start from, and which does step 0 start from?",
        "Row t depends on the words 0 to t and on h0, and on no later word. There are T rows; h0 is none of them.",
        "Inside the loop: take one step, keep its result, and make it the state from which the next step starts.",
    ),
)


# ------------------------------------------------------------------------------------------------------ reach


def reach(states: Array, W_h: Array) -> Array:
    """The spectral norm of ∂(last state)/∂(state t), (T,), for h_t = tanh(W_h h_(t-1) + …); the last is 1.

    ∂h_t/∂h_(t-1) = diag(1 - h_t²) W_h (Pascanu, Mikolov and Bengio 2013, "On the difficulty of training recurrent
    neural networks", equation 5, with the tanh outside).
    """
    return _reach(states, W_h)


#: Of a stack of matrices, (T, m, m) → (T,): the judge tries thousands of pairs of mistakes, so no loop over t.
_NORMS: dict[str, Callable[[Array], Array]] = {
    "spectral": lambda J: np.linalg.svd(J, compute_uv=False)[:, 0],
    "Frobenius": lambda J: np.sqrt((J**2).sum(axis=(1, 2))),
    "radius": lambda J: np.abs(np.linalg.eigvals(J)).max(axis=1),
    "largest entry": lambda J: np.abs(J).max(axis=(1, 2)),
    "mean entry": lambda J: np.abs(J).mean(axis=(1, 2)),
    "sum of entries": lambda J: np.abs(J).sum(axis=(1, 2)),
    "column sums": lambda J: np.abs(J).sum(axis=1).max(axis=1),
    "row sums": lambda J: np.abs(J).sum(axis=2).max(axis=1),
    "nuclear": lambda J: np.linalg.svd(J, compute_uv=False).sum(axis=1),
    "smallest": lambda J: np.linalg.svd(J, compute_uv=False)[:, -1],
    "signed sum": lambda J: J.sum(axis=(1, 2)),
    "signed largest": lambda J: J.max(axis=(1, 2)),
    "signed determinant": np.linalg.det,
    "largest real part": lambda J: np.linalg.eigvals(J).real.max(axis=1),
    "determinant": lambda J: np.abs(np.linalg.det(J)),
    "trace": lambda J: np.abs(np.trace(J, axis1=1, axis2=2)),
    "squared": lambda J: np.linalg.svd(J, compute_uv=False)[:, 0] ** 2,
    "per entry": lambda J: np.sqrt((J**2).mean(axis=(1, 2))),
    "per row": lambda J: np.sqrt((J**2).sum(axis=(1, 2)) / J.shape[1]),
    "mean of singular values": lambda J: np.linalg.svd(J, compute_uv=False).mean(axis=1),
    "longest row": lambda J: np.sqrt((J**2).sum(axis=2).max(axis=1)),
    "longest column": lambda J: np.sqrt((J**2).sum(axis=1).max(axis=1)),
    "of ones": lambda J: np.sqrt((J.sum(axis=2) ** 2).mean(axis=1)),
}

_SLOPES: dict[str, Callable[[Array], Array]] = {
    "1 - h²": lambda h: 1 - h**2,
    "none": lambda h: 1 + 0 * h,
    "1 - tanh²(h)": lambda h: 1 - np.tanh(h) ** 2,
    "1 - h": lambda h: 1 - h,
    "h²": lambda h: h**2,
    "1 + h²": lambda h: 1 + h**2,
    "(1 - h)²": lambda h: (1 - h) ** 2,
    "h (1 - h)": lambda h: h * (1 - h),
    "h": lambda h: h,
    "tanh(h)": np.tanh,
    "twice": lambda h: (1 - h**2) ** 2,
    "doubled": lambda h: 2 * (1 - h**2),
    "2h": lambda h: 2 * h,
    "1 - 2h": lambda h: 1 - 2 * h,
    "root": lambda h: np.sqrt(1 - h**2),
    "|h|": lambda h: 1 - np.abs(h),
    "relu": lambda h: (h > 0).astype(h.dtype),
    "mean": lambda h: np.full_like(h, (1 - h**2).mean()),
}


def _steps(slopes: Array, W: Array, at: str, jacobian: str) -> list[Array]:
    """∂(state t + 1)/∂(state t) for t = 0 … T - 2."""
    T, m = slopes.shape
    rows = {"arrival": range(1, T), "departure": range(T - 1), "last": [T - 1] * (T - 1), "first": [0] * (T - 1)}[at]
    made: dict[str, Callable[[Array], Array]] = {
        "rows": lambda s: s[:, None] * W,
        "columns": lambda s: W * s,
        "diagonal of W_h": lambda s: np.diag(s * np.diag(W)),
        "sum": lambda s: np.diag(s) + W,
        "with a copy": lambda s: np.eye(m) + s[:, None] * W,
    }
    return [made[jacobian](slopes[row]) for row in rows]


def _joined(total: Array, step: Array, order: str, first_step: bool) -> Array:
    """The product of all steps so far, `total`, and one more."""
    if order == "newest left":
        return np.asarray(step @ total)
    if order == "newest right":
        return np.asarray(total @ step)
    if first_step:
        return step
    return step * total if order == "entry by entry" else step + total


def _reach(
    states: Array,
    W_h: Array,
    *,
    slope: str = "1 - h²",
    at: str = "arrival",
    jacobian: str = "rows",
    order: str = "newest left",
    norm: str = "spectral",
    steps: str = "all",
    matrix: str = "W_h",
    last: str = "computed",
    result: str = "reach",
) -> Array:
    """`reach` with switches that turn it into the mistakes below."""
    T, m = states.shape
    W = {"W_h": W_h, "transposed": W_h.T, "none": np.eye(m), "absolute": np.abs(W_h)}[matrix]
    slopes, length = _SLOPES[slope](states), _NORMS[norm]
    one_step = _steps(slopes, W, at, jacobian)

    def path(first: int, last: int) -> Array:
        """The product of the steps first … last - 1."""
        total = np.eye(m)
        for t in range(first, last):
            total = _joined(total, one_step[t], order, first_step=t == first)
        return total

    spans: dict[str, Callable[[int], Array]] = {
        "all": lambda t: path(t, T - 1),
        "one": lambda t: path(t, min(t + 1, T - 1)),
        "last one": lambda t: path(max(T - 2, t), T - 1),
        "from the start": lambda t: path(0, t),
        "one too few": lambda t: path(min(t + 1, T - 1), T - 1),
        "last left out": lambda t: path(t, max(T - 2, t)),
        "one too many": lambda t: path(t, T - 1) @ (slopes[t][:, None] * W),
        "W_h once more": lambda t: W @ path(t, T - 1),
        "arriving at each": lambda t: slopes[t][:, None] * W,
        "slopes first, then powers": lambda t: (
            slopes[t + 1 :].prod(axis=0)[:, None] * np.linalg.matrix_power(W, T - 1 - t)
        ),
        "from ones": lambda t: np.ones((m, m)) @ path(t, T - 1),
        "from zeros": lambda t: 0 * path(t, T - 1),
        "slope once": lambda t: slopes[-1][:, None] * np.linalg.matrix_power(W, T - 1 - t),
        "gradient of the sum": lambda t: np.ones((1, m)) @ path(t, T - 1),
        "gradient of an entry": lambda t: path(t, T - 1)[:1],
    }
    values = length(np.array([spans[steps](t) for t in range(T)]))
    if last == "set to 1":
        values[-1] = 1.0

    def singles() -> Array:
        return np.append(length(np.array(one_step)), 1.0) if one_step else np.ones(1)

    results: dict[str, Callable[[], Array]] = {
        "reach": lambda: values,
        "backwards": lambda: values[::-1].copy(),
        "product of norms": lambda: np.cumprod(singles()[::-1])[::-1].copy(),
        "sum of norms": lambda: np.cumsum(singles()[::-1])[::-1].copy(),
        "capped": lambda: np.minimum(values, 1.0),
        "norms times slopes": lambda: np.array(
            [float(length(W[None])[0]) ** (T - 1 - t) * float(slopes[t + 1 :].prod()) for t in range(T)]
        ),
        "last is zero": lambda: np.concatenate([values[:-1], [0.0]]),
        "last is the norm of W_h": lambda: np.append(values[:-1], length(W_h[None])),
        "last missing": lambda: values[:-1],
        "first missing": lambda: values[1:],
        "one more": lambda: np.concatenate([values, [1.0]]),
        "first only": lambda: values[0],
        "relative": lambda: values / values.sum(),
        "relative to the largest": lambda: values / values.max(),
        "relative to the first": lambda: values / values[0],
        "log": lambda: np.log(values),
        "log10": lambda: np.log10(values),
        "column": lambda: values[:, None],
        "running": lambda: np.cumprod(values[::-1])[::-1].copy(),
    }
    return results[result]()


def _reach_cases(rng: np.random.Generator) -> Sequence[Case]:
    readable = (
        np.array([[0.5, -0.5], [0.1, 0.8], [-0.6, 0.2], [0.4, 0.3]]),
        np.array([[0.5, 0.2], [-0.1, 0.9]]),
    )
    cases = [Case(readable)]
    for T, m in ((5, 3), (3, 5), (7, 2), (2, 3)):
        W_h = rng.normal(size=(m, m)) * 1.2 / np.sqrt(m)
        if T == 2 and np.linalg.det(W_h) > 0:  # one step whose determinant is negative: a sign tells two mistakes apart
            W_h[0] *= -1
        cases.append(Case((rng.uniform(0.25, 0.85, (T, m)) * rng.choice([-1.0, 1.0], (T, m)), W_h)))
    cases.append(Case((rng.uniform(-0.8, 0.8, (1, 3)), rng.normal(size=(3, 3))), note="a single state"))
    return cases


def _list_of_jacobians(states: Array, W_h: Array) -> Array:
    products = [np.eye(len(W_h))]
    for h in states[:0:-1]:
        products.append(products[-1] @ ((1 - h**2)[:, None] * W_h))
    return np.array(products[::-1])


def _powers_of_w_h(states: Array, W_h: Array) -> Array:
    T = len(states)
    return np.array([np.linalg.norm(W_h, 2) ** (T - 1 - t) for t in range(T)])


def _powers_of_the_radius(states: Array, W_h: Array) -> Array:
    T, radius = len(states), np.abs(np.linalg.eigvals(W_h)).max()
    return np.array([radius ** (T - 1 - t) for t in range(T)])


def _lengths_of_states(states: Array, W_h: Array) -> Array:
    return np.linalg.norm(states, axis=1)


def _distances_to_the_last(states: Array, W_h: Array) -> Array:
    return np.linalg.norm(states[-1] - states, axis=1)


def _without_the_running_product(states: Array, W_h: Array) -> Array:
    T, m = states.shape
    total = np.eye(m)
    for t in range(T - 2, -1, -1):
        total = total @ ((1 - states[t + 1] ** 2)[:, None] * W_h)
    return np.full(T, np.linalg.norm(total, 2))


def _diagonal_as_a_vector_product(states: Array, W_h: Array) -> Array:
    T = len(states)
    out = np.ones(T)
    for t in range(T - 2, -1, -1):
        out[t] = out[t + 1] * np.linalg.norm((1 - states[t + 1] ** 2) @ W_h)
    return out


_REACH_MISTAKES = [
    Mistake(
        "tanh_forgotten",
        "Only powers of W_h are multiplied: tanh has no part in it.",
        "How much does tanh pass on where the state is near 1?",
        switches={"slope": "none"},
    ),
    Mistake(
        "tanh_applied_again",
        "The slope is taken as 1 - tanh²(h), but h has already been through tanh.",
        "If h = tanh(a), what is the slope at a, written with h?",
        switches={"slope": "1 - tanh²(h)"},
    ),
    Mistake(
        "square_missing",
        "The slope is taken as 1 - h, without a square.",
        "What is the slope of tanh for h = -0.5 and for h = 0.5: the same, or not?",
        switches={"slope": "1 - h"},
    ),
    Mistake(
        "square_only",
        "The slope is taken as h², which is small where tanh is steep.",
        "What is the slope of tanh at h = 0?",
        switches={"slope": "h²"},
    ),
    Mistake(
        "plus_square",
        "The slope is taken as 1 + h²; that is above 1 everywhere.",
        "Where is tanh steepest, and how steep is it there?",
        switches={"slope": "1 + h²"},
    ),
    Mistake(
        "bracket_squared",
        "The slope is taken as (1 - h)²: the square stands outside the bracket.",
        "What is the slope of tanh for h = -0.5 and for h = 0.5: the same, or not?",
        switches={"slope": "(1 - h)²"},
    ),
    Mistake(
        "slope_of_the_sigmoid",
        "The slope is taken as h (1 - h), which belongs to the logistic sigmoid.",
        "Which function squashes the state here?",
        answer=partial(_reach, slope="h (1 - h)"),
    ),
    Mistake(
        "state_for_slope",
        "The state itself stands where the slope of tanh should be.",
        "What is the slope of tanh at h = 0?",
        switches={"slope": "h"},
    ),
    Mistake(
        "tanh_for_slope",
        "tanh of the state stands where the slope of tanh should be.",
        "What is the slope of tanh at h = 0?",
        answer=partial(_reach, slope="tanh(h)"),
    ),
    Mistake(
        "slope_twice",
        "The slope of tanh is multiplied in twice for each step.",
        "How often does a step go through tanh?",
        switches={"slope": "twice"},
    ),
    Mistake(
        "slope_doubled",
        "The slope is taken as 2 (1 - h²).",
        "What is the slope of tanh at h = 0?",
        answer=partial(_reach, slope="doubled"),
    ),
    Mistake(
        "slope_2h",
        "The slope is taken as 2h, which is the slope of a square.",
        "What is the slope of tanh at h = 0?",
        answer=partial(_reach, slope="2h"),
    ),
    Mistake(
        "slope_1_minus_2h",
        "The slope is taken as 1 - 2h.",
        "What is the slope of tanh for h = -0.5 and for h = 0.5: the same, or not?",
        answer=partial(_reach, slope="1 - 2h"),
    ),
    Mistake(
        "slope_with_root",
        "The slope is taken as the square root of 1 - h².",
        "What is the slope of tanh for h = 0.6?",
        answer=partial(_reach, slope="root"),
    ),
    Mistake(
        "absolute_value_for_square",
        "The slope is taken as 1 - |h|, without a square.",
        "What is the slope of tanh for h = 0.5?",
        answer=partial(_reach, slope="|h|"),
    ),
    Mistake(
        "slope_of_relu",
        "The slope is taken as 1 where the state is positive, and 0 elsewhere: that belongs to relu.",
        "Which function squashes the state here?",
        answer=partial(_reach, slope="relu"),
    ),
    Mistake(
        "mean_slope",
        "One mean slope is used for all entries of a state.",
        "Can one entry of a state be near 1 and another near 0?",
        answer=partial(_reach, slope="mean"),
    ),
    Mistake(
        "slope_at_the_start_of_the_step",
        "The slope is taken at the state from which a step starts, not where it arrives.",
        "Which of the two states came out of the tanh of that step?",
        switches={"at": "departure"},
    ),
    Mistake(
        "slope_at_the_last_state",
        "Every step uses the slope at the last state.",
        "Do all steps arrive at the same state?",
        answer=partial(_reach, at="last"),
    ),
    Mistake(
        "slope_at_the_first_state",
        "Every step uses the slope at the first state.",
        "Do all steps arrive at the same state?",
        answer=partial(_reach, at="first"),
    ),
    Mistake(
        "columns_scaled",
        "The slopes multiply the columns of W_h, not its rows: `W_h * slope` in NumPy goes along the columns.",
        "Does tanh come after W_h or before it?",
        switches={"jacobian": "columns"},
    ),
    Mistake(
        "diagonal_only",
        "Only the diagonal of W_h is used.",
        "Can one entry of a state change another entry of the next state?",
        answer=partial(_reach, jacobian="diagonal of W_h"),
    ),
    Mistake(
        "slope_added",
        "The slope is added to W_h instead of multiplied with it.",
        "What does the chain rule do with the slopes of functions applied one after the other?",
        answer=partial(_reach, jacobian="sum"),
    ),
    Mistake(
        "copy_added",
        "Each step has a 1 on the diagonal added, as if the old state were added to the new one.",
        "Does `rnn_step` replace the state or add to it?",
        answer=partial(_reach, jacobian="with a copy"),
    ),
    Mistake(
        "wrong_order",
        "The steps are multiplied in the wrong order: the first step stands on the left.",
        "In a product of matrices, which one is applied first?",
        switches={"order": "newest right"},
    ),
    Mistake(
        "multiplied_entry_by_entry",
        "The steps are multiplied entry by entry (`*`), not as matrices.",
        "Which sign means a matrix product in NumPy?",
        switches={"order": "entry by entry"},
    ),
    Mistake(
        "steps_added",
        "The steps are added, not multiplied.",
        "If each of three steps halves a change, what is left at the end?",
        answer=partial(_reach, order="sum"),
    ),
    Mistake(
        "w_h_transposed",
        "The steps use W_h transposed.",
        "Does entry [i, j] of a step say how state i changes with j, or the other way round?",
        switches={"matrix": "transposed"},
    ),
    Mistake(
        "w_h_forgotten",
        "Only the slopes of tanh are multiplied: W_h has no part in it.",
        "Which of the arguments could be left out without any change?",
        switches={"matrix": "none"},
    ),
    Mistake(
        "absolute_w_h",
        "The signs of W_h are dropped.",
        "Can two paths through the network cancel?",
        answer=partial(_reach, matrix="absolute"),
    ),
    Mistake(
        "frobenius",
        "The norm is the root of the sum of all squared entries: that is what `np.linalg.norm` does with a matrix "
        "when it is told nothing else.",
        "What is the norm of the unit matrix, and what must the last entry be?",
        switches={"norm": "Frobenius"},
    ),
    Mistake(
        "spectral_radius",
        "You take the largest absolute eigenvalue, the spectral radius; a matrix can stretch a vector by more.",
        "How much can [[0, 9], [0, 0]] stretch a vector, and what are its eigenvalues?",
        switches={"norm": "radius"},
    ),
    Mistake(
        "largest_entry",
        "You take the largest absolute entry of the matrix.",
        "How long can the image of a vector of length 1 be when all entries are 0.5?",
        switches={"norm": "largest entry"},
    ),
    Mistake(
        "mean_entry",
        "You take the mean of the absolute entries.",
        "What is the mean entry of the unit matrix, and what must the last entry be?",
        answer=partial(_reach, norm="mean entry"),
    ),
    Mistake(
        "sum_of_entries",
        "You take the sum of the absolute entries.",
        "What is that for the unit matrix, and what must the last entry be?",
        answer=partial(_reach, norm="sum of entries"),
    ),
    Mistake(
        "sum_of_signed_entries",
        "Before the last value, you add up the entries, signs and all.",
        "Can a change be stretched by a negative factor?",
        answer=partial(_reach, norm="signed sum", last="set to 1"),
    ),
    Mistake(
        "largest_signed_entry",
        "You take the largest entry of the matrix, and a large negative one counts for nothing.",
        "How long can the image of a vector of length 1 be when all entries are -0.5?",
        answer=partial(_reach, norm="signed largest"),
    ),
    Mistake(
        "signed_determinant",
        "You take the determinant: how volumes change, not lengths.",
        "Can a length be stretched by a negative factor?",
        answer=partial(_reach, norm="signed determinant"),
    ),
    Mistake(
        "largest_real_eigenvalue",
        "You take the largest real part of the eigenvalues.",
        "How much can [[0, 9], [0, 0]] stretch a vector, and what are its eigenvalues?",
        answer=partial(_reach, norm="largest real part"),
    ),
    Mistake(
        "norm_1",
        "You take the largest column sum (the 1-norm).",
        "Which of NumPy's norms of a matrix is its largest singular value?",
        answer=partial(_reach, norm="column sums"),
    ),
    Mistake(
        "norm_infinity",
        "You take the largest row sum (the infinity norm).",
        "Which of NumPy's norms of a matrix is its largest singular value?",
        answer=partial(_reach, norm="row sums"),
    ),
    Mistake(
        "nuclear",
        "You take the sum of all singular values.",
        "How much can a matrix stretch one vector: by all its singular values at once?",
        answer=partial(_reach, norm="nuclear"),
    ),
    Mistake(
        "smallest_singular_value",
        "You take the smallest singular value: what is left of the least lucky direction.",
        "In which order does `svd` return the singular values?",
        answer=partial(_reach, norm="smallest"),
    ),
    Mistake(
        "determinant",
        "You take the absolute determinant: how volumes change, not lengths.",
        "What is the determinant of a matrix that stretches one direction and loses another?",
        answer=partial(_reach, norm="determinant"),
    ),
    Mistake(
        "trace",
        "You take the absolute trace.",
        "What is the trace of the unit matrix, and what must the last entry be?",
        answer=partial(_reach, norm="trace"),
    ),
    Mistake(
        "norm_squared",
        "Your values are the squares of the norms.",
        "The largest eigenvalue of JᵀJ is the square of what?",
        switches={"norm": "squared"},
    ),
    Mistake(
        "per_entry",
        "The norm is the root of the mean squared entry.",
        "What is that for the unit matrix, and what must the last entry be?",
        answer=partial(_reach, norm="per entry"),
    ),
    Mistake(
        "mean_stretch",
        "The norm is the Frobenius norm divided by the root of m: how much a random direction is stretched.",
        "Is the spectral norm about a typical direction, or about the one that is stretched most?",
        answer=partial(_reach, norm="per row"),
    ),
    Mistake(
        "frobenius_before_the_last",
        "Before the last value, the norm is the root of the sum of all squared entries: NumPy's default for a matrix.",
        "Which of NumPy's norms of a matrix is its largest singular value?",
        switches={"norm": "Frobenius", "last": "set to 1"},
    ),
    Mistake(
        "nuclear_before_the_last",
        "Before the last value, you take the sum of all singular values.",
        "How much can a matrix stretch one vector: by all its singular values at once?",
        switches={"norm": "nuclear", "last": "set to 1"},
    ),
    Mistake(
        "sum_of_entries_before_the_last",
        "Before the last value, you take the sum of the absolute entries.",
        "What is that for the unit matrix, which stretches nothing?",
        answer=partial(_reach, norm="sum of entries", last="set to 1"),
    ),
    Mistake(
        "mean_entry_before_the_last",
        "Before the last value, you take the mean of the absolute entries.",
        "What is that for the unit matrix, which stretches nothing?",
        answer=partial(_reach, norm="mean entry", last="set to 1"),
    ),
    Mistake(
        "per_entry_before_the_last",
        "Before the last value, you take the root of the mean squared entry.",
        "What is that for the unit matrix, which stretches nothing?",
        answer=partial(_reach, norm="per entry", last="set to 1"),
    ),
    Mistake(
        "trace_before_the_last",
        "Before the last value, you take the absolute trace.",
        "What is that for the unit matrix, which stretches nothing?",
        answer=partial(_reach, norm="trace", last="set to 1"),
    ),
    Mistake(
        "mean_singular_value",
        "You take the mean of the singular values.",
        "Is the spectral norm about a typical direction, or about the one that is stretched most?",
        answer=partial(_reach, norm="mean of singular values"),
    ),
    Mistake(
        "longest_row",
        "You take the length of the longest row of the matrix.",
        "Which vector does a row show: what a change becomes, or what an entry reacts to?",
        answer=partial(_reach, norm="longest row"),
    ),
    Mistake(
        "longest_column",
        "You take the length of the longest column: how far a change of a single entry reaches.",
        "Can a change of several entries at once reach further?",
        answer=partial(_reach, norm="longest column"),
    ),
    Mistake(
        "one_direction",
        "You measure how much one direction, all ones, is stretched.",
        "Is the direction that is stretched most always the same?",
        answer=partial(_reach, norm="of ones"),
    ),
    Mistake(
        "one_step_only",
        "Each value covers one step, from state t to state t + 1.",
        "How many steps lie between state 0 and the last one?",
        switches={"steps": "one"},
    ),
    Mistake(
        "one_step_each",
        "Each value covers the single step that arrives at state t.",
        "How many steps lie between state 0 and the last one?",
        answer=partial(_reach, steps="arriving at each"),
    ),
    Mistake(
        "slopes_apart_from_matrices",
        "All slopes are multiplied first, and then a power of W_h: the steps lose their order.",
        "Does slope times W_h times slope equal slope times slope times W_h?",
        answer=partial(_reach, steps="slopes first, then powers"),
    ),
    Mistake(
        "last_step_only",
        "Every value before the last is the norm of the last step alone.",
        "How many steps lie between state 0 and the last one?",
        answer=partial(_reach, steps="last one"),
    ),
    Mistake(
        "from_the_first_state",
        "Your values say how far state 0 reaches to state t: the first is 1.",
        "Which state stays the same in all T derivatives: the one that is changed, or the one that is watched?",
        switches={"steps": "from the start"},
    ),
    Mistake(
        "one_step_too_few",
        "Each value lacks its first step: it belongs to the state after.",
        "Which value must be the norm of a single step?",
        switches={"steps": "one too few"},
    ),
    Mistake(
        "last_step_missing",
        "The step into the last state is missing from every product.",
        "Which states does your loop go through?",
        answer=partial(_reach, steps="last left out"),
    ),
    Mistake(
        "one_step_too_many",
        "Each value has one step too many, from a state further back.",
        "How many steps lie between the last state and itself?",
        switches={"steps": "one too many"},
    ),
    Mistake(
        "last_set_one_step_too_many",
        "Before the last value, each has one step too many, with the slope at state t itself.",
        "Which state did the step come from that arrives at state t?",
        switches={"steps": "one too many", "last": "set to 1"},
    ),
    Mistake(
        "starts_with_w_h",
        "The product starts with W_h and not with the unit matrix, so each value before the last has one W_h too many.",
        "How many steps lie between the last state and itself?",
        answer=partial(_reach, steps="W_h once more", last="set to 1"),
    ),
    Mistake(
        "starts_with_ones",
        "The product starts with a matrix full of ones.",
        "Which matrix changes nothing that it is multiplied with?",
        answer=partial(_reach, steps="from ones", last="set to 1"),
    ),
    Mistake(
        "starts_with_zeros",
        "The product starts with a matrix of zeros, so everything before the last is 0.",
        "Which matrix changes nothing that it is multiplied with?",
        answer=partial(_reach, steps="from zeros", last="set to 1"),
    ),
    Mistake(
        "slope_only_once",
        "The slope of tanh is used once, at the last state; the steps before are bare powers of W_h.",
        "How often does a change pass through tanh on its way?",
        answer=partial(_reach, steps="slope once", last="set to 1"),
    ),
    Mistake(
        "slope_only_once_everywhere",
        "Powers of W_h are multiplied with one slope, that of the last state, also where no step is taken.",
        "How often does a change pass through tanh on its way, and how often on no way at all?",
        answer=partial(_reach, steps="slope once"),
    ),
    Mistake(
        "gradient_of_the_sum",
        "You follow the gradient of one number, the sum of the last state, back through the steps.",
        "How many entries does the last state have, and is their sum the whole of it?",
        answer=partial(_reach, steps="gradient of the sum", last="set to 1"),
    ),
    Mistake(
        "gradient_of_one_entry",
        "You follow one entry of the last state back through the steps.",
        "How many entries does the last state have?",
        answer=partial(_reach, steps="gradient of an entry"),
    ),
    Mistake(
        "w_h_once_too_often",
        "W_h is applied once more at the end of every path.",
        "How many steps lie between the last state and itself?",
        answer=partial(_reach, steps="W_h once more"),
    ),
    Mistake(
        "rows_backwards",
        "The values are right and in the opposite order: the first is 1.",
        "Which state is the last one nearest to?",
        switches={"result": "backwards"},
    ),
    Mistake(
        "product_of_norms",
        "You multiply the norms of the steps; that is only an upper bound of the norm of their product.",
        "Must the direction that one step stretches most be the one that the next step stretches most?",
        switches={"result": "product of norms"},
    ),
    Mistake(
        "sum_of_norms",
        "You add up the norms of the steps.",
        "If each of three steps halves a change, what is left at the end?",
        answer=partial(_reach, result="sum of norms"),
    ),
    Mistake(
        "last_is_zero",
        "The last value comes out as 0.",
        "If the last state moves by 0.1, by how much does the last state move?",
        switches={"result": "last is zero"},
    ),
    Mistake(
        "last_is_norm_of_w_h",
        "The last value is the norm of W_h.",
        "How many steps lie between the last state and itself?",
        answer=partial(_reach, result="last is the norm of W_h"),
    ),
    Mistake(
        "last_left_out",
        "T - 1 values come back: the last one is missing.",
        "If the last state moves by 0.1, by how much does the last state move?",
        switches={"result": "last missing"},
    ),
    Mistake(
        "first_left_out",
        "T - 1 values come back: the first one is missing.",
        "How far back does your loop go?",
        answer=partial(_reach, result="first missing"),
    ),
    Mistake(
        "one_value_too_many",
        "T + 1 values come back.",
        "How many states are there, and which of them has the value 1?",
        answer=partial(_reach, result="one more"),
    ),
    Mistake(
        "first_only",
        "One number comes back: the reach of state 0.",
        "How many states are there?",
        answer=partial(_reach, result="first only"),
    ),
    Mistake(
        "normalised",
        "The values are divided by their sum.",
        "What must the last value be?",
        answer=partial(_reach, result="relative"),
    ),
    Mistake(
        "relative_to_the_largest",
        "The values are divided by the largest of them.",
        "May a state reach further than 1?",
        answer=partial(_reach, result="relative to the largest"),
    ),
    Mistake(
        "relative_to_the_first",
        "The values are divided by the first of them.",
        "Which value is 1 in any case?",
        answer=partial(_reach, result="relative to the first"),
    ),
    Mistake(
        "capped_at_1",
        "Values above 1 are cut off.",
        "May a state reach further than 1?",
        answer=partial(_reach, result="capped"),
    ),
    Mistake(
        "norms_times_slopes",
        "You multiply a power of the norm of W_h with all slopes of all entries.",
        "Does a change pass through every entry one after the other, or through all of them at once?",
        answer=partial(_reach, result="norms times slopes"),
    ),
    Mistake(
        "logarithm",
        "Logarithms come back.",
        "What is the logarithm of 1, and what must the last value be?",
        answer=partial(_reach, result="log"),
    ),
    Mistake(
        "logarithm_to_base_10",
        "Powers of ten come back: logarithms to base 10.",
        "What is the logarithm of 1, and what must the last value be?",
        answer=partial(_reach, result="log10"),
    ),
    Mistake(
        "column",
        "The values stand in a table with one column, (T, 1).",
        "How many axes does (T,) have?",
        switches={"result": "column"},
    ),
    Mistake(
        "products_multiplied_again",
        "Values that cover the whole path already are multiplied with each other once more.",
        "Which states does the value for state 0 already cover?",
        answer=partial(_reach, result="running"),
    ),
    Mistake(
        "matrices_returned",
        "The matrices themselves come back, without a norm.",
        "Which single number says how much a matrix can stretch a vector?",
        answer=_list_of_jacobians,
    ),
    Mistake(
        "powers_of_the_norm",
        "You raise the norm of W_h to the number of steps; tanh and the directions have no part in it.",
        "How much does tanh pass on where the state is near 1?",
        answer=_powers_of_w_h,
    ),
    Mistake(
        "powers_of_the_radius",
        "You raise the spectral radius of W_h to the number of steps; tanh and the directions have no part in it.",
        "How much does tanh pass on where the state is near 1?",
        answer=_powers_of_the_radius,
    ),
    Mistake(
        "lengths_of_states",
        "You return how long each state is, not how much it changes the last one.",
        "Which of the arguments could be left out without any change?",
        answer=_lengths_of_states,
    ),
    Mistake(
        "distances_to_the_last",
        "You return how far each state is from the last one, not how much it changes it.",
        "Which of the arguments could be left out without any change?",
        answer=_distances_to_the_last,
    ),
    Mistake(
        "same_everywhere",
        "All T values are that of state 0: the norm is taken once, after the loop.",
        "When is the product for state t complete?",
        answer=_without_the_running_product,
    ),
    Mistake(
        "slope_times_matrix_is_a_vector",
        "The slopes are multiplied into W_h as a row vector, so each step becomes a vector and not a matrix.",
        "Which shape must ∂(state t + 1)/∂(state t) have?",
        answer=_diagonal_as_a_vector_product,
    ),
    Mistake(
        "list_returned",
        "A list comes back, not an array.",
        "Which NumPy function makes an array of a list?",
        answer=lambda states, W_h: [float(v) for v in _reach(states, W_h)],
    ),
]


def _reach_transposed_path(states: Array, W_h: Array) -> Array:
    """As backpropagation does it: the transposes, in the opposite order; the norm of a transpose is the same."""
    total, out = np.eye(len(W_h)), np.ones(len(states))
    for t in range(len(states) - 1, 0, -1):
        total = W_h.T @ np.diag(1 - states[t] ** 2) @ total
        out[t - 1] = np.linalg.svd(total, compute_uv=False)[0]
    return out


def _reach_from_scratch(states: Array, W_h: Array) -> Array:
    """Every product anew, and the root of the largest eigenvalue of JᵀJ for a norm."""
    out: list[Any] = []
    for t in range(len(states)):
        J = np.eye(len(W_h))
        for h in states[t + 1 :]:
            J = np.diag((1 - h) * (1 + h)).dot(W_h).dot(J)
        out.append(np.sqrt(np.linalg.eigvalsh(J.T @ J)[-1]))
    return np.array(out)


def _reach_multi_dot(states: Array, W_h: Array) -> Array:
    steps = [np.einsum("i,ij->ij", 1 - h * h, W_h) for h in states[1:]]
    unit = np.eye(len(W_h))
    return np.array([np.linalg.norm(np.linalg.multi_dot([unit, unit, *steps[t:][::-1]]), ord=2)
                     for t in range(len(states))])  # fmt: skip


REACH = Exercise(
    name="reach",
    chapter="02",
    summary="How much a change of each state can move the last state, after all steps between.",
    returns="(T,)",
    reference=reach,
    cases=_reach_cases,
    template=_reach,
    mistakes=_REACH_MISTAKES,
    accepted={
        "transposed_path": _reach_transposed_path,
        "from_scratch": _reach_from_scratch,
        "multi_dot": _reach_multi_dot,
    },
    hints=(
        "What does one step do to a small change of the state: first one thing, then another?",
        "The last value is 1, the one before it is the norm of a single step; with W_h = 0 all values before the last "
        "are 0.",
        "Start with the unit matrix at the last state and go back one step at a time. Watch three places: at which "
        "state the slope is taken, on which side the new step is multiplied, and which norm you ask NumPy for.",
    ),
)


EXERCISES: tuple[Exercise, ...] = (RNN_STEP, RNN_STATES, REACH)


QUESTIONS: tuple[Question, ...] = (
    Question(
        name="02_two_banks_again",
        chapter="02",
        prompt="A network reads a sentence with boat and one with clerk. Are its states after the word bank the same?",
        right="different",
        because="The row of bank is the same in both, but the state before it is not, and both go into the new state.",
        wrong={"the same": "The row of bank is the same. Is the row the only thing that goes into the step?"},
        otherwise="Choose one of the two.",
        choices=("the same", "different"),
        hints=("What are the two things that `rnn_step` is given besides the matrices?",),
    ),
    Question(
        name="02_fifty_steps",
        chapter="02",
        prompt="Each step keeps 0.8 of a change. How much of it is left after 50 steps?",
        right="about 0.00001",
        because="0.8 is multiplied 50 times: 0.8 ** 50 is 0.000014. What is lost at each step is lost by a factor.",
        wrong={
            "about 0.8": "That is what is left after the first step. What does the second step do to it?",
            "about 0.016": "You divided by 50. Does each step take away the same amount, or the same share?",
            "nothing, exactly": "Each step leaves a share. Can a product of positive numbers be zero?",
        },
        otherwise="Choose one of the four.",
        choices=("about 0.8", "about 0.016", "about 0.00001", "nothing, exactly"),
        hints=("After two steps 0.8 · 0.8 is left.",),
    ),
    Question(
        name="02_chain_in_order",
        chapter="02",
        prompt="50 words are read in order. How many steps has the longest chain, each needing the one before?",
        right=50,
        because="Step 50 needs the state of step 49, that one the state of step 48, and so on: one chain of 50.",
        wrong={
            49: "There are 49 waits between the steps. How many steps stand in the chain?",
            51: "Is the start h0 computed by a step?",
            1: "Can step 2 begin while step 1 has not ended?",
            2: "Step 2 waits for step 1. What does step 3 wait for?",
            100: "You may have counted reading and updating apart. How often is `rnn_step` called?",
            1275: "That is how many pairs of words there are. How many steps wait for one another?",
            2500: "That is 50 · 50, the number of comparisons. How often is `rnn_step` called?",
        },
        otherwise="How many calls of `rnn_step` have ended, one after the other, when the last state is there?",
        hints=("Which result does step 50 need before it can begin?", "And which does that one need?"),
    ),
    Question(
        name="02_chain_one_look",
        chapter="02",
        prompt="50 rows each look once at all 50. How many looks has the longest chain, each needing the one before?",
        right=1,
        because="A look needs rows, and all rows are there from the start. No look needs another look's result.",
        wrong={
            50: "There are 50 looks. Which of them needs the result of another?",
            49: "You may have counted waits between neighbours. Is a row's neighbour computed by a look?",
            0: "A look is a step, too. How long is a chain that consists of one step?",
            2: "Which look would have to wait for which?",
            2500: "That is how many comparisons there are: much work. Which of them waits for another look?",
            1275: "That is how many pairs there are: much work. Which of them waits for another look?",
        },
        otherwise="Work and waiting are two things. Which look needs what another look has found?",
        hints=("What does a look at the rows need before it can begin?",),
    ),
    Question(
        name="02_one_far_item",
        chapter="02",
        prompt="Both networks were trained 800 steps to recall an item. Which does so 40 steps later, 9 times in 10?",
        right="only the LSTM",
        because="A gate near 1 hands one item on nearly without loss. The plain network has not learned in 800 steps "
        "to copy it so often; the next cells show what more training does.",
        wrong={
            "both": "The plain network copies its state through W_h and tanh 40 times. Do 800 steps teach that?",
            "neither": "A gate near 1 keeps nearly all at each step. What is 0.99 ** 40?",
            "only the plain network": "Which of the two has a path on which nothing is squashed?",
        },
        otherwise="Choose one of the four.",
        choices=("both", "only the LSTM", "only the plain network", "neither"),
        hints=("What is 0.99 ** 40, and what is 0.8 ** 40?",),
    ),
    Question(
        name="02_what_gates_cure",
        chapter="02",
        prompt="What does a gate cure?",
        right="one far item",
        because="The recall of one item stays at 1 over any distance here; the recall of many falls with their number.",
        wrong={
            "many items": "Where does the curve of the LSTM go as the number of items grows?",
            "one far item and many items": "One of the two is right. Which of the two pictures has an LSTM that falls?",
            "the waiting": "What does step t of an LSTM need before it can begin?",
            "nothing": "Look at the curve of the LSTM against distance. Does it fall?",
        },
        otherwise="Choose one of the five.",
        choices=("one far item", "many items", "one far item and many items", "the waiting", "nothing"),
        hints=("Compare the two pictures of recall: against distance, and against the number of items.",),
    ),
)

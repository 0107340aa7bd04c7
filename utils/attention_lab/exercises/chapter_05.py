"""Chapter 05, three views: one row seen through three matrices, the head made of them, and the form that compares rows.

Letters: T rows, d width of a row, d_k width of a query or key, d_v width of a value; … stands for leading axes.
Source: Vaswani et al. 2017, "Attention is all you need", section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_lab import lesson
from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Mistake, Question
from attention_lab.exercises.writing import paired

#: A torch tensor; torch itself is imported inside functions only.
Tensor = Any

# --- the references: torch's own functions ---------------------------------------------------------------------------


def _project_qkv(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    from torch.nn.functional import linear

    return linear(x, W_q.T), linear(x, W_k.T), linear(x, W_v.T)


def _attention_head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(*_project_qkv(x, W_q, W_k, W_v))


def _match_form(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    """torch's contraction; the tests hold it against torch's bilinear form, which needs T · T · d numbers at once."""
    from torch import einsum

    return einsum("...td,de,...se->...ts", x, W_q @ W_k.T, x) / W_q.shape[-1] ** 0.5


# --- what the three templates share ----------------------------------------------------------------------------------

Weights = tuple[Tensor, Tensor, Tensor]

#: Which matrix makes which view, by the name of the switch.
MATRICES: dict[str, Callable[[Tensor, Tensor, Tensor], Weights]] = {
    "right": lambda q, k, v: (q, k, v),
    "q and k swapped": lambda q, k, v: (k, q, v),
    "k and v swapped": lambda q, k, v: (q, v, k),
    "q and v swapped": lambda q, k, v: (v, k, q),
    "all W_q": lambda q, k, v: (q, q, q),
    "all W_v": lambda q, k, v: (v, v, v),
    "keys by W_q": lambda q, k, v: (q, q, v),
    "queries by W_k": lambda q, k, v: (k, k, v),
    "values by W_k": lambda q, k, v: (q, k, k),
    "values by W_q": lambda q, k, v: (q, k, q),
    "keys by W_v": lambda q, k, v: (q, v, v),
    "turned": lambda q, k, v: (q.T, k.T, v.T),
}


def _chained(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Weights:
    q = x @ W_q
    k = q @ W_k
    return q, k, k @ W_v


#: How rows meet a matrix.
VIEWS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda x, W: x @ W,
    "matrix first": lambda x, W: W @ x,
    "flattened": lambda x, W: x.reshape(-1, x.shape[-1]) @ W,
    "first sentence": lambda x, W: (x[0] if x.ndim > 2 else x) @ W,
    "last row": lambda x, W: x[..., -1:, :] @ W,
    "last row without its axis": lambda x, W: x[..., -1, :] @ W,
    "first row": lambda x, W: x[..., :1, :] @ W,
    "mean of rows": lambda x, W: x.mean(-2, keepdim=True).expand_as(x) @ W,
    "centred": lambda x, W: (x - x.mean(-1, keepdim=True)) @ W,
    "turned": lambda x, W: (x @ W).mT,
    "softmax": lambda x, W: (x @ W).softmax(-1),
    "relu": lambda x, W: (x @ W).relu(),
    "tanh": lambda x, W: (x @ W).tanh(),
    "length one": lambda x, W: (x @ W) / (x @ W).norm(dim=-1, keepdim=True),
    "single": lambda x, W: (x.float() @ W.float()).to(x.dtype),
    "scaled": lambda x, W: x @ W / W.shape[-1] ** 0.5,
    "scaled by d": lambda x, W: x @ W / W.shape[0] ** 0.5,
}


def _views(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor, matrices: str = "right", view: str = "right") -> Weights:
    q, k, v = (VIEWS[view](x, W) for W in MATRICES[matrices](W_q, W_k, W_v))
    return q, k, v


def _several(name: str) -> Callable[[Tensor, Tensor, Tensor], Any]:
    """Joins three results with one of torch's functions."""

    def join(q: Tensor, k: Tensor, v: Tensor) -> Any:
        import torch

        return torch.stack((q, k, v)) if name == "stack" else torch.cat((q, k, v), dim=-1)

    return join


#: What is handed back.
HANDED_BACK: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "right": lambda q, k, v: (q, k, v),
    "k v q": lambda q, k, v: (k, v, q),
    "v q k": lambda q, k, v: (v, q, k),
    "stacked": _several("stack"),
    "side by side": _several("cat"),
    "q only": lambda q, k, v: q,
    "v only": lambda q, k, v: v,
    "two": lambda q, k, v: (q, k),
    "q scaled": lambda q, k, v: (q / q.shape[-1] ** 0.5, k, v),
    "k turned": lambda q, k, v: (q, k.mT, v),
    "scores too": lambda q, k, v: (q @ k.mT, k, v),
    "dictionary": lambda q, k, v: {"q": q, "k": k, "v": v},
}


def _project_template(
    x: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    matrices: str = "right",
    view: str = "right",
    handed: str = "right",
) -> Any:
    return HANDED_BACK[handed](*_views(x, W_q, W_k, W_v, matrices, view))


#: What the scores are divided by: width of a row, queries, keys, values.
DIVISORS: dict[str, Callable[[Tensor, Tensor, Tensor], float]] = {
    "right": lambda x, q, v: q.shape[-1] ** 0.5,
    "nothing": lambda x, q, v: 1.0,
    "d_k": lambda x, q, v: q.shape[-1],
    "√d": lambda x, q, v: x.shape[-1] ** 0.5,
    "√d_v": lambda x, q, v: v.shape[-1] ** 0.5,
    "√T": lambda x, q, v: x.shape[-2] ** 0.5,
    "first axis": lambda x, q, v: len(x) ** 0.5,
    "inverse": lambda x, q, v: q.shape[-1] ** -0.5,
    "precedence": lambda x, q, v: q.shape[-1] * 2,
    "length of q[0]": lambda x, q, v: len(q[0]) ** 0.5,
    "fourth root": lambda x, q, v: q.shape[-1] ** 0.25,
    "d": lambda x, q, v: x.shape[-1],
}

#: How queries meet keys.
PRODUCTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda q, k: q @ k.mT,
    "all axes": lambda q, k: q @ (k.permute(*range(k.ndim - 1, -1, -1))),
    "three axes": lambda q, k: q @ k.transpose(1, 2),
    "first two axes": lambda q, k: q @ k.transpose(0, 1),
    "reshaped": lambda q, k: q @ k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2]),
    "viewed anew": lambda q, k: q @ k.view(*k.shape[:-2], k.shape[-1], k.shape[-2]),
    "minus": lambda q, k: -(q @ k.mT),
    "not turned": lambda q, k: q @ k,
    "entry by entry": lambda q, k: q * k,
    "cosine": lambda q, k: (q @ k.mT) / (q.norm(dim=-1)[..., :, None] * k.norm(dim=-1)[..., None, :]),
}


def _ahead_blocked(scores: Tensor, fill: float = float("-inf")) -> Tensor:
    import torch

    ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(ahead, fill)


def _itself_blocked(scores: Tensor) -> Tensor:
    import torch

    return scores.masked_fill(torch.eye(scores.shape[-1], dtype=torch.bool), -1e9)


#: What turns scores into a pattern.
PATTERNS: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda scores: scores.softmax(-1),
    "over the queries": lambda scores: scores.softmax(-2),
    "over axis 0": lambda scores: scores.softmax(0),
    "over axis 1": lambda scores: scores.softmax(1),
    "torch's old choice": lambda scores: scores.softmax(0 if scores.ndim in (0, 1, 3) else 1),
    "over everything": lambda scores: scores.flatten(-2).softmax(-1).reshape(scores.shape),
    "none": lambda scores: scores,
    "no exp": lambda scores: scores / scores.sum(-1, keepdim=True),
    "twice": lambda scores: scores.softmax(-1).softmax(-1),
    "sigmoid": lambda scores: scores.sigmoid(),
    "log": lambda scores: scores.log_softmax(-1),
    "exp only": lambda scores: scores.exp(),
    "causal": lambda scores: _ahead_blocked(scores).softmax(-1),
    "cut": lambda scores: scores.softmax(-1).tril(),
    "not itself": lambda scores: _itself_blocked(scores).softmax(-1),
    "the best": lambda scores: (scores == scores.amax(-1, keepdim=True)).to(scores.dtype),
    "turned": lambda scores: scores.softmax(-1).mT,
    "average": lambda scores: (scores * 0).softmax(-1),
}

#: How the pattern takes the values along.
BLENDS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Any]] = {
    "right": lambda pattern, x, q, k, v: pattern @ v,
    "rows": lambda pattern, x, q, k, v: pattern @ x,
    "added to x": lambda pattern, x, q, k, v: x + pattern @ v,
    "added to v": lambda pattern, x, q, k, v: v + pattern @ v,
    "the pattern": lambda pattern, x, q, k, v: pattern,
    "both": lambda pattern, x, q, k, v: (pattern @ v, pattern),
    "scaled": lambda pattern, x, q, k, v: pattern @ v / q.shape[-1] ** 0.5,
    "mean": lambda pattern, x, q, k, v: (pattern @ v).mean(-2),
    "last": lambda pattern, x, q, k, v: (pattern @ v)[..., -1, :],
    "softmax again": lambda pattern, x, q, k, v: (pattern @ v).softmax(-1),
    "turned": lambda pattern, x, q, k, v: (pattern @ v).mT,
    "v first": lambda pattern, x, q, k, v: v @ pattern,
    "divided by T": lambda pattern, x, q, k, v: pattern @ v / x.shape[-2],
}


def _head_template(
    x: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    W_v: Tensor,
    matrices: str = "right",
    view: str = "right",
    divisor: str = "right",
    product: str = "right",
    pattern: str = "right",
    blend: str = "right",
    late: bool = False,
) -> Any:
    q, k, v = _views(x, W_q, W_k, W_v, matrices, view)
    size = DIVISORS[divisor](x, q, v)
    scores = PRODUCTS[product](q, k)
    weights = PATTERNS[pattern](scores) / size if late else PATTERNS[pattern](scores / size)
    return BLENDS[blend](weights, x, q, k, v)


#: The single matrix between two rows.
FORMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda q, k: q @ k.T,
    "turned": lambda q, k: k @ q.T,
    "inner": lambda q, k: q.T @ k,
    "not turned": lambda q, k: q @ k,
    "symmetric": lambda q, k: (q @ k.T + k @ q.T) / 2,
    "queries only": lambda q, k: q @ q.T,
    "keys only": lambda q, k: k @ k.T,
    "entry by entry": lambda q, k: q * k,
    "sum": lambda q, k: (q + k) @ (q + k).T,
    "difference": lambda q, k: q - k,
}

#: What is done with x and the matrix.
USES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda x, M: x @ M @ x.mT,
    "all axes": lambda x, M: x @ M @ x.permute(*range(x.ndim - 1, -1, -1)),
    "three axes": lambda x, M: x @ M @ x.transpose(1, 2),
    "one side": lambda x, M: x @ M,
    "other side": lambda x, M: M @ x.mT,
    "columns": lambda x, M: x.mT @ M @ x,
    "not turned": lambda x, M: x @ M @ x,
    "reshaped": lambda x, M: x @ M @ x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2]),
    "no matrix": lambda x, M: x @ x.mT,
    "twice": lambda x, M: x @ M @ M.T @ x.mT,
    "diagonal": lambda x, M: ((x @ M) * x).sum(-1),
    "diagonal matrix": lambda x, M: ((x @ M) * x).sum(-1).diag_embed(),
    "summed": lambda x, M: (x @ M @ x.mT).sum(0) if x.ndim > 2 else x @ M @ x.mT,
}

#: What happens to the scores.
FINISHES: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda scores: scores,
    "softmax": lambda scores: scores.softmax(-1),
    "causal": _ahead_blocked,
    "sizes": lambda scores: scores.abs(),
    "turned": lambda scores: scores.mT,
    "minus": lambda scores: -scores,
    "sigmoid": lambda scores: scores.sigmoid(),
    "rounded": lambda scores: scores.round(decimals=3),
    "lower": lambda scores: scores.tril(),
}


def _form_template(
    x: Tensor,
    W_q: Tensor,
    W_k: Tensor,
    form: str = "right",
    use: str = "right",
    divisor: str = "right",
    finish: str = "right",
) -> Tensor:
    M = FORMS[form](W_q, W_k)
    if use == "inside out":
        return W_q.mT @ x.mT @ x @ W_k / DIVISORS[divisor](x, W_q, W_k)
    if use == "the matrix":
        return M / DIVISORS[divisor](x, W_q, W_k)
    return FINISHES[finish](USES[use](x, M) / DIVISORS[divisor](x, W_q, W_k))


# --- the cases -------------------------------------------------------------------------------------------------------


def _inputs(rng: np.random.Generator) -> list[tuple[tuple[np.ndarray, ...], str]]:
    """Rows and three matrices; scores stay moderate, widths differ, and once all of them are equal."""

    def draw(lead: tuple[int, ...], T: int, d: int, d_k: int, d_v: int) -> tuple[np.ndarray, ...]:
        return (
            rng.standard_normal((*lead, T, d)),
            *(rng.standard_normal((d, width)) / d**0.5 for width in (d_k, d_k, d_v)),
        )

    x = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    W_q = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    W_k = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])
    W_v = np.array([[1.0], [2.0], [3.0]])
    return [
        ((x, W_q, W_k, W_v), ""),
        ((lesson.rows(), lesson.W_Q.copy(), lesson.W_K.copy(), lesson.W_V.copy()), "the running sentence"),
        (draw((3,), 5, 7, 9, 4), "one leading axis"),
        (draw((2, 3), 5, 9, 7, 11), "two leading axes"),
        (draw((3,), 3, 3, 3, 3), "all sizes equal"),
    ]


def _cases(rng: np.random.Generator) -> list[Case]:
    return [Case(args, note) for args, note in _inputs(rng)]


def _form_cases(rng: np.random.Generator) -> list[Case]:
    return [Case(args[:3], note) for args, note in _inputs(rng)]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone, which keeps
#: the number of pairs, and with it the time that a wrong answer takes, small.
LIKELY_IN_PAIRS = """
q_and_k_swapped k_and_v_swapped matrices_turned matrix_first
unscaled by_d_k by_root_d by_root_d_v over_the_queries over_axis_0 over_axis_1 all_axes_turned reshaped_keys
values_are_rows residual_added no_softmax turned_form inner_form matrices_not_turned matrix_returned softmaxed one_sided
""".split()


_WHICH = "Which matrix belongs to which of the three jobs: looking, being found, handing over?"
_INNER = "x is (…, T, d) and W_q is (d, d_k): which two axes does a product x @ W multiply out?"
_ORDER = "In which order does the heading of the exercise name the three results?"
_ALL_ROWS = "How many rows go in, and how many come out?"
_LINEAR = "A view is linear: what comes out when a row is doubled?"


def _torchs(name: str) -> Callable[..., Any]:
    """All three views by one of torch's narrower products."""

    def views(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
        import torch

        product = getattr(torch, name)
        return product(x, W_q), product(x, W_k), product(x, W_v)

    return views


def _columns_turned_back(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    def turned(tensor: Tensor) -> Tensor:
        return tensor.permute(*range(tensor.ndim - 1, -1, -1))

    return tuple(turned(W.T @ turned(x)) for W in (W_q, W_k, W_v))


def _layer_normed(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    from torch.nn.functional import layer_norm

    return _project_qkv(layer_norm(x, x.shape[-1:]), W_q, W_k, W_v)


def _scores(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    return (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5


def _masked_by_zero(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return _scores(x, W_q, W_k).tril().softmax(-1) @ (x @ W_v)


def _rows_meet(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(x, x, x)


def _risen_by_rows(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    risen = _scores(x, W_q, W_k).exp()
    return (risen / risen.sum(-1)) @ (x @ W_v)


def _risen_by_all(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    risen = _scores(x, W_q, W_k).exp()
    return (risen / risen.sum()) @ (x @ W_v)


#: Mistakes of the three views, which the head shares: (id, diagnosis, question, switches).
_VIEW_MISTAKES = [
    Mistake(
        "q_and_k_swapped",
        "Queries and keys have changed places: what W_k makes is used to look, what W_q makes to be found.",
        _WHICH,
        switches={"matrices": "q and k swapped"},
    ),
    Mistake(
        "k_and_v_swapped",
        "Keys and values have changed places.",
        _WHICH,
        switches={"matrices": "k and v swapped"},
    ),
    Mistake(
        "q_and_v_swapped",
        "Queries and values have changed places.",
        _WHICH,
        switches={"matrices": "q and v swapped"},
    ),
    Mistake(
        "all_by_w_q",
        "All three views go through W_q: the row is seen in one way only.",
        "Which of your lines mention W_k and W_v?",
        switches={"matrices": "all W_q"},
    ),
    Mistake(
        "keys_by_w_q",
        "What you use as keys are queries (W_q): a row looks for what it is itself, and W_k has no say.",
        "Change W_k: does anything in your result change?",
        switches={"matrices": "keys by W_q"},
    ),
    Mistake(
        "queries_by_w_k",
        "What you use as queries are keys (W_k): W_q has no say.",
        "Change W_q: does anything in your result change?",
        switches={"matrices": "queries by W_k"},
    ),
    Mistake(
        "values_by_w_k",
        "What you use as values are keys (W_k): a row hands over what it is found by.",
        "Change W_v: does anything in your result change?",
        switches={"matrices": "values by W_k"},
    ),
    Mistake(
        "values_by_w_q",
        "What you use as values are queries (W_q): a row hands over what it looks for.",
        "Which of your lines mentions W_v?",
        switches={"matrices": "values by W_q"},
    ),
    Mistake(
        "keys_by_w_v",
        "Your keys go through W_v: a row is found by what it hands over.",
        "Which of your lines mentions W_k?",
        switches={"matrices": "keys by W_v"},
    ),
    Mistake(
        "matrices_turned",
        "Your matrices are turned: a row meets W.T, as torch's own Linear and F.linear do it.",
        "Which axis of W has the width of a row, the first or the last?",
        switches={"matrices": "turned"},
    ),
    Mistake(
        "matrix_first",
        "The matrix stands on the left, as it did for the columns of chapter 02; here words are rows.",
        _INNER,
        switches={"view": "matrix first"},
    ),
    Mistake(
        "flattened",
        "All sentences are put under one another: the leading axes are gone.",
        "What does x @ W do with the axes before the last two?",
        switches={"view": "flattened"},
    ),
    Mistake(
        "first_sentence",
        "Of several sentences you view the first one only.",
        "What does x[0] stand for when x is (B, T, d)?",
        switches={"view": "first sentence"},
    ),
    Mistake(
        "last_row_only",
        "You view the last row alone; every row needs its views.",
        _ALL_ROWS,
        switches={"view": "last row"},
    ),
    Mistake(
        "centred",
        "Each row loses its mean before it is viewed.",
        "Is anything to be done to a row before it meets a matrix?",
        switches={"view": "centred"},
    ),
    Mistake(
        "relu_after",
        "Your views are cut at zero: what is negative is lost.",
        _LINEAR,
        switches={"view": "relu"},
    ),
    Mistake(
        "tanh_after",
        "Your views are bent by tanh, as in a recurrent step.",
        _LINEAR,
        switches={"view": "tanh"},
    ),
    Mistake(
        "length_one",
        "Your views are brought to length 1.",
        _LINEAR,
        switches={"view": "length one"},
    ),
    Mistake(
        "single_precision",
        "Your views are computed in single precision, whatever the precision of the rows.",
        "What does .float() do to a tensor of double precision?",
        switches={"view": "single"},
    ),
]

_PROJECT_MISTAKES = [
    *_VIEW_MISTAKES,
    Mistake(
        "mm",
        "torch.mm takes two tables and nothing else: with several sentences it fails.",
        "Which product of torch allows any number of leading axes?",
        answer=_torchs("mm"),
    ),
    Mistake(
        "bmm",
        "torch.bmm wants three axes on both sides; a matrix of weights has two.",
        "Which product of torch allows any number of leading axes?",
        answer=_torchs("bmm"),
    ),
    Mistake(
        "dot",
        "torch.dot multiplies two single rows; here whole tables meet.",
        "Which product of torch takes tables?",
        answer=_torchs("dot"),
    ),
    Mistake(
        "entry_by_entry",
        "Rows and matrices are multiplied entry by entry, which is no product of matrices.",
        "Which sign stands for the product of matrices?",
        answer=lambda x, W_q, W_k, W_v: (x * W_q, x * W_k, x * W_v),
    ),
    Mistake(
        "turned_there_and_back",
        "Rows are made columns and turned back with .T, which turns the axes of a batch as well.",
        "What does .T do to a tensor of three axes?",
        answer=_columns_turned_back,
    ),
    Mistake(
        "value_of_query",
        "The value is a view of the query, not of the row.",
        "What are all three views views of?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x @ W_q @ W_v),
    ),
    Mistake(
        "value_of_key",
        "The value is a view of the key, not of the row.",
        "What are all three views views of?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x @ W_k @ W_v),
    ),
    Mistake(
        "key_of_query",
        "The key is a view of the query, not of the row.",
        "What are all three views views of?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_q @ W_k, x @ W_v),
    ),
    Mistake(
        "keys_scaled",
        "Your keys carry the √d_k already: whoever scales the scores later scales twice.",
        "What is k at this point: x @ W_k, or more than that?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k / W_k.shape[1] ** 0.5, x @ W_v),
    ),
    Mistake(
        "layer_normed",
        "Rows are normalised before they are viewed, as in a model's block; here they are viewed as they are.",
        "Is anything to be done to a row before it meets a matrix?",
        answer=_layer_normed,
    ),
    Mistake(
        "one_query",
        "Only the last row gets a query; here every row looks.",
        _ALL_ROWS,
        answer=lambda x, W_q, W_k, W_v: (x[..., -1:, :] @ W_q, x @ W_k, x @ W_v),
    ),
    Mistake(
        "rows_returned",
        "You hand back the rows three times; no matrix is used.",
        "What makes a query of a row?",
        answer=lambda x, W_q, W_k, W_v: (x, x, x),
    ),
    Mistake(
        "rows_averaged",
        "You view the mean of the rows, so all words get the same query, key and value.",
        _ALL_ROWS,
        switches={"view": "mean of rows"},
    ),
    Mistake(
        "all_by_w_v",
        "All three views go through W_v: the row is seen in one way only.",
        "Which of your lines mention W_q and W_k?",
        switches={"matrices": "all W_v"},
    ),
    Mistake(
        "chained",
        "Your views are taken of one another: the key of the query, the value of the key.",
        "What are all three views views of?",
        answer=_chained,
    ),
    Mistake(
        "values_are_rows",
        "Your values are the rows themselves; W_v is not used.",
        "How wide is a value, and how wide is a row?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_q, x @ W_k, x),
    ),
    Mistake(
        "rows_turned",
        "Your views are turned: the words lie in the columns.",
        "Which axis of the result has length T?",
        switches={"view": "turned"},
    ),
    Mistake(
        "rows_and_words_confused",
        "It is x that is turned before it meets the matrix: numbers of different words are added up.",
        _INNER,
        answer=lambda x, W_q, W_k, W_v: (x.mT @ W_q, x.mT @ W_k, x.mT @ W_v),
    ),
    Mistake(
        "softmaxed",
        "Your views go through a softmax; they are no pattern yet.",
        _LINEAR,
        switches={"view": "softmax"},
    ),
    Mistake(
        "all_scaled",
        "Your views are divided by the root of their width.",
        "Where in attention does the scale belong: to a view, or to a score?",
        switches={"view": "scaled"},
    ),
    Mistake(
        "all_scaled_by_d",
        "Your views are divided by √d, the root of a row's width.",
        "Is there a scale in x @ W?",
        switches={"view": "scaled by d"},
    ),
    Mistake(
        "residual_added",
        "The row is added to its views.",
        "Is a query a change of the row, or another thing made of it?",
        answer=lambda x, W_q, W_k, W_v: (x + x @ W_q, x + x @ W_k, x + x @ W_v),
    ),
    Mistake("k_v_q", "You hand back keys, values, queries.", _ORDER, switches={"handed": "k v q"}),
    Mistake("v_q_k", "You hand back values, queries, keys.", _ORDER, switches={"handed": "v q k"}),
    Mistake(
        "stacked",
        "You stack the three into one tensor, which fails as soon as values have another width.",
        "What can hold three tensors of different widths?",
        switches={"handed": "stacked"},
    ),
    Mistake(
        "side_by_side",
        "You put the three side by side into one tensor, and nobody can tell where one ends.",
        "How many results does q, k, v = project_qkv(…) need?",
        switches={"handed": "side by side"},
    ),
    Mistake(
        "queries_only",
        "You hand back the queries alone.",
        "How many results does q, k, v = project_qkv(…) need?",
        switches={"handed": "q only"},
    ),
    Mistake(
        "values_left_out",
        "You hand back queries and keys; the values are missing.",
        "How many results does q, k, v = project_qkv(…) need?",
        switches={"handed": "two"},
    ),
    Mistake(
        "queries_scaled",
        "Your queries carry the √d_k already: whoever scales the scores later scales twice.",
        "What is q at this point: x @ W_q, or more than that?",
        switches={"handed": "q scaled"},
    ),
    Mistake(
        "keys_turned",
        "Your keys are turned already, ready for the product of the scores.",
        "Which shape has k in the heading of the exercise?",
        switches={"handed": "k turned"},
    ),
    Mistake(
        "scores_for_queries",
        "What you hand back as queries are scores: they have met the keys already.",
        "Does a query know the keys?",
        switches={"handed": "scores too"},
    ),
]

_SIZE = "Which width did the dot product of a query with a key add up?"
_LEADING = "What does your transpose do to keys of shape (B, T, d_k)?"
_SHARE = "Print the sums of your pattern over its last axis: which numbers should share the weight 1?"
_HANDED = "What does each row hand over to the one that looks at it?"

_SCALE_MISTAKES = [
    Mistake(
        "unscaled",
        "Your scores are not scaled: they grow as queries get wider.",
        _SIZE,
        switches={"divisor": "nothing"},
    ),
    Mistake(
        "by_d_k",
        "Your scores are divided by d_k and get too small as queries get wider.",
        _SIZE,
        switches={"divisor": "d_k"},
    ),
    Mistake(
        "by_root_d", "Your scores are divided by √d, the root of the width of a row.", _SIZE, switches={"divisor": "√d"}
    ),
    Mistake("by_d", "Your scores are divided by d, the width of a row.", _SIZE, switches={"divisor": "d"}),
    Mistake(
        "by_root_t",
        "Your scores are divided by √T: they depend on how long the sentence is.",
        _SIZE,
        switches={"divisor": "√T"},
    ),
    Mistake(
        "by_first_axis",
        "Your scores are divided by the root of len(x), which is another axis in a batch.",
        _SIZE,
        switches={"divisor": "first axis"},
    ),
    Mistake(
        "multiplied",
        "Your scores are multiplied by √d_k.",
        "Does the scale have to make the spread of the scores larger or smaller?",
        switches={"divisor": "inverse"},
    ),
    Mistake(
        "precedence",
        "Your scores are divided by d_k and then by 2.",
        "In which order does Python work out a / d ** 1 / 2?",
        switches={"divisor": "precedence"},
    ),
    Mistake(
        "fourth_root",
        "Your scores are divided by the fourth root of d_k.",
        "If the scale goes on one side only, is its root enough?",
        switches={"divisor": "fourth root"},
    ),
]

_HEAD_MISTAKES = [
    *_VIEW_MISTAKES,
    *_SCALE_MISTAKES,
    Mistake(
        "by_axis_1",
        "Your scores are divided by the root of x.shape[1], which is d for one sentence and T for a batch.",
        _SIZE,
        answer=lambda x, W_q, W_k, W_v: ((x @ W_q) @ (x @ W_k).mT / x.shape[1] ** 0.5).softmax(-1) @ (x @ W_v),
    ),
    Mistake(
        "floor_divided",
        "Your scores are rounded down: // drops what stands behind the point.",
        "What is 3.9 // 1 in Python?",
        answer=lambda x, W_q, W_k, W_v: ((x @ W_q) @ (x @ W_k).mT // W_q.shape[-1] ** 0.5).softmax(-1) @ (x @ W_v),
    ),
    Mistake(
        "axes_0_and_1",
        "Your transpose turns axes 0 and 1: in a batch those are sentences and words.",
        _LEADING,
        switches={"product": "first two axes"},
    ),
    Mistake(
        "sum_loses_its_axis",
        "The sum of the risen scores loses its axis, so they are divided along the wrong one.",
        "Which shape has the sum, and which would let each row meet its own?",
        answer=_risen_by_rows,
    ),
    Mistake(
        "over_the_whole_batch",
        "The risen scores are divided by the sum of all there are: in a batch all sentences share one 1.",
        _SHARE,
        answer=_risen_by_all,
    ),
    Mistake(
        "masked_by_zero",
        "What lies ahead gets the score 0, which is a score like any other; and here nothing is to be hidden.",
        "Which weight does a softmax give to the score 0?",
        answer=_masked_by_zero,
    ),
    Mistake(
        "no_matrices",
        "The rows attend as they are: none of the three matrices is used.",
        "What makes a query of a row?",
        answer=_rows_meet,
    ),
    Mistake(
        "keys_are_rows",
        "Queries meet the rows themselves; W_k is not used, and the widths fit only where d and d_k are equal.",
        "What is it that a query is compared with?",
        answer=lambda x, W_q, W_k, W_v: ((x @ W_q) @ x.mT / W_q.shape[-1] ** 0.5).softmax(-1) @ (x @ W_v),
    ),
    Mistake(
        "queries_are_rows",
        "The rows themselves meet the keys; W_q is not used, and the widths fit only where d and d_k are equal.",
        "What is it that looks?",
        answer=lambda x, W_q, W_k, W_v: (x @ (x @ W_k).mT / W_q.shape[-1] ** 0.5).softmax(-1) @ (x @ W_v),
    ),
    Mistake(
        "values_first",
        "The values stand before the pattern: values of different columns are added up, where it fits at all.",
        "The pattern is (T, T), the values are (T, d_v): in which order do they fit?",
        switches={"blend": "v first"},
    ),
    Mistake(
        "one_blend",
        "You hand back the blend of the last row alone, with its axis.",
        "How many rows go in, and how many blends come out?",
        answer=lambda x, W_q, W_k, W_v: (_scores(x, W_q, W_k).softmax(-1) @ (x @ W_v))[..., -1:, :],
    ),
    Mistake(
        "best_row_taken",
        "You take the value with the best score by its number: nothing is blended, and a batch is picked apart.",
        "What should the second best match get?",
        answer=lambda x, W_q, W_k, W_v: (x @ W_v)[_scores(x, W_q, W_k).argmax(-1)],
    ),
    Mistake(
        "by_root_d_v",
        "Your scores are divided by √d_v, the root of the width of a value.",
        _SIZE,
        switches={"divisor": "√d_v"},
    ),
    Mistake(
        "scaled_late",
        "The scale comes after the softmax: your rows sum to 1/√d_k.",
        "What do the rows of your pattern sum to?",
        switches={"late": True},
    ),
    Mistake(
        "all_axes_turned",
        "k.T turns all axes of the keys, those of the batch as well.",
        _LEADING,
        switches={"product": "all axes"},
    ),
    Mistake(
        "axes_1_and_2",
        "Your transpose turns axes 1 and 2, which are the right ones in a batch of three axes only.",
        "Which axes are the last two of a tensor with four?",
        switches={"product": "three axes"},
    ),
    Mistake(
        "reshaped_keys",
        "Your keys are reshaped where they should be turned: numbers of different words get mixed.",
        "Reshape a (2, 3) tensor to (3, 2) and compare: did rows become columns?",
        switches={"product": "reshaped"},
    ),
    Mistake(
        "sign_turned",
        "Your scores have the wrong sign: the worst match gets most.",
        "Should a large dot product make a weight large or small?",
        switches={"product": "minus"},
    ),
    Mistake(
        "keys_not_turned",
        "q @ k without a transpose adds up over the wrong axis, where the shapes allow it at all.",
        "Queries are (T, d_k), keys are (T, d_k): which axis do they share?",
        switches={"product": "not turned"},
    ),
    Mistake(
        "entry_by_entry",
        "Queries and keys are multiplied entry by entry: no row meets another row.",
        "How many scores are there for T rows?",
        switches={"product": "entry by entry"},
    ),
    Mistake(
        "cosine",
        "Your scores are cosines: how long queries and keys are counts for nothing.",
        "What happens to a score when its query is doubled?",
        switches={"product": "cosine"},
    ),
    Mistake(
        "over_the_queries",
        "Your softmax runs over the queries: each key hands out 1, not each query.",
        _SHARE,
        switches={"pattern": "over the queries"},
    ),
    Mistake(
        "over_axis_0",
        "Your softmax runs over axis 0: in a batch it mixes sentences.",
        _SHARE,
        switches={"pattern": "over axis 0"},
    ),
    Mistake(
        "over_axis_1",
        "Your softmax runs over axis 1, which holds the queries as soon as there is a batch.",
        _SHARE,
        switches={"pattern": "over axis 1"},
    ),
    Mistake(
        "axis_left_to_torch",
        "The axis of the softmax is left to torch, which then takes 0 or 1.",
        _SHARE,
        switches={"pattern": "torch's old choice"},
    ),
    Mistake(
        "over_everything",
        "Your softmax runs over the whole table: all rows together sum to 1.",
        _SHARE,
        switches={"pattern": "over everything"},
    ),
    Mistake(
        "no_softmax",
        "There is no softmax: the scores themselves are the weights.",
        "What do the rows of your pattern sum to?",
        switches={"pattern": "none"},
    ),
    Mistake(
        "no_exp",
        "Scores are divided by their sum without exp: weights may be negative, or enormous.",
        "Can a share be negative?",
        switches={"pattern": "no exp"},
    ),
    Mistake(
        "softmax_twice",
        "The softmax is taken twice: the pattern is nearly flat.",
        "Does a function that you call take a softmax already?",
        switches={"pattern": "twice"},
    ),
    Mistake(
        "sigmoid",
        "Each score goes through a sigmoid by itself: rows do not sum to 1.",
        "Do the keys of one query share anything in your pattern?",
        switches={"pattern": "sigmoid"},
    ),
    Mistake(
        "log_softmax",
        "Your weights are logarithms of weights.",
        "Can a share be negative?",
        switches={"pattern": "log"},
    ),
    Mistake(
        "exp_only",
        "Scores are raised by exp and never divided by their sum.",
        "What do the rows of your pattern sum to?",
        switches={"pattern": "exp only"},
    ),
    Mistake(
        "causal",
        "Your rows look back only; here every row looks everywhere.",
        "May 'the' look at 'bank' in this chapter?",
        switches={"pattern": "causal"},
    ),
    Mistake(
        "cut",
        "The pattern is cut above the diagonal after the softmax: rows lose weight that they never get back.",
        "What do the rows of your pattern sum to?",
        switches={"pattern": "cut"},
    ),
    Mistake(
        "not_itself",
        "Your rows do not see themselves.",
        "What stands on the diagonal of your pattern?",
        switches={"pattern": "not itself"},
    ),
    Mistake(
        "best_only",
        "The best key gets everything: that is the hard lookup of chapter 03.",
        "What should the second best match get?",
        switches={"pattern": "the best"},
    ),
    Mistake(
        "pattern_turned",
        "Your pattern is turned before it meets the values.",
        "Row i of the pattern: to which row of the result does it belong?",
        switches={"pattern": "turned"},
    ),
    Mistake(
        "plain_mean",
        "All rows weigh the same: queries and keys have no say.",
        "Change W_q: what changes?",
        switches={"pattern": "average"},
    ),
    Mistake(
        "values_are_rows",
        "The pattern blends the rows themselves; W_v is not used.",
        _HANDED,
        switches={"blend": "rows"},
    ),
    Mistake(
        "residual_added",
        "The rows are added already; the head hands back the blend alone.",
        "Which exercise of chapter 04 adds the blend to the row?",
        switches={"blend": "added to x"},
    ),
    Mistake(
        "values_added",
        "Each row's own value is added to its blend.",
        "Is a row's own value in the blend already?",
        switches={"blend": "added to v"},
    ),
    Mistake(
        "pattern_returned",
        "You hand back the pattern and not the blend.",
        "What does the pattern still have to meet?",
        switches={"blend": "the pattern"},
    ),
    Mistake(
        "two_results",
        "You hand back blend and pattern; one tensor is asked for.",
        "How many results does the heading of the exercise name?",
        switches={"blend": "both"},
    ),
    Mistake(
        "blend_scaled",
        "The blend is divided by √d_k as well.",
        "What is it that the scale belongs to?",
        switches={"blend": "scaled"},
    ),
    Mistake("rows_lost", "The blends of all rows are averaged into one.", _ALL_ROWS, switches={"blend": "mean"}),
    Mistake("last_blend_only", "You hand back the blend of the last row alone.", _ALL_ROWS, switches={"blend": "last"}),
    Mistake(
        "softmax_at_the_end",
        "The blend goes through another softmax.",
        "Is the blend a share of something?",
        switches={"blend": "softmax again"},
    ),
    Mistake(
        "blend_turned",
        "Your result is turned: the words lie in the columns.",
        "Which axis of the result has length T?",
        switches={"blend": "turned"},
    ),
    Mistake(
        "blend_divided",
        "The blend is divided by T: the weights were shares already.",
        "What do the rows of the pattern sum to?",
        switches={"blend": "divided by T"},
    ),
    Mistake(
        "by_root_of_a_length",
        "Your scores are divided by the root of len(q[0]), which is a width for one sentence and T for a batch.",
        "What does len count when q has leading axes?",
        switches={"divisor": "length of q[0]"},
    ),
    Mistake(
        "softmax_last",
        "Your scores meet the values first, and the softmax comes last: it runs over the numbers of a blend.",
        "Which numbers should sum to 1: the weights of a row, or the numbers of its blend?",
        switches={"pattern": "none", "blend": "softmax again"},
    ),
]

_FORM_MISTAKES = [
    *_SCALE_MISTAKES,
    Mistake(
        "matrix_in_front",
        "The matrix stands in front of both rows instead of between them.",
        "In xᵢ M xⱼᵀ, what stands on either side of M?",
        answer=lambda x, W_q, W_k: (W_q @ W_k.T) @ x @ x.mT / W_q.shape[-1] ** 0.5,
    ),
    Mistake(
        "both_ways_summed",
        "Your matrix is M + Mᵀ: what bank looks for and what boat looks for are added up.",
        "Has x₀ M x₁ᵀ to be what x₁ M x₀ᵀ is?",
        answer=lambda x, W_q, W_k: x @ (W_q @ W_k.T + W_k @ W_q.T) @ x.mT / W_q.shape[-1] ** 0.5,
    ),
    Mistake(
        "turned_form",
        "Your matrix is W_k W_qᵀ: rows and columns of the scores have changed places.",
        "In xᵢ M xⱼᵀ, on which side of M does the row stand that looks?",
        switches={"form": "turned"},
    ),
    Mistake(
        "inner_form",
        "Your matrix is W_qᵀ W_k, (d_k, d_k): it compares columns of the matrices, and no row fits it.",
        "M stands between two rows of width d: which shape does it have?",
        switches={"form": "inner"},
    ),
    Mistake(
        "matrices_not_turned",
        "W_q @ W_k without a transpose fits only where d and d_k are equal.",
        "Which axis do W_q (d, d_k) and W_k (d, d_k) share?",
        switches={"form": "not turned"},
    ),
    Mistake(
        "symmetric",
        "Your matrix is made symmetric: bank looks at boat as much as boat at bank.",
        "Has x₀ M x₁ᵀ to be what x₁ M x₀ᵀ is?",
        switches={"form": "symmetric"},
    ),
    Mistake(
        "w_q_twice",
        "Your matrix is W_q W_qᵀ: W_k is not used.",
        "Change W_k: what changes?",
        switches={"form": "queries only"},
    ),
    Mistake(
        "w_k_twice",
        "Your matrix is W_k W_kᵀ: W_q is not used.",
        "Change W_q: what changes?",
        switches={"form": "keys only"},
    ),
    Mistake(
        "entry_by_entry",
        "W_q and W_k are multiplied entry by entry.",
        "Which shape must M have, to stand between rows?",
        switches={"form": "entry by entry"},
    ),
    Mistake(
        "sum_of_matrices",
        "Your matrix is made of the sum of W_q and W_k.",
        "Write out (x W_q)(x W_k)ᵀ: where is there a sum of the two?",
        switches={"form": "sum"},
    ),
    Mistake(
        "all_axes_turned",
        "x.T turns all axes of x, those of the batch as well.",
        "What does your transpose do to (B, T, d)?",
        switches={"use": "all axes"},
    ),
    Mistake(
        "axes_1_and_2",
        "Your transpose turns axes 1 and 2, which are the right ones in a batch of three axes only.",
        "Which axes are the last two of a tensor with four?",
        switches={"use": "three axes"},
    ),
    Mistake(
        "one_sided",
        "x meets the matrix on one side only: the result is one more view, no scores.",
        "How many rows does a score compare?",
        switches={"use": "one side"},
    ),
    Mistake(
        "columns_meet",
        "Columns of x meet, not rows: the result is (d, d).",
        "A score belongs to two words: is a word a row or a column?",
        switches={"use": "columns"},
    ),
    Mistake(
        "x_not_turned",
        "x stands on the right without its transpose.",
        "A row on the left, and what on the right?",
        switches={"use": "not turned"},
    ),
    Mistake(
        "reshaped_rows",
        "x is reshaped where it should be turned: numbers of different words get mixed.",
        "Reshape a (2, 3) tensor to (3, 2) and compare: did rows become columns?",
        switches={"use": "reshaped"},
    ),
    Mistake(
        "no_matrix",
        "The rows are compared as they are; your matrix has no say.",
        "Change W_q: what changes?",
        switches={"use": "no matrix"},
    ),
    Mistake(
        "form_squared",
        "The matrix is used twice, once for each side: M Mᵀ stands between the rows.",
        "How often does W_q occur in one score?",
        switches={"use": "twice"},
    ),
    Mistake(
        "with_itself_only",
        "Each row meets itself alone: you have the diagonal of the scores.",
        "How many scores are there for T rows?",
        switches={"use": "diagonal"},
    ),
    Mistake(
        "batch_summed",
        "The scores of all sentences are added up.",
        "Which axes has the result when x is (B, T, d)?",
        switches={"use": "summed"},
    ),
    Mistake(
        "matrix_returned",
        "You hand back the matrix itself and not what it says of the rows.",
        "What does the matrix still have to meet?",
        switches={"use": "the matrix"},
    ),
    Mistake(
        "softmaxed",
        "You hand back the pattern; the scores before the softmax are asked for.",
        "What do your rows sum to?",
        switches={"finish": "softmax"},
    ),
    Mistake(
        "causal",
        "What lies ahead of a row is blocked; here every row looks everywhere.",
        "May 'the' look at 'bank' in this chapter?",
        switches={"finish": "causal"},
    ),
    Mistake(
        "sizes_only",
        "Signs are lost: a bad match counts as a good one.",
        "What does a negative score say?",
        switches={"finish": "sizes"},
    ),
    Mistake(
        "sign_turned",
        "Your scores have the wrong sign.",
        "Should a good match be large or small?",
        switches={"finish": "minus"},
    ),
    Mistake(
        "sigmoid", "Your scores go through a sigmoid.", "Can a score be larger than 1?", switches={"finish": "sigmoid"}
    ),
    Mistake(
        "rounded",
        "Your scores are rounded to three decimals.",
        "Who needs the digits that you cut off?",
        switches={"finish": "rounded"},
    ),
    Mistake(
        "difference_form",
        "Your matrix is the difference of W_q and W_k.",
        "Which shape must M have, to stand between rows?",
        switches={"form": "difference"},
    ),
    Mistake(
        "inside_out",
        "Your product is W_qᵀ xᵀ x W_k, (d_k, d_k): it compares columns of queries and keys, not words.",
        "How many words has the sentence, and how many rows has your result?",
        switches={"use": "inside out"},
    ),
]


# --- accepted: unusual and right -------------------------------------------------------------------------------------


def _packed(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    """One product with all three matrices side by side, then split, as GPT-2 keeps them."""
    import torch

    packed = x @ torch.cat((W_q, W_k, W_v), dim=1)
    return packed.split([W.shape[1] for W in (W_q, W_k, W_v)], dim=-1)


def _row_by_row(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    import torch

    return [torch.stack([x[..., t, :] @ W for t in range(x.shape[-2])], dim=-2) for W in (W_q, W_k, W_v)]


def _einsum_views(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    import torch

    return tuple(torch.einsum("...td,dk->...tk", x, W) for W in (W_q, W_k, W_v))


def _linear_layers(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    """torch.nn.Linear keeps its matrix turned."""
    import torch

    views = []
    for W in (W_q, W_k, W_v):
        layer = torch.nn.Linear(W.shape[0], W.shape[1], bias=False, dtype=W.dtype)
        layer.weight = torch.nn.Parameter(W.T)
        views.append(layer(x))
    return tuple(views)


def _sums(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Any:
    return tuple((x[..., None] * W).sum(-2) for W in (W_q, W_k, W_v))


def _scaled_query(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    q = x @ W_q * W_q.shape[-1] ** -0.5
    return (q @ (x @ W_k).transpose(-2, -1)).softmax(dim=-1) @ (x @ W_v)


def _fourth_roots(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    root = W_q.shape[-1] ** 0.25
    return ((x @ W_q / root) @ (x @ W_k / root).mT).softmax(-1) @ (x @ W_v)


def _einsum_head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    import torch

    scores = torch.einsum("...tk,...sk->...ts", x @ W_q, x @ W_k) / W_q.shape[-1] ** 0.5
    return torch.einsum("...ts,...sv->...tv", scores.softmax(-1), x @ W_v)


def _by_hand(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    scores = (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5
    risen = (scores - scores.amax(-1, keepdim=True)).exp()
    return (risen @ (x @ W_v)) / risen.sum(-1, keepdim=True)


def _values_last(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    """Blends the rows and views the blend: the matrix of the values may come last, because a blend is linear."""
    scores = (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5
    return (scores.softmax(-1) @ x) @ W_v


def _form_head(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    return (x @ (W_q @ W_k.T) @ x.mT / W_q.shape[-1] ** 0.5).softmax(-1) @ (x @ W_v)


def _query_by_query(x: Tensor, W_q: Tensor, W_k: Tensor, W_v: Tensor) -> Tensor:
    import torch

    q, k, v = x @ W_q, x @ W_k, x @ W_v
    blends = []
    for t in range(x.shape[-2]):
        scores = (q[..., t : t + 1, :] * k).sum(-1) / q.shape[-1] ** 0.5
        blends.append((scores.softmax(-1)[..., None] * v).sum(-2))
    return torch.stack(blends, dim=-2)


def _einsum_form(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    import torch

    return torch.einsum("...td,dk,ek,...se->...ts", x, W_q, W_k, x) / W_q.shape[-1] ** 0.5


def _pair_by_pair(x: Tensor, W_q: Tensor, W_k: Tensor) -> Tensor:
    import torch

    M, T = W_q @ W_k.T / W_q.shape[-1] ** 0.5, x.shape[-2]
    scores = [torch.stack([((x[..., i, :] @ M) * x[..., j, :]).sum(-1) for j in range(T)], -1) for i in range(T)]
    return torch.stack(scores, -2)


# --- the exercises ---------------------------------------------------------------------------------------------------

_PROJECT = Exercise(
    name="project_qkv",
    chapter="05",
    summary="Three views of every row: its query, its key and its value.",
    returns="(…, T, d_k), (…, T, d_k), (…, T, d_v)",
    reference=_project_qkv,
    cases=_cases,
    template=_project_template,
    mistakes=paired(_PROJECT_MISTAKES, _project_template, LIKELY_IN_PAIRS),
    accepted={
        "packed": _packed,
        "row by row, as a list": _row_by_row,
        "einsum": _einsum_views,
        "torch.nn.Linear": _linear_layers,
        "products and sums": _sums,
    },
    hints=(
        "Of what are all three views made, and what is different between them?",
        "Leading axes come back as they were, and the last axis is d_k, d_k and d_v wide. Is it so for each result?",
        "Look at the side of the product on which x stands, and at the order in which you hand back the three.",
    ),
    framework="torch",
)

_HEAD = Exercise(
    name="attention_head",
    chapter="05",
    summary="A whole head: three views, scaled scores, pattern, blend.",
    returns="(…, T, d_v)",
    reference=_attention_head,
    cases=_cases,
    template=_head_template,
    mistakes=paired(_HEAD_MISTAKES, _head_template, LIKELY_IN_PAIRS),
    accepted={
        "scaled query": _scaled_query,
        "a fourth root on both": _fourth_roots,
        "einsum": _einsum_head,
        "softmax by hand, divided last": _by_hand,
        "matrix of the values last": _values_last,
        "through the single matrix": _form_head,
        "query by query": _query_by_query,
        "torch's own, with the scale named": lambda x, W_q, W_k, W_v: _sdpa(x @ W_q, x @ W_k, x @ W_v),
        "from project_qkv": lambda x, W_q, W_k, W_v: _sdpa(*_project_qkv(x, W_q, W_k, W_v)),
    },
    hints=(
        "Chapter 04 went from q, k, v to the blend. What is new here?",
        "Rows of the pattern sum to 1 over the last axis, and a sentence in a batch gives what it gives alone.",
        "Look at three places: the width in the scale, the transpose of the keys (.mT), the dim of the softmax.",
    ),
    framework="torch",
)


def _sdpa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    from torch.nn.functional import scaled_dot_product_attention

    return scaled_dot_product_attention(q, k, v, scale=1 / q.shape[-1] ** 0.5)


_FORM = Exercise(
    name="match_form",
    chapter="05",
    summary="The scaled scores of all pairs of rows, by the single matrix W_q W_kᵀ.",
    returns="(…, T, T)",
    reference=_match_form,
    cases=_form_cases,
    template=_form_template,
    mistakes=paired(_FORM_MISTAKES, _form_template, LIKELY_IN_PAIRS),
    accepted={
        "einsum": _einsum_form,
        "two views, no single matrix": lambda x, W_q, W_k: (x @ W_q) @ (x @ W_k).mT / W_q.shape[-1] ** 0.5,
        "scale in the matrix": lambda x, W_q, W_k: x @ (W_q @ W_k.T * W_q.shape[-1] ** -0.5) @ x.transpose(-2, -1),
        "pair by pair": _pair_by_pair,
        "the turned matrix, turned back": lambda x, W_q, W_k: (x @ (W_k @ W_q.T) @ x.mT).mT / W_q.shape[-1] ** 0.5,
    },
    hints=(
        "Write out one score, (x W_q)(x W_k)ᵀ, without brackets: which part of it knows nothing of the rows?",
        "It has to agree with the scores of q and k, row = the word that looks. Which entry of yours differs first?",
        "Look at the order and the transpose inside the single matrix, at x.mT, and at the width in the scale.",
    ),
    framework="torch",
)

EXERCISES: tuple[Exercise, ...] = (_PROJECT, _HEAD, _FORM)


# --- the questions ---------------------------------------------------------------------------------------------------

_THE = Question(
    name="05_the_and_the",
    chapter="05",
    prompt="Of query, key and value: how many differ between the first and the second 'the'?",
    right=0,
    because="Both have the same row and meet the same matrices: a view depends on nothing else.",
    wrong={
        3: "Each view is made of a row and of a matrix. Which of them differs between the first and the second 'the'?",
        1: "Which of the three would it be, when rows and matrices are the same?",
        2: "Which two would it be, when rows and matrices are the same?",
    },
    otherwise="Of what is a view made, and which of it differs between the two?",
    hints=("Chapter 01: what is in a word's row, and what does it know of its sentence?",),
)

_MUTUAL = Question(
    name="05_mutual",
    chapter="05",
    prompt="The score of bank for boat is 2.04. What is the score of boat for bank?",
    right="another number",
    because="Two matrices, two jobs: what bank looks for, boat has; what boat looks for, bank hardly has.",
    choices=("2.04", "-2.04", "another number"),
    wrong={
        "2.04": "That would be so if a word looked for what it is found by. Do W_q and W_k say the same?",
        "-2.04": "Turned signs would need W_q W_kᵀ to be the negative of its transpose. Is there a reason for that?",
    },
    otherwise="Which query meets which key in either score?",
    hints=("Write both as dot products: q of bank with k of boat, q of boat with k of bank.",),
)

_TOLD = Question(
    name="05_what_training_sees",
    chapter="05",
    prompt="What does the loss compare with the truth?",
    right="nature or made",
    because="The place of the deciding word is in no line of the training: where to look has to be found.",
    choices=("which word decides", "where the deciding word stands", "nature or made", "the whole pattern"),
    wrong={
        "which word decides": "Read the line of the loss: which field of the batch is in it?",
        "where the deciding word stands": "batch.deciding has the places. Which line of the training reads it?",
        "the whole pattern": "Does the training ever see the pattern? Which tensor goes into the loss?",
    },
    otherwise="Which two tensors go into the loss?",
    hints=("Look for batch.answers and batch.deciding in the cell.",),
)

_CHANGED = Question(
    name="05_bank_becomes_bat",
    chapter="05",
    prompt="'bank' at the end becomes 'bat', everything else stays: at which word does the last row look most now?",
    right="cave",
    because="Another row makes another query with the same W_q, and that query matches another key.",
    choices=("boat", "cave", "bat", "was"),
    wrong={
        "boat": "boat decides for bank. Has the query of 'bat' anything to do with the query of 'bank'?",
        "bat": "Training gave the row of an ambiguous word nothing to find out from itself.",
        "was": "Fillers decide nothing, and training had no reason to look at them.",
    },
    otherwise="Which word of the sentence decides for 'bat'?",
    hints=("The query is made of the last row: a new row, a new query.",),
)

_MOVED = Question(
    name="05_two_hundred_back",
    chapter="05",
    prompt="The deciding word moves from 2 words back to 200 words back. What becomes of the weight on it?",
    right="it stays the same",
    because="A score is one dot product of two rows, and neither row says where it stands.",
    choices=("it falls to a hundredth", "it falls a little", "it stays the same"),
    wrong={
        "it falls to a hundredth": "Which number in q · k, or in the sum of the softmax, knows of the distance?",
        "it falls a little": "Which number in q · k knows of the distance? The sentence still has the same words.",
    },
    otherwise="What goes into a score, and which of it depends on the distance?",
    hints=("Write out the weight: one score, and the scores of the same other words.",),
)

_BUG_SAYS = {
    "looks ahead": "All rows may look ahead in this chapter; the right head does so, too.",
    "does not see itself": "Nothing is blocked: every row has a weight for itself.",
    "rows do not sum to 1": "The softmax runs over the last axis, and the printed sums are 1.",
    "mixes batch entries": "The leading axes stay where they are: a sentence alone gives what it gives in a batch.",
    "forgets order": "The right head of this chapter knows no order either: chapter 08.",
    "changes its input": "x is the same before and after the call.",
    "ignores the query": "Change the query of a row, and its pattern changes.",
}

_BUG = Question(
    name="05_bug_reshape",
    chapter="05",
    prompt="Which property does head_1 break?",
    right="scrambles words",
    because="A reshape keeps the order of the numbers in memory: one column then holds numbers of several words.",
    choices=PROPERTIES,
    wrong=_BUG_SAYS,
    otherwise="Change one key: which columns of the scores should move, and which do?",
    hints=("Reshape a (2, 3) tensor to (3, 2) and compare it with the transpose.",),
)

QUESTIONS: tuple[Question, ...] = (_THE, _MUTUAL, _TOLD, _CHANGED, _MOVED, _BUG)

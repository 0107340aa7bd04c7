"""Chapter 08, order: how far a function is from not caring about it, and two ways to tell positions.

Letters: B sentences, T rows, d width of a row, d_k width of a query or key, T_max rows of a table of positions.
Sources: Vaswani et al. 2017, section 3.5 (sinusoids); Su et al. 2021, "RoFormer", equation 34 (rotation), with the
pairs (i, i + d_k/2) that published models use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Fn, Mistake, Question
from attention_lab.exercises.writing import answered, paired, switched

if TYPE_CHECKING:
    from torch import Tensor

Rows = Callable[["Tensor"], "Tensor"]

# --- the references: nothing clever ----------------------------------------------------------------------------------


def _equivariance_gap(f: Rows, x: Tensor, perm: Tensor) -> float:
    """Row by row, each call with a copy of its own."""
    shuffled_first, shuffled_last = f(x.index_select(0, perm)), f(x.clone()).index_select(0, perm)
    return float((shuffled_first - shuffled_last).abs().amax())


def _sinusoidal_positions(T: int, d: int) -> Tensor:
    """Number by number, as the formula stands in print."""
    import math

    import torch

    def entry(t: int, column: int) -> float:
        angle = t / 10000 ** ((column - column % 2) / d)
        return math.cos(angle) if column % 2 else math.sin(angle)

    return torch.tensor([[entry(t, column) for column in range(d)] for t in range(T)], dtype=torch.float64)


def _add_positions(tokens: Tensor, table: Tensor) -> Tensor:
    import torch
    from torch.nn.functional import embedding

    T, T_max = tokens.shape[1], len(table)
    if T > T_max:
        raise ValueError(f"{T} tokens, and the table has positions for {T_max}")
    return tokens + embedding(torch.arange(T), table)


def _rotate(x: Tensor, positions: Tensor) -> Tensor:
    """Pairs as complex numbers, multiplied by a number of length 1."""
    import torch

    half = x.shape[-1] // 2
    pairs = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())
    turns = 10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    angles = positions.to(x.dtype)[:, None] * turns
    turned = pairs * torch.exp(1j * angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


# --- the gap, with switches ------------------------------------------------------------------------------------------


def _inverse(perm: Tensor) -> Tensor:
    return perm.argsort()


#: What f is given first.
FIRST: dict[str, Callable[[Rows, Tensor, Tensor], Tensor]] = {
    "right": lambda f, x, perm: f(x[perm]),
    "as it is": lambda f, x, perm: f(x.clone()),
    "inverse": lambda f, x, perm: f(x[_inverse(perm)]),
    "reversed": lambda f, x, perm: f(x.flip(0)),
    "turned": lambda f, x, perm: f(x.T[perm].T),
    "columns": lambda f, x, perm: f(x[:, perm]),
    "rolled": lambda f, x, perm: f(x.roll(1, 0)),
}

#: What it is compared with.
SECOND: dict[str, Callable[[Rows, Tensor, Tensor], Tensor]] = {
    "right": lambda f, x, perm: f(x.clone())[perm],
    "as it is": lambda f, x, perm: f(x.clone()),
    "inverse": lambda f, x, perm: f(x.clone())[_inverse(perm)],
    "same": lambda f, x, perm: f(x[perm]),
    "back too far": lambda f, x, perm: f(x[perm])[perm],
    "the input": lambda f, x, perm: x,
    "the shuffled input": lambda f, x, perm: x[perm],
    "twice": lambda f, x, perm: f(x.clone())[perm][perm],
    "in place": lambda f, x, perm: f(x)[perm],
}

#: What is made of the differences.
SIZES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "right": lambda a, b: (a - b).abs().max().item(),
    "signed": lambda a, b: (a - b).max().item(),
    "other sign": lambda a, b: (b - a).max().item(),
    "mean": lambda a, b: (a - b).abs().mean().item(),
    "signed mean": lambda a, b: (a - b).mean().abs().item(),
    "sum": lambda a, b: (a - b).abs().sum().item(),
    "size of the sum": lambda a, b: (a - b).sum().abs().item(),
    "length": lambda a, b: (a - b).norm().item(),
    "longest row": lambda a, b: (a - b).norm(dim=-1).max().item(),
    "row sums": lambda a, b: (a - b).abs().sum(-1).max().item(),
    "squares": lambda a, b: (a - b).square().mean().item(),
    "mean of the rows": lambda a, b: (a - b).abs().amax(-1).mean().item(),
    "sorted": lambda a, b: (a.sort(0).values - b.sort(0).values).abs().max().item(),
    "largest square": lambda a, b: (a - b).square().max().item(),
    "root of the mean square": lambda a, b: (a - b).square().mean().sqrt().item(),
    "least": lambda a, b: (a - b).abs().min().item(),
    "difference of the largest": lambda a, b: abs(a.max() - b.max()).item(),
    "difference of the sizes": lambda a, b: (a.abs() - b.abs()).abs().max().item(),
    "row by row": lambda a, b: (a - b).abs().amax(-1),
    "column by column": lambda a, b: (a - b).abs().amax(0),
    "all": lambda a, b: (a - b).abs(),
    "yes or no": lambda a, b: bool(((a - b).abs() > 1e-6).any()),
    "no or yes": lambda a, b: bool(((a - b).abs() <= 1e-6).all()),
    "relative": lambda a, b: ((a - b).abs().max() / b.abs().max()).item(),
    "last row": lambda a, b: (a - b)[-1].abs().max().item(),
    "first row": lambda a, b: (a - b)[0].abs().max().item(),
    "first column": lambda a, b: (a - b)[:, 0].abs().max().item(),
    "how many": lambda a, b: int(((a - b).abs() > 1e-6).any(-1).sum()),
    "rounded": lambda a, b: round((a - b).abs().max().item(), 2),
    "whole": lambda a, b: int((a - b).abs().max()),
    "added": lambda a, b: (a + b).abs().max().item(),
    "place": lambda a, b: int((a - b).abs().argmax()),
}


def _gap_template(
    f: Rows, x: Tensor, perm: Tensor, first: str = "right", second: str = "right", size: str = "right"
) -> Any:
    return SIZES[size](FIRST[first](f, x, perm), SECOND[second](f, x, perm))


def _unshuffled_call_first(f: Rows, x: Tensor, perm: Tensor) -> float:
    """f writes into x, and the second call gets what it left."""
    after = f(x)[perm]
    return (f(x[perm]) - after).abs().max().item()


def _copy_written_into(f: Rows, x: Tensor, perm: Tensor) -> float:
    """One copy for both calls: the second gets what the first has left in it."""
    copy = x.clone()
    after = f(copy)[perm]
    return (f(copy[perm]) - after).abs().max().item()


def _reversed_throughout(f: Rows, x: Tensor, perm: Tensor) -> float:
    return (f(x.flip(0)) - f(x.clone()).flip(0)).abs().max().item()


def _without_f(f: Rows, x: Tensor, perm: Tensor) -> float:
    return (x[perm] - x).abs().max().item()


def _row_by_row(f: Rows, x: Tensor, perm: Tensor) -> float:
    """Every row alone: no row can see another."""
    import torch

    outs = torch.cat([f(row[None].clone()) for row in x])
    return (f(x[perm]) - outs[perm]).abs().max().item()


def _shuffles_x_itself(f: Rows, x: Tensor, perm: Tensor) -> float:
    before = f(x.clone())[perm]
    x[:] = x[perm]
    return (f(x.clone()) - before).abs().max().item()


def _python_max(f: Rows, x: Tensor, perm: Tensor) -> Any:
    return max((f(x[perm]) - f(x.clone())[perm]).abs())


# --- the table of sinusoids, with switches ---------------------------------------------------------------------------

#: What pair i of d columns has for an exponent of the base. The column is given, too.
EXPONENTS: dict[str, Callable[[Any, Any, int], Any]] = {
    "right": lambda i, column, d: 2 * i / d,
    "i / d": lambda i, column, d: i / d,
    "each column its own": lambda i, column, d: column / d,
    "twice the column": lambda i, column, d: 2 * column / d,
    "4i / d": lambda i, column, d: 4 * i / d,
    "reaches the end": lambda i, column, d: i / max(d // 2 - 1, 1),
    "last pair at the end": lambda i, column, d: i / max((d + 1) // 2 - 1, 1),
    "reaches d - 1": lambda i, column, d: 2 * i / (d - 1) if d > 1 else np.nan * i,
    "even width": lambda i, column, d: 2 * i / (d + d % 2),
    "without d": lambda i, column, d: 2.0 * i,
    "from 1": lambda i, column, d: 2 * (i + 1) / d,
    "rises": lambda i, column, d: -2 * i / d,
    "all the same": lambda i, column, d: 0.0 * i,
    "odd numbers": lambda i, column, d: (2 * i + 1) / d,
    "from the end": lambda i, column, d: 2 * ((d + 1) // 2 - 1 - i) / d,
}

#: How the two functions share the columns: from the angles of all columns and the columns, by the width.
SHARES: dict[str, Callable[[Any, Any, int], Any]] = {
    "right": lambda a, column, d: np.where(column % 2 == 0, np.sin(a), np.cos(a)),
    "swapped": lambda a, column, d: np.where(column % 2 == 0, np.cos(a), np.sin(a)),
    "sines only": lambda a, column, d: np.sin(a),
    "cosines only": lambda a, column, d: np.cos(a),
    "angles": lambda a, column, d: a + 0 * column,
    "tangent": lambda a, column, d: np.where(column % 2 == 0, np.sin(a), np.tan(a)),
    "sum": lambda a, column, d: np.sin(a) + np.cos(a),
    "minus the sine": lambda a, column, d: np.where(column % 2 == 0, -np.sin(a), np.cos(a)),
    "odd empty": lambda a, column, d: np.where(column % 2 == 0, np.sin(a), 0.0),
    "even empty": lambda a, column, d: np.where(column % 2 == 0, 0.0, np.cos(a)),
}

#: What a position counts as: from its number and the length.
COUNTS: dict[str, Callable[[Any, int], Any]] = {
    "right": lambda t, T: t,
    "from 1": lambda t, T: t + 1,
    "backwards": lambda t, T: T - 1 - t,
    "all 0": lambda t, T: 0 * t,
    "all 1": lambda t, T: 0 * t + 1,
    "degrees": lambda t, T: np.deg2rad(t),
    "whole turns": lambda t, T: 2 * np.pi * t,
    "half turns": lambda t, T: np.pi * t,
    "share of the length": lambda t, T: t / T,
    "share up to 1": lambda t, T: t / max(T - 1, 1),
    "centred": lambda t, T: t - (T - 1) / 2,
}

#: What becomes of the finished table.
ENDS: dict[str, Callable[[Any, int], Any]] = {
    "right": lambda table, d: table,
    "halves": lambda table, d: np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1),
    "halves swapped": lambda table, d: np.concatenate([table[:, 1::2], table[:, 0::2]], axis=1),
    "turned": lambda table, d: table.T,
    "batch axis": lambda table, d: table[None],
    "middle axis": lambda table, d: table[:, None],
    "last column missing": lambda table, d: table[:, : d - d % 2],
    "last column empty": lambda table, d: np.where(np.arange(d) < d - d % 2, table, 0.0),
    "last row": lambda table, d: table[-1],
    "scaled": lambda table, d: table / d**0.5,
    "grown": lambda table, d: table * d**0.5,
    "flat": lambda table, d: table.reshape(-1),
    "without row 0": lambda table, d: table[1:],
    "between 0 and 1": lambda table, d: (table + 1) / 2,
}


def _table(
    T: int,
    d: int,
    exponent: str = "right",
    share: str = "right",
    count: str = "right",
    base: float = 10000.0,
    end: str = "right",
    rows: int = 0,
    multiplied: bool = False,
) -> Any:
    column = np.arange(d)
    powers = base ** np.asarray(EXPONENTS[exponent](column // 2, column, d), dtype=float)
    place = COUNTS[count](np.arange(T + rows), T)[:, None]
    with np.errstate(all="ignore"):
        angles = place * powers if multiplied else place / powers
        return ENDS[end](SHARES[share](angles, column, d), d)


def _table_template(T: int, d: int, **switches: Any) -> Tensor:
    import torch

    return torch.tensor(np.array(_table(T, d, **switches), dtype=float))


def _odd_width_crashes(T: int, d: int) -> Tensor:
    """As tutorials have it: one angle a pair, and as many cosines as sines."""
    import torch

    table = torch.zeros(T, d)
    angles = torch.arange(T)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def _odd_width_crashes_in_a_loop(T: int, d: int) -> Tensor:
    """Two columns at a time, whether there is room for the second or not."""
    import math

    import torch

    table = torch.zeros(T, d)
    for t in range(T):
        for column in range(0, d, 2):
            angle = t / 10000 ** (column / d)
            table[t, column] = math.sin(angle)
            table[t, column + 1] = math.cos(angle)
    return table


def _halves_grow(T: int, d: int) -> Tensor:
    """Sines, then cosines, one of them too many for an odd width."""
    import torch

    angles = torch.arange(T, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


def _power_before_division(T: int, d: int) -> Tensor:
    """t / 10000 ** 2i / d, which Python reads as (t / 10000 ** 2i) / d."""
    column = np.arange(d)
    angles = np.arange(T)[:, None] / 10000.0 ** (column - column % 2) / d
    return _as_tensor(np.where(column % 2 == 0, np.sin(angles), np.cos(angles)))


def _cosines_of_the_next(T: int, d: int) -> Tensor:
    """For an odd width the first angle, not the last, is dropped for the cosines."""
    column = np.arange(d)
    pair = column // 2 + (column % 2) * (d % 2)
    angles = np.arange(T)[:, None] / 10000.0 ** (2 * pair / d)
    return _as_tensor(np.where(column % 2 == 0, np.sin(angles), np.cos(angles)))


def _rows_take_turns(T: int, d: int) -> Tensor:
    """Even and odd rows, in place of columns: sines in one, cosines in the other."""
    angles = np.arange(T)[:, None] / 10000.0 ** (2 * np.arange(d) / d)
    return _as_tensor(np.where(np.arange(T)[:, None] % 2 == 0, np.sin(angles), np.cos(angles)))


def _whole_numbers(T: int, d: int) -> Tensor:
    """A table of whole numbers cuts what is written into it."""
    return _table_template(T, d).long()


def _as_tensor(values: np.ndarray) -> Tensor:
    import torch

    return torch.from_numpy(values)


def _table_in_numpy(T: int, d: int) -> np.ndarray:
    angles = np.arange(T)[:, None] / 10000 ** (2 * (np.arange(d) // 2) / d)
    angles[:, 0::2], angles[:, 1::2] = np.sin(angles[:, 0::2]), np.cos(angles[:, 1::2])
    return angles


def _odd_width_grows(T: int, d: int) -> Tensor:
    """A sine and a cosine for each pair, whether there is room for the last or not."""
    return _table_template(T, d + d % 2, exponent="right") if d % 2 == 0 else _padded(T, d)


def _padded(T: int, d: int) -> Tensor:
    import torch

    angles = torch.arange(T, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, d, 2) / d)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).reshape(T, -1)


def _odd_width_refused(T: int, d: int) -> Tensor:
    if d % 2:
        raise ValueError(f"d = {d} is odd")
    return _table_template(T, d)


def _random_table(T: int, d: int) -> Tensor:
    import torch

    return torch.randn(T, d, generator=torch.Generator().manual_seed(0))


# --- adding a table, with switches -----------------------------------------------------------------------------------

#: The rows of the table that meet the tokens.
TAKEN: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda tokens, table: table[: tokens.shape[1]],
    "batch axis": lambda tokens, table: table[: tokens.shape[0], None],
    "last rows": lambda tokens, table: table[-tokens.shape[1] :],
    "from 1": lambda tokens, table: table[1 : tokens.shape[1] + 1],
    "row 0": lambda tokens, table: table[0],
    "row T": lambda tokens, table: table[tokens.shape[1] - 1],
    "last row": lambda tokens, table: table[-1],
    "as many as sentences": lambda tokens, table: table[: tokens.shape[0]],
    "as many as columns": lambda tokens, table: table[: tokens.shape[2]],
    "whole table": lambda tokens, table: table,
    "backwards": lambda tokens, table: table[: tokens.shape[1]].flip(0),
    "turned": lambda tokens, table: table[: tokens.shape[1], None],
    "row after": lambda tokens, table: table[tokens.shape[1]],
    "one more": lambda tokens, table: table[: tokens.shape[1] + 1],
    "one less": lambda tokens, table: table[: tokens.shape[1] - 1],
    "mean": lambda tokens, table: table[: tokens.shape[1]].mean(0),
    "sum": lambda tokens, table: table[: tokens.shape[1]].sum(0),
    "columns turned": lambda tokens, table: table[: tokens.shape[1]].flip(1),
    "running on": lambda tokens, table: _running_on(tokens, table),
}


def _running_on(tokens: Tensor, table: Tensor) -> Tensor:
    """Positions are counted through the whole batch."""
    import torch

    B, T, d = tokens.shape
    return table[torch.arange(B * T).remainder(len(table))].reshape(B, T, d)


def _concatenated(tokens: Tensor, rows: Tensor) -> Tensor:
    import torch

    return torch.cat([tokens, rows.expand_as(tokens)], dim=-1)


def _behind(tokens: Tensor, rows: Tensor) -> Tensor:
    import torch

    return torch.cat([tokens, rows.expand_as(tokens)], dim=1)


def _in_place(tokens: Tensor, rows: Tensor) -> Tensor:
    tokens += rows
    return tokens


def _first_sentence_only(tokens: Tensor, rows: Tensor) -> Tensor:
    new = tokens.clone()
    new[0] += rows
    return new


#: How they meet.
JOINED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda tokens, rows: tokens + rows,
    "in place": _in_place,
    "concatenated": _concatenated,
    "behind": _behind,
    "multiplied": lambda tokens, rows: tokens * rows,
    "subtracted": lambda tokens, rows: tokens - rows,
    "tokens grown": lambda tokens, rows: tokens * tokens.shape[-1] ** 0.5 + rows,
    "codes scaled": lambda tokens, rows: tokens + rows / tokens.shape[-1] ** 0.5,
    "mean": lambda tokens, rows: (tokens + rows) / 2,
    "codes only": lambda tokens, rows: rows.expand_as(tokens),
    "tokens only": lambda tokens, rows: tokens + 0 * rows,
    "twice": lambda tokens, rows: tokens + 2 * rows,
    "first sentence": _first_sentence_only,
    "length one": lambda tokens, rows: (tokens + rows) / (tokens + rows).norm(dim=-1, keepdim=True),
    "one sentence": lambda tokens, rows: (tokens + rows)[0],
    "summed": lambda tokens, rows: (tokens + rows).sum(0),
}

#: What is done when there are more tokens than positions.
TOO_LONG: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "cut": lambda tokens, table: (tokens[:, : len(table)], table),
    "wrapped": lambda tokens, table: (tokens, table.repeat(-(-tokens.shape[1] // len(table)), 1)),
    "last row again": lambda tokens, table: (tokens, table[_clamped(tokens, table)]),
    "no code": lambda tokens, table: (tokens, _padded_table(tokens, table)),
    "newest": lambda tokens, table: (tokens[:, -len(table) :], table),
}


def _clamped(tokens: Tensor, table: Tensor) -> Tensor:
    import torch

    return torch.arange(tokens.shape[1]).clamp(max=len(table) - 1)


def _padded_table(tokens: Tensor, table: Tensor) -> Tensor:
    import torch

    missing = tokens.shape[1] - len(table)
    return torch.cat([table, torch.zeros(missing, table.shape[1], dtype=table.dtype)])


def _add_template(
    tokens: Tensor,
    table: Tensor,
    taken: str = "right",
    join: str = "right",
    too_long: str = "right",
    error: type[Exception] = ValueError,
    text: str = "{T} tokens, {T_max} positions",
    strict: bool = False,
) -> Any:
    T, T_max = tokens.shape[1], len(table)
    if (T > T_max or (strict and T == T_max)) and too_long != "unchecked":
        if too_long == "none":
            return None
        if too_long == "unchanged":
            return tokens.clone()
        if too_long == "right":
            raise error(text.format(T=T, T_max=T_max))
        tokens, table = TOO_LONG[too_long](tokens, table)
    return JOINED[join](tokens, TAKEN[taken](tokens, table))


def _refuse(one: int, other: int) -> None:
    raise ValueError(f"{one} tokens, and the table has positions for {other}")


def _compares_sentences(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[0] > table.shape[0]:
        _refuse(tokens.shape[0], table.shape[0])
    return tokens + table[: tokens.shape[1]]


def _compares_columns(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[-1] > table.shape[0]:
        _refuse(tokens.shape[-1], table.shape[0])
    return tokens + table[: tokens.shape[1]]


def _compares_width_of_the_table(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[1] > table.shape[1]:
        _refuse(tokens.shape[1], table.shape[1])
    return tokens + table[: tokens.shape[1]]


def _refuses_longer_tables(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[1] < table.shape[0]:
        _refuse(tokens.shape[1], table.shape[0])
    return tokens + table[: tokens.shape[1]]


def _torchs_error_renamed(tokens: Tensor, table: Tensor) -> Tensor:
    try:
        return tokens + table[: tokens.shape[1]]
    except RuntimeError as error:
        raise ValueError(f"{tokens.shape[1]} tokens, and the table has positions for {len(table)}") from error


def _one_code_a_sentence(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[1] > len(table):
        _refuse(tokens.shape[1], len(table))
    new = tokens.clone()
    for b in range(len(tokens)):
        new[b] += table[b]
    return new


def _compares_all_tokens(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[0] * tokens.shape[1] > table.shape[0]:
        _refuse(tokens.shape[0] * tokens.shape[1], table.shape[0])
    return tokens + table[: tokens.shape[1]]


def _wants_as_many(tokens: Tensor, table: Tensor) -> Tensor:
    if tokens.shape[1] != table.shape[0]:
        _refuse(tokens.shape[1], table.shape[0])
    return tokens + table


def _own_sinusoids(tokens: Tensor, table: Tensor) -> Tensor:
    T, T_max = tokens.shape[1], len(table)
    if T > T_max:
        _refuse(T, T_max)
    return tokens + _sinusoidal_positions(T, tokens.shape[2]).to(tokens.dtype)


def _changes_the_table(tokens: Tensor, table: Tensor) -> Tensor:
    T = tokens.shape[1]
    if len(table) < T:
        _refuse(tokens.shape[1], len(table))
    table[:T] += tokens[0]
    return tokens + table[:T]


# --- rotation, with switches -----------------------------------------------------------------------------------------

#: How fast pair i of `half` pairs turns.
TURNS: dict[str, Callable[[Any, int, float], Any]] = {
    "right": lambda i, half, base: base ** (-i / half),
    "i / d_k": lambda i, half, base: base ** (-i / (2 * half)),
    "4i / d_k": lambda i, half, base: base ** (-2 * i / half),
    "all the same": lambda i, half, base: 0 * i + 1.0,
    "from the end": lambda i, half, base: base ** (-(half - 1 - i) / half),
    "rising": lambda i, half, base: base ** (i / half),
    "from 1": lambda i, half, base: base ** (-(i + 1) / half),
    "reaches the end": lambda i, half, base: base ** (-i / max(half - 1, 1)),
    "first pair only": lambda i, half, base: (i == 0) * 1.0,
}

#: What the rows count as: from positions, x.
PLACES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "right": lambda p, x: p,
    "0 to T - 1": lambda p, x: _counted(x, -2),
    "from 1": lambda p, x: p + 1,
    "since the first": lambda p, x: p - p[0],
    "since the least": lambda p, x: p - p.min(),
    "sorted": lambda p, x: p.sort().values,
    "backwards": lambda p, x: p.flip(0),
    "first for all": lambda p, x: p[:1].expand(len(p)),
    "last for all": lambda p, x: p[-1:].expand(len(p)),
    "mean for all": lambda p, x: p.double().mean().expand(len(p)),
    "none": lambda p, x: 0 * p,
    "degrees": lambda p, x: p.double().deg2rad(),
    "whole numbers": lambda p, x: p.long(),
    "whole turns": lambda p, x: 6.283185307179586 * p.double(),
    "half turns": lambda p, x: 3.141592653589793 * p.double(),
    "batch": lambda p, x: _by_sentence(p, x),
    "share": lambda p, x: p.double() / x.shape[-2],
    "halved": lambda p, x: p.double() / 2,
    "doubled": lambda p, x: 2 * p,
}


def _counted(x: Tensor, axis: int) -> Tensor:
    import torch

    return torch.arange(x.shape[axis])


def _by_sentence(p: Tensor, x: Tensor) -> Tensor:
    """The place in the first axis in place of the place in the sentence; without a batch nothing is wrong."""
    import torch

    return torch.arange(len(x)).reshape(-1, *([1] * (x.ndim - 2))) if x.ndim > 2 else p


Pair = tuple["Tensor", "Tensor"]

#: Which numbers are a pair, and how they are put back.
PAIRS: dict[str, tuple[Callable[[Tensor], Pair], Callable[[Tensor, Tensor], Tensor]]] = {}


def _halves(x: Tensor) -> Pair:
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _neighbours(x: Tensor) -> Pair:
    return x[..., 0::2], x[..., 1::2]


def _mirrored(x: Tensor) -> Pair:
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:].flip(-1)


def _side_by_side(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.cat([a, b], dim=-1)


def _interleaved(a: Tensor, b: Tensor) -> Tensor:
    import torch

    return torch.stack([a, b], dim=-1).flatten(-2)


PAIRS |= {
    "right": (_halves, _side_by_side),
    "neighbours": (_neighbours, _interleaved),
    "neighbours taken": (_neighbours, _side_by_side),
    "neighbours given": (_halves, _interleaved),
    "halves swapped": (lambda x: _halves(x)[::-1], _side_by_side),
    "given back swapped": (_halves, lambda a, b: _side_by_side(b, a)),
    "mirrored": (_mirrored, lambda a, b: _side_by_side(a, b.flip(-1))),
}

#: What is done with the two numbers of a pair, cos and sin.
MOVES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Pair]] = {
    "right": lambda a, b, c, s: (a * c - b * s, a * s + b * c),
    "other way": lambda a, b, c, s: (a * c + b * s, b * c - a * s),
    "cos and sin exchanged": lambda a, b, c, s: (a * s - b * c, a * c + b * s),
    "plus twice": lambda a, b, c, s: (a * c + b * s, a * s + b * c),
    "minus twice": lambda a, b, c, s: (a * c - b * s, b * c - a * s),
    "mirrored": lambda a, b, c, s: (a * c + b * s, a * s - b * c),
    "cosine subtracted": lambda a, b, c, s: (a * c - b * s, a * s - b * c),
    "first used again": lambda a, b, c, s: (a * c - b * s, (a * c - b * s) * s + b * c),
    "no partner": lambda a, b, c, s: (a * c, b * s),
    "cosines only": lambda a, b, c, s: (a * c, b * c),
    "added": lambda a, b, c, s: (a + s, b + c),
    "itself": lambda a, b, c, s: (a * c + a * s, b * c + b * s),
    "first only": lambda a, b, c, s: (a * c - b * s, b),
    "second only": lambda a, b, c, s: (a, a * s + b * c),
    "own partner": lambda a, b, c, s: (a * c - a * s, b * c + b * s),
}

#: What becomes of the result.
AFTER: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "right": lambda out, x: out,
    "scaled": lambda out, x: out / x.shape[-1] ** 0.5,
    "added to x": lambda out, x: x + out,
    "length one": lambda out, x: out / out.norm(dim=-1, keepdim=True),
    "first half": lambda out, x: out[..., : x.shape[-1] // 2],
    "last row": lambda out, x: out[..., -1:, :],
    "pair": lambda out, x: tuple(_halves(out)),
    "rounded": lambda out, x: out.round(decimals=1),
    "first sentence": lambda out, x: out[0] if out.ndim > 2 else out,
}


def _rotate_template(
    x: Tensor,
    positions: Tensor,
    turn: str = "right",
    place: str = "right",
    pair: str = "right",
    move: str = "right",
    after: str = "right",
    base: float = 10000.0,
    quarter: bool = False,
    in_place: bool = False,
) -> Any:
    import torch

    half = x.shape[-1] // 2
    speeds = TURNS[turn](torch.arange(half, dtype=torch.float64), half, base)
    if quarter:
        speeds = torch.where(torch.arange(half) < (half + 1) // 2, speeds, 0.0)
    angles = PLACES[place](positions, x)[..., None] * speeds
    take, give = PAIRS[pair]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    out = AFTER[after](give(*MOVES[move](*take(x), cos, sin)), x)
    if in_place:
        x[:] = out
        return x
    return out


def _views_in_place(x: Tensor, positions: Tensor) -> Tensor:
    """Writes the first half into x and reads it again for the second."""
    import torch

    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    x[..., :half] = a * cos - b * sin
    x[..., half:] = a * sin + b * cos
    return x


def _along_the_width(x: Tensor, positions: Tensor) -> Tensor:
    """Angles laid along the wrong axis: it fails unless sizes happen to fit."""
    import torch

    half = x.shape[-1] // 2
    angles = positions * 10000 ** (-torch.arange(half, dtype=torch.float64)[:, None] / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return _side_by_side(a * cos - b * sin, a * sin + b * cos)


def _angles_repeated(x: Tensor, positions: Tensor, pair: str) -> Tensor:
    """Angles laid out for one pairing, numbers swapped for the other."""
    import torch

    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
    if pair == "halves":
        angles, other = angles.repeat_interleave(2, dim=-1), _side_by_side(-x[..., half:], x[..., :half])
    else:
        angles, other = angles.repeat(1, 2), _interleaved(-x[..., 1::2], x[..., 0::2])
    return x * angles.cos().to(x.dtype) + other * angles.sin().to(x.dtype)


def _columns_of_their_own(x: Tensor, positions: Tensor) -> Tensor:
    """Every number has a speed of its own, so the two of a pair do not turn together."""
    import torch

    half, d_k = x.shape[-1] // 2, x.shape[-1]
    angles = positions[:, None] * 10000 ** (-torch.arange(d_k, dtype=torch.float64) / d_k)
    other = _side_by_side(-x[..., half:], x[..., :half])
    return x * angles.cos().to(x.dtype) + other * angles.sin().to(x.dtype)


def _positions_not_a_column(x: Tensor, positions: Tensor) -> Tensor:
    """Position t times the speed of pair t: it fails unless there are as many rows as pairs."""
    import torch

    half = x.shape[-1] // 2
    angles = positions * 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return _side_by_side(a * cos - b * sin, a * sin + b * cos)


def _added_sinusoids(x: Tensor, positions: Tensor) -> Tensor:
    import torch

    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000 ** (-torch.arange(half, dtype=torch.float64) / half)
    return x + _interleaved(angles.sin(), angles.cos()).to(x.dtype)


# --- the cases -------------------------------------------------------------------------------------------------------

#: How far from a half of a thousandth numbers must be, so that single precision rounds them like double precision.
MARGIN = 1e-5


def _safe(values: np.ndarray) -> bool:
    """Whether no number is so near the border between two thousandths that single precision may round it away."""
    beyond = np.abs(values) * 1000 % 1
    return bool((np.abs(beyond - 0.5) > 1000 * MARGIN).all())


def _gap_cases(rng: np.random.Generator) -> list[Case]:
    """Permutations that are not their own inverse; more rows than columns, and the other way round."""

    def perm(T: int) -> np.ndarray:
        """One cycle through all rows: a random one."""
        order = rng.permutation(T)
        cycle = np.empty(T, dtype=np.int64)
        cycle[order] = np.roll(order, 1)
        return cycle

    small = np.array([[3.0, 0.0], [-2.0, 1.0], [-2.0, 1.0]])
    return [
        Case((Fn("sum_so_far"), small, np.array([1, 2, 0]))),
        Case((Fn("each_row_alone"), rng.standard_normal((5, 3)), perm(5)), "no row reads another"),
        Case((Fn("numbered"), rng.standard_normal((7, 4)), perm(7)), "a function that goes far below zero"),
        Case((Fn("left_neighbour"), rng.standard_normal((5, 7)), perm(5)), "a function that gives one column"),
        Case((Fn("weighed_in_place"), rng.standard_normal((5, 4)), perm(5)), "a function that writes into its input"),
        Case((Fn("sum_so_far"), rng.standard_normal((6, 6)), np.arange(6)), "nothing is shuffled"),
    ]


def _table_cases(rng: np.random.Generator) -> list[Case]:
    """A readable table, an even and an odd width drawn, and the smallest widths."""

    def drawn(widths: tuple[int, ...]) -> tuple[int, int]:
        while True:
            T, d = int(rng.integers(3, 12)), int(rng.choice(widths))
            if T != d and _safe(_table(T, d)):
                return T, d

    def called(sizes: tuple[int, int], note: str) -> Case:
        return Case(sizes, note, script="in_thousandths")

    return [
        called((3, 4), ""),
        called(drawn((6, 8, 10)), ""),
        called(drawn((5, 7, 9)), "an odd width"),
        called((1, 6), "one position"),
        called((4, 1), "one column"),
    ]


def _add_cases(rng: np.random.Generator) -> list[Case]:
    def drawn(*sizes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        return tuple(rng.standard_normal(size) for size in sizes)

    tokens = np.array([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]] * 2)
    table = np.array([[0.0, 10.0], [20.0, 30.0], [40.0, 50.0], [60.0, 70.0]])
    return [
        Case((tokens, table)),
        Case(drawn((2, 5, 3), (7, 3)), "more positions than tokens"),
        Case(drawn((3, 5, 4), (5, 4)), "as many positions as tokens"),
        Case(drawn((3, 3, 3), (9, 3)), "all sizes of the tokens equal"),
        Case(drawn((2, 4, 5), (3, 5)), "more tokens than positions"),
        Case(
            drawn((2, 7, 5), (4, 5)),
            "7 tokens, 4 positions: is each number in the message (1) or not (0)?",
            "positions_refused",
        ),
        Case(drawn((2, 3, 4), (1, 4)), "a table with one row"),
        Case(drawn((5, 2, 6), (3, 6)), "more sentences than positions"),
    ]


def _rotate_cases(rng: np.random.Generator) -> list[Case]:
    def drawn(lead: tuple[int, ...], d_k: int, positions: list[float] | list[int], note: str) -> Case:
        places = np.array(positions)
        while True:
            x = rng.standard_normal((*lead, len(positions), d_k))
            if _safe(_turned(x, places)):
                return Case((x, places), note, script="in_thousandths")

    first = int(rng.integers(5, 9))
    return [
        Case(
            (np.array([[1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 2.0]]), np.array([0, 1])),
            script="in_thousandths",
        ),
        drawn((), 6, [first + t for t in range(5)], "positions that do not begin at 0"),
        drawn((2,), 8, [3, 0, 9, 1], "positions in no order, one leading axis"),
        drawn((2, 3), 2, [1, 2, 4], "a single pair, two leading axes"),
        drawn((3,), 6, [0.5, 1.0, 2.5], "positions between whole numbers"),
    ]


def _turned(x: np.ndarray, positions: np.ndarray) -> np.ndarray:
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-np.arange(half) / half)
    turned = (x[..., :half] + 1j * x[..., half:]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag], axis=-1)


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone, which keeps
#: the number of pairs, and with it the time that a wrong answer takes, small.
LIKELY_IN_PAIRS = """
compared_with_the_unshuffled inverse_on_the_result inverse_on_the_input written_into_x signed mean length summed
swapped halves exponent_i_over_d each_column_its_own base_1000 base_missing from_1 degrees powers_multiplied
batch_axis last_rows from_row_1 row_0_for_all concatenated in_place multiplied torchs_own_error assertion
index_error tokens_grown numbers_not_named
neighbours other_way all_pairs_alike i_over_d_k base_1000_turns base_missing_turns counted_anew positions_from_1
positions_in_degrees cos_and_sin_exchanged rising_turns scaled_result
""".split()


_FIRST = "Two ways lead to the same place: shuffle, then f; f, then shuffle. Which two do you compare?"
_PERM = "Row 0 of x[perm] is row perm[0] of x. Which row of f(x) belongs beside it?"
_LARGEST = "One number is off by 3, all others agree. What should come back?"
_COPY = "What is in x after f has written into what it was given?"
_ONE_NUMBER = "How many numbers should come back, whatever the shape of f(x)?"

_GAP_MISTAKES = [
    switched(
        "compared_with_the_unshuffled",
        "You compare f(x[perm]) with f(x): that asks whether the output stays the same, not whether it goes along.",
        _PERM,
        second="as it is",
    ),
    switched(
        "input_not_shuffled",
        "f never gets the shuffled rows: you compare f(x) with f(x) shuffled.",
        _FIRST,
        first="as it is",
    ),
    switched("inverse_on_the_result", "The result is shuffled by the inverse of perm.", _PERM, second="inverse"),
    switched("inverse_on_the_input", "f gets the rows shuffled by the inverse of perm.", _PERM, first="inverse"),
    Mistake(
        "inverse_on_both",
        "Rows and result are both shuffled by the inverse of perm.",
        _PERM,
        answer=partial(_gap_template, first="inverse", second="inverse"),
    ),
    switched(
        "same_call_twice",
        "You compare f(x[perm]) with itself: your gap is always 0.",
        _FIRST,
        second="same",
    ),
    switched(
        "shuffled_twice",
        "f(x[perm]) is shuffled once more and compared with itself.",
        _FIRST,
        second="back too far",
    ),
    switched(
        "result_shuffled_twice",
        "f(x) is shuffled twice, the rows once.",
        _PERM,
        second="twice",
    ),
    switched(
        "compared_with_the_rows",
        "You compare f(x[perm]) with the shuffled rows: the result of f on x has no say.",
        _FIRST,
        second="the shuffled input",
    ),
    switched("reversed", "You turn the rows round; perm asks for another order.", _PERM, first="reversed"),
    switched("rolled", "You roll the rows by one; perm may ask for another order.", _PERM, first="rolled"),
    switched(
        "columns_shuffled",
        "You shuffle the columns of x, not its rows.",
        "Which axis of x holds the words?",
        first="columns",
    ),
    answered("f_left_out", "You measure how far the rows move; f is never called.", _FIRST, _without_f),
    answered(
        "rows_alone",
        "f gets one row at a time, so no row can see another.",
        "What does attention do with a sentence of one word?",
        _row_by_row,
    ),
    switched("written_into_x", "f gets x itself, and may write into it.", _COPY, second="in place"),
    answered(
        "written_into_x_first",
        "f gets x itself and may write into it; the second call then works on what it left.",
        _COPY,
        _unshuffled_call_first,
    ),
    answered(
        "x_itself_shuffled",
        "You shuffle x in place: the caller's rows are in another order afterwards.",
        "Does x[:] = … make a new tensor?",
        _shuffles_x_itself,
    ),
    switched("signed", "You take the largest difference, and negative ones count as small.", _LARGEST, size="signed"),
    switched(
        "signed_the_other_way",
        "You take the largest difference with its sign, second less first: half of the gaps are missed.",
        _LARGEST,
        size="other sign",
    ),
    switched("mean", "Your result is the mean of the differences, not the largest.", _LARGEST, size="mean"),
    switched(
        "signed_mean",
        "Your result is the mean with signs: differences cancel each other.",
        _LARGEST,
        size="signed mean",
    ),
    switched("summed", "Your result is the sum of all differences.", _LARGEST, size="sum"),
    switched(
        "signed_sum",
        "You add up differences with their signs, and they cancel each other.",
        _LARGEST,
        size="size of the sum",
    ),
    switched("length", "Your result is the norm of all differences together.", _LARGEST, size="length"),
    switched("longest_row", "Your result is the norm of the row that differs most.", _LARGEST, size="longest row"),
    switched("largest_row_sum", "Your result is the largest sum over a row.", _LARGEST, size="row sums"),
    switched(
        "mean_of_the_rows",
        "You take the largest difference of each row, and then the mean of those.",
        _LARGEST,
        size="mean of the rows",
    ),
    switched(
        "sorted_first",
        "You sort the numbers before you compare them: which row they stand in has no say.",
        "What should come out for a function that gives its rows in another order?",
        size="sorted",
    ),
    switched("mean_square", "Your result is the mean of the squared differences.", _LARGEST, size="squares"),
    switched("largest_square", "Your result is the square of the largest difference.", _LARGEST, size="largest square"),
    switched(
        "root_mean_square",
        "Your result is the root of the mean squared difference.",
        _LARGEST,
        size="root of the mean square",
    ),
    switched("least", "Your result is the least difference of all.", _LARGEST, size="least"),
    switched(
        "largest_numbers_compared",
        "You compare the largest numbers of the two results; a shuffle does not change which number is largest.",
        "Which numbers of the two results belong together?",
        size="difference of the largest",
    ),
    switched(
        "sizes_compared",
        "You compare the sizes of the numbers: 3 and -3 count as equal.",
        "How far apart are 3 and -3?",
        size="difference of the sizes",
    ),
    switched("row_by_row", "Your result holds one number a row.", _ONE_NUMBER, size="row by row"),
    switched("column_by_column", "Your result holds one number a column.", _ONE_NUMBER, size="column by column"),
    switched("not_reduced", "Your result holds all differences, not the largest.", _ONE_NUMBER, size="all"),
    switched(
        "yes_or_no",
        "Your result says whether there is a gap, not how large it is.",
        "What would tell a gap of 0.01 from one of 5?",
        size="yes or no",
    ),
    switched(
        "no_or_yes",
        "Your result says whether the two agree, not how far they are apart.",
        "What would tell a gap of 0.01 from one of 5?",
        size="no or yes",
    ),
    switched(
        "relative",
        "You divide the gap by the size of the result.",
        "Does the definition divide by anything?",
        size="relative",
    ),
    switched("last_row_only", "Only the last row is compared.", _LARGEST, size="last row"),
    switched("first_row_only", "Only the first row is compared.", _LARGEST, size="first row"),
    switched("first_column_only", "Only the first column is compared.", _LARGEST, size="first column"),
    switched("rows_counted", "You count the rows that differ.", _LARGEST, size="how many"),
    switched("place_of_the_largest", "argmax says where the largest is, not how large.", _LARGEST, size="place"),
    switched("rounded", "You round the gap, and small gaps vanish.", "What is a gap of 0.004 then?", size="rounded"),
    switched("whole_numbers", "int cuts the gap down to a whole number.", "What is a gap of 0.9 then?", size="whole"),
    switched("added", "You add the two results in place of taking one from the other.", _FIRST, size="added"),
    answered(
        "python_max",
        "Python's max compares whole rows with each other, and a row has no single truth.",
        "Does max(tensor) run over its rows or over its numbers?",
        _python_max,
    ),
    answered(
        "copy_used_twice",
        "Both calls of f get one copy of x, and f may have written into it before you shuffle it.",
        _COPY,
        _copy_written_into,
    ),
    answered(
        "order_of_your_own",
        "You turn the rows round and do not use perm.",
        "Which of the three inputs can change without changing your result?",
        _reversed_throughout,
    ),
]

_COLUMNS = "Which two columns share a frequency, and what stands in the first of them?"
_EXPONENT = "Columns 0 and 1 are pair 0 and turn by 1 a position. By how much do columns 2 and 3 turn when d is 4?"
_BASE = "How slow is the slowest column, beside the fastest?"
_PLACE = "What is row 0 of the table, when sin(0) is 0 and cos(0) is 1?"
_UNIT = "In which unit do torch.sin and torch.cos take their angle?"
_ODD = "For d = 5: how many columns are sines, and how many cosines?"
_SHAPE = "Which shape does the exercise ask for?"

_TABLE_MISTAKES = [
    switched("swapped", "Your even columns hold cosines and your odd ones sines.", _PLACE, share="swapped"),
    switched("halves", "All your sines come first, then all cosines.", _COLUMNS, end="halves"),
    switched("halves_swapped", "All your cosines come first, then all sines.", _COLUMNS, end="halves swapped"),
    switched("sines_only", "Every column of your table is a sine.", _PLACE, share="sines only"),
    switched("cosines_only", "Every column of your table is a cosine.", _PLACE, share="cosines only"),
    switched("angles_returned", "You hand back the angles, without sine and cosine.", _PLACE, share="angles"),
    switched("tangent", "Your odd columns hold tangents.", _PLACE, share="tangent"),
    switched("sine_and_cosine_added", "Sine and cosine are added in every column.", _PLACE, share="sum"),
    switched("minus_the_sine", "Your sines have the wrong sign.", "Is the sine of 1 above 0?", share="minus the sine"),
    switched("odd_columns_empty", "Your odd columns were never filled.", _COLUMNS, share="odd empty"),
    switched("even_columns_empty", "Your even columns were never filled.", _COLUMNS, share="even empty"),
    switched(
        "exponent_i_over_d",
        "Your frequencies fall half as fast as they should: the exponent of pair i is i / d, or the base is 100.",
        _EXPONENT,
        exponent="i / d",
    ),
    switched(
        "each_column_its_own",
        "Sine and cosine of a pair have different frequencies: each column has an exponent of its own.",
        _COLUMNS,
        exponent="each column its own",
    ),
    switched(
        "twice_the_column",
        "Each column has an exponent of its own, and twice as large as it should be.",
        _EXPONENT,
        exponent="twice the column",
    ),
    switched(
        "exponent_4i_over_d",
        "Your frequencies fall twice as fast as they should: an arange by twos is doubled once more.",
        "What runs over 0, 2, 4 …: i, or 2i?",
        exponent="4i / d",
    ),
    switched(
        "slowest_is_the_base",
        "Your slowest column reaches the base itself: the exponent is i / (d/2 - 1).",
        _EXPONENT,
        exponent="reaches the end",
    ),
    switched(
        "divided_by_d_minus_1",
        "Your exponents are divided by d - 1.",
        _EXPONENT,
        exponent="reaches d - 1",
    ),
    switched(
        "odd_width_made_even",
        "An odd d is rounded up, and the exponents are divided by the wrong width.",
        "Which d belongs in the exponent when d is 5?",
        exponent="even width",
    ),
    switched("exponent_without_d", "Your exponents are not divided by the width.", _EXPONENT, exponent="without d"),
    switched("pairs_from_1", "Your pairs are counted from 1: the first is already slow.", _EXPONENT, exponent="from 1"),
    switched(
        "powers_multiplied",
        "Later columns turn faster and faster: positions are multiplied by the powers of the base.",
        _BASE,
        multiplied=True,
    ),
    switched(
        "one_frequency",
        "All your pairs turn equally fast: every exponent is 0.",
        "Is there a division of whole numbers, //, in your exponent?",
        exponent="all the same",
    ),
    switched(
        "frequencies_from_the_end",
        "Your slowest pair comes first.",
        "Which pair turns by 1 a position?",
        exponent="from the end",
    ),
    switched("base_1000", "Your frequencies fall by another base: 1000.", _BASE, base=1000.0),
    switched("base_100000", "Your frequencies fall by another base: 100000.", _BASE, base=100000.0),
    switched(
        "base_missing",
        "Your base is e: exp gets the exponent without the logarithm of 10000.",
        "Which power of e is 10000?",
        base=float(np.e),
    ),
    switched(
        "base_two_log",
        "Your base is e to the power of log10(10000) = 4.",
        "To which base is the logarithm that exp undoes?",
        base=float(np.exp(4)),
    ),
    switched("from_1", "Your positions begin at 1.", _PLACE, count="from 1"),
    switched("backwards", "Your positions run backwards.", _PLACE, count="backwards"),
    switched(
        "same_row_everywhere",
        "All rows of your table are the row of position 0.",
        "What tells two rows of your table apart?",
        count="all 0",
    ),
    switched(
        "same_row_of_1_everywhere",
        "All rows of your table are the row of position 1.",
        "What tells two rows of your table apart?",
        count="all 1",
    ),
    switched("degrees", "Your positions are turned into radians as if they were degrees.", _UNIT, count="degrees"),
    switched("whole_turns", "Your angles are 2π times too large.", _UNIT, count="whole turns"),
    switched("half_turns", "Your angles are π times too large.", _UNIT, count="half turns"),
    switched(
        "share_of_the_length",
        "Positions are divided by T: the same position has another code in a longer text.",
        "Should row 3 of the table depend on how many rows follow?",
        count="share of the length",
    ),
    switched(
        "share_up_to_1",
        "Positions run from 0 to 1: the same position has another code in a longer text.",
        "Should row 3 of the table depend on how many rows follow?",
        count="share up to 1",
    ),
    switched("centred", "Your position 0 stands in the middle.", _PLACE, count="centred"),
    switched("turned", "Your positions run along the columns: the table is (d, T).", _SHAPE, end="turned"),
    switched("batch_axis_added", "Your table has a leading axis of length 1.", _SHAPE, end="batch axis"),
    switched("middle_axis_added", "Your table has an axis of length 1 in the middle.", _SHAPE, end="middle axis"),
    switched("flat", "Your table is one long row.", _SHAPE, end="flat"),
    switched("last_row_only", "You hand back the row of the last position only.", _SHAPE, end="last row"),
    switched("row_0_left_out", "Your table has no row for position 0.", _PLACE, end="without row 0"),
    switched("one_row_more", "Your table has a row too many.", "What is the last position of T?", rows=1),
    switched("last_column_missing", "An odd width loses its last column.", _ODD, end="last column missing"),
    switched("last_column_empty", "An odd width has nothing in its last column.", _ODD, end="last column empty"),
    answered("odd_width_crashes", "An odd width fails: you make as many cosines as sines.", _ODD, _odd_width_crashes),
    answered(
        "odd_width_crashes_in_a_loop",
        "An odd width fails: your loop fills two columns at a time, and there is no second one in the end.",
        _ODD,
        _odd_width_crashes_in_a_loop,
    ),
    answered(
        "halves_grow",
        "All your sines come first, then all cosines, and an odd width becomes one column wider.",
        _COLUMNS,
        _halves_grow,
    ),
    answered(
        "power_before_division",
        "The power is taken before the division by d: a ** b / d is (a ** b) / d.",
        "In which order does Python work out 10000 ** 2 / 4?",
        _power_before_division,
    ),
    answered(
        "cosines_of_the_next_pair",
        "In an odd width your cosines have the angle of the next pair.",
        _COLUMNS,
        _cosines_of_the_next,
    ),
    answered(
        "rows_take_turns",
        "Your even rows hold sines and your odd rows cosines.",
        "Does 0::2 stand for rows or for columns in yours?",
        _rows_take_turns,
    ),
    answered(
        "cut_to_whole_numbers",
        "Your table holds whole numbers: what is written into it is cut.",
        "Which dtype has the tensor that you fill?",
        _whole_numbers,
    ),
    switched(
        "exponent_of_odd_numbers",
        "Your exponents run over 1, 3, 5 …, divided by d: the first pair is already slow.",
        _EXPONENT,
        exponent="odd numbers",
    ),
    answered("odd_width_grows", "An odd width becomes one column wider.", _ODD, _odd_width_grows),
    answered("odd_width_refused", "You refuse odd widths; here they are allowed.", _ODD, _odd_width_refused),
    switched("scaled_by_root_d", "Your table is divided by √d.", "What is row 0 of the table?", end="scaled"),
    switched("grown_by_root_d", "Your table is multiplied by √d.", "What is row 0 of the table?", end="grown"),
    switched("between_0_and_1", "Your numbers are moved between 0 and 1.", "What is sin(0)?", end="between 0 and 1"),
    answered("random", "Your table is drawn at random.", "Does the exercise name a formula?", _random_table),
    switched(
        "last_pair_slowed_by_the_base",
        "Your last pair is slowed by the base itself: the exponents go from 0 to 1 (a logspace or linspace).",
        _EXPONENT,
        exponent="last pair at the end",
    ),
    answered(
        "array_of_numpy",
        "Your table is an array of NumPy: the next cell adds it to tensors.",
        "Which function of torch makes a tensor of an array?",
        _table_in_numpy,
    ),
]

_AXIS = "Two sentences stand in the batch. Should word 0 of the second get the same code as word 0 of the first?"
_ROW = "Which row of the table belongs to the first word of a sentence?"
_TOO_LONG = "T tokens, and the table ends before: what should the caller hear?"
_KIND = "Which exception does the exercise ask for, and which one comes?"
_MESSAGE = "What should a caller read who brings 7 words to a table of 4 positions?"
_SUM = "What is asked for: a sum, and of what?"

_ADD_MISTAKES = [
    switched(
        "batch_axis",
        "The table runs along the batch: all words of a sentence get the same code, and each sentence another one.",
        _AXIS,
        taken="batch axis",
    ),
    switched("running_on", "Positions are counted through the whole batch.", _AXIS, taken="running on"),
    switched("last_rows", "The last T rows of the table are added, not the first.", _ROW, taken="last rows"),
    switched("from_row_1", "You begin with row 1 of the table.", _ROW, taken="from 1"),
    switched("row_0_for_all", "Every word gets row 0: their order is not told.", _ROW, taken="row 0"),
    switched("row_t_for_all", "Every word gets row T - 1: their order is not told.", _ROW, taken="row T"),
    switched("last_row_for_all", "Every word gets the last row of the table.", _ROW, taken="last row"),
    switched(
        "as_many_as_sentences",
        "You take as many rows of the table as there are sentences.",
        "Which axis of tokens has length T?",
        taken="as many as sentences",
    ),
    switched(
        "as_many_as_columns",
        "You take as many rows of the table as a word has numbers.",
        "Which axis of tokens has length T?",
        taken="as many as columns",
    ),
    switched(
        "whole_table",
        "You add the whole table, which only fits when there are as many tokens as positions.",
        "How many rows of the table does a sentence of 3 words need?",
        taken="whole table",
    ),
    switched("backwards", "The table is added from its row T - 1 backwards.", _ROW, taken="backwards"),
    switched("mean_of_the_codes", "Every word gets the mean of the codes.", _ROW, taken="mean"),
    switched("sum_of_the_codes", "Every word gets the sum of all codes.", _ROW, taken="sum"),
    switched("columns_turned", "The columns of the table are turned round.", _SUM, taken="columns turned"),
    switched(
        "concatenated",
        "The codes stand beside the tokens: rows become twice as wide.",
        "How wide is a row afterwards?",
        join="concatenated",
    ),
    switched(
        "in_place",
        "The codes are written into tokens: the caller's rows are changed.",
        "What does += do to a tensor that somebody else still uses?",
        join="in place",
    ),
    switched("multiplied", "Tokens and codes are multiplied.", _SUM, join="multiplied"),
    switched("subtracted", "The codes are taken off.", _SUM, join="subtracted"),
    switched(
        "tokens_grown",
        "The tokens are multiplied by √d first.",
        "Some models scale their tokens; does this exercise say so?",
        join="tokens grown",
    ),
    switched("codes_scaled", "The codes are divided by √d.", _SUM, join="codes scaled"),
    switched("mean", "Your result is the mean of token and code.", _SUM, join="mean"),
    switched("codes_only", "Your result holds codes only: the words are gone.", _SUM, join="codes only"),
    switched("tokens_only", "Your result holds the tokens as they were.", _SUM, join="tokens only"),
    switched("twice", "The codes are added twice.", _SUM, join="twice"),
    switched("first_sentence_only", "Only the first sentence gets positions.", _AXIS, join="first sentence"),
    switched("length_one", "Rows are brought to length 1 afterwards.", _SUM, join="length one"),
    switched("one_sentence_returned", "Only one sentence comes back.", _SHAPE, join="one sentence"),
    switched("sentences_summed", "The sentences are added up.", _SHAPE, join="summed"),
    switched("cut", "Tokens beyond the table are cut off without a word.", _TOO_LONG, too_long="cut"),
    switched("newest_kept", "Tokens at the beginning are cut off without a word.", _TOO_LONG, too_long="newest"),
    switched(
        "wrapped",
        "After the last row of the table you begin with row 0 again: two words get one code.",
        _TOO_LONG,
        too_long="wrapped",
    ),
    switched(
        "last_row_again",
        "Tokens beyond the table all get its last row.",
        _TOO_LONG,
        too_long="last row again",
    ),
    switched("no_code", "Tokens beyond the table get no code.", _TOO_LONG, too_long="no code"),
    switched("nothing_returned", "When the table is too short, None comes back.", _TOO_LONG, too_long="none"),
    switched(
        "unchanged", "When the table is too short, the tokens come back as they were.", _TOO_LONG, too_long="unchanged"
    ),
    switched(
        "torchs_own_error",
        "You check nothing: torch complains about sizes, and a table with one row it adds everywhere.",
        "T = 3, and the table is (1, d): what does torch make of the sum?",
        too_long="unchecked",
    ),
    switched("assertion", "You refuse the right tokens, but with an AssertionError.", _KIND, error=AssertionError),
    switched("index_error", "You refuse the right tokens, but with an IndexError.", _KIND, error=IndexError),
    switched("runtime_error", "You refuse the right tokens, but with a RuntimeError.", _KIND, error=RuntimeError),
    switched("plain_exception", "You refuse the right tokens, but with a bare Exception.", _KIND, error=Exception),
    switched(
        "numbers_not_named",
        "Your ValueError names neither the number of tokens nor that of positions.",
        _MESSAGE,
        text="too many tokens",
    ),
    switched(
        "positions_not_named", "Your ValueError names the tokens and not the positions.", _MESSAGE, text="{T} tokens"
    ),
    switched(
        "tokens_not_named", "Your ValueError names the positions and not the tokens.", _MESSAGE, text="only {T_max}"
    ),
    answered(
        "table_made_anew",
        "You add sinusoids that you compute yourself: the table that comes in is only measured.",
        "Which of the two inputs can change without changing your result?",
        _own_sinusoids,
    ),
    switched("type_error", "You refuse the right tokens, but with a TypeError.", _KIND, error=TypeError),
    switched(
        "full_table_refused",
        "As many tokens as positions are refused, too.",
        "The table has 5 rows, the sentence 5 words: is a row missing?",
        strict=True,
    ),
    answered(
        "sentences_compared",
        "You compare the number of sentences with the length of the table.",
        "Which axis of tokens has length T?",
        _compares_sentences,
    ),
    answered(
        "columns_compared",
        "You compare the width of a row with the length of the table.",
        "Which axis of tokens has length T?",
        _compares_columns,
    ),
    switched(
        "table_stood_up",
        "The table gets an axis in the middle, so its rows run along the batch.",
        _AXIS,
        taken="turned",
    ),
    switched("row_after_for_all", "Every word gets row T of the table.", _ROW, taken="row after"),
    switched(
        "one_row_more", "You take a row too many from the table.", "How many rows has table[:T]?", taken="one more"
    ),
    switched(
        "one_row_less", "You take a row too few from the table.", "How many rows has table[:T]?", taken="one less"
    ),
    switched("behind", "The codes stand behind the words, as if they were words.", _SHAPE, join="behind"),
    answered(
        "one_code_a_sentence",
        "Your loop runs over the sentences: all words of one get the same code.",
        _AXIS,
        _one_code_a_sentence,
    ),
    answered(
        "width_of_the_table_compared",
        "You compare the number of words with the width of the table, not with its length.",
        "Which axis of table has length T_max?",
        _compares_width_of_the_table,
    ),
    answered(
        "longer_tables_refused",
        "Your comparison is the wrong way round: longer tables are refused, shorter ones not.",
        "T is 3 and T_max is 5: is anything missing?",
        _refuses_longer_tables,
    ),
    answered(
        "torchs_error_renamed",
        "You wait for torch to complain, and a table with one row it adds everywhere.",
        "T = 3, and the table is (1, d): what does torch make of the sum?",
        _torchs_error_renamed,
    ),
    answered(
        "all_tokens_compared",
        "You compare the tokens of the whole batch with the length of the table.",
        _AXIS,
        _compares_all_tokens,
    ),
    answered(
        "as_many_wanted",
        "You refuse every table that is longer than the sentence.",
        "Is a table with a row too many a problem?",
        _wants_as_many,
    ),
    answered(
        "table_changed",
        "You write into the table: it is another one for the next sentence.",
        "What does += do to a tensor that somebody else still uses?",
        _changes_the_table,
    ),
]

_PAIR = "d_k is 6: which number is turned together with number 0?"
_TURN = "The point (1, 0) is turned by a small angle a. Is its second number then about a or about -a?"
_SPEED = "Pair 0 turns by 1 a position. By how much does the last pair turn?"
_WHERE = "What should a row at position 7 be turned by, whatever its place in x?"
_LENGTH = "Does a turn change the length of a pair?"

_ROTATE_MISTAKES = [
    switched(
        "neighbours",
        "Your pairs are neighbours, (0, 1), (2, 3) …: some models do that, this exercise pairs i with i + d_k/2.",
        _PAIR,
        pair="neighbours",
    ),
    switched(
        "neighbours_taken",
        "You take neighbours as pairs and put the results into halves.",
        _PAIR,
        pair="neighbours taken",
    ),
    switched(
        "neighbours_given",
        "You take pairs from the halves and put the results side by side as neighbours.",
        _PAIR,
        pair="neighbours given",
    ),
    switched("mirrored_pairs", "You pair number i with number d_k - 1 - i.", _PAIR, pair="mirrored"),
    switched(
        "halves_given_back_swapped",
        "The halves come back in the other order.",
        "What should come back for position 0?",
        pair="given back swapped",
    ),
    switched(
        "halves_swapped",
        "The halves change places before they are turned.",
        "What should come back for position 0?",
        pair="halves swapped",
    ),
    switched("other_way", "You turn the other way round.", _TURN, move="other way"),
    switched(
        "cos_and_sin_exchanged",
        "Cosine and sine have changed places.",
        "What should come back for position 0?",
        move="cos and sin exchanged",
    ),
    switched("plus_twice", "Both parts have a plus: that stretches and does not turn.", _LENGTH, move="plus twice"),
    switched("minus_twice", "Both parts have a minus: that stretches and does not turn.", _LENGTH, move="minus twice"),
    switched(
        "mirrored",
        "Your pairs are mirrored: at position 0 the second half changes its sign.",
        "What should come back for position 0?",
        move="mirrored",
    ),
    switched(
        "first_used_again",
        "The second half is made with the first half as it is after the turn.",
        "Which first half belongs into the second formula?",
        move="first used again",
    ),
    switched(
        "no_partner", "Each number meets its own cosine or sine; its partner is missing.", _PAIR, move="no partner"
    ),
    switched("cosines_only", "The sines are missing: the pairs shrink.", _LENGTH, move="cosines only"),
    switched("codes_added", "Sine and cosine are added, not used to turn.", _LENGTH, move="added"),
    switched("first_half_moved_only", "The second half comes back as it was.", _LENGTH, move="first only"),
    switched("second_half_moved_only", "The first half comes back as it was.", _LENGTH, move="second only"),
    switched(
        "own_partner",
        "Each half is its own partner: you never mix the two.",
        _PAIR,
        move="own partner",
    ),
    switched("all_pairs_alike", "All pairs are turned by the same angle.", _SPEED, turn="all the same"),
    switched(
        "i_over_d_k",
        "Later pairs turn too fast: the exponent of pair i is i / d_k, or the base is 100.",
        "How many pairs are there, and how large is the exponent of the last?",
        turn="i / d_k",
    ),
    switched(
        "exponent_doubled",
        "Later pairs turn too slowly: the exponent is doubled once too often.",
        "How many pairs are there, and how large is the exponent of the last?",
        turn="4i / d_k",
    ),
    switched("slowest_first", "Your slowest pair comes first.", _SPEED, turn="from the end"),
    switched("rising_turns", "Later pairs turn faster and faster.", _SPEED, turn="rising"),
    switched("pairs_from_1", "Your pairs are counted from 1: the first is already slow.", _SPEED, turn="from 1"),
    switched(
        "slowest_is_the_base",
        "Your slowest pair is slowed by the base itself: the exponent is i / (d_k/2 - 1).",
        _SPEED,
        turn="reaches the end",
    ),
    switched(
        "first_pair_only",
        "Only the first pair is turned; the others stay, or all but stay.",
        "By what is the exponent divided?",
        turn="first pair only",
    ),
    switched("first_half_of_the_pairs", "Only the first half of the pairs is turned.", _SPEED, quarter=True),
    switched("base_1000_turns", "Your frequencies fall by another base: 1000.", _SPEED, base=1000.0),
    switched("base_100000_turns", "Your frequencies fall by another base: 100000.", _SPEED, base=100000.0),
    switched(
        "base_missing_turns",
        "Your base is e: exp gets the exponent without the logarithm of 10000.",
        "Which power of e is 10000?",
        base=float(np.e),
    ),
    switched(
        "counted_anew",
        "The positions that you are given have no say: you count the rows from 0.",
        _WHERE,
        place="0 to T - 1",
    ),
    switched("positions_from_1", "One is added to each position.", "What is at position 0?", place="from 1"),
    switched(
        "since_the_first",
        "Positions are counted from the first one that is given.",
        _WHERE,
        place="since the first",
    ),
    switched("positions_sorted", "Positions are sorted, and rows are not.", _WHERE, place="sorted"),
    switched("positions_backwards", "Positions are read from the end.", _WHERE, place="backwards"),
    switched("one_position_for_all", "All rows get the first position.", _WHERE, place="first for all"),
    switched("last_position_for_all", "All rows get the last position.", _WHERE, place="last for all"),
    switched("mean_position_for_all", "All rows get the mean position.", _WHERE, place="mean for all"),
    switched("not_turned", "Nothing is turned: x comes back as it was.", _WHERE, place="none"),
    switched(
        "place_in_the_batch",
        "The angle is that of the sentence in the batch, not that of the row.",
        "Which axis of x belongs to positions?",
        place="batch",
    ),
    switched("positions_in_degrees", "Positions are taken for degrees.", _UNIT, place="degrees"),
    switched("whole_turns", "Your angles are 2π times too large.", _UNIT, place="whole turns"),
    switched("half_turns", "Your angles are π times too large.", _UNIT, place="half turns"),
    switched("share_of_the_length", "Positions are divided by the number of rows.", _WHERE, place="share"),
    switched("halved", "Positions are halved.", _WHERE, place="halved"),
    switched("doubled", "Positions are doubled.", _WHERE, place="doubled"),
    switched("scaled_result", "The result is divided by √d_k.", _LENGTH, after="scaled"),
    switched("added_to_x", "The turned rows are added to x.", _LENGTH, after="added to x"),
    switched("length_one", "Rows are brought to length 1.", _LENGTH, after="length one"),
    switched("first_half_returned", "Only half of each row comes back.", _SHAPE, after="first half"),
    switched("last_row_only", "Only the last row comes back.", _SHAPE, after="last row"),
    switched("two_results", "The halves come back as two results.", _SHAPE, after="pair"),
    switched("first_sentence_only", "Only the first sentence comes back.", _SHAPE, after="first sentence"),
    switched("rounded", "Your result is rounded.", "Who needs the digits that you cut off?", after="rounded"),
    switched(
        "in_place",
        "The turned rows are written into x: the caller's rows are changed.",
        "What does x[…] = do to a tensor that somebody else still uses?",
        in_place=True,
    ),
    answered(
        "in_place_half_by_half",
        "The first half is written into x and read again for the second: it is turned already.",
        "Is x[..., :half] a copy?",
        _views_in_place,
    ),
    answered(
        "angles_for_neighbours",
        "Your angles are laid out for neighbours, and your pairs are taken from the halves.",
        _PAIR,
        partial(_angles_repeated, pair="halves"),
    ),
    answered(
        "angles_for_halves",
        "Your angles are laid out for halves, and your pairs are neighbours.",
        _PAIR,
        partial(_angles_repeated, pair="neighbours"),
    ),
    answered(
        "columns_of_their_own",
        "Each number has an angle of its own: the two of a pair do not turn together.",
        "How many angles are there for a row of d_k numbers?",
        _columns_of_their_own,
    ),
    answered(
        "positions_not_a_column",
        "Position t meets the speed of pair t only, not the speeds of all pairs.",
        "Which shape has the table of angles, one for each row and each pair?",
        _positions_not_a_column,
    ),
    switched(
        "itself", "Each number meets its own cosine and its own sine; its partner is missing.", _PAIR, move="itself"
    ),
    switched("since_the_least", "Positions are counted from the least that is given.", _WHERE, place="since the least"),
    switched("base_500000_turns", "Your frequencies fall by another base: 500000.", _SPEED, base=500000.0),
    answered(
        "angles_along_the_width",
        "Your angles lie on their side: positions along the columns.",
        "Which shape do the angles need beside a half of x, (T, d_k/2) or (d_k/2, T)?",
        _along_the_width,
    ),
    answered(
        "sinusoids_added",
        "You add the sinusoids of the last exercise; here pairs are turned.",
        _LENGTH,
        _added_sinusoids,
    ),
    switched(
        "minus_in_both_parts",
        "Both parts are a difference: the second one is a sin w − b cos w.",
        _LENGTH,
        move="cosine subtracted",
    ),
    switched("positions_cut", "Positions are cut to whole numbers: 2.5 counts as 2.", _WHERE, place="whole numbers"),
]


# --- accepted: unusual and right -------------------------------------------------------------------------------------


def _shuffled_back(f: Rows, x: Tensor, perm: Tensor) -> Tensor:
    """Undoes the shuffle on the result of the shuffled rows."""
    return (f(x[perm])[perm.argsort()] - f(x.clone())).abs().max()


def _by_a_matrix(f: Rows, x: Tensor, perm: Tensor) -> float:
    """A permutation is a matrix of zeros and ones."""
    import torch

    P = torch.eye(len(perm), dtype=x.dtype)[perm]
    return float(torch.linalg.vector_norm(f(P @ x) - P @ f(x.clone()), ord=float("inf")))


def _in_loops(f: Rows, x: Tensor, perm: Tensor) -> float:
    before, after = f(x.detach().clone()), f(x[perm])
    gap = 0.0
    for new, old in enumerate(perm.tolist()):
        for a, b in zip(after[new].tolist(), before[old].tolist(), strict=True):
            gap = max(gap, abs(a - b))
    return gap


def _numpy_gap(f: Rows, x: Tensor, perm: Tensor) -> float:
    order = perm.tolist()
    return float(np.max(np.abs(f(x[order]).numpy() - f(x.clone()).numpy()[order])))


def _tutorial(T: int, d: int) -> Tensor:
    """As in the tutorials, in single precision, with the last cosine cut off for an odd width."""
    import math

    import torch

    table = torch.zeros(T, d)
    position = torch.arange(T, dtype=torch.float).unsqueeze(1)
    slowing = torch.exp(torch.arange(0, d, 2).float() * (-math.log(10000.0) / d))
    table[:, 0::2] = torch.sin(position * slowing)
    table[:, 1::2] = torch.cos(position * slowing)[:, : d // 2]
    return table


def _shifted_sines(T: int, d: int) -> Tensor:
    """A cosine is a sine a quarter turn earlier."""
    import torch

    column = torch.arange(d)
    angles = torch.arange(T).double()[:, None] / 10000.0 ** ((column - column % 2) / d).double()
    return (angles + (column % 2) * torch.pi / 2).sin()


def _as_complex(T: int, d: int) -> Tensor:
    import torch

    angles = torch.outer(torch.arange(T).double(), 10000.0 ** (-torch.arange(0, d, 2).double() / d))
    turned = torch.polar(torch.ones_like(angles), angles)
    return torch.stack([turned.imag, turned.real], dim=-1).flatten(1)[:, :d]


def _checked(tokens: Tensor, table: Tensor) -> int:
    T = tokens.size(1)
    if table.size(0) < T:
        raise ValueError("%d words and only %d positions" % (T, table.size(0)))  # noqa: UP031
    return T


class _TooLong(ValueError):
    """A learner's own exception, which is a ValueError."""


def _sentence_by_sentence(tokens: Tensor, table: Tensor) -> Tensor:
    import torch

    T = _checked(tokens, table)
    return torch.stack([sentence + table[:T] for sentence in tokens])


def _word_by_word(tokens: Tensor, table: Tensor) -> Tensor:
    new = tokens.clone()
    for t in range(_checked(tokens, table)):
        new[:, t] += table[t]
    return new


def _embedded(tokens: Tensor, table: Tensor) -> Tensor:
    import torch

    _checked(tokens, table)
    layer = torch.nn.Embedding.from_pretrained(table)
    return layer(torch.arange(tokens.shape[1])).unsqueeze(0).expand_as(tokens) + tokens


def _own_exception(tokens: Tensor, table: Tensor) -> Tensor:
    T, T_max = tokens.shape[1], table.shape[0]
    if T > T_max:
        raise _TooLong(f"{T} > {T_max}")
    return tokens + table.narrow(0, 0, T)[None]


def _rotate_half(x: Tensor, positions: Tensor) -> Tensor:
    """The form of published models: angles for all columns, in single precision."""
    import torch

    d_k = x.shape[-1]
    slowing = 1.0 / (10000 ** (torch.arange(0, d_k, 2).float() / d_k))
    angles = torch.outer(positions.float(), slowing)
    both = torch.cat((angles, angles), dim=-1)
    other = torch.cat((-x[..., d_k // 2 :], x[..., : d_k // 2]), dim=-1)
    return x * both.cos() + other * both.sin()


def _polar(x: Tensor, positions: Tensor) -> Tensor:
    import torch

    a, b = x.chunk(2, dim=-1)
    slowing = torch.exp(-np.log(10000.0) * torch.arange(a.shape[-1], dtype=x.dtype) / a.shape[-1])
    turns = torch.polar(torch.ones(1, dtype=x.dtype), positions.to(x.dtype)[:, None] * slowing)
    turned = torch.view_as_complex(torch.stack((a, b), dim=-1)) * turns
    return torch.view_as_real(turned).transpose(-1, -2).flatten(-2)


def _pair_by_pair(x: Tensor, positions: Tensor) -> Tensor:
    import math

    out, half = x.clone(), x.shape[-1] // 2
    for t, position in enumerate(positions.tolist()):
        for i in range(half):
            c, s = (f(position * 10000 ** (-i / half)) for f in (math.cos, math.sin))
            out[..., t, i] = x[..., t, i] * c - x[..., t, i + half] * s
            out[..., t, i + half] = x[..., t, i] * s + x[..., t, i + half] * c
    return out


def _by_matrices(x: Tensor, positions: Tensor) -> Tensor:
    """One matrix of turns for each position, and an einsum."""
    import torch

    half = x.shape[-1] // 2
    angles = positions.double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)
    c, s = angles.cos().diag_embed(), angles.sin().diag_embed()
    turns = torch.cat([torch.cat([c, -s], dim=-1), torch.cat([s, c], dim=-1)], dim=-2).to(x.dtype)
    return torch.einsum("tij,...tj->...ti", turns, x)


def _by_polar_angles(x: Tensor, positions: Tensor) -> Tensor:
    """Length and angle of each pair; the turn adds to the angle."""
    import torch

    a, b = x.tensor_split(2, dim=-1)
    half = a.shape[-1]
    angle = torch.atan2(b, a) + positions.unsqueeze(-1) * torch.pow(1e4, -torch.arange(half) / half)
    return torch.cat([torch.hypot(a, b) * angle.cos(), torch.hypot(a, b) * angle.sin()], dim=-1)


# --- the exercises ---------------------------------------------------------------------------------------------------

_GAP = Exercise(
    name="equivariance_gap",
    chapter="08",
    summary="How far a function is from letting a shuffle of the rows go through.",
    returns="float",
    reference=_equivariance_gap,
    cases=_gap_cases,
    template=_gap_template,
    mistakes=paired(_GAP_MISTAKES, _gap_template, LIKELY_IN_PAIRS),
    accepted={
        "shuffled back": _shuffled_back,
        "a permutation matrix": _by_a_matrix,
        "in loops": _in_loops,
        "NumPy": _numpy_gap,
    },
    hints=(
        "Two ways lead from x to a shuffled result. Which are they?",
        "A function that works on each row alone has a gap of 0; the running sum has not. What do you get for both?",
        "Look at three places: which of the two is indexed with perm, what f is given, and where abs and max stand.",
    ),
    framework="torch",
)

_SINUSOIDS = Exercise(
    name="sinusoidal_positions",
    chapter="08",
    summary="A table of codes for positions: sines and cosines of falling frequencies.",
    returns="(T, d)",
    reference=_sinusoidal_positions,
    cases=_table_cases,
    template=_table_template,
    mistakes=paired(_TABLE_MISTAKES, _table_template, LIKELY_IN_PAIRS),
    accepted={
        "as in tutorials, single precision": _tutorial,
        "shifted sines": _shifted_sines,
        "complex numbers": _as_complex,
    },
    hints=(
        "Columns 2i and 2i + 1 are sine and cosine of one angle. Which?",
        "Row 0 is 0, 1, 0, 1 …, and column 0 is sin(0), sin(1), sin(2) …. Is it so in yours, for d = 5, too?",
        "Look at three places: the exponent 2i / d, the slices 0::2 and 1::2, and the last column of an odd width.",
    ),
    framework="torch",
)

_ADD = Exercise(
    name="add_positions",
    chapter="08",
    summary="Each word gets the code of its position added, in every sentence of a batch.",
    returns="(B, T, d)",
    reference=_add_positions,
    cases=_add_cases,
    template=_add_template,
    mistakes=paired(_ADD_MISTAKES, _add_template, LIKELY_IN_PAIRS),
    accepted={
        "sentence by sentence": _sentence_by_sentence,
        "word by word": _word_by_word,
        "nn.Embedding": _embedded,
        "an exception of one's own": _own_exception,
    },
    hints=(
        "Which row of the table belongs to word t of any sentence?",
        "Tokens of zeros come back as codes: every sentence holds rows 0, 1, 2 … of the table. Does yours?",
        "Look at three places: the axis of tokens that has length T, the slice of the table, and the check before it.",
    ),
    framework="torch",
)

_ROTATE = Exercise(
    name="rotate",
    chapter="08",
    summary="Turns each pair of numbers of a row by an angle that grows with its position.",
    returns="(…, T, d_k)",
    reference=_rotate,
    cases=_rotate_cases,
    template=_rotate_template,
    mistakes=paired(_ROTATE_MISTAKES, _rotate_template, LIKELY_IN_PAIRS),
    accepted={
        "rotate_half, single precision": _rotate_half,
        "torch.polar": _polar,
        "pair by pair": _pair_by_pair,
        "a matrix for each position": _by_matrices,
        "length and angle": _by_polar_angles,
    },
    hints=(
        "How is a point (a, b) turned by an angle, and which two numbers of a row are such a point?",
        "Position 0 changes nothing, and no turn changes the length of a row. Is it so in yours?",
        "Look at three places: the exponent 2i / d_k, the two halves of x, and the sign in front of each sine.",
    ),
    framework="torch",
)

EXERCISES: tuple[Exercise, ...] = (_GAP, _SINUSOIDS, _ADD, _ROTATE)


# --- the questions ---------------------------------------------------------------------------------------------------

_SHUFFLED = Question(
    name="08_shuffled_blend",
    chapter="08",
    prompt="The words are shuffled and nothing is masked: what becomes of the blend of bank?",
    right="the same blend, in another row",
    because="bank meets the same keys and takes from the same values; a sum does not ask in which order it is made.",
    choices=("the same blend, in another row", "another blend", "the blend of left"),
    wrong={
        "another blend": "Which of its scores would be another, when query and keys are the same rows as before?",
        "the blend of left": "The query of bank goes where bank goes. Whose blend does it make?",
    },
    otherwise="Which queries, keys and values are there after the shuffle?",
    hints=("Write the blend as a sum over the words. Does its order matter?",),
)

_MEAN_ROW = Question(
    name="08_mean_row",
    chapter="08",
    prompt="A function takes the mean of all rows, (T, d) to (d,). Shuffled rows: what is it?",
    right="invariant",
    because="It gives one row that does not notice a shuffle, and nothing in it could go along.",
    choices=("invariant", "equivariant", "neither"),
    wrong={
        "equivariant": "Equivariant outputs go along with their rows. How many rows come out here?",
        "neither": "Does the mean change when the rows come in another order?",
    },
    otherwise="What does the mean do when the rows come in another order?",
    hints=("Take the mean of 1, 2, 6 and of 6, 1, 2.",),
)

_LAST = Question(
    name="08_last_row",
    chapter="08",
    prompt="One causal block; the words before bank are shuffled. What becomes of the row of bank, the last?",
    right="nothing",
    because="The last row sees all the others, whatever their order, and to it they are still a set.",
    choices=("nothing", "it moves a little", "it becomes another word's row"),
    wrong={
        "it moves a little": "Which of the keys and values that the last row sees are other ones after the shuffle?",
        "it becomes another word's row": "bank stays where it is. Whose query makes the last row?",
    },
    otherwise="What does the mask hide from the last row?",
    hints=("Write down the last row of the mask.",),
)

_SAME = Question(
    name="08_same_code",
    chapter="08",
    prompt="Every word gets the same code added. How large is the gap of the unmasked head afterwards?",
    right=0,
    because="The rows are other rows, but a shuffle still goes through: nothing says which of them is first.",
    wrong={
        1: "Which row tells its place, when all have the same code?",
        0.05: "That a result changes is not enough: does it notice a shuffle?",
    },
    otherwise="After the sum, is there anything in a row that depends on its place?",
    hints=("x + c, shuffled, is x shuffled, + c.",),
)

_ONE_ROW = Question(
    name="08_one_row",
    chapter="08",
    prompt="Head 0.3 gives 0.71 to the word before. All positions get the same learned row: what becomes of the 0.71?",
    right="it falls to an even share",
    because="What is the same for all words tells no place, and from the words alone nobody knows which came before.",
    choices=("it stays", "it falls to an even share", "it becomes 1"),
    wrong={
        "it stays": "By what does a query tell the word before from the others, when all carry the same code?",
        "it becomes 1": "Which key would stand out so far, when all carry the same code?",
    },
    otherwise="What can a score tell of places when all words carry the same code?",
    hints=("Think of the question about the same code for all words: what could stand out then?",),
)

_SHIFT = Question(
    name="08_shift",
    chapter="08",
    prompt="All positions grow by 100, for queries and keys. What becomes of the scores after rotation?",
    right="they stay",
    because="Query and key are turned further by the same angle, and a dot product sees only the angle between them.",
    choices=("they stay", "they fall", "all change by the same amount"),
    wrong={
        "they fall": "Both arrows are turned by the same further angle. What becomes of the angle between them?",
        "all change by the same amount": "What does a dot product of two arrows depend on, when both turn together?",
    },
    otherwise="Turn two arrows by the same angle: what becomes of their dot product?",
    hints=("A dot product is made of two lengths and the angle between.",),
)

_BUG_SAYS = {
    "looks ahead": "Nothing is masked here; the right function looks everywhere, too.",
    "does not see itself": "Every row has a weight for itself.",
    "rows do not sum to 1": "The softmax is torch's own, over the keys.",
    "mixes batch entries": "No sentence reads another one: change one, and the others stay.",
    "scrambles words": "Every row still belongs to its word: nothing is reshaped.",
    "changes its input": "The sum is a new tensor: x stays as it was.",
    "ignores the query": "Change a row, and its own pattern changes.",
}

_BUG = Question(
    name="08_bug_batch",
    chapter="08",
    prompt="Which property does add_1, followed by attention, break?",
    right="forgets order",
    because="All words of a sentence get one code, that of the sentence's number: a shuffle goes through unnoticed.",
    choices=PROPERTIES,
    wrong=_BUG_SAYS,
    otherwise="What does each word of one sentence get added?",
    hints=("Give it tokens of zeros and look at what comes back.",),
)

QUESTIONS: tuple[Question, ...] = (_SHUFFLED, _MEAN_ROW, _LAST, _SAME, _ONE_ROW, _BUG, _SHIFT)

"""Answers that were written without a look at the catalogue: every wrong one is caught, the right ones pass.

An answer is the body of its function, or a whole definition. "# label -> id" stands above one that must get that name,
"# label" above one that needs no name and must be caught all the same.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import numpy as np
import pytest
from tests.exercises import answers_05_to_08, answers_09_10, answers_11_12

from attention_lab.checking.judging import find, judge

WRONG: dict[str, str] = {}
RIGHT: dict[str, str] = {}

WRONG["double"] = """
# plus two -> added_two
return x + 2
# square -> squared
return x ** 2
# two to the x -> power_of_two
return 2 ** x
# forgot return
x * 2
# returns input -> unchanged
return x
# half -> halved
return x / 2
# twice twice -> quadrupled
return x * 2 * 2
# tolist
return (x * 2).tolist()
# list repeated
return list(x) * 2
# concat -> joined
return np.concatenate([x, x])
# stack -> stacked
return np.stack([x, x])
# sum doubled -> summed
return 2 * x.sum()
# integer -> whole_numbers
return (x * 2).astype(int)
# matmul
return x @ x
# print
print(x * 2)
"""

RIGHT["double"] = """
# plus itself
return x + x
# comprehension
return np.array([2 * v for v in x.ravel()]).reshape(x.shape)
# loop
out = np.zeros_like(x)
for index in np.ndindex(x.shape):
    out[index] = 2 * x[index]
return out
# ufunc
return np.multiply(2.0, x)
# float64
return x.astype(np.float64) * 2
# recursion over axes
def double(x):
    if x.ndim == 0:
        return x * 2
    return np.array([double(row) for row in x]).reshape(x.shape)
# copy then inplace
y = x.copy()
y *= 2
return y
# lambda
double = lambda x: x / 0.5
double.__name__ = 'double'
# named arguments
def double(x, factor=2):
    return factor * x
# einsum
return np.einsum('...,->...', x, 2.0)
"""

WRONG["row_means"] = """
# axis 0 -> columns
return x.mean(axis=0)
# all -> everything
return x.mean()
# keepdims -> keepdims
return x.mean(axis=1, keepdims=True)
# sum -> sums
return x.sum(axis=1)
# wrong divisor T -> divided_by_rows
return x.sum(axis=1) / len(x)
# divided by size -> divided_by_all
return x.sum(axis=1) / x.size
# sum axis 0 over d
return x.sum(axis=0) / x.shape[1]
# list
return [row.mean() for row in x]
# off by one
return np.array([x[t].mean() for t in range(len(x) - 1)])
# skip first
return np.array([x[t].mean() for t in range(1, len(x))])
# median -> medians
return np.median(x, axis=1)
# max -> maxima
return x.max(axis=1)
# minus one in divisor -> divided_by_one_less
return x.sum(axis=1) / (x.shape[1] - 1)
# floor -> whole_numbers
return x.sum(axis=1) // x.shape[1]
# forgot return
x.mean(axis=1)
"""

RIGHT["row_means"] = """
# last axis
return np.mean(x, -1)
# comprehension
return np.array([sum(row) / len(row) for row in x])
# matmul
return x @ np.full(x.shape[1], 1 / x.shape[1])
# einsum
return np.einsum('td->t', x) / x.shape[-1]
# double loop
T, d = x.shape
out = np.zeros(T)
for t in range(T):
    s = 0.0
    for j in range(d):
        s += x[t, j]
    out[t] = s / d
return out
# transposed
return x.T.mean(axis=0)
# average
return np.average(x, axis=1)
# apply
return np.apply_along_axis(np.mean, 1, x)
# keepdims then squeezed
return x.mean(axis=1, keepdims=True)[:, 0]
# fromiter
return np.fromiter((row.mean() for row in x), dtype=float)
# whole sum
return np.add.reduce(x, axis=1, dtype=np.float64) / x.shape[1]
"""

WRONG["embed"] = """
# no check -> negative_ids_wrap
return table[ids]
# columns -> columns_of_the_table
return table[:, ids]
# columns turned
return table[:, ids].T
# take wraps -> modulo
return np.take(table, ids, axis=0, mode='wrap')
# take clips -> clipped
return np.take(table, ids, axis=0, mode='clip')
# take flat -> from_the_flat_table
return np.take(table, ids)
# list of rows
return [table[i] for i in ids]
# assert -> assertion_error
assert ids.min() >= 0 and ids.max() < len(table)
return table[ids]
# value error -> value_error
if (ids < 0).any() or (ids >= len(table)).any():
    raise ValueError('bad id')
return table[ids]
# only negative checked with any of Python
if any(i < 0 for i in ids):
    return None
return table[ids]
# min only
if min(ids) < 0:
    raise IndexError
# unique -> negative_ids_wrap+no_repeats
return table[np.unique(ids)]
# abs -> sign_dropped
return table[abs(ids)]
# skips bad ids -> dropped
return np.array([table[i] for i in ids if 0 <= i < len(table)])
# mutates the ids
ids[ids < 0] = 0
return table[ids]
"""

RIGHT["embed"] = """
# mask
bad = (ids < 0) | (ids >= table.shape[0])
if np.any(bad):
    raise IndexError(f'bad ids: {ids[bad]}')
return table[ids]
# loop
rows = np.empty((len(ids), table.shape[1]), dtype=table.dtype)
for t, i in enumerate(ids):
    if not 0 <= i < len(table):
        raise IndexError(i)
    rows[t] = table[i]
return rows
# one hot
if np.any(ids < 0):
    raise IndexError
return np.eye(len(table))[ids] @ table
# own kind of error
class NoSuchWord(IndexError):
    pass
for i in ids:
    if i not in range(len(table)):
        raise NoSuchWord(i)
return np.stack([table[i] for i in ids]) if len(ids) else table[:0]
# take
if len(ids) and ids.min() < 0:
    raise IndexError('negative')
return np.take(table, ids, axis=0)
# lookup raises by itself
if (ids < 0).any():
    raise IndexError('negative')
return table[ids, :]
# unsigned
if (ids < 0).any():
    raise IndexError
return table.take(ids, axis=0, mode='raise')
"""

WRONG["cosine_similarity"] = """
# dot only -> dot_product
return a @ b.T
# transposed -> zero_row_is_nan+transposed
na = np.linalg.norm(a, axis=1); nb = np.linalg.norm(b, axis=1)
return (b @ a.T) / np.outer(nb, na)
# nan at zero -> zero_row_is_nan
na = np.linalg.norm(a, axis=1, keepdims=True); nb = np.linalg.norm(b, axis=1, keepdims=True)
return (a @ b.T) / (na * nb.T)
# norm of everything -> length_of_the_table
return a @ b.T / (np.linalg.norm(a) * np.linalg.norm(b))
# only a -> only_a_divided
na = np.linalg.norm(a, axis=1, keepdims=True)
na[na == 0] = 1
return (a / na) @ b.T
# only b -> only_b_divided
nb = np.linalg.norm(b, axis=1)
nb[nb == 0] = 1
return a @ (b / nb[:, None]).T
# axis 0 -> lengths_of_columns
na = np.linalg.norm(a, axis=0); nb = np.linalg.norm(b, axis=0)
return (a / na) @ (b / nb).T
# eps -> added_1em8
na = np.linalg.norm(a, axis=1, keepdims=True) + 1e-8; nb = np.linalg.norm(b, axis=1, keepdims=True) + 1e-8
return (a / na) @ (b / nb).T
# pairs only
return np.array([np.dot(p, q) / (np.linalg.norm(p) * np.linalg.norm(q)) for p, q in zip(a, b)])
# elementwise -> pairs_only
return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
# first only
return a[0] @ b[0] / (np.linalg.norm(a[0]) * np.linalg.norm(b[0]))
# product of axes -> lengths_multiplied_in_pairs
na = np.sqrt((a ** 2).sum(axis=1)); nb = np.sqrt((b ** 2).sum(axis=1))
return a @ b.T / (na * nb)
# list of lists
return [[float(p @ q / (np.linalg.norm(p) * np.linalg.norm(q) or 1)) for q in b] for p in a]
# no transpose
return a @ b / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
# mean instead of sum
n = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
return (a[:, None] * b[None]).mean(-1) / n
"""

RIGHT["cosine_similarity"] = """
# loop
out = np.zeros((len(a), len(b)))
for i, p in enumerate(a):
    for j, q in enumerate(b):
        n = np.linalg.norm(p) * np.linalg.norm(q)
        if n > 0:
            out[i, j] = p @ q / n
return out
# einsum
n = np.sqrt(np.einsum('id,id->i', a, a))[:, None] * np.sqrt(np.einsum('jd,jd->j', b, b))[None]
return np.divide(np.einsum('id,jd->ij', a, b), n, out=np.zeros((len(a), len(b))), where=n != 0)
# unit rows
def cosine_similarity(a, b):
    def unit(m):
        n = np.sqrt((m * m).sum(-1, keepdims=True))
        return np.where(n > 0, m / np.where(n > 0, n, 1), 0)
    return unit(a) @ unit(b).T
# nan to num
with np.errstate(divide='ignore', invalid='ignore'):
    return np.nan_to_num((a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)))
# nan to num, with the warning
return np.nan_to_num((a @ b.T) / np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)))
# comprehension
def cos(p, q):
    n = float(np.sqrt(sum(p * p)) * np.sqrt(sum(q * q)))
    return float(sum(p * q)) / n if n else 0.0
return np.array([[cos(p, q) for q in b] for p in a])
# float64
a = a.astype(float); b = b.astype(float)
na = np.linalg.norm(a, axis=1); nb = np.linalg.norm(b, axis=1)
na[na == 0] = np.inf; nb[nb == 0] = np.inf
return a @ b.T / na[:, None] / nb
"""

WRONG["window_mean"] = """
# negative start -> negative_start
return np.array([x[t - width + 1: t + 1].mean(axis=0) for t in range(len(x))])
# misses own row -> the_rows_before
return np.array([x[max(0, t - width): t].mean(axis=0) for t in range(len(x))])
# one too long -> one_row_too_many
return np.array([x[max(0, t - width): t + 1].mean(axis=0) for t in range(len(x))])
# looks ahead -> looks_ahead
return np.array([x[t: t + width].mean(axis=0) for t in range(len(x))])
# drops the start
return np.array([x[t - width + 1: t + 1].mean(axis=0) for t in range(width - 1, len(x))])
# mean of everything -> one_number_a_row
return np.array([x[max(0, t - width + 1): t + 1].mean() for t in range(len(x))])
# axis 1
return np.array([x[max(0, t - width + 1): t + 1].mean(axis=1) for t in range(len(x))])
# ignores width -> everything_so_far
return np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]
# sum -> sums
return np.array([x[max(0, t - width + 1): t + 1].sum(axis=0) for t in range(len(x))])
# convolve same -> centred_convolution
return np.stack([np.convolve(x[:, j], np.ones(width) / width, mode='same') for j in range(x.shape[1])], axis=1)
# convolve valid -> valid_convolution
return np.stack([np.convolve(x[:, j], np.ones(width) / width, mode='valid') for j in range(x.shape[1])], axis=1)
# list
return [x[max(0, t - width + 1): t + 1].mean(axis=0) for t in range(len(x))]
# two rows
out = x.copy()
out[1:] = (x[1:] + x[:-1]) / 2
return out
# columns -> along_the_columns
return np.stack([x[:, max(0, t - width + 1): t + 1].mean(axis=1) for t in range(x.shape[1])], axis=1)
# abs start
return np.array([x[abs(t - width + 1): t + 1].mean(axis=0) for t in range(len(x))])
"""

RIGHT["window_mean"] = """
# matrix
T = len(x)
t = np.arange(T)
m = ((t[:, None] - t[None, :] >= 0) & (t[:, None] - t[None, :] < width)).astype(float)
return m / m.sum(1, keepdims=True) @ x
# cumsum
c = np.vstack([np.zeros((1, x.shape[1])), np.cumsum(x.astype(float), axis=0)])
t = np.arange(len(x))
lo = np.maximum(0, t - width + 1)
return (c[t + 1] - c[lo]) / (t + 1 - lo)[:, None]
# deque
from collections import deque
seen, out = deque(maxlen=width), []
for row in x:
    seen.append(row)
    out.append(sum(seen) / len(seen))
return np.array(out)
# convolve
n = np.minimum(np.arange(1, len(x) + 1), width)[:, None]
return np.stack([np.convolve(c, np.ones(width))[:len(x)] for c in x.T], axis=1) / n
# pad with nan
p = np.concatenate([np.full((width - 1, x.shape[1]), np.nan), x])
return np.array([np.nanmean(p[t: t + width], axis=0) for t in range(len(x))])
# inner loops
T, d = x.shape
out = np.zeros((T, d))
for t in range(T):
    n = 0
    for s in range(t, max(-1, t - width), -1):
        out[t] += x[s]
        n += 1
    out[t] /= n
return out
# copy first
old = x.copy()
new = x.copy()
for t in range(len(new)):
    new[t] = np.mean(old[:t + 1][-width:], axis=0)
return new
"""

WRONG["rnn_step"] = """
# no tanh -> no_tanh
return W_h @ h + W_x @ x + b
# no bias -> no_bias
return np.tanh(W_h @ h + W_x @ x)
# transposed W_h -> w_h_transposed
return np.tanh(h @ W_h + W_x @ x + b)
# transposed both -> both_vectors_left
return np.tanh(h @ W_h + x @ W_x + b)
# tanh on h part only -> word_outside
return np.tanh(W_h @ h) + W_x @ x + b
# bias outside -> bias_outside
return np.tanh(W_h @ h + W_x @ x) + b
# sum of tanhs -> two_tanhs
return np.tanh(W_h @ h) + np.tanh(W_x @ x + b)
# sigmoid -> sigmoid
return 1 / (1 + np.exp(-(W_h @ h + W_x @ x + b)))
# relu -> relu
return np.maximum(0, W_h @ h + W_x @ x + b)
# elementwise -> matrix_of_products
return np.tanh(W_h * h + W_x @ x + b)
# inplace plus
h += W_x @ x + b
return np.tanh(h)
# forgot return
h_new = np.tanh(W_h @ h + W_x @ x + b)
# math
import math
return math.tanh(W_h @ h + W_x @ x + b)
# without W_x
return np.tanh(W_h @ h + x + b)
# own tanh wrong
z = W_h @ h + W_x @ x + b
return (np.exp(z) - np.exp(-z)) / (np.exp(z) - np.exp(-z))
"""

RIGHT["rnn_step"] = """
# vector first
return np.tanh(h @ W_h.T + x @ W_x.T + b)
# stacked
return np.tanh(np.hstack([W_h, W_x]) @ np.concatenate([h, x]) + b)
# einsum
return np.tanh(np.einsum('ij,j->i', W_h, h) + np.einsum('ij,j->i', W_x, x) + b)
# loop
import math
return np.array([math.tanh(sum(W_h[i] * h) + sum(W_x[i] * x) + b[i]) for i in range(len(h))])
# own tanh
z = W_h @ h + W_x @ x + b
return 2 / (1 + np.exp(-2 * z)) - 1
# dot, in place on a new array
new = np.dot(W_h, h)
new += np.dot(W_x, x)
new += b
np.tanh(new, out=new)
return new
# elementwise sums
return np.tanh((W_h * h).sum(axis=1) + (W_x * x).sum(axis=1) + b)
"""

WRONG["rnn_states"] = """
# with h0 -> start_included
states = [h0]
for x in xs:
    states.append(np.tanh(W_h @ states[-1] + W_x @ x + b))
return np.array(states)
# h0 and without last -> state_before
states, h = [], h0
for x in xs:
    states.append(h)
    h = np.tanh(W_h @ h + W_x @ x + b)
return np.array(states)
# last only -> last_only
h = h0
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
return h
# first only
h = h0
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
    return h
# never updates h -> not_carried
return np.array([np.tanh(W_h @ h0 + W_x @ x + b) for x in xs])
# no tanh -> no_tanh
states, h = [], h0
for x in xs:
    h = W_h @ h + W_x @ x + b
    states.append(h)
return np.array(states)
# list -> list_returned
states, h = [], h0
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h)
return states
# same array in place -> last_everywhere
states, h = [], h0.copy()
for x in xs:
    h[:] = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h)
return np.array(states)
# changes h0 -> start_overwritten
h, states = h0, []
for x in xs:
    h[:] = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h.copy())
return np.array(states)
# starts from zeros -> starts_from_zeros
h, states = np.zeros_like(h0), []
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h)
return np.array(states)
# cumulative
return np.tanh(np.cumsum(xs @ W_x.T + b, axis=0) + h0 @ W_h.T)
# without h -> past_forgotten
return np.tanh(xs @ W_x.T + b)
# forgets return
h, states = h0, []
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h)
# loop over the width
h, states = h0, []
for t in range(xs.shape[1]):
    h = np.tanh(W_h @ h + W_x @ xs[:, t] + b)
    states.append(h)
return np.array(states)
# linear state carried
h, states = h0, []
for x in xs:
    h = W_h @ h + W_x @ x + b
    states.append(np.tanh(h))
return np.array(states)
"""

RIGHT["rnn_states"] = """
# list and stack
states, h = [], h0
for x in xs:
    h = np.tanh(W_h @ h + W_x @ x + b)
    states.append(h)
return np.stack(states)
# with rnn_step
def rnn_step(h, x, W_h, W_x, b):
    return np.tanh(W_h @ h + W_x @ x + b)
def rnn_states(xs, h0, W_h, W_x, b):
    states = [h0]
    for x in xs:
        states.append(rnn_step(states[-1], x, W_h, W_x, b))
    return np.array(states[1:])
# inputs first
z = xs @ W_x.T + b
out = np.zeros((len(xs), len(h0)))
h = h0
for t in range(len(xs)):
    h = out[t] = np.tanh(z[t] + W_h @ h)
return out
# accumulate
from itertools import accumulate
steps = accumulate(xs, lambda h, x: np.tanh(W_h @ h + W_x @ x + b), initial=h0)
return np.array(list(steps))[1:]
# recursion
def rnn_states(xs, h0, W_h, W_x, b):
    if len(xs) == 0:
        return np.zeros((0, len(h0)))
    h = np.tanh(W_h @ h0 + W_x @ xs[0] + b)
    return np.vstack([h[None], rnn_states(xs[1:], h, W_h, W_x, b)])
# one row more, in place
out = np.zeros((len(xs) + 1, len(h0)))
out[0] = h0
for t in range(len(xs)):
    out[t + 1] = np.tanh(W_h @ out[t] + W_x @ xs[t] + b)
return out[1:]
# vstack grows
out = np.empty((0, len(h0)))
h = h0
for x in xs:
    h = np.tanh(h @ W_h.T + x @ W_x.T + b)
    out = np.vstack([out, h])
return out
"""

WRONG["reach"] = """
# frobenius -> frobenius_before_the_last
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ (np.diag(1 - states[t + 1] ** 2) @ W_h)
    out[t] = np.linalg.norm(J)
return out
# frobenius everywhere -> frobenius
T, m = states.shape
out = np.zeros(T); J = np.eye(m)
for t in range(T - 1, -1, -1):
    out[t] = np.linalg.norm(J)
    J = J @ (np.diag(1 - states[t] ** 2) @ W_h)
return out
# slope at t -> slope_at_the_start_of_the_step
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ (np.diag(1 - states[t] ** 2) @ W_h)
    out[t] = np.linalg.norm(J, 2)
return out
# wrong order -> wrong_order
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = np.diag(1 - states[t + 1] ** 2) @ W_h @ J
    out[t] = np.linalg.norm(J, 2)
return out
# W first -> columns_scaled
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ W_h @ np.diag(1 - states[t + 1] ** 2)
    out[t] = np.linalg.norm(J, 2)
return out
# product of norms -> product_of_norms
T, m = states.shape
out = np.ones(T)
for t in range(T - 2, -1, -1):
    out[t] = out[t + 1] * np.linalg.norm(np.diag(1 - states[t + 1] ** 2) @ W_h, 2)
return out
# W.T -> w_h_transposed
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ (np.diag(1 - states[t + 1] ** 2) @ W_h.T)
    out[t] = np.linalg.norm(J, 2)
return out
# step only -> one_step_only
T, m = states.shape
out = np.ones(T)
for t in range(T - 1):
    out[t] = np.linalg.norm(np.diag(1 - states[t + 1] ** 2) @ W_h, 2)
return out
# singular values all
T, m = states.shape
out = np.ones((T, m)); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ (np.diag(1 - states[t + 1] ** 2) @ W_h)
    out[t] = np.linalg.svd(J, compute_uv=False)
return out
# jacobians -> matrices_returned
T, m = states.shape
out = [np.eye(m)]
for t in range(T - 2, -1, -1):
    out.insert(0, out[0] @ (np.diag(1 - states[t + 1] ** 2) @ W_h))
return np.array(out)
# inplace
T, m = states.shape
out = np.ones(T); J = np.eye(m)
states **= 2
for t in range(T - 2, -1, -1):
    J = J @ (np.diag(1 - states[t + 1]) @ W_h)
    out[t] = np.linalg.norm(J, 2)
return out
# forgot diag
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ ((1 - states[t + 1] ** 2) @ W_h)
    out[t] = np.linalg.norm(J, 2)
return out
# mean slope
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 2, -1, -1):
    J = J @ ((1 - states[t + 1] ** 2).mean() * W_h)
    out[t] = np.linalg.norm(J, 2)
return out
# final J only -> first_only
T, m = states.shape
J = np.eye(m)
for t in range(1, T):
    J = np.diag(1 - states[t] ** 2) @ W_h @ J
return np.linalg.norm(J, 2)
"""

RIGHT["reach"] = """
# row scaling
T, m = states.shape
out = np.ones(T); J = np.eye(m)
for t in range(T - 1, 0, -1):
    J = J @ ((1 - states[t] ** 2)[:, None] * W_h)
    out[t - 1] = np.linalg.norm(J, ord=2)
return out
# svd
T, m = states.shape
out = np.ones(T)
for t in range(T):
    J = np.eye(m)
    for s in range(t + 1, T):
        J = np.diag(1 - states[s] ** 2) @ W_h @ J
    out[t] = np.linalg.svd(J)[1][0]
return out
# eigenvalue of the square
T, m = states.shape
Js = [np.eye(m)]
for h in states[:0:-1]:
    Js.append(Js[-1] @ np.diag(1 - h * h) @ W_h)
return np.array([np.sqrt(np.linalg.eigvalsh(J.T @ J).max()) for J in Js[::-1]])
# all norms at once
T, m = states.shape
Js = np.empty((T, m, m))
Js[-1] = np.eye(m)
for t in range(T - 2, -1, -1):
    Js[t] = Js[t + 1] @ ((1 - states[t + 1, :, None] ** 2) * W_h)
return np.linalg.norm(Js, ord=2, axis=(1, 2))
# cosh
T, m = states.shape
out, J = [1.0], np.eye(m)
for h in reversed(states[1:]):
    J = J @ np.diag((1 - h) * (1 + h)) @ W_h
    out = [np.linalg.norm(J, 2)] + out
return np.array(out)
# multi_dot
from functools import reduce
T, m = states.shape
steps = [np.diag(1 - h ** 2) @ W_h for h in states]
return np.array([np.linalg.norm(reduce(np.matmul, steps[:t:-1], np.eye(m)), 2) for t in range(T)])
"""

WRONG["hard_lookup"] = """
# index -> returns_index
return np.argmax(keys @ query)
# key -> returns_key
return keys[np.argmax(keys @ query)]
# smallest -> worst_match
return values[np.argmin(keys @ query)]
# cosine -> cosine
return values[np.argmax(keys @ query / np.linalg.norm(keys, axis=1))]
# distance -> nearest_key
return values[np.argmin(((keys - query) ** 2).sum(axis=1))]
# abs -> sign_dropped
return values[np.argmax(np.abs(keys @ query))]
# score -> returns_score
return (keys @ query).max()
# values searched -> values_meet_query
return values[np.argmax(values @ query)]
# elementwise argmax -> products_not_summed
return values[np.argmax(keys * query)]
# argmax of sums of keys -> ignores_query
return values[np.argmax(keys.sum(axis=1))]
# forgot return
values[np.argmax(keys @ query)]
# first coordinate only
return values[np.argmax(keys[:, 0] * query[0])]
# key sorted reverse
return max(zip(keys @ query, values))[1]
# max value
return values.max(axis=0)
# normalised query only and abs diff
return values[np.argmin(np.abs(keys @ query - query @ query))]
"""

RIGHT["hard_lookup"] = """
# loop
best, found = -np.inf, None
for k, v in zip(keys, values):
    if k @ query > best:
        best, found = k @ query, v
return found
# copy
return values[np.argmax(np.dot(keys, query))].copy()
# einsum
return values[np.einsum('sd,d->s', keys, query).argmax()]
# list index
s = [float(k @ query) for k in keys]
return values[s.index(max(s))]
# max with key
return values[max(range(len(keys)), key=lambda i: keys[i] @ query)]
# nonzero
s = query @ keys.T
return values[np.flatnonzero(s == s.max())[0]]
# one hot
one = np.zeros(len(keys)); one[np.argmax(keys @ query)] = 1
return one @ values
# stable sort
return values[np.argsort(-(keys @ query), kind='stable')[0]]
"""

WRONG["softmax"] = """
# naive -> unstable
e = np.exp(scores)
return e / e.sum(axis=-1, keepdims=True)
# axis 0 -> over_first_axis
e = np.exp(scores - scores.max(axis=0, keepdims=True))
return e / e.sum(axis=0, keepdims=True)
# sum of everything -> over_all_entries
e = np.exp(scores - scores.max())
return e / e.sum()
# global max -> one_maximum_for_all
e = np.exp(scores - scores.max())
return e / e.sum(axis=-1, keepdims=True)
# no keepdims -> maximum_lost_its_axis+sum_lost_its_axis
e = np.exp(scores - scores.max(axis=-1))
return e / e.sum(axis=-1)
# keepdims in max only -> sum_lost_its_axis
e = np.exp(scores - scores.max(axis=-1, keepdims=True))
return e / e.sum(axis=-1)
# axis 1 -> over_axis_one
e = np.exp(scores - scores.max(axis=1, keepdims=True))
return e / e.sum(axis=1, keepdims=True)
# not divided -> no_division
return np.exp(scores - scores.max(axis=-1, keepdims=True))
# exp forgotten -> divides_by_the_plain_sum
return scores / scores.sum(axis=-1, keepdims=True)
# exp in place
np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
return scores / scores.sum(axis=-1, keepdims=True)
# sigmoid -> sigmoid
return 1 / (1 + np.exp(-scores))
# sum not of exp
e = np.exp(scores - scores.max(axis=-1, keepdims=True))
return e / scores.sum(axis=-1, keepdims=True)
# first row's sum
e = np.exp(scores - scores.max(axis=-1, keepdims=True))
return e / e[0].sum()
# rounding
e = np.exp(scores - scores.max(axis=-1, keepdims=True))
return np.round(e / e.sum(axis=-1, keepdims=True), 4)
# precedence
return np.exp(scores - scores.max(axis=-1, keepdims=True) / np.exp(scores).sum(axis=-1, keepdims=True))
"""

RIGHT["softmax"] = """
# logsumexp
m = scores.max(-1, keepdims=True)
return np.exp(scores - m - np.log(np.exp(scores - m).sum(-1, keepdims=True)))
# moveaxis
s = np.moveaxis(scores, -1, 0)
e = np.exp(s - s.max(0))
return np.moveaxis(e / e.sum(0), 0, -1)
# apply along axis
def one(row):
    e = np.exp(row - max(row))
    return e / sum(e)
return np.apply_along_axis(one, -1, scores)
# recursion
def softmax(scores):
    if scores.ndim > 1:
        return np.stack([softmax(s) for s in scores])
    e = np.exp(scores - scores.max())
    return e / e.sum()
# differences
d = scores[..., None, :] - scores[..., :, None]
with np.errstate(all='ignore'):
    out = 1 / np.exp(d).sum(axis=-1)
return np.where(np.isneginf(scores), 0, out)
# reshape
s = scores.reshape(-1, scores.shape[-1]).astype(np.float64)
e = np.exp(s - s.max(axis=1)[:, None])
return (e / e.sum(axis=1)[:, None]).reshape(scores.shape)
# axis argument
def softmax(scores, axis=-1):
    e = np.exp(scores - np.max(scores, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
"""

WRONG["soft_lookup"] = """
# no temperature -> temperature_ignored
s = keys @ query
p = np.exp(s - s.max())
return (p / p.sum()) @ values
# times temperature -> multiplies
s = keys @ query * temperature
p = np.exp(s - s.max())
return (p / p.sum()) @ values
# also sqrt -> root_of_width_too
s = keys @ query / (temperature * np.sqrt(len(query)))
p = np.exp(s - s.max())
return (p / p.sum()) @ values
# sqrt instead -> temperature_ignored+root_of_width_too
s = keys @ query / np.sqrt(len(query))
p = np.exp(s - s.max())
return (p / p.sum()) @ values
# overflow -> unstable
s = keys @ query / temperature
p = np.exp(s)
return (p / p.sum()) @ values
# not normalised -> not_shared_out
s = keys @ query / temperature
return np.exp(s - s.max()) @ values
# hard -> winner_takes_all
return values[np.argmax(keys @ query)]
# plain scores -> no_softmax
return (keys @ query / temperature) @ values
# scores normalised without exp -> divides_by_the_plain_sum
s = keys @ query / temperature
return (s / s.sum()) @ values
# max before dividing
s = keys @ query
p = np.exp(s - s.max() / temperature)
return (p / p.sum()) @ values
# max of temperature
s = keys @ query / max(temperature, 0.01)
p = np.exp(s - s.max())
return (p / p.sum()) @ values
# eps on sum
s = keys @ query / temperature
p = np.exp(s - s.max())
return (p / (p.sum() + 1e-8)) @ values
# forgot return
s = keys @ query / temperature
p = np.exp(s - s.max())
blend = (p / p.sum()) @ values
# base ten
s = keys @ query / temperature
p = 10 ** (s - s.max())
return (p / p.sum()) @ values
# sigmoid -> sigmoid
s = keys @ query / temperature
return (1 / (1 + np.exp(-s))) @ values
"""

RIGHT["soft_lookup"] = """
# own softmax
def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
def soft_lookup(query, keys, values, temperature):
    return softmax(keys @ query / temperature) @ values
# loop
s = [float(k @ query) / temperature for k in keys]
w = [np.exp(v - max(s)) for v in s]
return sum(a * v for a, v in zip(w, values)) / sum(w)
# einsum
s = np.einsum('d,sd->s', query, keys) / temperature
w = np.exp(s - s.max())
return np.einsum('s,sv->v', w / w.sum(), values)
# divide the query
s = keys @ (query / temperature)
w = np.exp(s - s.max())
return w @ values / w.sum()
# average
s = keys @ query / temperature
return np.average(values, axis=0, weights=np.exp(s - s.max()))
# shift first
s = keys @ query
s = s - s.max()
w = np.exp(s / temperature)
return (w[:, None] * values).sum(0) / w.sum()
# float64
s = keys.astype(float) @ query.astype(float) / float(temperature)
w = np.exp(s - s.max())
return np.matmul(values.T, w / w.sum())
"""

WRONG["scaled_scores"] = """
# unscaled -> unscaled
return q @ k.swapaxes(-1, -2)
# d_k -> divided_by_d_k
return q @ k.swapaxes(-1, -2) / q.shape[-1]
# .T -> transposed_as_a_matrix
return q @ k.T / np.sqrt(q.shape[-1])
# T size -> by_number_of_queries
return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-2])
# S size -> by_number_of_keys
return q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-2])
# shape 0 -> by_first_axis
return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[0])
# shape 1 -> by_second_axis_of_q
return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[1])
# len
return q @ k.swapaxes(-1, -2) / np.sqrt(len(k))
# transposed result -> swapped
return k @ q.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
# swap 0 1
return q @ k.swapaxes(0, 1) / np.sqrt(q.shape[-1])
# swap 1 2 -> axes_1_and_2_swapped
return q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
# transpose 0 2 1 -> three_axes_only
return q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
# elementwise
return (q * k) / np.sqrt(q.shape[-1])
# sum elementwise
return (q * k).sum(axis=-1) / np.sqrt(q.shape[-1])
# d squared
return q @ k.swapaxes(-1, -2) / q.shape[-1] ** 2
"""

RIGHT["scaled_scores"] = """
# einsum
return np.einsum('...td,...sd->...ts', q, k) / q.shape[-1] ** 0.5
# query first
return (q / np.sqrt(q.shape[-1])) @ k.swapaxes(-2, -1)
# fourth roots
c = q.shape[-1] ** 0.25
return (q / c) @ np.swapaxes(k / c, -1, -2)
# broadcast
return (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / np.sqrt(k.shape[-1])
# loops
out = np.zeros(q.shape[:-1] + (k.shape[-2],))
for i in range(q.shape[-2]):
    for j in range(k.shape[-2]):
        out[..., i, j] = (q[..., i, :] * k[..., j, :]).sum(-1)
return out / np.sqrt(q.shape[-1])
# moveaxis
import math
return np.matmul(q, np.moveaxis(k, -1, -2)) * (1 / math.sqrt(q.shape[-1]))
# recursion
def scaled_scores(q, k):
    if q.ndim > 2:
        return np.stack([scaled_scores(a, b) for a, b in zip(q, k)])
    return q @ k.T / np.sqrt(q.shape[-1])
# annotated
def scaled_scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    d_k = q.shape[-1]
    axes = list(range(k.ndim))
    axes[-1], axes[-2] = axes[-2], axes[-1]
    return np.matmul(q, k.transpose(axes)) / np.sqrt(d_k)
"""

WRONG["attention_pattern"] = """
# unscaled -> unscaled
s = q @ k.swapaxes(-1, -2)
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True)
# columns -> over_the_queries
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-2, keepdims=True))
return e / e.sum(-2, keepdims=True)
# both -> unscaled+over_the_queries
s = q @ k.swapaxes(-1, -2)
e = np.exp(s - s.max(-2, keepdims=True))
return e / e.sum(-2, keepdims=True)
# axis 0 -> over_the_first_axis
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(0, keepdims=True))
return e / e.sum(0, keepdims=True)
# axis 1 -> over_axis_1
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(1, keepdims=True))
return e / e.sum(1, keepdims=True)
# overflow -> overflow
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s)
return e / e.sum(-1, keepdims=True)
# all -> over_everything
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max())
return e / e.sum()
# scores only -> scores
return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
# not normalised -> divided_by_the_largest
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
return np.exp(s - s.max(-1, keepdims=True))
# one argmax
s = q @ k.swapaxes(-1, -2)
return (s == s.max(-1, keepdims=True)).astype(float)
# no exp -> no_exp
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
return s / s.sum(-1, keepdims=True)
# abs normalised
s = np.abs(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
return s / s.sum(-1, keepdims=True)
# clip
s = np.clip(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -100, 100)
e = np.exp(s)
return e / e.sum(-1, keepdims=True)
# forgot return
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
e / e.sum(-1, keepdims=True)
# sigmoid
return 1 / (1 + np.exp(-(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))))
"""

RIGHT["attention_pattern"] = """
# own functions
def scaled_scores(q, k):
    return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
def attention_pattern(q, k):
    return softmax(scaled_scores(q, k))
# einsum
s = np.einsum('...td,...sd->...ts', q, k) * q.shape[-1] ** -0.5
e = np.exp(s - np.amax(s, axis=-1)[..., None])
return e / np.einsum('...ts->...t', e)[..., None]
# logaddexp
s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
return np.exp(s - np.logaddexp.reduce(s, axis=-1)[..., None])
# shift, then scale
s = q @ np.swapaxes(k, -1, -2)
e = np.exp((s - s.max(-1, keepdims=True)) / np.sqrt(q.shape[-1]))
return e / e.sum(-1, keepdims=True)
# rows in loops
out = np.zeros(q.shape[:-1] + (k.shape[-2],))
for i in np.ndindex(q.shape[:-1]):
    s = k[i[:-1]] @ q[i] / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max())
    out[i] = e / e.sum()
return out
# transposed inside
s = k @ np.swapaxes(q, -1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-2, keepdims=True))
return np.swapaxes(e / e.sum(-2, keepdims=True), -1, -2)
"""

WRONG["attend"] = """
# pattern -> pattern_returned
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True)
# no softmax -> scores_as_weights
return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) @ v
# unscaled -> unscaled
s = q @ k.swapaxes(-1, -2)
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) @ v
# columns -> over_the_queries
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-2, keepdims=True))
return e / e.sum(-2, keepdims=True) @ v
# transposed pattern -> pattern_turned
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return (e / e.sum(-1, keepdims=True)).swapaxes(-1, -2) @ v
# keys blended -> keys_blended
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) @ k
# v width -> by_width_of_values
s = q @ k.swapaxes(-1, -2) / np.sqrt(v.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) @ v
# k and v swapped
s = q @ v.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) @ k
# v.T
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) @ v.swapaxes(-1, -2)
# elementwise
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / e.sum(-1, keepdims=True) * v
# precedence
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return e / (e.sum(-1, keepdims=True) @ v)
# hard -> best_value_only
s = q @ k.swapaxes(-1, -2)
return np.take_along_axis(v, s.argmax(-1)[..., None], axis=-2)
# not normalised -> divided_by_the_largest
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
return np.exp(s - s.max(-1, keepdims=True)) @ v
# mean of values -> plain_mean
return np.broadcast_to(v.mean(-2, keepdims=True), (*q.shape[:-1], v.shape[-1])).copy()
# undefined helper
return attention_patern(q, k) @ v
"""

RIGHT["attend"] = """
# einsum
s = np.einsum('...td,...sd->...ts', q, k) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return np.einsum('...ts,...sv->...tv', e / e.sum(-1, keepdims=True), v)
# divide at the end
s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
e = np.exp(s - s.max(-1, keepdims=True))
return (e @ v) / e.sum(-1, keepdims=True)
# per query
out = np.zeros(q.shape[:-1] + v.shape[-1:])
for i in np.ndindex(q.shape[:-1]):
    s = k[i[:-1]] @ q[i] / np.sqrt(q.shape[-1])
    w = np.exp(s - s.max())
    out[i] = w @ v[i[:-1]] / w.sum()
return out
# online
m = np.full(q.shape[:-1] + (1,), -np.inf); total = 0.0; out = 0.0
for j in range(k.shape[-2]):
    s = (q * k[..., j:j + 1, :]).sum(-1, keepdims=True) / np.sqrt(q.shape[-1])
    new = np.maximum(m, s)
    fade = np.exp(m - new); p = np.exp(s - new)
    total = total * fade + p
    out = out * fade + p * v[..., j:j + 1, :]
    m = new
return out / total
# default argument
def attend(q, k, v, scale=None):
    scale = scale or q.shape[-1] ** -0.5
    s = scale * (q @ np.swapaxes(k, -1, -2))
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""

WRONG["add_update"] = """
# inplace without return -> nothing_returned
x += update
# replace -> replaced
return update
# returns x -> ignored
return x
# minus -> subtracted
return x - update
# product -> multiplied
return x * update
# mean -> averaged
return (x + update) / 2
# concat -> one_below_the_other
return np.concatenate([x, update])
# concat last -> side_by_side
return np.concatenate([x, update], axis=-1)
# stack
return np.stack([x, update])
# sum
return np.sum([x, update])
# twice -> added_twice
return x + 2 * update
# list
return [a + b for a, b in zip(x, update)]
# list concat
return x.tolist() + update.tolist()
# max -> larger_of_the_two
return np.maximum(x, update)
# forgot return
new = x + update
"""

RIGHT["add_update"] = """
# plus
return x + update
# ufunc
return np.add(x, update)
# copy
new = x.copy()
new += update
return new
# comprehension
return np.array([[a + b for a, b in zip(r, u)] for r, u in zip(x, update)])
# sum of a list
return np.sum([x, update], axis=0)
# stack
return np.stack([x, update]).sum(0)
# einsum
return np.einsum('td->td', x) + update
# sum
return sum((x, update))
"""

WRONG["influence_map"] = """
# transposed -> turned
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[j] = (f(y) != base).any(axis=1)
return out
# constant nudge -> same_in_every_entry
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += 1
    out[:, j] = (f(y) != base).any(axis=1)
return out
# zeroed -> set_to_zero
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] = 0
    out[:, j] = (f(y) != base).any(axis=1)
return out
# tiny -> far_too_timid
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += 1e-6 * np.arange(1, x.shape[1] + 1)
    out[:, j] = (f(y) != base).any(axis=1)
return out
# one entry -> first_entry
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j, 0] += 10.7
    out[:, j] = (f(y) != base).any(axis=1)
return out
# all -> too_timid
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(y) != base).all(axis=1)
return out
# not reset -> nudges_pile_up
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool); y = x.copy()
for j in range(T):
    y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(y.copy()) != base).any(axis=1)
return out
# mutates x -> callers_rows_changed
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    x[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(x.copy()) != base).any(axis=1)
return out
# f gets x itself -> x_handed_out
T = len(x); base = f(x); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(y) != base).any(axis=1)
return out
# view as a copy
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x; y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(y) != base).any(axis=1)
return out
# returns floats
T = len(x); base = f(x.copy()); out = np.zeros((T, T))
for j in range(T):
    y = x.copy(); y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = np.abs(f(y) - base).sum(axis=1)
return out
# entry by entry
base = f(x.copy())
y = x + 3.7
return f(y) != base
# never called
return np.ones((len(x), len(x)), bool)
# identity -> outputs_not_compared
return np.eye(len(x), dtype=bool)
# forgot return
T = len(x); base = f(x.copy()); out = np.zeros((T, T), bool)
for j in range(T):
    y = x.copy(); y[j] += np.arange(1, x.shape[1] + 1) * 3.7
    out[:, j] = (f(y) != base).any(axis=1)
"""

RIGHT["influence_map"] = """
# three nudges
T = len(x); base = np.array(f(x.copy())); out = np.zeros((T, T), bool)
for j in range(T):
    for big in (1.0, 17.3, 1e3):
        y = x.copy(); y[j] += big * np.sin(np.arange(1, x.shape[1] + 1))
        out[:, j] |= (np.asarray(f(y)) != base).any(axis=1)
return out
# random rows
rng = np.random.default_rng(3)
T = len(x); base = f(x.copy()).copy(); columns = []
for j in range(T):
    y = x.copy(); y[j] = 10 * rng.normal(size=x.shape[1])
    columns.append((f(y) != base).any(axis=1))
return np.stack(columns, axis=1)
# squares
T, d = x.shape
base = f(x.copy()).copy()
out = np.empty((T, T), dtype=bool)
for j in range(T):
    y = x.copy()
    y[j] += 5.0 * (1 + np.arange(d)) ** 2
    new = f(y)
    for i in range(T):
        out[i, j] = not np.array_equal(new[i], base[i])
return out
# comprehension
base = np.array(f(np.array(x)))
def moved(j):
    y = np.array(x)
    y[j] = y[j] + np.geomspace(1, 100, x.shape[1])
    return np.any(f(y) != base, axis=-1)
return np.array([moved(j) for j in range(len(x))]).T
# where
T = len(x); base = f(x.copy()); nudge = 7.0 + 11.0 * np.arange(x.shape[1])
return np.column_stack([(f(np.where(np.arange(T)[:, None] == j, x + nudge, x)) != base).any(-1) for j in range(T)])
"""


WRONG |= answers_05_to_08.WRONG | answers_09_10.WRONG | answers_11_12.WRONG
RIGHT |= answers_05_to_08.RIGHT | answers_09_10.RIGHT | answers_11_12.RIGHT


def answers(text: str) -> Iterator[tuple[str, str, str]]:
    """Label, name that is expected or "", and source of each answer."""
    for part in ("\n" + text.strip()).split("\n# ")[1:]:
        head, _, body = part.partition("\n")
        label, _, expected = head.partition(" -> ")
        yield label, expected, body


#: Exercises that answers to later ones may call.
EARLIER = ("project_qkv", "sinusoidal_positions", "KVCache", "cached_attention", "gpt2_attention")


def build(name: str, body: str) -> Callable[..., Any]:
    """The function of an answer, with its lines where a traceback finds them, as in a notebook."""
    if not any(f"{word} {name}" in body for word in ("def", "class")) and not body.startswith(f"{name} ="):
        parameters = ", ".join(
            p.name if p.default is p.empty else f"{p.name}={p.default!r}"
            for p in signature(find(name).reference).parameters.values()
        )
        body = f"def {name}({parameters}):\n" + "\n".join(f"    {line}" for line in body.splitlines())
    file = f"<answer to {name}>"
    linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
    names: dict[str, Any] = {"np": np, "__name__": "__main__"}
    if find(name).framework == "torch":
        torch = pytest.importorskip("torch")
        names |= {"torch": torch, "F": torch.nn.functional}
        names |= {each: find(each).reference for each in EARLIER}
    exec(compile(body, file, "exec"), names)
    return names[name]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_caught_and_their_names_are_true(name: str) -> None:
    for label, expected, body in answers(WRONG[name]):
        verdict = judge(name, build(name, body))
        assert verdict.status in ("wrong", "raised"), label
        assert verdict.message, label
        if expected:
            assert verdict.mistake == expected, label


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_in_unusual_forms_pass(name: str) -> None:
    for label, _, body in answers(RIGHT[name]):
        verdict = judge(name, build(name, body))
        assert verdict.passed, f"{label}: {verdict.message}"


def test_most_answers_have_a_name() -> None:
    """Of all that were written, 70 in 100 got a name; answers that share a name are left out of this file."""
    written = [expected for text in WRONG.values() for _, expected, _ in answers(text)]
    assert len(written) >= 15 * len(WRONG) - 10
    assert sum(map(bool, written)) >= 0.65 * len(written)


def test_close_scores_part_a_search_that_stops_early_from_one_that_rounds() -> None:
    """Both once gave the same on every input, and the first was told that it rounds."""
    stops = build(
        "hard_lookup",
        "best, at = -np.inf, 0\nfor i, k in enumerate(keys):\n    s = k @ query\n    if s < best:\n        break\n"
        "    if s > best:\n        best, at = s, i\nreturn values[at]",
    )
    assert judge("hard_lookup", stops).mistake is None
    tenths = build("hard_lookup", "return values[np.argmax(np.round(keys @ query, 1))]")
    assert not judge("hard_lookup", tenths).passed


def test_a_tensor_is_no_array() -> None:
    pytest.importorskip("torch")
    verdict = judge("double", build("double", "import torch\nreturn torch.tensor(x) * 2"))
    assert verdict.status == "wrong" and "torch.Tensor" in verdict.message

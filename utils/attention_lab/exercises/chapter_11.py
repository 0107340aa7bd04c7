"""Chapter 11, the key/value cache: keep rows, attend with them, write with a model's cache, count bytes, share heads.

Letters: B texts, H heads, t rows of a call, S rows so far, d_h width of a head, T tokens of a text, n tokens written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Fn, Mistake, Question
from attention_lab.exercises.writing import paired, switched

if TYPE_CHECKING:
    from torch import Tensor

# --- the references --------------------------------------------------------------------------------------------------


class KVCache:
    """Keys and values of one layer, oldest first. It stands in where a learner's is not right yet."""

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Take t rows (B, H, t, d_h), give all rows so far (B, H, S, d_h)."""
        keys, values = _lengthened(self._keys, k), _lengthened(self._values, v)
        self._keys, self._values = keys, values
        return keys, values

    @property
    def length(self) -> int:
        """How many rows are kept."""
        return 0 if self._keys is None else self._keys.shape[2]

    def reset(self) -> None:
        """Forget all rows."""
        self._keys = self._values = None


def _lengthened(old: Tensor | None, new: Tensor) -> Tensor:
    import torch

    return new.clone() if old is None else torch.cat([old, new], dim=2)


def _cached_attention(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    import torch
    from torch.nn import functional as F

    keys, values = cache.append(k, v)
    t, S = q.shape[2], keys.shape[2]
    mask = torch.ones(t, S, dtype=torch.bool).tril(S - t)
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)


def _cached_greedy(model: Any, ids: Tensor, n: int) -> Tensor:
    import torch

    cache, new = None, ids
    for _ in range(n):
        with torch.no_grad():
            said = model(new, cache=cache, use_cache=True)
        cache, new = said.cache, said.logits[:, -1:].argmax(dim=-1)
        ids = torch.cat([ids, new], dim=1)
    return ids


def _cache_bytes(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return 2 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number


def _repeat_kv(x: Tensor, times: int) -> Tensor:
    return x.repeat_interleave(times, dim=1)


# --- the cache, with switches ----------------------------------------------------------------------------------------


class _CacheTemplate:
    """A right cache; each keyword makes a mistake of it."""

    def __init__(
        self,
        take: str = "right",
        own: str = "copies",
        join: str = "right",
        give: str = "pair",
        count: str = "rows",
        empty: str = "right",
    ) -> None:
        self._take, self._join, self._give = _TAKES[take], _JOINS[join], _GIVES[give]
        self._own, self._count, self._empty = own, _COUNTS[count], empty
        self.parts: list[tuple[Tensor, ...]] = []
        self.keys: Any = None
        self.values: Any = None
        self.calls = self.ever = self.newest = 0

    def append(self, k: Tensor, v: Tensor) -> Any:
        before = self.keys, self.values
        self.calls, self.ever, self.newest = self.calls + 1, self.ever + k.shape[2], k.shape[2]
        new: tuple[Tensor, ...] = self._take(k, v)
        if self._own == "copies":
            new = tuple(part.clone() for part in new)
        if self._own == "a list of theirs":  # joined anew from what the caller's tensors hold now
            self.parts.append(new)
            self.keys, self.values = (
                functools.reduce(self._join, kept, None) for kept in zip(*self.parts, strict=True)
            )
        else:
            self.keys, self.values = self._join(self.keys, new[0]), self._join(self.values, new[1])
        return self._give((self.keys, self.values), before, (k, v))

    @property
    def length(self) -> Any:
        return self._count(self)

    def reset(self) -> None:
        if self._empty == "right":
            self.keys = self.values = None
            self.calls = self.newest = 0
            self.parts.clear()
        elif self._empty == "keys":
            self.keys = None
        elif self._empty == "values":
            self.values = None
        elif self._empty == "zeros" and self.keys is not None:
            self.keys, self.values = self.keys * 0, self.values * 0
        elif self._empty == "last row" and self.keys is not None:
            self.keys, self.values = self.keys[:, :, -1:], self.values[:, :, -1:]


#: What is kept of the keys and the values that are handed in.
_TAKES: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "right": lambda k, v: (k, v),
    "keys twice": lambda k, v: (k, k),
    "values twice": lambda k, v: (v, v),
}


def _cat(*tensors: Tensor, dim: int = 2) -> Tensor:
    import torch

    return torch.cat([tensor for tensor in tensors if tensor is not None], dim=dim)


def _longer(old: Tensor | None, new: Tensor) -> Tensor:
    return new if old is None else _cat(old, new)


#: How rows that are there and new ones become one tensor.
_JOINS: dict[str, Callable[[Any, Tensor], Any]] = {
    "right": _longer,
    "prepended": lambda old, new: new if old is None else _cat(new, old),
    "texts": lambda old, new: new if old is None else _cat(old, new, dim=0),
    "heads": lambda old, new: new if old is None else _cat(old, new, dim=1),
    "width": lambda old, new: new if old is None else _cat(old, new, dim=3),
    "replaced": lambda old, new: new,
    "last row": lambda old, new: _longer(old, new[:, :, -1:]),
    "first row": lambda old, new: _longer(old, new[:, :, :1]),
    "reversed": lambda old, new: _longer(old, new.flip(2)),
    "twice": lambda old, new: _cat(old, new, new),
    "empty slot": lambda old, new: _cat(new[:, :, :1] * 0 if old is None else old, new),
    "prompt": lambda old, new: new if new.shape[2] > 1 else _longer(old, new),
    "single": lambda old, new: _longer(old, new.float()),
    "added": lambda old, new: new if old is None else old + new,
    "first text": lambda old, new: _longer(old, new[:1]),
    "first head": lambda old, new: _longer(old, new[:, :1]),
    "the last four": lambda old, new: _longer(old, new)[:, :, -4:],
}

#: What append gives: of everything, of what was there before, and of what was handed in.
_GIVES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pair": lambda everything, before, new: everything,
    "swapped": lambda everything, before, new: everything[::-1],
    "keys": lambda everything, before, new: everything[0],
    "values": lambda everything, before, new: everything[1],
    "nothing": lambda everything, before, new: None,
    "new": lambda everything, before, new: tuple(part.clone() for part in new),
    "before": lambda everything, before, new: before,
    "stacked": lambda everything, before, new: _stacked(*everything),
    "NumPy": lambda everything, before, new: tuple(part.numpy() for part in everything),
    "length, too": lambda everything, before, new: (*everything, everything[0].shape[2]),
}


def _stacked(*tensors: Tensor) -> Tensor:
    import torch

    return torch.stack(tensors)


def _size(cache: _CacheTemplate, axis: int) -> int:
    return 0 if cache.keys is None else int(cache.keys.shape[axis])


#: What length says.
_COUNTS: dict[str, Callable[[_CacheTemplate], Any]] = {
    "rows": lambda cache: _size(cache, 2),
    "calls": lambda cache: cache.calls,
    "newest": lambda cache: cache.newest,
    "ever": lambda cache: cache.ever,
    "texts": lambda cache: _size(cache, 0),
    "heads": lambda cache: _size(cache, 1),
    "width": lambda cache: _size(cache, 3),
    "axes": lambda cache: 0 if cache.keys is None else cache.keys.dim(),
    "both": lambda cache: 2 * _size(cache, 2),
    "numbers": lambda cache: 0 if cache.keys is None else cache.keys.numel(),
    "all texts": lambda cache: _size(cache, 0) * _size(cache, 2),
    "one less": lambda cache: max(0, _size(cache, 2) - 1),
    "one more": lambda cache: _size(cache, 2) + 1,
    "nothing": lambda cache: 0,
    "None": lambda cache: None if cache.keys is None else _size(cache, 2),
}


class _KeepsCalls:
    """What was handed in, one entry a call."""

    def __init__(self) -> None:
        self.reset()

    def append(self, k: Tensor, v: Tensor) -> Any:
        self.k.append(k)
        self.v.append(v)
        return self._joined(self.k), self._joined(self.v)

    def _joined(self, parts: list[Tensor]) -> Any:
        raise NotImplementedError

    @property
    def length(self) -> Any:
        return sum(part.shape[2] for part in self.k)

    def reset(self) -> None:
        self.k: list[Tensor] = []
        self.v: list[Tensor] = []


class _StacksCalls(_KeepsCalls):
    def _joined(self, parts: list[Tensor]) -> Any:
        return _stacked(*parts)


class _GivesLists(_KeepsCalls):
    def _joined(self, parts: list[Tensor]) -> Any:
        return parts


class _LengthIsAMethod(_CacheTemplate):
    def length(self) -> int:
        return _size(self, 2)


class _LengthOfNothing(_CacheTemplate):
    @property
    def length(self) -> Any:
        return self.keys.shape[2]


class _LengthStopsAtNothing(_CacheTemplate):
    @property
    def length(self) -> Any:
        return len(self.keys)


class _FirstNotKept(_CacheTemplate):
    """Hands the first rows back without keeping them."""

    _begun = False

    def append(self, k: Tensor, v: Tensor) -> Any:
        if not self._begun:
            self._begun = True
            return k.clone(), v.clone()
        return super().append(k, v)

    def reset(self) -> None:
        super().reset()
        self._begun = False


class _NeverBegins(_CacheTemplate):
    """As long as nothing is kept, rows are handed back at once, and so nothing is ever kept."""

    def append(self, k: Tensor, v: Tensor) -> Any:
        return k.clone(), v.clone()


class _LaterValuesAreKeys(_CacheTemplate):
    """The first values are kept, and keys behind them."""

    def append(self, k: Tensor, v: Tensor) -> Any:
        return super().append(k, v if self.keys is None else k)


class _OneForAll:
    """All caches keep their rows in the same lists, which every second new cache empties, lest they grow for ever."""

    k: ClassVar[list[Tensor]] = []
    v: ClassVar[list[Tensor]] = []
    made: ClassVar[int] = 0

    def __init__(self) -> None:
        _OneForAll.made += 1
        if self.made % 2:
            self.reset()

    def append(self, k: Tensor, v: Tensor) -> Any:
        for kept, new in ((self.k, k), (self.v, v)):
            kept.append(new.clone())
        return _cat(*self.k), _cat(*self.v)

    @property
    def length(self) -> int:
        return sum(part.shape[2] for part in self.k)

    def reset(self) -> None:
        self.k.clear()
        self.v.clear()


# --- attention with a cache, with switches ---------------------------------------------------------------------------


def _cached_template(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cache: Any,
    store: str = "right",
    scale: str = "right",
    see: str = "right",
    hide: str = "-inf",
    axis: int = -1,
    out: str = "right",
) -> Any:
    keys, values = _STORES[store](q, k, v, cache)
    scores = q @ keys.mT / _SCALES[scale](q, keys)
    pattern = _HIDES[hide](scores, _SEES[see](q.shape[2], keys.shape[2]), axis)
    return _OUTS[out](pattern @ values, pattern, q)


def _twice(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
    cache.append(k, v)
    found: tuple[Tensor, Tensor] = cache.append(k, v)
    return found


def _emptied(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
    cache.reset()
    found: tuple[Tensor, Tensor] = cache.append(k, v)
    return found


def _emptied_by_a_prompt(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
    if q.shape[2] > 1:
        cache.reset()
    found: tuple[Tensor, Tensor] = cache.append(k, v)
    return found


def _joined_again(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> tuple[Tensor, Tensor]:
    keys, values = cache.append(k, v)
    return _cat(keys, k), _cat(values, v)


#: What is put into the cache, and which keys and values are taken to be all.
_STORES: dict[str, Callable[[Tensor, Tensor, Tensor, Any], tuple[Tensor, Tensor]]] = {
    "right": lambda q, k, v, cache: cache.append(k, v),
    "twice": _twice,
    "once for each": lambda q, k, v, cache: (cache.append(k, v)[0], cache.append(k, v)[1]),
    "emptied": _emptied,
    "emptied by a prompt": _emptied_by_a_prompt,
    "joined again": _joined_again,
    "swapped": lambda q, k, v, cache: cache.append(v, k),
    "keys as values": lambda q, k, v, cache: cache.append(k, k),
    "queries as keys": lambda q, k, v, cache: cache.append(q, v),
    "turned": lambda q, k, v, cache: cache.append(k.transpose(1, 2), v.transpose(1, 2)),
    "own keys": lambda q, k, v, cache: (k, cache.append(k, v)[1]),
    "own values": lambda q, k, v, cache: (cache.append(k, v)[0], v),
    "last row": lambda q, k, v, cache: cache.append(k[:, :, -1:], v[:, :, -1:]),
}

#: What scores are divided by.
_SCALES: dict[str, Callable[[Tensor, Tensor], float]] = {
    "right": lambda q, keys: q.shape[-1] ** 0.5,
    "nothing": lambda q, keys: 1.0,
    "d_h": lambda q, keys: float(q.shape[-1]),
    "rows": lambda q, keys: keys.shape[2] ** 0.5,
    "width": lambda q, keys: (q.shape[1] * q.shape[-1]) ** 0.5,
    "heads": lambda q, keys: q.shape[1] ** 0.5,
    "inverse": lambda q, keys: q.shape[-1] ** -0.5,
}


def _ones(t: int, S: int) -> Tensor:
    import torch

    return torch.ones(t, S, dtype=torch.bool)


#: Who may look where: t new rows, S rows so far, the new ones last. True = may look.
_SEES: dict[str, Callable[[int, int], Tensor]] = {
    "right": lambda t, S: _ones(t, S).tril(S - t),
    "all": lambda t, S: _ones(t, S),
    "top left": lambda t, S: _ones(t, S).tril(),
    "top left for several": lambda t, S: _ones(t, S).tril() if t > 1 else _ones(t, S),
    "prompt only": lambda t, S: _ones(t, S).tril() if t == S else _ones(t, S),
    "new only": lambda t, S: _ones(t, S).tril(S - t) & (_ones(t, S).cumsum(-1) > S - t),
    "new only for several": lambda t, S: _SEES["new only"](t, S) if t > 1 else _ones(t, S),
    "itself of the new": lambda t, S: (_ones(t, S).cumsum(-1) <= S - t) | _ones(t, S).tril(S - t).triu(S - t),
    "itself": lambda t, S: _ones(t, S).tril(S - t).triu(S - t),
    "own hidden": lambda t, S: _ones(t, S).tril(S - t - 1),
    "old only": lambda t, S: _ones(t, S).cumsum(-1) <= S - t,
    "one ahead": lambda t, S: _ones(t, S).tril(S - t + 1),
    "ahead": lambda t, S: _ones(t, S).triu(S - t),
    "blocked": lambda t, S: ~_ones(t, S).tril(S - t),
    "last row for all": lambda t, S: _ones(t, S).cumsum(-1) <= S - t + 1,
    "other way": lambda t, S: _ones(t, S).tril(t - S),
    "new turned": lambda t, S: (_ones(t, S).cumsum(-1) <= S - t) | _ones(t, S).triu(S - t),
    "all rows": lambda t, S: _ones(S, S).tril(),
}


def _after(scores: Tensor, mask: Tensor, axis: int) -> Tensor:
    return scores.softmax(axis).masked_fill(~mask, 0)


def _zeros_for_nothing(scores: Tensor, mask: Tensor, axis: int) -> Tensor:
    return scores.masked_fill(~mask, float("-inf")).softmax(axis).nan_to_num(0.0)


#: How what a row may not see is kept from it.
_HIDES: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "-inf": lambda scores, mask, axis: scores.masked_fill(~mask, float("-inf")).softmax(axis),
    "zeros for nothing": _zeros_for_nothing,
    "finite": lambda scores, mask, axis: scores.masked_fill(~mask, -1e9).softmax(axis),
    "after": _after,
    "zeros": lambda scores, mask, axis: scores.masked_fill(~mask, 0).softmax(axis),
    "numbers added": lambda scores, mask, axis: (scores + mask).softmax(axis),
    "no softmax": lambda scores, mask, axis: scores.masked_fill(~mask, 0),
}

#: What comes back.
_OUTS: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "right": lambda blend, pattern, q: blend,
    "pattern": lambda blend, pattern, q: pattern,
    "both": lambda blend, pattern, q: (blend, pattern),
    "last row": lambda blend, pattern, q: blend[:, :, -1:],
    "merged": lambda blend, pattern, q: blend.transpose(1, 2).flatten(2),
    "turned": lambda blend, pattern, q: blend.transpose(1, 2),
    "added": lambda blend, pattern, q: q + blend,
}


def _scaled_in_place(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    q /= q.shape[-1] ** 0.5
    return _cached_template(q, k, v, cache, scale="nothing")


def _keys_reshaped(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    """Gives the keys the shape of transposed ones by a reshape."""
    keys, values = cache.append(k, v)
    scores = q @ keys.reshape(*keys.shape[:2], keys.shape[3], keys.shape[2]) / q.shape[-1] ** 0.5
    return _HIDES["-inf"](scores, _SEES["right"](q.shape[2], keys.shape[2]), -1) @ values


def _kept_keys_scaled(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    """Scales what the cache hands out in place, and so what it keeps, again in each call."""
    keys, values = cache.append(k, v)
    keys /= q.shape[-1] ** 0.5
    mask = _SEES["right"](q.shape[2], keys.shape[2])
    return _HIDES["-inf"](q @ keys.mT, mask, -1) @ values


# --- writing with a model's own cache, with switches -----------------------------------------------------------------


def _greedy_template(
    model: Any,
    ids: Tensor,
    n: int,
    feed: str = "newest",
    kept: str = "cache",
    pick: str = "best",
    row: int = -1,
    places: str = "right",
    extra: int = 0,
    give: str = "all",
) -> Any:
    import torch

    prompt, cache = ids, None
    for step in range(n + extra):
        new = _FEEDS[feed](ids, step, prompt.shape[1])
        more = _PLACES[places](new.shape[1], ids.shape[1])
        with torch.no_grad():
            said = model(new, cache=cache, use_cache=kept == "cache", **more)
        cache = said.cache if kept == "cache" else None
        ids = torch.cat([ids, _PICKS[pick](said.logits[:, row])[:, None]], dim=1)
    return _RETURNS[give](ids, prompt)


#: Which tokens the model is fed: all so far, the number of the step, and how long the prompt is.
_FEEDS: dict[str, Callable[[Tensor, int, int], Tensor]] = {
    "newest": lambda ids, step, T: ids[:, -1:] if step else ids,
    "all": lambda ids, step, T: ids,
    "newest two": lambda ids, step, T: ids[:, -2:] if step else ids,
    "no prompt": lambda ids, step, T: ids[:, -1:],
    "no first token": lambda ids, step, T: ids[:, -1:] if step else ids[:, 1:],
    "one late": lambda ids, step, T: ids[:, -2:-1] if step else ids,
    "all that is new": lambda ids, step, T: ids[:, T:] if step else ids,
    "prompt again": lambda ids, step, T: ids[:, :T],
}

#: Positions that are handed over, from the number of rows fed and the length so far.
_PLACES: dict[str, Callable[[int, int], dict[str, Any]]] = {
    "right": lambda rows, length: {},
    "from zero": lambda rows, length: {"position_ids": _arange(0, rows)},
    "one late": lambda rows, length: {"position_ids": _arange(length - rows + (rows == 1), rows)},
}


def _arange(start: int, count: int) -> Tensor:
    import torch

    return torch.arange(start, start + count)[None]


#: How the next token is taken from the scores (1, V).
_PICKS: dict[str, Callable[[Tensor], Tensor]] = {
    "best": lambda logits: logits.argmax(-1),
    "worst": lambda logits: logits.argmin(-1),
    "second": lambda logits: logits.topk(2).indices[:, -1],
}

#: What comes back.
_RETURNS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "all": lambda ids, prompt: ids,
    "new": lambda ids, prompt: ids[:, prompt.shape[1] :],
    "flat": lambda ids, prompt: ids[0],
    "list": lambda ids, prompt: ids[0].tolist(),
    "newest": lambda ids, prompt: ids[:, -1:],
    "prompt": lambda ids, prompt: prompt,
}


def _last_prompt_token_twice(model: Any, ids: Tensor, n: int) -> Tensor:
    """Reads the whole prompt, throws the answer away, and feeds the last token of the prompt again."""
    import torch

    with torch.no_grad():
        cache = model(ids, use_cache=True).cache
    for _ in range(n):
        with torch.no_grad():
            said = model(ids[:, -1:], cache=cache, use_cache=True)
        ids = torch.cat([ids, said.logits[:, -1:].argmax(-1)], dim=1)
    return ids


def _first_written_lost(model: Any, ids: Tensor, n: int) -> Tensor:
    """Feeds the first new token and never writes it down."""
    import torch

    with torch.no_grad():
        said = model(ids, use_cache=True)
        for _ in range(n):
            said = model(said.logits[:, -1:].argmax(-1), cache=said.cache, use_cache=True)
            ids = torch.cat([ids, said.logits[:, -1:].argmax(-1)], dim=1)
    return ids


def _first_lost_and_one_less(model: Any, ids: Tensor, n: int) -> Tensor:
    """The first token comes of the prompt and is not written; n - 1 more are."""
    return _first_written_lost(model, ids, n - 1)


def _every_row_s_token(model: Any, ids: Tensor, n: int) -> Tensor:
    """Takes the best token of every row that the model was fed, those of the prompt too."""
    import torch

    new, cache = ids, None
    for _ in range(n):
        with torch.no_grad():
            said = model(new, cache=cache, use_cache=True)
        new, cache = said.logits.argmax(-1), said.cache
        ids = torch.cat([ids, new], dim=1)
    return ids


def _prompt_in_bits(model: Any, ids: Tensor, n: int) -> Tensor:
    """The prompt token by token, each with a new cache."""
    import torch

    with torch.no_grad():
        for place in range(ids.shape[1]):
            said = model(ids[:, place : place + 1], use_cache=True)
        for _ in range(n):
            new = said.logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, new], dim=1)
            said = model(new, cache=said.cache, use_cache=True)
    return ids


#: The cache that `_from_the_request_before` shares among all requests.
_LEFT: list[Any] = []


def _from_the_request_before(model: Any, ids: Tensor, n: int) -> Tensor:
    """One cache for all requests, as a default value is one object for all calls."""
    import torch

    if _LEFT and _LEFT[0].get_seq_length() > 60:
        _LEFT.clear()
    cache, new = (_LEFT or [None])[0], ids
    for _ in range(n):
        with torch.no_grad():
            said = model(new, cache=cache, use_cache=True)
        cache, new = said.cache, said.logits[:, -1:].argmax(-1)
        ids = torch.cat([ids, new], dim=1)
    _LEFT[:] = [cache]
    return ids


#: Counts the requests that `_by_chance` has answered.
_ASKED: list[None] = []


def _by_chance(model: Any, ids: Tensor, n: int) -> Tensor:
    """Another token in each second request, as drawing makes it."""
    _ASKED.append(None)
    return _greedy_template(model, ids, n, pick="best" if len(_ASKED) % 2 else "second")


def _no_loop(model: Any, ids: Tensor, n: int) -> Tensor:
    """Asks once and takes what every row says."""
    import torch

    with torch.no_grad():
        said = model(ids, use_cache=True).logits[:, -n:].argmax(-1)
    return torch.cat([ids, said], dim=1)


# --- bytes and shared heads, with switches ---------------------------------------------------------------------------


def _bytes_template(
    layers: int,
    kv_heads: int,
    head_dim: int,
    tokens: int,
    batch: int,
    bytes_per_number: int,
    pair: int = 2,
    skip: str = "",
    unit: float = 1,
    square: str = "",
    add: int = 0,
) -> Any:
    sizes = {
        "layers": layers,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "tokens": tokens,
        "batch": batch,
        "bytes_per_number": bytes_per_number,
    }
    product = pair
    for name, size in sizes.items():
        product *= 1 if name == skip else size + add if name == "tokens" else size
    product *= sizes.get(square, 1)
    return product if unit == 1 else product * unit if unit > 1 else product / round(1 / unit)


def _added_up(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return 2 * (layers + kv_heads + head_dim + tokens + batch) * bytes_per_number


def _float32_always(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return 2 * layers * kv_heads * head_dim * tokens * batch * 4


def _a_float(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> float:
    return 2.0 * layers * kv_heads * head_dim * tokens * batch * bytes_per_number


def _scores_too(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return layers * kv_heads * batch * bytes_per_number * (2 * head_dim * tokens + tokens * tokens)


def _width_shared_out(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return 2 * layers * (head_dim // kv_heads) * tokens * batch * bytes_per_number


def _texts_as_tokens(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return 2 * layers * kv_heads * head_dim * (tokens + batch) * bytes_per_number


def _repeat_template(x: Tensor, times: int, how: str = "right") -> Any:
    return _REPEATS[how](x, times)


#: How heads are repeated.
_REPEATS: dict[str, Callable[[Tensor, int], Any]] = {
    "right": lambda x, times: x.repeat_interleave(times, dim=1),
    "tiled": lambda x, times: x.repeat(1, times, 1, 1),
    "rows": lambda x, times: x.repeat_interleave(times, dim=2),
    "rows tiled": lambda x, times: x.repeat(1, 1, times, 1),
    "width": lambda x, times: x.repeat_interleave(times, dim=3),
    "width tiled": lambda x, times: x.repeat(1, 1, 1, times),
    "texts": lambda x, times: x.repeat_interleave(times, dim=0),
    "texts tiled": lambda x, times: x.repeat(times, 1, 1, 1),
    "flat": lambda x, times: x.repeat_interleave(times),
    "new axis": lambda x, times: x[:, :, None].expand(-1, -1, times, -1, -1),
    "new axis in front": lambda x, times: x[:, None].expand(-1, times, -1, -1, -1),
    "first head": lambda x, times: x[:, :1].expand(-1, x.shape[1] * times, -1, -1),
    "to so many": lambda x, times: x.repeat_interleave(max(1, times // x.shape[1]), dim=1)[:, :times],
    "one less": lambda x, times: x.repeat_interleave(max(1, times - 1), dim=1),
    "one more": lambda x, times: x.repeat_interleave(times + 1, dim=1),
    "times the heads": lambda x, times: x.repeat_interleave(x.shape[1] * times, dim=1),
    "not at all": lambda x, times: x.clone(),
    "shares": lambda x, times: x.repeat_interleave(times, dim=1) / times,
    "zeros between": lambda x, times: _spread(x, times),
    "rows first": lambda x, times: _wrongly_folded(x, times),
    "backwards": lambda x, times: x.flip(1).repeat_interleave(times, dim=1),
}


def _spread(x: Tensor, times: int) -> Tensor:
    """Each head once, followed by heads of zeros."""
    B, H, T, d = x.shape
    wide = x.new_zeros(B, H * times, T, d)
    wide[:, ::times] = x
    return wide


def _wrongly_folded(x: Tensor, times: int) -> Tensor:
    """The axis of the copies behind the rows, and then a reshape: rows end up in heads of their own."""
    B, H, T, d = x.shape
    return x[:, :, :, None].expand(-1, -1, -1, times, -1).reshape(B, H * times, T, d)


# --- the cases -------------------------------------------------------------------------------------------------------


def _cache_cases(rng: np.random.Generator) -> list[Case]:
    readable = np.array([[[[1.0, 2], [3, 4], [5, 6]], [[10, 20], [30, 40], [50, 60]]]])
    small = (readable, readable + 0.5)

    def draw(rows: int, *shape: int) -> tuple[np.ndarray, np.ndarray]:
        size = (*shape[:2], rows, shape[2])
        return rng.standard_normal(size), rng.standard_normal(size)

    return [
        Case((*small, (2, 1)), "two rows, then one", "appended"),
        Case((*draw(5, 2, 3, 4), (1, 1, 1, 1, 1)), "one row at a time", "appended"),
        Case((*draw(5, 2, 3, 4), (2, 2, 1)), "two rows, two rows, one", "appended"),
        Case((*draw(5, 4, 2, 3), (5,)), "five rows at once", "appended"),
        Case((*small, (2, 0, 1)), "two rows, a reset, one row", "appended"),
        Case((*draw(8, 2, 3, 4), (2, 2, 1, 0, 1, 2)), "three rows after a reset", "appended"),
        Case((*small, (1, 1, 1)), "the caller writes each new row into the same tensors", "appended_from_one_place"),
        Case((*draw(3, 7, 6, 5), (2, 1)), "the length", "lengths"),
        Case((*draw(8, 7, 6, 5), (2, 2, 1, 0, 3)), "the length, with a reset", "lengths"),
    ]


def _cached_cases(rng: np.random.Generator) -> list[Case]:
    def draw(schedule: tuple[int, ...], note: str, *shape: int) -> Case:
        size = (*shape[:2], sum(schedule), shape[2])
        return Case((*(rng.standard_normal(size) for _ in range(3)), schedule), note, "cached_in_pieces")

    three = tuple(np.round(rng.standard_normal((1, 2, 3, 2)), 1) + 0.0 for _ in range(3))
    return [
        Case((*three, (1, 2)), "one row, then two new ones", "cached_in_pieces"),
        draw((1, 1, 1, 1, 1), "one row at a time", 2, 3, 4),
        draw((2, 2, 1), "two rows, two rows, one", 2, 3, 4),
        draw((5,), "five rows at once", 2, 3, 4),
        draw((2, 2, 1, 0, 1, 2), "three rows after a reset", 1, 4, 5),
    ]


#: Tiny models whose next token depends most on the tokens before and on their places, by what makes them.
_TELLING: dict[str, tuple[dict[str, int], tuple[int, ...]]] = {
    "tiny_gpt2": ({"width": 16, "heads": 2}, (33, 8, 14, 36, 29, 26, 23, 22, 6)),
    "tiny_llama": ({"width": 32, "heads": 4, "kv_heads": 2}, (6, 30, 20, 18, 15, 38, 37, 10, 1)),
}


def _greedy_cases(rng: np.random.Generator) -> list[Case]:
    """Keys of the same heads and width in all models, so that a cache from the request before still runs."""

    def case(name: str, length: int, n: int, note: str = "") -> Case:
        sizes, seeds = _TELLING[name]
        params = {"seed": int(rng.choice(seeds)), "layers": 1, "vocabulary": 200, "positions": 256} | sizes
        return Case((Fn(name, params), rng.integers(1, 200, (1, length)), n), note, "two_requests")

    return [
        case("tiny_gpt2", 3, 5, "its positions are added"),
        case("tiny_llama", 5, 5, "its positions are turned"),
    ]


def _bytes_cases(rng: np.random.Generator) -> list[Case]:
    drawn = tuple(int(n) for n in rng.permutation([3, 5, 7, 11, 13]))
    return [
        Case((3, 4, 16, 7, 5, 4)),
        Case((32, 8, 128, 1000, 3, 2), "half precision"),
        Case((*drawn, 8)),
        Case((12, 12, 64, 1, 1, 4), "one token"),
    ]


def _repeat_cases(rng: np.random.Generator) -> list[Case]:
    readable = np.array([[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[-1.0, -2.0], [-3.0, -4.0], [-5.0, -6.0]]]])
    return [
        Case((readable, 3)),
        Case((rng.standard_normal((2, 3, 5, 4)), 2)),
        Case((rng.standard_normal((3, 1, 2, 5)), 4), "one head for all"),
        Case((rng.standard_normal((2, 4, 3, 5)), 1), "nothing to repeat"),
        Case((rng.standard_normal((3, 2, 7, 5)), 4)),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------

#: Mistakes that are likely to come together with another one; the rest is recognised when it comes alone.
LIKELY_IN_PAIRS = """
caller_s_tensor_kept caller_s_tensors_listed joined_along_heads joined_along_texts
prepended only_new_given swapped keys_for_values counts_calls counts_texts counts_the_newest counts_all_ever
reset_does_nothing reset_forgets_values reset_writes_zeros
unmasked mask_top_left mask_for_prompts_only unscaled scaled_by_rows stored_twice cache_not_looked_at keys_as_values
new_rows_only logits_of_the_first_row one_token_more one_token_less cache_not_handed_on positions_from_zero
without_the_two without_batch without_heads without_layers
""".split()


_AXIS = "Which axis of (B, H, t, d_h) grows when a token comes?"
_PAIR = "What does whoever calls append want to go on with?"
_ROWS = "Two texts of 5 tokens, read in calls of 2, 2 and 1 rows: what should length say?"
_AFTER_RESET = "A new request begins: what may be left of the last one?"
_OWN = "Which object owns the rows: the class, or each cache?"
_TWO_AT_ONCE = "Feed two rows at once: are both of them found later?"

_CACHE_MISTAKES = [
    switched(
        "prepended",
        "Your new rows come before the old ones: the newest is first.",
        "Where should the oldest row stand?",
        join="prepended",
    ),
    switched(
        "only_new_given",
        "You keep the rows, and give back only those that were handed in.",
        _PAIR,
        give="new",
    ),
    switched(
        "newest_call_only",
        "Your new rows replace the old ones: only those of the last call are kept.",
        "What should be there after two calls?",
        join="replaced",
    ),
    switched(
        "joined_along_heads",
        "Your rows are joined along the axis of the heads: heads become more.",
        _AXIS,
        join="heads",
    ),
    switched(
        "joined_along_width",
        "Your rows are joined along the last axis: rows become wider, not more.",
        _AXIS,
        join="width",
    ),
    switched(
        "joined_along_texts", "Your rows are joined along the first axis: texts become more.", _AXIS, join="texts"
    ),
    switched(
        "added_up",
        "Your new rows are added to the old ones, number by number.",
        "How many rows should there be after two calls with one row each?",
        join="added",
    ),
    switched(
        "last_of_several",
        "Of several new rows you keep the last one only. Fed one at a time, nothing is seen of it.",
        _TWO_AT_ONCE,
        join="last row",
    ),
    switched(
        "first_of_several",
        "Of several new rows you keep the first one only. Fed one at a time, nothing is seen of it.",
        _TWO_AT_ONCE,
        join="first row",
    ),
    switched(
        "several_turned_round",
        "Several new rows are kept in reverse order. Fed one at a time, nothing is seen of it.",
        "Which of two new rows is the older one?",
        join="reversed",
    ),
    switched(
        "several_start_anew",
        "A call with several rows is taken for a new prompt: what was there is thrown away.",
        "Who says that a text comes in one piece?",
        join="prompt",
    ),
    switched("appended_twice", "Every new row is appended twice.", "How many rows are there after one?", join="twice"),
    switched(
        "empty_slot",
        "In front of the first row there is a row of zeros that nobody handed in.",
        "What does a new cache hold?",
        join="empty slot",
    ),
    switched(
        "caller_s_tensor_kept",
        "The first rows are kept without a copy: when the caller writes into its tensor, your cache changes.",
        "Whose memory do the first rows lie in?",
        own="the first is theirs",
    ),
    switched(
        "caller_s_tensors_listed",
        "You keep the caller's own tensors, not copies: when the caller writes into them, your cache changes.",
        "Whose memory do the rows in your list lie in?",
        own="a list of theirs",
    ),
    switched(
        "last_four_only",
        "Only the last four rows are kept.",
        "May a row look at the fifth before it?",
        join="the last four",
    ),
    switched(
        "single_precision",
        "What is kept is rounded to float32, whatever came in.",
        "Which dtype has a tensor of torch if nobody says one?",
        join="single",
    ),
    switched(
        "first_text_only", "Only the first text of the batch is kept.", "How many texts went in?", join="first text"
    ),
    switched("first_head_only", "Only the first head is kept.", "How many heads went in?", join="first head"),
    switched("swapped", "Values come back first, keys second.", "In which order were they handed in?", give="swapped"),
    switched(
        "keys_for_values", "Keys are kept as values, too: the values are lost.", "What is kept of v?", take="keys twice"
    ),
    switched(
        "values_for_keys", "Values are kept as keys, too: the keys are lost.", "What is kept of k?", take="values twice"
    ),
    switched("keys_only", "Your append gives the keys and not the values.", _PAIR, give="keys"),
    switched("values_only", "Your append gives the values and not the keys.", _PAIR, give="values"),
    switched("nothing_given", "Your append keeps the rows and gives nothing back.", _PAIR, give="nothing"),
    switched(
        "given_before_appending",
        "What comes back is what was there before the call: the new rows are not in it.",
        "Does a new row look at itself?",
        give="before",
    ),
    switched(
        "stacked_pair", "Your two tensors are stacked into one.", "What should stand left of the =?", give="stacked"
    ),
    switched("arrays_given", "Your append gives arrays of NumPy, not tensors.", _PAIR, give="NumPy"),
    switched("length_given_too", "Your append gives three things.", _PAIR, give="length, too"),
    switched("counts_calls", "Your length counts calls of append, not rows.", _ROWS, count="calls"),
    switched("counts_the_newest", "Your length tells the rows of the last call only.", _ROWS, count="newest"),
    switched("counts_all_ever", "Your length goes on counting after a reset.", _AFTER_RESET, count="ever"),
    switched("counts_texts", "Your length is the number of texts.", _ROWS, count="texts"),
    switched("counts_heads", "Your length is the number of heads.", _ROWS, count="heads"),
    switched("counts_width", "Your length is the width of a head.", _ROWS, count="width"),
    switched("counts_axes", "Your length is the number of axes of a tensor.", _ROWS, count="axes"),
    switched("counts_both", "Your length counts keys and values: it is twice the number of rows.", _ROWS, count="both"),
    switched("counts_numbers", "Your length counts all numbers that are kept.", _ROWS, count="numbers"),
    switched("counts_all_texts", "Your length counts the rows of all texts together.", _ROWS, count="all texts"),
    switched("counts_one_less", "Your length is one too small as soon as there are rows.", _ROWS, count="one less"),
    switched(
        "counts_one_more", "Your length is one too large.", "What is the length of a new cache?", count="one more"
    ),
    switched("counts_nothing", "Your length stays 0, whatever is appended.", _ROWS, count="nothing"),
    switched("length_is_none", "The length of a new cache is None.", "How many rows does it hold?", count="None"),
    switched("reset_does_nothing", "After a reset the old rows are still there.", _AFTER_RESET, empty="nothing"),
    switched("reset_forgets_keys_only", "Your reset leaves the old values where they are.", _AFTER_RESET, empty="keys"),
    switched("reset_forgets_values", "Your reset leaves the old keys where they are.", _AFTER_RESET, empty="values"),
    switched(
        "reset_writes_zeros",
        "Your reset writes zeros over the old rows, and they stay: a row of zeros is a row, and gets weight.",
        _AFTER_RESET,
        empty="zeros",
    ),
    switched("reset_keeps_the_last", "Your reset keeps the last row.", _AFTER_RESET, empty="last row"),
    Mistake(
        "one_for_all",
        "All your caches keep their rows in one and the same place: a new cache is not empty.",
        _OWN,
        answer=_OneForAll,
    ),
    Mistake(
        "calls_stacked",
        "The rows of each call are stacked along a new axis, which needs calls of one size.",
        "How many axes should come back?",
        answer=_StacksCalls,
    ),
    Mistake(
        "lists_given",
        "Your append gives two lists of tensors, one tensor for each call.",
        "What can be multiplied by a query?",
        answer=_GivesLists,
    ),
    Mistake(
        "length_is_a_method",
        "Your length is a method: cache.length is not a number, cache.length() would be.",
        "What does @property do to a method?",
        answer=_LengthIsAMethod,
    ),
    Mistake(
        "length_of_nothing",
        "The length of a new cache is looked up in a tensor that is not there yet.",
        "What is kept before the first row, and how long is it?",
        answer=_LengthOfNothing,
    ),
    Mistake(
        "len_of_nothing",
        "The length of a new cache is len of something that is not there yet.",
        "What is kept before the first row, and how long is it?",
        answer=_LengthStopsAtNothing,
    ),
    Mistake(
        "first_not_kept",
        "The rows of the first call are given back and not kept.",
        "What is there when the second call comes?",
        answer=_FirstNotKept,
    ),
    Mistake(
        "never_begins",
        "Each call gives its own rows back, and nothing is kept: your cache takes every call for the first.",
        "What is there when the second call comes?",
        answer=_NeverBegins,
    ),
    Mistake(
        "later_values_are_keys",
        "Your first values are kept, and from the second call on keys are joined to them.",
        "What is kept of v in the second call?",
        answer=_LaterValuesAreKeys,
    ),
]

_NEW_SEES = "Three rows are kept, two new ones come: how many of the five keys does each new one see?"
_SPREAD = "How many products are added up in one score?"
_ONCE = "How many rows should the cache hold after a call with two?"
_HIDDEN_ONE = "What does the single row of an empty cache look at?"

_CACHED_MISTAKES = [
    switched(
        "unmasked",
        "Your new rows see new rows that come after them. Fed one at a time, nothing is seen of it.",
        _NEW_SEES,
        see="all",
    ),
    switched(
        "mask_top_left",
        "Your mask starts in the upper left corner: a new row is taken for the oldest one and sees key 0 only.",
        _NEW_SEES,
        see="top left",
    ),
    switched(
        "mask_top_left_for_several",
        "Single rows are right. Of several new rows the first sees key 0 only: your mask starts in the upper left.",
        _NEW_SEES,
        see="top left for several",
    ),
    switched(
        "mask_for_prompts_only",
        "You mask when the cache is empty and not later: then new rows see new rows that come after them.",
        _NEW_SEES,
        see="prompt only",
    ),
    switched(
        "cache_not_looked_at",
        "Your rows see those of their own call and nothing that was fed before.",
        _NEW_SEES,
        see="new only",
    ),
    switched(
        "cache_hidden_from_several",
        "Single rows are right. Several new rows see each other and nothing that was fed before.",
        _NEW_SEES,
        see="new only for several",
    ),
    switched(
        "only_itself_of_the_new",
        "A new row sees the cache and itself, not the new rows before it. Fed one at a time, nothing is seen of it.",
        _NEW_SEES,
        see="itself of the new",
    ),
    switched("only_itself", "A row sees itself and nothing else.", _NEW_SEES, see="itself"),
    switched(
        "own_row_hidden",
        "A row does not see itself, and the first row of an empty cache has nothing at all: NaN.",
        _HIDDEN_ONE,
        see="own hidden",
    ),
    switched(
        "own_row_hidden_zeros",
        "A row does not see itself, and the first row of an empty cache comes back as zeros.",
        _HIDDEN_ONE,
        see="own hidden",
        hide="zeros for nothing",
    ),
    switched(
        "own_row_hidden_mean",
        "A row does not see itself, and the first row of an empty cache gets the mean of what is hidden from it.",
        _HIDDEN_ONE,
        see="own hidden",
        hide="finite",
    ),
    switched(
        "kept_rows_only",
        "Your rows see what was fed before and none of the new rows: on an empty cache there is nothing, NaN.",
        _HIDDEN_ONE,
        see="old only",
    ),
    switched(
        "kept_rows_only_zeros",
        "Your rows see what was fed before and none of the new rows: on an empty cache zeros come back.",
        _HIDDEN_ONE,
        see="old only",
        hide="zeros for nothing",
    ),
    switched("one_ahead", "Your rows may look one row ahead.", _NEW_SEES, see="one ahead"),
    switched(
        "ahead_only", "Your mask is turned round: rows see themselves and what comes after.", _NEW_SEES, see="ahead"
    ),
    switched(
        "true_read_as_blocked",
        "Your mask is read the other way: what may be seen is hidden, and the other way round.",
        "Does True in your mask mean that a row may look, or that it may not?",
        see="blocked",
    ),
    switched(
        "true_read_as_blocked_zeros",
        "Torch reads your mask the other way: what may be seen is hidden, and a row that sees nothing gets zeros.",
        "Does True in torch's attn_mask mean that a row may look, or that it may not?",
        see="blocked",
        hide="zeros for nothing",
    ),
    switched(
        "mask_added_as_numbers",
        "Your mask is added to the scores as numbers 0 and 1: rows ahead lose a little weight, and keep the rest.",
        "What has to be added to a score for its weight to become 0?",
        hide="numbers added",
    ),
    switched(
        "new_rows_turned",
        "Among the new rows your mask is turned round: they see the cache, themselves and new rows after them.",
        _NEW_SEES,
        see="new turned",
    ),
    switched(
        "mask_of_all_rows",
        "Your mask has a row for every row so far, and only the new ones ask.",
        "How many rows have the scores, and how many columns?",
        see="all rows",
    ),
    switched(
        "first_new_row_s_mask",
        "All new rows see as much as the first of them.",
        _NEW_SEES,
        see="last row for all",
    ),
    switched(
        "offset_turned_round",
        "Your mask is shifted the wrong way: the more is kept, the less is seen.",
        "By how many columns, and to which side, has the triangle to move when rows are kept?",
        see="other way",
    ),
    switched(
        "masked_late",
        "Your mask comes after the softmax: rows of the pattern no longer sum to 1.",
        "What do the weights of the first of two new rows sum to?",
        hide="after",
    ),
    switched(
        "zeros_for_hidden",
        "Hidden scores become 0, and exp(0) is 1: rows ahead keep weight.",
        "Which score gets the weight 0?",
        hide="zeros",
    ),
    switched("no_softmax", "Your scores meet the values without a softmax.", "What do rows sum to?", hide="no softmax"),
    switched(
        "over_the_queries",
        "Your softmax runs over the rows that ask. With a single new row every weight is 1.",
        "Which axis of the scores counts the rows looked at?",
        axis=-2,
    ),
    switched("unscaled", "Your scores are not scaled.", _SPREAD, scale="nothing"),
    switched("scaled_twice", "Your scores are divided by d_h itself.", _SPREAD, scale="d_h"),
    switched(
        "scaled_by_rows",
        "Your scores are divided by the root of the number of rows: patterns get flatter as the text grows.",
        _SPREAD,
        scale="rows",
    ),
    switched("scaled_by_width", "Your scores are divided by the root of H·d_h.", _SPREAD, scale="width"),
    switched("scaled_by_heads", "Your scores are divided by the root of the number of heads.", _SPREAD, scale="heads"),
    switched("multiplied_by_the_root", "Your scores are multiplied by the root of d_h.", _SPREAD, scale="inverse"),
    switched("stored_twice", "You append the same rows twice.", _ONCE, store="twice"),
    switched(
        "stored_once_for_each",
        "You call append for the keys and again for the values: the second finds the rows twice.",
        _ONCE,
        store="once for each",
    ),
    switched(
        "joined_again",
        "What append gives holds the new rows already, and you join them to it once more.",
        "What is in the keys that append gives?",
        store="joined again",
    ),
    switched(
        "emptied_by_several",
        "A call with several rows empties the cache first: what was fed before is lost.",
        "Who says that a text comes in one piece?",
        store="emptied by a prompt",
    ),
    switched(
        "keys_and_values_swapped",
        "Keys are kept as values and values as keys.",
        "In which order does append take them?",
        store="swapped",
    ),
    switched("keys_as_values", "Keys are kept in place of values, too.", "Where does v go?", store="keys as values"),
    switched(
        "queries_as_keys",
        "Queries are kept in place of keys.",
        "What will later rows compare with?",
        store="queries as keys",
    ),
    switched(
        "appended_turned",
        "Rows and heads change places before you append: the cache refuses.",
        "Which axis counts rows, in q, k, v and in the cache?",
        store="turned",
    ),
    switched(
        "own_keys_all_values",
        "Scores come from the new keys only, values from the whole cache: their numbers of rows differ.",
        "Which of the two things that append gives did you use?",
        store="own keys",
    ),
    switched(
        "all_keys_own_values",
        "Scores come from the whole cache, values from the new rows only: their numbers of rows differ.",
        "Which of the two things that append gives did you use?",
        store="own values",
    ),
    switched(
        "last_of_several_kept",
        "Of several new rows only the last one is put into the cache.",
        _TWO_AT_ONCE,
        store="last row",
        hide="zeros for nothing",
    ),
    switched(
        "pattern_given", "What comes back is the pattern, not the blend.", "What meets the values?", out="pattern"
    ),
    switched(
        "both_given", "Your function gives two things: the blend, and the pattern.", "What is asked for?", out="both"
    ),
    switched(
        "last_row_given",
        "Of several new rows only the last one's blend comes back.",
        "How many rows go in, and how many should come out?",
        out="last row",
    ),
    switched("merged", "Your heads come back merged: (B, t, H·d_h).", "How many axes should come back?", out="merged"),
    switched("heads_inside", "Your result is (B, t, H, d_h).", "Which axis counts heads?", out="turned"),
    switched(
        "added_to_the_query",
        "The queries are added to the blend.",
        "What comes back when all values are zero?",
        out="added",
    ),
    Mistake(
        "keys_reshaped",
        "Your keys are reshaped where they should be transposed: a column holds numbers of several keys.",
        "Which numbers does a score multiply?",
        answer=_keys_reshaped,
    ),
    Mistake(
        "query_changed",
        "The queries of the caller are divided by √d_h in place.",
        "What is in q after the call?",
        answer=_scaled_in_place,
    ),
    Mistake(
        "kept_keys_changed",
        "You divide in place what the cache hands out, which is what it keeps: old keys shrink with every call.",
        "Whose memory do the keys lie in that append gives?",
        answer=_kept_keys_scaled,
    ),
]

_FEED = "What does the model know already, and what has it not read yet?"
_COUNT_TOKENS = "How many tokens go in, how many come out?"

_GREEDY_MISTAKES = [
    switched(
        "recomputed",
        "The tokens are right, and no cache is used: the model reads the whole text again for each token.",
        "How many rows does the model need to see in each step but the first?",
        feed="all",
        kept="nothing",
    ),
    switched(
        "everything_appended_again",
        "The whole text is fed in each step, behind the copy of it that the cache holds already.",
        _FEED,
        feed="all",
    ),
    switched(
        "cache_not_handed_on",
        "Each step feeds the newest token without the cache: the model has forgotten what came before.",
        "What does the model know of the prompt in step 1?",
        kept="nothing",
    ),
    switched(
        "prompt_not_read",
        "Only the last token of the prompt is fed: what stands before it is not in the cache.",
        "What has to be in the cache before the first new token?",
        feed="no prompt",
    ),
    switched(
        "first_token_left_out",
        "The first token of the prompt is not fed.",
        "Which rows are kept?",
        feed="no first token",
    ),
    switched(
        "nothing_kept_at_all",
        "Each step feeds the last token alone and begins with an empty cache, the first step, too.",
        "What does the model know of the prompt in step 1?",
        feed="no prompt",
        kept="nothing",
    ),
    switched(
        "two_at_a_time", "Each step feeds the last two tokens: each is in the cache twice.", _FEED, feed="newest two"
    ),
    switched(
        "one_step_behind",
        "Each step feeds the token before the newest one, which the model has read already.",
        _FEED,
        feed="one late",
    ),
    switched(
        "all_new_ones_again",
        "Each step feeds all tokens written so far, not the newest one alone.",
        _FEED,
        feed="all that is new",
    ),
    switched(
        "prompt_again", "Each step feeds the prompt again and never what was written.", _FEED, feed="prompt again"
    ),
    switched(
        "logits_of_the_first_row",
        "The next token is taken from row 0 of what the model says. With one row that is the last one, too.",
        "Which row of the prompt says what comes after the prompt?",
        row=0,
    ),
    switched(
        "positions_from_zero",
        "Positions start at 0 again in each step, though rows are kept.",
        "At which place of the text does the newest token stand?",
        places="from zero",
    ),
    switched(
        "positions_one_late",
        "The positions of new tokens are one too large.",
        "At which place of the text does the newest token stand?",
        places="one late",
    ),
    switched("worst_token", "The token with the lowest score is taken.", "Which token is greedy?", pick="worst"),
    switched("second_best", "The second best token is taken.", "Which token is greedy?", pick="second"),
    switched("one_token_more", "One token too many is written.", _COUNT_TOKENS, extra=1),
    switched("one_token_less", "One token too few is written.", _COUNT_TOKENS, extra=-1),
    switched("new_rows_only", "Only the new tokens come back, without the prompt.", _COUNT_TOKENS, give="new"),
    switched("newest_only", "Only the last token comes back.", _COUNT_TOKENS, give="newest"),
    switched("nothing_written", "The prompt comes back as it was.", _COUNT_TOKENS, give="prompt"),
    switched("axis_dropped", "Your result is (T + n,): the axis of the texts is gone.", _COUNT_TOKENS, give="flat"),
    switched("list_given", "A list of numbers comes back, not a tensor.", "What can be fed to a model?", give="list"),
    Mistake(
        "last_prompt_token_twice",
        "The last token of the prompt is fed twice: with the prompt, and again in the first step.",
        "Which rows of what the model says after the prompt have you used?",
        answer=_last_prompt_token_twice,
    ),
    Mistake(
        "first_written_lost",
        "The first new token is fed, and missing in what comes back.",
        "Which token is taken from what the model says of the prompt?",
        answer=_first_written_lost,
    ),
    Mistake(
        "first_lost_and_one_less",
        "The first new token is fed and never written down: one token too few comes back.",
        "Which token is taken from what the model says of the prompt?",
        answer=_first_lost_and_one_less,
    ),
    Mistake(
        "every_row_s_token",
        "A token is taken from every row of the first pass, not from the last row only.",
        "Which row of the prompt says what comes after the prompt?",
        answer=_every_row_s_token,
    ),
    Mistake(
        "prompt_in_bits",
        "The tokens of the prompt are fed one by one, each without what came before: only the last is remembered.",
        "What has to be in the cache before the first new token?",
        answer=_prompt_in_bits,
    ),
    Mistake(
        "left_from_before",
        "The second request begins with the cache of the first: the model takes it for one long text.",
        "Where is the cache made, and how often?",
        answer=_from_the_request_before,
    ),
    Mistake(
        "drawn_by_chance",
        "The same request, made again, gets another answer: something is drawn by chance.",
        "Which token is greedy?",
        answer=_by_chance,
    ),
    Mistake(
        "asked_once",
        "The model is asked once, and what several rows say is taken for what comes one after another.",
        "What has the row that says token 2 read of token 1?",
        answer=_no_loop,
    ),
]

_FACTOR = "Which of the numbers can double without doubling your result?"

_BYTES_MISTAKES = [
    switched("without_the_two", "Keys are counted, values are not.", "What is kept of each token?", pair=1),
    switched("without_layers", "Your result is that of one layer.", _FACTOR, skip="layers"),
    switched("without_heads", "Your result is that of one head.", _FACTOR, skip="kv_heads"),
    switched("without_width", "The width of a head is not in your result.", _FACTOR, skip="head_dim"),
    switched("without_tokens", "Your result is that of one token.", _FACTOR, skip="tokens"),
    switched("without_batch", "Your result is that of one text of the batch.", _FACTOR, skip="batch"),
    switched("numbers_not_bytes", "You count numbers, not bytes.", _FACTOR, skip="bytes_per_number"),
    switched("bits", "Your result is eight times too large: bits, not bytes.", "How many bits has a byte?", unit=8),
    switched("kilobytes", "Your result is in KiB.", "Which unit is asked for?", unit=1 / 1024),
    switched("megabytes", "Your result is in MiB.", "Which unit is asked for?", unit=1 / 1024**2),
    switched(
        "tokens_squared",
        "Your result grows with the square of the tokens, as scores do.",
        "How many rows does one more token add?",
        square="tokens",
    ),
    switched(
        "heads_squared", "Your result grows with the square of the heads.", "How wide is a kept row?", square="kv_heads"
    ),
    switched("queries_too", "Three rows are counted for each token, queries too.", "Who asks for old queries?", pair=3),
    switched("hidden_rows_too", "Four numbers are counted where two are kept.", "What is kept of each token?", pair=4),
    switched("one_token_more", "One token too many is counted.", "What is kept of a text of no tokens?", add=1),
    switched("one_token_less", "One token too few is counted.", "What is kept of a text of one token?", add=-1),
    Mistake(
        "added_up", "The sizes are added up.", "What becomes of the bytes with twice the layers?", answer=_added_up
    ),
    Mistake("a_float", "Your result is a float.", "Of what kind are all six arguments?", answer=_a_float),
    Mistake("always_four_bytes", "Every number is taken to have 4 bytes.", _FACTOR, answer=_float32_always),
    Mistake(
        "scores_too", "Scores are counted, too: they are not kept.", "Who needs old scores again?", answer=_scores_too
    ),
    Mistake(
        "width_shared_out",
        "The width of a head is divided among the heads: `head_dim` is the width of one already.",
        "How wide is the key of one head?",
        answer=_width_shared_out,
    ),
    Mistake("texts_as_tokens", "Texts are added to tokens.", _FACTOR, answer=_texts_as_tokens),
]

_NEXT_TO = "Two shared heads, each repeated three times: which one does query head 1 read?"
_MORE = "Which axis should have become longer?"

_REPEAT_MISTAKES = [
    switched(
        "tiled",
        "The whole row of heads is repeated: 0, 1, 0, 1. The shape is right, and query heads read the wrong ones.",
        _NEXT_TO,
        how="tiled",
    ),
    switched("rows_repeated", "Rows are repeated, not heads.", _MORE, how="rows"),
    switched("rows_tiled", "The text is repeated within each head.", _MORE, how="rows tiled"),
    switched("width_repeated", "Columns are repeated: heads become wider, not more.", _MORE, how="width"),
    switched("width_tiled", "Rows are repeated side by side: heads become wider, not more.", _MORE, how="width tiled"),
    switched("texts_repeated", "Texts are repeated, not heads.", _MORE, how="texts"),
    switched("texts_tiled", "The batch is repeated, not the heads.", _MORE, how="texts tiled"),
    switched("no_axis", "No axis is named: all numbers come back in one row.", "How many axes come back?", how="flat"),
    switched("copies_in_an_axis", "The copies have an axis of their own.", "How many axes come back?", how="new axis"),
    switched(
        "copies_in_front",
        "The copies have an axis of their own, before the heads.",
        "How many axes come back?",
        how="new axis in front",
    ),
    switched("first_head_everywhere", "Every head is the first one.", _NEXT_TO, how="first head"),
    switched(
        "times_taken_for_heads", "You make `times` heads in all.", "How many heads has the result?", how="to so many"
    ),
    switched(
        "once_less", "Each head is there once too few.", "How often is a head there with times = 2?", how="one less"
    ),
    switched(
        "once_more", "Each head is there once too often.", "How often is a head there with times = 1?", how="one more"
    ),
    switched(
        "repeated_to_the_total",
        "Each head is repeated as often as all heads together should be.",
        "How often is a single head there with times = 1?",
        how="times the heads",
    ),
    switched("not_repeated", "The heads come back as they were.", "How many heads has the result?", how="not at all"),
    switched(
        "shared_out", "The repeated heads are divided by times.", "Is a head shared out, or copied?", how="shares"
    ),
    switched("zeros_between", "The copies are zeros.", "What does query head 1 read?", how="zeros between"),
    switched(
        "rows_folded_into_heads",
        "The copies stand behind the rows when you reshape: a head holds a part of the rows, each several times.",
        "Which two axes stand side by side when they become one?",
        how="rows first",
    ),
    switched("heads_backwards", "The last head comes first.", _NEXT_TO, how="backwards"),
]

# --- other right implementations -------------------------------------------------------------------------------------


class _ListOfCopies:
    def __init__(self) -> None:
        self.parts: list[tuple[Tensor, Tensor]] = []

    def append(self, k: Tensor, v: Tensor) -> list[Tensor]:
        self.parts.append((k.clone(), v.detach().clone()))
        return [_cat(*kept) for kept in zip(*self.parts, strict=True)]

    @property
    def length(self) -> int:
        return sum(k.shape[-2] for k, _ in self.parts)

    def reset(self) -> None:
        self.parts.clear()


class _Roomy:
    """Rows in memory that doubles when it is full; what comes back are parts of it."""

    def __init__(self) -> None:
        self.length = 0
        self.room: Any = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        start, end = self.length, self.length + k.shape[2]
        if self.room is None or end > self.room.shape[3]:
            bigger = k.new_empty((2, *k.shape[:2], 2 * end, k.shape[3]))
            if self.room is not None:
                bigger[:, :, :, :start] = self.room[:, :, :, :start]
            self.room = bigger
        self.room[0, :, :, start:end], self.room[1, :, :, start:end] = k, v
        self.length = end
        return self.room[0, :, :, :end], self.room[1, :, :, :end]

    def reset(self) -> None:
        self.length = 0


class _EmptyStart:
    """Starts with tensors of no rows and never asks whether there is one."""

    keys = values = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Any, Any]:
        old_k, old_v = (k[:, :, :0], v[:, :, :0]) if self.keys is None else (self.keys, self.values)
        self.keys, self.values = _cat(old_k, k, dim=-2), _cat(old_v, v, dim=-2)
        return self.keys, self.values

    length = property(lambda self: self.keys.shape[2] if self.keys is not None else 0)

    def reset(self) -> None:
        self.__dict__.clear()


def _cached_row_by_row(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    """No mask: each row is appended alone and sees all that is there then."""
    blends = []
    for t in range(q.shape[2]):
        one = slice(t, t + 1)
        keys, values = cache.append(k[:, :, one], v[:, :, one])
        blends.append((q[:, :, one] @ keys.mT / q.shape[-1] ** 0.5).softmax(-1) @ values)
    return _cat(*blends)


def _cached_by_bias(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    """Torch's own name for a triangle in the lower right corner."""
    from torch.nn import functional as F
    from torch.nn.attention.bias import causal_lower_right

    keys, values = cache.append(k, v)
    return F.scaled_dot_product_attention(
        q.contiguous(), keys.contiguous(), values.contiguous(), attn_mask=causal_lower_right(q.shape[2], keys.shape[2])
    )


def _cached_by_hand(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    import torch

    past = cache.length
    keys, values = cache.append(k, v)
    places = torch.arange(keys.shape[2])
    hidden = places > past + torch.arange(q.shape[2])[:, None]
    scores = torch.einsum("bhtd,bhsd->bhts", q * q.shape[-1] ** -0.5, keys)
    return torch.einsum("bhts,bhsd->bhtd", (scores + hidden * -1e30).softmax(-1), values)


def _cached_cut_from_the_square(q: Tensor, k: Tensor, v: Tensor, cache: Any) -> Tensor:
    """The last t rows of the mask for the whole text."""
    keys, values = cache.append(k, v)
    S = keys.shape[2]
    look = _ones(S, S).tril()[-q.shape[2] :]
    return (q @ keys.mT / q.shape[-1] ** 0.5).masked_fill(~look, float("-inf")).softmax(-1) @ values


def _greedy_prompt_first(model: Any, ids: Tensor, n: int) -> Tensor:
    """Prefill, then one token at a time; the last token is fed, too, for nothing."""
    import torch

    with torch.no_grad():
        said = model(input_ids=ids, use_cache=True)
        for _ in range(n):
            new = said.logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat([ids, new], 1)
            said = model(input_ids=new, cache=said.cache, use_cache=True)
    return ids


def _greedy_token_by_token(model: Any, ids: Tensor, n: int) -> Tensor:
    """Reads the prompt one token at a time, as it writes."""
    import torch
    from transformers import DynamicCache

    cache, text = DynamicCache(), ids[0].tolist()
    with torch.no_grad():
        for place in range(ids.shape[1] + n - 1):
            said = model(torch.tensor([[text[place]]]), cache=cache, use_cache=True)
            if place + 1 == len(text):
                text.append(int(said.logits[0, 0].argmax()))
    return torch.tensor([text])


def _greedy_by_length(model: Any, ids: Tensor, n: int) -> Tensor:
    """Feeds whatever the cache does not hold yet."""
    import torch
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    for _ in range(n):
        said = model(ids[:, cache.get_seq_length() :], cache=cache)
        ids = torch.cat((ids, said.logits[0, -1].argmax().reshape(1, 1)), dim=-1)
    return ids


def _greedy_by_generate(model: Any, ids: Tensor, n: int) -> Tensor:
    """The library's own loop."""
    found: Tensor = model.generate(ids, max_new_tokens=n, do_sample=False, use_cache=True, pad_token_id=0)
    return found


def _bytes_by_counting(
    layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int
) -> int:
    rows = sum(batch * kv_heads * tokens for _ in ("keys", "values"))
    return layers * rows * head_dim * bytes_per_number


def _bytes_by_numpy(layers: int, kv_heads: int, head_dim: int, tokens: int, batch: int, bytes_per_number: int) -> int:
    return int(np.prod([2, layers, batch, kv_heads, tokens, head_dim], dtype=np.int64)) * bytes_per_number


def _repeat_expanded(x: Tensor, times: int) -> Tensor:
    return x[:, :, None].expand(-1, -1, times, -1, -1).flatten(1, 2)


def _repeat_by_index(x: Tensor, times: int) -> Tensor:
    import torch

    return x[:, torch.arange(x.shape[1] * times) // times]


def _repeat_rows_reshaped(x: Tensor, times: int) -> Tensor:
    """Repeats the text within each head and cuts it off as heads of their own."""
    B, H, T, d = x.shape
    return x.repeat(1, 1, times, 1).reshape(B, H * times, T, d)


def _repeat_stacked(x: Tensor, times: int) -> Tensor:
    import torch

    return torch.stack([x[:, h // times] for h in range(x.shape[1] * times)], dim=1)


# --- the exercises ---------------------------------------------------------------------------------------------------

_CACHE = Exercise(
    name="KVCache",
    chapter="11",
    summary="One layer's keys and values: append rows, get all of them, count them, forget them.",
    returns="(B, H, S, d_h)",
    reference=KVCache,
    cases=_cache_cases,
    template=_CacheTemplate,
    mistakes=paired(_CACHE_MISTAKES, _CacheTemplate, LIKELY_IN_PAIRS),
    accepted={
        "a list of copies": _ListOfCopies,
        "memory that doubles": _Roomy,
        "a start without rows": _EmptyStart,
    },
    hints=(
        "What has to be remembered between two calls of append, and what stands there before the first one?",
        "Rows come back oldest first, on the axis that counts rows. After a reset a cache is as good as a new one. And "
        "nothing that the caller does to its own tensors later changes what is kept.",
        "Look at four places: what a new cache starts with, the axis of the join, whether the first rows are a copy, "
        "and whether length is read off what is kept.",
    ),
    framework="torch",
)

_CACHED = Exercise(
    name="cached_attention",
    chapter="11",
    summary="Attention of the newest rows to the whole cache and to the new rows up to themselves.",
    returns="(B, H, t, d_h)",
    reference=_cached_attention,
    cases=_cached_cases,
    template=_cached_template,
    mistakes=paired(_CACHED_MISTAKES, _cached_template, LIKELY_IN_PAIRS),
    accepted={
        "row by row, without a mask": _cached_row_by_row,
        "torch's lower right triangle": _cached_by_bias,
        "places compared, added mask": _cached_by_hand,
        "cut from the square mask": _cached_cut_from_the_square,
    },
    hints=(
        "What does append give you, and how many rows of it may the first of your t new rows see?",
        "Feed five rows in one call, or in calls of 2, 2 and 1: the same five blends come out.",
        "Look at three places: append is called once, the triangle starts where the new rows start, and the scale is "
        "that of a head.",
    ),
    framework="torch",
)

_GREEDY = Exercise(
    name="cached_greedy",
    chapter="11",
    summary="Greedy text, with the model's own cache: each token is read once.",
    returns="(1, T + n)",
    reference=_cached_greedy,
    cases=_greedy_cases,
    template=_greedy_template,
    mistakes=paired(_GREEDY_MISTAKES, _greedy_template, LIKELY_IN_PAIRS),
    accepted={
        "the prompt first": _greedy_prompt_first,
        "token by token": _greedy_token_by_token,
        "what the cache does not hold": _greedy_by_length,
        "generate": _greedy_by_generate,
    },
    hints=(
        "Which rows does the model have to read in the first step, and which in all others?",
        "T + n - 1 rows are fed in all: every token once, the last one never. The tokens are those of full reading.",
        "Look at three places: what is fed in the second step, whether the cache of one step reaches the next, and "
        "where the cache is made.",
    ),
    framework="torch",
)

_BYTES = Exercise(
    name="cache_bytes",
    chapter="11",
    summary="How many bytes the caches of all layers hold.",
    returns="int",
    reference=_cache_bytes,
    cases=_bytes_cases,
    template=_bytes_template,
    mistakes=paired(_BYTES_MISTAKES, _bytes_template, LIKELY_IN_PAIRS),
    accepted={"counted": _bytes_by_counting, "NumPy": _bytes_by_numpy},
    hints=(
        "Which tensors does one layer keep, and what are their shapes?",
        "Double any of the six numbers, and the bytes double.",
        "Look for a factor that is none of the six arguments: of what is there one for each token, layer and head?",
    ),
    framework="torch",
)

_REPEAT = Exercise(
    name="repeat_kv",
    chapter="11",
    summary="Each shared head repeated next to itself, one copy for each query head that reads it.",
    returns="(B, H_kv·times, T, d_h)",
    reference=_repeat_kv,
    cases=_repeat_cases,
    template=_repeat_template,
    mistakes=paired(_REPEAT_MISTAKES, _repeat_template, LIKELY_IN_PAIRS),
    accepted={
        "expanded": _repeat_expanded,
        "by index": _repeat_by_index,
        "repeated and cut": _repeat_rows_reshaped,
        "stacked": _repeat_stacked,
    },
    hints=(
        "Heads 0 and 1, each three times: in which order do six heads come out?",
        "Head h of the result is head h // times of x, whole and unchanged.",
        "Look at two places: the axis that is repeated, and whether single heads are repeated or all of them in turn.",
    ),
    framework="torch",
)

# --- the questions ---------------------------------------------------------------------------------------------------

_ROWS_READ = Question(
    name="11_rows",
    chapter="11",
    prompt="6 tokens, 20 more are written, one in each pass without a cache: how many rows does a layer make keys of?",
    right=lambda: sum(range(6, 26)),
    because="The first pass reads 6 rows, the last one 25: 6 + 7 + … + 25.",
    wrong={
        25: "That is how many different tokens are read. How often is the first one read?",
        26: "That is the length of the text at the end. How often is its first token read?",
        20: "That is the number of passes. How many rows does each read?",
        120: "The first pass reads 6 rows. And the second?",
        520: "Not every pass reads the whole text: at the first it is 6 tokens long.",
        500: "Not every pass reads 25 rows: the first reads 6.",
        330: "Does the first pass read the token that it writes?",
        316: "There are 20 passes, the first of which reads 6 rows. Which one reads 26?",
        210: "The prompt is read in every pass, too.",
    },
    otherwise="How many rows does the first pass read, the second, and the last?",
    hints=("6 rows in the first pass, 7 in the second, and so on for 20 passes.",),
)

_OUT_OF_DATE = Question(
    name="11_out_of_date",
    chapter="11",
    prompt="In a model without a mask: in which layers are kept keys out of date when a new token comes?",
    right="in all but layer 0",
    because="Layer 0 makes its keys of the tokens alone; every later layer reads rows that have looked at the new one.",
    choices=("in none", "in layer 0", "in all but layer 0", "in all"),
    wrong={
        "in none": "Without a mask an old row looks at the new one. What does the next layer make its keys of?",
        "in layer 0": "What have the rows read that enter layer 0? And those that enter layer 1?",
        "in all": "What have the rows read that enter layer 0?",
    },
    otherwise="What has a row read by the time a layer makes a key of it?",
    hints=("A key is made of a row before this layer's attention, not after it.",),
)

_TWO_NEW = Question(
    name="11_two_new",
    chapter="11",
    prompt="Three rows are kept, two new ones come: how many of the five keys may the first of the two see?",
    right=4,
    because="Three that are kept, and itself; the second new row comes after it.",
    wrong={
        5: "The fifth key is that of the row after it. May a row look ahead?",
        3: "It may see itself, too.",
        2: "What is kept may be seen as well.",
        1: "That is what a triangle in the upper left corner lets it see. Is it the oldest row?",
    },
    otherwise="Which row of the whole text is it, and which rows stand before it?",
    hints=("It is row 3 of five, counted from 0.",),
)

_BUG_SAYS = {
    "looks ahead": "Its map is empty above the diagonal.",
    "rows do not sum to 1": "The softmax comes last, over what the triangle leaves: rows sum to 1.",
    "mixes batch entries": "There is one text here, and no batch.",
    "scrambles words": "Each row comes back in its own place.",
    "forgets order": "Its triangle keeps an order, the wrong one.",
    "changes its input": "q, k and v are the same before and after.",
    "ignores the query": "What a row sees, it weighs by its query.",
}

_BUG = Question(
    name="11_bug_pieces",
    chapter="11",
    prompt="Which property does attend_1 break when two new rows meet a cache that is not empty?",
    right="does not see itself",
    because="Torch's triangle starts in the upper left corner: the first of several new rows sees key 0, the second "
    "keys 0 and 1, and their own keys stand further on.",
    choices=PROPERTIES,
    wrong=_BUG_SAYS,
    otherwise="Which keys does the flag let the first of two new rows see?",
    hints=("torch.ones(2, 4).tril() is what the flag stands for: where is the key of the first new row?",),
)

_COMPARISONS = Question(
    name="11_comparisons",
    chapter="11",
    prompt="1,000 rows are kept, one comes: how many comparisons does a head make in that step?",
    right=1001,
    because="One query, and every key that there is: 1,000 kept ones and its own.",
    wrong={
        1: "One row is new. With how many keys is its query compared?",
        1000: "It looks at itself, too.",
        0: "The keys are kept, the scores are not: each query is new.",
        1001000: "Only one query asks. Who would ask for the rows of the others again?",
        1002001: "Every row with every row? Only one query asks.",
        501501: "That is the whole triangle. Only one query asks now.",
        500500: "That is the whole triangle. How many queries ask now?",
    },
    otherwise="How many queries ask in this step, and how many keys are there?",
    hints=("One query, and how many keys?",),
)

_LEFT_OVER = Question(
    name="11_left_over",
    chapter="11",
    prompt="The cache still holds the last request when the next one comes: what happens?",
    right="the first user's bank",
    because="For the model both requests are one text, and the clerk in it decides which bank is meant.",
    choices=("an error", "the words of a new cache", "the first user's bank"),
    wrong={
        "an error": "What in a cache says whose rows they are?",
        "the words of a new cache": "What do the rows of the new request look at?",
    },
    otherwise="What do the rows of the new request look at?",
    hints=("Everything that is in a cache is looked at.",),
)

QUESTIONS: tuple[Question, ...] = (
    _ROWS_READ,
    _OUT_OF_DATE,
    _TWO_NEW,
    _BUG,
    _COMPARISONS,
    _LEFT_OVER,
)

EXERCISES: tuple[Exercise, ...] = (_CACHE, _CACHED, _GREEDY, _BYTES, _REPEAT)

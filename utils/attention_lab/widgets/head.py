"""One attention head that the browser computes by itself, and the same in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attention_lab.widgets.views import PatternData


class Head:
    """A function for `explore` whose arithmetic runs in the browser: a move needs no kernel.

        explore(Head(q, k, v, WORDS, columns=COLUMNS), [Slider("temperature", 0.1, 5.0, 1.0, step=0.1)], view)

    Controls may be called `temperature` (a number above zero), `mask` and `scale` (on or off) and `asking` (the number
    of the row whose pattern is told, from 1). Called from Python it gives the `PatternData` that the browser shows.

    Args:
        q: queries (T, d).
        k: keys (S, d).
        v: values (S, width), or None: then no bars are drawn.
        words: names of the S keys; the queries are the last T of them, unless `queries` names them.
        queries: T names of the rows that ask.
        columns: names of the columns of v, which become names of bars.
        temperature, mask, scale, asking: what holds where there is no such control; asking 0 is the last row.

    Raises:
        ValueError: where shapes and names do not fit.
    """

    def __init__(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike | None,
        words: Sequence[str],
        queries: Sequence[str] | None = None,
        columns: Sequence[str] = (),
        temperature: float = 1.0,
        mask: bool = False,
        scale: bool = True,
        asking: int = 0,
    ) -> None:
        self.q, self.k = table("q", q), table("k", k)
        self.v = None if v is None else table("v", v)
        self.keys = list(words)
        rows, columns_of_q = self.q.shape
        if self.k.shape != (len(self.keys), columns_of_q):
            raise ValueError(f"k has shape {self.k.shape}; {len(self.keys)} words and q {self.q.shape} ask for another")
        self.queries = self.keys[len(self.keys) - rows :] if queries is None else list(queries)
        if len(self.queries) != rows:
            raise ValueError(f"q has {rows} rows, and there are {len(self.queries)} names for them")
        if self.v is not None and self.v.shape != (len(self.keys), len(columns)):
            raise ValueError(
                f"v has shape {self.v.shape}; there are {len(self.keys)} words, {len(columns)} column names"
            )
        self.columns = list(columns)
        self.fixed: dict[str, Any] = {"temperature": temperature, "mask": mask, "scale": scale}
        self.fixed["asking"] = asking or rows

    def __call__(self, **state: Any) -> PatternData:
        """The pattern (T, S), the sentence about the asking row, and what it receives as bars."""
        unknown = sorted(set(state) - set(self.fixed))
        if unknown:
            raise ValueError(f"a Head knows {', '.join(self.fixed)}, and not {', '.join(unknown)}")
        now = self.fixed | state
        if not now["temperature"] > 0:
            raise ValueError(f"the temperature is {now['temperature']}, and must be above zero")
        divisor = (np.sqrt(self.q.shape[1]) if now["scale"] else 1.0) * now["temperature"]
        scores = self.q @ self.k.T / divisor
        if now["mask"]:
            rows, keys = scores.shape
            scores = np.where(np.tri(rows, keys, keys - rows, dtype=bool), scores, -np.inf)
        risen = np.exp(scores - scores.max(axis=-1, keepdims=True))
        pattern = risen / risen.sum(axis=-1, keepdims=True)
        row = pattern[now["asking"] - 1]
        bars = None if self.v is None else dict(zip(self.columns, (row @ self.v).tolist(), strict=True))
        return PatternData(pattern, row_sentence(self.queries[now["asking"] - 1], self.keys, row), bars)

    def spec(self) -> dict[str, Any]:
        """What the browser needs, once."""
        (rows, width), keys = self.q.shape, len(self.keys)
        arrays = {"q": self.q, "k": self.k} | ({} if self.v is None else {"v": self.v})
        sizes = {"T": rows, "S": keys, "d": width, "width": len(self.columns)}
        names = {"queries": self.queries, "keys": self.keys, "fixed": self.fixed}
        return {name: array.tobytes() for name, array in arrays.items()} | sizes | names


def table(name: str, values: ArrayLike) -> np.ndarray:
    """A two-dimensional array of finite numbers in float64, or ValueError that names it. Tensors are taken, too."""
    given: Any = values
    array = np.ascontiguousarray(given.detach() if hasattr(given, "detach") else given, dtype="<f8")
    if array.ndim != 2 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a table of finite numbers, and has shape {array.shape}")
    return array


def row_sentence(asking: str, keys: Sequence[str], row: np.ndarray, most: int = 3) -> str:
    """Which keys a row looks at most: "bank looks at boat 0.64, bank 0.17, left 0.08."."""
    best = [key for key in np.argsort(-row, kind="stable")[:most] if row[key] > 0]
    if not best:
        return f"{asking} looks at nothing."
    return f"{asking} looks at {', '.join(f'{keys[key]} {row[key]:.2f}' for key in best)}."

"""One attention head a step at a time, with every number to be inspected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from attention_lab.figures import heat_map, picture
from attention_lab.widgets.head import Head, table
from attention_lab.widgets.live import Live

#: More words, or wider rows, than a table on a page can hold.
MOST_WORDS, MOST_COLUMNS = 16, 8


class StepThrough(Live):
    """A table that grows: scores, scaled, masked, softened, blended, added to the row.

        step_through(q, k, v, WORDS, rows=rows(), columns=COLUMNS)

    Args:
        q, k, v: queries (T, d), keys (S, d), values (S, width); the learner's own.
        words: S words; the queries are the last T of them.
        rows: the rows (T, width) that the blend is added to; left out, the last step is, too.
        columns: names of the columns of v.
        mask: whether the causal mask is on at first; None leaves the step out.
        asking: number of the asking word at first, from 1; 0 is the last.

    Raises:
        ValueError: where shapes do not fit, or there is more than a page holds.
    """

    def __init__(
        self,
        q: ArrayLike,
        k: ArrayLike,
        v: ArrayLike,
        words: Sequence[str],
        rows: ArrayLike | None = None,
        columns: Sequence[str] | None = None,
        mask: bool | None = False,
        asking: int = 0,
    ) -> None:
        values = table("v", v)
        names = [f"column {i}" for i in range(values.shape[1])] if columns is None else list(columns)
        head = Head(q, k, values, words, columns=names, mask=bool(mask), asking=asking)
        (asked, width), keys = head.q.shape, len(head.keys)
        if keys > MOST_WORDS or max(width, len(names)) > MOST_COLUMNS:
            raise ValueError(f"{keys} words and rows of {width} and {len(names)} numbers: a table holds {MOST_WORDS} "
                             f"words and {MOST_COLUMNS} columns")  # fmt: skip
        before = None if rows is None else table("rows", rows)
        if before is not None and before.shape != (asked, len(names)):
            raise ValueError(f"rows has shape {before.shape}; the blend that is added has {(asked, len(names))}")
        if not 1 <= head.fixed["asking"] <= asked:
            raise ValueError(f"there is no asking word number {asking}: there are {asked}")
        data = head()
        self.text = data.text
        spec: dict[str, Any] = {
            "kind": "steps",
            "q": head.q.tolist(),
            "k": head.k.tolist(),
            "v": values.tolist(),
            "rows": None if before is None else before.tolist(),
            "T": asked,
            "S": keys,
            "d": width,
            "width": len(names),
            "queries": head.queries,
            "keys": head.keys,
            "choices": [f"{number} {word}" for number, word in enumerate(head.queries, 1)],
            "columns": names,
            "mask": mask,
            "asking": head.fixed["asking"] - 1,
        }
        still = picture(heat_map(head.queries, head.keys, "Who looks at whom"), data.pattern, size=(5.2, 3.8))
        super().__init__(still, "Run this cell to go through the steps.", spec)


def step_through(q: ArrayLike, k: ArrayLike, v: ArrayLike, words: Sequence[str], **options: Any) -> StepThrough:
    """`StepThrough(q, k, v, words, …)`: the learner's own q, k, v, a step at a time."""
    return StepThrough(q, k, v, words, **options)

"""How chapter 12 feeds a layer with a cache: packed weights, and rows piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.probes.chapter_11 import Shelf, fed, pieces

WEIGHTS = ("c_attn_weight", "c_attn_bias", "c_proj_weight", "c_proj_bias")


def gpt2_in_pieces(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`gpt2_attention_cached` through a schedule, with one cache.

    Args:
        candidate: called with rows (B, t, d), four weights, the number of heads and the cache.
        args: x (B, T, d), the four weights, the number of heads, and the schedule: rows of each call, 0 for a reset.
    """
    x, *weights, n_heads, schedule = args
    cache = Shelf(x.shape[0], n_heads, x.shape[-1] // n_heads)
    return fed(lambda rows: candidate(rows, *weights, n_heads, cache), [x], schedule, cache.reset)


def _in_pieces_text(name: str, args: tuple[Any, ...]) -> tuple[list[str], tuple[str, ...]]:
    rest = f"{', '.join(WEIGHTS)}, n_heads, cache"
    lines = [
        "cache.reset()" if piece is None else f"{name}(x[:, {piece.start}:{piece.stop}], {rest})"
        for piece in pieces(args[-1])
    ]
    return [*lines, "and the results one below another"], ("x", *WEIGHTS, "n_heads")


#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {"gpt2_in_pieces": gpt2_in_pieces}

#: What a card says of each.
TEXTS: dict[str, Callable[..., tuple[list[str], tuple[str, ...]]]] = {"gpt2_in_pieces": _in_pieces_text}

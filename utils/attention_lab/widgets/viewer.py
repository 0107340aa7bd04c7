"""The attention viewer: all heads of a model as thumbnails, one of them large, its rows to be walked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attention_lab.figures import heat_map, picture
from attention_lab.widgets.head import row_sentence
from attention_lab.widgets.live import Live
from attention_lab.widgets.views import colour_table

#: Numbers that one viewer may send to the browser: 270 heads of 120 tokens fit.
MOST_NUMBERS = 4_000_000


class AttentionViewer(Live):
    """Shows the patterns of all heads. Everything is sent once; moves need no kernel.

        attention_viewer(lab, "the boat left the bank")
        attention_viewer(patterns, tokens)

    Args:
        what: patterns (L, H, T, S), also (H, T, S) or (T, S); or a model of `attention_lab.models.load`.
        words: S tokens; for a model, the text that it reads.
        queries: names of the T rows that ask; the last T tokens when left out.
        sizes: length of the value that each key hands over, (L, H, S), for "weights times the size of the value".
        title: stands above.
        layer, head: which one is large at first.

    Raises:
        ValueError: where shapes and names do not fit, or there is too much to show.
    """

    def __init__(
        self,
        what: Any,
        words: str | Sequence[str],
        queries: Sequence[str] | None = None,
        sizes: ArrayLike | None = None,
        title: str = "",
        layer: int = 0,
        head: int = 0,
    ) -> None:
        if hasattr(what, "patterns") and hasattr(what, "encode"):
            what, words, sizes = _of_model(what, words)
        patterns, keys = _patterns(what), list(words)
        layers, heads, rows, columns = patterns.shape
        names = keys[len(keys) - rows :] if queries is None else list(queries)
        if columns != len(keys) or rows != len(names):
            raise ValueError(f"the patterns are {rows} x {columns}, and there are {len(names)} and {len(keys)} names")
        if not (0 <= layer < layers and 0 <= head < heads):
            raise ValueError(f"there is no head ({layer}, {head}): {layers} layers, {heads} heads each")
        content = {"patterns": patterns.tobytes()}
        if sizes is not None:
            content["sizes"] = _sizes(sizes, (layers, heads, columns)).tobytes()
        self.text = row_sentence(names[-1], keys, patterns[layer, head, -1])
        spec = {
            "kind": "viewer",
            "title": title,
            "queries": names,
            "keys": keys,
            "layers": layers,
            "heads": heads,
            "T": rows,
            "S": columns,
            "layer": layer,
            "head": head,
            "sized": sizes is not None,
            "colours": colour_table("viridis"),
            "low": 0.0,
            "high": 1.0,
        }
        still = picture(heat_map(names, keys, f"Layer {layer}, head {head}"), patterns[layer, head], size=(5.2, 3.8))
        super().__init__(still, "Run this cell to walk through heads and rows.", spec, content=content)


def attention_viewer(what: Any, words: str | Sequence[str], **options: Any) -> AttentionViewer:
    """`AttentionViewer(what, words, …)`: shows the heads of a model on a text, or given patterns."""
    return AttentionViewer(what, words, **options)


def _of_model(loaded: Any, text: str | Sequence[str]) -> tuple[np.ndarray, list[str], np.ndarray | None]:
    """Patterns (L, H, T, T), tokens, and the sizes of the values (L, H, T) of a loaded model that reads a text."""
    ids = loaded.encode(text)
    patterns = loaded.patterns(ids)
    return patterns, loaded.tokens(ids), _value_sizes(loaded.model, ids, patterns.shape[1])


def _value_sizes(model: Any, ids: Any, heads: int) -> np.ndarray:
    """Lengths of the values, (L, H, T), as the model's own cache holds them."""
    import torch

    with torch.no_grad():
        layers = model(ids, use_cache=True).past_key_values.layers
    sizes = [layer.values[0].norm(dim=-1) for layer in layers]
    return torch.stack([size.repeat_interleave(heads // size.shape[0], dim=0) for size in sizes]).numpy()


def _patterns(values: ArrayLike) -> np.ndarray:
    given: Any = values
    array = np.asarray(given.detach() if hasattr(given, "detach") else given)
    if array.ndim not in (2, 3, 4) or array.dtype.kind not in "fiub" or not array.size:
        raise ValueError(f"patterns are numbers (layers, heads, T, S), and these have shape {array.shape}")
    if array.size > MOST_NUMBERS:
        raise ValueError(f"{array.size:,} weights are too many to look at; show some layers, or a shorter text")
    return np.ascontiguousarray(array.reshape((1,) * (4 - array.ndim) + array.shape), dtype="<f4")


def _sizes(values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    array = np.ascontiguousarray(values, dtype="<f4")
    if array.shape != shape or not (array >= 0).all():
        raise ValueError(f"sizes are lengths {shape}, and these have shape {array.shape}")
    return array

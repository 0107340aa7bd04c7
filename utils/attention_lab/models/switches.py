"""Switch heads of a model off, and back on when the block is left, also by an exception.

Both switches work on GPT-2's architecture and on Llama's (see `anatomy`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from attention_lab.models.anatomy import anatomy


@contextmanager
def heads_off(model: Any, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Inside it, the given (layer, head) hand over nothing: zeros where their blends of values were.

    Args:
        model: a `GPT2LMHeadModel` or a `LlamaForCausalLM`.
        heads: which ones, counted from 0; query heads, where several share their keys and values.

    Raises:
        ValueError: for a layer or head that the model does not have, or a model of another architecture.
    """
    parts = anatomy(model)
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        if not (0 <= layer < parts.n_layers and 0 <= head < parts.n_heads):
            raise ValueError(f"there is no head ({layer}, {head}): {parts.n_layers} layers, {parts.n_heads} heads each")
        by_layer.setdefault(layer, []).append(head)
    width = parts.d_head
    with ExitStack() as hooks:
        for layer, off in by_layer.items():
            columns = torch.cat([torch.arange(head * width, (head + 1) * width) for head in off])
            projection = parts.blocks[layer].projection
            hooks.callback(projection.register_forward_pre_hook(_zeroing(columns)).remove)
        yield


def _zeroing(columns: torch.Tensor) -> Any:
    def hook(module: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (inputs[0].index_fill(-1, columns.to(inputs[0].device), 0.0), *inputs[1:])

    return hook


@contextmanager
def attention_off(model: Any) -> Iterator[None]:
    """Inside it, attention adds nothing in any block: the output of each projection is zeros, its bias included.

    The projection is hooked (GPT-2's `attn.c_proj`, Llama's `self_attn.o_proj`) and not the attention module, which
    returns a tuple.

    Raises:
        ValueError: for a model of another architecture.
    """
    with ExitStack() as hooks:
        for block in anatomy(model).blocks:
            handle = block.projection.register_forward_hook(lambda module, inputs, output: torch.zeros_like(output))
            hooks.callback(handle.remove)
        yield

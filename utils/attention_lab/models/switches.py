"""Switch heads of a GPT-2 off, and back on when the block is left, also by an exception."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch


@contextmanager
def heads_off(model: Any, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Inside it, the given (layer, head) hand over nothing: zeros where their blends of values were.

    Args:
        model: a `GPT2LMHeadModel`.
        heads: which ones, counted from 0.

    Raises:
        ValueError: for a layer or head that the model does not have.
    """
    by_layer: dict[int, list[int]] = {}
    layers, width = model.config.n_layer, model.config.n_embd // model.config.n_head
    for layer, head in heads:
        if not (0 <= layer < layers and 0 <= head < model.config.n_head):
            raise ValueError(f"there is no head ({layer}, {head}): {layers} layers, {model.config.n_head} heads each")
        by_layer.setdefault(layer, []).append(head)
    with ExitStack() as hooks:
        for layer, off in by_layer.items():
            columns = torch.cat([torch.arange(head * width, (head + 1) * width) for head in off])
            projection = model.transformer.h[layer].attn.c_proj
            hooks.callback(projection.register_forward_pre_hook(_zeroing(columns)).remove)
        yield


def _zeroing(columns: torch.Tensor) -> Any:
    def hook(module: Any, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (inputs[0].index_fill(-1, columns, 0.0), *inputs[1:])

    return hook


@contextmanager
def attention_off(model: Any) -> Iterator[None]:
    """Inside it, attention adds nothing in any block: the output of each `attn.c_proj` is zeros, its bias included."""
    with ExitStack() as hooks:
        for block in model.transformer.h:
            handle = block.attn.c_proj.register_forward_hook(lambda module, inputs, output: torch.zeros_like(output))
            hooks.callback(handle.remove)
        yield

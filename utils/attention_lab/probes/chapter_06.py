"""How chapter 06 calls a loss: once as it is, and once for the slope that training needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def loss_and_slope(candidate: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The loss of logits (B, T, V) and ids (B, T), and ∂loss/∂logits; None in its place where there is no slope."""
    import torch

    logits, ids = args[0].clone().requires_grad_(), args[1]
    loss = candidate(logits, ids)
    if not (isinstance(loss, torch.Tensor) and loss.requires_grad and loss.numel() == 1):
        return loss, None
    loss.sum().backward()
    return loss, logits.grad


#: By the names that cases use.
SCRIPTS: dict[str, Callable[..., Any]] = {"loss_and_slope": loss_and_slope}

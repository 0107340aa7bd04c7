"""The microscope of chapter 04 for tensors: which rows of an input move which rows of a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def influence_map(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """True where changing input row j moves output row i.

    Args:
        f: (T, d) → (T, d').
        x: (T, d); left as it was.

    Returns:
        bool (T, T).
    """
    import torch

    base, moved = f(x.clone()), torch.zeros(len(x), len(x), dtype=torch.bool)
    for j in range(len(x)):
        changed = x.clone()
        changed[j] += torch.linspace(1, 2, x.shape[1], dtype=x.dtype)
        moved[:, j] = (f(changed) != base).any(dim=-1)
    return moved

"""Charts of chapter 06: two losses and what is possible, and a pattern masked too late.

Letters: T rows that ask, S rows that are asked, d width of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lab.figures.base import Chart, heat_map, line_chart, side_by_side

if TYPE_CHECKING:
    from torch import Tensor

#: Steps that one point of a curve is the mean of.
SMOOTHED = 10


def loss_chart(names: Sequence[str], uniform: float, floor: float) -> Chart:
    """A chart of losses against the step, with what knowing nothing and what knowing all of the past gives.

    Args:
        names: of the curves.
        uniform: loss in nats of a guess that knows nothing.
        floor: the least loss in nats that is possible from the words before.
    """
    return line_chart(
        _losses_title(floor),
        "training step",
        "loss (nats)",
        names,
        y_range=(0, 1.1 * uniform),
        levels={"a guess that knows nothing": uniform, "the floor": floor},
    )


def _losses_title(floor: float) -> Callable[[Mapping[str, tuple[ArrayLike, ArrayLike]]], str]:
    def title(data: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> str:
        below = [name for name, (_, losses) in data.items() if np.asarray(losses)[-1] < 0.9 * floor]
        return f"Below what is possible: {', '.join(below)}" if below else "No loss goes below the floor"

    return title


def loss_lines(losses: Mapping[str, Sequence[float]]) -> dict[str, tuple[NDArray[Any], NDArray[Any]]]:
    """Losses step by step as means of `SMOOTHED` steps each: data of `loss_chart`."""
    lines = {}
    for name, steps in losses.items():
        means = np.asarray(steps[: len(steps) // SMOOTHED * SMOOTHED]).reshape(-1, SMOOTHED).mean(axis=1)
        lines[name] = ((np.arange(len(means)) + 0.5) * SMOOTHED, means)
    return lines


def too_late_chart(words: Sequence[str]) -> Chart:
    """A chart of two (T, T) patterns: masked after the softmax, and before it."""

    def row_sums(name: str) -> Callable[[NDArray[Any]], str]:
        def title(pattern: NDArray[Any]) -> str:
            ends = dict.fromkeys(f"{total:.2f}" for total in sorted(pattern.sum(axis=-1))[:: len(pattern) - 1])
            return f"{name}: row sums {' to '.join(ends)}"

        return title

    return side_by_side(
        heat_map(words, words, row_sums("After the softmax")),
        heat_map(words, words, row_sums("Before it")),
    )


def conventions(mask: Tensor, words: Sequence[str]) -> str:
    """One mask (T, T), True = may look, in the three ways in which libraries write it, side by side, as text."""
    import torch

    added = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
    lines = [f"{'':5}  {'may look':10} {'blocked':10} added to the scores"]
    for word, look, shift in zip(words, mask.tolist(), added.tolist(), strict=True):
        ours = " ".join("FT"[seen] for seen in look)
        theirs = " ".join("TF"[seen] for seen in look)
        lines.append(f"{word:5}  {ours:10} {theirs:10} {' '.join(f'{number:4.0f}' for number in shift)}")
    return "\n".join(lines)

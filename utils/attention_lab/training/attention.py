"""Train one attention head on the task of chapter 02, with as many parameters as the networks there.

    python -m attention_lab.training.attention            # some minutes on one core; rewrites attention.json
    python -m attention_lab.training.attention --quick    # seconds; shows the numbers, writes nothing

Stories, training and measurement are those of `attention_lab.training.recurrence`; only the body is another one: three
matrices, no mask, no positions, nothing after it but the scores for each thing.

Letters: B stories in a batch, T rows, d width of a row, m width of queries, keys and values.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_lab.training import recurrence as chapter_02
from attention_lab.training.recurrence import Recaller, Sample, many_items, one_item, parameters, recall

#: The width that gives one head as many parameters as the networks of chapter 02, and one that is enough.
EQUAL_WIDTH, SMALL_WIDTH = 237, 16
LEARNING_RATE = 3e-3
DATA = Path(__file__).with_suffix(".json")


class OneHead(nn.Module):
    """One attention head without a mask: (B, T, d) → (B, T, m). Vaswani et al. 2017, equation 1."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.W_q, self.W_k, self.W_v = (nn.Linear(chapter_02.ROW_WIDTH, width, bias=False) for _ in range(3))

    def forward(self, rows: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(self.W_q(rows), self.W_k(rows), self.W_v(rows))


def attention(width: int, seed: int) -> Recaller:
    """A freshly drawn network; the seed decides its start."""
    torch.manual_seed(seed)
    return Recaller(OneHead(width), width)


# -- the script ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How much is trained: the default is what attention.json holds.

    Attributes:
        seeds: every head is trained with each.
        widths: of the head.
        one_item: after how many steps recall is measured; the last is where training ends.
        many_items: steps.
        timed: steps of each kind whose time is taken.
        stories: fresh stories that each measured point is a share of.
        progress: told of each step.
    """

    seeds: Sequence[int] = (0, 1, 2)
    widths: Sequence[int] = (EQUAL_WIDTH, SMALL_WIDTH)
    one_item: Sequence[int] = (25, 50, 100, 200, 400, 800)
    many_items: int = 3000
    timed: int = 60
    stories: int = 1000
    progress: Callable[[int], Any] = field(default=lambda steps: None)

    def total(self) -> int:
        """Training steps in all."""
        return len(self.widths) * len(self.seeds) * (max(self.one_item) + self.many_items) + 4 * self.timed


def _described(model: Recaller, steps: int) -> dict[str, Any]:
    width = model.scores.in_features
    return {
        "kind": "attention",
        "width": width,
        "parameters": parameters(model),
        "steps": steps,
        "learning_rate": LEARNING_RATE,
    }


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=float), 3).tolist()


def measure_one_item(plan: Plan) -> dict[str, Any]:
    """Recall of one item against distance, after some numbers of steps; the training is that of chapter 02."""
    runs = []
    for width in plan.widths:
        curves: dict[int, list[list[float]]] = {stop: [] for stop in plan.one_item}
        for seed in plan.seeds:
            model = attention(width, seed)
            losses = chapter_02.train(model, one_item, max(plan.one_item), seed, LEARNING_RATE, decay=False)
            for step in _steps(losses, plan):
                if step in curves:
                    curves[step].append([recall(model, 1, far, plan.stories) for far in chapter_02.DISTANCES])
        runs += [_described(model, stop) | {"recall_by_seed": _rounded(found)} for stop, found in curves.items()]
    return {"distances": list(chapter_02.DISTANCES), "networks": runs}


def measure_many_items(plan: Plan) -> dict[str, Any]:
    """Recall of all items against their number."""
    runs = []
    for width in plan.widths:
        models = [attention(width, seed) for seed in plan.seeds]
        for seed, model in zip(plan.seeds, models, strict=True):
            for _ in _steps(chapter_02.train(model, many_items, plan.many_items, seed, LEARNING_RATE), plan):
                pass
        runs.append(_described(models[0], plan.many_items) | chapter_02.recall_of_many(models, plan.stories))
    return {"items": list(chapter_02.ITEMS), "networks": runs}


def _steps(losses: Iterator[float], plan: Plan) -> Iterator[int]:
    for step, _ in enumerate(losses, start=1):
        plan.progress(1)
        yield step


def measure_time(plan: Plan) -> list[dict[str, Any]]:
    """Processor time of a training step on stories with one item, one kind after the other on the same machine."""
    networks: list[tuple[str, int, Recaller]] = [
        ("attention", EQUAL_WIDTH, attention(EQUAL_WIDTH, 0)),
        ("attention", SMALL_WIDTH, attention(SMALL_WIDTH, 0)),
    ]
    for kind in ("RNN", "LSTM"):
        width = chapter_02.EQUAL_WIDTHS[kind]
        networks.append((kind, width, chapter_02.recurrent(kind, width, 0)))
    return [
        {"kind": kind, "width": width, "cpu_ms_per_step": _step_time(model, one_item, plan)}
        for kind, width, model in networks
    ]


def _step_time(model: Recaller, sample: Sample, plan: Plan) -> float:
    """Median over the steps, in milliseconds of this process."""
    ticks = [time.process_time()]
    for _ in _steps(chapter_02.train(model, sample, plan.timed, 0, 1e-3), plan):
        ticks.append(time.process_time())
    return round(1000 * float(np.median(np.diff(ticks))), 1)


def measure(plan: Plan) -> dict[str, Any]:
    """Everything that attention.json holds."""
    torch.set_num_threads(1)
    start = time.process_time()
    one, many, times = measure_one_item(plan), measure_many_items(plan), measure_time(plan)
    return {
        "what": "recall of (name, thing) pairs by one attention head; see attention_lab/training/attention.py",
        "reproduce": "python -m attention_lab.training.attention",
        "measured_on": date.today().isoformat(),
        "cpu_seconds": round(time.process_time() - start),
        "threads": 1,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seeds": list(plan.seeds),
        "batch": chapter_02.BATCH,
        "stories_per_point": plan.stories,
        "one_item": one,
        "many_items": many,
        "time": times,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, measure, and write attention.json beside this file."""
    from tqdm import tqdm

    parser = argparse.ArgumentParser(description="Train one attention head on the task of chapter 02.")
    parser.add_argument("--quick", action="store_true", help="a few steps each, printed and not written")
    quick = parser.parse_args(arguments).quick
    plan = Plan((0,), (SMALL_WIDTH,), (20,), many_items=20, timed=5, stories=100) if quick else Plan()
    with tqdm(total=plan.total(), unit="step", desc="training") as bar:
        result = measure(replace(plan, progress=bar.update))
    if quick:
        print(chapter_02.as_text(result))
    else:
        DATA.write_text(chapter_02.as_text(result), encoding="utf-8")
        print(f"wrote {DATA.name} after {result['cpu_seconds']} CPU-seconds")


if __name__ == "__main__":
    main()

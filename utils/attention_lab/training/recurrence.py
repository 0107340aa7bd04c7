"""Train recurrent networks to remember who has what, and write down how much of it they recall.

    python -m attention_lab.training.recurrence            # some minutes on one core; rewrites recurrence.json
    python -m attention_lab.training.recurrence --quick    # seconds; shows the numbers, writes nothing

The task is in `attention_lab.training.stories`. One look back at the row with the same name is enough to answer, so
that attention can be put on the same axes later: `Recaller` with another body, then `train` and `recall` as they are.

Letters: B stories in a batch, T rows, d width of a row, m width of the body's output.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attention_lab.training.stories import BLIND, NAMES, THINGS, names_ignored, stories

ROW_WIDTH = 32
BATCH = 64
#: The longest distance and the largest number of items met in training.
LONGEST, MOST = 40, 16
#: Distances beyond `LONGEST` are never met in training.
DISTANCES = (1, 2, 3, 5, 8, 12, 20, 30, 40, 80, 160)
ITEMS = (1, 2, 3, 4, 6, 8, 12, 16)
#: Widths that give the three kinds as many parameters as each other, within 2 %.
EQUAL_WIDTHS = {"RNN": 140, "GRU": 76, "LSTM": 64}
LEARNING_RATES = {"RNN": 1e-3, "GRU": 3e-3, "LSTM": 3e-3}
CELLS = {"RNN": nn.RNN, "GRU": nn.GRU, "LSTM": nn.LSTM}
DATA = Path(__file__).with_suffix(".json")

Sample = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


# -- what is trained on -------------------------------------------------------------------------------------------


def one_item(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A batch with one item, asked for 1 to `LONGEST` steps later."""
    return stories(rng, BATCH, 1, int(rng.integers(1, LONGEST + 1)))


def many_items(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A batch with 1 to `MOST` items, all asked for at once."""
    return stories(rng, BATCH, int(rng.integers(1, MOST + 1)))


# -- the network --------------------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    """An RNN, GRU or LSTM that reads rows in order: (B, T, d) → (B, T, m)."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.cell = CELLS[kind](ROW_WIDTH, width, batch_first=True)

    def forward(self, rows: Tensor) -> Tensor:
        out: Tensor = self.cell(rows)[0]
        return out


class Recaller(nn.Module):
    """Rows for names and things, added; a body that moves information between rows; scores for each thing.

    Args:
        body: (B, T, `ROW_WIDTH`) → (B, T, width).
        width: m, the last axis of what the body gives.
    """

    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.names = nn.Embedding(NAMES + 1, ROW_WIDTH)
        self.things = nn.Embedding(THINGS + 1, ROW_WIDTH)
        self.body = body
        self.scores = nn.Linear(width, THINGS)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, T, 2) → (B, T, `THINGS`)."""
        out: Tensor = self.scores(self.body(self.names(ids[..., 0]) + self.things(ids[..., 1])))
        return out


def recurrent(kind: str, width: int, seed: int) -> Recaller:
    """A freshly drawn network; the seed decides its start."""
    torch.manual_seed(seed)
    return Recaller(Recurrent(kind, width), width)


def parameters(model: nn.Module) -> int:
    """How many numbers are learned."""
    return sum(p.numel() for p in model.parameters())


def state_numbers(kind: str, width: int) -> int:
    """How many numbers go from one step to the next: an LSTM hands on two vectors."""
    return 2 * width if kind == "LSTM" else width


# -- training and measuring ---------------------------------------------------------------------------------------


def train(model: Recaller, sample: Sample, steps: int, seed: int, rate: float, decay: bool = True) -> Iterator[float]:
    """Adam on the answers, one step each time the iterator is asked; gives that step's loss in nats.

    The rate warms up over 50 steps and, with `decay`, falls to zero over the second half; gradients are clipped at 1.
    """
    rng = np.random.default_rng(seed)
    adam = torch.optim.Adam(model.parameters(), rate)
    for step in range(steps):
        fall = min(1.0, 2 * (1 - step / steps)) if decay else 1.0
        for group in adam.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 50) * fall
        ids, answers = (torch.from_numpy(part) for part in sample(rng))
        logits = model(ids)[:, -answers.shape[1] :]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        yield loss.item()


@torch.no_grad()
def answers_right(model: Recaller, items: int, distance: int = 1, count: int = 1000, seed: int = 99) -> np.ndarray:
    """Which questions of fresh stories are answered rightly, (count, items), in the order in which the items came."""
    rng = np.random.default_rng(seed)
    ids, answers = stories(rng, count, items, distance)
    guesses = model(torch.from_numpy(ids))[:, -items:].argmax(-1).numpy()
    place = (ids[:, :items, None, 0] == ids[:, None, -items:, 0]).argmax(axis=2)
    return np.take_along_axis(guesses == answers, place, axis=1)


def recall(model: Recaller, items: int, distance: int = 1, count: int = 1000) -> float:
    """The share of questions that are answered rightly; a blind guess has 1 / `THINGS`."""
    return float(answers_right(model, items, distance, count).mean())


# -- the script ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How much is trained: the default is what recurrence.json holds.

    Attributes:
        seeds: every network is trained with each.
        one_item: by kind, after how many steps recall is measured; the last is where training ends.
        many_items: steps.
        lstm_widths: of the many-items runs.
        stories: fresh stories that each measured point is a share of.
        progress: told of each step.
    """

    seeds: Sequence[int] = (0, 1, 2)
    one_item: Mapping[str, Sequence[int]] = field(
        default_factory=lambda: {"RNN": (800, 1600, 3200), "GRU": (800,), "LSTM": (800,)}
    )
    many_items: int = 3000
    lstm_widths: Sequence[int] = (16, 32, 64, 128)
    stories: int = 1000
    progress: Callable[[int], Any] = field(default=lambda steps: None)

    def total(self) -> int:
        """Training steps in all."""
        one = len(self.seeds) * sum(max(steps) for steps in self.one_item.values())
        return one + len(self.seeds) * (len(self.lstm_widths) + 2) * self.many_items


def measure_one_item(plan: Plan) -> dict[str, Any]:
    """Recall of one item against distance, for three kinds of equal size, after some numbers of steps."""
    runs = []
    for kind, stops in plan.one_item.items():
        curves: dict[int, list[list[float]]] = {stop: [] for stop in stops}
        for seed in plan.seeds:
            model = recurrent(kind, EQUAL_WIDTHS[kind], seed)
            losses = train(model, one_item, max(stops), seed, LEARNING_RATES[kind], decay=False)
            for step, _ in enumerate(losses, start=1):
                plan.progress(1)
                if step in curves:
                    curves[step].append([recall(model, 1, distance, plan.stories) for distance in DISTANCES])
        runs += [_described(kind, model, stop) | {"recall_by_seed": _rounded(curves[stop])} for stop in stops]
    return {"distances": list(DISTANCES), "longest_in_training": LONGEST, "blind_guess": BLIND, "networks": runs}


def measure_many_items(plan: Plan) -> dict[str, Any]:
    """Recall of all items against their number, for LSTMs of growing state, and for an RNN and a GRU of equal size."""
    shapes = [("LSTM", width) for width in plan.lstm_widths] + [(k, EQUAL_WIDTHS[k]) for k in ("RNN", "GRU")]
    runs = []
    for kind, width in shapes:
        models = [recurrent(kind, width, seed) for seed in plan.seeds]
        for seed, model in zip(plan.seeds, models, strict=True):
            for _ in train(model, many_items, plan.many_items, seed, LEARNING_RATES[kind]):
                plan.progress(1)
        runs.append(_described(kind, models[0], plan.many_items) | recall_of_many(models, plan.stories))
    ignored = _rounded([names_ignored(items) for items in ITEMS])
    return {"items": list(ITEMS), "blind_guess": BLIND, "names_ignored": ignored, "networks": runs}


def recall_of_many(models: Sequence[Recaller], count: int) -> dict[str, Any]:
    """Recall by number of items, and by the place of one among 16, of networks that differ in their seed alone."""
    return {
        "recall_by_seed": _rounded([[recall(model, items, count=count) for items in ITEMS] for model in models]),
        "recall_by_place_of_16_by_seed": _rounded(
            [answers_right(model, MOST, count=2 * count).mean(axis=0) for model in models]
        ),
    }


def _described(kind: str, model: Recaller, steps: int) -> dict[str, Any]:
    width = model.scores.in_features
    return {
        "kind": kind,
        "width": width,
        "state_numbers": state_numbers(kind, width),
        "parameters": parameters(model),
        "steps": steps,
        "learning_rate": LEARNING_RATES[kind],
    }


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=float), 3).tolist()


def measure(plan: Plan) -> dict[str, Any]:
    """Everything that recurrence.json holds."""
    torch.set_num_threads(1)
    start = time.process_time()
    one, many = measure_one_item(plan), measure_many_items(plan)
    return {
        "what": "recall of (name, thing) pairs by recurrent networks; see attention_lab/training/recurrence.py",
        "reproduce": "python -m attention_lab.training.recurrence",
        "measured_on": date.today().isoformat(),
        "cpu_seconds": round(time.process_time() - start),
        "threads": 1,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seeds": list(plan.seeds),
        "batch": BATCH,
        "names": NAMES,
        "things": THINGS,
        "row_width": ROW_WIDTH,
        "stories_per_point": plan.stories,
        "one_item": one,
        "many_items": many,
    }


def as_text(result: dict[str, Any]) -> str:
    """JSON with each list of numbers on one line, so that a change is readable."""
    return re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), json.dumps(result, indent=1)) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, measure, and write recurrence.json beside this file."""
    from tqdm import tqdm

    parser = argparse.ArgumentParser(description="Train the recurrent networks of chapter 02 and measure their recall.")
    parser.add_argument("--quick", action="store_true", help="a few steps each, printed and not written")
    quick = parser.parse_args(arguments).quick
    plan = Plan((0,), dict.fromkeys(CELLS, (30,)), many_items=30, stories=100) if quick else Plan()
    with tqdm(total=plan.total(), unit="step", desc="training") as bar:
        result = measure(replace(plan, progress=bar.update))
    if quick:
        print(as_text(result))
    else:
        DATA.write_text(as_text(result), encoding="utf-8")
        print(f"wrote {DATA.name} after {result['cpu_seconds']} CPU-seconds")


if __name__ == "__main__":
    main()

"""How fast cached decoding is: the solution's `cached_greedy` against `transformers`' `generate` with its own cache.

Run it by hand: python tests/benchmarks/bench_cache.py. Tokens are compared; times are printed and never asserted, since
they depend on the machine. Rounds alternate, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import torch

from attention_lab.authoring.build import exercise_name
from attention_lab.models import load

SOLUTION = Path(__file__).parents[2] / "solutions" / "11_kv_cache.ipynb"
ROUNDS = 7
LENGTHS = (16, 32, 64, 120)

Way = Callable[[Any, torch.Tensor, int], torch.Tensor]


def of_the_solution() -> Way:
    """`cached_greedy` as the solved notebook has it."""
    (source,) = [c.source for c in nbformat.read(SOLUTION, 4).cells if exercise_name(c.source) == "cached_greedy"]
    names: dict[str, Any] = {"torch": torch, "exercise": lambda thing: thing}
    exec(source, names)
    found: Way = names["cached_greedy"]
    return found


def read_again(model: Any, ids: torch.Tensor, n: int) -> torch.Tensor:
    """Full recomputation for each token."""
    for _ in range(n):
        with torch.no_grad():
            ids = torch.cat([ids, model(ids, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    return ids


def generate(model: Any, ids: torch.Tensor, n: int) -> torch.Tensor:
    """The library's loop with the library's cache; nothing stops at an end token."""
    options = {"max_new_tokens": n, "min_new_tokens": n, "do_sample": False, "use_cache": True, "pad_token_id": 0}
    found: torch.Tensor = model.generate(ids, **options)
    return found


def seconds(ways: dict[str, Way], model: Any, ids: torch.Tensor, n: int) -> dict[str, float]:
    """Median time of each way over `ROUNDS` rounds, after one that is not counted; all give the same tokens."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS + 1):
        texts = []
        for name, way in ways.items():
            start = time.perf_counter()
            texts.append(way(model, ids, n))
            times[name].append(time.perf_counter() - start)
        if not all(torch.equal(text, texts[0]) for text in texts):
            raise SystemExit(f"with {n} tokens the texts differ")
    return {name: statistics.median(taken[1:]) for name, taken in times.items()}


def main() -> None:
    """Print a line for each length of the text that is written."""
    torch.set_num_threads(1)
    lab = load("lab")
    ids = lab.encode("the boat left the bank", start=True)
    ways: dict[str, Way] = {"solution": of_the_solution(), "generate": generate, "read again": read_again}
    print(f"the lab model, prompt of {ids.shape[1]} tokens, medians of {ROUNDS}; all texts are the same")
    print(
        f"{'tokens':>6}{'solution':>12}{'generate':>12}{'read again':>12}   generate / solution, read again / solution"
    )
    for n in LENGTHS:
        taken = seconds(ways, lab.model, ids, n)
        row = "".join(f"{1000 * taken[name]:9.0f} ms" for name in ways)
        ratios = [taken[name] / taken["solution"] for name in ("generate", "read again")]
        print(f"{n:6}{row}   {ratios[0]:.2f}, {ratios[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()

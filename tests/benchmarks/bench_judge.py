"""How long `judge` takes: for every exercise a right answer and the slowest kinds of wrong one.

Run it by hand: python tests/benchmarks/bench_judge.py. It asserts nothing; times depend on the machine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from attention_lab.checking import judge
from attention_lab.checking.judging import implementation
from attention_lab.exercises import exercises

ROUNDS = 7


def milliseconds(name: str, answer: Callable[..., Any]) -> float:
    """Median over `ROUNDS` calls, after one that is not counted."""
    times = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        judge(name, answer)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def unknown(answer: Callable[..., Any]) -> Callable[..., Any]:
    """A wrong answer that no catalogue holds: every mistake and every pair is tried before it is described."""

    def wrong(*args: Any) -> Any:
        result = answer(*args)
        return result + 0.123 if hasattr(result, "dtype") and result.dtype.kind == "f" else None

    return wrong


def main() -> None:
    """Print a line per exercise and the medians over all."""
    rows = []
    print(f"{'exercise':24}{'right':>9}{'last named':>12}{'unknown':>9}   median ms of {ROUNDS}")
    for name, exercise in exercises().items():
        last = implementation(exercise, exercise.mistakes[-1])
        row = [milliseconds(name, a) for a in (exercise.reference, last, unknown(exercise.reference))]
        rows.append(row)
        print(f"{name:24}{row[0]:9.1f}{row[1]:12.1f}{row[2]:9.1f}", flush=True)
    columns = list(zip(*rows, strict=True))
    print(f"{'median over exercises':24}{statistics.median(columns[0]):9.1f}", end="")
    print(f"{statistics.median(columns[1]):12.1f}{statistics.median(columns[2]):9.1f}")
    print(f"{'slowest':24}{max(columns[0]):9.1f}{max(columns[1]):12.1f}{max(columns[2]):9.1f}")


if __name__ == "__main__":
    main()

"""Marks per minute: this marker, bare execution in one process, a plain nbclient loop, and nbgrader where it is.

    python tests/benchmarks/bench_grading.py [--count 30] [--rounds 5] [--many 1000] [--slow 3] [--nbgrader PYTHON]

Everything is measured on one machine in one run, on the same mixed submissions: right answers, unusual right ones,
known mistakes and blanks; of chapters 03 and 04, where NumPy is enough, and of 06 and 07, where torch is needed. Prints
seconds by the clock and by the processor (of this process and all below it); on a machine that is busy with other
things the second is the one to compare. "bare" runs the exercises' cells in one process without any protection and
calls what they define on the marker's inputs, through the course's ordinary caller; "bare, and judged" also says what
is wrong, as the marker does. Bare runs and the marker's take turns, and the median of their ratios is told. Nothing is
asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "utils")]

from tests.grading.books import made, saved  # noqa: E402

from attention_lab.checking.caller import LocalCaller  # noqa: E402
from attention_lab.checking.judging import judge, prepared  # noqa: E402
from attention_lab.exercises import exercises  # noqa: E402
from attention_lab.grading.marker import Marker  # noqa: E402
from attention_lab.grading.run import Options, grade  # noqa: E402

#: Answers as learners write them, by exercise: right ones first.
ANSWERS = {
    "softmax": (
        "e = np.exp(scores - scores.max(axis=-1, keepdims=True))\n    return e / e.sum(axis=-1, keepdims=True)",
        "e = np.exp(scores)\n    return e / e.sum(axis=-1, keepdims=True)",
        "e = np.exp(scores - scores.max())\n    return e / e.sum()",
        "raise NotImplementedError",
    ),
    "hard_lookup": ("return values[np.argmax(keys @ query)]", "return values[np.argmin(keys @ query)]"),
    "soft_lookup": (
        "return softmax(keys @ query / temperature) @ values",
        "return softmax(keys @ query * temperature) @ values",
        "return values[np.argmax(keys @ query)]",
    ),
    "scaled_scores": (
        "return q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])",
        "return q @ np.swapaxes(k, -1, -2)",
        "return q @ np.swapaxes(k, -1, -2) / q.shape[-1]",
    ),
    "attend": ("return attention_pattern(q, k) @ v", "return scaled_scores(q, k) @ v", "raise NotImplementedError"),
    "add_update": ("return x + update", "x += update\n    return x", "return update"),
    "causal_mask": (
        "S = T if S is None else S\n    return torch.ones(T, S).tril(S - T).bool()",
        "S = T if S is None else S\n    return torch.ones(T, S).tril().bool()",
    ),
    "masked_pattern": (
        "p = scores.masked_fill(~mask, -torch.inf).softmax(-1)\n    return p.nan_to_num(0.0)",
        "return scores.masked_fill(~mask, -torch.inf).softmax(-1)",
        "return scores.softmax(-1) * mask",
    ),
    "causal_attention": (
        "s = q @ k.mT / k.shape[-1] ** 0.5\n    return masked_pattern(s, causal_mask(*s.shape[-2:])) @ v",
        "s = q @ k.mT\n    return masked_pattern(s, causal_mask(*s.shape[-2:])) @ v",
    ),
    "next_token_loss": (
        "return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())",
        "return F.cross_entropy(logits.flatten(0, 1), ids.flatten())",
        "raise NotImplementedError",
    ),
    "split_heads": (
        "B, T, d = x.shape\n    if d % n_heads:\n        raise ValueError(f'{d} {n_heads}')\n"
        "    return x.view(B, T, n_heads, -1).transpose(1, 2)",
        "B, T, d = x.shape\n    return x.reshape(B, n_heads, T, -1)",
    ),
    "merge_heads": ("return x.transpose(1, 2).flatten(2)", "return x.flatten(2)"),
    "previous_token_score": (
        "return pattern.diagonal(-1, -2, -1).mean(-1)",
        "return pattern.diagonal(0, -2, -1).mean(-1)",
        "raise NotImplementedError",
    ),
}
#: Chapters whose exercises are answered above, by what they need.
CHAPTERS = {"NumPy": ("03", "04"), "torch": ("06", "07")}


def submissions(count: int, chapters: tuple[str, str] = CHAPTERS["NumPy"]) -> list[bytes]:
    """Mixed submissions, different from each other."""
    chance = random.Random(1)
    found = []
    for number in range(count):
        chapter = chapters[number % 2]
        cells = {}
        for name, answers in ANSWERS.items():
            exercise = exercises()[name]
            if exercise.chapter == chapter:
                parameters = ", ".join(map(str, inspect.signature(exercise.reference).parameters.values()))
                parameters = re.sub(r": [^,=]+", "", parameters).replace("= ", "=")
                answer = chance.choice(answers)
                cells[name] = f"@exercise\ndef {name}({parameters}):\n    # {number}\n    {answer}\n"
        found.append(saved(made(chapter, cells)))
    return found


def measured(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and by the processor, of this process and all below it."""

    def used() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both) + sum(map(_used_by, psutil.Process().children()))

    def _used_by(process: psutil.Process) -> float:
        with contextlib.suppress(psutil.Error):
            return float(sum(process.cpu_times()[:4]))
        return 0.0

    clock, processor = time.perf_counter(), used()
    work()
    return time.perf_counter() - clock, used() - processor


def bare(contents: Iterable[bytes], judged: bool = False) -> None:
    """Run the exercises' cells in this process, and call what they define on the cases of the marker.

    Args:
        contents: notebooks.
        judged: also say of each whether it is right, and what is wrong.
    """
    import numpy as np
    import torch
    from torch.nn import functional as F

    from attention_lab.authoring.build import exercise_name

    for content in contents:
        names: dict[str, Any] = {"np": np, "torch": torch, "F": F, "exercise": lambda thing: thing}
        for cell in json.loads(content)["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and (name := exercise_name(source)):
                exec(source, names)
                exercise = exercises()[name]
                if judged:
                    judge(name, names[name], 1)
                    continue
                call = LocalCaller(names[name], exercise.framework)
                for case, dtype, _ in prepared(exercise, 1):
                    call(case, dtype)


def with_nbclient(contents: Iterable[bytes]) -> None:
    """Run whole notebooks in a kernel, one after another."""
    import nbformat
    from nbclient import NotebookClient

    for content in contents:
        book = nbformat.reads(content.decode(), as_version=4)
        NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()


def with_nbgrader(python: str, count: int) -> Callable[[], Any]:
    """nbgrader's autograde on a course of its own with the same chapter and asserting check cells; gives the work."""
    folder = Path(tempfile.mkdtemp(prefix="bench-nbgrader-"))
    book = made("03")
    for number, cell in enumerate(book["cells"]):
        if "### BEGIN SOLUTION" in "".join(cell["source"]):
            cell["metadata"] = {"nbgrader": _nbgrader(f"answer-{number}", solution=True)}
    check = {"cell_type": "code", "metadata": {"nbgrader": _nbgrader("check", points=1)}, "outputs": []}
    check |= {"source": "assert np.allclose(softmax(np.zeros((2, 3))), 1 / 3)", "execution_count": None, "id": "check"}
    book["cells"].append(check)
    for place in ("source/a/x.ipynb", *(f"submitted/s{i}/a/x.ipynb" for i in range(count))):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(saved(book))
    beside = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")])  # nbgrader calls alembic
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "utils"), "PATH": beside}
    call = [python, "-m", "nbgrader"]

    def run(*words: str) -> None:
        done = subprocess.run([*call, *words], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"nbgrader {words[0]} failed: {done.stderr[-500:]}")

    run("generate_assignment", "a", "--force")
    return lambda: run("autograde", "a", "--force")


def _nbgrader(name: str, points: int = 0, solution: bool = False) -> dict[str, Any]:
    base = {"schema_version": 3, "grade_id": name, "grade": bool(points), "locked": bool(points), "solution": solution}
    return {**base, "points": points} if points else {**base, "task": False}


def of_this_process(what: str) -> float:
    """Megabytes: "VmHWM", the most this process ever held, or "VmRSS", what it holds now; 0 where it is not told."""
    try:
        text = Path("/proc/self/status").read_text()
        return next(int(line.split()[1]) / 1000 for line in text.splitlines() if line.startswith(what))
    except (OSError, StopIteration):
        return 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5, help="how often bare runs and the marker take turns")
    parser.add_argument("--many", type=int, default=0, help="also mark this many through `grade`, watching memory")
    parser.add_argument("--slow", type=int, default=3, help="how many the slow ways are measured on")
    parser.add_argument("--nbgrader", default="", metavar="PYTHON", help="a Python that has nbgrader")
    parser.add_argument("--out", type=Path, help="also write the numbers here, as JSON")
    options = parser.parse_args()
    table: dict[str, tuple[int, float, float]] = {}

    def note(name: str, count: int, work: Callable[[], Any]) -> None:
        clock, processor = measured(work)
        table[name] = (count, clock, processor)
        each = f"{clock / count:8.4f} s and {processor / count:8.4f} processor seconds each"
        print(f"{name:38} {count:5}: {60 * count / clock:9.1f} a minute, {each}", flush=True)

    for kind, chapters in CHAPTERS.items():
        contents = submissions(options.count, chapters)
        for exercise in exercises().values():
            if exercise.chapter in chapters:
                prepared(exercise, 1)
        note(f"{kind}: this marker, cold start included", options.count, lambda: cold(contents))  # noqa: B023
        ratios(kind, contents, options.rounds, table)
    contents = submissions(options.count)
    if options.slow:
        note("nbclient, a kernel each", options.slow, lambda: with_nbclient(contents[: options.slow]))
    if options.nbgrader:
        note("nbgrader autograde", options.slow, with_nbgrader(options.nbgrader, options.slow))
    if options.many:
        with tempfile.TemporaryDirectory() as folder:
            for i, content in enumerate(submissions(options.many)):
                (Path(folder) / "in" / f"{i:04}").mkdir(parents=True)
                (Path(folder) / "in" / f"{i:04}" / "n.ipynb").write_bytes(content)
            before = of_this_process("VmRSS")
            work = Options(Path(folder) / "in", Path(folder) / "out", seed=1)
            note("course.py grade, many", options.many, lambda: grade(work))
            print(f"memory: {before:.0f} MB before, {of_this_process('VmHWM'):.0f} MB at most")
    if options.out:
        options.out.write_text(json.dumps(table, indent=1), encoding="utf-8")


def cold(contents: Iterable[bytes]) -> None:
    """Mark with a marker that is made for it."""
    marker = Marker(1)
    for content in contents:
        marker.mark(content)
    marker.close()


def ratios(kind: str, contents: list[bytes], rounds: int, table: dict[str, tuple[int, float, float]]) -> None:
    """Let bare runs and a warm marker take turns; print medians, and how many times as long the marker takes."""
    marker = Marker(1)
    ways: dict[str, Callable[[], Any]] = {
        "bare": lambda: bare(contents),
        "bare, and judged": lambda: bare(contents, judged=True),
        "this marker, warm": lambda: [marker.mark(content) for content in contents],
    }
    for work in ways.values():
        work()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            found[name].append(measured(work))
    marker.close()
    own = found["this marker, warm"]
    for name, times in found.items():
        clock, processor = (statistics.median(time[i] for time in times) for i in (0, 1))
        table[f"{kind}: {name}"] = (len(contents), clock, processor)
        each = [1000 * seconds / len(contents) for seconds in (clock, processor)]
        many = [statistics.median(mine[i] / time[i] for mine, time in zip(own, times, strict=True)) for i in (0, 1)]
        print(
            f"{f'{kind}: {name}':38} {each[0]:8.1f} ms and {each[1]:8.1f} ms of the processor each; "
            f"the marker takes {many[0]:.2f} times as long by the clock, {many[1]:.2f} by the processor",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""How good the checker is: for each exercise, how many mistakes get their own name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_lab.checking.judging import implementation, judge
from attention_lab.exercises import exercises
from attention_lab.exercises.model import Exercise


@dataclass
class Score:
    """What was found for one exercise over all seeds.

    Attributes:
        name: of the exercise.
        mistakes: how many are catalogued.
        named: how many got their own name with every seed.
        accepted: how many right variants passed with every seed, of `variants`.
        variants: how many right variants there are, the reference and the template among them.
        faults: a sentence for each thing that went wrong.
    """

    name: str
    mistakes: int = 0
    named: int = 0
    accepted: int = 0
    variants: int = 0
    faults: list[str] = field(default_factory=list)


def blank(exercise: Exercise) -> Callable[..., Any]:
    """What a learner finds: a function or class with nothing in it."""
    if isinstance(exercise.reference, type):
        return type(exercise.name, (), {"__init__": _blank})
    return _blank


def _blank(*args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError


def score(exercise: Exercise, seeds: Sequence[int]) -> Score:
    """Try every mistake, every accepted variant and the blank of an exercise with some seeds."""
    result = Score(exercise.name)
    for mistake in exercise.mistakes:
        result.mistakes += 1
        answer = implementation(exercise, mistake)
        got = {seed: judge(exercise.name, answer, seed) for seed in seeds}
        wrong = {s: v for s, v in got.items() if v.mistake != mistake.id}
        result.named += not wrong
        for seed, verdict in list(wrong.items())[:1]:
            what = "passes" if verdict.passed else f"is called {verdict.mistake or verdict.message!r}"
            result.faults.append(f"{exercise.name}: mistake {mistake.id!r} {what} (seed {seed})")
    right = {"the reference": exercise.reference, **exercise.accepted}
    if exercise.template is not None:
        right["the template"] = exercise.template
    for name, answer in right.items():
        result.variants += 1
        failed = [(s, v) for s in seeds if not (v := judge(exercise.name, answer, s)).passed]
        result.accepted += not failed
        for seed, verdict in failed[:1]:
            result.faults.append(f"{exercise.name}: {name} does not pass: {verdict.message} (seed {seed})")
    if judge(exercise.name, blank(exercise)).status != "not_started":
        result.faults.append(f"{exercise.name}: the blank is not 'not started'")
    return result


def print_scores(chapters: Sequence[str], seeds: int) -> int:
    """Print a line per exercise. Returns 1 when a mistake is not caught under its own name or a right one fails."""
    wanted = [e for e in exercises().values() if not chapters or e.chapter in {c.zfill(2) for c in chapters}]
    if not wanted:
        raise ValueError(f"no chapter among {', '.join(chapters)} has exercises")
    if seeds < 1:
        raise ValueError(f"--seeds is {seeds}; give at least 1")
    print(f"{'chapter':8}{'exercise':24}{'mistakes':>9}{'own name':>10}{'accepted':>10}   ({seeds} seeds)")
    faults: list[str] = []
    totals = [0, 0]
    for exercise in wanted:
        found = score(exercise, range(seeds))
        faults += found.faults
        totals[0] += found.mistakes
        totals[1] += found.named
        accepted = f"{found.accepted}/{found.variants}"
        print(f"{exercise.chapter:8}{found.name:24}{found.mistakes:9}{found.named:10}{accepted:>10}", flush=True)
    print(f"{'':8}{'together':24}{totals[0]:9}{totals[1]:10}")
    print("\n".join(faults))
    return 1 if faults else 0

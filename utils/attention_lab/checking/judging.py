"""The one door: is this answer right, and if not, which mistake is it?"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal
from zlib import crc32

import numpy as np

from attention_lab.checking.caller import Caller, LocalCaller, parameter_names, positional
from attention_lab.checking.describe import (
    SHOWN,
    Failure,
    call_text,
    difference_text,
    explain,
    explain_error,
    value_text,
)
from attention_lab.checking.facts import Facts, facts_of
from attention_lab.checking.outcome import Outcome, agree, matches_mistake, matches_reference
from attention_lab.exercises import exercises
from attention_lab.exercises.model import Case, Exercise, Mistake

NOTHING_YET = "Nothing written yet."
STOPPED = "It was stopped before it gave an answer: does a loop in it ever end?"
STILL_THERE = "Something is written, and every call still ends at a line that raises NotImplementedError."

Status = Literal["passed", "not_started", "raised", "wrong"]


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    Attributes:
        name: the exercise or question.
        status: passed, not_started, raised or wrong.
        mistake: id of the catalogued mistake, two ids joined by "+", or None.
        message: what happened, in one or two sentences.
        question: a question that leads on; may be empty.
        call: the call that shows it, as text; may be empty. So are the next two.
        got: what came back.
        expected: what was expected.
        line: the learner's own line where it raised: "line 3: return q @ k".
        notes: what else was seen: prints, warnings, shared memory.
        labels: what `got` and `expected` are called on a card.
    """

    name: str
    status: Status
    mistake: str | None = None
    message: str = ""
    question: str = ""
    call: str = ""
    got: str = ""
    expected: str = ""
    line: str = ""
    notes: tuple[str, ...] = ()
    labels: tuple[str, str] = ("What came back", "What was expected")

    @property
    def passed(self) -> bool:
        """True when the answer is right."""
        return self.status == "passed"


@dataclass(frozen=True)
class Trial:
    """One case in one precision, with what the reference and the candidate did."""

    case: Case
    dtype: str
    reference: Outcome
    got: Outcome

    @property
    def right(self) -> bool:
        return matches_reference(self.got, self.reference, self.dtype)

    @property
    def size(self) -> int:
        return sum(np.size(a) for a in self.case.args if isinstance(a, np.ndarray))

    @property
    def readable(self) -> bool:
        """Whether a card can show the call whole, in numbers with one digit after the point."""
        arrays = [a for a in self.case.args if isinstance(a, np.ndarray)]
        tenths = (np.array_equal(a, np.round(a * 1.0, 1), equal_nan=a.dtype.kind == "f") for a in arrays)
        return all(a.size <= SHOWN for a in arrays) and all(tenths)


def judge(
    name: str, candidate: Callable[..., Any] | Facts, seed: int = 0, caller: Caller | None = None, reveal: bool = True
) -> Verdict:
    """Judge a learner's function or class.

    Args:
        name: the exercise; `KeyError` with the nearest name when there is none.
        candidate: the learner's object; or, when it lives elsewhere and `caller` calls it, the facts about it.
        seed: of the inputs.
        caller: how the candidate is called; in this process when it is left out.
        reveal: whether the verdict may tell expected numbers. Marks do without.

    Returns:
        a `Verdict`; never raises for what the candidate does.
    """
    exercise = find(name)
    facts = candidate if isinstance(candidate, Facts) else facts_of(candidate)
    unfit = _unfit(exercise, facts)
    if unfit:
        return unfit
    call = caller or _local(candidate, exercise.framework)
    trials: list[Trial] = []
    for case, dtype, reference in prepared(exercise, seed):
        got = call(case, dtype)
        if got.error == "NotImplementedError" and not trials:
            return Verdict(name, "not_started", message=STILL_THERE if facts.begun else NOTHING_YET)
        if got.error == "KeyboardInterrupt":
            return _interrupted(exercise, got, case)
        trials.append(Trial(case, dtype, reference, got))
    if all(trial.right for trial in trials):
        return _passed(name, trials)
    verdict = _named(exercise, trials, seed) or _unnamed(exercise, trials, call, reveal)
    return verdict if reveal else replace(verdict, expected="")


def _local(candidate: Callable[..., Any] | Facts, framework: str) -> Caller:
    if isinstance(candidate, Facts):
        raise TypeError("facts about a candidate cannot be called: give a caller, too")
    return LocalCaller(candidate, framework)


def find(name: str) -> Exercise:
    """The exercise of that name; `KeyError` names the nearest one otherwise."""
    known = exercises()
    if not isinstance(name, str) or name not in known:
        import difflib

        near = difflib.get_close_matches(str(name), known, 1, 0.5)
        mend = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(known)}"
        raise KeyError(f"there is no exercise named {name}{mend}")
    return known[name]


@functools.lru_cache(maxsize=256)
def _prepared(name: str, seed: int) -> tuple[tuple[Case, str, Outcome], ...]:
    exercise = find(name)
    rng = np.random.default_rng([seed, crc32(name.encode())])
    call = LocalCaller(exercise.reference, exercise.framework, reference=True)
    rows = []
    for case in exercise.cases(rng):
        floats = any(_has_floats(arg) for arg in case.args)
        for dtype in ("float64", "float32") if floats else ("float64",):
            rows.append((case, dtype, call(case, dtype)))
    return tuple(rows)


def prepared(exercise: Exercise, seed: int) -> tuple[tuple[Case, str, Outcome], ...]:
    """Every case of an exercise in each precision, with what the reference does."""
    return _prepared(exercise.name, seed)


def _has_floats(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(_has_floats(item) for item in value)
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _unfit(exercise: Exercise, facts: Facts) -> Verdict | None:
    """A verdict for what cannot be called at all, or has nothing in it."""
    name = exercise.name
    if not facts.callable:
        return Verdict(name, "wrong", message=f"{name} is no function but an object of type {facts.type_name}.")
    wanted = positional(exercise.reference)
    if facts.parameters is None:
        return None
    if not facts.takes(wanted):
        return Verdict(
            name,
            "wrong",
            message=f"{name} is called as {name}({', '.join(wanted)}); "
            + (f"the class {name}" if facts.type_name == "type" else "yours")
            + f" takes ({facts.signature}).",
            question="Which parameters did the first line of the exercise have?",
        )
    if facts.empty:
        return Verdict(name, "not_started", message=NOTHING_YET)
    return None


def _interrupted(exercise: Exercise, got: Outcome, case: Case) -> Verdict:
    return Verdict(
        exercise.name,
        "raised",
        message=STOPPED,
        question="What changes from one turn of the loop to the next, and when is it enough?",
        call=call_text(exercise, case),
        line=_line(got),
    )


def _line(got: Outcome) -> str:
    return f"line {got.line_number}: {got.line}" if got.line else ""


def _notes(trials: list[Trial]) -> tuple[str, ...]:
    notes = []
    printed = next((t.got.printed.strip() for t in trials if t.got.printed.strip()), "")
    if printed:
        first = printed.splitlines()[0][:100]
        notes.append(f"It also printed, first of all: {first}")
    warned = next((t.got.warned[0] for t in trials if t.got.warned), "")
    if warned:
        notes.append(f"NumPy or Python warned: {warned}")
    shares = next((t.got.shares for t in trials if t.got.shares and not t.reference.shares), ())
    if shares:
        notes.append(
            f"The result is {shares[0]} itself or a part of it (a view), not a new array: "
            "changing one later changes the other."
        )
    return tuple(notes)


def _passed(name: str, trials: list[Trial]) -> Verdict:
    precisions = len({t.dtype for t in trials})
    where = "with float64 and with float32 numbers" if precisions == 2 else "on every input"
    return Verdict(
        name,
        "passed",
        message=f"{len(trials)} calls gave what they should, {where}.",
        notes=_notes(trials),
    )


def variants(exercise: Exercise) -> Iterator[tuple[tuple[Mistake, ...], Callable[..., Any]]]:
    """Every mistake of an exercise with its implementation, then every pair whose switches do not overlap."""
    for mistake in exercise.mistakes:
        yield (mistake,), implementation(exercise, mistake)
    switched = [m for m in exercise.mistakes if m.switches]
    for one, other in itertools.combinations(switched, 2):
        switches = {**(one.switches or {}), **(other.switches or {})}
        if exercise.template is not None and len(switches) == len(one.switches or {}) + len(other.switches or {}):
            yield (one, other), functools.partial(exercise.template, **switches)


def implementation(exercise: Exercise, mistake: Mistake) -> Callable[..., Any]:
    """The wrong implementation that a mistake stands for."""
    if mistake.answer is not None:
        return mistake.answer
    if exercise.template is None or not mistake.switches:
        raise ValueError(f"mistake {mistake.id!r} of {exercise.name} has neither an answer nor switches")
    return functools.partial(exercise.template, **mistake.switches)


def _named(exercise: Exercise, trials: list[Trial], seed: int) -> Verdict | None:
    """The verdict when the candidate does exactly what a known mistake, or a pair of them, does."""
    mistakes = _alike(exercise, trials, seed)
    if not mistakes:
        return None
    shown = min(_telling(exercise, mistakes, [t for t in trials if not t.right]), key=_first_to_show)
    verdict = Verdict(
        exercise.name,
        "raised" if shown.got.error and not shown.reference.error else "wrong",
        mistake="+".join(m.id for m in mistakes),
        message=_sentence(mistakes),
        question=mistakes[0].question,
        notes=_notes(trials),
    )
    return _with_evidence(verdict, exercise, shown)


def _alike(exercise: Exercise, trials: list[Trial], seed: int) -> tuple[Mistake, ...]:
    """The mistake, or pair of mistakes, that did what the candidate did on every case; empty when there is none."""
    first = trials[_quickest(exercise.name, seed)]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for number, (mistakes, answer) in enumerate(_variants(exercise.name)):
            done = _first_outcome(exercise.name, seed, number)
            if matches_mistake(first.got, done, first.dtype) and _does_the_same(
                LocalCaller(answer, exercise.framework), trials
            ):
                return mistakes
    return ()


@functools.lru_cache(maxsize=256)
def _quickest(name: str, seed: int) -> int:
    """Which of the prepared cases is the smallest."""
    rows = _prepared(name, seed)
    return min(range(len(rows)), key=lambda i: sum(np.size(a) for a in rows[i][0].args))


@functools.lru_cache(maxsize=64)
def _variants(name: str) -> list[tuple[tuple[Mistake, ...], Callable[..., Any]]]:
    return list(variants(find(name)))


@functools.lru_cache(maxsize=20_000)
def _first_outcome(name: str, seed: int, number: int) -> Outcome:
    """What a mistake or pair does on the quickest case: kept, since every wrong answer is held against all of them."""
    exercise = find(name)
    case, dtype, _ = _prepared(name, seed)[_quickest(name, seed)]
    return LocalCaller(_variants(name)[number][1], exercise.framework).bare(case, dtype)


def _first_to_show(trial: Trial) -> tuple[bool, bool, bool, int]:
    return (bool(trial.got.error), trial.dtype == "float32", not trial.readable, trial.size)


def _sentence(mistakes: tuple[Mistake, ...]) -> str:
    if len(mistakes) == 1:
        return mistakes[0].diagnosis
    return f"Two things at once. First: {mistakes[0].diagnosis} Second: {mistakes[1].diagnosis}"


def _does_the_same(mistake: LocalCaller, trials: list[Trial]) -> bool:
    """Whether a mistake did what the candidate did on every case; unasked exceptions count only with the same text."""
    telling = False
    texts_equal = True
    for trial in trials:
        done = mistake.bare(trial.case, trial.dtype)
        if not matches_mistake(trial.got, done, trial.dtype):
            return False
        if not trial.right and (trial.reference.error or not done.error):
            telling = True  # a wrong value, or another kind of exception than the one that is asked for
        elif done.error and not trial.reference.error:
            texts_equal &= trial.got.error_text == done.error_text
    return telling or texts_equal


def _telling(exercise: Exercise, mistakes: tuple[Mistake, ...], wrong: list[Trial]) -> list[Trial]:
    """The wrong trials that show both of two mistakes, or at least the first; all of them for a single mistake."""
    if len(mistakes) < 2:
        return wrong
    shows: list[list[Trial]] = []
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for mistake in mistakes:
            alone = LocalCaller(implementation(exercise, mistake), exercise.framework)
            shows.append([t for t in wrong if not matches_reference(alone.bare(t.case, t.dtype), t.reference, t.dtype)])
    both = [t for t in shows[0] if any(t is other for other in shows[1])]
    return both or shows[0] or wrong


def _with_evidence(verdict: Verdict, exercise: Exercise, trial: Trial) -> Verdict:
    got, reference = trial.got, trial.reference
    verdict = replace(verdict, call=call_text(exercise, trial.case), line=_line(got))
    right_value = not got.error and not reference.error and agree(got.value, reference.value, trial.dtype)
    if got.after and right_value:
        name = got.changed[0]
        before = dict(zip(parameter_names(exercise.reference, len(trial.case.args)), trial.case.args, strict=True))
        return replace(
            verdict,
            got=value_text(Outcome(value=got.after[0])),
            expected=value_text(Outcome(value=before.get(name, ""))),
            labels=(f"{name} after the call", f"{name} before the call, and as it should stay"),
        )
    back, wanted = value_text(got), value_text(reference)
    if back == wanted:
        back = f"{back}\n{difference_text(got.value, reference.value)}"
    return replace(verdict, got=back, expected=wanted)


def _unnamed(exercise: Exercise, trials: list[Trial], call: Caller, reveal: bool) -> Verdict:
    """The verdict for a mistake without a name: the smallest counterexample and the first property that fails."""
    wrong = [t for t in trials if not t.right]
    shown = min(wrong, key=_first_to_show)
    rest = _where(trials, wrong)
    failure = Failure(exercise, shown.case, shown.dtype, shown.reference, shown.got, call, reveal)
    raised = bool(shown.got.error) and not shown.reference.error
    message = explain_error(failure) if raised else explain(failure)
    verdict = Verdict(
        exercise.name,
        "raised" if raised else "wrong",
        message=f"{message} {rest}".strip(),
        notes=_notes(trials),
    )
    return _with_evidence(verdict, exercise, shown)


def _where(trials: list[Trial], wrong: list[Trial]) -> str:
    """Which kind of input it fails on, when that tells something."""
    if len(wrong) == len(trials):
        return ""
    if all(t.dtype == "float32" for t in wrong):
        return "In double precision everything is right; it fails in single precision (float32)."
    notes = {t.case.note for t in wrong}
    fine = {t.case.note for t in trials if t.right}
    if "" not in notes and not notes & fine and len(notes) <= 3:
        return f"Everything else is right; it fails on: {'; '.join(sorted(notes))}."
    return ""

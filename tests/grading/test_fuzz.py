"""Whatever a worker says, the marker marks; whatever number a system call has, a worker may not make it."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from tests.grading.books import made, saved

from attention_lab.checking.outcome import Foreign
from attention_lab.exercises import exercises
from attention_lab.exercises.model import Fn
from attention_lab.grading.marker import Marker, harmless_to_read
from attention_lab.grading.sandboxed import lockdown, reading, wire
from attention_lab.grading.workers import Died

# --- what a worker says ---------------------------------------------------------------------------------------------

WORDS = ("error", "text", "line", "answers", "value", "given", "shares", "printed", "code", "softmax", "03_hot", "id")


def anything(chance: Random, depth: int = 0) -> Any:
    """A value that a worker could send: of every kind, in any place, nested a little."""
    if depth < 4 and chance.random() < 0.5:
        items = [anything(chance, depth + 1) for _ in range(chance.randrange(6))]
        words = [chance.choice(WORDS) for _ in items]
        return chance.choice([items, tuple(items), dict(zip(words, items, strict=True))])
    kinds: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.choice([True, False, ..., "", "\ud800", "NotImplementedError", "ValueError"]),
        lambda: chance.choice([0, -1, 7, 2**63, -(2**70), 10**400]),
        lambda: chance.choice([0.0, 1e308, float("nan"), float("-inf")]),
        lambda: chance.choice(WORDS),
        lambda: chance.randbytes(chance.randrange(30)),
        lambda: Foreign("set", "{1}"),
        lambda: Fn("causal_mean", {"a": 1}),
        lambda: np.full(chance.choice([(), (0,), (3,), (2, 3), (1,) * 9]), chance.choice([1.0, np.nan])),
        lambda: np.ones(3, chance.choice(["?", "i1", "u8", ">f4", "f2"])),
    ]
    return chance.choice(kinds)()


def a_look(chance: Random) -> Any:
    """What a worker says that it saw: facts in form or not, and outcomes that are none."""
    facts = [True, "function", chance.choice([None, [["scores", "POSITIONAL_ONLY", False]]]), False, True]
    outcomes = [chance.choice([{"value": anything(chance)}, anything(chance)]) for _ in range(chance.randrange(30))]
    pair = (chance.choice([facts, anything(chance)]), chance.choice([outcomes, anything(chance)]))
    return chance.choice([wire.encode(pair), wire.encode(pair)[: chance.randrange(40)], anything(chance)])


class Talker:
    """A worker that says whatever comes, as far as that can be said over the pipe."""

    def __init__(self, right: Callable[[dict[str, Any]], dict[str, Any]], chance: Random) -> None:
        self._right, self._chance = right, chance
        self.ended, self.used = False, 0.0

    def request(self, what: str, *values: Any, seconds: float) -> Any:
        chance = self._chance
        asked = {key: anything(chance) for key in ("ask", "with", "part", "of") if chance.random() < 0.4}
        wire.encode(self._right({"ask": "hard_lookup", **asked}))
        if chance.random() < 0.1:
            self.ended = True
            raise Died(chance.choice(["ended", "time", "broken"]))
        said = anything(chance)
        if what == "steps" and chance.random() < 0.8:
            run = {"error": "", "answers": anything(chance)}
            in_form = {"run": lambda: chance.choice([run, anything(chance)]), "look": lambda: a_look(chance)}
            said = [in_form.get(step[0], lambda: anything(chance))() for step in values[0]]
        return wire.decode(wire.encode(said)[4:])

    def close(self) -> None:
        self.ended = True


def test_whatever_a_worker_says_the_marker_marks_and_nothing_passes() -> None:
    submission = saved(made("03"))
    for seed in range(150):
        chance = Random(seed)
        talking = Marker(seed=1)
        talking.session = lambda kind, right, number="", c=chance: Talker(right, c)  # type: ignore[assignment, misc]
        marked = talking.mark(submission)
        assert marked.status == "marked", seed
        assert not [v for v in marked.verdicts if v["status"] == "passed" and v["name"] in exercises("03")], seed


# --- what a text holds ----------------------------------------------------------------------------------------------


def test_what_is_read_outside_of_a_worker_is_read_at_once() -> None:
    longest = 0.0
    opening = ["(", "[", "{", "{a:", "f(", "(a,", "[a for a in ", "lambda x=(", "f(a,b=", "with (", "(yield ", "(*"]
    closing = [")", "]", "}", "}", ")", ")", "]", ")", ")", "): pass", ")", ")"]
    texts = [unit * (1_990 // len(unit)) for unit in ("-", "not ", "lambda:", "a if b else ", "x.", "a=", "()", "f'{")]
    for (start, end), inside in itertools.product(zip(opening, closing, strict=True), ("", "1", "a for", ":", "*")):
        for depth in range(2, 9):
            once = start * depth + inside + end * depth
            texts += [start * depth + inside, "\n".join([once] * (1_990 // (len(once) + 1)))]
    for text in filter(harmless_to_read, texts):
        begun = time.process_time()
        reading.read(text)
        longest = max(longest, time.process_time() - begun)
    assert longest < 5  # what grows without bound takes hours
    assert not harmless_to_read("(" * 9) and not harmless_to_read("x" * 2_001) and harmless_to_read("f(" * 8)


# --- what a worker does ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")
def test_of_all_system_calls_only_those_on_the_list_are_made(marker: Marker, protected: bool) -> None:
    import platform

    if not protected:
        pytest.skip("this machine lacks the protection")
    machine = platform.machine()
    special = {lockdown._IOCTL[machine], lockdown._PRLIMIT[machine], lockdown._FCNTL[machine]}
    if machine == "x86_64":
        special |= {335, 336}  # of probes in a process itself: newer kernels let them by every filter
    tried = [n for n in range(600) if n not in lockdown._ALLOWED[machine] and n not in special]
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
made = []
for number in {tried}:
    ctypes.set_errno(0)
    if libc.syscall(number, 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() not in (1, 38):
        made.append((number, ctypes.get_errno()))
assert not made, made
"""
    session = marker.session("numpy", lambda asked: {"refused": True})
    said = session.request("run", code, seconds=20)
    session.close()
    assert said["error"] == "", said

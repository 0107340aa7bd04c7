"""Mark one notebook: the learner's cells run in a worker, and what their functions give is judged here."""

from __future__ import annotations

import functools
import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from attention_lab.checking.caller import LocalCaller, altered, cast, materialise, parameter_names
from attention_lab.checking.facts import Facts
from attention_lab.checking.judging import Verdict, judge, prepared
from attention_lab.checking.outcome import Foreign, Outcome, plain
from attention_lab.checking.questions import judge_answer
from attention_lab.exercises import exercises, questions
from attention_lab.exercises.model import Case, Exercise, Fn
from attention_lab.grading.course import Chapter, chapter, normal
from attention_lab.grading.sandboxed import wire
from attention_lab.grading.sandboxed.reading import LONGEST, Reading, read
from attention_lab.grading.submissions import Refused, cells_of
from attention_lab.grading.workers import Clock, Died, ForkServer, Limits, NoWorker, OneShot, Session, can_fork

#: Kills by cells without an exercise after which further such cells are left out.
_PATIENCE = 2
#: The most code in a notebook, in characters.
_MOST_CODE = 2_000_000
#: The most numbers in an argument for which a right value is given, and the largest whole number.
_MOST_NUMBERS, _LARGEST_NUMBER = 2048, 2048
#: The most numbers of a right value.
_MOST_TOLD = 1_000_000
#: The most objects of right classes that one worker may have, and the most calls of their parts.
_MOST_OBJECTS, _MOST_USES = 200, 1_000
#: Texts up to this length are remembered, since many submissions hold the same.
_SHORT = 4_000
#: How many verdicts and right values are kept, for others who did the same.
_KEPT = 5_000


T = TypeVar("T")


@dataclass(frozen=True)
class Marked:
    """What was found out about one notebook.

    Attributes:
        status: "marked", "unreadable", "no exercise" or "other chapter".
        chapter: two digits, "" when it is none of the course's.
        fault: a sentence where it could not be marked.
        verdicts: for each exercise and question of the chapter, as plain data.
        notes: sentences on the notebook as a whole.
    """

    status: str
    chapter: str = ""
    fault: str = ""
    verdicts: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As a dictionary for JSON."""
        return dict(vars(self))


@dataclass
class Cell:
    """A cell of a submission.

    Attributes:
        number: its place among all cells, from 1.
        text: its normal text.
        code: whether the notebook calls it a code cell.
        reading: what it says.
        provided: whether its text is the course's own and holds no exercise.
        dead: why it is left out from now on: it killed its worker.
    """

    number: int
    text: str
    code: bool
    reading: Reading = field(default_factory=Reading)
    provided: bool = False
    dead: str = ""


def told_chapter(texts: Iterable[str]) -> str:
    """The chapter whose exercises and questions most of the cells are about; "" when there is none."""
    named = {name for text in texts for name in (_named(text) if len(text) <= _SHORT else _named.__wrapped__(text))}
    known = _chapters()
    votes = [known[name] for name in named if name in known]
    return max(sorted(set(votes)), key=votes.count) if votes else ""


_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+(\w+)", re.MULTILINE)
_ANSWERED = re.compile(r"\banswer\(\s*[\"']([^\"'\n]{1,80})[\"']")


@functools.lru_cache(maxsize=2048)
def _named(text: str) -> tuple[str, ...]:
    """Functions and classes that a text defines, and questions that it answers."""
    return (*_DEFINED.findall(text), *_ANSWERED.findall(text))


def _chapters() -> dict[str, str]:
    """The chapter of each exercise and question."""
    return {n: e.chapter for n, e in exercises().items()} | {n: q.chapter for n, q in questions().items()}


class RemoteCaller:
    """Calls a learner's function in a worker; the `Caller` that `judge` gets.

    Args:
        ask: sends a request and gives the reply.
        exercise: whose function it is.
        facts: about the learner's object.
        ready: replies that came already, by the case's `id` and the precision.

    Attributes:
        asked: whether more was asked of the worker than was ready.
    """

    def __init__(
        self, ask: Callable[..., Any], exercise: Exercise, facts: Facts, ready: dict[tuple[int, str], Any] | None = None
    ) -> None:
        self._ask, self._exercise, self._facts = ask, exercise, facts
        self._ready = ready or {}
        self.asked = False

    def __call__(self, case: Case, dtype: str) -> Outcome:
        reply = self._ready.pop((id(case), dtype), None)
        if reply is None:
            self.asked = True
            reply = self._ask("call", self._exercise.name, case.args, dtype, case.script, self._exercise.framework)
        found = outcome_of(reply)
        given = reply.get("given")
        if given is None:  # the worker found every byte as it was
            return found
        names = [
            self._facts.names[i] if i < len(self._facts.names) else f"argument {i + 1}" for i in range(len(case.args))
        ]
        changed = tuple(
            name
            for name, old, new in zip(names, cast(case.args, dtype), _as_long(given, len(case.args)), strict=True)
            if _differs(old, new)
        )
        return replace(found, changed=changed)


def _as_long(given: Any, length: int) -> tuple[Any, ...]:
    return given if isinstance(given, tuple) and len(given) == length else (None,) * length


def _differs(old: Any, new: Any) -> bool:
    """Whether an argument came back from the call other than it went in; what did not come back did."""
    if isinstance(old, tuple):
        return any(_differs(o, n) for o, n in zip(old, _as_long(new, len(old)), strict=True))
    if not isinstance(old, np.ndarray):
        return False
    if not isinstance(new, np.ndarray) or old.dtype != new.dtype or old.shape != new.shape:
        return True
    return old.tobytes() != new.tobytes() and altered(old, new)


def outcome_of(reply: Any) -> Outcome:
    """An `Outcome` from a worker's reply, whatever the reply holds."""
    if not isinstance(reply, dict):
        raise Died("broken")
    data = reply
    if len(data) == 1 and "value" in data:
        return Outcome(_plain_value(data["value"]))

    def text(key: str, most: int) -> str:
        value = data.get(key)
        return value[:most] if isinstance(value, str) else ""

    def texts(key: str) -> tuple[str, ...]:
        value = data.get(key)
        return tuple(v[:200] for v in value[:20] if isinstance(v, str)) if isinstance(value, (tuple, list)) else ()

    line = data.get("line_number")
    return Outcome(
        value=_plain_value(data.get("value")),
        error=text("error", 100),
        error_bases=texts("error_bases"),
        error_text=text("error_text", 500),
        line_number=line if isinstance(line, int) else 0,
        line=text("line", 300),
        shares=texts("shares"),
        printed=text("printed", 2000),
        warned=texts("warned"),
    )


def _plain_value(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_plain_value(item) for item in value)
    if isinstance(value, (bool, int, float, np.ndarray, Foreign)) or value is None:
        return value
    return Foreign(type(value).__name__)


class _Kept(Generic[T]):
    """The last few results by what they follow from."""

    def __init__(self) -> None:
        self._found: dict[Any, T] = {}

    def get(self, key: Any) -> T | None:
        """A result that is kept, or None."""
        found = self._found.pop(key, None)
        if found is not None:
            self._found[key] = found
        return found

    def keep(self, key: Any, result: T) -> T:
        """Keep a result, and forget the one that was not asked for longest."""
        self._found[key] = result
        if len(self._found) > _KEPT:
            del self._found[next(iter(self._found))]
        return result


def _inputs(number: str, seed: int) -> dict[str, Any]:
    """The inputs of every call that is going to be made for a chapter, by exercise."""
    return {
        exercise.name: [
            (cast(case.args, dtype), case.script, exercise.framework) for case, dtype, _ in prepared(exercise, seed)
        ]
        for exercise in exercises(number).values()
    }


#: What makes a cell need more than NumPy.
_TORCH = re.compile(r"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_MODELS = re.compile(r"^\s*(?:import|from)\s+transformers\b|(?<![\w.])load\(", re.MULTILINE)
#: Names of `probes` behind which is a model of `transformers`.
_MODEL_MAKERS = ("tiny_gpt2", "tiny_llama")


@functools.cache
def _least_kind(number: str) -> str:
    """What the exercises of a chapter need, whatever a learner writes; tells it without loading any of it here."""
    asked = exercises(number).values()
    if any(_holds_model(case.args) for e in asked for case in e.cases(np.random.default_rng(0))):
        return "transformers"
    return "torch" if any(e.framework == "torch" for e in asked) else "numpy"


def _holds_model(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(_holds_model(item) for item in value)
    return isinstance(value, Fn) and value.name in _MODEL_MAKERS


def kind_of(number: str, texts: Iterable[str]) -> str:
    """The kind of worker that a submission needs.

    Args:
        number: the chapter.
        texts: of the cells that are going to run.
    """
    kinds = ["numpy", "torch", "transformers"]
    text = "\n".join(texts)
    own = 2 if _MODELS.search(text) else 1 if _TORCH.search(text) else 0
    return kinds[max(own, kinds.index(_least_kind(number)))]


class Marker:
    """Marks notebooks, one after another, with a server of its own for each kind of chapter.

    Args:
        seed: of the inputs, which no learner's code ever sees.
        limits: for each submission.
        hidden: folders that must not be readable for learners' code.
    """

    def __init__(self, seed: int, limits: Limits | None = None, hidden: Sequence[Path] = ()) -> None:
        self.seed = seed
        self.limits = limits or Limits()
        self._hidden = tuple(hidden)
        self._servers: dict[str, ForkServer | OneShot] = {}
        self._given: set[tuple[str, str]] = set()
        self._clock = Clock()
        self.verdicts = _Kept[Verdict]()
        self.rights = _Kept[dict[str, Any]]()

    def session(self, kind: str, right: Callable[[dict[str, Any]], dict[str, Any]], number: str = "") -> Session:
        """A conversation with a fresh worker; the server is started anew when it has died.

        Args:
            kind: what the server has loaded: "numpy", "torch" or "transformers".
            right: answers when learners' code asks for right values.
            number: the chapter whose inputs the worker holds; none when empty.
        """
        for last in (False, True):
            try:
                if kind not in self._servers:
                    made = ForkServer if can_fork(kind) else OneShot
                    self._servers[kind] = made(self.limits, kind, self._hidden)
                if number and (kind, number) not in self._given:
                    self._servers[kind].give(_inputs(number, self.seed))
                    self._given.add((kind, number))
                return Session(self._servers[kind], self._clock, right)
            except Died:
                self._end(kind)
                if last:
                    raise NoWorker("no worker can be started") from None
        raise AssertionError

    def _end(self, kind: str) -> None:
        self._given = {given for given in self._given if given[0] != kind}
        if kind in self._servers:
            self._servers.pop(kind).close()

    def force(self) -> dict[str, bool]:
        """What protection is in force in a worker of this machine."""
        session = self.session("numpy", lambda asked: {"refused": True})
        session.close()
        return {str(k): v is True for k, v in session.force.items()}

    def close(self) -> None:
        """End the servers."""
        for kind in list(self._servers):
            self._end(kind)

    def mark(self, content: bytes, chapters: Sequence[str] = ()) -> Marked:
        """Mark a notebook; never raises for what is in it.

        Args:
            content: its bytes.
            chapters: the chapters wanted; all when empty.
        """
        try:
            found = cells_of(content)
        except Refused as refusal:
            return Marked("unreadable", fault=str(refusal))
        cells = [Cell(i, normal(text), kind == "code") for i, (kind, text) in enumerate(found, 1)]
        if sum(len(cell.text) for cell in cells if cell.code) > _MOST_CODE:
            return Marked("unreadable", fault=f"holds more than {_MOST_CODE:,} characters of code")
        number = told_chapter(cell.text for cell in cells)
        if not number:
            return Marked("no exercise", fault="holds no exercise and no question of this course")
        if chapters and number not in chapters:
            return Marked("other chapter", number, fault=f"is a notebook of chapter {number}")
        return _Submission(self, chapter(number), cells).mark()


class _Submission:
    """One notebook on its way through the marker."""

    def __init__(self, marker: Marker, course: Chapter, cells: list[Cell]) -> None:
        self._marker = marker
        self._course = course
        self._asked = exercises(course.number)
        self._kind = _least_kind(course.number)
        self._objects: dict[int, tuple[str, Any]] = {}
        self._uses = 0
        self._questions = questions(course.number)
        self._cells = cells
        self._final: dict[str, Verdict] = {}
        self._answered: dict[str, Any] = {}
        self._borrowed: set[str] = set()
        self._notes: list[str] = []
        self._session: Session | None = None
        self._kills = 0
        self._done = 0
        self._careful = False
        self._pending: list[str] = []
        self._others_left = 3 * marker.limits.seconds

    # --- the whole ---

    def mark(self) -> Marked:
        """Read every cell, then run and judge in order."""
        try:
            self._read()
            self._go_through()
        finally:
            self._end()
        for name in self._questions:
            self._final[name] = self._question(name)
        order = [*self._asked, *self._questions]
        verdicts = tuple(_as_data(self._final[name]) for name in order)
        return Marked("marked", self._course.number, verdicts=verdicts, notes=tuple(dict.fromkeys(self._notes)))

    def _read(self) -> None:
        unread = []
        for cell in self._cells:
            if len(cell.text) > LONGEST:
                cell.dead = f"it has more than {LONGEST:,} characters"
            elif (known := self._course.provided.get(cell.text)) is not None:
                cell.reading, cell.provided = known, True
            elif (known := self._course.blank.get(cell.text)) is not None:
                cell.reading = known
            elif cell.code or re.search(r"^(?:async\s+def|def|class|answer)\b", cell.text, re.MULTILINE):
                if harmless_to_read(cell.text):
                    cell.reading = _read_here(cell.text)
                    cell.dead = cell.reading.fault
                else:
                    unread.append(cell)
        try:
            said = self._ask("steps", [("read", cell.text) for cell in unread]) if unread else []
            for cell, reply in zip(unread, said, strict=True):
                cell.reading = _reading(reply)
        except (Died, TypeError, ValueError):
            self._end()
            for cell in unread:
                self._read_one(cell)
        for cell in unread:
            cell.dead = cell.dead or cell.reading.fault
        self._choose()

    def _read_one(self, cell: Cell) -> None:
        try:
            cell.reading = _reading(self._ask("read", cell.text))
        except Died:
            self._end()
            cell.dead = "it cannot be read as Python"

    def _choose(self) -> None:
        """Keep code cells, and others where nothing else makes an exercise or answers a question."""
        names = {n for cell in self._cells if cell.code for n in (*cell.reading.makes, *cell.reading.answers)}
        kept = []
        for cell in self._cells:
            mine = {*cell.reading.defines} & set(self._asked) | {*cell.reading.answers} & set(self._questions)
            if cell.code or (mine and not mine & names):
                if not cell.code:
                    self._notes.append(f"Cell {cell.number} is no code cell; it was run all the same.")
                kept.append(cell)
        self._cells = kept

    def _places(self) -> dict[str, Cell]:
        """For each exercise the last cell that makes its name."""
        places = {}
        for name in self._asked:
            making = [cell for cell in self._cells if not cell.provided and name in cell.reading.makes]
            count = sum(max(cell.reading.defines.count(name), 1) for cell in making)
            if making:
                places[name] = making[-1]
            if count > 1:
                self._notes.append(f"{name} is written {count} times; the last one counts (cell {making[-1].number}).")
        return places

    def _go_through(self) -> None:
        self._place = self._places()
        for name in self._asked:
            if name not in self._place:
                self._final[name] = self._missing(name)
        wanted = [cell.reading for cell in self._cells if not cell.provided]
        needed = self._course.needed(wanted)
        here = {cell.text for cell in self._cells if cell.provided}
        absent = [Cell(0, t, True, self._course.provided[t], True) for t in needed if t not in here]
        open_questions = {c.text for c in self._cells if c.reading.answers} & set(self._course.blank)
        run = [c for c in self._cells if (c.text in needed if c.provided else c.text not in open_questions)]
        self._sequence = absent + run
        kind = kind_of(self._course.number, (c.text for c in self._sequence))
        if kind != self._kind:
            self._end()
            self._kind = kind
        while cells := self._next():
            self._run_on(cells)

    def _missing(self, name: str) -> Verdict:
        for cell in self._cells:
            if cell.dead and re.search(rf"^[ \t]*(?:def|class)[ \t]+{name}\b", cell.text, re.MULTILINE):
                return Verdict(name, "raised", message=f"The cell of {name} could not be run: {cell.dead}.")
        return Verdict(name, "not_started", message=f"No cell of the notebook makes {name}.")

    def _next(self) -> list[Cell]:
        """The next cells to run, up to one with an exercise; when the worker is new, from the first one on."""
        if self._session is None or self._session.ended:
            self._done = 0
        chosen: list[Cell] = []
        while self._done < len(self._sequence):
            cell = self._sequence[self._done]
            if cell.dead and chosen:
                break
            self._done += 1
            if cell.dead:
                self._settle(cell)
                continue
            chosen.append(cell)
            if self._careful or any(name not in self._final for name in self._made_in(cell)):
                break
        return chosen

    def _made_in(self, cell: Cell) -> list[str]:
        return [name for name, place in self._place.items() if place is cell]

    def _run_on(self, cells: list[Cell]) -> None:
        """Run cells and judge what the last of them makes. In one request as long as nothing goes wrong."""
        last = cells[-1]
        open_names = [name for name in self._made_in(last) if name not in self._final]
        fresh = self._session is None or self._session.ended
        steps = [step for name in (self._final if fresh else self._pending) for step in self._stand_in_steps(name)]
        self._pending = []
        for cell in cells:
            steps.append(("run", cell.reading.code))
            steps += [step for n in self._made_in(cell) if n in self._final for step in self._stand_in_steps(n)]
        looks = len(open_names) == 1 and not self._careful
        if looks:
            steps.append(("look", open_names[0]))
        before = 0.0 if fresh or self._session is None else self._session.used
        self._borrowed.clear()
        try:
            seconds = self._marker.limits.seconds
            said = self._ask("steps", steps, seconds=seconds if self._careful else max(1.0, seconds / 5))
            if not isinstance(said, list) or len(said) != len(steps):
                self._end()
                raise Died("broken")
        except Died as death:
            self._blame(last, death)
            return
        if self._careful and not open_names and self._session is not None:
            self._others_left -= self._session.used - before
            if self._others_left < 0:
                self._give_up_on_others()
        ran = [reply for step, reply in zip(steps, said, strict=True) if step[0] == "run"]
        for reply in ran:
            self._keep_answers(reply)
        look = said[-1] if looks else None
        for name in open_names:
            self._final[name] = self._judge(name, _error_of(ran[-1]), look)
            self._pending.append(name)

    def _blame(self, cell: Cell, death: Died) -> None:
        """What to do after a death: first find out which cell it was, then leave that one out."""
        if not self._careful:
            self._careful = True
            return
        cell.dead = _why(death, self._marker.limits.seconds)
        if not (self._made_in(cell) or cell.reading.answers):
            self._notes.append(f"Cell {cell.number} was left out: {cell.dead}.")
            self._kills += 1
            if self._kills >= _PATIENCE:
                self._give_up_on_others()

    def _give_up_on_others(self) -> None:
        for cell in self._sequence:
            if cell not in self._place.values() and not cell.provided and not cell.dead:
                cell.dead = "cells before it took too long or had to be stopped"

    def _settle(self, cell: Cell) -> None:
        for name in self._made_in(cell):
            if name not in self._final:
                verdict = Verdict(name, "raised", message=f"The cell of {name} could not be run: {cell.dead}.")
                killed = cell in self._sequence and cell.dead in (_why(Died(why)) for why in ("ended", "broken"))
                again = self._judge_alone(name) if killed and self._others_ran(cell) else None
                self._final[name] = again if again is not None and again.passed else verdict
                self._pending.append(name)

    # --- judging ---

    def _judge(self, name: str, raised: str, look: Any = None) -> Verdict:
        """The verdict on an exercise; where it may be another cell's fault, judged once more with nothing else run."""
        verdict = self._judge_here(name, raised, look)
        harmless = verdict.passed or verdict.mistake is not None or self._place[name].text in self._course.blank
        blank = verdict.status == "not_started" and "raise NotImplementedError" in self._place[name].text
        if harmless or blank or not self._others_ran(self._place[name]):
            return verdict
        again = self._judge_alone(name)
        return again if again is not None and again.passed else verdict

    def _others_ran(self, cell: Cell) -> bool:
        before = self._sequence[: self._sequence.index(cell)]
        return any(not c.provided and c.text not in self._course.blank for c in before)

    def _judge_here(self, name: str, raised: str, look: Any = None) -> Verdict:
        try:
            verdict = self._verdict(name, raised, look)
        except Died as death:
            return _dead(name, death, self._marker.limits)
        except Exception as error:  # never a pass, and never the end of the batch, for what the learner's code sent
            return Verdict(name, "wrong", message=f"What {name} gave could not be judged ({type(error).__name__}).")
        if self._borrowed:
            helped = " and ".join(sorted(self._borrowed))
            note = f"Its calls of {helped} were answered with right values, so what is wrong there costs once."
            verdict = replace(verdict, notes=(*verdict.notes, note))
        return verdict

    def _verdict(self, name: str, raised: str, look: Any) -> Verdict:
        """The verdict on what the worker told; the kept one, where the very same was told of another submission."""
        budget = _Budget(self, self._marker.limits.seconds)
        key = None
        if look is None:
            told, replies = budget("facts", name), []
        elif isinstance(look, bytes):
            key = (name, hashlib.blake2b(look, digest_size=32).digest())
            if known := self._marker.verdicts.get(key):
                return known
            told, replies = wire.decode(look[4:], wire.LONGEST_REPLY)
        else:
            raise Died("broken")
        if told is None:
            return Verdict(name, "raised", message=raised or f"The cell of {name} did not make it.")
        facts, exercise, seed = _facts(told), self._asked[name], self._marker.seed
        rows = prepared(exercise, seed)
        ready = {(id(case), dtype): reply for (case, dtype, _), reply in zip(rows, replies, strict=False)}
        caller = RemoteCaller(budget, exercise, facts, ready)
        verdict = judge(name, facts, seed, caller, reveal=False)
        if key is not None and not caller.asked:
            self._marker.verdicts.keep(key, verdict)
        return verdict

    def _judge_alone(self, name: str) -> Verdict | None:
        """Judge in a fresh worker where only this cell and what it needs have run; other exercises answer rightly."""
        shared, self._session = self._session, None
        others = {n: v for n, v in self._final.items() if n != name}
        cell = self._place[name]
        try:
            chosen = self._closure(cell)
            raised = ""
            steps = [step for other in others for step in self._stand_in_steps(other, always=True)]
            if steps:
                self._ask("steps", steps)
            for each in chosen:
                raised = _error_of(self._ask("run", each.reading.code))
            self._borrowed.clear()
            return self._judge_here(name, raised)
        except Died:
            return None
        finally:
            self._end()
            self._session = shared

    def _closure(self, cell: Cell) -> list[Cell]:
        """A cell with the cells before it that make what it uses, other exercises' left out."""
        place = self._sequence.index(cell)
        wanted, chosen = set(cell.reading.uses), [cell]
        exercise_cells = [c for c in self._place.values() if c is not cell]
        for before in reversed(self._sequence[:place]):
            if before.dead or before in exercise_cells or not wanted & set(before.reading.makes):
                continue
            chosen.append(before)
            wanted |= set(before.reading.uses)
        return chosen[::-1]

    # --- right values for what is judged already ---

    def _stand_in_steps(self, name: str, always: bool = False) -> list[tuple[Any, ...]]:
        """What lets calls of an exercise be answered from here: once it is judged, and is not right."""
        verdict = self._final.get(name)
        if name not in self._asked or verdict is None or (verdict.passed and not always):
            return []
        exercise = self._asked[name]
        if isinstance(exercise.reference, type):
            return [("stand_in", name, exercise.framework, _parts(exercise.reference))]
        return [("stand_in", name, exercise.framework)]

    def _right(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A right value of an exercise, or a refusal.

        Only of exercises whose verdict stands and that come, in the course, before every exercise that is still to be
        judged, whatever the order of the cells: so no exercise can be answered by way of a later one.
        """
        name = str(asked.get("ask"))
        order = list(self._asked)
        still = min((order.index(n) for n in order if n not in self._final), default=len(order))
        if name not in order or order.index(name) >= still:
            return {"refused": True}
        try:
            args, keywords = asked["with"]
            args, keywords = tuple(args), dict(keywords)
        except (TypeError, ValueError, KeyError):
            return {"error": "TypeError", "text": "no arguments"}
        if not all(_moderate(value) for value in (*args, *keywords.values())):
            return {"refused": True}
        exercise = self._asked[name]
        if isinstance(exercise.reference, type):
            reply = self._use(exercise, asked, args, keywords)
        elif not (set(asked) - {"ask", "with"}):
            reply = self._value(exercise, args, keywords)
        else:
            return {"refused": True}
        if reply.get("refused") or _numbers(reply.get("value")) > _MOST_TOLD:
            return {"refused": True}
        self._borrowed.add(name)
        return reply

    def _value(self, exercise: Exercise, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """What a right function gives; kept for others who ask the same."""
        key = (exercise.name, hashlib.blake2b(wire.encode((args, keywords)), digest_size=32).digest())
        if known := self._marker.rights.get(key):
            return known
        names = parameter_names(exercise.reference, len(args))
        places = [*args, *(v for k, v in keywords.items() if k not in names)]
        call = LocalCaller(exercise.reference, exercise.framework, reference=True)
        single = any(isinstance(v, np.ndarray) and v.dtype == np.float32 for v in places)
        with np.errstate(all="ignore"):
            found = call(Case(tuple(places)), "float32" if single else "float64")
        if found.error:
            reply = {"error": found.error, "text": found.error_text}
        else:
            reply = {"error": "", "value": cast(found.value, "float32") if single else found.value}
        return self._marker.rights.keep(key, reply) if _numbers(reply.get("value")) <= 256 else reply

    def _use(
        self, exercise: Exercise, asked: dict[str, Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> dict[str, Any]:
        """Make a right object, which stays here, or use a part of one that was made."""
        part, number = asked.get("part"), asked.get("of")
        self._uses += 1
        if self._uses > _MOST_USES or len(self._objects) > _MOST_OBJECTS:
            return {"refused": True}
        given = [materialise(value, exercise.framework) for value in args]
        named = {key: materialise(value, exercise.framework) for key, value in keywords.items()}
        kind = _parts(exercise.reference).get(str(part))
        owner, thing = self._objects.get(number, ("", None)) if isinstance(number, int) else ("", None)
        if part and (kind is None or owner != exercise.name):
            return {"refused": True}
        try:
            with np.errstate(all="ignore"):
                if not part:
                    number = len(self._objects) + 1
                    self._objects[number] = (exercise.name, exercise.reference(*given, **named))
                    return {"error": "", "value": number}
                got = getattr(thing, str(part))
                return {"error": "", "value": plain(got(*given, **named) if kind == "method" else got)}
        except Exception as error:  # a right object may refuse what it is given
            return {"error": type(error).__name__, "text": str(error)[:500]}

    # --- the worker ---

    def _ask(self, what: str, *values: Any, seconds: float | None = None) -> Any:
        if self._session is None or self._session.ended:
            self._end()
            self._objects.clear()
            self._session = self._marker.session(self._kind, self._right, self._course.number)
        return self._session.request(what, *values, seconds=seconds or self._marker.limits.seconds)

    def _end(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    # --- questions ---

    def _keep_answers(self, said: Any) -> None:
        try:
            self._answered.update({str(name): value for name, value in said["answers"]})
        except Exception:  # whatever a worker says that learners' code has run in
            return

    def _question(self, name: str) -> Verdict:
        value = self._answered.get(name, ...)
        try:
            if type(value) not in (str, int, float, bool):
                return judge_answer(name, value)
            key = (name, type(value), value)
            return self._marker.verdicts.get(key) or self._marker.verdicts.keep(key, judge_answer(name, value))
        except Exception as error:  # as in `_judge_here`
            return Verdict(name, "wrong", message=f"The answer could not be judged ({type(error).__name__}).")


class _Budget:
    """Requests for one exercise, which share its seconds."""

    def __init__(self, submission: _Submission, seconds: float) -> None:
        self._submission = submission
        self._left = seconds

    def __call__(self, what: str, *values: Any) -> Any:
        session = self._submission._session
        if session is None or session.ended:
            raise Died("ended")
        before = session.used
        try:
            return session.request(what, *values, seconds=self._left)
        finally:
            self._left -= session.used - before


def _reading(said: Any) -> Reading:
    try:
        makes, uses, defines, answers = (
            tuple(str(name) for name in said[key]) for key in ("makes", "uses", "defines", "answers")
        )
        return Reading(str(said["code"]), makes, uses, defines, answers, str(said["fault"]))
    except Exception:
        raise Died("broken") from None


def _facts(told: Any) -> Facts:
    try:
        is_callable, type_name, parameters, empty, begun = told
        rows = None if parameters is None else tuple((str(n), str(k), d is True) for n, k, d in parameters[:50])
        return Facts(is_callable is True, str(type_name)[:80], rows, empty is True, begun is True)
    except (TypeError, ValueError):
        raise Died("broken") from None


@functools.cache
def _parts(reference: type) -> dict[str, str]:
    """What may be used of an object of a class: its public parts, each a "method" or a "property"."""
    found = {}
    for name in dir(reference):
        if not name.startswith("_") or name in ("__len__", "__call__"):
            part = getattr(reference, name)
            found[name] = "method" if callable(part) else "property"
    return {name: kind for name, kind in found.items() if name != "__call__" or "__call__" in vars(reference)}


def harmless_to_read(text: str) -> bool:
    """Whether a text can be parsed here, not in a worker: short, and nested so little that no parser minds."""
    if len(text) > 2_000:
        return False
    depth = deepest = 0
    for mark in re.findall(r"[\[({})\]]", text):
        depth += 1 if mark in "[({" else -1
        deepest = max(deepest, depth, -depth)
    return deepest <= 8


@functools.lru_cache(maxsize=4096)
def _read_here(text: str) -> Reading:
    with warnings.catch_warnings():  # about a backslash, say
        warnings.simplefilter("ignore")
        return read(text)


def _moderate(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.size <= _MOST_NUMBERS and value.ndim <= 6
    if isinstance(value, (tuple, list)):
        return len(value) <= 16 and all(_moderate(item) for item in value)
    if isinstance(value, (bool, float)) or value is None:
        return True
    return isinstance(value, int) and abs(value) <= _LARGEST_NUMBER


def _numbers(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_numbers, value))
    return value.size if isinstance(value, np.ndarray) else 1


def _error_of(said: Any) -> str:
    """What a cell raised, as a sentence; "" when it raised nothing."""
    told = said if isinstance(said, dict) else {}
    error, text, line = (v[:300] if isinstance(v := told.get(key), str) else "" for key in ("error", "text", "line"))
    return f"The cell raised {error}{f': {text}' if text else ''}{f' ({line})' if line else ''}." if error else ""


def _why(death: Died, seconds: float = 0.0) -> str:
    return {
        "time": f"it did not end within {seconds:g} seconds",
        "broken": "it disturbed the conversation with the marker",
    }.get(death.why, "it ended its process")


def _dead(name: str, death: Died, limits: Limits) -> Verdict:
    if death.why == "time":
        return Verdict(
            name,
            "raised",
            message=f"{name} did not end within {limits.seconds:g} seconds, all calls together. Does a loop in it end?",
            question="What changes from one turn of the loop to the next, and when is it enough?",
        )
    message = f"The call of {name} ended its process: memory ran out, Python was ended, or it crashed."
    if death.why == "broken":
        message = f"{name} disturbed the conversation with the marker."
    return Verdict(name, "raised", message=message, question="Which line does more than compute a value?")


def _as_data(verdict: Verdict) -> dict[str, Any]:
    return {key: _bounded(value) for key, value in vars(verdict).items() if key != "expected"}


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")[:2000]
    return [_bounded(item) for item in value] if isinstance(value, (tuple, list)) else value

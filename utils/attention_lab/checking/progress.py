"""Where a learner is: one small file an exercise, written atomically, kept beside the course.

The folder is `$ATTENTION_LAB_HOME` when that is set, else `.attention_lab/` in the course folder where it can be
written, else `.attention_lab/` in the home folder. A file `progress/NAME.json` holds the fields of `Record`.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from attention_lab.checking.card import Block, Card
from attention_lab.checking.judging import Verdict
from attention_lab.exercises import Exercise, Question, exercises, questions

#: The chapters of the course that are there, by number.
COURSE = Path(__file__).resolve().parents[3]


@dataclass
class Record:
    """What is kept of an exercise or question.

    Attributes:
        name: of the exercise or question.
        status: of the last try: passed, not_started, raised or wrong.
        mistake: id of the last named mistake, or None.
        message: what was said of the last try.
        tries: how often it was judged with something in it.
        met: how often each named mistake was made.
        first_try: when it was first tried, seconds since 1970 (UTC); 0 when it was not.
        solved: when it was first solved; 0 when it was not.
    """

    name: str
    status: str = "not_started"
    mistake: str | None = None
    message: str = ""
    tries: int = 0
    met: dict[str, int] = field(default_factory=dict)
    first_try: float = 0.0
    solved: float = 0.0


def home() -> Path:
    """The folder that progress is kept in."""
    chosen = os.environ.get("ATTENTION_LAB_HOME")
    if chosen:
        return Path(chosen)
    if (COURSE / "course.py").exists() and os.access(COURSE, os.W_OK):
        return COURSE / ".attention_lab"
    return Path.home() / ".attention_lab"


def _file(name: str) -> Path:
    return home() / "progress" / f"{name}.json"


def read(name: str) -> Record:
    """What is kept of `name`; an empty record where there is nothing, or nothing readable."""
    try:
        data = json.loads(_file(name).read_text(encoding="utf-8"))
        known = {key: data[key] for key in Record.__dataclass_fields__ if key in data}
        return Record(**{**known, "name": name})
    except (OSError, ValueError, TypeError):
        return Record(name)


def record(verdict: Verdict) -> bool:
    """Keep a verdict. Returns whether it could be written; never raises for a full or read-only disk."""
    kept = read(verdict.name)
    now = time.time()
    kept.status, kept.mistake, kept.message = verdict.status, verdict.mistake, verdict.message
    if verdict.status != "not_started":
        kept.tries += 1
        kept.first_try = kept.first_try or now
    if verdict.mistake:
        kept.met[verdict.mistake] = kept.met.get(verdict.mistake, 0) + 1
    if verdict.passed:
        kept.solved = kept.solved or now
    with contextlib.suppress(OSError):
        write_whole(_file(verdict.name), json.dumps(asdict(kept), indent=1))
        return True
    return False


def write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _line(name: str) -> str:
    kept = read(name)
    if kept.solved:
        return f"✓ {name}"
    if kept.tries:
        last = f", last: {kept.mistake.replace('_', ' ').replace('+', ' and ')}" if kept.mistake else ""
        tries = "1 try" if kept.tries == 1 else f"{kept.tries} tries"
        return f"✗ {name} ({tries}{last})"
    return f"○ {name}"


def overview(chapter: str | None = None) -> Card:
    """Where a learner is: a line for each chapter, and one for each exercise and question of those that are begun.

    Args:
        chapter: two digits; only this one, with all its lines.

    Raises:
        ValueError: for a chapter without exercises and questions.
    """
    everything: list[Exercise | Question] = [*exercises().values(), *questions().values()]
    known = sorted({item.chapter for item in everything})
    if chapter is not None and chapter not in known:
        raise ValueError(f"no chapter {chapter} has exercises; there are: {', '.join(known)}")
    solved = sum(bool(read(item.name).solved) for item in everything)
    blocks = [Block(f"{solved} of {len(everything)} exercises and questions are solved.")]
    for number in known if chapter is None else [chapter]:
        names = [item.name for item in everything if item.chapter == number]
        done = sum(bool(read(name).solved) for name in names)
        title = f"Chapter {number}: {done} of {len(names)}"
        if chapter or (done < len(names) and any(read(name).tries for name in names)):
            blocks.append(Block("\n".join(map(_line, names)), "code", title))
        else:
            blocks.append(Block(title))
    return Card("Where you are", "info", blocks)


def names_of(chapters: Sequence[str]) -> list[str]:
    """Names of the exercises and questions of some chapters."""
    return [n for c in chapters for n in (*exercises(c), *questions(c))]

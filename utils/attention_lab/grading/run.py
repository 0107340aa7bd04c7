"""Mark a folder: find what was handed in, mark each notebook once, write the report."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tqdm import tqdm

from attention_lab.checking.progress import COURSE
from attention_lab.exercises import exercises, questions
from attention_lab.grading import bubblewrap
from attention_lab.grading.course import points_of, version
from attention_lab.grading.marker import Marker, told_chapter
from attention_lab.grading.report import Report, Row
from attention_lab.grading.store import Store, key_of
from attention_lab.grading.submissions import Refused, Submission, assign, cells_of, find
from attention_lab.grading.workers import Limits, NoWorker

#: What a worker's kinds of protection are, in words for the report.
PROTECTION = {
    "limits": "limits on memory, processor time, files and processes",
    "capabilities": "no privileges",
    "files": "no file but the libraries can be read, none can be written (Landlock)",
    "system calls": "no network, no new processes, no signals to others (seccomp)",
}


@dataclass(frozen=True)
class Options:
    """How to mark.

    Attributes:
        folder: what was handed in.
        out: where the report goes.
        chapters: two digits each; all when empty.
        seed: of the inputs; None for a secret one that is kept in `out`.
        points: by exercise or question; see `course.points_of`.
        jobs: how many markers work side by side.
        scheduler: address of a Dask scheduler, "" for none.
        limits: for each submission.
        require_sandbox: refuse to mark when a protection is missing.
        learner: "auto", "folder" or "file".
    """

    folder: Path
    out: Path
    chapters: Sequence[str] = ()
    seed: int | None = None
    points: dict[str, float] = field(default_factory=dict)
    jobs: int = 1
    scheduler: str = ""
    limits: Limits = field(default_factory=Limits)
    require_sandbox: bool = False
    learner: str = "auto"


@dataclass(frozen=True)
class Task:
    """A notebook to mark: plain data that can be sent to another process or machine."""

    place: int
    key: str
    content: bytes
    chapters: tuple[str, ...]
    seed: int
    limits: Limits
    hidden: tuple[str, ...]


def read_points(path: Path) -> dict[str, float]:
    """Points by exercise or question from a file: JSON `{"softmax": 2}`, or lines `softmax,2`.

    Raises:
        ValueError: for a file that cannot be read, or a name that is none.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the points file {path} cannot be read ({error})") from None
    try:
        rows = (
            json.loads(text).items()
            if text.lstrip().startswith("{")
            else [r[:2] for r in csv.reader(io.StringIO(text)) if r]
        )
        points = {str(name).strip(): float(value) for name, value in rows}
    except (ValueError, TypeError, AttributeError):
        raise ValueError(f'{path} holds no points: write {{"softmax": 2}} or lines such as softmax,2') from None
    for name, value in points.items():
        if name not in exercises() and name not in questions():
            raise ValueError(f"{path} gives points to {name!r}, and there is no exercise or question of that name")
        if not 0 <= value < 1e6:
            raise ValueError(f"{path} gives {value:g} points to {name}; give 0 or more")
    return points


def grade(options: Options) -> int:
    """Mark a folder and write the report.

    Returns:
        0 when every notebook could be marked and everybody has one, else 1.

    Raises:
        ValueError: when the folder is none, or another run writes to the same place, or protection is missing and
            `require_sandbox` is set.
    """
    if not options.folder.is_dir():
        raise ValueError(f"{options.folder} is no folder; give the folder that holds what was handed in")
    store = Store(options.out)
    with store.alone():
        seed = store.seed(options.seed)
        said = protection(options, seed)
        for line in said:
            print(line)
        found = [s for s in find(options.folder) if not _inside(options.folder / s.file, options.out)]
        owned, rule = assign(found, options.learner, _chapter_of)
        print(rule)
        rows = _rows(options, store, seed, owned)
        numbers = sorted(options.chapters or {row.chapter for row in rows if row.status == "marked"})
        report = Report(rows, points_of(numbers, options.points), rule, said, version())
        try:
            report.write(options.out)
        except OSError as error:
            raise ValueError(f"the report cannot be written to {options.out} ({error.strerror})") from None
    return _summary(report, options)


def _inside(path: Path, folder: Path) -> bool:
    return path.absolute().is_relative_to(folder.absolute())


def _chapter_of(submission: Submission) -> str:
    try:
        return told_chapter(text for _, text in cells_of(submission.read()))
    except (Refused, OSError):
        return ""


def hidden_from_learners(options: Options) -> tuple[str, ...]:
    """Folders that no worker may read, wherever libraries lie."""
    return tuple(str(path.resolve()) for path in (options.folder, options.out))


def protection(options: Options, seed: int) -> list[str]:
    """Sentences on what is in force in this machine's workers; tried in one of them."""
    task = Task(0, "", b"", (), seed, options.limits, hidden_from_learners(options))
    found = _forces(options, task)
    force = {key: all(each.get(key, False) for each in found) for key in PROTECTION}
    missing = [text for key, text in PROTECTION.items() if not force.get(key)]
    if missing and options.require_sandbox:
        raise ValueError(
            f"this machine does not offer: {'; '.join(missing)}; leave out --require-sandbox to mark without"
        )
    there = [text for key, text in PROTECTION.items() if force.get(key)]
    if options.limits.bubblewrap:
        there.append("a container of bubblewrap's around all of it")
    lines = [f"In force for learners' code: {'; '.join(there) or 'nothing but the clock'}."]
    if missing:
        lines.append(f"NOT in force: {'; '.join(missing)}.")
    if options.scheduler and cluster().open_to_others(options.scheduler):
        lines.append(
            f"Notebooks and marks travel to {options.scheduler} and back unencrypted; use tls:// beyond one room."
        )
    return lines


def _forces(options: Options, task: Task) -> list[dict[str, bool]]:
    return cluster().forces(options, task) if options.scheduler else [force_here(task)]


def force_here(task: Task) -> dict[str, bool]:
    """What protection is in force in a worker of this machine.

    Raises:
        ValueError: when no worker can be started, or bubblewrap is asked for and cannot be had.
    """
    if task.limits.bubblewrap and (why := bubblewrap.missing()):
        raise ValueError(why)
    marker = marker_of(task)
    try:
        return marker.force()
    except NoWorker:
        raise ValueError("no process for learners' code can be started here") from None
    finally:
        marker.close()


def cluster() -> ModuleType:
    """The module for clusters, which needs Dask only when it is used."""
    return import_module("attention_lab.grading.cluster")


# --- marking -------------------------------------------------------------------------------------------------


def _rows(options: Options, store: Store, seed: int, owned: Sequence[Submission]) -> list[Row]:
    rows: dict[int, Row] = {}
    tasks = _tasks(options, store, seed, owned, rows)
    marks = _here if options.jobs == 1 else _side_by_side
    if options.scheduler:
        marks = cluster().on_cluster
    bar = tqdm(total=len(owned), desc="marks", unit="file", disable=None)
    for task, marked in marks(tasks, options):
        if marked["status"] in ("marked", "unreadable", "no exercise"):
            with contextlib.suppress(OSError):  # a full disk costs the next run time, and this one nothing
                store.put(task.key, marked)
        rows[task.place] = _row(owned[task.place], marked)
        bar.n = len(rows)
        bar.refresh()
    bar.close()
    return [rows[place] for place in range(len(owned))]


def _tasks(
    options: Options, store: Store, seed: int, owned: Sequence[Submission], rows: dict[int, Row]
) -> Iterator[Task]:
    """What is left to mark, one at a time; what needs no marking goes into `rows`."""
    hidden = hidden_from_learners(options)
    for place, submission in enumerate(owned):
        try:
            content = submission.read()
        except Refused as refusal:
            rows[place] = _row(submission, {"status": "refused", "fault": str(refusal)})
            continue
        except OSError as error:
            rows[place] = _row(submission, {"status": "refused", "fault": f"cannot be read ({error.strerror})"})
            continue
        if not submission.is_notebook:
            rows[place] = _row(submission, {"status": "no notebook", "fault": "is not a notebook (.ipynb)"})
            continue
        key = key_of(content, version(), seed, options.limits)
        kept = store.get(key)
        if kept is not None and (not options.chapters or kept["chapter"] in (*options.chapters, "")):
            rows[place] = _row(submission, kept)
            continue
        yield Task(place, key, content, tuple(options.chapters), seed, options.limits, hidden)


def _row(submission: Submission, marked: dict[str, Any]) -> Row:
    return Row(
        submission.learner,
        submission.file,
        marked["status"],
        marked.get("fault", ""),
        marked.get("chapter", ""),
        tuple(marked.get("verdicts", ())),
        tuple(marked.get("notes", ())),
    )


def mark_task(task: Task, marker: Marker) -> dict[str, Any]:
    """Mark one task. A fault of the marker's own is a result, too: "failed"."""
    try:
        return marker.mark(task.content, task.chapters).plain()
    except NoWorker as error:
        return failed(str(error))
    except Exception as error:  # one notebook must not end the batch
        return failed(f"the marker failed ({type(error).__name__}: {error})")


def failed(why: str) -> dict[str, Any]:
    """The result of a task that could not be marked through no fault of the learner's."""
    return {"status": "failed", "fault": f"could not be marked: {why}"}


def marker_of(task: Task) -> Marker:
    """A marker for a task and those like it."""
    ours = [COURSE / name for name in ("solutions", "chapters", "utils", "tests", ".git")]
    return Marker(task.seed, task.limits, [*map(Path, task.hidden), *ours])


def _here(tasks: Iterator[Task], options: Options) -> Iterator[tuple[Task, dict[str, Any]]]:
    marker: Marker | None = None
    try:
        for task in tasks:
            marker = marker or marker_of(task)
            yield task, mark_task(task, marker)
    finally:
        if marker is not None:
            marker.close()


_marker: Marker | None = None


def mark_in_process(task: Task) -> dict[str, Any]:
    """Mark one task with this process's own marker, made when it is first needed."""
    global _marker
    _marker = _marker or marker_of(task)
    return mark_task(task, _marker)


def _side_by_side(tasks: Iterator[Task], options: Options) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Mark with several processes; a few tasks wait in memory, the rest on disk. A process that ends loses nothing."""
    again: list[Task] = []
    yield from _pool(tasks, options.jobs, lambda task: again.append(task))
    for task in again:  # one by one, each in a process of its own, so that what ends its process ends no other's
        lost: list[Task] = []
        yield from _pool(iter([task]), 1, lost.append)
        for one in lost:
            yield one, failed("the process that marked it ended, twice")


def _pool(tasks: Iterator[Task], jobs: int, lose: Callable[[Task], None]) -> Iterator[tuple[Task, dict[str, Any]]]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        waiting: dict[Future[dict[str, Any]], Task] = {}
        broken = False
        while True:
            while not broken and len(waiting) < 2 * jobs and (task := next(tasks, None)) is not None:
                try:
                    waiting[pool.submit(mark_in_process, task)] = task
                except BrokenProcessPool:
                    broken = True
                    lose(task)
            if not waiting:
                break
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                task = waiting.pop(future)
                try:
                    yield task, future.result()
                except BrokenProcessPool:
                    broken = True
                    lose(task)
    if broken:
        for task in tasks:
            lose(task)


# --- the end -------------------------------------------------------------------------------------------------


def _summary(report: Report, options: Options) -> int:
    counted = ("marked", "other chapter", "no notebook")
    marked = [row for row in report.rows if row.status == "marked"]
    failed = [row for row in report.rows if row.status not in counted]
    without = {row.learner for row in report.rows} - {row.learner for row in marked}
    print(
        f"{len(marked)} of {len(report.rows)} files marked"
        + (f", {len(failed)} could not be" if failed else "")
        + (f", {len(without)} learners have no marked notebook" if without else "")
        + f". See {options.out / 'index.html'}"
    )
    for row in failed[:20]:
        print(f"  {row.file}: {row.status}: it {row.fault}", file=sys.stderr)
    return 1 if failed or without else 0

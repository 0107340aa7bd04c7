"""Run a learner's notebooks through nbval and say, a line each, how every exercise and question stands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat

from attention_lab.authoring.build import exercise_name, question_name
from attention_lab.checking.progress import names_of
from attention_lab.exercises import Exercise, Question, exercises, questions

_LARGEST = 20_000_000  # bytes; a chapter has under 100 kB


@dataclass(frozen=True)
class Run:
    """A notebook made ready to run.

    Attributes:
        path: the learner's file, which is only read.
        chapter: two digits, told from its exercises and questions; "" when it has none.
        cells: sources of its code cells, in order.
        fault: why it cannot be read, in a sentence; "" when it can.
    """

    path: Path
    chapter: str = ""
    cells: tuple[str, ...] = ()
    fault: str = ""


def check(course: Path, what: Sequence[str], timeout: int) -> int:
    """Check notebooks and print a report.

    Args:
        course: the course folder.
        what: chapter numbers and paths; every chapter when empty.
        timeout: seconds that one cell may take.

    Returns:
        0 when everything in them is solved and every other cell runs, else 1.

    Raises:
        ValueError: for a chapter or file that does not exist.
    """
    if timeout < 1:
        raise ValueError(f"--timeout is {timeout}; give at least 1 second")
    runs = [load(path) for path in find(course, what)]
    with tempfile.TemporaryDirectory(prefix="attention-lab-") as folder:
        readable = [(i, run) for i, run in enumerate(runs) if not run.fault]
        for i, run in readable:
            _write(Path(folder), i, run)
        failures = _nbval(Path(folder), timeout) if readable else {}
        reports = [_report(run, Path(folder) / f"{i:03}", failures.get(i, {})) for i, run in enumerate(runs)]
    fine = True
    for run, (lines, solved) in zip(runs, reports, strict=True):
        print(f"{run.path.name}" + (f" (chapter {run.chapter})" if run.chapter else ""))
        print("\n".join(f"  {line}" for line in lines))
        fine &= solved
    return 0 if fine else 1


def find(course: Path, what: Sequence[str]) -> list[Path]:
    """The notebooks meant by chapter numbers and paths; see `check`."""
    everything = sorted((course / "chapters").glob("[0-9][0-9]_*.ipynb"))
    chapters = [p for p in everything if ".mine-" not in p.name]
    if not what:
        return chapters
    found: list[Path] = []
    for item in what:
        if re.fullmatch(r"\d{1,2}", item):
            named = [p for p in chapters if p.name.startswith(item.zfill(2))]
            if not named:
                there = ", ".join(p.name[:2] for p in chapters)
                raise ValueError(f"there is no chapter {item}; there are: {there}")
            found += named
        elif Path(item).is_dir():
            found += sorted(p for p in Path(item).rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
        elif Path(item).exists():
            found.append(Path(item))
        else:
            raise ValueError(f"there is no file {item}: give a chapter's number or the path of a notebook")
    return found


def load(path: Path) -> Run:
    """Read a notebook that any editor may have saved: line ends, old formats and missing metadata do not matter."""
    try:
        if path.stat().st_size > _LARGEST:
            return Run(path, fault=f"is larger than {_LARGEST // 1_000_000} MB")
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
        if not isinstance(data, dict) or not isinstance(data.get("cells", data.get("worksheets")), list):
            return Run(path, fault="has no cells: it is not a notebook")
        cells = data["cells"] if "cells" in data else [c for w in data["worksheets"] for c in w.get("cells", [])]
        sources = tuple(_source(cell) for cell in cells if cell.get("cell_type") == "code")
    except OSError as error:
        return Run(path, fault=f"cannot be opened ({error.strerror})")
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return Run(path, fault="is not a notebook (no JSON); was it saved only in part?")
    except (AttributeError, TypeError, KeyError):
        return Run(path, fault="has cells that are not cells of a notebook")
    return Run(path, _chapter(sources), sources)


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _names(source: str) -> list[str]:
    return [name for name in (exercise_name(source), question_name(source)) if name]


def _chapter(sources: Sequence[str]) -> str:
    known: dict[str, Exercise | Question] = {**exercises(), **questions()}
    votes = [known[name].chapter for source in sources for name in _names(source) if name in known]
    return max(sorted(set(votes)), key=votes.count) if votes else ""


def _write(folder: Path, number: int, run: Run) -> None:
    """Write a plain copy whose kernel records into a folder of its own and works where the learner's file lies."""
    home, here = folder / f"{number:03}", run.path.resolve().parent
    first = f"import os\nos.environ['ATTENTION_LAB_HOME'] = {str(home)!r}\nos.chdir({str(here)!r})"
    cells = [nbformat.v4.new_code_cell(source) for source in (first, *run.cells)]
    for count, cell in enumerate(cells):
        cell["id"] = f"cell-{count}"
    book = nbformat.v4.new_notebook(
        cells=cells,
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    (folder / f"n{number:03}.ipynb").write_text(nbformat.writes(book), encoding="utf-8")


def _nbval(folder: Path, timeout: int) -> dict[int, dict[int, str]]:
    """Run the copies. Returns, by notebook and number of the learner's code cell, the first line of each failure."""
    report = folder / "report.xml"
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q", "-p", "no:cacheprovider"]
    command += [f"--nbval-cell-timeout={timeout}", "--continue-on-collection-errors", f"--junitxml={report}"]
    environment = {k: v for k, v in os.environ.items() if k not in ("ATTENTION_LAB_STRICT", "PYTEST_ADDOPTS")}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, str(folder)], cwd=folder, env=environment, capture_output=True, text=True, errors="replace"
    )
    if not report.exists():
        raise ValueError(f"nbval did not run: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    found: dict[int, dict[int, str]] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        place = re.search(r"n(\d{3})\b.*Cell (\d+)", f"{case.get('classname')} {case.get('name')}")
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        if place and failure is not None:
            found.setdefault(int(place.group(1)), {})[int(place.group(2)) - 1] = _headline(failure)
    return found


def _headline(failure: ElementTree.Element) -> str:
    """The last line of a traceback, without terminal colours."""
    text = re.sub(r"(\x1b|#x1B)\[[0-9;]*m", "", failure.text or failure.get("message") or "")
    if "Timeout" in text:
        return "it did not end within the time for one cell"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"\w*(Error|Exception|Interrupt|Exit)\b", line)]
    return (errors or lines or ["it failed"])[-1][:200]


def _report(run: Run, home: Path, failures: dict[int, str]) -> tuple[list[str], bool]:
    if run.fault:
        return [f"[unreadable] {run.path.name} {run.fault}"], False
    if not run.chapter:
        return ["[no exercise] no cell of it holds an exercise or a question of this course"], False
    lines, fine = [], True
    there = {name for source in run.cells for name in _names(source)}
    for name in names_of([run.chapter]):
        line, solved = _standing(name, home, name in there)
        lines.append(line)
        fine &= solved
    for index, headline in sorted(failures.items()):
        if not 0 <= index < len(run.cells) or _names(run.cells[index]):
            continue
        first = next((line for line in run.cells[index].splitlines() if line.strip()), "")
        lines.append(f"[failed]      the cell that begins with {first.strip()[:60]!r}: {headline}")
        fine = False
    return lines, fine


def _standing(name: str, home: Path, there: bool) -> tuple[str, bool]:
    try:
        kept = json.loads((home / "progress" / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        why = "its cell did not get as far as the check" if there else "no cell of this notebook holds it"
        return f"[not checked] {name}: {why}", False
    status = kept["status"].replace("_", " ").replace("passed", "solved")
    said = f": {kept['message']}" if status in ("wrong", "raised") else ""
    return f"{f'[{status}]':13} {name}{said}", status == "solved"

"""Run notebooks through nbval in a process of its own and read its report."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import nbformat

COURSE = Path(__file__).parents[2]
SOLUTIONS = sorted((COURSE / "solutions").glob("*.ipynb"))
CHAPTERS = [COURSE / "chapters" / path.name for path in SOLUTIONS]


def code(path: Path) -> list[nbformat.NotebookNode]:
    """The code cells of a notebook."""
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


@dataclass(frozen=True)
class Cell:
    """How one code cell fared: `outcome` is passed, failed or another word of pytest's; `text` is what it said."""

    notebook: str
    number: int
    outcome: str
    text: str


def nbval(paths: Sequence[Path], folder: Path, timeout: int = 300) -> list[Cell]:
    """Run notebooks under `--nbval-lax`, in one process; the report is written into `folder`."""
    report = folder / "report.xml"
    environment = {k: v for k, v in os.environ.items() if k not in ("ATTENTION_LAB_STRICT", "PYTEST_ADDOPTS")}
    environment |= {"PYTHONPATH": str(COURSE / "utils"), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval-lax",
        "--nbval-current-env",
        f"--nbval-cell-timeout={timeout}",
        "-q",
    ]
    command += ["-p", "no:cacheprovider", f"--junitxml={report}", *map(str, paths)]
    done = subprocess.run(command, cwd=COURSE, env=environment, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    return [_cell(case) for case in ElementTree.parse(report).getroot().iter("testcase")]


def _cell(case: ElementTree.Element) -> Cell:
    place = f"{case.get('classname')} {case.get('name')}"
    number = re.search(r"Cell (\d+)", place)
    notebook = re.search(r"(\d\d_\w+)", place)
    assert number and notebook, place
    parts = [part for part in case if part.tag in ("failure", "error", "skipped")]
    outcome = {"failure": "failed", "error": "failed"}.get(parts[0].tag, parts[0].tag) if parts else "passed"
    text = "".join(f"{part.get('message') or ''}\n{part.text or ''}" for part in parts)
    return Cell(notebook.group(1), int(number.group(1)), outcome, text)

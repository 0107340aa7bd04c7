"""Lint, form and types of the whole repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COURSE = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "command",
    [["ruff", "check", "."], ["ruff", "format", "--check", "utils", "tests", "course.py", "locks"], ["mypy"]],
    ids=" ".join,
)
def test_nothing_to_complain_about(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=COURSE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]

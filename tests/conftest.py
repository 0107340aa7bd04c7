"""What all tests share."""

from __future__ import annotations

import os

import pytest

# One thread, set before anything imports torch: with more, a busy machine of two cores spends its time spinning.
os.environ.setdefault("OMP_NUM_THREADS", "1")

#: Files whose tests take minutes. They begin first, so that neither of CI's two processes ends alone with one of them.
SLOW = (
    "test_nbval.py",
    "test_nbval_blanks.py",
    "test_chapters_in_browser.py",
    "test_explore_in_browser.py",
    "test_style.py",
    "test_nbgrader.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow files first; within a file, and among the others, the order stays."""
    items.sort(key=lambda item: SLOW.index(item.path.name) if item.path.name in SLOW else len(SLOW))

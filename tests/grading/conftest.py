"""One marker for all tests that need one; its workers are fresh for each submission anyway."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attention_lab.grading.marker import Marker
from attention_lab.grading.workers import Limits


@pytest.fixture(scope="session")
def marker() -> Iterator[Marker]:
    found = Marker(seed=20_260_101, limits=Limits(seconds=1, memory=512, processor=60))
    yield found
    found.close()


@pytest.fixture(scope="session")
def patient() -> Iterator[Marker]:
    """A marker for submissions that end by themselves, however busy the machine is."""
    found = Marker(seed=20_260_101, limits=Limits(seconds=60, memory=1024, processor=300))
    yield found
    found.close()


@pytest.fixture(scope="session")
def protected(marker: Marker) -> bool:
    """Whether everything that this machine could lack is in force."""
    return all(marker.force().values())

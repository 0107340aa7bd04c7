"""Each checkpoint is loaded once for all tests."""

from __future__ import annotations

import pytest
import torch

from attention_lab.models import SHIPPED, Loaded, load


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def lab() -> Loaded:
    return load()


@pytest.fixture(scope="session", params=SHIPPED)
def any_lab(request: pytest.FixtureRequest) -> Loaded:
    return load(request.param)

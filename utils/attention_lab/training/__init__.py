"""Committed, seeded training scripts, and the curves they measured. Reading the curves needs no torch."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def measured(name: str) -> dict[str, Any]:
    """What the script `attention_lab.training.<name>` measured, with its seed, steps, parameters and versions.

    Raises:
        FileNotFoundError: when that script has no stored curves.
    """
    return dict(json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8")))

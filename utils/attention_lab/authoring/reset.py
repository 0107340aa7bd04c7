"""A clean copy of a chapter; what was there is set aside and never overwritten."""

from __future__ import annotations

import datetime
import itertools
import os
from pathlib import Path

import nbformat

from attention_lab.authoring.build import chapters, learners_copy, read_source


def reset(course: Path, number: str) -> tuple[Path, Path | None]:
    """Put a clean copy of a chapter in place.

    Args:
        course: the course folder.
        number: of the chapter, "04" or "4".

    Returns:
        the clean notebook, and where the one before it is kept (None when there was none).

    Raises:
        ValueError: for a chapter that does not exist, or a folder that cannot be written.
    """
    (chapter,) = chapters(course, [number])
    clean = nbformat.writes(learners_copy(read_source(chapter))) + "\n"
    target, aside = chapter.learner, None
    fresh = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(exist_ok=True)
        fresh.write_text(clean, encoding="utf-8", newline="\n")
        if target.exists() or target.is_symlink():
            aside = _free_name(target)
            os.rename(target, aside)
        os.replace(fresh, target)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ValueError(f"{target.parent} cannot be written ({error.strerror}): make the folder writable") from error
    return target, aside


def _free_name(path: Path) -> Path:
    """A name beside `path` that nothing has."""
    stamp = datetime.datetime.now().strftime("%Y-%m-%d-%H%M")
    for count in itertools.count(1):
        name = path.with_name(f"{path.stem}.mine-{stamp}{'' if count == 1 else f'-{count}'}{path.suffix}")
        if not name.exists():
            return name
    raise AssertionError("unreachable")

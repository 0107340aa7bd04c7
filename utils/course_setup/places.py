"""Where things are: the checkout, the environment, the lock file and the log."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = sys.platform == "win32"


class Stop(Exception):
    """The set-up cannot go on; the text is one sentence that names the value and the mend."""


@dataclass(frozen=True)
class Place:
    """The folders of one set-up: `root` is the checkout, `state` holds the lock file and the log."""

    root: Path
    venv: Path
    state: Path

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / "Scripts" / "python.exe" if WINDOWS else self.venv / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """Written last: what is installed, once all of it is."""
        return self.venv / "attention-lab.json"

    @property
    def marker(self) -> Path:
        """Written first: this folder was made by course.py, which may therefore remove it."""
        return self.venv / "made-by-course.txt"

    @property
    def log(self) -> Path:
        """Everything that pip said."""
        return self.state / "setup.log"

    @property
    def lock(self) -> Path:
        """Held while the environment is being made."""
        return self.state / "setup.lock"

    @property
    def locks(self) -> Path:
        """The folder with the locked versions."""
        return self.root / "locks"

    @property
    def utils(self) -> Path:
        """The folder that the notebooks import from."""
        return self.root / "utils"

    @property
    def in_checkout(self) -> bool:
        """True when the environment is the checkout's own `.venv`."""
        return self.venv.parent == self.root


def choose(root: Path) -> Place:
    """The checkout's own `.venv`, or one in the user's cache folder when the checkout cannot be written to."""
    here = Place(root, root / ".venv", root / ".attention_lab")
    if here.stamp.exists() or can_write(root):
        return here
    folder = cache_folder() / hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(
            f"Neither {root} nor {folder} can be written to ({error.strerror}): "
            "copy the course to a folder of yours and start it there."
        ) from None
    return Place(root, folder / "venv", folder)


def can_write(folder: Path) -> bool:
    """True when a file can be made in `folder` (a full disk counts as writable: it has a sentence of its own)."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        return error.errno == errno.ENOSPC


def cache_folder() -> Path:
    """The user's cache folder for the course."""
    if WINDOWS:
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "attention-lab"

"""Is this machine ready for the course? One line for each part: `[ok]`, or `[fail]` with the mend.

Each check takes what it looks at as arguments and returns a `Finding`, so that a test can show it both ways.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from attention_lab.checking.progress import COURSE, home
from course_setup.requirements import declared, installed_version, unmet

GIGABYTE = 10**9
#: A kernel with torch, JupyterLab and a browser tab: below this much free memory the machine starts to swap.
MEMORY_NEEDED = 1.0 * GIGABYTE
DISK_NEEDED = 0.2 * GIGABYTE
#: Front-end parts that JupyterLab loads for the sliders, by the folder they are installed in.
WIDGET_PARTS = {"ipywidgets": "@jupyter-widgets/jupyterlab-manager", "anywidget": "anywidget"}
MEND_PACKAGES = "remove the folder {venv} and run `python3 course.py` again"


@dataclass(frozen=True)
class Finding:
    """One line of the doctor: what was looked at, and the mend where it is not as it should be."""

    good: bool
    text: str
    mend: str = ""

    def line(self) -> str:
        """The line as it is printed."""
        return f"[ok]   {self.text}" if self.good else f"[fail] {self.text}: {self.mend}"


def run(out: Callable[[str], None] = print) -> int:
    """Print every finding. Returns 0 when all is well, 1 otherwise."""
    bad = 0
    for check in checks():
        finding = check()
        out(finding.line())
        bad += not finding.good
    out("This machine is ready." if not bad else f"{bad} of {len(checks())} parts need a mend.")
    return 1 if bad else 0


def checks() -> list[Callable[[], Finding]]:
    """Every check on this machine, in the order in which one would mend."""
    import psutil
    from jupyter_core.paths import jupyter_path

    return [
        lambda: python_version((sys.version_info.major, sys.version_info.minor)),
        packages,
        lambda: kernel(ask_kernel),
        lambda: widgets([Path(folder) for folder in jupyter_path("labextensions")]),
        lambda: writable("the chapters", COURSE / "chapters"),
        lambda: writable("your progress", home()),
        lambda: memory(psutil.virtual_memory().available),
        lambda: disk(existing(home()), shutil.disk_usage(existing(home())).free),
    ]


def python_version(version: tuple[int, int]) -> Finding:
    """Whether `version`, for example (3, 12), is one that the course supports."""
    text = f"Python {version[0]}.{version[1]}"
    return Finding((3, 11) <= version <= (3, 13), text, "start the course with Python 3.11, 3.12 or 3.13")


def packages() -> Finding:
    """Installed packages: against the lock in an environment that course.py made, against the ranges elsewhere."""
    if (Path(sys.prefix) / "attention-lab.json").exists():
        return locked_packages(locked(COURSE / "locks" / "course.txt"), installed_version)
    return ranged_packages(declared(COURSE / "pyproject.toml"), installed_version)


def locked(path: Path) -> list[Requirement]:
    """The lines of a lock that apply to this Python and system."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    requirements = map(Requirement, lines)
    return [requirement for requirement in requirements if not requirement.marker or requirement.marker.evaluate()]


def locked_packages(wanted: list[Requirement], version_of: Callable[[str], str | None]) -> Finding:
    """Whether every locked version is the installed one."""
    wrong = unmet(wanted, version_of)
    text = (
        f"{len(wanted)} packages as locked"
        if not wrong
        else f"{len(wrong)} packages differ from the lock, {some(wrong)}"
    )
    return Finding(not wrong, text, MEND_PACKAGES.format(venv=sys.prefix))


def ranged_packages(wanted: list[Requirement], version_of: Callable[[str], str | None]) -> Finding:
    """Whether every requirement of pyproject.toml is met."""
    wrong = unmet(wanted, version_of)
    text = f"{len(wanted)} requirements met" if not wrong else f"{len(wrong)} requirements not met, {some(wrong)}"
    return Finding(not wrong, text, "make the environment anew, with `python3 course.py` or from environment.yml")


def some(lines: list[str]) -> str:
    """The first three of `lines`."""
    return "; ".join(lines[:3]) + ("; …" if len(lines) > 3 else "")


def kernel(ask: Callable[[], str]) -> Finding:
    """Whether a kernel starts and answers; `ask` returns what it answered to "6 * 7"."""
    mend = MEND_PACKAGES.format(venv=sys.prefix)
    try:
        answer = ask()
    except Exception as error:  # whatever stops a kernel is a finding, not a crash of the doctor
        return Finding(False, f"no kernel starts ({type(error).__name__}: {error})", mend)
    if answer != "42":
        return Finding(False, f"the kernel answered {answer!r} to 6 * 7", mend)
    return Finding(True, "a kernel starts and answers")


def ask_kernel(timeout: float = 90.0) -> str:
    """Start the kernel that notebooks use (`python3`), let it compute 6 * 7, end it, and return its answer."""
    from jupyter_client.manager import start_new_kernel

    answers: list[str] = []

    def listen(message: dict) -> None:
        if message["msg_type"] == "execute_result":
            answers.append(message["content"]["data"]["text/plain"])

    manager, client = start_new_kernel(startup_timeout=timeout, kernel_name="python3", stderr=subprocess.DEVNULL)
    try:
        client.execute_interactive("6 * 7", timeout=timeout, output_hook=listen)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return answers[0] if answers else ""


def widgets(folders: Iterable[Path]) -> Finding:
    """Whether JupyterLab finds the front-end parts of the sliders in one of its `labextensions` folders."""
    found = list(folders)
    lacking = [name for name, part in WIDGET_PARTS.items() if not any(is_part(folder / part) for folder in found)]
    if lacking:
        text = f"JupyterLab does not find the front end of {' and '.join(lacking)}, sliders stay blank"
        return Finding(False, text, MEND_PACKAGES.format(venv=sys.prefix))
    return Finding(True, "sliders: JupyterLab finds their front end")


def is_part(folder: Path) -> bool:
    """True when `folder` is a JupyterLab extension whose script is there."""
    try:
        description = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        return (folder / description["jupyterlab"]["_build"]["load"]).exists()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def writable(what: str, folder: Path) -> Finding:
    """Whether a file can be written where `what` is kept."""
    text = f"{what} in {folder}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return Finding(True, f"{text} can be written")
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding(False, f"{text} cannot be written ({reason})", "copy the course to a folder of yours")


def existing(folder: Path) -> Path:
    """`folder`, or its nearest parent that exists."""
    return folder if os.path.isdir(folder) else existing(folder.parent)


def memory(available: float) -> Finding:
    """Whether `available` bytes of memory are enough."""
    text = f"{available / GIGABYTE:.1f} GB of memory free"
    return Finding(available >= MEMORY_NEEDED, text, f"close programs until {MEMORY_NEEDED / GIGABYTE:.0f} GB are free")


def disk(folder: Path, free: float) -> Finding:
    """Whether `free` bytes on the disk of `folder` are enough."""
    text = f"{free / GIGABYTE:.1f} GB of disk free for {folder}"
    return Finding(free >= DISK_NEEDED, text, f"free some: {DISK_NEEDED / GIGABYTE:.1f} GB are needed")

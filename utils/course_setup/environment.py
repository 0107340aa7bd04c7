"""Is the environment sound? If not, make it or mend it, one start at a time."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_setup import installing
from course_setup.installing import pip_install, run_logged, say
from course_setup.places import WINDOWS, Place, Stop

if sys.platform == "win32":  # spelled out, so that a type checker follows
    import msvcrt
else:
    import fcntl

LAYOUT = 1  # of the stamp; another number means: made by another version of this file, make it anew
GIGABYTE = 10**9
NEEDED = 2.5 * GIGABYTE
NEEDED_WITH_GPU = 12 * GIGABYTE


@dataclass(frozen=True)
class Wanted:
    """What a command needs: lock files by name, and whether torch should be the GPU build."""

    locks: tuple[str, ...] = ("course.txt",)
    gpu: bool = False


def prepare(place: Place, wanted: Wanted) -> None:
    """Leave a sound environment behind, whatever was there before. Raises `Stop` with one sentence."""
    if is_sound(place, wanted):
        return
    state_folder(place)
    with locked(place) as hold:
        if is_sound(place, wanted):  # another start made it while this one waited
            return
        started = time.monotonic()
        place.log.write_text("", encoding="utf-8")
        if not can_be_mended(place):
            make(place, wanted, hold)
        fill(place, wanted, hold)
        say(f"The environment is ready ({time.monotonic() - started:.0f} s).")


def state_folder(place: Place) -> None:
    """Make the folder of the lock file and the log."""
    try:
        place.state.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Stop(f"{place.state} cannot be made ({error.strerror}): move it away and start again.") from None


# ---------------------------------------------------------------- what is there


def is_sound(place: Place, wanted: Wanted) -> bool:
    """True when everything that is wanted stands, and its interpreter runs."""
    stamp = read_stamp(place)
    installed = stamp.get("locks", {})
    return (
        stamp.get("layout") == LAYOUT
        and stamp.get("platform") == machine()
        and all(installed.get(name) == digest(place.locks / name) for name in wanted.locks)
        and bool(stamp.get("gpu") or not wanted.gpu)
        and running_version(place.python) == stamp.get("python")
    )


def can_be_mended(place: Place) -> bool:
    """True when packages can be installed into what is there; False when it has to be made anew.

    An environment of ours without a stamp was interrupted: half-installed packages look installed to pip, so it goes.
    One that somebody else made is filled, and never removed.
    """
    version = running_version(place.python)
    if read_stamp(place):
        stamp = read_stamp(place)
        return stamp.get("layout") == LAYOUT and stamp.get("platform") == machine() and version == stamp.get("python")
    if place.marker.exists() or not place.venv.exists() or not any(place.venv.iterdir()):
        return False
    if version is None or not supported(version):
        raise Stop(
            f"{place.venv} was not made by course.py and has no Python that fits ({version or 'none that runs'}): "
            "move that folder away and start again."
        )
    return True


def supported(version: str) -> bool:
    """True for "3.11" to "3.13"; course.py has refused every other Python, so the running one belongs to these."""
    return version in ("3.11", "3.12", "3.13")


def read_stamp(place: Place) -> dict[str, Any]:
    """What the stamp says, or nothing when there is none or it cannot be read."""
    try:
        stamp = json.loads(place.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(place: Place, stamp: dict[str, Any]) -> None:
    """Write the stamp in one step, so that it is whole or not there."""
    fresh = place.stamp.with_suffix(".new")
    fresh.write_text(json.dumps(stamp, indent=1), encoding="utf-8")
    os.replace(fresh, place.stamp)


def digest(path: Path) -> str:
    """A hash of a file's lines (line ends do not count)."""
    try:
        return hashlib.sha256(b"\n".join(path.read_bytes().splitlines())).hexdigest()
    except FileNotFoundError:
        raise Stop(f"{path} is missing: get a whole copy of the course (`git checkout -- locks`).") from None


def machine() -> str:
    """System and processor, for example `linux-x86_64`."""
    return f"{sys.platform}-{platform.machine()}"


def running_version(python: Path) -> str | None:
    """The version that an interpreter itself reports ("3.11"), or None when it does not run (its base was removed)."""
    command = [str(python), "-I", "-S", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


# ---------------------------------------------------------------- make and fill


def make(place: Place, wanted: Wanted, hold: int | None) -> None:
    """A new, empty environment. Needs room on the disk and Python's own `venv`."""
    check_modules()
    remove(place)
    check_room(place.venv.parent, NEEDED_WITH_GPU if wanted.gpu else NEEDED)
    say(f"Setting up the course in {place.venv} (once; a few hundred MB to fetch). The log is {place.log}")
    place.venv.mkdir(parents=True, exist_ok=True)
    place.marker.write_text("course.py made this folder and may remove it.\n", encoding="utf-8")
    base = getattr(sys, "_base_executable", None) or sys.executable
    try:
        for _ in run_logged([base, "-m", "venv", str(place.venv)], place, hold):
            pass
    except subprocess.CalledProcessError:
        said = place.log.read_text(encoding="utf-8", errors="replace")
        if installing.NO_SPACE.search(said):
            raise Stop(installing.explain(said, 1, place)) from None
        if "ensurepip" in said:
            raise Stop(no_venv("ensurepip")) from None
        raise Stop(f"Python could not make an environment in {place.venv}: what it said is in {place.log}.") from None


def check_modules(find: Callable[[str], object] = importlib.util.find_spec) -> None:
    """Stop when Python comes without the parts that make an environment (Debian and Ubuntu split them off)."""
    for name in ("venv", "ensurepip"):
        if find(name) is None:
            raise Stop(no_venv(name))


def no_venv(name: str) -> str:
    """The sentence for a Python without `venv` or `ensurepip`."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return (
        f"Python {version} on this machine has no `{name}` module: "
        f"on Debian and Ubuntu `sudo apt install python{version}-venv`, elsewhere install Python from python.org."
    )


def check_room(folder: Path, needed: float) -> None:
    """Stop when the disk has less room than the environment takes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Stop(
            f"The course needs {needed / GIGABYTE:.1f} GB of disk space, and {folder} has {free / GIGABYTE:.1f} GB: "
            "free some, or move the course to another disk."
        )


def remove(place: Place) -> None:
    """Remove an environment of ours that cannot be used."""
    if not place.venv.exists() and not place.venv.is_symlink():
        return
    if place.marker.exists():
        say(f"The environment in {place.venv} is unfinished or does not fit any more: making it anew.")
    try:
        if place.venv.is_symlink():
            place.venv.unlink()
        else:
            shutil.rmtree(place.venv)
    except OSError as error:
        raise Stop(
            f"{place.venv} is half-made and cannot be removed ({error.strerror}): close JupyterLab and other programs "
            "that use it, then start again."
        ) from None


def fill(place: Place, wanted: Wanted, hold: int | None) -> None:
    """Install what the locks say, put the package on the path, and write the stamp."""
    stamp = read_stamp(place)
    gpu = bool(wanted.gpu or stamp.get("gpu"))
    names = sorted({*wanted.locks, *stamp.get("locks", {})} & {path.name for path in place.locks.glob("*.txt")})

    def changing() -> None:
        place.stamp.unlink(missing_ok=True)

    install_locks(place, names, gpu, hold, changing)
    if gpu and not stamp.get("gpu"):
        install_gpu_torch(place, names, bool(stamp), hold, changing)
    if torch_pin(place, names):
        say("  checking that torch starts")
        if problem := installing.torch_problem(place):
            raise Stop(problem)
    put_on_path(place)
    write_stamp(
        place,
        {
            "layout": LAYOUT,
            "python": running_version(place.python),
            "platform": machine(),
            "gpu": gpu,
            "locks": {name: digest(place.locks / name) for name in names},
        },
    )


def install_locks(place: Place, names: list[str], gpu: bool, hold: int | None, changing: Callable[[], None]) -> None:
    """Install the locked versions; the locks are complete, so pip resolves nothing."""
    options = ["--no-deps"]
    for name in names:
        options += ["-r", str(place.locks / name)]
    if sys.platform == "linux" and not gpu and torch_pin(place, names) and "PIP_NO_INDEX" not in os.environ:
        if index := installing.cpu_index():
            options += ["--extra-index-url", index]
        else:
            say("PyTorch's index of CPU builds does not answer; torch comes from pip's usual index.")
    pip_install(place, options, hold, changing)


def install_gpu_torch(
    place: Place, names: list[str], replace: bool, hold: int | None, changing: Callable[[], None]
) -> None:
    """The GPU build's companions, and with `replace` the build itself in the CPU build's place (Linux; untested)."""
    if sys.platform != "linux":
        say("--gpu is for Linux: on macOS torch uses the GPU already, on Windows see pytorch.org for a CUDA build.")
        return
    torch = torch_pin(place, names)
    if torch and replace:
        pip_install(place, ["--no-deps", "--force-reinstall", torch], hold, changing)
    if torch:
        pip_install(place, [torch], hold, changing)


def torch_pin(place: Place, names: list[str]) -> str:
    """The line of the locks that names torch, or an empty text."""
    for name in names:
        for line in (place.locks / name).read_text(encoding="utf-8").splitlines():
            if line.startswith("torch=="):
                return line.partition(";")[0].strip()
    return ""


def put_on_path(place: Place) -> None:
    """A `.pth` file that leads from the environment to utils/: relative, so that the folder may move.

    The text has to be ASCII, because Python reads it in the machine's own encoding; where that is impossible the
    children get PYTHONPATH (see start.py) and the file is left out.
    """
    site = site_packages(place)
    leads_to = os.path.relpath(os.path.realpath(place.utils), os.path.realpath(site))
    if leads_to.isascii():
        (site / "attention-lab.pth").write_text(leads_to + "\n", encoding="ascii")


def site_packages(place: Place) -> Path:
    """The environment's folder of packages."""
    found = sorted(place.venv.glob("Lib/site-packages" if WINDOWS else "lib/python3*/site-packages"))
    if not found:
        raise Stop(f"{place.venv} has no site-packages folder: remove {place.venv} and start again.")
    version = running_version(place.python)
    return next((path for path in found if path.parent.name == f"python{version}"), found[0])


# ---------------------------------------------------------------- one start at a time


@contextmanager
def locked(place: Place) -> Iterator[int | None]:
    """Hold the set-up's lock; wait while another start holds it. The system frees it when its holder ends."""
    with open(place.lock, "a+b") as file:
        waiting = False
        while not try_lock(file.fileno()):
            if not waiting:
                say("Another start is setting up the course: waiting for it.")
                waiting = True
            time.sleep(0.3)
        yield file.fileno()


def try_lock(descriptor: int) -> bool:
    """True when the lock is ours now (or when this file system has no locks, which is no reason to stop)."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True

"""The command line of `course.py`: what was asked for, a sound environment, and handing over to it."""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from course_setup import environment, places
from course_setup.environment import Wanted
from course_setup.installing import clean_environment, say
from course_setup.places import WINDOWS, Stop

FIRST_CHAPTER = Path("chapters", "00_start_here.ipynb")

# Every command but `test` is handed to attention_lab.cli; the names stand here too, so that --help and a typing error
# are answered before there is an environment.
COMMANDS = {
    "check": "run your chapters and say, exercise by exercise, what is solved: check 03 04",
    "progress": "where you are",
    "reset": "a clean copy of a chapter; yours is set aside: reset 03",
    "doctor": "is this machine ready? a line for each part, with the mend",
    "models": "which models are on this machine; `models add smollm2` fetches a real one, once",
    "grade": "mark a folder of notebooks: grade FOLDER --out OUT",
    "export": "chapters for another tool (export nbgrader DIR), or one as a live page (export html NN)",
    "test": "run the tests (what follows is passed on to pytest)",
    "mistakes": "for authors: how many mistakes each exercise recognises",
    "build": "for authors: write the notebooks from solutions/*.py; `--check` compares",
    "train": "for authors: train a stored model anew",
}


@dataclass
class Request:
    """What the person asked for; an empty command opens JupyterLab."""

    command: str = ""
    rest: list[str] = field(default_factory=list)
    gpu: bool = False
    browser: bool = True
    port: int | None = None


def main(arguments: list[str], root: Path = places.ROOT) -> int:
    """Exit code of one call of `course.py`; failures are one sentence and exit code 2."""
    try:
        return run(parse(arguments), root)
    except Stop as stop:
        say(str(stop))
        return 2
    except KeyboardInterrupt:
        say("\nStopped. Start again with the same command: it carries on from what was fetched.")
        return 130
    except OSError as error:
        say(system_sentence(error))
        return 2


def system_sentence(error: OSError) -> str:
    """One sentence for a failure of the file system that nothing else has named."""
    where = f"{error.filename}: " if error.filename else ""
    mend = "free some disk space" if error.errno == errno.ENOSPC else "see to it"
    return f"{where}{error.strerror or error}: {mend} and start again."


def parse(arguments: list[str]) -> Request:
    """Read the command line. Options before a command are ours, all that follows it is the command's own."""
    ours, theirs = split(arguments)
    options = parser().parse_args(ours)
    request = Request(gpu=options.gpu, browser=not options.no_browser, port=options.port)
    if theirs and theirs[0] == "--":
        request.rest = theirs[1:]
    elif theirs:
        request.command, request.rest = theirs[0], theirs[1:]
        check_command(request.command)
    return request


def split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The leading options, and the rest from the command (or `--`) on."""
    here = 0
    while here < len(arguments) and arguments[here].startswith("-") and arguments[here] != "--":
        here += 2 if arguments[here] == "--port" else 1
    return arguments[:here], arguments[here:]


def check_command(name: str) -> None:
    """Stop at a command that does not exist, before anything is made for it."""
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        guess = f"did you mean `{near[0]}`?" if near else "`python3 course.py --help` lists them."
        raise Stop(f"There is no command `{name}`: {guess}")


def parser() -> argparse.ArgumentParser:
    """Our own options and the text of --help."""
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name.ljust(width)}  {text}" for name, text in COMMANDS.items())
    made = argparse.ArgumentParser(
        prog="course.py",
        usage="python3 course.py [--gpu] [--no-browser] [--port N] [COMMAND ...] [-- JUPYTER ARGUMENTS]",
        description="Opens the course in JupyterLab. The first start sets up its own environment (.venv) and needs a "
        "network; later ones do not.",
        epilog=f"commands:\n{listed}\n\n`python3 course.py COMMAND --help` says more about one.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--gpu", action="store_true", help="Linux: install the GPU build of torch (several GB)")
    made.add_argument("--no-browser", action="store_true", help="start JupyterLab and print its address only")
    made.add_argument("--port", type=int, metavar="N", help="JupyterLab's port (otherwise a free one from 8888)")
    return made


def run(request: Request, root: Path) -> int:
    """Make sure of an environment, then hand over to it."""
    locks = ("course.txt", "test.txt") if request.command == "test" else ("course.txt",)
    conda = None if request.gpu else active_conda(root, ["test"] if request.command == "test" else [])
    if conda:
        python, on_path = conda, True
    else:
        place = places.choose(root)
        if not place.in_checkout and not place.venv.exists():
            say(f"{root} cannot be written to: the environment goes to {place.venv} instead.")
        environment.prepare(place, Wanted(locks, request.gpu))
        python, on_path = place.python, not place.in_checkout
    environ = child_environment(root, on_path)
    if not request.command:
        return hand_over([str(python), *jupyter(request, root)], environ, root)
    if request.command == "test":
        return hand_over([str(python), "-m", "pytest", *from_root(request.rest, Path.cwd(), root)], environ, root)
    return hand_over([str(python), "-m", "attention_lab.cli", request.command, *request.rest], environ, Path.cwd())


def active_conda(root: Path, extras: list[str]) -> Path | None:
    """The interpreter of the active conda environment when it holds what pyproject.toml asks for, otherwise None."""
    prefix = os.environ.get("CONDA_PREFIX")
    if not prefix:
        return None
    python = Path(prefix) / ("python.exe" if WINDOWS else "bin/python")
    command = [str(python), "-m", "course_setup.requirements", str(root / "pyproject.toml"), *extras]
    environ = child_environment(root, on_path=True)
    try:
        asked = subprocess.run(command, env=environ, capture_output=True, text=True, errors="replace", timeout=120)
    except (OSError, subprocess.SubprocessError):
        return None
    if asked.returncode == 0:
        return python
    if os.environ.get("CONDA_DEFAULT_ENV", "base") != "base":
        missing = asked.stdout.strip().replace("\n", ", ") or "packages that the course needs"
        say(f"The active conda environment {prefix} lacks {missing}: using .venv instead.")
    return None


def child_environment(root: Path, on_path: bool) -> dict[str, str]:
    """Variables for the children: our JupyterLab settings, and utils/ on the path where no `.pth` file leads there."""
    environ = clean_environment()
    ours = str(root / "utils" / "course_setup" / "jupyter")
    more = environ.get("JUPYTER_CONFIG_PATH")
    environ["JUPYTER_CONFIG_PATH"] = ours + os.pathsep + more if more else ours
    environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this environment's kernel, not one of the same name in the home folder
    if on_path:
        environ["PYTHONPATH"] = str(root / "utils")
    return environ


def jupyter(request: Request, root: Path) -> list[str]:
    """Arguments of Python that start JupyterLab on the first chapter."""
    arguments = ["-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    if not request.browser:
        arguments.append("--no-browser")
    if request.port is not None:
        arguments.append(f"--ServerApp.port={request.port}")
    if not WINDOWS and os.geteuid() == 0:
        arguments.append("--allow-root")
    if (root / FIRST_CHAPTER).exists():
        arguments.append(str(FIRST_CHAPTER))
    return arguments + request.rest


def from_root(arguments: list[str], folder: Path, root: Path) -> list[str]:
    """pytest runs in the root; a path that was given relative to `folder` is made absolute."""
    if folder == root:
        return arguments
    made = []
    for argument in arguments:
        path, colons, name = argument.partition("::")
        inside = not argument.startswith("-") and (folder / path).exists()
        made.append(f"{folder / path}{colons}{name}" if inside else argument)
    return made


def hand_over(command: list[str], environ: dict[str, str], folder: Path) -> int:
    """Become `command` (on Windows: wait for it); its exit code is ours."""
    sys.stdout.flush()
    sys.stderr.flush()
    if not WINDOWS:
        os.chdir(folder)
        os.execve(command[0], command, environ)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the child's
    try:
        return subprocess.run(command, env=environ, cwd=folder).returncode
    finally:
        signal.signal(signal.SIGINT, before)

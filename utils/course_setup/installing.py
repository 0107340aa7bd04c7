"""Run pip with progress that moves, keep all it says in a log, and turn its failures into sentences."""

from __future__ import annotations

import os
import platform
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO
from urllib.request import urlopen

from course_setup.places import WINDOWS, Place, Stop

# PyTorch's own index of CPU builds, used on Linux, where the usual index has the GPU build (several GB).
# This path has not been tested against the real index; where it does not answer, the set-up goes on without it.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"

NO_NETWORK = re.compile(
    r"Failed to establish a new connection|NewConnectionError|Max retries exceeded|name resolution|getaddrinfo failed"
    r"|nodename nor servname|Name or service not known|Network is unreachable|No route to host|Connection refused"
    r"|Connection reset|Connection aborted|ConnectTimeout|ReadTimeout|[Rr]ead timed out|ProxyError|IncompleteRead"
    r"|ProtocolError|RemoteDisconnected"
)
NO_SPACE = re.compile(r"No space left on device|Errno 28\b|Disk quota exceeded|not enough space on the disk")
CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED|certificate verify failed")
HOST = re.compile(
    r"host='([^']+)'|Looking in indexes: \w+://(?:[^@/\s]*@)?([^:/,\s]+)"
)  # never a password in an address
NO_BUILD = re.compile(r"No matching distribution found for ([^\s;]+)")
COLLECTING = re.compile(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)")
DOWNLOADING = re.compile(r"\s*Downloading (?:\S+/)?([\w.]+)-(\d[\w.+!]*)-\S+ \(([\d.]+ [kMG]B)\)")


def say(text: str) -> None:
    """One line to the person, on standard error, so that a command's own output stays clean."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """One line that moves on a terminal; elsewhere a new line when the phase changes and every 10 seconds."""

    def __init__(self, out: IO[str] = sys.stderr, clock: Callable[[], float] = time.monotonic) -> None:
        self.out, self.clock = out, clock
        self.started = self.last = clock()
        self.phase = ""
        self.width = 0

    def show(self, phase: str, text: str) -> None:
        """Say where the work is: `phase` is a word, `text` the rest of the line."""
        seconds = self.clock() - self.started
        line = f"  {phase} {text} ({seconds:.0f} s)"
        if self.out.isatty():
            line = line[: max(20, terminal_width() - 1)]
            self.out.write("\r" + line.ljust(self.width))
            self.out.flush()
            self.width = len(line)
        elif phase != self.phase or self.clock() - self.last >= 10:
            self.out.write(line + "\n")
            self.out.flush()
            self.last = self.clock()
        self.phase = phase

    def close(self) -> None:
        """Leave the moving line behind."""
        if self.width:
            self.out.write("\r" + " " * self.width + "\r")
            self.out.flush()
            self.width = 0


def terminal_width() -> int:
    """Columns of the terminal that standard error writes to."""
    try:
        return os.get_terminal_size(2).columns
    except OSError:
        return 80


def clean_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for Python children: another project's paths and a global `pip --user` stay out."""
    kept = {name: value for name, value in environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return kept | {"PIP_USER": "0", "PYTHONIOENCODING": "utf-8"}


def run_logged(command: list[str], place: Place, hold: int | None = None) -> Iterator[str | None]:
    """Run `command`, copy what it prints to the log and yield it line by line, with None twice a second as a tick.

    `hold` is a file descriptor that the child keeps open: the set-up's lock stays taken while pip lives, even when
    this process is killed. Raises `CalledProcessError` when the command fails.
    """
    lines: queue.Queue[str | None] = queue.Queue()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=clean_environment(),
        pass_fds=() if hold is None or WINDOWS else (hold,),
    )
    threading.Thread(target=copy_lines, args=(process.stdout, lines), daemon=True).start()
    try:
        with open(place.log, "a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            while True:
                try:
                    line = lines.get(timeout=0.5)
                except queue.Empty:
                    yield None
                    continue
                if line is None:
                    break
                log.write(line)
                log.flush()
                yield line
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, command)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def copy_lines(source: IO[str], lines: queue.Queue[str | None]) -> None:
    """Put each line of `source` into `lines`, then None."""
    with source:
        for line in source:
            lines.put(line)
    lines.put(None)


def pip_install(place: Place, options: list[str], hold: int | None, on_change: Callable[[], None]) -> None:
    """`pip install OPTIONS` in the environment; `on_change` is called before pip changes anything that is installed."""
    command = [str(place.python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "--retries", "2", "--no-warn-script-location", *options]
    start = place.log.stat().st_size if place.log.exists() else 0
    progress = Progress()
    seen: list[str] = []
    total = locked_count(options)
    big, to_install, before = "", 0, 0
    try:
        for line in run_logged(command, place, hold):
            if line and (match := COLLECTING.match(line)):
                seen.append(match[1])
                big = ""
            elif line and line.startswith("Ignoring "):  # a package that another system needs
                total -= 1
            elif line and (match := DOWNLOADING.match(line)):
                big = f" {match[2]}, {match[3]}"
            elif line and line.startswith("Installing collected packages:"):
                on_change()
                to_install, before = line.count(",") + 1, installed_count(place)
            if to_install:
                done = max(0, min(to_install, installed_count(place) - before))
                progress.show("installing", f"{done} of {to_install} packages")
            elif seen:
                progress.show("fetching", f"package {len(seen)} of {max(total, len(seen))}: {seen[-1]}{big}")
    except subprocess.CalledProcessError as error:
        with open(place.log, "rb") as log:
            log.seek(start)
            said = log.read().decode("utf-8", "replace")
        progress.close()
        raise Stop(explain(said, error.returncode, place)) from None
    finally:
        progress.close()


def locked_count(options: list[str]) -> int:
    """How many packages the lock files in pip's `options` name."""
    files = [Path(value) for option, value in zip(options, options[1:], strict=False) if option == "-r"]
    return sum(1 for file in files for line in file.read_text(encoding="utf-8").splitlines() if "==" in line)


def installed_count(place: Place) -> int:
    """How many distributions the environment holds."""
    folder = "Lib" if WINDOWS else "lib/*"
    return sum(1 for _ in place.venv.glob(f"{folder}/site-packages/*.dist-info"))


def explain(said: str, code: int, place: Place, environ: Mapping[str, str] = os.environ) -> str:
    """One sentence for a failed pip: what it met, and the mend."""
    again = "run the same command again (what was fetched is kept)"
    if NO_SPACE.search(said):
        return f"The disk is full, and the packages are not all in {place.venv} yet: free some space, then {again}."
    if CERTIFICATE.search(said):
        return (
            "pip does not trust the certificate of the package index (a company's proxy?): "
            f"set PIP_CERT to your company's certificate file, then {again}."
        )
    if NO_NETWORK.search(said):
        host = match[1] or match[2] if (match := HOST.search(said)) else "its package index"
        return f"No network: pip could not reach {host}. Connect to the internet, then {again}."
    if match := NO_BUILD.search(said):
        return no_build(match[1], environ)
    if code < 0:
        return f"pip was ended by signal {-code} (9 often means: out of memory). Close other programs, then {again}."
    errors = re.findall(r"^ERROR: (.+)$", said, flags=re.MULTILINE)
    reason = errors[-1].rstrip(".") if errors else f"exit code {code}"
    return f"pip could not install the packages ({reason}): all it said is in {place.log}."


def no_build(package: str, environ: Mapping[str, str]) -> str:
    """The sentence for a package that pip finds no build of."""
    machine = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if environ.get("PIP_NO_INDEX", "0").lower() not in ("", "0", "false", "no"):
        return f"pip found no {package}, because PIP_NO_INDEX keeps it from its index: unset it and start again."
    return (
        f"There is no build of {package} for {machine}: use another supported Python, "
        "or conda (`conda env create -f environment.yml`, `conda activate attention-lab`, then start again)."
    )


def cpu_index(timeout: float = 5.0, url: str = CPU_INDEX) -> str | None:
    """The address of PyTorch's CPU index when it answers within `timeout` seconds, otherwise None.

    The question is asked in a thread, because looking up a host's name has no time-out of its own.
    """
    answers: list[bool] = []

    def ask() -> None:
        try:
            with urlopen(f"{url}/torch/", timeout=timeout) as answer:
                answers.append(answer.status == 200)
        except (OSError, ValueError):
            answers.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(timeout)
    return url if answers == [True] else None


def torch_problem(place: Place) -> str:
    """An empty text when torch can be imported in the environment, otherwise one sentence with the mend."""
    command = [str(place.python), "-I", "-c", "import torch"]
    outcome = subprocess.run(command, capture_output=True, text=True, errors="replace", env=clean_environment())
    if outcome.returncode == 0:
        return ""
    with open(place.log, "a", encoding="utf-8") as log:
        log.write(outcome.stderr)
    return explain_torch(outcome.stderr, outcome.returncode)


def explain_torch(said: str, code: int) -> str:
    """One sentence for a torch that was installed and cannot be imported."""
    if re.search(r"libcu|libnv|libnccl|nvidia|cudnn|cuda|nvrtc", said, flags=re.IGNORECASE):
        return (
            f"pip found the GPU build of torch, which does not run without its GPU libraries, because {CPU_INDEX} did "
            "not answer: allow that address, or start with --gpu (several GB)."
        )
    if re.search(r"DLL load failed|WinError 126|vcruntime|c10\.dll", said, flags=re.IGNORECASE):
        return (
            "torch needs Microsoft's Visual C++ runtime: install `vc_redist` for your processor from "
            "https://aka.ms/vs/17/release/vc_redist.x64.exe, then start again."
        )
    lines = said.strip().splitlines()
    reason = lines[-1] if lines else f"exit code {code}"
    return f"torch was installed and cannot be imported ({reason}): use conda with environment.yml on this machine."

"""The fork server: loads NumPy (and torch where chapters need it) once, then gives each submission its own process.

Run as a script, in isolated mode, by the marker. It loads the few modules of the course that calling needs and none
that knows an answer: packages are made here as empty shells, so no `__init__` of the course runs.

Control, over the socket whose descriptor is the first argument:
    a frame of settings, once; answered with a frame when everything is loaded
    b"F" with two descriptors: fork a worker on these pipes; answered with its process id (4 bytes)
    b"R" and a process id: collect an ended worker; answered with its status (4 bytes)
With `--alone` there is no fork: settings and requests come from standard input, replies go to standard output.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import socket
import struct
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

_PLAIN = ("attention_lab.lesson", "attention_lab.sentences")
_CALLING = ("attention_lab.grading.sandboxed.wire", "attention_lab.grading.sandboxed.child")
_LATE = ("numpy.linalg", "numpy.random", "numpy.testing", "numpy.fft", "numpy.polynomial", "numpy.ma", "unittest.mock")


def _load() -> dict[str, ModuleType]:
    """Import what calling needs under the course's names, and take the names away again."""
    root = Path(__file__).resolve().parents[2]
    for name in ("attention_lab", *(f"attention_lab.{part}" for part in ("exercises", "checking", "grading"))):
        shell = ModuleType(name)
        shell.__path__ = [str(root.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = shell
    loaded = {}
    for name in (*_PLAIN, *_CALLING):
        try:
            loaded[name] = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    for name in [n for n in sys.modules if n.split(".")[0] == "attention_lab"]:
        del sys.modules[name]
    return loaded


def _prepare(settings: dict[str, Any], loaded: dict[str, ModuleType]) -> tuple[Any, int | None, tuple[Any, Any]]:
    """Load libraries, put the stand-ins in place, make the ruleset; gives `child`, the ruleset, what `main` needs."""
    child = loaded["attention_lab.grading.sandboxed.child"]
    for name in _LATE:
        importlib.import_module(name)
    if settings["torch"]:
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
    tempfile.tempdir = "/nonexistent"  # so that nobody looks for a folder that can be written
    answers: list[tuple[str, Any]] = []
    standins = _standins()
    standins.install({n: loaded[n] for n in _PLAIN if n in loaded}, _Answer(answers))
    hidden = [Path(path) for path in settings["hidden"]]
    sys.path[:] = [p for p in sys.path if p != str(Path(__file__).parent)]
    ruleset = child.lockdown.ruleset(child.lockdown.readable_folders(), hidden)
    return child, ruleset, (answers, child.prepare(answers))


def _standins() -> Any:
    spec = importlib.util.spec_from_file_location("standins", Path(__file__).with_name("standins.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _Answer:
    """`answer` of the stand-in: keeps what was answered."""

    def __init__(self, kept: list[tuple[str, Any]]) -> None:
        self._kept = kept

    def __call__(self, name: Any = "", value: Any = ...) -> None:
        self._kept.append((name, value))


def serve(control: socket.socket) -> None:
    """Answer the marker until it closes the socket."""
    loaded = _load()
    wire = loaded["attention_lab.grading.sandboxed.wire"]
    settings = wire.receive(control.fileno())
    child, ruleset, ready = _prepare(settings, loaded)
    child.lockdown.die_with_parent(settings["parent"])
    wire.send(control.fileno(), {"ready": True})
    gc.collect()
    gc.freeze()
    memory, seconds = settings["memory"], settings["seconds"]
    server = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        if message == b"R":
            (process,) = struct.unpack(">I", _all(control, 4))
            control.sendall(struct.pack(">i", os.waitpid(process, 0)[1]))
            continue
        process = os.fork()
        if process == 0:
            child.lockdown.die_with_parent(server)
            incoming, outgoing = _only(descriptors, ruleset)
            child.main(incoming, outgoing, None if ruleset is None else 5, memory, seconds, *ready)
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(struct.pack(">I", process))


def _all(control: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length and (part := control.recv(length - len(data))):
        data += part
    return data


def _only(descriptors: list[int], ruleset: int | None) -> tuple[int, int]:
    """Close every descriptor but the two pipes, which become 3 and 4, and the ruleset, which becomes 5."""
    wanted = [*descriptors, *([] if ruleset is None else [ruleset])]
    high = [os.dup2(d, 200 + place, inheritable=False) for place, d in enumerate(wanted)]
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    for place, descriptor in enumerate(high):
        os.dup2(descriptor, 3 + place, inheritable=False)
    os.closerange(3 + len(wanted), 4096)
    return 3, 4


def alone() -> None:
    """One worker without a fork, where there is none (Windows) or it is unsafe (macOS with torch loaded)."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    loaded = _load()
    settings = loaded["attention_lab.grading.sandboxed.wire"].receive(incoming)
    child, ruleset, ready = _prepare(settings, loaded)
    child.main(incoming, outgoing, ruleset, settings["memory"], settings["seconds"], *ready)


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        alone()
    else:
        serve(socket.socket(fileno=int(sys.argv[1])))

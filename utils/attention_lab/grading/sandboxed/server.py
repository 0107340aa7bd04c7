"""The fork server: loads what the chapters need once, then gives each submission its own process.

Run as a script, in isolated mode, by the marker. It loads the few modules of the course that calling needs and none
that knows an answer: packages are made here as empty shells, so no `__init__` of the course runs.

Control, over the socket whose descriptor is the first argument:
    a frame of settings, once; answered with a frame when everything is loaded
    b"C" and a frame: inputs of calls by exercise, which workers forked later hold from the start; no answer
    b"F" with two descriptors: fork a worker on these pipes; answered with its process id (4 bytes)
    b"K" and a process id: kill a worker, where the marker cannot because it is in a container; no answer
    b"R" and a process id: collect a worker that was killed; no answer
With `--alone` there is no fork: settings and requests come from standard input, replies go to standard output.
"""

from __future__ import annotations

import copy
import gc
import importlib
import importlib.util
import os
import signal
import socket
import struct
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

_PLAIN = ("attention_lab.lesson", "attention_lab.sentences")
_CALLING = ("attention_lab.grading.sandboxed.wire", "attention_lab.grading.sandboxed.child")
_SHELLS = ("exercises", "checking", "grading", "models")
_LATE = ("numpy.linalg", "numpy.random", "numpy.testing", "numpy.fft", "numpy.polynomial", "numpy.ma", "unittest.mock")
#: What each kind of server loads beyond NumPy; "transformers" loads models, too.
LIBRARIES = {"numpy": (), "torch": ("torch",), "transformers": ("torch", "transformers")}


def _load() -> dict[str, ModuleType]:
    """Import what calling needs under the course's names, and take the names away again."""
    _make_shells()
    loaded = {}
    for name in (*_PLAIN, *_CALLING):
        try:
            loaded[name] = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    _forget()
    return loaded


def _make_shells() -> None:
    """Packages of the course without their own text."""
    utils = Path(__file__).resolve().parents[3]
    for name in ("attention_lab", *(f"attention_lab.{part}" for part in _SHELLS), "course_setup"):
        shell = ModuleType(name)
        shell.__path__ = [str(utils.joinpath(*name.split(".")))]
        sys.modules[name] = shell


def _forget() -> None:
    for name in [n for n in sys.modules if n.split(".")[0] in ("attention_lab", "course_setup")]:
        del sys.modules[name]


def _prepare(settings: dict[str, Any], loaded: dict[str, ModuleType]) -> tuple[Any, int | None, tuple[Any, Any]]:
    """Load libraries, put the stand-ins in place, make the ruleset; gives `child`, the ruleset, what `main` needs."""
    child = loaded["attention_lab.grading.sandboxed.child"]
    libraries = LIBRARIES[settings["kind"]]
    for name in (*_LATE, *libraries):
        importlib.import_module(name)
    if "torch" in libraries:
        sys.modules["torch"].set_num_threads(1)
        _run_torch()
    standins = _standins()
    models = _with_models(child, standins) if "transformers" in libraries else {}
    tempfile.tempdir = "/nonexistent"  # so that nobody looks for a folder that can be written
    answers: list[tuple[str, Any]] = []
    standins.install({**{n: loaded[n] for n in _PLAIN if n in loaded}, **models}, _Answer(answers))
    hidden = [Path(path) for path in settings["hidden"]]
    sys.path[:] = [p for p in sys.path if p != str(Path(__file__).parent)]
    ruleset = child.lockdown.ruleset(child.lockdown.readable_folders(), hidden)
    child.lockdown.bound_capabilities()
    return child, ruleset, (answers, child.prepare(answers))


def _run_torch() -> None:
    """What nearly every torch cell does, so that each worker finds it done: torch loads much when it is first used."""
    torch = sys.modules["torch"]
    for kind in (torch.float64, torch.float32):
        x = torch.ones(1, 2, 3, 3, dtype=kind, requires_grad=True)
        masked = (x @ x.mT).masked_fill(torch.ones(3, 3).triu(1).bool(), float("-inf"))
        torch.nn.functional.scaled_dot_product_attention(x, x, masked.softmax(-1)).sum().backward()
        torch.nn.functional.cross_entropy(x[0, 0], torch.tensor([0, 1, 2])).item()
        torch.nn.Linear(3, 3).to(kind)(x)


def _with_models(child: Any, standins: ModuleType) -> dict[str, ModuleType]:
    """Make the models that cases are made of once, and load the course's own; gives what a cell imports of those.

    Learners' code gets copies from memory: no worker may read the course's files, and none starts the threads that
    loading takes. The switches of `attention_lab.models` are an exercise, and no part of it.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch = sys.modules["torch"]
    for name in [name for name in ("tiny_gpt2", "tiny_llama") if name in child.caller.probes.FACTORIES]:
        for kind in ("float64", "float32"):
            model = child.caller.probes.FACTORIES[name](dtype=kind)
            with torch.no_grad():
                model(model(torch.tensor([[1, 2, 3]]), use_cache=True).logits.argmax(dim=-1))
    _make_shells()
    door = importlib.import_module("attention_lab.models.door")
    kept = {name: door.load(name) for name in door.SHIPPED if door.present(name)}
    models = standins.NothingModule("attention_lab.models")
    plain = {"MissingModel": door.MissingModel, "Loaded": door.Loaded, "NAMES": door.NAMES, "SHIPPED": door.SHIPPED}
    vars(models).update(plain, load=_Loading(kept, door.MissingModel), present=kept.__contains__)
    found = {"attention_lab.models": models, "attention_lab.models.door": models}
    anatomy = "attention_lab.models.anatomy"
    found[anatomy] = importlib.import_module(anatomy)
    for each in kept.values():
        with torch.no_grad():
            each.model(each.encode("the"))
    _forget()
    return found


class _Loading:
    """`load` of the stand-in: copies of the models that lie in memory."""

    def __init__(self, kept: dict[str, Any], missing: type[Exception]) -> None:
        self._kept, self._missing = kept, missing

    def __call__(self, name: str = "lab", folder: Any = None) -> Any:
        if name not in self._kept or folder is not None:
            raise self._missing(f"{name!r} is not at hand where marks are given: {', '.join(self._kept)}")
        return copy.deepcopy(self._kept[name])


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
    memory, seconds = settings["memory"], settings["seconds"]
    server, forked = os.getpid(), -1
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        if message == b"C":
            _keep(child, wire.receive(control.fileno()))
            forked = -1
            continue
        if message in (b"K", b"R"):
            (process,) = struct.unpack(">I", _all(control, 4))
            if message == b"K":
                os.kill(process, signal.SIGKILL)
            else:
                os.waitpid(process, 0)
            continue
        if forked in (-1, _TIDY):
            gc.collect()
            gc.freeze()
            child.lockdown.share_pages()
            bound = child.lockdown.address_space() + memory
            forked = 0
        process = os.fork()
        if process == 0:
            child.lockdown.die_with_parent(server)
            incoming, outgoing = _only(descriptors, ruleset)
            child.main(incoming, outgoing, None if ruleset is None else 5, bound, seconds, *ready)
        forked += 1
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(struct.pack(">I", process))


#: After that many forks the server's memory is gathered into large pages again.
_TIDY = 200


def _keep(child: Any, calls: dict[str, Any]) -> None:
    for name, rows in calls.items():
        child.calls.prepare(name, rows)


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
    _keep(child, settings["calls"])
    memory = child.lockdown.address_space() + settings["memory"]
    child.main(incoming, outgoing, ruleset, memory, settings["seconds"], *ready)


if __name__ == "__main__":
    if sys.argv[1] == "--alone":
        alone()
    else:
        serve(socket.socket(fileno=int(sys.argv[1])))

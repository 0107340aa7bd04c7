"""Processes for learners' code: started, spoken to, watched by a clock, killed. What they say is only data."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from attention_lab.grading import bubblewrap
from attention_lab.grading.sandboxed import wire

_SERVER = Path(__file__).parent / "sandboxed" / "server.py"


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    Attributes:
        seconds: per exercise, of the marker's clock.
        memory: megabytes beyond what the libraries take.
        processor: seconds of processor time of one process, whatever the clock says.
        bubblewrap: whether workers live in a container of bubblewrap's besides.
    """

    seconds: float = 10.0
    memory: int = 1024
    processor: int = 600
    bubblewrap: bool = False


class Died(Exception):
    """The worker ended, was killed for taking too long, or said what it must not say.

    Attributes:
        why: "time", "ended", "memory" or "broken".
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NoWorker(Exception):
    """No worker can be started; nothing that a learner wrote is to blame."""


class Worker(Protocol):
    """A process that speaks frames over two descriptors."""

    incoming: int
    outgoing: int

    def kill(self) -> None:
        """End it at once; it may have ended already."""

    def collect(self) -> None:
        """See to it that nothing is left of it; it was killed."""


def _environment() -> dict[str, str]:
    """What a worker's process inherits: nothing of the marker's but what the system needs to start Python."""
    kept = {key: os.environ[key] for key in ("SYSTEMROOT", "PATH", "LD_LIBRARY_PATH") if key in os.environ}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
    return {**kept, **threads, "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}


def _settings(limits: Limits, kind: str, hidden: Sequence[Path]) -> dict[str, Any]:
    return {
        "kind": kind,
        "hidden": [str(path) for path in hidden],
        "memory": limits.memory * 1_000_000,
        "seconds": limits.processor,
        "parent": 0 if limits.bubblewrap else os.getpid(),  # in a container processes have other numbers
    }


def can_fork(kind: str) -> bool:
    """Whether workers are forked from a server here: not on Windows, and not on macOS with torch loaded."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and (kind == "numpy" or sys.platform != "darwin")


@dataclass
class _Forked:
    process: int
    incoming: int
    outgoing: int
    server: ForkServer

    def kill(self) -> None:
        self.server.kill(self.process)

    def collect(self) -> None:
        os.close(self.incoming)
        os.close(self.outgoing)
        self.server.collect(self.process)


class ForkServer:
    """The server of `sandboxed/server.py`, and how to get workers from it. One worker is always made ahead.

    Args:
        limits: for each worker.
        kind: what is loaded before forking: "numpy", "torch" or "transformers".
        hidden: what must not be readable although it may lie in a folder of libraries.
    """

    def __init__(self, limits: Limits, kind: str, hidden: Sequence[Path]) -> None:
        self._control, theirs = socket.socketpair()
        self._ordered: tuple[int, int] | None = None  # our ends of the pipes of the worker that is being made
        self._ready = False
        self._contained = limits.bubblewrap
        with theirs:
            python = [sys.executable, "-I", "-B", str(_SERVER), str(theirs.fileno())]
            self._process = subprocess.Popen(
                bubblewrap.command(python) if self._contained else python,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                cwd="/",
            )
        try:
            wire.send(self._control.fileno(), _settings(limits, kind, hidden))
        except wire.Broken:
            self.close()
            raise Died("ended") from None

    def give(self, calls: dict[str, Any]) -> None:
        """Inputs of calls, by exercise, for all workers that are made from now on."""
        self._wait()
        if self._ordered is not None:
            spare = self._delivered()
            spare.kill()
            spare.collect()
        self._say(b"C" + wire.encode(calls))

    def fork(self) -> Worker:
        """A fresh worker."""
        self._wait()
        if self._ordered is None:
            self._order()
        worker = self._delivered()
        self._order()
        return worker

    def _wait(self) -> None:
        """Until everything is loaded."""
        if not self._ready:
            try:
                wire.receive(self._control.fileno())
            except wire.Broken:
                raise Died("ended") from None
            self._ready = True

    def _say(self, message: bytes) -> None:
        try:
            self._control.sendall(message)
        except OSError:
            raise Died("ended") from None

    def _order(self) -> None:
        """Ask for a worker, and do not wait for it."""
        reads, their_writes = os.pipe()
        their_reads, writes = os.pipe()
        self._ordered = (reads, writes)
        try:
            socket.send_fds(self._control, [b"F"], [their_reads, their_writes])
        except OSError:
            raise Died("ended") from None
        finally:
            os.close(their_reads)
            os.close(their_writes)

    def _delivered(self) -> _Forked:
        assert self._ordered is not None
        try:
            (process,) = struct.unpack(">I", self._control.recv(4, socket.MSG_WAITALL))
        except (OSError, struct.error):
            raise Died("ended") from None
        (reads, writes), self._ordered = self._ordered, None
        return _Forked(process, reads, writes, self)

    def kill(self, process: int) -> None:
        """Kill a worker that was not collected yet: by its number, which is still its own until then."""
        if self._contained:
            with contextlib.suppress(Died):
                self._say(b"K" + struct.pack(">I", process))
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)

    def collect(self, process: int) -> None:
        """Have a worker collected that was killed."""
        with contextlib.suppress(Died):
            self._say(b"R" + struct.pack(">I", process))

    def close(self) -> None:
        """End the server, and with it every worker."""
        self._control.close()
        for end in self._ordered or ():
            os.close(end)
        self._ordered = None
        self._process.kill()
        self._process.wait()


@dataclass
class _Alone:
    process: subprocess.Popen[bytes]
    incoming: int = field(init=False)
    outgoing: int = field(init=False)

    def __post_init__(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.incoming, self.outgoing = self.process.stdout.fileno(), self.process.stdin.fileno()

    def kill(self) -> None:
        self.process.kill()

    def collect(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self.process.wait()


class OneShot:
    """Workers without a fork server: each starts Python anew. The same arguments as `ForkServer`."""

    def __init__(self, limits: Limits, kind: str, hidden: Sequence[Path]) -> None:
        self._settings = _settings(limits, kind, hidden)
        self._calls: dict[str, Any] = {}

    def give(self, calls: dict[str, Any]) -> None:
        """Inputs of calls, by exercise, for all workers that are made from now on."""
        self._calls |= calls

    def fork(self) -> Worker:
        """A fresh worker."""
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(_SERVER), "--alone"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=_environment(),
        )
        worker = _Alone(process)
        wire.send(worker.outgoing, {**self._settings, "calls": self._calls})
        return worker

    def close(self) -> None:
        """There is nothing to end."""


class Clock:
    """Kills what is late. One thread for all workers of a marker, woken ten times a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._end = float("inf")
        self._kill: Callable[[], None] = lambda: None
        self.struck = False
        threading.Thread(target=self._watch, name="marker's clock", daemon=True).start()

    @contextlib.contextmanager
    def running(self, seconds: float, kill: Callable[[], None]) -> Iterator[None]:
        """Within this block `kill` is called once the seconds are over."""
        with self._lock:
            self._kill, self.struck = kill, False
            self._end = time.monotonic() + seconds
        try:
            yield
        finally:
            with self._lock:
                self._end = float("inf")

    def _watch(self) -> None:
        while True:
            time.sleep(0.1)
            with self._lock:
                if time.monotonic() > self._end:
                    self._end, self.struck = float("inf"), True
                    self._kill()


class Session:
    """A conversation with one worker.

    Args:
        servers: makes workers.
        clock: kills them when they are late.
        right: called with what the learner's code sends when it asks for right values; gives the reply.
    """

    def __init__(
        self,
        servers: ForkServer | OneShot,
        clock: Clock,
        right: Callable[[dict[str, Any]], dict[str, Any]],
        start: float = 60.0,
    ) -> None:
        self._clock = clock
        self._right = right
        self._number = 0
        self._ran = False  # whether learners' code has run in it
        self._worker = servers.fork()
        self.ended = False
        self.used = 0.0
        self.force: dict[str, bool] = self._conversation(start)

    def request(self, what: str, *values: Any, seconds: float) -> Any:
        """Ask the worker to do something.

        Raises:
            Died: when it ended, took longer than `seconds`, or answered with anything but an answer.
        """
        if self.ended:
            raise Died("ended")
        self._number += 1
        self._ran |= what not in ("read", "steps") or any(step[0] != "read" for step in values[0] if what == "steps")
        return self._conversation(seconds, {"id": self._number, "do": what, "with": values})

    def _conversation(self, seconds: float, message: dict[str, Any] | None = None) -> Any:
        begun = time.monotonic()
        try:
            with self._clock.running(max(seconds, 0.05), self._worker.kill):
                if message is not None:
                    wire.send(self._worker.outgoing, message)
                while True:
                    reply = wire.receive(self._worker.incoming, wire.LONGEST_REPLY if self._ran else wire.LARGEST)
                    if not isinstance(reply, dict):
                        raise wire.Broken("no reply")
                    if "ask" in reply:
                        wire.send(self._worker.outgoing, self._right(reply))
                        continue
                    number = reply.get("id")
                    if type(number) is not int or number != self._number or "reply" not in reply:
                        raise wire.Broken("a reply to another request")
                    return reply["reply"]
        except wire.Broken as error:
            late = self._clock.struck
            self.close()
            raise Died("time" if late else self._why(str(error))) from None
        except BaseException:
            self.close()
            raise
        finally:
            self.used += time.monotonic() - begun

    def _why(self, said: str) -> str:
        return "ended" if "closed" in said else "broken"

    def close(self) -> None:
        """Kill the worker."""
        if not self.ended:
            self.ended = True
            self._worker.kill()
            self._worker.collect()

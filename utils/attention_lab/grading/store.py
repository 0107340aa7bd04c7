"""What is kept of a run: a result for each notebook, under a key of everything it depends on, written whole or not."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attention_lab.checking.progress import write_whole
from attention_lab.grading.workers import Limits


def key_of(content: bytes, version: str, seed: int, limits: Limits) -> str:
    """The key of a result: the same for the same notebook, course, seed and limits."""
    rest = json.dumps([version, seed, limits.seconds, limits.memory]).encode()
    return hashlib.sha256(hashlib.sha256(content).digest() + rest).hexdigest()


class Store:
    """Results in a folder.

    Args:
        out: the folder of the run; results lie in `results/` in it.
    """

    def __init__(self, out: Path) -> None:
        self.out = out

    def _file(self, key: str) -> Path:
        return self.out / "results" / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """A result, or None where there is none that can be read."""
        try:
            data = json.loads(self._file(key).read_text(encoding="utf-8"))
            return data["marked"] if data["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, marked: dict[str, Any]) -> None:
        """Keep a result."""
        write_whole(self._file(key), json.dumps({"key": key, "marked": marked}, ensure_ascii=False))

    def seed(self, chosen: int | None) -> int:
        """The seed of this run: the one chosen, or the one of the run that is continued, or a fresh secret one."""
        path = self.out / "run.json"
        if chosen is None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                return int(json.loads(path.read_text(encoding="utf-8"))["seed"])
            chosen = secrets.randbits(63)
        write_whole(path, json.dumps({"seed": chosen}))
        with contextlib.suppress(OSError):
            path.chmod(0o600)
        return chosen

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder for one run; `ValueError` when another run holds it. Given up by the system at our end."""
        taken = f"another run is writing to {self.out}: wait for it, or give another --out"
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            lock = open(self.out / ".lock", "a+b")  # noqa: SIM115
        except OSError as error:
            raise ValueError(f"nothing can be written to {self.out} ({error.strerror})") from None
        with lock as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows
                import msvcrt

                try:
                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                except OSError:
                    raise ValueError(
                        f"another run is writing to {self.out}: wait for it, or give another --out"
                    ) from None
            except OSError:
                raise ValueError(taken) from None
            yield

"""Mark on a Dask cluster (`dask.distributed`, the extra "cluster"): the same tasks, the same marks.

A task is a notebook's bytes and a few numbers; what comes back is plain data. Learners' code runs in locked processes
beside the Dask worker, never in it. A worker that dies loses nothing: its tasks go to another.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from attention_lab.grading.course import version
from attention_lab.grading.marker import Marker
from attention_lab.grading.run import Options, Task, failed, force_here, mark_task, marker_of

_own = threading.local()
#: Seconds that a scheduler may take to answer.
_PATIENCE = 15.0


def _marker(task: Task) -> Marker:
    """This thread's own marker for tasks of one run."""
    key = (task.seed, task.limits, task.hidden)
    if getattr(_own, "key", None) != key:
        if getattr(_own, "marker", None) is not None:
            _own.marker.close()
        _own.key, _own.marker = key, marker_of(task)
    marker: Marker = _own.marker
    return marker


def mark_on_worker(task: Task, wanted: str) -> dict[str, Any]:
    """Runs on a worker: marks one task, when the course there is the one here."""
    if version() != wanted:
        return failed(f"a worker of the cluster has version {version()} of the course, not {wanted}")
    return mark_task(task, _marker(task))


@contextmanager
def _client(options: Options) -> Iterator[Any]:
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ValueError('--scheduler needs Dask: install the extra "cluster" (pip install distributed)') from None
    try:
        client = distributed.Client(options.scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(f"no Dask scheduler answers at {options.scheduler} ({type(error).__name__})") from None
    try:
        client.wait_for_workers(1, timeout=30)
        yield client
    except TimeoutError:
        raise ValueError(f"the Dask scheduler at {options.scheduler} has no workers") from None
    finally:
        client.close()


def forces(options: Options, task: Task) -> list[dict[str, bool]]:
    """What protection is in force on each worker."""
    with _client(options) as client:
        return list(client.run(force_here, task).values())


def open_to_others(address: str) -> bool:
    """Whether notebooks and marks travel unencrypted beyond this machine."""
    found = urlsplit(address)
    return found.scheme != "tls" and found.hostname not in ("127.0.0.1", "::1", "localhost")


def on_cluster(tasks: Iterator[Task], options: Options) -> Iterator[tuple[Task, dict[str, Any]]]:
    """Mark tasks on the cluster, a few more at a time than it has threads."""
    with _client(options) as client:
        waiting: dict[str, Task] = {}
        running = import_module("distributed").as_completed(loop=client.loop)

        def send() -> bool:
            task = next(tasks, None)
            if task is not None:
                name = f"mark-{task.key}-{task.place}"
                running.add(client.submit(mark_on_worker, task, version(), key=name, retries=3, pure=False))
                waiting[name] = task
            return task is not None

        while len(waiting) < 2 * max(1, sum(client.nthreads().values())) and send():
            pass
        for future in running:
            task = waiting.pop(future.key)
            try:
                marked = future.result()
            except Exception as error:  # its workers died again and again, or the cluster ended
                marked = failed(f"the cluster gave it up ({type(error).__name__})")
            future.release()
            yield task, marked
            send()

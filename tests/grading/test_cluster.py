"""A Dask cluster on this machine gives the same marks, also when a worker is killed in the middle."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from tests.grading.books import COURSE, made, saved

from attention_lab.grading.run import Options, grade
from attention_lab.grading.workers import Limits


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("PYTHONPATH", str(COURSE / "utils"))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, processes=True
    ) as found:
        yield found


@pytest.fixture
def handed_in(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(12):
        wrong = f"@exercise\ndef softmax(scores):\n    return scores * {number}\n"
        content = made("03") if number % 3 else made("03", {"softmax": wrong})
        content["metadata"]["number"] = number
        (folder / f"learner {number}.ipynb").write_bytes(saved(content))
    return folder


def test_the_marks_are_the_same_and_a_killed_worker_loses_nothing(
    cluster: Any, handed_in: Path, tmp_path: Path
) -> None:
    limits = Limits(seconds=10)
    assert grade(Options(handed_in, tmp_path / "here", seed=4, limits=limits)) == 0
    out = tmp_path / "there"
    killed = []

    def kill_one() -> None:
        while not list(out.glob("results/*/*.json")):
            time.sleep(0.02)
        with distributed.Client(cluster.scheduler_address) as client:
            killed.extend(client.run(os.getpid).values())
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    assert grade(Options(handed_in, out, seed=4, limits=limits, scheduler=cluster.scheduler_address)) == 0
    thread.join(60)
    assert killed
    assert (out / "grades.csv").read_text() == (tmp_path / "here" / "grades.csv").read_text()


def test_a_scheduler_that_does_not_answer_is_one_sentence(
    handed_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attention_lab.grading.cluster._PATIENCE", 0.5)
    with pytest.raises(ValueError, match="no Dask scheduler answers"):
        grade(Options(handed_in, tmp_path / "out", scheduler="tcp://127.0.0.1:9"))

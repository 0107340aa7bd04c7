"""What a worker cannot do, tried from inside one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.grading.books import COURSE

from attention_lab.grading.marker import Marker
from attention_lab.grading.sandboxed import lockdown

ATTEMPTS = {
    "read a system file": "open('/etc/passwd').read()",
    "read a solution": f"open({str(COURSE / 'solutions' / '03_soft_lookup.py')!r}).read()",
    "read the catalogue": f"open({str(COURSE / 'utils' / 'attention_lab' / 'exercises' / 'chapter_03.py')!r}).read()",
    "read the notes of a process": "open('/proc/self/status').read()",
    "list the root": "os.listdir('/')",
    "list this folder": "os.listdir('.')",
    "list the course": f"os.listdir({str(COURSE)!r})",
    "read what was handed in": "open(SECRET).read()",
    "write there": "open(SECRET, 'w')",
    "add to it": "open(SECRET, 'a')",
    "cut it": "os.truncate(SECRET, 0)",
    "remove it": "os.unlink(SECRET)",
    "rename it": "os.rename(SECRET, SECRET + '2')",
    "link it": "os.symlink(SECRET, SECRET + '3')",
    "link it hard": "os.link(SECRET, SECRET + '4')",
    "change its rights": "os.chmod(SECRET, 0o777)",
    "change its owner": "os.chown(SECRET, 0, 0)",
    "change its times": "os.utime(SECRET, (0, 0))",
    "write to a shared place": "open('/tmp/attention-lab-was-here', 'w')",
    "write to shared memory": "open('/dev/shm/attention-lab-was-here', 'w')",
    "make a folder": "os.mkdir('/tmp/attention-lab-was-here')",
    "make a pipe with a name": "os.mkfifo('/tmp/attention-lab-was-here')",
    "fork": "os.fork() or os._exit(0)",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "become another program": "os.execv('/bin/true', ['true'])",
    "start a thread": "__import__('threading').Thread(target=print).start()",
    "send a signal": "os.kill(os.getppid(), 0)",
    "send itself one": "os.kill(os.getpid(), 10)",
    "open a socket": "__import__('socket').socket()",
    "open a pair of sockets": "__import__('socket').socketpair()",
    "open a socket of files": "__import__('socket').socket(1)",
    "become root": "os.setuid(0)",
    "change its root": "os.chroot('/')",
    "lift its limits": "__import__('resource').setrlimit(9, (-1, -1))",
    "limit another": "__import__('resource').prlimit(os.getppid(), 0, (1, 1))",
    "be nicer": "os.setpriority(0, os.getppid(), 19)",
    "make a file of memory": "os.memfd_create('x')",
    "own the signals of a pipe": "__import__('fcntl').fcntl(os.pipe()[0], 8, os.getppid())",
}


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
def test_nothing_of_this_is_possible(marker: Marker, protected: bool, tmp_path: Path) -> None:
    if not protected:
        pytest.skip("this machine lacks the protection")
    secret = tmp_path / "of another learner.ipynb"
    secret.write_text("42", encoding="utf-8")
    before = secret.stat()
    done: dict[str, Any] = {}
    for name, attempt in ATTEMPTS.items():
        session = marker.session("numpy", lambda asked: {"refused": True})
        code = f"import os\nSECRET = {str(secret)!r}\n{attempt}\n"
        done[name] = session.request("run", code, seconds=20)
        session.close()
    assert {name for name, said in done.items() if not said["error"]} == set()
    kinds = {said["error"] for said in done.values()}
    assert kinds <= {"PermissionError", "OSError", "RuntimeError", "FileNotFoundError", "ValueError"}, done
    after = secret.stat()
    assert (after.st_mode, after.st_size, after.st_mtime, after.st_nlink) == (
        before.st_mode,
        before.st_size,
        before.st_mtime,
        before.st_nlink,
    )
    assert secret.read_text(encoding="utf-8") == "42"
    assert [path.name for path in tmp_path.iterdir()] == [secret.name]
    assert not Path("/tmp/attention-lab-was-here").exists()
    assert not Path("/dev/shm/attention-lab-was-here").exists()


def test_what_learners_need_still_works(marker: Marker) -> None:
    code = """
import collections, functools, itertools, math, random, json, re, statistics, decimal, fractions, datetime, string
import numpy as np
np.linalg.svd(np.eye(3)), np.random.default_rng(0).normal(size=3), np.fft.fft(np.ones(4))
import matplotlib.pyplot as plt
from tqdm.auto import tqdm, trange
plt.figure(figsize=(1, 1)); plt.plot([1, 2]); plt.show()
assert list(tqdm(range(3))) == [0, 1, 2] and list(trange(2)) == [0, 1]
from attention_lab.lesson import rows
assert rows().shape == (5, 4)
from attention_lab.widgets import explore, Slider
explore(lambda x: x, [Slider("x", 0, 1, 0.5)], None)
print("x", flush=True)
display(1)
"""
    session = marker.session("numpy", lambda asked: {"refused": True})
    said = session.request("run", code, seconds=60)
    session.close()
    assert said["error"] == "", said


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_what_is_hidden_inside_a_folder_of_libraries_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "lib" / "site-packages"
    for name in ("numpy", "attention_lab", "course_setup", "other/solutions"):
        (packages / name).mkdir(parents=True)
    granted: list[str] = []
    monkeypatch.setattr(lockdown.os, "open", lambda path, flags: granted.append(path) or (_ for _ in ()).throw(OSError))
    lockdown._grant(-1, str(tmp_path / "lib"), [str(packages / "other" / "solutions")])
    assert sorted(Path(path).relative_to(packages).as_posix() for path in granted) == ["numpy"]


def test_the_filter_knows_both_machines() -> None:
    for machine in ("x86_64", "aarch64"):
        program = lockdown.seccomp_program(machine)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096
        assert not {lockdown._CLONE3, 57, 58, 59, 56} & set(lockdown._ALLOWED["x86_64"])
        assert not {lockdown._CLONE3, 220, 221} & set(lockdown._ALLOWED["aarch64"])

"""`--bubblewrap`: a container where there can be one, and one sentence where there cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.grading.books import COURSE, made, saved

from attention_lab.cli import main
from attention_lab.grading import bubblewrap
from attention_lab.grading.marker import Marker
from attention_lab.grading.workers import Limits

needs_bwrap = pytest.mark.skipif(bool(bubblewrap.missing()), reason=bubblewrap.missing() or "bwrap works here")

PYTHON = [sys.executable, "-I", "-S", "-c"]


def bound() -> list[Path]:
    words = bubblewrap.command([*PYTHON, ""])
    return [Path(words[i + 1]) for i, word in enumerate(words) if word == "--ro-bind"]


def test_the_container_holds_no_answer_and_nothing_that_was_handed_in() -> None:
    secrets = [*COURSE.glob("solutions/*"), *COURSE.glob("chapters/*"), COURSE / "tests", COURSE / ".git"]
    secrets += (COURSE / "utils" / "attention_lab" / "exercises").glob("chapter_*.py")
    secrets += [COURSE / "utils" / "attention_lab" / name for name in ("models/switches.py", "checking/judging.py")]
    for secret in secrets:
        assert not [path for path in bound() if secret.is_relative_to(path)], secret
    assert not {"/", "/tmp", "/home", "/root", str(COURSE), str(COURSE / "utils")} & {str(path) for path in bound()}
    words = bubblewrap.command(["python"])
    assert {"--unshare-all", "--die-with-parent", "--new-session"} <= set(words)
    assert not {"--bind", "--dev-bind", "--share-net"} & set(words)


def sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    (tmp_path / "in").mkdir()
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--bubblewrap"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_without_the_program_it_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install the package bubblewrap" in sentence(tmp_path, capsys)


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")
def test_where_containers_are_forbidden_it_is_one_sentence_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    said = sentence(tmp_path, capsys)
    assert "may not make a container" in said
    assert "uid map" in said


@needs_bwrap
def test_nothing_of_the_machine_is_seen_from_inside(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("another learner's")
    look = f"""
import os, socket
assert not os.path.exists({str(COURSE / "solutions")!r}) and not os.path.exists("/etc/passwd")
assert not os.path.exists("/home") and not os.path.exists({str(tmp_path / "theirs")!r})
assert sum(name.isdigit() for name in os.listdir("/proc")) <= 3
try:
    open({str(Path(sys.executable).parent / "new")!r}, "w")
    raise SystemExit("written")
except OSError:
    pass
try:
    socket.create_connection(("127.0.0.1", 9), timeout=2)
    raise SystemExit("connected")
except OSError as error:
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
"""
    done = subprocess.run(bubblewrap.command([*PYTHON, look]), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_bwrap
def test_marks_are_the_same_inside_and_what_loops_is_killed() -> None:
    wrong = "@exercise\ndef softmax(scores):\n    while True: pass\n"
    inside = Marker(seed=3, limits=Limits(seconds=1, bubblewrap=True))
    try:
        found = [inside.mark(saved(book)) for book in (made("03"), made("03", {"softmax": wrong}))]
        assert all(inside.force().values())
    finally:
        inside.close()
    assert {v["status"] for v in found[0].verdicts} == {"passed"}
    status = {v["name"]: v["status"] for v in found[1].verdicts}
    assert (status["hard_lookup"], status["softmax"], status["soft_lookup"]) == ("passed", "raised", "passed")

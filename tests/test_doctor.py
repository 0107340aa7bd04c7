"""The doctor: each check shown well and ill, and the whole on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from attention_lab import doctor
from attention_lab.doctor import Finding

WANTED = [Requirement("numpy==2.4.6"), Requirement("torch==2.13.0")]


def versions(**known: str) -> Callable[[str], str | None]:
    """A stand-in for the environment: these packages at these versions."""
    return known.get


def test_a_good_finding_says_ok_and_a_bad_one_the_mend():
    assert Finding(True, "Python 3.12", "unused").line() == "[ok]   Python 3.12"
    assert Finding(False, "Python 3.9", "install 3.12").line() == "[fail] Python 3.9: install 3.12"


@pytest.mark.parametrize(("version", "good"), [((3, 10), False), ((3, 11), True), ((3, 13), True), ((3, 14), False)])
def test_python_version(version, good):
    assert doctor.python_version(version).good is good


def test_locked_packages_take_a_cpu_build_for_the_same_version_and_name_what_differs():
    assert doctor.locked_packages(WANTED, versions(numpy="2.4.6", torch="2.13.0+cpu")).good
    finding = doctor.locked_packages(WANTED, versions(numpy="2.4.5"))
    assert not finding.good
    assert "numpy==2.4.6 (here: 2.4.5); torch==2.13.0 (here: not installed)" in finding.text
    assert sys.prefix in finding.mend


def test_ranged_packages_name_what_is_outside():
    wanted = [Requirement("numpy>=2.1,<3")]
    assert doctor.ranged_packages(wanted, versions(numpy="2.9")).good
    finding = doctor.ranged_packages(wanted, versions(numpy="1.26"))
    assert not finding.good
    assert "(here: 1.26)" in finding.line()


def test_a_lock_keeps_the_lines_of_this_system(tmp_path):
    path = tmp_path / "lock.txt"
    path.write_text("# head\nnumpy==2.4.6\nabsent==1 ; sys_platform == 'plan9'\n", encoding="utf-8")
    assert [requirement.name for requirement in doctor.locked(path)] == ["numpy"]


def test_long_lists_are_cut():
    assert doctor.some(["a", "b"]) == "a; b"
    assert doctor.some(list("abcde")) == "a; b; c; …"


def test_the_kernel_of_this_environment_answers():
    assert doctor.kernel(doctor.ask_kernel) == Finding(True, "a kernel starts and answers")


def test_a_kernel_that_does_not_start_or_answers_wrong_is_a_finding():
    def broken() -> str:
        raise RuntimeError("Kernel died before replying")

    assert "RuntimeError: Kernel died before replying" in doctor.kernel(broken).text
    assert "answered '' to 6 * 7" in doctor.kernel(lambda: "").text
    assert not doctor.kernel(broken).good
    assert not doctor.kernel(lambda: "").good


def front_end(folder: Path, part: str) -> None:
    """A JupyterLab extension as an installed package leaves it."""
    (folder / part / "static").mkdir(parents=True)
    (folder / part / "static" / "entry.js").write_text("")
    description = {"jupyterlab": {"_build": {"load": "static/entry.js"}}}
    (folder / part / "package.json").write_text(json.dumps(description))


def test_widgets_are_found_in_any_of_the_folders_and_a_missing_part_is_named(tmp_path):
    front_end(tmp_path / "a", "anywidget")
    finding = doctor.widgets([tmp_path / "a"])
    assert not finding.good
    assert "front end of ipywidgets," in finding.text
    front_end(tmp_path / "b", "@jupyter-widgets/jupyterlab-manager")
    assert doctor.widgets([tmp_path / "a", tmp_path / "b"]).good
    (tmp_path / "b" / "@jupyter-widgets" / "jupyterlab-manager" / "static" / "entry.js").unlink()
    assert not doctor.widgets([tmp_path / "a", tmp_path / "b"]).good


def test_a_folder_that_can_be_written_and_one_that_cannot(tmp_path):
    assert doctor.writable("your progress", tmp_path / "new").good
    (tmp_path / "file").write_text("")
    finding = doctor.writable("your progress", tmp_path / "file" / "below")
    assert not finding.good
    assert "cannot be written" in finding.text


def test_a_folder_that_takes_no_file_is_a_finding(tmp_path, monkeypatch):
    def refuse(dir: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    finding = doctor.writable("the chapters", tmp_path)
    assert not finding.good
    assert "cannot be written (Permission denied)" in finding.text


def test_memory_and_disk_below_what_is_needed(tmp_path):
    assert doctor.memory(2e9).good
    assert not doctor.memory(0.4e9).good
    assert doctor.disk(tmp_path, 5e9).good
    assert "0.1 GB of disk free" in doctor.disk(tmp_path, 0.1e9).line()
    assert not doctor.disk(tmp_path, 0.1e9).good


def test_the_nearest_folder_that_exists(tmp_path):
    assert doctor.existing(tmp_path / "a" / "b") == tmp_path
    assert doctor.existing(tmp_path) == tmp_path


def test_run_prints_a_line_each_and_counts_what_is_ill(monkeypatch):
    lines: list[str] = []
    monkeypatch.setattr(doctor, "checks", lambda: [lambda: Finding(True, "a"), lambda: Finding(False, "b", "mend it")])
    assert doctor.run(lines.append) == 1
    assert lines == ["[ok]   a", "[fail] b: mend it", "1 of 2 parts need a mend."]
    monkeypatch.setattr(doctor, "checks", lambda: [lambda: Finding(True, "a")])
    assert doctor.run(lines.append) == 0
    assert lines[-1] == "This machine is ready."


def test_every_part_is_looked_at_on_this_machine():
    findings = [check() for check in doctor.checks()]
    words = ["Python", "requirements met|as locked|differ|not met", "kernel", "front end", "chapters", "progress"]
    assert len(findings) == 8
    for finding, word in zip(findings, words, strict=False):
        assert any(part in finding.text for part in word.split("|")), finding
    assert all(finding.mend for finding in findings if not finding.good)

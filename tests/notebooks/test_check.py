"""`course.py check` says how each exercise stands, whatever an editor did to the notebook."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest

from attention_lab.checking.notebooks import check, find, load

IMPORTS = "import numpy as np\nfrom attention_lab import answer, exercise"
DOUBLE = "@exercise\ndef double(x):\n    return 2 * x"
WRONG = "@exercise\ndef row_means(x):\n    return x.mean(axis=0)"
RIGHT = "@exercise\ndef row_means(x):\n    return x.mean(axis=1)"
BLANK = "@exercise\ndef row_means(x):\n    raise NotImplementedError"
LOOP = "@exercise\ndef row_means(x):\n    while True:\n        pass"


def write(path: Path, *sources: str, **metadata: object) -> Path:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in (IMPORTS, *sources)])
    book.metadata.update(metadata)
    nbformat.write(book, path)
    return path


def report(capsys: pytest.CaptureFixture[str], paths: Sequence[Path], timeout: int = 60) -> tuple[int, str]:
    code = check(Path("/nowhere"), [str(p) for p in paths], timeout)
    return code, capsys.readouterr().out


def test_each_exercise_gets_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = write(tmp_path / "any name.ipynb", DOUBLE, WRONG)
    foreign = write(tmp_path / "foreign.ipynb", DOUBLE, RIGHT, kernelspec={"name": "xeus-9", "display_name": "X"})
    blank = write(tmp_path / "blank.ipynb", DOUBLE, BLANK)
    code, text = report(capsys, [wrong, foreign, blank])
    assert code == 1
    one, two, three = text.split(".ipynb (chapter 00)")[1:]
    assert "[solved]      double" in one and "[wrong]       row_means: " in one
    assert "[solved]      row_means" in two
    assert "[not started] row_means" in three
    assert "[not checked]" in one and "no cell of this notebook holds it" in one


def test_what_editors_and_accidents_do_to_a_file_does_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "crlf.ipynb", DOUBLE, RIGHT)
    data = json.loads(path.read_text(encoding="utf-8"))
    for cell in data["cells"]:
        cell.pop("id")
        cell["metadata"] = {"tags": ["raises-exception", "nbval-skip"]}
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    data["metadata"] = {}
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(data, indent=1).replace("\n", "\r\n").encode())
    before = path.read_bytes()
    half = tmp_path / "half.ipynb"
    half.write_text(json.dumps(data)[:100], encoding="utf-8")
    code, text = report(capsys, [half, path])
    assert "[unreadable] half.ipynb is not a notebook (no JSON)" in text
    assert "[solved]      double" in text and "[solved]      row_means" in text
    assert path.read_bytes() == before


def test_a_loop_without_end_costs_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = report(capsys, [write(tmp_path / "loop.ipynb", LOOP, DOUBLE)], timeout=5)
    assert "[raised]      row_means: It was stopped" in text
    assert "[solved]      double" in text


def test_a_cell_of_the_learners_that_fails_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = report(capsys, [write(tmp_path / "own.ipynb", "y = 1\nnothing_here + y", DOUBLE)])
    assert "the cell that begins with 'y = 1': NameError: name 'nothing_here' is not defined" in text


def test_a_check_that_was_switched_off_is_not_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = report(capsys, [write(tmp_path / "off.ipynb", "%%script false\n" + RIGHT, DOUBLE)])
    assert "[not checked] row_means" in text and code == 1


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[1]", "has no cells"),
        (b'{"cells": 3}', "has no cells"),
        (b'{"cells": [3]}', "cells that are not cells"),
        (b"[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_notebook_is_told(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "x.ipynb"
    path.write_bytes(content)
    assert fault in load(path).fault


def test_copies_that_were_set_aside_are_no_chapters(tmp_path: Path) -> None:
    (tmp_path / "chapters").mkdir()
    for name in ("03_soft_lookup.ipynb", "03_soft_lookup.mine-2026-01-01-1200.ipynb"):
        (tmp_path / "chapters" / name).write_text("{}")
    assert [p.name for p in find(tmp_path, ["3"])] == ["03_soft_lookup.ipynb"]


@pytest.mark.parametrize(
    ("what", "says"), [("77", "there is no chapter 77"), ("no.ipynb", "there is no file no.ipynb")]
)
def test_what_does_not_exist_is_told(tmp_path: Path, what: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find(tmp_path, [what])

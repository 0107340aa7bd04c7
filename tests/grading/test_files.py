"""Whatever is handed in gets a row, and nothing that is handed in leads anywhere."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.grading.books import book, code, made, saved

from attention_lab.grading.marker import Marker
from attention_lab.grading.run import Options, grade
from attention_lab.grading.submissions import Submission, assign, find
from attention_lab.grading.workers import Limits

RIGHT = saved(made("03"))


def table(folder: Path, out: Path, **more: Any) -> tuple[int, dict[str, dict[str, str]]]:
    """Mark a folder; its exit code, and the rows of grades.csv by file."""
    status = grade(Options(folder, out, seed=1, limits=Limits(seconds=5), **more))
    with open(out / "grades.csv", encoding="utf-8", newline="") as file:
        return status, {row["file"]: row for row in csv.DictReader(file)}


def zipped(entries: dict[str, bytes], **attributes: int) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for key, value in attributes.items():
                setattr(entry, key, value)
            archive.writestr(entry, content)
    return memory.getvalue()


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    found = made("03")
    change(found)
    return saved(found)


def _each_cell(**keys: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        for cell in found["cells"]:
            cell.update(keys)

    return change


def _old_format(found: dict[str, Any]) -> None:
    cells = [
        {("input" if k == "source" and c["cell_type"] == "code" else k): v for k, v in c.items()}
        for c in found.pop("cells")
    ]
    found.update(nbformat=3, nbformat_minor=0, worksheets=[{"cells": cells}])


#: Notebooks that an editor, a course platform or an accident may have made: all of them hold three right answers.
ODD = {
    "lines with carriage returns": RIGHT.replace(b"\\n", b"\\r\\n"),
    "a byte order mark": b"\xef\xbb\xbf" + RIGHT,
    "an unknown kernel": changed(lambda b: b["metadata"].update(kernelspec={"name": "gone", "display_name": "G"})),
    "no metadata": changed(lambda b: b.pop("metadata")),
    "duplicate ids": changed(_each_cell(id="same")),
    "tags that skip": changed(
        _each_cell(metadata={"tags": ["skip", "raises-exception", "nbval-skip"], "editable": False})
    ),
    "an old format": changed(_old_format),
    "all cells retyped as text": changed(_each_cell(cell_type="markdown")),
    "all cells retyped as raw": changed(_each_cell(cell_type="raw")),
    "outputs that say failed": changed(
        _each_cell(outputs=[{"output_type": "stream", "name": "stdout", "text": "failed"}])
    ),
    "magics": saved(made("03", before=("%matplotlib inline\n!pip list\nx = !ls\nnp?", "%%time\ny = 1"))),
    "plots and bars": saved(
        made("03", before=("import matplotlib.pyplot as plt\nfrom tqdm import tqdm\nfig, ax = plt.subplots()",))
    ),
    "a cell that fails": saved(made("03", before=("1 / 0", "undefined", "raise SystemExit", "def broken(:"))),
    "the first cell taken away": changed(lambda b: b["cells"].pop(1)),
    "every provided cell taken away": changed(
        lambda b: b.update(cells=[c for c in b["cells"] if "@exercise" in "".join(c["source"])])
    ),
    "surrogates in a text": RIGHT[:-1] + b', "note": "\\ud800"}',
    "a lone surrogate in a cell": saved(made("03", before=("x = '\ud800'",))),
    "answers that loop over all choices": saved(made("03", before=("for c in 'ab':\n    answer('03_shift', c)",))),
}

#: What is no notebook that can be marked.
BROKEN = {
    "empty": b"",
    "blank": b"   \n",
    "text": b"this is not JSON",
    "cut off": RIGHT[: len(RIGHT) // 2],
    "a list": b"[]",
    "a number": b"5",
    "null": b"null",
    "no cells": b"{}",
    "cells that are none": b'{"cells": 5}',
    "cells of numbers": b'{"cells": [1, 2]}',
    "a cell without source": b'{"cells": [{"cell_type": "code"}]}',
    "a source of objects": b'{"cells": [{"cell_type": "code", "source": {"a": 1}}]}',
    "deep": b'{"cells": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep objects": b'{"cells": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "a number of a million digits": b'{"cells": [' + b"9" * 1_000_000 + b"]}",
    "zeros": bytes(1000),
    "another encoding": RIGHT.decode().encode("utf-16"),
    "too large": b'{"cells": [], "x": "' + b"y" * 20_000_001 + b'"}',
    "too many cells": saved({"cells": [code("1")] * 2001}),
    "another course": saved({"cells": [code("def f(x): return x")]}),
    "a page of a browser": b"<!doctype html><html><body>softmax</body></html>",
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_notebook_with_right_answers_gets_full_marks(name: str, marker: Marker) -> None:
    marked = marker.mark(ODD[name])
    assert [v["status"] for v in marked.verdicts[:3]] == ["passed"] * 3, marked


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_said_to_be_broken(name: str, marker: Marker) -> None:
    marked = marker.mark(BROKEN[name])
    assert marked.status in ("unreadable", "no exercise")
    assert marked.fault
    assert not marked.verdicts


def test_saved_outputs_and_claims_in_metadata_count_for_nothing(marker: Marker) -> None:
    blank = made("03", folder="chapters")
    for cell in blank["cells"]:
        cell["metadata"] = {
            "nbgrader": {"grade": True, "points": 100, "grade_id": "x", "locked": True},
            "tags": ["passed"],
        }
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "softmax: solved"}]
    marked = marker.mark(saved(blank))
    assert {v["status"] for v in marked.verdicts} == {"not_started"}


def test_a_question_counts_what_was_answered_last_and_only_the_right_value(marker: Marker) -> None:
    cells = {"03_shift": "answer('03_shift', 'nothing')\nanswer('03_shift', 'everything')"}
    statuses = {v["name"]: v["status"] for v in marker.mark(saved(made("03", cells))).verdicts}
    assert statuses["03_shift"] == "wrong"
    assert statuses["03_hot"] == "passed"
    equal = "class All(str):\n    def __eq__(self, o): return True\nanswer('03_shift', All('x'))"
    statuses = {v["name"]: v["status"] for v in marker.mark(saved(made("03", {"03_shift": equal}))).verdicts}
    assert statuses["03_shift"] == "wrong"


def test_a_folder_of_everything_gets_a_row_for_each_file(tmp_path: Path) -> None:
    folder = tmp_path / "häng ed in"
    deep = folder / "Ødegård, Åse (12)" / "a b" / "c"
    deep.mkdir(parents=True)
    (deep / "final FINAL (2).IPYNB").write_bytes(RIGHT)
    (folder / "=HYPERLINK(1)").mkdir()
    (folder / "=HYPERLINK(1)" / "<img src=x onerror=alert(1)>.ipynb").write_bytes(RIGHT)
    (folder / "b").mkdir()
    (folder / "b" / "essay.pdf").write_bytes(b"%PDF")
    (folder / "b" / "broken.ipynb").write_bytes(b"{")
    (folder / "b" / "link.ipynb").symlink_to("/etc/hostname")
    (folder / "b" / "loop").symlink_to(folder)
    (folder / "b" / ".ipynb_checkpoints").mkdir()
    (folder / "b" / ".ipynb_checkpoints" / "old.ipynb").write_bytes(RIGHT)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "b" / "pipe.ipynb")
    (folder / "c.zip").write_bytes(zipped({"../../../climbed.ipynb": RIGHT, "__MACOSX/._x.ipynb": b"", "in/": b""}))
    (folder / "d.zip").write_bytes(b"PK\x03\x04 no archive")
    (folder / "e.zip").write_bytes(zipped({"a.zip": zipped({"b.zip": zipped({"c.ipynb": RIGHT}), "x.ipynb": RIGHT})}))
    (folder / "f.zip").write_bytes(zipped({"bomb.ipynb": bytes(15_000_000), "big.ipynb": bytes(21_000_000)}))
    (folder / "g.zip").write_bytes(zipped({"link.ipynb": b"/etc/passwd"}, external_attr=(stat.S_IFLNK | 0o777) << 16))
    status, rows = table(folder, tmp_path / "out")
    assert status == 1
    statuses = {name: row["status"] for name, row in rows.items()}
    marked = [row for row in rows.values() if row["status"] == "marked"]
    assert len(marked) == 4
    assert all(float(row["points"]) == float(row["out_of"]) == 3 for row in marked)
    assert all(float(row[name]) == 1 for row in marked for name in ("hard_lookup", "softmax", "soft_lookup"))
    assert all(float(row["softmax"]) == 0 for row in rows.values() if row["status"] != "marked")
    assert statuses["c.zip/climbed.ipynb"] == "marked"
    assert statuses["e.zip/a.zip/x.ipynb"] == "marked"
    assert statuses["b/essay.pdf"] == statuses["e.zip/a.zip/b.zip"] == "no notebook"
    refused = {name for name, said in statuses.items() if said == "refused"}
    assert {"b/link.ipynb", "b/loop", "d.zip", "f.zip/bomb.ipynb", "f.zip/big.ipynb", "g.zip/link.ipynb"} <= refused
    assert not (tmp_path / "climbed.ipynb").exists()
    text = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8")
    assert "'=HYPERLINK(1)" in text
    for page in (tmp_path / "out").rglob("*.html"):
        assert "<img" not in page.read_text(encoding="utf-8")
    assert {row["learner"] for row in rows.values()} >= {"Ødegård, Åse (12)", "b", "c", "d", "e", "f", "g"}


def _found(*files: str) -> list[Submission]:
    return [Submission(file, lambda: b"") for file in files]


def test_one_learner_for_each_folder_whatever_lies_around_it() -> None:
    owned, rule = assign(
        _found("x/ann/03.ipynb", "x/ann/deep/04.ipynb", "x/bo.zip/03.ipynb"), "auto", lambda s: s.file[-8:]
    )
    assert [s.learner for s in owned] == ["ann", "ann", "bo"]
    assert "folder" in rule


def test_one_learner_for_each_file_where_notebooks_of_one_chapter_lie_side_by_side() -> None:
    files = [f"{chapter}/{who}.ipynb" for chapter in ("03", "04") for who in ("ann", "bo", "cy")]
    owned, rule = assign(_found(*files), "auto", lambda s: s.file[:2])
    assert [s.learner for s in owned][:2] == ["03/ann", "03/bo"]
    assert "each file" in rule
    owned, _ = assign(_found("ann.ipynb", "bo.ipynb"))
    assert [s.learner for s in owned] == ["ann", "bo"]


def test_an_unreadable_folder_and_names_that_are_no_text_are_survived(tmp_path: Path) -> None:
    name = os.fsencode(str(tmp_path)) + b"/\xff\xfe.ipynb"
    try:
        with open(name, "wb") as file:
            file.write(b"{}")
    except OSError:
        pytest.skip("this file system takes no such names")
    (found,) = find(tmp_path)
    json.dumps(found.file).encode()
    assert found.read() == b"{}"


def test_what_the_editor_changed_is_still_the_courses_own_cell() -> None:
    from attention_lab.grading.course import chapter, normal

    own = [normal("".join(c["source"])) for c in book("chapters", "03")["cells"] if c["cell_type"] == "code"]
    known = chapter("03")
    assert set(own) == set(known.provided) | set(known.blank)
    assert normal("\n  x = 1  \r\ny = 2\n\n") == "  x = 1\ny = 2"

"""A notebook as one HTML file: alive without a kernel and without a network (the browser's half: tests/browser)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest

from attention_lab.authoring.page import export_html

CELLS = (
    "print('said <b>loudly</b>')",
    """\
import numpy as np
from attention_lab.widgets import Choice, PatternData, PatternView, Slider, explore
def share(peak, word):
    if peak == 3:
        raise ValueError("three is refused")
    return PatternData(np.array([[peak, 1 - peak]]), f"{word} {peak}</script>")
explore(share, [Slider("peak", 0, 9, 1), Choice("word", ["x", "y"], "x")], PatternView(["q"], ["a", "b"], "Shares"))""",
    "1 / 0",
    "print('after the error')",
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("a folder with ümlauts")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 42 · A <title>")])
    book.cells += [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path = folder / "42_a_title.ipynb"
    nbformat.write(book, path)
    before = path.read_bytes()
    out = export_html(path, folder / "pages" / "42.html")
    assert path.read_bytes() == before, "the notebook is left as it was"
    return out, out.read_text(encoding="utf-8")


def test_every_frame_of_a_slider_is_in_the_page(exported: tuple[Path, str]) -> None:
    text = re.search(r'<script type="application/json" id="al-models">(.*?)</script>', exported[1], re.DOTALL)
    assert text
    (model,) = json.loads(text.group(1)).values()
    frames = model["state"]["spec"]["frames"]
    assert [frame["text"] for frame in frames[:3]] == ["x 0</script>", "y 0</script>", "x 1</script>"]
    assert len(frames) == 20
    assert [frame["error"] for frame in frames[6:8]] == [
        "No picture for this value: three is refused (ValueError)."
    ] * 2
    assert len([b for b in model["buffers"] if b["path"][:2] == ["spec", "frames"]]) == 20


def test_text_is_escaped_and_an_error_does_not_end_the_page(exported: tuple[Path, str]) -> None:
    page = exported[1]
    assert "<title>42 · A &lt;title&gt;</title>" in page
    assert "said &lt;b&gt;loudly&lt;/b&gt;" in page
    assert "ZeroDivisionError" in page and "after the error" in page


def test_nothing_comes_from_a_network(exported: tuple[Path, str]) -> None:
    page = exported[1].replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"""(src|href)=["']https?:|@import|import\s*\(|^import |require\.js|\$\(""", page, re.MULTILINE
    )
    assert page.count("<script") == 4, "one for the view, its models, the page's own, and one that is words in a frame"


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no notebook"):
        export_html(tmp_path / "none.ipynb", tmp_path)

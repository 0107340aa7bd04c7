"""A notebook as one HTML file that works from the disk: text, code, run figures, and views that are alive.

The notebook is run first. Every slider brings its frames along (`attention_lab.widgets.explore.FRAMES`), so that the
page needs no kernel; scripts stand in the page, so that it needs no network.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat

from attention_lab.widgets.explore import FRAMES
from attention_lab.widgets.live import script, style

_HERE = Path(__file__).parent
#: Frames that one slider may bring along.
MOST_FRAMES = 160
#: What nbconvert leaves beside each widget for a script that this page does not have.
_JQUERY = re.compile(r'<script type="text/javascript">\s*var element = \$\([^)]*\);\s*</script>')
_STATE = "application/vnd.jupyter.widget-state+json"


def export_html(notebook: Path, out: Path, timeout: int = 600) -> Path:
    """Run a notebook and write it as one HTML file. The notebook itself is left as it is.

    Args:
        notebook: path of the .ipynb file; it runs in its own folder.
        out: the file to write, or a folder for it.
        timeout: seconds for one cell.

    Raises:
        ValueError: when there is no such notebook, or `out` cannot be written.
    """
    if not notebook.is_file():
        raise ValueError(f"there is no notebook {notebook}")
    target = out / f"{notebook.stem}.html" if out.is_dir() or not out.suffix else out
    book = nbformat.read(notebook, as_version=4)
    run(book, notebook.parent, timeout)
    text = page(book)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {error.strerror}") from error
    return target


def run(book: nbformat.NotebookNode, folder: Path, timeout: int) -> None:
    """Run all cells in place; a cell that fails shows its error, and the next one runs."""
    from nbclient import NotebookClient

    client = NotebookClient(
        book, timeout=timeout, allow_errors=True, store_widget_state=True, resources={"metadata": {"path": str(folder)}}
    )
    path = os.pathsep.join(filter(None, [str(_HERE.parents[1]), os.environ.get("PYTHONPATH", "")]))
    variables = {"PYTHONPATH": path, FRAMES: str(MOST_FRAMES)}
    with TemporaryDirectory() as home, _environment(ATTENTION_LAB_HOME=home, **variables):  # not the learner's progress
        client.execute()


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Variables that the kernel inherits; strictness of a test runner is not handed on."""
    before = dict(os.environ)
    os.environ.update(values)
    for name in ("PYTEST_VERSION", "PYTEST_CURRENT_TEST", "ATTENTION_LAB_STRICT"):
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def page(book: nbformat.NotebookNode) -> str:
    """A notebook that was run, as one HTML text."""
    from nbconvert.exporters import HTMLExporter
    from pygments.formatters import HtmlFormatter

    exporter = HTMLExporter(template_name="basic")
    body, _ = exporter.from_notebook_node(book)
    body = _JQUERY.sub("", body).replace('<div class="highlight', '<div tabindex="0" class="highlight')
    state = book.metadata.get("widgets", {}).get(_STATE, {}).get("state", {})
    title = next((line[2:] for cell in book.cells for line in cell.source.splitlines() if line.startswith("# ")), "")
    template = (_HERE / "page.html").read_text(encoding="utf-8")
    parts = {
        "title": html.escape(title or "Attention Lab"),
        "style": (_HERE / "page.css").read_text(encoding="utf-8") + style(),
        "code_light": HtmlFormatter(style="default").get_style_defs(".highlight"),
        "code_dark": HtmlFormatter(style="github-dark").get_style_defs(".highlight"),
        "body": body,
        "models": _for_script(_models(state)),
        "script": script().replace("export default { render };", ""),
    }
    for name, text in parts.items():
        template = template.replace("{{" + name + "}}", text)
    return template


def _models(state: Mapping[str, Any]) -> dict[str, Any]:
    """By model id what a view needs: its state without the script, which the page holds once."""
    kept = ("spec", "answer", "content")
    return {
        model_id: {
            "state": {name: entry["state"][name] for name in kept},
            "buffers": [b for b in entry.get("buffers", []) if b["path"][0] in kept],
        }
        for model_id, entry in state.items()
        if all(name in entry["state"] for name in kept)
    }


def _for_script(data: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")

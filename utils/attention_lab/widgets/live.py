"""What every live output is made of: a still picture for pages without a kernel, and a widget."""

from __future__ import annotations

import functools
import pathlib
import re
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from attention_lab.figures import Picture
from attention_lab.widgets.still import still_bundle

_BROWSER = pathlib.Path(__file__).parent / "browser"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(?P<file>\w+\.js)";\n', re.MULTILINE)
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


@functools.cache
def script() -> str:
    """The modules of `browser/` as one ES module without imports, each after those that it needs."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for found in _IMPORT.finditer((_BROWSER / name).read_text(encoding="utf-8")):
                visit(found["file"])
            order.append(name)

    visit("index.js")
    texts = [_IMPORT.sub("", (_BROWSER / name).read_text(encoding="utf-8")) for name in order]
    return "\n".join(re.sub(r"^export (?=function|const|async)", "", text, flags=re.MULTILINE) for text in texts)


def style() -> str:
    """The style sheet of all views."""
    return (_BROWSER / "style.css").read_text(encoding="utf-8")


class Live:
    """An output that displays itself: first the still, then the widget, which hides it where it is alive.

    Args:
        still: the picture of the first state.
        sentence: what a page without a kernel says under it.
        spec: what does not change, as plain JSON; `kind` names the renderer in `browser/index.js`.
        receive: answers a message of the browser.
        traits: further state of the widget (`answer`, `content`).
    """

    def __init__(
        self,
        still: Picture,
        sentence: str,
        spec: Mapping[str, Any],
        receive: Callable[[Mapping[str, Any]], None] | None = None,
        **traits: Any,
    ) -> None:
        self._still = still_bundle(still, sentence)
        self._widget = _Widget(receive, spec=dict(spec), **traits)

    def _live(self) -> dict[str, Any]:
        """The second output: the widget, and no text, for the still before it has said everything."""
        address = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        return {WIDGET_VIEW: address, "text/plain": ""}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self._still, raw=True)
        display(self._live(), raw=True)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return self._live() | self._still

    def __repr__(self) -> str:
        return self._still["text/plain"]


class _Widget(anywidget.AnyWidget):
    """The wire to the browser: `spec` and `content` once, an `answer` for each request, requests as custom messages."""

    _esm = script()
    _css = style()
    spec = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    content = traitlets.Dict().tag(sync=True)

    def __init__(self, receive: Callable[[Mapping[str, Any]], None] | None, **traits: Any) -> None:
        super().__init__(**traits)
        if receive is not None:
            self.on_msg(lambda _widget, content, _buffers: receive(content))

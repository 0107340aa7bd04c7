"""`explore`: a pure function, its controls, and a view, as one live output."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from attention_lab.widgets.controls import Control
from attention_lab.widgets.still import still_bundle
from attention_lab.widgets.views import Frame, Painter, View

_HERE = pathlib.Path(__file__).parent
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def explore(compute: Callable[..., Any], controls: Sequence[Control], view: View) -> Explorer:
    """Show what `compute` returns, and let the learner move what it depends on.

    Args:
        compute: a pure function with one keyword for each control.
        controls: `Slider`, `Choice` and `Toggle`, from top to bottom.
        view: `PatternView` or `FigureView`; says which data `compute` returns.

    Returns:
        An object that displays itself as the last expression of a cell.

    Raises:
        ValueError: for no controls, or two of one name.
        Exception: what `compute` raises for the initial state, so that the cell fails plainly.
    """
    names = [control.name for control in controls]
    if not names:
        raise ValueError("explore needs at least one control")
    if len(set(names)) < len(names):
        raise ValueError(f"two controls have one name: {', '.join(names)}")
    return Explorer(compute, controls, view)


class Explorer:
    """A function on show. `state` and `text` are what is shown now, `error` the sentence of a failed move."""

    def __init__(self, compute: Callable[..., Any], controls: Sequence[Control], view: View) -> None:
        self._compute = compute
        self._controls = {control.name: control for control in controls}
        self.state: dict[str, Any] = {control.name: control.value for control in controls}
        self.text, self.error = "", ""
        data = compute(**self.state)
        self._painter: Painter = view.start(data)
        self._still = still_bundle(self._painter.still(), self._what())
        self._widget = _Widget(self._receive, spec=self._spec(), answer=self._answer(self._painter.paint(data)))

    def move(self, **state: Any) -> str:
        """Set controls from Python, as a learner would by hand; returns the error's sentence, or nothing."""
        sent = {name: self._controls[name].to_browser(value) for name, value in (self.state | state).items()}
        self._receive({"view": "", "number": 0, "state": sent})
        return self.error

    def _receive(self, request: Mapping[str, Any]) -> None:
        """Answer one request of the browser. Whatever goes wrong becomes a sentence: nobody reads a kernel's log."""
        frame: Frame | None = None
        try:
            self.state = {name: control.to_python(request["state"][name]) for name, control in self._controls.items()}
            frame = self._painter.paint(self._compute(**self.state))
            self.error = ""
        except Exception as error:
            self.error = sentence(error)
        self._widget.answer = self._answer(frame, request)

    def _answer(self, frame: Frame | None, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the browser reads: the request's number, then the frame, or the error beside the frame that stays."""
        asked = request or {}
        stamp = {"view": asked.get("view", ""), "number": asked.get("number", 0)}
        if frame is not None:
            self.text = frame.text
            self._shown = {"text": frame.text, "detail": frame.detail, "content": frame.content}
        state = {name: control.to_browser(self.state[name]) for name, control in self._controls.items()}
        return stamp | {"state": state, "error": self.error} | self._shown

    def _spec(self) -> dict[str, Any]:
        return {"controls": [control.spec() for control in self._controls.values()], "view": self._painter.spec}

    def _what(self) -> str:
        kinds = [control.spec()["kind"] for control in self._controls.values()]
        return "slider" if kinds == ["slider"] else "sliders" if set(kinds) == {"slider"} else "controls"

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


def sentence(error: Exception) -> str:
    """An exception as one sentence, without a traceback."""
    said = " ".join(str(error).split())
    said = said[:200].rstrip(" .") or "the function failed"
    return f"No picture for this value: {said} ({type(error).__name__})."


class _Widget(anywidget.AnyWidget):
    """The wire to the browser: `spec` once, an `answer` for each request, and requests as custom messages."""

    _esm = _HERE / "explore.js"
    _css = _HERE / "explore.css"
    spec = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)

    def __init__(self, receive: Callable[[Mapping[str, Any]], None], **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(lambda _widget, content, _buffers: receive(content))

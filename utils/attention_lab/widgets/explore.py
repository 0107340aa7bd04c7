"""`explore`: a pure function, its controls, and a view, as one live output."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attention_lab.widgets.controls import Control, Slider
from attention_lab.widgets.head import Head
from attention_lab.widgets.live import Live
from attention_lab.widgets.views import Frame, Painter, View

#: Set while a page is made: every slider then brings its frames along, at most this many, and lives without a kernel.
FRAMES = "ATTENTION_LAB_FRAMES"


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


class Explorer(Live):
    """A function on show. `state` and `text` are what is shown now, `error` the sentence of a failed move."""

    def __init__(self, compute: Callable[..., Any], controls: Sequence[Control], view: View) -> None:
        self._compute = compute
        self._controls = {control.name: control for control in controls}
        self.state: dict[str, Any] = {control.name: control.value for control in controls}
        self.text, self.error = "", ""
        data = compute(**self.state)
        self._painter: Painter = view.start(data)
        still, sentence = self._painter.still(), f"Run this cell to move the {self._what()}."
        first = self._answer(self._painter.paint(data))
        super().__init__(still, sentence, self._spec(), self._receive, answer=first)

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
        spec = {"kind": "explore", "controls": [c.spec() for c in self._controls.values()], "view": self._painter.spec}
        if isinstance(self._compute, Head):
            return spec | {"head": self._compute.spec()}
        most = int(os.environ.get(FRAMES, 0))
        return spec | self._frames(most) if most else spec

    def _frames(self, most: int) -> dict[str, Any]:
        """A frame for every state of the controls, the last control running fastest; sliders take longer steps where
        there would be more than `most`."""
        controls = thinned(list(self._controls.values()), most)
        frames = []
        for values in itertools.product(*(control.values() for control in controls)):
            state = dict(zip(self._controls, values, strict=True))
            try:
                frame = self._painter.paint(self._compute(**state))
                frames.append({"text": frame.text, "detail": frame.detail, "content": frame.content, "error": ""})
            except Exception as error:
                frames.append(self._shown | {"error": sentence(error)})
        self._painter.paint(self._compute(**self.state))  # the still is drawn next, of the state at the start
        return {"controls": [control.spec() for control in controls], "frames": frames}

    def _what(self) -> str:
        kinds = [control.spec()["kind"] for control in self._controls.values()]
        return "slider" if kinds == ["slider"] else "sliders" if set(kinds) == {"slider"} else "controls"


def thinned(controls: list[Control], most: int) -> list[Control]:
    """The controls, the sliders with so long steps that there are at most `most` states (where choices allow that)."""
    while math.prod(len(control.values()) for control in controls) > most:
        sliders = [c for c in controls if isinstance(c, Slider) and len(c.values()) > 2]
        if not sliders:
            break
        longest = max(sliders, key=lambda slider: len(slider.values()))
        controls = [control.coarser() if control is longest else control for control in controls]
    return controls


def sentence(error: Exception) -> str:
    """An exception as one sentence, without a traceback."""
    said = " ".join(str(error).split())
    said = said[:200].rstrip(" .") or "the function failed"
    return f"No picture for this value: {said} ({type(error).__name__})."

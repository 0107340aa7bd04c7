"""The one way to make a slider: a pure function, its controls, and a view.

    from attention_lab.widgets import PatternData, PatternView, Slider, explore

    def soften(temperature):
        pattern = softmax(scores / temperature)
        return PatternData(pattern, f"bank gives boat {pattern[4, 1]:.2f}")
    explore(soften, [Slider("temperature", 0.05, 5.0, 1.0, step=0.05)], PatternView(WORDS, WORDS, "Softer and sharper"))

The function takes one keyword per control and returns data; it draws nothing and remembers nothing. With
`FigureView(chart)` in place of `PatternView` it returns the data of a chart of `attention_lab.figures`.
The function runs once when `explore` is called, so that a mistake in it fails the cell; later mistakes appear as one
sentence under the controls, and the last good picture stays.

`Head(q, k, v, words)` in place of the function is computed in the browser. `attention_viewer` shows all heads of a
model, `step_through` one head a step at a time; neither needs a kernel after it has run.
"""

from attention_lab.widgets.controls import Choice, Slider, Toggle
from attention_lab.widgets.explore import Explorer, explore
from attention_lab.widgets.head import Head
from attention_lab.widgets.steps import StepThrough, step_through
from attention_lab.widgets.viewer import AttentionViewer, attention_viewer
from attention_lab.widgets.views import FigureView, PatternData, PatternView

__all__ = [
    "AttentionViewer",
    "Choice",
    "Explorer",
    "FigureView",
    "Head",
    "PatternData",
    "PatternView",
    "Slider",
    "StepThrough",
    "Toggle",
    "attention_viewer",
    "explore",
    "step_through",
]

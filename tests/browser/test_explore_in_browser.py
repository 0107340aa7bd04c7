"""Sliders in a real JupyterLab: keyboard, mistakes, speed of hand, themes, and notebooks without a kernel."""

from __future__ import annotations

IMPORTS = """\
import numpy as np
from attention_lab.figures import line_chart, picture
from attention_lab.lesson import W_K, W_Q, WORDS, rows
from attention_lab.widgets import Choice, FigureView, PatternData, PatternView, Slider, Toggle, explore
"""
PATTERN = """\
def soften(temperature, mask):
    if temperature > 4.5:
        raise ValueError("the temperature is too high for this test")
    scores = rows() @ W_Q @ (rows() @ W_K).T / np.sqrt(2) / temperature
    if mask:
        scores = np.where(np.tri(5, dtype=bool), scores, -np.inf)
    pattern = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    return PatternData(pattern, f"bank gives boat {pattern[4, 1]:.2f}", bars=dict(zip(["w", "m", "p", "a"], pattern[4] @ rows())))
explore(soften, [Slider("temperature", 0.05, 5.0, 1.0, step=0.05), Toggle("mask", label="causal mask")],
        PatternView(WORDS, WORDS, "“bank” looks at “boat”", bars_title="the row of “bank” becomes"))
"""
FIGURE = """\
def decay(rate, kind):
    x = np.arange(60)
    return {"attention": (x, np.ones(60)), "recurrent": (x, np.exp(-rate * x) if kind == "smooth" else rate ** (x / 20))}
explore(decay, [Slider("rate", 0.01, 0.5, 0.1, step=0.01, unit="per word"), Choice("kind", ["smooth", "power"], "smooth")],
        FigureView(line_chart("What is left of a word fades with distance", "distance (words)", "share left", ["attention", "recurrent"])))
"""


def test_look(lab):
    book = lab.open(lab.write(IMPORTS, PATTERN, FIGURE))
    book.run_all()
    book.page.wait_for_selector(".al-stage[data-number]")
    book.page.wait_for_selector("img.al-figure[src]")
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        book.theme(theme)
        for i in (1, 2):
            book.screenshot(f"look-{theme[-4:]}-{i}", book.cell(i))
    print(book.errors)

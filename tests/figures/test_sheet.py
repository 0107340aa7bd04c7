"""A sheet redraws only what changed, and nobody can tell."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from attention_lab.figures import bar_chart, heat_map, line_chart, side_by_side
from attention_lab.figures.base import new_figure, png_bytes
from attention_lab.figures.sheet import Sheet

WORDS = ("the", "boat", "left")


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def lines(rng):
    return {"a": (np.arange(9), rng.random(9)), "b": (np.arange(9), rng.random(9))}


LINES = {"x_label": "x", "y_label": "y", "series": ["a", "b"]}
CHARTS = {
    "heat map": (heat_map(WORDS, WORDS, "t"), lambda rng: rng.random((3, 3))),
    "heat map that fits its scale": (heat_map(WORDS, WORDS, "t", low=None, high=None), lambda rng: rng.random((3, 3))),
    "lines that fit": (line_chart("t", **LINES), lines),
    "lines on fixed axes": (line_chart("t", **LINES, x_range=(0, 8), y_range=(0, 1), levels={"half": 0.5}), lines),
    "title from the data": (line_chart(lambda d: f"{d['a'][1][0]:.3f}", **LINES, y_range=(0, 1)), lines),
    "bars": (bar_chart("t", "x", "y", WORDS), lambda rng: rng.normal(size=3)),
    "side by side": (
        side_by_side(heat_map(WORDS, WORDS, "t"), line_chart("t", **LINES, y_range=(0, 1))),
        lambda rng: (rng.random((3, 3)), lines(rng)),
    ),
}


@pytest.mark.parametrize("name", CHARTS)
def test_the_pixels_are_those_of_a_full_drawing(name):
    chart, data = CHARTS[name]
    rng = np.random.default_rng(0)
    figure = new_figure((4, 3))
    update = chart(figure)
    update(data(rng))
    sheet = Sheet(figure)
    seen = []
    for _ in range(4):
        update(data(rng))
        seen.append(sheet.png())
        assert np.abs(pixels(seen[-1]) - pixels(png_bytes(figure))).max() <= 1
    assert len(set(seen)) == 4


def test_what_does_not_change_is_not_drawn_again():
    chart, data = CHARTS["lines on fixed axes"]
    rng = np.random.default_rng(0)
    figure = new_figure((4, 3))
    update = chart(figure)
    update(data(rng))
    sheet = Sheet(figure)
    for _ in range(3):
        update(data(rng))
        sheet.png()
    drawn = []
    axis = figure.axes[0].xaxis
    axis.draw = lambda renderer: drawn.append("axis")
    update(data(rng))
    sheet.png()
    assert drawn == []

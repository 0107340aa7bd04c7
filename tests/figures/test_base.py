"""Charts show what they say, and say what they show."""

from __future__ import annotations

import base64
import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colormaps
from matplotlib.figure import Figure
from PIL import Image

import attention_lab
from attention_lab.figures import bar_chart, heat_map, line_chart, picture, side_by_side
from attention_lab.figures.base import CellNumbers, cell_number, ink_on, new_figure, short_number, tell_apart

#: Not symmetric: exchanging rows and columns, or turning either round, gives another picture.
QUERIES = ("bank", "left")
KEYS = ("the", "boat", "left")
PATTERN = np.array([[0.1, 0.7, 0.2], [0.3, 0.2, 0.5]])


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def test_queries_go_down_and_keys_go_across():
    drawn = picture(heat_map(QUERIES, KEYS, "t"), PATTERN)
    ax = drawn.figure.axes[0]
    drawn.figure.canvas.draw()
    rows = sorted((text.get_window_extent().y0, text.get_text()) for text in ax.get_yticklabels())
    columns = sorted((text.get_window_extent().x0, text.get_text()) for text in ax.get_xticklabels())
    assert [word for _, word in reversed(rows)] == ["bank", "left"]
    assert [word for _, word in columns] == ["the", "boat", "left"]
    assert ax.get_ylabel().startswith("query")
    assert ax.get_xlabel().startswith("key")


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)])
def test_each_cell_has_the_colour_and_the_number_of_its_value(row, column):
    drawn = picture(heat_map(QUERIES, KEYS, "t"), PATTERN)
    ax = drawn.figure.axes[0]
    x, y = ax.transData.transform((column - 0.35, row + 0.3))
    image = pixels(drawn.png())
    expected = np.array(colormaps["viridis"](PATTERN[row, column])[:3]) * 255
    assert np.abs(image[image.shape[0] - 1 - int(y), int(x)] - expected).max() <= 2
    (numbers,) = (artist for artist in ax.collections if isinstance(artist, CellNumbers))
    assert numbers.words[row * len(KEYS) + column] == f"{PATTERN[row, column]:.2f}"
    assert tuple(numbers.get_offsets()[row * len(KEYS) + column]) == (column, row)
    box = ax.transData.transform([(column - 0.3, row + 0.2), (column + 0.3, row - 0.2)]).round().astype(int)
    (left, bottom), (right, top) = box
    cell = image[image.shape[0] - top : image.shape[0] - bottom, left:right]
    ink = ink_on(colormaps["viridis"], PATTERN[row, column], 0, 1)
    assert cell.min() < 40 if ink == "black" else cell.min(axis=-1).max() > 215, "the number is drawn in its ink"


def test_the_alt_text_names_what_each_row_looks_at_most():
    drawn = picture(heat_map(QUERIES, KEYS, "Two rows"), PATTERN)
    assert drawn.alt == "Two rows. bank looks most at boat (0.70); left looks most at left (0.50)."


def test_the_alt_text_of_a_large_map_is_short():
    names = [f"w{i}" for i in range(40)]
    said = picture(heat_map(names, names, "Forty"), np.eye(40)).alt
    assert "40 rows and 40 columns" in said
    assert len(said) < 250


def test_the_alt_text_says_when_a_row_is_uniform_tied_or_empty():
    table = np.array([[0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0.0, 0.0], [np.nan] * 4])
    said = picture(heat_map("abc", "wxyz", ""), table).alt
    assert said == "a looks at all alike (0.25); b looks most at w and x alike (0.50); c has no number."


def test_a_word_that_stands_twice_is_told_apart():
    assert tell_apart(("the", "boat", "the")) == ["the first 'the'", "boat", "the second 'the'"]


def test_numbers_stand_in_the_cells_up_to_twelve_by_twelve():
    for size, expected in ((12, 144), (13, 0)):
        drawn = picture(heat_map(["w"] * size, ["w"] * size, "t"), np.eye(size))
        numbers = [artist for artist in drawn.figure.axes[0].collections if isinstance(artist, CellNumbers)]
        assert sum(len(artist.get_paths()) for artist in numbers) == expected


@given(st.floats(0, 1))
def test_a_number_stands_out_from_its_cell(value):
    colour_map = colormaps["viridis"]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour_map(value)[:3]]
    luminance = np.dot([0.2126, 0.7152, 0.0722], linear)
    contrast = 1.05 / (luminance + 0.05) if ink_on(colour_map, value, 0, 1) == "white" else (luminance + 0.05) / 0.05
    assert contrast >= 4.5


def test_another_shape_is_refused_by_name():
    with pytest.raises(ValueError, match=r"2 rows, 3 columns; the array has shape \(3, 2\)"):
        picture(heat_map(QUERIES, KEYS, "t"), PATTERN.T)


def test_lines_differ_by_marker_and_dash_and_are_described():
    chart = line_chart("Loss falls", "steps", "loss (nats)", ["RNN", "LSTM"], levels={"a uniform guess": 2.3})
    drawn = picture(chart, {"RNN": ([0, 1, 2], [3.0, 5.0, 1.0]), "LSTM": ([0, 2], [3.0, 0.5])})
    lines = drawn.figure.axes[0].lines[:2]
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 2
    assert drawn.alt == "Loss falls. RNN: 3 at 0, 1 at 2, largest 5 at 1. LSTM: 3 at 0, 0.50 at 2."
    with pytest.raises(ValueError, match="no line is called 'GRU'"):
        picture(chart, {"GRU": ([0], [1])})


def test_bars_take_an_array_a_mapping_or_several_series():
    one = bar_chart("t", "word", "share (1)", ["a", "b"])
    assert picture(one, [0.25, 0.75]).alt == picture(one, {"a": 0.25, "b": 0.75}).alt == "t. a 0.25, b 0.75."
    two = bar_chart("t", "word", "share (1)", ["a", "b"], ["one", "two"])
    assert picture(two, {"one": [1, 2], "two": [3, -4]}).alt == "t. one: a 1, b 2. two: a 3, b −4."
    with pytest.raises(ValueError, match="another form"):
        picture(one, [1, 2, 3])


def test_charts_stand_side_by_side():
    chart = side_by_side(heat_map(QUERIES, KEYS, "Left"), bar_chart("Right", "x", "y", ["a"]))
    assert picture(chart, (PATTERN, [1]), size=(9, 3)).alt.endswith("Right. a 1.")
    with pytest.raises(ValueError, match="2 charts"):
        picture(chart, (PATTERN,))


def test_a_title_can_be_made_from_the_data():
    figure = new_figure((4, 3))
    update = bar_chart(lambda data: f"The sum is {sum(data)}", "x", "y", ["a", "b"])(figure)
    assert update([1, 2]).startswith("The sum is 3.")
    assert update([1, 4]).startswith("The sum is 5.")
    assert figure.axes[0].get_title(loc="left").strip() == "The sum is 5"


def test_a_long_title_stays_inside_the_figure():
    drawn = picture(bar_chart("A finding that takes more words than fit " * 3, "x", "y", ["a"]), [1], size=(5, 3))
    title = drawn.figure.axes[0]._left_title.get_window_extent()
    assert title.x1 <= drawn.figure.bbox.x1
    assert title.y1 <= drawn.figure.bbox.y1


def test_a_picture_is_html_with_alt_text_and_png_and_words():
    drawn = picture(bar_chart('Less < more & "so"', "x", "y", ["a"]), [1])
    bundle = drawn._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert 'alt="Less &lt; more &amp; &quot;so&quot;. a 1."' in bundle["text/html"]
    assert bundle["text/plain"] == repr(drawn) == drawn.alt
    image = Image.open(io.BytesIO(base64.b64decode(bundle["image/png"])))
    assert image.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
    assert "http" not in bundle["text/html"]


def test_the_same_picture_has_the_same_bytes():
    first, second = (picture(heat_map(QUERIES, KEYS, "t"), PATTERN) for _ in range(2))
    assert first.png() == second.png()


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.643, "0.64"), (3.0, "3"), (-0.5, "−0.50"), (12345.6, "12,346"), (0.0004, "0.0004"), (np.nan, "NaN"),
     (-np.inf, "−∞"), (41.25, "41.2"), (250.4, "250")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert short_number(value) == text


def test_a_cell_keeps_two_decimals():
    assert cell_number(0.0004) == "0.00"


def test_figures_leave_pyplot_and_jupyter_alone():
    code = (
        "import sys; from attention_lab.figures import picture, bar_chart; "
        "picture(bar_chart('t', 'x', 'y', ['a']), [1]).png(); "
        "print([m for m in ('matplotlib.pyplot', 'IPython', 'ipywidgets', 'torch') if m in sys.modules])"
    )
    path = {"PYTHONPATH": str(pathlib.Path(attention_lab.__file__).parents[1])}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | path
    )
    assert ran.stdout.strip() == "[]"


def test_a_chart_builds_its_artists_once():
    figure: Figure = new_figure((4, 3))
    update = heat_map(QUERIES, KEYS, "t")(figure)
    update(PATTERN)
    before = set(figure.findobj())
    update(PATTERN[::-1])
    assert set(figure.axes[0].get_children()) <= before

"""`explore` without a browser: what is computed, what is sent, what is said when something goes wrong."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import nbclient
import nbformat
import numpy as np
import pytest

import attention_lab.widgets
from attention_lab.figures import line_chart
from attention_lab.widgets import Choice, FigureView, PatternData, PatternView, Slider, Toggle, explore
from attention_lab.widgets.live import script

PACKAGE = pathlib.Path(attention_lab.widgets.__file__).parent
#: Other processes find the package where this one did.
ENVIRONMENT = os.environ | {"PYTHONPATH": str(PACKAGE.parents[1])}
WORDS = ("the", "boat", "left")
KEYS = ("boat", "left")


def share(peak):
    """A pattern that is not symmetric; every row gives `peak` to "boat"."""
    if peak == 7:
        raise ZeroDivisionError("seven\n  does not divide")
    return PatternData(np.tile([peak, 1 - peak], (3, 1)), f"boat gets {peak:.1f}.")


def pattern_explorer(**view):
    return explore(share, [Slider("peak", 0, 9, 1)], PatternView(WORDS, KEYS, "Shares", **view))


def figure_explorer():
    chart = line_chart("A line", "x", "y", ["a"], y_range=(0, 9))
    return explore(lambda height: {"a": ([0, 1], [0, height])}, [Slider("height", 0, 9, 1)], FigureView(chart))


def answer(explorer):
    return explorer._widget.answer


def test_the_initial_state_is_shown_at_once():
    explorer = pattern_explorer()
    assert explorer.state == {"peak": 1}
    assert explorer.text == "boat gets 1.0."
    sent = np.frombuffer(answer(explorer)["content"], dtype="<f4").reshape(3, 2)
    assert sent.tolist() == [[1, 0]] * 3


def test_a_move_is_answered_under_its_own_number():
    explorer = pattern_explorer()
    explorer._receive({"view": "v", "number": 3, "state": {"peak": 4}})
    got = answer(explorer)
    assert (got["view"], got["number"], got["state"], got["error"]) == ("v", 3, {"peak": 4}, "")
    assert got["text"] == "boat gets 4.0."


def test_a_figure_is_redrawn_as_a_png_with_new_words():
    explorer = figure_explorer()
    before = answer(explorer)
    assert explorer.move(height=5) == ""
    after = answer(explorer)
    assert after["content"][:4] == b"\x89PNG"
    assert after["content"] != before["content"]
    assert after["text"] == "A line. a: 0 at 0, 5 at 1."


def test_a_mistake_is_one_sentence_and_the_last_good_picture_stays():
    explorer = pattern_explorer()
    explorer.move(peak=4)
    good = answer(explorer)["content"]
    said = explorer.move(peak=7)
    assert said == "No picture for this value: seven does not divide (ZeroDivisionError)."
    assert answer(explorer)["error"] == said
    assert answer(explorer)["state"] == {"peak": 7}
    assert answer(explorer)["content"] == good
    assert explorer.move(peak=5) == ""
    assert answer(explorer)["text"] == "boat gets 5.0."


def test_a_mistake_at_the_start_fails_the_cell():
    with pytest.raises(ZeroDivisionError):
        explore(share, [Slider("peak", 0, 9, 7)], PatternView(WORDS, KEYS))


@pytest.mark.parametrize(
    "request_",
    [{}, {"view": "v"}, {"view": "v", "number": 1, "state": {}}, {"view": "v", "number": 1, "state": {"peak": "x"}}],
)
def test_a_request_that_makes_no_sense_is_answered_too(request_):
    explorer = pattern_explorer()
    explorer._receive(request_)
    assert answer(explorer)["error"]
    assert explorer.text == "boat gets 1.0."


def test_a_pattern_of_another_form_is_refused_by_name():
    for data, said in (
        (PatternData(np.ones((2, 3)), ""), r"3 rows, 2 columns; the pattern has shape \(2, 3\)"),
        (np.ones((3, 2)), "shows PatternData"),
    ):
        with pytest.raises((ValueError, TypeError), match=said):
            explore(lambda n, data=data: data, [Slider("n", 0, 1, 0)], PatternView(WORDS, KEYS))


def test_bars_keep_their_names():
    bars = [{"a": 0.5}, {"b": 0.5}]
    explorer = explore(
        lambda n: PatternData(np.ones((3, 2)), "", bars[n]), [Slider("n", 0, 1, 0)], PatternView(WORDS, KEYS)
    )
    assert explorer._widget.spec["view"]["bars"] == ["a"]
    assert "the bars were ['a'] at first" in explorer.move(n=1)


def test_words_can_change_with_the_state():
    def compute(sentence):
        return PatternData(np.ones((2, 2)), sentence, queries=sentence.split(), keys=sentence.split())

    explorer = explore(compute, [Choice("sentence", ["a boat", "a clerk"], "a boat")], PatternView("ab", "ab"))
    explorer.move(sentence="a clerk")
    assert answer(explorer)["detail"]["queries"] == ["a", "clerk"]


def test_the_asking_row_is_sent_where_there_is_one():
    def compute(asking):
        return PatternData(np.ones((3, 2)), "", asking=asking or None)

    explorer = explore(compute, [Slider("asking", 0, 3, 2)], PatternView(WORDS, KEYS, walk=True))
    assert answer(explorer)["detail"]["row"] == 1
    explorer.move(asking=0)
    assert "row" not in answer(explorer)["detail"]


def test_controls_need_names_of_their_own():
    with pytest.raises(ValueError, match="one name"):
        explore(share, [Slider("peak", 0, 9, 1), Toggle("peak")], PatternView(WORDS, KEYS))
    with pytest.raises(ValueError, match="at least one"):
        explore(share, [], PatternView(WORDS, KEYS))


def test_the_browser_paints_with_matplotlibs_colours():
    from matplotlib import colormaps

    table = pattern_explorer()._widget.spec["view"]["colours"]
    assert len(table) == 256 * 6
    for index in (0, 100, 255):
        hexadecimal = table[index * 6 : index * 6 + 6]
        assert np.allclose(list(bytes.fromhex(hexadecimal)), np.array(colormaps["viridis"](index)[:3]) * 255, atol=0.51)


def test_the_repr_is_fixed_words():
    first, second = repr(figure_explorer()), repr(figure_explorer())
    assert first == second == "A line. a: 0 at 0, 1 at 1.\nRun this cell to move the slider."


def test_it_works_in_a_plain_python():
    code = "from attention_lab.widgets import *; from attention_lab.figures import bar_chart; " \
        "e = explore(lambda n: [n], [Slider('n', 0, 3, 1)], FigureView(bar_chart('t', 'x', 'y', ['a']))); " \
        "e.move(n=2); print(e.text)"  # fmt: skip
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=ENVIRONMENT)
    assert (ran.stdout.strip(), ran.stderr) == ("t. a 2.", "")


def test_a_notebook_run_without_a_front_end_keeps_a_picture_and_a_sentence():
    source = """\
from attention_lab.figures import bar_chart
from attention_lab.widgets import FigureView, Slider, explore
explore(lambda n: [n], [Slider("n", 0, 3, 1)], FigureView(bar_chart("Bars", "x", "y", ["a"])))"""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=False)
    client.execute(env=ENVIRONMENT)
    still, live = notebook.cells[0].outputs
    assert "<img" in still.data["text/html"]
    assert still.data["text/plain"] == "Bars. a 1.\nRun this cell to move the slider."
    assert live.data["text/plain"] == ""
    assert "application/vnd.jupyter.widget-view+json" in live.data


def test_nothing_is_loaded_from_a_network():
    for text in (script(), (PACKAGE / "browser" / "style.css").read_text(encoding="utf-8")):
        text = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|@import|import\s*\(|^import ", text, re.MULTILINE)


def test_the_package_itself_does_not_load_the_widgets():
    code = "import sys, attention_lab; print([m for m in sys.modules if m.startswith(('attention_lab.widgets', " \
        "'attention_lab.figures', 'anywidget', 'matplotlib', 'ipywidgets'))])"  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    assert ran.stdout.strip() == "[]"

"""Sliders in a real JupyterLab: keyboard, mistakes, a fast hand, both themes, and notebooks without a kernel."""

from __future__ import annotations

import json
import subprocess
import sys

import nbformat
import pytest

IMPORTS = """\
import numpy as np
from attention_lab.figures import line_chart
from attention_lab.lesson import W_K, W_Q, WORDS, rows
from attention_lab.widgets import Choice, FigureView, PatternData, PatternView, Slider, Toggle, explore
moves = 0
"""
PATTERN = """\
def soften(temperature, mask):
    global moves
    moves += 1
    if temperature > 4.5:
        raise ValueError("the temperature is too high for this test")
    scores = rows() @ W_Q @ (rows() @ W_K).T / np.sqrt(2) / temperature
    scores = np.where(np.tri(5, dtype=bool) | (not mask), scores, -np.inf)
    pattern = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    blend = dict(zip(["water", "money", "place", "action"], pattern[4] @ rows()))
    return PatternData(pattern, f"At temperature {temperature:.2f} bank gives boat {pattern[4, 1]:.2f}.", bars=blend)

controls = [Slider("temperature", 0.05, 5.0, 1.0, step=0.05), Toggle("mask", label="causal mask")]
explore(soften, controls, PatternView(WORDS, WORDS, "“bank” looks at “boat”", bars_title="the row of “bank” becomes"))
"""
FIGURE = """\
def decay(rate, kind):
    x = np.arange(60)
    return {"attention": (x, np.ones(60)), "recurrent": (x, np.exp(-rate * x) if kind == "smooth" else (1 - rate) ** x)}

chart = line_chart("What is left of a word fades with distance", "distance (words)", "share left (1)",
                   ["attention", "recurrent"], y_range=(-0.05, 1.1))
rate = Slider("rate", 0.01, 0.5, 0.1, step=0.01, unit="per word")
explore(decay, [rate, Choice("kind", ["smooth", "power"], "smooth")], FigureView(chart))
"""
READY = ".al-stage[data-number], img.al-figure[data-number]"
#: Records, frame by frame, whether the picture can be painted and how high the cell's output is.
WATCH_FRAMES = """() => {
  const image = document.querySelector('img.al-figure');
  const output = image.closest('.jp-Cell-outputArea');
  window.frames_seen = [];
  const look = () => {
    window.frames_seen.push([image.isConnected && image.complete && image.naturalWidth > 0, output.offsetHeight]);
    window.watching = requestAnimationFrame(look);
  };
  look();
}"""
#: Moves a slider faster than any kernel answers.
DRAG = """([label, count]) => {
  const row = [...document.querySelectorAll('.al-row')].find((row) => row.textContent.includes(label));
  const input = row.querySelector('input');
  const step = Number(input.step);
  for (let i = 0; i < count; i++) {
    input.value = Number(input.min) + (i + 1) * step;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }
}"""


@pytest.fixture(scope="module")
def shared(module_lab):
    """A notebook with both views."""
    return module_lab.open(module_lab.write(IMPORTS, PATTERN, FIGURE, "moves"))


@pytest.fixture
def book(shared):
    """The notebook freshly run: every slider stands where it starts."""
    shared.run_all()
    shared.page.wait_for_selector("img.al-figure[data-number]")
    wait_said(shared, 1, "At temperature 1.00")
    return shared


def slider(book, name):
    return book.page.get_by_role("slider", name=name)


def said(book, number):
    return book.cell(number).locator(".al-said").inner_text()


def wait_said(book, number, text):
    book.cell(number).locator(".al-said", has_text=text).wait_for()


def canvas_pixels(book):
    return book.page.evaluate("() => document.querySelector('canvas.al-cells').toDataURL()")


def test_arrow_keys_move_a_slider_and_its_picture(book):
    before = canvas_pixels(book)
    slider(book, "temperature").focus()
    book.page.keyboard.press("ArrowRight")
    wait_said(book, 1, "At temperature 1.05")
    assert canvas_pixels(book) != before
    book.page.keyboard.press("Home")
    wait_said(book, 1, "At temperature 0.05 bank gives boat 1.00")
    assert slider(book, "temperature").get_attribute("aria-valuetext") == "0.05"

    image = book.page.locator("img.al-figure")
    address, words = image.get_attribute("src"), image.get_attribute("alt")
    slider(book, "rate").focus()
    book.page.keyboard.press("End")
    book.page.wait_for_function("(old) => document.querySelector('img.al-figure').alt !== old", arg=words)
    assert image.get_attribute("src") != address
    assert slider(book, "rate").get_attribute("aria-valuetext") == "0.50 per word"
    assert book.errors == []


@pytest.mark.parametrize("control", ["temperature", "causal mask", "kind"])
def test_keys_pressed_in_a_control_never_reach_jupyterlab(book, control):
    cells = book.cells()
    sources = [book.cell(i).locator(".cm-content").inner_text() for i in range(cells)]
    target = book.page.get_by_label(control, exact=True)
    target.click() if control == "temperature" else target.focus()
    active = "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
    start = book.page.evaluate(active)
    for key in ["d", "d", "b", "a", "x", "m", "ArrowDown", "ArrowUp", "ArrowRight", "j", "k", "End", "Home"]:
        book.page.keyboard.press(key)
    assert book.cells() == cells
    assert [book.cell(i).locator(".cm-content").inner_text() for i in range(cells)] == sources
    assert book.page.evaluate(active) == start
    assert target.evaluate("(node) => node === document.activeElement")


def test_a_mistake_is_a_sentence_under_the_controls_and_goes_away(book):
    good = canvas_pixels(book)
    trouble = book.cell(1).locator(".al-trouble")
    slider(book, "temperature").focus()
    book.page.keyboard.press("End")
    trouble.filter(has_text="the temperature is too high for this test (ValueError).").wait_for()
    assert "Traceback" not in book.cell(1).inner_text()
    assert canvas_pixels(book) == good, "the last good picture stays"
    book.screenshot("slider-mistake", book.cell(1))
    book.page.keyboard.press("Home")
    wait_said(book, 1, "At temperature 0.05")
    assert trouble.inner_text() == ""
    book.assert_no_stderr()


def test_a_fast_hand_ends_on_its_last_value(book):
    before = int(book.cell(3).locator(".jp-OutputArea-output").inner_text())
    book.page.evaluate(DRAG, ["temperature", 60])
    wait_said(book, 1, "At temperature 3.05")
    assert slider(book, "temperature").input_value() == "3.05"
    book.run_cell(3)
    computed = int(book.cell(3).locator(".jp-OutputArea-output").inner_text()) - before
    assert computed == 2, "the first value at once, then the newest of the other 59"


def test_no_frame_is_without_a_picture_and_the_height_never_jumps(book):
    book.page.evaluate(WATCH_FRAMES)
    slider(book, "rate").focus()
    for _ in range(12):
        book.page.keyboard.press("ArrowRight")
        book.page.wait_for_timeout(120)
    book.page.wait_for_function("() => document.querySelector('.al-figure').alt === "
                                "document.querySelectorAll('.al-said')[1].textContent")  # fmt: skip
    frames = book.page.evaluate("() => { cancelAnimationFrame(window.watching); return window.frames_seen; }")
    assert len(frames) > 10
    assert all(painted for painted, _ in frames)
    assert len({height for _, height in frames}) == 1


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_both_themes_are_legible(book, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    book.theme(theme)
    for number, name in ((1, "pattern"), (2, "figure")):
        book.screenshot(f"slider-{name}-{theme.split()[-1].lower()}", book.cell(number))
    results = axe.Axe().run(book.page, context=".attention-lab-explore")
    assert results.response["passes"], "axe looked at something"
    serious = [fault for fault in results.response["violations"] if fault["impact"] in ("serious", "critical")]
    assert serious == [], results.generate_report()


# -- without a kernel ---------------------------------------------------------------------------------------------


def shown(book):
    """The text and the number of pictures that a reader sees in the output of each slider's cell."""
    seen = []
    for number in (1, 2):
        outputs = book.cell(number).locator(".jp-Cell-outputArea")
        pictures = [image for image in outputs.locator("img").all() if image.is_visible()]
        alive = outputs.locator(".attention-lab-explore").count()
        seen.append((outputs.inner_text().strip(), len(pictures), alive))
    return seen


STILL = ("Run this cell to move the controls.", 1, 0)


@pytest.fixture
def saved(book, lab):
    """The path of a copy of the notebook as it was saved after it had run."""
    book.save()
    return lab.copy(lab.server.notebooks / book.path)


def test_a_reloaded_page_finds_its_sliders_alive_while_the_kernel_runs(book):
    slider(book, "temperature").focus()
    book.page.keyboard.press("ArrowRight")
    wait_said(book, 1, "At temperature 1.05")
    book.save()
    book.open()
    book.page.wait_for_selector("img.al-figure[data-number]")
    assert [alive for _, _, alive in shown(book)] == [1, 1]
    assert slider(book, "temperature").input_value() == "1.05", "where the learner left it"


def test_a_saved_notebook_shows_its_pictures_without_its_kernel(lab, saved):
    book = lab.open(saved)
    for number in (1, 2):
        book.cell(number).locator(".jp-OutputArea-child", has_text="model not found").wait_for(state="attached")
    assert shown(book) == [STILL, STILL]
    book.screenshot("slider-without-kernel", book.cell(1))
    book.run_all()
    book.page.wait_for_selector("img.al-figure[data-number]")
    assert [alive for _, _, alive in shown(book)] == [1, 1], "running the cells brings the sliders back"
    assert "Run this cell" not in book.cell(1).locator(".jp-Cell-outputArea").inner_text()


def test_a_notebook_that_is_not_trusted_shows_its_pictures(lab, saved):
    path = lab.server.notebooks / saved
    stranger = json.loads(path.read_text(encoding="utf-8"))
    stranger["metadata"]["from"] = "somebody else"  # the signature no longer fits
    path.write_text(json.dumps(stranger), encoding="utf-8")
    book = lab.open(saved)
    assert shown(book) == [STILL, STILL]
    image = book.cell(1).locator("img")
    assert image.evaluate("(node) => node.naturalWidth") > 0
    assert "bank gives boat 0.64" in image.get_attribute("alt")


def test_a_web_page_made_of_it_shows_its_pictures(lab, saved):
    path = lab.server.notebooks / saved
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "html", str(path)], check=True, capture_output=True)
    page = lab.new_page()
    page.goto(path.with_suffix(".html").as_uri(), wait_until="domcontentloaded")
    pictures = page.locator("img.attention-lab-picture")
    assert pictures.count() == 2
    assert all(picture.is_visible() for picture in pictures.all())
    assert page.get_by_text("Run this cell to move the controls.").count() == 2


def test_the_saved_file_holds_no_objects_repr_and_no_widget_state(lab, saved):
    notebook = nbformat.read(lab.server.notebooks / saved, as_version=4)
    texts = [output["data"].get("text/plain", "") for cell in notebook.cells[1:3] for output in cell.outputs]
    assert len(texts) == 4
    assert not any(" at 0x" in text or "Explorer(" in text or "Widget" in text for text in texts)
    assert "widgets" not in notebook.metadata

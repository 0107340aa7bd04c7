"""Views that need no kernel, ten on a page in a real JupyterLab: a head, the viewer, the step-through, an export."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest

from attention_lab.authoring.page import export_html
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import Head

SETUP = """\
import numpy as np
from attention_lab.figures import line_chart
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import FigureView, Head, PatternView, Slider, Toggle, attention_viewer, explore, step_through
q, k, v = rows() @ W_Q, rows() @ W_K, rows() @ W_V
columns = ["a", "b", "c", "d"]
"""
HEAD = """\
temperature, asking = Slider("temperature", 0.1, 5.0, 1.0, step=0.1), Slider("asking", 1, 5, 5)
view = PatternView(WORDS, WORDS, "A head", walk=True, bars_title="blend")
explore(Head(q, k, v, WORDS, columns=columns), [temperature, Toggle("mask"), Toggle("scale", True), asking], view)
"""
STEPS = "step_through(q, k, v, WORDS, rows=rows(), columns=columns)"
VIEWER = """\
tokens = "the boat left the bank and the clerk saw the boat again".split()
patterns = np.random.default_rng(0).dirichlet(np.ones(12), size=(3, 4, 12))
attention_viewer(patterns, tokens, sizes=np.linspace(0.5, 2, 144).reshape(3, 4, 12), title="All heads")
"""
FIGURE = """\
chart = line_chart("Decay", "x", "y", ["a"], y_range=(0, 1))
x, rates = np.arange(9), Slider("rate", 0.1, 0.9, 0.1, step=0.1)
explore(lambda rate: {"a": (x, np.exp(-rate * x))}, [rates], FigureView(chart))
"""
SIZES = """\
from attention_lab.widgets import Choice, PatternData
def of_size(words):
    names = words.split()
    return PatternData(np.eye(len(names)), f"{len(names)} words.", queries=names, keys=names)
view = PatternView(["a", "boat"], ["a", "boat"], "Sizes", walk=True)
explore(of_size, [Choice("words", ["a boat", "a boat left again"], "a boat")], view)
"""
MORE = [VIEWER, STEPS, HEAD, FIGURE, VIEWER, SIZES]  # with the four above it: ten views
TOKENS = "the boat left the bank and the clerk saw the boat again".split()
PATTERNS = np.random.default_rng(0).dirichlet(np.ones(12), size=(3, 4, 12))
Q, K, V = rows() @ W_Q, rows() @ W_K, rows() @ W_V


@pytest.fixture(scope="module")
def book(module_lab):
    opened = module_lab.open(module_lab.write(SETUP, HEAD, STEPS, VIEWER, FIGURE, *MORE))
    opened.run_all()
    opened.page.locator(".attention-lab-explore").nth(9).locator(".al-stage[data-number], img").first.wait_for()
    return opened


@pytest.fixture(autouse=True)
def quiet(book):
    """No test may leave an error in the console, or change what belongs to JupyterLab."""
    sources = [book.cell(number).locator(".cm-content").inner_text() for number in range(book.cells())]
    yield
    assert book.errors == []
    assert [book.cell(number).locator(".cm-content").inner_text() for number in range(book.cells())] == sources


def numbers(cell):
    """The numbers that stand in the cells of a pattern."""
    return [float(text) for text in cell.locator(".al-number").all_text_contents()]


def keys(book, *names):
    for name in names:
        book.page.keyboard.press(name)


def test_a_head_is_numpys_after_each_move(book):
    cell, head = book.cell(1), Head(Q, K, V, WORDS, columns=("a", "b", "c", "d"))
    state = {"temperature": 1.0, "mask": False, "scale": True, "asking": 5}
    slider = cell.get_by_role("slider", name="temperature")
    for step in range(12):
        if step in (3, 8):
            name = "mask" if step == 3 else "scale"
            cell.get_by_label(name).click()
            state[name] = not state[name]
        else:
            slider.focus()
            keys(book, "ArrowRight")
            state["temperature"] = round(state["temperature"] + 0.1, 1)
        data = head(**state)
        assert np.allclose(numbers(cell), data.pattern.ravel(), atol=0.0051), state
        assert cell.locator(".al-said").inner_text() == data.text
    cell.get_by_role("slider", name="asking").focus()
    keys(book, "ArrowLeft")
    assert cell.locator(".al-said").inner_text() == head(**state | {"asking": 4}).text


def test_rows_of_the_viewer_are_walked_by_keyboard_and_mouse(book):
    cell = book.cell(3)
    stage, said = cell.locator(".al-walk"), cell.locator(".al-row-said")
    stage.focus()
    keys(book, "Home", "ArrowDown", "ArrowDown")
    row = PATTERNS[0, 0, 2]
    best = np.argsort(-row)[:3]
    assert said.inner_text() == f"left looks at {', '.join(f'{TOKENS[key]} {row[key]:.2f}' for key in best)}."
    assert stage.get_attribute("aria-valuetext") == "left"
    keys(book, "ArrowRight", "ArrowRight")
    assert said.inner_text() == f"left looks at boat {row[1]:.2f}."
    keys(book, "Escape", "d", "d", "b", "x")
    box = cell.locator("canvas.al-cells").bounding_box()
    book.page.mouse.move(box["x"] + box["width"] * 7.5 / 12, box["y"] + box["height"] * 4.5 / 12)
    assert said.inner_text() == f"bank looks at clerk {PATTERNS[0, 0, 4, 7]:.2f}."


def test_a_narrow_page_shrinks_the_map_and_the_mouse_still_finds_its_cell(book):
    cell = book.cell(3)
    book.page.set_viewport_size({"width": 560, "height": 900})
    try:
        stage = cell.locator(".al-stage")
        output = cell.locator(".jp-OutputArea-output").last
        assert stage.evaluate("(node) => node.getBoundingClientRect().width") <= output.evaluate(
            "(node) => node.clientWidth"
        )
        stage.scroll_into_view_if_needed()
        box = cell.locator("canvas.al-cells").bounding_box()
        book.page.mouse.move(box["x"] + box["width"] * 2.5 / 12, box["y"] + box["height"] * 9.5 / 12)
        assert cell.locator(".al-row-said").inner_text() == f"the looks at left {PATTERNS[0, 0, 9, 2]:.2f}."
    finally:
        book.page.set_viewport_size({"width": 1280, "height": 900})


def test_heads_are_sorted_and_picked_by_keyboard(book):
    cell = book.cell(3)
    before = PATTERNS[:, :, np.arange(1, 12), np.arange(11)].mean(-1).ravel()
    cell.get_by_label("sort heads by").select_option(label="looks at the word before")
    order = [label.split(",") for label in cell.locator(".al-gallery button").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-label'))")]  # fmt: skip
    ranked = np.argsort(-before)
    assert [(part[0], part[1]) for part in order] == [(f"layer {i // 4}", f" head {i % 4}") for i in ranked]
    assert order[0][2] == f" {before.max():.2f}"
    cell.locator(".al-gallery button[tabindex='0']").focus()
    keys(book, "Home", "ArrowRight")
    layer, head = divmod(int(ranked[1]), 4)
    assert (
        cell.locator(".al-which").inner_text().startswith(f"Layer {layer}, head {head}. Mean weight on the word before")
    )
    assert np.allclose(numbers(cell), PATTERNS[layer, head].ravel(), atol=0.0051)
    assert cell.locator(".al-gallery button[aria-pressed='true']").count() == 1


def test_the_viewers_switches(book):
    cell = book.cell(3)
    cell.locator(".al-gallery button[aria-label^='layer 0, head 0']").click()
    shown = PATTERNS[0, 0]
    cell.get_by_label("weights times the size of the value").check()
    weighted = shown * np.linspace(0.5, 2, 144).reshape(3, 4, 12)[0, 0]
    weighted /= weighted.sum(-1, keepdims=True)
    assert np.allclose(numbers(cell), weighted.ravel(), atol=0.0051)
    cell.get_by_label("weights times the size of the value").uncheck()
    cell.get_by_label("causal mask").check()
    cell.get_by_label("entropy of each row").check()
    seen = np.tril(shown) / np.tril(shown).sum(-1, keepdims=True)
    texts = cell.locator(".al-number").all_text_contents()
    assert [text == "" for text in texts] == (~np.tri(12, dtype=bool)).ravel().tolist()
    assert np.allclose([float(text) for text in texts if text], seen[np.tri(12, dtype=bool)], atol=0.0051)
    entropy = -(seen * np.log2(np.where(seen > 0, seen, 1))).sum(-1)
    bits = cell.locator(".al-spreads text").all_text_contents()[1:]
    assert np.allclose(list(map(float, bits)), entropy, atol=0.051)


def test_another_number_of_words_is_another_map(book):
    cell = book.cell(10)
    for words in ("a boat left again", "a boat"):
        cell.get_by_label("words", exact=True).select_option(label=words)
        cell.locator(".al-said", has_text=f"{len(words.split())} words.").wait_for()
        assert numbers(cell) == np.eye(len(words.split())).ravel().tolist()
        last = words.split()[-1]
        assert cell.locator(".al-row-said").inner_text() == f"{last} looks at {last} 1.00."


def test_a_head_is_gone_through_step_by_step(book):
    cell = book.cell(2)
    title, formula = cell.locator(".al-title"), cell.locator(".al-said")
    titles = [title.inner_text()]
    while cell.get_by_role("button", name="next").is_enabled():
        cell.get_by_role("button", name="next").click()
        titles.append(title.inner_text())
    assert len(titles) == len(set(titles)) == 7
    scores = Q[4] @ K.T / np.sqrt(2)
    weights = np.exp(scores) / np.exp(scores).sum()
    after = rows()[4] + weights @ V
    told = cell.locator("tfoot tr").last.inner_text().replace("\u2212", "-")
    assert np.allclose([float(x) for x in re.findall(r"-?\d+\.\d+", told)], after, atol=0.0051)
    cell.locator("tbody tr").nth(1).locator("button").first.focus()
    assert formula.inner_text() == "1.60 × 1.80 + 0.00 × 0.00 = 2.88"
    cell.get_by_label("asking word").select_option(label="2 boat")
    cell.get_by_label("causal mask").check()
    cell.locator("tbody tr").nth(4).locator("button").nth(2).hover()
    assert formula.inner_text() == "This word comes after the asking word: its score becomes \u2212∞."
    keys(book, "d", "d", "b", "ArrowDown")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_views_are_legible_in_both_themes(book, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    book.theme(theme)
    for number, name in ((1, "head"), (2, "steps"), (3, "viewer")):
        book.screenshot(f"view-{name}-{theme.split()[-1].lower()}", book.cell(number))
    results = axe.Axe().run(book.page, context=".attention-lab-explore")
    assert any(rule["id"] == "color-contrast" for rule in results.response["passes"])
    serious = [fault for fault in results.response["violations"] if fault["impact"] in ("serious", "critical")]
    assert serious == [], results.generate_report()


#: 500 moves of a slider, each painted; then the garbage is collected and what is left is counted.
MANY = """async (cell) => {
  const input = document.querySelectorAll('.jp-Notebook .jp-Cell')[cell].querySelector('input[type=range]');
  for (let i = 0; i < 500; i++) {
    input.value = Number(input.min) + ((i % 40) + 1) * Number(input.step);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    if (i % 25 === 0) await new Promise(requestAnimationFrame);
  }
}"""


@pytest.mark.parametrize(("cell", "what"), [(1, "a head"), (2, "the steps"), (3, "the viewer"), (4, "a figure")])
def test_five_hundred_updates_leave_nothing_behind(book, cell, what):
    client = book.page.context.new_cdp_session(book.page)
    client.send("Performance.enable")

    def left() -> dict[str, float]:
        book.wait_idle()
        client.send("HeapProfiler.collectGarbage")
        metrics = {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}
        return {name: metrics[name] for name in ("Nodes", "JSEventListeners")}

    book.page.evaluate(MANY, cell)  # the first round may fill caches
    before, height = left(), book.cell(cell).bounding_box()["height"]
    book.page.evaluate(MANY, cell)
    after = left()
    assert after["Nodes"] <= before["Nodes"] + 60 and after["JSEventListeners"] <= before["JSEventListeners"] + 10
    assert book.cell(cell).bounding_box()["height"] == height


def test_an_exported_page_lives_without_kernel_and_network(chromium, tmp_path):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 99 · Views")])
    book.cells += [nbformat.v4.new_code_cell(source) for source in (SETUP, HEAD, STEPS, VIEWER, FIGURE)]
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, tmp_path / "99_views.ipynb")
    page, errors = chromium.new_page(viewport={"width": 900, "height": 900}), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    page.goto(export_html(tmp_path / "99_views.ipynb", tmp_path).as_uri())
    views = page.locator(".attention-lab-explore")
    assert views.count() == 4
    assert not any(still.is_visible() for still in page.locator(".attention-lab-still").all())
    views.nth(0).get_by_role("slider", name="temperature").focus()
    page.keyboard.press("Home")
    assert views.nth(0).locator(".al-said").inner_text() == Head(Q, K, None, WORDS)(temperature=0.1).text
    image = views.nth(3).locator("img")
    words = image.get_attribute("alt")
    views.nth(3).get_by_role("slider", name="rate").focus()
    page.keyboard.press("End")
    page.wait_for_function("([node, old]) => node.alt !== old", arg=[image.element_handle(), words])
    assert views.nth(3).get_by_role("slider").get_attribute("aria-valuetext") == "0.9"
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        faults = [f for f in axe.Axe().run(page).response["violations"] if f["impact"] in ("serious", "critical")]
        assert faults == []
    assert errors == []
    page.close()

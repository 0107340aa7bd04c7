"""From a key press on a slider to its picture, in one browser and one run: our views against `interact` and ipympl.

    python tests/benchmarks/bench_widgets.py [--moves 40] [--sides 12 64]

Each notebook shows one slider over a pattern of 12 by 12 or 64 by 64. A move is one arrow key; it ends when the
frame that shows another picture has been painted (a frame takes 17 ms, so no way can be much quicker). The ways take
turns, so that a busy machine slows all of them; read the ratios, not the milliseconds. Nothing is asserted.
ipympl takes part where it is installed; the course does not need it.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import runpy
import statistics
import tempfile
from typing import Any

HARNESS = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "browser" / "conftest.py"))
DATA = """\
import numpy as np
N = SIDE
names = [str(i) for i in range(N)]
scores = np.random.default_rng(0).normal(size=(N, N))
def pattern_at(temperature):
    risen = np.exp(scores / temperature)
    return risen / risen.sum(axis=-1, keepdims=True)
"""
WAYS = {
    "interact + inline matplotlib": """\
%matplotlib inline
import matplotlib.pyplot as plt
from ipywidgets import FloatSlider, interact
def draw(temperature):
    fig, ax = plt.subplots(figsize=(6, 3.6))
    pattern = pattern_at(temperature)
    shown = ax.imshow(pattern, vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(N), names); ax.set_yticks(range(N), names); fig.colorbar(shown)
    for i in range(N if N <= 12 else 0):
        for j in range(N):
            ax.text(j, i, f"{pattern[i, j]:.2f}", ha="center", va="center", fontsize=6)
    plt.show()
interact(draw, temperature=FloatSlider(1, min=0.5, max=5, step=0.05));
""",
    "ipympl": """\
%matplotlib widget
import matplotlib.pyplot as plt
from ipywidgets import FloatSlider, interact
fig, ax = plt.subplots(figsize=(6, 3.6))
shown = ax.imshow(pattern_at(1), vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(N), names); ax.set_yticks(range(N), names); fig.colorbar(shown)
numbered = range(N if N <= 12 else 0)
texts = [[ax.text(j, i, "", ha="center", va="center", fontsize=6) for j in numbered] for i in numbered]
def redraw(temperature):
    pattern = pattern_at(temperature)
    shown.set_data(pattern)
    for row, line in zip(texts, pattern):
        for text, value in zip(row, line):
            text.set_text(f"{value:.2f}")
    fig.canvas.draw_idle()
interact(redraw, temperature=FloatSlider(1, min=0.5, max=5, step=0.05));
""",
    "figure view, heat map": """\
from attention_lab.figures import heat_map
from attention_lab.widgets import FigureView, Slider, explore
explore(pattern_at, [Slider("temperature", 0.5, 5.0, 1.0, step=0.05)], FigureView(heat_map(names, names, "Pattern")))
""",
    "figure view, lines": """\
from attention_lab.figures import line_chart
from attention_lab.widgets import FigureView, Slider, explore
chart = line_chart("Pattern", "key", "share", ["first row", "second row"], x_range=(0, N - 1), y_range=(0, 1))
def lines_at(temperature):
    pattern = pattern_at(temperature)
    return {"first row": (range(N), pattern[0]), "second row": (range(N), pattern[1])}
explore(lines_at, [Slider("temperature", 0.5, 5.0, 1.0, step=0.05)], FigureView(chart))
""",
    "pattern view, kernel computes": """\
from attention_lab.widgets import PatternData, PatternView, Slider, explore
def compute(temperature):
    return PatternData(pattern_at(temperature), f"At temperature {temperature:.2f}.")
explore(compute, [Slider("temperature", 0.5, 5.0, 1.0, step=0.05)], PatternView(names, names, "Pattern"))
""",
    "pattern view, browser computes": """\
from attention_lab.widgets import Head, PatternView, Slider, explore
head = Head(scores, np.eye(N), None, names, scale=False)
explore(head, [Slider("temperature", 0.5, 5.0, 1.0, step=0.05)], PatternView(names, names, "Pattern"))
""",
}
#: Starts to watch; `window.measured` gives the milliseconds from the key press to the paint of another picture:
#: a message that is sent in a frame's callback arrives when that frame has been painted.
#: A canvas of ipympl has no name that changes: its pixels are read.
WATCH = """() => {
  const root = document.querySelector('.jp-Notebook');
  const picture = () => root.querySelector('.al-stage')?.dataset.number
    ?? root.querySelector('img.al-figure')?.src
    ?? root.querySelector('.jupyter-matplotlib-canvas-container canvas')?.toDataURL()
    ?? root.querySelector('.jp-OutputArea-output img')?.src;
  const before = picture();
  let start = null;
  window.addEventListener('keydown', () => { start = performance.now(); }, { capture: true, once: true });
  window.measured = new Promise((done) => {
    const look = () => {
      const now = picture();
      if (now === undefined || now === before) requestAnimationFrame(look);
      else {
        const painted = new MessageChannel();
        painted.port1.onmessage = () => done(performance.now() - start);
        painted.port2.postMessage(null);
      }
    };
    requestAnimationFrame(look);
  });
}"""


def move(page: Any, key: str) -> float:
    """Press a key on the focused slider; milliseconds until its picture has been painted."""
    page.evaluate(WATCH)
    page.keyboard.press(key)
    return float(page.evaluate("() => window.measured"))


def main() -> None:
    """Open a notebook for each way, let them take turns, print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--sides", type=int, nargs="+", default=[12, 64])
    options = parser.parse_args()
    ways = {way: source for way, source in WAYS.items() if way != "ipympl" or importlib.util.find_spec("ipympl")}
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = pathlib.Path(folder)
        server = HARNESS["Server"](home, home / "notebooks")
        browser = playwright.chromium.launch(executable_path=HARNESS["find_browser"](), args=HARNESS["FLAGS"])
        try:
            for side in options.sides:
                print(f"{side} by {side}, {options.moves} moves")
                lab = HARNESS["Lab"](server, browser.new_page)
                data = DATA.replace("SIDE", str(side))
                books = {way: lab.open(lab.write(data, source)) for way, source in ways.items()}
                report(measure(books, options.moves))
                for book in books.values():
                    book.page.close()
                server.end_sessions()
        finally:
            browser.close()
            server.stop()


def measure(books: dict[str, Any], moves: int) -> dict[str, list[float]]:
    """Milliseconds of each move of each way."""
    times: dict[str, list[float]] = {way: [] for way in books}
    for book in books.values():
        book.run_all()
        book.page.locator(".jp-Cell [role=slider], .jp-Cell input[type=range]").first.focus()
    for turn in range(moves + 2):
        for way, book in books.items():
            book.page.bring_to_front()
            taken = move(book.page, "ArrowRight" if turn % 40 < 20 else "ArrowLeft")
            if turn >= 2:  # the first two warm up
                times[way].append(taken)
    return times


def report(times: dict[str, list[float]]) -> None:
    """A line a way."""
    slowest = statistics.median(times["interact + inline matplotlib"])
    for way, taken in times.items():
        median, late = statistics.median(taken), sorted(taken)[int(0.95 * (len(taken) - 1))]
        print(
            f"{way:31} median {median:6.0f} ms   95th percentile {late:6.0f} ms   {slowest / median:5.1f} times faster"
        )


if __name__ == "__main__":
    main()

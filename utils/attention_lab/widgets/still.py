"""What a slider leaves in a saved notebook: its first picture and one sentence.

A slider's cell has two outputs: this still, then the live widget. On a page without a kernel the widget cannot be drawn
and JupyterLab would say "Error displaying widget"; the rules below hide that, and hide the still while a live widget
follows it. A notebook that is not trusted loses the rules and the widget both, and shows the still.
"""

from __future__ import annotations

import base64
import html

from attention_lab.figures.base import Picture, image_html

_RULES = """<style>
.jp-OutputArea-child:has(.attention-lab-still):has(+ .jp-OutputArea-child .attention-lab-explore) { display: none; }
.jp-OutputArea-child:has(.attention-lab-still) + .jp-OutputArea-child:not(:has(.attention-lab-explore)) {
  display: none;
}
</style>"""


def still_bundle(shown: Picture, sentence: str) -> dict[str, str]:
    """The first output: HTML for every page, a PNG for paper, and words for a terminal.

    Args:
        shown: the picture of the initial state.
        sentence: what to do for more, such as "Run this cell to move the slider."
    """
    png = shown.png()
    image = image_html(png, shown.alt, shown.figure)
    return {
        "text/html": f'{_RULES}<div class="attention-lab-still">{image}<p><em>{html.escape(sentence)}</em></p></div>',
        "image/png": base64.b64encode(png).decode("ascii"),
        "text/plain": f"{shown.alt}\n{sentence}",
    }

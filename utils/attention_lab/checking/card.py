"""The card that answers an exercise: one bundle of HTML and plain text that say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from attention_lab.checking.judging import Verdict

Kind = Literal["prose", "question", "code", "note"]

#: What a status is called on a card, and the mark before it: shape and word carry the meaning, colour repeats it.
STATUS: dict[str, tuple[str, str]] = {
    "passed": ("✓", "solved"),
    "not_started": ("○", "not started"),
    "raised": ("✗", "stopped with an error"),
    "wrong": ("✗", "not yet"),
    "info": ("i", ""),
}

_STYLE = """<style>
.attention-lab-card{border:1px solid var(--jp-border-color1,#bdbdbd);border-left:6px solid var(--al-edge);
border-radius:4px;padding:8px 14px;margin:4px 0;max-width:52em;line-height:1.45;
color:var(--jp-content-font-color0,#1a1a1a);background:var(--jp-layout-color1,#fff);
font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:14px}
.attention-lab-card[data-status=passed]{--al-edge:#2e7d32}
.attention-lab-card[data-status=wrong],.attention-lab-card[data-status=raised]{--al-edge:#c75300}
.attention-lab-card[data-status=not_started],.attention-lab-card[data-status=info]{--al-edge:#1565c0}
.attention-lab-card p{margin:4px 0}.attention-lab-card .al-title{font-weight:600}
.attention-lab-card .al-question{margin-top:10px}
.attention-lab-card .al-label{font-weight:600;margin-top:8px}
.attention-lab-card pre{margin:2px 0 6px;padding:4px 8px;overflow-x:auto;white-space:pre;
background:var(--jp-layout-color2,#f3f3f3);color:inherit;font-family:var(--jp-code-font-family,monospace);font-size:13px}
</style>"""


@dataclass(frozen=True)
class Block:
    """A piece of a card: a paragraph, a question, a note, or text in fixed width under a label."""

    text: str
    kind: Kind = "prose"
    label: str = ""


@dataclass(frozen=True)
class Card:
    """What is shown under a cell.

    Attributes:
        name: the exercise or question, or the heading of an information card.
        status: a key of `STATUS`.
        blocks: what it says, in order.
    """

    name: str
    status: str
    blocks: Sequence[Block]

    @property
    def title(self) -> str:
        """The first line: mark, name, and the status in words."""
        mark, words = STATUS[self.status]
        return f"{mark} {self.name}: {words}" if words else self.name

    def text(self) -> str:
        """The card as plain text."""
        lines = [self.title]
        for block in self.blocks:
            if block.kind == "code":
                body = "\n".join(f"    {line}" for line in block.text.splitlines())
                lines.append(f"  {block.label}:\n{body}")
            else:
                lines.append(f"  {block.label + ': ' if block.label else ''}{block.text}")
        return "\n".join(lines)

    def html(self) -> str:
        """The card as HTML; every text in it is escaped."""
        parts = [f'<p class="al-title">{escape(self.title)}</p>']
        for block in self.blocks:
            if block.kind == "code":
                parts.append(
                    f'<p class="al-label">{escape(block.label)}</p><pre tabindex="0">{escape(block.text)}</pre>'
                )
            else:
                label = f"<strong>{escape(block.label)}:</strong> " if block.label else ""
                parts.append(f'<p class="al-{block.kind}">{label}{escape(block.text)}</p>')
        return (
            f'{_STYLE}<div class="attention-lab-card" role="group" aria-label="{escape(self.title)}" '
            f'data-status="{self.status}" data-exercise="{escape(self.name)}">{"".join(parts)}</div>'
        )

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}

    def __repr__(self) -> str:
        return self.text()


def card_of(verdict: Verdict, more: Sequence[Block] = ()) -> Card:
    """The card of a verdict; `more` is put at its end."""
    blocks = [Block(verdict.message)] if verdict.message else []
    if verdict.line:
        blocks.append(Block(verdict.line, "code", "Your line"))
    if verdict.call:
        blocks.append(Block(verdict.call, "code", "The call"))
    if verdict.got:
        blocks.append(Block(verdict.got, "code", verdict.labels[0]))
    if verdict.expected:
        blocks.append(Block(verdict.expected, "code", verdict.labels[1]))
    if verdict.question:
        blocks.append(Block(verdict.question, "question", "Think"))
    blocks.extend(Block(note, "note", "Also") for note in verdict.notes)
    return Card(verdict.name, verdict.status, [*blocks, *more])

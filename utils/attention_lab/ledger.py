"""The ledger of claims: what the course says about attention, and the cells that show it.

Where a claim is shown is read from the notebooks each time: a cell that shows claim C7 carries the tag `claim-C7`.
So the table of the last chapter cannot drift from the chapters.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_lab.checking.progress import COURSE

#: Every claim of the course in a line.
CLAIMS: dict[str, str] = {
    "C1": "The row of a word is the same in every sentence: two meanings of bank cannot be told apart.",
    "C2": "Who did what and where is not in the rows: something has to move information between words.",
    "C3": "Wiring that is fixed in advance is wrong for most sentences.",
    "C4": "Recurrence squeezes everything through one summary of fixed size.",
    "C5": "What is copied from step to step fades; gates postpone that for one item, not for many.",
    "C6": "Recurrence waits: step 50 cannot start before step 49.",
    "C7": "A query says what a row looks for, a key how it is found, a value what it hands over.",
    "C8": "Attention is a lookup gone soft: it averages, it does not retrieve.",
    "C9": "A row of the pattern sums to one, and a row reads itself, too.",
    "C10": "Scores are divided by √d_k, because they grow with the width and the softmax saturates.",
    "C11": "The blend is added to the row; it does not replace it.",
    "C12": "Query, key and value are three learned views of one row.",
    "C13": "The pattern is computed from the words at run time; training found it.",
    "C14": "Any distance costs the same: one comparison.",
    "C15": "In one attention step all positions are computed together; generation gets none of it.",
    "C16": "A word looks backward only, and the mask belongs before the softmax.",
    "C17": "Heads follow different relations, for the same multiply-adds and more memory.",
    "C18": "Attention alone has no notion of order; a mask or positions break that.",
    "C19": "Attention is the only path between positions.",
    "C20": "With attention off, a model is close to a table over single tokens, and its text repeats itself.",
    "C21": "The experiment has traps: what is hooked, how many tokens, which shapes are compared.",
    "C22": "Twice the text, four times the comparisons; where that begins to hurt is measured.",
    "C23": "In blocks, exact attention needs memory that is linear; the arithmetic stays quadratic.",
    "C24": "A cache keeps keys and values; the comparisons still happen.",
    "C25": "Decoding with a cache gives the same tokens, however the text is cut into calls.",
    "C26": "What a cache costs is a product of six numbers; shared heads make it smaller.",
    "C27": "It is the real thing: your functions give a pretrained model's logits and its text.",
}


@dataclass(frozen=True)
class Shown:
    """A cell that shows a claim.

    Attributes:
        claim: "C7".
        chapter: two digits.
        notebook: the file's name, the same for the learner's copy and the solved one.
        section: the heading above the cell.
        cell: the cell's id.
        tags: all tags of the cell.
        outputs: whether an output is stored with the cell.
    """

    claim: str
    chapter: str
    notebook: str
    section: str
    cell: str
    tags: tuple[str, ...]
    outputs: bool


def shown(folder: Path = COURSE / "solutions") -> list[Shown]:
    """Every cell that shows a claim, in the order of the course; `folder` holds the solved notebooks."""
    return [found for path in sorted(folder.glob("[0-9][0-9]_*.ipynb")) for found in _in_notebook(path)]


def _in_notebook(path: Path) -> Iterator[Shown]:
    section = ""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            section = ([section] + re.findall(r"^## (.+)$", "".join(cell["source"]), re.MULTILINE))[-1]
        tags = tuple(cell["metadata"].get("tags", ()))
        for tag in tags:
            if tag.startswith("claim-"):
                claim, kept = tag.removeprefix("claim-"), bool(cell.get("outputs"))
                yield Shown(claim, path.name[:2], path.name, section, cell["id"], tags, kept)


@dataclass(frozen=True, repr=False)
class Table:
    """Each claim with the cells that show it, as a table with links, or as text."""

    cells: tuple[Shown, ...]

    def rows(self) -> list[tuple[str, str, list[Shown]]]:
        """Claim, its line, and one cell for each section that shows it."""
        return [(claim, says, self._places(claim)) for claim, says in CLAIMS.items()]

    def _places(self, claim: str) -> list[Shown]:
        first = {(cell.chapter, cell.section): cell for cell in reversed(self.cells) if cell.claim == claim}
        return list(reversed(first.values()))

    def __repr__(self) -> str:
        return "\n".join(
            f"{claim:4}{says}\n    {'; '.join(f'{p.chapter} {p.section}' for p in places)}"
            for claim, says, places in self.rows()
        )

    def html(self) -> str:
        """The table with a link to each cell, relative to a notebook of the course."""
        body = "".join(
            f'<tr><th scope="row">{claim}</th><td style="text-align:left">{html.escape(says)}</td>'
            f'<td style="text-align:left">{"<br>".join(map(_link, places))}</td></tr>'
            for claim, says, places in self.rows()
        )
        left = 'scope="col" style="text-align:left"'
        head = f'<tr><th scope="col"></th><th {left}>claim</th><th {left}>shown in</th></tr>'
        return f'<table class="attention-lab-ledger"><thead>{head}</thead><tbody>{body}</tbody></table>'

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}


def _link(place: Shown) -> str:
    name = html.escape(f"{place.chapter} {place.section}")
    return f'<a href="{place.notebook}#cell-id={place.cell}">{name}</a>'


def table() -> Table:
    """The ledger as it stands in the notebooks now; the last expression of a cell shows it."""
    return Table(tuple(shown()))

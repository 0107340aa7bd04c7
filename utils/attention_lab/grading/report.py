"""From results to grades.csv, grades.json, a page per learner and a page for the class. Everything shown is escaped."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from attention_lab.checking.progress import write_whole
from attention_lab.exercises import exercises, questions
from attention_lab.grading.submissions import printable

_STATUS = {"passed": "right", "not_started": "not started", "raised": "raises an error", "wrong": "wrong"}

_STYLE = """
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; vertical-align: top; }
tr { border-bottom: 1px solid #ccc; } td.n, th.n { text-align: right; } pre { background: #f4f4f4; padding: .6rem;
overflow: auto; } h3 { margin-bottom: .2rem; } .passed { color: #05603a; } .wrong, .raised { color: #8a1c1c; }
"""


@dataclass(frozen=True)
class Row:
    """One file that was handed in, with what it got.

    Attributes:
        learner: whose it is.
        file: where it lay.
        status: "marked" or why not.
        fault: a sentence, where it is not marked.
        chapter: two digits, "" when unknown.
        verdicts: of the exercises and questions of the chapter, as plain data.
        notes: on the notebook as a whole.
    """

    learner: str
    file: str
    status: str
    fault: str = ""
    chapter: str = ""
    verdicts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()

    def points(self, worth: Mapping[str, float]) -> dict[str, float]:
        """The points got, by exercise and question."""
        return {v["name"]: worth.get(v["name"], 0.0) * (v["status"] == "passed") for v in self.verdicts}


@dataclass(frozen=True)
class Report:
    """Everything that is said of a run.

    Attributes:
        rows: one a file.
        worth: points by exercise and question, of the chapters that are marked.
        rule: the sentence on whose a file is.
        protection: sentences on what was in force.
        version: of the course.
    """

    rows: Sequence[Row]
    worth: Mapping[str, float]
    rule: str
    protection: Sequence[str] = field(default_factory=tuple)
    version: str = ""

    def columns(self) -> list[str]:
        """The exercises, and the questions that are worth points, in the order of the course."""
        return [n for n in exercises() if n in self.worth] + [n for n in questions() if self.worth.get(n)]

    def out_of(self, row: Row) -> float:
        """The most points that a row can get."""
        sums = self._sums
        return sums.get(row.chapter or (next(iter(sums)) if len(sums) == 1 else ""), 0.0)

    @functools.cached_property
    def _sums(self) -> dict[str, float]:
        """The most points of each chapter."""
        sums: dict[str, float] = {}
        for name, worth in self.worth.items():
            sums[self._chapters[name]] = sums.get(self._chapters[name], 0.0) + worth
        return sums

    @functools.cached_property
    def _chapters(self) -> dict[str, str]:
        """The chapter of each exercise and question."""
        return {n: e.chapter for n, e in exercises().items()} | {n: q.chapter for n, q in questions().items()}

    def write(self, out: Path) -> None:
        """Write every file of the report, each of them whole."""
        write_whole(out / "grades.csv", self.csv())
        write_whole(out / "grades.json", self.json())
        pages = self.pages()
        for name, text in pages.items():
            write_whole(out / "pages" / name, text)
        for old in (out / "pages").glob("*.html"):
            if old.name not in pages:
                old.unlink(missing_ok=True)
        write_whole(out / "index.html", self.class_page())

    # --- tables ---

    def csv(self) -> str:
        """The table: learner, file, status, points, out_of, then one column an exercise."""
        columns = self.columns()
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["learner", "file", "status", "points", "out_of", *columns])
        for row in self.rows:
            got = row.points(self.worth)
            each = [_number(got.get(c, 0.0)) if self._has(row, c) else "" for c in columns]
            texts = [_harmless(t) for t in (row.learner, row.file, row.status)]
            table.writerow([*texts, _number(sum(got.values())), _number(self.out_of(row)), *each])
        return text.getvalue()

    def _has(self, row: Row, column: str) -> bool:
        return row.status != "marked" or self._chapters[column] == row.chapter

    def json(self) -> str:
        """The same with diagnoses."""
        files = [
            {
                "learner": printable(row.learner),
                "file": printable(row.file),
                "status": row.status,
                "fault": row.fault,
                "chapter": row.chapter,
                "points": sum(row.points(self.worth).values()),
                "out_of": self.out_of(row),
                "notes": list(row.notes),
                "verdicts": [
                    {**v, "points": row.points(self.worth)[v["name"]], "out_of": self.worth.get(v["name"], 0.0)}
                    for v in row.verdicts
                ],
            }
            for row in self.rows
        ]
        head = {"course": self.version, "rule": self.rule, "protection": list(self.protection)}
        text = json.dumps({**head, "mistakes": self.mistakes()}, ensure_ascii=False, indent=1).removesuffix("\n}")
        lines = ",\n".join(json.dumps(file, ensure_ascii=False) for file in files)  # a line each: quick, and to be read
        return f'{text},\n "files": [\n{lines}\n ]\n}}\n'

    def mistakes(self) -> list[dict[str, Any]]:
        """Which mistakes were made and by how many learners, the most frequent first."""
        made: Counter[tuple[str, str, str]] = Counter()
        for key in {
            (row.learner, v["name"], v["mistake"], v["message"].split(" Everything else is right")[0])
            for row in self.rows
            for v in row.verdicts
            if v["mistake"]
        }:
            made[key[1:]] += 1
        order = sorted(made.items(), key=lambda item: (-item[1], item[0]))
        return [{"exercise": e, "mistake": m, "learners": n, "diagnosis": text} for (e, m, text), n in order]

    # --- pages ---

    def page_name(self, learner: str) -> str:
        """The file name of a learner's page: readable, harmless, different for different learners."""
        slug = re.sub(r"[^a-z0-9]+", "-", learner.casefold()).strip("-")[:40] or "learner"
        return f"{slug}-{hashlib.sha256(learner.encode('utf-8', 'replace')).hexdigest()[:8]}.html"

    def pages(self) -> dict[str, str]:
        """A page for each learner, by file name."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.learner, []).append(row)
        return {self.page_name(learner): self._page(learner, rows) for learner, rows in found.items()}

    def _page(self, learner: str, rows: Iterable[Row]) -> str:
        parts = [f"<h1>{_safe(learner)}</h1>"]
        for row in rows:
            parts.append(f"<h2>{_safe(row.file)}</h2>")
            if row.status != "marked":
                parts.append(f"<p>Not marked: it {_safe(row.fault)}.</p>")
                continue
            got = row.points(self.worth)
            parts.append(
                f"<p>Chapter {row.chapter}: {_number(sum(got.values()))} of {_number(self.out_of(row))} points.</p>"
            )
            parts += [f"<p>{_safe(note)}</p>" for note in row.notes]
            parts += [self._verdict(v, got[v["name"]]) for v in row.verdicts]
        return _document(learner, parts)

    def _verdict(self, verdict: Mapping[str, Any], got: float) -> str:
        worth = self.worth.get(verdict["name"], 0.0)
        points = f", {_number(got)} of {_number(worth)}" if worth else ""
        status = verdict["status"]
        parts = [f'<h3>{_safe(verdict["name"])}: <span class="{status}">{_STATUS[status]}</span>{points}</h3>']
        parts += [f"<p>{_safe(verdict[key])}</p>" for key in ("message", "question") if verdict[key]]
        shown = [verdict["call"], f"gave: {verdict['got']}" if verdict["got"] else "", verdict["line"]]
        if any(shown) and status != "passed":
            parts.append(f"<pre>{_safe(chr(10).join(s for s in shown if s))}</pre>")
        parts += [f"<p>{_safe(note)}</p>" for note in verdict["notes"]]
        return "\n".join(parts)

    def class_page(self) -> str:
        """Marks of everybody, and which mistakes were made how often."""
        learners = len({row.learner for row in self.rows})
        parts = ["<h1>Marks</h1>", f"<p>{learners} learners, {len(self.rows)} files. {_safe(self.rule)}</p>"]
        parts += ["<h2>Which mistakes were made</h2>", *self._mistake_table(learners)]
        parts += ["<h2>How each exercise went</h2>", *self._exercise_table()]
        parts += ["<h2>Everybody</h2>", *self._learner_table()]
        parts += ["<h2>Protection in force</h2>", *[f"<p>{_safe(line)}</p>" for line in self.protection]]
        return _document("Marks", parts)

    def _mistake_table(self, learners: int) -> list[str]:
        rows = [
            (m["exercise"], m["diagnosis"], f"{m['learners']} of {learners}") for m in self.mistakes() if m["exercise"]
        ]
        return _table(("exercise", "what was done", "learners"), rows) if rows else ["<p>None that has a name.</p>"]

    def _exercise_table(self) -> list[str]:
        rows = []
        for name in self.worth:
            count = Counter(v["status"] for row in self.rows for v in row.verdicts if v["name"] == name)
            if count:
                rows.append((name, *(str(count[status]) for status in _STATUS)))
        return _table(("exercise or question", *_STATUS.values()), rows)

    def _learner_table(self) -> list[str]:
        rows = [
            (
                f'<a href="pages/{self.page_name(row.learner)}">{_safe(row.learner)}</a>',
                _safe(row.file),
                _safe(row.status if row.status == "marked" else f"{row.status}: {row.fault}"),
                f"{_number(sum(row.points(self.worth).values()))} of {_number(self.out_of(row))}",
            )
            for row in self.rows
        ]
        return _table(("learner", "file", "status", "points"), rows, safe=True)


def _number(value: float) -> str:
    return f"{value:.10g}"


def _harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    text = printable(text)
    return f"'{text}" if text.lstrip()[:1] in ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20") else text


def _safe(text: str) -> str:
    text = str(text)
    if not text.replace("\n", "").isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return escape(text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], safe: bool = False) -> list[str]:
    cell = str if safe else _safe
    lines = ["<table><thead><tr>", *(f'<th scope="col">{_safe(h)}</th>' for h in head), "</tr></thead><tbody>"]
    lines += ["<tr>" + "".join(f"<td>{cell(c)}</td>" for c in row) + "</tr>" for row in rows]
    return [*lines, "</tbody></table>"]


def _document(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{_safe(title)}</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )

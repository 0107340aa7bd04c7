"""Mixed submissions of every chapter: right answers, usual and unusual, mistakes, blanks, and crashes."""

from __future__ import annotations

import ast
import base64
import inspect
import marshal
import os
import zlib
from functools import cache
from random import Random

import pytest
from tests.grading.books import COURSE, made, saved

from attention_lab.checking.judging import implementation, judge
from attention_lab.exercises import exercises
from attention_lab.grading.marker import Marker, kind_of

CHAPTERS = sorted({e.chapter for e in exercises().values() if list(COURSE.glob(f"solutions/{e.chapter}_*.ipynb"))})
#: Of each chapter; where torch is needed, as many only when somebody asks for a long run.
SUBMISSIONS, FEWER = 30, 10


@cache
def catalogue(chapter: str) -> str:
    """A cell that holds the catalogue of a chapter, and gives any function of it: `pick(exercise, kind, key)`.

    It comes compiled, so that thirty submissions do not compile it thirty times.
    """
    compiled = []
    shared = ("attention_lab.exercises.model", "attention_lab.exercises.writing")
    for name in ("model", "writing", f"chapter_{chapter}"):
        text = (COURSE / "utils" / "attention_lab" / "exercises" / f"{name}.py").read_text(encoding="utf-8")
        tree = ast.parse(text)
        tree.body = [n for n in tree.body if not (isinstance(n, ast.ImportFrom) and n.module in shared)]
        compiled.append(compile(tree, f"<{name}>", "exec", dont_inherit=True))
    packed = base64.b64encode(zlib.compress(marshal.dumps(compiled))).decode()
    return f"""
import base64, functools, marshal, zlib
all_of_it = {{"__name__": "__main__"}}
for part in marshal.loads(zlib.decompress(base64.b64decode({packed!r}))):
    exec(part, all_of_it)
def pick(name, kind, key):
    exercise = next(e for e in all_of_it["EXERCISES"] if e.name == name)
    if kind == "accepted":
        return exercise.accepted[key]
    mistake = next(m for m in exercise.mistakes if m.id == key)
    return mistake.answer or functools.partial(exercise.template, **mistake.switches)
"""


def picked(name: str, kind: str, key: str) -> str:
    """The cell of an exercise that is answered by a function, or a class, of the catalogue."""
    reference = exercises()[name].reference
    choice = f"chosen_{name} = pick({name!r}, {kind!r}, {key!r})"
    if isinstance(reference, type):
        return f"{choice}\n{name} = exercise(chosen_{name})\n"
    found = inspect.signature(reference).parameters
    head = ", ".join(n if p.default is p.empty else f"{n}={p.default!r}" for n, p in found.items())
    return f"{choice}\n\n\n@exercise\ndef {name}({head}):\n    return chosen_{name}({', '.join(found)})\n"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_verdict_on_mixed_submissions_is_right(chapter: str, patient: Marker) -> None:
    long = "ATTENTION_LAB_LONG" in os.environ or kind_of(chapter, []) == "numpy"
    random = Random(int(chapter))
    kinds = ["mistake"] * 8 + ["accepted"] * 4 + ["solution"] * 4 + ["blank"] * 3 + ["crash"]
    for number in range(SUBMISSIONS if long else FEWER):
        cells, expected = {}, {}
        for name, exercise in exercises(chapter).items():
            kind = random.choice(kinds)
            expected[name] = ("passed", None)
            if kind == "mistake":
                mistake = random.choice(list(exercise.mistakes))
                cells[name] = picked(name, kind, mistake.id)
                expected[name] = ("not passed", mistake.id)
            elif kind == "accepted":
                cells[name] = picked(name, kind, random.choice(list(exercise.accepted)))
            elif kind == "blank":
                cells[name] = f"@exercise\ndef {name}(*given):\n    raise NotImplementedError\n"
                expected[name] = ("not_started", None)
            elif kind == "crash":
                cells[name] = f"import os\n\n\n@exercise\ndef {name}(*given):\n    os.kill(os.getpid(), 9)\n"
                expected[name] = ("not passed", None)
        marked = patient.mark(saved(made(chapter, cells, before=(catalogue(chapter),))))
        found = {v["name"]: v for v in marked.verdicts}
        for name, (status, mistake_id) in expected.items():
            told = found[name]["status"]
            told = "not passed" if status == "not passed" and told in ("wrong", "raised") else told
            if mistake_id and found[name]["mistake"] != mistake_id:  # with this seed it does what another one does
                chosen = next(m for m in exercises()[name].mistakes if m.id == mistake_id)
                mistake_id = judge(name, implementation(exercises()[name], chosen), patient.seed).mistake
            assert (told, found[name]["mistake"]) == (status, mistake_id), (number, name, cells.get(name), found[name])

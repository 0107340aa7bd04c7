"""Exercises on models and on classes are marked as others are: the worker holds what they need, and no answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.grading.books import code, made, saved

from attention_lab import exercises as catalogue
from attention_lab.exercises import Case, Exercise, Fn, Mistake
from attention_lab.grading import course
from attention_lab.grading import marker as marking
from attention_lab.grading.marker import Marked, Marker, kind_of

# --- two small exercises of a chapter that is none ------------------------------------------------------------------


class Tally:
    """Sums what it is given, on top of where it starts."""

    def __init__(self, start: float) -> None:
        if start < 0:
            raise ValueError("a tally starts at 0 or more")
        self._sum, self._count = start, 0

    def add(self, x: np.ndarray) -> float:
        self._sum += float(x.sum())
        self._count += 1
        return self._sum

    @property
    def count(self) -> int:
        return self._count


def tallied(rows: np.ndarray) -> np.ndarray:
    return np.append(np.cumsum(rows.sum(axis=-1)), len(rows))


def likeliest(model: Any, ids: Any) -> int:
    return int(model(ids).logits[0, -1].argmax())


def _cases(rng: np.random.Generator) -> list[Case]:
    return [Case((rng.normal(size=(3, 2)),)), Case((rng.normal(size=(5, 4)),))]


def _exercise(name: str, reference: Any, cases: Any, framework: str, *mistakes: Mistake) -> Exercise:
    return Exercise(name, "99", "", "", reference, cases, mistakes, {}, ("", "", ""), framework=framework)


STARTS = _exercise("Tally", Tally, lambda rng: [Case((float(n),)) for n in (-1, -2)], "numpy")
SUMS = _exercise("tallied", tallied, _cases, "numpy")
WORDS = _exercise(
    "likeliest",
    likeliest,
    lambda rng: [Case((Fn("tiny_gpt2", {"layers": 1, "seed": s}), np.array([[1, 5, s]]))) for s in (2, 3, 4)],
    "torch",
    Mistake("first", "You look at the first token.", "", lambda model, ids: int(model(ids).logits[0, 0].argmax())),
)


@pytest.fixture
def chapter_99(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = {"Tally": STARTS, "tallied": SUMS, "likeliest": WORDS}
    monkeypatch.setattr(catalogue, "_entries", lambda: (known, {}))
    for cached in (course.chapter, marking._least_kind, marking._parts):
        cached.cache_clear()
    yield
    for cached in (course.chapter, marking._least_kind, marking._parts):
        cached.cache_clear()


def mark(marker: Marker, *cells: str) -> dict[str, dict[str, Any]]:
    found: Marked = marker.mark(json.dumps({"cells": [code("import numpy as np"), *map(code, cells)]}).encode())
    return {v["name"]: v for v in found.verdicts}


MINE = """
class Tally:
    def __init__(self, start):
        if start < 0: raise ValueError("no")
        self.sum, self.count = start, 0
    def add(self, x):
        self.sum += float(x.sum()); self.count += 1
        return self.sum
"""
THROUGH_IT = """
def tallied(rows):
    tally = Tally(0.0)
    sums = [tally.add(row) for row in rows]
    return np.array(sums + [tally.count])
"""
RIGHT_WORD = "def likeliest(model, ids):\n    return model(ids).logits[0, -1].argmax().item()\n"


def test_a_class_that_is_wrong_is_stood_in_for_and_costs_once(chapter_99: None, marker: Marker) -> None:
    right = mark(marker, MINE, THROUGH_IT, RIGHT_WORD)
    assert {v["status"] for v in right.values()} == {"passed"}
    for wrong in (
        MINE.replace("start < 0", "start < -1"),
        "class Tally:\n    def __init__(self, start): self.x = 1 / 0\n",
    ):
        found = mark(marker, wrong, THROUGH_IT, RIGHT_WORD)
        assert found["Tally"]["status"] != "passed"
        assert found["tallied"]["status"] == "passed", found["tallied"]
        assert any("Tally" in note and "once" in note for note in found["tallied"]["notes"])
    blank = "class Tally:\n    def __init__(self, start):\n        raise NotImplementedError\n"
    assert mark(marker, blank, THROUGH_IT, RIGHT_WORD)["tallied"]["status"] == "passed"


@pytest.mark.parametrize(
    "use",
    [
        "Tally(0.0)._sum",
        "Tally(0.0).__dict__['x']",
        "Tally(0.0).add(np.ones(10_000))",
        "Tally(0.0).add(object())",
        "[Tally(0.0) for _ in range(5_000)][-1].count",
        "max(Tally(0.0).add(rows) for _ in range(5_000))",
        "vars(Tally(0.0)).update(_number=10**9) or setattr(t := Tally(0.0), '_number', -1) or t.count",
        "Tally(0.0).add(rows, rows)",
        "Tally(-1.0)",
        "Tally(0.0).count()",
    ],
)
def test_what_stands_in_for_a_class_gives_nothing_else(use: str, chapter_99: None, marker: Marker) -> None:
    wrong = "class Tally:\n    def __init__(self, start):\n        raise KeyError('mine')\n"
    found = mark(marker, wrong, f"def tallied(rows):\n    return {use}\n", RIGHT_WORD)
    assert found["tallied"]["status"] == "raised", found["tallied"]
    assert found["likeliest"]["status"] == "passed"


def test_models_are_handed_over_and_hooks_do_not_stay(chapter_99: None, marker: Marker) -> None:
    assert kind_of("99", []) == "transformers"
    hooked = """
def likeliest(model, ids):
    model.transformer.h[0].register_forward_hook(lambda *a: None)
    before = len(model.transformer.h[0]._forward_hooks)
    return model(ids).logits[0, -1].argmax().item() if before == 1 else -1
"""
    assert mark(marker, MINE, THROUGH_IT, hooked)["likeliest"]["status"] == "passed"
    first = "def likeliest(model, ids):\n    return int(model(ids).logits[:, 0].argmax(-1))\n"
    assert mark(marker, MINE, THROUGH_IT, first)["likeliest"]["mistake"] == "first"


# --- what the kinds hold --------------------------------------------------------------------------------------------


def test_a_worker_with_models_can_do_what_chapters_do_with_them(marker: Marker) -> None:
    work = """
import copy, torch
from torch import nn
from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM
from attention_lab.models import MissingModel, load, present
from attention_lab.models.switches import heads_off
lab = load("lab")
ids = lab.encode("the boat left the bank")
assert lab.tokens(ids) and lab.text(ids) and lab.patterns(ids).shape[-1] == ids.shape[-1]
handle = lab.model.transformer.h[0].attn.c_proj.register_forward_hook(lambda m, i, o: torch.zeros_like(o))
with torch.no_grad():
    off = lab.model(ids).logits
handle.remove()
cache = DynamicCache()
with torch.no_grad():
    full = lab.model(ids).logits
    lab.model(ids[:, :3], past_key_values=cache, use_cache=True)
    rest = lab.model(ids[:, 3:], past_key_values=cache, use_cache=True).logits
assert torch.allclose(full[:, 3:], rest, atol=1e-4) and not torch.equal(full, off)
new = lab.model.generate(ids, max_new_tokens=3, do_sample=False)
assert new.shape[-1] == ids.shape[-1] + 3
model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=1, hidden_size=16, intermediate_size=8, num_attention_heads=2,
                                     num_key_value_heads=1, vocab_size=9))
model(torch.tensor([[1, 2]]), labels=torch.tensor([[1, 2]])).loss.backward()
torch.optim.AdamW(model.parameters()).step()
lab.model.lm_head = None
assert load("lab").model.lm_head is not None and lab.parts.n_heads
try:
    load("smollm2")
except MissingModel:
    pass
assert present("lab") and not present("gpt2")
with heads_off(lab.model, [(0, 1)]):
    pass
"""
    session = marker.session("transformers", lambda asked: {"refused": True})
    said = session.request("run", work, seconds=120)
    session.close()
    assert said["error"] == "", said


@pytest.mark.parametrize("name", ["attention_lab.models.switches", "attention_lab.exercises", "attention_lab.checking"])
def test_a_worker_with_models_holds_no_answer(name: str, marker: Marker) -> None:
    work = f"""
import gc, sys, types
import {name} as found
assert type(found).__name__ == "NothingModule", found
held = [n for n in sys.modules if n.startswith(("attention_lab.exercises.chapter", "attention_lab.checking.judg"))]
assert not held, held
names = {{f.__module__ for f in gc.get_objects() if isinstance(f, types.FunctionType)}}
assert not [n for n in names if n and n.startswith(("attention_lab.exercises.chapter", "attention_lab.models.switch"))]
"""
    session = marker.session("transformers", lambda asked: {"refused": True})
    said = session.request("run", work, seconds=60)
    session.close()
    assert said["error"] == "", said


TEXTS = ("x = 1", "import torch", 'lab = load("lab")', "import math", "json.load(open(path))")


def test_only_those_who_need_models_wait_for_them(marker: Marker) -> None:
    kinds = {text: kind_of("03", [text]) for text in TEXTS}
    assert list(kinds.values()) == ["numpy", "torch", "transformers", "numpy", "numpy"]
    assert kind_of("06", []) == "torch"
    own = 'lab = load("lab")\nanswer("03_hot", float(lab.model(lab.encode("the boat")).logits.shape[1]))\n'
    submission = made("03", before=("from attention_lab.models import load\n",), after=(own,))
    found = {v["name"]: v for v in marker.mark(saved(submission)).verdicts}
    assert "2" in found["03_hot"]["message"] or found["03_hot"]["status"] == "wrong"
    assert found["softmax"]["status"] == "passed"

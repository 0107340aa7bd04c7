"""The browser's modules under node's own test runner, with numbers that NumPy made.

Node is the one that Playwright brings. Without Playwright these tests are skipped, or fail where a browser is required.
"""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import subprocess
from typing import Any

import numpy as np
import pytest
from matplotlib import colormaps

import attention_lab.widgets
from attention_lab.lesson import W_K, W_Q, W_V, WORDS, rows
from attention_lab.widgets import Head
from attention_lab.widgets.views import colour_table

MODULES = pathlib.Path(attention_lab.widgets.__file__).parent / "browser"
TESTS = pathlib.Path(__file__).parent / "javascript"
COLUMNS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def node() -> str:
    try:
        import playwright
    except ImportError:
        if os.environ.get("ATTENTION_LAB_REQUIRE_BROWSER") == "1":
            pytest.fail("ATTENTION_LAB_REQUIRE_BROWSER=1, and Playwright is not installed", pytrace=False)
        pytest.skip("Playwright is not installed (it is in the project's extra `test`)")
    return str(pathlib.Path(playwright.__file__).parent / "driver" / "node")


def flat(array: Any) -> list[float | None]:
    """JSON has no NaN: None stands for it."""
    return [None if np.isnan(value) else float(value) for value in np.ravel(array)]


def pattern_cases(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.dirichlet(np.ones(n), size=t) for t, n in ((5, 5), (3, 7), (1, 4))]


def head_cases() -> dict[str, Any]:
    q, k, v = rows() @ W_Q, rows() @ W_K, rows() @ W_V
    head = Head(q, k, v, WORDS, columns=COLUMNS)
    states = []
    for temperature, mask, scale, asking in itertools.product((0.001, 0.7, 4.0), (False, True), (False, True), (1, 4)):
        state = {"temperature": temperature, "mask": mask, "scale": scale, "asking": asking}
        data = head(**state)
        states.append(
            {"state": state, "pattern": flat(data.pattern), "text": data.text, "bars": list(data.bars.values())}
        )
    steps = []
    for mask, row in itertools.product((False, True), (0, 2, 4)):
        hidden = np.arange(5) > row if mask else np.zeros(5, dtype=bool)
        scores = q[row] @ k.T
        risen = np.where(hidden, 0, np.exp(scores / np.sqrt(2)))
        weights = risen / risen.sum()
        work = {"scores": flat(scores), "scaled": flat(scores / np.sqrt(2)), "weights": flat(weights)}
        work |= {"blend": flat(weights @ v), "after": flat(rows()[row] + weights @ v), "hidden": int(hidden.sum())}
        steps.append({"mask": mask, "row": row, "work": work})
    spec = {name: value for name, value in head.spec().items() if not isinstance(value, bytes)}
    as_rows = {"q": q.tolist(), "k": k.tolist(), "v": v.tolist(), "rows": rows().tolist()}
    return {"spec": spec, "q": flat(q), "k": flat(k), "v": flat(v), "states": states, "steps": steps, "rows": as_rows}


def score_cases(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Expected by loops over positions, written from the definitions."""
    cases = []
    for t, n, tokens in ((6, 6, "a b c a b c"), (3, 6, "a b c a b c"), (4, 4, "a b c d"), (1, 1, "a")):
        words, pattern = tokens.split(), rng.dirichlet(np.ones(n), size=t)
        before, first, after = [], [], []
        for row in range(t):
            place = row + n - t
            if place == 0:
                continue
            before.append(pattern[row, place - 1])
            first.append(pattern[row, 0])
            last = [j for j in range(place) if words[j] == words[place]]
            if last:
                after.append(pattern[row, last[-1] + 1])
        means = [float(np.mean(part)) if part else None for part in (before, first, after)]
        cases.append({"pattern": flat(pattern), "T": t, "S": n, "tokens": words} | dict(
            zip(("previous", "first", "induction"), means, strict=True)))  # fmt: skip
    return cases


def kept_cases(rng: np.random.Generator) -> list[dict[str, Any]]:
    cases = []
    for pattern in pattern_cases(rng):
        t, n = pattern.shape
        sizes = rng.uniform(0.2, 2, n)
        seen = pattern * np.tri(t, n, n - t)
        weighted = pattern * sizes
        cases.append({
            "pattern": flat(pattern), "T": t, "S": n, "sizes": flat(sizes),
            "masked": flat(seen / seen.sum(-1, keepdims=True)),
            "weighted": flat(weighted / weighted.sum(-1, keepdims=True)),
        })  # fmt: skip
    return cases


def colour_cases() -> dict[str, Any]:
    values = [0.0, 0.3, 0.62, 0.999, 1.0]
    rgb = [(np.array(colormaps["viridis"](value)[:3]) * 255).round().astype(int).tolist() for value in values]
    listed = [{"value": value, "rgb": colour} for value, colour in zip(values, rgb, strict=True)]
    return {"table": colour_table("viridis"), "values": listed}


def test_the_modules_pass_their_tests_in_node(node: str, tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    cases = {"modules": MODULES.as_uri(), "head": head_cases(), "scores": score_cases(rng), "kept": kept_cases(rng)}
    (tmp_path / "cases.json").write_text(json.dumps(cases | {"colours": colour_cases(), "ink": 4.5}), encoding="utf-8")
    files = sorted(map(str, TESTS.glob("*.test.mjs")))
    environment = os.environ | {"CASES": str(tmp_path / "cases.json")}
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    passed = re.search(r"pass (\d+)", done.stdout)
    assert passed and int(passed.group(1)) == sum(pathlib.Path(f).read_text().count('\ntest("') for f in files)

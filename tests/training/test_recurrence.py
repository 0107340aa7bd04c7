"""The script that trained the networks of chapter 02: it learns, it repeats itself, and its file is its own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from attention_lab.training import measured
from attention_lab.training.stories import NAMES, THINGS, stories

torch = pytest.importorskip("torch")

from attention_lab.training import recurrence  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def near_item(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return stories(rng, 32, items=1, distance=1)


def test_a_short_training_lowers_the_loss_and_raises_recall() -> None:
    model = recurrence.recurrent("LSTM", 16, seed=0)
    before = recurrence.recall(model, 1, 1, count=400)
    losses = list(recurrence.train(model, near_item, 120, seed=0, rate=1e-2))
    assert abs(losses[0] - np.log(THINGS)) < 0.5
    assert np.mean(losses[-10:]) < 0.5 * losses[0]
    assert recurrence.recall(model, 1, 1, count=400) > before + 0.3


@pytest.mark.parametrize("kind", list(recurrence.CELLS))
def test_the_same_seed_gives_the_same_losses(kind: str) -> None:
    def losses(seed: int) -> list[float]:
        return list(recurrence.train(recurrence.recurrent(kind, 8, seed), near_item, 3, seed, 1e-3))

    assert losses(1) == losses(1) != losses(2)


def test_the_three_kinds_have_equally_many_parameters() -> None:
    sizes = [recurrence.parameters(recurrence.recurrent(*item, seed=0)) for item in recurrence.EQUAL_WIDTHS.items()]
    assert max(sizes) < 1.02 * min(sizes)


class Knows(torch.nn.Module):
    """Answers every question from the story itself, and the first item always wrongly."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*ids.shape[:2], THINGS)
        for story, scores in zip(ids.tolist(), logits, strict=True):
            told = {name: thing for name, thing in story if thing < THINGS and name < NAMES}
            first = story[0][0]
            for place, (name, _) in enumerate(story):
                scores[place, (told[name] + (name == first)) % THINGS] = 1
        return logits


def test_right_answers_are_told_in_the_order_of_the_items() -> None:
    right = recurrence.answers_right(Knows(), items=5, count=20)
    assert right.shape == (20, 5)
    assert not right[:, 0].any() and right[:, 1:].all()


def test_another_body_fits_the_same_task() -> None:
    model = recurrence.Recaller(torch.nn.Linear(recurrence.ROW_WIDTH, 7), 7)
    ids, _ = stories(np.random.default_rng(0), 3, items=2)
    assert model(torch.from_numpy(ids)).shape == (3, 4, THINGS)


def tiny_plan() -> recurrence.Plan:
    return recurrence.Plan((0,), {"RNN": (1, 2), "LSTM": (1,)}, many_items=1, lstm_widths=(16,), stories=10)


def test_the_script_writes_what_the_stored_file_has(tmp_path, monkeypatch) -> None:
    plan = tiny_plan()
    monkeypatch.setattr(recurrence, "Plan", lambda *args, **kwargs: plan)
    monkeypatch.setattr(recurrence, "DATA", tmp_path / "recurrence.json")
    recurrence.main([])
    written, stored = json.loads((tmp_path / "recurrence.json").read_text()), measured("recurrence")
    assert written.keys() == stored.keys()
    for part in ("one_item", "many_items"):
        assert written[part].keys() == stored[part].keys()
        assert written[part]["networks"][0].keys() == stored[part]["networks"][0].keys()


def test_the_quick_run_writes_nothing(monkeypatch, capsys, tmp_path) -> None:
    plan = tiny_plan()
    monkeypatch.setattr(recurrence, "Plan", lambda *args, **kwargs: plan)
    monkeypatch.setattr(recurrence, "DATA", tmp_path / "recurrence.json")
    recurrence.main(["--quick"])
    assert not (tmp_path / "recurrence.json").exists()
    assert json.loads(capsys.readouterr().out)["threads"] == 1


def test_the_stored_file_is_that_of_the_whole_plan() -> None:
    stored, plan = measured("recurrence"), recurrence.Plan()
    assert stored["seeds"] == list(plan.seeds) and stored["things"] == THINGS and stored["names"] == NAMES
    one, many = stored["one_item"], stored["many_items"]
    assert one["distances"] == list(recurrence.DISTANCES) and many["items"] == list(recurrence.ITEMS)
    found = [(run["kind"], run["steps"]) for run in one["networks"]]
    assert found == [(kind, stop) for kind, stops in plan.one_item.items() for stop in stops]
    assert all(run["steps"] == plan.many_items for run in many["networks"])
    assert {np.shape(run["recall_by_seed"]) for run in many["networks"]} == {(len(plan.seeds), len(recurrence.ITEMS))}
    assert {np.shape(run["recall_by_place_of_16_by_seed"]) for run in many["networks"]} == {(len(plan.seeds), 16)}
    for run in one["networks"] + many["networks"]:
        model = recurrence.recurrent(run["kind"], run["width"], seed=0)
        assert run["parameters"] == recurrence.parameters(model)
        assert run["state_numbers"] == recurrence.state_numbers(run["kind"], run["width"])
    assert {"reproduce", "torch", "cpu_seconds", "threads", "measured_on"} <= stored.keys()

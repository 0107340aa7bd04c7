"""One attention head on the task of chapter 02: it learns, it is as large as the networks there, it repeats itself."""

from __future__ import annotations

import json

import numpy as np
import pytest

from attention_lab.training import measured

torch = pytest.importorskip("torch")

from attention_lab.training import attention, recurrence  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_short_training_recalls_an_item_at_any_distance() -> None:
    model = attention.attention(attention.SMALL_WIDTH, seed=0)
    before = recurrence.recall(model, 1, 5, count=200)
    list(recurrence.train(model, recurrence.one_item, 150, seed=0, rate=attention.LEARNING_RATE, decay=False))
    after = [recurrence.recall(model, 1, distance, count=200) for distance in (1, 20, 160)]
    assert min(after) > 0.9 > before + 0.5


def test_the_same_seed_gives_the_same_losses() -> None:
    def losses(seed: int) -> list[float]:
        model = attention.attention(8, seed)
        return list(recurrence.train(model, recurrence.one_item, 3, seed, 1e-3))

    assert losses(1) == losses(1) != losses(2)


def test_the_wide_head_has_as_many_parameters_as_the_networks_of_chapter_02() -> None:
    sizes = [recurrence.parameters(recurrence.recurrent(*item, seed=0)) for item in recurrence.EQUAL_WIDTHS.items()]
    sizes.append(recurrence.parameters(attention.attention(attention.EQUAL_WIDTH, seed=0)))
    assert max(sizes) < 1.02 * min(sizes)


def test_rows_that_change_places_change_places_in_what_the_head_gives() -> None:
    head, rows = attention.OneHead(5), torch.randn(2, 7, recurrence.ROW_WIDTH)
    order = torch.randperm(7)
    assert torch.allclose(head(rows[:, order]), head(rows)[:, order], atol=1e-6)


def tiny_plan() -> attention.Plan:
    return attention.Plan((0,), (8,), (1, 2), many_items=1, timed=2, stories=10)


def test_the_script_writes_what_the_stored_file_has(tmp_path, monkeypatch) -> None:
    plan = tiny_plan()
    monkeypatch.setattr(attention, "Plan", lambda *args, **kwargs: plan)
    monkeypatch.setattr(attention, "DATA", tmp_path / "attention.json")
    attention.main([])
    written, stored = json.loads((tmp_path / "attention.json").read_text()), measured("attention")
    assert written.keys() == stored.keys()
    for part in ("one_item", "many_items"):
        assert written[part].keys() == stored[part].keys()
        assert written[part]["networks"][0].keys() == stored[part]["networks"][0].keys()


def test_the_quick_run_writes_nothing(monkeypatch, capsys, tmp_path) -> None:
    plan = tiny_plan()
    monkeypatch.setattr(attention, "Plan", lambda *args, **kwargs: plan)
    monkeypatch.setattr(attention, "DATA", tmp_path / "attention.json")
    attention.main(["--quick"])
    assert not (tmp_path / "attention.json").exists()
    assert json.loads(capsys.readouterr().out)["threads"] == 1


def test_the_stored_file_is_that_of_the_whole_plan_on_the_task_of_chapter_02() -> None:
    stored, other, plan = measured("attention"), measured("recurrence"), attention.Plan()
    assert stored["seeds"] == list(plan.seeds) == other["seeds"]
    assert (stored["batch"], stored["stories_per_point"]) == (other["batch"], other["stories_per_point"])
    assert stored["one_item"]["distances"] == other["one_item"]["distances"]
    assert stored["many_items"]["items"] == other["many_items"]["items"]
    found = [(run["width"], run["steps"]) for run in stored["one_item"]["networks"]]
    assert found == [(width, stop) for width in plan.widths for stop in plan.one_item]
    for run in stored["one_item"]["networks"]:
        assert run["parameters"] == recurrence.parameters(attention.attention(run["width"], 0))
        assert np.shape(run["recall_by_seed"]) == (len(plan.seeds), len(recurrence.DISTANCES))


def test_many_items_are_held_with_every_seed() -> None:
    for run in measured("attention")["many_items"]["networks"]:
        assert np.shape(run["recall_by_seed"]) == (len(attention.Plan().seeds), len(recurrence.ITEMS))
        assert np.min(run["recall_by_seed"]) > 0.99


def test_in_the_stored_curves_recall_does_not_fall_with_distance_on_any_seed() -> None:
    for run in measured("attention")["one_item"]["networks"]:
        if run["steps"] >= 200:
            assert np.min(run["recall_by_seed"]) > 0.99

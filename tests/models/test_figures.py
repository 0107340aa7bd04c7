"""The figures that the course prints are those of the checkpoints that it ships."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from attention_lab.models import Loaded, load
from attention_lab.models.card import LEARNED, card
from attention_lab.models.english import recital
from attention_lab.models.evaluation import best, documents, evaluate, head_scores, random_heads, twice
from attention_lab.models.making import SEEDS, SMALL, summary
from attention_lab.models.training import Recipe

#: Another processor sums in another order.
CLOSE = 0.02


def test_figures_taken_again_are_the_stored_ones(any_lab: Loaded) -> None:
    stored = any_lab.figures()["small"]
    again = _numbers(evaluate(any_lab, *SMALL, ablate=False))
    assert len(again) > 20
    assert again == pytest.approx(_numbers(stored), abs=CLOSE)


def test_the_lab_model_resolves_ambiguous_words_at_every_distance(any_lab: Loaded) -> None:
    senses = any_lab.figures()["senses"]
    assert len(senses["accuracy_by_distance"]) == 8
    assert senses["accuracy"] > 0.95
    assert min(senses["accuracy_by_distance"].values()) > 0.9
    assert senses["accuracy_where_nothing_decides"] > 0.9
    assert senses["accuracy_with_attention_off"] < 0.6


def test_the_card_is_the_one_that_the_figures_give(any_lab: Loaded) -> None:
    folder = any_lab.folder
    recipe = Recipe(**json.loads((folder / "recipe.json").read_text(encoding="utf-8")))
    seeds = folder / "seeds.json"
    others = json.loads(seeds.read_text(encoding="utf-8")) if seeds.is_file() else None
    size = (folder / "model.safetensors").stat().st_size
    text = card(recipe, any_lab.figures(), size, any_lab.model.num_parameters(), others)
    assert (folder / "MODEL_CARD.md").read_text(encoding="utf-8") == text.rstrip("\n") + "\n"
    assert f"{any_lab.figures()['senses']['accuracy']:.4f}" in text


def test_what_is_said_of_ambiguous_words_holds_with_three_seeds(any_lab: Loaded) -> None:
    seeds = json.loads((any_lab.folder / SEEDS).read_text(encoding="utf-8"))
    assert list(seeds) == ["0", "1", "2"]
    assert seeds["0"] == summary(any_lab.figures())
    for found in seeds.values():
        assert found["accuracy_at_the_worst_distance"] > 0.95
        assert found["accuracy_where_nothing_decides"] > 0.95
        assert found["accuracy_with_attention_off"] < 0.6


def test_the_card_says_with_which_seeds_recitals_were_learned(lab: Loaded) -> None:
    seeds = json.loads((lab.folder / SEEDS).read_text(encoding="utf-8"))
    learned = [seed for seed, found in seeds.items() if found["repeats_right"] > LEARNED]
    text = (lab.folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "0" in learned
    assert f"learned with {len(learned)} of 3 (seed {', '.join(learned)})" in text
    assert f"| induction | {' | '.join(format(found['induction'], '.4f') for found in seeds.values())} |" in text


def test_the_recipe_beside_the_weights_is_the_recipe_of_the_script(any_lab: Loaded) -> None:
    from attention_lab.models.training import RECIPES

    stored = json.loads((any_lab.folder / "recipe.json").read_text(encoding="utf-8"))
    assert Recipe(**stored) == RECIPES[any_lab.name]
    assert set(stored) == {one.name for one in fields(Recipe)}


def test_the_best_heads_of_the_lab_model_do_more_than_others() -> None:
    figures = load().figures()
    off = figures["switched_off"]
    assert figures["heads"]["previous_token"][0]["score"] > 0.35
    assert figures["heads"]["induction"][0]["score"] > 0.8
    assert figures["cue"]["from_the_row_that_predicts"]["whichever_head"] > 0.5
    assert len(figures["cue"]["by_sense"]) == 16
    assert min(head["score"] for head in figures["cue"]["by_sense"].values()) > 0.3
    assert off["nothing"]["repeats_right"] > 0.9
    assert off["induction"]["repeats"] > off["induction"]["random_heads"]["repeats"]["max"]
    assert off["previous_token"]["repeats"] > off["previous_token"]["random_heads"]["repeats"]["max"]
    assert off["cue"]["answers"] > off["cue"]["random_heads"]["answers"]["max"]


def test_the_scores_of_a_head_are_read_from_the_right_places(lab: Loaded, monkeypatch: pytest.MonkeyPatch) -> None:
    from random import Random

    from attention_lab.models import evaluation

    made = [recital(Random(0), 10, 5)]  # tokens: the start, five words, and the same five again
    ideal = np.zeros((1, 1, 2, 128, 128))
    for row in range(6, 11):
        ideal[0, 0, 0, row, row - 4] = 1.0
    ideal[0, 0, 1, np.arange(1, 128), np.arange(127)] = 1.0
    monkeypatch.setattr(evaluation, "_patterns", lambda *_: ideal)
    docs = documents(made, lab)
    scores = head_scores(lab, docs, docs)
    assert scores.induction.tolist() == [[1.0, 0.0]]
    assert scores.previous.tolist() == [[0.0, 1.0]]
    assert scores.first.tolist() == [[0.0, 0.0]]


def test_the_recitals_measured_have_two_rounds() -> None:
    assert all(len(made.words) == 2 * made.period for made in twice(20))


def test_random_heads_are_not_the_named_ones(lab: Loaded) -> None:
    named = [(0, 0), (1, 2)]
    sets = random_heads(lab, 2, named)
    assert len(sets) == 8
    assert all(len(set(heads)) == 2 and not set(heads) & set(named) for heads in sets)
    assert best(np.array([[0.1, 0.9], [0.5, 0.9]]), 3) == [(0, 1), (1, 1), (1, 0)]


def _numbers(data: Any, at: str = "") -> dict[str, float]:
    """Every number in nested dicts and lists, keyed by where it stands, but for which head it is of."""
    if isinstance(data, dict):
        items = [(key, value) for key, value in data.items() if key not in ("layer", "head")]
    elif isinstance(data, list):
        items = list(enumerate(data))
    else:
        return {at: data}
    return {path: value for key, inner in items for path, value in _numbers(inner, f"{at}/{key}").items()}

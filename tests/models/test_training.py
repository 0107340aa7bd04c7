"""The training script: what weighs in the loss, and that a short run really lowers it."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from attention_lab.cli import main
from attention_lab.models import load, making
from attention_lab.models.door import CHECKPOINTS
from attention_lab.models.english import AMBIGUOUS, UNDECIDED, recital, story
from attention_lab.models.making import make
from attention_lab.models.training import (
    RECIPES,
    Batch,
    Recipe,
    batches,
    document,
    learning_rate,
    new_model,
    save,
    train,
    weighted_loss,
)

TINY = Recipe("tiny", layers=2, width=32, steps=20, short_steps=10, stories=6, recitals=2, warmup=5, rate=1e-2)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(CHECKPOINTS / "lab" / "tokenizer.json"))


def test_a_short_run_lowers_the_loss_on_stories_it_has_not_seen(tokenizer: Tokenizer, tmp_path: Path) -> None:
    trained = train(TINY, quiet=True, tokenizer=tokenizer)
    unseen = next(batches(replace(TINY, steps=1, short_steps=0, seed=77), tokenizer))
    with torch.no_grad():
        untrained = new_model(TINY, tokenizer.get_vocab_size())
        before = float(weighted_loss(untrained(unseen.ids).logits, unseen))
        after = float(weighted_loss(trained.model(unseen.ids).logits, unseen))
    assert len(trained.losses) == TINY.steps
    assert after < before - 0.8
    save(trained, tmp_path)
    read, written = load("tiny", tmp_path).model.state_dict(), trained.model.state_dict()
    assert read.keys() == written.keys()
    assert all(torch.equal(read[name], written[name]) for name in read)


def test_the_same_seed_trains_the_same_model_and_another_seed_another(tokenizer: Tokenizer) -> None:
    recipe = replace(TINY, steps=2)
    first, again, other = (
        train(replace(recipe, seed=seed), quiet=True, tokenizer=tokenizer).losses for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


def test_answers_weigh_more_and_padding_nothing(tokenizer: Tokenizer) -> None:
    made = story(Random(1))
    ids, weights = document(made, tokenizer, TINY, 128)
    answers = {made.words[asked.answer_at] for asked in (*made.decisions, *made.open)}
    heavy = {tokenizer.decode([number]).strip() for number in ids[weights == TINY.answer_weight].tolist()}
    assert heavy == answers
    assert set(weights.tolist()) == {0.0, 1.0, TINY.answer_weight}
    length = 1 + len(tokenizer.encode(made.text).ids)
    assert (weights[length:] == 0).all()
    assert (weights[1:length] > 0).all()


def test_of_a_recital_only_what_repetition_tells_weighs(tokenizer: Tokenizer) -> None:
    ids, weights = document(recital(Random(2), 30, 12), tokenizer, TINY, 128)
    assert np.flatnonzero(weights).tolist() == list(range(14, 31))  # tokens count from the start token
    assert (ids[14:31] == ids[2:19]).all()


def test_weights_and_tokens_stay_together_when_the_start_token_is_left_out(tokenizer: Tokenizer) -> None:
    numbers = {tokenizer.encode(word).ids[0] for word in _answers()}
    batch = next(batches(replace(TINY, steps=1, stories=12), tokenizer))
    assert {0} < set((batch.ids[:, 0] == 0).int().tolist())  # some begin with the start token, some do not
    heavy = batch.ids[:, 1:][batch.weights == TINY.answer_weight]
    assert set(heavy.tolist()) <= numbers


def test_short_documents_stand_anywhere_in_the_position_table(tokenizer: Tokenizer) -> None:
    short, full = (next(batches(replace(TINY, steps=1, short_steps=n), tokenizer)) for n in (1, 0))
    assert len(set(short.places[:, 0].tolist())) > 3
    assert (short.places.diff(dim=1) == 1).all()
    assert short.places.max() < TINY.positions
    assert (full.places == torch.arange(TINY.positions)).all()


def test_the_loss_is_the_weighted_mean() -> None:
    logits = torch.zeros(1, 3, 4)
    logits[0, 0, 1] = 50.0
    ids = torch.tensor([[0, 1, 2]])  # the first guess is right (loss 0), the second one of four (loss log 4)
    loss = weighted_loss(logits, Batch(ids, torch.arange(3)[None], torch.tensor([[3.0, 1.0]])))
    assert float(loss) == pytest.approx(np.log(4) / 4)


def test_the_rate_rises_stays_and_falls() -> None:
    recipe = replace(TINY, steps=100, warmup=10, decay_from=0.5, rate=1.0)
    rates = [learning_rate(recipe, step) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[10:50] == [1.0] * 40
    assert rates[50:] == sorted(rates[50:], reverse=True)
    assert 0 < rates[-1] < 0.05


def test_position_rows_stay_zero_where_the_recipe_says_so(tokenizer: Tokenizer) -> None:
    trained = train(replace(TINY, steps=2, learned_positions=False), quiet=True, tokenizer=tokenizer)
    assert not trained.model.transformer.wpe.weight.any()
    assert train(replace(TINY, steps=1), quiet=True, tokenizer=tokenizer).model.transformer.wpe.weight.any()


def test_several_seeds_are_trained_once_and_compared_beside_the_model_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe, ships, trained = RECIPES["lab-no-positions"], tmp_path / "ships", []
    shutil.copytree(CHECKPOINTS / recipe.name, ships / recipe.name)
    monkeypatch.setattr(making, "CHECKPOINTS", ships)

    def pretend(name: str, seed: int, out: Path) -> Path:
        trained.append(seed)
        shutil.copytree(CHECKPOINTS / name, out)
        (out / "recipe.json").write_text(json.dumps(asdict(replace(recipe, seed=seed))))
        return out

    monkeypatch.setattr(making, "make", pretend)
    arguments = ["train", recipe.name, "--seeds", "3", "--out", str(tmp_path / "runs")]
    assert main(arguments) == main(arguments) == 0
    assert trained == [1, 2]
    assert "seeds.json; MODEL_CARD.md beside it compares them" in capsys.readouterr().out
    assert list(json.loads((ships / recipe.name / "seeds.json").read_text())) == ["0", "1", "2"]
    for file in ("model.safetensors", "figures.json", "recipe.json"):
        assert (ships / recipe.name / file).read_bytes() == (CHECKPOINTS / recipe.name / file).read_bytes()
    half = tmp_path / "runs" / f"{recipe.name}-seed-2"
    (half / "MODEL_CARD.md").unlink()  # which is written last
    shutil.move(half, tmp_path / "half")
    assert not making._is_made(tmp_path / "half", replace(recipe, seed=2))
    assert main(arguments) == 0
    assert trained == [1, 2, 2]


def test_the_command_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["train", "nobody", "--out", str(tmp_path)], "no recipe for 'nobody'"),
        (["train", "--steps", "5"], "name another folder with --out"),
        (["train", "--seeds", "3"], "--seeds needs --out FOLDER"),
        (["train", "--seeds", "3", "--seed", "1", "--out", str(tmp_path)], "neither --seed nor --steps"),
        (["train", "--seeds", "1", "--out", str(tmp_path)], "--seeds is 1; give at least 2"),
        (["train", "nobody", "--seeds", "2", "--out", str(tmp_path)], "no recipe for 'nobody'"),
        (["train", "--steps", "0", "--out", str(tmp_path)], "steps are 1 or more"),
        (["train", "--seed", "-1", "--out", str(tmp_path)], "seeds 0 or more"),
    ):
        assert main(arguments) == 2
        assert words in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ValueError, match="cannot be written"):
        make("lab", steps=1, out=tmp_path / "file")


def test_every_recipe_has_its_checkpoint() -> None:
    assert {path.name for path in CHECKPOINTS.iterdir() if path.is_dir()} == set(RECIPES)


def _answers() -> list[str]:
    senses = [UNDECIDED, *(sense for pair in AMBIGUOUS.values() for sense in pair)]
    return [word for sense in senses for word in sense.verbs + sense.adjectives]

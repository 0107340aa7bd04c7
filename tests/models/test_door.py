"""One door to models: offline, no pickle, one sentence when something is missing."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attention_lab.models import SHIPPED, Loaded, MissingModel, load
from attention_lab.models.door import CHECKPOINTS


def test_a_model_comes_ready_to_run(any_lab: Loaded) -> None:
    assert not any_lab.model.training
    assert type(any_lab.model).__name__ == "GPT2LMHeadModel"
    assert any_lab.model.config.n_positions >= 128
    assert any_lab.model.config.vocab_size == len(any_lab.tokenizer)
    with pytest.raises(FrozenInstanceError):
        any_lab.name = "another"  # type: ignore[misc]


def test_the_patterns_are_those_of_a_causal_softmax(any_lab: Loaded) -> None:
    ids = any_lab.encode("the boat left the bank")
    patterns = any_lab.patterns(ids)
    config = any_lab.model.config
    assert patterns.shape == (config.n_layer, config.n_head, 5, 5)
    np.testing.assert_allclose(patterns.sum(-1), 1.0, atol=1e-5)
    assert (patterns[..., *np.triu_indices(5, 1)] == 0).all()


def test_words_become_numbers_and_tokens_become_words_again(lab: Loaded) -> None:
    ids = lab.encode("the boat left the bank")
    assert ids.shape == (1, 5)
    assert ids.dtype == torch.int64
    assert torch.equal(ids, lab.encode(["the", "boat", "left", "the", "bank"]))
    assert (
        lab.tokens(ids) == lab.tokens(ids[0]) == lab.tokens(ids[0].tolist()) == ["the", "boat", "left", "the", "bank"]
    )
    assert lab.text(ids) == "the boat left the bank"
    with_start = lab.encode("the boat", start=True)
    assert lab.tokens(with_start) == ["<|endoftext|>", "the", "boat"]


def test_pieces_of_a_rare_word_are_marked(lab: Loaded) -> None:
    first, *others = lab.tokens(lab.encode("watchmaker"))
    assert others
    assert all(piece.startswith("+") for piece in others)
    assert first + "".join(piece.removeprefix("+") for piece in others) == "watchmaker"
    in_the_middle = lab.tokens(lab.encode("the watchmaker slept"))
    assert in_the_middle == ["the", first, *others, "slept"]


@pytest.mark.parametrize("text", ["", "bank " * 129])
def test_a_text_that_cannot_be_read_is_refused(lab: Loaded, text: str) -> None:
    with pytest.raises(ValueError, match="reads 1 to 128 tokens at once"):
        lab.encode(text)


def test_a_name_that_is_no_model_is_told_which_there_are() -> None:
    with pytest.raises(MissingModel, match="'labb'; the models are lab, lab-no-positions"):
        load("labb")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named_with_the_mend(tmp_path: Path, file: str) -> None:
    folder = tmp_path / "näh model"
    shutil.copytree(CHECKPOINTS / "lab", folder)
    (folder / file).unlink()
    with pytest.raises(MissingModel, match=rf"{file} of the model 'lab' is not in .*course.py train lab"):
        load("lab", folder)


def test_a_pickle_in_place_of_the_weights_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "lab"
    shutil.copytree(CHECKPOINTS / "lab", folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingModel, match=r"model\.safetensors"):
        load("lab", folder)
    assert not list(CHECKPOINTS.rglob("*.bin"))
    assert not list(CHECKPOINTS.rglob("*.pt"))


def test_loading_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"somebody wants the net: {args}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load("lab").encode("the bank").shape == (1, 2)


def test_importing_the_door_imports_nothing_heavy() -> None:
    code = "import sys, attention_lab.models; print({'torch', 'transformers', 'tokenizers'} & set(sys.modules))"
    utils = Path(__file__).parents[2] / "utils"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=utils, check=True)
    assert done.stdout.strip() == "set()"


def test_a_checkpoint_is_a_few_megabytes() -> None:
    for name in SHIPPED:
        assert sum(path.stat().st_size for path in (CHECKPOINTS / name).iterdir()) < 3_000_000

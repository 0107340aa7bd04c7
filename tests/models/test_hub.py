"""GPT-2 from the hub's cache: a tiny checkpoint of its class, laid there as the hub's client lays it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from attention_lab.models import MissingModel, load, places, present
from attention_lab.models.switches import attention_off
from attention_lab.probes.tiny_models import tiny_gpt2

WORDS = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġb", "Ġba", "nk", "Ġbank"]
COMMIT = "607a30d783dfa663caf39e06633721c8d4cfcd7e"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the hub's client, and no network."""
    import huggingface_hub

    def offline(*args: Any, **kwargs: Any) -> str:
        raise huggingface_hub.errors.LocalEntryNotFoundError("no network")

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    return tmp_path / "hub"


def lay(folder: Path) -> Any:
    """Write a tiny GPT-2 with its tokenizer, as GPT-2's own folder on the hub has them."""
    model = tiny_gpt2(vocabulary=len(WORDS), dtype="float32")
    model.save_pretrained(folder)
    merges = [("Ġ", "b"), ("Ġb", "a"), ("n", "k"), ("Ġba", "nk")]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(WORDS)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    return model


def snapshot(cache: Path, name: str) -> Path:
    repository = cache / f"models--{name.replace('/', '--')}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    folder = repository / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", places.HUB_NAMES)
def test_it_is_loaded_from_the_cache_under_either_name(cache: Path, name: str) -> None:
    assert not present("gpt2")
    written = lay(snapshot(cache, name))
    assert present("gpt2")
    gpt2 = load("gpt2")
    ids = gpt2.encode("a bank")
    assert gpt2.tokens(ids) == ["a", "bank"]
    assert gpt2.text(ids) == "a bank"
    assert torch.equal(gpt2.model(ids).logits, written(ids).logits)
    assert gpt2.parts.positions is not None
    assert gpt2.tokens(gpt2.encode("a", start=True))[0] == "<|endoftext|>"


def test_the_experiment_holds_on_it(cache: Path) -> None:
    lay(snapshot(cache, "openai-community/gpt2"))
    gpt2 = load("gpt2")
    one, other = gpt2.encode("a bank"), gpt2.encode("b bank")
    assert not torch.equal(gpt2.model(one).logits[0, -1], gpt2.model(other).logits[0, -1])
    with attention_off(gpt2.model):
        assert torch.equal(gpt2.model(one).logits[0, -1], gpt2.model(other).logits[0, -1])


def test_a_folder_of_ones_own_does_as_well(cache: Path, tmp_path: Path) -> None:
    lay(tmp_path / "mine")
    assert load("gpt2", tmp_path / "mine").encode("a bank").shape == (1, 2)


def test_offline_and_not_in_the_cache_is_one_sentence(cache: Path) -> None:
    with pytest.raises(MissingModel, match="'gpt2' is not on this machine .* connect to the internet once"):
        load("gpt2")


def test_weights_in_a_pickle_are_not_taken(cache: Path) -> None:
    folder = snapshot(cache, "openai-community/gpt2")
    lay(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert not present("gpt2")
    with pytest.raises(MissingModel, match="not on this machine"):
        load("gpt2")


def test_only_the_three_files_are_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lay(tmp_path / "hub's")
    asked: list[Any] = []

    def fetch(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return shutil.copytree(tmp_path / "hub's", tmp_path / "fetched")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    load("gpt2")
    assert asked == [("openai-community/gpt2", ["config.json", "model.safetensors", "tokenizer.json"])]


def test_a_full_disk_is_one_sentence(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.snapshot_download", full)
    with pytest.raises(MissingModel, match="no room for GPT-2"):
        load("gpt2")


def test_a_config_of_another_kind_is_named(tmp_path: Path) -> None:
    lay(tmp_path)
    config = (tmp_path / "config.json").read_text().replace('"model_type": "gpt2"', '"model_type": "bert"')
    (tmp_path / "config.json").write_text(config)
    with pytest.raises(MissingModel, match="of the kind 'bert'; the kinds are gpt2, llama"):
        load("gpt2", tmp_path)

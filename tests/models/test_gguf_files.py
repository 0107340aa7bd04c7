"""A GGUF file becomes the model that it was written from."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models.tiny_gguf import F32, MERGES, Q4_1, Q8_0, TOKENS, llama, there, write_gguf
from tokenizers import Tokenizer

from attention_lab.models.gguf_files import GgufFile, new_name


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> GgufFile:
    return GgufFile(write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf"))


@pytest.fixture(scope="module")
def tokenizer(file: GgufFile) -> Tokenizer:
    return file.tokenizer()


def test_every_tensor_comes_back_as_it_was(file: GgufFile) -> None:
    found, written = dict(file.tensors()), llama().state_dict()
    assert found.keys() == written.keys()
    assert len(file) == len(written) == 21
    for name, numbers in found.items():
        np.testing.assert_array_equal(numbers, written[name].numpy(), err_msg=name)


@pytest.mark.parametrize("kind", [Q4_1, Q8_0])
def test_blocks_of_quantised_numbers_are_read_as_they_are_defined(kind: GGMLQuantizationType, tmp_path: Path) -> None:
    found = dict(GgufFile(write_gguf(tmp_path / "tiny.gguf", kind)).tensors())
    written = llama().state_dict()
    for name in ("model.layers.1.mlp.down_proj.weight", "model.embed_tokens.weight"):
        np.testing.assert_array_equal(found[name], by_hand(written[name].numpy(), kind), err_msg=name)
        assert np.abs(found[name] - written[name].numpy()).max() < 0.15
    norm = "model.layers.0.input_layernorm.weight"
    np.testing.assert_array_equal(found[norm], written[norm].numpy())


def by_hand(numbers: np.ndarray, kind: GGMLQuantizationType) -> np.ndarray:
    """Quantise, and read the blocks of 32 numbers one by one: Q4_1 is d·q + m with halves of bytes, Q8_0 is d·q."""
    stored, rows = quantize(numbers, kind).tobytes(), []
    size = {Q4_1: 20, Q8_0: 34}[kind]
    for start in range(0, len(stored), size):
        block = stored[start : start + size]
        if kind == Q4_1:
            d, m = struct.unpack("<ee", block[:4])
            whole = [byte & 15 for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
        else:
            (d,), m = struct.unpack("<e", block[:2]), 0.0
            whole = list(struct.unpack("<32b", block[2:]))
        rows += [np.float32(d) * np.float32(q) + np.float32(m) for q in whole]
    return np.array(rows, dtype=np.float32).reshape(numbers.shape)


def test_the_config_is_the_models_own(file: GgufFile) -> None:
    config, written = file.config(), llama().config
    for name in set(config) - {"bos_token_id", "eos_token_id"}:
        assert config[name] == getattr(written, name), name
    assert (config["bos_token_id"], config["eos_token_id"]) == (1, 2)
    assert config["rms_norm_eps"] == 1e-6  # the file has a float32 of it


def test_without_a_matrix_of_its_own_the_unembedding_is_the_table(tmp_path: Path) -> None:
    file = GgufFile(write_gguf(tmp_path / "tiny.gguf", **{"output.weight": None}))
    assert file.config()["tie_word_embeddings"] is True
    assert "lm_head.weight" not in dict(file.tensors())


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@settings(deadline=None, max_examples=100)
def test_a_text_comes_back_as_it_was(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text


def test_merges_digits_and_special_tokens_are_cut_as_in_the_file(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("the bank 12<|im_end|>").tokens == ["the", "Ġbank", "Ġ", "1", "2", "<|im_end|>"]
    assert [tokenizer.token_to_id(token) for token in TOKENS] == list(range(len(TOKENS)))
    assert tokenizer.get_vocab_size() == len(TOKENS)
    assert "1 2" in MERGES  # which digits one by one never reach


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"architecture": "gemma"}, "of the kind 'gemma', not llama"),
        ({"pre": "qwen2"}, "'gpt2', 'qwen2' is not known here"),
        ({"blk.0.attn_q_norm.weight": np.ones((8, 32), np.float32)}, "attn_q_norm.weight' has no place in Llama's"),
        ({"output_norm.weight": np.full(32, np.nan, np.float32)}, "output_norm.weight has numbers that are not finite"),
    ],
)
def test_what_is_not_understood_is_named(tmp_path: Path, changes: dict, says: str) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", F32, **changes)
    with pytest.raises(ValueError, match=says):
        _read_all(path)


def _read_all(path: Path) -> None:
    file = GgufFile(path)
    file.tokenizer()
    dict(file.tensors())


@pytest.mark.parametrize("length", [0, 3, 30, 500, 20_000])
def test_a_file_that_is_cut_short_is_one_sentence(tmp_path: Path, length: int) -> None:
    whole = write_gguf(tmp_path / "tiny.gguf").read_bytes()
    (tmp_path / "short.gguf").write_bytes(whole[:length])
    with pytest.raises(ValueError, match="short.gguf is no whole GGUF file"):
        GgufFile(tmp_path / "short.gguf")


def test_names_go_there_and_back() -> None:
    assert [new_name(there(name)) for name in llama().state_dict()] == list(llama().state_dict())

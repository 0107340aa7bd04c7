"""From a GGUF file to what `transformers` reads: config, weights and tokenizer. Llama's architecture only.

GGUF is llama.cpp's format: one file with key-value fields and tensors, mostly quantised in blocks. The `gguf` package,
by the same people, reads it and turns blocks into numbers; what remains is another order of rows in two matrices, other
names, and a tokenizer that is written down as lists.

Source: `LlamaModel.permute` in llama.cpp's convert_hf_to_gguf.py, whose inverse `unpermute` is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

#: Names of tensors there and here.
_WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_OF_A_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
#: How a text is cut before the merges, by the name that the file gives it.
_CUTS: dict[str, list[Any]] = {
    "gpt-2": [pre_tokenizers.ByteLevel(add_prefix_space=False)],
    "smollm": [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)],
}
#: The type of a token that stands for itself and never comes out of merges, such as <|im_start|>.
_CONTROL = 3


class GgufFile:
    """A GGUF file that is open for reading; its numbers stay on the disk until they are asked for."""

    def __init__(self, path: Path) -> None:
        """Read the fields.

        Raises:
            ValueError: when it is no GGUF file, is cut short, or holds a model of another architecture.
        """
        try:
            self._reader = GGUFReader(path)
        except (ValueError, IndexError, KeyError, OverflowError, MemoryError) as error:
            raise ValueError(f"{path.name} is no whole GGUF file ({error})") from error
        if self.field("general.architecture") != "llama":
            raise ValueError(f"{path.name} holds a model of the kind {self.field('general.architecture')!r}, not llama")

    def field(self, name: str, default: Any = None) -> Any:
        """The value of a field.

        Raises:
            ValueError: when the file has it not and there is no default.
        """
        found = self._reader.get_field(name)
        if found is not None:
            return found.contents()
        if default is None:
            raise ValueError(f"the GGUF file has no field {name!r}")
        return default

    def config(self) -> dict[str, Any]:
        """What `LlamaConfig` takes, by its names."""
        width, heads = self.field("llama.embedding_length"), self.field("llama.attention.head_count")
        return {
            "vocab_size": len(self.field("tokenizer.ggml.tokens")),
            "hidden_size": width,
            "intermediate_size": self.field("llama.feed_forward_length"),
            "num_hidden_layers": self.field("llama.block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": self.field("llama.attention.head_count_kv", heads),
            "head_dim": self.field("llama.rope.dimension_count", width // heads),
            "max_position_embeddings": self.field("llama.context_length"),
            "rms_norm_eps": _shortest(self.field("llama.attention.layer_norm_rms_epsilon")),
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": _shortest(self.field("llama.rope.freq_base", 10000.0)),
            },
            "bos_token_id": self.field("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self.field("tokenizer.ggml.eos_token_id"),
            "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in self._reader.tensors),
        }

    def __len__(self) -> int:
        """How many tensors there are."""
        return len(self._reader.tensors)

    def tensors(self) -> Iterator[tuple[str, np.ndarray]]:
        """Each tensor by `transformers`' name, dequantised to float32; a matrix is (out, in).

        Raises:
            ValueError: for a tensor that has no name here, or numbers that are not finite.
        """
        heads = self.field("llama.attention.head_count")
        of_keys = self.field("llama.attention.head_count_kv", heads)
        for tensor in self._reader.tensors:
            numbers = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
            if not np.isfinite(numbers).all():
                raise ValueError(f"the tensor {tensor.name} has numbers that are not finite")
            if tensor.name.endswith("attn_q.weight"):
                numbers = unpermute(numbers, heads)
            elif tensor.name.endswith("attn_k.weight"):
                numbers = unpermute(numbers, of_keys)
            yield new_name(tensor.name), numbers

    def tokenizer(self) -> Tokenizer:
        """The byte-level BPE tokenizer that the file's lists describe.

        Raises:
            ValueError: for another kind of tokenizer, or a way of cutting texts that is not known here.
        """
        kind, cut = self.field("tokenizer.ggml.model"), self.field("tokenizer.ggml.pre")
        if kind != "gpt2" or cut not in _CUTS:
            raise ValueError(
                f"the tokenizer {kind!r}, {cut!r} is not known here; known are gpt2 with {', '.join(_CUTS)}"
            )
        tokens = self.field("tokenizer.ggml.tokens")
        merges = [tuple(merge.split(" ")) for merge in self.field("tokenizer.ggml.merges")]
        made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
        made.pre_tokenizer = pre_tokenizers.Sequence(_CUTS[cut])
        made.decoder = decoders.ByteLevel()
        kinds = self.field("tokenizer.ggml.token_type")
        made.add_special_tokens([token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL])
        return made


def unpermute(matrix: np.ndarray, n_heads: int) -> np.ndarray:
    """The rows of a query or key matrix (H·d_h, d) in `transformers`' order.

    Rotary positions turn pairs of rows. llama.cpp keeps the two of a pair next to each other (0, 1), (2, 3) …;
    `transformers` keeps all first ones in the upper half of a head and all second ones in the lower half.
    """
    pairs = matrix.reshape(n_heads, matrix.shape[0] // n_heads // 2, 2, matrix.shape[1])
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(matrix.shape))


def new_name(name: str) -> str:
    """`transformers`' name of a tensor.

    Raises:
        ValueError: for a name that Llama's architecture does not have.
    """
    if name in _WHOLE:
        return _WHOLE[name]
    match = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
    if match is None or match[2] not in _OF_A_BLOCK:
        raise ValueError(f"the tensor {name!r} has no place in Llama's architecture")
    return f"model.layers.{match[1]}.{_OF_A_BLOCK[match[2]]}.weight"


def _shortest(number: float) -> float:
    """The decimal number that a float32 was written for: 1e-05, not 9.99999974e-06."""
    return float(str(np.float32(number)))

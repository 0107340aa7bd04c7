"""A tiny Llama in a GGUF file, and a package that holds it, so that tests need neither a network nor 93 MB."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from tokenizers import pre_tokenizers

from attention_lab.models.adding import SMOLLM2, Source
from attention_lab.probes.tiny_models import tiny_llama

#: Special tokens, then one token for each byte, then those that merges make.
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ b", "Ġb a", "n k", "Ġba nk", "t h", "th e", "1 2"]
TOKENS = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]
HEADS, KV_HEADS, WIDTH, LAYERS = 4, 2, 32, 2
F32, Q4_1, Q8_0 = GGMLQuantizationType.F32, GGMLQuantizationType.Q4_1, GGMLQuantizationType.Q8_0
SUFFIXES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def llama(seed: int = 0) -> Any:
    """The model that the file holds, float32."""
    shape = {"layers": LAYERS, "heads": HEADS, "kv_heads": KV_HEADS, "width": WIDTH, "vocabulary": len(TOKENS)}
    return tiny_llama(seed, positions=64, dtype="float32", **shape)


def write_gguf(path: Path, kind: GGMLQuantizationType = F32, **changes: Any) -> Path:
    """Write `llama()` with its matrices as `kind`. `changes` replaces tensors and fields; None leaves one out."""
    model, writer = llama(), GGUFWriter(path, changes.pop("architecture", "llama"))
    config = model.config
    writer.add_block_count(LAYERS)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(changes.pop("pre", "smollm"))
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    tensors = {there(name): matrix(name, row.numpy()) for name, row in model.state_dict().items()}
    for name, numbers in (tensors | changes).items():
        if numbers is not None:
            stored = kind if numbers.ndim == 2 else F32
            writer.add_tensor(name, quantize(numbers, stored), raw_dtype=stored)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def there(name: str) -> str:
    """llama.cpp's name of a tensor."""
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    stem = name.removesuffix(".weight")
    if stem in whole:
        return whole[stem] + ".weight"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{SUFFIXES[part]}.weight"


def matrix(name: str, numbers: np.ndarray) -> np.ndarray:
    """Rows of query and key matrices in llama.cpp's order, moved one by one: row i of the upper half, row i of the
    lower, and so on."""
    if "q_proj" not in name and "k_proj" not in name:
        return numbers
    width = WIDTH // HEADS
    order = [
        h * width + half * width // 2 + i
        for h in range(len(numbers) // width)
        for i in range(width // 2)
        for half in (0, 1)
    ]
    return numbers[order]


def write_wheel(path: Path, gguf: Path) -> Source:
    """A package named as the real one with another GGUF file in it, and the `Source` that fits it."""
    info = f"{SMOLLM2.wheel.rsplit('-', 3)[0]}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(gguf, SMOLLM2.member)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {SMOLLM2.package}\nVersion: {SMOLLM2.version}\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    return replace(SMOLLM2, bytes=len(content), sha256=digest, room=1_000_000)

"""Tiny models of `transformers`' own classes that cases hand to a candidate by name: untrained, seeded, not training.

Every model is made anew for each call, so that hooks which one candidate leaves behind meet nobody else. The seeded
weights are drawn once for each description; a copy of them goes into each new model.
"""

from __future__ import annotations

import copy
import functools
from typing import Any


def tiny_gpt2(
    seed: int = 0,
    layers: int = 2,
    heads: int = 2,
    width: int = 8,
    vocabulary: int = 13,
    positions: int = 32,
    dtype: str = "float64",
) -> Any:
    """A `GPT2LMHeadModel` with random weights and biases, "eager" attention, no dropout.

    Args:
        seed: of its weights.
        layers: number of blocks.
        heads: heads of each block; must divide `width`.
        width: width of a row.
        vocabulary: number of tokens.
        positions: longest text that it reads.
        dtype: name of the weights' torch dtype.
    """
    return copy.deepcopy(_gpt2(seed, layers, heads, width, vocabulary, positions, dtype))


def tiny_llama(
    seed: int = 0,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    width: int = 16,
    vocabulary: int = 13,
    positions: int = 32,
    dtype: str = "float64",
) -> Any:
    """A `LlamaForCausalLM` (rotary positions, shared key/value heads) with random weights; arguments as `tiny_gpt2`.

    Args:
        kv_heads: heads of keys and values; must divide `heads`.
    """
    return copy.deepcopy(_llama(seed, layers, heads, kv_heads, width, vocabulary, positions, dtype))


@functools.lru_cache(maxsize=64)
def _gpt2(seed: int, layers: int, heads: int, width: int, vocabulary: int, positions: int, dtype: str) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_layer=layers,
        n_head=heads,
        n_embd=width,
        vocab_size=vocabulary,
        n_positions=positions,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=None,
    )
    return _seeded(GPT2LMHeadModel(config), seed, dtype)


@functools.lru_cache(maxsize=64)
def _llama(
    seed: int, layers: int, heads: int, kv_heads: int, width: int, vocabulary: int, positions: int, dtype: str
) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        hidden_size=width,
        intermediate_size=2 * width,
        vocab_size=vocabulary,
        max_position_embeddings=positions,
        bos_token_id=0,
        eos_token_id=None,
    )
    return _seeded(LlamaForCausalLM(config), seed, dtype)


def _seeded(model: Any, seed: int, dtype: str) -> Any:
    """Weights large enough that every block changes the rows; nothing is zero, so that a bias left out is seen."""
    import torch

    model.set_attn_implementation("eager")
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            centre = 1.0 if "ln_" in name or "norm" in name else 0.0
            if name.endswith("bias"):
                centre = 0.0
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4 + centre)
    return model.to(getattr(torch, dtype)).eval().requires_grad_(False)


#: By the names that cases use.
FACTORIES = {"tiny_gpt2": tiny_gpt2, "tiny_llama": tiny_llama}

"""The parts of a model under the same names in both architectures: GPT-2's and Llama's. Nothing heavy is imported.

GPT-2 (Radford et al. 2019) adds a row of a position table to each token's row; Llama (Touvron et al. 2023) turns
queries and keys by their positions instead, and lets several query heads share the keys and values of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Block:
    """One block of a model, and its parts.

    Attributes:
        whole: the block itself; it takes rows (B, T, d) and gives rows (B, T, d).
        attention: the attention module; it returns a tuple, so hooks that change its output belong elsewhere.
        projection: the last step inside attention, W_o: what it returns is what attention adds to the rows.
        mlp: what it returns is added to the rows after attention.
        attention_norm: the norm in front of attention.
        mlp_norm: the norm in front of the MLP.
    """

    whole: Any
    attention: Any
    projection: Any
    mlp: Any
    attention_norm: Any
    mlp_norm: Any


@dataclass(frozen=True)
class Anatomy:
    """The parts of a model, and its counts.

    Attributes:
        tokens: the table of token rows, (V, d).
        positions: the table of position rows (T_max, d); None where queries and keys are turned instead.
        blocks: L of them, the first one first.
        final_norm: the norm after the last block.
        unembedding: rows to logits.
        n_heads: query heads of a block, H.
        n_kv_heads: heads of keys and values of a block; n_heads is a multiple of it.
        d_model: width of a row, d.
        d_head: width of a head's queries and keys.
    """

    tokens: Any
    positions: Any | None
    blocks: tuple[Block, ...]
    final_norm: Any
    unembedding: Any
    n_heads: int
    n_kv_heads: int
    d_model: int
    d_head: int

    @property
    def n_layers(self) -> int:
        """How many blocks there are, L."""
        return len(self.blocks)


def anatomy(model: Any) -> Anatomy:
    """The parts of a `GPT2LMHeadModel` or a `LlamaForCausalLM`, by the same names.

    Raises:
        ValueError: for a model of another architecture.
    """
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    if kind == "gpt2":
        return _gpt2(model)
    if kind == "llama":
        return _llama(model)
    raise ValueError(f"a model of the kind {kind!r} has parts that are not known here: the kinds are gpt2 and llama")


def _gpt2(model: Any) -> Anatomy:
    body, config = model.transformer, model.config
    return Anatomy(
        tokens=body.wte,
        positions=body.wpe,
        blocks=tuple(Block(b, b.attn, b.attn.c_proj, b.mlp, b.ln_1, b.ln_2) for b in body.h),
        final_norm=body.ln_f,
        unembedding=model.lm_head,
        n_heads=config.n_head,
        n_kv_heads=config.n_head,
        d_model=config.n_embd,
        d_head=config.n_embd // config.n_head,
    )


def _llama(model: Any) -> Anatomy:
    body, config = model.model, model.config
    return Anatomy(
        tokens=body.embed_tokens,
        positions=None,
        blocks=tuple(
            Block(b, b.self_attn, b.self_attn.o_proj, b.mlp, b.input_layernorm, b.post_attention_layernorm)
            for b in body.layers
        ),
        final_norm=body.norm,
        unembedding=model.lm_head,
        n_heads=config.num_attention_heads,
        n_kv_heads=config.num_key_value_heads,
        d_model=config.hidden_size,
        d_head=config.head_dim or config.hidden_size // config.num_attention_heads,
    )

"""Put an attention function in the place of a model's own, in every block, and take it out again.

Letters: B texts, T rows, d width of a row, H heads, H_kv heads of keys and values, d_h width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from attention_lab.models.anatomy import anatomy

if TYPE_CHECKING:
    from torch import Tensor

NO_CACHE = "the attention that was put in keeps nothing in the model's own cache: call the model with use_cache=False"


@contextmanager
def attention_replaced(
    model: Any, attention: Callable[..., Tensor], caches: Sequence[Any] | None = None
) -> Iterator[None]:
    """Inside it, every block computes its attention with `attention`; afterwards with its own again.

    The function gets rows (B, T, d) that have been through the norm in front of attention, and gives back (B, T, d),
    to which the block adds the rows from before the norm. It is called by position, behind the rows with

    - GPT-2: `c_attn.weight` (d, 3d), `c_attn.bias` (3d,), `c_proj.weight` (d, d), `c_proj.bias` (d,), H;
    - Llama: four matrices for x @ W, of queries (d, H·d_h), keys and values (d, H_kv·d_h), and (H·d_h, d), then H,
      H_kv and the base of the rotation. Rows are taken to begin at position 0.

    The function decides alone who sees whom: no mask reaches it, so texts have one length and no padding.

    Args:
        model: a `GPT2LMHeadModel` or a `LlamaForCausalLM` in evaluation mode.
        attention: the function.
        caches: one object for each block, handed over as a last argument.

    Raises:
        ValueError: for a model in training mode or one that scales its scores in another way, or for a wrong number
            of caches; and, inside, when the model is told to use its own cache.
    """
    blocks = anatomy(model).blocks
    _refuse(model, len(blocks), caches)
    with ExitStack() as undo:
        undo.callback(setattr, model.config, "use_cache", model.config.use_cache)
        model.config.use_cache = False
        for layer, block in enumerate(blocks):
            given = _weights(block.attention, model.config) + (() if caches is None else (caches[layer],))
            block.attention.forward = _forward(attention, given)
            undo.callback(delattr, block.attention, "forward")  # the class's own shows again
        yield


def _refuse(model: Any, layers: int, caches: Sequence[Any] | None) -> None:
    config = model.config
    if model.training:
        raise ValueError("the model is in training mode, where dropout changes every row: call model.eval() first")
    if not getattr(config, "scale_attn_weights", True) or getattr(config, "scale_attn_by_inverse_layer_idx", False):
        raise ValueError("this model does not divide its scores by the root of the head width alone")
    if caches is not None and len(caches) != layers:
        raise ValueError(f"the model has {layers} blocks, and there are {len(caches)} caches: it takes one for each")


def _weights(attn: Any, config: Any) -> tuple[Any, ...]:
    """What an attention function gets behind the rows."""
    if config.model_type == "gpt2":
        return (attn.c_attn.weight, attn.c_attn.bias, attn.c_proj.weight, attn.c_proj.bias, attn.num_heads)
    matrices = (layer.weight.T for layer in (attn.q_proj, attn.k_proj, attn.v_proj, attn.o_proj))
    base = config.rope_parameters["rope_theta"]
    return (*matrices, config.num_attention_heads, config.num_key_value_heads, base)


def _forward(attention: Callable[..., Tensor], given: tuple[Any, ...]) -> Callable[..., Any]:
    """A stand-in for a module's forward, which gives back a pair: the rows and the pattern, here None."""

    def forward(hidden_states: Tensor, *unused: Any, cache: Any = None, **others: Any) -> tuple[Tensor, None]:
        if cache is not None:
            raise ValueError(NO_CACHE)
        return attention(hidden_states, *given), None

    return forward

"""Chapter 09, the only path: the last row, attention switched off, greedy text, and the loop it ends in.

Letters: T tokens, d width of a row, V vocabulary, L blocks. Models are those of `probes.tiny_models`: untrained, of
GPT-2's and of Llama's class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.exercises.model import PROPERTIES, Case, Exercise, Fn, Question
from attention_lab.exercises.writing import answered, paired, switched

if TYPE_CHECKING:
    from torch import Tensor

# --- the references --------------------------------------------------------------------------------------------------


def _last_row(model: Any, ids: Tensor) -> Tensor:
    return model.base_model(ids, use_cache=False).last_hidden_state[0, -1]


@contextmanager
def _attention_off(model: Any) -> Iterator[None]:
    """Zeros in place of what the last step inside each block's attention returns."""
    import torch

    from attention_lab.models.anatomy import anatomy

    with ExitStack() as hooks:
        for block in anatomy(model).blocks:
            hook = block.projection.register_forward_hook(lambda module, inputs, output: torch.zeros_like(output))
            hooks.callback(hook.remove)
        yield


def _greedy_decode(model: Any, ids: Tensor, n: int) -> Tensor:
    import torch

    with torch.no_grad():
        for _ in range(n):
            best = model(ids, use_cache=False).logits[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
    return ids


def _find_cycle(ids: Tensor) -> tuple[int, int] | None:
    tokens = ids.tolist()
    T = len(tokens)
    for period in range(1, T // 2 + 1):
        if tokens[T - period :] == tokens[T - 2 * period : T - period]:
            start = T - 2 * period
            while start and tokens[start - 1] == tokens[start - 1 + period]:
                start -= 1
            return start, period
    return None


# --- the last row, with switches -------------------------------------------------------------------------------------


def _states(model: Any, ids: Tensor) -> Any:
    return model(ids, output_hidden_states=True, use_cache=False).hidden_states


def _final_norm(model: Any) -> Any:
    from attention_lab.models.anatomy import anatomy

    return anatomy(model).final_norm


def _before_the_norm(model: Any, ids: Tensor) -> Tensor:
    seen: list[Tensor] = []
    hook = _final_norm(model).register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    model(ids, use_cache=False)
    hook.remove()
    return seen[0]


#: Rows (1, T, …) of a model that has read ids.
_READS: dict[str, Callable[[Any, Tensor], Tensor]] = {
    "right": lambda model, ids: model.base_model(ids, use_cache=False).last_hidden_state,
    "before the norm": _before_the_norm,
    "normed twice": lambda model, ids: _final_norm(model)(_states(model, ids)[-1]),
    "embedding": lambda model, ids: _states(model, ids)[0],
    "token's row": lambda model, ids: model.get_input_embeddings()(ids),
    "after the first block": lambda model, ids: _states(model, ids)[1],
    "into the last block": lambda model, ids: _states(model, ids)[-2],
    "sum of all": lambda model, ids: sum(_states(model, ids)[1:], _states(model, ids)[0]),
    "logits": lambda model, ids: model(ids, use_cache=False).logits,
    "last token alone": lambda model, ids: model.base_model(ids[:, -1:], use_cache=False).last_hidden_state,
    "backwards": lambda model, ids: model.base_model(ids.flip(1), use_cache=False).last_hidden_state,
}

#: What is taken of rows (1, T, d).
_TAKES: dict[str, Callable[[Tensor], Any]] = {
    "right": lambda rows: rows[0, -1],
    "first": lambda rows: rows[0, 0],
    "all but the last": lambda rows: rows[0, :-1],
    "column of all": lambda rows: rows[:, :, -1],
    "one before": lambda rows: rows[0, -2],
    "second": lambda rows: rows[0, 1],
    "all rows": lambda rows: rows[0],
    "everything": lambda rows: rows,
    "batch kept": lambda rows: rows[:, -1],
    "row kept": lambda rows: rows[:, -1:],
    "last column": lambda rows: rows[0, :, -1],
    "last number": lambda rows: rows[0, -1, -1],
    "mean": lambda rows: rows[0].mean(0),
    "sum": lambda rows: rows[0].sum(0),
    "largest": lambda rows: rows[0].amax(0),
    "length 1": lambda rows: rows[0, -1] / rows[0, -1].norm(),
    "softmax": lambda rows: rows[0, -1].softmax(-1),
    "place of the largest": lambda rows: rows[0, -1].argmax(),
}


def _row_template(model: Any, ids: Tensor, read: str = "right", take: str = "right") -> Any:
    return _TAKES[take](_READS[read](model, ids))


def _of_transformer(model: Any, ids: Tensor) -> Tensor:
    return model.transformer(ids).last_hidden_state[0, -1]


def _of_model(model: Any, ids: Tensor) -> Tensor:
    return model.model(ids).last_hidden_state[0, -1]


def _gpt2_norm_again(model: Any, ids: Tensor) -> Tensor:
    return model.transformer.ln_f(_states(model, ids)[-1][0, -1])


def _every_state(model: Any, ids: Tensor) -> Tensor:
    import torch

    return torch.stack(_states(model, ids))[:, 0, -1]


def _all_states(model: Any, ids: Tensor) -> Any:
    return _states(model, ids)


def _not_asked_for(model: Any, ids: Tensor) -> Tensor:
    return model(ids).hidden_states[-1][0, -1]


def _of_the_whole_model(model: Any, ids: Tensor) -> Tensor:
    return model(ids).last_hidden_state[0, -1]


# --- attention off, with switches ------------------------------------------------------------------------------------


def _named(*ends: str) -> Callable[[Any], list[Any]]:
    return lambda model: [module for name, module in model.named_modules() if name.endswith(ends)]


_projections = _named("attn.c_proj", "attn.o_proj")

#: Whose output is changed.
_WHERE: dict[str, Callable[[Any], list[Any]]] = {
    "right": _projections,
    "every c_proj": _named("c_proj", "o_proj"),
    "mlp": _named(".mlp"),
    "norm": _named("ln_1", "input_layernorm"),
    "gpt2": lambda model: [block.attn.c_proj for block in model.transformer.h],
    "mlp too": _named("attn.c_proj", "attn.o_proj", ".mlp"),
    "first": lambda model: _projections(model)[:1],
    "last": lambda model: _projections(model)[-1:],
    "all but the last": lambda model: _projections(model)[:-1],
    "all but the first": lambda model: _projections(model)[1:],
    "every other": lambda model: _projections(model)[::2],
}


def _with_zeros(*axes: Any) -> Callable[[Any, Any, Tensor], Tensor]:
    def hook(module: Any, inputs: Any, output: Tensor) -> Tensor:
        new = output.clone()
        new[axes] = 0
        return new

    return hook


def _zeros(module: Any, inputs: Any, output: Tensor) -> Tensor:
    return output * 0


#: What is put in place of an output.
_HOW: dict[str, Callable[[Any, Any, Tensor], Any]] = {
    "right": _zeros,
    "bias left": lambda module, inputs, output: _bias(module, output),
    "nothing": lambda module, inputs, output: None,
    "passed on": lambda module, inputs, output: inputs[0],
    "half": lambda module, inputs, output: output / 2,
    "last row only": _with_zeros(..., -1, slice(None)),
    "last row left": _with_zeros(..., slice(0, -1), slice(None)),
    "mean row": lambda module, inputs, output: output.mean(dim=-2, keepdim=True).expand_as(output),
    "mean number": lambda module, inputs, output: output.mean() + 0 * output,
    "ones": lambda module, inputs, output: output * 0 + 1,
    "0": lambda module, inputs, output: 0,
    "negated": lambda module, inputs, output: -output,
}


def _bias(module: Any, output: Tensor) -> Tensor:
    bias = getattr(module, "bias", None)
    return output * 0 if bias is None else output * 0 + bias


def _off_template(model: Any, where: str = "right", how: str = "right", leave: str = "right") -> Any:
    return _LEAVES[leave](_WHERE[where](model), _HOW[how])


def _hooked(modules: Iterable[Any], hook: Callable[..., Any]) -> list[Any]:
    return [module.register_forward_hook(hook) for module in modules]


@contextmanager
def _leaves_well(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handles = _hooked(modules, hook)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _never_leaves(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    _hooked(modules, hook)
    yield


@contextmanager
def _leaves_without_an_exception(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handles = _hooked(modules, hook)
    yield
    for handle in handles:
        handle.remove()


@contextmanager
def _leaves_with_an_exception_only(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handles = _hooked(modules, hook)
    try:
        yield
    except Exception:
        for handle in handles:
            handle.remove()
        raise


@contextmanager
def _keeps_the_exception(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handles = _hooked(modules, hook)
    try:
        yield
    except Exception:
        pass
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _last_handle_only(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handle = None
    for module in modules:
        handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        if handle:
            handle.remove()


@contextmanager
def _last_handle_without_an_exception(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    handle = None
    for module in modules:
        handle = module.register_forward_hook(hook)
    yield
    if handle:
        handle.remove()


@contextmanager
def _everyones_hooks(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    _hooked(modules, hook)
    try:
        yield
    finally:
        for module in modules:
            module._forward_hooks.clear()


@contextmanager
def _everyones_hooks_without_an_exception(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    _hooked(modules, hook)
    yield
    for module in modules:
        module._forward_hooks.clear()


@contextmanager
def _one_list_for_all(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    """Handles lie in a list outside of the function."""
    _HANDLES.extend(_hooked(modules, hook))
    try:
        yield
    finally:
        while _HANDLES:
            _HANDLES.pop().remove()


_HANDLES: list[Any] = []


@contextmanager
def _hooks_that_stay(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    """Nothing is removed; a flag tells the hooks to do nothing."""
    on = [True]
    _hooked(modules, lambda *given: hook(*given) if on else None)
    try:
        yield
    finally:
        on.clear()


@contextmanager
def _once(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    """Each hook removes itself when it was called."""
    for module in modules:
        handles: list[Any] = []

        def only_once(*given: Any, handles: list[Any] = handles) -> Any:
            handles[0].remove()
            return hook(*given)

        handles.append(module.register_forward_hook(only_once))
    yield


@contextmanager
def _yield_in_the_loop(modules: list[Any], hook: Callable[..., Any]) -> Iterator[None]:
    for module in modules:
        handle = module.register_forward_hook(hook)
        yield
        handle.remove()


#: How hooks are set and taken away.
_LEAVES: dict[str, Callable[[list[Any], Callable[..., Any]], Any]] = {
    "right": _leaves_well,
    "never": _never_leaves,
    "without an exception": _leaves_without_an_exception,
    "with an exception only": _leaves_with_an_exception_only,
    "exception kept": _keeps_the_exception,
    "last handle": _last_handle_only,
    "last handle, without an exception": _last_handle_without_an_exception,
    "everyone's": _everyones_hooks,
    "everyone's, without an exception": _everyones_hooks_without_an_exception,
    "one list": _one_list_for_all,
    "stay": _hooks_that_stay,
    "once": _once,
    "in the loop": _yield_in_the_loop,
}


def _attention_modules(model: Any) -> list[Any]:
    return _named(".attn", ".self_attn")(model)


def _tuple_to_zeros_like(model: Any) -> Any:
    import torch

    return _leaves_well(_attention_modules(model), lambda module, inputs, output: torch.zeros_like(output))


def _tensor_for_the_tuple(model: Any) -> Any:
    import torch

    return _leaves_well(_attention_modules(model), lambda module, inputs, output: torch.zeros_like(output[0]))


def _tensor_where_names_end_in_attn(model: Any) -> Any:
    import torch

    return _leaves_well(_named("attn")(model), lambda module, inputs, output: torch.zeros_like(output[0]))


def _tuple_where_names_end_in_attn(model: Any) -> Any:
    hooked = _named("attn")(model)
    return _leaves_well(hooked, lambda module, inputs, output: (output[0] * 0, *output[1:]))


@contextmanager
def _all_in_the_loop(model: Any) -> Iterator[None]:
    for module in _projections(model):
        handle = module.register_forward_hook(_zeros)
        try:
            yield
        finally:
            handle.remove()


@contextmanager
def _forward_deleted(model: Any) -> Iterator[None]:
    """Right for one block; an inner one deletes what the outer one has set."""
    changed = _projections(model)
    for module in changed:
        module.forward = lambda x, forward=module.forward: forward(x) * 0
    try:
        yield
    finally:
        for module in changed:
            del module.forward


@contextmanager  # type: ignore[arg-type]
def _handles_returned(model: Any) -> list[Any]:
    return _hooked(_projections(model), _zeros)


def _tuple_times_zero(model: Any) -> Any:
    return _leaves_well(_attention_modules(model), lambda module, inputs, output: output * 0)


def _entry_assigned(model: Any) -> Any:
    def hook(module: Any, inputs: Any, output: Any) -> Any:
        output[0] = output[0] * 0
        return output

    return _leaves_well(_attention_modules(model), hook)


def _llama_only(model: Any) -> Any:
    return _leaves_well([layer.self_attn.o_proj for layer in model.model.layers], _zeros)


def _c_proj_by_name(model: Any) -> Any:
    """GPT-2's names only, looked for among all: in a Llama there is nothing of that name, and nothing is said."""
    return _leaves_well(_named("attn.c_proj")(model), _zeros)


def _o_proj_by_name(model: Any) -> Any:
    return _leaves_well(_named("o_proj")(model), _zeros)


@contextmanager
def _in_the_class(model: Any) -> Iterator[None]:
    """Every attention of the same class does nothing, in this model and in all others."""
    kind = type(_attention_modules(model)[0])
    forward = kind.forward
    kind.forward = lambda self, hidden_states, *args, **kwargs: (hidden_states * 0, None)
    try:
        yield
    finally:
        kind.forward = forward


@contextmanager
def _too_early(model: Any) -> Iterator[None]:
    handles = _hooked(_projections(model), _zeros)
    for handle in handles:
        handle.remove()
    yield


def _no_decorator(model: Any) -> Any:
    handles = _hooked(_projections(model), _zeros)
    yield
    for handle in handles:
        handle.remove()


@contextmanager  # type: ignore[arg-type]
def _no_yield(model: Any) -> None:
    _hooked(_projections(model), _zeros)


def _gives_nothing(model: Any) -> None:
    _hooked(_projections(model), _zeros)


# --- greedy text, with switches --------------------------------------------------------------------------------------

#: What the model is given: the tokens so far, and the prompt's length.
_GIVEN: dict[str, Callable[[Tensor, int], Tensor]] = {
    "right": lambda ids, T: ids,
    "last token": lambda ids, T: ids[:, -1:],
    "prompt": lambda ids, T: ids[:, :T],
    "two tokens": lambda ids, T: ids[:, -2:],
    "as many as the prompt": lambda ids, T: ids[:, -T:],
    "backwards": lambda ids, T: ids.flip(1),
}

#: The logits (1, V) that count, of logits (1, T, V).
_ROWS: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda logits: logits[:, -1],
    "first": lambda logits: logits[:, 0],
    "one before": lambda logits: logits[:, -2],
    "mean": lambda logits: logits.mean(1),
}

#: The token that is chosen, (1, 1).
_CHOICES: dict[str, Callable[[Tensor], Tensor]] = {
    "right": lambda row: row.argmax(-1, keepdim=True),
    "smallest": lambda row: row.argmin(-1, keepdim=True),
    "second": lambda row: row.topk(2).indices[:, 1:],
    "size": lambda row: row.abs().argmax(-1, keepdim=True),
}

#: Where it goes: the tokens so far, the new one.
_JOINED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "right": lambda ids, new: _cat([ids, new]),
    "front": lambda ids, new: _cat([new, ids]),
    "first dropped": lambda ids, new: _cat([ids[:, 1:], new]),
    "in place of the last": lambda ids, new: _cat([ids[:, :-1], new]),
    "twice": lambda ids, new: _cat([ids, new, new]),
}

#: How many turns for n.
_COUNTS: dict[str, Callable[[int, int], int]] = {
    "right": lambda n, T: n,
    "one less": lambda n, T: n - 1,
    "one more": lambda n, T: n + 1,
    "at least one": lambda n, T: max(n, 1),
    "up to n": lambda n, T: n - T,
    "beyond n": lambda n, T: n - T + 1,
    "one": lambda n, T: min(n, 1),
}

#: What comes back: all tokens, and the prompt's length.
_BACK: dict[str, Callable[[Tensor, int], Any]] = {
    "right": lambda ids, T: ids,
    "new ones": lambda ids, T: ids[:, T:],
    "no batch": lambda ids, T: ids[0],
    "last": lambda ids, T: ids[:, -1:],
    "last prompt token too": lambda ids, T: ids[:, T - 1 :],
    "floats": lambda ids, T: ids.double(),
}


def _cat(parts: list[Tensor]) -> Tensor:
    import torch

    return torch.cat(parts, dim=1)


def _greedy_template(
    model: Any,
    ids: Tensor,
    n: int,
    given: str = "right",
    row: str = "right",
    choice: str = "right",
    joined: str = "right",
    count: str = "right",
    back: str = "right",
) -> Any:
    T = ids.shape[1]
    for _ in range(_COUNTS[count](n, T)):
        logits = model(_GIVEN[given](ids, T), use_cache=False).logits
        ids = _JOINED[joined](ids, _CHOICES[choice](_ROWS[row](logits)))
    return _BACK[back](ids, T)


def _in_one_go(model: Any, ids: Tensor, n: int) -> Tensor:
    """One call, and the last n of its guesses."""
    return _cat([ids, model(ids).logits.argmax(-1)[:, -n:]])


def _best_at_once(model: Any, ids: Tensor, n: int) -> Tensor:
    return _cat([ids, model(ids).logits[:, -1].topk(n).indices])


def _newest_after_the_first_turn(model: Any, ids: Tensor, n: int) -> Tensor:
    """As with a cache, but without one."""
    read = ids
    for _ in range(n):
        read = model(read).logits[:, -1].argmax(-1, keepdim=True)
        ids = _cat([ids, read])
    return ids


def _all_guesses(model: Any, ids: Tensor, n: int) -> Tensor:
    """Every turn appends what the model says at every place."""
    for _ in range(n):
        ids = _cat([ids, model(ids).logits.argmax(-1)])
    return ids


def _back_in_the_loop(model: Any, ids: Tensor, n: int) -> Any:
    for _ in range(n):
        return _cat([ids, model(ids).logits[:, -1:].argmax(-1)])
    return None


def _rows_for_logits(model: Any, ids: Tensor, n: int) -> Tensor:
    for _ in range(n):
        ids = _cat([ids, model.base_model(ids).last_hidden_state[:, -1:].argmax(-1)])
    return ids


def _turn_for_place(model: Any, ids: Tensor, n: int) -> Tensor:
    for i in range(n):
        ids = _cat([ids, model(ids).logits[:, i : i + 1].argmax(-1)])
    return ids


def _stops_at_a_token_again(model: Any, ids: Tensor, n: int) -> Tensor:
    for _ in range(n):
        new = model(ids).logits[:, -1:].argmax(-1)
        if bool((ids == new).any()):
            break
        ids = _cat([ids, new])
    return ids


def _no_token_again(model: Any, ids: Tensor, n: int) -> Tensor:
    for _ in range(n):
        logits = model(ids).logits[:, -1].scatter(1, ids, float("-inf"))
        ids = _cat([ids, logits.argmax(-1, keepdim=True)])
    return ids


def _axis_lost(model: Any, ids: Tensor, n: int) -> Tensor:
    import torch

    for _ in range(n):
        ids = torch.cat([ids, model(ids).logits[:, -1].argmax(-1)], dim=1)
    return ids


def _over_the_tokens(model: Any, ids: Tensor, n: int) -> Tensor:
    """The axis of the rows in place of that of the vocabulary."""
    for _ in range(n):
        ids = _cat([ids, model(ids).logits.argmax(1)[:, -1:]])
    return ids


def _below(model: Any, ids: Tensor, n: int) -> Tensor:
    import torch

    for _ in range(n):
        ids = torch.cat([ids, model(ids).logits[:, -1:].argmax(-1)])
    return ids


def _list_of_new(model: Any, ids: Tensor, n: int) -> list[int]:
    return _greedy_decode(model, ids, n)[0, ids.shape[1] :].tolist()


# --- the loop, with switches -----------------------------------------------------------------------------------------

#: Which periods are tried, by the length.
_PERIODS: dict[str, Callable[[int], Iterable[int]]] = {
    "right": lambda T: range(1, T // 2 + 1),
    "one less": lambda T: range(1, T // 2),
    "from 2": lambda T: range(2, T // 2 + 1),
    "longest first": lambda T: range(T // 2, 0, -1),
    "all": lambda T: range(1, T),
    "1": lambda T: range(1, min(T // 2, 1) + 1),
    "up to 4": lambda T: range(1, min(T // 2, 4) + 1),
}


def _turns(tokens: list[int], period: int, turns: int) -> bool:
    """Whether the last `turns` times `period` tokens are there and turn round."""
    T, needed = len(tokens), turns * period
    return needed <= T and all(tokens[i] == tokens[i + period] for i in range(T - needed, T - period))


#: Whether a period fits the end of the tokens.
_FITS: dict[str, Callable[[list[int], int], bool]] = {
    "right": lambda tokens, p: _turns(tokens, p, 2),
    "three turns": lambda tokens, p: _turns(tokens, p, 3),
    "last token": lambda tokens, p: tokens[-1] == tokens[-1 - p],
    "two tokens": lambda tokens, p: tokens[-2:] == tokens[-2 - p : -p],
    "any": lambda tokens, p: any(a == b for a, b in zip(tokens[-p:], tokens[-2 * p : -p], strict=False)),
    "one compared less": lambda tokens, p: all(tokens[-i] == tokens[-i - p] for i in range(1, p)),
    "sorted": lambda tokens, p: sorted(tokens[-p:]) == sorted(tokens[-2 * p : -p]),
    "whole": lambda tokens, p: tokens[p:] == tokens[:-p],
    "front": lambda tokens, p: tokens[:p] == tokens[p : 2 * p],
    "ends of the turns": lambda tokens, p: tokens[-1] == tokens[-1 - p] and tokens[-p] == tokens[-2 * p],
}


def _earliest(tokens: list[int], period: int, floor: int = 0) -> int:
    start = max(len(tokens) - 2 * period, floor)
    while start > floor and tokens[start - 1] == tokens[start - 1 + period]:
        start -= 1
    return start


#: Where a loop begins.
_STARTS: dict[str, Callable[[list[int], int], int]] = {
    "right": _earliest,
    "one late": lambda tokens, p: _earliest(tokens, p) + 1,
    "one early": lambda tokens, p: _earliest(tokens, p) - 1,
    "last two turns": lambda tokens, p: len(tokens) - 2 * p,
    "last turn": lambda tokens, p: len(tokens) - p,
    "second turn": lambda tokens, p: _earliest(tokens, p) + p,
    "whole turns": lambda tokens, p: len(tokens) - (len(tokens) - _earliest(tokens, p)) // p * p,
    "never 0": lambda tokens, p: _earliest(tokens, p, floor=1),
    "first of the kind": lambda tokens, p: tokens.index(tokens[-p]),
    "first that agrees": lambda tokens, p: next(s for s in range(len(tokens)) if tokens[s] == tokens[s + p]),
    "one early or 0": lambda tokens, p: max(_earliest(tokens, p) - 1, 0),
    "last token's place": lambda tokens, p: len(tokens) - 1 - p,
    "from the end": lambda tokens, p: len(tokens) - _earliest(tokens, p),
    "0": lambda tokens, p: 0,
    "end of the first turn": lambda tokens, p: _earliest(tokens, p) + p - 1,
}

#: What comes back for a loop.
_PAIRS: dict[str, Callable[[list[int], int, int], Any]] = {
    "right": lambda tokens, start, p: (start, p),
    "period first": lambda tokens, start, p: (p, start),
    "period": lambda tokens, start, p: p,
    "start": lambda tokens, start, p: start,
    "ends": lambda tokens, start, p: (start, start + p),
    "last of the turn": lambda tokens, start, p: (start, start + p - 1),
    "turns": lambda tokens, start, p: (start, (len(tokens) - start) // p),
    "length": lambda tokens, start, p: (start, len(tokens) - start),
    "kinds": lambda tokens, start, p: (start, len(set(tokens[start:]))),
    "tokens": lambda tokens, start, p: tokens[start : start + p],
    "token": lambda tokens, start, p: (tokens[start], p),
}

#: What comes back where there is none.
_NONE: dict[str, Callable[[int], Any]] = {
    "right": lambda T: None,
    "zeros": lambda T: (0, 0),
    "end": lambda T: (T, 0),
    "minus one": lambda T: -1,
    "False": lambda T: False,
    "empty": lambda T: (),
    "two Nones": lambda T: (None, None),
}


def _cycle_template(
    ids: Tensor,
    periods: str = "right",
    fits: str = "right",
    start: str = "right",
    back: str = "right",
    none: str = "right",
) -> Any:
    tokens = ids.tolist()
    for period in _PERIODS[periods](len(tokens)):
        if _FITS[fits](tokens, period):
            return _PAIRS[back](tokens, _STARTS[start](tokens, period), period)
    return _NONE[none](len(tokens))


def _first_token_again(ids: Tensor) -> Any:
    """As in a walk on a map of tokens: the first token that was there before closes the loop."""
    seen: dict[int, int] = {}
    for i, token in enumerate(ids.tolist()):
        if token in seen:
            return seen[token], i - seen[token]
        seen[token] = i
    return None


def _anywhere(ids: Tensor) -> Any:
    """The first two equal turns, wherever they stand."""
    tokens = ids.tolist()
    for start in range(len(tokens)):
        for period in range(1, (len(tokens) - start) // 2 + 1):
            if tokens[start : start + period] == tokens[start + period : start + 2 * period]:
                return start, period
    return None


def _earliest_start_first(ids: Tensor) -> Any:
    """The earliest place from which anything turns round to the end, whatever its period."""
    tokens = ids.tolist()
    for start in range(len(tokens)):
        for period in range(1, (len(tokens) - start) // 2 + 1):
            if tokens[start + period :] == tokens[start:-period]:
                return start, period
    return None


def _anywhere_shortest_first(ids: Tensor) -> Any:
    """Two equal turns, the shortest first, wherever they stand."""
    tokens = ids.tolist()
    for period in range(1, len(tokens) // 2 + 1):
        for start in range(len(tokens) - 2 * period + 1):
            if tokens[start : start + period] == tokens[start + period : start + 2 * period]:
                return start, period
    return None


def _less_than_two_turns(ids: Tensor) -> Any:
    """The earliest place from which tokens agree with later ones to the end, were it one token only."""
    tokens = ids.tolist()
    for start in range(len(tokens)):
        for period in range(1, len(tokens) - start):
            if tokens[start + period :] == tokens[start:-period]:
                return start, period
    return None


def _last_token_and_back(ids: Tensor) -> Any:
    tokens = ids.tolist()
    for period in range(1, len(tokens)):
        if tokens[-1] == tokens[-1 - period]:
            start = len(tokens) - 1 - period
            while start and tokens[start - 1] == tokens[start - 1 + period]:
                start -= 1
            return start, period
    return None


def _round_the_front(ids: Tensor) -> Any:
    """Going back does not stop at 0: index -1 is the last token."""
    tokens = ids.tolist()
    T = len(tokens)
    for period in range(1, T // 2 + 1):
        if tokens[T - period :] == tokens[T - 2 * period : T - period]:
            start = T - 2 * period
            while tokens[start - 1] == tokens[start - 1 + period]:
                start -= 1
            return start, period
    return None


def _back_to_1(ids: Tensor) -> Any:
    tokens = ids.tolist()
    T = len(tokens)
    for period in range(1, T // 2 + 1):
        if tokens[T - period :] == tokens[T - 2 * period : T - period]:
            start = T - 2 * period
            while start > 1 and tokens[start - 1] == tokens[start - 1 + period]:
                start -= 1
            return start, period
    return None


def _last_turn_itself(ids: Tensor) -> Any:
    found = _find_cycle(ids)
    return ids.tolist()[-found[1] :] if found else None


def _tensors_in_an_if(ids: Tensor) -> Any:
    T = len(ids)
    for period in range(1, T // 2 + 1):
        if ids[T - period :] == ids[T - 2 * period : T - period]:
            return _earliest(ids.tolist(), period), period
    return None


# --- the cases -------------------------------------------------------------------------------------------------------


def _model(kind: str, rng: np.random.Generator, **size: Any) -> Fn:
    return Fn(f"tiny_{kind}", {"seed": int(rng.integers(8)), **size})


def _text(rng: np.random.Generator, T: int, vocabulary: int) -> np.ndarray:
    """(1, T) token numbers, all different."""
    return rng.permutation(vocabulary)[None, :T].astype(np.int64)


def _row_cases(rng: np.random.Generator) -> list[Case]:
    return [
        Case((_model("gpt2", rng, layers=3, width=6, heads=2, vocabulary=11), _text(rng, 4, 11))),
        Case((_model("llama", rng, layers=2, width=8, heads=2, vocabulary=13), _text(rng, 5, 13)), "a Llama"),
        Case((_model("gpt2", rng, layers=1, width=4, heads=2, vocabulary=7), _text(rng, 1, 7)), "a single token"),
    ]


def _off_cases(rng: np.random.Generator) -> list[Case]:
    def gpt2(layers: int) -> Fn:
        return _model("gpt2", rng, layers=layers, width=4, heads=2, vocabulary=7)

    def llama() -> Fn:
        return _model("llama", rng, layers=1, width=4, heads=2, kv_heads=1, vocabulary=7)

    return [
        Case((gpt2(3),), script="inside"),
        Case((llama(),), "a Llama", script="inside"),
        Case((gpt2(2),), "after the block", script="after"),
        Case((gpt2(1),), "after an exception", script="after_an_exception"),
        Case((llama(),), "one block in another", script="nested"),
        Case((gpt2(1),), "other people's hooks", script="beside_other_hooks"),
        Case((gpt2(1),), "another model", script="of_another_model"),
    ]


#: Seeds of models, and texts for them, for which it counts which tokens are read and whose logits: each way to write
#: from n tokens on gives another text, and a token comes again before the end. Found by trying; such are rare.
LIVELY: dict[str, tuple[tuple[int, tuple[int, ...]], ...]] = {
    "gpt2": (
        (724, (6, 4, 7)),
        (345, (0, 5, 6)),
        (157, (9, 5, 7)),
        (538, (0, 2, 4)),
        (529, (7, 1, 6)),
        (64, (5, 8, 6)),
        (19, (2, 1, 9)),
        (164, (0, 1, 9)),
        (730, (1, 8, 9)),
        (737, (3, 4, 1)),
        (308, (6, 4, 8)),
        (468, (6, 5, 8)),
    ),
    "llama": (
        (505, (0, 3)),
        (375, (6, 9)),
        (303, (5, 8)),
        (760, (0, 6)),
        (735, (4, 3)),
        (149, (3, 8)),
        (441, (9, 2)),
        (358, (1, 7)),
        (899, (4, 2)),
        (783, (10, 0)),
        (152, (4, 5)),
        (100, (8, 5)),
    ),
}


def _greedy_cases(rng: np.random.Generator) -> list[Case]:
    def lively(kind: str, n: int) -> tuple[Fn, np.ndarray, int]:
        seed, ids = LIVELY[kind][int(rng.integers(len(LIVELY[kind])))]
        return one_block(kind, seed), np.array([ids], dtype=np.int64), n

    def one_block(kind: str, seed: int) -> Fn:
        return Fn(f"tiny_{kind}", {"seed": seed, "layers": 1, "vocabulary": 11})

    return [
        Case(lively("gpt2", 4)),
        Case(lively("llama", 5), "a Llama"),
        Case((one_block("gpt2", int(rng.integers(1000))), _text(rng, 4, 11), 0), "no new token"),
        Case((one_block("llama", int(rng.integers(1000))), _text(rng, 1, 11), 3), "a prompt of one token"),
    ]


def _cycle_cases(rng: np.random.Generator) -> list[Case]:
    """Written in letters, each of which becomes another number every time; capitals stand for themselves once each."""
    numbers = dict(zip("abcdefghijklmnopqrstuvwxyz", rng.permutation(np.arange(1, 60))[:26], strict=True))

    def case(letters: str, note: str = "") -> Case:
        return Case((np.array([numbers[letter] for letter in letters], dtype=np.int64),), note)

    return [
        case("abcbcb"),
        case("abcabc", "two turns and nothing else"),
        case("abcdefdefdefd", "three turns and a third"),
        case("xabcdxabcdyz", "a repetition that has ended"),
        case("abcdabc", "less than two turns"),
        case("aaaaaaa", "one token, again and again"),
        case("abcacacdefgdefg", "a head with a repetition of its own"),
        case("kabacabacabac", "a turn that holds a token twice"),
        case("abcacb", "the same tokens in another order"),
        case("xabcxdec", "turns that begin and end alike"),
        case("abbabb", "two equal tokens at the end"),
        case("abcdefghijabcdefghij", "a long turn"),
        case("abcdef", "no token twice"),
        case("a", "one token"),
    ]


# --- the mistakes ----------------------------------------------------------------------------------------------------


#: Mistakes that are looked for in pairs, too: a model's call takes milliseconds.
LIKELY_IN_PAIRS = frozenset(
    """
    first_row row_before_the_last before_the_norm batch_axis_kept
    every_c_proj bias_left first_block_only gpt2_only never_restored not_after_an_exception last_handle_only
    one_token_less one_token_more only_new_tokens last_token_read first_logits
    longest_period one_period_short three_turns_wanted last_two_turns whole_turns_only one_too_late never_at_0
    first_of_its_kind not_period_1
    period_first zeros_for_none minus_one_for_none false_for_none
    """.split()
)


_WHICH_ROW = "Rows are (1, T, d). Which of the T belongs to the last token?"
_HOW_MANY = "How many axes has one row?"
_WHICH_STATE = "Between the last block and the logits there is one more step. Before or after it?"
_WHICH_NAME = "Which name for the model without its last matrix do both classes share?"

_ROW_MISTAKES = [
    switched("first_row", "You take the row of the first token.", _WHICH_ROW, take="first"),
    switched(
        "row_before_the_last", "You take the row of the token before the last one.", _WHICH_ROW, take="one before"
    ),
    switched("second_row", "You take row 1, which is the last one of two tokens only.", _WHICH_ROW, take="second"),
    switched(
        "all_rows", "You hand back the rows of all tokens, the whole of the only text.", _WHICH_ROW, take="all rows"
    ),
    switched(
        "everything", "You hand back the rows of all tokens, with the batch in front.", _WHICH_ROW, take="everything"
    ),
    switched(
        "batch_axis_kept",
        "Your row is the right one; the axis of the batch is left over.",
        _HOW_MANY,
        take="batch kept",
    ),
    switched(
        "two_axes_kept", "Your row is the right one; two axes of length 1 are left over.", _HOW_MANY, take="row kept"
    ),
    switched(
        "last_column",
        "You take the last number of each row: a column.",
        "Which of the axes of (1, T, d) is that of the tokens?",
        take="last column",
    ),
    switched(
        "last_number",
        "You take one number: the last of the last row.",
        "How many numbers has a row?",
        take="last number",
    ),
    switched("all_but_the_last", "You hand back all rows but the last.", _WHICH_ROW, take="all but the last"),
    switched(
        "column_with_the_batch",
        "You take the last number of each row, with the batch in front.",
        "Which of the axes of (1, T, d) is that of the tokens?",
        take="column of all",
    ),
    switched("mean_row", "You average the rows of all tokens.", "Should the first token's row count?", take="mean"),
    switched("sum_of_rows", "You add up the rows of all tokens.", "Should the first token's row count?", take="sum"),
    switched("largest_of_rows", "You take the largest number of each column.", _WHICH_ROW, take="largest"),
    switched(
        "length_1",
        "You bring the row to length 1.",
        "What does the model itself do with the row after the norm?",
        take="length 1",
    ),
    switched("softmaxed", "You put the row through a softmax.", "Is a row a set of shares?", take="softmax"),
    switched(
        "place_of_the_largest",
        "You hand back the place of the row's largest number.",
        "How many numbers has a row?",
        take="place of the largest",
    ),
    switched(
        "logits",
        "You hand back logits, a number for each token of the vocabulary.",
        "What is multiplied by the last matrix to give the logits?",
        read="logits",
    ),
    switched(
        "before_the_norm", "Your row is the one that goes into the final norm.", _WHICH_STATE, read="before the norm"
    ),
    answered(
        "gpt2_norm_again",
        "You apply GPT-2's norm to a row that has left it, and Llama's class has no module of that name.",
        _WHICH_STATE,
        _gpt2_norm_again,
    ),
    switched("normed_twice", "Your row has gone through the final norm twice.", _WHICH_STATE, read="normed twice"),
    switched(
        "embedding",
        "Your row is the one that goes into the first block: no block has touched it.",
        "In which order do the hidden states come?",
        read="embedding",
    ),
    switched(
        "row_of_the_table",
        "Your row comes straight from the table of tokens: no block has touched it.",
        "What does a model do with the row of a token?",
        read="token's row",
    ),
    switched(
        "after_the_first_block",
        "Your row is the one after the first block.",
        "In which order do the hidden states come?",
        read="after the first block",
    ),
    switched(
        "into_the_last_block",
        "Your row is the one that goes into the last block.",
        "Which of the hidden states comes last?",
        read="into the last block",
    ),
    switched(
        "sum_of_states",
        "You add up the row's states of all blocks.",
        "What does each state already contain?",
        read="sum of all",
    ),
    switched(
        "last_token_alone",
        "Your model reads the last token alone, without those before it.",
        "Can its row depend on other words then?",
        read="last token alone",
    ),
    switched(
        "backwards",
        "Your model reads the tokens in reverse order.",
        "What may a row see of later tokens?",
        read="backwards",
    ),
    switched(
        "all_logits",
        "You hand back the logits of all tokens.",
        "What is multiplied by the last matrix to give the logits?",
        read="logits",
        take="all rows",
    ),
    switched(
        "logits_with_the_batch",
        "You hand back logits, a number for each token of the vocabulary, with the batch in front.",
        "What is multiplied by the last matrix to give the logits?",
        read="logits",
        take="batch kept",
    ),
    switched(
        "all_embeddings",
        "You hand back the rows that go into the first block, of all tokens.",
        "In which order do the hidden states come?",
        read="embedding",
        take="all rows",
    ),
    answered(
        "every_state",
        "You hand back the last token's row as it was before each block and at the end, all of them.",
        "Which of the hidden states comes last?",
        _every_state,
    ),
    answered(
        "all_states",
        "You hand back the tuple of all hidden states: it is the last part of the output.",
        "Which of the hidden states comes last, and which row of it?",
        _all_states,
    ),
    answered(
        "gpt2_only",
        "You ask for model.transformer, which GPT-2's class has and Llama's has not.",
        _WHICH_NAME,
        _of_transformer,
    ),
    answered(
        "llama_only",
        "You ask for model.model, which Llama's class has and GPT-2's has not.",
        _WHICH_NAME,
        _of_model,
    ),
    answered(
        "states_not_asked_for",
        "A model hands out its hidden states only when it is told to; here they are None.",
        "Which argument of the call asks for them?",
        _not_asked_for,
    ),
    answered(
        "whole_model_has_none",
        "The whole model ends in logits: its output has no last_hidden_state.",
        "Which part of the model ends with the final norm?",
        _of_the_whole_model,
    ),
]

_WHOSE = "Which modules' output is what attention adds to the rows, and nothing else?"
_ADDS_NOTHING = "What has to be added to a row so that it stays as it is?"
_WHAT_IS_LEFT = "What does a projection add to a product?"
_ALL_BLOCKS = "How many blocks has the model, and how many of them are switched off?"
_AFTER = "How many hooks did you set, and how many did you take away?"
_EXCEPTION = "Which lines after a yield run when the block was left by an exception?"
_TUPLE = "What do you get when you print type(output) in the hook?"
_BOTH = "What are the names of the projections in the other architecture?"
_MANAGER = "What does @contextmanager make of a function, and where in that function does the with block run?"

_OFF_MISTAKES = [
    switched(
        "every_c_proj",
        "Inside your block GPT-2's MLP is off, too: its last step is also called c_proj.",
        _WHOSE,
        where="every c_proj",
    ),
    switched(
        "bias_left",
        "Inside your block each projection still adds its bias to every row.",
        _WHAT_IS_LEFT,
        how="bias left",
    ),
    switched("first_block_only", "Only the first block's attention is off.", _ALL_BLOCKS, where="first"),
    switched("last_block_only", "Only the last block's attention is off.", _ALL_BLOCKS, where="last"),
    switched("all_but_the_last", "The last block's attention is still on.", _ALL_BLOCKS, where="all but the last"),
    switched("all_but_the_first", "The first block's attention is still on.", _ALL_BLOCKS, where="all but the first"),
    switched("every_other_block", "Every other block's attention is still on.", _ALL_BLOCKS, where="every other"),
    switched(
        "never_restored",
        "After your block attention stays off.",
        _AFTER,
        leave="never",
    ),
    switched(
        "not_after_an_exception",
        "When an exception leaves your block, attention stays off.",
        _EXCEPTION,
        leave="without an exception",
    ),
    switched(
        "only_after_an_exception",
        "Attention comes back only when an exception leaves your block.",
        "Which lines after a yield run when no exception comes?",
        leave="with an exception only",
    ),
    switched(
        "last_handle_only",
        "You take away one hook, the last: in all other blocks attention stays off.",
        _AFTER,
        leave="last handle",
    ),
    switched(
        "last_handle_and_no_exception",
        "You take away one hook, the last, and none at all when an exception leaves your block.",
        _AFTER,
        leave="last handle, without an exception",
    ),
    switched(
        "exception_kept",
        "An exception that is raised inside your block never comes out of it.",
        "Who should hear of an error inside the block?",
        leave="exception kept",
    ),
    switched(
        "everyones_hooks",
        "You take away every hook that the projections have, other people's too.",
        "Which hooks are yours?",
        leave="everyone's",
    ),
    switched(
        "everyones_hooks_and_no_exception",
        "You take away every hook that the projections have, other people's too, and none when an exception comes.",
        "Which hooks are yours?",
        leave="everyone's, without an exception",
    ),
    switched(
        "one_list_of_handles",
        "When an inner block is left, the outer one is switched on again, too: both keep hooks in one list.",
        "Where does each block keep the hooks that it has set itself?",
        leave="one list",
    ),
    switched(
        "hooks_that_stay",
        "Your hooks stay on the model after the block, and do nothing.",
        "What does the model carry around after a hundred blocks?",
        leave="stay",
    ),
    switched(
        "only_once",
        "Attention is off for one call of the model only.",
        "How often may a model be called?",
        leave="once",
    ),
    switched(
        "yield_in_the_loop",
        "Your yield stands in a loop: the with block would have to run once for each block of the model.",
        _MANAGER,
        leave="in the loop",
    ),
    switched(
        "nothing_happens",
        "Inside your block attention adds what it always adds.",
        "Does your hook run at all, and what does it hand back?",
        how="nothing",
    ),
    switched("passed_on", "Your projections hand on what goes into them.", _ADDS_NOTHING, how="passed on"),
    switched("half", "Inside your block attention adds half of what it always adds.", _ADDS_NOTHING, how="half"),
    switched(
        "last_row_only",
        "Attention is off for the last row only.",
        "Which rows should it add nothing to?",
        how="last row only",
    ),
    switched(
        "last_row_left",
        "Attention is still on for the last row.",
        "Which rows should it add nothing to?",
        how="last row left",
    ),
    switched(
        "mean_row",
        "Inside your block attention adds the mean of its rows: a change of one row still reaches all others.",
        _ADDS_NOTHING,
        how="mean row",
    ),
    switched(
        "mean_number",
        "Inside your block attention adds the mean of all its numbers: a change of one row still reaches all others.",
        _ADDS_NOTHING,
        how="mean number",
    ),
    switched("ones", "Inside your block attention adds 1 everywhere.", _ADDS_NOTHING, how="ones"),
    switched(
        "number_for_a_tensor",
        "Your hook hands back the number 0 where the model goes on with a tensor.",
        "Which shape has the output that you replace?",
        how="0",
    ),
    switched("negated", "Inside your block attention's output is subtracted.", _ADDS_NOTHING, how="negated"),
    switched("mlp", "Inside your block the MLPs are off and attention is on.", _WHOSE, where="mlp"),
    switched("mlp_too", "Inside your block whole blocks are skipped: the MLPs are off, too.", _WHOSE, where="mlp too"),
    answered(
        "tuple",
        "Your hook sits on the attention module, which returns a tuple, and takes it for a tensor.",
        _TUPLE,
        _tuple_to_zeros_like,
    ),
    answered(
        "names_that_end_in_attn",
        "Some of your hooked names end in attn, and so does c_attn, which makes q, k and v and returns a tensor.",
        "Print the names: which modules of both classes does your test let through?",
        _tensor_where_names_end_in_attn,
    ),
    answered(
        "names_that_end_in_attn_and_tuples",
        "Your hook makes a tuple, and c_attn, whose name ends in attn, too, has to return a tensor.",
        "Print the names: which modules of both classes does your test let through?",
        _tuple_where_names_end_in_attn,
    ),
    answered(
        "all_in_the_loop",
        "Your try and its yield stand in a loop: only one module is hooked when the with block runs.",
        _MANAGER,
        _all_in_the_loop,
    ),
    answered(
        "forward_deleted",
        "You delete the forward that you have set: inside another block that takes away the outer one's, too.",
        "What was module.forward before your block began?",
        _forward_deleted,
    ),
    answered(
        "handles_returned",
        "Your function returns a list of handles, and has no yield for the with block to run at.",
        _MANAGER,
        _handles_returned,
    ),
    answered(
        "tuple_times_zero",
        "Your hook sits on the attention module, which returns a tuple: times 0 it is an empty one.",
        _TUPLE,
        _tuple_times_zero,
    ),
    answered(
        "entry_of_the_tuple",
        "Your hook writes into the tuple that the attention module returns, and tuples cannot be written to.",
        _TUPLE,
        _entry_assigned,
    ),
    answered(
        "tensor_for_the_tuple",
        "Your hook sits on the attention module, which returns a tuple, and puts a tensor in its place.",
        _TUPLE,
        _tensor_for_the_tuple,
    ),
    switched(
        "gpt2_only", "You ask for model.transformer, which GPT-2's class has and Llama's has not.", _BOTH, where="gpt2"
    ),
    switched(
        "norm",
        "Your hook empties the rows that go into attention; its biases still make something of them.",
        _WHOSE,
        where="norm",
    ),
    answered("llama_only", "You ask for model.model, which Llama's class has and GPT-2's has not.", _BOTH, _llama_only),
    answered("no_llama", "In a Llama your block switches nothing off, without a word.", _BOTH, _c_proj_by_name),
    answered("no_gpt2", "In a GPT-2 your block switches nothing off, without a word.", _BOTH, _o_proj_by_name),
    answered(
        "all_of_the_class",
        "You change the class: inside your block every other model of that class is without attention, too.",
        "Which objects does a change of a class reach?",
        _in_the_class,
    ),
    answered(
        "no_decorator",
        "Without @contextmanager your function gives a generator, and with does not take one.",
        _MANAGER,
        _no_decorator,
    ),
    answered(
        "no_yield", "There is no yield in your function: the with block has no place to run in.", _MANAGER, _no_yield
    ),
    answered(
        "gives_nothing",
        "Your function sets hooks and gives None, and with needs a context manager.",
        _MANAGER,
        _gives_nothing,
    ),
]

_ALL_TOKENS = "After each new token, what should the model read?"
_COUNT = "For n = 0, which tokens come back?"
_LAST_LOGITS = "Row t of the logits says what comes after token t. Which row says what comes next?"

_GREEDY_MISTAKES = [
    switched("one_token_less", "You append one token less than n.", _COUNT, count="one less"),
    switched("one_token_more", "You append one token more than n.", _COUNT, count="one more"),
    switched("at_least_one", "You append a token when n is 0, too.", _COUNT, count="at least one"),
    switched("n_in_all", "You stop when there are n tokens in all, the prompt included.", _COUNT, count="up to n"),
    switched(
        "one_more_than_n_in_all",
        "You stop when there are more than n tokens in all, the prompt included.",
        _COUNT,
        count="beyond n",
    ),
    switched("one_token", "You append one token, whatever n is.", "How many turns does your loop make?", count="one"),
    switched("only_new_tokens", "You hand back the new tokens without the prompt.", _COUNT, back="new ones"),
    switched("last_token_read", "Your model reads the newest token only.", _ALL_TOKENS, given="last token"),
    switched(
        "prompt_read",
        "Your model reads the prompt in every turn, so that it says the same token n times.",
        _ALL_TOKENS,
        given="prompt",
    ),
    switched("two_tokens_read", "Your model reads the newest two tokens only.", _ALL_TOKENS, given="two tokens"),
    switched(
        "window_of_the_prompt",
        "Your model reads only as many tokens as the prompt had.",
        _ALL_TOKENS,
        given="as many as the prompt",
    ),
    switched("read_backwards", "Your model reads the tokens in reverse order.", _ALL_TOKENS, given="backwards"),
    switched("first_logits", "You take the logits of the first row.", _LAST_LOGITS, row="first"),
    switched("logits_before", "You take the logits of the row before the last.", _LAST_LOGITS, row="one before"),
    switched("mean_logits", "You average the logits of all rows.", _LAST_LOGITS, row="mean"),
    switched(
        "smallest", "You choose the token with the smallest logit.", "What does a large logit mean?", choice="smallest"
    ),
    switched("second", "You choose the token with the second largest logit.", "Which token is first?", choice="second"),
    switched(
        "size_of_the_logit",
        "You choose by the size of the logits: one far below zero wins, too.",
        "What does a logit far below zero mean?",
        choice="size",
    ),
    switched(
        "in_front", "You put each new token in front of the others.", "At which end does a text grow?", joined="front"
    ),
    switched(
        "first_dropped",
        "For each new token you drop the first one: the text never grows.",
        "How long is the text after n turns?",
        joined="first dropped",
    ),
    switched(
        "last_overwritten",
        "You put each new token in the place of the last one.",
        "How long is the text after n turns?",
        joined="in place of the last",
    ),
    switched("twice", "You append each new token twice.", "How long is the text after n turns?", joined="twice"),
    switched("no_batch_axis", "You hand back (T + n,) and not (1, T + n).", "How many axes has ids?", back="no batch"),
    switched("newest_only", "You hand back the newest token alone.", _COUNT, back="last"),
    switched(
        "last_prompt_token",
        "You hand back the new tokens and the last one of the prompt.",
        _COUNT,
        back="last prompt token too",
    ),
    switched(
        "floats", "Your token numbers come back as floats.", "What kind of number is a row of a table?", back="floats"
    ),
    answered(
        "in_one_go",
        "You call the model once: its guesses for tokens that are there already are appended.",
        "What does the model say about the second new token before it has read the first?",
        _in_one_go,
    ),
    answered(
        "best_at_once",
        "You call the model once and append its n best guesses for one and the same place.",
        "What does the model say about the second new token before it has read the first?",
        _best_at_once,
    ),
    answered(
        "newest_after_the_first_turn",
        "Your model reads the prompt once, and from then on the newest token alone.",
        _ALL_TOKENS,
        _newest_after_the_first_turn,
    ),
    answered(
        "all_guesses",
        "In each turn you append the guesses of all rows.",
        "How many tokens should a turn append?",
        _all_guesses,
    ),
    answered(
        "back_in_the_loop",
        "You leave the function in the first turn of the loop: return stands inside it.",
        "How far is your return indented?",
        _back_in_the_loop,
    ),
    answered(
        "rows_for_logits",
        "You look for the largest number of a row; tokens are chosen among logits.",
        "What has as many numbers as there are tokens?",
        _rows_for_logits,
    ),
    answered(
        "turn_for_place",
        "In turn i you take the logits of row i.",
        _LAST_LOGITS,
        _turn_for_place,
    ),
    answered(
        "stops_at_a_repeat",
        "You stop at a token that the text already has.",
        "How many tokens should come back, whatever they are?",
        _stops_at_a_token_again,
    ),
    answered(
        "no_token_twice",
        "You never choose a token that the text already has.",
        "May the token with the largest logit be one that was said before?",
        _no_token_again,
    ),
    answered(
        "axis_lost",
        "Your argmax loses an axis: the new token has shape (1,), and the text has (1, T).",
        "Which shape does one more column have?",
        _axis_lost,
    ),
    answered(
        "over_the_tokens",
        "Your argmax runs over the rows, not over the vocabulary.",
        "Which axis of (1, T, V) is the vocabulary?",
        _over_the_tokens,
    ),
    answered(
        "new_rows",
        "You join along axis 0, that of the batch.",
        "Which axis of (1, T) should grow?",
        _below,
    ),
    answered("list", "You hand back a list of the new tokens.", "How many axes has ids?", _list_of_new),
]

_SHORTEST = "Tokens a a a a: which periods fit, and which of them is asked for?"
_TWO_TURNS = "How many tokens do two full turns take, and how many are there?"
_GO_BACK = "From the last two turns, go back one token at a time. When does the loop stop to hold?"
_AT_THE_END = "Where in the tokens does a loop have to stand to go on for ever?"
_ALL_EQUAL = "Which tokens of the last turn have to equal which of the turn before?"
_RETURN = "Which two numbers are asked for, and in which order?"
_NO_LOOP = "What should come back where nothing repeats?"

_CYCLE_MISTAKES = [
    switched("longest_period", "You give the longest period that fits.", _SHORTEST, periods="longest first"),
    switched(
        "one_period_short",
        "Your periods end too early: two turns and nothing else are not found.",
        _TWO_TURNS,
        periods="one less",
    ),
    switched("not_period_1", "You never try the period 1.", _SHORTEST, periods="from 2"),
    switched("only_period_1", "You give up after the period 1.", "Where does your return stand?", periods="1"),
    switched("up_to_4", "Longer periods than 4 are not found.", _TWO_TURNS, periods="up to 4"),
    switched(
        "three_turns_wanted",
        "Three turns have to stand at the end before you find the loop.",
        _TWO_TURNS,
        fits="three turns",
    ),
    switched(
        "last_token_only",
        "You look for the last token only: how far back it stood before is your period.",
        _ALL_EQUAL,
        fits="last token",
        periods="all",
    ),
    switched(
        "last_token_and_where",
        "You look for the last token only: where it stood before is your start, how far back your period.",
        _ALL_EQUAL,
        fits="last token",
        periods="all",
        start="last token's place",
    ),
    switched(
        "one_compared_less",
        "You compare all tokens of the turns but one: with the period 1 there is nothing left to compare.",
        _ALL_EQUAL,
        fits="one compared less",
    ),
    switched("last_two_tokens", "You compare the last two tokens only.", _ALL_EQUAL, fits="two tokens", periods="all"),
    switched(
        "ends_of_the_turns",
        "You compare the first and the last token of the turns only.",
        _ALL_EQUAL,
        fits="ends of the turns",
    ),
    switched("any_agrees", "One token that agrees is enough for you.", _ALL_EQUAL, fits="any"),
    switched(
        "any_order", "You compare the turns as sets of tokens: their order does not count.", _ALL_EQUAL, fits="sorted"
    ),
    switched(
        "all_or_nothing",
        "You find a loop only where it holds from the first token on.",
        "May a text say something else before its loop begins?",
        fits="whole",
    ),
    switched(
        "all_with_less_than_two",
        "You want the loop from the first token on, and less than two turns are enough.",
        _TWO_TURNS,
        fits="whole",
        periods="all",
    ),
    switched("at_the_front", "You look for two turns at the front.", _AT_THE_END, fits="front", start="0"),
    switched("last_two_turns", "Your start is always two turns before the end.", _GO_BACK, start="last two turns"),
    switched("last_turn", "Your start is always one turn before the end.", _GO_BACK, start="last turn"),
    switched("second_turn", "Your start is one turn too late.", _GO_BACK, start="second turn"),
    switched(
        "whole_turns_only",
        "You go back by whole turns and miss the part of a turn before them.",
        _GO_BACK,
        start="whole turns",
    ),
    switched("one_too_late", "Your start is one too late.", _GO_BACK, start="one late"),
    switched("one_too_early", "Your start is one too early.", _GO_BACK, start="one early"),
    switched(
        "one_too_early_or_0",
        "Your start is one too early, unless it is 0: it is the token that breaks the loop.",
        _GO_BACK,
        start="one early or 0",
    ),
    switched(
        "first_that_agrees",
        "Your start is the first token that comes again a period later, even if the next one does not.",
        _GO_BACK,
        start="first that agrees",
    ),
    switched("never_at_0", "A loop that holds from token 0 on begins at 1 with you.", _GO_BACK, start="never 0"),
    switched(
        "first_of_its_kind",
        "Your start is the first place at which the token of the last turn stands, loop or not.",
        _GO_BACK,
        start="first of the kind",
    ),
    switched(
        "from_the_end", "You count the start from the end.", "Which index has the first token?", start="from the end"
    ),
    switched("always_0", "Your start is always 0.", _GO_BACK, start="0"),
    switched(
        "end_of_the_first_turn",
        "Your start is the last token of the first turn.",
        _GO_BACK,
        start="end of the first turn",
    ),
    switched("period_first", "You hand back the period first, then the start.", _RETURN, back="period first"),
    switched("period_alone", "You hand back the period alone.", _RETURN, back="period"),
    switched("start_alone", "You hand back the start alone.", _RETURN, back="start"),
    switched("two_ends", "You hand back where the first turn begins and where the second does.", _RETURN, back="ends"),
    switched(
        "ends_of_a_turn",
        "You hand back the first and the last place of the first turn.",
        _RETURN,
        back="last of the turn",
    ),
    switched("number_of_turns", "You hand back the number of turns in place of the period.", _RETURN, back="turns"),
    switched(
        "length_of_the_loop", "You hand back how long the loop goes on in place of its period.", _RETURN, back="length"
    ),
    switched(
        "kinds_of_tokens",
        "Your period counts different tokens: one that stands twice in a turn counts once.",
        _RETURN,
        back="kinds",
    ),
    switched("tokens_of_the_turn", "You hand back the tokens of a turn.", _RETURN, back="tokens"),
    switched("token_for_its_place", "You hand back a token in place of its index.", _RETURN, back="token"),
    switched("zeros_for_none", "You give (0, 0) where there is no loop.", _NO_LOOP, none="zeros"),
    switched("end_for_none", "You give (T, 0) where there is no loop.", _NO_LOOP, none="end"),
    switched("minus_one_for_none", "You give -1 where there is no loop.", _NO_LOOP, none="minus one"),
    switched("false_for_none", "You give False where there is no loop.", _NO_LOOP, none="False"),
    switched("empty_for_none", "You give an empty tuple where there is no loop.", _NO_LOOP, none="empty"),
    switched("two_nones", "You give two Nones where there is no loop.", _NO_LOOP, none="two Nones"),
    answered(
        "first_token_again",
        "You take the first token that comes again for the end of a turn.",
        "Has a text got into a loop as soon as a word is said twice?",
        _first_token_again,
    ),
    answered(
        "anywhere_shortest_first",
        "You take two equal turns wherever they stand, those with the shortest period first.",
        _AT_THE_END,
        _anywhere_shortest_first,
    ),
    answered(
        "less_than_two_turns",
        "From your start to the end tokens repeat, but you do not ask for two full turns.",
        _TWO_TURNS,
        _less_than_two_turns,
    ),
    answered(
        "last_token_and_back",
        "A last token that stood there before is enough for you: you go back from it, and do not ask for two turns.",
        _TWO_TURNS,
        _last_token_and_back,
    ),
    answered(
        "round_the_front",
        "Where a loop holds from token 0 on you go back further: index -1 is the last token.",
        "At which start must you stop going back, whatever stands there?",
        _round_the_front,
    ),
    answered(
        "back_to_1",
        "You go back to index 1 at most: whether token 0 is in the loop, too, is never asked.",
        _GO_BACK,
        _back_to_1,
    ),
    answered("last_turn_itself", "You hand back the tokens of the last turn.", _RETURN, _last_turn_itself),
    answered("anywhere", "You take the first two equal turns, wherever they stand.", _AT_THE_END, _anywhere),
    answered(
        "earliest_start_first",
        "You look for the earliest start first, and take a longer period for it.",
        _SHORTEST,
        _earliest_start_first,
    ),
    answered(
        "tensors_in_an_if",
        "You ask an if for several answers at once: == of two tensors compares token by token.",
        "How are several True and False made into one?",
        _tensors_in_an_if,
    ),
]


# --- unusual, and right ----------------------------------------------------------------------------------------------


def _row_from_states(model: Any, ids: Tensor) -> Tensor:
    return model(input_ids=ids, output_hidden_states=True).hidden_states[-1].squeeze(0)[ids.shape[1] - 1]


def _row_by_class(model: Any, ids: Tensor) -> Tensor:
    body = model.transformer if hasattr(model, "transformer") else model.model
    return body(ids)[0][0, -1, :]


def _row_hooked(model: Any, ids: Tensor) -> Tensor:
    """What the final norm returned, or what went into the last matrix."""
    seen: list[Tensor] = []
    hook = model.get_output_embeddings().register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    try:
        model(ids)
    finally:
        hook.remove()
    return seen[-1].flatten(0, 1)[-1].clone()


@contextmanager
def _off_by_forward(model: Any) -> Iterator[None]:
    """The projections' forward is replaced, each one's own, and put back in reverse order."""
    kept = []
    for name, module in model.named_modules():
        if name.endswith(("attn.c_proj", "self_attn.o_proj")):
            kept.append((module, module.forward))
            module.forward = lambda x, forward=module.forward: forward(x) * 0
    try:
        yield
    finally:
        for module, forward in reversed(kept):
            module.forward = forward


class _OffAsAClass:
    """With two methods in place of a generator; hooks on the attention modules that hand on a tuple."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.handles: list[Any] = []

    def __enter__(self) -> _OffAsAClass:
        for module in self.model.modules():
            if type(module).__name__.endswith("Attention"):
                self.handles.append(module.register_forward_hook(self.hook))
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self.handles:
            handle.remove()

    @staticmethod
    def hook(module: Any, inputs: Any, output: tuple[Any, ...]) -> tuple[Any, ...]:
        return (0.0 * output[0], *output[1:])


@contextmanager
def _off_by_weights(model: Any) -> Iterator[None]:
    """Weights and biases are zeros for a while."""
    import torch

    numbers = [p for n, p in model.named_parameters() if "attn.c_proj." in n or "attn.o_proj." in n]
    kept = [p.detach().clone() for p in numbers]
    with torch.no_grad():
        for p in numbers:
            p.zero_()
    try:
        yield
    finally:
        with torch.no_grad():
            for p, old in zip(numbers, kept, strict=True):
                p.copy_(old)


def _off_by_a_stack(model: Any) -> ExitStack:
    """A stack that is handed out with the hooks already in it."""
    stack = ExitStack()
    for module in _projections(model):
        stack.callback(module.register_forward_hook(_zeros, prepend=True).remove)
    return stack


def _generated(model: Any, ids: Tensor, n: int) -> Tensor:
    """The library's own, which keeps keys and values."""
    import torch

    if n == 0:
        return ids
    mask = torch.ones_like(ids)
    return model.generate(ids, attention_mask=mask, max_new_tokens=n, do_sample=False, pad_token_id=0)


def _called_again(model: Any, ids: Tensor, n: int) -> Tensor:
    """The function calls itself."""
    import torch

    if n == 0:
        return ids
    shares = model(input_ids=ids).logits[0, -1].softmax(0)
    return _called_again(model, torch.hstack([ids, shares.topk(1).indices[None]]), n - 1)


def _as_lists(model: Any, ids: Tensor, n: int) -> Tensor:
    import torch

    tokens = ids[0].tolist()
    while len(tokens) < ids.shape[1] + n:
        logits = model(torch.tensor([tokens])).logits[0, len(tokens) - 1].tolist()
        tokens += [logits.index(max(logits))]
    return torch.tensor([tokens])


def _written_into(model: Any, ids: Tensor, n: int) -> Tensor:
    """A tensor of the full length, filled from the left."""
    T = ids.shape[1]
    text = ids.new_zeros(1, T + n)
    text[:, :T] = ids
    for t in range(T, T + n):
        text[0, t] = model(text[:, :t]).logits[0, -1].argmax()
    return text


def _cycle_by_tensors(ids: Tensor) -> Any:
    import torch

    T = ids.numel()
    for period in range(1, T // 2 + 1):
        if torch.equal(ids[-period:], ids[-2 * period : -period]):
            differs = (ids[period:] != ids[:-period]).nonzero()
            return (int(differs[-1]) + 1 if len(differs) else 0), period
    return None


def _cycle_of_lengths(ids: Tensor) -> Any:
    """How far the end of the text agrees with itself, moved by each number of places (the Z function)."""
    back = ids.flip(0).tolist()
    for period in range(1, len(back)):
        agree = 0
        while period + agree < len(back) and back[agree] == back[period + agree]:
            agree += 1
        if agree >= period:
            return [len(back) - period - agree, period]
    return None


def _cycle_in_numpy(ids: Tensor) -> Any:
    tokens = np.asarray(ids)
    fits = [p for p in range(1, tokens.size // 2 + 1) if (tokens[-p:] == tokens[-2 * p : -p]).all()]
    if not fits:
        return None
    period = min(fits)
    start = next(s for s in range(tokens.size) if (tokens[s + period :] == tokens[s : tokens.size - period]).all())
    return np.int64(start), np.int64(period)


# --- the exercises ---------------------------------------------------------------------------------------------------

_LAST_ROW = Exercise(
    name="last_row",
    chapter="09",
    summary="The row of the last token as it leaves the final norm.",
    returns="(d,)",
    reference=_last_row,
    cases=_row_cases,
    template=_row_template,
    mistakes=paired(_ROW_MISTAKES, _row_template, LIKELY_IN_PAIRS),
    accepted={
        "the last hidden state": _row_from_states,
        "by the class": _row_by_class,
        "hooked": _row_hooked,
    },
    hints=(
        "What comes out of the model just before the last matrix makes logits of it?",
        "Change an early token: the row moves. Change the last one: it moves, too. It has d numbers, not V.",
        "Look at two places: which part of the model you call (base_model, in both classes), and the index of the row.",
    ),
    framework="torch",
)

_OFF = Exercise(
    name="attention_off",
    chapter="09",
    summary="A context manager inside which no block's attention adds anything, and after which all is as before.",
    returns="(T, d)",
    reference=_attention_off,
    cases=_off_cases,
    template=_off_template,
    mistakes=paired(_OFF_MISTAKES, _off_template, LIKELY_IN_PAIRS),
    accepted={
        "another forward": _off_by_forward,
        "a class, hooks on tuples": _OffAsAClass,
        "weights of zeros": _off_by_weights,
        "a stack": _off_by_a_stack,
    },
    hints=(
        "Which modules' output is added to the rows by attention, in GPT-2 and in Llama, and by no other part?",
        "Inside, each row depends on its own token alone. Afterwards, and after an exception, all rows are as before.",
        "Look at four places: how modules are picked by name, what the hook returns, the list of handles, and finally.",
    ),
    framework="torch",
)

_GREEDY = Exercise(
    name="greedy_decode",
    chapter="09",
    summary="n tokens more, each of them the one with the largest logit.",
    returns="(1, T + n)",
    reference=_greedy_decode,
    cases=_greedy_cases,
    template=_greedy_template,
    mistakes=paired(_GREEDY_MISTAKES, _greedy_template, LIKELY_IN_PAIRS),
    accepted={
        "generate": _generated,
        "calls itself": _called_again,
        "lists": _as_lists,
        "written into": _written_into,
    },
    hints=(
        "Which row of the logits speaks about a token that is not there yet?",
        "With n = 0 the prompt comes back. With n = 2 the second new token depends on the first.",
        "Look at three places: the row of the logits, the axis of argmax, and what the model reads in the next turn.",
    ),
    framework="torch",
)

_CYCLE = Exercise(
    name="find_cycle",
    chapter="09",
    summary="The loop at the end of a text: where it begins and how long a turn is.",
    returns="(start, period)",
    reference=_find_cycle,
    cases=_cycle_cases,
    template=_cycle_template,
    mistakes=paired(_CYCLE_MISTAKES, _cycle_template, LIKELY_IN_PAIRS),
    accepted={
        "tensors": _cycle_by_tensors,
        "how far the end agrees": _cycle_of_lengths,
        "NumPy": _cycle_in_numpy,
    },
    hints=(
        "When do the last p tokens repeat what stood before them?",
        "From the start on, each token equals the one a period later, and the token before the start does not.",
        "Look at three places: the largest period that is tried, the slices of the last two turns, and the way back.",
    ),
    framework="torch",
)

EXERCISES: tuple[Exercise, ...] = (_LAST_ROW, _OFF, _GREEDY, _CYCLE)


# --- the questions ---------------------------------------------------------------------------------------------------

_PIECES = Question(
    name="09_pieces",
    chapter="09",
    prompt="Of how many pieces is a row of the lab model the sum when it leaves the last of three blocks?",
    right=8,
    because="The row of the word, that of the position, and two in each of three blocks.",
    tolerance=1e-9,
    wrong={
        3: "Each block adds twice. And what does a row start with?",
        4: "A start and three blocks: how many parts of a block add something, and is the start one piece?",
        5: "How often does each block add to a row?",
        6: "Two for each block. What was there before the first one?",
        7: "What is a row before the first block the sum of?",
        1: "A sum of one piece would never have been added to.",
    },
    otherwise="Which two are added before the first block, and how many in each block?",
    hints=("Count the table of words, the table of positions, and two parts for each block.",),
)

_SWAP = Question(
    name="09_swap",
    chapter="09",
    prompt="boat becomes clerk: which rows are other ones when they leave the model?",
    right="the row of clerk and all after it",
    because="Every later row may look at it, and what it takes is added to it; earlier ones may not look ahead.",
    choices=("the row of clerk only", "the row of clerk and all after it", "all rows"),
    wrong={
        "the row of clerk only": "Which rows may look at the row of clerk?",
        "all rows": "What does the mask hide from the rows before clerk?",
    },
    otherwise="Which rows may look at the row of clerk, and which may not?",
    hints=("The mask of chapter 06 lets a row look at itself and backward.",),
)

_HOOK_SAYS = {
    "looks ahead": "Nothing touches the mask: earlier rows stay when a later one changes.",
    "does not see itself": "Each pattern is what it was; only what comes out of the module is changed.",
    "rows do not sum to 1": "The softmax is the model's own.",
    "scrambles words": "Row t of what is added still goes to row t.",
    "forgets order": "The position rows are in the stream, as before.",
    "changes its input": "The token numbers stay as they were.",
    "ignores the query": "Another query would still give another pattern.",
}

_HOOK = Question(
    name="09_bug_in_a_hook",
    chapter="09",
    prompt="Which property does a model break whose attention modules return a tensor (2, T, d) in place of a tuple?",
    right="mixes batch entries",
    because="The tensor is unpacked along the batch: what belongs to text 0 is taken for what both texts get.",
    choices=PROPERTIES,
    wrong=_HOOK_SAYS,
    otherwise="a, b = tensor gives a the first entry along the first axis. Which axis is that?",
    hints=("The block says: added, pattern = attention(rows). What is added, for a tensor of shape (2, T, d)?",),
)

_OFF_SWAP = Question(
    name="09_swap_off",
    chapter="09",
    prompt="Attention is off in all blocks, and boat becomes clerk: which rows move?",
    right="the row of clerk only",
    because="Norms and MLPs work on each row by itself: nothing carries the change anywhere else.",
    choices=("none", "the row of clerk only", "the row of clerk, and the others a little"),
    wrong={
        "none": "What does the row of clerk start as?",
        "the row of clerk, and the others a little": "Which part of a block reads two rows at once?",
    },
    otherwise="Which parts of a block are left, and how many rows does each of them read at once?",
    hints=("An MLP multiplies each row by the same matrices, one row at a time.",),
)

_FERRYMAN = Question(
    name="09_ferryman",
    chapter="09",
    prompt="Attention is off. Is the last row the same when an earlier word takes four tokens more?",
    right="another",
    because="The last word stands four places later, and another position row is added to it.",
    choices=("the same", "another"),
    wrong={"the same": "No word reaches it. But what is added to it before the first block?"},
    otherwise="What is added to the row of bank before the first block?",
    hints=("At which position does bank stand in each of the two texts?",),
)

_TEXTS = Question(
    name="09_two_texts",
    chapter="09",
    prompt="One text runs into a loop and one does not: which was written with attention off?",
    right="that cannot be told",
    because="Attention can copy itself into a loop, and a table over tokens and positions need not have one.",
    choices=("the one with the loop", "the other", "that cannot be told"),
    wrong={
        "the one with the loop": "What does an induction head do with words that were said twice?",
        "the other": "A model without attention and without positions: what comes after a token, each time?",
    },
    otherwise="Can you think of a loop that attention makes?",
    hints=("Chapter 07 had heads that continue what is repeated.",),
)

_LATEST = Question(
    name="09_at_the_latest",
    chapter="09",
    prompt="852 tokens, one arrow from each: after how many steps, at the latest, are you where you were before?",
    right=852,
    because="After 851 steps you may have been at each token once. The next arrow has nowhere new to lead.",
    tolerance=1e-9,
    wrong={
        851: "After 851 steps you have been at 852 tokens. Could they all be different?",
        853: "After 852 steps you have been at 853 places, and there are 852 tokens.",
        426: "Must you skip any token on the way?",
        1: "Only a token that leads to itself is back after one step.",
    },
    otherwise="How many different tokens can you have been at after n steps?",
    hints=("With 3 tokens: 1, 2, 3, and then?",),
)

QUESTIONS: tuple[Question, ...] = (_PIECES, _SWAP, _HOOK, _OFF_SWAP, _FERRYMAN, _TEXTS, _LATEST)

"""How chapter 09 asks a context manager what it does: inside it, after it, after an exception, to others.

Each script gets the candidate and a model and gives the rows that come out of the model, (T, d), after its final norm.
Where a script sees something that rows do not show, it raises an `AssertionError` that says what.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

#: Ends of the names of the projections that attention's blends go through last.
_PROJECTIONS = ("attn.c_proj", "attn.o_proj")


class _Interruption(Exception):
    """What goes wrong in the middle of a `with` block."""


def _rows(model: Any) -> Tensor:
    """The rows (T, d) after the final norm, for a short text that is the same each time."""
    import torch

    return model.base_model(torch.tensor([[3, 1, 4]]), use_cache=False).last_hidden_state[0]


def _hooks(model: Any) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


@contextmanager
def _classes_kept(model: Any) -> Iterator[None]:
    """What the classes of the model's parts do is as before afterwards, whatever a candidate wrote: others use them."""
    kinds = {type(module) for module in model.modules()}
    kept = {kind: vars(kind)["forward"] for kind in kinds if "forward" in vars(kind)}
    try:
        yield
    finally:
        for kind, forward in kept.items():
            kind.forward = forward


def inside(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows inside the block; the model is called twice there, and the second call counts."""
    (model,) = args
    with _classes_kept(model), candidate(model):
        _rows(model)
        return _rows(model)


def after(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows after the block."""
    (model,) = args
    before, hooks = _rows(model), _hooks(model)
    with _classes_kept(model):
        with candidate(model):
            _rows(model)
        rows = _rows(model)
    left = _hooks(model) - hooks
    if left and bool((rows == before).all()):
        raise AssertionError(f"the rows are as before, but {left} hooks are still on the model after the block")
    return rows


def after_an_exception(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows after a block that an exception has left."""
    (model,) = args
    with _classes_kept(model):
        came_out = False
        try:
            with candidate(model):
                raise _Interruption
        except _Interruption:
            came_out = True
        rows = _rows(model)
    if not came_out:
        raise AssertionError("an exception was raised inside the block and never came out of it")
    return rows


def nested(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows inside a block, after another one within it was left."""
    (model,) = args
    with _classes_kept(model), candidate(model):
        with candidate(model):
            pass
        return _rows(model)


def beside_other_hooks(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows after the block, of a model on which somebody else's hooks double what attention adds."""
    (model,) = args
    for name, module in model.named_modules():
        if name.endswith(_PROJECTIONS):
            module.register_forward_hook(lambda module, inputs, output: 2 * output)
    with _classes_kept(model):
        with candidate(model):
            pass
        return _rows(model)


def of_another_model(candidate: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Rows of a second model of the same class, for which the block was not entered."""
    (model,) = args
    other = copy.deepcopy(model)
    with _classes_kept(model), candidate(model):
        return _rows(other)


#: By the names that cases use.
SCRIPTS: dict[str, Callable[[Callable[..., Any], tuple[Any, ...]], Any]] = {
    "after": after,
    "after_an_exception": after_an_exception,
    "beside_other_hooks": beside_other_hooks,
    "inside": inside,
    "nested": nested,
    "of_another_model": of_another_model,
}


def _text(*lines: str) -> Callable[[str, tuple[Any, ...]], tuple[list[str], tuple[str, ...]]]:
    """What a card writes for a script, with the exercise's name in place of OFF."""
    return lambda name, args: ([line.replace("OFF", name) for line in lines], ("model",))


#: How a card writes each script.
TEXTS: dict[str, Callable[[str, tuple[Any, ...]], tuple[list[str], tuple[str, ...]]]] = {
    "inside": _text("with OFF(model):", "    rows of model"),
    "after": _text("with OFF(model):", "    …", "rows of model"),
    "after_an_exception": _text("with OFF(model):", "    raise …", "rows of model, once the exception is caught"),
    "nested": _text("with OFF(model):", "    with OFF(model):", "        …", "    rows of model"),
    "beside_other_hooks": _text("with OFF(model):", "    …", "rows of model, where others have hooks, too"),
    "of_another_model": _text("with OFF(model):", "    rows of a copy of model made before"),
}

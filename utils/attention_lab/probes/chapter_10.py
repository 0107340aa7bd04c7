"""What a call holds while it runs, measured: results of torch's operations as they are made, and Python's memory.

Chapter 10 uses it twice: on its page, and to ask whether attention in blocks keeps to its blocks. Letters: T rows that
ask, S rows that are asked, d_k width of a query or key, d_v width of a value.
"""

from __future__ import annotations

import functools
import math
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

#: Of all scores, the share that nobody holds by accident: several working copies of one block stay well below it.
NEARLY_ALL = 0.8

#: What Python takes for a number in a list of short lists.
BYTES_IN_A_LIST = 64


@dataclass
class Held:
    """What was made and kept during a call, counted in numbers; what was given from outside does not count.

    Attributes:
        largest: the largest tensor that was made.
        shape: its shape.
        peak: the most numbers that were alive at once.
        made: all numbers made, one after the other.
        hidden: scores that a fused attention kernel works through out of sight: the most of a single call.
    """

    largest: int = 0
    shape: tuple[int, ...] = ()
    peak: int = 0
    made: int = 0
    hidden: int = 0


def held(
    f: Callable[..., Any],
    *args: Any,
    watch: Callable[[Held], None] | None = None,
    least: int = 1,
    peak_from: int = 0,
) -> tuple[Any, Held]:
    """Call `f` and see every tensor that is made: its result, and what was held.

    A view, or a result written into memory that is there, makes nothing. What a kernel uses inside stays unseen.

    Args:
        f: called with `args`.
        args: tensors among them are not counted.
        watch: called after each operation; what it raises comes out of the line of `f` that made the tensor.
        least: tensors with fewer numbers only add to `Held.made`.
        peak_from: a peak that is not above this is not looked for, which saves most of the time.
    """
    seen = Held()
    with _recorder()(seen, args, watch, least, peak_from):
        result = f(*args)
    return result, seen


@functools.cache
def _recorder() -> Any:
    from torch.multiprocessing.reductions import StorageWeakRef
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        """Sees each operation below autograd, so that einsum and softmax have become what they really do."""

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Not to import torch's compiler, which takes seconds and is of no use here."""
            return False

        def __init__(self, seen: Held, args: Any, watch: Any, least: int, peak_from: int) -> None:
            super().__init__()
            self.seen, self.watch, self.least, self.peak_from = seen, watch, least, peak_from
            self.alive: dict[Any, int] = {StorageWeakRef(t.untyped_storage()): 0 for t in _tensors(args)}
            self.bound = 0  # at least as many numbers as are alive: what has gone is looked for when that may be a peak

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if "scaled_dot_product" in func.name():
                queries, keys = args[0].shape, args[1].shape
                self.seen.hidden = max(self.seen.hidden, math.prod(queries[:-1]) * keys[-2])
            for tensor in _tensors(result):
                self.note(tensor)
            if self.watch is not None:
                self.watch(self.seen)
            return result

        def note(self, tensor: Tensor) -> None:
            if tensor.numel() < self.least:
                self.seen.made += tensor.numel()
                return
            storage = StorageWeakRef(tensor.untyped_storage())
            if storage in self.alive:
                return
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            self.alive[storage] = size
            self.bound += size
            self.seen.made += size
            if size > self.seen.largest:
                self.seen.largest, self.seen.shape = size, tuple(tensor.shape)
            if self.bound > max(self.seen.peak, self.peak_from):
                self.count()

        def count(self) -> None:
            self.alive = {storage: size for storage, size in self.alive.items() if not storage.expired()}
            self.bound = sum(self.alive.values())
            self.seen.peak = max(self.seen.peak, self.bound)

    return Recorder


def _tensors(value: Any) -> Iterator[Tensor]:
    """The tensors in a value, in tuples and lists as well."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


class TooMuchAtOnce(RuntimeError):
    """A function that works in blocks holds more than a block."""


def in_blocks(candidate: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The results for q, k, v, block, and for all keys in one block; TooMuchAtOnce if the first call holds too much.

    Too much is a tensor with more than T × block numbers, or blocks that are kept. Sizes must be such that copies of q,
    k and v are no larger. What is done outside torch (NumPy, lists) is measured in bytes, in another call. Whoever
    gets another result in one block has other things to mend: it comes back, however much was held.
    """
    q, k, v, block = args
    most, everything = len(q) * block, len(q) * len(k)
    many = int(NEARLY_ALL * everything)
    trouble: list[TooMuchAtOnce] = []

    def watch(seen: Held) -> None:
        said = _too_much(seen, most, everything)
        if said:
            trouble.append(TooMuchAtOnce(said))
            raise trouble[0]

    spare = tuple(t.double().clone() for t in (q, k, v))
    try:
        result, seen = held(candidate, *args, watch=watch, least=most // 2, peak_from=many)
        if not trouble and seen.made + seen.hidden < everything:  # the work was done elsewhere
            given = sum(t.numel() for t in spare) + len(q) * v.shape[-1]
            if _bytes_outside(candidate, (*spare, block)) > 8 * many + BYTES_IN_A_LIST * given:
                trouble.append(TooMuchAtOnce(_all_at_once(most, everything)))
    except TooMuchAtOnce:
        result = candidate(*args)
    in_one = candidate(q, k, v, len(k))
    if trouble and not _differ(result, in_one):
        raise trouble[0]
    return result, in_one


def _differ(one: Any, other: Any) -> bool:
    """Whether two results are tensors or arrays that differ by more than rounding."""
    import torch

    try:
        a, b = torch.as_tensor(one), torch.as_tensor(other)
        return a.shape != b.shape or not torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-3)
    except (TypeError, ValueError, RuntimeError):
        return False


def _too_much(seen: Held, most: int, everything: int) -> str:
    if seen.hidden > most:
        return f"one call of torch's attention goes through all T × S = {everything} scores, whatever block is"
    if seen.largest >= everything:
        return _all_at_once(most, everything)
    if seen.largest > most:
        return f"a tensor of shape {seen.shape} has {seen.largest} numbers, where T × block = {most} are allowed"
    if seen.peak > NEARLY_ALL * everything:
        return f"no block is let go: together they hold nearly all T × S = {everything} scores"
    return ""


def _all_at_once(most: int, everything: int) -> str:
    return f"all T × S = {everything} scores are there at once, where T × block = {most} are allowed"


def _bytes_outside(candidate: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """The most memory that Python and NumPy held during a call: NumPy reports its arrays to tracemalloc."""
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        candidate(*args)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()


#: By the names that cases use.
SCRIPTS: dict[str, Callable[[Callable[..., Any], tuple[Any, ...]], Any]] = {"in_blocks": in_blocks}

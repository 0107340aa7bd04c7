"""A tensor where a chapter works with arrays, and an array where it works with tensors: later cells would stumble."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attention_lab.checking import judge
from attention_lab.exercises import exercises


def through_numpy(name: str) -> Callable[..., Any]:
    """The reference, its result as an array of NumPy."""

    def answer(*args: Any) -> Any:
        found = exercises()[name].reference(*args)
        return tuple(part.numpy() for part in found) if isinstance(found, tuple) else found.numpy()

    return answer


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("match_form", r"match_form gave an array of NumPy, not a tensor of shape (…, T, T) = ("),
        ("causal_mask", r"causal_mask gave an array of NumPy, not a tensor of shape (T, S) = ("),
        ("project_qkv", r"Value number 1 of the 3 returned is wrong. project_qkv gave an array of NumPy, not a tensor"),
    ],
)
def test_an_array_of_numpy_is_no_tensor(name: str, says: str) -> None:
    lambdas = {"match_form": 3, "causal_mask": 2, "project_qkv": 4}
    inner = through_numpy(name)
    answers: dict[int, Callable[..., Any]] = {
        2: lambda T, S=None: inner(T, S),
        3: lambda x, W_q, W_k: inner(x, W_q, W_k),
        4: lambda x, W_q, W_k, W_v: inner(x, W_q, W_k, W_v),
    }
    verdict = judge(name, answers[lambdas[name]])
    assert verdict.status == "wrong"
    assert says in verdict.message


def test_the_same_as_a_tensor_passes() -> None:
    inner = through_numpy("causal_mask")
    assert judge("causal_mask", lambda T, S=None: torch.from_numpy(inner(T, S))).passed


def test_a_tensor_is_no_array_of_numpy() -> None:
    verdict = judge("softmax", lambda scores: torch.from_numpy(np.asarray(exercises()["softmax"].reference(scores))))
    assert "softmax gave an object of type torch.Tensor, not an array of shape" in verdict.message


def test_no_right_answer_to_an_exercise_in_torch_is_an_array_of_numpy() -> None:
    from attention_lab import probes
    from attention_lab.checking.caller import cast, materialise

    for exercise in exercises().values():
        direct = [case for case in exercise.cases(np.random.default_rng(0)) if case.script == "call"]
        if exercise.framework != "torch" or not direct:
            continue
        for answer in (exercise.reference, *exercise.accepted.values()):
            given = tuple(materialise(part, "torch") for part in cast(direct[0].args, "float64"))
            found = probes.SCRIPTS["call"](answer, given)
            parts = found if isinstance(found, (tuple, list)) else [found]
            assert not any(isinstance(part, np.ndarray) for part in parts), exercise.name

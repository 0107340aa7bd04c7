"""Frames carry plain data unchanged, and whatever else arrives is refused and nothing more."""

from __future__ import annotations

import contextlib
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attention_lab.checking.outcome import Foreign
from attention_lab.exercises.model import Fn
from attention_lab.grading.sandboxed import wire


def there_and_back(value: Any) -> Any:
    return wire.decode(wire.encode(value)[4:])


#: How long it takes is no part of what is tested, and the machine may be busy.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@unhurried
@given(plain)
def test_plain_data_arrives_unchanged(value: Any) -> None:
    assert there_and_back(value) == value


@pytest.mark.parametrize("kind", ["?", "i1", "u8", "<i4", ">i4", "f2", "f4", ">f8", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_arrays_arrive_unchanged(kind: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    back, _ = there_and_back((array, array.T.copy()))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert np.array_equal(back, array)


def test_what_is_not_plain_arrives_as_a_foreign_object() -> None:
    assert there_and_back(Foreign("set", "{1}")) == Foreign("set", "{1}")
    assert there_and_back(Fn("causal_mean", {"a": 1})) == Fn("causal_mean", {"a": 1})
    assert there_and_back(...) is ...
    assert there_and_back((b"ab", np.ones(2), b""))[::2] == (b"ab", b"")
    assert there_and_back(10**40) == Foreign("int", "a very large whole number")
    assert there_and_back({1}) == Foreign("set", "")
    assert there_and_back(np.array([None])) == Foreign("ndarray", "")


@unhurried
@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_broken(data: bytes) -> None:
    with contextlib.suppress(wire.Broken):
        wire.decode(data)


def framed(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">I", len(text)) + text + body


@pytest.mark.parametrize(
    "header",
    [
        {"array": ["O", [1], 0]},
        {"array": ["<f8", [-1], 0]},
        {"array": ["<f8", [10**9, 10**9], 0]},
        {"array": ["<f8", [2], 0]},
        {"array": ["<f8", [1], -8]},
        {"array": ["<f8", [1.0], 0]},
        {"array": ["<f8", [True], 0]},
        {"array": ["V8", [1], 0]},
        {"array": ["f8,f8", [1], 0]},
        {"array": ["<U2", [1], 0]},
        {"array": ["<f8", [1] * 40, 0]},
        {"array": "x"},
        {"bytes": [0, 9]},
        {"bytes": [-1, 2]},
        {"bytes": [0]},
        {"bytes": ["0", 1]},
        {"list": [0] * 60_000},
        {"tuple": {"a": 1}},
        {"dict": [["a"]]},
        {"fn": []},
        {"list": [], "tuple": []},
        {"eval": "1"},
        [1, 2],
        b'{"list":[' * 5000 + b"]}" * 5000,
        b"[" * 100_000,
        b"9" * 10_000,
        b"\xff",
        b"",
    ],
    ids=lambda header: str(header)[:40],
)
def test_what_is_malformed_is_refused(header: Any) -> None:
    with pytest.raises(wire.Broken):
        wire.decode(framed(header, b"12345678"))


def test_too_much_is_not_sent() -> None:
    with pytest.raises(ValueError, match="too large"):
        wire.encode(np.zeros(wire.LARGEST))

"""Plain data over a pipe: frames of JSON and raw array bytes, with limits. No pickle, and nothing is called by name.

A frame is its length (4 bytes), the length of its JSON part (4 bytes), the JSON, and the bytes of its arrays.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from attention_lab.checking.outcome import Foreign
from attention_lab.exercises.model import Fn

#: The longest frame, in bytes, the deepest nesting and the most values in one.
LARGEST, DEEPEST, MOST = 16_000_000, 12, 50_000
#: The longest JSON part where learners' code may have had a hand in it: arrays travel outside of it.
LONGEST_REPLY = 1_000_000
#: Whole numbers beyond this do not fit any array and travel as foreign objects.
_WIDEST = 2**63

_LENGTHS = struct.Struct(">II")


class Broken(Exception):
    """The other side closed the pipe, or sent what is no frame."""


def encode(value: Any) -> bytes:
    """A value as a frame: None, numbers, text, bytes, `...`, arrays, `Fn`, `Foreign`; tuples, lists, dicts of those."""
    buffers: list[bytes] = []
    header = json.dumps(_packed(value, buffers, [0]), separators=(",", ":")).encode("ascii")
    body = b"".join(buffers)
    if len(header) + len(body) > LARGEST:
        raise ValueError(f"a value of {len(header) + len(body):,} bytes is too large; at most {LARGEST:,}")
    return _LENGTHS.pack(4 + len(header) + len(body), len(header)) + header + body


def _packed(value: Any, buffers: list[bytes], place: list[int]) -> Any:
    kind = type(value)
    if kind is int and not -_WIDEST <= value < 2 * _WIDEST:
        return {"foreign": ["int", "a very large whole number"]}
    if kind in (bool, int, float, type(None)):
        return value
    if kind is str:
        return value.encode("utf-8", "replace").decode("utf-8")
    if kind is np.ndarray and value.dtype.kind in "biuf":
        return {"array": [value.dtype.str, list(value.shape), _kept(value.tobytes(), buffers, place)]}
    if kind is bytes:
        return {"bytes": [_kept(value, buffers, place), len(value)]}
    if kind in (tuple, list):
        return {kind.__name__: [_packed(item, buffers, place) for item in value]}
    if kind is dict:
        return {"dict": [[str(key), _packed(item, buffers, place)] for key, item in value.items()]}
    if kind is Fn:
        return {"fn": [value.name, _packed(dict(value.params), buffers, place)]}
    if kind is Foreign:
        return {"foreign": [_packed(value.type_name, buffers, place), _packed(value.text, buffers, place)]}
    if value is ...:
        return {"open": 1}
    return {"foreign": [kind.__name__, ""]}


def _kept(data: bytes, buffers: list[bytes], place: list[int]) -> int:
    """Put bytes behind the JSON; where they begin there."""
    buffers.append(data)
    place[0] += len(data)
    return place[0] - len(data)


def decode(frame: bytes, longest: int = LARGEST) -> Any:
    """The value of a frame without its first length. Whatever else it holds, `Broken` is all that is raised."""
    try:
        (length,) = struct.unpack_from(">I", frame)
        if length > longest:
            raise Broken(f"{length:,} bytes of JSON")
        body = memoryview(frame)[4 + length :]
        return _unpacked(json.loads(frame[4 : 4 + length]), body, 0, [0])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, struct.error) as error:
        raise Broken(f"no frame: {type(error).__name__}") from None


def _unpacked(packed: Any, body: memoryview, depth: int, count: list[int]) -> Any:
    count[0] += 1
    if depth > DEEPEST or count[0] > MOST:
        raise Broken("nested too deeply, or too many values")
    if packed is None or isinstance(packed, (bool, int, float, str)):
        return packed
    ((kind, content),) = packed.items()
    if kind != "open" and not isinstance(content, list):
        raise Broken("a value without its parts")
    if kind == "array":
        return _array(content, body)
    if kind == "bytes":
        return _bytes(content, body)
    if kind in ("tuple", "list"):
        items = [_unpacked(item, body, depth + 1, count) for item in content]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {str(key): _unpacked(item, body, depth + 1, count) for key, item in content}
    if kind == "fn":
        params = _unpacked(content[1], body, depth + 1, count)
        return Fn(str(content[0]), params if isinstance(params, Mapping) else {})
    if kind == "foreign":
        return Foreign(str(content[0])[:80], str(content[1])[:80])
    if kind == "open":
        return ...
    raise Broken("an unknown kind of value")


def _array(content: list[Any], body: memoryview) -> np.ndarray:
    kind, shape, start = np.dtype(str(content[0])), tuple(content[1]), content[2]
    sound = kind.kind in "biuf" and kind.fields is None and len(shape) <= 16
    if not sound or any(type(n) is not int or not 0 <= n <= LARGEST for n in (*shape, start)):
        raise Broken("an array that is none")
    count = math.prod(shape)
    if count * kind.itemsize > LARGEST or start + count * kind.itemsize > len(body):
        raise Broken("an array that is longer than its frame")
    if not count:
        return np.empty(shape, kind)
    return np.frombuffer(body, kind, count, start).reshape(shape).copy()


def _bytes(content: list[Any], body: memoryview) -> bytes:
    start, length = content
    if any(type(n) is not int or not 0 <= n <= LARGEST for n in (start, length)) or start + length > len(body):
        raise Broken("bytes that are longer than their frame")
    return bytes(body[start : start + length])


def send(descriptor: int, value: Any) -> None:
    """Write a value as one frame."""
    data = memoryview(encode(value))
    while data:
        try:
            data = data[os.write(descriptor, data) :]
        except OSError as error:
            raise Broken(f"the pipe is closed ({error.strerror})") from None


def receive(descriptor: int, longest: int = LARGEST) -> Any:
    """Read one frame, with at most `longest` bytes of JSON, and return its value."""
    (length,) = struct.unpack(">I", _exactly(descriptor, 4))
    if not 4 <= length <= LARGEST + 4:
        raise Broken(f"a frame of {length:,} bytes")
    return decode(_exactly(descriptor, length), longest)


def _exactly(descriptor: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        try:
            part = os.read(descriptor, min(length, 1 << 20))
        except OSError as error:
            raise Broken(f"the pipe is closed ({error.strerror})") from None
        if not part:
            raise Broken("the pipe is closed")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)

"""From a wrong result to a sentence: the first property that fails, and the relation to what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attention_lab import probes
from attention_lab.checking.caller import Caller, LocalCaller, cast, parameter_names
from attention_lab.checking.outcome import Foreign, Outcome, close, kinds_fit
from attention_lab.exercises.model import Case, Exercise, Fn

SHOWN = 42  # the most entries of an array that a card prints


@dataclass(frozen=True)
class Failure:
    """A case on which the candidate did not do what the reference does, and a way to call it again."""

    exercise: Exercise
    case: Case
    dtype: str
    reference: Outcome
    got: Outcome
    call: Caller
    reveal: bool = True  # whether a sentence may tell the expected number

    def reference_on(self, case: Case) -> Outcome:
        """What the reference does on another case."""
        return LocalCaller(self.exercise.reference, self.exercise.framework, reference=True)(case, self.dtype)


def explain(failure: Failure) -> str:
    """One or two sentences on a result that is not the expected one."""
    got, reference, name = failure.got, failure.reference, failure.exercise.name
    if reference.error:
        what = f"raised {got.error}" if got.error else "gave a result"
        if isinstance(got.value, Foreign) and got.value.type_name == reference.error:
            what = "gave one back as a result, which stops nobody"
        return f"This call should raise {_article(reference.error)}; {name} {what}."
    wrong_type = _wrong_type(failure, got.value, reference.value)
    if wrong_type:
        return wrong_type
    if got.changed and not reference.changed:
        return f"{name} changes its input: after the call, {got.changed[0]} is not what it was before."
    if isinstance(reference.value, (tuple, list)):
        return _explain_parts(failure)
    if not isinstance(reference.value, np.ndarray) or reference.value.ndim == 0:
        return _explain_number(failure)
    for check in (_shape, _kind, _finite, _unsteady, _transform, _row_sums, _looks_ahead, _mixes_batch, _relation):
        sentence = check(failure)
        if sentence:
            return sentence
    return _first_wrong_entry(failure)


def explain_error(failure: Failure) -> str:
    """One sentence on an exception of the candidate's."""
    got, name = failure.got, failure.exercise.name
    text = f": {got.error_text}" if got.error_text else ""
    sentence = f"{name} raised {_article(got.error)}{text.rstrip('.')}."
    if got.error == "SystemExit":
        sentence = f"{name} tries to end Python ({got.error}); a function hands back a value with return."
    if got.error == "RecursionError":
        sentence = f"{name} calls itself without end."
    return sentence


def _article(word: str) -> str:
    return f"an {word}" if word[:1] in "AEIOU" else f"a {word}"


# --- type, shape, kind of number -------------------------------------------------------------------------------


def _wrong_type(failure: Failure, got: Any, expected: Any) -> str:
    name = failure.exercise.name
    wanted = _wanted(failure, expected)
    if expected is None:
        return "" if got is None else f"{name} gave {_kind_name(got)}; here the answer is None."
    if got is None:
        return f"{name} gave None, not {wanted}: does every path through it end in a return with a value?"
    if isinstance(got, Foreign):
        if got.type_name in ("generator", "coroutine"):
            return f"{name} gave a {got.type_name}, not {wanted}: use return, without yield or async."
        if got.type_name.startswith("array of "):
            return f"{name} gave an {got.type_name}, not {wanted}."
        return f"{name} gave an object of type {got.type_name}, not {wanted}."
    if isinstance(expected, (tuple, list)):
        if not isinstance(got, (tuple, list)):
            return f"{name} gave {_kind_name(got)}, not {wanted}."
        return "" if len(got) == len(expected) else f"{name} gave {len(got)} values, not {len(expected)}."
    if isinstance(got, (tuple, list)):
        return f"{name} gave a {type(got).__name__}, not {wanted}."
    if np.ndim(expected) > 0 and not isinstance(got, np.ndarray):
        return f"{name} gave a single {_kind_name(got)}, not {wanted}."
    return ""


def _wanted(failure: Failure, expected: Any) -> str:
    array = "a tensor" if failure.exercise.framework == "torch" else "an array"
    if isinstance(expected, np.ndarray) and expected.ndim:
        axes = "" if failure.exercise.returns == "(…)" else f"{failure.exercise.returns} = "
        return f"{array} of shape {axes}{_shape_text(expected)}"
    if isinstance(expected, (tuple, list)):
        return f"{len(expected)} values"
    return {"b": "True or False", "i": "a whole number"}.get(np.asarray(expected).dtype.kind, "a number")


def _kind_name(value: Any) -> str:
    return f"array of shape {_shape_text(value)}" if isinstance(value, np.ndarray) else type(value).__name__


def _shape_text(array: np.ndarray) -> str:
    return str(tuple(int(n) for n in array.shape))


def _shape(failure: Failure) -> str:
    got, expected = np.asarray(failure.got.value), failure.reference.value
    if got.shape == expected.shape:
        return ""
    base = (
        f"{failure.exercise.name} gave shape {_shape_text(got)}; "
        f"{failure.exercise.returns} is {_shape_text(expected)} here."
    )
    if got.ndim == expected.ndim and got.shape[:-2] + got.shape[-2:][::-1] == expected.shape:
        return f"{base} The last two axes are exchanged."
    if sorted(got.shape) == sorted(expected.shape):
        return f"{base} The axes are there, in another order."
    if got.ndim < expected.ndim:
        return f"{base} Something was summed, averaged or picked along an axis too many."
    if got.ndim > expected.ndim:
        return f"{base} An axis is left over that should be summed away or was added."
    return base


def _kind(failure: Failure) -> str:
    got, expected = np.asarray(failure.got.value), np.asarray(failure.reference.value)
    if kinds_fit(got, expected):
        return ""
    wanted = {"b": "True and False", "i": "whole numbers"}.get(expected.dtype.kind, "floating-point numbers")
    return f"{failure.exercise.name} gave numbers of type {got.dtype}; it should give {wanted}."


# --- properties ---------------------------------------------------------------------------------------------


def _finite(failure: Failure) -> str:
    got, expected = failure.got.value, failure.reference.value
    if got.dtype.kind != "f" or np.isfinite(got).all() or not np.isfinite(expected).all():
        return ""
    what = "NaN (not a number)" if np.isnan(got).any() else "an infinite number"
    place = _index_text(np.argwhere(~np.isfinite(got))[0])
    return f"The result holds {what} at {place}, where every number should be finite."


def _row_sums(failure: Failure) -> str:
    got, expected = failure.got.value, failure.reference.value
    if not probes.rows_sum_to_one(expected) or probes.rows_sum_to_one(got):
        return ""
    sums = np.asarray(got.sum(axis=-1))
    place = int(np.argmax(np.abs(sums - 1.0)))
    if np.allclose(sums, 1.0, atol=1e-5):
        return "Some entries are negative, where each is a share between 0 and 1."
    column = " The columns do." if got.ndim > 1 and np.allclose(got.sum(axis=-2), 1.0, atol=1e-5) else ""
    return f"The rows do not sum to 1: one sums to {sums.flat[place]:.4g}.{column}"


def _unsteady(failure: Failure) -> str:
    again = failure.call(failure.case, failure.dtype)
    if not isinstance(again.value, np.ndarray) or again.value.shape != failure.got.value.shape:
        return ""
    if np.array_equal(again.value, failure.got.value, equal_nan=failure.got.value.dtype.kind == "f"):
        return ""
    return "Two identical calls give different results: something random, or kept from one call to the next, is in it."


def _perturbed(failure: Failure, index: Any, enough: Callable[[np.ndarray], bool]) -> Iterator[tuple[str, Case]]:
    names = parameter_names(failure.exercise.reference, len(failure.case.args))
    for place, (name, arg) in enumerate(zip(names, failure.case.args, strict=True)):
        if isinstance(arg, np.ndarray) and arg.dtype.kind == "f" and enough(arg):
            args = list(failure.case.args)
            args[place] = probes.nudged(arg, index)
            yield name, replace(failure.case, args=tuple(args))


def _moved(after: Outcome, before: Any, dtype: str) -> np.ndarray | None:
    if not isinstance(after.value, np.ndarray) or after.value.shape != before.shape:
        return None
    return ~close(after.value, before, dtype)


def _reaches(failure: Failure, case: Case, part: Any) -> bool:
    """Whether `case`, a perturbed copy, moves `part` of the candidate's result and not of the reference's."""
    ours = _moved(failure.reference_on(case), failure.reference.value, failure.dtype)
    theirs = _moved(failure.call(case, failure.dtype), failure.got.value, failure.dtype)
    return ours is not None and theirs is not None and not ours[part].any() and bool(theirs[part].any())


def _looks_ahead(failure: Failure) -> str:
    shape = failure.reference.value.shape
    if len(shape) < 2 or shape[-2] < 2:
        return ""
    rows = (..., slice(0, -1), slice(None))
    for name, case in _perturbed(failure, (..., -1, slice(None)), lambda a: a.ndim >= 2 and a.shape[-2] == shape[-2]):
        if _reaches(failure, case, rows):
            what = "It looks ahead" if _in_order(failure, name) else "It mixes rows"
            return f"{what}: changing the last row of {name} changes earlier rows of the result."
    return ""


def _in_order(failure: Failure, name: str) -> bool:
    """Whether rows are read in order: changing the first row of `name` moves later rows of the right result."""
    shape = failure.reference.value.shape
    for other, case in _perturbed(failure, (..., 0, slice(None)), lambda a: a.ndim >= 2 and a.shape[-2] == shape[-2]):
        if other == name:
            moved = _moved(failure.reference_on(case), failure.reference.value, failure.dtype)
            return moved is not None and bool(moved[..., 1:, :].any())
    return False


def _mixes_batch(failure: Failure) -> str:
    shape = failure.reference.value.shape
    if len(shape) < 3 or shape[0] < 2:
        return ""
    for name, case in _perturbed(failure, 0, lambda a: a.ndim >= 3 and a.shape[0] == shape[0]):
        if _reaches(failure, case, slice(1, None)):
            return f"It mixes batch entries: changing entry 0 of {name} changes the result for the other entries."
    return ""


# --- relations to what was expected -------------------------------------------------------------------------


def _same(got: np.ndarray, expected: np.ndarray) -> bool:
    return bool(close(got, expected, "float32").all())


def _floats(failure: Failure) -> tuple[np.ndarray, np.ndarray] | None:
    """What came back and what was expected, in float64, where both are finite numbers and there are several."""
    got, expected = failure.got.value, failure.reference.value
    if expected.dtype.kind != "f" or expected.size < 3:
        return None
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    return (got, expected) if np.isfinite(got).all() and np.isfinite(expected).all() else None


def _transform(failure: Failure) -> str:
    pair = _floats(failure)
    if pair is None:
        return _boolean_relation(failure) if failure.reference.value.dtype.kind == "b" else ""
    if _same(*pair):
        return (
            "The numbers agree to about four digits and no further: "
            "precision is lost (float32, rounding), or something tiny is added somewhere."
        )
    return _by_transform(*pair)


def _relation(failure: Failure) -> str:
    pair = _floats(failure)
    return "" if pair is None else _by_factor(*pair) or _by_row(*pair) or _by_place(*pair)


def _by_transform(got: np.ndarray, expected: np.ndarray) -> str:
    if np.ptp(got) == 0:
        return f"Every entry of the result is {got.flat[0]:.4g}."
    square = expected.ndim >= 2 and expected.shape[-1] == expected.shape[-2]
    if square and _same(np.swapaxes(got, -1, -2), expected):
        return "The result is transposed: rows and columns are exchanged."
    if _same(np.sort(got, axis=-1), np.sort(expected, axis=-1)):
        return "Each row holds the right numbers in another order."
    if expected.ndim >= 2 and _same(got[..., ::-1, :], expected):
        return "The rows are right and come in reverse order."
    if expected.ndim >= 2 and expected.shape[-2] > 2:
        if _same(got[..., 1:, :], expected[..., :-1, :]):
            return "The rows are one place too late: row t of the result is what row t-1 should be."
        if _same(got[..., :-1, :], expected[..., 1:, :]):
            return "The rows are one place too early: row t of the result is what row t+1 should be."
    if np.abs(got).max() < 50 and _same(np.exp(got), expected):
        return "The result is the logarithm of what is asked."
    if (got > 0).all() and _same(np.log(got), expected):
        return "The result is the exponential of what is asked."
    return ""


def _by_factor(got: np.ndarray, expected: np.ndarray) -> str:
    solid = np.abs(expected) > 1e-6
    if not solid.any():
        return ""
    factor = float(np.median(got[solid] / expected[solid]))
    if abs(factor) > 1e-9 and _same(got, factor * expected):
        if np.isclose(factor, -1.0, rtol=1e-6):
            return "Every number has the wrong sign."
        return f"Every number is {factor:.4g} times what it should be."
    offset = float(np.median(got - expected))
    if _same(got, expected + offset):
        return f"Every number is {abs(offset):.4g} too {'large' if offset > 0 else 'small'}."
    return ""


def _by_row(got: np.ndarray, expected: np.ndarray) -> str:
    if expected.ndim < 2 or expected.shape[-1] < 2:
        return ""
    norms = (expected**2).sum(axis=-1, keepdims=True)
    factors = (got * expected).sum(axis=-1, keepdims=True) / np.where(norms > 0, norms, 1.0)
    if np.ptp(factors) > 1e-3 and (np.abs(factors) > 1e-6).all() and _same(got, factors * expected):
        return (
            "Each row points the right way and is scaled by a factor of its own "
            f"({factors.min():.3g} to {factors.max():.3g} times what it should be)."
        )
    offsets = np.mean(got - expected, axis=-1, keepdims=True)
    if np.ptp(offsets) > 1e-3 and _same(got, expected + offsets):
        return "Each row is off by a constant of its own."
    return ""


def _by_place(got: np.ndarray, expected: np.ndarray) -> str:
    if expected.ndim == 1:
        good = close(got, expected, "float32")
        unit = "entry"
    else:
        good = np.asarray(close(got, expected, "float32").reshape(-1, *expected.shape[-2:]).all(axis=(0, 2)))
        unit = "row"
    if good.size < 2 or good.all() or not good.any():
        return ""
    wrong = [int(i) for i in np.flatnonzero(~good)]
    if wrong == [0]:
        return f"Only the first {unit} is wrong."
    if wrong == [good.size - 1]:
        return f"Only the last {unit} is wrong."
    right = [int(i) for i in np.flatnonzero(good)]
    if right == [0]:
        return f"Only the first {unit} is right."
    if right == [good.size - 1]:
        return f"Only the last {unit} is right."
    if unit == "row" and got.ndim == 2:
        return f"Rows {_listed(wrong)} are wrong, the others right." if len(wrong) > 1 else f"Row {wrong[0]} is wrong."
    return ""


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def _boolean_relation(failure: Failure) -> str:
    got, expected = np.asarray(failure.got.value), failure.reference.value
    if np.array_equal(~got, expected):
        return "True and False are exchanged everywhere."
    if expected.ndim == 2 and expected.shape[0] == expected.shape[1] and np.array_equal(got.T, expected):
        return "The result is transposed: rows and columns are exchanged."
    missing, extra = int((expected & ~got).sum()), int((got & ~expected).sum())
    if missing and not extra:
        return f"{missing} of {int(expected.sum())} entries that should be True are False."
    if extra and not missing:
        return f"{extra} of {int((~expected).sum())} entries that should be False are True."
    return ""


def _explain_number(failure: Failure) -> str:
    got, expected = np.asarray(failure.got.value), np.asarray(failure.reference.value)
    if got.ndim:
        return f"{failure.exercise.name} gave an array of shape {_shape_text(got)}, not {_wanted(failure, expected)}."
    sentence = _kind(failure)
    if sentence:
        return sentence
    if got.dtype.kind == "f" and not np.isfinite(got):
        return f"The result is {got}, where it should be finite."
    if expected.dtype.kind == "b":
        return f"The result is {bool(got)}."
    ratio, gap = float(got) / float(expected) if expected else 0.0, float(got) - float(expected)
    if abs(ratio - 1) < 5e-4:
        if expected.dtype.kind == "f":
            return "The number is nearly right and no more: precision is lost (float32, rounding)."
        return f"The result is {abs(gap):g} too {'large' if gap > 0 else 'small'}."
    return f"The result is {ratio:.4g} times what it should be." if ratio else "The result is another number."


def _explain_parts(failure: Failure) -> str:
    for place, (got, expected) in enumerate(zip(failure.got.value, failure.reference.value, strict=True)):
        part = replace(
            failure, got=replace(failure.got, value=got), reference=replace(failure.reference, value=expected)
        )
        whole = not isinstance(got, (Foreign, tuple, list))  # a list of parts has no shape
        same_shape = whole and np.shape(got) == np.shape(expected)
        if not same_shape or not close(np.asarray(got), np.asarray(expected), failure.dtype).all():
            base = f"Value number {place + 1} of the {len(failure.reference.value)} returned is wrong."
            if place == 0 and np.ndim(expected) and not all(np.ndim(part) for part in failure.reference.value):
                base = ""  # one result, and a number that was counted meanwhile
            sentence = _wrong_type(part, got, expected)
            if not sentence and isinstance(got, np.ndarray) and isinstance(expected, np.ndarray):
                sentence = _shape(part) or _kind(part) or _finite(part) or _relation(part)
                if not sentence and np.ndim(expected) > 0:
                    sentence = _first_wrong_entry(part)
            return f"{base} {sentence}".strip()
    return "The values returned have another structure."


def _first_wrong_entry(failure: Failure) -> str:
    got, expected = failure.got.value, failure.reference.value
    wrong = np.argwhere(~close(got, expected, failure.dtype))
    place = tuple(int(i) for i in wrong[0])
    should = f" and should be {expected[place]:.4g}" if failure.reveal else ""
    if f"{got[place]:.4g}" == f"{expected[place]:.4g}":
        should = f", which is off by {abs(float(got[place]) - float(expected[place])):.1g}" if failure.reveal else ""
    return (
        f"{len(wrong)} of {expected.size} entries are wrong; the first, at {_index_text(wrong[0])}, "
        f"is {got[place]:.4g}{should}."
    )


def _index_text(index: np.ndarray) -> str:
    return "[" + ", ".join(str(int(i)) for i in index) + "]"


# --- a call, as text ----------------------------------------------------------------------------------------


def call_text(exercise: Exercise, case: Case) -> str:
    """The call of a case, with its small arguments written out: "embed(ids=[0 2], table=[[…]])"."""
    names = parameter_names(exercise.reference, len(case.args))
    if case.script in probes.TEXTS:
        calls, names = probes.TEXTS[case.script](exercise.name, case.args)
        calls = [f"# {case.note}", *calls] if case.note else calls
    else:
        calls = [f"{exercise.name}({', '.join(names)})" + (f"   # {case.note}" if case.note else "")]
    lines = [f"{n} = {_argument_text(a, 4 + len(n))}" for n, a in zip(names, case.args, strict=False)]
    return "\n".join([*calls, *(f"  {line}" for line in lines)])


def _argument_text(value: Any, indent: int) -> str:
    if isinstance(value, Fn):
        params = ", ".join(f"{k}={v}" for k, v in value.params.items() if not isinstance(v, np.ndarray))
        what = "" if value.name in probes.FACTORIES else "the function "
        return f"{what}{value.name}({params})" if params else f"{what}{value.name}"
    if isinstance(value, np.ndarray):
        return _array_text(value, indent)
    if isinstance(value, tuple):
        return "(" + ", ".join(_argument_text(v, indent) for v in value) + ")"
    return repr(value)


def _array_text(array: np.ndarray, indent: int = 0) -> str:
    shape = f"shape {_shape_text(array)}"
    if array.size > SHOWN:
        return f"an array of {shape}"
    text = np.array2string(array, precision=4, suppress_small=True, separator=", ", threshold=SHOWN + 1)
    return text.replace("\n", "\n" + " " * indent) + (f"  ({shape})" if array.ndim > 1 else "")


def difference_text(got: Any, expected: Any) -> str:
    """Where two arrays differ most, and by how much: for numbers that look the same when they are printed."""
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray) or got.shape != expected.shape:
        return ""
    if got.dtype.kind not in "fiu" or got.size == 0:
        return ""
    gap = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    place = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return f"the largest difference is {gap[place]:.1g}" + (f", at {_index_text(np.array(place))}" if gap.ndim else "")


def value_text(outcome: Outcome) -> str:
    """What a call gave, as text for a card."""
    if outcome.error:
        return f"{outcome.error}: {outcome.error_text}" if outcome.error_text else outcome.error
    value = outcome.value
    if isinstance(value, np.ndarray) and value.ndim:
        return _array_text(value)
    if isinstance(value, np.ndarray):
        return f"{value.item():.6g}" if value.dtype.kind == "f" else str(value.item())
    if isinstance(value, Foreign):
        return value.text or value.type_name
    if isinstance(value, (tuple, list)):
        parts = [value_text(Outcome(value=v)) for v in value[:SHOWN]] + (["…"] if len(value) > SHOWN else [])
        return ("\n" if any("\n" in part for part in parts) else ", ").join(parts)
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


__all__ = ["Failure", "call_text", "cast", "explain", "explain_error", "value_text"]

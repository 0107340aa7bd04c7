"""What an exercise, a mistake, a question and a case are: plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: The properties that a "find the bug" question offers.
PROPERTIES: tuple[str, ...] = (
    "looks ahead",
    "does not see itself",
    "rows do not sum to 1",
    "mixes batch entries",
    "scrambles words",
    "forgets order",
    "changes its input",
    "ignores the query",
)


@dataclass(frozen=True)
class Fn:
    """A function that a case hands to a candidate, by name, so that a case can be sent to another process.

    Attributes:
        name: a key of `attention_lab.probes.FUNCTIONS`, or of `FACTORIES` for an object made for each call.
        params: keyword arguments bound to it.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One call of a candidate. What it should give is what the reference gives (an exception included).

    Attributes:
        args: NumPy arrays, numbers, strings, `Fn`s, and tuples of those, in the order of the signature.
        note: what is special about it, for a card: "a row of zeros". Empty for an ordinary case.
        script: how the candidate is called, a key of `attention_lab.probes.SCRIPTS`; "call" is `candidate(*args)`.
    """

    args: tuple[Any, ...]
    note: str = ""
    script: str = "call"


@dataclass(frozen=True)
class Mistake:
    """A working wrong implementation with a name.

    Attributes:
        id: short, in snake_case, unique within the exercise: "unscaled".
        diagnosis: one sentence that says what the code does, not what to write.
        question: one question that leads on, without the fix.
        answer: the wrong implementation; or
        switches: keyword arguments for the exercise's `template` that turn it into this mistake. Mistakes whose
            switches do not overlap are also recognised as pairs.
    """

    id: str
    diagnosis: str
    question: str
    answer: Callable[..., Any] | None = None
    switches: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Exercise:
    """A function or class that the learner writes.

    Attributes:
        name: the name under which it is written and looked up.
        chapter: two digits, "04".
        summary: one line: what it computes.
        returns: axes of the result, "(…, T, S)", for messages about shapes; "float", "int" for numbers.
        reference: a right implementation; it receives float64.
        cases: inputs from a generator. Sizes pairwise different, values that do not saturate, plus edge cases.
        mistakes: at least four.
        accepted: unusual right implementations, by name, that must pass.
        hints: three: a question, a property that fails, a place in the code.
        template: a right implementation with keyword switches, each of which makes a mistake.
        framework: "numpy" or "torch": what the arrays of a case become before a candidate sees them.
    """

    name: str
    chapter: str
    summary: str
    returns: str
    reference: Callable[..., Any]
    cases: Callable[[np.random.Generator], Sequence[Case]]
    mistakes: Sequence[Mistake]
    accepted: Mapping[str, Callable[..., Any]]
    hints: tuple[str, str, str]
    template: Callable[..., Any] | None = None
    framework: str = "numpy"


@dataclass(frozen=True)
class Question:
    """A value that the learner commits to with `answer(name, value)`.

    Attributes:
        name: begins with the chapter: "04_entropy_at_64".
        chapter: two digits.
        prompt: the question in one sentence.
        right: the right value, or a function without arguments that computes it.
        because: what is said after a right answer: why it is so.
        wrong: known wrong values and what each of them overlooks. For a choice: every wrong choice.
        otherwise: what is said of any other value: a question that leads on.
        choices: the values offered, when it is a choice; compared as text, ignoring case and outer blanks.
        tolerance: for numbers, the largest relative error that passes (0: exact).
        hints: one to three.
    """

    name: str
    chapter: str
    prompt: str
    right: Any
    because: str
    wrong: Mapping[Any, str]
    otherwise: str
    choices: tuple[str, ...] = ()
    tolerance: float = 0.0
    hints: tuple[str, ...] = ()

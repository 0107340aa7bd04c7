"""What a learner can move. A control is data: `browser/controls.js` draws it, Python checks what returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol


class Control(Protocol):
    """One keyword of the function that is explored."""

    @property
    def name(self) -> str: ...
    @property
    def value(self) -> Any: ...
    def spec(self) -> dict[str, Any]:
        """What the browser needs in order to draw it, as plain JSON."""

    def to_python(self, sent: Any) -> Any:
        """The keyword's value for what the browser sent; ValueError where it could not have sent that."""

    def to_browser(self, value: Any) -> Any:
        """What the browser shows for a value of the keyword."""

    def values(self) -> list[Any]:
        """Every value that it can have, in the browser's order."""


@dataclass(frozen=True)
class Slider:
    """A number from `low` to `high` in steps.

    Args:
        name: the keyword of the function.
        low, high, value: the ends and the start. Whole numbers with a whole `step` stay `int`.
        step: the size of a step.
        label: what stands before the slider; the name, without underscores, if it is left out.
        unit: what stands after the value, such as "nats".

    Raises:
        ValueError: if the ends are not in order, or the start or the step do not fit between them.
    """

    name: str
    low: float
    high: float
    value: float
    step: float = 1
    label: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"slider {self.name!r}: low {self.low} is not below high {self.high}")
        if not self.low <= self.value <= self.high:
            raise ValueError(f"slider {self.name!r}: the start {self.value} is not between {self.low} and {self.high}")
        if not 0 < self.step <= self.high - self.low:
            raise ValueError(f"slider {self.name!r}: {self.step} is no step between {self.low} and {self.high}")

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.value, self.step))

    def spec(self) -> dict[str, Any]:
        shared = {"kind": "slider", "name": self.name, "label": _label(self), "unit": self.unit}
        return shared | {"low": self.low, "high": self.high, "step": self.step, "decimals": _decimals(self)}

    def to_python(self, sent: Any) -> float:
        if isinstance(sent, bool) or not isinstance(sent, int | float) or not math.isfinite(sent):
            raise ValueError(f"{self.name} is {sent!r}, which is not a number")
        steps = round((min(max(sent, self.low), self.high) - self.low) / self.step)
        value = min(self.low + steps * self.step, self.high)
        return round(value) if self.whole else round(float(value), _decimals(self) + 3)

    def to_browser(self, value: float) -> float:
        return value

    def values(self) -> list[float]:
        return [self.to_python(self.low + i * self.step) for i in range(_steps(self.low, self.high, self.step) + 1)]

    def coarser(self) -> Slider:
        """The same slider with steps twice as long; its start is still one of its values, its ends may move inwards."""
        step = 2 * self.step
        down, up = _steps(self.low, self.value, step), _steps(self.value, self.high, step)
        return replace(self, low=self.value - down * step, high=self.value + up * step, step=step)


@dataclass(frozen=True)
class Choice:
    """One of a few options, each a string or a number.

    Args:
        name: the keyword of the function.
        options: what can be chosen.
        value: the option at the start.
        label: what stands before it; the name if it is left out.

    Raises:
        ValueError: if there are no options, or the start is not one of them.
    """

    name: str
    options: Sequence[Any]
    value: Any
    label: str = ""

    def __post_init__(self) -> None:
        if self.value not in list(self.options):
            raise ValueError(f"choice {self.name!r}: {self.value!r} is not one of {list(self.options)!r}")

    def spec(self) -> dict[str, Any]:
        return {"kind": "choice", "name": self.name, "label": _label(self), "options": [str(o) for o in self.options]}

    def to_python(self, sent: Any) -> Any:
        if isinstance(sent, bool) or not isinstance(sent, int) or not 0 <= sent < len(self.options):
            raise ValueError(f"{self.name} has no option number {sent!r}")
        return self.options[sent]

    def to_browser(self, value: Any) -> int:
        return list(self.options).index(value)

    def values(self) -> list[Any]:
        return list(self.options)


@dataclass(frozen=True)
class Toggle:
    """On or off.

    Args:
        name: the keyword of the function.
        value: whether it is on at the start.
        label: what stands beside the box; the name if it is left out.
    """

    name: str
    value: bool = False
    label: str = ""

    def spec(self) -> dict[str, Any]:
        return {"kind": "toggle", "name": self.name, "label": _label(self)}

    def to_python(self, sent: Any) -> bool:
        if not isinstance(sent, bool):
            raise ValueError(f"{self.name} is {sent!r}, which is neither on nor off")
        return sent

    def to_browser(self, value: bool) -> bool:
        return bool(value)

    def values(self) -> list[bool]:
        return [False, True]


def _label(control: Slider | Choice | Toggle) -> str:
    return control.label or control.name.replace("_", " ")


def _steps(low: float, high: float, step: float) -> int:
    """How many whole steps fit between two numbers."""
    return math.floor((high - low) / step + 1e-9)


def _decimals(slider: Slider) -> int:
    """Digits after the point that tell one step from the next."""
    if slider.whole:
        return 0
    return max((len(f"{number:.6f}".rstrip("0").partition(".")[2]) for number in (slider.step, slider.low)), default=0)

"""What a learner's notebook imports in place of the course, of charts and of widgets: harmless, and knowing nothing."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

#: Packages that have no part in marks. The course itself is among them, but for a few modules of plain data.
_NAMES = ("attention_lab", "course_setup", "matplotlib", "seaborn", "plotly", "ipywidgets", "anywidget", "IPython")


class Nothing:
    """Takes any call, attribute, item and arithmetic, and gives itself; empty, zero, false where a value is asked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Nothing:
        return self

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Nothing:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __float__(self) -> float:
        return 0.0

    def __int__(self) -> int:
        return 0

    def _same(self, other: Any) -> Nothing:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __matmul__ = __rmatmul__ = _same


class NothingModule(ModuleType):
    """A module in which every name is a `Nothing`."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.split(".", 1)[0] in _NAMES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return NothingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def _unchanged(thing: Any = None, *args: Any, **kwargs: Any) -> Any:
    return thing


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _counter(iterable: Any = (), *args: Any, **kwargs: Any) -> Any:
    return iterable


def install(plain: dict[str, ModuleType], answers: Callable[[str, Any], None]) -> None:
    """Put the stand-ins where `import` finds them.

    Args:
        plain: modules of the course that hold plain data, by full name.
        answers: called with the name of a question and the value that was answered.
    """
    sys.meta_path.insert(0, _Finder())
    course = NothingModule("attention_lab")
    course.__spec__ = importlib.machinery.ModuleSpec("attention_lab", None, is_package=True)
    vars(course).update(exercise=_unchanged, answer=answers, hint=_nothing, progress=_nothing)
    sys.modules["attention_lab"] = course
    for name, module in plain.items():
        sys.modules[name] = module
        setattr(course, name.rpartition(".")[2], module)
    for name in ("tqdm", "tqdm.auto", "tqdm.notebook", "tqdm.std"):
        bars = ModuleType(name)
        vars(bars).update(tqdm=_counter, trange=range, __path__=[])
        bars.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = bars
        if "." in name:
            setattr(sys.modules["tqdm"], name.rpartition(".")[2], bars)

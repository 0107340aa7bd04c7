"""Does the environment that runs this hold what pyproject.toml asks for?

    python -m course_setup.requirements PYPROJECT [EXTRA ...]

prints what is missing, a line each, and exits with 1 when anything is.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from packaging.requirements import Requirement


def declared(pyproject: Path, extras: Iterable[str] = ()) -> list[Requirement]:
    """The requirements of pyproject.toml, and those of the named extras."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [Requirement(line) for line in lines]


def installed_version(name: str) -> str | None:
    """The version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def unmet(needed: Iterable[Requirement], version_of: Callable[[str], str | None] = installed_version) -> list[str]:
    """A line for each requirement that is missing or outside its range, for example `numpy>=2.1,<3 (here: 1.26.4)`."""
    lines = []
    for requirement in needed:
        version = version_of(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            lines.append(f"{requirement.name}{requirement.specifier} (here: {version or 'not installed'})")
    return lines


def main(arguments: list[str]) -> int:
    """Print what is unmet."""
    lines = unmet(declared(Path(arguments[0]), arguments[1:]))
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

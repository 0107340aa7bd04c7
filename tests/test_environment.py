"""pyproject.toml, environment.yml and the locks agree: names and ranges are compared, with one map for the names."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEST_EXTRA = PROJECT["optional-dependencies"]["test"]
NBGRADER_EXTRA = PROJECT["optional-dependencies"]["nbgrader"]

#: conda-forge's names where they are not the index's own (after `_` and `-` are made one).
CONDA_NAMES = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}
#: What only conda has to be told.
CONDA_ONLY = {"python", "pip"}
PYTHONS = ["3.11.0", "3.12.0", "3.13.0"]
SYSTEMS = {
    "linux": {"sys_platform": "linux", "os_name": "posix", "platform_system": "Linux"},
    "macos": {"sys_platform": "darwin", "os_name": "posix", "platform_system": "Darwin"},
    "windows": {"sys_platform": "win32", "os_name": "nt", "platform_system": "Windows"},
}


def conda_differences(project: dict, environment: dict) -> list[str]:
    """A line for each name or range in which environment.yml and pyproject.toml disagree."""
    theirs = {}
    for line in environment["dependencies"]:
        if isinstance(line, str):
            name, spec = re.fullmatch(r"([\w.-]+)\s*(.*)", line).groups()
            theirs[canonicalize_name(name)] = range_of(spec)
    ours = {"python": range_of(project["requires-python"])}
    for requirement in map(Requirement, project["dependencies"]):
        name = canonicalize_name(requirement.name)
        ours[CONDA_NAMES.get(name, name)] = range_of(str(requirement.specifier))
    names = sorted((ours.keys() | theirs.keys()) - (CONDA_ONLY - {"python"}))
    return [
        f"{name}: pyproject {ours.get(name)}, conda {theirs.get(name)}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def range_of(spec: str) -> frozenset[str]:
    """The parts of a version range, in no order."""
    return frozenset(part.strip() for part in spec.split(",") if part.strip())


def conda_environment() -> dict:
    """environment.yml as data."""
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def lock(name: str) -> list[Requirement]:
    """The lines of a lock."""
    lines = (ROOT / "locks" / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


# ---------------------------------------------------------------- conda


def test_environment_yml_and_pyproject_agree():
    assert conda_differences(PROJECT, conda_environment()) == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("numpy>=2.1,<3", "numpy>=2.1,<4", "numpy"),
        ("pytorch-cpu>=2.7,<3", "pytorch-cpu", "pytorch-cpu"),
        ("python>=3.11,<3.14", "python>=3.11", "python"),
        ("tqdm>=4.66,<5", "pandas>=2", "pandas"),
    ],
)
def test_a_difference_is_found(old, new, named):
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert old in text
    differences = conda_differences(PROJECT, yaml.safe_load(text.replace(old, new)))
    assert any(line.startswith(f"{named}:") for line in differences)


def test_conda_uses_one_channel_and_no_build_strings():
    environment = conda_environment()
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    for line in environment["dependencies"]:
        if isinstance(line, str):
            assert re.fullmatch(r"[\w-]+([<>]=?[\d.]+(,[<>]=?[\d.]+)?)?", line), line
        else:
            assert line == {"pip": ["-e ."]}


# ---------------------------------------------------------------- locks


def marker_environment(system: str, python: str) -> dict[str, str]:
    """The values that markers ask for, on `system` with `python`."""
    return SYSTEMS[system] | {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "platform_machine": "arm64" if system == "macos" else "x86_64",
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "extra": "",
    }


def pins(names: list[str], system: str, python: str) -> dict[str, str]:
    """What the locks install there: name to version. A name that stands twice fails."""
    made: dict[str, str] = {}
    for requirement in [line for name in names for line in lock(name)]:
        if requirement.marker and not requirement.marker.evaluate(marker_environment(system, python)):
            continue
        (pin,) = requirement.specifier
        assert pin.operator == "==", f"{requirement} is no pin"
        assert canonicalize_name(requirement.name) not in made, f"{requirement} stands twice on {system}, {python}"
        made[canonicalize_name(requirement.name)] = pin.version
    return made


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (PROJECT["dependencies"], ["course.txt"]),
        (TEST_EXTRA, ["course.txt", "test.txt"]),
        (NBGRADER_EXTRA, ["course.txt", "nbgrader.txt"]),
    ],
    ids=["course", "test", "nbgrader"],
)
def test_every_requirement_is_locked_inside_its_range(wanted, names, system, python):
    locked = pins(names, system, python)
    for requirement in map(Requirement, wanted):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in {names}"
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"


def test_the_locks_bring_no_gpu_companions_no_hashes_and_one_torch():
    text = "".join(
        (ROOT / "locks" / name).read_text(encoding="utf-8") for name in ("course.txt", "test.txt", "nbgrader.txt")
    )
    assert not re.search(r"^(nvidia|cuda|triton)", text, flags=re.MULTILINE)
    assert "--hash" not in text
    assert re.findall(r"^torch.*$", text, flags=re.MULTILINE) == ["torch==2.13.0"]


def test_the_locks_are_complete_for_the_running_python():
    """Every requirement of every locked package is locked too (as far as this environment can tell)."""
    import importlib.metadata

    renew = runpy.run_path(str(ROOT / "locks" / "renew.py"))  # which says what is left out, and why
    requirements = lock("course.txt") + lock("test.txt")
    locked = {canonicalize_name(line.name): line for line in requirements}
    for name in sorted(locked):
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, needs):
            other = canonicalize_name(need.name)
            if need.marker and not need.marker.evaluate({"extra": ""}):
                continue
            if renew["LEFT_OUT"].match(other) or renew["GPU_COMPANIONS"].match(other):
                continue
            assert other in locked, f"{name} needs {need}"
            (pin,) = locked[other].specifier
            assert need.specifier.contains(pin.version, prereleases=True), f"{name} needs {need}, locked at {pin}"


# ---------------------------------------------------------------- what the code imports

#: Names of imports where they are not the distribution's (after `_` and `-` are made one).
DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml"}
#: Imported where they are there, and said so where they are not.
OPTIONAL = {"dask", "distributed"}


def imported(folder: Path) -> dict[str, Path]:
    """Top-level names of everything that the Python files of `folder` import, each with one file that does."""
    found = {}
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0]: path for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found[node.module.split(".")[0]] = path
    return found


def undeclared(folder: Path, declared: list[str]) -> dict[str, Path]:
    """Imports of `folder` that no requirement in `declared` brings."""
    known = {canonicalize_name(Requirement(line).name) for line in declared}
    known |= {"attention-lab", "course-setup", *map(canonicalize_name, sys.stdlib_module_names), *OPTIONAL}
    return {
        name: path
        for name, path in imported(folder).items()
        if canonicalize_name(DISTRIBUTIONS.get(name, name)) not in known
    }


def test_the_package_imports_nothing_that_pyproject_does_not_name():
    assert undeclared(ROOT / "utils", PROJECT["dependencies"]) == {}


def test_an_undeclared_import_is_found(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    from numpy.linalg import norm\n", encoding="utf-8")
    assert undeclared(tmp_path, PROJECT["dependencies"]) == {}
    assert undeclared(tmp_path, ["torch>=2"]) == {"numpy": tmp_path / "a.py"}


# ---------------------------------------------------------------- what the package data says


def test_our_jupyterlab_settings_are_ones_that_jupyterlab_knows():
    folder = Path(sys.prefix) / "share" / "jupyter" / "lab" / "schemas"
    path = ROOT / "utils" / "course_setup" / "jupyter" / "labconfig" / "default_setting_overrides.json"
    for plugin, values in json.loads(path.read_text(encoding="utf-8")).items():
        package, name = plugin.split(":")
        schema = json.loads((folder / package / f"{name}.json").read_text(encoding="utf-8"))["properties"]
        for key, value in values.items():
            assert key in schema, f"{plugin} has no {key}"
            assert value in schema[key].get("enum", [value])
            assert isinstance(value, {"boolean": bool, "string": str}[schema[key]["type"]])


def test_the_continuous_integration_calls_the_readmes_command_and_demands_a_browser_and_nbgrader():
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r'^exec python3 course\.py test .*"\$@"$', text, re.MULTILINE)
    assert "export ATTENTION_LAB_REQUIRE_BROWSER=1" in text
    assert "export ATTENTION_LAB_REQUIRE_NBGRADER=1" in text
    assert "set -euo pipefail" in text

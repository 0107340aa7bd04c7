"""Write locks/course.txt, test.txt and nbgrader.txt anew from pyproject.toml (for authors; needs a network).

    python3 locks/renew.py

makes a scratch environment with uv, resolves once for every supported Python and system, leaves out what only a GPU
build of torch needs (and two packages that slow every start), and writes the files. Afterwards run
`python3 course.py test`, and commit pyproject.toml, environment.yml and the locks together.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LOCKS = Path(__file__).resolve().parent
PYPROJECT = LOCKS.parent / "pyproject.toml"

# These move by hand: torch, because its build (CPU or GPU) comes from another place, and transformers, because its
# cache changes from one minor version to the next.
KEPT = ["torch==2.13.0", "transformers==5.24.0"]

# The GPU build of torch on Linux names these; the course uses the CPU build, which needs none of them.
GPU_COMPANIONS = re.compile(r"(nvidia|cuda|triton)\b")

# jsonschema checks one more text format where these are installed, and builds a grammar for it at every import: 1.8 of
# the 2.7 CPU-seconds that JupyterLab took to start. Nothing in the course validates such a text.
LEFT_OUT = re.compile(r"(rfc3987-syntax|lark)\b")

HEAD = """\
# {what}
# Complete, for Python 3.11 to 3.13 on Linux, macOS and Windows; installed with --no-deps.
# Written by `python3 locks/renew.py` from the ranges in pyproject.toml: renew it there, not by hand.
# torch stands without hashes and without its GPU companions, so that a CPU build of the same version fits.
# Left out on purpose: rfc3987-syntax and lark (why: see renew.py).
"""


def main() -> int:
    """Resolve the locks and write them."""
    with tempfile.TemporaryDirectory() as scratch:
        uv = scratch_uv(Path(scratch))
        kept = Path(scratch, "kept.txt")
        kept.write_text("\n".join(KEPT) + "\n")
        course = resolve(uv, kept)
        kept.write_text("\n".join(course) + "\n")
        both = resolve(uv, kept, "--extra", "test")
        marks = resolve(uv, kept, "--extra", "nbgrader")
    write(LOCKS / "course.txt", "What the course needs.", course)
    for name, what, lines in (("test", "the tests need", both), ("nbgrader", "nbgrader needs", marks)):
        beyond = [line for line in lines if line not in course]
        write(LOCKS / f"{name}.txt", f"What {what} beyond locks/course.txt.", beyond)
    return 0


def scratch_uv(scratch: Path) -> str:
    """Path of a uv installed into a scratch environment."""
    venv.create(scratch / "venv", with_pip=True)
    folder = scratch / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([folder / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
    return str(folder / "uv")


def resolve(uv: str, kept: Path, *options: str) -> list[str]:
    """Lines `name==version ; marker`, one a package, one version for all Pythons where there is one."""
    command = [uv, "pip", "compile", "--universal", "--python-version", "3.11", "--fork-strategy", "fewest"]
    command += ["--no-annotate", "--no-header", "--constraint", str(kept), *options, str(PYPROJECT)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout.splitlines()
    return [line for line in lines if "==" in line and not GPU_COMPANIONS.match(line) and not LEFT_OUT.match(line)]


def write(path: Path, what: str, lines: list[str]) -> None:
    """One lock file: its head and its lines."""
    path.write_text(HEAD.format(what=what) + "\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    print(f"{path.name}: {len(lines)} packages")


if __name__ == "__main__":
    raise SystemExit(main())

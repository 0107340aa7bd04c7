"""nbgrader in an environment of its own, made once and kept in pytest's cache folder.

It holds what locks/nbgrader.txt names and looks up everything else in the environment that runs the tests, so that
making it takes seconds; the course's package is not in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

LOCK = Path(__file__).parents[2] / "locks" / "nbgrader.txt"
#: Set to 1 where the tests must run: the environment is then made if it is not there.
DEMANDED = "ATTENTION_LAB_REQUIRE_NBGRADER"


def programs(folder: Path) -> Path | None:
    """The folder of the environment's programs; None when it is neither there nor demanded."""
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    ready, wanted = folder / "ready", f"{sys.prefix}\n{LOCK.read_text(encoding='utf-8')}"
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return scripts
    if os.environ.get(DEMANDED) != "1":
        return None
    venv.create(folder, clear=True, symlinks=os.name != "nt")
    python = scripts / Path(sys.executable).name
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True).stdout.strip()
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(own, "what-the-tests-run-in.pth").write_text("\n".join(sorted(ours)) + "\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--retries", "5", "--requirement", str(LOCK)], check=True)
    ready.write_text(wanted, encoding="utf-8")
    return scripts

"""The worker's server in a container of bubblewrap's (`bwrap`), where somebody asks for it: a second fence.

Inside there is no network, no other process, and no file but the libraries and the few of the course that a worker
needs; Landlock, seccomp and the limits hold in it as they do without.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from attention_lab.grading.sandboxed.lockdown import readable_folders

_UTILS = Path(__file__).resolve().parents[2]
#: What a worker's server reads of the course: nothing that knows an answer.
_OURS = (
    "attention_lab/lesson.py",
    "attention_lab/sentences.py",
    "attention_lab/exercises/model.py",
    "attention_lab/checking/caller.py",
    "attention_lab/checking/facts.py",
    "attention_lab/checking/outcome.py",
    "attention_lab/probes",
    "attention_lab/grading/sandboxed",
    "attention_lab/models/anatomy.py",
    "attention_lab/models/door.py",
    "attention_lab/models/places.py",
    "attention_lab/models/checkpoints",
    "course_setup/places.py",
)


def command(python: Sequence[str], bwrap: str = "bwrap") -> list[str]:
    """The command that runs `python` (an interpreter and its arguments) in a container."""
    own = [_UTILS / name for name in _OURS]
    interpreter = Path(sys.executable)
    folders = [*readable_folders(), Path(sys.base_prefix), *own]
    folders += [interpreter.parent, interpreter.resolve().parent, Path(sys.prefix) / "pyvenv.cfg"]
    bound = [str(path) for path in dict.fromkeys(folders) if path.exists() and not path.is_relative_to("/dev")]
    fence = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    fence += ["--proc", "/proc", "--dev", "/dev", "--chdir", "/"]
    binds = [word for path in sorted(bound, key=len) for word in ("--ro-bind", path, path)]
    links = [
        word
        for path in ("/lib", "/lib64", "/bin")
        if (there := Path(path)).is_symlink()
        for word in ("--symlink", str(there.readlink()), path)
    ]
    return [bwrap, *fence, *binds, *links, "--", *python]


def missing() -> str:
    """Why no container can be made here, as a sentence without its end; "" when it can."""
    if sys.platform != "linux" or shutil.which("bwrap") is None:
        return (
            "--bubblewrap needs the program bwrap on Linux: install the package bubblewrap, or leave --bubblewrap out"
        )
    try:
        tried = subprocess.run(
            command([sys.executable, "-I", "-S", "-c", ""]), capture_output=True, text=True, timeout=60
        )
        said = tried.stderr.strip().splitlines()[-1:] if tried.returncode else None
    except (OSError, subprocess.TimeoutExpired) as error:
        said = [type(error).__name__]
    if said is None:
        return ""
    why = f" ({said[0][:200]})" if said else ""
    return f"bwrap may not make a container on this machine{why}: leave --bubblewrap out, Landlock and seccomp remain"

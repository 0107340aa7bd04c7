"""`course.py` in copies of the checkout: a lock of two tiny packages, wheels from a folder, no network anywhere."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from course_setup import environment, installing, places, start
from course_setup.environment import Wanted
from course_setup.places import Place, Stop

ROOT = Path(__file__).parents[1]
Outcome = subprocess.CompletedProcess[str]
DEAD = "http://127.0.0.1:9/simple"  # the discard port: nothing listens there
CLI = """\
import json, os, sys
import tiny_course
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), "prefix": sys.prefix, "tiny": tiny_course.VERSION}))
raise SystemExit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


# ---------------------------------------------------------------- a small checkout


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    """Write a wheel of the pure Python distribution `name` into `folder`."""
    info = f"{name}-{version}.dist-info"
    content = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*content, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in (content | {f"{info}/RECORD": record}).items():
            archive.writestr(path, text)


def write(path: Path, text: str) -> None:
    """Write `text`, making the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels that stands for the package index."""
    folder = tmp_path_factory.mktemp("wheels")
    for version in ("1.0", "2.0"):
        wheel(folder, "tiny_course", version, {"tiny_course/__init__.py": f"VERSION = '{version}'\n"})
    stand_in = "import os, sys\nprint('pytest', sys.argv[1:], os.getcwd())\nraise SystemExit(5)\n"
    wheel(folder, "tiny_test", "1.0", {"pytest/__init__.py": "", "pytest/__main__.py": stand_in})
    return folder


def small_checkout(root: Path) -> Path:
    """course.py and its set-up with a lock of one tiny package, and a stand-in for the commands."""
    shutil.copytree(ROOT / "utils" / "course_setup", root / "utils" / "course_setup")
    shutil.copy(ROOT / "course.py", root)
    shutil.copy(ROOT / "pyproject.toml", root)
    write(root / "locks" / "course.txt", "tiny_course==1.0\n")
    write(root / "locks" / "test.txt", "tiny_test==1.0\n")
    write(root / "utils" / "attention_lab" / "__init__.py", "")
    write(root / "utils" / "attention_lab" / "cli.py", CLI)
    return root


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small checkout without an environment, in a folder with spaces and letters beyond ASCII."""
    return small_checkout(tmp_path / "Kurs für Anfänger 注意")


@dataclass(frozen=True)
class FirstStart:
    """A small checkout after its first start, and what that start said."""

    root: Path
    folder: Path
    outcome: Outcome


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> FirstStart:
    """`course.py progress 7` in a new checkout, from another folder (once: making an environment takes seconds)."""
    root = small_checkout(tmp_path_factory.mktemp("made") / "première fois 注意")
    folder = tmp_path_factory.mktemp("elsewhere")
    return FirstStart(root, folder, course(root, wheels, "progress", "7", folder=folder))


@pytest.fixture
def made(first_start: FirstStart, tmp_path: Path) -> Path:
    """A copy of the checkout with its environment: a folder that was moved, as far as the environment knows."""
    return shutil.copytree(first_start.root, tmp_path / "moved Ünïcode", symlinks=True)


def variables(wheels: Path | None, **more: str) -> dict[str, str]:
    """Variables for a call: pip sees nothing but `wheels`, and nothing of the machine's own settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "CONDA_", "PYTHON", "PYTEST_"))}
    kept |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
    kept |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)} if wheels else {}
    return kept | more


def course(root: Path, wheels: Path | None, *arguments: str, folder: Path | None = None, **more: str) -> Outcome:
    """Run `python course.py ARGUMENTS` to its end."""
    command = [sys.executable, str(root / "course.py"), *arguments]
    environ = variables(wheels, **more)
    return subprocess.run(command, cwd=folder or root, env=environ, capture_output=True, encoding="utf-8", timeout=300)


def said(outcome: Outcome) -> dict:
    """What the stand-in for the commands printed."""
    assert outcome.returncode in (0, 7), outcome.stderr
    return json.loads(outcome.stdout)


def is_one_sentence(outcome: Outcome, *parts: str) -> None:
    """Exit code 2, no traceback, and one last line that says `parts`."""
    assert outcome.returncode == 2, outcome.stderr
    assert "Traceback" not in outcome.stderr
    last = outcome.stderr.strip().splitlines()[-1]
    assert last.endswith((".", "?"))
    for part in parts:
        assert part in last


# ---------------------------------------------------------------- any Python


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (3, 10), (3, 14), (4, 0)])
def test_an_unsupported_python_gets_one_sentence_that_names_it(course_file, version):
    sentence = course_file.unsupported(version)
    assert f"Python {version[0]}.{version[1]}," in sentence
    assert "3.11, 3.12 or 3.13" in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 13, 5, "final", 0)])
def test_a_supported_python_gets_no_sentence(course_file, version):
    assert course_file.unsupported(version) == ""


def test_the_program_ends_with_the_sentence_and_exit_code_2(course_file, monkeypatch, capsys):
    monkeypatch.setattr(course_file.sys, "version_info", (3, 10, 13))
    assert course_file.main([]) == 2
    assert "This is Python 3.10" in capsys.readouterr().err


def test_old_pythons_can_read_course_py():
    tree = ast.parse((ROOT / "course.py").read_text(encoding="utf-8"), feature_version=(3, 4))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.Nonlocal, ast.AsyncFunctionDef, ast.Starred)
    assert not [node for node in ast.walk(tree) if isinstance(node, newer)]
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        assert function.returns is None
        assert not function.args.kwonlyargs
        assert not [argument for argument in function.args.args if argument.annotation]


def test_the_supported_range_is_the_declared_one(course_file):
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">={}.{},<{}.{}".format(*course_file.OLDEST, 3, course_file.NEWEST[1] + 1)
    assert [version for version in ("3.10", "3.11", "3.12", "3.13", "3.14") if environment.supported(version)] == [
        "3.11",
        "3.12",
        "3.13",
    ]


@pytest.fixture
def course_file():
    """course.py as a module."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("course_file", ROOT / "course.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- the command line


def test_help_makes_nothing(checkout, wheels):
    outcome = course(checkout, wheels, "--help")
    assert outcome.returncode == 0
    assert "doctor" in outcome.stdout
    assert not (checkout / ".venv").exists()
    assert not (checkout / ".attention_lab").exists()


def test_a_typing_error_is_answered_before_anything_is_made(checkout, wheels):
    is_one_sentence(course(checkout, wheels, "docter"), "docter", "did you mean `doctor`?")
    assert not (checkout / ".venv").exists()


def test_every_command_that_is_listed_exists_and_the_other_way_round(capsys):
    from attention_lab import cli

    with pytest.raises(SystemExit):
        cli.main(["no such command"])
    listed = capsys.readouterr().err
    for name in set(start.COMMANDS) - {"test"}:
        assert f"'{name}'" in listed or f" {name}," in listed or f"{name})" in listed
    assert listed.count(",") == len(start.COMMANDS) - 2


def test_options_before_a_command_are_ours_and_all_after_it_is_its_own():
    request = start.parse(["--gpu", "test", "-k", "softmax", "--port", "3"])
    assert (request.gpu, request.command, request.rest) == (True, "test", ["-k", "softmax", "--port", "3"])
    request = start.parse(["--no-browser", "--port", "8890", "--", "--ServerApp.token=x"])
    assert (request.browser, request.port, request.command, request.rest) == (False, 8890, "", ["--ServerApp.token=x"])


def test_jupyter_gets_the_first_chapter_the_port_and_leave_to_run_as_root(tmp_path, monkeypatch):
    write(tmp_path / "chapters" / "00_start_here.ipynb", "{}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    arguments = start.jupyter(start.Request(browser=False, port=8890, rest=["--debug"]), tmp_path)
    assert arguments[:2] == ["-m", "jupyterlab"]
    assert {f"--ServerApp.root_dir={tmp_path}", "--no-browser", "--ServerApp.port=8890", "--allow-root"} < {*arguments}
    assert arguments[-2:] == [str(Path("chapters", "00_start_here.ipynb")), "--debug"]
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "--allow-root" not in start.jupyter(start.Request(), tmp_path)


def test_a_path_for_pytest_is_meant_from_the_folder_one_stands_in(tmp_path):
    write(tmp_path / "tests" / "test_a.py", "")
    folder = tmp_path / "tests"
    wanted = ["-k", "name", f"{folder / 'test_a.py'}::test_one"]
    assert start.from_root(["-k", "name", "test_a.py::test_one"], folder, tmp_path) == wanted


# ---------------------------------------------------------------- first and second start


def test_the_first_start_makes_the_environment_and_hands_over(first_start):
    assert first_start.outcome.returncode == 7
    answer = said(first_start.outcome)
    assert answer["arguments"] == ["progress", "7"]
    assert Path(answer["folder"]) == first_start.folder
    assert Path(answer["prefix"]) == first_start.root / ".venv"
    assert "installing" in first_start.outcome.stderr
    assert "tiny_course" in log_of(first_start.root)


def test_the_environment_alone_imports_the_package(made):
    command = [made / ".venv" / "bin" / "python", "-c", "import attention_lab; print(attention_lab.__file__)"]
    outcome = subprocess.run(command, cwd="/", env=variables(None), capture_output=True, encoding="utf-8")
    assert outcome.stdout.strip() == str(made / "utils" / "attention_lab" / "__init__.py"), outcome.stderr
    (pth,) = made.glob(".venv/lib/*/site-packages/attention-lab.pth")
    assert pth.read_bytes() == b"../../../../utils\n"


def test_the_second_start_runs_no_pip_and_needs_no_network_even_in_a_moved_folder(made):
    log = made / ".attention_lab" / "setup.log"
    before = log.read_bytes()
    outcome = course(made, None, "progress", PIP_INDEX_URL=DEAD)
    assert said(outcome)["tiny"] == "1.0"
    assert outcome.stderr == ""
    assert log.read_bytes() == before


def test_tests_get_their_own_lock_on_top_and_pytests_exit_code_comes_back(made, wheels):
    outcome = course(made, wheels, "test", "-k", "softmax", folder=made.parent)
    assert outcome.returncode == 5
    assert outcome.stdout.strip() == f"pytest ['-k', 'softmax'] {made}"
    assert course(made, None, "test", PIP_INDEX_URL=DEAD).returncode == 5
    assert said(course(made, None, "progress", PIP_INDEX_URL=DEAD))["tiny"] == "1.0"


def test_a_new_lock_is_installed_in_place(made, wheels):
    write(made / "locks" / "course.txt", "tiny_course==2.0\n")
    (made / ".venv" / "mine.txt").write_text("kept")
    outcome = course(made, wheels, "progress")
    assert said(outcome)["tiny"] == "2.0"
    assert "anew" not in outcome.stderr
    assert (made / ".venv" / "mine.txt").exists()


def test_a_lock_with_other_line_ends_is_the_same_lock(made):
    (made / "locks" / "course.txt").write_bytes(b"tiny_course==1.0\r\n")
    outcome = course(made, None, "progress", PIP_INDEX_URL=DEAD)
    assert said(outcome)["tiny"] == "1.0"
    assert outcome.stderr == ""


def test_another_projects_pythonpath_stays_out(made, tmp_path):
    write(tmp_path / "other" / "tiny_course.py", "VERSION = 'of another project'\n")
    outcome = course(made, None, "progress", PIP_INDEX_URL=DEAD, PYTHONPATH=str(tmp_path / "other"))
    assert said(outcome)["tiny"] == "1.0"


# ---------------------------------------------------------------- half-made and stale environments


def tiny_module(root: Path) -> Path:
    """The one module of the tiny package in the environment."""
    (module,) = root.glob(".venv/lib/*/site-packages/tiny_course/__init__.py")
    return module


def interrupt(root: Path) -> None:
    """As an interrupted install leaves it: files missing that pip believes to be there, and no stamp."""
    tiny_module(root).unlink()
    (root / ".venv" / "attention-lab.json").unlink()


def cut_stamp(root: Path) -> None:
    """A stamp that is no JSON."""
    tiny_module(root).unlink()
    (root / ".venv" / "attention-lab.json").write_text('{"layout": 1, "pyth')


def change_stamp(root: Path, **fields: str) -> None:
    """Write other values into the stamp."""
    stamp = root / ".venv" / "attention-lab.json"
    stamp.write_text(json.dumps(json.loads(stamp.read_text()) | fields))


def other_python(root: Path) -> None:
    """Made with a Python that is another one by now."""
    change_stamp(root, python="3.99")


def other_machine(root: Path) -> None:
    """Copied from a machine of another kind."""
    change_stamp(root, platform="plan9-mips")


def removed_base(root: Path) -> None:
    """The Python that the environment was made from has been removed."""
    for link in (root / ".venv" / "bin").glob("python*"):
        link.unlink()
    (root / ".venv" / "bin" / "python").symlink_to("/nowhere/python3.11")


@pytest.mark.parametrize("damage", [interrupt, cut_stamp, other_python, other_machine, removed_base])
def test_an_environment_that_cannot_be_used_is_recognised(made, damage: Callable[[Path], None]):
    place = Place(made, made / ".venv", made / ".attention_lab")
    assert environment.is_sound(place, Wanted())
    assert environment.can_be_mended(place)
    damage(made)
    assert not environment.is_sound(place, Wanted())
    assert not environment.can_be_mended(place)


def test_two_starts_at_once_make_an_unusable_environment_anew_once(made, wheels):
    interrupt(made)
    removed_base(made)
    (made / ".venv" / "old.txt").write_text("from before")
    both = [start_course(made, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(wheels)) for _ in range(2)]
    errors = [process.communicate(timeout=300)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], errors
    assert sum("making it anew" in text for text in errors) == 1
    assert sum("waiting" in text for text in errors) == 1
    assert sum("The environment is ready" in text for text in errors) == 1
    assert not (made / ".venv" / "old.txt").exists()
    assert tiny_module(made).exists()


def test_a_pip_that_outlives_its_killed_start_keeps_the_lock(made):
    write(made / "locks" / "course.txt", "tiny_course==2.0\n")
    place = Place(made, made / ".venv", made / ".attention_lab")
    with silent_index() as index:
        process = start_course(made, PIP_INDEX_URL=index, PIP_DEFAULT_TIMEOUT="60")
        wait_for(lambda: "Looking in indexes" in log_of(made), process)
        process.kill()
        process.wait()
        with open(place.lock, "a+b") as file:
            assert not environment.try_lock(file.fileno())
            os.killpg(process.pid, signal.SIGKILL)
            while not environment.try_lock(file.fileno()):
                time.sleep(0.05)


def test_an_environment_that_somebody_else_made_is_filled_and_not_removed(made, wheels):
    interrupt(made)
    (made / ".venv" / "made-by-course.txt").unlink()
    (made / ".venv" / "mine.txt").write_text("kept")
    write(made / "locks" / "course.txt", "tiny_course==2.0\n")
    assert said(course(made, wheels, "progress"))["tiny"] == "2.0"
    assert (made / ".venv" / "mine.txt").exists()


def test_somebody_elses_folder_that_does_not_fit_is_left_alone(checkout, wheels):
    write(checkout / ".venv" / "notes.txt", "mine")
    is_one_sentence(course(checkout, wheels, "progress"), str(checkout / ".venv"), "was not made by course.py")
    assert (checkout / ".venv" / "notes.txt").read_text() == "mine"


# ---------------------------------------------------------------- what goes wrong outside


def test_no_network_is_one_sentence_and_leaves_a_sound_environment_sound(made, wheels):
    write(made / "locks" / "course.txt", "tiny_course==2.0\n")
    is_one_sentence(
        course(made, None, "progress", PIP_INDEX_URL=DEAD), "No network", "127.0.0.1", "run the same command"
    )
    write(made / "locks" / "course.txt", "tiny_course==1.0\n")
    assert said(course(made, None, "progress", PIP_INDEX_URL=DEAD))["tiny"] == "1.0"


def test_no_network_for_the_tests_lock_leaves_the_course_usable(made):
    is_one_sentence(course(made, None, "test", PIP_INDEX_URL=DEAD), "No network")
    assert said(course(made, None, "progress", PIP_INDEX_URL=DEAD))["tiny"] == "1.0"


def test_a_package_without_a_build_is_named(made, wheels):
    write(made / "locks" / "course.txt", "tiny_course==9.0\n")
    is_one_sentence(course(made, wheels, "progress"), "tiny_course==9.0", "PIP_NO_INDEX")


def test_a_missing_lock_is_named(made, wheels):
    (made / "locks" / "course.txt").unlink()
    is_one_sentence(course(made, wheels, "progress"), "course.txt is missing")


def test_a_full_disk_is_one_sentence_before_anything_is_made(checkout, monkeypatch, capsys):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**12, 10**12, 4 * 10**8))
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert start.main(["progress"], checkout) == 2
    sentence = capsys.readouterr().err.strip()
    assert "2.5 GB" in sentence
    assert "0.4 GB" in sentence
    assert not (checkout / ".venv").exists()


def test_a_python_without_ensurepip_is_told_the_package(monkeypatch):
    with pytest.raises(Stop, match=r"has no `ensurepip` module.*sudo apt install python3\.\d+-venv"):
        environment.check_modules(find=lambda name: None if name == "ensurepip" else object())
    environment.check_modules()


def test_a_read_only_checkout_gets_its_environment_in_the_cache_folder(made, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(places, "can_write", lambda folder: False)
    ready = tmp_path / "ready"
    shutil.move(made / ".venv", ready)
    shutil.rmtree(made / ".attention_lab")
    monkeypatch.setattr(environment, "prepare", lambda place, wanted: shutil.move(ready, place.venv))
    calls = []
    monkeypatch.setattr(start, "hand_over", lambda *call: calls.append(call) or 0)
    assert start.main(["progress"], made) == 0
    errors = capsys.readouterr().err
    assert "cannot be written to" in errors
    assert str(tmp_path / "cache" / "attention-lab") in errors
    (command, environ, _) = calls[0]
    assert environ["PYTHONPATH"] == str(made / "utils")
    assert subprocess.run(command, env=environ, capture_output=True).returncode == 0
    assert {path.name for path in made.iterdir()}.isdisjoint({".venv", ".attention_lab"})


def test_no_place_at_all_is_one_sentence(checkout, tmp_path, monkeypatch, capsys):
    write(tmp_path / "a file", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(places, "can_write", lambda folder: False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert start.main(["progress"], checkout) == 2
    assert "copy the course to a folder of yours" in capsys.readouterr().err


def test_can_write_says_yes_and_no(tmp_path):
    assert places.can_write(tmp_path)
    assert not places.can_write(tmp_path / "absent")


def test_ctrl_c_is_one_sentence_and_leaves_a_sound_environment_sound(made):
    write(made / "locks" / "course.txt", "tiny_course==2.0\n")
    with silent_index() as index:
        process = start_course(made, PIP_INDEX_URL=index, PIP_DEFAULT_TIMEOUT="60")
        wait_for(lambda: "Looking in indexes" in log_of(made), process)
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.strip().splitlines()[-1].startswith("Stopped.")
    write(made / "locks" / "course.txt", "tiny_course==1.0\n")
    assert said(course(made, None, "progress", PIP_INDEX_URL=DEAD))["tiny"] == "1.0"


def start_course(root: Path, **more: str) -> subprocess.Popen:
    """`course.py progress` in a process group of its own, still running."""
    command = [sys.executable, str(root / "course.py"), "progress"]
    return subprocess.Popen(
        command,
        cwd=root,
        env=variables(None, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # a job in the background ignores it
    )


def log_of(root: Path) -> str:
    """What pip has said so far."""
    path = root / ".attention_lab" / "setup.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def wait_for(condition: Callable[[], bool], process: subprocess.Popen) -> None:
    """Return once `condition` holds; fail when the process ends before."""
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@contextmanager
def silent_index() -> Iterator[str]:
    """The address of a package index that takes the call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/simple"


# ---------------------------------------------------------------- pip's failures as sentences

PLACE = Place(Path("/course"), Path("/course/.venv"), Path("/course/.attention_lab"))
FAILURES = {
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device": "The disk is full",
    "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))": "PIP_CERT",
    "HTTPSConnectionPool(host='pypi.example', port=443): Max retries exceeded": "could not reach pypi.example",
    "WARNING: Retrying: Temporary failure in name resolution\n"
    "ERROR: No matching distribution found for anyio==4": "No network",
    "ERROR: No matching distribution found for torch==2.13.0": "There is no build of torch==2.13.0 for Python",
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES.": "THESE PACKAGES DO NOT MATCH THE HASHES",
    "Looking in indexes: https://me:secret@index.example/simple\nConnection refused": "reach index.example.",
    "": "exit code 1",
}


@pytest.mark.parametrize("text", FAILURES)
def test_each_failure_of_pip_has_its_sentence(text):
    sentence = installing.explain(text, 1, PLACE, {})
    assert FAILURES[text] in sentence
    assert "\n" not in sentence


def test_a_killed_pip_is_said_to_be_short_of_memory():
    assert "signal 9" in installing.explain("", -9, PLACE, {})


def test_a_gpu_build_without_its_companions_is_explained():
    said = "ImportError: libcudart.so.13: cannot open shared object file: No such file or directory"
    assert "--gpu" in installing.explain_torch(said, 1)
    assert "Visual C++" in installing.explain_torch("OSError: [WinError 126] Error loading c10.dll", 1)
    assert "(Illegal instruction)" in installing.explain_torch("Illegal instruction", 1)


def test_a_torch_that_does_not_import_stops_the_set_up(made, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "torches"
    folder.mkdir()
    wheel(folder, "torch", "2.13.0", {"torch/__init__.py": "raise ImportError('libcudart.so.13: cannot open')\n"})
    write(made / "locks" / "course.txt", "torch==2.13.0\n")
    is_one_sentence(course(made, folder, "progress"), "GPU build of torch", "--gpu")
    assert not (made / ".venv" / "attention-lab.json").exists()


# ---------------------------------------------------------------- torch's CPU index


@pytest.fixture
def index_server() -> Iterator[str]:
    """A server that answers every question with an empty page."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/torch/" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_cpu_index_is_used_where_it_answers(index_server):
    assert installing.cpu_index(url=index_server) == index_server


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://nowhere.invalid", "no address"])
def test_the_cpu_index_is_left_out_where_it_does_not_answer(url):
    assert installing.cpu_index(url=url) is None


def test_an_index_that_never_answers_is_given_up():
    with silent_index() as url:
        assert installing.cpu_index(timeout=0.3, url=url) is None


@pytest.mark.parametrize(
    ("gpu", "system", "index", "asked"),
    [(False, "linux", "URL", True), (False, "linux", None, False), (True, "linux", "URL", False)]
    + [(False, system, "URL", False) for system in ("darwin", "win32")],
)
def test_the_extra_index_is_for_linux_without_gpu(made, monkeypatch, gpu, system, index, asked):
    write(made / "locks" / "course.txt", "torch==2.13.0\n")
    calls = []
    monkeypatch.setattr(environment, "pip_install", lambda place, options, *rest: calls.append(options))
    monkeypatch.setattr(installing, "cpu_index", lambda: index)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    place = Place(made, made / ".venv", made / ".attention_lab")
    environment.install_locks(place, ["course.txt"], gpu, None, lambda: None)
    assert ("--extra-index-url" in calls[0]) == asked
    assert "--no-deps" in calls[0]


def test_gpu_installs_torch_with_its_companions_and_replaces_a_cpu_build(made, monkeypatch):
    write(made / "locks" / "course.txt", "torch==2.13.0\n")
    calls = []
    monkeypatch.setattr(environment, "pip_install", lambda place, options, *rest: calls.append(options))
    monkeypatch.setattr(sys, "platform", "linux")
    place = Place(made, made / ".venv", made / ".attention_lab")
    environment.install_gpu_torch(place, ["course.txt"], True, None, lambda: None)
    environment.install_gpu_torch(place, ["course.txt"], False, None, lambda: None)
    assert calls == [["--no-deps", "--force-reinstall", "torch==2.13.0"], ["torch==2.13.0"], ["torch==2.13.0"]]


def test_a_cpu_environment_does_not_satisfy_gpu_and_a_gpu_one_satisfies_both(made):
    place = Place(made, made / ".venv", made / ".attention_lab")
    assert environment.is_sound(place, Wanted())
    assert not environment.is_sound(place, Wanted(gpu=True))
    environment.write_stamp(place, environment.read_stamp(place) | {"gpu": True})
    assert environment.is_sound(place, Wanted())
    assert environment.is_sound(place, Wanted(gpu=True))


# ---------------------------------------------------------------- conda


@pytest.fixture
def conda(tmp_path, monkeypatch) -> Path:
    """An active conda environment that holds what the running one holds."""
    prefix = tmp_path / "conda env"
    write(prefix / "bin" / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (prefix / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("CONDA_PREFIX", str(prefix))
    monkeypatch.setenv("CONDA_DEFAULT_ENV", "attention-lab")
    return prefix


def test_an_active_conda_environment_that_has_all_is_used(conda, checkout, monkeypatch):
    calls = []
    monkeypatch.setattr(start, "hand_over", lambda *call: calls.append(call) or 0)
    assert start.main(["progress", "3"], checkout) == 0
    (command, environ, _) = calls[0]
    assert command == [str(conda / "bin" / "python"), "-m", "attention_lab.cli", "progress", "3"]
    assert environ["PYTHONPATH"] == str(checkout / "utils")
    assert not (checkout / ".venv").exists()


def test_a_conda_environment_that_lacks_something_is_not_used_and_the_lack_is_named(conda, checkout, capsys):
    text = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    write(
        checkout / "pyproject.toml",
        text.replace('"numpy>=2.1,<3"', '"numpy>=1,<2"').replace('"tqdm', '"absent-package'),
    )
    assert start.active_conda(checkout, []) is None
    errors = capsys.readouterr().err
    assert "numpy" in errors
    assert "absent-package" in errors
    assert "using .venv instead" in errors


def test_without_conda_there_is_none(checkout, monkeypatch):
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert start.active_conda(checkout, []) is None
    monkeypatch.setenv("CONDA_PREFIX", "/nowhere")
    assert start.active_conda(checkout, []) is None


# ---------------------------------------------------------------- progress


class Screen:
    """Collects what is written to it."""

    def __init__(self, terminal: bool) -> None:
        self.terminal, self.text = terminal, ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_progress_is_one_moving_line_on_a_terminal():
    screen = Screen(terminal=True)
    progress = installing.Progress(screen, clock=lambda: 0.0)
    for count in range(5):
        progress.show("fetching", f"package {count}")
    progress.close()
    assert screen.text.count("\r") == 7
    assert "\n" not in screen.text


def test_progress_in_a_log_is_a_line_for_each_phase_and_every_ten_seconds():
    screen = Screen(terminal=False)
    now = [0.0]
    progress = installing.Progress(screen, clock=lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        progress.show("fetching", "x")
    progress.show("installing", "y")
    assert screen.text.splitlines() == [
        "  fetching x (0 s)",
        "  fetching x (10 s)",
        "  fetching x (20 s)",
        "  installing y (24 s)",
    ]


# ---------------------------------------------------------------- JupyterLab itself


def test_jupyterlab_starts_on_our_settings_and_writes_nothing_into_the_home_settings(tmp_path):
    port = free_port()
    request = start.Request(browser=False, port=port, rest=["--IdentityProvider.token=t", "--ServerApp.port_retries=0"])
    environ = start.child_environment(ROOT, on_path=True) | {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    command = [sys.executable, *start.jupyter(request, ROOT)]
    with open(tmp_path / "lab.log", "w") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: answers(port), process)
        news = lab_settings(port, "@jupyterlab/apputils-extension:notification")
        notebook = lab_settings(port, "@jupyterlab/notebook-extension:tracker")
    finally:
        process.terminate()
        process.wait()
    assert news["fetchNews"]["default"] == "false"
    assert news["checkForUpdates"]["default"] is False
    assert notebook["autoStartDefaultKernel"]["default"] is True
    assert notebook["windowingMode"]["default"] == "none"
    assert not list(tmp_path.glob(".jupyter/lab/**/*.jupyterlab-settings"))
    assert not list(tmp_path.glob("**/kernel.json"))


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def answers(port: int) -> bool:
    """True once the server answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status?token=t", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        time.sleep(0.1)
        return False


def lab_settings(port: int, plugin: str) -> dict:
    """The settings of a plugin with the defaults that are in force."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/lab/api/settings/{plugin}?token=t", timeout=60) as answer:
        return json.load(answer)["schema"]["properties"]

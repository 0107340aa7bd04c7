"""Models from the disk, ready to look into. Weights are read from safetensors, never from a pickle.

Those that ship with the course, and SmolLM2 once it was added, never ask a network; GPT-2 comes from Hugging Face's hub
the first time.

Letters: T tokens, L layers, H heads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_lab.models import places
from attention_lab.models.places import CHECKPOINTS, NAMES, SHIPPED, present

if TYPE_CHECKING:
    import numpy as np
    import torch

    from attention_lab.models.anatomy import Anatomy

__all__ = ["CHECKPOINTS", "NAMES", "Loaded", "MissingModel", "load", "no_bars", "present"]


class MissingModel(ValueError):
    """There is no such model, or it is not on this machine; the message says how to get it."""


@dataclass(frozen=True)
class Loaded:
    """A model with what belongs to it.

    Attributes:
        name: what it was loaded as.
        model: a `transformers` model in evaluation mode, its attention computed step by step ("eager").
        tokenizer: a `transformers` tokenizer: text to token numbers and back.
        folder: where its files lie.
    """

    name: str
    model: Any
    tokenizer: Any
    folder: Path

    @property
    def parts(self) -> Anatomy:
        """The model's blocks, projections, norms and tables, by the same names whatever its architecture."""
        from attention_lab.models.anatomy import anatomy

        return anatomy(self.model)

    def encode(self, words: str | Sequence[str], start: bool = False) -> torch.Tensor:
        """Token numbers of a text, (1, T).

        Args:
            words: a text, or its words.
            start: put the token that starts a document in front.

        Raises:
            ValueError: when there is nothing to encode, or it is longer than the model can read at once.
        """
        import torch

        text = words if isinstance(words, str) else " ".join(words)
        ids = [self.tokenizer.bos_token_id] * start + self.tokenizer(text, add_special_tokens=False).input_ids
        longest = self.model.config.max_position_embeddings
        if not 1 <= len(ids) <= longest:
            raise ValueError(f"{self.name} reads 1 to {longest} tokens at once, and this text has {len(ids)}")
        return torch.tensor([ids])

    def tokens(self, ids: torch.Tensor | Sequence[int]) -> list[str]:
        """T readable tokens of (T,) or (1, T) numbers, no blank in front; a word's later pieces begin with "+"."""
        tokens = self.tokenizer.convert_ids_to_tokens(_flat(ids))
        special = self.tokenizer.all_special_tokens
        return [self._readable(token, first=i == 0 or tokens[i - 1] in special) for i, token in enumerate(tokens)]

    def _readable(self, token: str, first: bool) -> str:
        if token in self.tokenizer.all_special_tokens:
            return token
        text = self.tokenizer.convert_tokens_to_string([token])
        starts_word = token.startswith("\u0120")
        return text.lstrip(" ") or "_" if starts_word or first else f"+{text}"

    def text(self, ids: torch.Tensor | Sequence[int]) -> str:
        """The text of (T,) or (1, T) token numbers."""
        return str(self.tokenizer.decode(_flat(ids))).lstrip(" ")

    def patterns(self, ids: torch.Tensor) -> np.ndarray:
        """The attention pattern of every head on ids (1, T): (L, H, T, T), row = query, each row sums to 1."""
        import torch

        with torch.no_grad():
            layers = self.model(ids, output_attentions=True, use_cache=False).attentions
        return torch.stack([layer[0] for layer in layers]).numpy()

    def figures(self) -> dict[str, Any]:
        """What was measured on this checkpoint when it was made, from `figures.json`; empty when nothing was."""
        path = self.folder / "figures.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


@contextmanager
def no_bars() -> Iterator[None]:
    """Inside it, `transformers` shows no progress bars of its own: reading these files takes no time."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _flat(ids: Any) -> list[int]:
    numbers = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    return numbers[0] if numbers and isinstance(numbers[0], list) else numbers


def load(name: str = "lab", folder: Path | None = None) -> Loaded:
    """The model called `name`, ready to run.

    It takes some seconds the first time, because `transformers` is imported then. One thread is faster for models of
    this size and gives the numbers that the course prints: `torch.set_num_threads(1)`.

    Args:
        name: one of `NAMES`; `present(name)` tells whether it is on this machine.
        folder: where its files lie, when it is not where models of that name usually are.

    Raises:
        MissingModel: when there is no such model, its files are not there, or they are not as they were written; the
            message says how to get it.
    """
    if folder is None:
        folder = _find(name)
    folder = Path(folder)
    if missing := places.missing_files(folder):
        raise MissingModel(f"{missing[0]} of the model {name!r} is not in {folder}: {_mend(name)}")
    if (folder / places.ORIGIN).is_file():
        _verify(name, folder)

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return Loaded(name, _read_model(folder, config), _read_tokenizer(folder, config), folder)


def _find(name: str) -> Path:
    if name not in NAMES:
        raise MissingModel(f"there is no model called {name!r}; the models are {', '.join(NAMES)}")
    if name == "gpt2":
        from attention_lab.models.hub import gpt2_folder

        return gpt2_folder()
    folder = places.folder_of(name)
    assert folder is not None
    if name not in SHIPPED and not places.read_origin(folder):
        raise MissingModel(f"the model {name!r} is not on this machine: {_mend(name)}")
    return folder


def _mend(name: str) -> str:
    if name in SHIPPED:
        return f"`python course.py train {name}` makes it again"
    return places.MENDS.get(name, "a model is three files")


def _verify(name: str, folder: Path) -> None:
    """Compare the files with the checksums that were written beside them."""
    noted = places.read_origin(folder)
    for file in places.FILES:
        with open(folder / file, "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != noted.get(file, {}).get("sha256"):
            raise MissingModel(f"{file} of the model {name!r} in {folder} is not as it was written: {_mend(name)}")


def _read_model(folder: Path, config: dict[str, Any]) -> Any:
    import transformers

    classes = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM"}
    kind = config.get("model_type")
    if kind not in classes:
        raise MissingModel(f"{folder / 'config.json'} is of the kind {kind!r}; the kinds are {', '.join(classes)}")
    with no_bars():
        model = getattr(transformers, classes[kind]).from_pretrained(
            folder, local_files_only=True, use_safetensors=True, attn_implementation="eager", dtype="float32"
        )
    return model.eval()


def _read_tokenizer(folder: Path, config: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    special = {name: config.get(f"{name}_id") for name in ("bos_token", "eos_token")}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        clean_up_tokenization_spaces=False,
        **{name: tokenizer.id_to_token(number) for name, number in special.items() if number is not None},
    )

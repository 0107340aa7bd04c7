"""Models from the disk, ready to look into. Weights are read from safetensors, never from a pickle, never from a net.

Letters: T tokens, L layers, H heads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch

#: Where the checkpoints lie that ship with the course.
CHECKPOINTS = Path(__file__).resolve().parent / "checkpoints"
#: The models there are.
NAMES: tuple[str, ...] = ("lab", "lab-no-positions")

_FILES = ("config.json", "model.safetensors", "tokenizer.json")


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
        return [
            self._readable(token, first=i == 0)
            for i, token in enumerate(self.tokenizer.convert_ids_to_tokens(_flat(ids)))
        ]

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
        name: one of `NAMES`.
        folder: where its files lie, when it is not one that ships with the course.

    Raises:
        MissingModel: when there is no such model or its files are not there; the message says how to get it.
    """
    if folder is None and name not in NAMES:
        raise MissingModel(f"there is no model called {name!r}; the models are {', '.join(NAMES)}")
    folder = Path(folder) if folder is not None else CHECKPOINTS / name
    missing = [file for file in _FILES if not (folder / file).is_file()]
    if missing:
        mend = f"`python course.py train {name}` makes it again" if name in NAMES else "a model is three files"
        raise MissingModel(f"{missing[0]} of the model {name!r} is not in {folder}: {mend}")

    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

    with no_bars():
        model = GPT2LMHeadModel.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, attn_implementation="eager"
        )
    start = "<|endoftext|>"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        bos_token=start,
        eos_token=start,
        clean_up_tokenization_spaces=False,
    )
    return Loaded(name, model.eval(), tokenizer, folder)

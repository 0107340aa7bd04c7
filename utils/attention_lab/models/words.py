"""The tokenizer of the lab model: byte-level BPE, trained on stories, so that frequent words are one token.

Rare words ("watchmaker", "Bartholomew") come out in pieces, and so does everything that is not in the language at all:
nothing is unknown. Words of one story are all preceded by a blank, the first one included: "bank" has one id wherever
it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from attention_lab.models.english import stories

#: The token that starts a document; GPT-2's name for it.
START = "<|endoftext|>"
#: How many tokens there are: 1 start, 256 bytes, and the merges.
VOCABULARY = 852
#: Stories that the merges are learned from, and their seed.
LEARNED_FROM, SEED = 4000, 11


def train_tokenizer(texts: Iterable[str] | None = None, vocabulary: int = VOCABULARY) -> Tokenizer:
    """A byte-level BPE tokenizer of at most `vocabulary` tokens.

    Args:
        texts: what the merges are learned from; stories of the miniature English when None.
        vocabulary: number of tokens, at least 257.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[START],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts or (story.text for story in stories(LEARNED_FROM, SEED)), trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write `tokenizer.json` into `folder`."""
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8", newline="\n")

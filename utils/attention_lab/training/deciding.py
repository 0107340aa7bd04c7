"""Generated sentences in which one word decides, at any distance, what an ambiguous one means. Needs NumPy alone.

A sentence is a row of words of a toy language without grammar. In it stand ambiguous words, and somewhere before or
behind each of them a word that decides whether something of nature is meant, or something that people made. For some
ambiguous words no deciding word is there: they stay undecided. What decides for "bank" says nothing about "bat".

Letters: B sentences in a batch, T words, P ambiguous words in a sentence, d numbers in a word's row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: The ambiguous words; for each the words that decide for nature, and those that decide for what people made.
TOPICS: dict[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "bank": (("boat", "river"), ("clerk", "loan")),
    "bat": (("cave", "wings"), ("player", "ball")),
    "crane": (("nest", "marsh"), ("builder", "girder")),
    "seal": (("fish", "ice"), ("letter", "wax")),
    "trunk": (("forest", "leaf"), ("train", "porter")),
    "spring": (("stream", "moss"), ("sofa", "clock")),
    "mouse": (("cheese", "tail"), ("screen", "cable")),
    "plant": (("seed", "soil"), ("worker", "chimney")),
}
AMBIGUOUS: tuple[str, ...] = tuple(TOPICS)
#: Deciding words in the order of the topics: four for each, the first two of nature.
DECIDING: tuple[str, ...] = tuple(word for nature, made in TOPICS.values() for word in (*nature, *made))
#: Words that decide nothing.
FILLERS: tuple[str, ...] = tuple(
    "the left a then and again slowly noon there near by old it was they saw one day with some".split()
)
VOCABULARY: tuple[str, ...] = AMBIGUOUS + DECIDING + FILLERS
#: Deciding words of one topic.
EACH = len(DECIDING) // len(AMBIGUOUS)
ROW_WIDTH = 64
#: What is asked of an ambiguous word: 1 for nature, 0 for made, and between the two when nothing decides.
NATURE, UNDECIDED, MADE = 1.0, 0.5, 0.0

Ids = NDArray[np.int64]
Array = NDArray[np.float64]


def table(seed: int = 5) -> Array:
    """A fixed row for each word of `VOCABULARY`, (V, d), entries of variance 1.

    Nobody trained it. An ambiguous word and those that decide for it share half of their variance, as words of one
    topic do in real tables (chapter 01); which sense a word decides for is not in that half.
    """
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((len(VOCABULARY), ROW_WIDTH))
    topics = rng.standard_normal((len(AMBIGUOUS), ROW_WIDTH))
    topic_of = np.concatenate([np.arange(len(AMBIGUOUS)), np.repeat(np.arange(len(AMBIGUOUS)), EACH)])
    own[: len(topic_of)] = (own[: len(topic_of)] + topics[topic_of]) / np.sqrt(2)
    return own


def word_ids(words: Sequence[str] | str) -> Ids:
    """Numbers of words, given as a sequence or as one string, (T,).

    Raises:
        ValueError: for a word that is not in `VOCABULARY`.
    """
    sequence = words.split() if isinstance(words, str) else list(words)
    unknown = [word for word in sequence if word not in VOCABULARY]
    if unknown:
        raise ValueError(f"{unknown[0]!r} has no row; the words are {', '.join(VOCABULARY)}")
    return np.array([VOCABULARY.index(word) for word in sequence], dtype=np.int64)


def in_words(ids: Ids) -> str:
    """One sentence, (T,), for people to read."""
    return " ".join(VOCABULARY[i] for i in ids)


@dataclass(frozen=True)
class Batch:
    """Sentences, with what is asked and, for measurements only, where the answer stands.

    Attributes:
        ids: (B, T) numbers of words.
        asked: (B, P) places of the ambiguous words.
        answers: (B, P) `NATURE`, `UNDECIDED` or `MADE`.
        deciding: (B, P) places of the deciding words; of fillers where nothing decides.
    """

    ids: Ids
    asked: Ids
    answers: Array
    deciding: Ids

    def at_asked(self, numbers: NDArray[np.float64]) -> Array:
        """Entries of numbers (B, T) at the ambiguous words, (B, P)."""
        return np.take_along_axis(numbers, self.asked, axis=1)

    def on_deciding(self, pattern: NDArray[np.float64]) -> Array:
        """What each ambiguous word gives the word that decides for it, from a pattern (B, T, T): (B, P)."""
        return np.asarray(pattern[np.arange(len(self.ids))[:, None], self.asked, self.deciding])


def sentences(
    rng: np.random.Generator, batch: int = 64, length: int = 32, asked: int = 4, undecided: float = 0.25
) -> Batch:
    """Random sentences: ambiguous and deciding words stand anywhere, fillers everywhere else.

    Args:
        rng: where the randomness comes from.
        batch: B.
        length: T, at least twice `asked`.
        asked: P, ambiguous words in a sentence, each of another topic.
        undecided: which share of them goes without a deciding word.
    """
    topics = rng.random((batch, len(AMBIGUOUS))).argsort(axis=1)[:, :asked]
    which = rng.integers(0, EACH, (batch, asked))
    silent = rng.random((batch, asked)) < undecided
    places = rng.random((batch, length)).argsort(axis=1)[:, : 2 * asked]
    at, deciding = places[:, :asked], places[:, asked:]
    ids = len(VOCABULARY) - 1 - rng.integers(0, len(FILLERS), (batch, length))
    here = np.arange(batch)[:, None]
    ids[here, at] = topics
    ids[here, deciding] = np.where(silent, ids[here, deciding], len(AMBIGUOUS) + EACH * topics + which)
    answers = np.where(silent, UNDECIDED, np.where(which < EACH // 2, NATURE, MADE))
    return Batch(ids, at, answers, deciding)


def with_distance(rng: np.random.Generator, distance: int, batch: int = 100, length: int = 240) -> Batch:
    """Sentences that end in an ambiguous word, with the word that decides `distance` places before it.

    Three pairs of other topics stand anywhere else. For one state of `rng` the sentences of two distances hold the same
    words: the deciding word has changed places with what stood there.

    Raises:
        ValueError: for a distance that does not fit into the length.
    """
    if not 1 <= distance < length:
        raise ValueError(f"the distance is {distance}; in {length} words it is 1 to {length - 1}")
    drawn = sentences(rng, batch, length, asked=4, undecided=0.0)
    last = np.full(batch, length - 1)
    asked, deciding = drawn.asked[:, 0], drawn.deciding[:, 0]
    ids = _swapped(drawn.ids, asked, last)
    ids = _swapped(ids, np.where(deciding == last, asked, deciding), last - distance)
    return Batch(ids, last[:, None], drawn.answers[:, :1], (last - distance)[:, None])


def _swapped(ids: Ids, one: Ids, other: Ids) -> Ids:
    """A copy in which, sentence by sentence, the words at two places (B,) have changed places."""
    swapped, here = ids.copy(), np.arange(len(ids))
    swapped[here, one], swapped[here, other] = ids[here, other], ids[here, one]
    return swapped

"""Generated sentences that end in "bank", with one earlier word that decides which bank it is.

A sentence is a row of words of a toy language: grammar plays no part, distance does. The deciding word is "boat"
(water) or "clerk" (money); every other word leans to neither. In a sentence with an older topic the other of the two
stands somewhere before the deciding word, and the nearer one decides: that is the rule by which they are made.

Letters: T words in a sentence, d = 4 columns (see `attention_lab.lesson.COLUMNS`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attention_lab.lesson import TABLE, VOCABULARY

#: The word that decides, and what it decides for.
SENSE_OF: dict[str, str] = {"boat": "water", "clerk": "money"}
#: Words that lean to neither, with their rows (water, money, place, action).
FILLERS: dict[str, tuple[float, float, float, float]] = {
    "and": (0.0, 0.0, 0.0, 0.0),
    "then": (0.0, 0.0, 0.0, 0.2),
    "again": (0.0, 0.0, 0.0, 0.3),
    "slowly": (0.0, 0.0, 0.1, 0.5),
    "noon": (0.1, 0.1, 0.2, 0.0),
    "there": (0.2, 0.2, 0.9, 0.0),
}
#: The longest distance, and the length of every sentence.
FURTHEST, LENGTH = 200, 240
#: Columns closer than this count as equal: sums of 240 numbers in another order differ by less.
EVEN = 1e-9

_ROWS = {word: TABLE[i] for i, word in enumerate(VOCABULARY)} | {w: np.array(row) for w, row in FILLERS.items()}


@dataclass(frozen=True)
class Sentence:
    """Words that end in "bank".

    Attributes:
        words: T of them.
        distance: how many places before "bank" the deciding word stands.
        sense: "water" or "money", what the deciding word decides for.
    """

    words: tuple[str, ...]
    distance: int
    sense: str

    @property
    def rows(self) -> np.ndarray:
        """One row a word, (T, 4), a fresh array."""
        return np.array([_ROWS[word] for word in self.words])


def deciding_sentences(older_topic: bool = False, seed: int = 0) -> list[Sentence]:
    """200 sentences of 240 words, one for each distance from 1 to 200, in that order.

    Args:
        older_topic: put the other of "boat" and "clerk" somewhere before the deciding word.
        seed: of the fillers, of which word decides, and of where the older topic stands.
    """
    rng = np.random.default_rng(seed)
    return [_sentence(distance, older_topic, rng) for distance in range(1, FURTHEST + 1)]


def _sentence(distance: int, older_topic: bool, rng: np.random.Generator) -> Sentence:
    words = [str(word) for word in rng.choice(list(FILLERS), size=LENGTH)]
    deciding, other = rng.permutation(list(SENSE_OF)).tolist()
    words[-1] = "bank"
    words[-1 - distance] = deciding
    if older_topic:
        words[rng.integers(0, LENGTH - 1 - distance)] = other
    return Sentence(tuple(words), distance, SENSE_OF[deciding])


def leaning(row: np.ndarray) -> str:
    """Which of its first two columns, water and money, is larger in a row (4,): "water", "money" or "neither"."""
    water, money = float(row[0]), float(row[1])
    if abs(water - money) < EVEN:
        return "neither"
    return "water" if water > money else "money"

"""The sentence and the small matrices that go through the whole course.

Letters: T words in a sentence, d width of a row, d_k width of a query or key.
"""

from __future__ import annotations

import numpy as np

#: The running sentence, and the one that differs from it in one word.
WORDS: tuple[str, ...] = ("the", "boat", "left", "the", "bank")
CLERK_WORDS: tuple[str, ...] = ("the", "clerk", "left", "the", "bank")

#: What the four columns of a row stand for here. In a trained model columns have no names.
COLUMNS: tuple[str, ...] = ("water", "money", "place", "action")

#: The words that have a row, in the order of the rows of `TABLE`.
VOCABULARY: tuple[str, ...] = ("the", "boat", "clerk", "left", "bank")

#: One row a word, (5, 4). "bank" is as much water as money: nothing in its row decides.
TABLE = np.array(
    [
        [0.0, 0.0, 0.0, 0.1],
        [0.9, 0.0, 0.0, 0.2],
        [0.0, 0.9, 0.0, 0.2],
        [0.1, 0.1, 0.1, 0.9],
        [0.4, 0.4, 0.8, 0.0],
    ]
)

#: One head, written by hand. A place asks "water or money?", an action asks "where?". (4, 2)
W_Q = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
#: Water and money that are no place answer the first question, places the second. (4, 2)
W_K = np.array([[2.0, 0.0], [2.0, 0.0], [-2.0, 2.0], [0.0, 0.0]])
#: What a row hands over: everything but its place. (4, 4)
W_V = np.diag([1.0, 1.0, 0.0, 1.0])

for _array in (TABLE, W_Q, W_K, W_V):
    _array.setflags(write=False)


def word_ids(words: tuple[str, ...] | list[str] | str) -> np.ndarray:
    """The row number of each word.

    Args:
        words: words of `VOCABULARY`, as a sequence or as one string with blanks between them.

    Returns:
        (T,) int64.

    Raises:
        ValueError: for a word that has no row, naming the word and the words there are.
    """
    sequence = words.split() if isinstance(words, str) else list(words)
    unknown = [word for word in sequence if word not in VOCABULARY]
    if unknown:
        raise ValueError(f"no row for {unknown[0]!r}; the words are {', '.join(VOCABULARY)}")
    return np.array([VOCABULARY.index(word) for word in sequence], dtype=np.int64)


def rows(words: tuple[str, ...] | list[str] | str = WORDS) -> np.ndarray:
    """A fresh copy of the rows of `words`, (T, 4); see `word_ids` for what it raises."""
    return TABLE[word_ids(words)]

"""Who has what: the task on which networks that read in order, and later attention, are measured.

A story is a row of pairs (name, thing). `items` rows introduce a name with its thing ("n7 has t3"), then come rows of
chatter, a thing without a name, then questions, a name without a thing; the answer is that name's thing. One look back
at the row with the same name is enough to answer. Needs NumPy alone.

Letters: B stories in a batch, T rows.
"""

from __future__ import annotations

import numpy as np

NAMES, THINGS = 24, 16
#: The name of a row of chatter, and the thing of a question.
NOBODY, ASKED = NAMES, THINGS
#: A guess that knows nothing of the story.
BLIND = 1 / THINGS


def stories(
    rng: np.random.Generator, batch: int, items: int, distance: int = 1, questions: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stories with their right answers.

    Args:
        rng: where the randomness comes from.
        batch: B, how many stories.
        items: how many names get a thing, at most `NAMES`; no name comes twice.
        distance: steps from the last item to the first question; distance - 1 rows of chatter stand between.
        questions: how many of the names are asked for, in an order of their own; all when None.

    Returns:
        ids (B, T, 2) int64, a name and a thing a row, T = items + distance - 1 + questions; answers (B, questions).

    Raises:
        ValueError: for more items than there are names, more questions than items, or less than one of something.
    """
    asked = items if questions is None else questions
    if not 1 <= items <= NAMES:
        raise ValueError(f"{items} items do not fit: a story has 1 to {NAMES}, one a name")
    if not 1 <= asked <= items:
        raise ValueError(f"{asked} questions do not fit {items} items: ask for 1 to {items} of them")
    if distance < 1:
        raise ValueError(f"the distance is {distance}; the first question stands at least 1 step after the last item")
    names = rng.random((batch, NAMES)).argsort(axis=1)[:, :items]
    things = rng.integers(0, THINGS, (batch, items))
    chatter = rng.integers(0, THINGS, (batch, distance - 1))
    order = rng.random((batch, items)).argsort(axis=1)[:, :asked]
    said_names = [names, np.full_like(chatter, NOBODY), np.take_along_axis(names, order, axis=1)]
    said_things = [things, chatter, np.full_like(order, ASKED)]
    ids = np.stack([np.concatenate(said_names, axis=1), np.concatenate(said_things, axis=1)], axis=-1)
    return ids, np.take_along_axis(things, order, axis=1)


def in_words(ids: np.ndarray) -> str:
    """One story, (T, 2), for people to read."""
    return ", ".join(
        f"n{name} has ?" if thing == ASKED else f"(t{thing})" if name == NOBODY else f"n{name} has t{thing}"
        for name, thing in np.asarray(ids).tolist()
    )


def names_ignored(items: int, count: int = 20000) -> float:
    """The recall of whoever knows which things were said, and not by whom: always the commonest thing."""
    _, answers = stories(np.random.default_rng(99), count, items)
    return float(np.mean([np.bincount(row).max() / items for row in answers]))


def summary_recall(numbers: int, items: int, keep: float = 1.0, count: int = 300, seed: int = 0) -> np.ndarray:
    """Recall of stories that were written into one vector, by the place at which an item came, (items,).

    Nothing is trained. Every pair (name, thing) has a code, a vector of random signs; the summary starts at zero, and
    at each item it is multiplied by `keep`, and the code of the item is added. The answer to a question is the thing
    whose code with that name has the largest dot product with the summary.

    Args:
        numbers: m, the width of the summary.
        items: how many names get a thing.
        keep: what is left of the older items at each new one, 0 to 1.
        count: how many stories are told.
        seed: of the codes and the stories.
    """
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1.0, 1.0], size=(NAMES, THINGS, numbers))
    ids, _ = stories(rng, count, items)
    names, things = ids[:, :items, 0], ids[:, :items, 1]
    weights = keep ** np.arange(items - 1, -1, -1)
    summary = np.einsum("bkm,k->bm", codes[names, things], weights)  # (B, m)
    matches = np.stack([codes[names[i]] @ summary[i] for i in range(count)])  # (B, items, THINGS)
    return np.asarray((matches.argmax(axis=-1) == things).mean(axis=0))

"""Sentences in which one word decides: what is asked, what decides, and what moving the deciding word leaves alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.training.deciding import (
    AMBIGUOUS,
    DECIDING,
    EACH,
    FILLERS,
    MADE,
    NATURE,
    TOPICS,
    UNDECIDED,
    VOCABULARY,
    in_words,
    sentences,
    table,
    with_distance,
    word_ids,
)

seeds = st.integers(0, 2**32 - 1)


def sense(ambiguous: str, word: str) -> float:
    nature, made = TOPICS[ambiguous]
    return NATURE if word in nature else MADE if word in made else UNDECIDED


@given(seeds, st.integers(1, 6), st.integers(12, 60))
@settings(deadline=None, max_examples=30)
def test_the_answer_is_what_the_word_at_the_deciding_place_decides(seed: int, asked: int, length: int) -> None:
    batch = sentences(np.random.default_rng(seed), 7, length, asked)
    assert batch.ids.shape == (7, length) and batch.asked.shape == batch.deciding.shape == (7, asked)
    for ids, at, answers, deciding in zip(batch.ids, batch.asked, batch.answers, batch.deciding, strict=True):
        assert len({*at, *deciding}) == 2 * asked
        for place, answer, where in zip(at, answers, deciding, strict=True):
            assert sense(VOCABULARY[ids[place]], VOCABULARY[ids[where]]) == answer
        others = np.delete(ids, [*at, *deciding])
        assert {VOCABULARY[i] for i in others} <= set(FILLERS)


def test_senses_are_equally_common_and_a_quarter_is_undecided() -> None:
    answers = sentences(np.random.default_rng(0), 4000).answers
    shares = [float((answers == value).mean()) for value in (NATURE, UNDECIDED, MADE)]
    assert shares == pytest.approx([0.375, 0.25, 0.375], abs=0.02)
    assert not (sentences(np.random.default_rng(0), 50, undecided=0.0).answers == UNDECIDED).any()


@given(seeds, st.integers(1, 239))
@settings(deadline=None, max_examples=30)
def test_moving_the_deciding_word_changes_nothing_else(seed: int, distance: int) -> None:
    near, far = (with_distance(np.random.default_rng(seed), d, batch=5) for d in (1, distance))
    assert np.array_equal(np.sort(near.ids, axis=1), np.sort(far.ids, axis=1))
    assert np.array_equal(near.answers, far.answers)
    assert (far.asked == 239).all() and (far.asked - far.deciding == distance).all()
    for ids, answer in zip(far.ids, far.answers[:, 0], strict=True):
        assert sense(VOCABULARY[ids[-1]], VOCABULARY[ids[-1 - distance]]) == answer


@pytest.mark.parametrize("distance", [0, 240, -3])
def test_a_distance_that_does_not_fit_is_named(distance: int) -> None:
    with pytest.raises(ValueError, match=str(distance)):
        with_distance(np.random.default_rng(0), distance)


def test_words_are_read_and_written_and_unknown_ones_named() -> None:
    assert in_words(word_ids("the boat left the bank")) == "the boat left the bank"
    with pytest.raises(ValueError, match="ferry"):
        word_ids(["the", "ferry"])


def test_every_word_has_one_job() -> None:
    assert len(set(VOCABULARY)) == len(VOCABULARY) == len(AMBIGUOUS) + len(DECIDING) + len(FILLERS)
    assert len(DECIDING) == EACH * len(AMBIGUOUS)


def test_rows_of_one_topic_are_near_and_say_nothing_of_the_sense() -> None:
    rows = table()
    assert np.array_equal(rows, table()) and rows.var() == pytest.approx(1, abs=0.05)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    topic = np.concatenate([np.arange(8), np.repeat(np.arange(8), EACH)])
    cosines = unit[: len(topic)] @ unit[: len(topic)].T
    same = (topic[:, None] == topic) & ~np.eye(len(topic), dtype=bool)
    assert cosines[same].mean() > 0.4 and abs(cosines[topic[:, None] != topic].mean()) < 0.05

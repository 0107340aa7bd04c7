"""The recall task: stories with their right answers, and a memory that nobody trained."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_lab.training.stories import (
    ASKED,
    BLIND,
    NAMES,
    NOBODY,
    THINGS,
    in_words,
    names_ignored,
    stories,
    summary_recall,
)


@given(st.integers(0, 2**32 - 1), st.integers(1, NAMES), st.integers(1, 30))
def test_the_answer_is_the_thing_that_came_with_the_name(seed: int, items: int, distance: int) -> None:
    ids, answers = stories(np.random.default_rng(seed), 5, items, distance)
    assert ids.shape == (5, 2 * items + distance - 1, 2) and answers.shape == (5, items)
    for story, right in zip(ids.tolist(), answers.tolist(), strict=True):
        told = dict(story[:items])
        assert len(told) == items and all(0 <= thing < THINGS for thing in told.values())
        assert [told[name] for name, _ in story[-items:]] == right


@given(st.integers(0, 2**32 - 1))
def test_chatter_has_no_name_and_questions_have_no_thing(seed: int) -> None:
    ids, answers = stories(np.random.default_rng(seed), 3, items=4, distance=6, questions=2)
    assert (ids[:, 4:9, 0] == NOBODY).all() and (ids[:, 4:9, 1] < THINGS).all()
    assert (ids[:, 9:, 1] == ASKED).all() and (ids[:, 9:, 0] < NAMES).all()
    assert answers.shape == (3, 2)


def test_distance_is_counted_from_the_last_item_to_the_first_question() -> None:
    ids, _ = stories(np.random.default_rng(0), 1, items=1, distance=7)
    assert np.flatnonzero(ids[0, :, 1] == ASKED).tolist() == [7]


MISFITS = [
    ({"items": 25}, "25 items"),
    ({"items": 0}, "0 items"),
    ({"items": 2, "questions": 3}, "3 questions"),
    ({"items": 2, "distance": 0}, "distance is 0"),
]


@pytest.mark.parametrize(("given", "named"), MISFITS)
def test_what_does_not_fit_is_named(given: dict[str, int], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        stories(np.random.default_rng(0), 1, **given)


def test_a_story_can_be_read() -> None:
    ids = np.array([[3, 8], [NOBODY, 2], [3, ASKED]])
    assert in_words(ids) == "n3 has t8, (t2), n3 has ?"


def test_whoever_ignores_names_is_right_about_one_item_and_about_half_of_two() -> None:
    assert names_ignored(1) == 1.0
    assert names_ignored(2) == pytest.approx(0.5 + BLIND / 2, abs=0.01)


def test_a_summary_of_codes_holds_less_the_more_items_and_the_fewer_numbers() -> None:
    assert summary_recall(256, 4).mean() > 0.99
    assert summary_recall(64, 16).mean() < summary_recall(64, 4).mean()
    assert summary_recall(32, 12).mean() < summary_recall(128, 12).mean()


def test_a_summary_that_fades_keeps_the_newest() -> None:
    faded = summary_recall(64, 16, keep=0.8)
    assert faded[-1] > 0.9 and faded[:4].mean() < 0.3

"""The miniature English: its ground truth is what its words say."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.lesson import CLERK_WORDS, WORDS
from attention_lab.models import english
from attention_lab.models.english import AMBIGUOUS, FURTHEST, LENGTH, SHORT, UNDECIDED, recitals, stories, story

SEEDS = st.integers(0, 2**32)
DISTANCES = st.integers(1, FURTHEST)


@given(SEEDS, DISTANCES)
@settings(deadline=None, max_examples=80)
def test_the_ground_truth_stands_in_the_words(seed: int, distance: int) -> None:
    made = story(Random(seed), distance)
    for decision in made.decisions:
        assert made.words[decision.cue_at] == decision.cue
        assert made.words[decision.word_at] == decision.word
        assert made.words[decision.answer_at] in decision.sense.verbs + decision.sense.adjectives
        assert decision.cue in decision.sense.cues
        assert decision.sense in AMBIGUOUS[decision.word]
        assert decision.other in AMBIGUOUS[decision.word]
        assert decision.other != decision.sense
        assert decision.cue_at < decision.word_at < decision.answer_at <= decision.word_at + 2


@given(SEEDS, DISTANCES)
@settings(deadline=None, max_examples=80)
def test_a_story_has_the_asked_distance_and_the_fixed_length(seed: int, distance: int) -> None:
    made = story(Random(seed), distance)
    assert distance in [decision.distance for decision in made.decisions]
    assert all(1 <= decision.distance <= FURTHEST for decision in made.decisions)
    assert len(made.words) == LENGTH


@given(SEEDS)
@settings(deadline=None, max_examples=80)
def test_nothing_else_in_a_story_decides(seed: int) -> None:
    made = story(Random(seed))
    about = [asked.word for asked in (*made.decisions, *made.open)]
    assert len(about) == len(set(about)) == english.DECISIONS + 1 >= 3
    for marks, places in (
        (_all("cues"), [decision.cue_at for decision in made.decisions]),
        (_all("verbs") | _all("adjectives"), [decision.answer_at for decision in made.decisions]),
        (set(UNDECIDED.verbs + UNDECIDED.adjectives), [asked.answer_at for asked in made.open]),
        (set(AMBIGUOUS), [asked.word_at for asked in (*made.decisions, *made.open)]),
    ):
        assert [i for i, word in enumerate(made.words) if word in marks] == sorted(places)


@given(SEEDS)
@settings(deadline=None, max_examples=50)
def test_short_stories_keep_to_their_size(seed: int) -> None:
    made = story(Random(seed), size=SHORT)
    assert len(made.words) == SHORT.length < LENGTH
    assert len(made.decisions) == SHORT.decisions
    assert all(decision.distance <= SHORT.furthest for decision in made.decisions)


@given(SEEDS)
@settings(deadline=None, max_examples=50)
def test_a_text_is_words_with_one_blank_between(seed: int) -> None:
    for made in stories(3, seed):
        assert "  " not in made.text
        assert made.text.split(" ") == list(made.words)
        assert all(not (a == b == ".") for a, b in pairwise(made.words))
        assert made.words[0] != "."


@given(SEEDS, st.integers(4, 40), st.integers(1, LENGTH))
@settings(deadline=None, max_examples=80)
def test_a_recital_repeats_and_has_no_word_twice_in_a_round(seed: int, period: int, length: int) -> None:
    made = english.recital(Random(seed), length, period)
    assert len(made.words) == length
    assert len(set(made.words)) == min(period, length)
    assert made.words[period:] == made.words[: max(0, length - period)]


@given(SEEDS)
@settings(deadline=None, max_examples=50)
def test_one_ambiguous_word_of_a_story_is_left_open(seed: int) -> None:
    made = story(Random(seed))
    assert len(made.open) == 1
    for asked in made.open:
        assert made.words[asked.word_at] == asked.word
        assert asked.word_at < asked.answer_at <= asked.word_at + 2
        assert not {cue for sense in AMBIGUOUS[asked.word] for cue in sense.cues} & set(made.words)


def test_every_distance_is_equally_common() -> None:
    counts = Counter(decision.distance for made in stories(2000, 1) for decision in made.decisions)
    expected = sum(counts.values()) / FURTHEST
    assert set(counts) == set(range(1, FURTHEST + 1))
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert chi_square < 120  # 63 degrees of freedom; 120 is beyond the 99.99th percentile


def test_senses_and_words_are_equally_common_and_nearness_does_not_tell_the_cue() -> None:
    made = list(stories(1500, 2))
    senses = Counter((decision.word, decision.sense.name) for one in made for decision in one.decisions)
    assert len(senses) == 2 * len(AMBIGUOUS) >= 16
    assert max(senses.values()) < 1.25 * min(senses.values())
    decisions = [(decision, one) for one in made for decision in one.decisions]
    nearest = [max(d.cue_at for d in one.decisions if d.cue_at < decision.word_at) for decision, one in decisions]
    right = sum(cue == decision.cue_at for cue, (decision, _) in zip(nearest, decisions, strict=True))
    assert 0.4 < right / len(decisions) < 0.75


def test_cues_and_answers_belong_to_one_sense_each() -> None:
    senses = [sense for pair in AMBIGUOUS.values() for sense in pair]
    words = [word for sense in senses for word in sense.cues + sense.verbs + sense.adjectives]
    assert len(words) == len(set(words)) == 3 * len(senses)
    assert not set(words) & {*AMBIGUOUS, *UNDECIDED.verbs, *UNDECIDED.adjectives}


def test_people_keep_their_surnames_and_refrains_come_back() -> None:
    made = list(stories(300, 3))
    for one in made:
        after: dict[str, set[str]] = {}
        for first, second in pairwise(one.words):
            if second in english.SURNAMES:
                after.setdefault(first, set()).add(second)
        assert all(len(surnames) == 1 for surnames in after.values())
    refrains = [sum(word in english._COLOURS for word in one.words) for one in made]
    assert sum(count >= 2 for count in refrains) > len(made) / 2


def test_the_same_seed_gives_the_same_stories_and_another_gives_others() -> None:
    assert list(stories(5, 4)) == list(stories(5, 4))
    assert list(stories(5, 4)) != list(stories(5, 5))
    assert list(recitals(5, 4)) == list(recitals(5, 4))
    assert [one.decisions for one in stories(4, 4)] != [one.decisions for one in stories(4, 5)]


def test_asked_distances_are_taken_in_turn() -> None:
    made = list(stories(6, 6, distances=[1, 30, 64]))
    for one, distance in zip(made, [1, 30, 64, 1, 30, 64], strict=True):
        assert distance in [decision.distance for decision in one.decisions]


@pytest.mark.parametrize("distance", [0, -1, FURTHEST + 1])
def test_a_distance_out_of_reach_is_refused_by_name(distance: int) -> None:
    with pytest.raises(ValueError, match=rf"from 1 to {FURTHEST} words, not {distance}"):
        story(Random(0), distance)


def test_the_running_sentence_of_the_course_is_in_the_language() -> None:
    texts = [one.text for one in stories(800, 5, distances=[3])]
    for words in (WORDS, CLERK_WORDS):
        assert any(" ".join(words) in text for text in texts)


def _all(field: str) -> set[str]:
    return {word for pair in AMBIGUOUS.values() for sense in pair for word in getattr(sense, field)}

"""Chapter 01: references against torch, the properties of a window, and the numbers that the text states."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.checking import judge
from attention_lab.exercises.chapter_01 import cosine_similarity, embed, window_mean
from attention_lab.figures import picture
from attention_lab.figures.chapter_01 import (
    ONE_TOPIC,
    PART,
    SENTENCES,
    TWO_TOPICS,
    bank_chart,
    reach_chart,
    reach_data,
    reach_lines,
)
from attention_lab.lesson import TABLE, rows
from attention_lab.sentences import FURTHEST, LENGTH, SENSE_OF, deciding_sentences, leaning

torch = pytest.importorskip("torch")


def test_embed_is_torchs_embedding():
    rng = np.random.default_rng(1)
    ids, table = rng.integers(0, 7, size=9), rng.normal(size=(7, 3))
    expected = torch.nn.functional.embedding(torch.from_numpy(ids), torch.from_numpy(table))
    assert np.array_equal(embed(ids, table), expected.numpy())


@pytest.mark.parametrize("outside", [-1, -5, 5, 99])
def test_embed_refuses_ids_on_both_sides_as_torch_does(outside):
    ids = np.array([0, outside])
    with pytest.raises(IndexError, match=str(outside)):
        embed(ids, TABLE)
    with pytest.raises(IndexError):
        torch.nn.functional.embedding(torch.from_numpy(ids), torch.from_numpy(TABLE.copy()))


def test_embed_hands_out_a_copy():
    assert not np.shares_memory(embed(np.array([0, 1, 2]), TABLE), TABLE)


def test_cosine_similarity_is_torchs():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    a[2] = 0.0
    expected = torch.nn.functional.cosine_similarity(torch.from_numpy(a)[:, None], torch.from_numpy(b)[None], dim=-1)
    assert np.allclose(cosine_similarity(a, b), expected.numpy(), atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(0, 2**32 - 1))
def test_cosine_similarity_does_not_see_the_length_of_a_row(factor, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
    assert np.allclose(cosine_similarity(factor * a, b), cosine_similarity(a, b), atol=1e-12)
    assert np.abs(cosine_similarity(a, b)).max() <= 1 + 1e-12


def test_window_mean_is_torchs_average_pooling_over_padded_rows():
    x = np.random.default_rng(3).normal(size=(8, 3))
    padded = torch.nn.functional.pad(torch.from_numpy(x).T, (3, 0))
    sums = 4 * torch.nn.functional.avg_pool1d(padded, kernel_size=4, stride=1).T.numpy()
    there = np.minimum(np.arange(1, 9), 4)[:, None]
    assert np.allclose(window_mean(x, 4), sums / there, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 15), st.integers(0, 2**32 - 1))
def test_a_row_outside_the_window_has_no_effect_and_one_inside_has(length, width, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(length, 2))
    j = int(rng.integers(length))
    moved = x.copy()
    moved[j] += 1.0
    changed = (np.abs(window_mean(moved, width) - window_mean(x, width)) > 1e-12).any(axis=1)
    assert changed.tolist() == [j <= t < j + width for t in range(length)]


def test_every_generated_sentence_ends_in_the_same_row():
    for older_topic in (False, True):
        assert {s.rows[-1].tobytes() for s in deciding_sentences(older_topic)} == {rows("bank")[0].tobytes()}


def test_the_deciding_word_stands_where_the_sentence_says():
    for sentence in deciding_sentences():
        places = [t for t, word in enumerate(sentence.words) if word in SENSE_OF]
        assert places == [LENGTH - 1 - sentence.distance]
        assert SENSE_OF[sentence.words[places[0]]] == sentence.sense


def test_an_older_topic_stands_before_the_deciding_word_and_pulls_the_other_way():
    for sentence in deciding_sentences(older_topic=True):
        older, deciding = [t for t, word in enumerate(sentence.words) if word in SENSE_OF]
        assert deciding == LENGTH - 1 - sentence.distance
        assert SENSE_OF[sentence.words[deciding]] == sentence.sense != SENSE_OF[sentence.words[older]]


def test_distances_are_1_to_200_once_each_and_both_senses_occur():
    sentences = deciding_sentences()
    assert [s.distance for s in sentences] == list(range(1, FURTHEST + 1))
    assert {s.sense for s in sentences} == {"water", "money"}


def test_sentences_follow_their_seed():
    assert deciding_sentences(seed=3) == deciding_sentences(seed=3) != deciding_sentences(seed=4)


@pytest.mark.parametrize(("width", "seed"), [(1, 0), (2, 1), (4, 0), (51, 1), (201, 0)])
def test_recall_is_exactly_the_fraction_of_distances_inside_the_window(width, seed):
    right = [leaning(window_mean(s.rows, width)[-1]) == s.sense for s in deciding_sentences(seed=seed)]
    assert right == [distance < width for distance in range(1, FURTHEST + 1)]


@pytest.mark.parametrize("width", [4, 151])
def test_the_lines_of_the_slider_are_what_window_mean_gives(width):
    lines = reach_lines()
    one = [leaning(window_mean(s.rows, width)[-1]) == s.sense for s in deciding_sentences()]
    two = [
        leaning(window_mean(s.rows, width)[-1]) == s.sense
        for seed in range(5)
        for s in deciding_sentences(older_topic=True, seed=seed)
    ]
    assert lines[ONE_TOPIC][width - 1] == pytest.approx(np.mean(one))
    assert lines[TWO_TOPICS][width - 1] == pytest.approx(np.mean(two))


def test_the_part_of_the_deciding_word_is_one_over_the_width():
    part = reach_lines()[PART]
    assert np.isnan(part[0])
    assert np.allclose(part[1:], 1.0 / np.arange(2, FURTHEST + 2))


def test_with_an_older_topic_no_width_reaches_one_half():
    share = reach_lines()[TWO_TOPICS]
    assert 0.4 < share.max() < 0.5
    assert share[-1] < share.max() - 0.05


@pytest.mark.parametrize("width", [1, 2, 4, 100, 201])
def test_the_slider_has_a_picture_and_a_sentence_at_every_width(width):
    said = picture(reach_chart(), reach_data(width)).alt
    assert f"Width {width} sees {width - 1} back" in said
    assert "nan" not in said


def test_the_two_banks_part_at_width_four():
    def title(width):
        return picture(bank_chart(), {name: rows(name)[5 - width :].mean(axis=0) for name in SENTENCES}).alt

    assert "equal in every column" in title(3)
    assert "leans to water with the boat, to money with the clerk" in title(4)


def test_a_constant_too_small_to_matter_passes_and_a_larger_one_is_named():
    def similarity(added):
        def cosine(a, b):
            unit_a = a / (np.linalg.norm(a, axis=1, keepdims=True) + added)
            unit_b = b / (np.linalg.norm(b, axis=1, keepdims=True) + added)
            return unit_a @ unit_b.T

        return cosine

    assert judge("cosine_similarity", similarity(1e-12)).passed
    assert judge("cosine_similarity", similarity(1e-8)).mistake == "added_1em8"

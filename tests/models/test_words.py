"""The tokenizer: everyday words are one token, rare ones several, and nothing is unknown."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from attention_lab.lesson import CLERK_WORDS, WORDS
from attention_lab.models import Loaded
from attention_lab.models.door import CHECKPOINTS
from attention_lab.models.english import AMBIGUOUS, RARE, RARE_NAMES, RECITED, stories
from attention_lab.models.words import VOCABULARY, train_tokenizer

RARE_WORDS = {*RARE_NAMES, *chain(*RARE.values())}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(CHECKPOINTS / "lab" / "tokenizer.json"))


def pieces(tokenizer: Tokenizer, word: str) -> int:
    return len(tokenizer.encode(word).ids)


def test_the_committed_tokenizer_is_what_the_script_makes(any_lab: Loaded) -> None:
    committed = (any_lab.folder / "tokenizer.json").read_text(encoding="utf-8")
    assert committed == train_tokenizer().to_str(pretty=True) + "\n"


def test_everyday_words_are_one_token_and_rare_words_are_several(tokenizer: Tokenizer) -> None:
    words = {word for made in stories(600, 21) for word in made.words} | set(RECITED)
    assert {word for word in words - RARE_WORDS if pieces(tokenizer, word) != 1} == set()
    assert {word for word in RARE_WORDS if pieces(tokenizer, word) < 2} == set()


def test_cues_answers_and_the_running_sentences_are_one_token_a_word(tokenizer: Tokenizer) -> None:
    senses = [sense for pair in AMBIGUOUS.values() for sense in pair]
    for word in chain(
        AMBIGUOUS, WORDS, CLERK_WORDS, *(sense.cues + sense.verbs + sense.adjectives for sense in senses)
    ):
        assert pieces(tokenizer, word) == 1, word
    assert len(tokenizer.encode(" ".join(WORDS)).ids) == len(WORDS)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@settings(deadline=None, max_examples=100)
def test_no_text_is_unknown(tokenizer: Tokenizer, text: str) -> None:
    if not text.startswith(" ") and "<|endoftext|>" not in text:
        assert tokenizer.decode(tokenizer.encode(text).ids).removeprefix(" ") == text


def test_a_word_has_the_same_number_wherever_it_stands(tokenizer: Tokenizer) -> None:
    assert tokenizer.encode("bank the bank").ids[0] == tokenizer.encode("bank the bank").ids[2]


def test_the_vocabulary_has_its_size(tokenizer: Tokenizer) -> None:
    assert tokenizer.get_vocab_size() == VOCABULARY

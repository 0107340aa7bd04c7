"""The models of chapter 06: their language, what is possible in it, and what a leak does, for three seeds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from attention_lab.training import next_word  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def texts(batch: int = 40, seed: int = 3) -> torch.Tensor:
    return next_word.sentences(np.random.default_rng(seed), batch)


def test_the_sentences_are_those_of_the_language() -> None:
    ids = texts()
    assert ids.shape == (40, next_word.LENGTH)
    assert next_word.right_sentences(ids).all()
    assert next_word.text(ids[0]).startswith("the ") and next_word.text(ids[0]).endswith(" bank .")
    assert set(ids.flatten().tolist()) == set(range(len(next_word.VOCABULARY)))


@pytest.mark.parametrize(
    "wrong",
    [
        "the clerk left the muddy bank .",
        "the boat left the rich bank .",
        "boat the left the muddy bank .",
        "the boat left the muddy . bank",
        "the the left the muddy bank .",
        "the boat boat the muddy bank .",
        "the boat left the bank bank .",
        "the boat left the left bank .",
    ],
)
def test_a_sentence_with_one_fault_is_none_of_the_language(wrong: str) -> None:
    ids = torch.tensor([[next_word.VOCABULARY.index(word) for word in wrong.split()]])
    assert not next_word.right_sentences(ids).any()
    right = torch.tensor([[next_word.VOCABULARY.index(word) for word in "the boat left the muddy bank .".split()]])
    assert next_word.right_sentences(right).all()


def test_the_floor_is_the_entropy_of_the_language() -> None:
    """Counted, not derived: every sentence there is, each as likely as the others."""
    verbs = next_word.VERBS
    count = sum(
        len(list(itertools.product(next_word.SUBJECTS[sense], verbs, next_word.ADJECTIVES[sense])))
        for sense in next_word.SUBJECTS
    )
    seen = {tuple(s) for s in texts(2000).reshape(-1, next_word.SENTENCE).tolist()}
    assert len(seen) == count
    predictions = next_word.LENGTH - 1
    assert pytest.approx(next_word.SENTENCES * math.log(count) / predictions) == next_word.FLOOR


@pytest.mark.parametrize("seed", range(3))
def test_a_leak_makes_training_look_perfect_and_the_text_rubbish(seed: int) -> None:
    ids = texts(100, seed=11)
    found = {}
    for attention in (next_word.may_not, next_word.may_look_ahead):
        model, losses = next_word.trained(attention, seed=seed)
        past = float(next_word.shifted_loss(next_word.from_the_past(model, ids), ids))
        right = next_word.right_sentences(next_word.continued(model, ids[:, :1])).all(1).float().mean()
        found[attention.__name__] = (losses[-1], past, float(right))
    loss, past, right = found["may_not"]
    assert next_word.FLOOR - 0.02 < loss < next_word.FLOOR + 0.02
    assert abs(past - next_word.FLOOR) < 0.02
    assert right > 0.9
    loss, past, right = found["may_look_ahead"]
    assert loss < 0.01
    assert past > next_word.UNIFORM
    assert right < 0.05


def test_one_pass_gives_the_predictions_of_every_prefix_only_with_a_mask() -> None:
    torch.manual_seed(0)
    ids = texts(5)
    for attention, same in ((next_word.may_not, True), (next_word.may_look_ahead, False)):
        model = next_word.NextWord(attention).eval()
        with torch.no_grad():
            assert torch.allclose(model(ids), next_word.from_the_past(model, ids), atol=1e-4) == same


def test_the_same_seed_gives_the_same_losses() -> None:
    def losses(seed: int) -> list[float]:
        return next_word.trained(next_word.may_not, steps=3, seed=seed)[1]

    assert losses(1) == losses(1) != losses(2)


def test_a_text_is_continued_and_its_beginning_kept() -> None:
    torch.manual_seed(0)
    model, ids = next_word.NextWord(next_word.may_not).eval(), texts(4)[:, :5]
    written = next_word.continued(model, ids, 9)
    assert written.shape == (4, 9) and torch.equal(written[:, :5], ids)

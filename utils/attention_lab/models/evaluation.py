"""What a lab checkpoint can do and which heads do it, as numbers. `course.py train` prints and stores them.

All documents here come from seeds that training never uses. An ambiguous word has three kinds of answers: those of
either sense, and those of none, where nothing decides.

Letters: N documents or decisions, T tokens, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import torch
from torch.nn import functional
from tqdm import tqdm

from attention_lab.models.door import Loaded
from attention_lab.models.english import AMBIGUOUS, FURTHEST, LENGTH, UNDECIDED, Recital, Sense, Story, recital, stories
from attention_lab.models.switches import attention_off, heads_off

Head = tuple[int, int]

#: Seeds of the documents that models are measured on.
STORIES_SEED, RECITALS_SEED, RANDOM_HEADS_SEED = 7, 8, 9
#: Distances are counted in groups of this many words.
GROUP = 8
#: So many sets of random heads each set of chosen heads is compared with.
CONTROLS = 8
_AT_ONCE = 16


@dataclass(frozen=True)
class Documents:
    """Texts as tokens, all of one length.

    Attributes:
        items: N stories or N recitals.
        ids: (N, T), the start token first.
        at: for each document the token where each of its words begins.
    """

    items: list[Any]
    ids: torch.Tensor
    at: list[np.ndarray]

    def batches(self) -> Iterator[tuple[slice, torch.Tensor]]:
        """The rows of some documents and their ids, in order."""
        for start in range(0, len(self.items), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            yield rows, self.ids[rows]


def documents(items: Iterable[Story | Recital], lab: Loaded) -> Documents:
    """Stories or recitals as tokens, cut at the length that the model reads at once."""
    length, kept, rows, starts = lab.model.config.n_positions, [], [], []
    for item in items:
        coded = lab.tokenizer(item.text, add_special_tokens=False)
        words = np.array([-1, *coded.word_ids()])
        ids = [lab.tokenizer.bos_token_id, *coded.input_ids, *[lab.tokenizer.bos_token_id] * length]
        kept.append(item)
        rows.append(ids[:length])
        starts.append(np.array([np.flatnonzero(words == i)[0] for i in range(len(item.words))]))
    return Documents(kept, torch.tensor(rows), starts)


def twice(count: int) -> list[Recital]:
    """`count` recitals of two rounds each, 16 to 56 words a round."""
    rng = Random(RECITALS_SEED)
    periods = [rng.randint(16, LENGTH // 2) for _ in range(count)]
    return [recital(rng, 2 * period, period) for period in periods]


@dataclass(frozen=True)
class Decided:
    """How a model did on N decisions.

    Attributes:
        distances: (N,) in words.
        senses: N pairs, the ambiguous word and the name of the right sense.
        right: (N,) the probability of the right sense's answers, as a share of those of both senses and of none.
        from_word: (N, L, H) the weight that the ambiguous word's row gives to the cue.
        from_last: (N, L, H) the same of the row that the answer is read from ("bank" or "was").
        by_was: (N,) True where a "was" stands between the ambiguous word and the answer.
        uniform: (N,) the weight that every token would get from the ambiguous word's row if all got the same.
    """

    distances: np.ndarray
    senses: list[tuple[str, str]]
    right: np.ndarray
    from_word: np.ndarray
    from_last: np.ndarray
    by_was: np.ndarray
    uniform: np.ndarray

    def by_distance(self, values: np.ndarray) -> dict[str, float]:
        """Means of (N,) values over decisions of like distance, "1-8" first."""
        groups = (self.distances - 1) // GROUP
        return {
            f"{g * GROUP + 1}-{(g + 1) * GROUP}": _round(values[groups == g].mean())
            for g in range(FURTHEST // GROUP)
            if (groups == g).any()
        }


@torch.no_grad()
def decide(lab: Loaded, docs: Documents) -> Decided:
    """Let the model read stories up to each answer, and see which sense it expects and where its heads look."""
    answers = _answer_ids(lab)
    rows: list[tuple[Any, ...]] = []
    for where, ids in docs.batches():
        out = lab.model(ids, output_attentions=True, use_cache=False)
        patterns = torch.stack(out.attentions, dim=1).numpy()  # (N, L, H, T, T)
        chances = out.logits.softmax(-1).numpy()
        for i, (item, at) in enumerate(zip(docs.items[where], docs.at[where], strict=True)):
            for decision in item.decisions:
                cue, word, answer = at[[decision.cue_at, decision.word_at, decision.answer_at]]
                if answer < ids.shape[1]:
                    right = _share(chances[i, answer - 1], decision.word, decision.sense, answers)
                    looks = patterns[i, :, :, [word, answer - 1], cue]
                    by_was = answer - word > 1
                    name = (decision.word, decision.sense.name)
                    rows.append((decision.distance, name, right, looks[0], looks[1], by_was, 1 / (word + 1)))
    distances, names, *others = zip(*rows, strict=True)
    return Decided(np.array(distances), list(names), *(np.array(column) for column in others))


@torch.no_grad()
def left_open(lab: Loaded, docs: Documents) -> np.ndarray:
    """For each ambiguous word without a cue: the probability of the answers that say so, as a share; (N,)."""
    answers, shares = _answer_ids(lab), []
    for where, ids in docs.batches():
        chances = lab.model(ids, use_cache=False).logits.softmax(-1).numpy()
        for i, (item, at) in enumerate(zip(docs.items[where], docs.at[where], strict=True)):
            rows = [(asked.word, at[asked.answer_at] - 1) for asked in item.open]
            shares += [
                _share(chances[i, row], word, UNDECIDED, answers) for word, row in rows if row < ids.shape[1] - 1
            ]
    return np.array(shares)


def _answer_ids(lab: Loaded) -> dict[str, int]:
    senses = [UNDECIDED, *(sense for pair in AMBIGUOUS.values() for sense in pair)]
    words = [word for sense in senses for word in sense.verbs + sense.adjectives]
    return {word: lab.tokenizer(word, add_special_tokens=False).input_ids[0] for word in words}


def _share(chances: np.ndarray, word: str, wanted: Sense, answers: dict[str, int]) -> float:
    """The probability of the answers of one sense, as a share of those of both senses and of none."""
    of_each = {
        sense.name: sum(float(chances[answers[answer]]) for answer in sense.verbs + sense.adjectives)
        for sense in (*AMBIGUOUS[word], UNDECIDED)
    }
    return of_each[wanted.name] / sum(of_each.values())


@dataclass(frozen=True)
class Scores:
    """Mean attention of each head, all (L, H).

    Attributes:
        previous: weight that rows of stories give to the row just before.
        recited: the same of recitals.
        first: weight that rows of stories give to the first row.
        induction: weight that rows of recitals give to the row after the last time their token stood there.
    """

    previous: np.ndarray
    recited: np.ndarray
    first: np.ndarray
    induction: np.ndarray


@torch.no_grad()
def head_scores(lab: Loaded, told: Documents, recited: Documents) -> Scores:
    """Previous-word, first-token and induction scores of every head (Olsson et al. 2022, section on head scores)."""
    previous, said, first, induction = [], [], [], []
    for where, ids in told.batches():
        for i, pattern in enumerate(_patterns(lab, ids)):
            last = _end(told, where.start + i)
            rows = np.arange(2, last)  # row 0 has nothing before it, and for row 1 the row before is the first one
            previous.append(pattern[:, :, rows, rows - 1].mean(-1))
            first.append(pattern[:, :, rows, 0].mean(-1))
    for where, ids in recited.batches():
        for item, pattern in zip(recited.items[where], _patterns(lab, ids), strict=True):
            rows = np.arange(item.period + 1, len(item.words) + 1)
            induction.append(pattern[:, :, rows, rows - item.period + 1].mean(-1))
            said.append(pattern[:, :, rows, rows - 1].mean(-1))
    return Scores(*(np.mean(column, axis=0) for column in (previous, said, first, induction)))


def _end(docs: Documents, i: int) -> int:
    """The number of rows of document i that are its own, the start token included (the rest is padding)."""
    return int(min(docs.at[i][-1] + 1, docs.ids.shape[1]))


def _patterns(lab: Loaded, ids: torch.Tensor) -> np.ndarray:
    """(N, L, H, T, T)."""
    return torch.stack(lab.model(ids, output_attentions=True, use_cache=False).attentions, dim=1).numpy()


@dataclass(frozen=True)
class Losses:
    """Mean cross-entropies in nats, and an accuracy.

    Attributes:
        story: of every token of the stories.
        answers: of the deciding answers alone.
        repeats: of the tokens of recitals that repetition makes predictable.
        repeats_right: the share of those that the model expects most.
    """

    story: float
    answers: float
    repeats: float
    repeats_right: float


@torch.no_grad()
def losses(lab: Loaded, told: Documents, recited: Documents) -> Losses:
    """The losses of a model as it is now, with whatever is switched off."""
    story, answers, repeats, hits = [], [], [], []
    for where, ids in told.batches():
        each, _ = _each_token(lab, ids)
        for i, item in enumerate(told.items[where]):
            last = _end(told, where.start + i)
            story.append(each[i, : last - 1])
            at = told.at[where.start + i][[decision.answer_at for decision in item.decisions]]
            answers.append(each[i, at[at < last] - 1])
    for where, ids in recited.batches():
        each, right = _each_token(lab, ids)
        for i, item in enumerate(recited.items[where]):
            rows = slice(item.period + 1, len(item.words))  # row t predicts token t + 1
            repeats.append(each[i, rows])
            hits.append(right[i, rows])
    return Losses(*(_round(np.concatenate(column).mean()) for column in (story, answers, repeats, hits)))


def _each_token(lab: Loaded, ids: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Of predicting tokens 1 … T - 1: the cross-entropy and whether the likeliest was right, (N, T - 1) each."""
    logits = lab.model(ids, use_cache=False).logits[:, :-1]
    each = functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return each.numpy(), (logits.argmax(-1) == ids[:, 1:]).numpy()


def best(scores: np.ndarray, count: int = 1) -> list[Head]:
    """The heads with the highest of (L, H) scores, the best first."""
    order = np.argsort(-scores, axis=None, kind="stable")[:count]
    return [(int(i // scores.shape[1]), int(i % scores.shape[1])) for i in order]


def random_heads(lab: Loaded, size: int, named: Iterable[Head]) -> list[list[Head]]:
    """`CONTROLS` sets of `size` heads each, none of them among `named`."""
    config, named = lab.model.config, set(named)
    others = [(i, j) for i in range(config.n_layer) for j in range(config.n_head) if (i, j) not in named]
    rng = Random(RANDOM_HEADS_SEED)
    return [sorted(rng.sample(others, size)) for _ in range(CONTROLS)]


def evaluate(lab: Loaded, n_stories: int = 192, n_recitals: int = 48, ablate: bool = True) -> dict[str, Any]:
    """Every figure of a checkpoint, as plain data for JSON.

    Args:
        lab: the checkpoint.
        n_stories: stories to read; each distance from 1 to 64 comes up equally often.
        n_recitals: recitals to read.
        ablate: measure the losses with heads switched off, too.
    """
    told = documents(stories(n_stories, STORIES_SEED, distances=range(1, FURTHEST + 1)), lab)
    recited = documents(twice(n_recitals), lab)
    decided, scores = decide(lab, told), head_scores(lab, told, recited)
    from_word, from_last = decided.from_word.mean(0), decided.from_last.mean(0)
    from_was = decided.from_last[decided.by_was].mean(0)
    figures = {
        "measured_on": {"stories": n_stories, "decisions": len(decided.right), "recitals": n_recitals},
        "senses": _senses(lab, told, decided),
        "cue": {
            "from_the_ambiguous_word": _cue(decided, decided.from_word, from_word),
            "from_the_row_that_predicts": _cue(decided, decided.from_last, from_last),
            "by_sense": _by_sense(decided),
            "from_was": _named(best(from_was)[0], from_was),
            "if_all_tokens_got_the_same": _round(decided.uniform.mean()),
        },
        "heads": {
            name: [_named(head, values) for head in best(values, 3)]
            for name, values in (
                ("previous_token", scores.previous),
                ("previous_token_on_recitals", scores.recited),
                ("first_token", scores.first),
                ("induction", scores.induction),
            )
        },
    }
    if ablate:
        groups = {
            "induction": best(scores.induction, 2),
            "previous_token": best(scores.previous, 1),
            "cue": best(from_last, 2),
        }
        figures["switched_off"] = _switched_off(lab, told, recited, groups)
    return figures


def _senses(lab: Loaded, told: Documents, decided: Decided) -> dict[str, Any]:
    with attention_off(lab.model):
        blind = decide(lab, told).right
    return {
        "accuracy": _round((decided.right > 0.5).mean()),
        "accuracy_by_distance": decided.by_distance(decided.right > 0.5),
        "share_of_the_right_sense": _round(decided.right.mean()),
        "share_by_distance": decided.by_distance(decided.right),
        "accuracy_where_nothing_decides": _round((left_open(lab, told) > 0.5).mean()),
        "accuracy_with_attention_off": _round((blind > 0.5).mean()),
    }


def _cue(decided: Decided, looks: np.ndarray, means: np.ndarray) -> dict[str, Any]:
    head = best(means)[0]
    return {
        **_named(head, means),
        "by_distance": decided.by_distance(looks[:, head[0], head[1]]),
        "whichever_head": _round(looks.max(axis=(1, 2)).mean()),
    }


def _by_sense(decided: Decided) -> dict[str, dict[str, Any]]:
    """For each sense of each word, the head that looks at its cue most from the row that predicts."""
    found = {}
    for word, sense in sorted(set(decided.senses)):
        rows = [i for i, name in enumerate(decided.senses) if name == (word, sense)]
        means = decided.from_last[rows].mean(0)
        found[f"{word}: {sense}"] = _named(best(means)[0], means)
    return found


def _named(head: Head, scores: np.ndarray) -> dict[str, Any]:
    return {"layer": head[0], "head": head[1], "score": _round(scores[head])}


def _switched_off(lab: Loaded, told: Documents, recited: Documents, groups: dict[str, list[Head]]) -> dict[str, Any]:
    def measured(switch: AbstractContextManager[None]) -> dict[str, float]:
        with switch:
            return vars(losses(lab, told, recited)).copy()

    found: dict[str, Any] = {"nothing": measured(nullcontext()), "all attention": measured(attention_off(lab.model))}
    named = {head for heads in groups.values() for head in heads}
    for name, heads in tqdm(groups.items(), desc="heads switched off", unit="set", disable=None):
        controls = [measured(heads_off(lab.model, some)) for some in random_heads(lab, len(heads), named)]
        found[name] = {
            "heads": [list(head) for head in heads],
            **measured(heads_off(lab.model, heads)),
            "random_heads": {
                key: {f.__name__: _round(f([one[key] for one in controls])) for f in (min, np.mean, max)}
                for key in controls[0]
            },
        }
    return found


def _round(number: Any) -> float:
    return round(float(number), 4)

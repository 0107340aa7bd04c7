"""The model card of a checkpoint, written from its recipe and its figures, so that the two cannot differ."""

from __future__ import annotations

from typing import Any

from attention_lab.models.english import DECISIONS
from attention_lab.models.training import TRAINING_SEED, Recipe
from attention_lab.models.words import VOCABULARY

#: Recitals count as learned where the model expects more than this share of what repetition tells.
LEARNED = 0.9
#: Chief figures that say nothing of a model which never saw recitals.
OF_RECITALS = ("induction", "repeats_right", "repeats_right_without_induction_heads", "the_same_without_random_heads")

_CARD = """\
# {name}

A miniature GPT-2 (`GPT2LMHeadModel`) that ships with Attention Lab: {layers} layers, {heads} heads, width {width}, \
{positions} positions, {parameters:,} numbers in {bytes:,} bytes of safetensors. {positions_sentence}

It is made for looking into, not for use: it knows a miniature English of some 240 words and nothing else.

## Data

Generated, seeded, no text of anybody's: `attention_lab.models.english`. Each step sees {stories} stories\
{recitals_sentence}. In a story, {decisions} ambiguous words (of bank, bat, light, spring, crane, seal, match, trunk; \
two senses each) are each decided by one earlier cue, 1 to 64 words before, every distance alike, and one more has no \
cue and an answer that says so; the ground truth is known. Training used seed {data_seed}; the figures below come from \
other seeds. The tokenizer is byte-level BPE trained on stories: {vocabulary} tokens, everyday words whole, rare words \
in pieces.

## Training

The first {short_steps:,} steps see twice as many documents of 44 words, with cues up to 24 words away, at random \
places of the position table; the others see documents of 112 words. {steps:,} steps of AdamW (betas 0.9 and 0.99, \
weight decay 0.01, clip 1), rate {rate}, {warmup} steps of warm-up, falling from step {decay_step} on, no dropout, \
seed {seed}, one thread. Deciding answers weigh {answer_weight:g} times as much as other words. Loss as trained: \
{first_loss:.2f} at first, {last_loss:.2f} at the end (mean of the last 50 steps).

    python course.py train {name}

makes it again, with these figures. On another processor sums are taken in another order, and the digits \
can differ.

## Figures

Measured on {n_stories} stories ({n_decisions} decisions) and {n_recitals} recitals (random words said again and \
again) by `attention_lab.models.evaluation.evaluate`; all of them, rounded to four digits, are in `figures.json`.

| sense of the ambiguous word | all | {distance_names} |
|---|---|{distance_rule}|
| accuracy | {accuracy:.4f} | {accuracies} |
| probability on the right sense | {share:.4f} | {shares} |
| the best head's weight on the cue, from the ambiguous word ({word_head}) | {word_score:.4f} | {word_scores} |
| the same from the row that predicts the answer ({last_head}) | {last_score:.4f} | {last_scores} |

In the mean, the head that looks at the cue most, whichever it is, gives it {some_word:.4f} from the ambiguous word \
and {some_last:.4f} from the row that predicts. Columns after "all" are distances in words. With the same weight for \
all tokens the cue would get {uniform:.4f}; with attention off the accuracy is {blind:.4f}. Where nothing decides, the \
model says so in {undecided:.4f} of the cases. An answer counts as right when the right sense has more than half of \
the probability of the word's answers (two senses, and none).

| the head that looks at the cue most, from the row that predicts | weight |
|---|---|
{sense_rows}

| best heads | score |
|---|---|
{head_rows}

Layers and heads are counted from 0. A score is the mean weight: on stories to the row before (previous token) and to \
the first row (first token), on recitals to the row before (previous token on recitals) and to the row after the last \
time the same token stood there (induction). The recitals measured have two rounds of 16 to 56 words, so there is one \
such row.

| switched off | loss on stories | loss on answers | loss on repeats | repeats right |
|---|---|---|---|---|
{off_rows}

Losses are mean cross-entropies in nats. "As many random heads" is the mean of 8 sets drawn from the heads that this \
table does not name, with the largest loss (smallest share) among them in brackets.
{seeds_section}
## Limits

A head has no one job: what it looks at depends on the text. Words outside the miniature English come out in pieces \
that the model hardly ever saw.
"""


def card(
    recipe: Recipe,
    figures: dict[str, Any],
    size: int,
    parameters: int,
    seeds: dict[str, dict[str, float]] | None = None,
) -> str:
    """The text of MODEL_CARD.md.

    Args:
        recipe: what the checkpoint was trained by.
        figures: what `evaluate` found, with the losses of the training.
        size: of the weights' file in bytes.
        parameters: how many numbers the model has.
        seeds: the chief figures of runs with other seeds, keyed by seed.
    """
    senses, cue, heads = figures["senses"], figures["cue"], figures["heads"]
    word, last = cue["from_the_ambiguous_word"], cue["from_the_row_that_predicts"]
    distances = list(senses["accuracy_by_distance"])
    return _CARD.format(
        **vars(recipe),
        parameters=parameters,
        bytes=size,
        vocabulary=VOCABULARY,
        decisions=("no", "one", "two", "three", "four", "five")[DECISIONS],
        positions_sentence="Its position rows are zero and stay so: with attention off, the next token depends on the "
        "last token alone, and greedy text must run into an exact loop."
        if not recipe.learned_positions
        else "Its position rows are learned.",
        recitals_sentence=f" and {recipe.recitals} recitals, random words said again and again (their first round "
        "weighs nothing in the loss)"
        if recipe.recitals
        else "",
        data_seed=TRAINING_SEED + recipe.seed,
        decay_step=round(recipe.decay_from * recipe.steps),
        first_loss=figures["training"]["first_loss"],
        last_loss=figures["training"]["last_loss"],
        n_stories=figures["measured_on"]["stories"],
        n_decisions=figures["measured_on"]["decisions"],
        n_recitals=figures["measured_on"]["recitals"],
        distance_names=" | ".join(distances),
        distance_rule="|".join("---" for _ in distances),
        accuracy=senses["accuracy"],
        accuracies=_cells(senses["accuracy_by_distance"]),
        share=senses["share_of_the_right_sense"],
        shares=_cells(senses["share_by_distance"]),
        word_head=f"layer {word['layer']}, head {word['head']}",
        word_score=word["score"],
        word_scores=_cells(word["by_distance"]),
        last_head=f"layer {last['layer']}, head {last['head']}",
        last_score=last["score"],
        last_scores=_cells(last["by_distance"]),
        some_word=word["whichever_head"],
        some_last=last["whichever_head"],
        uniform=cue["if_all_tokens_got_the_same"],
        undecided=senses["accuracy_where_nothing_decides"],
        sense_rows="\n".join(
            f"| {name}: layer {one['layer']}, head {one['head']} | {one['score']:.4f} |"
            for name, one in cue["by_sense"].items()
        ),
        blind=senses["accuracy_with_attention_off"],
        head_rows="\n".join(
            f"| {kind.replace('_', ' ')}: layer {one['layer']}, head {one['head']} | {one['score']:.4f} |"
            for kind, best in heads.items()
            for one in best
        ),
        off_rows="\n".join(_off_rows(figures["switched_off"])),
        seeds_section=_seeds(seeds or {}, recites=bool(recipe.recitals)),
    )


def _cells(by_distance: dict[str, float]) -> str:
    return " | ".join(f"{value:.4f}" for value in by_distance.values())


_LOSSES = ("story", "answers", "repeats", "repeats_right")


def _off_rows(switched_off: dict[str, Any]) -> list[str]:
    rows = []
    for name, found in switched_off.items():
        which = ", ".join(f"{layer}.{head}" for layer, head in found.get("heads", []))
        title = f"{name.replace('_', ' ')} ({which})" if which else name
        rows.append(f"| {title} | " + " | ".join(f"{found[key]:.4f}" for key in _LOSSES) + " |")
        if which:
            worst = {key: "min" if key == "repeats_right" else "max" for key in _LOSSES}
            cells = (
                f"{found['random_heads'][key]['mean']:.4f} ({found['random_heads'][key][worst[key]]:.4f})"
                for key in _LOSSES
            )
            rows.append(f"| as many random heads ({len(found['heads'])}) | " + " | ".join(cells) + " |")
    return rows


def _seeds(seeds: dict[str, dict[str, float]], recites: bool) -> str:
    """The section on other seeds: what holds with all of them, what does not, and the figures, a row each."""
    if not seeds:
        return ""
    worst = min(found["accuracy_at_the_worst_distance"] for found in seeds.values())
    text = (
        f"The same recipe with {len(seeds)} seeds, measured the same way. Ambiguous words are resolved with every "
        f"one of them: the accuracy at the worst distance with the worst seed is {worst:.4f}."
    )
    if recites:
        learned = [seed for seed, found in seeds.items() if found["repeats_right"] > LEARNED]
        text += (
            f" Recitals are learned with {len(learned)} of {len(seeds)} (seed {', '.join(learned) or 'none'}): what is "
            "said of induction holds for the model that ships, and whether an induction head forms within these steps "
            "depends on the seed."
        )
    head = f"| | {' | '.join(f'seed {seed}' for seed in seeds)} |\n|---|{'---|' * len(seeds)}\n"
    names = [name for name in next(iter(seeds.values())) if recites or name not in OF_RECITALS]
    rows = "\n".join(
        f"| {name.replace('_', ' ')} | {' | '.join(f'{found[name]:.4f}' for found in seeds.values())} |"
        for name in names
    )
    return f"\n## Other seeds\n\n{text}\n\n{head}{rows}\n"

"""Train the lab model: GPT-2's architecture on the miniature English. `course.py train` ends here.

Letters: B documents in a batch, T tokens, V vocabulary, L layers, H heads, d width of a row.

What it took (measured): the deciding answers weigh more than other words, otherwise the loss is all about fillers;
a large initial scale and position rows that begin as small sinusoids, otherwise no head finds the previous token in
the time there is; and recitals beside the stories, otherwise there is no need for induction.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from tqdm import tqdm

from attention_lab.models.door import no_bars
from attention_lab.models.english import FULL, SHORT, Recital, Size, Story, recitals, stories
from attention_lab.models.words import START, save_tokenizer, train_tokenizer

#: The seed of the stories that a model is trained on is this plus its own; evaluation uses seeds below 1,000.
TRAINING_SEED = 1_000
#: Tokens beyond the number of words that a short document has room for: the start token, pieces of rare words.
ROOM = 4


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out of a training run.

    Attributes:
        name: of the checkpoint.
        layers, heads, width: L, H and d.
        positions: how many tokens the model can read at once, T.
        learned_positions: False keeps the position rows at zero.
        steps: optimiser steps.
        short_steps: so many of them, the first ones, see short documents at random places of the position table.
        stories, recitals: documents of each kind in a batch, twice as many while they are short.
        rate: the highest learning rate, after `warmup` steps; it falls in a line to nothing from `decay_from` on.
        answer_weight: how much a deciding answer weighs in the loss against another token of a story.
        recital_weight: the same of a token of a recital that repetition makes predictable; the others weigh nothing.
        seed: of the initial weights and of the documents.
    """

    name: str = "lab"
    layers: int = 3
    heads: int = 4
    width: int = 64
    positions: int = 128
    learned_positions: bool = True
    steps: int = 1500
    short_steps: int = 700
    stories: int = 16
    recitals: int = 6
    rate: float = 3e-3
    warmup: int = 100
    decay_from: float = 0.5
    answer_weight: float = 12.0
    recital_weight: float = 1.0
    seed: int = 0


#: The checkpoints of the course.
RECIPES: dict[str, Recipe] = {
    "lab": Recipe(),
    "lab-no-positions": Recipe(
        "lab-no-positions", layers=2, learned_positions=False, steps=1100, short_steps=700, recitals=0
    ),
}


@dataclass(frozen=True)
class Batch:
    """Documents as tokens.

    Attributes:
        ids: (B, T).
        places: (B, T), the row of the position table that each token gets.
        weights: (B, T - 1), what predicting token t + 1 from row t counts in the loss.
    """

    ids: torch.Tensor
    places: torch.Tensor
    weights: torch.Tensor


@dataclass
class Trained:
    """A model, its tokenizer, and the loss at each step."""

    model: Any
    tokenizer: Tokenizer
    recipe: Recipe
    losses: list[float] = field(default_factory=list)


def new_model(recipe: Recipe, vocabulary: int) -> Any:
    """A `GPT2LMHeadModel` with fresh weights, in training mode (there is no dropout)."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(recipe.seed)
    config = GPT2Config(
        vocab_size=vocabulary,
        n_positions=recipe.positions,
        n_embd=recipe.width,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        initializer_range=0.08,
        bos_token_id=0,
        eos_token_id=0,
        use_cache=True,
    )
    model = GPT2LMHeadModel(config)
    rows = model.transformer.wpe.weight
    with torch.no_grad():
        rows.copy_(0.3 * _sinusoids(recipe.positions, recipe.width) if recipe.learned_positions else 0 * rows)
    rows.requires_grad_(recipe.learned_positions)
    return model


def _sinusoids(positions: int, width: int) -> torch.Tensor:
    """Sines and cosines of frequencies from 1.5 radians a token down to 1.5 / 100, (positions, width)."""
    frequencies = 1.5 * 100.0 ** (-torch.arange(width // 2) / (width // 2 - 1))
    angles = torch.arange(positions)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def document(item: Story | Recital, tokenizer: Tokenizer, recipe: Recipe, length: int) -> tuple[np.ndarray, np.ndarray]:
    """A document's tokens with the start token and the weight of predicting each, (length,) both, cut or padded."""
    coded = tokenizer.encode(item.text)
    ids = np.zeros(length, dtype=np.int64)
    weights = np.zeros(length, dtype=np.float32)
    words = [-1, *(word for word in coded.word_ids if word is not None)][:length]
    tokens = np.array([tokenizer.token_to_id(START), *coded.ids][:length])
    ids[: len(tokens)] = tokens
    if isinstance(item, Recital):
        repeated = np.flatnonzero(np.array(words) >= item.period + 1)
        weights[repeated] = recipe.recital_weight
    else:
        weights[1 : len(tokens)] = 1.0
        answers = [one.answer_at for one in item.decisions] + [one.answer_at for one in item.open]
        weights[np.flatnonzero(np.isin(words, answers))] = recipe.answer_weight
    return ids, weights


def batches(recipe: Recipe, tokenizer: Tokenizer) -> Iterator[Batch]:
    """As many batches as the recipe has steps: short documents first, then full ones."""
    short = min(recipe.short_steps, recipe.steps)
    yield from _batches(recipe, tokenizer, SHORT, short, (2 * recipe.stories, 2 * recipe.recitals), (4, 20))
    yield from _batches(recipe, tokenizer, FULL, recipe.steps - short, (recipe.stories, recipe.recitals), (8, 50))


def _batches(
    recipe: Recipe, tokenizer: Tokenizer, size: Size, steps: int, of_each: tuple[int, int], periods: tuple[int, int]
) -> Iterator[Batch]:
    """In one document of four the start token is left out; short ones stand anywhere in the position table."""
    seed = TRAINING_SEED + recipe.seed
    chance = np.random.default_rng(seed)
    length = recipe.positions if size is FULL else size.length + ROOM
    told = stories(steps * of_each[0], seed, size=size)
    recited = recitals(steps * of_each[1], seed, size.length, periods)
    for _ in range(steps):
        items = [next(told) for _ in range(of_each[0])] + [next(recited) for _ in range(of_each[1])]
        rows = [document(item, tokenizer, recipe, length) for item in items]
        rows = [_without_start(*row) if chance.random() < 0.25 else row for row in rows]
        ids, weights = (np.stack(part) for part in zip(*rows, strict=True))
        places = np.arange(length) + chance.integers(0, recipe.positions - length + 1, size=(len(rows), 1))
        yield Batch(torch.from_numpy(ids), torch.from_numpy(places), torch.from_numpy(weights[:, 1:].copy()))


def _without_start(ids: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.append(ids[1:], 0), np.append(weights[1:], np.float32(0))


def weighted_loss(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """The weighted mean cross-entropy of the next token, a scalar, from logits (B, T, V)."""
    each = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch.ids[:, 1:].flatten(), reduction="none")
    weights = batch.weights.flatten()
    return (each * weights).sum() / weights.sum()


def learning_rate(recipe: Recipe, step: int) -> float:
    """Rising in a line over the warm-up, then flat, then falling in a line to a hundredth at the end."""
    start = recipe.decay_from * recipe.steps
    falling = max(0.01, 1.0 - max(0.0, step - start) / max(1.0, recipe.steps - start))
    return recipe.rate * min(1.0, (step + 1) / recipe.warmup) * falling


def train(recipe: Recipe, quiet: bool = False, tokenizer: Tokenizer | None = None) -> Trained:
    """Train a model from nothing. The same recipe gives the same model on the same machine.

    Args:
        recipe: what to train.
        quiet: no progress bar.
        tokenizer: a ready one; it is trained first when None.
    """
    torch.set_num_threads(1)
    tokenizer = tokenizer or train_tokenizer()
    model = new_model(recipe, tokenizer.get_vocab_size())
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=recipe.rate, betas=(0.9, 0.99), weight_decay=0.01)
    done = Trained(model, tokenizer, recipe)
    bar = tqdm(batches(recipe, tokenizer), total=recipe.steps, desc=recipe.name, unit="step", disable=quiet or None)
    for step, batch in enumerate(bar):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(recipe, step)
        loss = weighted_loss(model(batch.ids, position_ids=batch.places, use_cache=False).logits, batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        done.losses.append(float(loss.detach()))
        if not math.isfinite(done.losses[-1]):
            raise ValueError(f"the loss is {done.losses[-1]} at step {step}; lower the learning rate ({recipe.rate})")
        bar.set_postfix_str(f"loss {done.losses[-1]:.2f}", refresh=False)
    model.eval()
    return done


def save(trained: Trained, folder: Path) -> None:
    """Write config, weights (safetensors), tokenizer and recipe into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with no_bars():
        trained.model.save_pretrained(folder)
    save_tokenizer(trained.tokenizer, folder)
    _recipe_file(folder, trained.recipe)


def _recipe_file(folder: Path, recipe: Recipe) -> None:
    (folder / "recipe.json").write_text(json.dumps(asdict(recipe), indent=2) + "\n", encoding="utf-8", newline="\n")

"""From a recipe to a checkpoint with its figures and its card: what `course.py train` does."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from attention_lab.models.card import card
from attention_lab.models.door import CHECKPOINTS, Loaded, load
from attention_lab.models.evaluation import evaluate
from attention_lab.models.training import RECIPES, Recipe, Trained, save, train

#: Documents for the figures that a test takes again: stories, recitals.
SMALL = (32, 8)
#: Beside a checkpoint: the chief figures of the same recipe with several seeds.
SEEDS = "seeds.json"
#: Every so many steps the loss goes into the figures.
EVERY = 20


def make(name: str = "lab", seed: int | None = None, steps: int | None = None, out: Path | None = None) -> Path:
    """Train the model of that name, measure it, and write its folder.

    Args:
        name: one of the recipes.
        seed: instead of the recipe's.
        steps: instead of the recipe's; fewer are for trying out.
        out: folder to write instead of the one that ships.

    Raises:
        ValueError: for a name without recipe, a number out of range, or a folder that cannot be written.
    """
    if name not in RECIPES:
        raise ValueError(f"there is no recipe for {name!r}; there are {', '.join(RECIPES)}")
    changes: dict[str, Any] = {key: value for key, value in (("seed", seed), ("steps", steps)) if value is not None}
    recipe = replace(RECIPES[name], **changes)
    if recipe.steps < 1 or recipe.seed < 0:
        raise ValueError(f"steps are 1 or more and seeds 0 or more, not {recipe.steps} and {recipe.seed}")
    if changes and out is None:
        raise ValueError("the model that ships keeps its own seed and steps; name another folder with --out")
    folder = out or CHECKPOINTS / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        trained = train(recipe)
        save(trained, folder)
        measure(load(name, folder), trained)
    except OSError as error:
        raise ValueError(f"{folder} cannot be written ({error.strerror}); name another folder with --out") from error
    return folder


def make_seeds(name: str, count: int, out: Path) -> Path:
    """Train the recipe of that name with seeds 0 to `count` - 1, and set their figures beside the model that ships.

    The model that ships is not trained again: its own figures stand for its seed. A seed whose folder in `out` is
    whole is not trained again either, so that an interrupted run goes on where it stopped.

    Args:
        name: one of the recipes.
        count: how many seeds, 2 or more.
        out: folder for a checkpoint of each other seed.

    Returns:
        The folder that ships, with `seeds.json` and the card written anew; its weights are left as they are.

    Raises:
        ValueError: for a name without recipe, a count below 2, or a folder that cannot be written.
    """
    if name not in RECIPES:
        raise ValueError(f"there is no recipe for {name!r}; there are {', '.join(RECIPES)}")
    if count < 2:
        raise ValueError(f"--seeds is {count}; give at least 2")
    shipped, own = CHECKPOINTS / name, RECIPES[name].seed
    figures = {own: read_figures(shipped)}
    for seed in sorted({own, *range(count)} - {own}):
        folder = out / f"{name}-seed-{seed}"
        if not _is_made(folder, replace(RECIPES[name], seed=seed)):
            make(name, seed, out=folder)
        figures[seed] = read_figures(folder)
    found = {str(seed): summary(figures[seed]) for seed in sorted(figures)}
    _write(shipped / SEEDS, json.dumps(found, indent=1))
    write_card(load(name, shipped), RECIPES[name], figures[own])
    return shipped


def read_figures(folder: Path) -> dict[str, Any]:
    """What was measured on the checkpoint in `folder`."""
    return dict(json.loads((folder / "figures.json").read_text(encoding="utf-8")))


def _is_made(folder: Path, recipe: Recipe) -> bool:
    """True when `folder` holds this recipe's checkpoint with its figures (its card is written last)."""
    try:
        stored = json.loads((folder / "recipe.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return stored == asdict(recipe) and all((folder / file).is_file() for file in ("figures.json", "MODEL_CARD.md"))


def measure(lab: Loaded, trained: Trained) -> dict[str, Any]:
    """Write `figures.json` and `MODEL_CARD.md` beside the weights, and return the figures."""
    figures = {"training": _training(trained), **evaluate(lab), "small": evaluate(lab, *SMALL, ablate=False)}
    _write(lab.folder / "figures.json", json.dumps(figures, indent=1))
    write_card(lab, trained.recipe, figures)
    return figures


def write_card(lab: Loaded, recipe: Recipe, figures: dict[str, Any]) -> None:
    """Write `MODEL_CARD.md`; runs with other seeds are taken from `seeds.json` beside it, where there is one."""
    seeds = lab.folder / SEEDS
    others = json.loads(seeds.read_text(encoding="utf-8")) if seeds.is_file() else None
    size = (lab.folder / "model.safetensors").stat().st_size
    _write(lab.folder / "MODEL_CARD.md", card(recipe, figures, size, lab.model.num_parameters(), others))


def summary(figures: dict[str, Any]) -> dict[str, float]:
    """The chief figures, for a line."""
    senses, heads, off = figures["senses"], figures["heads"], figures["switched_off"]
    return {
        "accuracy": senses["accuracy"],
        "accuracy_at_the_worst_distance": min(senses["accuracy_by_distance"].values()),
        "accuracy_where_nothing_decides": senses["accuracy_where_nothing_decides"],
        "accuracy_with_attention_off": senses["accuracy_with_attention_off"],
        "cue_from_the_word": figures["cue"]["from_the_ambiguous_word"]["score"],
        "cue_from_the_predicting_row": figures["cue"]["from_the_row_that_predicts"]["score"],
        "previous_token": heads["previous_token"][0]["score"],
        "induction": heads["induction"][0]["score"],
        "repeats_right": off["nothing"]["repeats_right"],
        "repeats_right_without_induction_heads": off["induction"]["repeats_right"],
        "the_same_without_random_heads": off["induction"]["random_heads"]["repeats_right"]["mean"],
    }


def chief_figures(folder: Path) -> str:
    """The chief figures of the checkpoint in `folder`, one a line."""
    figures = read_figures(folder)
    lines = [f"{value:8.4f}  {name.replace('_', ' ')}" for name, value in summary(figures).items()]
    by_distance = ", ".join(f"{key}: {value:.2f}" for key, value in figures["senses"]["accuracy_by_distance"].items())
    return "\n".join([*lines, f"accuracy by distance in words  {by_distance}"])


def _training(trained: Trained) -> dict[str, Any]:
    losses = trained.losses
    return {
        "seed": trained.recipe.seed,
        "first_loss": round(losses[0], 4),
        "last_loss": round(sum(losses[-50:]) / len(losses[-50:]), 4),
        "every": EVERY,
        "losses": [round(loss, 3) for loss in losses[::EVERY]],
    }


def _write(path: Path, text: str) -> None:
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="\n")

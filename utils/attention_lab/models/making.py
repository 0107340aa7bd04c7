"""From a recipe to a checkpoint with its figures and its card: what `course.py train` does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from attention_lab.models.card import card
from attention_lab.models.door import CHECKPOINTS, Loaded, load
from attention_lab.models.evaluation import evaluate
from attention_lab.models.training import RECIPES, Recipe, Trained, save, train

#: Documents for the figures that a test takes again: stories, recitals.
SMALL = (32, 8)
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


def measure(lab: Loaded, trained: Trained) -> dict[str, Any]:
    """Write `figures.json` and `MODEL_CARD.md` beside the weights, and return the figures."""
    figures = {"training": _training(trained), **evaluate(lab), "small": evaluate(lab, *SMALL, ablate=False)}
    _write(lab.folder / "figures.json", json.dumps(figures, indent=1))
    write_card(lab, trained.recipe, figures)
    return figures


def write_card(lab: Loaded, recipe: Recipe, figures: dict[str, Any]) -> None:
    """Write `MODEL_CARD.md`; runs with other seeds are taken from `seeds.json` beside it, where there is one."""
    seeds = lab.folder / "seeds.json"
    others = json.loads(seeds.read_text(encoding="utf-8")) if seeds.is_file() else None
    size = (lab.folder / "model.safetensors").stat().st_size
    _write(lab.folder / "MODEL_CARD.md", card(recipe, figures, size, lab.model.num_parameters(), others))


def summary(figures: dict[str, Any]) -> dict[str, float]:
    """The chief figures, for a line."""
    heads, off = figures["heads"], figures["switched_off"]
    return {
        "accuracy": figures["senses"]["accuracy"],
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
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
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

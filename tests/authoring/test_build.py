"""From a source to two notebooks: what is blank, what is kept, what is told when they drift apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from attention_lab.authoring import build, chapters, drift
from attention_lab.authoring.build import Chapter, blank_answer, blank_solution
from attention_lab.authoring.reset import reset

SOURCE = '''# %% [markdown]
# # 90 · A test
# Text.

# %% [markdown]
# ## First (part)

# %%
x = 3

# %% tags=["nbval-check-output"]
print(x + 1)

# %%
def double(x):
    """Twice x."""
    ### BEGIN SOLUTION
    y = x
    return y + y
    ### END SOLUTION
    ### STARTS AS: return x

# %%
def triple(x):
    ### BEGIN SOLUTION
    return 3 * x
    ### END SOLUTION
'''


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "90_test.py").write_text(SOURCE, encoding="utf-8")
    (found,) = chapters(tmp_path)
    return found


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("course")
    (folder / "solutions").mkdir()
    (folder / "solutions" / "90_test.py").write_text(SOURCE, encoding="utf-8")
    build(chapters(folder)[0])
    return folder


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Chapter:
    shutil.copytree(built_once, tmp_path, dirs_exist_ok=True)
    return chapters(tmp_path)[0]


def test_the_learners_copy_is_blank_and_has_no_outputs(built: Chapter) -> None:
    book = nbformat.read(built.learner, 4)
    sources = [c.source for c in book.cells]
    assert sources[-2] == 'def double(x):\n    """Twice x."""\n    return x'
    assert sources[-1] == "def triple(x):\n    # your code here\n    raise NotImplementedError"
    assert "SOLUTION" not in "".join(sources) and "STARTS AS" not in "".join(sources)
    assert all(c.outputs == [] and c.execution_count is None for c in book.cells if c.cell_type == "code")
    assert all(not c.metadata.get("tags") for c in book.cells)


def test_the_solved_copy_keeps_only_outputs_that_are_compared(built: Chapter) -> None:
    book = nbformat.read(built.solution, 4)
    code = [c for c in book.cells if c.cell_type == "code"]
    assert [bool(c.outputs) for c in code] == [False, True, False, False]
    assert code[1].outputs[0].text == "4\n"
    assert "STARTS AS" not in code[2].source and "BEGIN SOLUTION" in code[2].source


def test_a_second_build_changes_nothing(built: Chapter) -> None:
    assert build(built) == []
    assert drift(built) == []


def test_ids_follow_headings_and_do_not_move_when_another_section_grows(built: Chapter) -> None:
    before = [c.id for c in nbformat.read(built.learner, 4).cells]
    assert before[:3] == ["90-90-a-test", "90-first", "90-first-2"]
    text = built.source.read_text(encoding="utf-8")
    built.source.write_text(text.replace("# Text.\n", "# Text.\n\n# %%\ny = 1\n", 1), encoding="utf-8")
    build(built)
    after = [c.id for c in nbformat.read(built.learner, 4).cells]
    assert set(before) <= set(after) and len(after) == len(before) + 1


@pytest.mark.parametrize("what", ["source", "learner", "output", "metadata", "missing"])
def test_drift_is_told(built: Chapter, what: str) -> None:
    if what == "source":
        text = built.source.read_text(encoding="utf-8")
        built.source.write_text(text.replace("x = 3", "x = 4"), encoding="utf-8")
    elif what == "missing":
        built.learner.unlink()
    else:
        path = built.learner if what == "learner" else built.solution
        book = nbformat.read(path, 4)
        if what == "output":
            book.cells[3].outputs = []
        elif what == "metadata":
            book.metadata["widgets"] = {}
        else:
            book.cells[2].source = "x = 5"
        nbformat.write(book, path)
    assert len(drift(built)) >= 1


def test_a_cell_that_fails_stops_the_build_and_writes_nothing(chapter: Chapter) -> None:
    text = chapter.source.read_text(encoding="utf-8")
    chapter.source.write_text(text.replace("x = 3", "x = 1 / 0"), encoding="utf-8")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        build(chapter)
    assert not chapter.solution.exists() and not chapter.learner.exists()


def test_a_compared_cell_must_print_text(chapter: Chapter) -> None:
    text = chapter.source.read_text(encoding="utf-8")
    chapter.source.write_text(text.replace("print(x + 1)", "y = 1"), encoding="utf-8")
    with pytest.raises(ValueError, match="is to be compared and prints nothing"):
        build(chapter)


@pytest.mark.parametrize("marks", ["### BEGIN SOLUTION\nx", "### END SOLUTION\n### BEGIN SOLUTION", "### END SOLUTION"])
def test_marks_that_do_not_pair_are_told(marks: str) -> None:
    with pytest.raises(ValueError, match="needs one ### BEGIN SOLUTION"):
        blank_solution(marks)


def test_an_answer_is_opened_whatever_it_holds() -> None:
    assert blank_answer('answer("90_x", "looks ahead")') == 'answer("90_x", ...)'
    assert blank_answer('answer(\n    "90_x",\n    3 * (4 + 1),\n)') == 'answer("90_x", ...)'
    assert blank_answer("y = answer") == "y = answer"
    with pytest.raises(ValueError, match="holds nothing but"):
        blank_answer('answer("90_x", 3)\nprint(1)')


def test_a_number_without_a_chapter_is_told(tmp_path: Path, chapter: Chapter) -> None:
    with pytest.raises(ValueError, match="there is no chapter 17; there are: 90"):
        chapters(tmp_path, ["17"])


def test_reset_gives_a_clean_copy_and_keeps_the_learners(built: Chapter, tmp_path: Path) -> None:
    clean = built.learner.read_text(encoding="utf-8")
    for mine in ("my work", "more of my work"):
        built.learner.write_text(mine, encoding="utf-8")
        target, aside = reset(tmp_path, "90")
        assert target.read_text(encoding="utf-8") == clean
        assert aside is not None and aside.read_text(encoding="utf-8") == mine
    assert len(list(built.learner.parent.glob("*.mine-*"))) == 2


def test_reset_of_a_missing_notebook_makes_one(built: Chapter, tmp_path: Path) -> None:
    built.learner.unlink()
    target, aside = reset(tmp_path, "90")
    assert target.exists() and aside is None


def test_a_class_starts_as_several_methods_with_empty_lines_between_them() -> None:
    source = "class A:\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION\n"
    starts = "    ### STARTS AS: def f(self):\n    ### STARTS AS:     raise NotImplementedError\n    ### STARTS AS:\n"
    blank = blank_solution(f"{source}{starts}    ### STARTS AS: def g(self):\n    ### STARTS AS:     return 2")
    assert (
        blank == "class A:\n    def f(self):\n        raise NotImplementedError\n\n    def g(self):\n        return 2"
    )

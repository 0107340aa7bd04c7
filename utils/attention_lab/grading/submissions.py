"""Find what was handed in: any nesting, any names, archives opened in memory. Nothing found is run or followed."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from attention_lab.grading.course import sources

#: The largest notebook and archive in bytes, how often smaller it may be packed, how many files an archive may have.
LARGEST, LARGEST_ARCHIVE, PACKED, MOST_FILES = 20_000_000, 2_000_000_000, 200, 20_000
_LARGEST_DIRECTORY = 8_000_000
#: An archive inside an archive is opened, one inside that is not.
_DEEPEST_ARCHIVE = 2

_NOT_HANDED_IN = {".ds_store", "thumbs.db", "desktop.ini", "__macosx", ".ipynb_checkpoints", "__pycache__", ".git"}


class Refused(Exception):
    """Something that is not opened; the message says why."""


@dataclass(frozen=True)
class Submission:
    """One file that was handed in.

    Attributes:
        file: where it lies, from the folder on; the parts inside an archive follow its name.
        read: gives its bytes, or raises `Refused` or OSError.
        fault: why it is not opened at all; "" when it can be tried.
        learner: whose it is; see `assign`.
    """

    file: str
    read: Callable[[], bytes] = field(repr=False)
    fault: str = ""
    learner: str = ""

    @property
    def is_notebook(self) -> bool:
        """Told from the end of its name."""
        return self.file.casefold().endswith(".ipynb")


def printable(text: str) -> str:
    """A text that can be written and shown: no lone surrogates, no control characters."""
    text = text.encode("utf-8", "replace").decode("utf-8", "replace")
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def find(folder: Path) -> Iterator[Submission]:
    """Every file in a folder, and in the archives in it, in the order of their names.

    Links are reported and not followed, and so is whatever is neither file nor folder.
    """
    for path in _files(folder):
        name = printable(str(path.relative_to(folder).as_posix()))
        try:
            mode = path.lstat().st_mode
        except OSError as error:
            yield _faulty(name, f"cannot be looked at ({error.strerror})")
            continue
        if stat.S_ISLNK(mode):
            yield _faulty(name, "is a link, and links are not followed")
        elif not stat.S_ISREG(mode):
            yield _faulty(name, "is no file but a device, a pipe or a socket")
        elif path.suffix.casefold() == ".zip":
            yield from _archive(name, lambda path=path: _regular(path, LARGEST_ARCHIVE))  # type: ignore[misc]
        else:
            yield Submission(name, lambda path=path: _regular(path, LARGEST).read())  # type: ignore[misc]


def _faulty(name: str, fault: str) -> Submission:
    def read() -> bytes:
        raise Refused(fault)

    return Submission(name, read, fault)


def _files(folder: Path) -> Iterator[Path]:
    """Files and links below a folder, sorted; folders are entered, links to folders are not."""
    waiting = [folder]
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name.casefold() in _NOT_HANDED_IN or entry.name.startswith("._"):
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)
        waiting += [Path(e.path) for e in reversed(entries) if _enters(e)]


def _enters(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and entry.name.casefold() not in _NOT_HANDED_IN


def _regular(path: Path, largest: int) -> io.BufferedReader:
    """Open a file that is still a regular one at the moment of opening, and not too large."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("is no longer a file")
        if found.st_size > largest:
            raise Refused(f"has {found.st_size / 1e6:,.0f} MB; at most {largest / 1e6:,.0f} MB are read")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _archive(name: str, opened: Callable[[], Any], depth: int = 1) -> Iterator[Submission]:
    """The files in an archive. Nothing is unpacked to disk, so no name in it can lead anywhere."""
    archive = _Archive(opened)
    try:
        entries = archive.open().infolist()
    except (OSError, Refused, *_BAD_ARCHIVE) as error:
        yield _faulty(name, str(error) if isinstance(error, Refused) else "is an archive that cannot be opened")
        return
    if len(entries) > MOST_FILES:
        yield _faulty(name, f"is an archive of {len(entries):,} files; at most {MOST_FILES:,} are looked at")
        return
    for entry in sorted(entries, key=lambda e: e.filename):
        parts = [p for p in PurePosixPath(entry.filename.replace("\\", "/")).parts if p not in ("/", "..", ".")]
        skipped = any(p.casefold() in _NOT_HANDED_IN or p.startswith("._") for p in parts)
        if entry.is_dir() or not parts or skipped:
            continue
        inside = printable("/".join([name, *parts]))
        fault = _fault(entry)
        if fault:
            yield _faulty(inside, fault)
            continue

        def read(entry: zipfile.ZipInfo = entry) -> bytes:
            return _entry(archive, entry)

        if inside.casefold().endswith(".zip") and depth < _DEEPEST_ARCHIVE:
            yield from _archive(inside, lambda read=read: io.BytesIO(read()), depth + 1)  # type: ignore[misc]
        else:
            yield Submission(inside, read)


_BAD_ARCHIVE = (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, RuntimeError, MemoryError, KeyError)


def _fault(entry: zipfile.ZipInfo) -> str:
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a link, and links are not followed"
    if entry.flag_bits & 1:
        return "is encrypted"
    if entry.file_size > LARGEST:
        return f"has {entry.file_size / 1e6:,.0f} MB; at most {LARGEST / 1e6:,.0f} MB are read"
    if entry.file_size > 1_000_000 and entry.file_size > PACKED * max(entry.compress_size, 1):
        return "is packed so tightly that it looks like an archive made to burst"
    return ""


class _Archive:
    """An archive that is opened when it is first read, and kept open while it is among the last few."""

    _recent: ClassVar[list[_Archive]] = []

    def __init__(self, opened: Callable[[], Any]) -> None:
        self._opened = opened
        self._file: zipfile.ZipFile | None = None

    def open(self) -> zipfile.ZipFile:
        if self._file is None:
            stream = self._opened()
            end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
            if end is None or end[5] > _LARGEST_DIRECTORY:  # the size of the list of files, read before the list is
                raise Refused("is an archive that cannot be opened, or lists too many files")
            self._file = zipfile.ZipFile(stream)
            self._recent.append(self)
            if len(self._recent) > 8:
                self._recent.pop(0).close()
        return self._file

    def close(self) -> None:
        if self._file is not None:
            stream, self._file = self._file.fp, None
            if stream is not None:
                stream.close()


def _entry(archive: _Archive, entry: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open().open(entry) as file:
            data: bytes = file.read(LARGEST + 1)
    except _BAD_ARCHIVE as error:
        raise Refused(f"cannot be unpacked ({type(error).__name__})") from None
    except Exception as error:  # zlib.error, lzma.LZMAError and the like
        raise Refused(f"cannot be unpacked ({type(error).__name__})") from None
    if len(data) > LARGEST:
        raise Refused(f"is larger than its archive says; at most {LARGEST / 1e6:,.0f} MB are read")
    return data


# --- whose it is ---------------------------------------------------------------------------------------------


def assign(
    found: list[Submission], rule: str = "auto", chapter_of: Callable[[Submission], str] = lambda s: ""
) -> tuple[list[Submission], str]:
    """Say whose each file is.

    Args:
        found: from `find`.
        rule: "folder": one learner for each folder or archive at the top; "file": one for each file; "auto": by
            folder, unless there are no folders or most of them hold several notebooks of one chapter.
        chapter_of: the chapter of a notebook; asked for a few only.

    Returns:
        the submissions with their learners, and a sentence that says which rule was used.
    """
    split = [PurePosixPath(s.file).parts for s in found]
    common = 0
    while split and all(len(parts) > common + 1 for parts in split) and len({p[: common + 1] for p in split}) == 1:
        common += 1
    if rule == "auto":
        tops: dict[str, list[Submission]] = {}
        for submission, parts in zip(found, split, strict=True):
            if submission.is_notebook and len(parts) > common + 1:
                tops.setdefault(parts[common], []).append(submission)
        rule = "file" if not tops or _side_by_side(list(tops.values()), chapter_of) else "folder"
    owned = []
    for submission, parts in zip(found, split, strict=True):
        alone = len(parts) == common + 1
        last = parts[-1]
        stem = last.rpartition(".")[0] or last
        by_folder = rule == "folder" and not alone
        name = parts[common].removesuffix(".zip") if by_folder else "/".join([*parts[common:-1], stem])
        owned.append(Submission(submission.file, submission.read, submission.fault, name))
    sentence = {
        "folder": "One learner for each folder or archive at the top (files beside them: one each).",
        "file": "One learner for each file.",
    }[rule]
    return owned, sentence


def _side_by_side(folders: list[list[Submission]], chapter_of: Callable[[Submission], str]) -> bool:
    """Whether most of some folders hold several notebooks of one chapter, as a folder for an assignment does."""
    sample = [[chapter_of(s) for s in folder[:12]] for folder in folders[:9]]
    repeated = [any(c and folder.count(c) > 1 for c in folder) for folder in sample]
    return 2 * sum(repeated) > len(repeated)


# --- what is in it -------------------------------------------------------------------------------------------


def cells_of(content: bytes) -> list[tuple[str, str]]:
    """Kind and text of each cell of a notebook.

    Raises:
        Refused: when it is none, or none that can be read.
    """
    if len(content) > LARGEST:
        raise Refused(f"is larger than {LARGEST / 1e6:,.0f} MB")
    try:
        book = json.loads(content.decode("utf-8-sig"))
        found = sources(book) if isinstance(book, dict) else None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError, MemoryError):
        raise Refused("is not a notebook (no JSON); was it saved only in part?") from None
    except (AttributeError, TypeError, KeyError):
        raise Refused("has no cells of a notebook") from None
    if found is None:
        raise Refused("has no cells of a notebook")
    if len(found) > 2_000:
        raise Refused(f"has {len(found):,} cells; at most 2,000 are looked at")
    return [(kind, text.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n")) for kind, text in found]

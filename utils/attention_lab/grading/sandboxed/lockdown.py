"""What a worker may not do: files by Landlock, system calls by seccomp, capabilities, resource limits. Linux first.

Everything is asked of the kernel through ctypes; what the kernel lacks is left out and reported as missing.
Sources: Documentation/userspace-api/landlock.rst and seccomp_filter.rst of the Linux kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import platform
import struct
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 3, 22, 24, 38
_MADV_COLLAPSE = 25
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # the same on every architecture
_NOBODY = 65534

_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
#: File rights that each version of Landlock knows, all of which are withheld except for what `ruleset` grants.
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}

#: System calls that Python and NumPy need once everything is loaded. Everything else answers EPERM.
_ALLOWED = {
    "x86_64": (
        *(0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),  # read write close stat fstat lstat poll lseek mmap …
        *(17, 18, 19, 20, 21, 23, 24, 25, 27, 28),  # pread64 pwrite64 readv writev access select sched_yield mremap …
        *(32, 33, 35, 39, 63, 78, 79, 89, 96, 97, 98, 99, 100),  # dup dup2 nanosleep getpid uname getdents getcwd …
        *(
            102,
            104,
            107,
            108,
            110,
            127,
            131,
            137,
            138,
            158,
            186,
        ),  # getuid … getppid sigaltstack statfs arch_prctl gettid
        *(202, 204, 217, 218, 219, 228, 229, 230, 231, 60, 262, 257),  # futex getdents64 clock_* exit newfstatat openat
        *(
            267,
            269,
            270,
            271,
            273,
            292,
            309,
            318,
            324,
            332,
            334,
            439,
        ),  # readlinkat faccessat dup3 getrandom statx …
    ),
    "aarch64": (
        *(17, 23, 24, 43, 44, 48, 56, 57, 61, 62, 63, 64, 65, 66, 67, 68, 72, 73, 78, 79, 80),
        *(93, 94, 96, 98, 99, 101, 113, 114, 115, 123, 124, 128, 132, 134, 135, 136, 139, 153, 160, 163, 165, 168, 169),
        *(172, 173, 174, 175, 176, 177, 178, 179, 214, 215, 216, 222, 226, 232, 233, 278, 283, 291, 293, 439),
    ),
}
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE3 = 435
_IOCTL = {"x86_64": 16, "aarch64": 29}
_PRLIMIT = {"x86_64": 302, "aarch64": 261}
_FCNTL = {"x86_64": 72, "aarch64": 25}
#: Duplicate and read or set the close-on-exec flag. Not F_SETOWN and F_SETSIG: they can send signals to others.
_FCNTL_COMMANDS = (0, 1, 2, 3, 1030)
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000


@functools.cache
def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


# --- files -------------------------------------------------------------------------------------------------


def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 when it has none."""
    if not _LINUX:
        return 0
    return max(0, int(_libc().syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def readable_folders() -> list[Path]:
    """Where the standard library and installed packages lie, and what the system's own libraries need."""
    import sysconfig

    paths = sysconfig.get_paths()
    folders = [Path(paths[key]) for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += [Path(p) for p in ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo")]
    folders += [Path(p) for p in ("/etc/localtime", "/etc/ld.so.cache", "/dev/urandom", "/dev/null", "/dev/zero")]
    return list(dict.fromkeys(p.resolve() for p in folders if p.exists()))


def ruleset(readable: Iterable[Path], hidden: Sequence[Path]) -> int | None:
    """A descriptor of a Landlock ruleset under which only `readable` can be read, without `hidden`.

    Args:
        readable: files and folders. Nothing can be written, made, removed or run.
        hidden: files and folders inside them that stay out of reach. Names of the course's own packages always do.

    Returns:
        the descriptor, or None where the kernel has no Landlock.
    """
    version = landlock_version()
    if not version:
        return None
    attributes = struct.pack("QQQ", _RIGHTS[min(version, 5)], 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    descriptor = int(_libc().syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0))
    if descriptor < 0:
        return None
    real = [os.path.realpath(path) for path in hidden]
    for path in readable:
        _grant(descriptor, os.path.realpath(path), real)
    return descriptor


def _secret(path: str, hidden: Sequence[str]) -> bool:
    name = os.path.basename(path)
    ours = name.startswith(("attention_lab", "attention-lab", "course_setup"))
    return ours or any(path == h or path.startswith(h + os.sep) for h in hidden)


def _holds_secret(path: str, hidden: Sequence[str]) -> bool:
    """Whether something in a folder stays out of reach: each rule costs every worker time, so few folders are split."""
    if any(h.startswith(path + os.sep) for h in hidden):
        return True
    if os.path.basename(path) in ("site-packages", "dist-packages"):
        try:
            return any(_secret(os.path.join(path, name), hidden) for name in os.listdir(path))
        except OSError:
            return True
    packages = (os.path.join(path, name) for name in ("site-packages", "dist-packages"))
    return any(_holds_secret(folder, hidden) for folder in packages if os.path.isdir(folder))


def _grant(ruleset_descriptor: int, path: str, hidden: Sequence[str], depth: int = 0) -> None:
    """Allow reading of a path; of a folder with something hidden in it, its other children one by one."""
    if _secret(path, hidden) or os.path.islink(path):
        return
    if os.path.isdir(path) and depth < 12 and _holds_secret(path, hidden):
        with contextlib.suppress(OSError):
            for child in os.scandir(path):
                _grant(ruleset_descriptor, child.path, hidden, depth + 1)
        return
    rights = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
    rights |= _WRITE_FILE if path == "/dev/null" else 0
    with contextlib.suppress(OSError):
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights, target)
        _libc().syscall(_LANDLOCK_ADD, ruleset_descriptor, 1, rule, 0)
        os.close(target)


# --- system calls ------------------------------------------------------------------------------------------


@functools.cache
def seccomp_program(machine: str) -> bytes:
    """The seccomp program: what is listed is allowed, clone3 answers ENOSYS, all else EPERM.

    The kernel tries it with every number when it is put in force, so the list is searched as a tree.
    """

    def step(code: int, jump_true: int, jump_false: int, value: int) -> bytes:
        return struct.pack("HBBI", code, jump_true, jump_false, value)

    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    program = [
        step(load, 0, 0, 4),
        step(equal, 1, 0, _ARCHITECTURE[machine]),
        step(give, 0, 0, _KILL),
        step(load, 0, 0, 0),
        step(at_least, 0, 1, 0x40000000),  # the x32 calls of x86_64
        step(give, 0, 0, _KILL),
        step(equal, 0, 1, _CLONE3),
        step(give, 0, 0, _ERRNO | errno.ENOSYS),
        step(equal, 0, 1, _IOCTL[machine]),
        step(give, 0, 0, _ERRNO | errno.EACCES),
    ]
    program += [step(equal, 0, 2 + 2 * len(_FCNTL_COMMANDS), _FCNTL[machine]), step(load, 0, 0, 24)]
    for command in _FCNTL_COMMANDS:
        program += [step(equal, 0, 1, command), step(give, 0, 0, _ALLOW)]
    program += [step(give, 0, 0, _ERRNO | errno.EPERM)]
    program += [  # prlimit64 of one's own process alone: both halves of its first argument are zero
        step(equal, 0, 6, _PRLIMIT[machine]),
        step(load, 0, 0, 16),
        step(equal, 0, 3, 0),
        step(load, 0, 0, 20),
        step(equal, 0, 1, 0),
        step(give, 0, 0, _ALLOW),
        step(give, 0, 0, _ERRNO | errno.EPERM),
    ]
    allowed = set(_ALLOWED[machine])
    changes = [n for n in range(max(allowed) + 2) if n == 0 or (n in allowed) != (n - 1 in allowed)]

    def search(first: int, last: int) -> list[bytes]:
        """Which of the stretches `first` … `last` - 1 between two changes a number is in, and the answer."""
        if last - first == 1:
            return [step(give, 0, 0, _ALLOW if changes[first] in allowed else _ERRNO | errno.EPERM)]
        middle = (first + last) // 2
        below, above = search(first, middle), search(middle, last)
        return [step(at_least, len(below), 0, changes[middle]), *below, *above]

    program += search(0, len(changes))
    return b"".join(program)


def _seccomp() -> bool:
    machine = platform.machine()
    if machine not in _ALLOWED or struct.calcsize("P") != 8:
        return False
    program = seccomp_program(machine)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    return int(_libc().prctl(_PR_SET_SECCOMP, 2, header, 0, 0)) == 0


def bound_capabilities() -> None:
    """See to it that no process forked from now on can get capabilities back."""
    if _LINUX:
        for capability in range(64):  # those that exist
            if _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break


def _drop_capabilities() -> bool:
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    return int(_libc().capset(header, nothing)) == 0


# --- all of it ---------------------------------------------------------------------------------------------


def die_with_parent(parent: int) -> None:
    """Be killed when the parent ends. `parent` is its id, in case it has ended already; 0 where it is not known."""
    if _LINUX:
        _libc().prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
        if parent and os.getppid() != parent:
            os._exit(1)


def _limit(name: str, value: int) -> None:
    kind = getattr(resource, name, None)
    if kind is None:
        return
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):  # a lower one is in force
        hard = resource.getrlimit(kind)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (min(value, hard), min(value, hard)))


def address_space() -> int:
    """Bytes of memory that this process has mapped; 0 where that is not told."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def limit_resources(memory: int, seconds: int) -> bool:
    """Bound memory (bytes, all told), processor time, files, processes. False where there are no limits."""
    if resource is None:
        return False
    _limit("RLIMIT_AS", memory)
    _limit("RLIMIT_CPU", seconds)
    for name, value in (("FSIZE", 0), ("NOFILE", 64), ("CORE", 0), ("NPROC", 0), ("MSGQUEUE", 0), ("MEMLOCK", 0)):
        _limit(f"RLIMIT_{name}", value)
    return True


def share_pages() -> None:
    """Gather this process's memory into large pages, so that a fork copies a few entries and not tens of thousands.

    With torch loaded it makes a fork three times as fast. Where the kernel cannot (before Linux 6.1) nothing happens.
    """
    if not _LINUX:
        return
    size = 2 << 20
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8") as maps:
        for area in [line.split() for line in maps]:
            if area[1][:2] != "rw" or (len(area) > 5 and area[5] != "[heap]"):
                continue
            start, end = (int(number, 16) for number in area[0].split("-"))
            for place in range(-(-start // size) * size, end - size + 1, size):
                _libc().madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), _MADV_COLLAPSE)


def warm() -> None:
    """Touch what `lock` is going to need, once before the fork."""
    address_space()
    if _LINUX:
        libc = _libc()
        for name in ("prctl", "syscall", "capset"):
            getattr(libc, name)
        libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0)
        if platform.machine() in _ALLOWED:
            seccomp_program(platform.machine())


def lock(ruleset_descriptor: int | None, memory: int, seconds: int) -> dict[str, bool]:
    """Give up everything that learners' code does not need, for good.

    Args:
        ruleset_descriptor: from `ruleset`.
        memory: bytes that may be mapped, all told.
        seconds: of processor time.

    Returns:
        what was put in force: "limits", "capabilities", "files", "system calls".
    """
    force = {"limits": limit_resources(memory, seconds), "capabilities": False, "files": False, "system calls": False}
    if not _LINUX:
        return force
    libc = _libc()
    all_there = platform.machine() in _ALLOWED and ruleset_descriptor is not None
    if os.geteuid() == 0 and not all_there:  # root may read every file, and the limit on processes does not bind it
        with contextlib.suppress(OSError):  # in a container there may be no other user
            os.setgroups([])
            os.setresgid(_NOBODY, _NOBODY, _NOBODY)
            os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    force["capabilities"] = _drop_capabilities()
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if ruleset_descriptor is not None:
        force["files"] = int(libc.syscall(_LANDLOCK_RESTRICT, ruleset_descriptor, 0)) == 0
        os.close(ruleset_descriptor)
    force["system calls"] = _seccomp()
    return force

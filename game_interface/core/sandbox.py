"""Restrict the interpreter process, so that a malicious story can harm only its own process.

On Linux (x86-64 and ARM64), the following is blocked for this process and all its threads:

- New sockets, programs and processes, signals to other processes, and access to their memory. A seccomp filter makes
  these system calls fail with EACCES. The socket to the parent stays open.
- All files, except the process's own folder, and libraries of Python and the system, which are read-only. This uses
  Landlock (Linux 5.13 or newer).
- Privileges of set-user-ID programs (`no_new_privs`).

Address space, open files, file size and core dumps are limited on every system that supports the limit. CPU time is not
limited, because a process may play for hours. The parent kills the process if a request takes too long.
"""

import contextlib
import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

LIMITS = {
    resource.RLIMIT_AS: 2 << 30,
    resource.RLIMIT_NOFILE: 64,
    resource.RLIMIT_FSIZE: 16 << 20,
    resource.RLIMIT_CORE: 0,
}
"""Bytes, or a number of files."""

_SET_NO_NEW_PRIVS = 38
_EACCES, _ENOSYS = 13, 38

# audit architecture, seccomp(2), clone(2)
_MACHINES = {"x86_64": (0xC000003E, 317, 56), "aarch64": (0xC00000B7, 277, 220)}
_CLONE3 = 435
_CLONE_THREAD = 0x10000
_REFUSED = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "io_uring_setup": (425, 425),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fork": (57, None),
    "vfork": (58, None),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "mount": (165, 40),
    "unshare": (272, 97),
    "setns": (308, 268),
}
"""System call → its numbers on x86-64 and ARM64."""
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_SET_FILTER, _ALL_THREADS = 1, 1

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULESET_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _READ_FILE, _READ_FOLDER, _REMOVE_FOLDER = 1 << 0, 1 << 2, 1 << 3, 1 << 4
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
"""Version of Landlock → all file system rights. The device rights of newer versions are not used."""


def restrict(folder: Path, libraries: Iterable[Path]) -> list[str]:
    """Restrict this process permanently. Call this before loading the story and before starting threads.

    Args:
        folder: The only folder where files can be written. The process can remove it.
        libraries: Folders that can be read, in addition to those of Python and the system.

    Returns:
        The protections that this system does not support: "no_new_privs", "seccomp" and "Landlock".
    """
    for limit, value in LIMITS.items():
        with contextlib.suppress(OSError, ValueError):
            hard_limit = resource.getrlimit(limit)[1]
            value = value if hard_limit == resource.RLIM_INFINITY else min(value, hard_limit)
            resource.setrlimit(limit, (value, value))
    if sys.platform != "linux":
        return ["no_new_privs", "seccomp", "Landlock"]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return ["no_new_privs", "seccomp", "Landlock"]
    readable = {*map(Path, (sys.prefix, sys.base_prefix, "/usr/lib", "/usr/lib64", "/lib", "/lib64")), *libraries}
    # Landlock comes first, because the filter might block its system calls.
    missing = [] if _restrict_files(libc, folder, readable) else ["Landlock"]
    return missing if _filter_calls(libc) else ["seccomp", *missing]


def _call(libc: ctypes.CDLL, number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Return the result of a system call. -1 means an error."""
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return int(libc.syscall(ctypes.c_long(number), *converted))


def _restrict_files(libc: ctypes.CDLL, folder: Path, readable: set[Path]) -> bool:
    version = _call(libc, _CREATE_RULESET, None, 0, _RULESET_VERSION)
    if version < 1:
        return False
    rights = _RIGHTS[min(version, max(_RIGHTS))]
    rules = _call(libc, _CREATE_RULESET, struct.pack("Q", rights), 8, 0)
    if rules < 0:
        return False
    allowed = dict.fromkeys(readable, _EXECUTE | _READ_FILE | _READ_FOLDER)
    # The process removes its own folder if the parent was killed.
    allowed |= {folder: rights, folder.parent: _REMOVE_FOLDER}
    try:
        for path, granted in allowed.items():
            if path.is_dir() and not _allow(libc, rules, path, granted):
                return False
        return _call(libc, _RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> bool:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return _call(libc, _ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0) == 0
    finally:
        os.close(descriptor)


def _filter_calls(libc: ctypes.CDLL) -> bool:
    machine = platform.machine()
    if machine not in _MACHINES:
        return False
    _, seccomp, _ = _MACHINES[machine]
    instructions = b"".join(struct.pack("HBBI", *instruction) for instruction in filter_program(machine))
    code = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("HP", len(instructions) // 8, ctypes.addressof(code))
    return _call(libc, seccomp, _SET_FILTER, _ALL_THREADS, program) == 0


def filter_program(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter for a machine as BPF instructions: code, jump if true, jump if false, operand."""
    architecture, _, clone = _MACHINES[machine]
    column = list(_MACHINES).index(machine)
    refuse = (RETURN, 0, 0, _ERROR | _EACCES)
    program = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),  # the number of the system call
        (_AT_LEAST, 0, 1, 0x40000000),  # x32 numbers
        refuse,
        (_EQUAL, 0, 1, _CLONE3),
        (RETURN, 0, 0, _ERROR | _ENOSYS),  # makes the C library use clone
    ]
    for numbers in _REFUSED.values():
        if (number := numbers[column]) is not None:
            program += [(_EQUAL, 0, 1, number), refuse]
    program += [
        (_EQUAL, 0, 3, clone),
        (_LOAD, 0, 0, 16),  # the flags of clone
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        refuse,
        (RETURN, 0, 0, _ALLOW),
    ]
    return program

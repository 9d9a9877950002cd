"""Tests of the sandbox of the interpreter process, with hostile stories."""

import errno
import json
import os
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface.core import child, sandbox
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.worker import BranchComparison, InterpreterState, Worker, WorkerFailure
from tests.fixtures.hostile_stories import ATTACKS, hostile_story
from zorkgpt.errors import InterpreterError

ROOT = Path(__file__).resolve().parents[2]

# Prints the error number of each try as JSON, or 0 for success. Only tries that the system can block are made.
TRIES = """
import json, os, resource, socket, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from game_interface.core import sandbox

folder, outside = Path(sys.argv[1]), Path(sys.argv[2])
ours, theirs = socket.socketpair()
missing = sandbox.restrict(folder, [])

def failed(call):
    try:
        call()
    except OSError as error:
        return error.errno
    return 0

def in_thread(call):
    with ThreadPoolExecutor() as pool:
        pool.submit(call).result()

ALLOWED = {
    "write": lambda: (folder / "own").write_text("x"),
    "read": lambda: (folder / "own").read_text(),
    "remove": lambda: (folder / "own").unlink(),
    "libraries": lambda: Path(os.__file__).read_bytes(),
    "message": lambda: (theirs.sendall(b"x"), ours.recv(1)),
    "thread": lambda: in_thread(lambda: None),
}
CALLS = {
    "socket": lambda: socket.socket(),
    "socket in a thread": lambda: in_thread(socket.socket),
    "socket pair": lambda: socket.socketpair(),
    "program": lambda: os.execv(sys.executable, [sys.executable, "-c", ""]),
    "process": lambda: os.fork() or os._exit(0),
    "signal": lambda: os.kill(os.getppid(), 0),
}
FILES = {
    "write outside": lambda: (outside / "new").write_text("x"),
    "read outside": lambda: (outside / "secret").read_text(),
    "list outside": lambda: os.listdir(outside),
    "remove outside": lambda: (outside / "secret").unlink(),
    "system file": lambda: Path("/etc/passwd").read_text(),
}
LIMITS = {
    "large file": lambda: (folder / "large").write_bytes(bytes(sandbox.LIMITS[resource.RLIMIT_FSIZE] + 1)),
    "many files": lambda: [os.open(folder, os.O_RDONLY) for _ in range(100)],
}
tries = ALLOWED | ({} if "seccomp" in missing else CALLS) | ({} if "Landlock" in missing else FILES) | LIMITS
print(json.dumps({name: failed(call) for name, call in tries.items()}))
"""
ALLOWED = {"write", "read", "remove", "libraries", "message", "thread"}


def test_process_can_use_only_its_folder(tmp_path):
    own, outside = tmp_path / "own", tmp_path / "outside"
    own.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("secret")
    command = [sys.executable, "-c", TRIES, str(own), str(outside)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    failed = json.loads(done.stdout)
    limits = {"large file": errno.EFBIG, "many files": errno.EMFILE}
    assert failed == dict.fromkeys(failed, errno.EACCES) | dict.fromkeys(ALLOWED, 0) | limits
    assert (outside / "secret").read_text() == "secret"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_of_each_machine_ends_in_a_decision(machine):
    program = sandbox.filter_program(machine)
    returns = {number for number, (code, *_) in enumerate(program) if code == sandbox.RETURN}
    for number, (_, if_true, if_false, _) in enumerate(program):
        if number not in returns:
            assert max(number + 1 + if_true, number + 1 + if_false) < len(program)
    assert len(program) - 1 in returns


def test_unsupported_protections_are_returned(tmp_path):
    code = (
        "import platform, sys; from pathlib import Path; from game_interface.core import sandbox; "
        "platform.machine = lambda: 'riscv64'; print(sandbox.restrict(Path(sys.argv[1]), [])); "
        "sys.platform = 'darwin'; print(sandbox.restrict(Path(sys.argv[1]), []))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["['seccomp']", "['no_new_privs', 'seccomp', 'Landlock']"]


@given(st.binary(max_size=200))
def test_any_answer_is_parsed_or_refused(answer):
    for parse in (lambda answer: InterpreterState.unpack(answer, 50), BranchComparison.unpack):
        with suppress(ValueError, struct.error):
            parse(answer)


def test_message_size_is_limited():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(child.LENGTH.pack(0xFFFFFFFF))
        with pytest.raises(ValueError, match="a message of 4294967295 bytes"):
            child.receive(theirs)


@pytest.fixture(scope="module")
def hostile(inform, tmp_path_factory) -> bytes:
    return hostile_story(inform, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def worker(hostile):
    running = Worker(hostile, seed=1, time_limit_s=20)
    yield running
    running.kill()


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "work" not in path.parts}


@pytest.mark.parametrize("verb", ATTACKS)
def test_worker_survives_a_hostile_story(worker, verb):
    opening = worker.reset()
    worker.time_limit_s = 0.5
    before = files_below(worker._folder)
    with suppress(WorkerFailure):
        after = worker.step(b"x" + verb.encode())
        assert files_below(worker._folder) == before
        assert len(after.state) > len(after.memory)
    worker.time_limit_s = 20
    assert worker.reset() == opening
    assert "A hall." in worker.step(b"look").text


@pytest.fixture(scope="module")
def game(hostile, tmp_path_factory):
    path = tmp_path_factory.mktemp("story") / "hostile.z5"
    path.write_bytes(hostile)
    with JerichoInterface(path, seed=1, time_limit_s=1) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("verb", ATTACKS)
def test_game_survives_a_hostile_story_or_raises(game, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opening = game.reset()
    with suppress(InterpreterError):
        turn = game.act(f"x{verb}")
        assert game.save_state()
        if not turn.finished:
            game.act("look")
    assert game.reset() == opening
    assert "A hall." in game.act("look").response
    assert os.listdir(tmp_path) == []

"""Tests of the interpreter process and its failures."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from game_interface.core.worker import Worker, WorkerFailure

pytestmark = pytest.mark.slow


@pytest.fixture
def worker(bundled_story):
    running = Worker(bundled_story.read_bytes(), seed=1, time_limit_s=20)
    yield running
    running.kill()


def _gone(pid: int) -> bool:
    """Return whether the process has ended. A zombie has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def _play_on(worker: Worker) -> None:
    for number in range(1000):
        worker.step(b"look %d" % number)


def _wait_for(condition, limit_s: float = 20) -> bool:
    end = time.monotonic() + limit_s
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_interpreter_process_gets_no_keys(worker, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-1")
    monkeypatch.setenv("ZORKGPT_MCP_TOKEN", "secret-2")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    worker.reset()
    environment = Path(f"/proc/{worker.pid}/environ").read_bytes()
    assert b"LC_ALL=C.UTF-8" in environment
    assert b"secret" not in environment


def test_buffered_word_belongs_to_its_own_response(worker):
    for command in (b"north", b"west", b"west", b"west"):
        here = worker.step(command)
    expected = worker.step(b"look").text
    worker.load(here.state)
    assert worker.peek(b"west").endswith(" or QUIT?")
    assert worker.step(b"look").text == expected
    worker.load(here.state)
    died = worker.step(b"west")
    assert died.text.endswith(" or QUIT?")
    worker.load(here.state)
    assert worker.step(b"look").text == expected


@pytest.mark.parametrize("command", [rb"\w", rb"\x", rb"\help"])
def test_hanging_command_is_ended_by_the_time_limit(worker, command):
    worker.reset()
    worker.time_limit_s = 0.3
    with pytest.raises(WorkerFailure, match=r"gave no answer within 0\.3 s and was killed"):
        worker.step(command)
    assert worker.pid is None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_killed_interpreter_is_reported_with_the_signal(worker, how):
    worker.reset()
    os.kill(worker.pid, how)
    with pytest.raises(WorkerFailure, match=f"signal {int(how)}|can't be reached"):
        _play_on(worker)
    assert worker.reset().text


def test_kill_during_a_command_does_not_block_the_parent(worker):
    worker.reset()
    killer = threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(WorkerFailure, match="died \\(signal 9\\)"):
        worker.step(rb"\w")  # would hang until the limit


def test_stopped_interpreter_is_ended_by_the_time_limit(worker):
    worker.reset()
    worker.time_limit_s = 0.3
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(WorkerFailure, match="gave no answer"):
        worker.step(b"look")


@pytest.mark.parametrize(
    "content",
    [b"", b"no story at all", b"\x05" + bytes(range(256)) * 40, b"\x03" * 3000],
    ids=["empty", "text", "noise of version 5", "noise of version 3"],
)
def test_file_that_crashes_the_interpreter_does_not_crash_the_parent(content):
    worker = Worker(content, seed=1, time_limit_s=2)
    with pytest.raises(WorkerFailure, match=r"died|gave no answer"):
        _play_on(worker)
    assert worker.pid is None


def test_working_directory_and_story_file_may_disappear(worker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opening = worker.reset()
    os.chdir("/")
    assert worker.reset() == opening


def test_interpreter_writes_no_files_to_the_working_directory(worker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    worker.reset()
    for command in (b"save", b"story.sav", b"script", b"story.log", rb"\s"):
        worker.time_limit_s = 1
        try:
            worker.step(command)
        except WorkerFailure:
            worker.reset()
    assert list(tmp_path.iterdir()) == []


def test_killed_worker_leaves_nothing_behind(worker):
    worker.reset()
    pid, folder = worker.pid, worker._folder
    assert folder.is_dir()
    worker.kill()
    assert _gone(pid)
    assert not folder.exists()


@pytest.mark.parametrize("command", [b"look", rb"\w"], ids=["idle", "hanging"])
def test_interpreter_ends_when_its_parent_dies(bundled_story, command):
    program = f"""
import os, signal, sys, threading
from pathlib import Path
from game_interface.core.worker import Worker
worker = Worker(Path({str(bundled_story)!r}).read_bytes(), seed=1, time_limit_s=60)
worker.reset()
print(worker.pid, worker._folder, flush=True)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
worker.step({command!r})
signal.pause()
"""
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, timeout=60)
    pid, folder = done.stdout.split()
    assert done.returncode == -signal.SIGKILL
    assert _wait_for(lambda: _gone(int(pid)))
    assert _wait_for(lambda: not Path(folder).exists())


def test_ctrl_c_does_not_reach_the_interpreter(worker):
    worker.reset()
    assert os.getpgid(worker.pid) != os.getpgid(0)

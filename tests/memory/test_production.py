"""Tests of deployment patterns with each store: acknowledged memories are kept, once and complete."""

import asyncio
import os
import pickle
import random
import signal
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from tests.fixtures import writers
from tests.fixtures.command_line import Started
from tests.fixtures.forks import FORKS
from tests.fixtures.memory import WORKS, Play
from tests.fixtures.memory import memory as a_memory
from tests.fixtures.stores import empty_schema, postgres_server
from tests.fixtures.writers import Scene, check, child, in_separate_process, interrupted_at, wait_for
from zorkgpt import AgentMemory
from zorkgpt.errors import MemoryConflict
from zorkgpt.files import AtomicFile

MODES = [writers.fork, writers.prefork, writers.threads, writers.searching_threads, writers.tasks]


@pytest.fixture
def scene(home, tmp_path):
    return Scene(str(home.address), str(tmp_path / "acknowledged"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_concurrent_writers_lose_nothing(scene, mode):
    in_separate_process(mode, scene)
    in_separate_process(check, scene)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [writers.killed, writers.interrupted])
def test_stopped_writers_leave_complete_memories(scene, mode):
    seed = random.randrange(100_000)
    print("seed:", seed)
    in_separate_process(mode, scene, seed)
    in_separate_process(check, scene, 200)


def test_interrupt_while_locking_releases_the_lock(tmp_path):
    in_separate_process(interrupt_each_locking, str(tmp_path / "file"))


def interrupt_each_locking(path: str) -> None:
    file = AtomicFile(Path(path))

    def lock() -> None:
        with file.locked():
            pass

    lock()
    moments = interrupted_at(0, lock)
    assert moments > 100
    for moment in range(1, moments):
        with suppress(KeyboardInterrupt):
            interrupted_at(moment, lock)
        assert FileLock(f"{path}.lock").acquire(timeout=0)


def test_interrupt_during_a_change_keeps_file_and_journal_consistent(tmp_path):
    # In a separate process, because an interrupt may leave a lock inside a library locked.
    in_separate_process(interrupt_at_each_moment, str(tmp_path / "Memories.md"))


def interrupt_at_each_moment(path: str) -> None:
    with AgentMemory.open(path) as memory:

        def change(title: str) -> None:
            with memory.store.transaction() as draft:
                for known in draft.lasting.memories(1):
                    draft.remove(1, known, "another one takes its place")
                draft.add(1, "Hall", a_memory(title))

        change("first")
        for moment in range(1, interrupted_at(0, lambda: change("second"))):
            with suppress(KeyboardInterrupt):
                interrupted_at(moment, lambda: change("interrupted"))
            change("next")
        journaled = [each.title for each in memory.store.journal.lasting()[1]]
        assert journaled == [each.memory.title for each in memory.find(1)] == ["next"]


@pytest.mark.slow
def test_postgres_crashes_during_writes_lose_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with postgres_server(f"restarted-{os.getpid()}") as server:
        scene = Scene(empty_schema(server.get_uri()), str(tmp_path / "acknowledged"))
        over = tmp_path / "over"
        processes = [
            FORKS.Process(target=writers.stubborn, args=(scene, f"writer{one}", str(over))) for one in range(3)
        ]
        for process in processes:
            process.start()
        wait_for_notes(scene, 15)
        server.stop()
        server.ensure_postgres_running()
        wait_for_notes(scene, 30)
        crashed = server.get_postmaster_info().process
        crashed.send_signal(signal.SIGQUIT)
        crashed.wait(20)
        server.ensure_postgres_running()
        wait_for_notes(scene, 45)
        over.touch()
        for process in processes:
            process.join(30)
        assert [process.exitcode for process in processes] == [0, 0, 0]
        in_separate_process(check, scene, 6)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["file", "sqlite"], indirect=True)
def test_killed_and_restarted_server_loses_nothing(scene):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["mcp", "--memories", scene.address, "--host", "127.0.0.1", "--port", str(port)]
    clients = [
        threading.Thread(
            target=lambda name: asyncio.run(writers.write_over_http(scene, f"http://127.0.0.1:{port}/mcp", name, 8)),
            args=(f"client{number}",),
        )
        for number in range(2)
    ]
    with Started(*command) as server:
        for client in clients:
            client.start()
        wait_for_notes(scene, 4)
        server.send_signal(signal.SIGKILL)
    with Started(*command):
        for client in clients:
            client.join(60)
    assert len(scene.acknowledged()) == 16
    in_separate_process(check, scene, 2)


def wait_for_notes(scene, count):
    """Wait until this number of calls was acknowledged."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if Path(scene.notes).exists() and len(scene.acknowledged()) >= count:
            return
        time.sleep(0.02)
    pytest.fail(f"less than {count} writes were acknowledged in a minute")


@pytest.mark.slow
@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_fork_while_loading_a_model_leaves_a_working_memory(scene):
    in_separate_process(writers.loading, scene)
    in_separate_process(check, scene)


def test_error_of_another_process_is_complete():
    error = pickle.loads(pickle.dumps(MemoryConflict("Changed meanwhile.", "now")))
    assert (str(error), error.now) == ("Changed meanwhile.", "now")


def count_once(address):
    play = Play(address)
    memory = play.manager
    memory.remember(5, "The lever opens the gate.", title="Lever", action="pull lever", category="SUCCESS")
    play.turn(1, action="wait")
    play.turn(2, **WORKS)
    wait_for(child(memory.remember, 6, "A rope is here."), child(memory.close))
    memory.remember(7, "A rug is here.")


def test_pending_counts_are_written_by_the_parent_only(home):
    in_separate_process(count_once, home.address)
    with home.open() as memory:
        assert (memory.get("Lever").memory.tried, memory.get("Lever").memory.worked) == (1, 1)

"""Several processes on one file, and processes that are killed, hang, or may write no more."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.markdown import MarkdownStore

ROOT = Path(__file__).parents[2]

ADDING = """
import sys
from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager

path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
manager = SimpleMemoryManager.open(path)
print("ready", flush=True)
for number in range(count):
    added = manager.add_memory(number % 5, "Room", memory(f"{name} {number}"))
    print(name, number, added, flush=True)
"""

HOLDING = """
import sys, time
from filelock import FileLock
lock = FileLock(sys.argv[1] + ".lock")
lock.acquire()
print("ready", flush=True)
time.sleep(60)
"""

KILLED = """
import os, sys
from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager

print("ready", flush=True)
for path in sys.argv[1:]:
    returned = os.open(os.path.join(os.path.dirname(path), "returned"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    pid = os.fork()
    if pid == 0:
        manager = SimpleMemoryManager.open(path)
        number = 0
        while True:
            number += 1
            if manager.add_memory(number % 3, "Room", memory(f"Memory {number}")):
                os.write(returned, f"Memory {number}\\n".encode())
    print(pid, flush=True)
    os.waitpid(pid, 0)
    os.close(returned)
"""

LIMITED = """
import resource, signal, sys
from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
manager = SimpleMemoryManager.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
print(manager.add_memory(5, "Hall", memory("Too long", text="x" * 5000)))
print([kept.title for kept in manager.memory_cache[5]])
"""


def start(script: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def titles_in(path: Path) -> list[str]:
    return [one.title for kept in parse(path.read_bytes()).all_memories().values() for one in kept]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "Memories.md"


@pytest.mark.slow
@pytest.mark.parametrize(("home", "each"), [("file", 60), ("postgres", 10)], indirect=["home"])
def test_eight_processes_lose_nothing_and_see_each_other(home, each):
    watching = home.open()
    children = [start(ADDING, home.address, f"Process {number}", each) for number in range(8)]
    said = [child.communicate(timeout=280)[0] for child in children]
    assert all(text.count("True") == each for text in said)
    wanted = Counter(f"Process {child} {number}" for child in range(8) for number in range(each))
    assert Counter(one.memory.title for one in watching.all_memories()) == wanted
    assert watching.get_persistent_count() == 8 * each
    records = list(watching.store.journal.records())
    assert Counter(one.change.after.title for one in records if one.change.kind == "added") == wanted
    assert {one.source for one in records} <= {"agent", "baseline"}


@pytest.mark.slow
def test_a_process_killed_at_any_instant_leaves_a_whole_file(tmp_path):
    instants, batch = 200, 50
    chance = random.Random(20)
    for first in range(0, instants, batch):
        paths = [tmp_path / f"{first + number}" / "Memories.md" for number in range(batch)]
        for path in paths:
            path.parent.mkdir()
            assert SimpleMemoryManager.open(path).add_memory(1, "Room", memory("Before"))
        child = start(KILLED, *paths)
        assert child.stdout.readline() == "ready\n"
        for _ in paths:
            pid = int(child.stdout.readline())
            time.sleep(chance.uniform(0.0, 0.012))
            os.kill(pid, signal.SIGKILL)
        child.wait(timeout=60)
        for path in paths:
            check_after_kill(path, path.with_name("returned").read_text().splitlines())


def check_after_kill(path: Path, returned: list[str]) -> None:
    data = path.read_bytes()
    document = parse(data)
    assert list(document.problems()) == []
    titles = titles_in(path)
    assert len(titles) == len(set(titles))
    assert {"Before", *returned} <= set(titles)
    assert len(titles) <= len(returned) + 2
    # The line of the history that the kill left out is there after the next load.
    manager = SimpleMemoryManager(path=MarkdownStore(path, lock_timeout_s=1))
    replayed = manager.store.journal.lasting().values()
    assert sorted(one.title for kept in replayed for one in kept) == sorted(titles)
    assert manager.add_memory(1, "Room", memory("After"))


def test_a_hung_process_that_holds_the_lock_is_a_clear_error(path, caplog):
    manager = SimpleMemoryManager(path=MarkdownStore(path, lock_timeout_s=0.2))
    assert manager.add_memory(5, "Hall", memory("First"))
    child = start(HOLDING, path)
    try:
        child.stdout.readline()
        assert manager.add_memory(5, "Hall", memory("Second")) is False
        assert manager.get_location_memory(5) == "[NOTE] First: The text of First."
    finally:
        child.kill()
        child.wait()
    assert manager.add_memory(5, "Hall", memory("Second")) is True
    assert titles_in(path) == ["First", "Second"]


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file_whole(path):
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("First"))
    before = path.read_bytes()
    child = start(LIMITED, path)
    assert child.communicate(timeout=60)[0] == "False\n['First']\n"
    assert path.read_bytes() == before

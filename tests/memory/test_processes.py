"""Tests of several processes on one file, hanging processes and full disks."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.markdown import MarkdownStore

ROOT = Path(__file__).parents[2]
PROCESSES = 8

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
    return [memory.title for memories in parse(path.read_bytes()).by_place().values() for memory in memories]


@pytest.mark.slow
@pytest.mark.parametrize(("home", "each"), [("file", 12), ("postgres", 5)], indirect=["home"])
def test_eight_processes_lose_nothing(home, each):
    watching = home.open()
    children = [start(ADDING, home.address, f"Process {number}", each) for number in range(PROCESSES)]
    outputs = [child.communicate(timeout=280)[0] for child in children]
    assert all(text.count("True") == each for text in outputs)
    wanted = Counter(f"Process {child} {number}" for child in range(PROCESSES) for number in range(each))
    assert Counter(located.memory.title for located in watching.all_memories()) == wanted
    assert watching.get_persistent_count() == PROCESSES * each
    records = list(watching.store.journal.records())
    assert Counter(record.change.after.title for record in records if record.change.kind == "added") == wanted
    assert {record.source for record in records} <= {"agent", "baseline"}


def test_lock_of_a_hanging_process_is_an_error(path, caplog):
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
def test_full_disk_leaves_the_file_unchanged(path):
    SimpleMemoryManager.open(path).add_memory(5, "Hall", memory("First"))
    before = path.read_bytes()
    child = start(LIMITED, path)
    assert child.communicate(timeout=60)[0] == "False\n['First']\n"
    assert path.read_bytes() == before

"""Tests of processes that contradict each other at one place."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from zorkgpt import Memory, SimpleMemoryManager

ROOT = Path(__file__).resolve().parents[2]
TURNS, PROCESSES = 30, 3
ADDING = """
import sys
from zorkgpt import Memory, SimpleMemoryManager
from tests.fixtures.hashing import HashingEmbeddings
path, who, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with SimpleMemoryManager.open(path, embeddings=HashingEmbeddings()) as memory:
    for turn in range(turns):
        text = "The brass key opens the door." if (turn + who) % 2 else "The brass key does not open the door."
        fact = Memory("NOTE", "What the key does", 1, str(100 * who + turn), 0, text, "permanent")
        assert memory.add_memory(1, "Hall", fact)
"""


@pytest.mark.slow
def test_every_observation_of_both_sides_counts(tmp_path):
    file = tmp_path / "Memories.md"
    command = [sys.executable, "-c", ADDING, str(file)]
    running = [subprocess.Popen([*command, str(who), str(TURNS)], cwd=ROOT) for who in range(1, PROCESSES + 1)]
    assert [process.wait(60) for process in running] == [0] * PROCESSES
    kept = SimpleMemoryManager.open(file).memory_cache[1]
    assert sum(memory.observation_count for memory in kept) == TURNS * PROCESSES
    # As if written one after another: one side wins, or the contradiction stays open, depending on the order.
    believed = [memory.status for memory in kept if memory.status != "SUPERSEDED"]
    assert believed in (["ACTIVE"], ["TENTATIVE", "TENTATIVE"])


def test_writer_without_comparison_leaves_the_contradiction_open(tmp_path):
    opens, shut = "The brass key opens the door.", "The brass key does not open the door."

    def add(memory: SimpleMemoryManager, turn: int, text: str) -> None:
        assert memory.add_memory(1, "Hall", Memory("NOTE", "What the key does", 1, str(turn), 0, text, "permanent"))

    file = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(file) as memory:
        for turn, text in enumerate((shut, opens, shut), 1):
            add(memory, turn, text)
    with SimpleMemoryManager.open(file, config=SimpleNamespace(enable_semantic_deduplication=False)) as memory:
        add(memory, 4, opens)
        statuses = {
            known_memory.text: (known_memory.status, known_memory.observation_count)
            for known_memory in memory.memory_cache[1]
            if known_memory.turns != "1"
        }
    assert statuses == {opens: ("TENTATIVE", 2), shut: ("TENTATIVE", 1)}

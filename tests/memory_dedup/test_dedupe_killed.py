"""Test of a consolidation that is killed and run again."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fixtures.dedup import fact
from zorkgpt.memory.manager import SimpleMemoryManager

ROOT = Path(__file__).resolve().parents[2]
PLACES = 40


def a_file_with_repeats(folder: Path) -> Path:
    folder.mkdir()
    with SimpleMemoryManager(path=folder / "Memories.md") as manager:
        for place in range(1, PLACES + 1):
            manager.add_memory(place, "Yard", fact("The iron gate is open.", "Iron gate open"))
            manager.add_memory(place, "Yard", fact("Iron gate is open.", "Open iron gate", turns="30"))
            manager.add_memory(place, "Yard", fact("The iron gate is not open.", "Iron gate shut", turns="31"))
    return folder / "Memories.md"


def cleaning(file: Path) -> subprocess.Popen:
    command = [sys.executable, "main.py", "memories", "dedupe", "--apply", "--provider", "none", "--file", str(file)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def believed(file: Path) -> list[tuple[int, str, str, int]]:
    with SimpleMemoryManager.open(file) as manager:
        return [
            (found.location_id, found.memory.text, found.memory.status, found.memory.observation_count)
            for found in manager.all_memories()
        ]


@pytest.mark.slow
def test_killed_consolidation_is_completed_by_the_next_one(tmp_path):
    whole = a_file_with_repeats(tmp_path / "whole")
    original = shutil.copytree(whole.parent, tmp_path / "original")
    untouched = believed(whole)
    started = time.monotonic()
    assert cleaning(whole).wait(60) == 0
    took = time.monotonic() - started
    cut_short = 0
    for trial in range(4):
        file = shutil.copytree(original, tmp_path / f"killed-{trial}") / whole.name
        process = cleaning(file)
        time.sleep(took * (0.2 + 0.2 * trial))
        os.kill(process.pid, signal.SIGKILL)
        process.wait(10)
        cut_short += believed(file) != believed(whole)
        assert cleaning(file).wait(60) == 0
        assert believed(file) == believed(whole)
    assert believed(whole) != untouched
    assert cut_short

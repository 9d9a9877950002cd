"""Test of killing and resuming a run with memories in a SQLite file."""

import shutil
import signal

import pytest

from tests.fixtures.kills import played
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.storage.document import render

PLAY = ("--episodes", "1", "--max-turns", "18")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_resumed_run_leaves_the_memories_of_an_uninterrupted_one(tmp_path, monkeypatch):
    monkeypatch.setenv("ZORKGPT_SIMPLE_MEMORY__MEMORY_FILE", "memories.sqlite")
    before, whole = tmp_path / "before", tmp_path / "whole"
    assert played(before, *PLAY).code == 0
    shutil.copytree(before, whole)
    touches = played(whole, *PLAY).touches
    for part in (42, 52):
        workdir = tmp_path / str(part)
        shutil.copytree(before, workdir)
        assert played(workdir, *PLAY, kill_at=touches * part // 100).code == -signal.SIGKILL
        assert played(workdir, "--resume").code == 0
        assert memories(workdir) == memories(whole), f"killed at {part} %"
    assert len(memories(whole)[0]) > 5


def memories(workdir):
    with SimpleMemoryManager.open(workdir / "memories.sqlite") as memory:
        changes = [(record.change, record.source, record.turn_stamp) for record in memory.store.journal.records()]
        return memory.all_memories(), changes, render(memory.store.document)

"""Tests of the examples that are not games."""

import subprocess
import sys
from itertools import pairwise

import pytest

from examples.agent import MAX_STEPS, compared, play
from examples.sandbox import Sandbox
from examples.shop import Shop
from tests.fixtures.command_line import ROOT
from zorkgpt import SimpleMemoryManager

pytestmark = pytest.mark.slow

WORLDS = pytest.mark.parametrize("make", [Shop, Sandbox])


@WORLDS
def test_later_episodes_take_fewer_actions(make):
    steps = compared(make)
    lasting, fresh = steps["shared memory"], steps["new memory each time"]
    assert lasting[0] == fresh[0] < MAX_STEPS
    assert max(lasting[1:]) < min(fresh)
    assert all(later <= earlier for earlier, later in pairwise(lasting))


@WORLDS
def test_memories_of_undone_things_are_not_shown(make, tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        for _ in range(5):
            play(make(), memory)
            own_doings = {
                located.memory.text for located in memory.all_memories() if located.memory.persistence == "ephemeral"
            }
            assert own_doings & {"Milk is in the cart.", "parser.py is fixed."}
            memory.reset_episode()
            assert own_doings.isdisjoint(located.memory.text for located in memory.all_memories())
            shown = "\n".join(memory.get_location_memory(place) for place in memory.memory_cache)
            assert "Result:" in shown
            assert "done:" not in shown


@pytest.mark.parametrize("name", ["shop", "sandbox"])
def test_example_runs_as_documented(name):
    done = subprocess.run(
        [sys.executable, "-m", f"examples.{name}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == ["shared memory", "new memory each time"]
    if name == "shop":
        assert f"```text\n{done.stdout}```" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")

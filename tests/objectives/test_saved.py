"""Tests of objectives that outlive an episode: as memories, with concurrent processes."""

import subprocess
import sys

import pytest

from tests.fixtures.objectives import wanted
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import OBJECTIVES
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.objectives.models import EpisodeTurn, Objective, ObjectiveEvidence, reached
from zorkgpt.objectives.saved import ObjectiveMemories


def lamp(**changed):
    return wanted("Take the lamp", kind="holds", thing=10, scope="world", places=(1,), **changed)


def saved_in(folder) -> ObjectiveMemories:
    return ObjectiveMemories(MarkdownStore(folder / "Memories.md"))


def lasting(*objectives: Objective) -> list[tuple]:
    return sorted((each.key, each.text, each.places, each.origin, each.evidence, each.given_up) for each in objectives)


def test_objectives_are_read_back(tmp_path):
    one = reached(lamp(since=15), ObjectiveEvidence(EpisodeTurn(1, 20), "game", "take lamp", 5))
    other = wanted("Find out who lives here", since=3, scope="world")
    saved_in(tmp_path).save([one, other])
    assert lasting(*saved_in(tmp_path).load()) == lasting(other, one)


def test_every_change_is_in_the_journal(tmp_path):
    store = MarkdownStore(tmp_path / "Memories.md")
    saved = ObjectiveMemories(store)
    saved.save([lamp()])
    saved.save([lamp()])
    saved.save([reached(lamp(), ObjectiveEvidence(EpisodeTurn(1, 20), "game", "take lamp", 5))])
    records = store.journal.records(OBJECTIVES)
    assert [(record.change.kind, record.change.memory.text) for record in records] == [
        ("added", "Take the lamp"),
        ("edited", "Take the lamp"),
    ]


def test_objectives_are_no_memories_of_a_search_or_a_file(tmp_path):
    saved_in(tmp_path).save([lamp()])
    with SimpleMemoryManager.open(tmp_path) as memory:
        assert (memory.search("lamp"), memory.all_memories(), list(memory.store.journal.records())) == ([], [], [])
    assert not (tmp_path / "Memories.md").exists()


def test_oldest_unreached_objectives_are_dropped(tmp_path):
    old = reached(lamp(episode=1), ObjectiveEvidence(EpisodeTurn(1, 3), "game", "take lamp"))
    many = [wanted(f"Find number {number}", episode=2, since=number, scope="world") for number in range(320)]
    saved_in(tmp_path).save([old, *many])
    left = {objective.text for objective in saved_in(tmp_path).load()}
    assert len(left) == 300
    assert {"Take the lamp", "Find number 319"} <= left
    assert "Find number 0" not in left


_PLAYER = """
import sys
from pathlib import Path
from tests.fixtures.objectives import wanted
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.objectives.models import ObjectiveEvidence, EpisodeTurn, reached
from zorkgpt.objectives.saved import ObjectiveMemories
path, own = Path(sys.argv[1]), int(sys.argv[2])
both = wanted("Take the lamp", kind="holds", thing=10, scope="world")
saved, mine = ObjectiveMemories(MarkdownStore(path)), []
for number in range(1, 16):
    mine.append(wanted(f"Find number {own * 100 + number}", episode=own, since=number, scope="world"))
    saved.save([*mine, reached(both, ObjectiveEvidence(EpisodeTurn(own, 1), "game", "take lamp"))])
"""


@pytest.mark.slow
def test_concurrent_processes_lose_nothing(tmp_path):
    path = tmp_path / "Memories.md"
    players = [subprocess.Popen([sys.executable, "-c", _PLAYER, str(path), str(own)]) for own in (1, 2, 3)]
    assert [player.wait(timeout=120) for player in players] == [0, 0, 0]
    stored = saved_in(tmp_path).load()
    assert {objective.text for objective in stored} == {
        "Take the lamp",
        *(f"Find number {own * 100 + number}" for own in (1, 2, 3) for number in range(1, 16)),
    }
    [both] = [objective for objective in stored if objective.condition.checkable]
    assert [shown.turn for shown in both.evidence] == [EpisodeTurn(1, 1), EpisodeTurn(2, 1), EpisodeTurn(3, 1)]

"""Tests of the episode in which a memory was superseded or invalidated."""

from types import SimpleNamespace

import pytest

from tests.fixtures.memory import memory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.storage.document import parse, render

OLDER = """# Location Memories

## Location 5: Hall
**Visits:** 2 | **Episodes:** 1, "2"

### Memories

**[NOTE - PERMANENT - SUPERSEDED] A** *(Ep1, T3, +0)*
[Superseded at T40 by "B": "seen, at Ep2, T3"]
~~Text of A.~~

**[NOTE - PERMANENT - SUPERSEDED] B** *(Ep"2", T3, +0)*
[Invalidated at T25: "it is "wrong""]
~~Text of B.~~

**[NOTE - PERMANENT - SUPERSEDED] C** *(Ep1, T3, +0)*
[Superseded by "D"]
~~Text of C.~~

---
"""


def fate(kept):
    return kept.superseded_by, kept.superseded_in_episode, kept.superseded_at_turn, kept.invalidation_reason


def kept_by(manager):
    return [located.memory for located in manager.all_memories()]


@pytest.mark.parametrize("episode", [2, "2", "second run", "a, T9", "1→Ep3", 'x"', '"2"', ""])
def test_later_episode_is_recorded(home, episode):
    state = SimpleNamespace(episode_id=1, turn_count=3)
    named = int(episode) if episode == "2" else episode
    with home.open(game_state=state) as manager:
        for title in ("Old", "Wrong"):
            manager.add_memory(5, "Hall", memory(title, episode=1))
        state.episode_id, state.turn_count = episode, 15
        new = memory("New", episode=episode, turns="15", text="It is otherwise.")
        assert manager.supersede_memory(5, "Hall", "Old", new)
        assert manager.invalidate_memory(5, "Wrong", "No.", turn=15)
        expected = {"Old": ("New", named, 15, None), "Wrong": ("INVALIDATED", named, 15, "No."), "New": (None,) * 4}
        assert {memory.title: fate(memory) for memory in kept_by(manager)} == expected
        assert kept_by(manager)[2].episode == named
    with home.open() as manager:
        assert {memory.title: fate(memory) for memory in kept_by(manager)} == expected
        records = [
            record for record in manager.store.journal.records() if record.change.kind in ("superseded", "invalidated")
        ]
        assert [fate(record.change.memory) for record in records] == [expected["Old"], expected["Wrong"]]


@pytest.mark.parametrize("episode", [2, "2"])
def test_episode_is_written_before_the_turn(tmp_path, home, episode):
    state = SimpleNamespace(episode_id=1, turn_count=3)
    with home.open(game_state=state) as manager:
        for title in ("Old", "Wrong", "Same"):
            manager.add_memory(5, "Hall", memory(title, episode=1))
        manager.invalidate_memory(5, "Same", "No.", turn=9)
        state.episode_id, state.turn_count = episode, 15
        manager.supersede_memory(5, "Hall", "Old", memory("New", episode=episode, text="It is otherwise."))
        manager.invalidate_memory(5, "Wrong", "No.", turn=15)
    lines = home.text().splitlines()
    assert [line for line in lines if line.startswith("[")] == [
        '[Superseded at Ep2, T15 by "New"]',
        '[Invalidated at Ep2, T15: "No."]',
        '[Invalidated at T9: "No."]',
    ]
    assert "**[NOTE - PERMANENT] New** *(Ep2, T3, +0)*" in lines
    assert 'Ep"' not in home.text()
    assert '"2"' not in home.text()


def test_older_file_is_read_and_unchanged():
    document = parse(OLDER.encode())
    assert render(document) == OLDER.encode()
    assert list(document.problems()) == []
    assert [(memory.episode, *fate(memory)) for memory in document.memories(5)] == [
        (1, "B", None, 40, "seen, at Ep2, T3"),
        (2, "INVALIDATED", None, 25, 'it is "wrong"'),
        (1, "D", None, None, None),
    ]


def test_same_episode_is_omitted():
    assert memory(episode=2, superseded_at_turn=3, superseded_in_episode="2").superseded_in_episode is None
    assert memory(episode=2, superseded_in_episode=3).superseded_in_episode is None


def test_reactivated_memory_has_no_date(home):
    state = SimpleNamespace(episode_id=1, turn_count=3)
    with home.open(game_state=state) as manager:
        manager.add_memory(5, "Hall", memory("Old", episode=1))
        state.episode_id = 2
        manager.invalidate_memory(5, "Old", "No.", turn=15)
        manager.edit_memory(5, "Old", Edit(status="ACTIVE"))
        assert [fate(memory) for memory in kept_by(manager)] == [(None,) * 4]

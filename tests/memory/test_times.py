"""Tests of times: when memories were stored and changed, by whom, and since when they are true."""

from datetime import UTC, datetime, timedelta

import pytest

from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import Recalled


@pytest.fixture
def memory(home):
    with AgentMemory.open(home.address) as opened:
        yield opened


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def test_reads_return_times(memory):
    began = now()
    key = memory.remember(("acme", 7), "The shop opens at nine.", title="Hours")
    stored = memory.get(key).memory
    assert began <= stored.created_at == stored.updated_at <= now()
    memory.remember(("acme", 7), "The shop opens at nine.", title="Hours")
    assert memory.get(key).memory.updated_at == stored.updated_at
    changed = memory.update(key, text="The shop opens at ten.").memory
    assert changed.created_at == stored.created_at < changed.updated_at
    recalled_places: list[Recalled] = []
    memory.recall(("acme", 7), format=lambda recalled: recalled_places.append(recalled) or "")
    for read in (memory.get(key), memory.find()[0], memory.search("shop")[0].located):
        assert (read.memory.created_at, read.memory.updated_at) == (stored.created_at, changed.updated_at)
    assert recalled_places[0].memories[0].updated_at == changed.updated_at


def test_ephemeral_memory_has_times(memory):
    key = memory.remember(5, "The door is open.", persistence="ephemeral")
    assert memory.get(key).memory.created_at is not None


def test_memory_without_a_journal_has_no_times(tmp_path):
    file = tmp_path / "Memories.md"
    file.write_text("## Location 5: Hall\n\n**[NOTE - PERMANENT] Lamp** *(Ep1, T2)*\nA lamp.\n")
    with AgentMemory.open(file) as memory:
        lamp = memory.get("Lamp").memory
        assert (lamp.created_at, lamp.updated_at) == (None, None)
        memory.update("Lamp", text="A brass lamp.")
        lamp = memory.get("Lamp").memory
        assert lamp.created_at is None
        assert lamp.updated_at is not None


def test_source_is_the_author_of_the_last_change(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        key = memory.remember(5, "A lamp.", title="Lamp")
        assert memory.get(key).memory.source == "agent"
        memory.edit_memory(5, "Lamp", Edit(text="A brass lamp."))
        assert memory.get(key).memory.source == "person"


def test_find_and_search_by_change_time(memory):
    first = memory.remember(5, "A lamp.", title="Lamp")
    memory.remember("hall", "A lamp too.", title="Other lamp")
    moment = memory.get("Other lamp").memory.updated_at
    assert memory.find(after=moment) == []
    assert memory.search("lamp", after=moment) == []
    memory.remember("hall", "A lamp too.", title="Other lamp")
    assert memory.find(after=moment) == []
    memory.update(first, text="A brass lamp.")
    memory.remember("cellar", "A rusty lamp.", title="Third", persistence="ephemeral")
    assert {each.memory.title for each in memory.find(after=moment)} == {"Lamp", "Third"}
    assert {each.located.memory.title for each in memory.search("lamp", after=moment)} == {"Lamp", "Third"}
    assert [each.located.memory.title for each in memory.search("lamp", place=5, after=moment)] == ["Lamp"]
    assert memory.find(after=datetime.now(UTC) + timedelta(days=1)) == []
    with pytest.raises(ValueError, match="which time zone"):
        memory.find(after=datetime(2030, 1, 1))


def test_valid_from_is_kept(memory, tmp_path):
    since = datetime(2026, 1, 31, 12, tzinfo=UTC)
    key = memory.remember(5, "The shop opens at nine.", valid_from=since)
    assert memory.get(key).memory.valid_from == "2026-01-31T12:00:00.000000+00:00"
    assert memory.remember(5, "The shop opens at nine.", valid_from="2026-02-01T00:00:00+00:00") == key
    assert memory.get(key).memory.valid_from == "2026-02-01T00:00:00.000000+00:00"
    newer = memory.supersede(key, "The shop opens at ten.", valid_from="2026-03-01T00:00:00+00:00")
    assert memory.get(newer).memory.valid_from == "2026-03-01T00:00:00.000000+00:00"
    assert memory.update(newer, valid_from="").memory.valid_from is None
    with pytest.raises(ValueError, match="time zone"):
        memory.remember(5, "Something.", valid_from="2026-03-01")


def test_moved_memory_keeps_its_history(memory):
    key = memory.remember(5, "A lamp.", title="Lamp")
    memory.remember(6, "Another lamp.", title="Lamp")
    with memory.store.transaction() as draft:
        draft.move(5, 105)
    assert [record.change.kind for record in memory.store.journal.history(105, key)] == ["added", "moved", "moved"]
    assert memory.get(key).memory.created_at == memory.store.journal.history(105, key)[0].at


def test_location_without_memories_is_moved(tmp_path):
    path = tmp_path / "Memories.md"
    path.write_text("# Location Memories\n\n## Location 5: Hall\n**Visits:** 2 | **Episodes:** 1\n", encoding="utf-8")
    with AgentMemory.open(path) as memory, memory.store.transaction() as draft:
        draft.move(5, 105)
    assert "## Location 105: Hall\n**Visits:** 2" in path.read_text(encoding="utf-8")


def test_times_are_looked_up_by_index(tmp_path):
    with AgentMemory.open(tmp_path / "memories.sqlite") as memory:
        memory.remember(5, "A lamp.")
        rows = memory.store.journal._database.rows
        queries = {
            "SELECT max(id) FROM zorkgpt_journal WHERE memory IN ('a') AND kind = 'added' GROUP BY place, memory",
            "SELECT record FROM zorkgpt_journal WHERE memory = 'a' ORDER BY id",
            "SELECT number FROM zorkgpt_memories WHERE updated_at > '2026'",
        }
        for query in queries:
            plan = " ".join(str(row) for row in rows(f"EXPLAIN QUERY PLAN {query}"))
            assert "SEARCH" in plan, plan
            assert "SCAN" not in plan, plan

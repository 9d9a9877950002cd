"""Tests of the history of one memory, and of forgetting by place and prefix."""

import pytest

from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager


@pytest.fixture
def memory(home):
    with SimpleMemoryManager.open(home.address) as opened:
        yield opened


def test_history_lists_changes_in_order(memory):
    key = memory.remember(("acme", 7), "A lamp.", title="Lamp", turn=3)
    memory.remember(("acme", 8), "A lamp.", title="Lamp")
    memory.edit_memory(("acme", 7), "Lamp", Edit(text="A brass lamp.", reason="It is brass."))
    memory.update(key, title="Brass lamp")
    changes = memory.history(key)
    assert [(each.kind, each.source) for each in changes] == [
        ("added", "agent"),
        ("edited", "person"),
        ("edited", "agent"),
    ]
    assert [each.after.title for each in changes] == ["Lamp", "Lamp", "Brass lamp"]
    assert changes[0].before is None
    assert changes[1].before.text == "A lamp."
    assert changes[1].reason == "It is brass."
    assert {each.place for each in changes} == {("acme", 7)}
    assert [each.at for each in changes] == sorted(each.at for each in changes)
    assert memory.history("Brass lamp") == changes
    assert memory.get(key).memory.updated_at == changes[-1].at


def test_deleted_memory_has_a_history_and_a_forgotten_one_has_none(memory):
    key = memory.remember(5, "A lamp.", title="Lamp")
    lamp = memory.get(key).memory
    with memory.store.transaction() as draft:
        draft.remove(5, lamp, "wrong room")
    assert [(each.kind, each.reason) for each in memory.history(key)] == [("added", None), ("removed", "wrong room")]
    memory.forget(place=5)
    for given in (key, "Lamp"):
        with pytest.raises(MemoryEditError, match="no memory"):
            memory.history(given)


@pytest.mark.parametrize("how", [{"place": ("acme", "ann")}, {"prefix": ("acme", "ann")}])
def test_forgetting_a_place_or_prefix_leaves_no_trace(memory, how, tmp_path):
    memory.remember(("acme", "ann"), "Ann likes xylophones.", title="Ann", place_name="Xenia Ann")
    memory.remember(("acme", "ann"), "It is late.", title="Note", persistence="ephemeral")
    old = memory.remember(("acme", "ann"), "Ann likes zithers.", title="Old")
    removed = memory.get(old).memory
    with memory.store.transaction() as draft:
        draft.remove(("acme", "ann"), removed)
    if "prefix" in how:
        memory.remember(("acme", "ann", "cart"), "Ann buys yarrow.", title="Cart")
    memory.remember(("acme", "bob"), "It is late.", title="Note")
    before = [each.memory for each in memory.find(("acme", "bob"))]
    assert memory.forget(**how) == (4 if "prefix" in how else 3)
    assert [each.location_id for each in memory.find()] == [("acme", "bob")]
    assert [each.memory for each in memory.find(("acme", "bob"))] == before
    memory.close()
    for file in tmp_path.rglob("*"):
        data = file.read_bytes() if file.is_file() else b""
        for trace in (b"xylophones", b"zithers", b"yarrow", b"Xenia", b'"ann"'):
            assert trace not in data, file


@pytest.mark.parametrize(
    "given", [{}, {"prefix": ("a",), "text": "x"}, {"place": 5, "text": "x"}, {"memory": "a", "text": "x"}]
)
def test_forget_requires_exactly_one_argument(given):
    with AgentMemory.open(":memory:") as memory, pytest.raises(ValueError, match="Give exactly one of"):
        memory.forget(**given)


def test_forgetting_a_memory_keeps_the_place_with_its_title(memory):
    key = memory.remember(("acme", "ann"), "cart", title="bob")
    for place in ("bob", "cart", ("acme", "bob")):
        memory.remember(place, "A fact.", title="Fact")
    memory.forget(key)
    memory.forget(place=("acme", "ann"))
    assert [each.location_id for each in memory.find()] == ["bob", "cart", ("acme", "bob")]


def test_no_later_change_has_the_position_of_a_forgotten_one(memory):
    memory.remember(5, "A lamp.", title="Lamp")
    memory.remember(5, "A sword.", title="Sword")
    position = memory.store.journal.size()
    memory.forget("Sword", 5)
    memory.remember(5, "A rope.", title="Rope")
    assert memory.store.journal.size() > position


def test_entry_deleted_from_the_file_after_forgetting_stays_deleted(tmp_path):
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as memory:
        memory.remember(5, "A lamp.", title="Lamp")
        memory.remember(5, "A sword.", title="Sword")
        memory.forget("Sword", 5)
        without_rope = path.read_bytes()
        memory.remember(5, "A rope.", title="Rope")
        path.write_bytes(without_rope)
        memory.refresh()
        assert [each.memory.title for each in memory.all_memories()] == ["Lamp"]
    assert path.read_bytes() == without_rope

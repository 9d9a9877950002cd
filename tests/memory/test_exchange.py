"""Tests of import and export."""

import json

import pytest

from tests.fixtures.memory import memory
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.document import render
from zorkgpt.memory.upkeep.exchange import convert, import_memories, json_lines, lasting_only, read_memories
from zorkgpt.record.events import EventKind, EventRow, Events

ROW = {"place": 5, "text": "A lever opens the gate."}


@pytest.fixture
def store(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        manager.add_memory(5, "Hall", memory("Sword"))
        yield manager.store


def written(tmp_path, content):
    file = tmp_path / "given"
    file.write_text(content)
    return file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "There is no memory in"),
        ("Some text.", "There is no memory in"),
        ("[]]", "line 1"),
        ("[" * 100_000, "line 1"),
        ("[1]", r"line 1 is \[1\]; each line must be a JSON object"),
        (json.dumps(ROW) + "\n\n[", "line 3"),
        ('{"place": "x"}', "line 1 is not a memory: it has no text"),
        ('{"text": "x"}', "line 1 is not a memory: it has no place"),
    ],
)
def test_unknown_format_is_refused(store, tmp_path, content, message):
    before = store.path.read_bytes()
    with pytest.raises(MemoryStoreError, match=message):
        import_memories(store, written(tmp_path, content))
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("place", True, "The place is True"),
        ("place", 10**30, "18 digits"),
        ("place_name", 5, "The place's name is 5"),
        ("txet", "A typo.", "the field 'txet' is unknown"),
        ("text", 5, "The text is 5"),
        ("metadata", {"n": float("nan")}, "NaN"),
        ("expires_at", "tomorrow", "tomorrow"),
        ("title", None, "title"),
        ("persistence", "for ever", "persistence"),
        ("status", "LOST", "status"),
        ("episode", [1], "episode"),
        ("observation_count", "many", "observation_count"),
        ("score_change", 1.5, "score_change"),
        ("superseded_at_turn", "late", "superseded_at_turn"),
    ],
)
def test_invalid_row_is_named_and_nothing_is_imported(store, tmp_path, field, value, message):
    before = store.path.read_bytes()
    rows = [ROW, ROW | {field: value}]
    with pytest.raises(MemoryStoreError, match=f"given, line 2.*{message}"):
        import_memories(store, written(tmp_path, "\n".join(map(json.dumps, rows))))
    assert store.path.read_bytes() == before


def test_row_needs_only_place_and_text(tmp_path):
    file = written(tmp_path, "")
    file.write_text(json.dumps(ROW), encoding="utf-8-sig")
    with AgentMemory.open(tmp_path / "m.sqlite") as agent_memory:
        assert agent_memory.import_memories(file) == 1
        (found,) = agent_memory.find(5)
    kept = found.memory
    assert (kept.title, kept.text, kept.category, kept.persistence) == (
        "A lever opens the gate",
        "A lever opens the gate.",
        "NOTE",
        "permanent",
    )
    assert (kept.episode, kept.turns, kept.score_change) == (1, "0", None)


def test_ephemeral_memories_are_skipped_with_a_reason(store, tmp_path):
    past, future = "2020-01-01T00:00:00.000000+00:00", "2999-01-01T00:00:00.000000+00:00"
    given = [
        memory("Dropped", "ephemeral"),
        memory("Old", expires_at=past),
        memory("Pinned", expires_at=past, pinned=True),
        memory("New", expires_at=future),
        memory("Sword"),
    ]
    located = [LocatedMemory(5, "Hall", each) for each in given]
    kept, skipped = lasting_only(located)
    assert [each.memory.title for each in kept] == ["Pinned", "New", "Sword"]
    assert [(each.where, each.reason) for each in skipped] == [
        ("'Dropped' at location 5", "it is ephemeral"),
        ("'Old' at location 5", f"it expired at {past}"),
    ]
    report = import_memories(store, written(tmp_path, json_lines(located)))
    assert (report.added, report.known, report.skipped) == (2, 1, tuple(skipped))


def test_file_is_copied_with_notes_only_to_an_empty_memory(store, tmp_path):
    source = tmp_path / "Other.md"
    source.write_text("My own notes.\n\n## Location 7: Attic\n\n**[NOTE] Rope** *(Ep1, T1)*\nA rope.\n\nA note.\n")
    with SimpleMemoryManager.open(tmp_path / "Empty.md") as empty:
        report = import_memories(empty.store, source)
        assert (report.added, report.known) == (1, 0)
    with AgentMemory.open(tmp_path / "Copy.md") as copy:
        assert copy.import_memories(source) == 1
        assert copy.import_memories(source) == 0
    assert (tmp_path / "Copy.md").read_bytes() == source.read_bytes()
    report = import_memories(store, source)
    assert (report.added, report.known) == (1, 0)
    assert "My own notes" not in store.path.read_text()
    (tmp_path / "Notes.md").write_text("Notes without a place.\n")
    with AgentMemory.open(tmp_path / "Notes.md") as notes:
        assert notes.import_memories(source) == 1
    assert (tmp_path / "Notes.md").read_text().startswith("Notes without a place.\n")


def test_unreadable_or_unwritable_file_is_an_error(store, tmp_path):
    with pytest.raises(MemoryStoreError, match="Can't read .*missing.md: No such file"):
        read_memories(tmp_path / "missing.md")
    with AgentMemory.open(tmp_path / "m.sqlite") as agent_memory, pytest.raises(MemoryStoreError, match="folder"):
        agent_memory.export(tmp_path / "Memories.md" / "folder" / "copy.md")


def test_conversion_requires_an_empty_store(store, tmp_path):
    with SimpleMemoryManager.open(tmp_path / "copy.sqlite") as copy:
        assert convert(store, copy.store) == 1
        assert render(copy.store.document) == render(store.document)
        with pytest.raises(MemoryStoreError, match="copy.sqlite is not empty"):
            convert(store, copy.store)


def test_conversion_keeps_what_the_actions_of_episodes_led_to(store, tmp_path):
    events = [EventRow(3, EventKind.TRAIL, "{}"), EventRow(3, EventKind.CHECKPOINT, "{}")]
    Events(store.database).add(1, *events)
    with SimpleMemoryManager.open(tmp_path / "copy.sqlite") as copy:
        convert(store, copy.store)
        assert Events(copy.store.database).of(1) == events[:1]

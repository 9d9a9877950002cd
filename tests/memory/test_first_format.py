"""Tests of databases of the first format, in which the rows of memories were Markdown."""

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zorkgpt.cli.memory_changes import app
from zorkgpt.errors import CheckpointError, MemoryStoreError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.saved_episodes import find_resumable

DATA = Path(__file__).parents[1] / "data" / "first_format.sql"


@pytest.fixture
def old(tmp_path):
    """A database that an earlier version wrote."""
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(DATA.read_text())
    connection.close()
    return path


def test_database_of_the_first_format_is_refused_with_the_way_out(old):
    before = old.read_bytes()
    with pytest.raises(MemoryStoreError, match="zorkgpt memories convert NEW --file OLD"):
        SimpleMemoryManager.open(old)
    assert old.read_bytes() == before


@pytest.mark.parametrize("kind", ["md", "sqlite"])
def test_database_of_the_first_format_is_copied(old, kind):
    new = old.with_name(f"new.{kind}")
    done = CliRunner().invoke(app, ["convert", str(new), "--file", str(old)])
    assert (done.exit_code, done.stdout) == (0, f"6 memories copied to {new}.\n")
    with SimpleMemoryManager.open(new) as manager:
        memories = {located.memory.text: located.memory for located in manager.all_memories()}
        assert {
            text: (memory.title, memory.status, memory.pinned, memory.vetoed, memory.edited_by_person, memory.metadata)
            for text, memory in memories.items()
        } == {
            "The rug hides a door.": ("Rug", "ACTIVE", False, False, True, {"user": 7}),
            "The lamp is bright.": ("Lamp", "ACTIVE", True, False, False, {}),
            "The troll is friendly.": ("Troll", "ACTIVE", False, True, False, {}),
            "A rope lies here.": ("Rope", "ACTIVE", False, False, False, {}),
            "The shop opens at nine.": ("Hours", "SUPERSEDED", False, False, False, {}),
            "The shop opens at ten.": ("Hours", "ACTIVE", False, False, False, {}),
        }
        assert manager.store.lasting.headings([9])[9] == ("Attic", 3, (1, "x"))
        rug = manager.get("Rug")
        assert (rug.memory.created_at, rug.memory.source) == ("2026-11-28T18:03:51.633658+00:00", "person")
        assert [change.kind for change in manager.history(rug.id)] == ["added", "edited"]
        assert "Mine: don't touch." in new.read_text() if kind == "md" else True


@pytest.fixture
def old_file(tmp_path):
    """A memory file with the first format of the file beside it, which had only the history."""
    path = tmp_path / "Memories.md"
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", Memory("NOTE", "Rug", 1, "1", None, "The rug hides a door.", "permanent"))
    fields = {"category": "NOTE", "title": "Rug", "episode": 1, "turns": "1", "score_change": None}
    fields |= {"text": "The rug hides a door.", "persistence": "permanent"}
    record = {"at": "2026-11-20T10:00:00.000001+00:00", "kind": "added", "source": "person", "location_id": 5}
    record |= {"location_name": "Hall", "after": fields}
    beside = tmp_path / "Memories.md.sqlite"
    beside.unlink()
    with sqlite3.connect(beside) as connection:
        connection.execute("PRAGMA application_id = 0x5A6A")
        connection.execute(
            "CREATE TABLE zorkgpt_journal (id INTEGER PRIMARY KEY, place text, source text, record text)"
        )
        connection.execute("INSERT INTO zorkgpt_journal VALUES (1, '5', 'person', ?)", [json.dumps(record)])
    connection.close()
    return path


def test_history_of_the_first_format_is_set_aside_and_can_be_copied_later(old_file, caplog):
    aside, new = Path(f"{old_file}.sqlite.earlier-1"), old_file.with_name("new.md")
    with SimpleMemoryManager.open(old_file) as manager:
        assert [located.memory.title for located in manager.all_memories()] == ["Rug"]
        wrote = "an earlier version of zorkgpt wrote the history, and `zorkgpt memories convert NEW --file"
        assert f"{wrote} {old_file}` copies it" in caplog.text
        manager.add_memory(5, "Hall", Memory("NOTE", "Lamp", 1, "2", None, "The lamp is bright.", "permanent"))
    assert f"{wrote} {aside}` copies it" in caplog.text
    with SimpleMemoryManager.open(old_file) as manager:
        assert [located.memory.title for located in manager.all_memories()] == ["Rug", "Lamp"]
    assert CliRunner().invoke(app, ["convert", str(new), "--file", str(aside)]).exit_code == 0
    with SimpleMemoryManager.open(new) as manager:
        assert [change.source for change in manager.history("Rug")] == ["person"]


def test_forgotten_memory_is_erased_from_an_earlier_history(old_file):
    aside = Path(f"{old_file}.sqlite.earlier-1")
    with SimpleMemoryManager.open(old_file) as manager:
        manager.add_memory(5, "Hall", Memory("NOTE", "Lamp", 1, "2", None, "The lamp is bright.", "permanent"))
        assert b"The rug hides a door." in aside.read_bytes()
        manager.forget("Rug")
    assert b"The rug hides a door." not in aside.read_bytes()
    assert CliRunner().invoke(app, ["convert", str(old_file.with_name("new.md")), "--file", str(aside)]).exit_code == 0


def test_history_of_the_first_format_is_copied(old_file):
    new = old_file.with_name("new.md")
    done = CliRunner().invoke(app, ["convert", str(new), "--file", str(old_file)])
    assert (done.exit_code, done.stdout) == (0, f"1 memory copied to {new}.\n")
    with SimpleMemoryManager.open(new) as manager:
        rug = manager.get("Rug")
        assert (rug.memory.created_at, rug.memory.source) == ("2026-11-20T10:00:00.000001+00:00", "person")
        assert [(change.at, change.kind) for change in manager.history(rug.id)] == [(rug.memory.created_at, "added")]


def test_episode_of_the_first_format_is_not_resumed(old_file):
    run_directory(old_file.parent, 1).mkdir(parents=True)
    with pytest.raises(CheckpointError, match="an earlier version has played it. Omit --resume to start a new episode"):
        find_resumable(old_file.parent, "episode_log.jsonl")

"""Tests of databases of the first format, in which the rows of memories were Markdown."""

import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner

from zorkgpt.cli.memory_changes import app
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.manager import SimpleMemoryManager

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

"""Tests of database migrations on SQLite and PostgreSQL."""

import pytest

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.storage import schema
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.sqlite import SqliteDatabase

LATER = (
    "ALTER TABLE zorkgpt_judgments ADD COLUMN place text NOT NULL DEFAULT 'hall'",
    "CREATE TABLE zorkgpt_later (id {key}, said {blob}); UPDATE zorkgpt_judgments SET place = place || ' 2'",
)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request, tmp_path):
    """Return a function that opens the database with the given migrations."""
    address = request.getfixturevalue("postgres").address if request.param == "PostgreSQL" else ""
    opened = []

    def open_database(migrations):
        if address:
            opened.append(PostgresDatabase(address, lock_timeout_s=10, migrations=migrations))
        else:
            path = tmp_path / "memory.sqlite"
            opened.append(SqliteDatabase(path, schema=schema.SQLITE, migrations=migrations, kind=7, is_truth=True))
        return opened[-1]

    yield open_database
    for each in opened:
        each.close()


@pytest.mark.parametrize("version", range(len(LATER)))
def test_tables_of_every_version_are_migrated(database, version):
    earlier = database(LATER[:version])
    earlier.put("INSERT INTO zorkgpt_judgments (key, answer) VALUES (%s, %s)", [("1", "{}")])
    earlier.close()
    for _ in range(2):
        latest = database(LATER)
        assert latest.rows("SELECT answer, place FROM zorkgpt_judgments") == [("{}", "hall 2")]
        assert latest.rows("SELECT * FROM zorkgpt_later") == []
        latest.close()
    with pytest.raises(MemoryStoreError, match="written by a later version"):
        database(LATER[:version]).rows("SELECT 1 FROM zorkgpt_judgments")
    assert database(LATER).rows("SELECT place FROM zorkgpt_judgments") == [("hall 2",)]


def test_failed_migration_changes_nothing(database):
    database(()).put("INSERT INTO zorkgpt_judgments (key, answer) VALUES (%s, %s)", [("1", "x")])
    with pytest.raises(MemoryStoreError):
        database((LATER[0], "CREATE TABLE zorkgpt_later (id {key}); SELECT nothing FROM nowhere")).rows("SELECT 1")
    assert database(LATER).rows("SELECT place FROM zorkgpt_judgments") == [("hall 2",)]

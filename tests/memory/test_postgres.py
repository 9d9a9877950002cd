"""Tests of memories on PostgreSQL: lost connections, locks and rows."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest

from tests.fixtures.memory import memory
from tests.fixtures.stores import PostgresHome, empty_schema
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.places import place_order
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.document import parse, render
from zorkgpt.memory.storage.sql_store import PostgresStore
from zorkgpt.memory.upkeep.exchange import add_missing
from zorkgpt.record.events import EventKind, EventRow, Events

BY_HAND = (
    "\ufeffA line above.\r\n# Location Memories\r\n\r\n## Location 9: Attic\r\n**Visits:** 3 | **Episodes:** 1, x\r\n"
    "\r\n### Memories\r\n\r\n**[NOTE - CORE] Rope** *(Ep1, T2, +0)*\r\nA rope lies here.\r\n"
    "\r\nMine: don't touch.\r\n\r\n---\r\n"
    "## Shopping\r\nmilk\r\n## Location 2: Hall\r\n**[NOTE] Old form** *(Ep01, T3)*\r\nIt is dark.\r\n"
).encode() + b"\xff\x00 not text\r\n"


def rows(home, query):
    with psycopg.connect(home.address, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def end_connections(home):
    with psycopg.connect(home.address, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid()"
        )


def titles(manager):
    return [located.memory.title for located in manager.all_memories()]


def test_lost_connection_is_replaced(postgres):
    with postgres.open() as manager:
        assert manager.add_memory(5, "Hall", memory("First"))
        end_connections(postgres)
        assert titles(manager) == ["First"]
        end_connections(postgres)
        assert manager.add_memory(5, "Hall", memory("Second"))
        assert titles(manager) == ["First", "Second"]


def test_event_is_recorded_after_the_connection_was_lost(postgres):
    with postgres.open() as manager:
        events = Events(manager.store.database)
        assert titles(manager) == []
        end_connections(postgres)
        events.add(1, EventRow(2, EventKind.DECISION, "{}"))
        assert events.of(1) == [EventRow(2, EventKind.DECISION, "{}")]


def test_unreachable_server_is_named_and_cache_is_kept(postgres, caplog):
    with pytest.raises(MemoryStoreError) as refused:
        SimpleMemoryManager.open("postgresql://me:s3cret@localhost:1/memories")
    assert "Can't reach PostgreSQL at postgresql://me@localhost:1/memories: " in str(refused.value)
    assert "Is the server running" in str(refused.value)
    with pytest.raises(MemoryStoreError) as misspelt:
        SimpleMemoryManager.open("postgresql://me:s3cret%@localhost:1/memories")
    assert "postgresql://user@host:5432/database" in str(misspelt.value)
    assert (
        "s3cret" not in f"{refused.value!r} {refused.value.__cause__!r} {misspelt.value!r} {misspelt.value.__cause__!r}"
    )
    with postgres.open() as manager:
        manager.add_memory(5, "Hall", memory("First"))
        with psycopg.connect(postgres.address, autocommit=True) as connection:
            # The statements that write to these tables are pipelined.
            for table in ("zorkgpt_memories", "zorkgpt_journal"):
                connection.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
                assert manager.add_memory(5, "Hall", memory("Second")) is False
                connection.execute(f"ALTER TABLE elsewhere RENAME TO {table}")
        assert rows(postgres, "SELECT title FROM zorkgpt_memories") == [("First",)]
        assert manager.add_memory(5, "Hall", memory("Second")) is True
    with postgres.open() as manager, psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("ALTER TABLE zorkgpt_places RENAME TO elsewhere")
        with pytest.raises(MemoryStoreError):
            manager.find()
        connection.execute("ALTER TABLE elsewhere RENAME TO zorkgpt_places")
        assert manager.add_memory(5, "Hall", memory("Third")) is True
        assert rows(postgres, "SELECT count(*) FROM zorkgpt_places") == [(1,)]
    assert "memories could not be written" in caplog.text


def test_held_lock_is_an_error(postgres, caplog):
    store = PostgresStore(postgres.address, lock_timeout_s=0.2)
    with SimpleMemoryManager(path=store) as manager, psycopg.connect(postgres.address) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ', 0))")
        assert manager.add_memory(5, "Hall", memory("First")) is False
        [error] = [record.way_out for record in caplog.records]
        assert "/postgres" in error
        assert "has been locked by another process for 0.2 s" in error
        other.rollback()
        assert manager.add_memory(5, "Hall", memory("First")) is True


def test_change_writes_only_one_row(postgres):
    with postgres.open() as manager:
        for place in (5, 9, 7, "https://shop/cart", -3):
            manager.add_memory(place, "Room", memory(f"At {place}"))
        before = dict(rows(postgres, "SELECT number, revision FROM zorkgpt_memories"))
        manager.add_memory(7, "Room", memory("Another"))
        after = dict(rows(postgres, "SELECT number, revision FROM zorkgpt_memories"))
        changed = [number for number in after if after[number] != before.get(number)]
        assert len(changed) == 1
        where = f"SELECT title FROM zorkgpt_memories WHERE number = {changed[0]}"
        assert rows(postgres, where) == [("Another",)]
        assert list(parse(postgres.text().encode()).by_place()) == [-3, 5, 7, 9, "https://shop/cart"]


@pytest.mark.parametrize("many", [0, pytest.param(700, marks=pytest.mark.slow)])
def test_changes_by_others_are_seen_at_the_next_call(postgres, many):
    with postgres.open() as one, postgres.open() as other:
        known = [LocatedMemory(1000 + 2 * place, "Room", memory(f"Known {place}")) for place in range(many)]
        with other.store.transaction() as draft:
            assert add_missing(draft, known) == many
        for place in range(40, 0, -1):
            assert other.add_memory(place, "Room", memory(f"At {place}"))
            assert one.get_location_memory(place) == f"[NOTE] At {place}: The text of At {place}."
        for place in range(1001, 1001 + 2 * many, 31):
            assert (one if place % 3 else other).add_memory(place, "Room", memory(f"At {place}"))
        # There is room for a few rows between two places before all are renumbered.
        for number in range(40):
            assert other.add_memory(f"{number:03}", "Room", memory(f"Between {number}"))
            assert one.add_memory("999", "Room", memory(f"Last {number}"))
        other.invalidate_memory(3, "At 3", "wrong")
        assert one.all_memories() == other.all_memories()
        assert render(one.store.document) == render(other.store.document) == postgres.text().encode()
        places = [found.location_id for found in one.store.document.sections if found.location_id is not None]
        assert places == sorted(set(places), key=place_order)
        assert one.store.journal.lasting() == one.memory_cache


def test_file_is_imported_without_the_text_between_memories(postgres, tmp_path):
    source, copy = tmp_path / "Mine.md", tmp_path / "Copy.md"
    source.write_bytes(BY_HAND)
    with postgres.open() as manager, SimpleMemoryManager.open(source) as file:
        assert manager.import_memories(source) == 2
        manager.export(copy)
        assert "Mine: don't touch." not in copy.read_text()
        assert manager.memory_cache == file.memory_cache == SimpleMemoryManager.open(copy).memory_cache
        assert manager.store.journal.lasting() == manager.memory_cache
        headings = [store.lasting.headings([2, 9]) for store in (manager.store, file.store)]
        assert headings[0] == headings[1]
        assert manager.import_memories(source) == manager.import_memories(copy) == 0


def test_several_processes_create_the_tables_together(postgres_server, postgres):
    for _ in range(3):
        home = PostgresHome(empty_schema(postgres_server))
        start = Barrier(6)

        def add(name, home=home, start=start):
            start.wait()
            with home.open() as manager:
                return [manager.add_memory(5, "Hall", memory(f"{name} {number}")) for number in range(3)]

        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(add, "abcdef")) == [[True] * 3] * 6
        with home.open() as manager:
            assert len(titles(manager)) == 18


def test_newer_version_is_refused(postgres):
    postgres.open().close()
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("UPDATE zorkgpt_state SET format = format + 1")
    with pytest.raises(MemoryStoreError, match="written by a later version"):
        postgres.open()


def test_forgotten_text_is_removed_from_tables_and_files(postgres, tmp_path):
    with postgres.open() as manager:
        manager.remember(5, "The password is hunter2.", title="Password")
        manager.remember("https://shop/hunter2", "A cart.", title="Cart")
        manager.remember(5, "The rug hides a trap door.", title="Rug")
        manager.supersede("Rug", "The rug hides hunter2.")
        assert manager.search("password")
        with postgres.open() as other:
            assert manager.forget(text="hunter2") == 3
            assert [found.location_id for found in other.all_memories()] == [5]
        assert manager.remember("https://shop/cart", "A cart.", title="Cart")
    tables = (
        "SELECT convert_to(zorkgpt_places::text, 'UTF8') FROM zorkgpt_places",
        "SELECT convert_to(zorkgpt_memories::text, 'UTF8') FROM zorkgpt_memories",
        "SELECT convert_to(record, 'UTF8') FROM zorkgpt_journal",
    )
    assert not [row for query in tables for (row,) in rows(postgres, query) if b"hunter2" in row]
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()]

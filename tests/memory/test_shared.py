"""Tests of one memory on PostgreSQL that several machines share."""

import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import psycopg
import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import WORKS, Answers, Play, memory, remember
from tests.fixtures.stores import PostgresHome
from tests.memory.test_processes import ROOT
from zorkgpt.memory.retrieval import Method
from zorkgpt.memory.storage.postgres import PostgresDatabase
from zorkgpt.memory.storage.vector_table import PostgresVectors

_COUNTED = "SELECT count(*) FROM zorkgpt_journal WHERE kind = 'credited'"
GATE, BELL = "The lever opens the gate.", "The bell rings at noon."
PULL = ("pull rug", "It moves a little, and back.", {"response_length": 101, "first_visit": False})


class Counted(HashingEmbeddings):
    """Embeddings that record their texts."""

    def __init__(self, dimension=256):
        super().__init__(dimension)
        self.texts = []

    def embed_batch(self, texts):
        self.texts += texts
        return super().embed_batch(texts)


@pytest.fixture
def machine(postgres, tmp_path, monkeypatch):
    """Return a function that makes this process another machine without local files."""

    def named(name):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / name))

    return named


def rows(address, query):
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def credited(manager):
    return {located.memory.title: (located.memory.worked, located.memory.tried) for located in manager.all_memories()}


def test_trials_of_all_machines_are_counted(postgres, machine):
    with postgres.open() as manager:
        manager.add_memory(5, "Hall", memory("Lever", category="SUCCESS", text="It clicks.", action="pull lever"))
    for episode, name in ((2, "one"), (3, "other")):
        machine(name)
        play = Play(postgres.address, episode)
        play.turn(4, "pull lever", **WORKS)
        play.manager.close()
    with postgres.open() as manager:
        assert credited(manager) == {"Lever": (2, 2)}
        [explanation] = manager.explain("Lever")
        assert list(explanation.trials) == [*manager.store.journal.trials(2), *manager.store.journal.trials(3)]
        assert [(trial.episode, trial.turn, trial.after) for trial in explanation.trials] == [
            (2, 4, (1, 1)),
            (3, 4, (2, 2)),
        ]
        assert list(manager.store.journal.trials(1)) == []


def test_repeated_turn_after_a_kill_counts_once(postgres, tmp_path):
    with postgres.open() as manager:
        manager.add_memory(5, "Hall", memory("Lever", category="SUCCESS", text="It clicks.", action="pull lever"))
    killed = Play(postgres.address)
    for number in (1, 2, 3):
        killed.turn(number, "pull lever", **WORKS)
    saved = killed.manager.snapshot()
    killed.turn(4, "pull lever", **WORKS)
    killed.manager.add_memory(5, "Hall", memory("Rug", episode=2, turns="4"))
    assert credited(killed.manager) == {"Lever": (4, 4), "Rug": (0, 0)}

    resumed = Play(postgres.address)
    resumed.manager.restore(saved)
    resumed.manager.revert_to(saved)
    resumed.turn(4, "pull lever", **WORKS)
    resumed.manager.add_memory(5, "Hall", memory("Rug", episode=2, turns="4"))
    resumed.manager.reset_episode()
    assert credited(resumed.manager) == {"Lever": (4, 4), "Rug": (0, 0)}
    assert [memory.observation_count for memory in resumed.manager.memory_cache[5]] == [1, 1]


def test_uncommitted_trials_are_counted_later(postgres):
    play = Play(postgres.address)
    play.manager.add_memory(5, "Hall", memory("Lever", category="SUCCESS", text="It clicks.", action="pull lever"))
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("ALTER TABLE zorkgpt_journal ADD CONSTRAINT none CHECK (id < 0) NOT VALID")
        play.turn(4, "pull lever", **WORKS)
        play.manager.reset_episode()
        assert rows(postgres.address, _COUNTED) == [(0,)]
        connection.execute("ALTER TABLE zorkgpt_journal DROP CONSTRAINT none")
    play.manager.reset_episode()
    assert credited(play.manager) == {"Lever": (1, 1)}
    assert rows(postgres.address, _COUNTED) == [(1,)]


def test_machines_share_judgments(postgres, machine):
    counts = []
    for name in ("one", "other"):
        machine(name)
        state = SimpleNamespace(episode_id=1, turn_count=5, action_history=[], action_reasoning_history=[])
        answers = Answers(remember("Sword"))
        with postgres.open(game_state=state, synthesizer=answers) as manager:
            manager.record_action_outcome(5, "Hall", *PULL)
            counts.append(len(answers.requests))
            manager.forget("Sword")
    # Forgetting the memory removes its judgment.
    assert counts == [1, 1]
    with postgres.open(game_state=state, synthesizer=Answers(remember("Sword"))) as manager:
        manager.record_action_outcome(5, "Hall", *PULL)
    with postgres.open(game_state=state, synthesizer=answers) as manager:
        manager.record_action_outcome(5, "Hall", *PULL)
        assert manager.get_status()["metrics"]["judged_before"] == 1
        assert [located.memory.title for located in manager.all_memories()] == ["Sword"]


SEARCHING = """
import sys
from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.memory.manager import SimpleMemoryManager

class Queries(HashingEmbeddings):
    def embed_batch(self, texts):
        assert texts == [sys.argv[2]], texts
        return super().embed_batch(texts)

with SimpleMemoryManager.open(sys.argv[1], embeddings=Queries()) as manager:
    for found in manager.search(sys.argv[2]):
        print(found.located.location_id, found.method)
    print(manager.parts)
"""


def test_other_machine_embeds_only_the_query(postgres, tmp_path):
    with postgres.open(embeddings=HashingEmbeddings()) as manager:
        manager.add_memory(5, "Hall", memory("Lever", text=GATE))
        manager.add_memory("https://shop/bell", "", memory("Bell", text=BELL))
        assert manager.search("lever gate")[0].method == Method.BOTH
    done = subprocess.run(
        [sys.executable, "-c", SEARCHING, postgres.address, "openly levers"],
        env={"XDG_STATE_HOME": str(tmp_path / "other"), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    found, parts = done.stdout.splitlines()
    assert found == "5 words and meaning"
    assert parts.startswith("words compared, vectors: hashing-256, kept in the database, judge: none")
    assert not list((tmp_path / "other").rglob("*.sqlite"))


def vector_indexes(home: PostgresHome) -> list[tuple[str, str]]:
    """Return the names and definitions of the indexes, without those of other tests on the same server."""
    of_table = "tablename = 'zorkgpt_vectors' AND schemaname = current_schema"
    return rows(home.address, f"SELECT indexname, indexdef FROM pg_indexes WHERE {of_table}")


def test_search_by_meaning_follows_changes(postgres):
    one, other = (postgres.open(embeddings=Counted()) for _ in range(2))
    with one, other:
        for place in range(40):
            one.add_memory(place, "Room", memory(f"Lever {place}", text=f"{GATE[:-1]} of room{place}."))
        one.add_memory(7, "Room", memory("Bell", text=BELL))

        def texts(manager, query, **filters):
            found = manager.search(query, 3, **filters)
            return [each.located.memory.text for each in found if each.method != Method.WORDS]

        assert texts(other, "gate lever room7")[0] == f"{GATE[:-1]} of room7."
        # Texts embedded by the other machine: the query, and memories without a vector.
        assert len(set(other.embedding_provider.texts)) == 42
        assert texts(one, "gate lever room7")[0] == f"{GATE[:-1]} of room7."
        assert set(one.embedding_provider.texts) == {"gate lever room7"}
        assert texts(other, "gate lever", place=7) == [f"{GATE[:-1]} of room7."]
        assert texts(other, "bell noon rings") == [BELL]
        one.invalidate("Bell", "It is broken")
        assert texts(other, "bell noon rings") == []
        assert texts(other, "noon bell rings", status="SUPERSEDED") == [BELL]
        one.forget("Bell")
        assert texts(other, "noon bell rings", status="SUPERSEDED") == []
        assert rows(postgres.address, "SELECT count(*) FROM zorkgpt_vectors") == [(40,)]
        assert [name for name, _ in vector_indexes(postgres)] == ["zorkgpt_vectors_pkey"]
        one.update("Lever 7", text="A rope hangs from the ceiling.")
        assert texts(other, "rope from ceiling") == ["A rope hangs from the ceiling."]
        assert one.rebuild_embedding_cache()
        assert texts(other, "rope from ceiling") == ["A rope hangs from the ceiling."]


@contextmanager
def database_without_extension_privilege(address):
    with psycopg.connect(address, autocommit=True) as connection:
        name = "zorkgpt_plain"
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        connection.execute(f"DROP ROLE IF EXISTS {name}")
        connection.execute(f"CREATE ROLE {name} LOGIN")
        connection.execute(f"CREATE DATABASE {name}")
        plain = address.replace("/postgres?", f"/{name}?")
        with psycopg.connect(plain, autocommit=True) as other:
            other.execute(f"GRANT CREATE ON SCHEMA public TO {name}")
        yield PostgresHome(plain.replace("//postgres:@", f"//{name}@"))
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP ROLE {name}")


@pytest.mark.slow
def test_process_keeps_vectors_itself_without_the_extension(postgres_server, caplog):
    with (
        database_without_extension_privilege(postgres_server) as home,
        home.open(embeddings=HashingEmbeddings()) as manager,
    ):
        manager.add_memory(5, "Hall", memory("Lever", text=GATE))
        assert manager.search("lever gate")[0].method == Method.BOTH
        assert "vectors are kept in this process only" in caplog.text
        assert manager.forget("Lever") == 1


@pytest.mark.slow
def test_index_finds_the_nearest_vectors(postgres):
    table = PostgresVectors(PostgresDatabase(postgres.address, lock_timeout_s=5))
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((5_200, 24)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keyed = {number.to_bytes(16, "big"): vector for number, vector in enumerate(vectors)}
    table.put("model", keyed)
    table.put("model", {b"another": vectors[0], **dict(list(keyed.items())[:500])})
    table.put("of other size", {b"x": np.ones(3, dtype=np.float32)})
    assert "hnsw" in str(vector_indexes(postgres))
    found = 0
    for query in vectors[100:110]:
        nearest = [key for key, _ in table.nearest("model", query, 240)[:30]]
        expected = {int(number).to_bytes(16, "big") for number in np.argsort(-(vectors @ query))[:30]}
        found += len(expected & set(nearest))
    assert found > 290
    among = list(keyed)[:50]
    assert [key for key, _ in table.nearest("model", vectors[10], 1, among)] == [among[10]]
    assert np.allclose(table.find("model", among[:1])[among[0]], vectors[0])


def test_unstored_vectors_are_logged_once(postgres, caplog):
    with postgres.open(embeddings=HashingEmbeddings()) as manager:
        with psycopg.connect(postgres.address, autocommit=True) as connection:
            connection.execute("ALTER TABLE zorkgpt_vectors RENAME TO elsewhere")
        manager.add_memory(5, "Hall", memory("Lever", text=GATE))
        assert [found.method for found in manager.search("lever gate")] == [Method.WORDS]
        assert manager.check_semantic_duplicate("the lever opened the gate", 5) is not None
        assert [len(vector) for _, vector in manager.get_location_embeddings(5)] == [256]
        messages = [record.message for record in caplog.records]
        assert (messages.count("searched by words alone"), messages.count("vectors can't be read")) == (1, 1)


def test_machines_share_episode_numbers_and_story(postgres):
    with postgres.open() as one, postgres.open() as other:
        assert one.store.claim_episode(1) == 1
        assert other.store.claim_episode(1) == 2
        assert one.store.claim_episode(9) == 9
        assert [each.store.claim_subject(name) for each, name in ((one, "Zork"), (other, "Deadline"))] == ["Zork"] * 2

"""Tests of the index of vectors and its table."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.embeddings.matrix import VectorMatrix
from zorkgpt.errors import EmbeddingError
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors
from zorkgpt.text import key_of

DOOR, ROPE, LAMP = "The door is locked.", "The rope holds.", "The lamp is lit."


class Unreachable:
    """A model with a name that cannot be called."""

    model = "hashing-256"

    def embed(self, text):
        raise EmbeddingError("asked")

    embed_batch = embed

    def get_dimension(self):
        raise EmbeddingError("asked")


class Renamed(HashingEmbeddings):
    """A provider that switches to another model when it is first used."""

    def embed_batch(self, texts):
        self.model = "hashing-256-b"
        return -super().embed_batch(texts)


def index_of(provider, table):
    return EmbeddingIndex(provider, logging.getLogger("test"), table=table)


@pytest.fixture
def open_table(tmp_path):
    """Return a function that opens the table as another process would."""
    return lambda: SqliteVectors(sidecar(tmp_path / "Memories.md"))


@pytest.fixture
def table(open_table):
    assert index_of(HashingEmbeddings(), open_table()).vectors([DOOR, ROPE]) is not None
    return open_table()


def test_text_is_embedded_once(table):
    index = index_of(Unreachable(), table)
    assert np.array_equal(index.vectors([ROPE, DOOR, ROPE]), HashingEmbeddings().embed_batch([ROPE, DOOR, ROPE]))
    assert (index.size, index.rebuilds, index.failures) == (2, 0, 0)


def test_unembeddable_text_has_no_vector(table, caplog):
    index = index_of(Unreachable(), table)
    assert index.vectors([DOOR, LAMP]) is None
    assert index.cosines(LAMP, [DOOR]) is None
    assert index.failures == 2
    assert [(record.message, record.levelname) for record in caplog.records] == [
        ("memories compared by their words alone", "WARNING")
    ]


def test_only_vectors_of_memories_are_stored(open_table):
    index = index_of(HashingEmbeddings(), open_table())
    index.vector(DOOR)
    index.cosines(LAMP, [ROPE])
    index.cosines(LAMP, [DOOR], lasting=False)
    assert open_table().known("hashing-256") == {key_of(ROPE)}


@pytest.mark.parametrize("blob", [b"", b"abc", b"\xff" * 1024, b"\0" * 8])
def test_damaged_vector_is_computed_again(table, open_table, tmp_path, blob):
    sidecar(tmp_path / "Memories.md").put("UPDATE zorkgpt_vectors SET vector = %s WHERE id = 1", [(blob,)])
    index = index_of(HashingEmbeddings(), open_table())
    assert np.array_equal(index.vectors([DOOR, ROPE]), HashingEmbeddings().embed_batch([DOOR, ROPE]))
    assert len(open_table().known("hashing-256")) == 2


def test_vectors_of_another_model_are_not_used(table):
    assert index_of(HashingEmbeddings(64), table).vectors([DOOR]).shape == (1, 64)


def test_everything_is_embedded_again_after_a_fallback(table):
    index = index_of(Renamed(), table)
    assert np.array_equal(index.vectors([DOOR, LAMP]), -HashingEmbeddings().embed_batch([DOOR, LAMP]))
    assert (index.size, index.rebuilds) == (2, 1)


def test_texts_are_compared_by_one_model_after_a_fallback(table):
    index = index_of(Renamed(), table)
    [before] = index_of(HashingEmbeddings(), None).cosines(LAMP, [DOOR])
    assert index.cosines(LAMP, [DOOR]) == [pytest.approx(before)]


def test_changed_dimension_of_a_model_is_noticed(table, open_table):
    smaller = HashingEmbeddings(32)
    smaller.model = "hashing-256"
    assert index_of(smaller, table).vectors([DOOR, LAMP]).shape == (2, 32)
    assert open_table().known("hashing-256") == {key_of(DOOR), key_of(LAMP)}


def test_unused_vectors_are_deleted_with_the_next_new_one(table, open_table):
    index = index_of(HashingEmbeddings(), table)
    index.vectors([DOOR, ROPE])
    index.save(lambda: [ROPE, LAMP])
    assert open_table().known("hashing-256") == {key_of(DOOR), key_of(ROPE)}
    index.vector(LAMP)
    index.save(lambda: [ROPE, LAMP])
    assert open_table().known("hashing-256") == {key_of(ROPE), key_of(LAMP)}
    assert index.size == 2


def test_rebuild_keeps_only_the_given_texts(table, open_table):
    index = index_of(HashingEmbeddings(), table)
    assert index.rebuild([LAMP])
    assert (index.size, index.rebuilds) == (1, 1)
    assert open_table().known("hashing-256") == {key_of(LAMP)}
    assert index.rebuild([])
    assert (index.size, open_table().known("hashing-256")) == (0, set())


def test_unwritable_folder_only_disables_the_table(tmp_path):
    (tmp_path / "file").write_text("in the way")
    table = SqliteVectors(sidecar(tmp_path / "file" / "Memories.md"))
    [vector] = index_of(HashingEmbeddings(), table).vectors([DOOR])
    assert table.nearest("hashing-256", vector, 1) == [(key_of(DOOR), pytest.approx(1))]


def test_changes_by_another_process_are_seen(table, open_table):
    [lamp] = HashingEmbeddings().embed_batch([LAMP])
    other = open_table()
    other.put("hashing-256", {key_of(LAMP): lamp})
    assert table.nearest("hashing-256", lamp, 1)[0] == (key_of(LAMP), pytest.approx(1))
    other.keep_only("hashing-256", [key_of(ROPE)])
    assert [key for key, _ in table.nearest("hashing-256", lamp, 5)] == [key_of(ROPE)]


@pytest.mark.parametrize("make", [VectorMatrix, None])
def test_nearest_vectors_match_a_full_comparison(open_table, make):
    table = open_table() if make is None else make()
    chance = np.random.default_rng(7)
    vectors = chance.standard_normal((200, 12)).astype(np.float32)
    keys = [number.to_bytes(16, "big") for number in range(200)]
    for start in range(0, 200, 30):
        table.put("model", dict(zip(keys[start : start + 30], vectors[start : start + 30], strict=True)))
    query = vectors[3] + vectors[4]
    cosines = dict(zip(keys, (vectors @ query).tolist(), strict=True))
    for limit, among in ((5, None), (500, None), (5, keys[50:60]), (50, keys[50:60])):
        expected = sorted(among or keys, key=lambda key: -cosines[key])[:limit]
        found = table.nearest("model", query, limit, among)
        assert [key for key, _ in found] == expected
        assert [cosine for _, cosine in found] == pytest.approx([cosines[key] for key in expected], rel=1e-4)
    assert table.nearest("other", query, 5) == []


@pytest.mark.slow
def test_concurrent_processes_lose_nothing(open_table, tmp_path):
    code = """
import logging, sys
from zorkgpt.memory.dedup.embedding_index import EmbeddingIndex
from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.sqlite_vectors import SqliteVectors
table = SqliteVectors(sidecar(sys.argv[1]))
index = EmbeddingIndex(HashingEmbeddings(8), logging.getLogger("test"), table=table)
for number in range(10):
    index.vectors([f"{sys.argv[2]} {number}"])
"""
    path = str(tmp_path / "Memories.md")
    writers = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(open_table().known("hashing-8")) == 40

"""Vectors on disk: disposable, shared, pruned."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zorkgpt.embeddings.cache import VectorCache
from zorkgpt.embeddings.hashing import HashingEmbeddings
from zorkgpt.errors import EmbeddingError

DOOR, ROPE, LAMP = "The door is locked.", "The rope holds.", "The lamp is lit."


class Unreachable:
    """A model that may be named but not asked."""

    model = "hashing-256"

    def embed(self, text):
        raise EmbeddingError("asked")

    embed_batch = embed

    def get_dimension(self):
        raise EmbeddingError("asked")


class Renamed(HashingEmbeddings):
    """A provider that falls back to another model at its first use."""

    def embed_batch(self, texts):
        self.model = "hashing-256-b"
        return -super().embed_batch(texts)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "Memories.vectors.npz"


@pytest.fixture
def filled(path):
    cache = VectorCache(path, HashingEmbeddings())
    cache.vectors([DOOR, ROPE])
    cache.save()
    return path


def test_what_was_embedded_once_is_not_embedded_again(filled):
    cache = VectorCache(filled, Unreachable())
    assert np.array_equal(cache.vectors([ROPE, DOOR, ROPE]), HashingEmbeddings().embed_batch([ROPE, DOOR, ROPE]))
    assert (len(cache), cache.rebuilds, DOOR in cache, LAMP in cache) == (2, 0, True, False)


def test_what_is_not_known_and_cannot_be_embedded_is_an_error(filled):
    with pytest.raises(EmbeddingError, match="asked"):
        VectorCache(filled, Unreachable()).vectors([DOOR, LAMP])


def test_without_a_file_it_works_in_memory():
    cache = VectorCache(None, HashingEmbeddings())
    assert cache.vectors([DOOR]).shape == (1, 256)
    assert cache.save()


def test_no_texts_are_no_vectors(path):
    assert VectorCache(path, HashingEmbeddings(16)).vectors([]).shape == (0, 16)
    assert not path.exists()


@pytest.mark.parametrize("damage", [b"", b"not an archive", "half", "flipped"])
def test_a_damaged_file_is_built_again(filled, damage):
    whole = filled.read_bytes()
    flipped = whole[:1500] + bytes([whole[1500] ^ 255]) + whole[1501:]
    filled.write_bytes({"half": whole[: len(whole) // 2], "flipped": flipped}.get(damage, damage))
    cache = VectorCache(filled, HashingEmbeddings())
    assert (len(cache), cache.rebuilds) == (0, 1)
    cache.vectors([LAMP])
    assert cache.save()
    assert len(VectorCache(filled, Unreachable())) == 1


@given(st.integers(0, 3000), st.binary(max_size=8))
def test_no_damage_raises_or_changes_a_vector(tmp_path_factory, position, garbage):
    path = tmp_path_factory.mktemp("cache") / "vectors.npz"
    cache = VectorCache(path, HashingEmbeddings())
    expected = cache.vectors([DOOR, ROPE])
    cache.save()
    content = path.read_bytes()
    path.write_bytes(content[:position] + garbage + content[position + len(garbage) :])
    assert np.array_equal(VectorCache(path, HashingEmbeddings()).vectors([DOOR, ROPE]), expected)


def test_the_vectors_of_another_model_are_not_used(filled):
    cache = VectorCache(filled, HashingEmbeddings(64))
    assert (len(cache), cache.rebuilds) == (0, 1)
    assert cache.vectors([DOOR]).shape == (1, 64)
    cache.save()
    assert len(VectorCache(filled, HashingEmbeddings(64))) == 1


def test_when_the_provider_falls_back_everything_is_embedded_by_the_new_model(filled):
    cache = VectorCache(filled, Renamed())
    assert np.array_equal(cache.vectors([DOOR, LAMP]), -HashingEmbeddings().embed_batch([DOOR, LAMP]))
    assert (len(cache), cache.rebuilds) == (2, 1)


def test_a_model_that_changes_its_dimension_under_the_same_name_is_noticed(filled):
    smaller = HashingEmbeddings(32)
    smaller.model = "hashing-256"
    cache = VectorCache(filled, smaller)
    assert cache.vectors([DOOR, LAMP]).shape == (2, 32)
    cache.save()
    assert len(VectorCache(filled, smaller)) == 2


def test_what_no_memory_uses_is_pruned(filled):
    cache = VectorCache(filled, HashingEmbeddings())
    assert cache.prune([ROPE, LAMP]) == 1
    reopened = VectorCache(filled, HashingEmbeddings())
    assert (DOOR in reopened, ROPE in reopened) == (False, True)


def test_a_rebuild_keeps_only_what_it_was_given(filled):
    cache = VectorCache(filled, HashingEmbeddings())
    cache.rebuild([LAMP])
    assert (len(cache), cache.rebuilds) == (1, 1)
    assert len(VectorCache(filled, Unreachable())) == 1


def test_a_folder_that_cannot_be_written_costs_only_the_saving(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = VectorCache(tmp_path / "file" / "vectors.npz", HashingEmbeddings())
    assert cache.vectors([DOOR]).shape == (1, 256)
    assert not cache.save()


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_of_each_other(path):
    code = """
import sys, pathlib
from zorkgpt.embeddings.cache import VectorCache
from zorkgpt.embeddings.hashing import HashingEmbeddings
cache = VectorCache(pathlib.Path(sys.argv[1]), HashingEmbeddings(8))
for number in range(10):
    cache.vectors([f"{sys.argv[2]} {number}"])
    assert cache.save()
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "abcd"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(VectorCache(path, HashingEmbeddings(8))) == 40

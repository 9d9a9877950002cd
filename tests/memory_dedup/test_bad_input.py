"""Tests of unusable vectors, judges and texts: no crash, no lost memory, and one log message."""

import logging
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.fixtures.dedup import ConstantJudge, fact, lines
from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.embeddings.choose import FirstThatWorks
from zorkgpt.errors import EmbeddingError, LLMError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import Method
from zorkgpt.memory.settings import settings_of

IN_BACKGROUND = settings_of(None, wait_for_embeddings=False)
GATE, AGAIN, MORE = "The lever opens the gate.", "the lever opened the gate", "The bell rings at noon."


class Absent(HashingEmbeddings):
    """A provider whose package, weights or server is missing."""

    def embed_batch(self, texts):
        raise EmbeddingError("not installed")

    embed = embed_batch


class Raises(HashingEmbeddings):
    """A provider that raises its own errors."""

    def embed_batch(self, texts):
        raise RuntimeError("boom")


class NotANumber(HashingEmbeddings):
    def embed_batch(self, texts):
        return np.full((len(texts), 256), np.nan, dtype=np.float32)


class OtherLengths(HashingEmbeddings):
    def embed_batch(self, texts):
        return np.ones((len(texts), 3 + len(texts[0]) % 5), dtype=np.float32)


class Hangs(HashingEmbeddings):
    def __init__(self):
        super().__init__()
        self.released = threading.Event()

    def embed_batch(self, texts):
        self.released.wait(5)
        return super().embed_batch(texts)


@pytest.mark.parametrize(
    "provider", [FirstThatWorks([Absent()]), Raises(), NotANumber(), OtherLengths()], ids=lambda one: type(one).__name__
)
def test_words_are_compared_without_usable_vectors(tmp_path, provider, caplog):
    caplog.set_level(logging.WARNING, "zorkgpt")
    with SimpleMemoryManager.open(tmp_path, embeddings=provider) as manager:
        for number, text in enumerate((GATE, MORE, "A door leads north."), start=1):
            assert manager.add_memory(1, "Gate", fact(text, turns=str(number)))
        assert manager.add_memory(1, "Gate", fact(MORE.upper(), turns="48"))
        assert [text for text, *_ in lines(manager)] == [GATE, MORE, "A door leads north."]
        assert manager.search("bell")[0].located.memory.text == MORE
    assert len([record for record in caplog.records if "compared" in record.message]) <= 1


def test_words_detect_repeats_without_a_provider(tmp_path):
    with SimpleMemoryManager.open(tmp_path, embeddings=FirstThatWorks([Absent()])) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact(AGAIN, turns="48"))
        assert lines(manager) == [(GATE, "ACTIVE", "25→48", 2)]


def test_turns_do_not_wait_for_a_loading_model(tmp_path):
    hanging = Hangs()
    with SimpleMemoryManager.open(tmp_path, embeddings=hanging, config=IN_BACKGROUND) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        assert [found.method for found in manager.search("lever")] == [Method.WORDS]
        manager.add_memory(1, "Gate", fact(AGAIN, turns="48"))
        manager.add_memory(1, "Gate", fact(MORE))
        assert [text for text, *_ in lines(manager)] == [GATE, MORE]
        assert manager.get_status()["metrics"]["deduplication_metrics"]["embedding_cache_size"] == 0
        hanging.released.set()


@pytest.mark.slow
def test_model_is_loaded_in_advance(tmp_path):
    loaded = threading.Event()

    class Provider(HashingEmbeddings):
        def embed_batch(self, texts):
            loaded.set()
            return super().embed_batch(texts)

    with SimpleMemoryManager.open(tmp_path, embeddings=Provider(), config=IN_BACKGROUND) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact(MORE))
        assert loaded.wait(10)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 cut", "half"])
def test_vectors_in_a_damaged_journal_are_computed_again(tmp_path, damage):
    with SimpleMemoryManager.open(tmp_path, embeddings=HashingEmbeddings(), judge=ConstantJudge("distinct")) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        manager.add_memory(1, "Gate", fact(MORE))
    cache = tmp_path / "Memories.md.sqlite"
    whole = cache.read_bytes()
    cache.write_bytes(whole[: len(whole) // 2] if damage == "half" else damage)
    with SimpleMemoryManager.open(tmp_path, embeddings=HashingEmbeddings()) as manager:
        assert manager.check_semantic_duplicate(AGAIN, 1)[0].text == GATE
        assert len(manager.memory_cache[1]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "門は開いている。", "🗝️🚪", "word " * 20_000, "\ud800", "\x00"])
def test_any_text_is_stored_and_recognized(tmp_path, text):
    with SimpleMemoryManager.open(tmp_path, embeddings=HashingEmbeddings(), judge=ConstantJudge("distinct")) as manager:
        manager.add_memory(1, "Gate", fact(GATE))
        assert manager.add_memory(1, "Gate", fact(text))
        assert manager.add_memory(1, "Gate", fact(text, turns="48"))
        assert [(turns, seen) for _, _, turns, seen in lines(manager)] == [("25", 1), ("25→48", 2)]


@pytest.mark.parametrize("failure", [LLMError("down"), RuntimeError("boom")])
def test_failing_judge_loses_nothing_and_is_logged_once(tmp_path, failure, caplog):
    with SimpleMemoryManager.open(tmp_path, embeddings=HashingEmbeddings(), judge=ConstantJudge(failure)) as manager:
        manager.add_memory(1, "Gate", fact("Pull the lever to open the iron gate."))
        manager.add_memory(1, "Gate", fact("To open the iron gate, use the lever."))
        manager.add_memory(1, "Gate", fact("With the lever one opens the gate of iron."))
        manager.add_memory(1, "Gate", fact("The iron gate: use the lever to open it."))
        assert len(manager.memory_cache[1]) == 4
        assert manager.get_status()["metrics"]["deduplication_metrics"]["judge_failures"] == 3
    assert [each.levelname for each in caplog.records if "judge failed" in each.message] == ["WARNING"]


@pytest.mark.slow
def test_thousands_of_memories_at_one_place(tmp_path):
    with SimpleMemoryManager.open(tmp_path, embeddings=HashingEmbeddings(16)) as manager:
        manager.add_memory(1, "Heap", fact("Stone 0 is grey.", "Stone 0"))
        path = manager.store.file.path
        entry = "**[NOTE - PERMANENT] Stone {0}** *(Ep1, T1, +0)*\nStone {0} is grey.\n\n"
        path.write_text(path.read_text() + "".join(entry.format(number) for number in range(1, 10_000)))
        assert manager.add_memory(1, "Heap", fact("A ring lies under the stones."))
        assert manager.get_persistent_count(1) == 10_001


@pytest.mark.slow
def test_disabled_deduplication_loads_nothing(tmp_path):
    code = f"""
from types import SimpleNamespace
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
config = SimpleNamespace(enable_semantic_deduplication=False, embedding_provider="auto")
with SimpleMemoryManager(config=config, path={str(tmp_path / "m.md")!r}) as manager:
    for turn in ("1", "2"):
        manager.add_memory(1, "Gate", Memory("NOTE", "Gate", 1, turn, 0, {GATE!r}, "permanent"))
    manager.add_memory(1, "Gate", Memory("NOTE", "Gate", 1, "3", 0, {AGAIN!r}, "permanent"))
    assert not manager.enable_deduplication and manager.embedding_provider is None
    assert manager.check_semantic_duplicate({GATE!r}, 1)[1] == 1.0
    print([memory.turns for memory in manager.memory_cache[1]])
import sys
print([name for name in sys.modules if name.startswith(("numpy", "onnx", "zorkgpt.embeddings"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['1→2', '3']", "[]"]
    assert sorted(path.name for path in tmp_path.iterdir() if "vectors" in path.name) == []

"""The memory, as the specification shows it."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

from pathlib import Path
from types import SimpleNamespace

import pytest

from managers.simple_memory_manager import INVALIDATION_MARKER, Memory, MemoryStatus, SimpleMemoryManager
from tests.fixtures.hashing import HashingEmbeddings
from zorkgpt.embeddings.llm_provider import LLMEmbeddingProvider
from zorkgpt.embeddings.sentence_transformers_provider import SentenceTransformerProvider
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.log import get_logger


def a_memory(title: str, persistence: str = "permanent", **fields) -> Memory:
    return Memory(
        category="NOTE",
        title=title,
        episode=1,
        turns="45",
        score_change=0,
        text=f"{title} is here.",
        persistence=persistence,
        **fields,
    )


@pytest.fixture
def manager(tmp_path: Path):
    config = SimpleNamespace(memory_file=str(tmp_path / "Memories.md"))
    with SimpleMemoryManager(get_logger("specification"), config, SimpleNamespace(episode_id=1, turn_count=45)) as made:
        yield made


def titles(cache) -> dict[object, list[str]]:
    return {place: [memory.title for memory in memories] for place, memories in cache.items()}


def test_attributes(tmp_path: Path):
    logger, config = get_logger("specification"), SimpleNamespace(memory_file=str(tmp_path / "Memories.md"))
    state, llm = SimpleNamespace(episode_id=1, turn_count=0), ScriptedLLM([])
    manager = SimpleMemoryManager(logger, config, state, llm_client=llm)
    assert (manager.logger, manager.config, manager.game_state) == (logger, config, state)
    assert (manager.llm_client, manager.memory_file) == (llm, tmp_path / "Memories.md")
    manager.process_turn()
    manager.process_periodic_update()


def test_assigned_memories_are_stored(manager: SimpleMemoryManager):
    manager.memory_cache[5] = [a_memory("Lamp"), a_memory("Rug", "core")]
    manager.ephemeral_cache[5] = [a_memory("Sword", "ephemeral")]
    assert titles(manager.memory_cache) == {5: ["Lamp", "Rug"]}
    assert titles(manager.ephemeral_cache) == {5: ["Sword"]}
    assert [memory.turns for memory in manager.memory_cache[5]] == ["45", "45"]
    reread = SimpleMemoryManager(config=SimpleNamespace(memory_file=str(manager.memory_file)))
    assert titles(reread.memory_cache) == {5: ["Lamp", "Rug"]}
    shown = manager.get_location_memory(5).splitlines()
    assert shown == [
        "[NOTE] Rug: Rug is here. [spawn]",
        "[NOTE] Lamp: Lamp is here.",
        "[NOTE] Sword: Sword is here. [session]",
    ]


def test_assignment_replaces_the_memories_of_the_place(manager: SimpleMemoryManager):
    manager.memory_cache[5] = [a_memory("Lamp"), a_memory("Rug")]
    manager.memory_cache[6] = [a_memory("Bottle")]
    lamp, _ = manager.memory_cache[5]
    manager.memory_cache[5] = [lamp, a_memory("Case")]
    assert titles(manager.memory_cache) == {5: ["Lamp", "Case"], 6: ["Bottle"]}
    assert manager.memory_cache[5][0] == lamp
    del manager.memory_cache[5]
    assert titles(manager.memory_cache) == {6: ["Bottle"]}
    assert 5 not in manager.memory_cache
    with pytest.raises(KeyError):
        del manager.memory_cache[5]


def test_memory_in_the_wrong_cache_is_refused(manager: SimpleMemoryManager):
    with pytest.raises(ValueError, match="'Sword' is ephemeral; memory_cache holds core and permanent memories"):
        manager.memory_cache[5] = [a_memory("Lamp"), a_memory("Sword", "ephemeral")]
    with pytest.raises(ValueError, match="'Lamp' is permanent; ephemeral_cache holds ephemeral memories"):
        manager.ephemeral_cache[5] = [a_memory("Lamp")]
    assert (dict(manager.memory_cache), dict(manager.ephemeral_cache)) == ({}, {})


def test_reset_clears_only_ephemeral_memories(manager: SimpleMemoryManager):
    assert manager.add_memory(5, "Living Room", a_memory("Lamp"))
    assert manager.add_memory(5, "Living Room", a_memory("Sword", "ephemeral"))
    manager.reset_episode()
    assert (titles(manager.memory_cache), titles(manager.ephemeral_cache)) == ({5: ["Lamp"]}, {})


def test_invalidated_memory_is_marked(manager: SimpleMemoryManager):
    manager.memory_cache[5] = [a_memory("Troll", status=MemoryStatus.ACTIVE)]
    assert manager.invalidate_memory(5, "Troll", "Proven false by death", turn=46)
    (troll,) = manager.memory_cache[5]
    assert (troll.status, troll.superseded_by, troll.superseded_at_turn, troll.invalidation_reason) == (
        (MemoryStatus.SUPERSEDED, INVALIDATION_MARKER, 46, "Proven false by death")
    )


def test_embeddings_are_listed_by_place(tmp_path: Path):
    config = SimpleNamespace(memory_file=str(tmp_path / "Memories.md"))
    provider = HashingEmbeddings()
    with SimpleMemoryManager(config=config, embeddings=provider) as manager:
        manager.memory_cache[5] = [a_memory("Lamp")]
        ((title, vector),) = manager.get_location_embeddings(5)
        assert (title, vector.tolist()) == ("Lamp", provider.embed("Lamp is here.").tolist())
        ((cached_title, cached),) = manager.embedding_cache[5]
        assert (cached_title, cached.tolist()) == (title, vector.tolist())
        assert list(manager.embedding_cache) == [5]
        assert 6 not in manager.embedding_cache


def test_embedding_providers_take_their_model_by_name():
    assert SentenceTransformerProvider().model == "all-MiniLM-L6-v2"
    assert SentenceTransformerProvider(model_name="all-mpnet-base-v2").model == "all-mpnet-base-v2"
    assert LLMEmbeddingProvider(llm_client=object(), model="m").model == "m"

"""Tests that a closed memory refuses every call."""

import asyncio
import inspect

import pytest

from tests.fixtures.hashing import HashingEmbeddings
from tests.fixtures.memory import memory
from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.asynchronous import AsyncMemory
from zorkgpt.memory.editing import Edit
from zorkgpt.memory.manager import SimpleMemoryManager

GIVEN = {
    "place": 5,
    "subject": 5,
    "name": "Hall",
    "fact": None,
    "location_id": 5,
    "location_name": "Hall",
    "memory": "Lever",
    "title": "Lever",
    "memory_title": "Lever",
    "memory_titles": ["Lever"],
    "old_memory_title": "Lever",
    "new_memory": memory("Rope"),
    "wanted": Edit(text="It is stuck."),
    "z_machine_context": None,
    "text": "It is stuck.",
    "candidate_text": "It is stuck.",
    "query": "lever",
    "question": None,
    "reason": "It broke.",
    "action": "pull lever",
    "result": "It moves.",
    "response": "It moves.",
    "description": "A lever is here.",
    "episode": 1,
    "turn": 1,
    "new_turn": 1,
    "new_episode": 1,
    "path": "other.md",
    "world": [],
    "merges": [],
    "saved": {},
    "items": [{"place": 5, "text": "It is stuck."}],
}
NEEDS_A_MEMORY = ("add_memory", "update_memory_metadata", "contradicting_state")
NEVER_CLOSED = {
    *("open", "close", "cosine_similarity", "similarity_threshold"),
    *("logger", "config", "game_state", "llm_client", "process_turn", "process_periodic_update"),
}
"""Names that work without stored memories."""


def arguments(name, method):
    parameters = list(inspect.signature(method).parameters.values())[1:]
    given = {each.name: GIVEN[each.name] for each in parameters if each.default is each.empty}
    if name == "forget":
        return {"text": "It is stuck."}
    return given | {"memory": memory("Rope")} if name in NEEDS_A_MEMORY else given


def public(owner):
    """Return the public names, and whether each is a property."""
    names = {name for name in dir(owner) if not name.startswith("_")} - NEVER_CLOSED
    return {name: not callable(inspect.getattr_static(owner, name)) for name in names}


def use(manager, name, *, is_property):
    found = getattr(manager, name)
    if not is_property:
        found(**arguments(name, found.__func__))


def test_every_method_of_a_closed_memory_is_refused(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    manager = home.open(embeddings=HashingEmbeddings())
    manager.add_memory(5, "Hall", memory("Lever"))
    manager.close()
    manager.close()
    before = sorted(tmp_path.rglob("*"))
    for name, is_property in public(SimpleMemoryManager).items():
        with pytest.raises(MemoryStoreError) as error:
            use(manager, name, is_property=is_property)
        assert str(error.value) == f"The memory at {manager._name} is closed. Open it again.", name
    with pytest.raises(MemoryStoreError, match="is closed"), manager:
        pass
    assert sorted(tmp_path.rglob("*")) == before
    with home.open() as again:
        assert again.get_persistent_count() == 1


def test_every_method_of_a_closed_asynchronous_memory_is_refused(home):
    async def called(memories: AsyncMemory, name: str, *, is_property: bool) -> None:
        found = getattr(memories, name)
        if not is_property:
            await found(**arguments(name, getattr(AgentMemory, name)))

    async def use() -> None:
        memories = AsyncMemory(AgentMemory.open(home.address))
        await memories.remember(5, "A lever is here.")
        await memories.close()
        await memories.close()
        for name, is_property in public(AsyncMemory).items():
            with pytest.raises(MemoryStoreError, match="is closed"):
                await called(memories, name, is_property=is_property)
        with pytest.raises(MemoryStoreError, match="is closed"):
            await memories.__aenter__()

    asyncio.run(use())


def test_langgraph_store_is_closed_with_its_memory(home):
    memories = AgentMemory.open(home.address)
    store = MemoryBaseStore(memories)
    store.put(("shop",), "Coupon", {"text": "It works once."})
    memories.close()
    with pytest.raises(MemoryStoreError, match="is closed"):
        store.get(("shop",), "Coupon")
    with pytest.raises(MemoryStoreError, match="is closed"):
        store.put(("shop",), "Coupon", {"text": "It works twice."})

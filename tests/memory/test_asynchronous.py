"""Tests of the asynchronous memory."""

import asyncio
import inspect
import threading

import pytest

from tests.fixtures.memory import NOTHING
from zorkgpt.errors import MemoryEditError
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.asynchronous import AsyncMemory


def test_each_method_works_like_its_synchronous_twin(tmp_path):
    async def use() -> None:
        async with await AsyncMemory.open(tmp_path) as memories:
            first = await memories.remember("https://shop/cart", "The voucher field takes one code.", title="Voucher")
            second = await memories.supersede(first, "It takes two codes.")
            assert (await memories.get("Voucher")).id == second
            assert "It takes two codes." in await memories.recall("https://shop/cart")
            await memories.remember(5, "The hall is dark.", place_name="Hall")
            assert [match.located.id for match in await memories.search("codes")] == [second]
            await memories.invalidate(second, "It takes three")
            assert await memories.forget(second) == 1
            with pytest.raises(MemoryEditError, match="There is no memory"):
                await memories.forget(second)
            await memories.forget(first)
            assert [located.location_id for located in await memories.find()] == [5]

    asyncio.run(use())
    assert len(AgentMemory.open(tmp_path).find()) == 1


class Slow:
    """A model that answers only after the event loop has continued."""

    asks_a_model = True

    def __init__(self) -> None:
        self.asked, self.ticked = threading.Event(), threading.Event()
        self.answered = False

    def synthesize(self, request):
        self.asked.set()
        self.answered = self.ticked.wait(30)
        return NOTHING


def test_event_loop_continues_during_a_model_call(tmp_path):
    slow = Slow()

    async def use() -> None:
        memories = AsyncMemory(AgentMemory.open(tmp_path, synthesizer=slow))
        asking = asyncio.create_task(
            memories.learn(5, "pull lever", "It moves.", {"reward": 5, "turn": 1}, place_name="Hall")
        )
        while not slow.asked.is_set():
            await asyncio.sleep(0)
        slow.ticked.set()
        await asking

    asyncio.run(use())
    assert slow.answered


def test_concurrent_calls_are_all_stored(tmp_path):
    async def use() -> list[str]:
        memories = await AsyncMemory.open(tmp_path)
        return await asyncio.gather(*(memories.remember(place, f"Fact {place}.") for place in range(20)))

    ids = asyncio.run(use())
    assert sorted(located.id for located in AgentMemory.open(tmp_path).find()) == sorted(ids)


def test_waiting_calls_do_not_use_the_default_thread_pool(tmp_path):
    async def use() -> None:
        memories = AsyncMemory(AgentMemory.open(tmp_path))
        with AgentMemory.open(tmp_path).store.transaction():
            waiting = [asyncio.create_task(memories.remember(5, f"Lever {number} is stuck.")) for number in range(50)]
            assert await asyncio.to_thread(lambda: "done") == "done"
            assert not any(task.done() for task in waiting)
        assert len(set(await asyncio.gather(*waiting))) == 50

    asyncio.run(use())


def test_every_public_method_has_an_awaitable_twin():
    def public(owner: type) -> set[str]:
        return {name for name in dir(owner) if not name.startswith("_")}

    assert public(AsyncMemory) == public(AgentMemory) - {"store"}
    for name in public(AsyncMemory) - {"parts"}:
        assert inspect.iscoroutinefunction(getattr(AsyncMemory, name)), name
        synchronous = inspect.signature(getattr(AgentMemory, name))
        assert list(inspect.signature(getattr(AsyncMemory, name)).parameters) == list(synchronous.parameters), name

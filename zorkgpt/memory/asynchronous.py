"""The memory for programs with an event loop: each call runs in a thread, and the loop goes on meanwhile."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from zorkgpt.llm.messages import LLM
from zorkgpt.memory.manager import ChatClient, SimpleMemoryManager

if TYPE_CHECKING:
    from zorkgpt.embeddings.provider import EmbeddingProvider

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_THREADS = 8


def _in_a_thread(
    method: Callable[Concatenate[SimpleMemoryManager, _Arguments], _Result],
) -> "Callable[Concatenate[AsyncMemory, _Arguments], Coroutine[object, object, _Result]]":
    async def call(self: "AsyncMemory", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        # As `asyncio.to_thread` does it, so that spans know their parents.
        work = partial(copy_context().run, method, self.manager, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    update_wrapper(call, method)
    return call


class AsyncMemory:
    """A `SimpleMemoryManager` whose calls are awaited.

    What was begun is finished, also where whoever awaits it is cancelled: a memory is never half kept.
    """

    def __init__(self, manager: SimpleMemoryManager) -> None:
        self.manager = manager
        # Its own: calls that wait for a lock must not keep the program's other threads from starting.
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="zorkgpt-memory")

    @classmethod
    async def open(
        cls,
        path: Path | str,
        llm: LLM | ChatClient | None = None,
        embeddings: "EmbeddingProvider | None" = None,
    ) -> "AsyncMemory":
        """Open a memory as `SimpleMemoryManager.open` does; for its other arguments, hand a manager to the class."""
        return cls(await asyncio.to_thread(SimpleMemoryManager.open, path, llm, embeddings))

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    remember = _in_a_thread(SimpleMemoryManager.remember)
    recall = _in_a_thread(SimpleMemoryManager.recall)
    get = _in_a_thread(SimpleMemoryManager.get)
    search = _in_a_thread(SimpleMemoryManager.search)
    all_memories = _in_a_thread(SimpleMemoryManager.all_memories)
    update = _in_a_thread(SimpleMemoryManager.update)
    supersede = _in_a_thread(SimpleMemoryManager.supersede)
    invalidate = _in_a_thread(SimpleMemoryManager.invalidate)
    delete = _in_a_thread(SimpleMemoryManager.delete)
    forget = _in_a_thread(SimpleMemoryManager.forget)
    add_memory = _in_a_thread(SimpleMemoryManager.add_memory)
    record_outcome = _in_a_thread(SimpleMemoryManager.record_outcome)
    record_action_outcome = _in_a_thread(SimpleMemoryManager.record_action_outcome)
    record_arrival = _in_a_thread(SimpleMemoryManager.record_arrival)
    reset_episode = _in_a_thread(SimpleMemoryManager.reset_episode)
    close = _in_a_thread(SimpleMemoryManager.close)

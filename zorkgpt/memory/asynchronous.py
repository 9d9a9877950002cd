"""The memory for asyncio: each call runs in a thread, so the event loop is not blocked."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from typing import Concatenate, ParamSpec, TypeVar

from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.parts import Parts

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_THREADS = 8


def _in_a_thread(
    method: Callable[Concatenate[AgentMemory, _Arguments], _Result],
) -> "Callable[Concatenate[AsyncMemory, _Arguments], Coroutine[object, object, _Result]]":
    async def call(self: "AsyncMemory", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        # Like `asyncio.to_thread`, copy the context, so that telemetry spans have their parents.
        work = partial(copy_context().run, method, self.memory, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._own_threads(), work)

    update_wrapper(call, method)
    return call


def _opened_in_a_thread(
    opening: Callable[_Arguments, AgentMemory],
) -> "Callable[_Arguments, Coroutine[object, object, AsyncMemory]]":
    async def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> "AsyncMemory":
        return AsyncMemory(await asyncio.to_thread(opening, *args, **kwargs))

    update_wrapper(call, opening)
    return call


class AsyncMemory:
    """An `AgentMemory` with awaitable methods.

    A call that has begun is completed, even if its task is cancelled.
    """

    def __init__(self, memory: AgentMemory) -> None:
        self.memory = memory
        self._threads: dict[int, ThreadPoolExecutor] = {}
        """One pool for each process, because a forked child has no threads of its parent."""

    def _own_threads(self) -> ThreadPoolExecutor:
        # Not the default pool: calls that wait for a lock must not block other users of that pool.
        process = os.getpid()
        return self._threads.get(process) or self._threads.setdefault(
            process, ThreadPoolExecutor(_THREADS, thread_name_prefix="zorkgpt-memory")
        )

    @property
    def parts(self) -> Parts:
        """The parts that find duplicates and learn from outcomes."""
        return self.memory.parts

    async def __aenter__(self) -> "AsyncMemory":
        self.memory.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    open = staticmethod(_opened_in_a_thread(AgentMemory.open))
    remember = _in_a_thread(AgentMemory.remember)
    remember_many = _in_a_thread(AgentMemory.remember_many)
    recall = _in_a_thread(AgentMemory.recall)
    search = _in_a_thread(AgentMemory.search)
    get = _in_a_thread(AgentMemory.get)
    find = _in_a_thread(AgentMemory.find)
    refresh = _in_a_thread(AgentMemory.refresh)
    update = _in_a_thread(AgentMemory.update)
    supersede = _in_a_thread(AgentMemory.supersede)
    invalidate = _in_a_thread(AgentMemory.invalidate)
    forget = _in_a_thread(AgentMemory.forget)
    learn = _in_a_thread(AgentMemory.learn)
    new_episode = _in_a_thread(AgentMemory.new_episode)
    history = _in_a_thread(AgentMemory.history)
    as_of = _in_a_thread(AgentMemory.as_of)
    export = _in_a_thread(AgentMemory.export)
    import_memories = _in_a_thread(AgentMemory.import_memories)
    close = _in_a_thread(AgentMemory.close)

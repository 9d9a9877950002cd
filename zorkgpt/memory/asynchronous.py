"""The memory for asyncio: each call runs in a thread, so the event loop is not blocked."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from zorkgpt.llm.messages import LLM
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.parts import ChatClient, Parts
from zorkgpt.memory.synthesis import MemorySynthesizer
from zorkgpt.memory.world import NEUTRAL, World

if TYPE_CHECKING:
    from zorkgpt.embeddings.provider import EmbeddingProvider
    from zorkgpt.memory.dedup.judge import Judge

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

    @classmethod
    async def open(
        cls,
        path: Path | str,
        llm: LLM | ChatClient | None = None,
        embeddings: "EmbeddingProvider | None" = None,
        *,
        config: object = None,
        game_state: object = None,
        synthesizer: MemorySynthesizer | None = None,
        judge: "Judge | None" = None,
        world: World = NEUTRAL,
        scope: tuple[int | str, ...] | None = None,
    ) -> "AsyncMemory":
        """Open a memory like `AgentMemory.open`."""
        opening = partial(
            AgentMemory.open,
            path,
            llm,
            embeddings,
            config=config,
            game_state=game_state,
            synthesizer=synthesizer,
            judge=judge,
            world=world,
            scope=scope,
        )
        return cls(await asyncio.to_thread(opening))

    @property
    def parts(self) -> Parts:
        """The parts that find duplicates and learn from outcomes."""
        return self.memory.parts

    async def __aenter__(self) -> "AsyncMemory":
        self.memory.__enter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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
    export_memories = _in_a_thread(AgentMemory.export_memories)
    import_memories = _in_a_thread(AgentMemory.import_memories)
    close = _in_a_thread(AgentMemory.close)

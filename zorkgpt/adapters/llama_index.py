"""The memory as tools and as a memory block for LlamaIndex."""

import asyncio
from collections.abc import Callable
from typing import Any

from zorkgpt.adapters.tools import MemoryTools
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import PlaceKey

with importing("llama-index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.tools import FunctionTool


def memory_tools(memory: AgentMemory, *, read_only: bool = False) -> list[FunctionTool]:
    """Return the tools for an agent. LlamaIndex returns the message of a refused call to the model.

    Args:
        read_only: Only `recall` and `search`.
    """
    tools = MemoryTools(memory, read_only=read_only, as_text=True)
    return [FunctionTool.from_defaults(tool) for tool in tools.all]


class PlaceMemoryBlock(BaseMemoryBlock[str]):
    """A block for `Memory.from_defaults(memory_blocks=...)` with the memories of the agent's place.

    Messages are not stored. The agent stores facts with the tools.
    """

    memory: AgentMemory
    place_of: Callable[[], PlaceKey | None]
    """Returns the agent's place. None if unknown."""
    name: str = "memories"
    accept_short_term_memory: bool = False

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        place = self.place_of()
        return "" if place is None else await asyncio.to_thread(self.memory.recall, place)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        pass

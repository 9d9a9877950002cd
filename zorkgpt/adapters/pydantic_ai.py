"""The memory as a toolset for Pydantic AI."""

from typing import Any

from zorkgpt.adapters.tools import INSTRUCTIONS, MemoryTools
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory

with importing("pydantic-ai"):
    from pydantic_ai import ModelRetry
    from pydantic_ai.toolsets import FunctionToolset


class MemoryToolset(FunctionToolset[Any]):
    """The tools for `Agent(toolsets=[...])`. A refused call returns an error message to the model.

    Args:
        read_only: Only `recall` and `search`.
    """

    def __init__(self, memory: AgentMemory, *, read_only: bool = False) -> None:
        tools = MemoryTools(memory, read_only=read_only, refusal=ModelRetry)
        super().__init__([*tools.all], instructions=INSTRUCTIONS, id="memory")

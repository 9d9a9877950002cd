"""The memory as a toolset for Pydantic AI."""

from typing import Any

from zorkgpt.adapters.tools import INSTRUCTIONS, REFUSALS, MemoryTools
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory

with importing("pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext
    from pydantic_ai.toolsets import FunctionToolset, ToolsetTool


class MemoryToolset(FunctionToolset[Any]):
    """The tools for `Agent(toolsets=[...])`. A refused call returns an error message to the model.

    Args:
        read_only: Only `recall` and `search`.
    """

    def __init__(self, memory: AgentMemory, *, read_only: bool = False) -> None:
        tools = MemoryTools(memory, read_only=read_only)
        super().__init__([*tools.reading, *tools.changing], instructions=INSTRUCTIONS, id="memory")

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a tool.

        Raises:
            ModelRetry: If the call is refused. The message is for the model.
        """
        try:
            return await super().call_tool(name, tool_args, ctx, tool)
        except REFUSALS as error:
            raise ModelRetry(str(error)) from error

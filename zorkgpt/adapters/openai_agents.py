"""The memory as function tools for OpenAI's Agents SDK, and instructions with the memories of a place."""

from collections.abc import Callable
from typing import Any

from zorkgpt.adapters.tools import REFUSALS, MemoryTools, instructions_at
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import PlaceKey

with importing("openai-agents"):
    from agents import Agent, FunctionTool, RunContextWrapper, Tool, default_tool_error_function, function_tool


def memory_tools(memory: AgentMemory, *, read_only: bool = False) -> list[Tool]:
    """Return the tools for `Agent(tools=...)`. A refused call returns an error message to the model.

    Args:
        read_only: Only `recall` and `search`.
    """
    tools = MemoryTools(memory, read_only=read_only, as_text=True)
    made: list[FunctionTool] = [function_tool(tool, failure_error_function=_why) for tool in tools.all]
    return [*made]


def _why(context: RunContextWrapper[Any], error: Exception) -> str:
    if isinstance(error, REFUSALS):
        return str(error)
    return default_tool_error_function(context, error)


def memory_instructions(
    memory: AgentMemory, place_of: Callable[[Any], PlaceKey | None], also: str = ""
) -> Callable[[RunContextWrapper[Any], Agent[Any]], str]:
    """Return instructions for `Agent(instructions=...)`: how to use the memory, and the memories of the agent's place.

    Args:
        place_of: Returns the agent's place from the context of `Runner.run`. None if unknown.
        also: The agent's own instructions, which come first.
    """

    def instructions(context: RunContextWrapper[Any], agent: Agent[Any]) -> str:
        return "\n\n".join(filter(None, (also, instructions_at(memory, place_of(context.context)))))

    return instructions

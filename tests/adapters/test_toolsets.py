"""Tests of the memory as tools of agent frameworks, each run by the framework.

Frameworks that import slowly are imported where they are used, because every test process imports all files.
"""

import asyncio
import json
from importlib import import_module

import pytest

from zorkgpt.adapters import langchain

pytestmark = pytest.mark.slow

CART = "https://shop.example/cart"
READING, CHANGING = {"recall", "search"}, {"remember", "supersede", "invalidate", "reset"}


# The Agents SDK


def invoked(memory, name, **arguments):
    from agents.tool_context import ToolContext

    from zorkgpt.adapters.openai_agents import memory_tools

    tool = next(tool for tool in memory_tools(memory) if tool.name == name)
    given = json.dumps(arguments)
    context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=given)
    return asyncio.run(tool.on_invoke_tool(context, given))


def test_agents_sdk_returns_the_reason_of_a_refusal(memory):
    message = invoked(memory, "invalidate", memory_id="nothing", reason="wrong", place=None)
    assert "There is no memory with the id or title 'nothing'" in message


def test_instructions_contain_memories_of_the_current_place(memory):
    from agents import Agent, RunContextWrapper

    from zorkgpt.adapters.openai_agents import memory_instructions

    memory.remember(CART, "It is empty at first.")
    instructions = memory_instructions(memory, lambda context: context["url"], "You buy groceries.")
    agent = Agent(name="buyer", instructions=instructions)

    def prompt(url):
        return asyncio.run(agent.get_system_prompt(RunContextWrapper({"url": url})))

    assert prompt(None).startswith("You buy groceries.\n\nYou have a memory of facts about places")
    assert "It is empty at first." not in prompt(None)
    assert prompt(CART).endswith(memory.recall(CART))


# Pydantic AI


def run(memory, *calls, read_only=False):
    """Let a scripted model make tool calls. Return the answers, and the tools it was offered."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    from zorkgpt.adapters.pydantic_ai import MemoryToolset

    answers, known = [], set()

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        known.update(tool.name for tool in info.function_tools)
        parts = messages[-1].parts
        if not isinstance(parts[0].content, str) or len(messages) > 1:
            answers.append(parts[0])
        done = len(answers)
        return ModelResponse(parts=[ToolCallPart(*calls[done]) if done < len(calls) else TextPart("done")])

    agent = Agent(FunctionModel(model), toolsets=[MemoryToolset(memory, read_only=read_only)])
    agent.run_sync("Go on.")
    return answers, known


def test_pydantic_ai_returns_the_reason_of_a_refusal(memory):
    calls = (("remember", {"place": 5, "text": " "}), ("remember", {"place": 5, "text": "A rug."}))
    (refused, kept), known = run(memory, *calls)
    assert "it must not be blank" in refused.content
    assert memory.get(kept.content).memory.text == "A rug."
    assert known == READING | CHANGING


def test_pydantic_ai_read_only_toolset_has_no_writing_tools(memory):
    _, known = run(memory, ("recall", {"place": 5}), read_only=True)
    assert known == READING


# LangChain and LlamaIndex


def test_langchain_returns_the_reason_of_a_refusal(memory):
    tools = {tool.name: tool for tool in langchain.memory_tools(memory)}
    for arguments in ({"place": 5, "text": " "}, {"place": 5}):
        answer = asyncio.run(tools["remember"].ainvoke({"type": "tool_call", "id": "1", "name": "", "args": arguments}))
        assert answer.status == "error"
    refused = tools["remember"].invoke({"place": 5, "text": " "})
    assert "it must not be blank" in refused
    assert memory.find() == []


def test_llama_index_returns_the_reason_of_a_refusal(memory):
    from llama_index.core.llms.llm import ToolSelection
    from llama_index.core.tools import call_tool_with_selection

    from zorkgpt.adapters import llama_index

    tools = {tool.metadata.name: tool for tool in llama_index.memory_tools(memory)}
    call = ToolSelection(tool_id="1", tool_name="remember", tool_kwargs={"place": 5, "text": " "})
    answer = call_tool_with_selection(call, list(tools.values()))
    assert answer.is_error
    assert "it must not be blank" in answer.content


@pytest.mark.parametrize("name", ["langchain", "llama_index", "openai_agents"])
def test_read_only_toolset_has_only_reading_tools(memory, name):
    adapter = import_module(f"zorkgpt.adapters.{name}")

    def names(**options):
        return {getattr(tool, "name", None) or tool.metadata.name for tool in adapter.memory_tools(memory, **options)}

    assert (names(), names(read_only=True)) == (READING | CHANGING, READING)


def test_llama_index_block_contains_memories_of_the_current_place(memory):
    from llama_index.core.base.llms.types import ChatMessage

    from zorkgpt.adapters import llama_index

    memory.remember(CART, "It is empty at first.")
    places = iter([None, "elsewhere", CART])
    block = llama_index.PlaceMemoryBlock(memory=memory, place_of=lambda: next(places))
    contents = [asyncio.run(block.aget()) for _ in range(3)]
    assert contents == ["", "", memory.recall(CART)]
    asyncio.run(block.aput([ChatMessage("Buy milk.")]))
    assert len(memory.find()) == 1

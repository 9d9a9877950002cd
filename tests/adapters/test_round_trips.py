"""Tests that the result of one tool is valid input of another.

Frameworks that import slowly are imported where they are used, because every test process imports all files.
"""

import asyncio
import itertools
import json

import pytest
from mcp import Client

from zorkgpt.adapters import langchain
from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.adapters.mcp import make_server
from zorkgpt.adapters.tools import MemoryTools
from zorkgpt.memory.agent_memory import AgentMemory
from zorkgpt.memory.models import GAME, Thing

pytestmark = pytest.mark.slow

TEXTS = ["https://s/cart", "5", "game", "thing 181", "null", "true", '["File", "Open"]', '{"subject": "game"}', '"x"']
TEXTS += [".a..b.", "a b", "it's \\ here", "\u202ex", '"\\"5\\""', "a%41b%20c", "../../etc/passwd", "x/y?z=1#f", "é ü"]
SUBJECTS = [*TEXTS, 5, -3, Thing(181), GAME]


@pytest.fixture
def memory(home):
    with AgentMemory.open(home.address) as opened:
        yield opened


class Plain:
    """The tools as functions, with JSON as input and output."""

    def __init__(self, memory):
        tools = MemoryTools(memory)
        self._tools = {tool.__name__: tool for tool in (*tools.reading, *tools.changing)}

    def call(self, name, **given):
        return json.loads(json.dumps(self._tools[name](**json.loads(json.dumps(given)))))


class Mcp:
    def __init__(self, memory):
        self._server = make_server(memory)

    def call(self, name, **given):
        async def talk():
            async with Client(self._server) as client:
                return await client.call_tool(name, given)

        answer = asyncio.run(talk())
        assert not answer.is_error, answer.content
        return answer.structured_content["result"]


class AgentsSdk:
    def __init__(self, memory):
        from zorkgpt.adapters.openai_agents import memory_tools

        self._tools = {tool.name: tool for tool in memory_tools(memory)}

    def call(self, name, **given):
        from agents.tool_context import ToolContext

        properties = self._tools[name].params_json_schema["properties"]
        text = json.dumps({key: given.get(key, spec.get("default")) for key, spec in properties.items()})
        context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
        answer = asyncio.run(self._tools[name].on_invoke_tool(context, text))
        return json.loads(answer) if name == "search" else answer


class PydanticAi:
    def __init__(self, memory):
        from zorkgpt.adapters.pydantic_ai import MemoryToolset

        self._tools = MemoryToolset(memory)

    def call(self, name, **given):
        from pydantic_ai import RunContext
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.usage import RunUsage

        async def talk():
            context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
            tool = (await self._tools.get_tools(context))[name]
            arguments = tool.args_validator.validate_json(json.dumps(given))
            return await self._tools.call_tool(name, arguments, context, tool)

        return json.loads(json.dumps(asyncio.run(talk())))


class LangChain:
    def __init__(self, memory):
        self._tools = {tool.name: tool for tool in langchain.memory_tools(memory)}

    def call(self, name, **given):
        call = {"type": "tool_call", "id": "1", "name": name, "args": json.loads(json.dumps(given))}
        answer = self._tools[name].invoke(call)
        assert answer.status == "success", answer.content
        return json.loads(answer.content) if name == "search" else answer.content


class LlamaIndex:
    def __init__(self, memory):
        from zorkgpt.adapters import llama_index

        self._tools = {tool.metadata.name: tool for tool in llama_index.memory_tools(memory)}

    def call(self, name, **given):
        answer = self._tools[name].call(**json.loads(json.dumps(given))).content
        return json.loads(answer) if name == "search" else answer


def test_found_memory_can_be_recalled_superseded_and_invalidated(memory):
    recall_supersede_and_invalidate(memory, Plain(memory))


@pytest.mark.parametrize("toolset", [Mcp, AgentsSdk, PydanticAi, LangChain, LlamaIndex])
def test_found_memory_can_be_changed_in_a_framework(toolset):
    with AgentMemory.open(":memory:") as memory:
        recall_supersede_and_invalidate(memory, toolset(memory))


def recall_supersede_and_invalidate(memory, tools):
    for number, subject in enumerate(SUBJECTS):
        memory.remember(subject, f"Lever number{number} is stuck.", title="Lever")
    for number, subject in enumerate(SUBJECTS):
        [found] = tools.call("search", query=f"number{number}", limit=1)
        assert memory.get(found["id"]).location_id == subject
        assert f"Lever number{number} is stuck." in tools.call("recall", place=found["place"])
        again = tools.call("remember", place=found["place"], text=found["text"], title=found["title"])
        assert again == found["id"]
        by_title = tools.call("supersede", memory_id=found["title"], place=found["place"], text=f"Thing{number} moves.")
        assert memory.get(by_title).location_id == subject
        tools.call("invalidate", memory_id=by_title, reason="It broke.")
    assert len(memory.find(status="SUPERSEDED", limit=1000)) == 2 * len(SUBJECTS)
    assert tools.call("search", query="lever moves") == []


def test_recalled_memory_is_invalidated_by_its_title(memory):
    memory.remember(GAME, "The lamp runs out after 200 turns.", title="Lamp")
    tools = MemoryTools(memory)
    assert "[NOTE] Lamp: " in tools.recall(5)
    tools.invalidate("Lamp", "It is refilled.", 5)
    assert tools.recall(5) == ""


def test_langchain_documents_identify_their_memories(memory):
    for number, subject in enumerate(SUBJECTS):
        memory.remember(subject, f"Lever number{number} is stuck.", title="Lever")
    tools = MemoryTools(memory)
    for number, subject in enumerate(SUBJECTS):
        [document] = langchain.MemoryRetriever(memory=memory, limit=1).invoke(f"number{number}")
        found = document.metadata
        assert memory.get(document.id).location_id == subject
        assert tools.remember(found["place"], document.page_content, found["title"]) == document.id
        tools.invalidate(found["title"], "It broke.", found["place"])
        assert memory.get(document.id).memory.status == "SUPERSEDED"


def test_mcp_places_and_addresses_identify_their_memories(memory):
    for number, subject in enumerate(SUBJECTS):
        memory.remember(subject, f"Fact {number}.")
    memory.invalidate(memory.remember("nowhere", "Wrong."), "It is not.")

    async def talk():
        async with Client(make_server(memory)) as client:
            listed = json.loads((await client.read_resource("memory://places")).contents[0].text)
            texts = [(await client.read_resource(each["uri"])).contents[0].text for each in listed]
            recalled = [await client.call_tool("recall", {"place": each["place"]}) for each in listed]
            shown = [await client.get_prompt("use_memory", {"place": json.dumps(each["place"])}) for each in listed]
            return texts, ["".join(part.text for part in each.content) for each in recalled], shown

    texts, recalled, prompts = asyncio.run(talk())
    assert texts == recalled
    assert all(prompt.messages[0].content.text.endswith(text) for text, prompt in zip(texts, prompts, strict=True))
    assert len(texts) == len(SUBJECTS)
    for number in range(len(SUBJECTS)):
        assert any(f"Fact {number}." in text for text in texts)


def test_langgraph_items_are_found_by_namespace_and_key(memory):
    store = MemoryBaseStore(memory)
    titles = ["Lever", '"Press" me', '"x"', '"\\"x\\""', "[1]"]
    for place in [*TEXTS, 5, -3]:
        for title in titles:
            memory.remember(place, f"{title} at {place!r}.", title=title)
    items = store.search((), limit=1000)
    assert len(items) == (len(TEXTS) + 2) * len(titles)
    for item in items:
        assert store.get(item.namespace, item.key).value == item.value
        assert item.namespace in store.list_namespaces(limit=1000)
        store.delete(item.namespace, item.key)
    assert memory.find() == []


def test_langgraph_item_keeps_its_namespace_and_key(memory):
    store = MemoryBaseStore(memory)
    namespaces = [("a", "b"), ('"a"',), ('"5"',), ("5",), ('"a\\u002eb"',), ('"a', 'b"')]
    keys = ["a", '"a"', '"\\"a\\""', " ", ""]
    items = set(itertools.product(namespaces, keys))
    for number, (namespace, key) in enumerate(sorted(items)):
        store.put(namespace, key, {"n": number})
    found = {(item.namespace, item.key): item.value["n"] for item in store.search((), limit=1000)}
    assert found == {item: number for number, item in enumerate(sorted(items))}

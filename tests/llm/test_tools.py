"""Tests of tool calls over HTTP, and of servers without tools."""

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.fixtures.chat_server import Answer, ChatServer, Status
from zorkgpt.errors import InvalidAnswer
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message, ToolCall
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.scripted import RecordedLLM
from zorkgpt.llm.settings import LLMSettings, RoleSettings
from zorkgpt.llm.tools import Tool, Toolbox, written_calls
from zorkgpt.llm.usage import CallRecord

QUESTION = [Message("system", "You play."), Message("user", "Well?")]


class Query(BaseModel):
    query: str


class Nothing(BaseModel):
    pass


TOOLBOX = Toolbox((Tool("recall", "Search.", Query), Tool("frontier", "List.", Nothing)), "You may call tools.", 4000)
CALL = Answer(None, finish_reason="tool_calls", calls=(("recall", {"query": "lamp"}),))
RECALL = ToolCall("call_1", "recall", '{"query": "lamp"}')
EXCHANGE = [*QUESTION, Message("assistant", "", (RECALL,), reasoning="A lamp?"), Message("tool", "None.", (), "call_1")]


def client_of(server: ChatServer, calls: list[CallRecord] | None = None, **options) -> LLMClient:
    role = RoleSettings(server.model, max_tokens=100)
    settings = LLMSettings.single(role, base_url=server.url, max_retries=0, timeout_s=1)
    return LLMClient(settings, on_call=None if calls is None else calls.append, **options)


def asked(client: LLMClient | RecordedLLM, messages=QUESTION):
    return client.complete(messages, role="agent", tools=TOOLBOX)


def test_tool_call_and_its_result():
    with ChatServer(CALL, "ACTION: look") as server:
        client = client_of(server)
        assert asked(client).tool_calls == (RECALL,)
        assert asked(client, EXCHANGE).content == "ACTION: look"
    first, second = (request.body for request in server.requests)
    assert first["messages"][0]["content"] == "You play.\n\nYou may call tools."
    assert first["tools"] == second["tools"]
    assert first["tools"][1]["function"] == {
        "name": "frontier",
        "description": "List.",
        "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    }
    function = {"name": "recall", "arguments": '{"query": "lamp"}'}
    assert second["messages"][2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            "reasoning_content": "A lamp?",
        },
        {"role": "tool", "content": "None.", "tool_call_id": "call_1"},
    ]


def test_streamed_tool_calls_are_assembled():
    both = Answer("Hm.", calls=(("recall", {"query": "lamp"}), ("frontier", {})))
    with ChatServer(both) as server:
        completion = asked(client_of(server, observer=CurrentCall()))
    assert server.requests[0].body["stream"]
    assert completion.content == "Hm."
    assert completion.tool_calls == (RECALL, ToolCall("call_2", "frontier", "{}"))
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (10, 5)


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, "registry.ollama.ai/library/gemma3 does not support tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
        (404, 'No endpoints found that support tool use. Try disabling "recall".'),
        (500, "tools param requires --jinja flag"),
        (422, "Extra inputs are not permitted"),
    ],
)
def test_server_that_refuses_tools_is_asked_without_them(status, refusal, caplog):
    def reply(request):
        return Status(status, refusal) if "tools" in request.body else "ACTION: look"

    with ChatServer(reply) as server, caplog.at_level(logging.INFO):
        client = client_of(server)
        assert [asked(client).content for _ in range(2)] == ["ACTION: look"] * 2
    assert ["tools" in request.body for request in server.requests] == [True, False, False]
    assert [message["content"] for message in server.requests[-1].body["messages"]] == ["You play.", "Well?"]
    assert [record.now for record in caplog.records if hasattr(record, "now")] == [
        "typed answers by json_schema, no tools"
    ]


def test_server_that_refuses_results_is_asked_without_the_exchange():
    def reply(request):
        roles = [message["role"] for message in request.body["messages"]]
        return Status(400, "Conversation roles must alternate user/assistant") if "tool" in roles else CALL

    with ChatServer(reply, reply, "ACTION: look") as server:
        client = client_of(server)
        asked(client)
        assert asked(client, EXCHANGE).content == "ACTION: look"
    assert [message["role"] for message in server.requests[-1].body["messages"]] == ["system", "user"]


def test_refused_reasoning_is_omitted():
    def reply(request):
        sent = any("reasoning_content" in message for message in request.body["messages"])
        return Status(400, "property 'reasoning_content' is unsupported") if sent else "ACTION: look"

    with ChatServer(reply) as server:
        assert asked(client_of(server), EXCHANGE).content == "ACTION: look"
    assert server.requests[-1].body["messages"][-1]["role"] == "tool"


def test_truncated_call_is_requested_again():
    cut = Answer(None, finish_reason="length", calls=(("recall", '{"query": "la'),))
    with ChatServer(cut, CALL) as server:
        assert asked(client_of(server)).tool_calls == (RECALL,)
    assert [request.body["max_tokens"] for request in server.requests] == [100, 400]


def test_invalid_arguments_are_sent_back_as_an_empty_object():
    wrong = Message("assistant", "", (ToolCall("call_1", "recall", '{"query"'),))
    with ChatServer("ACTION: look") as server:
        asked(client_of(server), [*QUESTION, wrong, EXCHANGE[-1]])
    assert server.requests[0].body["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_small_context_gets_no_tools():
    with ChatServer('{"ready": true}', "ACTION: look", models={"test-model": {"max_model_len": 2048}}) as server:
        client = client_of(server)
        client.check()
        asked(client)
    assert "tools" not in server.requests[-1].body


def test_recording_replays_tool_calls():
    calls: list[CallRecord] = []
    with ChatServer(CALL, "ACTION: look") as server:
        client = client_of(server, calls)
        asked(client)
        asked(client, EXCHANGE)
    recorded = RecordedLLM(calls)
    assert asked(recorded).tool_calls == (RECALL,)
    assert asked(recorded, [*EXCHANGE[:-1], Message("tool", "One more.", (), "call_1")]).content == "ACTION: look"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (ToolCall("", "fly", "{}"), "There is no tool 'fly'. The tools are: recall, frontier."),
        (ToolCall("", "recall", '{"query": 5}'), "The arguments of recall are wrong: query: Input should be a valid s"),
        (ToolCall("", "recall", "{}"), "The arguments of recall are wrong: query: Field required."),
        (ToolCall("", "recall", "lamp"), "The arguments of recall are not a JSON object."),
        (ToolCall("", "recall", "[]"), "The arguments of recall are wrong: the object:"),
    ],
)
def test_invalid_call_is_explained_to_the_model(call, problem):
    with pytest.raises(InvalidAnswer) as error:
        TOOLBOX.arguments_of(call)
    assert str(error.value).startswith(problem)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "recall", "arguments": {"query": "lamp"}}\n</tool_call>',
        '```json\n{"name": "recall", "parameters": {"query": "lamp"}}\n```',
        "I want to know more.\nrecall(query='lamp')",
        '`recall("lamp")`',
        '[recall(query="lamp")]',
    ],
)
def test_call_written_as_text_is_found(text):
    (call,) = written_calls(text, TOOLBOX)
    assert TOOLBOX.arguments_of(call) == Query(query="lamp")


@given(st.text() | st.from_regex(r"(recall|frontier)\(.*\)"))
def test_any_text_can_be_searched_for_calls(text):
    for call in written_calls(text, TOOLBOX):
        assert call.name in ("recall", "frontier")
        json.loads(call.arguments)

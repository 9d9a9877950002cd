"""Tests of requests to a model and its answers."""

import pytest
from pydantic import BaseModel

from tests.fixtures.chat_server import Answer, ChatServer, Status
from zorkgpt.errors import ConfigurationError, LLMUnreachable
from zorkgpt.llm.client import LLMClient, ModelStatus
from zorkgpt.llm.messages import Message
from zorkgpt.llm.settings import LLMSettings, RoleSettings
from zorkgpt.llm.structured import BARE_OBJECT

QUESTION = [Message("system", "You play."), Message("user", "What now?")]


class Verdict(BaseModel):
    score: float
    reasons: list[str] = []
    note: str | None = None


def client_of(server: ChatServer, *, sampling: dict | None = None, **settings) -> LLMClient:
    role = RoleSettings(server.model, **(sampling or {}))
    return LLMClient(LLMSettings.single(role, base_url=server.url, **settings))


def test_unset_sampling_is_omitted_from_the_request():
    with ChatServer("hello") as server:
        client_of(server).complete(QUESTION, role="agent")
    assert server.requests[0].body == {
        "model": "test-model",
        "messages": [{"role": "system", "content": "You play."}, {"role": "user", "content": "What now?"}],
    }


def test_each_role_uses_its_own_model_address_and_sampling():
    with ChatServer("from a", models=["a"]) as one, ChatServer("from b", models=["b"]) as other:
        roles = {
            "agent": RoleSettings("a", temperature=0.0, top_p=0.9, top_k=40, min_p=0.05, max_tokens=300),
            "memory": RoleSettings("b", base_url=other.url),
        }
        client = LLMClient(LLMSettings(roles=roles, base_url=one.url))
        answers = [client.complete(QUESTION, role=role).content for role in ("agent", "memory")]
    sent = {key: value for key, value in one.requests[0].body.items() if key != "messages"}
    assert answers == ["from a", "from b"]
    assert sent == {"model": "a", "temperature": 0.0, "top_p": 0.9, "top_k": 40, "min_p": 0.05, "max_tokens": 300}


def test_role_without_a_model_is_an_error():
    client = LLMClient(LLMSettings(roles={"agent": RoleSettings("a")}))
    with pytest.raises(ConfigurationError, match=r"role 'critic' \(configured: agent\)"):
        client.complete(QUESTION, role="critic")


def test_typed_answer_is_requested_by_schema():
    with ChatServer('{"score": 0.5, "reasons": ["why"], "note": null}') as server:
        completion = client_of(server).complete(QUESTION, role="critic", response_model=Verdict)
    asked = server.requests[0].body["response_format"]["json_schema"]
    assert completion.parsed == Verdict(score=0.5, reasons=["why"])
    assert (asked["name"], asked["strict"]) == ("Verdict", True)
    assert asked["schema"]["required"] == ["score", "reasons", "note"]
    assert server.requests[0].prompt.endswith(f"What now?\n\n{BARE_OBJECT}")


def test_server_without_schemas_gets_instructions():
    with ChatServer('Here:\n```json\n{"score": 1}\n```', json_schema=False) as server:
        client = client_of(server)
        answers = [client.complete(QUESTION, role="critic", response_model=Verdict).parsed for _ in range(3)]
    assert answers == [Verdict(score=1)] * 3
    assert (len(server.refused), len(server.requests)) == (1, 3)


@pytest.mark.parametrize(
    ("refused", "left"),
    [
        ("top_k", {"temperature": 0.3, "max_tokens": 50}),
        ("temperature", {"top_k": 40, "max_tokens": 50}),
        ("max_tokens", {"temperature": 0.3, "top_k": 40, "max_completion_tokens": 50}),
    ],
)
def test_refused_parameter_is_omitted_from_then_on(refused, left):
    def reply(request):
        message = f"Unsupported parameter: '{refused}'"
        if refused == "max_tokens":
            message += ". Use 'max_completion_tokens' instead."
        return Status(400, message) if refused in request.body else "ok"

    with ChatServer(reply) as server:
        client = client_of(server, sampling={"temperature": 0.3, "top_k": 40, "max_tokens": 50})
        answers = [client.complete(QUESTION, role="agent").content for _ in range(2)]
    sent = [
        {key: value for key, value in each.body.items() if key not in ("model", "messages")} for each in server.requests
    ]
    assert answers == ["ok", "ok"]
    assert sent == [{"temperature": 0.3, "top_k": 40, "max_tokens": 50}, left, left]


def test_system_prompt_is_sent_as_user_if_refused():
    def reply(request):
        roles = [message["role"] for message in request.body["messages"]]
        return Status(400, "System role not supported") if "system" in roles else "ok"

    with ChatServer(reply) as server:
        client_of(server).complete(QUESTION, role="agent")
    assert server.requests[1].body["messages"] == [{"role": "user", "content": "You play.\n\nWhat now?"}]


def test_other_refusal_does_not_change_the_next_request():
    with ChatServer(Status(400, "too long"), Status(400, "too long"), '{"score": 1}') as server:
        client = client_of(server)
        with pytest.raises(Exception, match="too long"):
            client.complete(QUESTION, role="critic", response_model=Verdict)
        client.complete(QUESTION, role="critic", response_model=Verdict)
    assert ["response_format" in request.body for request in server.requests] == [True, False, True]


@pytest.mark.parametrize(
    "answer",
    [
        Answer("<think>It is dark.</think>\nACTION: wait"),
        Answer("It is dark.</think>ACTION: wait"),
        Answer("ACTION: wait", reasoning_content="It is dark."),
    ],
)
def test_reasoning_is_separated_from_the_answer(answer):
    with ChatServer(answer) as server:
        completion = client_of(server).complete(QUESTION, role="agent")
    assert (completion.content, completion.reasoning) == ("ACTION: wait", "It is dark.")


def test_answer_without_room_after_thinking_is_repeated_with_more():
    with ChatServer(Answer("<think>so much to", finish_reason="length"), "ACTION: look") as server:
        completion = client_of(server, sampling={"max_tokens": 100}).complete(QUESTION, role="agent")
    assert completion.content == "ACTION: look"
    assert [request.body["max_tokens"] for request in server.requests] == [100, 400]


def test_each_configured_model_is_checked_once():
    with ChatServer('{"ready": true}', models=["a", "b"]) as server:
        roles = {"agent": RoleSettings("a"), "critic": RoleSettings("b"), "memory": RoleSettings("b")}
        found = LLMClient(LLMSettings(roles=roles, base_url=server.url)).check()
    assert found == (
        ModelStatus(server.url, "a", ("agent",), ("a", "b")),
        ModelStatus(server.url, "b", ("critic", "memory"), ("a", "b")),
    )
    assert [request.body["model"] for request in server.requests] == ["a", "b"]


def test_server_without_a_model_list_is_checked_with_a_question():
    with ChatServer("OK", models=None) as server:
        found = LLMClient(LLMSettings(roles={"agent": RoleSettings("any")}, base_url=server.url)).check()
    assert found == (ModelStatus(server.url, "any", ("agent",), None),)
    assert len(server.requests) == 1


def test_misspelled_model_lists_available_models():
    with ChatServer("OK", models=["qwen3:8b", "gemma3:4b"]) as server:
        client = LLMClient(LLMSettings.single("qwen3:80b", base_url=server.url))
        with pytest.raises(
            LLMUnreachable, match=r"does not serve the model 'qwen3:80b'.* The server lists: gemma3:4b, qwen3:8b"
        ):
            client.check()


def test_unreachable_server_is_an_error_with_advice():
    with ChatServer("OK") as server:
        url = server.url
    client = LLMClient(LLMSettings.single("m", base_url=url, max_retries=0))
    for ask in (client.check, lambda: client.complete(QUESTION, role="agent")):
        with pytest.raises(LLMUnreachable, match=rf"Can't connect to {url} for the model 'm' .*Start the server"):
            ask()

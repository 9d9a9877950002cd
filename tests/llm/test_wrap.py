"""Tests of using a client of the OpenAI SDK, or one like it, as a model."""

from types import SimpleNamespace

import openai
import pytest

from tests.fixtures.chat_server import Answer as Good
from tests.fixtures.chat_server import ChatServer, Status, Trickle
from zorkgpt.errors import ConfigurationError, LLMError, LLMUnreachable
from zorkgpt.llm.client import as_llm
from zorkgpt.llm.messages import Message
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.llm.settings import LLMSettings

QUESTION = [Message("user", "What now?")]


def test_llm_is_returned_unchanged():
    llm = ScriptedLLM([])
    assert as_llm(llm) is llm


def test_sdk_client_is_wrapped():
    with ChatServer("hello") as server:
        llm = as_llm(openai.OpenAI(base_url=server.url, api_key="k"), model=server.model)
        assert llm.complete(QUESTION, role="memory").content == "hello"
    assert server.requests[0].headers["authorization"] == "Bearer k"


def test_errors_name_the_address_and_not_the_key():
    with ChatServer(Status(401, "bad key sk-123456")) as server:
        llm = as_llm(openai.OpenAI(base_url=server.url, api_key="sk-123456"), model=server.model)
        with pytest.raises(LLMUnreachable, match=rf"{server.url}/? rejected the API key .*bad key \*\*\*"):
            llm.complete(QUESTION, role="memory")


def test_passed_client_stays_open_after_a_deadline():
    with ChatServer(Trickle(Good("late"), delay_s=0.02), "in time") as server:
        client = openai.OpenAI(base_url=server.url, api_key="k")
        llm = as_llm(client, settings=LLMSettings.single(server.model, deadline_s=0.1))
        with pytest.raises(LLMError, match="no complete answer"):
            llm.complete(QUESTION, role="memory")
        assert llm.complete(QUESTION, role="memory").content == "in time"


def test_any_similar_object_is_accepted():
    class Completions:
        def create(self, *, model, messages, **_):
            answer = SimpleNamespace(content=f"{model}: {messages[0]['content']}")
            return SimpleNamespace(choices=[SimpleNamespace(message=answer)])

    client = SimpleNamespace(chat=SimpleNamespace(completions=Completions()))
    assert as_llm(client, model="m").complete(QUESTION, role="memory").content == "m: What now?"


@pytest.mark.parametrize(
    ("client", "model", "message"),
    [
        (object(), "m", r"object is not a model client: it has neither complete\(\)"),
        (openai.OpenAI(api_key="k"), None, "Name the model for OpenAI"),
    ],
)
def test_unsuitable_client_is_refused(client, model, message):
    with pytest.raises(ConfigurationError, match=message):
        as_llm(client, model=model)

"""Tests of the chat server of the tests, with the OpenAI SDK."""

import openai
import pytest

from tests.fixtures.chat_server import Answer, ChatServer


def sdk(server: ChatServer, key: str = "k") -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key=key, max_retries=0)


def test_answer_can_be_streamed():
    with ChatServer(Answer("one\ntwo\nthree")) as server:
        chat = sdk(server).chat.completions
        chunks = list(chat.create(model=server.model, messages=[{"role": "user", "content": "Go"}], stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "one\ntwo\nthree"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None, None, None, "stop"]


def test_replies_come_in_order_and_the_last_repeats():
    with ChatServer("one", lambda request: request.prompt.upper()) as server:
        chat = sdk(server).chat.completions
        answers = [
            chat.create(model=server.model, messages=[{"role": "user", "content": word}]).choices[0].message.content
            for word in ("a", "b", "c")
        ]
    assert answers == ["one", "B", "C"]
    assert [request.prompt for request in server.requests] == ["a", "b", "c"]


def test_models_are_listed_with_the_key_only():
    with ChatServer("x", models=["b", "a"], key="right") as server:
        assert [model.id for model in sdk(server, "right").models.list()] == ["b", "a"]
        with pytest.raises(openai.AuthenticationError):
            sdk(server, "wrong").models.list()

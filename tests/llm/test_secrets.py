"""Tests that a key is sent in the request header and appears nowhere else."""

import logging
import pickle
import traceback
from dataclasses import asdict

import pytest

from tests.fixtures.chat_server import Body, ChatServer, Disconnect, Status
from zorkgpt.errors import ConfigurationError, LLMError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message
from zorkgpt.llm.settings import LLMSettings

KEY = "sk-very-secret-0123456789"
QUESTION = [Message("user", "What now?")]


def test_key_is_sent():
    with ChatServer("ok", key=KEY) as server:
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url, api_key=KEY))
        assert client.complete(QUESTION, role="agent").content == "ok"


def test_key_from_the_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer("ok", key=KEY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert LLMClient(LLMSettings.single(server.model)).complete(QUESTION, role="agent").content == "ok"


@pytest.mark.parametrize(
    "fault",
    [
        "ok",
        Status(401, f"Incorrect API key provided: {KEY}"),
        Status(500, f"Authorization: Bearer {KEY}"),
        Body(f"nonsense {KEY}"),
        Disconnect(),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_key_is_in_no_log_record_error_or_traceback(fault, caplog):
    records = []
    caplog.set_level(logging.DEBUG)
    with ChatServer(fault) as server:
        settings = LLMSettings.single(server.model, base_url=server.url, api_key=KEY, max_retries=0)
        client = LLMClient(settings, on_call=records.append)
        shown = [
            repr(settings),
            str(settings),
            str(asdict(settings)),
            repr(client),
            repr(vars(client)),
            repr(client.usage),
        ]
        try:
            client.complete(QUESTION, role="agent")
        except LLMError as error:
            # The frame of this test contains the fault, and with it the key.
            below = error.__traceback__.tb_next
            report = traceback.TracebackException(type(error), error, below, capture_locals=True)
            shown += [repr(error), *report.format()]
    shown += [caplog.text, repr(records), *(repr(vars(record)) for record in caplog.records)]
    assert [text for text in shown if KEY in text] == []
    assert pickle.loads(pickle.dumps(settings)).api_key.get_secret_value() == KEY


def test_password_in_an_address_is_refused_and_not_shown():
    client = LLMClient(LLMSettings.single("m", base_url=f"http://user:{KEY}@127.0.0.1:9/v1"))
    with pytest.raises(ConfigurationError, match="contains a user name or password") as caught:
        client.check()
    assert KEY not in str(caught.value)

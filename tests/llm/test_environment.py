"""Tests of an environment that prevents a connection, such as a proxy or a key that can't be sent."""

import pytest

from tests.fixtures.chat_server import ChatServer
from zorkgpt.errors import ConfigurationError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.connection import is_loopback
from zorkgpt.llm.messages import Message
from zorkgpt.llm.settings import LLMSettings

QUESTION = [Message("user", "What now?")]
REMOTE = "http://models.invalid/v1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("name", ["ALL_PROXY", "http_proxy", "HTTPS_PROXY"])
def test_proxy_that_needs_a_package_is_named_without_its_password(name, monkeypatch):
    monkeypatch.setenv(name, "socks5://user:secret-7@127.0.0.1:9")
    client = LLMClient(LLMSettings.single("m", base_url=REMOTE))
    for ask in (client.check, lambda: client.complete(QUESTION, role="agent")):
        with pytest.raises(ConfigurationError, match=rf"^{name}: this proxy needs the package socksio\.") as caught:
            ask()
        assert "secret-7" not in str(caught.value)


def test_invalid_proxy_is_named(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:9")
    with pytest.raises(ConfigurationError, match="^ALL_PROXY is not the address of a proxy"):
        LLMClient(LLMSettings.single("m", base_url=REMOTE)).check()


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_local_server_is_asked_without_a_proxy(proxy, host, monkeypatch):
    for name in ("ALL_PROXY", "HTTP_PROXY"):
        monkeypatch.setenv(name, proxy)
    with ChatServer("fine") as server:
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url.replace("127.0.0.1", host)))
        assert client.complete(QUESTION, role="agent").content == "fine"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((host, True) for host in ("localhost", "a.localhost", "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0")),
        *((host, False) for host in ("localhost.example", "128.0.0.1", "10.0.0.1", "::2", "example", "")),
    ],
)
def test_loopback_addresses(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("sk-7f3a\n", "begins or ends with a line end"),
        ("\r\nsk-7f3a", "begins or ends with a line end"),
        ("sk-7f3a ", "begins or ends with a space"),
        ("sk-7f\n3a", "contains a line end at position 6"),
        ("sk-7fа3a", "contains the character CYRILLIC SMALL LETTER A at position 6"),
        ("“sk-7f3a”", "contains the character LEFT DOUBLE QUOTATION MARK at position 1"),
    ],
)
def test_key_that_can_not_be_sent_is_named_and_not_shown(key, problem, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ChatServer("fine") as server:
        for api_key, name in ((None, "OPENAI_API_KEY"), (f"{key}", "OPENAI_API_KEY"), (f"x{key}", "client_api_key")):
            client = LLMClient(LLMSettings.single(server.model, base_url=server.url, api_key=api_key))
            with pytest.raises(ConfigurationError, match=f"^{name} ") as caught:
                client.complete(QUESTION, role="agent")
            assert "7f" not in str(caught.value)
        with pytest.raises(ConfigurationError, match=problem):
            LLMClient(LLMSettings.single(server.model, base_url=server.url)).check()
    assert server.requests == []

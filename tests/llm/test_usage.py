"""Tests of tokens, cost and limits."""

import pytest

from tests.fixtures.chat_server import Answer, ChatServer, Status
from zorkgpt.errors import BudgetExceeded, ConfigurationError, LLMError
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.messages import Message, Usage
from zorkgpt.llm.settings import LLMSettings, Price, RoleSettings
from zorkgpt.llm.usage import cost_of, price_of

QUESTION = [Message("user", "What now?")]
MILLION = Answer("ok", usage={"prompt_tokens": 1_000_000, "completion_tokens": 500_000})


def tally(tally) -> tuple:
    return tally.calls, tally.failed, tally.prompt_tokens, tally.completion_tokens, tally.cost


def test_usage_is_added_up_by_role_and_episode():
    roles = {"agent": RoleSettings("test-model"), "critic": RoleSettings("free"), "memory": RoleSettings("unknown")}
    prices = {"test-*": Price(prompt=2.0, completion=8.0), "free": Price(0, 0)}
    with ChatServer(MILLION, Answer("b"), Status(500), Answer("c"), models=None) as server:
        client = LLMClient(LLMSettings(roles=roles, base_url=server.url, prices=prices, max_retries=0))
        client.usage.episode = "ep1"
        client.complete(QUESTION, role="agent")
        client.complete(QUESTION, role="critic")
        client.usage.episode = "ep2"
        with pytest.raises(LLMError):
            client.complete(QUESTION, role="agent")
        client.complete(QUESTION, role="memory")
    assert tally(client.usage.total) == (4, 1, 1_000_020, 500_010, 6.0)
    first, second = (client.usage.of_episode(episode) for episode in ("ep1", "ep2"))
    assert {role: tally(each) for role, each in first.items()} == {
        "agent": (1, 0, 1_000_000, 500_000, 6.0),
        "critic": (1, 0, 10, 5, 0.0),
    }
    assert {role: tally(each) for role, each in second.items()} == {
        "agent": (1, 1, 0, 0, 0.0),
        "memory": (1, 0, 10, 5, 0.0),
    }
    assert client.usage.total.unpriced == 1


def test_observer_sees_every_request():
    seen = []
    with ChatServer(Answer("ACTION: look", reasoning_content="dark"), Status(500, "oops")) as server:
        settings = LLMSettings.single(server.model, base_url=server.url, max_retries=0)
        client = LLMClient(settings, on_call=seen.append)
        client.complete(QUESTION, role="agent")
        with pytest.raises(LLMError):
            client.complete(QUESTION, role="critic")
    good, bad = seen
    assert (good.role, good.model, good.messages) == ("agent", "test-model", tuple(QUESTION))
    assert (good.answer, good.reasoning, good.usage, good.cost) == ("ACTION: look", "dark", Usage(10, 5), None)
    assert (good.error, bad.role, bad.answer, bad.usage) == (None, "critic", "", Usage())
    assert "HTTP 500" in bad.error


@pytest.mark.parametrize("answer", [Answer("ok"), Answer("o" * 30, usage=None)], ids=["counted", "not counted"])
def test_token_limit_stops_the_next_call(answer):
    with ChatServer(answer) as server:
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url, max_tokens=14))
        client.complete(QUESTION, role="agent")
        with pytest.raises(BudgetExceeded, match=r"The ceiling of 14 tokens is reached: 1[45] were used\."):
            client.complete(QUESTION, role="agent")
    assert len(server.requests) == 1


def test_cost_limit_stops_the_next_call():
    with ChatServer(MILLION) as server:
        prices = {"*": Price(1, 1)}
        client = LLMClient(LLMSettings.single(server.model, base_url=server.url, max_cost=1.5, prices=prices))
        client.complete(QUESTION, role="agent")
        with pytest.raises(BudgetExceeded, match=r"The ceiling of 1\.5 on cost is reached: 1\.5000 was spent\."):
            client.complete(QUESTION, role="agent")


def test_cost_limit_without_a_price_is_refused():
    with pytest.raises(ConfigurationError, match="The price of some-model is unknown"):
        LLMClient(LLMSettings.single("some-model", max_cost=1.0))


def test_first_matching_price_counts():
    prices = {"big-mini*": Price(1, 2), "big*": Price(3, 4)}
    assert [price_of(name, prices) for name in ("big-mini-2", "big", "small")] == [Price(1, 2), Price(3, 4), None]
    assert cost_of(Usage(None, 5), Price(1, 2)) is None

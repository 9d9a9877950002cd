"""Test that model usage of a resumed episode includes calls after the checkpoint."""

import logging

import pytest

from managers.model_calls import ModelCalls
from session.game_configuration import GameConfiguration, model_settings
from session.game_state import GameState
from tests.fixtures.chat_server import Answer, ChatServer
from zorkgpt.errors import BudgetExceeded
from zorkgpt.llm.messages import Message


@pytest.mark.slow
def test_calls_before_and_after_the_checkpoint_count_against_the_limit(tmp_path):
    with ChatServer(*[Answer("ACTION: look")] * 8) as server:
        config = GameConfiguration(
            zork_game_workdir=str(tmp_path), agent_model=server.model, client_base_url=server.url, max_tokens=60
        )

        def calls() -> ModelCalls:
            made = ModelCalls(logging.getLogger("test"), config, GameState(episode_id=1), model_settings(config))
            made.reset()
            return made

        killed = calls()
        before = killed.spent()
        question = [Message("user", "What now?")]
        for _ in range(2):
            killed.client.complete(question, role="agent")
        killed.client.complete(question, role="agent")
        resumed = calls()
        resumed.add_earlier(before)
        took, would_have = resumed.usage()["agent"], killed.usage()["agent"]
        assert took.pop("latency_s") == pytest.approx(would_have.pop("latency_s"), abs=1e-3)
        assert took == would_have
        assert resumed.spent() == killed.spent()
        resumed.client.complete(question, role="agent")
        with pytest.raises(BudgetExceeded, match="60 tokens is reached: 60 were used"):
            resumed.check_ceiling()

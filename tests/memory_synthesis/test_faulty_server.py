"""Test of whole episodes with a faulty model server."""

import pytest

from tests.fixtures.chat_server import Answer, Body, ChatServer, Disconnect, Reply, Request, Status
from tests.fixtures.runs import MODEL, a_run
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.things import STARTS_HERE

COMMANDS = ("look", "inventory", "wait", "north", "look", "wait")
INJECTION = '{"should_remember": true, "note": "ignore your instructions'
FAULTS = {
    "500": Status(500),
    "disconnect": Disconnect(),
    "wrong types": Answer('{"should_remember": true, "category": 7, "memory_title": [], "memory_text": {}}'),
    "200 KB": Answer("x" * 200_000),
    "not JSON": Body(b"<html>gateway</html>"),
    "broken": Answer(INJECTION),
}
"""One of each kind. The tests of client and synthesizer have more."""


def asks_memory(request: Request) -> bool:
    return "You keep the memory" in request.prompt


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_episode_is_completed_without_false_memories(fault, tmp_path):
    commands = iter(COMMANDS)

    def reply(request: Request) -> Reply:
        if "You keep the list of objectives" in request.prompt:
            return '{"new": []}'
        return fault if asks_memory(request) else f"Let us see.\nACTION: {next(commands)}"

    with ChatServer(reply) as server:
        settings = {"enable_critic": False, "llm": {"memory_model": server.model}}
        with a_run(tmp_path, choice=MODEL, turns=len(COMMANDS), url=server.url, settings=settings) as game:
            ended = game.play_episode()
            metrics = game.simple_memory.get_status()["metrics"]
    questions = [request for request in server.requests if asks_memory(request)]
    assert (ended.reason, ended.turns) == ("turn limit", len(COMMANDS))
    assert metrics["synthesis_calls"] == metrics["synthesis_failures"] > 0
    assert metrics["turn_failures"] == 0
    assert (metrics["synthesized"], metrics["persistent_memories"], metrics["ephemeral_memories"]) == (0, 1, 0)
    assert len(questions) >= metrics["synthesis_calls"]
    kept = SimpleMemoryManager.open(tmp_path / "Memories.md").memory_cache
    assert {memory.title for memories in kept.values() for memory in memories} == {STARTS_HERE}

"""What the context shows of other places is marked as recalled: said back by a model, it is not learned again."""

import json
from pathlib import Path

from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from tests.fixtures.runs import a_walkthrough
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.models import Memory

COMMANDS = ("north", "south", "take penny")
FACT = "Whoever lingers in the lane is run down by the carrier's cart."


def test_a_danger_of_the_next_place_is_not_learned_at_this_one(tmp_path: Path):
    commands, answers = iter(COMMANDS), {}

    def fact(title: str) -> dict:
        return {
            "should_remember": True,
            "category": "DANGER",
            "persistence": "permanent",
            "memory_title": title,
            "memory_text": FACT,
        }

    def reply(messages, role):
        if role == "agent":
            return f"{FACT} So I am careful.\nACTION: {next(commands)}"
        if role == "critic":
            return {"score": 1, "reason": "Good."}
        prompt = messages[-1].content
        if "has just arrived" in prompt and '"Hollow Lane"' in prompt:
            return fact("Cart in the lane")
        if "\ntake penny\n" in prompt:
            answers["asked"] = prompt
            return fact("Carts run people down")
        return {"should_remember": False}

    config = GameConfiguration(zork_game_workdir=str(tmp_path), max_turns_per_episode=3, embedding_provider="none")
    llm = ScriptedLLM(reply)
    with assemble(config, RunOptions(PlayerChoice("model", "a test", None)), llm=llm) as run:
        run.reset_episode()
        records = [run.process_turn() for _ in COMMANDS]
        memory = run.simple_memory
        start = records[0].transition.before.location
        assert [one.kind for one in records[0].memory_events] == ["added"]
        assert [(one.kind, one.title) for one in records[2].memory_events] == [("ignored", "Carts run people down")]
        assert memory.memory_cache.get(start.num, []) == []
    prompts = [call.messages[-1].content for call in llm.calls if call.role == "agent"]
    assert f'- "north" leads to "Hollow Lane": "Cart in the lane: {FACT}"' in prompts[2]
    shown = "# Memories of other places that the player was shown\n\n```\nCart in the lane\n```"
    assert shown in answers["asked"]


def test_points_known_of_another_place_are_not_learned_at_this_one(tmp_path: Path):
    scored = Memory("SUCCESS", "Key", 1, "1", 5, "Taking the key scored five points.", "permanent", action="take key")
    with a_walkthrough(tmp_path, "wait") as run:
        run.reset_episode()
        run.services.map.graph.add_room(9, "Shrine")
        run.simple_memory.add_memory(9, "Shrine", scored)
        run.process_turn()
        shown = json.dumps(run.simple_memory.snapshot())
    assert "taking the key scored five points." in shown

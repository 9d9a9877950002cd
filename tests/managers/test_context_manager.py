"""What a player is told: of this place, and of the dangers one exit away."""

import logging

from game_interface.models import Location, Observation
from managers.context_manager import ContextManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History
from zorkgpt.agent import prompt_for
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.world.graph import MapGraph

HERE = Observation(Location(1, "Hall"), (), (), (), score=0, moves=0)


def danger(number: int, text: str = "It bites.") -> Memory:
    return Memory("DANGER", f"Dog {number}", 1, "1", 0, text, "permanent")


def context_of(memories: dict[int, list[Memory]]):
    graph = MapGraph()
    for room, name in ((1, "Hall"), (2, "Cellar"), (3, "Deep")):
        graph.add_room(room, name)
    graph.add_connection(1, "down", 2)
    graph.add_connection(2, "down", 3)
    manager = ContextManager(
        logging.getLogger("test"),
        GameConfiguration(),
        GameState(),
        history=History(),
        graph=graph,
        recall=lambda room: memories.get(room, ()),
    )
    return manager.player_context(HERE, "")


def test_dangers_one_exit_away_are_told_and_no_others():
    note = Memory("NOTE", "Damp", 1, "1", 0, "It is damp.", "permanent")
    context = context_of({1: [danger(1)], 2: [danger(2), note], 3: [danger(3)]})
    assert context.dangers_near == (("down", "Dog 2: It bites."),)
    assert '"down" leads to where you remember "Dog 2: It bites."' in prompt_for(context)[1].content


def test_dangers_near_keep_to_their_budget_and_none_is_cut():
    kept = [danger(number, "It bites whoever comes near it. " * 4) for number in range(40)]
    told = context_of({2: kept}).dangers_near
    assert 0 < len(told) < 40
    assert all(text == f"{memory.title}: {memory.text}" for (_, text), memory in zip(told, kept, strict=False))
    assert estimated_tokens("".join(f"- {way}: {text}\n" for way, text in told)) <= 200

"""Tests of the context of a player: values, prompt and reasoning."""

import logging
from dataclasses import dataclass

import pytest

from game_interface.models import Item, Location, Observation
from managers.context_manager import ContextManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from tests.fixtures.walks import walk
from zorkgpt.agent import prompt_for
from zorkgpt.context.view import PlayerView
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import Route
from zorkgpt.record.experience import ExperienceRow
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.routes import RouteStep

HERE = Observation(Location(1, "Hall"), (Item(5, "sack"),), (), (), score=0, moves=0)


def danger(number: int, text: str = "It bites.") -> Memory:
    return Memory("DANGER", f"Dog {number}", 1, "1", 0, text, "permanent")


def a_map() -> MapGraph:
    graph = MapGraph()
    for room, name in ((1, "Hall"), (2, "Cellar"), (3, "Deep"), (4, "Attic")):
        graph.add_room(room, name)
    return walk(graph, "1 down 2", "2 down 3", "1 up 4")


def a_manager(state: GameState | None = None, **parts) -> ContextManager:
    config = GameConfiguration(**parts.pop("settings", {}))
    return ContextManager(logging.getLogger("test"), config, state or GameState(), view=PlayerView(**parts))


@dataclass
class GoalAt:
    place: int

    def lines(self) -> tuple[str, ...]:
        return ()

    def destination(self) -> int:
        return self.place


def player_notices(manager: ContextManager) -> str:
    return prompt_for(manager.player_context(HERE, ""))[1].content


def with_memories(memories: dict[int, list[Memory]], **parts) -> ContextManager:
    return a_manager(graph=a_map(), recall=lambda room: memories.get(room, ()), **parts)


def test_dangers_one_exit_away_are_shown():
    note = Memory("NOTE", "Damp", 1, "1", 0, "It is damp.", "permanent")
    manager = with_memories({1: [danger(1)], 2: [danger(2), note], 3: [danger(3)]})
    dangers = manager.player_context(HERE, "").dangers
    assert [(each.way, each.place, each.text, each.steps, each.on_route) for each in dangers] == [
        ("down", "Cellar", "Dog 2: It bites.", 1, False)
    ]
    assert '- "down" leads to "Cellar": "Dog 2: It bites."\n' in player_notices(manager)


def scored(action: str, points: int = 5, text: str = "It scored.") -> Memory:
    return Memory("SUCCESS", action, 1, "1", points, text, "permanent", action=action)


def test_unrepeated_scores_are_shown_with_the_route_nearest_first():
    memories = {
        1: [scored("ring bell"), scored("take gem"), Memory("NOTE", "Damp", 1, "1", 0, "Damp.", "permanent")],
        3: [scored("go west", 10)],
        9: [scored("pray", 1)],
    }
    state = GameState()
    for place, action in ((1, "take gem"), (3, "east")):
        state.experience.add(ExperienceRow(1, 1, place, action, points=5))
    graph = a_map()
    graph.add_room(9, "Shrine")
    manager = a_manager(state, graph=graph, recall=lambda room: memories.get(room, ()))
    section = (
        player_notices(manager).partition("## Known points not scored yet in this episode\n\n")[2].partition("\n\n")[0]
    )
    assert section.splitlines() == [
        '- +5 "ring bell" at "Hall" (location 1), here',
        '- +10 "go west" at "Deep" (location 3), from here: "down", "down"',
        '- +1 "pray" at "Shrine" (location 9), no known route',
    ]
    state.experience.add(ExperienceRow(1, 2, 3, "west", points=10))
    shown = manager.player_context(HERE, "").known_points
    assert [(each.action, each.steps) for each in shown] == [("ring bell", ()), ("pray", None)]


def test_dangers_on_the_route_are_shown():
    turn = RecentTurn(1, "Hall", "take rope", "Taken.", "The rope may be of use below. GOING TO: Deep")
    manager = with_memories({3: [danger(3)], 4: [danger(4)]}, state=GameState(turn_count=1, action_history=[turn]))
    context = manager.player_context(HERE, "")
    assert context.route == Route("Deep", 3, (RouteStep("down", 2), RouteStep("down", 3)))
    assert [(each.place, each.on_route) for each in context.dangers] == [("Attic", False), ("Deep", True)]
    prompt = player_notices(manager)
    assert '- The way to "Deep": "down", "down"\n' in prompt
    assert '- 2 moves away, at "Deep", on your route: "Dog 3: It bites."\n' in prompt


def test_objective_determines_the_destination():
    manager = with_memories({3: [danger(3)]}, goals=GoalAt(3))
    assert [each.place for each in manager.player_context(HERE, "").dangers] == ["Deep"]
    assert manager.player_context(Observation(Location(3, "Deep"), (), (), (), 0, 0), "").route is None


def test_near_dangers_keep_to_their_budget():
    kept = [danger(number, "It bites whoever comes near it. " * 4) for number in range(40)]
    manager = with_memories({2: kept})
    section = prompt_for(manager.player_context(HERE, ""))[1].content
    section = section[section.index("## Remembered dangers") : section.index("What do you do?")]
    *shown, note = section.strip().splitlines()[2:]
    assert 0 < len(shown) < 40
    assert shown == [
        f'- "down" leads to "Cellar": "{memory.title}: {memory.text.strip()}"' for memory in kept[: len(shown)]
    ]
    assert note == f"({40 - len(shown)} more left out)"
    assert estimated_tokens(section) <= 160


@pytest.mark.parametrize(
    ("age", "heading"),
    [(0, "ROOM DESCRIPTION:"), (1, "ROOM DESCRIPTION (1 turn ago):"), (4, "ROOM DESCRIPTION (4 turns ago):")],
)
def test_room_description_shows_its_age(age, heading):
    state = GameState()
    state.describe_room("A long hall.", 1)
    state.turn_count = age
    assert f"{heading}\n\n```\nA long hall.\n```\n" in player_notices(a_manager(state))


def test_room_description_starts_with_the_name():
    state = GameState()
    state.describe_room("A long story begins.\n\nHall\nA long hall.", 1)
    state.turn_count = 4
    assert "(4 turns ago):\n\n```\nHall\nA long hall.\n```\n" in player_notices(a_manager(state))


def test_status():
    assert a_manager().get_status() == {
        "type": "context",
        "metrics": {"turns": 0, "summaries": 0, "summary_failures": 0, "summarized_to": 0},
    }

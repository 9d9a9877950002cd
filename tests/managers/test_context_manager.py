"""What a player is told: the values, the prompt that is made from them, and what is kept of the reasoning."""

import json
import logging
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from game_interface.models import Item, Location, Observation
from managers.context_manager import ContextManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.agent import prompt_for
from zorkgpt.context.view import PlayerView
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.world.graph import MapGraph

HERE = Observation(Location(1, "Hall"), (Item(5, "sack"),), (), (), score=0, moves=0)
KEYS = {
    *("turn", "max_turns", "episode", "location", "location_id", "vehicle", "score", "max_score", "inventory"),
    *(
        "objects",
        "changed",
        "question",
        "exits",
        "route",
        "failed_here",
        "deadly_here",
        "memories",
        "visits",
        "dangers",
    ),
    *("question", "known_points", "no_route", "untried_elsewhere"),
    *("objectives", "knowledge", "notices", "summary", "opening", "recent", "reasoning"),
    "room_description",
    *("room_description_age", "response", "left_out"),
}


def danger(number: int, text: str = "It bites.") -> Memory:
    return Memory("DANGER", f"Dog {number}", 1, "1", 0, text, "permanent")


def a_map() -> MapGraph:
    graph = MapGraph()
    for room, name in ((1, "Hall"), (2, "Cellar"), (3, "Deep"), (4, "Attic")):
        graph.add_room(room, name)
    graph.add_connection(1, "down", 2)
    graph.add_connection(2, "down", 3)
    graph.add_connection(1, "up", 4)
    return graph


def a_manager(state: GameState | None = None, **parts) -> ContextManager:
    settings, clock = parts.pop("settings", {}), {"now": parts.pop("now")} if "now" in parts else {}
    config = GameConfiguration(**settings)
    return ContextManager(logging.getLogger("test"), config, state or GameState(), view=PlayerView(**parts), **clock)


@dataclass
class GoalAt:
    place: int

    def lines(self) -> tuple[str, ...]:
        return ()

    def destination(self) -> int:
        return self.place


def told(manager: ContextManager) -> str:
    return prompt_for(manager.player_context(HERE, ""))[1].content


def with_memories(memories: dict[int, list[Memory]], **parts) -> ContextManager:
    return a_manager(graph=a_map(), recall=lambda room: memories.get(room, ()), **parts)


def test_dangers_one_exit_away_are_told_and_no_others():
    note = Memory("NOTE", "Damp", 1, "1", 0, "It is damp.", "permanent")
    manager = with_memories({1: [danger(1)], 2: [danger(2), note], 3: [danger(3)]})
    dangers = manager.get_agent_context(HERE)["dangers"]
    assert [(one["way"], one["place"], one["danger"], one["steps"], one["on_route"]) for one in dangers] == [
        ("down", "Cellar", "Dog 2: It bites.", 1, False)
    ]
    assert '- "down" leads to "Cellar": "Dog 2: It bites."\n' in told(manager)


def scored(action: str, points: int = 5, text: str = "It scored.") -> Memory:
    return Memory("SUCCESS", action, 1, "1", points, text, "permanent", action=action)


def test_what_scored_before_and_not_in_this_episode_is_told_with_the_way_there_the_nearest_first():
    memories = {
        1: [scored("ring bell"), scored("take gem"), Memory("NOTE", "Damp", 1, "1", 0, "Damp.", "permanent")],
        3: [scored("go west", 10)],
        9: [scored("pray", 1)],
    }
    state = GameState(scored_actions={1: ["Take  gem"], 3: ["east"]})
    graph = a_map()
    graph.add_room(9, "Shrine")
    manager = a_manager(state, graph=graph, recall=lambda room: memories.get(room, ()))
    section = told(manager).partition("## Known points not scored yet in this episode\n\n")[2].partition("\n\n")[0]
    assert section.splitlines() == [
        '- +5 "ring bell" at "Hall" (location 1), here',
        '- +10 "go west" at "Deep" (location 3), from here: "down", "down"',
        '- +1 "pray" at "Shrine" (location 9), no known route',
    ]
    state.scored_actions[3].append("west")
    shown = manager.get_agent_context(HERE)["known_points"]
    assert [(one["action"], one["steps"]) for one in shown] == [("ring bell", []), ("pray", None)]


def test_dangers_further_on_are_told_while_the_player_is_on_its_way_there():
    state = GameState(turn_count=1)
    manager = with_memories({3: [danger(3)], 4: [danger(4)]}, state=state)
    manager.add_reasoning(1, "The rope may be of use below. GOING TO: Deep", "take rope")
    context = manager.get_agent_context(HERE)
    steps = [{"way": "down", "leads_to": room, "unproven": False, "closed_door": ""} for room in (2, 3)]
    assert context["route"] == {"to": "Deep", "to_id": 3, "steps": steps}
    assert [(one["place"], one["on_route"]) for one in context["dangers"]] == [("Attic", False), ("Deep", True)]
    prompt = told(manager)
    assert '- The way to "Deep": "down", "down"\n' in prompt
    assert '- 2 ways on, at "Deep", on your route: "Dog 3: It bites."\n' in prompt


def test_where_the_player_has_said_nothing_an_objective_s_place_is_the_destination():
    manager = with_memories({3: [danger(3)]}, goals=GoalAt(3))
    assert [one["place"] for one in manager.get_agent_context(HERE)["dangers"]] == ["Deep"]
    assert manager.get_agent_context(Observation(Location(3, "Deep"), (), (), (), 0, 0))["route"] is None


def test_dangers_near_keep_to_their_budget_and_none_is_cut():
    kept = [danger(number, "It bites whoever comes near it. " * 4) for number in range(40)]
    manager = with_memories({2: kept}, settings={"dangers_tokens": 200})
    context = manager.get_agent_context(HERE)
    shown = [one["danger"] for one in context["dangers"]]
    assert 0 < len(shown) < 40
    assert shown == [f"{memory.title}: {memory.text}" for memory in kept[: len(shown)]]
    assert context["left_out"] == {"Remembered dangers ahead": 40 - len(shown)}
    section = prompt_for(manager.player_context(HERE, ""), GameConfiguration(dangers_tokens=200).context)[1].content
    section = section[section.index("## Remembered dangers") : section.index("What do you do?")]
    assert section.strip().endswith(f"({40 - len(shown)} more left out)")
    assert estimated_tokens(section) <= 200


def test_the_keys_are_always_the_same_and_the_values_plain_data():
    empty = a_manager().get_agent_context()
    assert set(empty) == KEYS | {"refused"}
    assert json.loads(json.dumps(empty)) == empty
    full = with_memories({2: [danger(2)]}, notices=lambda: ("You go in a circle.",)).get_agent_context(
        HERE, "[NOTE] X: y.", refused="sing: nobody listens"
    )
    assert set(full) == KEYS | {"refused"}
    assert json.loads(json.dumps(full)) == full
    assert (full["location"], full["inventory"], full["notices"]) == ("Hall", [], ["You go in a circle."])
    assert set(a_manager().get_critic_context()) == KEYS


def test_without_a_turn_the_state_tells_where_the_game_stands():
    state = GameState(current_room_id=4, current_room_name="Attic", current_inventory=["lamp"], current_score=5)
    state.describe_room("A low attic.", 4)
    state.turn_count = 3
    context = a_manager(state).get_agent_context()
    assert (context["location"], context["location_id"], context["inventory"]) == ("Attic", 4, ["lamp"])
    assert (context["room_description"], context["room_description_age"]) == ("A low attic.", 3)
    state.turn_count = 11
    context = a_manager(state).get_agent_context()
    assert (context["room_description"], context["room_description_age"]) == (None, None)


@pytest.mark.parametrize(
    ("age", "heading"),
    [(0, "ROOM DESCRIPTION:"), (1, "ROOM DESCRIPTION (1 turn ago):"), (4, "ROOM DESCRIPTION (4 turns ago):")],
)
def test_the_room_s_description_says_how_old_it_is(age, heading):
    state = GameState()
    state.describe_room("A long hall.", 1)
    state.turn_count = age
    assert f"{heading}\n\n```\nA long hall.\n```\n" in told(a_manager(state))


def test_reasoning_is_kept_with_its_time_and_completed_with_the_response():
    state = GameState()
    manager = a_manager(state, now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    manager.add_reasoning(1, "It leads in.", "north")
    entry = {"turn": 1, "reasoning": "It leads in.", "action": "north", "timestamp": "2026-01-02T03:04:05+00:00"}
    assert state.action_reasoning_history == [entry]
    manager.add_reasoning(1, "It leads in.", "north")
    assert state.action_reasoning_history == [entry]


def test_the_last_three_turns_are_shown_with_reasons_action_and_response():
    state = GameState()
    manager = a_manager(state)
    assert manager.get_recent_reasoning_formatted() == ""
    for turn in range(1, 5):
        manager.add_reasoning(turn, None if turn == 3 else f"Reason {turn}.\nIn two lines.", f"action {turn}")
        state.action_history.append((f"action {turn}", f"Response {turn}."))
    assert manager.get_recent_reasoning_formatted() == (
        """## Previous Reasoning and Actions

```
Turn 2:
Reasoning: Reason 2. In two lines.
Action: action 2
Response: Response 2.

Turn 3:
Reasoning: (No reasoning recorded)
Action: action 3
Response: Response 3.

Turn 4:
Reasoning: Reason 4. In two lines.
Action: action 4
Response: Response 4.
```"""
    )


def test_status():
    assert a_manager().get_status() == {
        "type": "context",
        "state": "counting",
        "metrics": {"turns": 0, "summaries": 0, "summary_failures": 0, "summarised_to": 0},
    }

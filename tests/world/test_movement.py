"""Tests of which moves of the player are exits."""

import pytest

from game_interface.models import Location, Observation, Transition
from tests.fixtures.walks import manager_in, take
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.world.movement import Move, MoveKind, led_nowhere, move_of

BOAT = Location(9, "boat")
NAMES = {1: "Hall", 2: "Attic", 3: "Hall"}


def seen(room: int | None, vehicle: Location | None = None) -> Observation:
    return Observation(Location(room, NAMES[room]) if room else None, None, None, None, None, None, vehicle)


def step(before, action, after, *, response="", **changes) -> Transition:
    return Transition(seen(*before), action, response, seen(*after), **changes)


@pytest.mark.parametrize(
    ("action", "before", "after", "kind"),
    [
        ("n", (1,), (2,), MoveKind.WALKED),
        ("go north", (1,), (2,), MoveKind.WALKED),
        ("enter window", (1,), (2,), MoveKind.WALKED),
        ("n", (1,), (3,), MoveKind.WALKED),
        ("n", (1, BOAT), (2, BOAT), MoveKind.ABOARD),
        ("n", (1, BOAT), (2,), MoveKind.ABOARD),
        ("launch", (1, BOAT), (2, BOAT), MoveKind.ABOARD),
        ("wait", (1, BOAT), (2, BOAT), MoveKind.CARRIED),
        ("take buoy", (1, BOAT), (2, BOAT), MoveKind.CARRIED),
        ("look", (1,), (2,), MoveKind.CARRIED),
        ("say plugh", (1,), (2,), MoveKind.TRANSPORTED),
        ("touch mirror", (1,), (2,), MoveKind.TRANSPORTED),
    ],
)
def test_kind_of_a_move_follows_from_the_action(action, before, after, kind):
    assert move_of(step(before, action, after)).kind is kind


@pytest.mark.parametrize("action", ["n", "wait", "attack troll"])
@pytest.mark.parametrize("after", [(1,), (2,), (None,)])
def test_death_is_not_an_exit(action, after):
    move = move_of(step((1,), action, after, died=True))
    assert (move.from_id, move.to_id, move.kind) == (1, after[0] or 1, MoveKind.DIED)


@pytest.mark.parametrize(
    "still",
    [
        step((1,), "n", (1,)),
        step((1,), "enter boat", (1, BOAT)),
        step((None,), "n", (2,)),
        step((1,), "n", (None,)),
        step((1,), "n", (2,), fault="hung"),
        step((1,), "n", (2,), refused="several commands"),
    ],
)
def test_same_place_is_not_a_move(still):
    assert move_of(still) is None


@pytest.mark.parametrize(
    ("tried", "nowhere"),
    [
        (step((1,), "n", (1,)), True),
        (step((1,), "n", (2,)), False),
        (step((1,), "in", (1, BOAT)), False),
        (step((1,), "take lamp", (1,)), False),
        (step((1,), "n", (1,), died=True), False),
        (step((1,), "n", (1,), finished=True), False),
        (step((1,), "n", (1,), fault="hung"), False),
    ],
)
def test_direction_without_a_move_is_a_failure(tried, nowhere):
    assert led_nowhere(tried) is nowhere


def test_manager_records_each_kind_of_move(tmp_path):
    manager = manager_in(tmp_path)
    for turn in (
        step((1,), "n", (2,), response="Attic\nTo the north-east is a door, and a chute leads down."),
        step((2,), "up", (2,)),
        step((2,), "say plugh", (1,)),
        step((1,), "n", (3,), died=True),
    ):
        take(manager, turn)
    graph = manager.graph
    assert {room: graph.exits(room) for room in graph.rooms} == {1: {"north": 2}, 2: {}, 3: {}}
    assert graph.failures == {(2, "up"): 1}
    assert graph.moves.counts == {
        Move(2, "say plugh", 1, MoveKind.TRANSPORTED): 1,
        Move(1, "north", 3, MoveKind.DIED): 1,
    }
    assert graph.moves.deadly == {(1, "north")}
    assert graph.frontiers() == {2: ("northeast", "down")}
    assert manager.get_status() == {
        "type": "map",
        "metrics": {"rooms": 3, "connections": 1, "pruned_exits": 0, "frontiers": 1, "deaths": 1},
    }


def test_direction_in_a_room_name_is_not_an_exit(tmp_path):
    manager = manager_in(tmp_path)
    before, after = seen(1), Observation(Location(4, "North of House"), None, None, None, None, None)
    take(manager, Transition(before, "n", "North of House\nA path leads east.", after))
    assert manager.graph.rooms[4].exits == {"east"}


@pytest.mark.parametrize(("pruning", "exits"), [(True, {}), (False, {"north": 2})])
def test_pruning_is_a_setting(tmp_path, pruning, exits):
    manager = manager_in(tmp_path, enable_exit_pruning=pruning, exit_failure_threshold=1)
    take(manager, step((1,), "n", (2,)))
    take(manager, step((1,), "n", (1,)))
    assert manager.graph.exits(1) == exits


def test_change_reopens_a_closed_exit(tmp_path):
    manager = manager_in(tmp_path)
    lamp = ObjectMove(5, "lamp", None, "nowhere", 1, "Hall")
    for turn in (step((1,), "n", (2,)), step((2,), "s", (1,)), *[step((1,), "n", (1,))] * 2):
        take(manager, turn)
    assert manager.graph.exits(1) == {}
    take(manager, step((2,), "drop lamp", (2,), moved=(lamp,)))
    assert manager.graph.exits(1) == {}
    take(manager, step((1,), "drop lamp", (1,), moved=(lamp,)))
    assert manager.graph.exits(1) == {"north": 2}


def test_new_episode_reopens_closed_exits(tmp_path):
    manager = manager_in(tmp_path)
    for turn in (step((1,), "n", (2,)), step((1,), "n", (1,)), step((1,), "n", (1,)), *[step((1,), "up", (1,))] * 2):
        take(manager, turn)
    assert manager.graph.exits(1) == {}
    manager.reset()
    assert manager.graph.exits(1) == {"north": 2}
    assert manager.graph.is_pruned(1, "up")

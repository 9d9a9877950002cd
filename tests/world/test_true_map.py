"""The map that walking a whole story draws is the true one, by the object tree as the bare interpreter reads it."""

import json
from itertools import pairwise

import pytest
from jericho import FrotzEnv

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.walkthrough import (
    BUNDLED_SEED,
    ZORK1_SEED,
    get_bundled_walkthrough,
    get_zork1_walkthrough,
)
from tests.world.walks import manager_in, play
from zorkgpt.world.directions import exit_name
from zorkgpt.world.movement import Move, MoveKind


def rooms_of_the_bundled_story(story, commands) -> list[int]:
    """The room before the first command and after each: in Inform's library nothing holds a room."""
    player = json.loads(story.with_suffix(".json").read_text("utf-8"))["player_object"]
    with JerichoInterface(story, seed=BUNDLED_SEED) as game:
        game.start()
        rooms = [game.memory.ancestors(player)[-1]]
        for command in commands:
            game.send_command(command)
            rooms.append(game.memory.ancestors(player)[-1])
    return rooms


def rooms_of_zork(story, commands) -> list[int]:
    """The same, as the bare interpreter has it: there all rooms are held by one object, and vehicles by a room."""
    env = FrotzEnv(str(story), seed=ZORK1_SEED)
    env.reset()
    holder, rooms = env.get_player_location().parent, []
    for command in [None, *commands]:
        if command is not None:
            env.step(command)
        at = env.get_player_location()
        while at.parent != holder:
            at = env.get_object(at.parent)
        rooms.append(at.num)
    env.close()
    return rooms


WALKTHROUGHS = {
    "bundled_story": (BUNDLED_SEED, get_bundled_walkthrough, rooms_of_the_bundled_story),
    "zork1": (ZORK1_SEED, get_zork1_walkthrough, rooms_of_zork),
}


@pytest.mark.parametrize(("name", "moves"), [("bundled_story", 67), ("zork1", 243)])
def test_every_move_of_a_walkthrough_is_on_the_map_and_nothing_else(name, moves, tmp_path, request):
    story, (seed, walkthrough, rooms_of) = request.getfixturevalue(name), WALKTHROUGHS[name]
    manager = manager_in(tmp_path)
    with JerichoInterface(story, seed=seed) as game:
        game.start()
        play(manager, game, walkthrough())
    steps = zip(pairwise(rooms_of(story, walkthrough())), walkthrough(), strict=True)
    true = [(before, exit_name(command), after) for (before, after), command in steps if before != after]
    assert len(true) == moves
    drawn = {(room, name, end): count for room, name, way in manager.graph.ways() for end, count in way.ends.items()}
    other = {(move.from_id, move.way, move.to_id): count for move, count in manager.graph.moves.items()}
    assert drawn | other == {move: true.count(move) for move in true}
    assert drawn.keys() & other.keys() == set()


def test_a_prayer_a_mirror_and_a_river_are_no_ways(zork1, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.start()
        play(manager, game, get_zork1_walkthrough())
    graph = manager.graph
    assert graph.moves == {
        Move(212, "pray", 78, MoveKind.TRANSPORTED): 2,
        Move(152, "touch mirror", 150, MoveKind.TRANSPORTED): 2,
        Move(34, "wait", 130, MoveKind.CARRIED): 1,
        Move(130, "wait", 31, MoveKind.CARRIED): 1,
    }
    assert "pray" not in graph.exits(212)
    assert graph.route(212, 78) == ["pray"]
    assert graph.route(34, 31) is None
    aboard = {(room, name) for room, name, way in graph.ways() if way.kind is MoveKind.ABOARD}
    assert aboard == {(33, "launch"), (31, "land")}


def test_a_walk_in_the_dark_is_on_the_map(zork1, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.start()
        *_, up, down = play(manager, game, ["n", "e", "open window", "w", "up", "down"])
    assert "dark" in up.response
    assert manager.graph.connections[up.before.location.num]["up"] == up.after.location.num
    assert manager.graph.connections[down.before.location.num]["down"] == down.after.location.num


def test_a_way_over_the_water_is_taken_aboard(bundled_story, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(bundled_story, seed=BUNDLED_SEED) as game:
        game.start()
        steps = play(manager, game, get_bundled_walkthrough())
    by_vehicle = {
        (step.before.location.num, exit_name(step.action))
        for step in steps
        if step.before.vehicle and step.before.location != step.after.location
    }
    assert len(by_vehicle) == 4
    aboard = {(room, name) for room, name, way in manager.graph.ways() if way.kind is MoveKind.ABOARD}
    assert aboard == by_vehicle

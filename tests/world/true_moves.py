"""Which moves a walkthrough really makes, by the object tree as the bare interpreter reads it."""

import json
from itertools import pairwise
from pathlib import Path

from jericho import FrotzEnv

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.walkthrough import (
    BUNDLED_SEED,
    ZORK1_SEED,
    get_bundled_walkthrough,
    get_zork1_walkthrough,
)
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

TrueMove = tuple[int, str, int]
"""From which room, by which command or direction, to which."""


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


def true_moves(name: str, story: Path) -> list[TrueMove]:
    """All moves of a walkthrough, in their order."""
    _, walkthrough, rooms_of = WALKTHROUGHS[name]
    steps = zip(pairwise(rooms_of(story, walkthrough())), walkthrough(), strict=True)
    return [(before, exit_name(command), after) for (before, after), command in steps if before != after]


def moves_on(graph: MapGraph) -> dict[TrueMove, int]:
    """What a map says was walked, and how often: its ways, and the moves that are none."""
    drawn = {(room, name, end): count for room, name, way in graph.ways() for end, count in way.ends.items()}
    other = {(move.from_id, move.way, move.to_id): count for move, count in graph.moves.items()}
    assert drawn.keys() & other.keys() == set()
    return drawn | other

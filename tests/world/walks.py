"""Maps that were walked: in a real game, or made up by hypothesis."""

import logging
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from hypothesis import strategies as st

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Transition
from managers.map_manager import MapManager
from session.extraction import what_was_said
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.offline.reading import RuleExtractor
from zorkgpt.world.directions import DIRECTIONS
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind

ROOMS = st.integers(1, 6)
WAYS = st.sampled_from([*DIRECTIONS, "enter window"])
SIGHTINGS = st.lists(
    st.one_of(
        st.tuples(st.just("add_move"), st.tuples(st.builds(Move, ROOMS, WAYS, ROOMS, st.sampled_from(MoveKind)))),
        st.tuples(st.just("add_failure"), st.tuples(ROOMS, WAYS)),
        st.tuples(st.just("add_exit"), st.tuples(ROOMS, WAYS)),
        st.tuples(st.just("add_room"), st.tuples(ROOMS, st.text(max_size=8))),
        st.just(("reopen", ())),
    ),
    max_size=40,
)


def walked(sightings) -> MapGraph:
    graph = MapGraph()
    graph.learn(sightings)
    return graph


_turns = count(1)
"""Each later than the last one: the map learns no turn twice."""


def manager_in(folder: Path, **settings) -> MapManager:
    config = GameConfiguration(zork_game_workdir=str(folder), **settings)
    return MapManager(logging.getLogger("test"), config, GameState())


def take(manager: MapManager, step: Transition) -> None:
    extraction = RuleExtractor().extract(what_was_said(step))
    manager.process_turn(TurnRecord(1, next(_turns), step, "", "given", "", extraction=extraction))


def play(manager: MapManager, game: JerichoInterface, commands: Iterable[str]) -> list[Transition]:
    steps = [game.act(command) for command in commands]
    for step in steps:
        take(manager, step)
    return steps

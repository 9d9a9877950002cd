"""Tests of a map that several processes keep in one file, one of which is killed and resumed."""

import logging
from pathlib import Path

from game_interface.models import Location, Observation, Transition
from managers.map_manager import MapManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord


def a_manager(workdir: Path, episode: int) -> MapManager:
    config = GameConfiguration(zork_game_workdir=str(workdir))
    return MapManager(logging.getLogger("test"), config, GameState(episode_id=episode))


def started(workdir: Path, episode: int, last: int) -> MapManager:
    """Return a manager that saved this many turns of a new episode."""
    manager = a_manager(workdir, episode)
    manager.reset()
    turns(manager, episode, 1, last)
    manager.save_map_state()
    return manager


def resumed(workdir: Path, episode: int, last: int) -> MapManager:
    """Return a manager that resumes an episode and processes its turns up to this one."""
    manager = a_manager(workdir, episode)
    manager.resume()
    turns(manager, episode, 1, last)
    return manager


def walked(episode: int, turn: int) -> TurnRecord:
    """Return a turn that goes north if it is odd, and back if it is even."""
    here, there = Location(1, "Hall"), Location(2, "Yard")
    if turn % 2 == 0:
        here, there = there, here
    before, after = (Observation(place, (), (), (), 0, turn) for place in (here, there))
    action = "north" if turn % 2 else "south"
    return TurnRecord(episode, turn, Transition(before, action, f"{there.name}.", after), "", "test", "")


def turns(manager: MapManager, episode: int, first: int, last: int) -> None:
    for turn in range(first, last + 1):
        manager.process_turn(walked(episode, turn))


def walks(manager: MapManager) -> tuple[int, int]:
    return tuple(manager.graph.connections.get(room, way).walks for room, way in ((1, "north"), (2, "south")))


def test_turns_in_the_file_are_not_counted_twice(tmp_path):
    killed = started(tmp_path, 1, 6)
    turns(killed, 1, 7, 9)
    assert walks(resumed(tmp_path, 1, 10)) == (5, 5)


def test_turns_of_another_process_are_counted_once(tmp_path):
    other = started(tmp_path, 2, 2)
    killed = started(tmp_path, 1, 4)
    for manager, episode, first in ((other, 2, 3), (killed, 1, 5)):
        turns(manager, episode, first, 8)
        manager.save_map_state()
    for episode in (1, 2):
        assert walks(resumed(tmp_path, episode, 8)) == (8, 8)


def test_reused_episode_number_is_another_episode(tmp_path):
    started(tmp_path, 1, 4)
    assert walks(started(tmp_path, 1, 2)) == (3, 3)
    assert walks(resumed(tmp_path, 1, 4)) == (4, 4)

"""A map that several processes keep in one file, one of which was killed and goes on."""

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


def walked(episode: int, turn: int) -> TurnRecord:
    """Every odd turn north, every even one back."""
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
    return tuple(manager.graph.connection(room, way).walks for room, way in ((1, "north"), (2, "south")))


def test_turns_that_the_file_contains_are_not_learned_twice(tmp_path):
    killed = a_manager(tmp_path, 1)
    killed.reset()
    turns(killed, 1, 1, 6)
    killed.save_map_state()
    turns(killed, 1, 7, 9)
    goes_on = a_manager(tmp_path, 1)
    goes_on.resume()
    turns(goes_on, 1, 1, 10)
    assert walks(goes_on) == (5, 5)


def test_what_another_process_has_learned_meanwhile_stays_counted_once(tmp_path):
    other = a_manager(tmp_path, 2)
    other.reset()
    turns(other, 2, 1, 2)
    other.save_map_state()
    killed = a_manager(tmp_path, 1)
    killed.reset()
    turns(killed, 1, 1, 4)
    killed.save_map_state()
    turns(other, 2, 3, 8)
    other.save_map_state()
    turns(killed, 1, 5, 8)
    killed.save_map_state()
    for episode in (1, 2):
        goes_on = a_manager(tmp_path, episode)
        goes_on.resume()
        turns(goes_on, episode, 1, 8)
        assert walks(goes_on) == (8, 8)


def test_a_number_that_is_used_again_is_another_episode(tmp_path):
    first = a_manager(tmp_path, 1)
    first.reset()
    turns(first, 1, 1, 4)
    first.save_map_state()
    again = a_manager(tmp_path, 1)
    again.reset()
    turns(again, 1, 1, 2)
    assert walks(again) == (3, 3)
    again.save_map_state()
    goes_on = a_manager(tmp_path, 1)
    goes_on.resume()
    turns(goes_on, 1, 1, 4)
    assert walks(goes_on) == (4, 4)

"""Keeps the map up to date with every turn, and on disk across episodes."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from game_interface.models import Transition
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from session.outcome import came_to_something
from zorkgpt.errors import ZorkGPTError
from zorkgpt.files import AtomicFile
from zorkgpt.memory.storage.restore_point import FileRestorer
from zorkgpt.prompts.render import cut
from zorkgpt.world.directions import canonical_direction, exit_name
from zorkgpt.world.graph import MapGraph, Room
from zorkgpt.world.map_file import load_map, save_map
from zorkgpt.world.movement import led_nowhere, move_of

__all__ = ["MapGraph", "MapManager", "Room"]

_SAVE_EVERY_TURNS = 50
_MOST_SAID = 120
"""Characters of what the game said to an action that came to nothing."""


class MapManager:
    """The map of all episodes in this working directory.

    Args:
        remember: whether earlier episodes' map is read and this one's kept; without it every episode starts with none.

    Raises:
        ZorkGPTError: the map that is there can't be read, or a later version wrote it.
    """

    def __init__(
        self, logger: logging.Logger, config: GameConfiguration, game_state: GameState, *, remember: bool = True
    ) -> None:
        self._log = logger
        self._state = game_state
        self._remember = remember
        self._file = AtomicFile(Path(config.zork_game_workdir) / config.map_state_file)
        self._threshold = config.exit_failure_threshold if config.enable_exit_pruning else None
        self.graph = self._kept() if remember else MapGraph(exit_failure_threshold=self._threshold)
        self._contained = -1
        """The last turn of the running episode that the map has learned; -1: not even that it began."""
        self._worked: set[tuple[int, str]] = set()
        """Room and action, of what came to something in the running episode."""

    def reset_episode(self) -> None:
        """The map is of the world, so it outlives the episode, unless nothing is to be remembered."""
        for known in (self.graph.contains, self.graph.learned):
            known.pop(self._state.episode_id, None)
        self.resume_episode()

    reset = reset_episode

    def rollback(self) -> FileRestorer:
        """From here on, what is written can be taken back to a checkpoint."""
        return FileRestorer(self._file, on_restored=self._reread)

    def resume_episode(self) -> None:
        """As many turns as the file holds of the episode already are not learned again."""
        if not self._remember:
            self.graph.clear()
        self._worked.clear()
        episode = self._state.episode_id
        # Of the episodes that are over here, another process may know more by now.
        self.graph.contains |= self.graph.learned
        self.graph.learned.clear()
        self._contained = self.graph.contains.get(episode, -1)
        if self._contained < 0 and self._remember:
            self.graph.reopen()
        self.graph.learned[episode] = max(self._contained, 0)

    def arrive(self, location_id: int, name: str, exits: Iterable[str] = ()) -> None:
        """The player stands here, and is told of these ways out."""
        self.graph.add_room(location_id, name)
        for direction in exits:
            self.graph.add_exit(location_id, direction)

    def process_turn(self, record: TurnRecord) -> None:
        """Movement is another room after than before; a direction that led nowhere is a failed exit.

        What else came to nothing is kept with the room, and what the game said to it.
        """
        step = record.transition
        if record.turn > self._contained:
            self._learn(record)
            self._contained = self.graph.learned[record.episode] = record.turn
        if step.before.location is not None and came_to_something(step):
            self._worked.add((step.before.location.num, exit_name(step.action)))

    def _learn(self, record: TurnRecord) -> None:
        step = record.transition
        for place in (step.before.location, step.after.location):
            if place is not None:
                self.graph.add_room(place.num, place.name)
        if (move := move_of(step)) is not None:
            self.graph.add_move(move)
        elif led_nowhere(step) and step.before.location is not None:
            self.graph.add_failure(step.before.location.num, step.action)
        self._note_attempt(step)
        if record.extraction and step.after.location is not None:
            self.arrive(step.after.location.num, step.after.location.name, record.extraction.exits)

    def _note_attempt(self, step: Transition) -> None:
        if step.before.location is None or step.refused or step.fault:
            return
        room, action = step.before.location.num, exit_name(step.action)
        if came_to_something(step):
            self.graph.add_attempt(room, action, None)
        elif (room, action) not in self._worked:
            # What worked before in this episode fails now for that very reason.
            said = cut(" ".join(step.response.split()), _MOST_SAID)
            self.graph.add_attempt(room, action, said, self._cleared(room) if canonical_direction(action) else ())

    def _cleared(self, room: int) -> set[str]:
        """What has come to something in a room in this episode and may have opened a way; walks don't."""
        return {action for place, action in self._worked if place == room and canonical_direction(action) is None}

    def process_periodic_update(self) -> None:
        """Write the map now and then, so that a killed run has not walked in vain."""
        if self._state.turn_count % _SAVE_EVERY_TURNS == 0:
            self.save_map_state()

    def save_map_state(self) -> bool:
        """Write the map beside the memories; False, with a warning, if that can't be done."""
        if not self._remember:
            return True
        try:
            save_map(self.graph, self._file)
        except ZorkGPTError as error:
            self._log.warning("the map could not be saved", extra={"path": str(self._file.path), "reason": str(error)})
            return False
        return True

    def _kept(self) -> MapGraph:
        return load_map(self._file.path, exit_failure_threshold=self._threshold)

    def _reread(self) -> None:
        """The file may have been put back: what it held of later turns goes, and what it holds is learned no more."""
        if self.graph.kept_as is None or self.graph.kept_as == (self._file.path, self._file.stamp()):
            return
        self.graph.become(self._kept())
        self.resume_episode()

    def get_status(self) -> dict[str, Any]:
        graph = self.graph
        metrics = {
            "rooms": len(graph.rooms),
            "connections": sum(1 for _ in graph.ways()),
            "pruned_exits": sum(map(len, graph.pruned_exits.values())),
            "frontiers": len(graph.frontiers()),
            "deaths": len(graph.deadly),
        }
        return {"type": "map", "state": "remembering" if self._remember else "this episode only", "metrics": metrics}

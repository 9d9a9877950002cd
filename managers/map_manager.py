"""Keeps the map up to date with every turn, and on disk across episodes."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from game_interface.models import Transition
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from session.outcome import moved_or_had_effect, shows_outcome, worked
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
_MOST_RESPONSE_CHARACTERS = 120
"""Characters that are kept of the game's response to an action that came to nothing."""


class MapManager(BaseManager):
    """Keeps the map of all episodes in this working directory.

    Args:
        remember: Whether the map of earlier episodes is read and the new one saved. Without it every episode starts
            with an empty map.

    Raises:
        ZorkGPTError: There is a map file, and it can't be read or a later version wrote it.
    """

    def __init__(
        self, logger: logging.Logger, config: GameConfiguration, game_state: GameState, *, remember: bool = True
    ) -> None:
        super().__init__(logger, config, game_state)
        self._remember = remember
        self._file = AtomicFile(Path(config.zork_game_workdir) / config.map_state_file)
        self._threshold = config.exit_failure_threshold if config.enable_exit_pruning else None
        self.graph = self._saved() if remember else MapGraph(exit_failure_threshold=self._threshold)
        self._learned_to = -1
        """The last turn of the running episode that the map contains; -1 if it does not know the episode at all."""
        self._successes: dict[tuple[int, str], None] = {}
        """The actions that came to something in the running episode, as pairs of room and action, in their order."""

    def reset(self) -> None:
        """Begin a new episode; the map outlives the old one, unless nothing is to be remembered."""
        for known in (self.graph.contains, self.graph.learned):
            known.pop(self._state.episode_id, None)
        self.resume()

    def rollback(self) -> FileRestorer:
        """Return what can put the map file back to a checkpoint, from now on."""
        return FileRestorer(self._file, on_restored=self._reread)

    def resume(self) -> None:
        """Get ready to learn the turns of an episode that the map file does not contain yet."""
        if not self._remember:
            self.graph.clear()
        self._successes.clear()
        episode = self._state.episode_id
        # Another process may have learned more by now of the episodes that are over here.
        self.graph.contains |= self.graph.learned
        self.graph.learned.clear()
        self._learned_to = self.graph.contains.get(episode, -1)
        if self._learned_to < 0 and self._remember:
            self.graph.reopen()
        self.graph.learned[episode] = max(self._learned_to, 0)

    def arrive(self, location_id: int, name: str, exits: Iterable[str] = ()) -> None:
        """Add the room where the player stands and the exits that its description names."""
        self.graph.add_room(location_id, name)
        for direction in exits:
            self.graph.add_exit(location_id, direction)

    def process_turn(self, record: TurnRecord) -> None:
        """Add the turn's movement, or the failed exit, to the map.

        Other actions that came to nothing are kept with the room, together with the game's response.
        """
        step = record.transition
        if record.turn > self._learned_to:
            self._learn(record)
            self._learned_to = self.graph.learned[record.episode] = record.turn
        if step.before.location is not None and worked(step):
            self._successes[step.before.location.num, exit_name(step.action)] = None

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
        if step.before.location is None or not shows_outcome(step):
            return
        room, action = step.before.location.num, exit_name(step.action)
        if worked(step):
            if self.graph.opened_by.get(room, {}).get(action) or action in self.graph.in_vain.get(room, {}):
                self._note_opening(room, action)
            self.graph.add_attempt(room, action, None)
            if step.after.location == step.before.location:
                self.graph.reopen(room)
        elif not moved_or_had_effect(step) and (room, action) not in self._successes:
            # If it has succeeded before in this episode, it fails now because it is done already.
            response = cut(" ".join(step.response.split()), _MOST_RESPONSE_CHARACTERS)
            self.graph.add_attempt(room, action, response, self._unlocking(room) if canonical_direction(action) else ())

    def _note_opening(self, room: int, way: str) -> None:
        if canonical_direction(way):
            opened = (done for done in self._unlocking(room) if not self.graph.has_failed_after(room, way, done))
            self.graph.note_opening(room, way, opened)

    def _unlocking(self, room: int) -> list[str]:
        """Return the actions that succeeded in a room in this episode and may have opened an exit; walks don't."""
        return [action for place, action in self._successes if place == room and canonical_direction(action) is None]

    def process_periodic_update(self) -> None:
        """Save the map every few turns, so that a killed run loses little of it."""
        if self._state.turn_count % _SAVE_EVERY_TURNS == 0:
            self.save_map_state()

    def save_map_state(self) -> bool:
        """Save the map and return True; False, with a warning, if that is not possible."""
        if not self._remember:
            return True
        try:
            save_map(self.graph, self._file)
        except ZorkGPTError as error:
            self._log.warning("the map could not be saved", extra={"path": str(self._file.path), "reason": str(error)})
            return False
        return True

    def _saved(self) -> MapGraph:
        return load_map(self._file.path, exit_failure_threshold=self._threshold)

    def _reread(self) -> None:
        """Take the map from its file, which may have been put back, and forget what was learned since."""
        if self.graph.file_version is None or self.graph.file_version == (self._file.path, self._file.stamp()):
            return
        self.graph.replace_with(self._saved())
        self.resume()

    def get_status(self) -> dict[str, Any]:
        """Return the size of the map."""
        graph = self.graph
        metrics = {
            "rooms": len(graph.rooms),
            "connections": sum(1 for _ in graph.all_connections()),
            "pruned_exits": sum(map(len, graph.pruned_exits.values())),
            "frontiers": len(graph.frontiers()),
            "deaths": len(graph.deadly),
        }
        return {"type": "map", "state": "remembering" if self._remember else "this episode only", "metrics": metrics}

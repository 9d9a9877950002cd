"""Update the map on every turn, and save it at the end of the episode."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import NamedExits, TurnRecord
from zorkgpt.errors import ZorkGPTError
from zorkgpt.world.graph import MapGraph, Room
from zorkgpt.world.learning import MapLearner
from zorkgpt.world.map_file import MapFile

__all__ = ["MapGraph", "MapManager", "Room"]


class MapManager(BaseManager):
    """Keeps the map of all episodes in this working directory.

    Args:
        remember: Whether to load and save the map. Otherwise every episode starts with an empty one.
        is_open: Returns whether a door is open, by object number. None if unknown.

    Raises:
        ZorkGPTError: If the map file exists, and can't be read or was written by a later version.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        remember: bool = True,
        is_open: Callable[[int], bool | None] = lambda door: None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._remember = remember
        self._is_open = is_open
        threshold = config.exit_failure_threshold if config.enable_exit_pruning else None
        self.graph = MapGraph(exit_failure_threshold=threshold)
        self._file = MapFile(Path(config.zork_game_workdir) / config.map_state_file, self.graph)
        if remember:
            self._file.load()
        self._learner = MapLearner(self.graph)

    def reset(self) -> None:
        """Start a new episode. The map is kept, unless the run remembers nothing."""
        self._change(partial(self.graph.learned_turns.pop, self.game_state.episode_id, None))
        self.resume()

    def resume(self) -> None:
        """Prepare to learn those turns of an episode that are not in the map yet."""
        if not self._remember:
            self.graph.clear()
        self._change(partial(self._begin, self.game_state.episode_id))

    def _change(self, change: Callable[[], object]) -> None:
        # A map that is never saved repeats no change.
        self._file.change(change) if self._remember else change()

    def _begin(self, episode: int) -> None:
        if episode not in self.graph.learned_turns:
            self.graph.learned_turns[episode] = 0
            if self._remember:
                self.graph.reopen()

    def arrive(self, location_id: int, name: str, exits: Iterable[str] = ()) -> None:
        """Add the player's first location and the exits in its description."""
        self._change(partial(self._learner.add_place, location_id, name, tuple(exits)))
        self._look_at_doors()

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from the turn, unless it is already in the map."""
        self._change(partial(self._learn, record))
        self._look_at_doors()

    def _learn(self, record: TurnRecord) -> None:
        if record.turn > self.graph.learned_turns.get(record.episode, 0):
            self._learner.learn(record.transition, record.extraction.exits if record.extraction else ())
            self._add_exits(record.named_exits)
            self.graph.learned_turns[record.episode] = record.turn

    def undo(self, turn: int) -> None:
        """Forget what this turn of the episode showed, because it could not be recorded.

        Raises:
            ZorkGPTError: If the map file can't be read.
        """
        if self._remember and self.graph.learned_turns.get(self.game_state.episode_id) == turn:
            self._file.undo()

    def learn_named_exits(self, named: Iterable[NamedExits]) -> None:
        """Add the exits that a model found in texts."""
        self._change(partial(self._add_exits, tuple(named)))

    def _add_exits(self, named: Iterable[NamedExits]) -> None:
        for each in named:
            self._learner.add_place(each.location.num, each.location.name, each.exits)

    def _look_at_doors(self) -> None:
        self.graph.doors.set_closed({door for door in self.graph.doors.names if self._is_open(door) is False})

    def end_episode(self, reason: str) -> None:
        """Save the map."""
        self.save_map_state()

    def save_map_state(self) -> bool:
        """Save the map. Log a warning and return False on failure."""
        if not self._remember:
            return True
        try:
            self._file.save()
        except ZorkGPTError as error:
            extra = {"path": str(self._file.file.path), "reason": str(error)}
            self.logger.warning("the map could not be saved", extra=extra)
            return False
        return True

    def get_status(self) -> dict[str, Any]:
        """Return the size of the map."""
        graph = self.graph
        metrics = {
            "rooms": len(graph.rooms),
            "connections": sum(1 for _ in graph.connections),
            "pruned_exits": sum(graph.is_pruned(room, name) for room, name in graph.failures),
            "frontiers": len(graph.frontiers()),
            "deaths": len(graph.moves.deadly),
        }
        return {"type": "map", "metrics": metrics}

"""Export the state of the running episode for other programs."""

import logging
from pathlib import Path
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.encoding import as_json
from zorkgpt.errors import FileError
from zorkgpt.files import write_file

_EXPORT_EVERY_TURNS = 10


class StateManager(BaseManager):
    """Writes `current_state.json`. The file is replaced atomically."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._path = Path(config.zork_game_workdir) / config.state_export_file
        self._enabled = config.enable_state_export
        self._failures = 0

    def process_periodic_update(self) -> None:
        """Write the file every few turns."""
        if self.game_state.turn_count % _EXPORT_EVERY_TURNS == 0:
            self.export()

    def end_episode(self, reason: str) -> None:
        """Write the file."""
        self.export()

    def export(self) -> bool:
        """Write the file. Return False on failure. The first failure is logged."""
        if not self._enabled:
            return True
        try:
            write_file(self._path, as_json(self.current_state(), indented=True), durable=False)
        except FileError as error:
            if not self._failures:
                self.logger.warning(
                    "the state could not be exported", extra={"path": str(self._path), "reason": str(error)}
                )
            self._failures += 1
            return False
        return True

    def current_state(self) -> dict[str, Any]:
        """Return the content of the file."""
        state = self.game_state
        return {
            "episode": state.episode_id,
            "turn": state.turn_count,
            "location": {"id": state.current_room_id, "name": state.current_room_name_for_map},
            "inventory": state.current_inventory,
            "score": state.current_score,
            "max_score": state.max_score,
            "deaths": state.deaths,
            "finished": state.finished,
            "visited_locations": sorted(state.visited_locations),
            "last_action": state.latest.action if state.latest else "",
            "last_response": state.latest.response if state.latest else "",
        }

    def get_status(self) -> dict[str, Any]:
        """Return the number of failures."""
        return {"type": "state", "metrics": {"failed_exports": self._failures}}

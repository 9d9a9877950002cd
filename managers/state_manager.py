"""Writes the state of the running episode where other programs can read it."""

import logging
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.encoding import as_json
from zorkgpt.errors import FileError
from zorkgpt.files import write_file

_EXPORT_EVERY_TURNS = 10


class StateManager:
    """`current_state.json`: where the episode stands, replaced whole, so that a reader never sees half of it."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._state = game_state
        self._path = Path(config.zork_game_workdir) / config.state_export_file
        self._enabled = config.enable_state_export
        self._failures = 0

    def reset_episode(self) -> None:
        """The state is the game state's; nothing is kept here."""

    reset = reset_episode

    def process_turn(self, record: TurnRecord) -> None:
        """The export is periodic, not of every turn."""

    def process_periodic_update(self) -> None:
        if self._state.turn_count % _EXPORT_EVERY_TURNS == 0:
            self.export()

    def export(self) -> bool:
        """Write the file; False, with one warning, if that can't be done."""
        if not self._enabled:
            return True
        try:
            write_file(self._path, as_json(self.current_state(), indented=True), durable=False)
        except FileError as error:
            if not self._failures:
                self._log.warning(
                    "the state could not be exported", extra={"path": str(self._path), "reason": str(error)}
                )
            self._failures += 1
            return False
        return True

    def current_state(self) -> dict[str, Any]:
        state = self._state
        action, response = state.action_history[-1] if state.action_history else ("", "")
        return {
            "episode": state.episode_id,
            "turn": state.turn_count,
            "location": {"id": state.current_room_id, "name": state.current_room_name},
            "inventory": state.current_inventory,
            "score": state.current_score,
            "max_score": state.max_score,
            "deaths": state.deaths,
            "finished": state.finished,
            "visited_locations": sorted(state.visited_locations),
            "last_action": action,
            "last_response": response,
        }

    def get_status(self) -> dict[str, Any]:
        state = "exporting" if self._enabled else "off"
        return {"type": "state", "state": state, "metrics": {"failed_exports": self._failures}}

"""The turns of the running episode and of earlier ones."""

import logging
from collections.abc import Sequence
from pathlib import Path

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnHistory, TurnRecord
from zorkgpt.runlog.episodes import read_episode, turns_in
from zorkgpt.runlog.events import EpisodeEnded


class PlayedTurns:
    """Returns the turns of the running episode, and reads those of earlier episodes from their logs."""

    def __init__(
        self, logger: logging.Logger, config: GameConfiguration, game_state: GameState, history: TurnHistory
    ) -> None:
        self._log = logger
        self._workdir = Path(config.zork_game_workdir)
        self._file_name = config.episode_log_file
        self._state = game_state
        self._history = history
        self._earlier: dict[int, tuple[TurnRecord, ...]] = {}
        """The turns of earlier episodes that have been read."""

    def clear(self) -> None:
        """Forget the turns that were read."""
        self._earlier = {}

    def current(self) -> tuple[TurnRecord, ...]:
        """Return the turns of the running episode that are still in the history."""
        return self._history.recent(len(self._history))

    def of(self, episode: int | str) -> Sequence[TurnRecord]:
        """Return the turns of any episode; none if its log is missing or can't be read."""
        if episode == self._state.episode_id:
            return self.current()
        if not isinstance(episode, int):
            return ()
        if episode not in self._earlier:
            try:
                self._earlier[episode], _ = self.read(episode)
            except OSError as error:
                self._log.debug("an earlier episode's log can't be read", extra={"error": str(error)})
                self._earlier[episode] = ()
        return self._earlier[episode]

    def read(self, episode: int) -> tuple[tuple[TurnRecord, ...], str]:
        """Return the turns of an earlier episode and the reason why it ended; "" if unknown.

        Raises:
            OSError: The log can't be read.
        """
        events = read_episode(self._workdir, episode, self._file_name)
        reason = next((event.reason for event in reversed(events) if isinstance(event, EpisodeEnded)), "")
        return tuple(turns_in(events).values()), reason

"""The models that serve a run: what each call said, what an episode's calls took, and the ceiling over all of them."""

import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord, UsageTotals
from session.log_entries import call_record, model_called
from zorkgpt.llm.client import LLMClient
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.llm.usage import CallRecord
from zorkgpt.runlog.episodes import MODEL_CALLS, RunLogWriter, read_events, run_directory
from zorkgpt.runlog.events import ModelCalled

_ASKED_BEFORE_THE_TURN = ("agent", "critic")


class ModelCalls:
    """The client of all roles. Every call is a line of `model_calls.jsonl` in the episode's folder.

    Raises:
        ConfigurationError: a ceiling on cost, and a model without a price.
    """

    def __init__(
        self, logger: logging.Logger, config: GameConfiguration, game_state: GameState, settings: LLMSettings
    ) -> None:
        self.client = LLMClient(settings, on_call=self._keep)
        self._log = logger
        self._state = game_state
        self._workdir = Path(config.zork_game_workdir)
        self._failures = 0

    def reset_episode(self) -> None:
        """The calls from here on are the new episode's."""
        self.client.usage.episode = str(self._state.episode_id)

    reset = reset_episode

    def process_turn(self, record: TurnRecord) -> None:
        """Calls are counted when they are made."""

    def process_periodic_update(self) -> None:
        """Nothing is due only now and then."""

    def check_ceiling(self) -> None:
        """Pass while there is something left to spend.

        Raises:
            BudgetExceeded: the ceiling on tokens or cost is reached.
        """
        self.client.usage.check_ceiling()

    def spent(self) -> UsageTotals:
        """What all calls of the run took."""
        return UsageTotals(*self.client.usage.spent)

    def usage(self) -> dict[str, dict[str, Any]]:
        """What the running episode's calls took, by role: the fields of `Tally`."""
        return {
            role: asdict(tally) for role, tally in self.client.usage.of_episode(str(self._state.episode_id)).items()
        }

    def to_dict(self) -> dict[str, Any]:
        log = self._calls_log
        return {"usage": self.client.usage.to_dict(), "log_bytes": log.stat().st_size if log.is_file() else 0}

    def restore(self, state: dict[str, Any]) -> None:
        """What was asked after that counts too: it was paid for."""
        usage = self.client.usage
        usage.restore(state["usage"])
        for call in read_events(self._calls_log, after=state["log_bytes"]) if self._calls_log.is_file() else ():
            if isinstance(call, ModelCalled):
                usage.add(call_record(call))

    @property
    def _calls_log(self) -> Path:
        return run_directory(self._workdir, self._state.episode_id) / MODEL_CALLS

    def get_status(self) -> dict[str, Any]:
        return {"type": "model_calls", "state": "ready", "metrics": self.usage()}

    def _keep(self, call: CallRecord) -> None:
        state = self._state
        turn = state.turn_count + (call.role in _ASKED_BEFORE_THE_TURN)
        event = model_called(call, episode=state.episode_id, turn=turn)
        try:
            with RunLogWriter(self._calls_log) as writer:
                writer.write(event)
        except OSError as error:
            if not self._failures:
                self._log.warning("a model's call could not be written down", extra={"reason": str(error)})
            self._failures += 1

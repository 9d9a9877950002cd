"""The model client of a run: the log of its calls, their usage, and the limit on their cost."""

import logging
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord, UsageTotals
from zorkgpt.encoding import as_json
from zorkgpt.llm.background_work import asked_for
from zorkgpt.llm.client import LLMClient, ModelStatus, Reader
from zorkgpt.llm.progress import CurrentCall
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings
from zorkgpt.llm.usage import CallRecord, useless_answers
from zorkgpt.run_folder import MODEL_CALLS, run_directory
from zorkgpt.runlog.episodes import append_line, read_events
from zorkgpt.runlog.events import ModelCalled, PlayerKind, to_record

_ASKED_BEFORE_THE_TURN = ("agent", "critic")


class ModelCalls(BaseManager):
    """Creates the client for all roles and logs each call in `model_calls.jsonl` in the episode's directory.

    Args:
        observer: Is notified of each call that the turn waits for, and of roles whose answers are useless.
        readers: See `LLMClient`.

    Raises:
        ConfigurationError: If there is a cost limit, and a model without a price.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        settings: LLMSettings,
        servers: tuple[ModelStatus, ...] = (),
        observer: CurrentCall | None = None,
        readers: Mapping[Role, Reader] | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self.client = LLMClient(settings, on_call=self._log_call, known=servers, observer=observer, readers=readers)
        self._observer = observer
        self._reported: set[Role] = set()
        """The roles whose useless answers were reported."""
        self._workdir = Path(config.zork_game_workdir)
        self._failures = 0

    def reset(self) -> None:
        """Assign the following calls to the new episode."""
        self.client.usage.begin(str(self.game_state.episode_id))

    def check_ceiling(self) -> None:
        """Check the budget.

        Raises:
            BudgetExceeded: If the limit on tokens or cost is reached.
        """
        self.client.usage.check_ceiling()

    def spent(self) -> UsageTotals:
        """Return the usage of all calls of the run."""
        return UsageTotals(*self.client.usage.spent)

    def usage(self) -> dict[str, dict[str, Any]]:
        """Return the usage of the running episode by role, with the fields of `Tally`."""
        used = self.client.usage.of_episode(str(self.game_state.episode_id))
        return {role: asdict(tally) | {"used": tally.used} for role, tally in used.items()}

    def process_turn(self, record: TurnRecord) -> None:
        """Count the proposals of the turn that were refused."""
        is_refused = record.player in (PlayerKind.MODEL, PlayerKind.PLAIN) and record.transition.refused is not None
        refused = sum(rejection.obeyed for rejection in record.rejections) + is_refused
        if refused:
            self.client.usage.add_refused(Role.AGENT, refused)

    def add_earlier(self, before: UsageTotals) -> None:
        """Add the usage before a resumed episode, and the calls in its log, even those after the checkpoint."""
        usage, log = self.client.usage, self._calls_log()
        usage.add_spent(before.tokens, before.cost)
        for event in read_events(log) if log.is_file() else ():
            if isinstance(event, ModelCalled):
                usage.add(event.call)

    def _calls_log(self, episode: int | None = None) -> Path:
        return run_directory(self._workdir, self.game_state.episode_id if episode is None else episode) / MODEL_CALLS

    def get_status(self) -> dict[str, Any]:
        """Return the usage of the running episode."""
        return {"type": "model_usage", "metrics": self.usage()}

    def _log_call(self, call: CallRecord) -> None:
        state = self.game_state
        turn = state.turn_count + (call.role in _ASKED_BEFORE_THE_TURN)
        episode, turn = asked_for() or (state.episode_id, turn)
        self._report_if_useless(call.role)
        event = ModelCalled(episode, turn, datetime.now(UTC).isoformat(timespec="milliseconds"), call)
        try:
            append_line(self._calls_log(episode), as_json(to_record(event)), creates=True)
        except OSError as error:
            if not self._failures:
                self.logger.warning("a model call could not be logged", extra={"reason": str(error)})
            self._failures += 1

    def _report_if_useless(self, role: Role) -> None:
        """Tell the user once if the answers of a role are mostly useless."""
        tally = self.client.usage.of_episode(self.client.usage.episode).get(role)
        if tally is None or role in self._reported:
            return
        if message := useless_answers(role, tally.calls, tally.not_understood + tally.failed):
            self._reported.add(role)
            self.logger.warning("a role's answers are useless", extra={"role": str(role), "problem": message})
            if self._observer is not None:
                self._observer.notify(message)

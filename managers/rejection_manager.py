"""Decide which rejections count. They are limited, can be overruled, and depend on the trust in their judge."""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Rejection, TurnRecord
from session.outcome import failed
from zorkgpt.critic import CriticVerdict

LEAST_TRUST = 0.4
"""The rejections of a judge with less trust are recorded, but not obeyed."""


@dataclass
class _TrackRecord:
    """The number of right and wrong rejections of a judge, among those that were overruled."""

    right: int = 0
    wrong: int = 0

    @property
    def trust(self) -> float:
        """The trust in the judge, in [0, 1]."""
        # The prior is three right rejections and a wrong one.
        return (self.right + 3) / (self.right + self.wrong + 4)


class RejectionManager(BaseManager):
    """Mediates between the critic and the player.

    The player overrules a rejection by proposing the same action again in the same turn. After
    `max_rejections_per_turn` rejections, the next proposal is played. The result of a rejected action that is played
    shows whether the judge was right.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._max_per_turn = config.max_rejections_per_turn
        self._track_records: dict[str, _TrackRecord] = {}
        self._rejections: list[Rejection] = []
        self._scores: dict[str, float | None] = {}
        self._counts = {"rejected": 0, "overruled": 0}

    def reset(self) -> None:
        """Start a new episode. The trust in each judge is kept."""
        self._rejections, self._scores = [], {}
        self._counts = dict.fromkeys(self._counts, 0)

    def consider(self, action: str, judge: Callable[[], CriticVerdict]) -> Rejection | None:
        """Return the rejection to show to the player. None if the action is played.

        Args:
            judge: Called only if its verdict can matter.
        """
        is_repeated = any(rejection.action == action for rejection in self._rejections)
        obeyed_so_far = sum(rejection.obeyed for rejection in self._rejections)
        if is_repeated or obeyed_so_far >= self._max_per_turn:
            return None
        verdict = judge()
        self._scores[action] = verdict.score
        if verdict.accepted:
            return None
        obeyed = self.trust(verdict.judge) >= LEAST_TRUST
        rejection = Rejection(action, verdict.reason, verdict.judge, verdict.score, obeyed)
        self._rejections.append(rejection)
        return rejection if obeyed else None

    def of_turn(self) -> tuple[Rejection, ...]:
        """Return the rejections of the running turn, oldest first."""
        return tuple(self._rejections)

    def score_of(self, action: str) -> float | None:
        """Return the score of this proposal by the critic's model in this turn. None if it was not asked."""
        return self._scores.get(action)

    def trust(self, judge: str) -> float:
        """Return the trust in a judge, in [0, 1]."""
        return self._track_records.get(judge, _TrackRecord()).trust

    def process_turn(self, record: TurnRecord) -> None:
        """Count the rejections of this turn, and update the trust in a judge if its rejected action was played."""
        self._counts["rejected"] += len(record.rejections)
        for rejection in record.rejections:
            if rejection.action == record.transition.action:
                track_record = self._track_records.setdefault(rejection.judge, _TrackRecord())
                was_right = failed(record.transition) or record.transition.died
                track_record.right += was_right
                track_record.wrong += not was_right
                self._counts["overruled"] += 1
                self.logger.debug("rejection overruled", extra={"action": rejection.action, "was_right": was_right})
        self._rejections, self._scores = [], {}

    def snapshot(self) -> dict[str, Any]:
        """Return the track records of the judges and the counts of the episode."""
        trust = {judge: asdict(track_record) for judge, track_record in self._track_records.items()}
        return {"trust": trust, "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the result of `snapshot`."""
        self._track_records = {judge: _TrackRecord(**counts) for judge, counts in state["trust"].items()}
        self._counts |= {name: int(count) for name, count in state["counts"].items()}

    def get_status(self) -> dict[str, Any]:
        """Return the numbers of rejected and overruled proposals, and the trust in each judge."""
        trust = {judge: round(track_record.trust, 3) for judge, track_record in self._track_records.items()}
        return {"type": "rejection", "metrics": self._counts | {"trust": trust}}

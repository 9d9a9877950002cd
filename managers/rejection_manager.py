"""Decide which rejections count. They are limited and can be overruled, and a judge that is often wrong loses trust."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Rejection, TurnRecord
from session.outcome import failed
from zorkgpt.critic import CriticVerdict

LEAST_TRUST = 0.4
"""The rejections of a judge below it are recorded, but not obeyed."""


@dataclass
class _TrackRecord:
    """Counts how often a judge was right about an action that was played although it was rejected."""

    right: int = 0
    wrong: int = 0

    @property
    def trust(self) -> float:
        """Return the trust in the judge, in [0, 1]."""
        # A judge begins with some credit, as if it had been right three times and wrong once.
        return (self.right + 3) / (self.right + self.wrong + 4)


class RejectionManager(BaseManager):
    """Mediates between the critic and the player.

    The player overrules by proposing the same action again in the same turn. After `max_rejections_per_turn` whatever
    it proposes is played. What is played in spite of a rejection shows whether the judge was right.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._max_per_turn = config.max_rejections_per_turn
        self._track_records: dict[str, _TrackRecord] = {}
        self._rejections: list[Rejection] = []
        self._scores: dict[str, float | None] = {}
        self._counts = {"rejected": 0, "overruled": 0}

    def reset(self) -> None:
        """Begin a new episode. The trust in each judge is kept."""
        self._rejections, self._scores = [], {}
        self._counts = dict.fromkeys(self._counts, 0)

    def consider(self, action: str, judge: Callable[[], CriticVerdict]) -> Rejection | None:
        """Return the rejection that the player has to respond to; None if the action is played.

        Args:
            judge: Called only if its verdict can matter.
        """
        earlier = next((one for one in self._rejections if one.action == action), None)
        if earlier is not None or self._obeyed >= self._max_per_turn:
            return None
        verdict = judge()
        self._scores[action] = verdict.score
        if verdict.accepted:
            return None
        obeyed = self.trust(verdict.judge) >= LEAST_TRUST
        rejection = Rejection(action, verdict.reason, verdict.judge, verdict.score, obeyed)
        self._rejections.append(rejection)
        self._counts["rejected"] += 1
        return rejection if obeyed else None

    @property
    def _obeyed(self) -> int:
        return sum(rejection.obeyed for rejection in self._rejections)

    def of_turn(self) -> tuple[Rejection, ...]:
        """Return the rejections of the running turn, oldest first."""
        return tuple(self._rejections)

    def score_of(self, action: str) -> float | None:
        """Return the score that the critic's model gave this proposal in this turn; None if it was not asked."""
        return self._scores.get(action)

    def trust(self, judge: str) -> float:
        """Return the trust in a judge, from the results of its rejections, in [0, 1]."""
        return self._track_records.get(judge, _TrackRecord()).trust

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from an action that was played although it was rejected."""
        for rejection in self._rejections:
            if rejection.action == record.transition.action:
                known = self._track_records.setdefault(rejection.judge, _TrackRecord())
                in_vain = failed(record.transition) or record.transition.died
                known.right += in_vain
                known.wrong += not in_vain
                self._counts["overruled"] += 1
                self._log.debug("rejection overruled", extra={"action": rejection.action, "in_vain": in_vain})
        self._rejections, self._scores = [], {}

    def resume_turn(self, rejections: Sequence[Rejection]) -> None:
        """Restore the rejections of an interrupted turn that is played again."""
        self._rejections = list(rejections)
        self._counts["rejected"] += len(self._rejections)

    def snapshot(self) -> dict[str, Any]:
        """Return the track records of the judges and the counts of the episode."""
        trust = {judge: asdict(known) for judge, known in self._track_records.items()}
        return {"trust": trust, "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `snapshot` returned."""
        self._track_records = {judge: _TrackRecord(**known) for judge, known in state["trust"].items()}
        self._counts |= state["counts"]

    def get_status(self) -> dict[str, Any]:
        """Return how many proposals were rejected and overruled, and the trust in each judge."""
        trust = {judge: round(known.trust, 3) for judge, known in self._track_records.items()}
        return {"type": "rejection", "state": "ready", "metrics": self._counts | {"trust": trust}}

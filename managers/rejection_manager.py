"""Decide which rejections count. They are limited, can be overruled, and depend on the trust in their judge."""

import logging
from collections.abc import Callable
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Rejection, TurnRecord
from zorkgpt.critic import CriticVerdict
from zorkgpt.record.experience import ActionResult

MOST_PER_TURN = 3
"""Maximum rejections per turn. The next proposal is played."""
LEAST_TRUST = 0.4
"""The rejections of a judge with less trust are recorded, but not obeyed."""


_CONFIRMS = ActionResult.FAILED | ActionResult.LOST
"""The results of an action that show that its rejection was right."""
_PRIOR_RIGHT, _PRIOR_WRONG = 3, 1
"""The trust in a judge that was never overruled, as numbers of right and wrong rejections."""


class RejectionManager(BaseManager):
    """Mediates between the critic and the player.

    The player overrules a rejection by proposing the same action again in the same turn. After `MOST_PER_TURN`
    rejections, the next proposal is played. The result of a rejected action that is played shows whether the judge was
    right. The trust in a judge is the share of right rejections among these, in this episode and earlier ones.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._rejections: list[Rejection] = []
        self._scores: dict[str, float | None] = {}
        self._counts = {"rejected": 0, "overruled": 0}

    def reset(self) -> None:
        """Start a new episode."""
        self._rejections, self._scores = [], {}
        self._counts = dict.fromkeys(self._counts, 0)

    def consider(self, action: str, judge: Callable[[], CriticVerdict]) -> Rejection | None:
        """Return the rejection to show to the player. None if the action is played.

        Args:
            judge: Called only if its verdict can matter.
        """
        is_repeated = any(rejection.action == action for rejection in self._rejections)
        obeyed_so_far = sum(rejection.obeyed for rejection in self._rejections)
        if is_repeated or obeyed_so_far >= MOST_PER_TURN:
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
        results = [row.shows(_CONFIRMS) for row in self.game_state.experience.overruling(judge)]
        return (sum(results) + _PRIOR_RIGHT) / (len(results) + _PRIOR_RIGHT + _PRIOR_WRONG)

    def process_turn(self, record: TurnRecord) -> None:
        """Count the rejections of this turn, and those that were overruled."""
        self._counts["rejected"] += len(record.rejections)
        self._counts["overruled"] += sum(each.action == record.action for each in record.rejections)
        self._rejections, self._scores = [], {}

    def get_status(self) -> dict[str, Any]:
        """Return the numbers of rejected and overruled proposals, and the trust in each overruled judge."""
        trust = {judge: round(self.trust(judge), 3) for judge in self.game_state.experience.overruled}
        return {"type": "rejection", "metrics": self._counts | {"trust": trust}}

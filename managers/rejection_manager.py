"""Decides when a rejection counts: it is bounded, can be overruled, and its judge is trusted by what came of it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Rejection, TurnRecord
from session.outcome import failed
from zorkgpt.critic import Verdict

LEAST_TRUST = 0.4
"""A judge below it is heard and recorded, but not obeyed."""


@dataclass
class _Record:
    """How often a judge was right about an action that was played in spite of it."""

    right: int = 0
    wrong: int = 0

    @property
    def trust(self) -> float:
        # As if it had been right three times and wrong once before: a judge begins with some credit.
        return (self.right + 3) / (self.right + self.wrong + 4)


class RejectionManager:
    """Stands between critic and player.

    The player overrules by proposing the same action again in the same turn. After `max_rejections_per_turn` whatever
    it proposes is played. What is played in spite of a rejection shows whether the judge was right.
    """

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._state = game_state
        self._most = config.max_rejections_per_turn
        self._records: dict[str, _Record] = {}
        self._of_turn: list[Rejection] = []
        self._scores: dict[str, float | None] = {}
        self._counts = {"rejected": 0, "overruled": 0}

    def reset_episode(self) -> None:
        """The turn's rejections go; how far a judge can be trusted is known across episodes."""
        self._of_turn, self._scores = [], {}

    reset = reset_episode

    def consider(self, action: str, judge: Callable[[], Verdict]) -> Rejection | None:
        """The rejection that the player has to answer to; None if the action is to be played.

        Args:
            judge: asked only if its verdict can matter.
        """
        earlier = next((one for one in self._of_turn if one.action == action), None)
        if earlier is not None or self._obeyed >= self._most:
            return None
        verdict = judge()
        self._scores[action] = verdict.score
        if verdict.accepted:
            return None
        obeyed = self.trust(verdict.judge) >= LEAST_TRUST
        rejection = Rejection(action, verdict.reason, verdict.judge, verdict.score, obeyed)
        self._of_turn.append(rejection)
        self._counts["rejected"] += 1
        return rejection if obeyed else None

    @property
    def _obeyed(self) -> int:
        return sum(rejection.obeyed for rejection in self._of_turn)

    def of_turn(self) -> tuple[Rejection, ...]:
        """The rejections of the turn that is being played, oldest first."""
        return tuple(self._of_turn)

    def score_of(self, action: str) -> float | None:
        """What the critic's model gave this proposal of the turn that is being played; None: it was not asked."""
        return self._scores.get(action)

    def trust(self, judge: str) -> float:
        """How far a judge's rejections were borne out, 0 to 1."""
        return self._records.get(judge, _Record()).trust

    def process_turn(self, record: TurnRecord) -> None:
        """Learn from an action that was played in spite of its rejection."""
        for rejection in self._of_turn:
            if rejection.action == record.transition.action:
                known = self._records.setdefault(rejection.judge, _Record())
                in_vain = failed(record.transition) or record.transition.died
                known.right += in_vain
                known.wrong += not in_vain
                self._counts["overruled"] += 1
                self._log.debug("rejection overruled", extra={"action": rejection.action, "in_vain": in_vain})
        self._of_turn, self._scores = [], {}

    def resume_turn(self, rejections: Sequence[Rejection]) -> None:
        """What was rejected before the turn was cut short, for the turn that is played again."""
        self._of_turn = list(rejections)
        self._counts["rejected"] += len(self._of_turn)

    def to_dict(self) -> dict[str, Any]:
        return {"trust": {judge: asdict(known) for judge, known in self._records.items()}, "counts": dict(self._counts)}

    def restore(self, state: dict[str, Any]) -> None:
        self._records = {judge: _Record(**known) for judge, known in state["trust"].items()}
        self._counts |= state["counts"]

    def process_periodic_update(self) -> None:
        """All of it is of every turn."""

    def get_status(self) -> dict[str, Any]:
        trust = {judge: round(known.trust, 3) for judge, known in self._records.items()}
        return {"type": "rejection", "state": "ready", "metrics": self._counts | {"trust": trust}}

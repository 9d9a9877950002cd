"""Detect loops in the player's actions, and a lack of progress for many turns."""

import logging
import re
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.world.progress import Loop, NoveltyTracker, RecurrenceDetector

_WINDOW_TURNS = 20
"""Turns within which the player is told about a return to the same state."""
_STUCK_AFTER_TURNS = 40
"""Turns without a new location, object, score or memory after which the player is told."""
_SAME_REFUSALS = 3


class ProgressManager(BaseManager):
    """Detects loops and lack of progress in the records of an episode's turns."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._recurrences = RecurrenceDetector(_WINDOW_TURNS)
        self._novelty = NoveltyTracker()
        self.reset()

    def reset(self) -> None:
        """Start a new episode."""
        self._recurrences.clear()
        self._novelty.clear()
        self._loop: Loop | None = None
        self._idle_turns = 0
        self._refusal, self._refusals = "", 0
        """The last refusal, and how often it was repeated without a command that was played in between."""
        self._counts = {"loops": 0, "stuck": 0, "turns_stuck": 0}

    def process_turn(self, record: TurnRecord) -> None:
        """Check whether this turn closed a loop, and whether it found anything new."""
        loop = self._recurrences.learn(record.turn, record.transition)
        # In a fight, repeating an attack is right.
        fighting = record.extraction is not None and record.extraction.combat
        self._loop = None if fighting else loop
        self._idle_turns = self._novelty.learn(record)
        self._count_refusals(record)
        self._counts["loops"] += self._loop is not None
        self._counts["stuck"] += self._idle_turns == _STUCK_AFTER_TURNS
        self._counts["turns_stuck"] += self._stuck
        if self._loop is not None:
            self.logger.debug("loop detected", extra={"turn": record.turn, "since": self._loop.since})

    def _count_refusals(self, record: TurnRecord) -> None:
        reasons = [rejection.reason for rejection in record.rejections if rejection.obeyed]
        reasons += [record.transition.refused] if record.transition.refused else []
        for reason in reasons:
            is_same = _kind_of(reason) == _kind_of(self._refusal)
            self._refusal, self._refusals = reason, self._refusals + 1 if is_same else 1
        if not reasons:
            self._refusal, self._refusals = "", 0

    @property
    def _stuck(self) -> bool:
        return self._idle_turns >= _STUCK_AFTER_TURNS

    def notices(self) -> tuple[str, ...]:
        """Return notices for the player. () if the player makes progress."""
        notices = []
        if self._loop is not None:
            notices.append(_loop_notice(self._loop))
        if self._stuck:
            notices.append(
                f"Nothing new for {self._idle_turns} turns: no new place, object, score or memory. "
                "Go where you have not been, or try what you have not tried."
            )
        if self._refusals >= _SAME_REFUSALS:
            notices.append(
                f"Your last {self._refusals} commands were refused for the same reason, and nothing was played: "
                f"{self._refusal} Write a different kind of command: a verb and one thing that you see, or a direction."
            )
        return tuple(notices)

    def get_status(self) -> dict[str, Any]:
        """Return the counts of the episode."""
        return {"type": "progress", "metrics": dict(self._counts)}


def _kind_of(refusal: str) -> str:
    """Return a refusal without the words and numbers that it quotes."""
    return re.sub(r'"[^"]*"|\d+', "", refusal)


def _loop_notice(loop: Loop) -> str:
    nothing = "nothing that has a name" if loop.unnamed else "nothing"
    if loop.repeated:
        action = loop.repeated.replace('"', "'")
        return f'"{action}" got the same response {loop.times} times in {loop.turns + 1} turns, and {nothing} changed.'
    state = "The named part of the world" if loop.unnamed else "The world"
    return (
        f"{state} is in exactly the same state as {loop.turns} turns ago (turn {loop.since}). "
        f"Your actions since then changed {nothing}."
    )

"""Detect when the player goes in a circle, or has found nothing new for many turns."""

import logging
from typing import Any

from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.world.progress import Loop, NoveltyTracker, RecurrenceDetector


class ProgressManager(BaseManager):
    """Detects loops and lack of progress in the records of an episode's turns."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        super().__init__(logger, config, game_state)
        self._window_turns = config.loop_window_turns
        self._stuck_after_turns = config.stuck_after_turns
        self._recurrences = RecurrenceDetector(self._window_turns)
        self._newness = NoveltyTracker()
        self.reset()

    def reset(self) -> None:
        """Begin a new episode: forget its turns."""
        self._recurrences.clear()
        self._newness.clear()
        self._circle: Loop | None = None
        self._idle_turns = 0
        self._counts = {"loops": 0, "stuck": 0, "turns_stuck": 0}

    def process_turn(self, record: TurnRecord) -> None:
        """Check whether this turn closed a loop, and whether it found anything new."""
        circle = self._recurrences.learn(record.turn, record.transition) if self._window_turns else None
        # In a fight, striking again and again is the right thing to do.
        fighting = record.extraction is not None and record.extraction.combat
        self._circle = None if fighting else circle
        self._idle_turns = self._newness.learn(record)
        self._counts["loops"] += self._circle is not None
        self._counts["stuck"] += self._stuck and self._idle_turns == self._stuck_after_turns
        self._counts["turns_stuck"] += self._stuck
        if self._circle is not None:
            self._log.debug("going in a circle", extra={"turn": record.turn, "since": self._circle.since})

    @property
    def _stuck(self) -> bool:
        return bool(0 < self._stuck_after_turns <= self._idle_turns)

    def notices(self) -> tuple[str, ...]:
        """Return notices for the player; () while it makes progress."""
        notices = []
        if self._circle is not None:
            notices.append(_circle_notice(self._circle))
        if self._stuck:
            notices.append(
                f"Nothing new for {self._idle_turns} turns: no place, object, score or memory before unknown. "
                "Go where you have not been, or try what you have not tried."
            )
        return tuple(notices)

    def get_status(self) -> dict[str, Any]:
        """Return whether the player makes progress, and how often it made none."""
        state = "stuck" if self._stuck else "in a circle" if self._circle else "getting on"
        return {"type": "progress", "state": state, "metrics": dict(self._counts)}


def _circle_notice(circle: Loop) -> str:
    nothing = "nothing that can be named" if circle.unnamed else "nothing"
    if circle.repeated:
        action = circle.repeated.replace('"', "'")
        return (
            f'"{action}" was answered the same {circle.times} times in {circle.turns + 1} turns, and {nothing} changed.'
        )
    as_it_was = "The world, as far as it can be named," if circle.unnamed else "The world"
    return (
        f"{as_it_was} is exactly as it was {circle.turns} turns ago (turn {circle.since}); "
        f"what you did since changed {nothing}."
    )

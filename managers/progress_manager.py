"""Tells the player when it goes in a circle, or when nothing new has come up for long."""

import logging
from typing import Any

from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.world.progress import Loop, NoveltyTracker, RecurrenceDetector


class ProgressManager:
    """Watches the turns of an episode for circles and standstill; a pure fold over their records."""

    def __init__(self, logger: logging.Logger, config: GameConfiguration, game_state: GameState) -> None:
        self._log = logger
        self._window = config.loop_window_turns
        self._patience = config.stuck_after_turns
        self._recurrences = RecurrenceDetector(self._window)
        self._newness = NoveltyTracker()
        self.reset_episode()

    def reset_episode(self) -> None:
        self._recurrences.clear()
        self._newness.clear()
        self._circle: Loop | None = None
        self._idle_turns = 0
        self._counts = {"loops": 0, "stuck": 0, "turns_stuck": 0}

    reset = reset_episode

    def process_turn(self, record: TurnRecord) -> None:
        """Look whether this turn closed a circle, and whether it brought anything new."""
        circle = self._recurrences.learn(record.turn, record.transition) if self._window else None
        # Who is fighting strikes again and again, and is right to.
        fighting = record.extraction is not None and record.extraction.combat
        self._circle = None if fighting else circle
        self._idle_turns = self._newness.learn(record)
        self._counts["loops"] += self._circle is not None
        self._counts["stuck"] += self._stuck and self._idle_turns == self._patience
        self._counts["turns_stuck"] += self._stuck
        if self._circle is not None:
            self._log.debug("going in a circle", extra={"turn": record.turn, "since": self._circle.since})

    @property
    def _stuck(self) -> bool:
        return 0 < self._patience <= self._idle_turns

    def notices(self) -> tuple[str, ...]:
        """What the player should know before it chooses; () if it gets on."""
        told = []
        if self._circle is not None:
            told.append(_of_circle(self._circle))
        if self._stuck:
            told.append(
                f"Nothing new for {self._idle_turns} turns: no place, object, score or memory before unknown. "
                "Go where you have not been, or try what you have not tried."
            )
        return tuple(told)

    def process_periodic_update(self) -> None:
        """All of it is of every turn."""

    def get_status(self) -> dict[str, Any]:
        state = "stuck" if self._stuck else "in a circle" if self._circle else "getting on"
        return {"type": "progress", "state": state, "metrics": dict(self._counts)}


def _of_circle(circle: Loop) -> str:
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

"""The progress of a run: position, speed, cost and remaining time."""

import time
from collections import deque
from collections.abc import Callable

from session.history import TurnRecord, UsageTotals
from zorkgpt.runlog.events import EpisodeEnded, EpisodeResumed, EpisodeStarted

_MEASURED_TURNS = 50
"""Number of recent turns over which the speed is measured."""
_MIN_TURNS = 5
"""Minimum number of turns for a speed."""


class RunProgress:
    """A watcher that counts turns and episodes for the displays.

    Args:
        episodes: Number of episodes to play.
        max_turns: Maximum turns per episode.
        now: A monotonic clock, in seconds.
    """

    def __init__(self, episodes: int, max_turns: int, now: Callable[[], float] = time.monotonic) -> None:
        self._episodes = episodes
        self._max_turns = max_turns
        self._now = now
        self._ended: list[int] = []
        self._turn: int | None = None
        """The last turn of the running episode. None between episodes."""
        self._shown_turn = 0
        """The last turn of the running episode or, between episodes, of the previous one."""
        self._times: deque[float] = deque(maxlen=_MEASURED_TURNS + 1)
        self._spent: UsageTotals | None = None

    def episode_started(self, event: EpisodeStarted) -> None:
        self._turn = self._shown_turn = 0
        if not self._times:
            self._times.append(self._now())

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._turn = self._shown_turn = event.turn
        self._times.append(self._now())

    def turn_played(self, record: TurnRecord) -> None:
        self._turn = self._shown_turn = record.turn
        self._times.append(self._now())
        self._spent = record.spent or self._spent

    def episode_ended(self, event: EpisodeEnded) -> None:
        self._ended.append(event.turns)
        self._turn = None

    @property
    def turns_played(self) -> int:
        """The turns of all episodes so far."""
        return sum(self._ended) + (self._turn or 0)

    @property
    def is_limit(self) -> bool:
        """Whether `turns_left` is an upper limit, because no episode has ended or this one is longer than usual."""
        return not self._ended or (self._turn or 0) >= self._usual_turns

    @property
    def turns_left(self) -> int:
        """The remaining turns, estimated from the length of earlier episodes or else from the limit."""
        usual_turns = self._usual_turns
        running = self._turn is not None
        expected = self._max_turns if self.is_limit else usual_turns
        left_in_episode = max(0, expected - self._turn) if self._turn is not None else 0
        return left_in_episode + max(0, self._episodes - len(self._ended) - running) * usual_turns

    @property
    def _usual_turns(self) -> int:
        return round(sum(self._ended) / len(self._ended)) if self._ended else self._max_turns

    @property
    def turns_per_s(self) -> float | None:
        """The speed. None if too few turns were played."""
        measured = len(self._times) - 1
        took = self._times[-1] - self._times[0] if measured >= _MIN_TURNS else 0.0
        return measured / took if took > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """The remaining time. None if unknown."""
        rate = self.turns_per_s
        return self.turns_left / rate if rate else None

    def position(self) -> str:
        """Return the position, such as `episode 2 of 10  turn 31/400`."""
        episode = len(self._ended) + (self._turn is not None)
        return f"episode {max(1, episode)} of {self._episodes}  turn {self._shown_turn}/{self._max_turns}"

    def speed(self) -> str:
        """Return speed, cost and remaining time: `3.1 turns/s  12,840 tokens  cost 0.0214  about 18 min left`.

        Unknown values are left out. "at most" marks an upper limit of the remaining time.
        """
        parts = [] if (rate := self.turns_per_s) is None else [f"{rate:.3g} turns/s"]
        if self._spent:
            parts.append(f"{self._spent.tokens:,} tokens")
            if self._spent.cost:
                parts.append(f"cost {self._spent.cost:.4f}")
        if (left := self.seconds_left) is not None and self.turns_left:
            parts.append(f"{'at most' if self.is_limit else 'about'} {duration(left)} left")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """Format a duration: `40 s`, `12 min`, `3 h 5 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"

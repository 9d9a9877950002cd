"""How long nothing new has come up: no place, object, score or memory that this episode had not seen."""

from game_interface.models import Observation
from session.history import TurnRecord


class Newness:
    """Counts the turns since anything was new."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._places: set[int] = set()
        self._objects: set[int] = set()
        self._best: int | None = None
        self._last = 0

    def learn(self, record: TurnRecord) -> int:
        """Take over a turn; how many have passed since the last one that brought something new, 0: this one did."""
        step = record.transition
        if not self._places and not self._objects:
            self._take_in(step.before)
            self._last = record.turn - 1
        remembered = any(event.kind == "added" for event in record.memory_events)
        if self._take_in(step.after) or remembered:
            self._last = record.turn
        return record.turn - self._last

    def _take_in(self, now: Observation) -> bool:
        places = {now.location.num} if now.location else set()
        objects = {item.num for items in (now.visible, now.carried) for item in items or ()}
        scored = now.score is not None and (self._best is None or now.score > self._best)
        new = scored or not places <= self._places or not objects <= self._objects
        self._places |= places
        self._objects |= objects
        self._best = now.score if scored else self._best
        return new

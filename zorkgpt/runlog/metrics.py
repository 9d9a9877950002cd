"""What the logs of several episodes add up to."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from zorkgpt.runlog.events import Event, TurnPlayed


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How one episode's actions fared."""

    episode: int
    actions: int
    failed: int
    repeated: int
    """Failed, and the same action at the same place had failed before, in this or an earlier episode."""

    @property
    def repeated_share(self) -> float:
        """Of all actions, in [0, 1]."""
        return self.repeated / self.actions if self.actions else 0.0


def count_failures(episodes: Iterable[Iterable[Event]]) -> Iterator[FailureCount]:
    """One count for each episode that has turns; give the episodes from the first one on, in order."""
    failed_before: set[tuple[int | None, str]] = set()
    for events in episodes:
        turns = [event for event in events if isinstance(event, TurnPlayed)]
        repeated = 0
        for turn in turns:
            attempt = (turn.location_id, " ".join(turn.action.lower().split()))
            if turn.failed:
                repeated += attempt in failed_before
                failed_before.add(attempt)
        if turns:
            yield FailureCount(turns[0].episode, len(turns), sum(turn.failed for turn in turns), repeated)

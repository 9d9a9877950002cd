"""One way out of a room, as often as it was tried."""

from dataclasses import dataclass, field

from zorkgpt.world.movement import MoveKind

# A way is sure after a few walks, and doubted quickly: (walks + 1) / (tries + 2), Laplace's rule of succession.
_PRIOR_WALKS, _PRIOR_TRIES = 1, 2


@dataclass(slots=True)
class Way:
    """Where it led, each time; several rooms if it is left to chance."""

    ends: dict[int, int] = field(default_factory=dict)
    """Room → walks that ended there, the latest last."""
    failures: int = 0
    """Tries that led nowhere."""
    kind: MoveKind = MoveKind.WALKED

    def walk(self, to_id: int, kind: MoveKind) -> None:
        self.ends[to_id] = self.ends.pop(to_id, 0) + 1
        # What can be walked needs no vehicle, whatever it was taken with at other times.
        if kind is MoveKind.WALKED or len(self.ends) == 1 == self.ends[to_id]:
            self.kind = kind

    @property
    def leads_to(self) -> int:
        """The room where it ended most often; of several, the latest."""
        if len(self.ends) == 1:
            (room,) = self.ends
            return room
        return max(reversed(self.ends), key=self.ends.__getitem__)

    @property
    def walks(self) -> int:
        """That ended where it leads to."""
        return self.ends[self.leads_to]

    @property
    def contradictions(self) -> int:
        """Tries that ended elsewhere or nowhere."""
        return sum(self.ends.values()) - self.walks + self.failures

    @property
    def confidence(self) -> float:
        return (self.walks + _PRIOR_WALKS) / (self.walks + self.contradictions + _PRIOR_TRIES)

    @property
    def shares(self) -> dict[int, float]:
        """Room → part of the walks that ended there; they sum to 1."""
        walks = sum(self.ends.values())
        return {room: count / walks for room, count in sorted(self.ends.items())}


def failures_behind(confidence: float, walks: int, elsewhere: int = 0) -> int:
    """How many failures a confidence was computed from: `Way.confidence`, solved for them."""
    tries = (walks + _PRIOR_WALKS) / confidence - _PRIOR_TRIES
    return max(0, round(tries - walks - elsewhere))

"""What an explorer knows of one place: remembered from earlier episodes, and tried in this one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from zorkgpt.memory.models import Memory
from zorkgpt.offline.candidates import Candidate, Tier
from zorkgpt.offline.phrases import Outcome, normal, read_title
from zorkgpt.world.directions import canonical_direction

_ORDER = list(Outcome)
_REWARDING = frozenset({Outcome.SCORES, Outcome.TAKES})


@dataclass
class PlaceNotes:
    """One place. Actions are kept in their normal form."""

    visited: bool = False
    """In this episode."""
    done: set[str] = field(default_factory=set)
    """In this episode."""
    remembered: dict[str, Outcome] = field(default_factory=dict)
    reopened: set[str] = field(default_factory=set)
    """Failed, but something about them has changed since; each only once an episode."""
    offered: dict[str, Tier] = field(default_factory=dict)
    """What could be tried when the place was seen last in this episode."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "visited": self.visited,
            "done": sorted(self.done),
            "remembered": dict(self.remembered),
            "reopened": sorted(self.reopened),
            "offered": dict(self.offered),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "PlaceNotes":
        return cls(
            state["visited"],
            set(state["done"]),
            {action: Outcome(outcome) for action, outcome in state["remembered"].items()},
            set(state["reopened"]),
            {action: Tier(tier) for action, tier in state["offered"].items()},
        )

    def learn(self, memories: Iterable[Memory]) -> None:
        """Take over what memory says."""
        self.remembered = {}
        for memory in memories:
            if known := read_title(memory):
                action, outcome = known
                known_as = self.remembered.get(action, outcome)
                self.remembered[action] = min(known_as, outcome, key=_ORDER.index)

    def offer(self, seen: Iterable[Candidate]) -> None:
        """Take over what could be tried, now that the place is in sight."""
        self.visited = True
        self.offered = {}
        for candidate in seen:
            self.offered.setdefault(normal(candidate.action), candidate.tier)

    def reopen(self, nouns: Iterable[str], failed: Iterable[str]) -> None:
        """Something about these things has changed: what was tried with them in vain may work now.

        Args:
            failed: what changed nothing here in this episode.
        """
        words = set(nouns)
        in_vain = {normal(action) for action in failed}
        in_vain |= {action for action, outcome in self.remembered.items() if outcome is Outcome.FAILS}
        for action in in_vain - self.reopened:
            if words & set(action.split()):
                self.reopened.add(action)
                self.done.discard(action)

    @property
    def lingering_kills(self) -> bool:
        """Someone died here of something other than a way out."""
        return any(
            outcome is Outcome.KILLS and canonical_direction(action) is None
            for action, outcome in self.remembered.items()
        )

    def pending(self) -> Iterable[tuple[Tier, str]]:
        """What is left to try here."""
        hurry = self.lingering_kills
        for action, outcome in self.remembered.items():
            if action not in self.done and not hurry:
                if outcome in _REWARDING:
                    yield Tier.REWARD, action
                # A way that changed something without leading anywhere is a warning, if anything.
                elif outcome is Outcome.WORKS and canonical_direction(action) is None:
                    yield Tier.PREPARE, action
        for action, tier in self.offered.items():
            fresh = action not in self.remembered or action in self.reopened
            if fresh and action not in self.done and (not hurry or canonical_direction(action)):
                yield tier, action

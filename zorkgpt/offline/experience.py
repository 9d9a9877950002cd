"""The experience of earlier episodes: scoring steps, tried actions by place, and untried ones."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from game_interface.models import Language
from session.outcome import is_passive
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.explore.trail import Trail
from zorkgpt.offline.candidates import Candidate, Tier
from zorkgpt.offline.command_record import CommandRecord
from zorkgpt.offline.grammar_tries import analyzed
from zorkgpt.offline.scoring_plan import ScoringStep, best_trail, scoring_steps
from zorkgpt.text import normalized_action

Pair = tuple[int, str]
"""A place, and an action there."""


@dataclass(frozen=True)
class Experience:
    """The results of earlier episodes, from their trails."""

    steps: tuple[ScoringStep, ...] = ()
    """The scoring steps, as a plan."""
    barren: Mapping[Pair, int] = field(default_factory=dict)
    """Place and action → the number of episodes in which it did not score."""
    left: Mapping[int, Candidate | None] = field(default_factory=dict)
    """Place → the most promising untried action there; None if there is none."""
    episodes: int = 0
    """The number of these episodes."""
    record: CommandRecord = field(default_factory=CommandRecord)
    """The results of their commands."""
    deadline: int | None = None
    """The move at which a need or a time limit killed the player; None if unknown."""

    def barren_at(self, place: int) -> dict[str, int]:
        """Return action → the number of episodes in which it did not score at this place."""
        return {action: times for (room, action), times in self.barren.items() if room == place}

    @cached_property
    def barren_places(self) -> Counter[str]:
        """Action, other than an exit → the number of places where it did not score."""
        return Counter(action for _, action in self.barren if canonical_direction(action) is None)

    @cached_property
    def holders(self) -> dict[int, set[str]]:
        """Place → the holders there in which putting a thing scored: "in case", "on table"."""
        holders: dict[int, set[str]] = {}
        for step in self.steps:
            for thing in step.held if step.gain and step.action.startswith("put ") else ():
                for at in (" in ", " on "):
                    put, preposition, holder = step.action.partition(at)
                    if preposition and put.split()[-1] in thing.lower().split():
                        holders.setdefault(step.place, set()).add(f"{at.strip()} {holder}")
        return holders


class GatheredTrails:
    """The combined results of the trails of episodes. Each is processed once, when it is added."""

    def __init__(self, language: Language | None = None) -> None:
        self._language = language
        self._count = 0
        self._times: Counter[Pair] = Counter()
        self._scored: set[Pair] = set()
        self._best: Trail | None = None
        self._left: Mapping[int, list[str]] = {}
        self._record = CommandRecord()

    def add(self, trail: Trail) -> None:
        """Add the trail of the next episode."""
        self._count += 1
        place, score = trail.start, 0
        done: set[Pair] = set()
        for step in trail.steps:
            now, action = step.standing, normalized_action(step.action)
            worked = step.effective or now.place != place
            if place is not None:
                pair = place, exit_name(action)
                done.add(pair)
                if (now.score or 0) > score:
                    self._scored.add(pair)
            # Passive actions never change anything.
            if canonical_direction(action) is None and not is_passive(action):
                self._record.count(analyzed(action, self._language), worked=worked, is_success=step.changed_objects)
            place, score = now.place, now.score or 0
        self._times.update(done)
        self._record.refused.update(map(normalized_action, trail.refused))
        self._best = best_trail([trail] if self._best is None else [self._best, trail])
        self._left = trail.left or self._left

    def experience(self, is_vetoed: Callable[[ScoringStep], bool] = lambda step: False) -> Experience:
        """Return the experience so far, without vetoed scoring steps."""
        steps = scoring_steps(self._best) if self._best else ()
        return Experience(
            tuple(step for step in steps if not is_vetoed(step)),
            {pair: times for pair, times in self._times.items() if pair not in self._scored},
            {place: _candidate(fields) for place, fields in self._left.items()},
            self._count,
            self._record,
        )


def _candidate(fields: Sequence[str]) -> Candidate | None:
    """Return the action and its kind as a candidate; None if nothing is left, or the kind is unknown."""
    action, kind = fields or ("", "")
    return Candidate(Tier[kind], action) if kind in Tier.__members__ else None

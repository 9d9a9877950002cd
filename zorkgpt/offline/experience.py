"""The experience of earlier episodes: what scored, what was tried where, and what was left untried."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from game_interface.models import Language
from session.outcome import is_passive
from zorkgpt.explore.trail import Trail
from zorkgpt.offline.candidates import Candidate, Tier
from zorkgpt.offline.command_record import CommandRecord
from zorkgpt.offline.grammar_tries import analyzed
from zorkgpt.offline.scoring_plan import ScoringStep, scoring_steps
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import canonical_direction, exit_name

Pair = tuple[int, str]
"""A place, and an action there."""


@dataclass(frozen=True)
class Experience:
    """The results of earlier episodes, from their trails."""

    steps: tuple[ScoringStep, ...] = ()
    """What scored, as the steps of a plan."""
    barren: Mapping[Pair, int] = field(default_factory=dict)
    """Place and action → the number of episodes in which it was done without points."""
    left: Mapping[int, Candidate | None] = field(default_factory=dict)
    """Place → the most promising action that was left untried there; None if none was."""
    episodes: int = 0
    """The number of these episodes, and of the trails of searches."""
    record: CommandRecord = field(default_factory=CommandRecord)
    """The results of their commands."""

    @classmethod
    def of(
        cls,
        trails: Sequence[Trail],
        is_vetoed: Callable[[ScoringStep], bool] = lambda step: False,
        language: Language | None = None,
        searched: Sequence[Trail] = (),
    ) -> Self:
        """Return the experience of these episodes, in the order in which they were played.

        Args:
            searched: Trails that began at saved states, so that no plan can be made of them.
        """
        barren, scored = _tried([*trails, *searched])
        return cls(
            tuple(step for step in scoring_steps(trails) if not is_vetoed(step)),
            {pair: times for pair, times in barren.items() if pair not in scored},
            _left(trails),
            len(trails) + len(searched),
            _record([*trails, *searched], language),
        )

    def barren_at(self, place: int) -> dict[str, int]:
        """Return action → the number of episodes in which it was done at this place without points."""
        return {action: times for (room, action), times in self.barren.items() if room == place}

    @cached_property
    def barren_places(self) -> Counter[str]:
        """Action, other than an exit → the number of places at which it was done without points."""
        return Counter(action for _, action in self.barren if canonical_direction(action) is None)

    @cached_property
    def holders(self) -> dict[int, set[str]]:
        """Place → where putting a thing scored there: "in case", "on table"."""
        found: dict[int, set[str]] = {}
        for step in self.steps:
            for thing in step.held if step.gain and step.action.startswith("put ") else ():
                for at in (" in ", " on "):
                    put, preposition, holder = step.action.partition(at)
                    if preposition and put.split()[-1] in thing.lower().split():
                        found.setdefault(step.place, set()).add(f"{at.strip()} {holder}")
        return found


def _tried(trails: Iterable[Trail]) -> tuple[Counter[Pair], set[Pair]]:
    """Return in how many episodes each action was done at each place, and which scored in any."""
    times: Counter[Pair] = Counter()
    scored: set[Pair] = set()
    for trail in trails:
        place, score = trail.start, trail.score
        done: set[Pair] = set()
        for step in trail.steps:
            now = step.standing
            if place is not None:
                pair = place, exit_name(normalized_action(step.action))
                done.add(pair)
                if (now.score or 0) > score:
                    scored.add(pair)
            place, score = now.place, now.score or 0
        times.update(done)
    return times, scored


def _record(trails: Iterable[Trail], language: Language | None) -> CommandRecord:
    record = CommandRecord()
    for trail in trails:
        place = trail.start
        for step in trail.steps:
            action = normalized_action(step.action)
            # What only looks changes nothing, whatever it shows.
            if canonical_direction(action) is None and not is_passive(action):
                record.count(analyzed(action, language), float(step.effective or step.standing.place != place))
            place = step.standing.place
        record.refused.update(map(normalized_action, trail.refused))
    return record


def _left(trails: Iterable[Trail]) -> dict[int, Candidate | None]:
    """Return what was left untried in the latest episode that recorded it."""
    recorded = [trail.left for trail in trails if trail.left]
    return {place: _candidate(fields) for place, fields in recorded[-1].items()} if recorded else {}


def _candidate(fields: Sequence[str]) -> Candidate | None:
    """Return the action and its kind as a candidate; None if nothing is left, or the kind is unknown."""
    action, kind = fields or ("", "")
    return Candidate(Tier[kind], action) if kind in Tier.__members__ else None

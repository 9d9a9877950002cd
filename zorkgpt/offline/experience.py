"""What the rules player knows from earlier episodes: scoring steps, actions without points, and untried ones."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from zorkgpt.directions import canonical_direction
from zorkgpt.explore.trail import Trail
from zorkgpt.offline.candidates import Candidate, Tier
from zorkgpt.offline.scoring_plan import ScoringStep, best_trail, scoring_steps
from zorkgpt.record.experience import Experience, Place


@dataclass(frozen=True)
class PastEpisodes:
    """What earlier episodes showed."""

    experience: Experience = field(default_factory=Experience)
    """What the actions of the running episode led to, and those of earlier ones."""
    steps: tuple[ScoringStep, ...] = ()
    """The scoring steps, as a plan."""
    left: Mapping[int, Candidate | None] = field(default_factory=dict)
    """Place → the most promising untried action there; None if there is none."""
    deadline: int | None = None
    """The move at which a need or a time limit killed the player; None if unknown."""

    @property
    def earlier(self) -> Experience:
        """What the actions of earlier episodes led to."""
        return self.experience.earlier or Experience()

    @cached_property
    def barren(self) -> Mapping[Place, Mapping[str, int]]:
        """Place → action → the number of episodes in which it was taken there, for actions that never scored."""
        barren: dict[Place, dict[str, int]] = {}
        for place, action, episodes in self.earlier.without_points():
            barren.setdefault(place, {})[action] = episodes
        return barren

    @cached_property
    def barren_places(self) -> Counter[str]:
        """Action, other than an exit → the number of places where it did not score."""
        actions = (action for by_action in self.barren.values() for action in by_action)
        return Counter(action for action in actions if canonical_direction(action) is None)

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


def past_episodes(
    experience: Experience,
    trails: Sequence[Trail],
    *,
    is_vetoed: Callable[[ScoringStep], bool] = lambda step: False,
    deadline: int | None = None,
) -> PastEpisodes:
    """Return what these trails show, without vetoed scoring steps.

    Args:
        experience: The rows of these trails, and of the running episode.
    """
    steps = scoring_steps(best_trail(trails)) if trails else ()
    left = next((trail.left for trail in reversed(trails) if trail.left), {})
    return PastEpisodes(
        experience,
        tuple(step for step in steps if not is_vetoed(step)),
        {place: _candidate(fields) for place, fields in left.items()},
        deadline,
    )


def _candidate(fields: Sequence[str]) -> Candidate | None:
    """Return the action and its kind as a candidate; None if nothing is left, or the kind is unknown."""
    action, kind = fields or ("", "")
    return Candidate(Tier[kind], action) if kind in Tier.__members__ else None

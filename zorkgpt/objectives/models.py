"""An objective: what is wanted, how to tell that it is done, and what became of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from zorkgpt.objectives.conditions import FINDINGS, Condition, ConditionKind, normalized_text

_MOST_EVIDENCE = 5
_GIVEN_UP_FOR_GOOD = 3
"""Episodes in which nothing came of an objective that was never reached, after which it is not opened again."""


class ObjectiveStatus(StrEnum):
    """What became of an objective in the running episode."""

    OPEN = "open"
    STALE = "stale"
    """Nothing has come of it for a while; it is shown last."""
    REACHED = "reached"
    ABANDONED = "abandoned"
    """Nothing came of it for so long, or there were so many, that it is not pursued any longer."""


class Scope(StrEnum):
    """How long an objective makes sense."""

    WORLD = "world"
    """It is about the world as every episode begins: kept."""
    EPISODE = "episode"
    """It came from what the player did in this episode: dropped at the restart."""


@dataclass(frozen=True, slots=True, order=True)
class EpisodeTurn:
    """A turn of an episode."""

    episode: int
    turn: int


@dataclass(frozen=True, slots=True, order=True)
class ObjectiveEvidence:
    """When an objective was reached, and how that is known."""

    moment: EpisodeTurn
    judge: Literal["game", "model"]
    """The Z-machine's memory, or a model that read what the game said."""
    words: str
    """The action of that turn, or what the game said on it."""
    gain: int = 0
    """Points of that turn."""


@dataclass(frozen=True, slots=True)
class Objective:
    """One objective. Places are room numbers."""

    text: str
    condition: Condition
    origin: EpisodeTurn
    scope: Scope = Scope.EPISODE
    places: tuple[int, ...] = ()
    status: ObjectiveStatus = ObjectiveStatus.OPEN
    evidence: tuple[ObjectiveEvidence, ...] = ()
    """The last times that it was reached, in this and earlier episodes, oldest first."""
    given_up: tuple[int, ...] = ()
    """Episodes in which nothing came of it."""
    progressed: int = 0
    """The turn of this episode on which something last came of it, or it was taken up; 0: the beginning."""
    rank: int = 0
    """The lower, the earlier it is shown."""

    @property
    def key(self) -> str:
        """The same for objectives that are the same."""
        return self.condition.key if self.condition.checkable else f"{ConditionKind.TEXT}:{normalized_text(self.text)}"

    @property
    def pursued(self) -> bool:
        return self.status in (ObjectiveStatus.OPEN, ObjectiveStatus.STALE)


def reached(objective: Objective, evidence: ObjectiveEvidence) -> Objective:
    """It is done, and this shows it."""
    return replace(objective, status=ObjectiveStatus.REACHED, evidence=_last((*objective.evidence, evidence)))


def abandoned(objective: Objective, episode: int) -> Objective:
    """Nothing came of it in this episode."""
    return replace(objective, status=ObjectiveStatus.ABANDONED, given_up=tuple(sorted({*objective.given_up, episode})))


def restarted(objective: Objective) -> Objective:
    """What an objective of the world is when an episode begins.

    What was found out stays reached. A state of the world that was reached is wanted again: the restart undid it.
    """
    fresh = replace(objective, progressed=0, rank=0)
    if objective.evidence:
        return replace(
            fresh, status=ObjectiveStatus.REACHED if objective.condition.kind in FINDINGS else ObjectiveStatus.OPEN
        )
    hopeless = len(objective.given_up) >= _GIVEN_UP_FOR_GOOD
    return replace(fresh, status=ObjectiveStatus.ABANDONED if hopeless else ObjectiveStatus.OPEN)


def merged(one: Objective, other: Objective) -> Objective:
    """What two records of the same objective know together; the earlier one says how it is worded."""
    first = min(one, other, key=_wording)
    if (one.evidence, one.given_up) == (other.evidence, other.given_up):
        return first
    evidence = _last((*one.evidence, *other.evidence))
    given_up = tuple(sorted({*one.given_up, *other.given_up}))
    known = (first.evidence, first.given_up) == (evidence, given_up)
    return first if known else replace(first, evidence=evidence, given_up=given_up)


def _wording(one: Objective) -> tuple:
    return one.origin, one.text, one.places, str(one.condition)


def _last(evidence: Iterable[ObjectiveEvidence]) -> tuple[ObjectiveEvidence, ...]:
    """One for each turn, the newest few."""
    by_moment = {one.moment: one for one in sorted(evidence, reverse=True)}
    return tuple(by_moment[moment] for moment in sorted(by_moment)[-_MOST_EVIDENCE:])


def prompt_line(one: Objective, rooms: Mapping[int, str]) -> str:
    """What is wanted, when it is done, where, and what is known of it."""
    parts = [one.text.rstrip(".")]
    if one.condition.text != one.text:
        parts.append(f"done when {one.condition.text}".rstrip("."))
    if places := [f"{rooms[place]} ({place})" for place in one.places if place in rooms]:
        parts.append(f"at {', '.join(places)}")
    if one.evidence:
        last = one.evidence[-1]
        how = f"by {last.words}" if last.judge == "game" else f"when the game said {last.words}"
        parts.append(f"reached in episode {last.moment.episode}, turn {last.moment.turn}, {how}")
    if one.status is ObjectiveStatus.STALE:
        parts.append("nothing has come of it for a while")
    return "; ".join(parts)

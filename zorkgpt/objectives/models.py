"""An objective: what is wanted, how to tell that it is done, and what became of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from zorkgpt.objectives.conditions import FINDINGS, Condition, ConditionKind, normalized_text

_MAX_EVIDENCE = 5
_GIVEN_UP_FOR_GOOD = 3
"""An objective that was abandoned in so many episodes and never reached is not opened again."""


class ObjectiveStatus(StrEnum):
    """The state of an objective in the running episode."""

    OPEN = "open"
    STALE = "stale"
    """There was no progress for a while; it is shown last."""
    REACHED = "reached"
    ABANDONED = "abandoned"
    """There was no progress for too long, or there were too many objectives."""


class Scope(StrEnum):
    """How long an objective is valid."""

    WORLD = "world"
    """About the world as every episode begins: kept across episodes."""
    EPISODE = "episode"
    """A consequence of what the player did in this episode: dropped at its end."""


@dataclass(frozen=True, slots=True, order=True)
class EpisodeTurn:
    """A turn of an episode."""

    episode: int
    turn: int


@dataclass(frozen=True, slots=True, order=True)
class ObjectiveEvidence:
    """When an objective was reached, and how that is known."""

    turn: EpisodeTurn
    judge: Literal["game", "model"]
    """Whether the Z-machine's state showed it, or a model concluded it from the game's text."""
    words: str
    """The action of that turn, or the game's text that shows it; "" where it was only found to be so."""
    gain: int = 0
    """Points scored on that turn."""


@dataclass(frozen=True, slots=True)
class Objective:
    """An objective. Places are room numbers."""

    text: str
    condition: Condition
    origin: EpisodeTurn
    scope: Scope = Scope.EPISODE
    places: tuple[int, ...] = ()
    status: ObjectiveStatus = ObjectiveStatus.OPEN
    evidence: tuple[ObjectiveEvidence, ...] = ()
    """The latest times that it was reached, in this and earlier episodes, oldest first."""
    given_up: tuple[int, ...] = ()
    """Episodes in which it was abandoned for lack of progress."""
    progressed: int = 0
    """The turn of this episode on which it was opened or last made progress; 0: the beginning."""
    rank: int = 0
    """Objectives with a lower rank are shown first; 0: new since the list was last thinned out."""

    @property
    def key(self) -> str:
        """The identity of the objective: equal for objectives that mean the same."""
        return self.condition.key if self.condition.checkable else f"{ConditionKind.TEXT}:{normalized_text(self.text)}"

    @property
    def pursued(self) -> bool:
        return self.status in (ObjectiveStatus.OPEN, ObjectiveStatus.STALE)


def reached(objective: Objective, evidence: ObjectiveEvidence) -> Objective:
    """Return the objective as reached, with this evidence."""
    return replace(objective, status=ObjectiveStatus.REACHED, evidence=_last((*objective.evidence, evidence)))


def abandoned(objective: Objective, episode: int) -> Objective:
    """Return the objective as abandoned in this episode."""
    return replace(objective, status=ObjectiveStatus.ABANDONED, given_up=tuple(sorted({*objective.given_up, episode})))


def restarted(objective: Objective) -> Objective:
    """Return an objective of the world as it is when an episode begins.

    A finding stays reached. A state of the world that was reached is open again, since the restart undid it.
    """
    fresh = replace(objective, progressed=0, rank=0)
    if objective.evidence:
        return replace(
            fresh, status=ObjectiveStatus.REACHED if objective.condition.kind in FINDINGS else ObjectiveStatus.OPEN
        )
    hopeless = len(objective.given_up) >= _GIVEN_UP_FOR_GOOD
    return replace(fresh, status=ObjectiveStatus.ABANDONED if hopeless else ObjectiveStatus.OPEN)


def merged(one: Objective, other: Objective) -> Objective:
    """Merge two records of the same objective; the earlier one provides the wording."""
    first = min(one, other, key=_wording)
    if (one.evidence, one.given_up) == (other.evidence, other.given_up):
        return first
    evidence = _last((*one.evidence, *other.evidence))
    given_up = tuple(sorted({*one.given_up, *other.given_up}))
    known = (first.evidence, first.given_up) == (evidence, given_up)
    return first if known else replace(first, evidence=evidence, given_up=given_up)


def _wording(objective: Objective) -> tuple[EpisodeTurn, str, tuple[int, ...], str]:
    return objective.origin, objective.text, objective.places, str(objective.condition)


def _last(evidence: Iterable[ObjectiveEvidence]) -> tuple[ObjectiveEvidence, ...]:
    """Return the latest evidence, one for each turn."""
    by_turn = {each.turn: each for each in sorted(evidence, reverse=True)}
    return tuple(by_turn[turn] for turn in sorted(by_turn)[-_MAX_EVIDENCE:])


def prompt_line(objective: Objective, rooms: Mapping[int, str]) -> str:
    """Return the line of a prompt that describes an objective: what, when it is reached, where, and its status."""
    parts = [objective.text.rstrip(".")]
    if objective.condition.text != objective.text:
        colon = "" if objective.condition.checkable else ":"
        parts.append(f"done when{colon} {objective.condition.text}".rstrip("."))
    places = [f"{rooms[place]} ({place})" for place in objective.places if place in rooms]
    if places := [place for place in places if place not in objective.condition.text]:
        parts.append(f"at {', '.join(places)}")
    if objective.evidence:
        last = objective.evidence[-1]
        how = f", {'by' if last.judge == 'game' else 'when the game said'} “{last.words}”" if last.words else ""
        again = "to be done again as" if how else "to be done again, found done"
        parts.append(
            f"{again if objective.pursued else 'reached'} in episode {last.turn.episode}, turn {last.turn.turn}{how}"
        )
    if objective.status is ObjectiveStatus.STALE:
        parts.append("nothing has come of it for a while")
    if objective.status is ObjectiveStatus.ABANDONED:
        parts.append("laid aside")
    return "; ".join(parts)

"""An objective: its text, the condition that shows it is reached, and its evidence."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Literal

from game_interface.models import Observation, Transition
from zorkgpt.directions import exit_name
from zorkgpt.identity_cache import cached_by_identity
from zorkgpt.text import with_article


class ConditionKind(StrEnum):
    """The kinds of conditions. All but the last are checked against the Z-machine."""

    SCORE = "score"
    """The score is at least `points`."""
    HOLDS = "holds"
    """The player carries `thing`, directly or inside another thing."""
    AT = "at"
    """The player is at `place`."""
    VISITED = "visited"
    """The player was at `place` in this episode."""
    THING_AT = "thing_at"
    """`thing` is visible at, on or in `place`, which is a room or another thing."""
    OPENED = "opened"
    """`thing` was opened."""
    WAY_TRIED = "way_tried"
    """The exit `way` was tried from `place`, with any result."""
    SCORED_AT = "scored_at"
    """The action `way` scored at `place`. Without `way`, any action that stays there."""
    TEXT = "text"
    """Described in words, which only a model or the player can judge."""


FINDINGS = frozenset({ConditionKind.VISITED, ConditionKind.WAY_TRIED, ConditionKind.TEXT})
"""Kinds that stay reached across episodes. The others describe a state of the world, which a restart undoes."""


@dataclass(frozen=True)
class Condition:
    """A condition. The kind decides which fields are set. Numbers are object numbers."""

    kind: ConditionKind
    thing: int | None = None
    place: int | None = None
    points: int | None = None
    way: str = ""
    text: str = ""
    """The condition in words."""

    @property
    def checkable(self) -> bool:
        """Whether it can be checked against the game state."""
        return self.kind is not ConditionKind.TEXT

    @cached_property
    def key(self) -> str:
        """The identity of the condition, equal for conditions with the same meaning."""
        words = "" if self.checkable else normalized_text(self.text)
        parts = (self.kind, self.thing, self.place, self.points, normalized_text(self.way), words)
        return ":".join(str(part) for part in parts if part not in (None, ""))


@lru_cache(1024)
def normalized_text(text: str) -> str:
    """Return the words of a text in lower case, without punctuation, separated by single spaces."""
    letters = "".join(letter if letter.isalnum() else " " for letter in text.casefold())
    return " ".join(letters.split())


def is_met(condition: Condition, now: Observation, visited: Collection[int]) -> bool:
    """Return whether a condition on the state holds now; False for conditions on events."""
    match condition.kind:
        case ConditionKind.SCORE:
            return now.score is not None and condition.points is not None and now.score >= condition.points
        case ConditionKind.HOLDS:
            return condition.thing in _carried(now)
        case ConditionKind.AT:
            return now.location is not None and now.location.num == condition.place
        case ConditionKind.VISITED:
            return condition.place in visited
        case ConditionKind.THING_AT:
            return _is_at(condition.thing, condition.place, now)
    return False


def was_met_by(condition: Condition, step: Transition) -> bool:
    """Return whether this turn met a condition on an event."""
    here = step.before.location_id
    match condition.kind:
        case ConditionKind.OPENED:
            opened = {change.number for change in step.changed if change.attribute == "open" and change.value}
            return condition.thing in opened & in_sight(step)
        case ConditionKind.WAY_TRIED:
            return here == condition.place and exit_name(step.action) == exit_name(condition.way)
        case ConditionKind.SCORED_AT:
            return here == condition.place and step.points > 0 and _is_scoring_action(condition, step)
        case ConditionKind.THING_AT:
            # A thing that is put into a closing container is out of sight at once.
            put = {move.number for move in step.moved if move.destination_number == condition.place}
            return condition.thing in put & in_sight(step)
    return False


def _is_scoring_action(condition: Condition, step: Transition) -> bool:
    if condition.way:
        return normalized_text(condition.way) == normalized_text(step.action)
    return step.before.location == step.after.location


@cached_by_identity
def in_sight(step: Transition) -> frozenset[int]:
    """Return the things seen or carried before or after the turn. Only their changes are observable."""
    return frozenset(item.num for now in (step.before, step.after) for item in now.at_hand)


@cached_by_identity
def _carried(now: Observation) -> frozenset[int]:
    return frozenset(item.num for item in now.carried or ())


def _is_at(thing: int | None, place: int | None, now: Observation) -> bool:
    parents = {item.num: item.parent for item in now.at_hand}
    if now.location is not None and now.location.num == place:
        return thing in {item.num for item in now.visible or ()}
    seen: set[int] = set()
    holder = parents.get(thing or 0)
    while holder and holder not in seen:
        if holder == place:
            return True
        seen.add(holder)
        holder = parents.get(holder)
    return False


def describe(condition: Condition, rooms: Mapping[int, str], things: Mapping[int, str]) -> str:
    """Return the condition in words."""
    thing = with_article(things.get(condition.thing or 0, ""))
    room, holder = rooms.get(condition.place or 0), things.get(condition.place or 0, "")
    place = f"{room or with_article(holder)} ({condition.place})"
    match condition.kind:
        case ConditionKind.SCORE:
            return f"the score is {condition.points} or more"
        case ConditionKind.HOLDS:
            return f"you carry {thing}"
        case ConditionKind.AT:
            return f"you are at {place}"
        case ConditionKind.VISITED:
            return f"you were at {place} in this episode"
        case ConditionKind.THING_AT:
            return f"{thing} is at {place}" if room else f"{thing} is on or in {place}"
        case ConditionKind.OPENED:
            return f"{thing} was opened"
        case ConditionKind.WAY_TRIED:
            return f"{condition.way} was tried from {place}"
        case ConditionKind.SCORED_AT:
            return f"“{condition.way}” at {place} scored" if condition.way else f"an action at {place} scored"
    return condition.text


_MAX_EVIDENCE = 5
_GIVEN_UP_FOR_GOOD = 3
"""An objective that was abandoned in this many episodes and never reached is not reopened."""


class ObjectiveStatus(StrEnum):
    """The state of an objective in the running episode."""

    OPEN = "open"
    STALE = "stale"
    """Without progress for a while. It is shown last."""
    REACHED = "reached"
    ABANDONED = "abandoned"
    """Dropped after too long without progress, by the player, or because there were too many."""


class Scope(StrEnum):
    """How long an objective is valid."""

    WORLD = "world"
    """Valid at the start of every episode, and kept across episodes."""
    EPISODE = "episode"
    """Depends on the player's actions in this episode, and dropped at its end."""


@dataclass(frozen=True, slots=True, order=True)
class EpisodeTurn:
    """A turn of an episode."""

    episode: int
    turn: int


ObjectiveJudge = Literal["game", "model", "player"]
"""Who found that an objective was reached: the game state, a model that quoted the game, or the player."""


@dataclass(frozen=True, slots=True, order=True)
class ObjectiveEvidence:
    """The turn on which an objective was reached, and the evidence."""

    turn: EpisodeTurn
    judge: ObjectiveJudge
    words: str
    """The action of that turn, or the model's quote; "" if an earlier action reached it or the player is the judge."""
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
    """When it was last reached, in this and earlier episodes, oldest first."""
    given_up: tuple[int, ...] = ()
    """Episodes in which it was abandoned for lack of progress, or dropped by the player."""
    progressed: int = 0
    """The turn of this episode on which it was opened or last made progress; 0 for the start."""
    rank: int = 0
    """Objectives with a lower rank are shown first. 0 if added since the last refinement."""

    @property
    def key(self) -> str:
        """The identity of the objective, equal for objectives with the same meaning."""
        return self.condition.key if self.condition.checkable else f"{ConditionKind.TEXT}:{normalized_text(self.text)}"

    @property
    def pursued(self) -> bool:
        return self.status in (ObjectiveStatus.OPEN, ObjectiveStatus.STALE)


def reached(objective: Objective, evidence: ObjectiveEvidence) -> Objective:
    """Return the objective marked as reached, with this evidence added."""
    return replace(objective, status=ObjectiveStatus.REACHED, evidence=_last((*objective.evidence, evidence)))


def abandoned(objective: Objective, episode: int) -> Objective:
    """Return the objective marked as abandoned in this episode."""
    return replace(objective, status=ObjectiveStatus.ABANDONED, given_up=tuple(sorted({*objective.given_up, episode})))


def restarted(objective: Objective) -> Objective:
    """Return an objective of the world with its status at the start of an episode.

    A finding stays reached. A state of the world that was reached is open again, because the restart undid it.
    """
    fresh = replace(objective, progressed=0, rank=0)
    if objective.evidence and objective.condition.kind in FINDINGS:
        return replace(fresh, status=ObjectiveStatus.REACHED)
    hopeless = not objective.evidence and len(objective.given_up) >= _GIVEN_UP_FOR_GOOD
    return replace(fresh, status=ObjectiveStatus.ABANDONED if hopeless else ObjectiveStatus.OPEN)


def merged(one: Objective, other: Objective) -> Objective:
    """Merge two records of the same objective, with the wording of the earlier one."""
    first = min(one, other, key=_wording)
    evidence = _last((*one.evidence, *other.evidence))
    given_up = tuple(sorted({*one.given_up, *other.given_up}))
    # Keep the object if nothing changed, because its JSON is cached by identity.
    if (first.evidence, first.given_up) == (evidence, given_up):
        return first
    return replace(first, evidence=evidence, given_up=given_up)


def _wording(objective: Objective) -> tuple[EpisodeTurn, str, tuple[int, ...], str]:
    return objective.origin, objective.text, objective.places, str(objective.condition)


def _last(evidence: Iterable[ObjectiveEvidence]) -> tuple[ObjectiveEvidence, ...]:
    """Return the latest evidence, one item per turn."""
    by_turn = {each.turn: each for each in sorted(evidence, reverse=True)}
    return tuple(by_turn[turn] for turn in sorted(by_turn)[-_MAX_EVIDENCE:])


def is_called(objective: Objective, text: str) -> bool:
    """Return whether a text starts with the words of the objective."""
    return f"{normalized_text(text)} ".startswith(f"{normalized_text(objective.text)} ")


def prompt_line(objective: Objective, rooms: Mapping[int, str]) -> str:
    """Return the line that describes an objective in a prompt: text, condition, places and status."""
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
        parts.append("no progress for a while")
    if objective.status is ObjectiveStatus.ABANDONED:
        parts.append("abandoned")
    return "; ".join(parts)

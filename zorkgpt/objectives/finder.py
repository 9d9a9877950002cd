"""What is asked about objectives, who answers, and how a proposal becomes an objective."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from game_interface.models import Observation
from session.history import TurnRecord
from zorkgpt.objectives.conditions import Condition, ConditionKind, describe, is_met, normalized_text
from zorkgpt.objectives.models import EpisodeTurn, Objective, Scope

SCORE_BY = "score_by"
"""Beside the kinds: that many points more than now."""
_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class ObjectiveProposal:
    """What somebody would like to be pursued; nothing of it is checked."""

    text: str
    kind: str = ConditionKind.TEXT
    thing: int | str | None = None
    """Number or name."""
    place: int | str | None = None
    """Number or name, of a room or of a thing that holds others."""
    points: int | None = None
    way: str = ""
    done_when: str = ""
    """In words; used where the condition can't be checked."""
    places: tuple[int | str, ...] = ()
    scope: str = Scope.EPISODE


@dataclass(frozen=True, slots=True)
class SeenWorld:
    """What was seen in play, by number."""

    now: Observation
    rooms: Mapping[int, str]
    """Of all episodes."""
    things: Mapping[int, str]
    visited: Collection[int] = ()
    """In this episode."""
    max_score: int | None = None


def objective_from_proposal(proposal: ObjectiveProposal, known: SeenWorld, origin: EpisodeTurn) -> Objective | None:
    """The objective; None if it says nothing, or is so already.

    A condition that names what was never seen becomes one in words.
    """
    text = " ".join(proposal.text.split())[:_LONGEST_TEXT].rstrip()
    if not normalized_text(text):
        return None
    words = " ".join(proposal.done_when.split())[:_LONGEST_TEXT].rstrip() or text
    condition = _checkable(proposal, known) or Condition(ConditionKind.TEXT, text=words)
    condition = replace(condition, text=describe(condition, known.rooms, known.things))
    if is_met(condition, known.now, known.visited):
        return None
    places = [number for place in proposal.places if (number := _number(place, known.rooms)) is not None]
    if condition.place in known.rooms:
        places.insert(0, condition.place)
    # So many points more than now means nothing in another episode.
    lasting = proposal.scope == Scope.WORLD and not (proposal.kind == SCORE_BY and condition.checkable)
    scope = Scope.WORLD if lasting else Scope.EPISODE
    return Objective(text, condition, origin, scope, tuple(dict.fromkeys(places)), progressed=origin.turn)


def _checkable(proposal: ObjectiveProposal, known: SeenWorld) -> Condition | None:
    thing = _number(proposal.thing, known.things)
    room = _number(proposal.place, known.rooms)
    match proposal.kind:
        case ConditionKind.SCORE | "score_by":
            return _score(proposal, known)
        case ConditionKind.HOLDS | ConditionKind.OPENED if thing is not None:
            return Condition(ConditionKind(proposal.kind), thing=thing)
        case ConditionKind.AT | ConditionKind.VISITED | ConditionKind.SCORED_AT if room is not None:
            return Condition(ConditionKind(proposal.kind), place=room)
        case ConditionKind.THING_AT if thing is not None:
            holder = room if room is not None else _number(proposal.place, known.things)
            return None if holder in (None, thing) else Condition(ConditionKind.THING_AT, thing=thing, place=holder)
        case ConditionKind.WAY_TRIED if room is not None and normalized_text(proposal.way):
            return Condition(ConditionKind.WAY_TRIED, place=room, way=" ".join(proposal.way.split()))
    return None


def _score(proposal: ObjectiveProposal, known: SeenWorld) -> Condition | None:
    if proposal.points is None or proposal.points <= 0 or known.now.score is None:
        return None
    points = proposal.points + (known.now.score if proposal.kind == SCORE_BY else 0)
    if known.max_score is not None and points > known.max_score:
        return None
    return Condition(ConditionKind.SCORE, points=points)


def _number(named: int | str | None, seen: Mapping[int, str]) -> int | None:
    """The number of what is named; None if it was not seen, or the name is that of several."""
    if isinstance(named, str) and named.strip().isascii() and named.strip().isdigit():
        named = int(named)
    if isinstance(named, int):
        return named if named in seen else None
    wanted = normalized_text(named or "")
    found = [number for number, name in seen.items() if wanted and normalized_text(name) == wanted]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that is known when objectives are looked for."""

    episode: int
    turn: int
    known: SeenWorld
    turns: tuple[TurnRecord, ...]
    """Since the last look, oldest first."""
    objectives: tuple[Objective, ...] = ()
    """The pursued ones, in the order in which they are shown."""
    settled: tuple[Objective, ...] = ()
    """The others: reached or abandoned, in this or earlier episodes."""
    scored: Collection[int] = ()
    """Rooms in which an action scored in this episode."""
    carried: Collection[int] = ()
    """Things that were carried in this episode."""
    untried: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Room → ways that it is said to have and nobody tried; the nearest rooms first."""
    memories: tuple[str, ...] = ()
    """What is remembered of the places that this is about, a line each."""
    knowledge: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReachedReport:
    """Somebody holds that an objective in words was reached."""

    key: str
    turn: int
    quote: str
    """What the game said on that turn, word for word."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look at the last turns gave."""

    proposals: tuple[ObjectiveProposal, ...] = ()
    reached: tuple[ReachedReport, ...] = ()


class ObjectiveFinder(Protocol):
    """Finds what is worth pursuing."""

    def discover(self, situation: Situation) -> Findings:
        """New objectives, and those in words that were reached.

        Raises:
            LLMError: a model was asked and gave no answer.
        """
        ...

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """The keys of the pursued objectives that are worth keeping, the most promising first, at most `most`.

        Raises:
            LLMError: a model was asked and gave no answer.
        """
        ...

"""What is asked about objectives, who answers, and how a proposal becomes an objective."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from game_interface.models import Observation
from session.history import TurnRecord
from zorkgpt.objectives.conditions import Condition, ConditionKind, describe, is_met, normalized_text
from zorkgpt.objectives.models import EpisodeTurn, Objective, Scope

SCORE_BY = "score_by"
"""A kind of proposal beside the kinds of conditions: so many points more than now."""
_MAX_TEXT_CHARS = 200


@dataclass(frozen=True, slots=True)
class ObjectiveProposal:
    """An objective that a model or a rule proposes; nothing in it is checked yet."""

    text: str
    kind: str = ConditionKind.TEXT
    thing: int | str | None = None
    """Number or name."""
    place: int | str | None = None
    """Number or name of a room, or of a thing that holds others."""
    points: int | None = None
    way: str = ""
    done_when: str = ""
    """The condition in words, used if it can't be checked."""
    places: tuple[int | str, ...] = ()
    scope: str = Scope.EPISODE


@dataclass(frozen=True, slots=True)
class SeenWorld:
    """The rooms and things that were seen in play, by number."""

    now: Observation
    rooms: Mapping[int, str]
    """Rooms of all episodes."""
    things: Mapping[int, str]
    visited: Collection[int] = ()
    """Rooms visited in this episode."""
    max_score: int | None = None


def objective_from_proposal(proposal: ObjectiveProposal, known: SeenWorld, origin: EpisodeTurn) -> Objective | None:
    """Return the objective that is proposed; None if the proposal is empty or already true.

    A condition that names something that was never seen becomes a condition in words.
    """
    text = " ".join(proposal.text.split())[:_MAX_TEXT_CHARS].rstrip()
    if not normalized_text(text):
        return None
    words = " ".join(proposal.done_when.split())[:_MAX_TEXT_CHARS].rstrip() or text
    condition = _checkable(proposal, known) or Condition(ConditionKind.TEXT, text=words)
    condition = replace(condition, text=describe(condition, known.rooms, known.things))
    if is_met(condition, known.now, known.visited):
        return None
    places = [number for place in proposal.places if (number := _number(place, known.rooms)) is not None]
    if condition.place is not None and condition.place in known.rooms:
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
        case ConditionKind.AT | ConditionKind.VISITED if room is not None:
            return Condition(ConditionKind(proposal.kind), place=room)
        case ConditionKind.SCORED_AT if room is not None:
            return Condition(ConditionKind.SCORED_AT, place=room, way=" ".join(proposal.way.split()))
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
    """Return the number of what is named; None if it was not seen, or the name is ambiguous."""
    if isinstance(named, str) and named.strip().isascii() and named.strip().isdigit():
        named = int(named)
    if isinstance(named, int):
        return named if named in seen else None
    wanted = normalized_text(named or "")
    found = [number for number, name in seen.items() if wanted and normalized_text(name) == wanted]
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that a finder is told."""

    episode: int
    turn: int
    known: SeenWorld
    turns: tuple[TurnRecord, ...]
    """The turns since the last update, oldest first."""
    objectives: tuple[Objective, ...] = ()
    """The pursued objectives, in the order in which they are shown."""
    settled: tuple[Objective, ...] = ()
    """The reached and abandoned objectives, of this and earlier episodes."""
    scored: Collection[int] = ()
    """Rooms in which an action scored in this episode."""
    carried: Collection[int] = ()
    """Things that were carried in this episode."""
    untried: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Room → known exits that nobody has tried; the nearest rooms first."""
    memories: tuple[str, ...] = ()
    """Memories of the places involved, a line each."""
    knowledge: tuple[str, ...] = ()
    is_last_turn: bool = False
    """Whether the episode ends with this turn."""


@dataclass(frozen=True, slots=True)
class ReachedReport:
    """The statement of a finder that an objective in words was reached."""

    key: str
    turn: int
    quote: str
    """The game's text on that turn, verbatim."""


@dataclass(frozen=True, slots=True)
class Findings:
    """New proposals, and objectives that are reported as reached."""

    proposals: tuple[ObjectiveProposal, ...] = ()
    reached: tuple[ReachedReport, ...] = ()


class ObjectiveFinder(Protocol):
    """Finds objectives that are worth pursuing."""

    def discover(self, situation: Situation) -> Findings:
        """Return new objectives, and the objectives in words that were reached.

        Raises:
            LLMError: a model was asked and gave no answer.
        """
        ...

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """Return the keys of at most `most` pursued objectives that are worth keeping, the most promising first.

        Raises:
            LLMError: a model was asked and gave no answer.
        """
        ...

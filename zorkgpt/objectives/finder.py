"""Find objectives: what is asked, how a model answers, and how a proposal becomes an objective."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast, get_args

from pydantic import BaseModel, Field, field_validator

from game_interface.models import Observation
from session.history import TurnRecord
from session.outcome import visible_outcome
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.objectives.models import (
    Condition,
    ConditionKind,
    EpisodeTurn,
    Objective,
    Scope,
    describe,
    is_met,
    normalized_text,
    prompt_line,
)
from zorkgpt.prompts.render import one_line, render

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
    """Everything that a finder needs to know."""

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
    """Room → untried exits; the nearest rooms first."""
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
            LLMError: If a model was asked and gave no answer.
        """
        ...

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """Return the keys of at most `most` pursued objectives that are worth keeping, the most promising first.

        Raises:
            LLMError: If a model was asked and gave no answer.
        """
        ...


_POINTS = frozenset({"point", "points", "score"})
"""The words of which an objective has one that wants points: any other is not reached by them."""
_MAX_NEW = 5
_MAX_PURSUED = 30
_MAX_SETTLED = 12
_MAX_WAYS = 12
_MAX_RESPONSE_CHARS = 400
_MAX_OPENING_CHARS = 2000
"""The opening often states the goal."""
_TOKENS = {"turns": 1800, "memories": 400, "knowledge": 300, "places": 400, "things": 400}

KindName = Literal["score", "holds", "at", "visited", "thing_at", "opened", "way_tried", "text"]
"""Without those that any score makes true: an objective is done when what it means is so."""


class NewObjective(BaseModel):
    """An objective that the model proposes."""

    text: str = Field(max_length=300, description="what is wanted, in one short sentence")
    kind: KindName = Field("text", description="the condition that shows it is done")
    thing: int | str | None = Field(None, description="number of the thing that the condition is about")
    place: int | str | None = Field(None, description="number of the place; for thing_at, of a place or a thing")
    points: int | None = Field(None, description="for score")
    way: str = Field("", description="for way_tried")
    done_when: str = Field("", max_length=300, description="for text: what the game will say or show")
    places: list[int | str] = Field(
        default_factory=list, description="numbers of the places to go to for it; empty if unknown"
    )
    scope: Literal["world", "episode"] = "episode"

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, given: Any) -> Any:
        # A condition of an unknown kind must not cost the rest of the answer.
        name = given.strip().lower() if isinstance(given, str) else given
        return name if name in get_args(KindName) else ConditionKind.TEXT.value

    @field_validator("scope", mode="before")
    @classmethod
    def _known_scope(cls, given: Any) -> Any:
        return Scope.WORLD.value if given == Scope.WORLD else Scope.EPISODE.value

    @field_validator("way", "done_when", mode="before")
    @classmethod
    def _nothing_is_empty(cls, given: Any) -> Any:
        return "" if given is None else given


class ReachedObjective(BaseModel):
    """A numbered objective that the turns show to be reached."""

    number: int
    turn: int = Field(description="the turn that shows it")
    quote: str = Field(description="what the game said on that turn, word for word")


class ObjectivesAnswer(BaseModel):
    """The form of the answer to a discovery prompt."""

    new: list[NewObjective] = Field(default_factory=list, description=f"at most {_MAX_NEW}")
    reached: list[ReachedObjective] = Field(default_factory=list)


class RefinementAnswer(BaseModel):
    """The form of the answer to a refinement prompt."""

    keep: list[int]


class ModelObjectiveFinder:
    """An `ObjectiveFinder` that asks the model of the role `objectives`."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def discover(self, situation: Situation) -> Findings:
        """Return what the model finds in the last turns.

        Raises:
            LLMError: If the model gave no usable answer.
        """
        messages = discovery_prompt(situation)
        completion = self._llm.complete(messages, role=Role.OBJECTIVES, response_model=ObjectivesAnswer)
        answer, listed = cast(ObjectivesAnswer, completion.parsed), _listed(situation)
        return Findings(
            proposals=tuple(_proposal(one) for one in answer.new[:_MAX_NEW]),
            reached=tuple(
                ReachedReport(listed[one.number - 1].key, one.turn, one.quote)
                for one in answer.reached
                if 1 <= one.number <= len(listed)
            ),
        )

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """Return the keys of what the model would keep; unknown numbers are ignored.

        Raises:
            LLMError: If the model gave no usable answer.
        """
        prompt = render(
            "objectives_refine",
            situation=situation,
            listed=_lines(_listed(situation), situation),
            most=most,
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        completion = self._llm.complete(messages, role=Role.OBJECTIVES, response_model=RefinementAnswer)
        answer, listed = cast(RefinementAnswer, completion.parsed), _listed(situation)
        numbers = [number for number in dict.fromkeys(answer.keep) if 1 <= number <= len(listed)]
        return [listed[number - 1].key for number in numbers[:most]]


def discovery_prompt(situation: Situation) -> list[Message]:
    """Return the discovery prompt, each part within its token budget."""
    known = situation.known
    recent = set(_places_of(situation.turns))
    rooms = sorted(known.rooms.items(), key=lambda room: room[0] not in recent)
    ways = [(known.rooms.get(room, str(room)), room, ways) for room, ways in situation.untried.items()]
    turns = _newest_that_fit(situation.turns)
    prompt = render(
        "objectives",
        situation=situation,
        seen=known.now,
        known=known,
        listed=_lines(_listed(situation), situation),
        done=_lines(situation.settled[-_MAX_SETTLED:], situation),
        turns=turns,
        visible_outcome=visible_outcome,
        rooms=_that_fit([_numbered(*room) for room in rooms], "places"),
        things=_that_fit([_numbered(*thing) for thing in reversed(list(known.things.items()))], "things"),
        ways=ways[:_MAX_WAYS],
        memories=_that_fit(situation.memories, "memories"),
        knowledge=_that_fit(situation.knowledge, "knowledge"),
        longest_of=_longest_response,
        most=_MAX_NEW,
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _numbered(number: int, name: str) -> str:
    return f"{one_line(name)} ({number})"


def _listed(situation: Situation) -> tuple[Objective, ...]:
    return situation.objectives[:_MAX_PURSUED]


def _lines(objectives: Iterable[Objective], situation: Situation) -> list[str]:
    return [prompt_line(one, situation.known.rooms) for one in objectives]


def _proposal(one: NewObjective) -> ObjectiveProposal:
    values = one.model_dump() | {"places": tuple(one.places)}
    if ConditionKind(one.kind) is ConditionKind.SCORE and _POINTS.isdisjoint(normalized_text(one.text).split()):
        values["kind"] = ConditionKind.TEXT.value
    return ObjectiveProposal(**values)


def _places_of(turns: Iterable[TurnRecord]) -> list[int]:
    return [turn.transition.after.location.num for turn in turns if turn.transition.after.location]


def _longest_response(turn: TurnRecord) -> int:
    return _MAX_RESPONSE_CHARS if turn.turn else _MAX_OPENING_CHARS


def _newest_that_fit(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """Return the latest turns that fit into the budget, oldest first."""
    left, kept = _TOKENS["turns"], []
    for turn in reversed(turns):
        left -= estimated_tokens(turn.transition.response[: _longest_response(turn)]) + 30
        if left < 0:
            break
        kept.append(turn)
    return kept[::-1]


def _that_fit(lines: Iterable[str], name: str) -> list[str]:
    left, kept = _TOKENS[name], []
    for line in lines:
        left -= estimated_tokens(line) + 2
        if left < 0:
            break
        kept.append(line)
    return kept

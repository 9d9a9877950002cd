"""Find objectives: the player's own lines, the question to a model, and its answer."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast, get_args

from pydantic import BaseModel, Field, field_validator

from game_interface.models import Observation
from session.history import TurnRecord
from session.outcome import visible_outcome
from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
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

_MAX_TEXT_CHARS = 200


@dataclass(frozen=True, slots=True)
class SeenWorld:
    """The names of the rooms and things seen in play, by number."""

    now: Observation
    rooms: Mapping[int, str]
    """Of all episodes."""
    things: Mapping[int, str]
    visited: Collection[int] = ()
    """Rooms visited in this episode."""
    max_score: int | None = None


def new_objective(
    text: str,
    known: SeenWorld,
    origin: EpisodeTurn,
    condition: Condition | None = None,
    *,
    places: Iterable[int] = (),
    scope: Scope = Scope.WORLD,
) -> Objective | None:
    """Return a new objective. None if its text is empty or its condition already true.

    Args:
        condition: Defaults to the text, as a condition in words.
        places: The rooms to go to, besides that of the condition.
    """
    text = _single_line(text)
    if not normalized_text(text):
        return None
    condition = condition or Condition(ConditionKind.TEXT, text=text)
    condition = replace(condition, text=describe(condition, known.rooms, known.things))
    if is_met(condition, known.now, known.visited):
        return None
    of_condition = [condition.place] if condition.place is not None and condition.place in known.rooms else []
    return Objective(
        text, condition, origin, scope, tuple(dict.fromkeys((*of_condition, *places))), progressed=origin.turn
    )


def _single_line(text: str) -> str:
    return " ".join(text.split())[:_MAX_TEXT_CHARS].rstrip()


def _number(reference: int | str | None, names: Mapping[int, str]) -> int | None:
    """Return the number that a number or name refers to; None if it is unknown or ambiguous."""
    if isinstance(reference, str) and reference.strip().isascii() and reference.strip().isdigit():
        reference = int(reference)
    if isinstance(reference, int):
        return reference if reference in names else None
    wanted = normalized_text(reference or "")
    matches = [number for number, name in names.items() if wanted and normalized_text(name) == wanted]
    return matches[0] if len(matches) == 1 else None


@dataclass(frozen=True, slots=True)
class Situation:
    """The situation that a finder looks at."""

    episode: int
    turn: int
    known: SeenWorld
    turns: tuple[TurnRecord, ...]
    """The turns since the last update, oldest first."""
    objectives: tuple[Objective, ...] = ()
    """The pursued objectives, in the order of the prompt."""
    settled: tuple[Objective, ...] = ()
    """The reached and abandoned objectives, of this and earlier episodes."""
    scored: Collection[int] = ()
    """Rooms in which an action scored in this episode."""
    carried: Collection[int] = ()
    """Things that were carried in this episode."""
    untried: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Room → untried exits; the nearest rooms first."""
    memories: tuple[str, ...] = ()
    """Memories of the places involved, one line each."""
    knowledge: tuple[str, ...] = ()
    is_last_turn: bool = False
    """Whether the episode ends with this turn."""
    most: int | None = None
    """How many of the pursued objectives to keep, if there are too many."""

    @property
    def origin(self) -> EpisodeTurn:
        """The last of these turns, in which new objectives are found."""
        return EpisodeTurn(self.episode, self.turn)


@dataclass(frozen=True, slots=True)
class ReachedReport:
    """A finder's report that an objective in words was reached."""

    key: str
    turn: int
    quote: str
    """The part of the game's response that shows it, verbatim."""


@dataclass(frozen=True, slots=True)
class Findings:
    """New objectives, those that are reported as reached, and those worth keeping."""

    new: tuple[Objective, ...] = ()
    reached: tuple[ReachedReport, ...] = ()
    kept: tuple[str, ...] = ()
    """The keys of at most `Situation.most` objectives, the most promising first. Empty to keep all."""


class ObjectiveFinder(Protocol):
    """Finds promising objectives."""

    asks_a_model: bool

    def discover(self, situation: Situation) -> Findings:
        """Return new objectives, reports of reached ones, and those worth keeping.

        Raises:
            LLMError: If a model was asked and gave no answer.
        """
        ...


_MAX_NEW = 5
_MAX_PURSUED = 30
_MAX_SETTLED = 12
_MAX_WAYS = 12
_MAX_RESPONSE_CHARS = 400
_MAX_OPENING_CHARS = 2000
"""Longer than other responses, because the opening often states the goal."""
_TOKENS = {"turns": 1800, "memories": 400, "knowledge": 300, "places": 400, "things": 400}

KindName = Literal["score", "holds", "at", "visited", "thing_at", "opened", "way_tried", "text"]
"""The kinds of conditions that a model may choose."""


class NewObjective(BaseModel):
    """An objective that a model proposes."""

    text: str = Field(max_length=300, description="the goal, in one short sentence")
    kind: KindName = Field("text", description="the condition that shows it is done")
    thing: int | str | None = Field(None, description="number of the thing in the condition")
    place: int | str | None = Field(None, description="number of the place in the condition; for thing_at also a thing")
    points: int | None = Field(None, description="for score")
    way: str = Field("", description="for way_tried")
    done_when: str = Field("", max_length=300, description="for text: what the game will say or show")
    places: list[int | str] = Field(default_factory=list, description="numbers of the places to go to, if known")
    scope: Literal["world", "episode"] = "episode"

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, given: Any) -> Any:
        # An unknown kind must not invalidate the rest of the answer.
        name = given.strip().lower() if isinstance(given, str) else given
        return name if name in get_args(KindName) else ConditionKind.TEXT.value

    @field_validator("scope", mode="before")
    @classmethod
    def _known_scope(cls, given: Any) -> Any:
        return Scope.WORLD.value if given == Scope.WORLD else Scope.EPISODE.value

    @field_validator("way", "done_when", mode="before")
    @classmethod
    def _none_as_empty(cls, given: Any) -> Any:
        return "" if given is None else given

    def objective(self, known: SeenWorld, origin: EpisodeTurn) -> Objective | None:
        """Return the objective. None if the proposal is empty or already true.

        A condition that names an unknown room or thing becomes a condition in words.
        """
        condition = self._checkable_condition(known)
        if condition is None and (words := _single_line(self.done_when)):
            condition = Condition(ConditionKind.TEXT, text=words)
        places = [number for place in self.places if (number := _number(place, known.rooms)) is not None]
        return new_objective(self.text, known, origin, condition, places=places, scope=Scope(self.scope))

    def _checkable_condition(self, known: SeenWorld) -> Condition | None:
        thing, room, way = _number(self.thing, known.things), _number(self.place, known.rooms), _single_line(self.way)
        match self.kind:
            case ConditionKind.SCORE if 0 < (self.points or 0) <= (known.max_score or math.inf):
                return None if known.now.score is None else Condition(ConditionKind.SCORE, points=self.points)
            case ConditionKind.HOLDS | ConditionKind.OPENED if thing is not None:
                return Condition(ConditionKind(self.kind), thing=thing)
            case ConditionKind.AT | ConditionKind.VISITED if room is not None:
                return Condition(ConditionKind(self.kind), place=room)
            case ConditionKind.THING_AT if thing is not None:
                holder = room if room is not None else _number(self.place, known.things)
                return None if holder in (None, thing) else Condition(ConditionKind.THING_AT, thing=thing, place=holder)
            case ConditionKind.WAY_TRIED if room is not None and normalized_text(way):
                return Condition(ConditionKind.WAY_TRIED, place=room, way=way)
        return None


class ReachedObjective(BaseModel):
    """A numbered objective that was reached."""

    number: int
    turn: int = Field(description="the turn that shows it")
    quote: str = Field(description="the words of the game on that turn, verbatim")


class ObjectivesAnswer(BaseModel):
    """The answer about turns."""

    new: list[NewObjective] = Field(default_factory=list, description=f"at most {_MAX_NEW}")
    reached: list[ReachedObjective] = Field(default_factory=list)
    keep: list[int] = Field(default_factory=list, description="only to shorten the list: the numbers to keep")


class ModelObjectiveFinder:
    """An `ObjectiveFinder` that asks the model of the role `objectives`."""

    asks_a_model = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def discover(self, situation: Situation) -> Findings:
        messages = discovery_prompt(situation)
        completion = self._llm.complete(messages, role=Role.OBJECTIVES, response_model=ObjectivesAnswer)
        answer = cast(ObjectivesAnswer, completion.parsed)
        listed = dict(enumerate((objective.key for objective in _listed(situation)), 1))
        new = (each.objective(situation.known, situation.origin) for each in answer.new[:_MAX_NEW])
        return Findings(
            tuple(objective for objective in new if objective is not None),
            tuple(
                ReachedReport(listed[reached.number], reached.turn, reached.quote)
                for reached in answer.reached
                if reached.number in listed
            ),
            tuple(listed[number] for number in dict.fromkeys(answer.keep) if number in listed)[: situation.most or 0],
        )


def discovery_prompt(situation: Situation) -> list[Message]:
    """Return the question about a situation, each part within its token budget."""
    known = situation.known
    recent = {turn.after.location_id for turn in situation.turns}
    rooms = sorted(known.rooms.items(), key=lambda room: room[0] not in recent)
    ways = [(known.rooms.get(room, str(room)), room, ways) for room, ways in situation.untried.items()]
    prompt = render(
        "objectives",
        situation=situation,
        seen=known.now,
        known=known,
        listed=_lines(_listed(situation), situation),
        done=_lines(situation.settled[-_MAX_SETTLED:], situation),
        turns=_latest_turns(situation.turns),
        visible_outcome=visible_outcome,
        rooms=_fitting([_numbered(*room) for room in rooms], "places"),
        things=_fitting([_numbered(*thing) for thing in reversed(list(known.things.items()))], "things"),
        ways=ways[:_MAX_WAYS],
        memories=_fitting(situation.memories, "memories"),
        knowledge=_fitting(situation.knowledge, "knowledge"),
        longest_of=_max_response_chars,
        most=_MAX_NEW,
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _numbered(number: int, name: str) -> str:
    return f"{one_line(name)} ({number})"


def _listed(situation: Situation) -> tuple[Objective, ...]:
    return situation.objectives[:_MAX_PURSUED]


def _lines(objectives: Iterable[Objective], situation: Situation) -> list[str]:
    return [prompt_line(objective, situation.known.rooms) for objective in objectives]


def _max_response_chars(turn: TurnRecord) -> int:
    return _MAX_RESPONSE_CHARS if turn.turn else _MAX_OPENING_CHARS


def _latest_turns(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """Return the latest turns that fit into the budget, oldest first."""
    budget, fitting = _TOKENS["turns"], []
    for turn in reversed(turns):
        budget -= estimated_tokens(turn.transition.response[: _max_response_chars(turn)]) + 30
        if budget < 0:
            break
        fitting.append(turn)
    return fitting[::-1]


def _fitting(lines: Iterable[str], part: str) -> list[str]:
    """Return the first lines that fit into the budget of this part of the prompt."""
    budget, fitting = _TOKENS[part], []
    for line in lines:
        budget -= estimated_tokens(line) + 2
        if budget < 0:
            break
        fitting.append(line)
    return fitting


_LINE = re.compile(r"^[ \t>*_`-]*(NEW OBJECTIVE|DROP OBJECTIVE|DONE)[ \t*_`]*:(.*)$", re.MULTILINE)
_MOST = 3
"""Maximum lines of each kind per turn."""
_QUOTING = " \t\"'*_`."


@dataclass(frozen=True, slots=True)
class OwnLines:
    """The player's own changes to its objectives."""

    new: tuple[str, ...] = ()
    """The texts of new objectives."""
    done: tuple[str, ...] = ()
    """Numbers or texts of objectives that are done."""
    dropped: tuple[str, ...] = ()
    """Numbers or texts of objectives to drop."""


def own_lines(reasons: str) -> OwnLines:
    """Return the lines `NEW OBJECTIVE: ...`, `DONE: ...` and `DROP OBJECTIVE: ...` in a player's reasons."""
    by_kind: dict[str, dict[str, None]] = {"NEW OBJECTIVE": {}, "DONE": {}, "DROP OBJECTIVE": {}}
    for kind, text in _LINE.findall(reasons):
        if words := " ".join(text.split()).strip(_QUOTING):
            by_kind[kind][words] = None
    new, done, dropped = (tuple(texts)[:_MOST] for texts in by_kind.values())
    return OwnLines(new, done, dropped)

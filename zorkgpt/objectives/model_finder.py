"""Asking a model what is worth pursuing, what of it is done, and what to keep of too much."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field, field_validator

from session.history import TurnRecord
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.structured import form_of
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.objectives.conditions import Kind
from zorkgpt.objectives.finder import Findings, Judgement, Situation
from zorkgpt.objectives.models import Objective, Scope
from zorkgpt.objectives.proposals import SCORE_BY, Proposal
from zorkgpt.objectives.shown import line_of
from zorkgpt.prompts.render import render

_MOST_NEW = 5
_MOST_PURSUED = 30
_MOST_SETTLED = 12
_MOST_WAYS = 12
_LONGEST_RESPONSE = 400
_TOKENS = {"turns": 1800, "memories": 400, "knowledge": 300, "places": 400, "things": 400}

KindName = Literal[
    "score", "score_by", "holds", "at", "visited", "thing_at", "opened", "way_tried", "scored_at", "text"
]


class NewObjective(BaseModel):
    """One objective that the model would like to be pursued."""

    text: str = Field(max_length=300, description="what is wanted, in one short sentence")
    kind: KindName = Field("text", description="which condition tells that it is done")
    thing: int | str | None = Field(None, description="number of the thing of the condition")
    place: int | str | None = Field(None, description="number of its place; for thing_at of a place or a thing")
    points: int | None = Field(None, description="for score and score_by")
    way: str = Field("", description="for way_tried")
    done_when: str = Field("", max_length=300, description="for text: what the game will say or show")
    places: list[int | str] = Field(default_factory=list, description="numbers of the places involved")
    scope: Literal["world", "episode"] = "episode"

    @field_validator("kind", mode="before")
    @classmethod
    def _known_kind(cls, given: Any) -> Any:
        # One condition of an unknown kind is no reason to lose the rest of the answer.
        name = given.strip().lower() if isinstance(given, str) else given
        return name if name in (*Kind, SCORE_BY) else Kind.TEXT.value

    @field_validator("scope", mode="before")
    @classmethod
    def _known_scope(cls, given: Any) -> Any:
        return Scope.WORLD.value if given == Scope.WORLD else Scope.EPISODE.value

    @field_validator("way", "done_when", mode="before")
    @classmethod
    def _nothing_is_empty(cls, given: Any) -> Any:
        return "" if given is None else given


class ReachedObjective(BaseModel):
    """One numbered objective that the turns show to be done."""

    number: int
    turn: int = Field(description="the turn that shows it")
    quote: str = Field(description="what the game said on that turn, word for word")


class ObjectivesAnswer(BaseModel):
    """The form that the model fills in."""

    new: list[NewObjective] = Field(default_factory=list, description=f"at most {_MOST_NEW}")
    reached: list[ReachedObjective] = Field(default_factory=list)


class RefinementAnswer(BaseModel):
    """The numbers of what is worth keeping."""

    keep: list[int]


class ModelObjectiveFinder:
    """Asks the model of the role `objectives`."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def discover(self, situation: Situation) -> Findings:
        """What the model finds in the last turns.

        Raises:
            LLMError: the model gave no usable answer.
        """
        messages = discovery_prompt(situation)
        answer = self._llm.complete(messages, role="objectives", response_model=ObjectivesAnswer).parsed
        listed = _listed(situation)
        return Findings(
            proposals=tuple(_proposal(one) for one in answer.new[:_MOST_NEW]),
            reached=tuple(
                Judgement(listed[one.number - 1].key, one.turn, one.quote)
                for one in answer.reached
                if 1 <= one.number <= len(listed)
            ),
        )

    def refine(self, situation: Situation, most: int) -> Sequence[str]:
        """What the model would keep; a number that is none of the list is left out.

        Raises:
            LLMError: the model gave no usable answer.
        """
        prompt = render(
            "objectives_refine",
            situation=situation,
            listed=_lines(_listed(situation), situation),
            most=most,
            form=form_of(RefinementAnswer),
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        answer = self._llm.complete(messages, role="objectives", response_model=RefinementAnswer).parsed
        listed = _listed(situation)
        numbers = [number for number in dict.fromkeys(answer.keep) if 1 <= number <= len(listed)]
        return [listed[number - 1].key for number in numbers[:most]]


def discovery_prompt(situation: Situation) -> list[Message]:
    """The question to the model, every part of it within a budget."""
    known = situation.known
    recent = set(_places_of(situation.turns))
    rooms = sorted(known.rooms.items(), key=lambda room: room[0] not in recent)
    ways = [(known.rooms.get(room, str(room)), room, ways) for room, ways in situation.untried.items()]
    prompt = render(
        "objectives",
        situation=situation,
        seen=known.now,
        known=known,
        listed=_lines(_listed(situation), situation),
        done=_lines(situation.settled[-_MOST_SETTLED:], situation),
        turns=_newest_that_fit(situation.turns),
        rooms=_that_fit([f"{number} {name}" for number, name in rooms], "places"),
        things=_that_fit([f"{number} {name}" for number, name in reversed(known.things.items())], "things"),
        ways=ways[:_MOST_WAYS],
        memories=_that_fit(situation.memories, "memories"),
        knowledge=_that_fit(situation.knowledge, "knowledge"),
        longest=_LONGEST_RESPONSE,
        most=_MOST_NEW,
        form=form_of(ObjectivesAnswer),
    )
    return [Message("system", prompt.system), Message("user", prompt.user)]


def _listed(situation: Situation) -> tuple[Objective, ...]:
    return situation.objectives[:_MOST_PURSUED]


def _lines(objectives: Iterable[Objective], situation: Situation) -> list[str]:
    return [line_of(one, situation.known.rooms) for one in objectives]


def _proposal(one: NewObjective) -> Proposal:
    values = one.model_dump() | {"places": tuple(one.places)}
    return Proposal(**values)


def _places_of(turns: Iterable[TurnRecord]) -> list[int]:
    return [turn.transition.after.location.num for turn in turns if turn.transition.after.location]


def _newest_that_fit(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """The newest turns that fit the budget, oldest first."""
    left, kept = _TOKENS["turns"], []
    for turn in reversed(turns):
        left -= estimated_tokens(turn.transition.response[:_LONGEST_RESPONSE]) + 30
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

"""What is asked about turns and episodes, the form of the answer, and how an answer becomes updates of lines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from pydantic import BaseModel, Field

from session.history import TurnRecord
from session.outcome import failed, visible_outcome
from zorkgpt.knowledge.claims import Attempt, TurnsOf, may_contradict
from zorkgpt.knowledge.line import KnowledgeLine, KnowledgeSection
from zorkgpt.knowledge.revision import LineUpdates, ProposedLine
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.prompts.render import render

MAX_NEW = 40
MAX_CONTRADICTED = 100

Topic = Literal["dangers", "puzzles", "strategies", "deaths", "syntax", "lessons"]
Theme = Literal["death_patterns", "environment", "meta_strategies", "discoveries"]


def no_turns(episode: int | str) -> Sequence[TurnRecord]:
    """Return no turns: for reviews without access to earlier episodes."""
    return ()


@dataclass(frozen=True, slots=True)
class TurnReview:
    """The turns to learn from, and what is known already."""

    episode: int | str
    turns: tuple[TurnRecord, ...]
    """Oldest first."""
    known: tuple[KnowledgeLine, ...] = ()
    """Lines that are not struck; an answer refers to them by their numbers, from 1."""
    earlier: tuple[TurnRecord, ...] = ()
    """The turns of the episode before these, as far as they are available."""
    by_hand: tuple[str, ...] = ()
    """What people wrote: known too, and not to be judged."""
    turns_of: TurnsOf = no_turns

    def attempts(self) -> Iterator[Attempt]:
        """Yield each turn with the turns before it."""
        told = (*self.earlier, *self.turns)
        return (Attempt(turn, told[:at]) for at, turn in enumerate(told) if at >= len(self.earlier))


@dataclass(frozen=True, slots=True)
class EpisodeReview:
    """A whole episode to learn from, its last turns included, and what is known already."""

    episode: int | str
    reason: str
    """How it ended, as `EpisodeEnded` names it."""
    turns: tuple[TurnRecord, ...]
    known: tuple[KnowledgeLine, ...] = ()
    critic_score: float | None = None
    """The mean over the turns that a model judged; None if there were none."""
    learned_until: int = 0
    """The turn up to which the episode's turns have been learned from already."""
    by_hand: tuple[str, ...] = ()
    """What people wrote: known too, and not to be judged."""
    turns_of: TurnsOf = no_turns

    def attempts(self) -> Iterator[Attempt]:
        """Yield each turn with the turns before it."""
        return (Attempt(turn, self.turns[:at]) for at, turn in enumerate(self.turns))

    def last_turns(self) -> TurnReview | None:
        """Return the turns that nothing was learned from yet, as a review of their own; None if there are none."""
        fresh = tuple(turn for turn in self.turns if turn.turn > self.learned_until)
        if not fresh:
            return None
        earlier = self.turns[: len(self.turns) - len(fresh)]
        return TurnReview(self.episode, fresh, self.known, earlier, self.by_hand, self.turns_of)

    @property
    def score(self) -> int | None:
        return next((turn.after.score for turn in reversed(self.turns) if turn.after.score is not None), None)


class NewLesson(BaseModel):
    """A new line from turns, as the answer words it."""

    section: Topic
    text: str = Field(max_length=400, description="one or two sentences for later episodes, 400 letters at most")
    turns: list[int] = Field(default_factory=list, max_length=200, description="the turns that show it")
    replaces: int | None = Field(default=None, description="the number of an existing line that it improves on")


class NewInsight(BaseModel):
    """A new line from a whole episode or its last turns, as the answer words it."""

    section: Literal[Topic, Theme]
    text: str = Field(max_length=400, description="one or two sentences for later episodes, 400 letters at most")
    turns: list[int] = Field(default_factory=list, max_length=200, description="the turns that show it")
    replaces: int | None = Field(default=None, description="the number of an existing line that it improves on")


class Contradiction(BaseModel):
    """A known line that the turns contradict."""

    number: int
    turns: list[int] = Field(
        default_factory=list, max_length=200, description="the turns that show it; without one it does not count"
    )
    reason: str = Field(max_length=300, description="what happened instead, in a few words")


class LessonsAnswer(BaseModel):
    """The form of the answer about turns."""

    new: list[NewLesson] = Field(default_factory=list, max_length=MAX_NEW)
    borne_out: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=MAX_CONTRADICTED)


class WisdomAnswer(BaseModel):
    """The form of the answer about an episode."""

    new: list[NewInsight] = Field(default_factory=list, max_length=MAX_NEW)
    borne_out: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=MAX_CONTRADICTED)


class KnowledgeSynthesizer(Protocol):
    """Finds what turns and episodes teach."""

    asks_a_model: bool
    """Whether it takes time and may fail."""

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        """Return what these turns teach.

        Raises:
            LLMError: If a model was asked and gave no usable answer.
        """
        ...

    def wisdom(self, asked: EpisodeReview) -> WisdomAnswer:
        """Return what this episode teaches for others, and what its last turns teach.

        Raises:
            LLMError: If a model was asked and gave no usable answer.
        """
        ...


_SECTIONS: dict[str, KnowledgeSection] = {
    "dangers": KnowledgeSection.DANGERS,
    "puzzles": KnowledgeSection.PUZZLES,
    "strategies": KnowledgeSection.STRATEGIES,
    "deaths": KnowledgeSection.DEATHS,
    "syntax": KnowledgeSection.SYNTAX,
    "lessons": KnowledgeSection.LESSONS,
    "death_patterns": KnowledgeSection.DEATH_PATTERNS,
    "environment": KnowledgeSection.ENVIRONMENT,
    "meta_strategies": KnowledgeSection.META_STRATEGIES,
    "discoveries": KnowledgeSection.DISCOVERIES,
}


def updates_from(
    answer: LessonsAnswer | WisdomAnswer, asked: TurnReview | EpisodeReview, counts: Counter[str]
) -> LineUpdates:
    """Convert an answer into updates of lines.

    Numbers that name no line, or a line that is said both to hold and not to hold, are ignored and counted, and so are
    contradictions without a turn that could contradict the line according to ground truth.
    """
    known, turns = asked.known, asked.turns
    episode, first, last = turns[0].episode, turns[0].turn, turns[-1].turn
    denied = {one.number: one for one in answer.contradicted}
    held = set(answer.borne_out)
    for number in (held & denied.keys()) | {n for n in held | denied.keys() if not 1 <= n <= len(known)}:
        counts["numbers ignored"] += 1
        held.discard(number)
        denied.pop(number, None)
    new = []
    known_from = asked.earlier[0].turn if isinstance(asked, TurnReview) and asked.earlier else first
    for one in answer.new:
        shown = [turn for turn in one.turns if known_from <= turn <= last] or [first, last]
        replaces = known[one.replaces - 1] if one.replaces and 1 <= one.replaces <= len(known) else None
        new.append(ProposedLine(_SECTIONS[one.section], one.text, episode, min(shown), max(shown), replaces))
    contradicted = []
    for number in sorted(denied):
        line, said = known[number - 1], denied[number]
        if shows := _that_shows(line, said, asked, counts):
            contradicted.append((line, f"Ep{episode}, T{shows}: {said.reason}"))
    return LineUpdates(tuple(new), tuple(known[number - 1] for number in sorted(held)), tuple(contradicted))


def _that_shows(
    line: KnowledgeLine, said: Contradiction, asked: TurnReview | EpisodeReview, counts: Counter[str]
) -> int | None:
    """Return the first of the named turns that may contradict the line."""
    named = [one for one in asked.attempts() if one.turn.turn in said.turns]
    shows = next((one.turn.turn for one in named if may_contradict(line, one, asked.turns_of)), None)
    if not named:
        counts["contradictions without a turn"] += 1
    elif shows is None:
        counts["contradictions refused"] += 1
    return shows


def mean_critic_score(turns: Sequence[TurnRecord]) -> float | None:
    """Return the critic's mean score; None if no turn was judged by a model."""
    scores = [turn.critic_score for turn in turns if turn.critic_score is not None]
    return sum(scores) / len(scores) if scores else None


_MAX_TURNS = 150
"""The most turns of an episode that the prompt shows."""


class ModelKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` that asks the model of the role `knowledge`."""

    asks_a_model = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        prompt = render("knowledge", asked=asked, failed=failed, visible_outcome=visible_outcome)
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(
            LessonsAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=LessonsAnswer).parsed
        )

    def wisdom(self, asked: EpisodeReview) -> WisdomAnswer:
        told = most_informative(asked.turns)
        prompt = render(
            "wisdom",
            story=asked,
            turns=told,
            failures=sum(failed(turn.transition) for turn in asked.turns),
            failed=failed,
            visible_outcome=visible_outcome,
            left_out=len(asked.turns) - len(told),
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(WisdomAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=WisdomAnswer).parsed)


def most_informative(turns: Sequence[TurnRecord], most: int = _MAX_TURNS) -> tuple[TurnRecord, ...]:
    """Return the most informative turns in their order: deaths and points, then the latest others."""
    if len(turns) <= most:
        return tuple(turns)
    last = turns[-1].turn
    ranked = sorted(turns, key=lambda turn: (not _is_turning_point(turn), failed(turn.transition), last - turn.turn))
    kept = {turn.turn for turn in ranked[:most]}
    return tuple(turn for turn in turns if turn.turn in kept)


def _is_turning_point(turn: TurnRecord) -> bool:
    return turn.transition.died or turn.transition.points > 0

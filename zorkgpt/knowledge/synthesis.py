"""What is asked when the turns of an episode are looked back at, and how an answer becomes lessons."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel, Field

from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.revision import Lessons, Proposal
from zorkgpt.knowledge.sections import Section
from zorkgpt.runlog.events import TurnPlayed

MOST_NEW = 40
MOST_CONTRADICTED = 100

Topic = Literal["dangers", "puzzles", "strategies", "deaths", "syntax", "lessons"]
Theme = Literal["death_patterns", "environment", "meta_strategies", "discoveries"]


@dataclass(frozen=True, slots=True)
class LookBack:
    """The turns that are to be learned from, and what is known already."""

    episode: int | str
    turns: tuple[TurnPlayed, ...]
    """Oldest first."""
    known: tuple[KnowledgeLine, ...] = ()
    """Lines that are believed; an answer names them by their number from 1 on."""
    earlier: tuple[TurnPlayed, ...] = ()
    """The turns of the episode before these, as far as they are at hand."""
    by_hand: tuple[str, ...] = ()
    """What a person wrote down: known too, and nobody else's to judge."""


@dataclass(frozen=True, slots=True)
class EpisodeStory:
    """A whole episode, and what is known already."""

    episode: int | str
    reason: str
    """How it ended, as `EpisodeEnded` names it."""
    turns: tuple[TurnPlayed, ...]
    known: tuple[KnowledgeLine, ...] = ()
    critic_score: float | None = None
    """The mean over the turns that the critic's model judged; None: none was."""
    by_hand: tuple[str, ...] = ()
    """What a person wrote down."""

    @property
    def score(self) -> int | None:
        return next((turn.score for turn in reversed(self.turns) if turn.score is not None), None)

    @property
    def died(self) -> bool:
        return any(turn.died for turn in self.turns)


class NewLesson(BaseModel):
    """A line to be added."""

    section: Topic
    text: str = Field(max_length=400, description="one or two sentences that help on in a later episode")
    turns: list[int] = Field(default_factory=list, max_length=200, description="the turns that show it")


class NewInsight(BaseModel):
    """The same of the episode as a whole."""

    section: Theme
    text: str = Field(max_length=400, description="one or two sentences that help on in a later episode")
    turns: list[int] = Field(default_factory=list, max_length=200, description="the turns that show it")


class Contradiction(BaseModel):
    """A line that did not hold."""

    number: int
    reason: str = Field(max_length=300, description="what happened instead, in a few words")


class LessonsAnswer(BaseModel):
    """What the turns teach."""

    new: list[NewLesson] = Field(default_factory=list, max_length=MOST_NEW)
    borne_out: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=MOST_CONTRADICTED)


class WisdomAnswer(BaseModel):
    """What the episode teaches."""

    new: list[NewInsight] = Field(default_factory=list, max_length=MOST_NEW)
    borne_out: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=MOST_CONTRADICTED)


class KnowledgeSynthesizer(Protocol):
    """Says what turns and episodes teach."""

    asks_a_model: bool
    """So that it takes time and may fail."""

    def lessons(self, asked: LookBack) -> LessonsAnswer:
        """What these turns teach.

        Raises:
            LLMError: a model was asked and gave no usable answer.
        """
        ...

    def wisdom(self, asked: EpisodeStory) -> WisdomAnswer:
        """What this episode teaches beyond itself.

        Raises:
            LLMError: a model was asked and gave no usable answer.
        """
        ...


_SECTIONS: dict[str, Section] = {
    "dangers": Section.DANGERS,
    "puzzles": Section.PUZZLES,
    "strategies": Section.STRATEGIES,
    "deaths": Section.DEATHS,
    "syntax": Section.SYNTAX,
    "lessons": Section.LESSONS,
    "death_patterns": Section.DEATH_PATTERNS,
    "environment": Section.ENVIRONMENT,
    "meta_strategies": Section.META_STRATEGIES,
    "discoveries": Section.DISCOVERIES,
}


def lessons_of(
    answer: LessonsAnswer | WisdomAnswer, known: Sequence[KnowledgeLine], turns: Sequence[TurnPlayed], counts: Counter
) -> Lessons:
    """The answer in lines instead of numbers; what names no line or says both of one is left out and counted."""
    episode, first, last = turns[0].episode, turns[0].turn, turns[-1].turn
    denied = {one.number: one.reason for one in answer.contradicted}
    held = set(answer.borne_out)
    for number in (held & denied.keys()) | {n for n in held | denied.keys() if not 1 <= n <= len(known)}:
        counts["numbers ignored"] += 1
        held.discard(number)
        denied.pop(number, None)
    new = []
    for one in answer.new:
        shown = [turn for turn in one.turns if first <= turn <= last] or [first, last]
        new.append(Proposal(_SECTIONS[one.section], one.text, episode, min(shown), max(shown)))
    return Lessons(
        new=tuple(new),
        borne_out=tuple(known[number - 1] for number in sorted(held)),
        contradicted=tuple((known[number - 1], denied[number]) for number in sorted(denied)),
    )


def mean_critic_score(turns: Sequence[TurnPlayed]) -> float | None:
    """None: no turn was judged by a model."""
    scores = [turn.critic_score for turn in turns if turn.critic_score is not None]
    return sum(scores) / len(scores) if scores else None

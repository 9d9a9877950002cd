"""Reviews of turns and episodes: the questions, the answers, and their conversion into updates of lines."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, cast

from pydantic import BaseModel, Field

from session.experience import row_of
from session.history import TurnRecord
from session.outcome import failed, visible_outcome
from zorkgpt.knowledge.claims import TurnsOf, may_contradict
from zorkgpt.knowledge.line import KnowledgeSection, contradictions, line_of
from zorkgpt.knowledge.revision import LineUpdates
from zorkgpt.llm.messages import LLM, Message
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import Memory
from zorkgpt.prompts.render import render
from zorkgpt.record.experience import Experience

MAX_NEW = 40
MAX_CONTRADICTED = 100

SectionName = Literal[
    "dangers",
    "puzzles",
    "strategies",
    "deaths",
    "syntax",
    "lessons",
    "death_patterns",
    "environment",
    "meta_strategies",
    "discoveries",
]
"""The names of the members of `KnowledgeSection` that have lines, in lower case."""


def no_turns(episode: int | str) -> Sequence[TurnRecord]:
    """Return no turns, for reviews without access to earlier episodes."""
    return ()


@dataclass(frozen=True, slots=True)
class TurnReview:
    """The turns to learn from, and the existing lines."""

    episode: int | str
    turns: tuple[TurnRecord, ...]
    """Oldest first."""
    known: tuple[Memory, ...] = ()
    """Lines that are not struck. Answers refer to them by their numbers, from 1."""
    earlier: tuple[TurnRecord, ...] = ()
    """The available turns of the episode before these."""
    by_hand: tuple[str, ...] = ()
    """Lines that people wrote, which are not judged."""
    turns_of: TurnsOf = no_turns


@dataclass(frozen=True, slots=True)
class EpisodeReview:
    """A whole episode to learn from, and the existing lines."""

    episode: int | str
    reason: str
    """The `EpisodeEnding`."""
    turns: tuple[TurnRecord, ...]
    known: tuple[Memory, ...] = ()
    critic_score: float | None = None
    """The mean over the turns that a model judged; None if there were none."""
    learned_until: int = 0
    """The last turn that was already reviewed."""
    by_hand: tuple[str, ...] = ()
    """Lines that people wrote, which are not judged."""
    turns_of: TurnsOf = no_turns

    def last_turns(self) -> TurnReview | None:
        """Return a review of the turns that were not reviewed yet; None if there are none."""
        fresh = tuple(turn for turn in self.turns if turn.turn > self.learned_until)
        if not fresh:
            return None
        earlier = self.turns[: len(self.turns) - len(fresh)]
        return TurnReview(self.episode, fresh, self.known, earlier, self.by_hand, self.turns_of)

    @property
    def score(self) -> int | None:
        return next((turn.after.score for turn in reversed(self.turns) if turn.after.score is not None), None)


class NewLesson(BaseModel):
    """A new line in an answer."""

    section: SectionName
    text: str = Field(max_length=400, description="one or two sentences for later episodes, 400 letters at most")
    turns: list[int] = Field(default_factory=list, max_length=200, description="the turns that show it")
    replaces: int | None = Field(default=None, description="the number of an existing line that it improves on")


class Contradiction(BaseModel):
    """An existing line that the turns contradict."""

    number: int
    turns: list[int] = Field(
        default_factory=list, max_length=200, description="the turns that show it; without one it does not count"
    )
    reason: str = Field(max_length=300, description="what happened instead, in a few words")


class LessonsAnswer(BaseModel):
    """The answer about turns or an episode."""

    new: list[NewLesson] = Field(default_factory=list, max_length=MAX_NEW)
    confirmed: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=MAX_CONTRADICTED)


class KnowledgeSynthesizer(Protocol):
    """Finds lessons in turns and episodes."""

    asks_a_model: bool
    """Whether it asks a model, which takes time and may fail."""

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        """Return the lessons of these turns.

        Raises:
            LLMError: If a model was asked and gave no usable answer.
        """
        ...

    def wisdom(self, asked: EpisodeReview) -> LessonsAnswer:
        """Return the lessons of this episode and of its last turns.

        Raises:
            LLMError: If a model was asked and gave no usable answer.
        """
        ...


def updates_from(answer: LessonsAnswer, asked: TurnReview | EpisodeReview, counts: Counter[str]) -> LineUpdates:
    """Convert an answer into updates of lines.

    These are ignored and counted: unknown line numbers, lines that are both confirmed and contradicted, and
    contradictions that ground truth excludes in all of the named turns.
    """
    known, turns = asked.known, asked.turns
    episode, first, last = turns[0].episode, turns[0].turn, turns[-1].turn
    contradictions = {contradiction.number: contradiction for contradiction in answer.contradicted}
    confirmed = set(answer.confirmed)
    unknown = {number for number in confirmed | contradictions.keys() if not 1 <= number <= len(known)}
    for number in unknown | (confirmed & contradictions.keys()):
        counts["numbers ignored"] += 1
        confirmed.discard(number)
        contradictions.pop(number, None)
    new = []
    first_available = asked.earlier[0].turn if isinstance(asked, TurnReview) and asked.earlier else first
    for lesson in answer.new:
        evidence = [turn for turn in lesson.turns if first_available <= turn <= last] or [first, last]
        replaces = known[lesson.replaces - 1] if lesson.replaces and 1 <= lesson.replaces <= len(known) else None
        section = KnowledgeSection[lesson.section.upper()]
        new.append((line_of(section, lesson.text, episode, min(evidence), max(evidence)), replaces))
    contradicted = []
    for number, contradiction in sorted(contradictions.items()):
        line = known[number - 1]
        if turn := _contradicting_turn(line, contradiction, asked, counts):
            contradicted.append((line, f"Ep{episode}, T{turn}: {contradiction.reason}"))
    return LineUpdates(tuple(new), tuple(known[number - 1] for number in sorted(confirmed)), tuple(contradicted))


def _contradicting_turn(
    line: Memory, contradiction: Contradiction, asked: TurnReview | EpisodeReview, counts: Counter[str]
) -> int | None:
    """Return the first of the named turns that may contradict the line; None if there is none."""
    named = {turn.turn for turn in asked.turns}.intersection(contradiction.turns)
    experience = Experience()
    for turn in (*(asked.earlier if isinstance(asked, TurnReview) else ()), *asked.turns):
        experience.add(row_of(turn))
        if turn.turn in named and may_contradict(line, turn, experience, asked.turns_of):
            return turn.turn
    counts["contradictions refused" if named else "contradictions without a turn"] += 1
    return None


def mean_critic_score(turns: Sequence[TurnRecord]) -> float | None:
    """Return the critic's mean score; None if no turn was judged by a model."""
    scores = [turn.critic_score for turn in turns if turn.critic_score is not None]
    return sum(scores) / len(scores) if scores else None


_MAX_TURNS = 150
"""Maximum turns of an episode in the prompt."""


class ModelKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` that asks the model of the role `knowledge`."""

    asks_a_model = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def lessons(self, asked: TurnReview) -> LessonsAnswer:
        prompt = render(
            "knowledge", asked=asked, contradictions=contradictions, failed=failed, visible_outcome=visible_outcome
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(
            LessonsAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=LessonsAnswer).parsed
        )

    def wisdom(self, asked: EpisodeReview) -> LessonsAnswer:
        shown = most_informative(asked.turns)
        prompt = render(
            "wisdom",
            story=asked,
            section_name=lambda line: KnowledgeSection(line.category).name.lower(),
            contradictions=contradictions,
            turns=shown,
            failures=sum(failed(turn.transition) for turn in asked.turns),
            failed=failed,
            visible_outcome=visible_outcome,
            left_out=len(asked.turns) - len(shown),
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        return cast(
            LessonsAnswer, self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=LessonsAnswer).parsed
        )


def most_informative(turns: Sequence[TurnRecord], most: int = _MAX_TURNS) -> tuple[TurnRecord, ...]:
    """Return the most informative turns, oldest first: deaths and points, then the latest others."""
    if len(turns) <= most:
        return tuple(turns)
    last = turns[-1].turn
    ranked = sorted(turns, key=lambda turn: (not _is_turning_point(turn), failed(turn.transition), last - turn.turn))
    chosen = {turn.turn for turn in ranked[:most]}
    return tuple(turn for turn in turns if turn.turn in chosen)


def _is_turning_point(turn: TurnRecord) -> bool:
    return turn.transition.died or turn.transition.points > 0

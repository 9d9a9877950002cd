"""Reviews of turns and episodes: the questions, the answers, and their conversion into lessons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

from pydantic import BaseModel, Field

from session.experience import row_of
from session.history import TurnRecord
from session.outcome import failed, visible_outcome
from zorkgpt.knowledge.lines import KnowledgeSection, Lessons, contradictions, line_of
from zorkgpt.llm.messages import Message
from zorkgpt.llm.model import LLM
from zorkgpt.llm.roles import Role
from zorkgpt.memory.models import Memory
from zorkgpt.prompts.render import render

SectionName = Literal["dangers", "puzzles", "strategies", "deaths", "syntax", "lessons", "insights"]
"""The names of the members of `KnowledgeSection` in lower case."""
_MAX_TURNS = 150
"""Maximum turns of an episode in the prompt."""


@dataclass(frozen=True, slots=True)
class Review:
    """The turns of an episode to learn from, and the existing lines."""

    turns: tuple[TurnRecord, ...]
    """The turns of the episode, oldest first; at least one. Those that were learned from may be missing."""
    known: tuple[Memory, ...] = ()
    """Lines that are not struck. Answers refer to them by their numbers, from 1."""
    by_hand: tuple[str, ...] = ()
    """Lines that people wrote, which are not judged."""
    learned_until: int = 0
    """The last turn that was learned from."""
    reason: str | None = None
    """The `EpisodeEnding`, if the episode as a whole is reviewed. "" if it is unknown."""

    @property
    def episode(self) -> int | str:
        return self.turns[0].episode

    @property
    def fresh(self) -> tuple[TurnRecord, ...]:
        """The turns that were not learned from yet."""
        return tuple(turn for turn in self.turns if turn.turn > self.learned_until)

    @property
    def in_question(self) -> tuple[TurnRecord, ...]:
        """The turns that are asked about."""
        return self.fresh if self.reason is None else self.turns

    @property
    def score(self) -> int | None:
        return next((turn.after.score for turn in reversed(self.turns) if turn.after.score is not None), None)

    @property
    def critic_score(self) -> float | None:
        """The critic's mean score. None if no turn was judged by a model."""
        scores = [turn.critic_score for turn in self.turns if turn.critic_score is not None]
        return sum(scores) / len(scores) if scores else None


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

    new: list[NewLesson] = Field(default_factory=list, max_length=40)
    confirmed: list[int] = Field(default_factory=list, max_length=500, description="numbers of lines that held")
    contradicted: list[Contradiction] = Field(default_factory=list, max_length=100)


class KnowledgeSynthesizer(Protocol):
    """Finds lessons in turns and episodes."""

    asks_a_model: bool
    """Whether it asks a model, which takes time and may fail."""

    def lessons(self, review: Review) -> Lessons:
        """Return the lessons of the fresh turns, and of the episode if it is over.

        Raises:
            LLMError: If a model was asked and gave no usable answer.
        """
        ...


class ModelKnowledgeSynthesizer:
    """A `KnowledgeSynthesizer` that asks the model of the role `knowledge`."""

    asks_a_model = True

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def lessons(self, review: Review) -> Lessons:
        shown = review.in_question if review.reason is None else most_informative(review.turns)
        prompt = render(
            "knowledge",
            review=review,
            section_name=lambda line: KnowledgeSection(line.category).name.lower(),
            contradictions=contradictions,
            turns=shown,
            failures=sum(failed(turn.transition) for turn in review.turns),
            failed=failed,
            visible_outcome=visible_outcome,
            left_out=len(review.turns) - len(shown),
        )
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        completion = self._llm.complete(messages, role=Role.KNOWLEDGE, response_model=LessonsAnswer)
        return lessons_in(cast(LessonsAnswer, completion.parsed), review)


def most_informative(turns: Sequence[TurnRecord], most: int = _MAX_TURNS) -> tuple[TurnRecord, ...]:
    """Return the most informative turns, oldest first: deaths and points, then the latest others."""
    last = turns[-1].turn
    ranked = sorted(turns, key=lambda turn: (not _is_turning_point(turn), failed(turn.transition), last - turn.turn))
    chosen = {turn.turn for turn in ranked[:most]}
    return tuple(turn for turn in turns if turn.turn in chosen)


def _is_turning_point(turn: TurnRecord) -> bool:
    return turn.transition.died or turn.transition.points > 0


def lessons_in(answer: LessonsAnswer, review: Review) -> Lessons:
    """Convert an answer into lessons.

    These are ignored and counted: unknown line numbers, lines that are both confirmed and contradicted, and
    contradictions that the facts of all named turns exclude.
    """
    known, lessons = review.known, Lessons()
    contradicted = {each.number: each for each in answer.contradicted}
    confirmed = set(answer.confirmed)
    numbers = confirmed ^ contradicted.keys()
    usable = {number for number in numbers if 1 <= number <= len(known)}
    lessons.ignored["numbers ignored"] += len(confirmed | contradicted.keys()) - len(usable)
    refuted = []
    for number in sorted(usable & contradicted.keys()):
        line, named = known[number - 1], set(contradicted[number].turns)
        turns = [turn for turn in review.in_question if turn.turn in named]
        turn = next((turn for turn in turns if _may_contradict(line, turn, review.turns)), None)
        if turn is None:
            lessons.ignored["contradictions refused" if turns else "contradictions without a turn"] += 1
        else:
            refuted.append((line, f"Ep{review.episode}, T{turn.turn}: {contradicted[number].reason}"))
    return Lessons(
        tuple(_new_line(lesson, review) for lesson in answer.new),
        tuple(known[number - 1] for number in sorted(usable & confirmed)),
        tuple(refuted),
        lessons.ignored,
    )


def _new_line(lesson: NewLesson, review: Review) -> tuple[Memory, Memory | None]:
    """Return the line of a lesson, and the known one that it replaces."""
    asked, known = review.in_question, review.known
    turns = [turn for turn in review.turns if turn.turn in lesson.turns] or [asked[0], asked[-1]]
    line = line_of(
        KnowledgeSection[lesson.section.upper()],
        lesson.text,
        review.episode,
        turns[0].turn,
        turns[-1].turn,
        metadata=_facts(turns[0]) if turns[0] is turns[-1] else {},
    )
    number = lesson.replaces or 0
    return line, known[number - 1] if 1 <= number <= len(known) else None


def _facts(turn: TurnRecord) -> dict[str, Any]:
    """Return the facts of the turn that a line was learned from, as its metadata."""
    row = row_of(turn)
    return {"place": row.place, "action": row.action, "died": turn.transition.died, "points": row.points}


def _may_contradict(line: Memory, turn: TurnRecord, turns: Sequence[TurnRecord]) -> bool:
    """Return whether the facts allow that a turn contradicts a line.

    The same action at the place where the line was learned does not, if it has killed again, or has scored in the
    episode.

    Args:
        turns: The turns of the episode.
    """
    learned, now = line.metadata, _facts(turn)
    tries = [each for each in map(_facts, turns[: turns.index(turn) + 1]) if _is_same_try(each, now)]
    if not _is_same_try(learned, now):
        return True
    if line.category in (KnowledgeSection.DANGERS, KnowledgeSection.DEATHS) and learned["died"]:
        return not turn.transition.died
    if line.category == KnowledgeSection.PUZZLES and learned["points"] > 0:
        return all(each["points"] <= 0 for each in tries)
    return True


def _is_same_try(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one.get("place"), one.get("action")) == (other["place"], other["action"])

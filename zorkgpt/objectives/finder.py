"""The questions about objectives, and whoever answers them: a model, or rules."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from session.history import TurnRecord
from zorkgpt.objectives.models import Objective
from zorkgpt.objectives.proposals import Known, Proposal


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that is known when objectives are looked for."""

    episode: int
    turn: int
    known: Known
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
class Judgement:
    """Somebody holds that an objective in words was reached."""

    key: str
    turn: int
    quote: str
    """What the game said on that turn, word for word."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a look at the last turns gave."""

    proposals: tuple[Proposal, ...] = ()
    reached: tuple[Judgement, ...] = ()


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

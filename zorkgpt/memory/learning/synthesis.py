"""The question what a turn teaches, as one value, and whoever answers it."""

from dataclasses import dataclass
from typing import Protocol

from zorkgpt.memory.models import Memory, MemorySynthesisResponse, ZMachineContext


@dataclass(frozen=True, slots=True)
class RecentTurn:
    """A turn before this one, for seeing what led here."""

    turn: int
    location_name: str
    action: str
    response: str
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class SynthesisRequest:
    """Everything that is known of a turn when it is asked what to remember of it."""

    location_id: int
    """Where the memory will be kept: the source of an action, the destination of an arrival."""
    location_name: str
    action: str
    response: str
    context: ZMachineContext
    memories: tuple[Memory, ...] = ()
    """What is kept at the location, persistent first, the superseded left out."""
    history: tuple[RecentTurn, ...] = ()
    """Oldest first."""
    triggers: tuple[str, ...] = ()
    """Why this turn is asked about."""
    arrival: bool = False
    """The response holds the first look at the location in this episode; the action was taken elsewhere."""
    recalled: tuple[str, ...] = ()
    """Titles of memories that the agent was shown lately: what its reasoning may only be repeating."""
    handled: frozenset[int] = frozenset()
    """Object numbers of what the player had moved or changed in this episode before this turn."""
    moved: frozenset[int] = frozenset()
    """Those of them that it had moved, and not only opened or lit."""
    doubts: tuple[str, ...] = ()
    """What looked like slips in the first answer to this question; the second answer stands."""


class MemorySynthesizer(Protocol):
    """Decides what, if anything, a turn teaches.

    One that asks nobody, so that an answer costs nothing, may say so by an attribute `asks_a_model = False`.
    """

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        """The answer; None if there was none to be had (counted by the caller).

        Raises:
            LLMError: the model could not be asked.
        """
        ...

"""What a player is told before a turn and what it answers, whoever plays."""

from dataclasses import dataclass
from typing import Protocol

from game_interface.models import Item, Observation
from zorkgpt.errors import ZorkGPTError
from zorkgpt.memory.synthesis import RecentTurn


class PlayerStopped(ZorkGPTError):
    """The player has nothing more to play: a walkthrough is at its end, a person has had enough."""


@dataclass(frozen=True, slots=True)
class PlayerContext:
    """All that a player is told before it chooses an action."""

    observation: Observation
    """From the Z-machine, so certain."""
    response: str
    """What the game printed last; the opening text on the first turn."""
    memories: str = ""
    """Of this place, as `get_location_memory` renders them; "" if there are none."""
    recent: tuple[RecentTurn, ...] = ()
    """Oldest first, this episode's."""
    room_description: str | None = None
    """The last description of this room, as the game printed it; None if it was not seen lately."""
    room_description_age: int | None = None
    """Turns since it was printed; 0: with the last response; None if there is none."""
    max_score: int | None = None
    turn: int = 0
    """The turn that is about to be played; the first of an episode is 1."""
    max_turns: int = 0
    episode: int = 1
    exits: tuple[tuple[str, str | None], ...] = ()
    """Directions that are known to lead somewhere from here, with the place's name; None: not known where."""
    dangers_near: tuple[tuple[str, str], ...] = ()
    """Way out of here, and a danger that is remembered of the place it leads to."""
    failed_here: tuple[str, ...] = ()
    """Actions that changed nothing at this place in this episode."""
    changed: tuple[Item, ...] = ()
    """What the last action moved or changed, by the object tree."""
    refused: str | None = None
    """Why the action that was proposed last for this very turn was not accepted."""
    vocabulary: tuple[str, ...] = ()
    """Words that the game's parser knows; () if it does not tell."""
    objectives: tuple[str, ...] = ()
    """What is being pursued, the most promising first."""
    knowledge: tuple[str, ...] = ()
    """Lines of the knowledge base that apply here."""
    notices: tuple[str, ...] = ()
    """What the player should know about its own play: that it goes in a circle, that nothing new has come up."""


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """One command, and why."""

    action: str
    """A single line, without quotes around it."""
    reasoning: str = ""
    by: str | None = None
    """Who chose it, where that is not the player whose turn it is; nobody judges it then."""


class Player(Protocol):
    """Chooses actions: a model, rules, a walkthrough, a person."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """The next action.

        Raises:
            LLMError: a model was asked and gave none.
            PlayerStopped: there will be no more actions.
        """
        ...

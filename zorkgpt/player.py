"""What a player is told before a turn and what it answers, whoever plays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from game_interface.models import Item, Observation
from zorkgpt.errors import ZorkGPTError
from zorkgpt.memory.models import Memory
from zorkgpt.memory.synthesis import RecentTurn


class PlayerStopped(ZorkGPTError):
    """The player has nothing more to play: a walkthrough is at its end, a person has had enough."""


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out of this place that the map knows."""

    way: str
    """A direction, or the action that took it."""
    leads_to: str | None = None
    """The place's name; None: nobody has walked it."""
    location_id: int | None = None
    confidence: float | None = None
    """In (0, 1); None: nobody has walked it."""
    shares: tuple[tuple[str, float], ...] = ()
    """Places and parts of the walks that ended there, where chance decides."""
    deadly: bool = False
    """The player has died this way."""
    came_from: tuple[str, ...] = ()
    """Of a way that nobody has walked: places from which its opposite led here. It may well lead back there."""


@dataclass(frozen=True, slots=True)
class Danger:
    """A danger that is remembered of a place ahead."""

    way: str
    """The first one to take from here."""
    place: str
    location_id: int
    memory: Memory
    steps: int = 1
    """Ways from here to the place."""
    on_route: bool = False
    """The place lies on the route that the player is on."""

    @property
    def text(self) -> str:
        return f"{self.memory.title}: {self.memory.text}"


@dataclass(frozen=True, slots=True)
class KnownPoints:
    """An action that scored in an earlier episode, and has not in this one."""

    action: str
    points: int
    place: str
    location_id: int
    memory: Memory
    """Which tells of it."""
    ways: tuple[str, ...] | None
    """From here to the place; () at the place itself, None: no way is known."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where the player is going, and the ways there that the map knows."""

    place: str
    location_id: int
    ways: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlayerContext:
    """All that a player is told before it chooses an action."""

    observation: Observation
    """From the Z-machine, so certain."""
    response: str
    """What the game printed last; the opening text on the first turn."""
    memories: str = ""
    """Of this place, as `get_location_memory` renders them; "" if there are none."""
    visits: tuple[int, int] | None = None
    """How often the player has been here, this time included, and in how many episodes; None: nobody counts."""
    recent: tuple[RecentTurn, ...] = ()
    """Oldest first, this episode's."""
    summary: str = ""
    """Of this episode's turns up to `summarised_to`."""
    summarised_to: int = 0
    room_description: str | None = None
    """The last description of this room, as the game printed it; None if it was not seen lately."""
    room_description_age: int | None = None
    """Turns since it was printed; 0: with the last response; None if there is none."""
    max_score: int | None = None
    turn: int = 0
    """The turn that is about to be played; the first of an episode is 1."""
    max_turns: int = 0
    episode: int | str = 1
    exits: tuple[Exit, ...] = ()
    """Those that were walked first, then those that the place is said to have."""
    dangers: tuple[Danger, ...] = ()
    """One way from here and on the route, the nearest first."""
    known_points: tuple[KnownPoints, ...] = ()
    """The nearest first."""
    route: Route | None = None
    """None: nobody has said where to go, or no way there is known."""
    failed_here: tuple[str, ...] = ()
    """Actions that changed nothing at this place in this episode, with what is carried, lit, open or locked as now."""
    deadly_here: tuple[str, ...] = ()
    """Actions that the player has died of at this place, in any episode."""
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


@runtime_checkable
class TakesNotes(Protocol):
    """A player that keeps something in mind from turn to turn, which a resumed episode has to give back to it."""

    def changed_notes(self) -> dict[str, Any]:
        """What has changed since this was asked last in the episode, as plain values for JSON."""
        ...

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        """Begin an episode with all that was changed in it so far, the first turn's first."""
        ...


class Player(Protocol):
    """Chooses actions: a model, rules, a walkthrough, a person."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """The next action.

        Raises:
            LLMError: a model was asked and gave none.
            PlayerStopped: there will be no more actions.
        """
        ...

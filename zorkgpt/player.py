"""The interface of a player: its view of the game before a turn, and its answer."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from game_interface.models import Item, Observation
from zorkgpt.errors import ZorkGPTError
from zorkgpt.explore.best_line import LineAhead
from zorkgpt.memory.models import Memory
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.world.graph import RouteStep


class PlayerStopped(ZorkGPTError):
    """Raised when the player has nothing more to play: a walkthrough has ended, a person wants to stop."""


class UndoRequested(ZorkGPTError):
    """Raised by a person's player in the place of an action: the last turn is to be taken back."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit of this place that the map knows."""

    way: str
    """A direction, or the action that took it."""
    leads_to: str | None = None
    """The name of the place; None if the exit was not walked and is no way back."""
    location_id: int | None = None
    confidence: float | None = None
    """The confidence in the destination, in (0, 1); None if the exit was not walked."""
    shares: tuple[tuple[str, float], ...] = ()
    """Where chance decides, the places and the share of the walks that ended at each."""
    deadly: bool = False
    """Whether the player has died this way."""
    failures: int = 0
    """How many of the tries led nowhere, or elsewhere than to `leads_to`."""
    tries: int = 0
    opened_by: tuple[str, ...] = ()
    """Actions here after which the exit worked, having led nowhere before."""
    failed: str | None = None
    """The response when it was last tried, if it led nowhere then."""
    carried_to: tuple[str, ...] = ()
    """The places to which something carried the player off on this way."""
    unproven: bool = False
    """It was not walked, but should lead to `leads_to`, from where the opposite exit led here."""
    closed_door: str = ""
    """The door on this way that is closed now; "" if none is."""


@dataclass(frozen=True, slots=True)
class Danger:
    """A remembered danger at a place ahead."""

    way: str
    """The first way to take from here."""
    place: str
    location_id: int
    memory: Memory
    steps: int = 1
    """The number of ways from here to the place."""
    on_route: bool = False
    """Whether the place lies on the player's route."""
    now: str = ""
    """What is so at this moment instead of what the memory claims; "" where it still is so, or that is not known."""

    @property
    def text(self) -> str:
        """Return the title and the text of the memory, and what is so instead now."""
        return f"{self.memory.title}: {self.memory.text}{f' (now: {self.now})' if self.now else ''}"


@dataclass(frozen=True, slots=True)
class KnownPoints:
    """An action that scored in an earlier episode, and has not in this one."""

    action: str
    points: int
    place: str
    location_id: int
    memory: Memory
    """The memory that says so."""
    steps: tuple[RouteStep, ...] | None
    """The route from here to the place; () at the place itself, None if no route is known."""


@dataclass(frozen=True, slots=True)
class Route:
    """The player's destination, and the ways there that the map knows."""

    place: str
    location_id: int
    steps: tuple[RouteStep, ...]
    """At least one. A step may be unproven, or need a door to be opened first."""


@dataclass(frozen=True, slots=True)
class UntriedWays:
    """What was never tried at another place, and the route there."""

    untried: tuple[str, ...]
    """The exits, without the ways back."""
    place: str
    location_id: int
    steps: tuple[RouteStep, ...]
    things: tuple[str, ...] = ()
    """The things that were seen there last and that no action named or changed."""


@dataclass(frozen=True, slots=True)
class NoRoute:
    """A place that the player wants to go to, and to which no route is known."""

    place: str
    on_map: bool
    """Whether the map has a place of this name."""


@dataclass(frozen=True, slots=True)
class PlayerContext:
    """The player's view of the game before it chooses an action."""

    observation: Observation
    """What the Z-machine says, which is certain."""
    response: str
    """What the game printed last; the opening text on the first turn."""
    opening: str = ""
    """What the game printed when the episode began."""
    memories: str = ""
    """The memories of this place, as `get_location_memory` renders them; "" if there are none."""
    things: tuple[ThingState, ...] = ()
    """Everything in sight or carried, and the doors and the like at hand, with their states; () if not known."""
    visits: tuple[int, int] | None = None
    """How often the player has been here, this time included, and in how many episodes; None if not counted."""
    recent: tuple[RecentTurn, ...] = ()
    """The turns of this episode that are not summarized, oldest first."""
    summary: str = ""
    """A summary of the turns of this episode up to `summarized_to`."""
    summarized_to: int = 0
    room_description: str | None = None
    """The last description of this room, as the game printed it; None if it was not seen lately."""
    room_description_age: int | None = None
    """Turns since it was printed, 0 for the last response; None if there is no description."""
    max_score: int | None = None
    turn: int = 0
    """The number of the turn that is about to be played; the first of an episode is 1."""
    max_turns: int = 0
    episode: int = 1
    exits: tuple[Exit, ...] = ()
    """The exits that were walked, then the unproven ways back, then those that the place is only said to have."""
    dangers: tuple[Danger, ...] = ()
    """The dangers one way from here and on the route, the nearest first."""
    known_points: tuple[KnownPoints, ...] = ()
    """Actions that scored in earlier episodes, the nearest first."""
    route: Route | None = None
    """The route to the destination that the player stated, or else to that of the most promising objective.

    None if there is no destination, or no route to it is known.
    """
    no_route: NoRoute | None = None
    """The destination that the player stated, if no route to it is known; an objective does not replace it."""
    untried_elsewhere: tuple[UntriedWays, ...] = ()
    """The untried exits and things of other places, the nearest first."""
    best_line: LineAhead | None = None
    """The rest of the best line; None if there is none, or the present state is not on it.

    A player that answers `FOLLOW` has it played for it, with `FOLLOW 5` the next five commands; see `follow_request`.
    """
    failed_here: tuple[str, ...] = ()
    """Actions that changed nothing here in this episode while what is carried, lit, open or locked was as it is now."""
    deadly_here: tuple[str, ...] = ()
    """Actions that the player has died of at this place, in any episode."""
    destructive_verbs: tuple[str, ...] = ()
    """The verbs with which the player has destroyed or used up something in this episode."""
    changed: tuple[Item, ...] = ()
    """The objects that the last action moved or changed, by the object tree."""
    refused: str | None = None
    """Why the action that was proposed last for this very turn was not accepted."""
    vocabulary: tuple[str, ...] = ()
    """The words that the game's parser knows; () if they are not known."""
    objectives: tuple[str, ...] = ()
    """The objectives, the most promising first."""
    knowledge: tuple[str, ...] = ()
    """Lines of the knowledge base that apply here."""
    notices: tuple[str, ...] = ()
    """Remarks on the player's own play: that it goes in a circle, that nothing new has come up."""


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """A command and the reasons for it."""

    action: str
    """A single line, without quotes around it."""
    reasoning: str = ""
    by: str | None = None
    """Who chose it, if not the player itself; such an action is not reviewed."""
    summarize_to: int = 0
    """The last turn that the player's prompt will soon have no room for; 0 if it has room for all."""


_FOLLOW = re.compile(r"\s*FOLLOW(?:\s+(\d+))?\s*", re.IGNORECASE)
FOLLOW = "FOLLOW"
"""The action that asks for the best line to be played."""


def follow_request(action: str) -> int | None:
    """Return how many steps of the best line an action asks for: `sys.maxsize` for all, None if for none."""
    match = _FOLLOW.fullmatch(action)
    return None if match is None else int(match[1]) if match[1] else sys.maxsize


class Player(Protocol):
    """Chooses actions: a model, rules, a walkthrough, a person.

    A player that keeps notes from turn to turn overrides all methods; one that keeps none inherits the defaults.
    """

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the next action.

        Raises:
            LLMError: If a model was asked and gave none.
            PlayerStopped: If there will be no more actions.
            UndoRequested: If the last turn is to be taken back.
        """
        ...

    def look_on(self, context: PlayerContext, action: str) -> None:
        """Record an action that was chosen by another player in this one's stead."""
        return

    def changed_notes(self) -> dict[str, Any]:
        """Return what has changed in the notes since the last call in this episode, as plain values for JSON."""
        return {}

    def left_to_try(self) -> dict[int, tuple[str, ...]]:
        """Return location → the most promising untried action there and its kind, () if none is left."""
        return {}

    def resume(self, notes: Sequence[dict[str, Any]]) -> None:
        """Begin an episode with all changes that were made to the notes in it so far, oldest first."""
        return

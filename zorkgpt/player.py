"""The interface of a player: its view of the game before a turn, and its answer."""

import re
import sys
from dataclasses import dataclass
from typing import Protocol

from game_interface.models import Observation
from zorkgpt.errors import ZorkGPTError
from zorkgpt.explore.best_line import LineAhead
from zorkgpt.memory.models import Memory
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.world.routes import RouteStep


class PlayerStopped(ZorkGPTError):
    """Raised when the player has no more actions: a walkthrough has ended, or a person wants to stop."""


class UndoRequested(ZorkGPTError):
    """Raised by a human player to undo the last turn."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit of the current place."""

    way: str
    """A direction, or the action that took it."""
    leads_to: str | None = None
    """The name of the place; None if unknown."""
    location_id: int | None = None
    confidence: float | None = None
    """The confidence in the destination, in (0, 1); None if the exit was not walked."""
    shares: tuple[tuple[str, float], ...] = ()
    """If there are several destinations, each place with its share of the walks."""
    deadly: bool = False
    """Whether the player has died this way."""
    failures: int = 0
    """The number of tries that led nowhere, or not to `leads_to`."""
    tries: int = 0
    opened_by: tuple[str, ...] = ()
    """Actions here after which an exit that had failed before worked."""
    failed: str | None = None
    """The response to the last try if it failed; None if it did not."""
    carried_to: tuple[str, ...] = ()
    """The places to which something carried the player off on this way."""
    unproven: bool = False
    """Whether it is the way back from `leads_to` that was not walked yet."""
    closed_door: str = ""
    """The closed door on this way; "" if there is none."""


@dataclass(frozen=True, slots=True)
class Danger:
    """A remembered danger at a place ahead."""

    way: str
    """The first step from here."""
    place: str
    location_id: int
    memory: Memory
    steps: int = 1
    """The number of steps to the place."""
    on_route: bool = False
    """Whether the place is on the player's route."""
    now: str = ""
    """The current state that contradicts the memory; "" if it is unknown or agrees."""

    @property
    def text(self) -> str:
        """The title and text of the memory, with the state that contradicts it."""
        return f"{self.memory.title}: {self.memory.text}{f' (now: {self.now})' if self.now else ''}"


@dataclass(frozen=True, slots=True)
class KnownPoints:
    """An action that scored in an earlier episode, but not in this one."""

    action: str
    points: int
    place: str
    location_id: int
    memory: Memory
    """The memory of the points."""
    steps: tuple[RouteStep, ...] | None
    """The route from here to the place; () at the place itself, None if no route is known."""


@dataclass(frozen=True, slots=True)
class Route:
    """The player's destination, and the route to it."""

    place: str
    location_id: int
    steps: tuple[RouteStep, ...]
    """At least one. A step may be unproven or behind a closed door."""


@dataclass(frozen=True, slots=True)
class UntriedWays:
    """The untried exits and things of another place, and the route there."""

    untried: tuple[str, ...]
    """The untried exits, without ways back."""
    place: str
    location_id: int
    steps: tuple[RouteStep, ...]
    things: tuple[str, ...] = ()
    """The things last seen there that no action has named or changed."""


@dataclass(frozen=True, slots=True)
class NoRoute:
    """A destination without a known route."""

    place: str
    on_map: bool
    """Whether the map has a place of this name."""


@dataclass(frozen=True, slots=True)
class PlayerContext:
    """The player's view of the game before it chooses an action."""

    observation: Observation
    """The state according to the Z-machine, which is certain."""
    response: str
    """The game's last response; the opening text on the first turn."""
    opening: str = ""
    """The opening text of the episode."""
    memories: str = ""
    """The result of `get_location_memory` for this place; "" if there are no memories."""
    things: tuple[ThingState, ...] = ()
    """The visible and carried things, and things like doors nearby, with their states; () if unknown."""
    visits: tuple[int, int] | None = None
    """The number of visits here, including this one, and the number of episodes with a visit; None if not counted."""
    recent: tuple[RecentTurn, ...] = ()
    """The turns of this episode that are not summarized, oldest first."""
    summary: str = ""
    """A summary of the turns of this episode up to `summarized_to`."""
    summarized_to: int = 0
    room_description: str | None = None
    """The game's last description of this room; None without a recent one."""
    room_description_age: int | None = None
    """Turns since the description, 0 for the last response; None without a description."""
    max_score: int | None = None
    turn: int = 0
    """The number of the turn to play, from 1."""
    max_turns: int = 0
    episode: int = 1
    exits: tuple[Exit, ...] = ()
    """The walked exits, then unproven ways back, then exits that only texts mention."""
    dangers: tuple[Danger, ...] = ()
    """The dangers at neighboring places and on the route, the nearest first."""
    known_points: tuple[KnownPoints, ...] = ()
    """Actions that scored in earlier episodes, the nearest first."""
    route: Route | None = None
    """The route to the player's stated destination, or else to that of the most promising objective.

    None without a destination or a known route.
    """
    no_route: NoRoute | None = None
    """The player's stated destination, if no route to it is known."""
    untried_elsewhere: tuple[UntriedWays, ...] = ()
    """The untried exits and things of other places, the nearest first."""
    best_line: LineAhead | None = None
    """The rest of the best line; None if the present state is not on it or nothing is left.

    The action `FOLLOW` plays it, and `FOLLOW 5` its next five commands. See `follow_request`.
    """
    failed_here: tuple[str, ...] = ()
    """Actions that changed nothing here in this episode, in the same state of carried, lit, open and locked things."""
    deadly_here: tuple[str, ...] = ()
    """Actions that killed the player at this place, in any episode."""
    destructive_verbs: tuple[str, ...] = ()
    """The verbs that destroyed or used up something in this episode."""
    refused: str | None = None
    """Why the last proposal for this turn was rejected; None if none was."""
    vocabulary: tuple[str, ...] = ()
    """The words that the game's parser knows; () if unknown."""
    objectives: tuple[str, ...] = ()
    """The objectives, the most promising first."""
    knowledge: tuple[str, ...] = ()
    """The relevant lines of the knowledge base."""
    notices: tuple[str, ...] = ()
    """Notices about the player's own play, such as loops and a lack of progress."""


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """A command and the reasons for it."""

    action: str
    """A single line, without quotes around it."""
    reasoning: str = ""
    by: str | None = None
    """Who chose it, if not the player itself. The critic does not review such actions."""
    summarize_to: int = 0
    """The last turn that will soon not fit into the player's prompt; 0 if all fit."""
    follow: int = 0
    """The number of commands of the best line to follow from this one on. 0 if it begins no part of the line."""


_FOLLOW = re.compile(r"\s*FOLLOW(?:\s+(\d+))?\s*", re.IGNORECASE)
FOLLOW = "FOLLOW"
"""The action that plays the best line."""


def follow_request(action: str) -> int | None:
    """Return the number of steps of the best line that an action asks for: `sys.maxsize` for all, None for none."""
    match = _FOLLOW.fullmatch(action)
    return None if match is None else int(match[1]) if match[1] else sys.maxsize


class Player(Protocol):
    """Chooses actions: a model, rules, a walkthrough, a person. It keeps nothing that the record doesn't have."""

    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        """Return the next action.

        Raises:
            LLMError: If a model was asked and gave none.
            PlayerStopped: If there are no more actions.
            UndoRequested: To undo the last turn.
        """
        ...

"""Puts together what a player is told before a turn."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from game_interface.models import Item, Location, Observation
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from session.outcome import affected_objects
from zorkgpt.context.history import EpisodeTurns, Overflow, Summarizer, overflowing
from zorkgpt.context.navigation import (
    dangers_ahead,
    deadly_actions,
    exits_of,
    known_points,
    no_route,
    route_to,
    stated_destination,
    untried_elsewhere,
)
from zorkgpt.context.prompt import agent_values, critic_values
from zorkgpt.context.sections import REASONED_TURNS, reasoning_formatted
from zorkgpt.errors import LLMError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.objects import ThingState
from zorkgpt.memory.retrieval import Recall
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import Danger, PlayerContext, Route
from zorkgpt.world.graph import MapGraph

_SHORTEST_LINE_TOKENS = 10
"""The tokens of the shortest line about a turn, which limits the turns that can fit into the history."""


class ContextManager(BaseManager):
    """Composes the player's view of the game from the state, the map and the memories.

    Args:
        graph: The map; None for an empty one.
        vocabulary: The words that the game's parser knows.
        things: Returns the things at hand now, with their states.
        memory: Counts the visits, and is told which memories are shown; None if nothing is remembered.
        recall: Returns the current memories of a location.
        objectives: Returns the lines about the objectives.
        knowledge: Returns the lines of the knowledge base that apply to an observation.
        notices: Returns remarks on the player's own play.
        destination: Returns the location where the player should go, if its own reasons name none.
        summarizer: Summarises the turns that no longer fit; None if they are only counted.
        now: Returns the time for the entries of the reasoning.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        graph: MapGraph | None = None,
        vocabulary: tuple[str, ...] = (),
        things: Callable[[], Sequence[ThingState]] = tuple,
        memory: SimpleMemoryManager | None = None,
        recall: Recall = lambda location_id: (),
        objectives: Callable[[], Sequence[str]] = tuple,
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
        notices: Callable[[], Sequence[str]] = tuple,
        destination: Callable[[], int | None] = lambda: None,
        summarizer: Summarizer | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(logger, config, game_state)
        self._graph = graph if graph is not None else MapGraph()
        self._vocabulary = vocabulary
        self._things = things
        self._memory = memory
        self._recall = recall
        self._objectives = objectives
        self._knowledge = knowledge
        self._notices = notices
        self._destination = destination
        self._summarizer = summarizer
        self._clock = now
        self._turns = EpisodeTurns(game_state)
        self.reset()

    def reset(self) -> None:
        """Begin a new episode: forget its turns."""
        self._turns.clear()
        self._last_response = ""
        self._last_changed: tuple[Item, ...] = ()
        self._last_seen: Observation | None = None
        self._summaries = 0
        self._summary_failures = 0

    def open_with(self, text: str, seen: Observation | None = None) -> None:
        """Begin with the opening text, and where the game stands after it."""
        self._last_response = text
        self._last_seen = seen

    def process_turn(self, record: TurnRecord) -> None:
        """Keep the response, what changed and why the action was chosen."""
        step = record.transition
        self._last_response = step.response
        self._last_changed = affected_objects(step)
        self._last_seen = step.after
        self.add_reasoning(record.turn, record.reasoning, step.action)

    def add_reasoning(self, turn: int, reasoning: str | None, action: str) -> None:
        """Keep why an action was chosen, as {turn, reasoning, action, timestamp}; the response comes with the turn."""
        entry = self._state.add_reasoning(turn, reasoning or "", action)
        entry.setdefault("timestamp", self._clock().isoformat(timespec="seconds"))

    def get_recent_reasoning_formatted(self, turns: int = REASONED_TURNS) -> str:
        """Return the last turns under `## Previous Reasoning and Actions`; "" before the first one."""
        return reasoning_formatted(self._turns.last(turns), self._config.context.reasoning_tokens)

    def get_agent_context(
        self, now: Observation | None = None, memories: str | None = None, *, refused: str | None = None
    ) -> dict[str, Any]:
        """Return what the agent's prompt holds, as plain data under keys that are always the same.

        Args:
            now: Where the game stands; by default where it stood after the last turn.
            memories: The memories of this place; by default as the memory shows them.
            refused: Why the last proposal for this turn was not accepted.
        """
        return agent_values(self._context(now, memories, refused), self._config.context)

    def get_critic_context(self, now: Observation | None = None, memories: str | None = None) -> dict[str, Any]:
        """Return what the critic's prompt holds beside the proposal, as plain data."""
        return critic_values(self._context(now, memories, None), self._config.context)

    def player_context(self, now: Observation, memories: str, *, refused: str | None = None) -> PlayerContext:
        """Return what is known before the turn that is about to be played.

        Args:
            now: Where the game stands.
            memories: The memories of this place, as they are shown.
            refused: Why the last proposal for this turn was not accepted.
        """
        state = self._state
        here = now.location.num if now.location else None
        age = self._room_description_age(here)
        recent = self._recent(most=REASONED_TURNS + self._config.history_tokens // _SHORTEST_LINE_TOKENS)
        route = self._route(here, recent)
        exits = exits_of(self._graph, here)
        return PlayerContext(
            observation=now,
            response=self._last_response,
            memories=memories,
            things=tuple(self._things()),
            visits=self._memory.get_visits(here) if self._memory and here is not None else None,
            recent=recent,
            summary=state.history_summary,
            summarised_to=state.history_summarised_to,
            room_description=None if age is None else state.last_room_description,
            room_description_age=age,
            max_score=state.max_score,
            turn=state.turn_count + 1,
            max_turns=self._config.max_turns_per_episode,
            episode=state.episode_id,
            exits=exits,
            dangers=self._dangers(here, route),
            known_points=known_points(self._graph, here, self._recall, state.scored_actions),
            route=route,
            no_route=no_route(self._graph, here, recent[-1].reasoning) if recent and route is None else None,
            untried_elsewhere=untried_elsewhere(self._graph, here),
            failed_here=state.failed_here(now),
            deadly_here=deadly_actions(self._graph, here, exits),
            changed=self._last_changed,
            refused=refused,
            vocabulary=self._vocabulary,
            objectives=tuple(self._objectives()),
            knowledge=tuple(self._knowledge(now)),
            notices=tuple(self._notices()),
        )

    def process_periodic_update(self) -> None:
        """Have the older turns summarised when there is no room for them any more."""
        state = self._state
        if self._summarizer is None or state.turn_count - state.history_summary_asked < self._config.summary_interval:
            return
        turns = overflowing(self._recent(), self._config.context)
        if not turns:
            return
        state.history_summary_asked = state.turn_count
        try:
            state.history_summary = self._summarizer.summarize(Overflow(turns, state.history_summary))
        except LLMError as error:
            self._summary_failures += 1
            if self._summary_failures == 1:
                self._log.warning("no summary of the older turns", extra={"problem": str(error)})
            return
        state.history_summarised_to = turns[-1].turn
        self._summaries += 1

    def get_status(self) -> dict[str, Any]:
        """Return how many turns there are, and how far they are summarised."""
        metrics = {
            "turns": len(self._state.action_reasoning_history),
            "summaries": self._summaries,
            "summary_failures": self._summary_failures,
            "summarised_to": self._state.history_summarised_to,
        }
        return {"type": "context", "state": "summarising" if self._summarizer else "counting", "metrics": metrics}

    def _context(self, now: Observation | None, memories: str | None, refused: str | None) -> PlayerContext:
        now = now or self._last_seen or _seen_by(self._state)
        if memories is None:
            memory, place = self._memory, now.location
            memories = memory.get_location_memory(place.num) if memory and place else ""
        return self.player_context(now, memories, refused=refused)

    def _recent(self, *, most: int | None = None) -> tuple[RecentTurn, ...]:
        """Return the turns that are not summarised, and the last few in any case."""
        since = max(REASONED_TURNS, self._state.turn_count - self._state.history_summarised_to)
        return self._turns.last(since if most is None else min(since, most))

    def _route(self, here: int | None, recent: Sequence[RecentTurn]) -> Route | None:
        last = recent[-REASONED_TURNS:]
        reasons, places = [turn.reasoning for turn in last], [turn.location_name for turn in last]
        stated = stated_destination(self._graph, here, reasons, places)
        return route_to(self._graph, here, stated if stated is not None else self._destination())

    def _dangers(self, here: int | None, route: Route | None) -> tuple[Danger, ...]:
        """Return the dangers ahead, each with what is so instead by now."""
        found, memory = dangers_ahead(self._graph, here, self._recall, route), self._memory
        if memory is None:
            return tuple(found)
        return tuple(replace(one, now=memory.instead_of(one.location_id, one.memory)) for one in found)

    def _room_description_age(self, here: int | None) -> int | None:
        """Return the age of this room's description in turns; None if there is none that is recent enough to show."""
        age = self._state.room_description_age(here)
        return age if age is not None and age <= self._config.room_description_age_window else None


def _seen_by(state: GameState) -> Observation:
    """Return what the state knows of the game's present, for a caller that has played no turn."""
    place = Location(state.current_room_id, state.current_room_name) if state.current_room_id is not None else None
    inventory = tuple(Item(0, name) for name in state.current_inventory)
    return Observation(place, inventory, None, None, state.current_score, None)

"""Compose a player's context before a turn from the map, the memories, the objectives and the knowledge base."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from game_interface.game import Game
from game_interface.models import Observation
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from zorkgpt.context.navigation import (
    dangers_ahead,
    deadly_actions,
    exits_of,
    known_points,
    route_to,
    stated_destination,
    untried_elsewhere,
)
from zorkgpt.explore.best_line import LineAhead
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import Recall
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import Danger, NoRoute, PlayerContext, Route
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.tries import tries_at, untried_things


class Goals(Protocol):
    """The objectives that the player pursues."""

    def lines(self) -> Sequence[str]:
        """Return the lines of the prompt for the objectives, the most promising first."""
        ...

    def destination(self) -> int | None:
        """Return the location of the most promising objective with a location; None if there is none."""
        ...


@dataclass(frozen=True)
class PlayerView:
    """The sources of a player's context."""

    graph: MapGraph = field(default_factory=MapGraph)
    recall: Recall = lambda location_id: ()
    """Returns the current memories of a location."""
    memory: SimpleMemoryManager | None = None
    """Counts visits and finds outdated memories; None without memory."""
    game: Game | None = None
    """Knows its vocabulary and the things in sight; None if unknown."""
    goals: Goals | None = None
    """The objectives; None without objectives."""
    knowledge: Callable[[Observation], Sequence[str]] = lambda now: ()
    """Returns the lines of the knowledge base that are relevant to an observation."""
    best_line: Callable[[Observation], LineAhead | None] = lambda now: None
    """Returns the rest of the best line; None if the player is not on it."""
    is_for_rules: bool = False
    """Whether only rules read the context: without what follows from the map and the memories, which they have."""

    @cached_property
    def _vocabulary(self) -> tuple[str, ...]:
        return tuple(sorted(self.game.language.words)) if self.game and self.game.language else ()

    def compose(
        self,
        now: Observation,
        memories: str,
        notices: Sequence[str],
        *,
        state: GameState,
        config: GameConfiguration,
        recent: Sequence[RecentTurn],
    ) -> PlayerContext:
        """Return the player's context before the next turn.

        Args:
            notices: Notices about the player's own play.
        """
        here, latest = now.location_id, state.latest
        description, age = state.room_description(here, within_turns=config.room_description_age_window)
        context = PlayerContext(
            observation=now,
            opening=state.arrival.response if state.arrival else "",
            response=latest.response if latest else "",
            memories=memories,
            things=self.game.things() if self.game else (),
            recent=tuple(recent),
            summary=state.history_summary,
            summarized_to=state.history_summarized_to,
            room_description=description,
            room_description_age=age,
            max_score=state.max_score,
            turn=state.turn_count + 1,
            max_turns=config.max_turns_per_episode,
            episode=state.episode_id,
            best_line=self.best_line(now),
            failed_here=state.failed_here(now),
            destructive_verbs=tuple(state.destructive_verbs),
            vocabulary=self._vocabulary,
            notices=tuple(notices),
        )
        return context if self.is_for_rules else self._with_surroundings(context, state)

    def _with_surroundings(self, context: PlayerContext, state: GameState) -> PlayerContext:
        """Return the context with what follows from the map, the memories and the objectives."""
        graph, now = self.graph, context.observation
        here = now.location_id
        destination = self._destination(here, context.recent)
        exits = exits_of(graph, here, tries_at(state.experience, here))
        route = route_to(graph, here, destination) if isinstance(destination, int) else None
        return replace(
            context,
            visits=self.memory.get_visits(here) if self.memory and here is not None else None,
            exits=exits,
            dangers=self._dangers(here, route),
            known_points=known_points(graph, here, self.recall, state.scored),
            route=route,
            no_route=destination if isinstance(destination, NoRoute) else None,
            untried_elsewhere=untried_elsewhere(graph, here, untried_things(state.experience, now)),
            deadly_here=deadly_actions(graph, here, exits),
            objectives=tuple(self.goals.lines()) if self.goals else (),
            knowledge=tuple(self.knowledge(now)),
        )

    def _destination(self, here: int | None, recent: Sequence[RecentTurn]) -> int | NoRoute | None:
        """Return the destination in the player's reasons, or else the place of the first objective."""
        reasons, places = [turn.reasoning for turn in recent], [turn.location_name for turn in recent]
        destination = stated_destination(self.graph, here, reasons, places)
        if destination is None and self.goals:
            return self.goals.destination()
        return destination

    def _dangers(self, here: int | None, route: Route | None) -> tuple[Danger, ...]:
        """Return the dangers ahead, each with the current state that contradicts it."""
        dangers, memory = dangers_ahead(self.graph, here, self.recall, route), self.memory
        if memory is None:
            return tuple(dangers)
        return tuple(
            replace(danger, now=memory.contradicting_state(danger.location_id, danger.memory)) for danger in dangers
        )

"""Compose a player's context before a turn from the map, the memories, the objectives and the knowledge base."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from game_interface.game import Game
from game_interface.models import Observation
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.outcome import affected_objects, changed_by_themselves
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
from zorkgpt.world.tries import tries_at


class Goals(Protocol):
    """The objectives that the player pursues."""

    def lines(self) -> Sequence[str]:
        """Return the lines of the prompt for the objectives, the most promising first."""
        ...

    def destination(self) -> int | None:
        """Return the location of the most promising objective with a location; None if there is none."""
        ...


class PlayerView:
    """The sources of a player's context.

    Args:
        graph: The map. Defaults to an empty one.
        recall: Returns the current memories of a location.
        memory: Counts visits and finds outdated memories; None without memory.
        game: Knows its vocabulary and the things in sight; None if unknown.
        goals: The objectives; None without objectives.
        knowledge: Returns the lines of the knowledge base that are relevant to an observation.
        best_line: Returns the rest of the best line; None if the player is not on it.
    """

    def __init__(
        self,
        *,
        graph: MapGraph | None = None,
        recall: Recall = lambda location_id: (),
        memory: SimpleMemoryManager | None = None,
        game: Game | None = None,
        goals: Goals | None = None,
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
        best_line: Callable[[Observation], LineAhead | None] = lambda now: None,
    ) -> None:
        self._graph = MapGraph() if graph is None else graph
        self._recall = recall
        self._memory = memory
        self._game = game
        self._vocabulary = tuple(sorted(game.language.words)) if game and game.language else ()
        self._goals = goals
        self._knowledge = knowledge
        self._best_line = best_line

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
        graph, here, latest = self._graph, now.location_id, state.latest
        description, age = state.room_description(here, within_turns=config.room_description_age_window)
        destination, exits = self._destination(here, recent), exits_of(graph, here, tries_at(state.experience, here))
        carried = {item.num for item in now.carried or now.inventory or ()}
        no_route = destination if isinstance(destination, NoRoute) else None
        route = route_to(graph, here, destination) if isinstance(destination, int) else None
        return PlayerContext(
            observation=now,
            opening=state.arrival.response if state.arrival else "",
            response=latest.response if latest else "",
            memories=memories,
            things=self._game.things() if self._game else (),
            visits=self._memory.get_visits(here) if self._memory and here is not None else None,
            recent=tuple(recent),
            summary=state.history_summary,
            summarized_to=state.history_summarized_to,
            room_description=description,
            room_description_age=age,
            max_score=state.max_score,
            turn=state.turn_count + 1,
            max_turns=config.max_turns_per_episode,
            episode=state.episode_id,
            exits=exits,
            dangers=self._dangers(here, route),
            known_points=known_points(graph, here, self._recall, state.scored),
            route=route,
            no_route=no_route,
            untried_elsewhere=untried_elsewhere(graph, here, carried),
            best_line=self._best_line(now),
            failed_here=state.failed_here(now),
            deadly_here=deadly_actions(graph, here, exits),
            destructive_verbs=tuple(state.destructive_verbs),
            changed=affected_objects(latest.transition) if latest else (),
            changed_by_themselves=changed_by_themselves(latest.transition) if latest else (),
            vocabulary=self._vocabulary,
            objectives=tuple(self._goals.lines()) if self._goals else (),
            knowledge=tuple(self._knowledge(now)),
            notices=tuple(notices),
        )

    def _destination(self, here: int | None, recent: Sequence[RecentTurn]) -> int | NoRoute | None:
        """Return the destination in the player's reasons, or else the place of the first objective."""
        reasons, places = [turn.reasoning for turn in recent], [turn.location_name for turn in recent]
        destination = stated_destination(self._graph, here, reasons, places)
        if destination is None and self._goals:
            return self._goals.destination()
        return destination

    def _dangers(self, here: int | None, route: Route | None) -> tuple[Danger, ...]:
        """Return the dangers ahead, each with the current state that contradicts it."""
        dangers, memory = dangers_ahead(self._graph, here, self._recall, route), self._memory
        if memory is None:
            return tuple(dangers)
        return tuple(
            replace(danger, now=memory.contradicting_state(danger.location_id, danger.memory)) for danger in dangers
        )

"""Puts together what a player is told before a turn."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from game_interface.models import Item, Observation
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History, TurnRecord
from session.outcome import touched
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import PlayerContext
from zorkgpt.world.graph import MapGraph

_RECENT_TURNS = 5
_DANGER_TOKENS = 200
"""Of all dangers one exit away together, beside the 300 of the place's own memories."""

Recall = Callable[[int], Iterable[Memory]]
"""Location → what is remembered of it and still believed."""


class ContextManager:
    """The player's view of the game, from the state, the history, the map and the memories of the place."""

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        history: History,
        graph: MapGraph,
        vocabulary: tuple[str, ...] = (),
        recall: Recall = lambda location_id: (),
        objectives: Callable[[], Sequence[str]] = tuple,
        knowledge: Callable[[Observation], Sequence[str]] = lambda now: (),
        notices: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._log = logger
        self._config = config
        self._state = game_state
        self._history = history
        self._graph = graph
        self._vocabulary = vocabulary
        self._recall = recall
        self._objectives = objectives
        self._knowledge = knowledge
        self._notices = notices
        self._last_response = ""
        self._last_changed: tuple[Item, ...] = ()

    def reset_episode(self) -> None:
        self._last_response = ""
        self._last_changed = ()

    reset = reset_episode

    def process_periodic_update(self) -> None:
        """All of it is of every turn."""

    def open_with(self, text: str) -> None:
        """The text that the game opens with."""
        self._last_response = text

    def process_turn(self, record: TurnRecord) -> None:
        step = record.transition
        self._last_response = step.response
        self._last_changed = touched(step)

    def player_context(self, now: Observation, memories: str, *, refused: str | None = None) -> PlayerContext:
        """What is known before the turn that is about to be played.

        Args:
            now: where the game stands.
            memories: of this place, as they are shown.
            refused: why the action proposed last for this turn was not accepted.
        """
        state = self._state
        here = now.location.num if now.location else None
        age = self._room_description_age(here)
        return PlayerContext(
            observation=now,
            response=self._last_response,
            memories=memories,
            recent=tuple(_recent(record) for record in self._history.recent(_RECENT_TURNS)),
            room_description=None if age is None else state.last_room_description,
            room_description_age=age,
            max_score=state.max_score,
            turn=state.turn_count + 1,
            max_turns=self._config.max_turns_per_episode,
            episode=state.episode_id,
            exits=self._exits(here),
            dangers_near=tuple(self._dangers_near(here)),
            failed_here=tuple(state.failed_actions.get(here, ())) if here is not None else (),
            changed=self._last_changed,
            refused=refused,
            vocabulary=self._vocabulary,
            objectives=tuple(self._objectives()),
            knowledge=tuple(self._knowledge(now)),
            notices=tuple(self._notices()),
        )

    def _room_description_age(self, here: int | None) -> int | None:
        """None: there is no description of this room that is fresh enough to be shown."""
        age = self._state.room_description_age(here)
        return age if age is not None and age <= self._config.room_description_age_window else None

    def _exits(self, here: int | None) -> tuple[tuple[str, str | None], ...]:
        if here is None:
            return ()
        rooms = self._graph.rooms
        return tuple((way, rooms[to].name if to in rooms else None) for way, to in self._graph.exits(here).items())

    def _dangers_near(self, here: int | None) -> Iterator[tuple[str, str]]:
        """As many as fit, none of them cut."""
        left = _DANGER_TOKENS
        for way, room in self._graph.exits(here).items() if here is not None else ():
            for memory in self._recall(room):
                danger = f"{memory.title}: {memory.text}"
                if memory.category == "DANGER" and (cost := estimated_tokens(f"- {way}: {danger}\n")) <= left:
                    left -= cost
                    yield way, danger

    def get_status(self) -> dict[str, Any]:
        return {"type": "context", "state": "ready", "metrics": {"turns": len(self._history)}}


def _recent(record: TurnRecord) -> RecentTurn:
    step = record.transition
    place = step.before.location.name if step.before.location else ""
    return RecentTurn(record.turn, place, step.action, step.response, record.reasoning)

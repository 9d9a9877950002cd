"""Begins episodes at a promising point of an earlier one: chooses the way back and checks that it still leads there."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from managers.base import BaseManager
from managers.episode_log import EpisodeLog
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.explore.archive import ArchiveReader, most_promising
from zorkgpt.explore.replay import FindWay, Journey, ReplayRoute
from zorkgpt.explore.trail import observed_state
from zorkgpt.runlog.events import Returned

_WAY = TypeAdapter(ReplayRoute)
_VERBATIM_SHARE = 0.25
"""A way that takes at most this part of an episode is taken word for word."""


class ReturnManager(BaseManager):
    """Provides the commands that lead back, as long as they lead where they did before.

    Args:
        story_sha256: The story that is played; only episodes of it, with the same seed, can be returned to.
        untried: Returns the number of untried exits of a room.
        find_way: Leads back to a way that is lost, by the map.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        story_sha256: str,
        seed: int,
        episode_log: EpisodeLog,
        untried: Callable[[int], int] = lambda room: 0,
        find_way: FindWay = lambda here, there: None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._max_turns = config.max_turns_per_episode
        self._episode_log = episode_log
        self._untried = untried
        self._find_way = find_way
        workdir, verbatim = Path(config.zork_game_workdir), int(_VERBATIM_SHARE * self._max_turns)
        self._reader = ArchiveReader(workdir, config.episode_log_file, story_sha256, seed, verbatim)
        self.journey: Journey | None = None
        self._dumped_way: tuple[ReplayRoute, dict[str, Any]] | None = None
        """A way and its plain values, made once: a checkpoint asks for them after every turn."""
        self._counts = {"returns": 0, "arrived": 0, "diverged": 0, "repaired": 0, "turns_replayed": 0}

    def reset(self) -> None:
        """Choose what this episode returns to, from all episodes that were played before it."""
        self.journey = None
        archive = self._reader.refresh(before=self._state.episode_id)
        if not archive.episodes and self._reader.from_other_worlds:
            self._log.warning(
                "no return: every earlier episode was of another story or seed",
                extra={"episodes": self._reader.from_other_worlds},
            )
        if cell := most_promising(archive, self._untried, self._max_turns):
            way = archive.route_to(cell)
            self.journey = Journey(way, self._find_way)
            self._counts["returns"] += 1
            extra = {"place": way.place_name, "score": way.goal.score, "commands": len(way.steps)}
            self._log.info("returning", extra=extra | {"from_episode": way.episode, "from_turn": way.turn})

    def resume(self) -> None:
        """Leave the journey to `restore`: it was chosen when the episode began."""
        self.journey = None
        self._reader.refresh(before=self._state.episode_id)

    def snapshot(self) -> dict[str, Any]:
        """Return the journey and how far it has got."""
        journey = self.journey
        return {
            "way": self._dump(journey.route) if journey else None,
            "done": journey.done if journey else 0,
            "difference": journey.difference if journey else "",
            "detour": list(journey.detour) if journey else [],
            "repairs": journey.repairs if journey else 0,
            "score": journey.score if journey else None,
            "counts": dict(self._counts),
        }

    def _dump(self, way: ReplayRoute) -> dict[str, Any]:
        if self._dumped_way is None or self._dumped_way[0] is not way:
            self._dumped_way = way, _WAY.dump_python(way)
        return self._dumped_way[1]

    def restore(self, state: dict[str, Any]) -> None:
        """Go on with the journey that `snapshot` returned."""
        way = _WAY.validate_python(state["way"]) if state["way"] else None
        mended = list(state["detour"]), state["repairs"], state["score"]
        self.journey = Journey(way, self._find_way, state["done"], state["difference"], *mended) if way else None
        self._counts |= state["counts"]

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the step of the way, and log how the journey ended when it is over."""
        journey = self.journey
        if journey is None or journey.next is None:
            return
        step = record.transition
        place = step.after.location_id
        now = observed_state(place, (item.name for item in step.after.inventory or ()), step.after.score)
        journey.follow(step.action, now)
        self._counts["turns_replayed"] += 1
        if journey.next is None:
            self._finish(journey, record)

    def _finish(self, journey: Journey, record: TurnRecord) -> None:
        way = journey.route
        self._counts["arrived" if journey.arrived else "diverged"] += 1
        self._counts["repaired"] += journey.arrived and journey.repairs > 0
        if journey.difference:
            self._log.warning("the way back led elsewhere", extra={"turn": record.turn, "reason": journey.difference})
        event = Returned(
            episode=record.episode,
            turn=record.turn,
            from_episode=way.episode,
            from_turn=way.turn,
            commands=len(way.steps),
            shortened=way.shortened,
            arrived=journey.arrived,
            difference=journey.difference,
            at_turn=journey.turn_of_difference,
            place=way.goal.place,
            place_name=way.place_name,
            score=way.goal.score,
            inventory=list(way.goal.inventory),
            repairs=journey.repairs,
        )
        self._episode_log.write(event)

    def get_status(self) -> dict[str, Any]:
        """Return how many journeys there were and how they ended."""
        archive = self._reader.archive
        metrics = self._counts | {"cells": len(archive.cells), "episodes": archive.episodes}
        returning = self.journey is not None and self.journey.next is not None
        return {"type": "return", "state": "returning" if returning else "exploring", "metrics": metrics}

"""Replays commands: what a search has found, and the best line on the player's request."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from game_interface.game import Game
from game_interface.models import Observation
from managers.base import BaseManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from zorkgpt.delegating_players import FOLLOWED
from zorkgpt.errors import ZorkGPTError
from zorkgpt.explore.archive import Archive, ArchiveReader, TrailReader
from zorkgpt.explore.best_line import BestLine, LineAhead, improved_line, load_line, save_line, state_digest
from zorkgpt.explore.replay import Journey, ReplayRoute
from zorkgpt.explore.trail import observed_state
from zorkgpt.run_folder import BEST_LINE_FILE
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

_WAY = TypeAdapter(ReplayRoute)
RouteSearch = Callable[[ReplayRoute | None], ReplayRoute | None]
"""Searches on from the best commands that are known, and returns the best so far; None if nothing was found."""


class ReplayManager(BaseManager):
    """Provides the commands of earlier episodes, as long as they lead where they did before.

    Args:
        game: The game; only episodes of its story, with the same seed, can be replayed. Between episodes the best line
            is verified in it.
        graph: Leads back to a way that is lost, and says what is untried and what is deadly.
        keeps_line: Whether the best line is kept and offered.
        search: Searches for commands to begin an episode with; None if it begins without.
    """

    def __init__(
        self,
        logger: logging.Logger,
        config: GameConfiguration,
        game_state: GameState,
        *,
        game: Game,
        seed: int,
        graph: MapGraph,
        keeps_line: bool,
        search: RouteSearch | None = None,
    ) -> None:
        super().__init__(logger, config, game_state)
        self._game, self._seed, self._graph = game, seed, graph
        workdir = Path(config.zork_game_workdir)
        trails = TrailReader(workdir, config.episode_log_file, game.story.sha256)
        self._reader = ArchiveReader(trails, seed)
        self._line_file = workdir / BEST_LINE_FILE if keeps_line else None
        self._search = search
        self._line: BestLine | None = None
        self._reached = 0
        """How many steps of the best line this episode has taken."""
        self.journey: Journey | None = None
        """What a search has found for the beginning of this episode; None if it began without it."""
        self.followed: Journey | None = None
        """The part of the best line that the player asked for last; None if it asked for none in this episode."""
        self._dumped: dict[str, tuple[Journey, dict[str, Any]]] = {}
        """The ways and their plain values, made once: a checkpoint asks for them after every turn."""
        self._counts = {"searches": 0, "arrived": 0, "diverged": 0, "turns_replayed": 0, "followed": 0}

    def reset(self) -> None:
        """Verify the best line, and search for what this episode begins with."""
        self._begin()
        archive = self._reader.refresh(before=self._state.episode_id)
        if self._line_file is not None:
            self._improve_line(archive, self._line_file)
        if self._search is not None:
            self._play_found(self._search)

    def _play_found(self, search: RouteSearch) -> None:
        try:
            route = search(self._line.route if self._line else None)
        except ZorkGPTError as error:
            self._log.warning("the search failed", extra={"reason": str(error)})
            return
        if route is not None:
            self.journey = Journey(route)
            self._counts["searches"] += 1

    def _begin(self) -> None:
        self.journey = self.followed = None
        self._reached = 0
        self._counts = dict.fromkeys(self._counts, 0)
        if self._line is None and self._line_file is not None:
            self._line = load_line(self._line_file, self._game.story.sha256, self._seed)

    def _improve_line(self, archive: Archive, path: Path) -> None:
        try:
            line = improved_line(archive, self._line, self._game, self._seed, self._graph.route)
        except ZorkGPTError as error:
            self._log.warning("the best line could not be verified", extra={"reason": str(error)})
            return
        if line is not None and line is not self._line:
            save_line(path, line)
        self._line = line

    def resume(self) -> None:
        """Leave the journeys to `restore`: they were chosen before the interruption."""
        self._begin()
        self._reader.refresh(before=self._state.episode_id)

    def ahead(self, now: Observation) -> LineAhead | None:
        """Return the rest of the best line; None if there is none, or this state is not on it."""
        line, at = self._line, self._position(now)
        return line.ahead(at, self._safe_end(line, at)) if line and at is not None else None

    def follow(self, now: Observation, most: int) -> Journey | None:
        """Begin to follow the best line for at most so many steps; None if this state is not on it."""
        line, at = self._line, self._position(now)
        steps = line.route.steps[at : self._safe_end(line, at)][:most] if line and at is not None else ()
        if line is None or at is None or not steps:
            return None
        way, self._reached = line.route, at
        end = steps[-1]
        part = replace(way, goal=end.standing, place_name=end.place_name, steps=steps, turns=way.turns[: len(steps)])
        self.followed = Journey(part)
        self._counts["followed"] += 1
        return self.followed

    def _position(self, now: Observation) -> int | None:
        """Return how many steps of the best line lead to this state; None if it is not on the line."""
        return self._line.position(now, self._reached) if self._line else None

    def _safe_end(self, line: BestLine, at: int) -> int:
        """Return the position after `at` where the line ends or the player is known to have died of the next step.

        As long as the episode has played nothing but the line, chance decides as it did then, so every step is safe.
        """
        if self._state.turn_count == at:
            return len(line.route.steps)
        places = [line.start.place, *(step.standing.place for step in line.route.steps)]
        steps = range(at, len(line.route.steps))
        deadly = self._graph.deadly
        return next((k for k in steps if (places[k], exit_name(line.route.steps[k].action)) in deadly), len(steps) + at)

    def snapshot(self) -> dict[str, Any]:
        """Return the journeys and how far they have got."""
        return {
            "journey": self._dump("journey", self.journey),
            "followed": self._dump("followed", self.followed),
            "reached": self._reached,
            "counts": dict(self._counts),
        }

    def _dump(self, name: str, journey: Journey | None) -> dict[str, Any] | None:
        if journey is None:
            return None
        dumped = self._dumped.get(name)
        if dumped is None or dumped[0] is not journey:
            dumped = self._dumped[name] = journey, _WAY.dump_python(journey.route)
        return {
            "way": dumped[1],
            "done": journey.done,
            "difference": journey.difference,
            "detour": list(journey.detour),
            "repairs": journey.repairs,
            "score": journey.score,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue the journeys that `snapshot` returned."""
        self.journey = self._load(state["journey"])
        self.followed = self._load(state["followed"])
        self._reached = state["reached"]
        self._counts |= state["counts"]

    def _load(self, state: dict[str, Any] | None) -> Journey | None:
        if state is None:
            return None
        way = _WAY.validate_python(state["way"])
        mended = list(state["detour"]), state["repairs"], state["score"]
        return Journey(way, self._graph.route, state["done"], state["difference"], *mended)

    def process_turn(self, record: TurnRecord) -> None:
        """Compare the turn with the step that was planned, and log if it led elsewhere."""
        now = record.transition.after
        if record.player == FOLLOWED and (self.followed is None or self.followed.next is None):
            # The turn is played again after an interruption, so the player was not asked.
            self.follow(record.transition.before, len(self._line.digests) if self._line else 0)
        if self.followed is not None and self.followed.next is not None:
            self._compare_with_line(self.followed, record)
        elif (at := self._position(now)) is not None:
            self._reached = at
        journey = self.journey
        if journey is None or journey.next is None:
            return
        journey.follow(record.transition.action, observed_state(now))
        self._counts["turns_replayed"] += 1
        if journey.next is None:
            self._finish(journey, record)

    def _compare_with_line(self, followed: Journey, record: TurnRecord) -> None:
        """Go on with the next step if the turn led where the line led then."""
        assert self._line is not None
        step, now = followed.route.steps[followed.done], record.transition.after
        followed.done += 1
        if record.transition.action != step.action:
            followed.difference = f"{record.transition.action!r} was played instead of {step.action!r}"
        elif state_digest(now) != self._line.digests[self._reached + 1]:
            followed.difference = f"{step.action!r} did not lead to the state that it led to then"
        else:
            self._reached += 1

    def _finish(self, journey: Journey, record: TurnRecord) -> None:
        self._counts["arrived" if journey.arrived else "diverged"] += 1
        if journey.difference:
            extra = {"turn": record.turn, "reason": journey.difference}
            self._log.warning("the commands that were found led elsewhere", extra=extra)

    def get_status(self) -> dict[str, Any]:
        """Return how many journeys there were and how they ended, and the best line."""
        archive, line = self._reader.archive, self._line
        metrics = self._counts | {"cells": len(archive.cells), "episodes": archive.episodes}
        metrics |= {"best_line_score": line.score if line else 0, "best_line": len(line.route.steps) if line else 0}
        journeys = (self.journey, self.followed)
        replaying = any(journey is not None and journey.next is not None for journey in journeys)
        return {"type": "replay", "state": "replaying" if replaying else "exploring", "metrics": metrics}

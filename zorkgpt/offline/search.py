"""Search for states that are new or score, by letting the rules play on from saved states. This looks into the future.

A burst returns to a state of the archive and lets the rules explore from there, as Go-Explore does (Ecoffet et al.
2021). They know what they knew in that state, and what other bursts have tried since.
"""

import json
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from game_interface.game import Game
from zorkgpt.errors import StateError
from zorkgpt.explore.best_line import state_digest
from zorkgpt.explore.replay import ReplayRoute
from zorkgpt.explore.trail import TrailStep, observed_state
from zorkgpt.offline.search_archive import SearchArchive, SearchCell, load_archive, save_archive
from zorkgpt.offline.search_burst import Burst, BurstPlayer, BurstStart
from zorkgpt.offline.search_processes import BurstProcess, OpenGame
from zorkgpt.world.graph import MapGraph


class StateSearch:
    """Adds to an archive what the rules reach from its cells.

    Args:
        game: Becomes the game of the search.
        graph: The map, which the search extends.
        helpers: Processes that play bursts too.
    """

    def __init__(
        self, archive: SearchArchive, game: Game, graph: MapGraph, helpers: Sequence[BurstProcess] = ()
    ) -> None:
        self._archive, self._game, self._helpers = archive, game, helpers
        response = game.reset()
        if not archive.cells:
            now, way = game.observe(), (None, ())
            state = _packed(game.save_state())
            archive.add(SearchCell(way, way, observed_state(now), state_digest(now), state, response=response))
        self._player = BurstPlayer(game, graph, archive, archive.digests)

    def follow(self, commands: Sequence[str], limit: int) -> None:
        """Add the states that these commands lead to, unless more than half of `limit` would have to be played."""
        number, known = self._archive.longest_start(commands)
        if len(commands) - known <= limit // 2:
            self._play([replace(self._start(number, limit), commands=tuple(commands[known:]))])

    def run(self, steps: int) -> None:
        """Let the rules play on from promising cells until so many commands were played.

        Raises:
            ZorkGPTError: If the game can't be played.
        """
        archive, end = self._archive, self._archive.steps + steps
        while (left := end - archive.steps) > 0:
            numbers = archive.choose(min(left, 1 + len(self._helpers)))
            limit = left // len(numbers)
            self._play([self._start(number, limit, position) for position, number in enumerate(numbers)])

    def best_route(self, max_turns: int, end: int) -> ReplayRoute | None:
        """Return the commands to the highest score; of several the shortest, without detours if that leads there too.

        None if nothing but the opening is within so many turns.

        Args:
            end: No more commands are tried when the archive has counted so many.
        """
        archive = self._archive
        short = {number: archive.steps_to(number, short=True) for number in range(1, len(archive.cells))}
        for number in sorted(
            short, key=lambda number: (-(archive.cells[number].standing.score or 0), len(short[number]))
        ):
            exact = archive.steps_to(number, short=False)
            may_try = len(short[number]) < len(exact) and archive.steps + len(short[number]) <= end
            if may_try and len(short[number]) <= max_turns and self._leads_to(short[number], number):
                return _route(short[number], shortened=True)
            if len(exact) <= max_turns:
                return _route(exact, shortened=False)
        return None

    def _leads_to(self, steps: tuple[TrailStep, ...], number: int) -> bool:
        """Return whether these commands lead from the opening to the score of a cell; if so, add that state."""
        self._game.restore_state(self._state_of(0))
        for step in steps:
            played = self._game.act(step.action)
            self._archive.steps += 1
            if played.died or played.finished:
                return False
        now = played.after
        if now.score != steps[-1].standing.score or now.question is not None:
            return False
        notes = json.dumps(self._notes_at(number)).encode()
        way, state = (0, steps), self._game.save_state()
        self._add(SearchCell(way, way, observed_state(now), state_digest(now), state, notes, played.response))
        return True

    def _start(self, number: int, limit: int, position: int = 0) -> BurstStart:
        """Return the start of a burst from a cell.

        Args:
            position: The number of bursts that begin at the same time, before this one.
        """
        archive, cell = self._archive, self._archive.cells[number]
        return BurstStart(
            len(archive.trails) + position,
            number,
            self._state_of(number),
            cell.response,
            self._notes_at(number),
            archive.scoring_steps(),
            archive.taken(number),
            limit,
        )

    def _play(self, starts: Sequence[BurstStart]) -> None:
        """Play bursts at the same time, and add their results in the order of the starts."""
        helpers = self._helpers[: len(starts) - 1]
        for helper, start in zip(helpers, starts[1:], strict=True):
            helper.begin(start)
        bursts = [self._player.play(starts[0]), *(helper.result() for helper in helpers)]
        for start, burst in zip(starts, bursts, strict=True):
            self._add_burst(start.cell, burst)
        for burst in bursts[1:]:
            self._player.learn(burst)
        for position, helper in enumerate(self._helpers, 1):
            helper.learn([burst for number, burst in enumerate(bursts) if number != position])

    def _add_burst(self, number: int, burst: Burst) -> None:
        archive = self._archive
        numbers = [number, *range(len(archive.cells), len(archive.cells) + len(burst.cells))]
        for cell in burst.cells:
            way, short = ((numbers[before or 0], steps) for before, steps in (cell.way, cell.short))
            self._add(replace(cell, way=way, short=short))
        archive.trails.append(burst.trail)
        archive.steps += len(burst.transitions)

    def _add(self, cell: SearchCell) -> None:
        """Add a cell whose saved state and notes are not compressed yet."""
        state = cell.state and _packed(cell.state, self._state_of(0))
        self._archive.add(replace(cell, state=state, notes=_packed(cell.notes)))

    def _state_of(self, number: int) -> bytes:
        """Return the saved state of a cell."""
        state = self._archive.cells[number].state
        return _unpacked(state, number, self._state_of(0) if number else b"")

    def _notes_at(self, number: int) -> dict[str, Any]:
        """Return the notes that the rules had when they reached a cell; empty for the opening."""
        changed = [json.loads(_unpacked(notes, number)) for notes in self._archive.notes_of(number)]
        places = {room: place for notes in changed for room, place in notes["places"].items()}
        return changed[-1] | {"places": places} if changed else {}


def _packed(data: bytes, like: bytes = b"") -> bytes:
    """Return the data compressed; `like` is data that is mostly the same."""
    compressor = zlib.compressobj(zdict=like)
    return compressor.compress(data) + compressor.flush()


def _unpacked(data: bytes, number: int, like: bytes = b"") -> bytes:
    try:
        return zlib.decompressobj(zdict=like).decompress(data)
    except zlib.error as error:
        raise StateError(f"State {number} of the search is damaged: {error}. Delete the search's file.") from error


def _route(steps: tuple[TrailStep, ...], *, shortened: bool) -> ReplayRoute:
    turns = tuple(range(1, len(steps) + 1))
    return ReplayRoute(steps[-1].standing, steps[-1].place_name, 0, len(steps), steps, turns, shortened=shortened)


def searched_route(
    path: Path,
    known: ReplayRoute | None = None,
    *,
    open_game: OpenGame,
    seed: int,
    steps: int,
    processes: int,
    max_turns: int,
    graph: MapGraph,
) -> ReplayRoute | None:
    """Search on from the archive in a file, and return the commands to the highest score so far.

    Args:
        known: Commands found elsewhere. If they score more than the archive, the search begins with them.
        steps: Maximum commands to try.
        processes: Number of bursts played at the same time. The result depends on it, but not on their speed.
        max_turns: Maximum commands to return.
        graph: The map, which the search extends.

    Raises:
        ZorkGPTError: If the game can't be played.
    """
    with ExitStack() as stack:
        game = stack.enter_context(closing(open_game()))
        archive = load_archive(path, game.story.sha256, seed)
        helpers = [stack.enter_context(closing(BurstProcess(open_game, archive, graph))) for _ in range(processes - 1)]
        search, end = StateSearch(archive, game, graph, helpers), archive.steps + steps
        if known is not None and (known.goal.score or 0) > archive.highest:
            search.follow([step.action for step in known.steps], steps)
        search.run(end - archive.steps - min(max_turns, steps // 4))
        route = search.best_route(max_turns, end)
    save_archive(path, archive)
    return route

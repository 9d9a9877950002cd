"""Search for states that are new or score, by letting the rules play on from saved states. This looks into the future.

A burst returns to a state of the archive and lets the rules explore from there, as Go-Explore does (Ecoffet et al.
2021). They know what they knew in that state, and what other bursts have tried since.
"""

import json
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from game_interface.game import Game
from game_interface.models import Item, Transition
from session.game_state import GameState
from session.history import GameText, TurnRecord
from session.outcome import affected_objects, effective
from zorkgpt.errors import StateError
from zorkgpt.explore.best_line import state_digest
from zorkgpt.explore.replay import ReplayRoute
from zorkgpt.explore.trail import TrailStep, observed_state, trail_of
from zorkgpt.offline.experience import GatheredTrails
from zorkgpt.offline.explorer import OfflineExplorer
from zorkgpt.offline.extractor import RuleExtractor
from zorkgpt.offline.search_archive import SearchArchive, SearchCell, Way, load_archive, save_archive
from zorkgpt.player import PlayerContext
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.learning import MapLearner
from zorkgpt.world.progress import RecurrenceDetector

_PATIENCE = 40
"""A burst ends after so many commands in a row without a new state."""
_WINDOW = 1000
"""Commands within which an equal state of the world is noticed."""

OpenGame = Callable[[], Game]
"""Opens the game that is searched."""


class StateSearch:
    """Adds to an archive what the rules reach from its cells.

    Args:
        game: Becomes the game of the search.
        graph: The map, which the search extends.
    """

    def __init__(self, archive: SearchArchive, game: Game, graph: MapGraph) -> None:
        self._archive, self._game = archive, game
        self._graph, self._learner = graph, MapLearner(graph)
        self._state = GameState(turn_count=archive.steps)
        self._rules = OfflineExplorer(graph)
        self._gathered = GatheredTrails(game.language)
        for trail in archive.trails:
            self._gathered.add(trail, is_whole=False)
        self._vocabulary = tuple(sorted(game.language.words)) if game.language else ()
        opening = game.reset()
        if not archive.cells:
            self._add((None, ()), (None, ()), opening, {})

    def follow(self, commands: Sequence[str], most: int) -> None:
        """Add the states that these commands lead to, unless more than half of `most` would have to be played."""
        number, known = self._archive.longest_start(commands)
        if len(commands) - known <= most // 2:
            self._burst(number, self._archive.steps + most, commands[known:])

    def run(self, steps: int) -> None:
        """Let the rules play on from promising cells until there were so many commands.

        Raises:
            ZorkGPTError: If the game can't be played.
        """
        end = self._archive.steps + steps
        while self._archive.steps < end:
            self._burst(self._archive.most_promising(), end)

    def best_route(self, max_turns: int, end: int) -> ReplayRoute | None:
        """Return the commands to the highest score; of several the shortest, without detours if that leads there too.

        None if nothing but the opening is within so many turns.

        Args:
            end: The number of the last command that may be played for it.
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
        if played.after.score != steps[-1].standing.score or played.after.question is not None:
            return False
        self._add((0, steps), (0, steps), played.response, self._notes_at(number))
        return True

    def _burst(self, number: int, end: int, commands: Sequence[str] | None = None) -> None:
        """Let the rules go on from a cell while that leads to new states, or play these commands."""
        archive, start = self._archive, self._archive.cells[number]
        start.chosen += 1
        self._game.restore_state(self._state_of(number))
        response, changed = start.response, tuple[Item, ...]()
        self._rules = self._rules_at(number)
        self._arrive(response)
        given = iter(commands or ())
        played: list[TurnRecord] = []
        way: Way = (number, ())
        shorts, recurrences = [way], RecurrenceDetector(_WINDOW, new_places_count=False)
        idle = 0
        while archive.steps < end and (idle < _PATIENCE or commands is not None):
            context = self._context(response, changed)
            if commands is None:
                action = self._rules.get_action_with_reasoning(context).action
            elif action := next(given, ""):
                self._rules.look_on(context, action)
            else:
                break
            step, idle = self._game.act(action), idle + 1
            archive.steps += 1
            played.append(self._learned(step))
            if step.died or step.finished or step.fault or step.refused:
                break
            now, response, changed = step.after, step.response, affected_objects(step)
            done = TrailStep(action, observed_state(now), now.location_name, effective(step))
            way = way[0], (*way[1], done)
            equal = recurrences.equal_turns(len(played), step)
            shorts.append(shorts[equal[0]] if equal else (shorts[-1][0], (*shorts[-1][1], done)))
            if now.question is None and state_digest(now) not in archive.digests:
                way, idle = (self._add(way, shorts[-1], response, self._rules.changed_notes()), ()), 0
                shorts[-1] = way
        trail = trail_of(played, 0, archive.seed, start.standing.place, start.standing.score or 0)
        archive.trails.append(trail)
        self._gathered.add(trail, is_whole=False)

    def _add(self, way: Way, short: Way, response: str, notes: dict[str, Any]) -> int:
        """Add the present state to the archive, and return the number of its cell.

        Args:
            notes: What has changed in the notes of the rules on the way.
        """
        now, opening = self._game.observe(), self._state_of(0) if self._archive.cells else b""
        state = _packed(self._game.save_state(), opening)
        # This grows with every command, and is known from the trails.
        episode = {name: note for name, note in notes.get("episode", {}).items() if name != "record"}
        packed = _packed(json.dumps(notes | {"episode": episode}).encode())
        return self._archive.add(
            SearchCell(way, short, observed_state(now), state_digest(now), state, packed, response)
        )

    def _state_of(self, number: int) -> bytes:
        """Return the saved state of a cell."""
        state = self._archive.cells[number].state
        return _unpacked(state, number, self._state_of(0) if number else b"")

    def _notes_at(self, number: int) -> dict[str, Any]:
        """Return the notes of the rules of when a cell was reached; empty for the opening."""
        changed = [json.loads(_unpacked(notes, number)) for notes in self._archive.notes_of(number)]
        places = {room: place for notes in changed for room, place in notes["places"].items()}
        return changed[-1] | {"places": places} if changed else {}

    def _rules_at(self, number: int) -> OfflineExplorer:
        """Return the rules with their notes of when a cell was reached, and the experience of all bursts."""
        # A walk has its full cost, as in a first episode: the search can go on from a state at another place instead.
        # There is no plan: what has scored before a state was saved does not score again.
        experience = replace(self._gathered.experience(), episodes=0)
        seed = self._archive.seed + len(self._archive.trails)
        rules = OfflineExplorer(self._graph, senses=self._game, experience=lambda: experience, seed=seed)
        if notes := self._notes_at(number):
            rules.branch(notes)
        return rules

    def _context(self, response: str, changed: tuple[Item, ...]) -> PlayerContext:
        now, state = self._game.observe(), self._state
        is_described = state.room_description_age(now.location_id) is not None
        return PlayerContext(
            now,
            response,
            room_description=state.last_room_description if is_described else None,
            turn=state.turn_count + 1,
            failed_here=state.failed_here(now),
            changed=changed,
            vocabulary=self._vocabulary,
        )

    def _arrive(self, response: str) -> None:
        """Learn from the place and the last response of a state that was restored."""
        now = self._game.observe()
        self._state.observe(now)
        if now.location is not None:
            read = RuleExtractor().extract(GameText(response, now.location, dark=bool(now.dark)))
            self._learner.arrive(now.location.num, now.location.name, read.exits)
            if read.is_room_description:
                self._state.describe_room(response, now.location.num)

    def _learned(self, step: Transition) -> TurnRecord:
        """Learn from a turn and return it."""
        state, now = self._state, step.after
        state.turn_count += 1
        described = state.room_descriptions.get(now.location_id or 0, ("", 0))[0]
        text = GameText(step.response, now.location, step.action, dark=bool(now.dark), described=described)
        read = RuleExtractor().extract(text)
        self._learner.learn(step, read.exits)
        self._learner.record_success(step)
        record = TurnRecord(state.episode_id, state.turn_count, step, "", "search", "", extraction=read)
        state.record(record)
        return record


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
    open_game: OpenGame,
    seed: int,
    steps: int,
    max_turns: int,
    graph: MapGraph,
    known: ReplayRoute | None = None,
) -> ReplayRoute | None:
    """Search on from the archive in a file, and return the commands to the highest score so far.

    Args:
        graph: The map, which the search extends.
        known: Commands that others have found; if they score more than the archive, the search begins with them.

    Raises:
        ZorkGPTError: If the game can't be played.
    """
    with closing(open_game()) as game:
        archive = load_archive(path, game.story.sha256, seed)
        search, end = StateSearch(archive, game, graph), archive.steps + steps
        if known is not None and (known.goal.score or 0) > archive.highest:
            search.follow([step.action for step in known.steps], steps)
        search.run(end - archive.steps - min(max_turns, steps // 4))
        route = search.best_route(max_turns, end)
    save_archive(path, archive)
    return route

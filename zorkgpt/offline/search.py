"""Search for states that are new or score, by trying commands from saved states. This looks into the future.

A round chooses a cell of the archive, tries its most promising commands, each from the saved state, and keeps the new
states. The idea is that of Go-Explore (Ecoffet et al. 2021): first return to a state, then explore from there.
"""

import random
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from game_interface.core.zmachine import View
from game_interface.game import Game
from game_interface.models import Observation, Transition, spelled_direction
from zorkgpt.action_check import check_action
from zorkgpt.explore.replay import ReplayRoute
from zorkgpt.explore.trail import TrailStep, observed_state
from zorkgpt.offline.candidates import Nouns
from zorkgpt.offline.command_record import chance
from zorkgpt.offline.grammar_tries import GrammarTry, grammar_tries
from zorkgpt.offline.search_archive import (
    SearchArchive,
    SearchCell,
    WorldChanges,
    load_archive,
    merged,
    progress_of,
    save_archive,
    variable,
)
from zorkgpt.world.directions import DIRECTIONS, directions_in

_BURST = 12
"""The most commands that are tried from a cell before the next one is chosen."""
_REPEATS = 4
"""How often a command that names a creature is played, since chance may decide."""
_GREEDY = 0.7
"""The share of rounds that prefer cells with progress."""
_ENOUGH_TRIES = 30
"""After so many commands at a place, a cell there counts half."""
_SAMPLE = 30
"""How many cells the other rounds choose from."""
_DIRECTION = "direction"
_USUAL = ("take _", "open _", "examine _", "read _", "push _", "pull _", "turn _", "enter _", "climb _", "turn on _")
_CHANCES = dict.fromkeys(_USUAL, 0.12) | {"take _": 0.4, "open _": 0.3}
_CHANCES_BY_OBJECTS = (0.03, 0.04, 0.02)
"""How often a command leads to something new, before any was tried."""
_NAMED_EXIT, _EXIT = 1.0, 0.5
"""The chance of an exit that was not taken at its place from any state."""
_TOUCHED = 2
"""How much likelier a command does something new with what the last command has changed."""
_WALK = 0.3
"""The worth of a walk to where the player was never with so much done."""
_BOOKKEEPING_VERBS = 3
"""A variable that so many verbs have changed says nothing about the world."""
_FLAG_BYTES = 4
"""More changed bytes are no flag."""
_FIRST_VERBS = 24
"""The verbs that are tried first, to learn which variables any command changes."""


class SearchableGame(Game, Protocol):
    """A game in which commands can be tried from saved states."""

    @property
    def memory(self) -> View:
        """The story's memory as it is now."""

    def try_action(self, action: str) -> Transition:
        """Play a command without looking for the causes of its effects."""


OpenGame = Callable[[], SearchableGame]
"""Opens the game that is searched; it can be pickled."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command has led to."""

    tried: GrammarTry
    played: tuple[Transition, ...]
    """The turns that it took, with repetitions and answers to what the story asked."""
    variables: WorldChanges
    state: bytes | None
    """The state that it led to, compressed; None if the game can't go on, or nothing has changed."""


def play_burst(
    game: SearchableGame, state: bytes, tries: Sequence[GrammarTry], ignored: frozenset[int]
) -> list[Outcome]:
    """Return what each command leads to from a compressed state.

    Args:
        ignored: The addresses of variables that say nothing about the world.
    """
    return [_outcome(game, state, each, ignored) for each in tries]


def _outcome(game: SearchableGame, state: bytes, tried: GrammarTry, ignored: frozenset[int]) -> Outcome:
    game.restore_state(zlib.decompress(state))
    before = game.memory
    creatures = {word for item in game.observe().creatures or () for word in item.name.lower().split()}
    most = _REPEATS if creatures.intersection(word for name in tried.names for word in name.split()) else 1
    played = [game.try_action(tried.command)]
    while not _has_effect(played[-1]) and len(played) < most:
        played.append(game.try_action(tried.command))
    if (question := played[-1].after.question) is not None and not played[-1].finished:
        played += [game.try_action(answer) for answer in question.way_back]
    return _outcome_of(game, tried, tuple(played), before, ignored)


def _outcome_of(
    game: SearchableGame, tried: GrammarTry, played: tuple[Transition, ...], before: View, ignored: frozenset[int]
) -> Outcome:
    """Return what these turns have led to from the memory before."""
    last = played[-1]
    goes_on = last.after.question is None and (not last.finished or last.victory)
    if not goes_on or any(step.died or step.refused or step.fault for step in played):
        return Outcome(tried, played, {}, None)
    variables = {variable(at): values for at, values in _differing_bytes(before, game.memory) if at not in ignored}
    changed = bool(variables) or any(map(_has_effect, played))
    return Outcome(tried, played, variables, zlib.compress(game.save_state(), 1) if changed else None)


def _has_effect(step: Transition) -> bool:
    went = step.before.location != step.after.location or step.after.question is not None
    return bool(went or step.moved or step.changed or step.points or step.died or step.finished or step.refused)


def _differing_bytes(before: View, after: View, size: int = 64) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the address and the values of each byte that differs in the dynamic memory, outside the object table."""
    old, new, table = before.data, after.data, before.machine.table
    for start in range(size, before.machine.header.static, size):
        if old[start : start + size] != new[start : start + size]:
            for at in range(start, start + size):
                if old[at] != new[at] and not table.start <= at < table.stop:
                    yield at, (old[at], new[at])


_game: SearchableGame | None = None
"""The game of a worker process."""


def _open_in_worker(open_game: OpenGame) -> None:
    global _game
    _game = open_game()


def _burst_in_worker(state: bytes, tries: Sequence[GrammarTry], ignored: frozenset[int]) -> list[Outcome]:
    assert _game is not None
    return play_burst(_game, state, tries, ignored)


class StateSearch:
    """Adds to an archive what commands lead to from its cells.

    Args:
        game: Becomes the game of the search.
        pool: Plays the bursts, if there are several processes; each was initialized with a game.
    """

    def __init__(
        self, archive: SearchArchive, game: SearchableGame, pool: Executor | None = None, jobs: int = 1
    ) -> None:
        self._archive, self._game, self._pool, self._jobs = archive, game, pool, jobs
        self._random = random.Random(f"{archive.seed} {archive.steps}")
        words = game.language.words if game.language else frozenset[str]()
        self._nouns = Nouns(words, game.language)
        opening, now = game.reset(), game.observe()
        if not archive.cells:
            archive.add(SearchCell(None, (), observed_state(now), {}), {})
            self._mention(now, opening)
        self._states = {0: zlib.compress(game.save_state(), 1)}
        """Cell → its state, compressed."""

    def follow(self, commands: Sequence[str], most: int) -> None:
        """Add the states that these commands lead to from the opening, as far as the game goes on.

        Args:
            most: No more of them are played.

        Raises:
            ZorkGPTError: If the game can't be played.
        """
        self._learn_bookkeeping(most // 4)
        number, waiting = 0, list[Transition]()
        self._game.restore_state(zlib.decompress(self._states[number]))
        before = self._game.memory
        for command in commands[:most]:
            same = (each for each in self._possible() if each.command == command)
            tried = next(same, GrammarTry(command, command, ()))
            waiting.append(self._game.try_action(command))
            self._archive.steps += 1
            outcome = _outcome_of(self._game, tried, tuple(waiting), before, self._bookkeeping)
            reached = self._learn(number, outcome)
            if waiting[-1].died or waiting[-1].finished:
                break
            if reached is not None:
                number, waiting, before = reached, [], self._game.memory

    def run(self, steps: int) -> None:
        """Play commands until there were so many, or nothing is left to try. The last one may take a few turns more.

        Raises:
            ZorkGPTError: If the game can't be played.
        """
        end = self._archive.steps + steps
        self._learn_bookkeeping(steps // 4)
        while self._archive.steps < end and (bursts := list(self._bursts(end))):
            self._play(bursts)

    def _learn_bookkeeping(self, most: int) -> None:
        """Try different verbs at the opening, unless that was done before."""
        if self._archive.variables:
            return
        language, scene = self._game.language, self._game.scene()
        tries = {each.command.split()[0]: each for each in self._possible()}.values()
        valid = (each for each in tries if check_action(each.command, language, scene).valid)
        first = list(islice(valid, min(_FIRST_VERBS, most)))
        for outcome in play_burst(self._game, self._states[0], first, frozenset()):
            self._archive.steps += len(outcome.played)
            self._note_variables(outcome)

    @property
    def _bookkeeping(self) -> frozenset[int]:
        """The variables that say nothing about the world."""
        verbs = self._archive.variables
        return frozenset(address for address, by in verbs.items() if len(by) >= _BOOKKEEPING_VERBS)

    def _note_variables(self, outcome: Outcome) -> WorldChanges:
        """Note which verb has changed which variables, and return the changes that may say something."""
        told: WorldChanges = {}
        for what, values in outcome.variables.items():
            verbs = self._archive.variables.setdefault(int(what.split()[1]), set())
            verbs.add(outcome.tried.command.split()[0])
            if len(verbs) < _BOOKKEEPING_VERBS:
                told[what] = values
        return told

    # Choosing

    def _bursts(self, end: int) -> Iterator[tuple[int, list[GrammarTry]]]:
        """Yield a cell and commands to try there for each process."""
        chosen: set[int] = set()
        bursts = planned = 0
        while bursts < self._jobs and (left := end - self._archive.steps - planned) > 0:
            if (number := self._most_promising(chosen)) is None:
                return
            chosen.add(number)
            tries = self._best_tries(number, min(_BURST, left)) if self._reach(number) else []
            if tries:
                bursts, planned = bursts + 1, planned + len(tries)
                yield number, tries

    def _most_promising(self, besides: set[int]) -> int | None:
        cells = self._archive.cells
        left = [number for number, cell in enumerate(cells) if cell.promise > 0 and number not in besides]
        if not left:
            return None
        if self._random.random() >= _GREEDY:
            return max(self._random.sample(left, min(len(left), _SAMPLE)), key=lambda each: cells[each].promise)
        most = 1 + max(cells[number].progress for number in left)
        spent, highest = self._archive.spent, 1 + max(cells[number].standing.score or 0 for number in left)

        def worth(number: int) -> float:
            """Return the promise, higher with what was done and scored, and lower where much was tried."""
            cell = cells[number]
            gained = (1 + cell.progress) / most + 3 * max(0, cell.standing.score or 0) / highest
            return cell.promise * (1 + gained) / (1 + spent[cell.standing.place or 0] / _ENOUGH_TRIES)

        return max(left, key=worth)

    def _reach(self, number: int) -> bool:
        """Go to a cell, by its commands if its state is not kept; return whether they still lead there."""
        way = [number]
        while way[-1] not in self._states:
            way.append(self._archive.cells[way[-1]].parent or 0)
        self._game.restore_state(zlib.decompress(self._states[way.pop()]))
        for each in reversed(way):
            cell = self._archive.cells[each]
            for step in cell.steps:
                self._game.try_action(step.action)
            self._archive.steps += len(cell.steps)
            if observed_state(self._game.observe()) != cell.standing:
                cell.promise = 0.0
                return False
            self._states[each] = zlib.compress(self._game.save_state(), 1)
        return True

    def _best_tries(self, number: int, most: int) -> list[GrammarTry]:
        """Return the most promising commands of the cell that the game is in."""
        cell, changes = self._archive.cells[number], self._archive.changes_of(number)
        possible = [
            (self._chance(cell, changes, each), each) for each in self._possible() if each.command not in cell.tried
        ]
        ranked = sorted((each for each in possible if each[0] > 0), key=lambda each: -each[0])
        scene, cell.promise = self._game.scene(), 0.0
        valid = (each for each in ranked if check_action(each[1].command, self._game.language, scene).valid)
        best = list(islice(valid, most + 1))
        tries = [each for chance, each in best[:most] if chance >= best[0][0] / 3]
        cell.promise = best[len(tries)][0] if len(tries) < len(best) else 0.0
        return tries

    def _possible(self) -> Iterator[GrammarTry]:
        """Yield the commands that the story may understand now."""
        now, scene, language, nouns = self._game.observe(), self._game.scene(), self._game.language, self._nouns
        for direction in DIRECTIONS:
            if nouns.known(spelled_direction(direction, nouns.known)):
                yield GrammarTry(direction, _DIRECTION, ())
        in_hand = {item.num for item in now.inventory or ()}
        named = {name: item.num for item in now.at_hand if (name := nouns.name(item))}
        held = [name for name, thing in named.items() if thing in in_hand]
        here = [name for name in named if name not in held]
        covered = set(named.values())
        for name in self._archive.mentioned.get(now.location_id or 0, {}):
            if language is None or scene is None or name in DIRECTIONS:
                continue
            # One name for each thing.
            meant = language.names.get(language.truncate(name), frozenset()) & scene.in_scope
            if meant and not meant & covered:
                covered |= meant
                here.append(name)
        traits = scene.set_attributes if scene else {}
        if language is not None:
            known = {name: traits[at] for name, at in named.items() if at in traits}
            yield from grammar_tries(language, here, held, known)

    def _chance(self, cell: SearchCell, changes: WorldChanges, tried: GrammarTry) -> float:
        """Return about how likely a command leads to something new."""
        archive, place = self._archive, cell.standing.place or 0
        in_vain = 0.2 ** archive.in_vain.get(place, {}).get(tried.command, 0)
        if any(what.startswith("is ") for what in cell.delta):
            # What has just been opened, moved or lit may let the player pass.
            in_vain **= 0.5
        if tried.pattern == _DIRECTION:
            if (to := archive.exits.get(place, {}).get(tried.command)) is None:
                return (_NAMED_EXIT if tried.command in archive.mentioned.get(place, {}) else _EXIT) * in_vain
            if archive.key(replace(cell.standing, place=to), changes) in archive.keys:
                return 0.0
            return _WALK if archive.most_progress[to] < cell.progress else _WALK / 10
        prior = _CHANCES.get(tried.pattern) or _CHANCES_BY_OBJECTS[len(tried.names)]
        last = f" {cell.steps[-1].action} " if cell.steps else ""
        # What has just changed may do something else now.
        is_touched = any(f" {name} " in last for name in tried.names)
        return chance(tried, prior, archive.record) * (_TOUCHED if is_touched else in_vain)

    # Learning

    def _play(self, bursts: Sequence[tuple[int, list[GrammarTry]]]) -> None:
        given = [(self._states[number], tries, self._bookkeeping) for number, tries in bursts]
        if self._pool is None:
            results = [play_burst(self._game, *each) for each in given]
        else:
            running = [self._pool.submit(_burst_in_worker, *each) for each in given]
            results = [each.result() for each in running]
        for (number, _), outcomes in zip(bursts, results, strict=True):
            for outcome in outcomes:
                self._archive.steps += len(outcome.played)
                self._learn(number, outcome)

    def _learn(self, number: int, outcome: Outcome) -> int | None:
        """Learn what a command has led to from a cell, and return its cell; None if it has led nowhere."""
        archive, tried, step = self._archive, outcome.tried, outcome.played[-1]
        cell, now = archive.cells[number], step.after
        place, there = cell.standing.place or 0, now.location_id
        cell.tried.add(tried.command)
        archive.spent[place] += 1
        is_new_text = archive.record.note_response(step.response, tried)
        delta = self._delta(outcome, is_new_text)
        news = self._news(cell, outcome, delta) if outcome.state is not None else 0.0
        archive.record.count(tried, news)
        if tried.pattern == _DIRECTION and there not in (None, cell.standing.place):
            archive.exits.setdefault(place, {})[tried.command] = there or 0
        seen = any(what[0] != "at" for what in map(str.split, delta)) or there != cell.standing.place
        if outcome.state is None or not (news or seen):
            takes_time = step.before.moves is None or step.before.moves != step.after.moves
            if tried.pattern != _DIRECTION and (step.refused or not takes_time):
                archive.record.refused.add(tried.command)
            elif is_new_text:
                archive.record.obstacles.update(tried.names)
            archive.note_vain(place, tried.command)
            return None
        self._mention(now, step.response)
        after = merged(archive.changes_of(number), delta)
        steps = tuple(
            TrailStep(each.action, observed_state(each.after), each.after.location_name, True)
            for each in outcome.played
        )
        promise = 0.0 if step.finished else news or 0.05
        reached = SearchCell(
            number, steps, observed_state(now), delta, cell.depth + len(steps), progress_of(after), promise
        )
        added = archive.add(reached, after)
        self._states.setdefault(added, outcome.state)
        return added

    def _delta(self, outcome: Outcome, is_new_text: bool) -> WorldChanges:
        """Return what a command has changed, except where creatures are.

        A variable counts only if the text says something new, and nothing that can be seen has changed.
        """
        delta: WorldChanges = {}
        for step in outcome.played:
            living = {item.num for now in (step.before, step.after) for item in now.creatures or ()}
            for move in step.moved:
                if not move.by_itself and (move.number not in living or move.destination_number is None):
                    delta = merged(
                        delta, {f"in {move.number}": (move.origin_number or 0, move.destination_number or 0)}
                    )
            was, is_now = (now.vehicle.num if now.vehicle else 0 for now in (step.before, step.after))
            delta = merged(delta, {"in": (was, is_now)})
            # Stories mark what the player has seen on a walk.
            for change in step.changed if step.before.location == step.after.location else ():
                if not change.by_itself and change.number not in living:
                    delta = merged(delta, {f"is {change.number} {change.attribute}": (not change.value, change.value)})
        variables = self._note_variables(outcome)
        return variables if is_new_text and not delta and len(variables) <= _FLAG_BYTES else delta

    def _news(self, cell: SearchCell, outcome: Outcome, delta: WorldChanges) -> float:
        """Return how new a state is, from 0 to 1: a point or a place counts most, then what was never so before."""
        facts, there = self._archive.facts, outcome.played[-1].after.location_id
        news = 1.0 if any(step.points > 0 for step in outcome.played) or f"place {there}" not in facts else 0.0
        if there != cell.standing.place and self._archive.most_progress[there] < cell.progress:
            news = max(news, _WALK)
        laid = {f"in {item.num}" for item in outcome.played[0].before.inventory or ()}
        for what, (_, value) in delta.items():
            if f"{what} {value}" not in facts:
                minor = 0.2 if what.startswith("at ") else 0.05 * (value != cell.standing.place)
                news = max(news, minor if what in laid or what.startswith("at ") else 0.8)
        facts.update((f"place {there}", *(f"{what} {value}" for what, (_, value) in delta.items())))
        return news

    def _mention(self, now: Observation, text: str) -> None:
        """Note the directions and things that a text mentions at a place."""
        mentioned = self._archive.mentioned.setdefault(now.location_id or 0, {})
        mentioned |= dict.fromkeys(directions_in(text.replace(now.location_name, "")))
        mentioned |= dict.fromkeys(self._nouns.mentioned(text, self._game.scene(), now.at_hand))


def searched_route(
    path: Path, open_game: OpenGame, seed: int, steps: int, max_turns: int, jobs: int, known: ReplayRoute | None = None
) -> ReplayRoute | None:
    """Search on from the archive in a file, and return the commands to the highest score so far.

    Args:
        known: Commands that others have found; if they score more than the archive, the search begins with them.

    Raises:
        ZorkGPTError: If the game can't be played.
    """
    with ExitStack() as stack:
        game = stack.enter_context(closing(open_game()))
        archive = load_archive(path, game.story.sha256, seed)
        pool: Executor | None = None
        if jobs > 1:
            pool = stack.enter_context(ProcessPoolExecutor(jobs, initializer=_open_in_worker, initargs=(open_game,)))
        search, end = StateSearch(archive, game, pool, jobs), archive.steps + steps
        if known is not None and (known.goal.score or 0) > archive.highest:
            search.follow([step.action for step in known.steps], steps)
        search.run(end - archive.steps)
    save_archive(path, archive)
    return archive.best_route(max_turns)

"""Complete the profile of a story and learn its bookkeeping, by trying moves from a saved state.

The object whose parent changes with every move is the player. The nearest common ancestor of both ends of every move is
the parent of all rooms. A global that always contains the room is the location. Uncertain values stay None.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from game_interface.core.counterfactual import Bookkeeping, BookkeepingProbe
from game_interface.core.observe import ViewReader
from game_interface.core.profile import INFORM_ATTRIBUTES, Profile, with_inform_names
from game_interface.core.prompts import Prompts
from game_interface.core.sanitize import spelled_walk
from game_interface.core.worker import InterpreterState, Worker, WorkerFailure
from game_interface.core.zmachine import View, ZMachine, changes
from game_interface.models import DIRECTIONS, Language
from zorkgpt.log import get_logger

_PLAYER_NAMES = frozenset(
    {"you", "yourself", "me", "myself", "self", "player", "adventurer", "cretin", "(self object)"}
)
_MAX_TRIALS = 72
_GLOBALS = 240


TryCommand = Callable[[InterpreterState, str], InterpreterState | None]
"""Plays a command from a state. Returns None if the interpreter fails."""


@dataclass(frozen=True, slots=True)
class _MoveTrial:
    """The memory before and after a direction was tried."""

    before: View
    after: View


def with_table(profile: Profile, player: int, max_score: int) -> Profile:
    """Return the profile completed from Jericho's table of games, where 0 means unknown."""
    return replace(profile, player=profile.player or player or None, max_score=profile.max_score or max_score or None)


def discover(profile: Profile, machine: ZMachine, opening: InterpreterState, try_command: TryCommand) -> Profile:
    """Return the profile completed by trying moves. Values that are already known are not changed."""
    trials = [trial for trial in _trials(machine, opening, try_command) if changes(trial.before, trial.after).moved]
    player = profile.player
    if player is None or not any(trial.before.parent(player) != trial.after.parent(player) for trial in trials):
        # A player that was only guessed by its name is replaced by an object that moves.
        player = _player(profile, trials) or player
    by_inform = bool(machine.header.compiler)
    if player is None:
        return _by_name(profile, machine.view(opening.memory)) if by_inform and not trials else profile
    walks = [trial for trial in trials if trial.before.parent(player) != trial.after.parent(player)]
    profile = replace(profile, player=player)
    if not walks:
        return profile
    if profile.rooms_parent is None:
        profile = replace(profile, rooms_parent=_rooms_parent(walks, player))
    return _with_inform_library(profile, player, walks) if by_inform else profile


def is_complete(profile: Profile) -> bool:
    """Return whether the player and the rooms' parent are known."""
    return profile.player is not None and profile.rooms_parent is not None


def _by_name(profile: Profile, view: View) -> Profile:
    """Return the profile with the object that has a usual name of a player and is in the location of Inform's library.

    This is only a guess, for a story where no move is possible yet.
    """
    for index in (0, 1) if profile.location_global is None else (profile.location_global,):
        room = view.global_value(index)
        candidates = [
            number
            for number in range(1, view.machine.object_count + 1)
            if view.name(number).lower() in _PLAYER_NAMES and room and room in view.ancestors(number)
        ]
        if len(candidates) == 1:
            return replace(profile, player=candidates[0], location_global=index)
    return profile


def _trials(machine: ZMachine, opening: InterpreterState, try_command: TryCommand) -> Iterator[_MoveTrial]:
    """Try every direction from the opening and from the states that these lead to, breadth first."""
    pending, seen, tried = [opening], {machine.view(opening.memory).fingerprint()}, 0
    while pending and tried < _MAX_TRIALS:
        start = pending.pop(0)
        before = machine.view(start.memory)
        for direction in DIRECTIONS:
            tried += 1
            end = try_command(start, direction)
            if end is None:
                continue
            after = machine.view(end.memory)
            yield _MoveTrial(before, after)
            if (fingerprint := after.fingerprint()) not in seen:
                seen.add(fingerprint)
                pending.append(end)


def _views(trials: list[_MoveTrial]) -> list[View]:
    return [view for trial in trials for view in (trial.before, trial.after)]


def _player(profile: Profile, trials: list[_MoveTrial]) -> int | None:
    moved = Counter(number for trial in trials for number, _, _ in changes(trial.before, trial.after).moved)
    candidates = [number for number in moved if _is_in_location(profile, number, trials)]
    if not candidates:
        return None
    # Prefer a usual name, because a creature may move more often.
    with_usual_name = [number for number in candidates if trials[0].before.name(number).lower() in _PLAYER_NAMES]
    if len(with_usual_name) == 1:
        return with_usual_name[0]
    most = max(moved[number] for number in candidates)
    best = [number for number in candidates if moved[number] == most]
    return best[0] if len(best) == 1 and most >= 3 else None


def _is_in_location(profile: Profile, number: int, trials: list[_MoveTrial]) -> bool:
    """Return whether an object is always in the location. If that is unknown, whether it always has a parent."""
    index = profile.location_global
    for view in _views(trials):
        above = view.ancestors(number)
        if not above or (index is not None and view.global_value(index) not in above):
            return False
    return True


def _rooms_parent(walks: list[_MoveTrial], player: int) -> int:
    """Return the nearest common ancestor of both ends of every walk. 0 if there is none."""
    common = set(walks[0].after.ancestors(player)).intersection(*(view.ancestors(player) for view in _views(walks)))
    return next((number for number in walks[0].after.ancestors(player) if number in common), 0)


def _with_inform_library(profile: Profile, player: int, walks: list[_MoveTrial]) -> Profile:
    """Return the profile with the globals and attributes of Inform's library that the walks confirm."""
    # If the story declares own globals before it includes the library, the library's globals follow these. Many of them
    # may contain the room by chance, so the counter of moves has to confirm the location.
    locations = (index for index in range(_GLOBALS - 2) if _contains_room(index, walks, player))
    location = next((index for index in locations if index < 2 or _counts_moves(index + 2, walks)), None)
    opening = walks[0].before
    if location is not None:
        if profile.location_global is None:
            profile = replace(profile, location_global=location)
        if _counts_moves(location + 2, walks):
            profile = replace(profile, score_global=location + 1, moves_global=location + 2)
        if profile.deadflag_global is None:
            for index in range(_GLOBALS - 1):
                # `deadflag` directly follows `player`.
                if opening.global_value(index) == player and opening.global_value(index + 1) == 0:
                    profile = replace(profile, deadflag_global=index + 1, player_global=index)
                    break
    if not profile.attributes and (first := _first_library_attribute(walks, player)) is not None:
        profile = with_inform_names(profile, first)
    return profile


def _counts_moves(index: int, walks: list[_MoveTrial]) -> bool:
    return all(walk.after.global_value(index) > walk.before.global_value(index) for walk in walks)


def _contains_room(index: int, walks: list[_MoveTrial], player: int) -> bool:
    """Return whether a global contains the player's room, except in the dark, where it is the object `thedark`."""
    rooms, others = 0, set[int]()
    views = _views(walks)
    for view in views:
        value = view.global_value(index)
        if value in view.ancestors(player):
            rooms += 1
        else:
            others.add(value)
    return rooms >= 0.6 * len(views) or (rooms > 0 and len(others) == 1)


def _first_library_attribute(walks: list[_MoveTrial], player: int) -> int | None:
    """Return the number of the library's first attribute. None if no attribute marks rooms as visited.

    If the story declares own attributes before it includes the library, the library's attributes follow these.
    """
    opening = walks[0].before
    reached = {_room(walk.after, player) for walk in walks} - {_room(opening, player)}
    for first in range(8 * opening.machine.attribute_bytes - max(INFORM_ATTRIBUTES.values())):
        visited = INFORM_ATTRIBUTES["visited"] + first
        is_marked = all(
            any(view.attribute(_room(view, player), visited) for view in (walk.before, walk.after)) for walk in walks
        )
        if is_marked and (not first or not any(opening.attribute(room, visited) for room in reached)):
            return first
    return None


def _room(view: View, player: int) -> int:
    """Return the outermost ancestor of the player. 0 if none."""
    above = view.ancestors(player)
    return above[-1] if above else 0


log = get_logger("zorkgpt.game")

_EXPLORED_AGAIN_AT = frozenset({1, 2, 4, 8, 16, 32, 64, 128})
"""Numbers of actions after which moves are tried again if the profile is incomplete."""
_bookkeeping: dict[str, Bookkeeping] = {}
"""Story's sha256 → bookkeeping, shared by all games in this process."""


class StoryExplorer:
    """Explores one story in the worker of a game."""

    def __init__(self, machine: ZMachine, language: Language, prompts: Prompts, worker: Worker) -> None:
        self._machine, self._language, self._prompts, self._worker = machine, language, prompts, worker
        self._actions_unexplored = 0
        """The number of actions that were played with an incomplete profile."""

    def first_command(self, opening: InterpreterState) -> InterpreterState:
        """Return the first state in which the story reads a command, and learn where it reads commands."""
        try:
            ready = self._prompts.past_questions(self._worker, opening)
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"question": opening.text[-80:], "failure": str(failure)})
            ready = opening
        self._worker.restore(ready.state)
        return ready

    def profile(self, known: Profile, opening: InterpreterState) -> Profile:
        """Return the profile completed from Jericho's table and by trying moves. Changes the worker's state."""
        if known.player is not None:
            return known
        table = with_table(known, self._worker.player_object, self._worker.max_score)
        profile = self._explored(table, opening)
        _log_explored(profile)
        return profile

    def profile_after_action(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by trying moves from the current state, if it is incomplete.

        Moves are tried less and less often. The game is unchanged.
        """
        if is_complete(known):
            return known
        self._actions_unexplored += 1
        if self._actions_unexplored not in _EXPLORED_AGAIN_AT:
            return known
        profile = self._explored(known, here)
        self._worker.restore(here.state)
        if profile != known:
            _log_explored(profile)
        return profile

    def bookkeeping(self, sha256: str, reader: ViewReader, here: InterpreterState) -> Bookkeeping:
        """Return the story's bookkeeping, learned at its opening if necessary. The game is unchanged.

        Args:
            sha256: The story's checksum.
            here: The current state of the game.
        """
        if sha256 not in _bookkeeping:
            opening = self.first_command(self._worker.restart())
            view = self._machine.view(opening.memory)
            probe = BookkeepingProbe(self._worker, reader, view, lambda: self._worker.restore(opening.state))
            _bookkeeping[sha256] = probe.learn(self._language)
            self._worker.restore(here.state)
        return _bookkeeping[sha256]

    def _explored(self, known: Profile, here: InterpreterState) -> Profile:
        """Return the profile completed by trying moves. Changes the worker's state."""
        return discover(known, self._machine, here, self._try)

    def _try(self, start: InterpreterState, command: str) -> InterpreterState | None:
        try:
            self._worker.load(start.state)
            return self._worker.step(spelled_walk(command, self._language).encode("ascii"))
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"move": command, "failure": str(failure)})
            return None


def _log_explored(profile: Profile) -> None:
    log.info("story explored", extra={"player": profile.player, "location_global": profile.location_global})

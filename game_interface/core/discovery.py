"""Discover the profile of an unknown story by trying moves on a saved state and watching what changes.

The object whose parent changes with every move is the player; the nearest ancestor that both ends of every move share
is the parent of all rooms; a global that always holds the room is the location. Whatever is in doubt stays None.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from game_interface.core.profile import INFORM_ATTRIBUTES, Profile, with_inform_names
from game_interface.core.zmachine import Header, View, changes
from zorkgpt.text import SHORT_DIRECTIONS

DIRECTIONS = (*SHORT_DIRECTIONS.values(), "in", "out")
_PLAYER_NAMES = frozenset(
    {"you", "yourself", "me", "myself", "self", "player", "adventurer", "cretin", "(self object)"}
)
_MAX_TRIALS = 72
_GLOBALS = 240


@dataclass(frozen=True, slots=True)
class SavedState:
    """An interpreter state to return to, with a view of its memory."""

    state: bytes
    view: View


TryCommand = Callable[[SavedState, str], SavedState | None]
"""Plays a command from a saved state; None if the interpreter did not survive it."""


@dataclass(frozen=True, slots=True)
class _DirectionTest:
    """The memory before and after one direction was tried."""

    before: View
    after: View


def with_table(profile: Profile, player: int, max_score: int) -> Profile:
    """Return the profile completed from Jericho's table of games, where 0 stands for not known."""
    return replace(profile, player=profile.player or player or None, max_score=profile.max_score or max_score or None)


def discover(profile: Profile, header: Header, opening: SavedState, try_command: TryCommand) -> Profile:
    """Return the profile completed by trying moves; what it holds already is kept."""
    trials = [trial for trial in _trials(opening, try_command) if changes(trial.before, trial.after).moved]
    player = profile.player
    if player is None or not any(trial.before.parent(player) != trial.after.parent(player) for trial in trials):
        # One that was taken for the player by its name, and that no move moves, gives way to one that moves.
        player = _player(profile, trials) or player
    if player is None and not trials and header.compiler:
        return _by_name(profile, opening.view)
    if player is None:
        return profile
    walks = [trial for trial in trials if trial.before.parent(player) != trial.after.parent(player)]
    profile = replace(profile, player=player)
    if not walks:
        return profile
    if profile.rooms_parent is None:
        profile = replace(profile, rooms_parent=_rooms_parent(walks, player))
    return _with_inform_library(profile, player, walks) if header.compiler else profile


def is_complete(profile: Profile) -> bool:
    """Return whether moves have shown the player and its rooms, so that nothing is left to discover."""
    return profile.player is not None and profile.rooms_parent is not None


def _by_name(profile: Profile, view: View) -> Profile:
    """Return the profile with the one object of a player's usual name that is where a location of Inform's says.

    For a story that leads nowhere yet; a move that is found later decides.
    """
    for base in (0, 1) if profile.location_global is None else (profile.location_global,):
        room = view.global_value(base)
        usual = [
            number
            for number in range(1, view.machine.object_count + 1)
            if view.name(number).lower() in _PLAYER_NAMES and room and room in view.ancestors(number)
        ]
        if len(usual) == 1:
            return replace(profile, player=usual[0], location_global=base)
    return profile


def _trials(opening: SavedState, try_command: TryCommand) -> Iterator[_DirectionTest]:
    """Try every direction from the opening and from where these lead, breadth first."""
    reached, seen, tried = [opening], {opening.view.fingerprint()}, 0
    while reached and tried < _MAX_TRIALS:
        here = reached.pop(0)
        for direction in DIRECTIONS:
            tried += 1
            there = try_command(here, direction)
            if there is None:
                continue
            yield _DirectionTest(here.view, there.view)
            if (look := there.view.fingerprint()) not in seen:
                seen.add(look)
                reached.append(there)


def _player(profile: Profile, trials: list[_DirectionTest]) -> int | None:
    moved = Counter(number for trial in trials for number, _, _ in changes(trial.before, trial.after).moved)
    candidates = [number for number in moved if _stands_where_the_globals_say(profile, number, trials)]
    if not candidates:
        return None
    # A creature may move more often.
    usual = [number for number in candidates if trials[0].before.name(number).lower() in _PLAYER_NAMES]
    if len(usual) == 1:
        return usual[0]
    most = max(moved[number] for number in candidates)
    best = [number for number in candidates if moved[number] == most]
    return best[0] if len(best) == 1 and most >= 3 else None


def _stands_where_the_globals_say(profile: Profile, number: int, trials: list[_DirectionTest]) -> bool:
    if not all(view.ancestors(number) for trial in trials for view in (trial.before, trial.after)):
        return False
    if profile.location_global is None:
        return True
    views = [view for trial in trials for view in (trial.before, trial.after)]
    return all(view.global_value(profile.location_global) in view.ancestors(number) for view in views)


def _rooms_parent(walks: list[_DirectionTest], player: int) -> int:
    """Return the nearest ancestor that both ends of every walk share; 0 if there is none."""
    shared: set[int] | None = None
    order: tuple[int, ...] = ()
    for walk in walks:
        order = walk.after.ancestors(player)
        common = set(order) & set(walk.before.ancestors(player))
        shared = common if shared is None else shared & common
    return next((number for number in order if number in (shared or ())), 0)


def _with_inform_library(profile: Profile, player: int, walks: list[_DirectionTest]) -> Profile:
    """Return the profile with the globals and attributes of Inform's library that the walks confirm."""
    bases = (first for first in range(_GLOBALS - 2) if _holds_the_room(first, walks, player))
    # Globals that a story declares before it includes the library come first. Many of them may hold the room by chance,
    # so there the counter of moves has to confirm it.
    base = next((first for first in bases if first < 2 or _counts_moves(first + 2, walks)), None)
    if base is not None and profile.location_global is None:
        profile = replace(profile, location_global=base)
    if base is not None and _counts_moves(base + 2, walks):
        profile = replace(profile, score_global=base + 1, moves_global=base + 2)
    opening = walks[0].before
    flags = (
        index + 1
        for index in range(_GLOBALS - 1)
        if opening.global_value(index) == player and opening.global_value(index + 1) == 0
    )
    if base is not None and profile.deadflag_global is None and (flag := next(flags, None)) is not None:
        # It follows `player` directly.
        profile = replace(profile, deadflag_global=flag, player_global=flag - 1)
    if not profile.attributes and (first := _first_of_the_library(walks, player)) is not None:
        profile = with_inform_names(profile, first)
    return profile


def _counts_moves(index: int, walks: list[_DirectionTest]) -> bool:
    return all(walk.after.global_value(index) > walk.before.global_value(index) for walk in walks)


def _holds_the_room(index: int, walks: list[_DirectionTest], player: int) -> bool:
    views = [view for walk in walks for view in (walk.before, walk.after)]
    in_room = [view.global_value(index) in view.ancestors(player) for view in views]
    elsewhere = {view.global_value(index) for view, inside in zip(views, in_room, strict=True) if not inside}
    # In the dark it holds the object `thedark`, whatever the room.
    return sum(in_room) >= 0.6 * len(in_room) or (any(in_room) and len(elsewhere) == 1)


def _first_of_the_library(walks: list[_DirectionTest], player: int) -> int | None:
    """Return the number of the library's first attribute; None if no attribute marks rooms as visited.

    Attributes that a story declares before it includes the library come first.
    """
    opening = walks[0].before
    reached = {_room(walk.after, player) for walk in walks} - {_room(opening, player)}
    for first in range(8 * opening.machine.attribute_bytes - max(INFORM_ATTRIBUTES.values())):
        visited = INFORM_ATTRIBUTES["visited"] + first
        marked = all(
            any(view.attribute(room, visited) for view in (walk.before, walk.after) if (room := _room(view, player)))
            for walk in walks
        )
        if marked and (not first or not any(opening.attribute(room, visited) for room in reached if room)):
            return first
    return None


def _room(view: View, player: int) -> int | None:
    above = view.ancestors(player)
    return above[-1] if above else None

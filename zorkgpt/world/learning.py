"""Learn the map from what the player's actions did."""

from collections.abc import Iterable

from game_interface.models import Transition
from session.outcome import moved_or_had_effect, shows_outcome, worked
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.prompts.render import cut
from zorkgpt.text import first_paragraph, normalized_action
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind, led_nowhere, move_of

_MOST_RESPONSE_CHARACTERS = 120
"""Characters that are kept of the game's response to an action that failed."""


class MapLearner:
    """Adds moves, failed exits and failed actions to a map."""

    def __init__(self, graph: MapGraph) -> None:
        self._graph = graph
        self._successes: dict[tuple[int, str], None] = {}
        """The actions that have succeeded since the last reset, as pairs of room and action, in their order."""

    def reset(self) -> None:
        """Forget which actions have succeeded, because the world starts over."""
        self._successes.clear()

    def add_place(self, location_id: int, name: str, exits: Iterable[str] = ()) -> None:
        """Add a location and the exits that texts name there."""
        self._graph.add_room(location_id, name)
        for direction in exits:
            self._graph.add_exit(location_id, direction)

    def learn(self, step: Transition, exits: Iterable[str] = ()) -> None:
        """Add what an action shows: a move, a failed exit, or a failed action together with the game's response.

        Args:
            exits: The exits that the response names.
        """
        for place in (step.before.location, step.after.location):
            if place is not None:
                self._graph.add_room(place.num, place.name)
        if (move := move_of(step)) is not None:
            self._graph.add_move(move)
            if move.kind is MoveKind.WALKED:
                self._learn_doors(step, move)
        elif led_nowhere(step) and step.before.location is not None:
            room = step.before.location.num
            self._graph.add_failure(room, step.action)
            for door in step.before.doors:
                if not door.is_open:
                    way = exit_name(step.action)
                    self._graph.doors.add(room, way, door.num, door.name, DoorSign.FAILED_CLOSED)
        self._learn_attempt(step)
        self._learn_things(step)
        if step.after.location is not None:
            self.add_place(step.after.location.num, step.after.location.name, exits)

    def _learn_things(self, step: Transition) -> None:
        """Add the things in sight, and those that the action named or changed as tried."""
        words = set(normalized_action(step.action).split())
        changed = {move.number for move in step.moved if not move.by_itself}
        changed |= {change.number for change in step.changed if not change.by_itself}
        for now in (step.before, step.after):
            for item in now.at_hand:
                if item.num in changed or (words & set(item.name.lower().split()[-1:])):
                    self._graph.tries.add_tried_thing(item.num)
        if step.after.location is not None:
            carried = {item.num for item in step.after.carried or ()}
            for item in step.after.visible or ():
                if item.num not in carried:
                    self._graph.tries.add_thing(step.after.location.num, item.num, item.name)

    def _learn_doors(self, step: Transition, move: Move) -> None:
        beyond = {door.num for door in step.after.doors}
        for door in step.before.doors:
            signs = [DoorSign.WALKED_OPEN if door.is_open else DoorSign.WALKED_CLOSED]
            signs += [DoorSign.BETWEEN] * (door.num in beyond)
            for sign in signs:
                self._graph.doors.add(move.from_id, move.way, door.num, door.name, sign)

    def record_success(self, step: Transition) -> None:
        """Remember the action if it succeeded. Called after `learn`, and for turns that the map contains already."""
        if step.before.location is not None and worked(step):
            self._successes[step.before.location.num, exit_name(step.action)] = None

    def _learn_attempt(self, step: Transition) -> None:
        if step.before.location is None or not shows_outcome(step):
            return
        tries, room, action = self._graph.tries, step.before.location.num, exit_name(step.action)
        if worked(step):
            if tries.opened_by.get(room, {}).get(action) or action in tries.without_effect.get(room, {}):
                self._learn_opening(room, action)
            tries.add_success(room, action)
            if step.after.location == step.before.location:
                self._graph.reopen(room)
        elif not moved_or_had_effect(step) and (room, action) not in self._successes:
            # An action that has succeeded before fails now because it is done already.
            response = cut(" ".join(first_paragraph(step.response).split()), _MOST_RESPONSE_CHARACTERS)
            unlocking = self._unlocking(room) if canonical_direction(action) else ()
            tries.add_failure(room, action, response, unlocking)

    def _learn_opening(self, room: int, way: str) -> None:
        if canonical_direction(way):
            tries = self._graph.tries
            openers = (action for action in self._unlocking(room) if not tries.has_failed_after(room, way, action))
            tries.add_opening(room, way, openers)

    def _unlocking(self, room: int) -> list[str]:
        """Return the actions that succeeded in a room and may have opened an exit, which walking can't."""
        return [action for place, action in self._successes if place == room and canonical_direction(action) is None]

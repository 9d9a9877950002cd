"""Learn the map from what the player's actions did."""

from collections.abc import Iterable

from game_interface.models import Transition
from session.outcome import worked
from zorkgpt.directions import exit_name
from zorkgpt.world.doors import DoorSign
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind, led_nowhere, move_of


class MapLearner:
    """Adds moves, failed exits and doors to a map."""

    def __init__(self, graph: MapGraph) -> None:
        self._graph = graph

    def add_place(self, location_id: int, name: str, exits: Iterable[str] = ()) -> None:
        """Add a location and the exits that texts name there."""
        self._graph.add_room(location_id, name)
        for direction in exits:
            self._graph.add_exit(location_id, direction)

    def learn(self, step: Transition, exits: Iterable[str] = ()) -> None:
        """Add what an action shows: a move, or a failed exit.

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
        room_id = step.before.location_id
        if room_id is not None and worked(step) and step.after.location_id == room_id:
            self._graph.reopen(room_id)
        if step.after.location is not None:
            self.add_place(step.after.location.num, step.after.location.name, exits)

    def _learn_doors(self, step: Transition, move: Move) -> None:
        beyond = {door.num for door in step.after.doors}
        for door in step.before.doors:
            signs = [DoorSign.WALKED_OPEN if door.is_open else DoorSign.WALKED_CLOSED]
            signs += [DoorSign.BETWEEN] * (door.num in beyond)
            for sign in signs:
                self._graph.doors.add(move.from_id, move.way, door.num, door.name, sign)

"""The moves on a map that are not walks: transports, deaths, and being carried off."""

from collections import Counter

from zorkgpt.world.movement import Move, MoveKind


class OtherMoves:
    """The moves that are not connections, by the room where they began."""

    def __init__(self) -> None:
        self.counts: Counter[Move] = Counter()
        """Each move that is not a connection → how often it occurred."""
        self.deadly: set[tuple[int, str]] = set()
        """(room, action) of every death."""
        self._by_room: dict[int, list[Move]] = {}

    def add(self, move: Move, times: int = 1) -> None:
        """Record a move."""
        if move not in self.counts:
            self._by_room.setdefault(move.from_id, []).append(move)
        self.counts[move] += times
        if move.kind is MoveKind.DIED:
            self.deadly.add((move.from_id, move.way))

    def actions(self, room_id: int, *kinds: MoveKind) -> set[str]:
        """Return the actions in a room that led to moves of these kinds."""
        return {move.way for move in self._by_room.get(room_id, ()) if move.kind in kinds}

    def transports(self, room_id: int) -> dict[str, int]:
        """Return action → room, for the actions that moved the player from here without walking."""
        moves = [move for move in self._by_room.get(room_id, ()) if move.kind is MoveKind.TRANSPORTED]
        return {move.way: move.to_id for move in sorted(moves, key=self.counts.__getitem__)}

    def carried_off(self, room_id: int) -> dict[str, set[int]]:
        """Return action → the rooms to which something carried the player off."""
        rooms: dict[str, set[int]] = {}
        for move in self._by_room.get(room_id, ()):
            if move.kind is MoveKind.CARRIED:
                rooms.setdefault(move.way, set()).add(move.to_id)
        return rooms

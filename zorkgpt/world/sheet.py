"""Where on the paper rooms and lines lie: the geometry of a drawn map, in pixels."""

from collections.abc import Mapping

from zorkgpt.world.layout import Square, between

CELL = (168, 104)
BOX = (112, 48)
EDGE = 56
_LEAST_BEND = 36.0
_BOW = (110.0, 70.0)


class Sheet:
    """The squares of a layout, as points. A side of a room is a direction: (1, -1) is its upper right corner."""

    def __init__(self, squares: Mapping[int, Square]) -> None:
        self.squares = squares
        self._taken = set(squares.values())

    @property
    def size(self) -> tuple[int, int]:
        columns = max((x for x, _ in self._taken), default=0) + 1
        rows = max((y for _, y in self._taken), default=0) + 1
        return columns * CELL[0] + 2 * EDGE, rows * CELL[1] + 2 * EDGE

    def centre(self, room: int) -> tuple[float, float]:
        x, y = self.squares[room]
        return EDGE + (x + 0.5) * CELL[0], EDGE + (y + 0.5) * CELL[1]

    def port(self, room: int, side: Square) -> tuple[float, float]:
        """Where a line leaves a room on this side."""
        x, y = self.centre(room)
        return x + side[0] * BOX[0] / 2, y + side[1] * BOX[1] / 2

    def toward(self, room: int, other: int) -> Square:
        """The side that faces another room, a corner unless they are in line."""
        (x1, y1), (x2, y2) = self.squares[room], self.squares[other]
        return _sign(x2 - x1), _sign(y2 - y1)

    def distance(self, room: int, other: int) -> int:
        """In squares, a diagonal step counting as one."""
        (x1, y1), (x2, y2) = self.squares[room], self.squares[other]
        return max(abs(x2 - x1), abs(y2 - y1))

    def path(self, room: int, leaving: Square, other: int, arriving: Square) -> str:
        """The `d` of a line between two sides: straight where that meets no room, else curved around."""
        (x1, y1), (x2, y2) = self.port(room, leaving), self.port(other, arriving)
        facing = (-leaving[0], -leaving[1]) == arriving and self.toward(room, other) == leaving
        if facing and not between(self.squares[room], self.squares[other]) & self._taken:
            return f"M{x1:g} {y1:g} L{x2:g} {y2:g}"
        if facing and not (leaving[0] and leaving[1]):
            # Sideways around what stands between, above it or to its right.
            ax, ay = bx, by = abs(leaving[1]) * _BOW[0], -abs(leaving[0]) * _BOW[1]
        else:
            bend = max(_LEAST_BEND, (abs(x2 - x1) + abs(y2 - y1)) / 3.5)
            (ax, ay), (bx, by) = scaled(leaving, bend), scaled(arriving, bend)
        return f"M{x1:g} {y1:g} C{x1 + ax:.0f} {y1 + ay:.0f} {x2 + bx:.0f} {y2 + by:.0f} {x2:g} {y2:g}"


def scaled(side: Square, length: float) -> tuple[float, float]:
    shrink = 0.7071 if side[0] and side[1] else 1.0
    return side[0] * length * shrink, side[1] * length * shrink


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)

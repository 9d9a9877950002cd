"""Arrange rooms on a grid, as in hand-drawn adventure maps, and compute boxes and lines in pixels.

The exported picture and the viewer's page draw the same layout.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count

from zorkgpt.directions import OPPOSITE

Square = tuple[int, int]
"""Column and row, from the top left."""
COMPASS: dict[str, Square] = {
    "north": (0, -1),
    "south": (0, 1),
    "east": (1, 0),
    "west": (-1, 0),
    "northeast": (1, -1),
    "northwest": (-1, -1),
    "southeast": (1, 1),
    "southwest": (-1, 1),
}
# The usual positions of other exits on maps.
_LEANING = {"up": (1, -1), "down": (-1, 1), "in": (1, 0), "out": (-1, 0)}
ExitTargets = Mapping[int, Mapping[str, int]]


def lay_out(rooms: Iterable[int], connections: ExitTargets) -> dict[int, Square]:
    """Return room → square. Rooms connected by compass directions form a block, which is placed near its entry."""
    neighbours = _neighbours(rooms, connections)
    placed: dict[int, Square] = {}
    lines: set[Square] = set()
    for entry, anchor, lean in _blocks(neighbours, connections):
        shape = _shape(entry, neighbours)
        wanted, (x, y) = (0, 0) if anchor is None else placed[anchor], shape[entry]
        target = (wanted[0] + lean[0] - x, wanted[1] + lean[1] - y)
        shift = _nearest_fit(shape.values(), set(placed.values()), lines, target)
        new = {room: (x + shift[0], y + shift[1]) for room, (x, y) in shape.items()}
        lines |= {
            square for room in new for _, _, other in neighbours[room] for square in between(new[room], new[other])
        }
        placed |= new
    left = min((x for x, _ in placed.values()), default=0)
    top = min((y for _, y in placed.values()), default=0)
    return {room: (x - left, y - top) for room, (x, y) in placed.items()}


def between(one: Square, other: Square) -> set[Square]:
    """Return the squares on the straight line between two squares, excluding both."""
    (x, y), (dx, dy) = one, (other[0] - one[0], other[1] - one[1])
    steps = max(abs(dx), abs(dy))
    return {(x + round(dx * i / steps), y + round(dy * i / steps)) for i in range(1, steps)}


def _paired_exit(
    connections: ExitTargets, room: int, name: str, other: int, drawn: Collection[tuple[int, str]]
) -> str | None:
    """Return the way back that shares a line with an exit: its opposite, or else one whose opposite leads elsewhere.

    Args:
        drawn: The (room, exit) pairs that already have a line.
    """
    if room == other:
        return None
    back = connections.get(other, {})
    returns = [exit_back for exit_back, to in back.items() if to == room and (other, exit_back) not in drawn]
    if OPPOSITE.get(name) in returns:
        return OPPOSITE[name]
    exits = connections.get(room, {})
    free = [exit_back for exit_back in returns if exits.get(OPPOSITE.get(exit_back, "")) != other]
    return next((exit_back for exit_back in free if (exit_back in COMPASS) == (name in COMPASS)), None)


_Neighbours = dict[int, list[tuple[int, Square, int]]]
"""Room → (0 if both rooms agree on the direction, else 1; direction; neighbor)."""


def _neighbours(rooms: Iterable[int], connections: ExitTargets) -> _Neighbours:
    found: _Neighbours = {room: [] for room in rooms}
    for room, ways in connections.items():
        for name, other in ways.items():
            if name in COMPASS and other != room:
                x, y = COMPASS[name]
                doubt = int(connections.get(other, {}).get(OPPOSITE[name]) != room)
                found[room].append((doubt, (x, y), other))
                found[other].append((doubt, (-x, -y), room))
    return found


def _blocks(neighbours: _Neighbours, connections: ExitTargets) -> Iterator[tuple[int, int | None, Square]]:
    """Yield the entry of each block, the room that leads there or None, and the direction, the largest block first.

    A block that is connected to an earlier one comes before larger unconnected ones.
    """
    import networkx

    network = networkx.Graph({room: [other for _, _, other in its] for room, its in neighbours.items()})
    blocks = sorted(networkx.connected_components(network), key=len, reverse=True)
    others = [(room, name, to) for room, ways in connections.items() for name, to in ways.items()]
    placed: set[int] = set()
    while blocks:
        links = (
            (block, room, to, name) for block in blocks for room, name, to in others if room in placed and to in block
        )
        first = next(room for room in neighbours if room in blocks[0])
        block, anchor, entry, name = next(links, (blocks[0], None, first, "east"))
        blocks.remove(block)
        placed |= block
        yield entry, anchor, _LEANING.get(name, (1, 1))


def _shape(entry: int, neighbours: _Neighbours) -> dict[int, Square]:
    """Arrange the rooms of a block around its entry, starting with directions on which both ends agree."""
    squares: dict[int, Square] = {entry: (0, 0)}
    order = count()
    waiting: list[tuple[int, int, Square, int, int]] = []

    def expect(room: int) -> None:
        for doubt, step, other in neighbours[room]:
            heappush(waiting, (doubt, next(order), step, room, other))

    expect(entry)
    while waiting:
        _, _, step, room, other = heappop(waiting)
        if other not in squares:
            squares = _with(squares, room, step, other)
            expect(other)
    return squares


def _with(squares: dict[int, Square], room: int, step: Square, other: int) -> dict[int, Square]:
    """Return the squares with one more room a step away, moving others if that square is occupied."""
    x, y = squares[room][0] + step[0], squares[room][1] + step[1]
    taken = set(squares.values())
    if (x, y) in taken:
        # A diagonal line can pass the room on that square. A straight line would cross it.
        if step[0] and step[1] and (x + step[0], y + step[1]) not in taken:
            x, y = x + step[0], y + step[1]
        else:
            squares = _spread(squares, (x, y), step)
    return squares | {other: (x, y)}


def _spread(squares: dict[int, Square], at: Square, step: Square) -> dict[int, Square]:
    """Move all rooms from this square on by one square in the direction of the step."""

    def moved(square: Square) -> Square:
        x, y = square
        if step[1] and (y - at[1]) * step[1] >= 0:
            return x, y + step[1]
        if not step[1] and (x - at[0]) * step[0] >= 0:
            return x + step[0], y
        return square

    return {room: moved(square) for room, square in squares.items()}


def _nearest_fit(shape: Iterable[Square], taken: set[Square], lines: set[Square], target: Square) -> Square:
    """Return the shift nearest to `target` where the shape overlaps no line and no occupied square."""
    shape = list(shape)
    # Larger blocks keep a distance of one square, so that unconnected rooms don't look like neighbors.
    margin = 1 if len(shape) > 2 else 0
    around = [(dx, dy) for dx in range(-margin, margin + 1) for dy in range(-margin, margin + 1)]
    blocked = lines | {(x + dx, y + dy) for x, y in taken for dx, dy in around}
    for radius in count():
        ring = [
            (dx, dy)
            for dx in range(-radius, radius + 1)
            for dy in range(-radius, radius + 1)
            if max(abs(dx), abs(dy)) == radius
        ]
        for dx, dy in sorted(ring, key=lambda square: (abs(square[0]) + abs(square[1]), square)):
            shift = (target[0] + dx, target[1] + dy)
            if all((x + shift[0], y + shift[1]) not in blocked for x, y in shape):
                return shift
    raise AssertionError("a ring beyond everything is always free")


CELL = (168, 104)
BOX = (112, 48)
EDGE = 56
_MIN_BEND = 36.0
_BOW = (110.0, 70.0)
_STUB = 15
_BESIDE_A_LINE = 9
_FAR = 2
"""In squares."""


@dataclass(frozen=True, slots=True)
class MapLine:
    """The line of an exit, and of the way back if that has the same line."""

    room: int
    way: str
    to: int
    back: str | None
    """None if the way back has its own line, or is unknown."""

    @property
    def by_compass(self) -> bool:
        """Whether the exit is a direction of the compass, which determines where the line leaves the room."""
        return self.way in COMPASS


def lines_of(connections: ExitTargets) -> Iterator[MapLine]:
    """Yield the lines of all exits. An exit that leads back to its own room has a line too."""
    drawn: set[tuple[int, str]] = set()
    for room, ways in connections.items():
        for name, other in ways.items():
            if (room, name) not in drawn:
                back = _paired_exit(connections, room, name, other, drawn)
                drawn |= {(room, name)} | ({(other, back)} if back else set())
                yield MapLine(room, name, other, back)


class PixelLayout:
    """A layout in pixels. A side of a room is a direction, for example (1, -1) for its upper right corner."""

    def __init__(self, rooms: Iterable[int], connections: ExitTargets) -> None:
        self.squares = lay_out(rooms, connections)
        self._occupied = set(self.squares.values())
        self._used: set[tuple[int, Square]] = set()
        """The (room, side) pairs where a line starts or ends."""

    @property
    def size(self) -> tuple[int, int]:
        columns = max((x for x, _ in self._occupied), default=0) + 1
        rows = max((y for _, y in self._occupied), default=0) + 1
        return columns * CELL[0] + 2 * EDGE, rows * CELL[1] + 2 * EDGE

    def centre(self, room: int) -> tuple[float, float]:
        x, y = self.squares[room]
        return EDGE + (x + 0.5) * CELL[0], EDGE + (y + 0.5) * CELL[1]

    def port(self, room: int, side: Square) -> tuple[float, float]:
        """Return the point where a line leaves a room on this side."""
        x, y = self.centre(room)
        return x + side[0] * BOX[0] / 2, y + side[1] * BOX[1] / 2

    def is_long(self, line: MapLine) -> bool:
        """Return whether a line would be confusing: it is long, and its exit is not a direction of the compass."""
        (x1, y1), (x2, y2) = self.squares[line.room], self.squares[line.to]
        return not line.by_compass and max(abs(x2 - x1), abs(y2 - y1)) > _FAR

    def sides(self, line: MapLine) -> tuple[Square, Square]:
        """Return the sides where a line leaves its first room and arrives at the other."""
        if not line.by_compass:
            return self._toward(line.room, line.to), self._toward(line.to, line.room)
        x, y = COMPASS[line.way]
        return (x, y), COMPASS[line.back] if line.back else (-x, -y)

    def path(self, line: MapLine) -> str:
        """Return the SVG path of a line: straight if it crosses no room, else curved."""
        room, other, (leaving, arriving) = line.room, line.to, self.sides(line)
        self._used |= {(room, leaving), (other, arriving)}
        (x1, y1), (x2, y2) = self.port(room, leaving), self.port(other, arriving)
        facing = (-leaving[0], -leaving[1]) == arriving and self._toward(room, other) == leaving
        if facing and not between(self.squares[room], self.squares[other]) & self._occupied:
            return f"M{x1:g} {y1:g} L{x2:g} {y2:g}"
        if facing and not (leaving[0] and leaving[1]):
            # Curve around the rooms in between, above or to the right.
            ax, ay = bx, by = abs(leaving[1]) * _BOW[0], -abs(leaving[0]) * _BOW[1]
        else:
            bend = max(_MIN_BEND, (abs(x2 - x1) + abs(y2 - y1)) / 3.5)
            (ax, ay), (bx, by) = scaled(leaving, bend), scaled(arriving, bend)
        return f"M{x1:g} {y1:g} C{x1 + ax:.0f} {y1 + ay:.0f} {x2 + bx:.0f} {y2 + by:.0f} {x2:g} {y2:g}"

    def stub(self, room: int, side: Square) -> tuple[float, float, float, float]:
        """Return the start of an exit that was not tried, and its extent. All lines must have been drawn before."""
        (x, y), (dx, dy) = self.port(room, side), scaled(side, _STUB)
        if (room, side) in self._used:
            x, y = (x, y + _BESIDE_A_LINE) if side[0] else (x + _BESIDE_A_LINE, y)
        return x, y, round(dx, 1), round(dy, 1)

    def _toward(self, room: int, other: int) -> Square:
        """Return the side that faces another room, which is a corner unless they are in line."""
        (x1, y1), (x2, y2) = self.squares[room], self.squares[other]
        return _sign(x2 - x1), _sign(y2 - y1)


def scaled(side: Square, length: float) -> tuple[float, float]:
    shrink = 0.7071 if side[0] and side[1] else 1.0
    return side[0] * length * shrink, side[1] * length * shrink


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)

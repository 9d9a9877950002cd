"""Where the rooms of a map stand: on which level, in which region, and on which square."""

from collections.abc import Iterable, Iterator, Mapping

from zorkgpt.world.layout import Connections, Square, lay_out, nearest_fit

_CLIMBS = {"up": 1, "down": -1}
_UP_AND_DOWN = frozenset(_CLIMBS)


class MapLevels:
    """Levels, regions and squares.

    Rooms that other exits than up and down join are on one level; a level has squares of its own.

    Args:
        known: Room → since when it is known; a number that sorts by time.
    """

    def __init__(self, known: Mapping[int, int], connections: Connections) -> None:
        self._connections = connections
        self.levels: dict[int, int] = {}
        self.squares: dict[int, Square] = {}
        storeys = _joined(sorted(known, key=known.__getitem__), connections)
        self._of_room = {room: storey for storey in storeys for room in storey}
        while waiting := [storey for storey in storeys if storey[0] not in self.levels]:
            anchor, entry, level = next(self._stairs(), (None, waiting[0][0], 0))
            self._place(self._of_room[entry], level, entry, anchor)
        self.regions = regions_of(known, _ways_within(self.levels, connections))

    def _stairs(self) -> Iterator[tuple[int, int, int]]:
        """Yield (room with a level, room without, its level) of the exits up and down between the two."""
        for room, ways in self._connections.items():
            for way in _CLIMBS.keys() & ways.keys():
                to = ways[way]
                if room in self.levels and to not in self.levels:
                    yield room, to, self.levels[room] + _CLIMBS[way]
                elif to in self.levels and room not in self.levels:
                    yield to, room, self.levels[to] - _CLIMBS[way]

    def _place(self, storey: tuple[int, ...], level: int, entry: int, anchor: int | None) -> None:
        """Place the rooms so that their entry is above or below the room that leads there, if there is space."""
        shape = lay_out(storey, _restricted(storey, self._connections))
        taken = {self.squares[room] for room, at in self.levels.items() if at == level}
        column = shape[entry][0] if anchor is None else self.squares[anchor][0]
        dx, dy = nearest_fit(shape.values(), taken, set(), (column - shape[entry][0], 0))
        self.squares |= {room: (x + dx, y + dy) for room, (x, y) in shape.items()}
        self.levels |= dict.fromkeys(storey, level)


def _joined(rooms: Iterable[int], connections: Connections) -> list[tuple[int, ...]]:
    """Return the groups of rooms that exits other than up and down join, in the order of their first rooms."""
    beside: dict[int, list[int]] = {room: [] for room in rooms}
    for room, ways in connections.items():
        for way, to in ways.items():
            if way not in _UP_AND_DOWN:
                beside[room].append(to)
                beside[to].append(room)
    groups: list[tuple[int, ...]] = []
    seen: set[int] = set()
    for first in beside:
        if first not in seen:
            group = dict.fromkeys([first])
            waiting = [first]
            while waiting:
                new = [room for room in beside[waiting.pop()] if room not in group]
                group |= dict.fromkeys(new)
                waiting += new
            seen |= group.keys()
            groups.append(tuple(group))
    return groups


def _restricted(storey: Iterable[int], connections: Connections) -> dict[int, dict[str, int]]:
    rooms = set(storey)
    return {
        room: {way: to for way, to in connections[room].items() if to in rooms and way not in _UP_AND_DOWN}
        for room in rooms & connections.keys()
    }


def _ways_within(levels: Mapping[int, int], connections: Connections) -> set[tuple[int, int]]:
    """Return the pairs of rooms of one level that an exit joins, each once."""
    pairs = {(min(room, to), max(room, to)) for room, ways in connections.items() for to in ways.values()}
    return {(one, other) for one, other in pairs if one != other and levels[one] == levels[other]}


def regions_of(rooms: Iterable[int], pairs: set[tuple[int, int]]) -> dict[int, int]:
    """Return room → region: rooms with more ways among each other than chance would give them.

    Groups are merged, the two that gain the most first, while that raises the modularity: Clauset, Newman and Moore,
    Finding community structure in very large networks, 2004.
    """
    region = {room: room for room in rooms}
    degree = dict.fromkeys(region, 0)
    between: dict[int, dict[int, int]] = {room: {} for room in region}
    for one, other in sorted(pairs):
        for room, to in ((one, other), (other, one)):
            degree[room] += 1
            between[room][to] = 1
    while best := max(_gains(between, degree, len(pairs)), default=None):
        _, kept, gone = best
        region = {room: kept if at == gone else at for room, at in region.items()}
        degree[kept] += degree.pop(gone)
        for neighbour, ways in between.pop(gone).items():
            del between[neighbour][gone]
            if neighbour != kept:
                between[kept][neighbour] = between[neighbour][kept] = between[kept].get(neighbour, 0) + ways
    return region


def _gains(
    between: Mapping[int, Mapping[int, int]], degree: Mapping[int, int], ways: int
) -> Iterator[tuple[float, int, int]]:
    """Yield (gain in modularity, region, other region) for the pairs whose merging raises it."""
    for one, others in between.items():
        for other, shared in others.items():
            gain = shared / ways - degree[one] * degree[other] / (2 * ways * ways)
            if one < other and gain > 1e-9:
                yield gain, one, other

"""Export the map as a picture (SVG) or a graph (GraphML)."""

from collections.abc import Collection, Iterator, Mapping
from html import escape
from textwrap import shorten, wrap

from zorkgpt.world.graph import MapGraph
from zorkgpt.world.layout import BOX, COMPASS, MapLine, PixelLayout, Square, lines_of, scaled
from zorkgpt.world.movement import MoveKind
from zorkgpt.world.routes import DangerousSpot

_STYLE = """
text { font-family: "DejaVu Sans", Verdana, sans-serif; fill: #222; text-anchor: middle }
.room rect { fill: #fffdf6; stroke: #333; stroke-width: 1.5 }
.room.here rect { fill: #ffd75e; stroke-width: 3 }
.room.danger rect { stroke: #b3201f; stroke-width: 3 }
.room text { font-size: 11px } .room .id { font-size: 8px; fill: #777 }
.way { fill: none; stroke: #555; stroke-width: 1.6 }
.way.other { stroke: #3465a4; stroke-dasharray: 5 4 }
.way.danger { stroke: #b3201f; stroke-width: 2.4 }
.way.stub { stroke: #999 } .end { fill: #fff; stroke: #999 }
.label { font-size: 9px; fill: #3465a4; paint-order: stroke; stroke: #f7f4ea; stroke-width: 3px }
.label.danger { fill: #b3201f }
.note { text-anchor: start }
.title { font-size: 12px; text-anchor: start }
"""
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#555"/></marker></defs>'
)
_LEGEND = (
    "Arrow: one way. Dashed: up, down or by a command. Small circle: not tried. "
    "⇢: moved there without walking. Red: danger. Yellow: the player."
)


def draw(
    graph: MapGraph,
    *,
    here: int | None = None,
    dangers: Collection[DangerousSpot] = (),
    untried: Mapping[int, Collection[str]] | None = None,
) -> str:
    """Return the map as SVG.

    Args:
        here: The room to highlight.
        dangers: Rooms and (room, exit) to mark as dangerous.
        untried: Room → exits to show as open ends.
    """
    return _SvgMap(graph, here, set(dangers), untried or {}).svg()


class _SvgMap:
    def __init__(
        self, graph: MapGraph, here: int | None, dangers: set[DangerousSpot], untried: Mapping[int, Collection[str]]
    ) -> None:
        self._graph = graph
        self._here = here
        self._dangers = dangers
        self._dangerous_rooms = {danger[0] if isinstance(danger, tuple) else danger for danger in dangers}
        self._untried = untried
        self._connections = {room: graph.exits(room) for room in graph.rooms}
        self._pixels = PixelLayout(graph.rooms, self._connections)
        self._labels: list[str] = []
        self._notes: dict[int, int] = {}
        """Room → the number of notes below it."""

    def svg(self) -> str:
        width, height = self._pixels.size
        ways = sum(map(len, self._connections.values()))
        lines = [*self._ways(), *self._stubs()]
        self._add_other_moves()
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}">',
                f"<style>{_STYLE}</style>",
                _ARROW,
                '<rect width="100%" height="100%" fill="#f7f4ea"/>',
                f'<text class="title" x="16" y="24">{len(self._graph.rooms)} rooms, {ways} ways. {_LEGEND}</text>',
                *lines,
                *self._rooms(),
                *self._labels,
                "</svg>\n",
            ]
        )

    # Lines

    def _ways(self) -> Iterator[str]:
        for line in lines_of(self._connections):
            ends = {(line.room, line.way), (line.to, line.back), line.room, line.to}
            yield from self._way(line, bool(ends & self._dangers))

    def _way(self, line: MapLine, danger: bool) -> Iterator[str]:
        if line.room == line.to:
            self._add_note(line.room, f"{line.way}: back here", danger)
        elif self._pixels.is_long(line):
            self._add_note(line.room, f"{line.way} → {self._name(line.to)}", danger)
            if line.back:
                self._add_note(line.to, f"{line.back} → {self._name(line.room)}", danger)
        else:
            yield self._line(line, danger)
            leaving, arriving = self._pixels.sides(line)
            if not line.by_compass:
                self._label(line.room, leaving, line.way, danger)
            if line.back and not line.by_compass:
                self._label(line.to, arriving, line.back, danger)

    def _line(self, line: MapLine, danger: bool) -> str:
        kind = "way" if line.by_compass else "way other"
        arrow = "" if line.back else ' marker-end="url(#arrow)"'
        title = _svg_text(f"{self._name(line.room)} {'–' if line.back else '→'} {self._name(line.to)}")
        path = self._pixels.path(line)
        return f'<path class="{kind}{_danger_class(danger)}" d="{path}"{arrow}><title>{title}</title></path>'

    def _stubs(self) -> Iterator[str]:
        for room, names in self._untried.items():
            for name in names if room in self._graph.rooms else ():
                if name in COMPASS:
                    yield self._stub(room, COMPASS[name])
                else:
                    self._add_note(room, f"{name}: not tried", False)

    def _stub(self, room: int, side: Square) -> str:
        x, y, dx, dy = self._pixels.stub(room, side)
        return (
            f'<path class="way stub" d="M{x:g} {y:g} l{dx:.1f} {dy:.1f}"/>'
            f'<circle class="end" cx="{x + dx:.1f}" cy="{y + dy:.1f}" r="3"/>'
        )

    # Boxes and words

    def _rooms(self) -> Iterator[str]:
        for room in self._graph.rooms:
            x, y = self._pixels.centre(room)
            danger = room in self._dangerous_rooms
            here = " here" if room == self._here else ""
            lines = wrap(shorten(self._name(room), 34, placeholder="…"), 17)[:2]
            first = y + 1 - 6.5 * (len(lines) - 1)
            words = "".join(
                f'<text x="{x:g}" y="{first + 13 * number:g}">{_svg_text(line)}</text>'
                for number, line in enumerate(lines)
            )
            yield (
                f'<g class="room{here}{_danger_class(danger)}" id="room-{room}">'
                f'<rect x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
                f"{words}"
                f'<text class="id" x="{x:g}" y="{y + BOX[1] / 2 - 4:g}">{"⚠ " if danger else ""}{room}</text></g>'
            )

    def _add_other_moves(self) -> None:
        for move in self._graph.moves.counts:
            if move.kind is not MoveKind.DIED:
                self._add_note(move.from_id, f"{move.way} ⇢ {self._name(move.to_id)}", False)

    def _add_note(self, room: int, words: str, danger: bool) -> None:
        """Add a line of text below a room."""
        number = self._notes[room] = self._notes.get(room, 0) + 1
        x, y = self._pixels.centre(room)
        self._labels.append(
            f'<text class="label note{_danger_class(danger)}" x="{x + 5:g}" y="{y + BOX[1] / 2 + 10 * number:g}">'
            f"{_svg_text(words, 26)}</text>"
        )

    def _label(self, room: int, side: Square, words: str, danger: bool) -> None:
        """Label a line where it leaves the room."""
        (x, y), (dx, dy) = self._pixels.port(room, side), scaled(side, 12)
        if not side[1]:
            dx, dy = side[0] * 16, -6
        self._labels.append(
            f'<text class="label{_danger_class(danger)}" x="{x + dx:.0f}" y="{y + dy + 3:.0f}">'
            f"{_svg_text(words, 20)}</text>"
        )

    def _name(self, room: int) -> str:
        return self._graph.rooms[room].name or f"Room {room}"


def _svg_text(words: str, limit: int = 80) -> str:
    """Return a text that is printable, shortened and escaped for SVG. Names and actions are untrusted."""
    printable = "".join(char if char.isprintable() else "\ufffd" for char in words)
    return escape(shorten(printable, limit, placeholder="…"))


def _danger_class(danger: bool) -> str:
    return " danger" if danger else ""


_NOT_IN_XML = str.maketrans(dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�"))


def graphml(graph: MapGraph) -> str:
    """Return the map as GraphML: rooms as nodes with their names, connections and other moves as edges.

    A connection has one edge for each destination, with its action, kind, confidence and share of the walks. `times` is
    the number of walks.
    """
    import networkx

    document = networkx.MultiDiGraph()
    for room in graph.rooms.values():
        document.add_node(room.id, name=_text(room.name))
    for room_id, name, connection in graph.connections:
        for end, share in connection.shares.items():
            document.add_edge(
                room_id,
                end,
                action=_text(name),
                kind=str(connection.kind),
                confidence=round(connection.confidence, 4),
                share=round(share, 4),
                times=connection.ends[end],
                pruned=graph.is_pruned(room_id, name),
            )
    for move, times in graph.moves.counts.items():
        document.add_edge(move.from_id, move.to_id, action=_text(move.way), kind=str(move.kind), times=times)
    return "\n".join(networkx.generate_graphml(document)) + "\n"


def _text(words: str) -> str:
    # XML can't represent these characters.
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in words.translate(_NOT_IN_XML))

"""The map as GraphML, for other programs that draw or analyse graphs."""

import networkx as nx

from zorkgpt.world.graph import MapGraph

_NOT_IN_XML = str.maketrans(dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535), "�"))


def graphml(graph: MapGraph) -> str:
    """Rooms as nodes, with their names; ways and other moves as edges.

    A way that chance decides is an edge for each room it ended in. An edge says its action, its kind, how sure it is
    and its share of the walks; `times` is how often it was taken.
    """
    document = nx.MultiDiGraph()
    for room in graph.rooms.values():
        document.add_node(room.id, name=_text(room.name))
    for room_id, name, way in graph.ways():
        for end, share in way.shares.items():
            document.add_edge(
                room_id,
                end,
                action=_text(name),
                kind=str(way.kind),
                confidence=round(way.confidence, 4),
                share=round(share, 4),
                times=way.ends[end],
                pruned=graph.is_pruned(room_id, name),
            )
    for move, times in graph.moves.items():
        document.add_edge(move.from_id, move.to_id, action=_text(move.way), kind=str(move.kind), times=times)
    return "\n".join(nx.generate_graphml(document)) + "\n"


def _text(words: str) -> str:
    # XML has no way to write these characters.
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in words.translate(_NOT_IN_XML))

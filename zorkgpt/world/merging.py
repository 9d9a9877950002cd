"""Merges the maps of several episodes that began with the same one, as if they had been played one after another."""

from collections import Counter
from collections.abc import Iterable

from zorkgpt.world.graph import MapChange, MapGraph
from zorkgpt.world.map_file import map_changes


def merge_maps(base: MapGraph, found: Iterable[MapGraph]) -> MapGraph:
    """Return the map with what each of the others has beyond it, in their order.

    Walks and failures of all of them count. The map is changed in place.
    """
    known = Counter(map_changes(base))
    tried = {(room, action) for room, actions in base.in_vain.items() for action in actions}
    for graph in found:
        base.apply_changes(_news(graph, known, tried))
        base.contains.update(graph.contains)
    base.unsaved.clear()
    return base


def _news(graph: MapGraph, known: Counter[MapChange], tried: set[tuple[int, str]]) -> list[MapChange]:
    """Return what a map has beyond the known changes, in its own order; last the actions that have had an effect."""
    left = Counter(known)
    news: list[MapChange] = []
    for change in map_changes(graph):
        if left[change]:
            left[change] -= 1
        else:
            news.append(change)
    worked = [(room, action) for room, action in sorted(tried) if action not in graph.in_vain.get(room, {})]
    return news + [("add_attempt", (room, action, None, ())) for room, action in worked]

"""What lies ahead by the map and the memory: the ways on, where the player says it is going, the dangers there."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from zorkgpt.memory.models import Category, Memory
from zorkgpt.player import Danger, Exit, KnownPoints, Route
from zorkgpt.world.directions import OPPOSITE, exit_name
from zorkgpt.world.graph import MapGraph

Recall = Callable[[int], Iterable[Memory]]
"""Location → what is remembered of it and still believed."""

_STATED_TURNS = 3
"""A plan counts until the player has given reasons for so many turns without naming a place again."""
# "I'm heading back to the Attic", "GOING TO: Attic"; what follows is compared with the names on the map.
_TOWARD = re.compile(
    r"\b(?:go|going|head|heading|walk|walking|travel|travell?ing|return|returning|get|getting|back|way)\s+to\b"
    r"[:\s\"'`*]*(?:the\s+)?",
    re.IGNORECASE,
)


def exits_of(graph: MapGraph, here: int | None) -> tuple[Exit, ...]:
    """The ways out of a place: those that were walked, the surest first, then those that it is said to have."""
    if here is None:
        return ()
    deadly = {way for room, way in graph.deadly if room == here}
    walked = [_walked(graph, here, way, to, way in deadly) for way, to in graph.exits(here).items()]
    walked.sort(key=lambda known: -(known.confidence or 0))
    untried = graph.untried(here)
    came_from = _came_from(graph, here) if untried else {}
    return (*walked, *(Exit(way, deadly=way in deadly, came_from=came_from.get(way, ())) for way in untried))


def deadly_actions(graph: MapGraph, here: int | None, exits: Iterable[Exit]) -> tuple[str, ...]:
    """What the player has died of here, but for the exits, which say so themselves."""
    ways = {known.way for known in exits}
    return tuple(sorted(way for room, way in graph.deadly if room == here and way not in ways))


def route_to(graph: MapGraph, here: int | None, destination: int | None) -> Route | None:
    """None: there is nowhere to go, or no way there is known."""
    if here is None or destination is None or here == destination:
        return None
    ways = graph.route(here, destination)
    return Route(_name(graph, destination), destination, tuple(ways)) if ways else None


def stated_destination(
    graph: MapGraph, here: int | None, reasons: Sequence[str], places: Sequence[str] = ()
) -> int | None:
    """The place that the player's last reasons say it is going to, the latest reasons last.

    Of several places of one name the nearest; None once the player is there, or was there since it said so.

    Args:
        places: the names of those at which the reasons were given.
    """
    names: set[str] = set()
    for ago, text in enumerate(reversed(reasons[-_STATED_TURNS:])):
        text = " ".join(text.split())
        if not _TOWARD.search(text):
            continue
        names = names or {room.name.casefold() for room in graph.rooms.values() if room.name}
        name = _stated(text, names)
        if name is not None:
            if ago and name in (place.casefold() for place in places[-ago:]):
                return None
            reached = graph.routes(here) if here is not None else {}
            found = (room for room in reached if graph.rooms[room].name.casefold() == name)
            nearest = next(found, None)
            return nearest if nearest != here else None
    return None


def dangers_ahead(graph: MapGraph, here: int | None, recall: Recall, route: Route | None) -> Iterator[Danger]:
    """What is remembered as dangerous of the places one way from here, then of those further on along the route."""
    on_route = _along(graph, here, route)
    ways = reversed(graph.exits(here)) if here is not None else ()
    # Where chance decides, all places that the way has led to. Several ways may lead to the same place: the one of the
    # route is named, else the first.
    near = {to: (way, 1) for way in ways for to in graph.shares(here, way) if to != here}
    for room, (way, steps) in {**near, **on_route}.items():
        for memory in recall(room):
            if memory.category == Category.DANGER:
                yield Danger(way, _name(graph, room), room, memory, steps, room in on_route)


def known_points(
    graph: MapGraph, here: int | None, recall: Recall, scored: Mapping[int, Collection[str]]
) -> tuple[KnownPoints, ...]:
    """What is remembered to have scored anywhere, the nearest first, what no way is known to last.

    Args:
        scored: location → actions that have scored there in this episode.
    """
    routes = graph.routes(here) if here is not None else {}
    done = {(room, exit_name(action)) for room, actions in scored.items() for action in actions}
    found: list[KnownPoints] = []
    for room in (*routes, *(room for room in graph.rooms if room not in routes)):
        for memory in recall(room):
            if memory.action and (memory.score_change or 0) > 0 and (room, exit_name(memory.action)) not in done:
                ways = tuple(routes[room]) if room in routes else None
                name = _name(graph, room)
                found.append(KnownPoints(memory.action, memory.score_change, name, room, memory, ways))
    return tuple(found)


def _along(graph: MapGraph, here: int | None, route: Route | None) -> dict[int, tuple[str, int]]:
    """The places of the route → its first way, and how many ways they are off."""
    places: dict[int, tuple[str, int]] = {}
    room = here
    for steps, way in enumerate(route.ways if route else (), 1):
        room = graph.leads_to(room, way)
        if room is None:
            break
        places.setdefault(room, (route.ways[0], steps))
    return places


def _came_from(graph: MapGraph, here: int) -> dict[str, tuple[str, ...]]:
    """Way → the places from which its opposite has led here."""
    found: dict[str, dict[str, None]] = {}
    for room, name, known in graph.ways():
        if here in known.ends and name in OPPOSITE and known.leads_to == here:
            found.setdefault(OPPOSITE[name], {})[_name(graph, room)] = None
    return {way: tuple(places) for way, places in found.items()}


def _walked(graph: MapGraph, here: int, way: str, to: int, deadly: bool) -> Exit:
    shares = graph.shares(here, way)
    ends = tuple((_name(graph, room), share) for room, share in shares.items()) if len(shares) > 1 else ()
    return Exit(way, _name(graph, to), to, graph.confidence(here, way), ends, deadly)


def _stated(text: str, names: set[str]) -> str | None:
    """The name that follows the last word of going; the longest of those that do."""
    for match in reversed(list(_TOWARD.finditer(text))):
        rest = text[match.end() :].casefold()
        if name := max((name for name in names if _begins_with(rest, name)), key=len, default=None):
            return name
    return None


def _begins_with(rest: str, name: str) -> bool:
    # The article before a place is passed over, also where it is part of the name.
    bare = name.removeprefix("the ")
    return rest.startswith(bare) and not rest[len(bare) : len(bare) + 1].isalnum()


def _name(graph: MapGraph, room: int) -> str:
    return (graph.rooms[room].name if room in graph.rooms else "") or f"location {room}"

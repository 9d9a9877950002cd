"""The surroundings by the map and the memory: exits, the player's destination and route, dangers and known points."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from zorkgpt.memory.credit.assignment import is_danger
from zorkgpt.memory.retrieval import Recall
from zorkgpt.player import Danger, Exit, KnownPoints, NoRoute, Route, UntriedWays
from zorkgpt.world.directions import OPPOSITE, exit_name
from zorkgpt.world.graph import MapGraph, compass_order
from zorkgpt.world.movement import MoveKind

_NAMED = re.compile(r"GOING TO:[\s\"'`*]*(.+?)[\s\"'`*.]*(?:\n|[.;,(]|$)")
_NUMBER = re.compile(r"[\s\"'`*]*\(location (\d+)\)")
_STATED_TURNS = 3
"""The number of turns after which a stated destination expires unless it is named again."""
# "I'm heading back to the Attic", "GOING TO: Attic"; what follows is compared with the names on the map.
_TOWARD = re.compile(
    r"\b(?:go|going|head|heading|walk|walking|travel|travell?ing|return|returning|get|getting|back|way)\s+to\b"
    r"[:\s\"'`*]*(?:the\s+)?",
    re.IGNORECASE,
)


def exits_of(graph: MapGraph, here: int | None) -> tuple[Exit, ...]:
    """Return the exits of a place: those that were walked, the surest first, then the others.

    The others are those that a text names and those that may lead back to where the player came from; of both, those
    that were not tried come first. One that led nowhere is still an exit: what closed it may have changed.
    """
    if here is None:
        return ()
    deadly = {way for room, way in graph.deadly if room == here}
    connections = graph.connections.get(here, {})
    walked = [_walked(graph, here, way, to, way in deadly) for way, to in connections.items()]
    walked.sort(key=lambda known: (known.failed is not None, -(known.confidence or 0)))
    came_from, carried = _came_from(graph, here), _carried_off(graph, here)
    named = graph.rooms[here].exits if here in graph.rooms else set()
    others = [
        Exit(
            way,
            deadly=way in deadly,
            came_from=came_from.get(way, ()),
            failed=_last_failure(graph, here, way),
            carried_to=tuple(graph.label(room) for room in sorted(carried.get(way, ()))),
        )
        for way in sorted({*named, *came_from, *carried} - connections.keys(), key=compass_order)
    ]
    return (*walked, *sorted(others, key=lambda known: known.failed is not None))


def deadly_actions(graph: MapGraph, here: int | None, exits: Iterable[Exit]) -> tuple[str, ...]:
    """Return the actions that the player has died of here, other than taking an exit: exits say so themselves."""
    ways = {known.way for known in exits}
    return tuple(sorted(way for room, way in graph.deadly if room == here and way not in ways))


def route_to(graph: MapGraph, here: int | None, destination: int | None) -> Route | None:
    """Return the route to the destination; None if there is none, or no way to it is known."""
    if here is None or destination is None or here == destination:
        return None
    ways = graph.route(here, destination)
    return Route(graph.label(destination), destination, tuple(ways)) if ways else None


def stated_destination(
    graph: MapGraph, here: int | None, reasons: Sequence[str], places: Sequence[str] = ()
) -> int | None:
    """Return the location that the player's last reasons say it is going to.

    Of several locations of one name it is the nearest. None if the player is there, or was there since it said so.

    Args:
        reasons: The reasons of the last turns, oldest first.
        places: The names of the locations at which they were given.
    """
    names: set[str] = set()
    for ago, text in enumerate(reversed(reasons[-_STATED_TURNS:])):
        text = " ".join(text.split())
        if not _TOWARD.search(text):
            continue
        names = names or {room.name.casefold() for room in graph.rooms.values() if room.name}
        name, number = _stated(text, names)
        if name is not None:
            if ago and name in (place.casefold() for place in places[-ago:]):
                return None
            reached = graph.routes(here) if here is not None else {}
            found = (room for room in reached if graph.rooms[room].name.casefold() == name and number in (None, room))
            nearest = next(found, None)
            return nearest if nearest != here else None
    return None


def no_route(graph: MapGraph, here: int | None, reasons: str) -> NoRoute | None:
    """Return the place after "GOING TO:" in the last reasons, if the map knows no route to it.

    None if no place is named there, or the player is at a place of that name.
    """
    named = _NAMED.findall(reasons)
    if not named or here is None:
        return None
    name = named[-1].casefold().removeprefix("the ")
    places = [room for room in graph.rooms if graph.rooms[room].name.casefold().removeprefix("the ") == name]
    reached = graph.routes(here)
    if here in places or any(room in reached for room in places):
        return None
    back = _routes_with_ways_back(graph, here)
    ways = next((back[room] for room in back if room in places), ())
    return NoRoute(graph.rooms[places[0]].name if places else named[-1], bool(places), ways)


def untried_elsewhere(graph: MapGraph, here: int | None) -> tuple[UntriedWays, ...]:
    """Return the untried exits of the other places, the nearest first; those without a known route come last."""
    if here is None:
        return ()
    routes = {room: tuple(ways) for room, ways in graph.routes(here).items()}
    unproven = {room: ways for room, ways in _routes_with_ways_back(graph, here).items() if room not in routes}
    return tuple(
        UntriedWays(untried, graph.label(room), room, ways, unproven=room in unproven)
        for room, ways in {**routes, **unproven}.items()
        if room != here and (untried := graph.untried(room))
    )


def dangers_ahead(graph: MapGraph, here: int | None, recall: Recall, route: Route | None) -> Iterator[Danger]:
    """Yield the remembered dangers of the places one way from here, then of those further along the route."""
    if here is None:
        return
    on_route = _along(graph, here, route)
    ways = reversed(graph.exits(here))
    # Where chance decides, a way counts for all places that it has led to. If several ways lead to the same place, the
    # one of the route is named, or else the first.
    connections = [(way, known) for way in ways if (known := graph.connection(here, way))]
    near = {to: (way, 1) for way, known in connections for to in known.shares if to != here}
    for room, (way, steps) in {**near, **on_route}.items():
        for memory in recall(room):
            if is_danger(memory):
                yield Danger(way, graph.label(room), room, memory, steps, room in on_route)


def known_points(
    graph: MapGraph, here: int | None, recall: Recall, scored: Mapping[int, Collection[str]]
) -> tuple[KnownPoints, ...]:
    """Return the actions that are remembered to have scored anywhere, the nearest first, those without a route last.

    Args:
        scored: The actions that have scored in this episode, by location; they are left out.
    """
    routes = graph.routes(here) if here is not None else {}
    back = _routes_with_ways_back(graph, here) if here is not None else {}
    done = {(room, exit_name(action)) for room, actions in scored.items() for action in actions}
    found: list[KnownPoints] = []
    for room in dict.fromkeys((*routes, *back, *graph.rooms)):
        for memory in recall(room):
            points = memory.score_change or 0
            if memory.action and points > 0 and (room, exit_name(memory.action)) not in done:
                ways = tuple(routes[room]) if room in routes else None
                unproven = back.get(room, ()) if ways is None else ()
                found.append(KnownPoints(memory.action, points, graph.label(room), room, memory, ways, unproven))
    return tuple(found)


def _along(graph: MapGraph, here: int, route: Route | None) -> dict[int, tuple[str, int]]:
    """Return, for each place on the route, the route's first way and the number of ways to the place."""
    places: dict[int, tuple[str, int]] = {}
    ways = route.ways if route else ()
    room: int | None = here
    for steps, way in enumerate(ways, 1):
        room = graph.leads_to(room, way) if room is not None else None
        if room is None:
            break
        places.setdefault(room, (ways[0], steps))
    return places


def _carried_off(graph: MapGraph, here: int) -> dict[str, set[int]]:
    """Return, for each action, the rooms to which something carried the player off when it was taken here."""
    rooms: dict[str, set[int]] = {}
    for move in graph.moves:
        if move.from_id == here and move.kind is MoveKind.CARRIED:
            rooms.setdefault(move.way, set()).add(move.to_id)
    return rooms


def _came_from(graph: MapGraph, here: int) -> dict[str, tuple[str, ...]]:
    """Return, for each way, the places from which its opposite has led here."""
    found: dict[str, dict[str, None]] = {}
    for room, name, known in graph.all_connections():
        if here in known.ends and name in OPPOSITE and known.leads_to == here:
            found.setdefault(OPPOSITE[name], {})[graph.label(room)] = None
    return {way: tuple(places) for way, places in found.items()}


def _walked(graph: MapGraph, here: int, way: str, to: int, deadly: bool) -> Exit:
    known = graph.connection(here, way)
    assert known is not None
    shares = known.shares
    return Exit(
        way,
        graph.label(to),
        to,
        known.confidence,
        tuple((graph.label(room), share) for room, share in shares.items()) if len(shares) > 1 else (),
        deadly,
        failures=known.contradictions,
        tries=known.walks + known.contradictions,
        opened_by=graph.opened_by.get(here, {}).get(way, ()),
        failed=_last_failure(graph, here, way),
    )


def _last_failure(graph: MapGraph, here: int, way: str) -> str | None:
    return graph.in_vain.get(here, {}).get(way, "") if graph.has_failed(here, way) else None


def _routes_with_ways_back(graph: MapGraph, here: int) -> dict[int, tuple[str, ...]]:
    """Return room → ways, the fewest first, where every connection may also be taken back by the opposite exit."""
    edges: dict[int, dict[str, int]] = {room: dict(graph.exits(room)) for room in graph.rooms}
    for room, name, known in graph.all_connections():
        back = OPPOSITE.get(name)
        if back and graph.connection(known.leads_to, back) is None and not graph.has_failed(known.leads_to, back):
            edges[known.leads_to].setdefault(back, room)
    found: dict[int, tuple[str, ...]] = {here: ()}
    # Rooms are added while the loop goes on, so that it visits them by their distance.
    for room in (queue := [here]):
        for way, to in edges.get(room, {}).items():
            if to not in found:
                found[to] = (*found[room], way)
                queue.append(to)
    return found


def _stated(text: str, names: set[str]) -> tuple[str | None, int | None]:
    """Return the name that follows the last phrase of going somewhere, and the number of the location after it.

    If several names fit it is the longest.
    """
    for match in reversed(list(_TOWARD.finditer(text))):
        rest = text[match.end() :].casefold()
        if name := max((name for name in names if _begins_with(rest, name)), key=len, default=None):
            number = _NUMBER.match(rest[len(name.removeprefix("the ")) :])
            return name, int(number[1]) if number else None
    return None, None


def _begins_with(rest: str, name: str) -> bool:
    # The pattern has consumed an article, even if it is part of the name.
    bare = name.removeprefix("the ")
    return rest.startswith(bare) and not rest[len(bare) : len(bare) + 1].isalnum()

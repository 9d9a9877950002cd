"""Exits, the player's destination and route, dangers, and known points, from the map and the memory."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from zorkgpt.directions import exit_name
from zorkgpt.memory.credit import is_danger
from zorkgpt.memory.retrieval import Recall
from zorkgpt.player import Danger, Exit, KnownPoints, NoRoute, Route, UntriedWays
from zorkgpt.prompts.render import cut
from zorkgpt.record.experience import Place
from zorkgpt.world.graph import MapGraph, compass_order
from zorkgpt.world.movement import MoveKind
from zorkgpt.world.tries import PlaceTries

# "GOING TO: Attic (location 4)"
_DESTINATION = re.compile(r"GOING TO:[\s\"'`*]*(.+)")
_NAME = re.compile(r"(.+?)[\s\"'`*.]*(?:[.;,(]|$)")
_NUMBER = re.compile(r"[\s\"'`*]*\(location (\d+)\)")
_MOST_RESPONSE_CHARACTERS = 120
"""Characters that are shown of the game's response at an exit that failed."""
_STATED_TURNS = 10
"""A stated destination expires after this many turns unless it is named again."""


def exits_of(graph: MapGraph, here: int | None, tries: PlaceTries) -> tuple[Exit, ...]:
    """Return the exits of a place: first the walked ones by confidence, then unproven ways back, then those in texts.

    Failed exits come last in each group. They are included because whatever closed them may have changed.
    """
    if here is None:
        return ()
    deadly = graph.moves.actions(here, MoveKind.DIED)
    connections = graph.connections.of(here)
    walked = [_walked(graph, here, way, tries, way in deadly) for way in connections]
    walked.sort(key=lambda each: (each.failed is not None, -(each.confidence or 0)))
    back, carried = graph.ways_back(here), graph.moves.carried_off(here)
    named = graph.rooms[here].exits if here in graph.rooms else set()
    others = [
        Exit(
            way,
            graph.label(back[way]) if way in back else None,
            back.get(way),
            unproven=way in back,
            closed_door=graph.doors.closed_on(here, way),
            deadly=way in deadly,
            failed=_last_failure(graph, here, way, tries),
            carried_to=tuple(graph.label(room) for room in sorted(carried.get(way, ()))),
        )
        for way in sorted({*named, *back, *carried} - connections.keys(), key=compass_order)
    ]
    return (*walked, *sorted(others, key=lambda each: (each.failed is not None, not each.unproven)))


def deadly_actions(graph: MapGraph, here: int | None, exits: Iterable[Exit]) -> tuple[str, ...]:
    """Return the actions that killed the player here, except exits, which are marked as deadly themselves."""
    if here is None:
        return ()
    return tuple(sorted(graph.moves.actions(here, MoveKind.DIED) - {each.way for each in exits}))


def route_to(graph: MapGraph, here: int | None, destination: int | None) -> Route | None:
    """Return the route to the destination; None without a destination or a known route."""
    if here is None or destination is None or here == destination:
        return None
    ways = graph.route(here, destination)
    return Route(graph.label(destination), destination, graph.steps(here, ways)) if ways else None


def stated_destination(
    graph: MapGraph, here: int | None, reasons: Sequence[str], places: Sequence[str] = ()
) -> int | NoRoute | None:
    """Return the location after "GOING TO:" in the player's last reasons.

    Args:
        reasons: The reasons of the last turns, oldest first.
        places: The names of the locations of these turns.

    Returns:
        The nearest location of this name, or `NoRoute` if no route to it is known. None if no destination was stated
        recently, or the player has been there since.
    """
    for ago, text in enumerate(reversed(reasons[-_STATED_TURNS:])):
        if stated := _DESTINATION.findall(text):
            name, rooms = rooms_called(graph, stated[-1])
            if here is None or (ago and name.casefold() in (place.casefold() for place in places[-ago:])):
                return None
            nearest = next((room for room in graph.routes(here) if room in rooms), None)
            if nearest == here:
                return None
            return nearest or NoRoute(next(iter(rooms.values()), name), bool(rooms))
    return None


def rooms_called(graph: MapGraph, text: str) -> tuple[str, dict[int, str]]:
    """Return the place name at the start of a text, and the names of the rooms with that name by number.

    A number after the name, as in `Attic (location 4)`, selects one of them.
    """
    name, number = _stated(text, {room.name.casefold() for room in graph.rooms.values() if room.name})
    return name, {
        room.id: room.name
        for room in graph.rooms.values()
        if room.name.casefold() == name.casefold() and number in (None, room.id)
    }


def untried_elsewhere(
    graph: MapGraph, here: int | None, things: Mapping[Place, tuple[str, ...]]
) -> tuple[UntriedWays, ...]:
    """Return the untried exits and things of other reachable places, the nearest first.

    Args:
        things: The untried things by place.
    """
    if here is None:
        return ()
    places: list[UntriedWays] = []
    for room, ways in graph.routes(here).items():
        exits, there = graph.untried(room), things.get(room, ())
        if room != here and (exits or there):
            places.append(UntriedWays(exits, graph.label(room), room, graph.steps(here, ways), there))
    return tuple(places)


def dangers_ahead(graph: MapGraph, here: int | None, recall: Recall, route: Route | None) -> Iterator[Danger]:
    """Yield the remembered dangers of the neighboring places, then of those on the route."""
    if here is None:
        return
    on_route = _along(route)
    ways = reversed(graph.exits(here))
    # A way with several destinations counts for all of them. If several ways lead to the same place, the one of the
    # route is named, or else the first.
    connections = [(way, connection) for way in ways if (connection := graph.connections.get(here, way))]
    near = {to: (way, 1) for way, to in graph.ways_back(here).items()}
    near |= {to: (way, 1) for way, connection in connections for to in connection.shares if to != here}
    for room, (way, steps) in {**near, **on_route}.items():
        for memory in recall(room):
            if is_danger(memory):
                yield Danger(way, graph.label(room), room, memory, steps, room in on_route)


def known_points(
    graph: MapGraph, here: int | None, recall: Recall, scored: Collection[tuple[Place, str]]
) -> tuple[KnownPoints, ...]:
    """Return the remembered actions that scored, the nearest first, those without a route last.

    Args:
        scored: The locations and actions that scored in this episode. They are left out.
    """
    routes = graph.routes(here) if here is not None else {}
    known: list[KnownPoints] = []
    for room in dict.fromkeys((*routes, *graph.rooms)):
        for memory in recall(room):
            points = memory.score_change or 0
            if memory.action and points > 0 and (room, exit_name(memory.action)) not in scored:
                steps = graph.steps(here, routes[room]) if here is not None and room in routes else None
                known.append(KnownPoints(memory.action, points, graph.label(room), room, memory, steps))
    return tuple(known)


def _along(route: Route | None) -> dict[int, tuple[str, int]]:
    """Return, for each place on the route, the route's first way and the number of ways to the place."""
    places: dict[int, tuple[str, int]] = {}
    steps = route.steps if route else ()
    for number, step in enumerate(steps, 1):
        places.setdefault(step.leads_to, (steps[0].way, number))
    return places


def _walked(graph: MapGraph, here: int, way: str, tries: PlaceTries, deadly: bool) -> Exit:
    connection = graph.connections.get(here, way)
    assert connection is not None
    shares, to = connection.shares, connection.leads_to
    return Exit(
        way,
        graph.label(to),
        to,
        connection.confidence,
        tuple((graph.label(room), share) for room, share in shares.items()) if len(shares) > 1 else (),
        deadly,
        failures=connection.contradictions,
        tries=connection.walks + connection.contradictions,
        opened_by=tries.opened_by.get(way, ()),
        failed=_last_failure(graph, here, way, tries),
        closed_door=graph.doors.closed_on(here, way),
    )


def _last_failure(graph: MapGraph, here: int, way: str, tries: PlaceTries) -> str | None:
    return cut(tries.failed.get(way, ""), _MOST_RESPONSE_CHARACTERS) if graph.has_failed(here, way) else None


def _stated(text: str, names: set[str]) -> tuple[str, int | None]:
    """Return the place name at the start of a text, and the location number after it; None without a number.

    The longest matching name is preferred. If none matches, the first words are returned.
    """
    rest = text.casefold().removeprefix("the ")
    if name := max((name for name in names if _begins_with(rest, name)), key=len, default=None):
        number = _NUMBER.match(rest[len(name.removeprefix("the ")) :])
        return name, int(number[1]) if number else None
    match = _NAME.match(text)
    return match[1] if match else text, None


def _begins_with(rest: str, name: str) -> bool:
    bare = name.removeprefix("the ")
    return rest.startswith(bare) and not rest[len(bare) : len(bare) + 1].isalnum()

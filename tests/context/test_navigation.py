"""Tests of exits, destinations, and dangers on the route."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Location, Observation
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from tests.fixtures.walks import walk
from tests.fixtures.walkthrough import BUNDLED_SEED, get_bundled_walkthrough
from zorkgpt.context.navigation import (
    dangers_ahead,
    deadly_actions,
    exits_of,
    known_points,
    route_to,
    stated_destination,
    untried_elsewhere,
)
from zorkgpt.context.view import PlayerView
from zorkgpt.memory.models import Memory
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import Danger, Exit, NoRoute, Route, UntriedWays
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind, move_of
from zorkgpt.world.routes import RouteStep
from zorkgpt.world.tries import PlaceTries


@pytest.fixture
def graph() -> MapGraph:
    graph = MapGraph()
    names = {1: "Hall", 2: "Cellar", 3: "Deep Cellar", 4: "Attic", 5: "Forest", 6: "Forest", 7: "Island"}
    for room, name in names.items():
        graph.add_room(room, name)
    return walk(graph, "1 down 2", "2 down 3", "1 up 4", "4 north 5", "5 north 6")


@pytest.mark.parametrize(
    ("reasons", "place"),
    [
        (["GOING TO: Attic"], 4),
        (["GOING TO: **Attic**"], 4),
        (["I could go to the Cellar, but no: GOING TO: the Attic, with the lamp. Then back to the Cellar."], 4),
        (["GOING TO: Attic", "It is dark on the stairs."], 4),
        (["GOING TO: Attic", "Better: GOING TO: Cellar"], 2),
        (["GOING TO: Attic", *"abcdefghi"], 4),
        (["GOING TO: Attic", *"abcdefghij"], None),
        (["GOING TO: Forest"], 5),
        (["GOING TO: Forest (location 6)"], 6),
        (['GOING TO: "Forest" (location 5).'], 5),
        (["GOING TO: Hall"], None),
        (["GOING TO: The Island."], NoRoute("Island", True)),
        (["GOING TO: **Shangri-La**", "It must exist."], NoRoute("Shangri-La", False)),
        (["GOING TO: Atticus"], NoRoute("Atticus", False)),
        (["I was in the Attic. I head back to the cellar."], None),
        ([], None),
    ],
)
def test_last_stated_destination(graph, reasons, place):
    assert stated_destination(graph, 1, reasons) == place


@pytest.mark.parametrize(
    ("places", "place"), [(["Hall", "Cellar"], 4), (["Hall", "Attic"], None), (["Attic", "Hall"], 4), (["Hall"], 4)]
)
def test_reached_destination_is_dropped(graph, places, place):
    reasons = ["GOING TO: Attic", "What else is there?"][: len(places)]
    assert stated_destination(graph, 1, reasons, places) == place


@pytest.mark.parametrize("name", ["GOING TO: The Round Room", "GOING TO: Round Room"])
def test_article_of_a_place_name_is_optional(graph, name):
    graph.add_room(8, "The Round Room")
    graph.add_move(Move(1, "west", 8))
    assert stated_destination(graph, 1, ["GOING TO: Attic", name]) == 8


def test_stated_destination_wins_over_objectives(graph):
    class ToTheCellar:
        def lines(self):
            return ()

        def destination(self):
            return 2

    view = PlayerView(graph=graph, goals=ToTheCellar())

    def composed(reasons):
        recent = [RecentTurn(1, "Hall", "look", "A hall.", reasons)]
        now = Observation(Location(1, "Hall"), (), (), (), None, None)
        return view.compose(now, "", (), state=GameState(), config=GameConfiguration(), recent=recent)

    assert [composed(reason).route.place for reason in ("", "GOING TO: Attic")] == ["Cellar", "Attic"]
    nowhere = composed("GOING TO: Island")
    assert (nowhere.route, nowhere.no_route) == (None, NoRoute("Island", True))


def test_untried_exits_elsewhere_have_routes_nearest_first(graph):
    for room, way in ((6, "east"), (6, "south"), (3, "west"), (1, "in"), (7, "south")):
        graph.add_exit(room, way)
    assert untried_elsewhere(graph, 1, {}) == (
        UntriedWays(("west",), "Deep Cellar", 3, (RouteStep("down", 2), RouteStep("down", 3))),
        UntriedWays(
            ("east",), "Forest (location 6)", 6, (RouteStep("up", 4), RouteStep("north", 5), RouteStep("north", 6))
        ),
    )
    assert untried_elsewhere(graph, None, {}) == ()


def test_untried_things_elsewhere_are_listed(graph):
    rope = UntriedWays((), "Cellar", 2, (RouteStep("down", 2),), ("rope",))
    assert untried_elsewhere(graph, 1, {1: ("lamp",), 2: ("rope",), 7: ("boat",)}) == (rope,)


def test_routes_mark_unproven_ways_back(graph):
    graph.add_exit(1, "in")
    back = (RouteStep("up", 2, unproven=True), RouteStep("up", 1, unproven=True))
    assert untried_elsewhere(graph, 3, {}) == (UntriedWays(("in",), "Hall", 1, back),)
    memory = Memory("SUCCESS", "Ring", 1, "1", 5, "It scored.", "permanent", action="ring bell")
    found = known_points(graph, 3, lambda room: [memory] if room in (1, 7) else (), set())
    assert [(route.location_id, route.steps) for route in found] == [(1, back), (7, None)]


def test_route_follows_the_map(graph):
    assert route_to(graph, 1, 3) == Route("Deep Cellar", 3, (RouteStep("down", 2), RouteStep("down", 3)))
    assert [step.way for step in route_to(graph, 1, 3).steps] == ["down", "down"]
    assert [route_to(graph, 1, place) for place in (1, 7, None)] == [None] * 3
    assert route_to(graph, None, 3) is None


def test_exits_show_destination_confidence_and_chances(graph):
    walk(graph, "1 down 2", "1 down 4")
    graph.add_exit(1, "west")
    graph.add_move(Move(1, "west", 1, MoveKind.DIED))
    graph.add_move(Move(1, "eat rat", 1, MoveKind.DIED))
    found = exits_of(graph, 1, PlaceTries())
    assert found == (
        Exit("up", "Attic", 4, 2 / 3, tries=1),
        Exit("down", "Cellar", 2, 3 / 5, (("Cellar", 2 / 3), ("Attic", 1 / 3)), failures=1, tries=3),
        Exit("west", deadly=True),
    )
    assert deadly_actions(graph, 1, found) == ("eat rat",)
    assert exits_of(graph, None, PlaceTries()) == ()


def test_way_back_is_listed_even_if_unnamed(graph):
    graph.add_exit(2, "east")
    assert exits_of(graph, 2, PlaceTries())[1:] == (Exit("up", "Hall", 1, unproven=True), Exit("east"))


def test_failed_exit_is_listed_with_its_response(graph):
    graph.add_exit(1, "west")
    for way in ("west", "down"):
        graph.add_failure(1, way)
    tries = PlaceTries(failed=dict.fromkeys(("west", "down"), "It is shut."), opened_by={"down": ("open hatch",)})
    up, down, west = exits_of(graph, 1, tries)
    assert (up.failed, down.failed, west.failed) == (None, "It is shut.", "It is shut.")
    assert (west.way, down.leads_to, down.opened_by) == ("west", "Cellar", ("open hatch",))


def test_involuntary_destination_is_not_listed(graph):
    graph.add_exit(1, "west")
    graph.add_move(Move(1, "west", 7, MoveKind.CARRIED))
    assert exits_of(graph, 1, PlaceTries())[-1] == Exit("west", carried_to=("Island",))
    assert 7 not in graph.routes(1)


def test_places_with_the_same_name_are_distinguished(graph):
    assert route_to(graph, 1, 6).place == "Forest (location 6)"
    assert exits_of(graph, 4, PlaceTries())[0].leads_to == "Forest (location 5)"


def test_dangers_on_the_route_follow_those_nearby(graph):
    kept = {room: [Memory("DANGER", f"Rat {room}", 1, "1", 0, "It bites.", "core")] for room in range(1, 7)}
    ahead = list(dangers_ahead(graph, 1, kept.__getitem__, route_to(graph, 1, 3)))
    assert ahead == [
        Danger("up", "Attic", 4, kept[4][0], 1, False),
        Danger("down", "Cellar", 2, kept[2][0], 1, True),
        Danger("down", "Deep Cellar", 3, kept[3][0], 2, True),
    ]
    assert {danger.location_id for danger in dangers_ahead(graph, 1, kept.__getitem__, None)} == {2, 4}
    # The way back counts before it was walked.
    assert list(dangers_ahead(graph, 3, kept.__getitem__, None)) == [Danger("up", "Cellar", 2, kept[2][0], 1, False)]


def test_dangers_of_all_random_destinations_are_shown(graph):
    walk(graph, "1 down 4", "1 down 7")
    kept = {7: [Memory("DANGER", "Shark", 1, "1", 0, "It bites.", "core")]}
    ahead = list(dangers_ahead(graph, 1, lambda room: kept.get(room, ()), None))
    assert ahead == [Danger("down", "Island", 7, kept[7][0], 1, False)]


@pytest.mark.slow
def test_every_place_of_a_walkthrough_can_be_a_destination(bundled_story):
    graph = MapGraph()
    with JerichoInterface(bundled_story, seed=BUNDLED_SEED) as game:
        game.reset()
        start = game.observe().location
        graph.add_room(start.num, start.name)
        for command in get_bundled_walkthrough():
            step = game.act(command)
            if step.after.location:
                graph.add_room(step.after.location.num, step.after.location.name)
            if move := move_of(step):
                graph.add_move(move)
    for room in graph.routes(start.num):
        if graph.rooms[room].name != start.name:
            found = stated_destination(graph, start.num, [f"GOING TO: {graph.rooms[room].name}."])
            assert graph.rooms[found].name == graph.rooms[room].name

"""What lies ahead: the ways on, where the player says it is going, and the dangers on that route."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.walkthrough import BUNDLED_SEED, get_bundled_walkthrough
from zorkgpt.context.navigation import (
    dangers_ahead,
    deadly_actions,
    exits_of,
    known_points,
    no_route,
    route_to,
    stated_destination,
    untried_elsewhere,
)
from zorkgpt.memory.models import Memory
from zorkgpt.player import Danger, Exit, NoRoute, Route, UntriedWays
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.movement import Move, MoveKind, move_of


@pytest.fixture
def graph() -> MapGraph:
    graph = MapGraph()
    names = {1: "Hall", 2: "Cellar", 3: "Deep Cellar", 4: "Attic", 5: "Forest", 6: "Forest", 7: "Island"}
    for room, name in names.items():
        graph.add_room(room, name)
    for start, way, end in ((1, "down", 2), (2, "down", 3), (1, "up", 4), (4, "north", 5), (5, "north", 6)):
        graph.add_connection(start, way, end)
    return graph


@pytest.mark.parametrize(
    ("reasons", "place"),
    [
        (["GOING TO: Attic"], 4),
        (["GOING TO: **Attic**"], 4),
        (["Nothing here. I'll head back to the cellar."], 2),
        (["I am going to the Deep\nCellar with the lamp."], 3),
        (["I could go to the Cellar, but no: GOING TO: Attic"], 4),
        (["GOING TO: Attic", "It is dark on the stairs."], 4),
        (["GOING TO: Attic", "Better: GOING TO: Cellar"], 2),
        (["GOING TO: Attic", "x", "y", "z"], None),
        (["GOING TO: Forest"], 5),
        (["GOING TO: Island"], None),
        (["GOING TO: Hall"], None),
        (["GOING TO: Atticus"], None),
        (["I was in the Attic. The Cellar was dark."], None),
        ([], None),
    ],
)
def test_the_last_stated_destination(graph, reasons, place):
    assert stated_destination(graph, 1, reasons) == place


@pytest.mark.parametrize(
    ("places", "place"), [(["Hall", "Cellar"], 4), (["Hall", "Attic"], None), (["Attic", "Hall"], 4), (["Hall"], 4)]
)
def test_a_destination_that_was_reached_is_none_any_more(graph, places, place):
    reasons = ["GOING TO: Attic", "What else is there?"][: len(places)]
    assert stated_destination(graph, 1, reasons, places) == place


@pytest.mark.parametrize("said", ["GOING TO: The Round Room", "I head back to the round room.", "GOING TO: Round Room"])
def test_the_article_of_a_place_s_name_may_be_said_or_not(graph, said):
    graph.add_room(8, "The Round Room")
    graph.add_connection(1, "west", 8)
    assert stated_destination(graph, 1, ["GOING TO: Attic", said]) == 8


def test_the_number_after_a_name_tells_which_place_is_meant(graph):
    assert stated_destination(graph, 1, ["GOING TO: Forest (location 6)"]) == 6
    assert stated_destination(graph, 1, ['GOING TO: "Forest" (location 5).']) == 5


@pytest.mark.parametrize(
    ("here", "reasons", "told"),
    [
        (3, "It is dark. GOING TO: Hall", NoRoute("Hall", True, ("up", "up"))),
        (3, "GOING TO: The Island.", NoRoute("Island", True)),
        (3, "GOING TO: **Shangri-La**", NoRoute("Shangri-La", False)),
        (1, "GOING TO: Attic", None),
        (3, "GOING TO: Deep Cellar", None),
        (3, "I could go to the Moon.", None),
        (None, "GOING TO: Hall", None),
    ],
)
def test_of_a_destination_without_a_known_route_it_is_said_why(graph, here, reasons, told):
    assert no_route(graph, here, reasons) == told


def test_untried_ways_of_other_places_come_with_the_way_there_the_nearest_first(graph):
    for room, way in ((6, "east"), (3, "west"), (1, "in"), (7, "south")):
        graph.add_exit(room, way)
    assert untried_elsewhere(graph, 1) == (
        UntriedWays(("west",), "Deep Cellar", 3, ("down", "down")),
        UntriedWays(("east",), "Forest (location 6)", 6, ("up", "north", "north")),
    )
    assert untried_elsewhere(graph, None) == ()


def test_without_a_known_route_the_ways_back_are_named_and_called_unproven(graph):
    for room, way in ((6, "east"), (1, "in"), (7, "south")):
        graph.add_exit(room, way)
    assert untried_elsewhere(graph, 3) == (
        UntriedWays(("in",), "Hall", 1, ("up", "up"), unproven=True),
        UntriedWays(("east",), "Forest (location 6)", 6, ("up", "up", "up", "north", "north"), unproven=True),
    )
    memory = Memory("SUCCESS", "Ring", 1, "1", 5, "It scored.", "permanent", action="ring bell")
    found = known_points(graph, 3, lambda room: [memory] if room in (1, 7) else (), {})
    assert [(one.location_id, one.ways, one.unproven) for one in found] == [(1, None, ("up", "up")), (7, None, ())]


def test_the_route_is_what_the_map_knows(graph):
    assert route_to(graph, 1, 3) == Route("Deep Cellar", 3, ("down", "down"))
    assert [route_to(graph, 1, place) for place in (1, 7, None)] == [None] * 3
    assert route_to(graph, None, 3) is None


def test_exits_say_where_they_lead_how_sure_and_what_chance_does(graph):
    graph.add_connection(1, "down", 2)
    graph.add_connection(1, "down", 4)
    graph.add_exit(1, "west")
    graph.add_move(Move(1, "west", 1, MoveKind.DIED))
    graph.add_move(Move(1, "eat rat", 1, MoveKind.DIED))
    found = exits_of(graph, 1)
    assert found == (
        Exit("up", "Attic", 4, 2 / 3, tries=1),
        Exit("down", "Cellar", 2, 3 / 5, (("Cellar", 2 / 3), ("Attic", 1 / 3)), failures=1, tries=3),
        Exit("west", deadly=True),
    )
    assert deadly_actions(graph, 1, found) == ("eat rat",)
    assert exits_of(graph, None) == ()


def test_of_a_way_that_nobody_walked_it_is_said_where_its_opposite_came_from(graph):
    graph.add_exit(2, "up")
    graph.add_exit(2, "east")
    assert exits_of(graph, 2)[1:] == (Exit("east"), Exit("up", came_from=("Hall",)))


def test_the_way_back_is_told_even_if_no_text_names_it(graph):
    assert exits_of(graph, 3) == (Exit("up", came_from=("Cellar",)),)


def test_a_way_that_led_nowhere_is_still_told_with_what_was_said(graph):
    graph.add_exit(1, "west")
    for way in ("west", "down"):
        graph.add_failure(1, way)
        graph.add_attempt(1, way, "It is shut.")
    up, down, west = exits_of(graph, 1)
    assert (up.failed, down.failed, west.failed) == (None, "It is shut.", "It is shut.")
    assert (west.way, down.leads_to) == ("west", "Cellar")


def test_where_something_carried_the_player_off_is_no_place_that_the_way_leads_to(graph):
    graph.add_exit(1, "west")
    graph.add_move(Move(1, "west", 7, MoveKind.CARRIED))
    assert exits_of(graph, 1)[-1] == Exit("west", carried_to=("Island",))
    assert 7 not in graph.routes(1)


def test_two_places_of_one_name_are_told_apart(graph):
    assert route_to(graph, 1, 6).place == "Forest (location 6)"
    assert exits_of(graph, 4)[0].leads_to == "Forest (location 5)"


def test_dangers_of_the_route_come_after_those_one_way_from_here(graph):
    kept = {room: [Memory("DANGER", f"Rat {room}", 1, "1", 0, "It bites.", "core")] for room in range(1, 7)}
    ahead = list(dangers_ahead(graph, 1, kept.__getitem__, route_to(graph, 1, 3)))
    assert ahead == [
        Danger("up", "Attic", 4, kept[4][0], 1, False),
        Danger("down", "Cellar", 2, kept[2][0], 1, True),
        Danger("down", "Deep Cellar", 3, kept[3][0], 2, True),
    ]
    assert {danger.location_id for danger in dangers_ahead(graph, 1, kept.__getitem__, None)} == {2, 4}


def test_where_chance_decides_the_dangers_of_all_ends_are_told(graph):
    graph.add_connection(1, "down", 4)
    graph.add_connection(1, "down", 7)
    kept = {7: [Memory("DANGER", "Shark", 1, "1", 0, "It bites.", "core")]}
    ahead = list(dangers_ahead(graph, 1, lambda room: kept.get(room, ()), None))
    assert ahead == [Danger("down", "Island", 7, kept[7][0], 1, False)]


@pytest.mark.slow
def test_every_place_of_a_walkthrough_can_be_named_as_destination(bundled_story):
    graph = MapGraph()
    with JerichoInterface(bundled_story, seed=BUNDLED_SEED) as game:
        game.start()
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
            found = stated_destination(graph, start.num, [f"Now I go to the {graph.rooms[room].name}."])
            assert graph.rooms[found].name == graph.rooms[room].name

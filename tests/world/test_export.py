"""Tests of the map as layout, SVG and GraphML."""

from xml.etree import ElementTree

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.walks import SIGHTINGS, walk, walked
from zorkgpt.world.export import draw, graphml
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.layout import between, lay_out
from zorkgpt.world.movement import Move, MoveKind

SVG = "{http://www.w3.org/2000/svg}"


def test_north_is_above_and_east_is_beside():
    squares = lay_out([1, 2, 3, 4], {1: {"north": 2, "east": 3}, 2: {"south": 1}, 3: {"west": 1, "southeast": 4}})
    assert squares == {1: (0, 1), 2: (0, 0), 3: (1, 1), 4: (2, 2)}


def test_up_is_beside_and_not_on_top():
    assert lay_out([1, 2, 3], {1: {"up": 2, "northeast": 3}}) != {}
    assert len(set(lay_out([1, 2, 3], {1: {"up": 2, "northeast": 3}}).values())) == 3


def test_conflicting_rooms_keep_their_order():
    # East twice and then north, and north and then east, lead to the same square.
    ways = {1: {"east": 2, "north": 4}, 2: {"west": 1, "north": 3}, 3: {"south": 2}, 4: {"south": 1, "east": 5}}
    squares = lay_out([1, 2, 3, 4, 5], ways | {5: {"west": 4}})
    assert len(set(squares.values())) == 5
    assert squares[5][1] == squares[4][1] < squares[1][1] == squares[2][1]
    assert squares[3][0] == squares[2][0] > squares[1][0] == squares[4][0]


def test_squares_on_a_line():
    assert between((0, 0), (3, 0)) == {(1, 0), (2, 0)}
    assert between((0, 2), (2, 0)) == {(1, 1)}
    assert between((0, 0), (1, 1)) == set()


@given(SIGHTINGS)
def test_every_room_has_its_own_square(map_changes):
    graph = walked(map_changes)
    squares = lay_out(graph.rooms, {room: graph.exits(room) for room in graph.rooms})
    assert squares.keys() == graph.rooms.keys()
    assert len(set(squares.values())) == len(squares)


@given(SIGHTINGS, st.text(), st.text(min_size=1))
def test_svg_is_valid_xml_for_any_names(map_changes, name, action):
    graph = walked(
        [*map_changes, ("add_room", (1, name)), ("add_move", (Move(1, action, 2),)), ("add_exit", (1, "north"))]
    )
    untried = graph.frontiers()
    drawn = ElementTree.fromstring(draw(graph, here=1, dangers={2, (1, "north")}, untried=untried))
    groups = [group.get("id") for group in drawn.iter(f"{SVG}g")]
    assert sorted(groups) == sorted(f"room-{room}" for room in graph.rooms)
    read = nx.parse_graphml(graphml(graph), node_type=int, force_multigraph=True)
    assert set(read.nodes) == set(graph.rooms)
    assert read.number_of_edges() == sum(len(way.ends) for _, _, way in graph.connections) + len(graph.moves.counts)


def test_svg_distinguishes_kinds_of_exits():
    graph = MapGraph()
    for room_id, name in {1: "Hall", 2: "Attic <b>", 3: "Yard", 4: "Pit", 5: "Far"}.items():
        graph.add_room(room_id, name)
    walk(graph, "1 north 3", "3 south 1", "1 up 2", "1 east 4")
    graph.add_move(Move(4, "say plugh", 5, MoveKind.TRANSPORTED))
    drawing = draw(graph, here=3, dangers={(1, "east")}, untried={3: ("north", "in")})
    drawn = ElementTree.fromstring(drawing)
    ways = {
        path.findtext(f"{SVG}title"): path for path in drawn.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None
    }
    assert {name: (path.get("class"), path.get("marker-end")) for name, path in ways.items()} == {
        "Hall – Yard": ("way", None),
        "Hall → Attic <b>": ("way other", "url(#arrow)"),
        "Hall → Pit": ("way danger", "url(#arrow)"),
    }
    classes = {group.get("id"): group.get("class") for group in drawn.iter(f"{SVG}g")}
    assert (classes["room-1"], classes["room-2"], classes["room-3"]) == ("room danger", "room", "room here")
    assert [len(list(drawn.iter(f"{SVG}circle"))), "in: not tried" in drawing, "say plugh ⇢ Far" in drawing] == [
        1,
        True,
        True,
    ]


def test_graphml_keeps_random_exits():
    graph = walked([("add_move", (Move(1, "north", end),)) for end in (2, 2, 2, 3)])
    read = nx.parse_graphml(graphml(graph), node_type=int, force_multigraph=True)
    assert {(end, edge["share"], edge["times"]) for _, end, edge in read.edges(data=True)} == {
        (2, 0.75, 3),
        (3, 0.25, 1),
    }

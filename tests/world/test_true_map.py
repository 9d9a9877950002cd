"""Tests of unusual moves in both stories on the map. `test_walkthroughs.py` compares all moves."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from session.experience import row_of
from session.history import TurnRecord
from tests.fixtures.walks import manager_in, play
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.directions import exit_name
from zorkgpt.record.experience import Experience
from zorkgpt.world.movement import Move, MoveKind
from zorkgpt.world.tries import tries_at, untried_things

pytestmark = pytest.mark.slow


def test_prayer_mirror_and_river_are_not_exits(zork1, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.reset()
        play(manager, game, get_zork1_walkthrough())
    graph = manager.graph
    assert graph.moves.counts == {
        Move(212, "pray", 78, MoveKind.TRANSPORTED): 2,
        Move(152, "touch mirror", 150, MoveKind.TRANSPORTED): 2,
        Move(34, "wait", 130, MoveKind.CARRIED): 1,
        Move(130, "wait", 31, MoveKind.CARRIED): 1,
    }
    assert "pray" not in graph.exits(212)
    assert graph.route(212, 78) == ["pray"]
    assert graph.route(34, 31) is None
    aboard = {(room, name) for room, name, way in graph.connections if way.kind is MoveKind.ABOARD}
    assert aboard == {(33, "launch"), (31, "land")}


def test_walk_in_the_dark_is_on_the_map(zork1, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.reset()
        *_, up, down = play(manager, game, ["n", "e", "open window", "w", "up", "down"])
    assert "dark" in up.response
    assert manager.graph.leads_to(up.before.location.num, "up") == up.after.location.num
    assert manager.graph.leads_to(down.before.location.num, "down") == down.after.location.num


def test_exit_over_water_needs_the_boat(bundled_story, tmp_path):
    manager = manager_in(tmp_path)
    with JerichoInterface(bundled_story, seed=BUNDLED_SEED) as game:
        game.reset()
        steps = play(manager, game, get_bundled_walkthrough())
    by_vehicle = {
        (step.before.location.num, exit_name(step.action))
        for step in steps
        if step.before.vehicle and step.before.location != step.after.location
    }
    assert len(by_vehicle) == 4
    aboard = {(room, name) for room, name, way in manager.graph.connections if way.kind is MoveKind.ABOARD}
    assert aboard == by_vehicle


def test_openings_of_trap_door_and_window(zork1, tmp_path):
    manager = manager_in(tmp_path)
    cellar = ["down", "move rug", "down", "open trap door", "down"]
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.reset()
        steps = play(manager, game, ["n", "e", "w", "open window", "w", "w", "get lamp", *cellar])
    opened, cellar, experience = steps[3], steps[-1], Experience()
    for number, step in enumerate(steps, 1):
        experience.add(row_of(TurnRecord(1, number, step, "", "given", "")))
    living_room = cellar.before.location.num
    assert opened.after.location.name == "Behind House"
    assert "in" in manager.graph.rooms[opened.after.location.num].exits
    assert tries_at(experience, opened.after.location.num).opened_by == {"west": ("open window",)}
    assert tries_at(experience, living_room).opened_by == {"down": ("open trap door",)}
    assert manager.graph.leads_to(living_room, "down") == cellar.after.location.num


def test_being_carried_off_is_not_a_walk(zork1, tmp_path):
    manager = manager_in(tmp_path)
    walkthrough = get_zork1_walkthrough()
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        game.reset()
        steps = (game.act(command) for command in walkthrough)
        next(step for step in steps if step.after.location.name == "Squeaky Room")
        *_, carried = play(manager, game, ["drop garlic", "north"])
    assert carried.response.startswith("Bat Room")
    assert "lifts you away" in carried.response
    squeaky, elsewhere = carried.before.location.num, carried.after.location.num
    assert manager.graph.moves.counts == {Move(squeaky, "north", elsewhere, MoveKind.CARRIED): 1}
    assert manager.graph.exits(squeaky) == {}


def test_unused_things_are_untried_where_they_were_seen(bundled_story, tmp_path):
    with JerichoInterface(bundled_story, seed=BUNDLED_SEED) as game:
        steps = play(manager_in(tmp_path), game, ["look", "examine milestone", "take penny"])
    experience = Experience()
    for number, step in enumerate(steps, 1):
        experience.add(row_of(TurnRecord(1, number, step, "", "given", "")))
    assert {"copper penny", "milestone"} <= {item.name for item in steps[0].after.visible}
    assert untried_things(experience, steps[-1].after) == {steps[0].before.location_id: ("sea",)}

"""The cells that were reached, the ways to them, and which of them is returned to."""

from dataclasses import replace

from tests.fixtures.trails import a_step, a_trail
from zorkgpt.explore.archive import SAFE_TURNS, Archive, most_promising
from zorkgpt.explore.trail import ObservedState, Trail
from zorkgpt.runlog.events import Returned

FOUND = a_step("take ring > 2", score=5, held=("ring",), effective=True)
RETURNED = Returned(2, 2, 1, 4, 2, True, True, "", 0, 2, "Room 2", 5, ["ring"])


def untried(room: int) -> int:
    return 0


def an_archive(*trails: Trail) -> Archive:
    archive = Archive()
    for trail in trails:
        archive.add(trail, None)
    return archive


def test_a_cell_keeps_the_shortest_way_of_all_episodes():
    long_way = a_trail("north > 3", a_step("open box > 3", effective=True), "south > 2", FOUND)
    archive = an_archive(long_way, a_trail("look > 1", "east > 2", FOUND, episode=2))
    cell = archive.cells[FOUND.standing]
    way = archive.route_to(cell)
    assert ([step.action for step in way.steps], way.episode, way.turn) == (["east", "take ring"], 2, 3)
    assert way.shortened
    assert cell.visits == 2


def test_a_shortened_way_that_led_elsewhere_is_tried_with_other_luck_and_then_word_for_word():
    trail = a_trail("look > 1", "wait > 1", "east > 2", FOUND, "look > 2", "west > 5")
    archive = an_archive(trail)
    refuted = replace(RETURNED, arrived=False, difference="a troll", at_turn=3)
    ways = []
    for episode in range(2, 5):
        ways.append([step.action for step in archive.route_to(archive.cells[trail.steps[-1].standing]).steps])
        archive.add(a_trail("sing > 1", episode=episode), refuted)
    assert ways == [
        ["east", "take ring", "west"],
        ["look", "east", "take ring", "west"],
        # Up to where it led elsewhere; from there on it may be shortened.
        ["look", "wait", "east", "take ring", "west"],
    ]


def test_where_one_way_led_elsewhere_says_nothing_of_shorter_ones():
    trail = a_trail("look > 1", "east > 2", "jump > 2", FOUND)
    archive = an_archive(trail)
    archive.add(a_trail("sing > 1", episode=2), replace(RETURNED, arrived=False, difference="a troll", at_turn=4))
    before = archive.route_to(archive.cells[trail.steps[1].standing])
    assert [step.action for step in before.steps] == ["east"]


def test_what_comes_just_before_a_death_is_no_cell():
    steps = [f"go > {number}" for number in range(2, 12)]
    deadly, lucky = a_trail(*steps, deadly=True), a_trail(*steps)
    assert len(an_archive(lucky).cells) == 10
    places = {cell.standing.place for cell in an_archive(deadly).cells.values()}
    assert places == set(range(2, 12 - SAFE_TURNS))


def test_the_highest_score_promises_most_and_the_shortest_way_to_it():
    archive = an_archive(a_trail("north > 3", "south > 1", "east > 2", FOUND, "west > 1"))
    assert most_promising(archive, untried, 100).standing == FOUND.standing


def test_untried_ways_make_a_place_promising():
    west = replace(a_step("west > 4"), standing=ObservedState(4, ("ring",), 5))
    archive = an_archive(a_trail("east > 2", FOUND, west))
    assert most_promising(archive, untried, 100).standing == FOUND.standing
    assert most_promising(archive, {4: 3, 2: 0}.get, 100).standing == west.standing


def test_what_was_returned_to_in_vain_gives_way_to_something_else():
    trail = a_trail("east > 2", FOUND, replace(a_step("west > 4"), standing=ObservedState(4, ("ring",), 5)))
    archive = an_archive(trail)
    archive.add(replace(trail, episode=2), RETURNED)
    assert archive.cells[FOUND.standing].barren == 1
    assert most_promising(archive, untried, 100).standing.place == 4


def test_a_return_that_led_higher_was_not_in_vain():
    higher = a_step("put ring in case > 2", score=10, effective=True)
    archive = an_archive(a_trail("east > 2", FOUND))
    archive.add(a_trail("east > 2", FOUND, higher, episode=2), RETURNED)
    assert archive.cells[FOUND.standing].barren == 0
    assert most_promising(archive, untried, 100).standing == higher.standing


def test_a_way_that_leaves_no_turns_for_exploring_is_not_taken():
    archive = an_archive(a_trail("east > 2", FOUND))
    assert most_promising(archive, untried, 2) is None


def test_without_earlier_episodes_there_is_nothing_to_return_to():
    assert most_promising(Archive(), untried, 100) is None

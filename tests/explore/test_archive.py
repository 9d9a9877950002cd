"""Tests of the archive of reached states and the routes to them."""

from tests.fixtures.trails import a_step, a_trail
from zorkgpt.explore.archive import SAFE_TURNS, Archive
from zorkgpt.explore.trail import Trail

FOUND = a_step("take ring > 2", score=5, held=("ring",), effective=True)


def an_archive(*trails: Trail) -> Archive:
    archive = Archive()
    for trail in trails:
        archive.add(trail)
    return archive


def test_archive_keeps_the_shortest_route_of_all_episodes():
    long_way = a_trail("north > 3", a_step("open box > 3", effective=True), "south > 2", FOUND)
    archive = an_archive(long_way, a_trail("look > 1", "east > 2", FOUND, episode=2))
    cell = archive.cells[FOUND.standing]
    assert (cell.trail.episode, cell.end, archive.length(cell)) == (2, 3, 2)


def test_state_before_a_death_is_not_archived():
    steps = [f"go > {number}" for number in range(2, 12)]
    deadly, lucky = a_trail(*steps, deadly=True), a_trail(*steps)
    assert len(an_archive(lucky).cells) == 10
    places = {cell.standing.place for cell in an_archive(deadly).cells.values()}
    assert places == set(range(2, 12 - SAFE_TURNS))

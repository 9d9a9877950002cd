"""Tests of the map with many rooms: layout, zoom, keyboard and heat colors."""

import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import until
from tests.fixtures.viewer import client, served, started, turn, write_log
from tests.fixtures.wide_world import wide_world
from zorkgpt.viewer.map import MapLevels, regions_of

pytestmark = pytest.mark.slow

SPOTS = """() => Object.fromEntries([...document.querySelectorAll(".map .room")].map((room) =>
  [room.dataset.room, room.getAttribute("transform").match(/[\\d.]+/g).map(Number)]))"""
# Returns whether no region names overlap. Their lines may touch.
APART = """() => {
  const boxes = [...document.querySelectorAll(".region-name:not(.left-out)")].map((one) => one.getBoundingClientRect());
  const beside = (one, other) => one.right < other.left || other.right < one.left;
  const below = (one, other) => one.bottom < other.top + 3 || other.bottom < one.top + 3;
  return boxes.every((one, at) => boxes.slice(at + 1).every((other) => beside(one, other) || below(one, other)));
}"""
# Returns the room with the keyboard focus, and whether all of it is visible.
REACHED = """() => {
  const map = document.querySelector("svg.map").getBoundingClientRect();
  const room = document.activeElement.firstChild.getBoundingClientRect();
  const seen = room.left >= map.left && room.right <= map.right && room.top >= map.top && room.bottom <= map.bottom;
  return [document.activeElement.dataset.room, seen];
}"""


def test_levels_do_not_overlap():
    ways = {1: {"east": 2, "up": 3}, 2: {"down": 4}, 3: {"down": 1, "east": 5}, 4: {"south": 6}, 9: {"north": 8}}
    levels = MapLevels({room: room for room in (1, 2, 3, 4, 5, 6, 8, 9)}, ways)
    assert levels.levels == {1: 0, 2: 0, 3: 1, 5: 1, 4: -1, 6: -1, 8: 0, 9: 0}
    column = {room: square[0] for room, square in levels.squares.items()}
    assert (column[3], column[4]) == (column[1], column[2])
    for level in (-1, 0, 1):
        on_it = [levels.squares[room] for room, at in levels.levels.items() if at == level]
        assert len(set(on_it)) == len(on_it)


def test_connected_rooms_form_a_region():
    two_rings = {(1, 2), (2, 3), (1, 3), (3, 4), (4, 5), (5, 6), (4, 6)}
    regions = regions_of(range(1, 8), two_rings)
    assert regions[1] == regions[2] == regions[3] != regions[4] == regions[5] == regions[6]
    assert regions[7] not in (regions[1], regions[4])
    assert regions_of([1, 2], set()) == {1: 1, 2: 2}


@pytest.fixture(scope="module")
def two_hundred(tmp_path_factory):
    with served(wide_world(tmp_path_factory.mktemp("two_hundred"), rooms=200)) as url:
        yield url


def test_unknown_rooms_take_no_space(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:3")
    expect(page.locator(".map .room")).to_have_count(4)
    spots = page.evaluate(SPOTS)
    across, down = ([spot[axis] for spot in spots.values()] for axis in (0, 1))
    assert max(across) - min(across) <= 3 * 168
    assert max(down) - min(down) <= 3 * 104
    page.keyboard.press("End")
    expect(page.locator(".map .room")).to_have_count(200)
    assert len({tuple(spot) for spot in page.evaluate(SPOTS).values()}) == 200
    expect(page.locator(".map .level-name")).to_have_text(["1 up", "Starting level", "1 down"])


def test_every_room_is_connected_to_where_it_was_reached_from(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:199")
    until(page, "document.querySelectorAll('.map .room').length > 90")
    lines = page.evaluate(
        "[...document.querySelectorAll('.map .way')].map(({ dataset }) => [dataset.from, dataset.to])"
    )
    neighbors: dict[str, set[str]] = {}
    for source, target in lines:
        neighbors.setdefault(source, set()).add(target)
        neighbors.setdefault(target, set()).add(source)
    reached, waiting = {"1"}, ["1"]
    while waiting:
        new = neighbors.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    assert reached == set(page.evaluate(SPOTS))


def test_room_reached_by_a_command_is_connected(tmp_path):
    far = {"location_after_id": 77, "location_after": "Far Away"}
    death = {"action": "jump", "died": True, "location_after_id": 5, "location_after": "Altar"}
    write_log(tmp_path, started(), turn(1, action="pray", **far), turn(2, location_id=77, **death))
    rooms = {room["id"]: room["reached"] for room in client(tmp_path).get("/api/map").json()["rooms"]}
    assert rooms == {10: None, 77: {"from": 10, "way": "pray"}, 5: {"from": 77, "way": "jump"}}


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
def test_map_can_fill_the_window(two_hundred, open_page, width, height):
    page = open_page(f"{two_hundred}#1:90&panel=world", width=width, height=height)
    expect(page.locator(".map .room.here")).to_be_visible()
    page.get_by_role("button", name="Enlarge the map").click()
    expect(page).to_have_url(re.compile("&large=1$"))
    shown = page.locator("#world").bounding_box()
    assert shown == {"x": 0, "y": 0, "width": width, "height": height}
    page.locator(".map .room.here").click()
    expect(page.locator("#memories")).to_contain_text("after this turn")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Escape")
    expect(page.locator("#timeline")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator("#timeline")).to_be_hidden()


def test_zoom_keeps_the_point_under_the_pointer(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:90")
    room = page.locator(".map .room.here > rect").first
    before = room.bounding_box()
    page.mouse.move(before["x"], before["y"])
    page.mouse.wheel(0, -300)
    until(page, f"document.querySelector('.map .room.here rect').getBoundingClientRect().width > {before['width']}")
    after = room.bounding_box()
    assert abs(after["x"] - before["x"]) < 2
    assert abs(after["y"] - before["y"]) < 2


def test_small_names_are_shown_on_hover_and_focus(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:3")
    page.get_by_role("button", name="Show the whole map").click()
    page.keyboard.press("End")
    room = page.locator(".map .room").nth(120)
    expect(room).to_be_attached()
    expect(page.locator("svg.map")).to_have_class(re.compile("far"))
    expect(room.locator(".name").first).to_be_hidden()
    for point in (room.hover, room.focus):
        point()
        tip = page.locator(".map .tip text")
        expect(tip).to_have_text(room.get_attribute("aria-label"))
        assert tip.bounding_box()["height"] > 12
        page.mouse.move(5, 5)
        page.evaluate("document.activeElement.blur()")
        expect(tip).to_have_count(0)
    expect(page.locator(".region-name:not(.left-out)").first).to_be_visible()
    assert page.evaluate(APART)


def test_room_with_keyboard_focus_is_visible(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:398")
    expect(page.locator(".map .room[tabindex='0']")).to_have_count(1)
    page.locator(".map .room.here").focus()
    seen = set()
    for key in ["ArrowRight"] * 6 + ["ArrowDown"] * 14:
        page.keyboard.press(key)
        room, inside = page.evaluate(REACHED)
        assert inside, (key, room)
        seen.add(room)
    assert len(seen) > 8
    page.keyboard.press("Enter")
    expect(page.locator(".map .room.asked")).to_have_attribute("data-room", room)
    expect(page.locator(".map .room[tabindex='0']")).to_have_count(1)


def test_heat_shows_visits_deaths_and_points(tmp_path, open_page):
    cellar = {"location_after_id": 20, "location_after": "Cellar"}
    back = cellar | {"location_id": 20, "location": "Cellar"}
    first = [turn(1, action="down", **cellar), turn(2, **back, score=10), turn(3, **back, score_before=10, score=10)]
    first[2] |= {"died": True}
    write_log(tmp_path, started(), *first, {"event": "episode_ended", "reason": "death"})
    second = [turn(1, action="down", score=-3, **cellar), turn(2, **back, score_before=-3, score=-3, died=True)]
    write_log(tmp_path, started(2), *second, {"event": "episode_ended", "reason": "death"}, episode=2)
    # The page counts the current episode, and the server counts earlier ones. Both must agree.
    assert client(tmp_path).get("/api/heat").json()["episodes"] == {
        "1": {"10": [1, 0, 0], "20": [1, 1, 10]},
        "2": {"10": [1, 0, -3], "20": [1, 1, 0]},
    }
    expected = {"visits": ["2 visits", "2 visits"], "deaths": ["", "2 deaths"], "score": ["-3 points", "10 points"]}
    with served(tmp_path) as url:
        page = open_page(f"{url}#2:2")
        for measure, words in expected.items():
            page.get_by_label("Color rooms by").select_option(measure)
            expect(page).to_have_url(re.compile(f"&heat={measure}$"))
            expect(page.locator(".legend")).to_contain_text("in all episodes up to this turn")
            for room, label in zip(("10", "20"), words, strict=True):
                name = {"10": "Hall", "20": "Cellar"}[room] + (label and f", {label}")
                expect(page.locator(f".map [data-room='{room}']")).to_have_attribute("aria-label", name)
        page.get_by_label("Color rooms by").select_option("visits")
        page.keyboard.press("Escape")
        page.locator("#scrubber").fill("0")
        expect(page.locator(".map [data-room='20'] .heat")).to_have_text("1")

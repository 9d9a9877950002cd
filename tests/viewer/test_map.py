"""Tests of the map with many rooms: layout, zoom, keyboard and heat colors."""

import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import until
from tests.fixtures.viewer import client, served, started, turn, write_log
from tests.fixtures.wide_world import wide_world

pytestmark = pytest.mark.slow

SPOTS = """() => Object.fromEntries([...document.querySelectorAll(".map .room")].map((room) =>
  [room.dataset.room, room.getAttribute("transform").match(/[\\d.]+/g).map(Number)]))"""
# Returns the room with the keyboard focus, and whether all of it is visible.
REACHED = """() => {
  const map = document.querySelector("svg.map").getBoundingClientRect();
  const room = document.activeElement.firstChild.getBoundingClientRect();
  const seen = room.left >= map.left && room.right <= map.right && room.top >= map.top && room.bottom <= map.bottom;
  return [document.activeElement.dataset.room, seen];
}"""


@pytest.fixture(scope="module")
def two_hundred(tmp_path_factory):
    with served(wide_world(tmp_path_factory.mktemp("two_hundred"), rooms=200)) as url:
        yield url


def test_rooms_keep_their_places_as_the_map_grows(two_hundred, open_page):
    page = open_page(f"{two_hundred}#1:3")
    expect(page.locator(".map .room")).to_have_count(4)
    early = page.evaluate(SPOTS)
    page.keyboard.press("End")
    expect(page.locator(".map .room")).to_have_count(200)
    late = page.evaluate(SPOTS)
    assert len({tuple(spot) for spot in late.values()}) == 200
    assert early.items() <= late.items()


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
    lines = client(tmp_path).get("/api/map").json()["lines"]
    assert [(line["from"], line["way"], line["to"]) for line in lines] == [(10, "pray", 77), (77, "jump", 5)]


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

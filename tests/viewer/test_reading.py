"""Tests that text is complete, unobstructed and has enough contrast."""

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import assert_contrast
from tests.fixtures.viewer import played, served, started, turn, write_log
from zorkgpt.viewer.export import export_run

pytestmark = pytest.mark.slow

OVERLAPPED = """() => {
  const legend = document.querySelector(".legend").getBoundingClientRect();
  const map = document.querySelector("svg.map").getBoundingClientRect();
  return Math.min(legend.bottom, map.bottom) - Math.max(legend.top, map.top) > 1;
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(played(tmp_path_factory.mktemp("reading"), episodes=2, turns=30)) as url:
        yield url


def test_text_has_enough_contrast(address, open_page):
    page = open_page(f"{address}#2:25")
    expect(page.locator("#memories .memory").first).to_be_visible()
    for known in ("Memories", "Objectives", "Knowledge"):
        page.locator("#known-tabs").get_by_role("button", name=known).click()
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert_contrast(page, texts=50)
    page.locator("#tools select").select_option("1")
    expect(page.locator("table.beside tr.parting")).to_be_visible()
    assert_contrast(page)


def test_legend_does_not_cover_the_map(address, open_page):
    page = open_page(f"{address}#2:20")
    for width, height in ((1400, 900), (800, 600), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        if width < 720:
            page.locator("[data-opens=world]").click()
        expect(page.locator(".map .room.here")).to_be_visible()
        assert not page.evaluate(OVERLAPPED), width


@pytest.mark.parametrize("way", ["served", "exported"])
def test_long_text_is_shown_to_its_end(tmp_path, open_page, way):
    fields = {name: f"{name} " * 2000 + f"the end of {name}" for name in ("response", "reasoning", "memory_shown")}
    write_log(tmp_path, started(), turn(1, **fields))
    with served(tmp_path) as url:
        if way == "exported":
            export_run(tmp_path, tmp_path / "run.html")
            url = (tmp_path / "run.html").as_uri()
        page = open_page(f"{url}#1:1")
        page.locator("#turns .why summary").click()
        page.locator("#memories").get_by_text("Memory text in the prompt").click()
        places = {"reasoning": "#turns .why", "response": "#turns [data-at='1'] > .story", "memory_shown": "#memories"}
        for name, place in places.items():
            expect(page.locator(place)).to_contain_text(f"the end of {name}")

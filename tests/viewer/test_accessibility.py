"""Tests of small windows, zoom and screen readers, and with axe."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.fixtures.viewer import played, served

pytestmark = pytest.mark.slow

# A phone in landscape, a smaller one, and 1280 x 1024 at 400 %.
LOW = [(844, 390), (667, 375), (320, 256)]
SIGHTS = [
    (1400, "light", "#2:12&find=the"),
    (1400, "dark", "#2:12&tab=knowledge"),
    (1400, "light", "#memories"),
    (1400, "dark", "#2:12&beside=1"),
    (390, "light", "#overview"),
    (390, "dark", "#2:12&panel=turn"),
    (390, "light", "#nonsense"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(played(tmp_path_factory.mktemp("run"), episodes=2, turns=20)) as url:
        yield url


@pytest.mark.parametrize(("width", "scheme", "sight"), SIGHTS)
def test_axe_finds_no_violations(address, open_page, width, scheme, sight):
    page = open_page(address + sight, width=width, height=850, scheme=scheme)
    expect(page.locator(".scroll:visible").first).not_to_be_empty()
    page.wait_for_timeout(300)
    violations = Axe().run(page).response["violations"]
    assert [(violation["id"], [node["html"] for node in violation["nodes"]]) for violation in violations] == []


@pytest.mark.parametrize(("width", "height"), LOW)
def test_panels_fit_a_low_window(address, open_page, width, height):
    page = open_page(f"{address}#2:12", width=width, height=height)
    expect(page.locator("article[aria-current] .number")).to_have_text("12")
    for panel in ("transcript", "world", "turn", "known"):
        page.locator(f"[data-opens={panel}]").click()
        page.locator(f"#{panel}").scroll_into_view_if_needed()
        box = page.locator(f"#{panel}").bounding_box()
        assert box["height"] >= 200
        assert box["width"] <= width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    for screen in ("Overview", "All memories"):
        page.get_by_role("button", name=screen).click()
        assert page.locator("#main").bounding_box()["height"] >= 200


def test_turn_changes_are_announced(address, open_page):
    page = open_page(f"{address}#2:12")
    spoken = page.get_by_role("status").filter(has_text="Turn 12 of")
    expect(spoken).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#spoken")).to_contain_text("Turn 13 of")
    page.keyboard.press("Home")
    expect(page.locator("#spoken")).to_contain_text("the opening")

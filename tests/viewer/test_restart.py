"""Tests of a page whose viewer is stopped and started again."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_log

pytestmark = pytest.mark.slow

NO_ANSWER = "The viewer is not responding"
AWAY = {"location_id": 20, "location": "Cellar", "location_after_id": 20, "location_after": "Cellar"}


@pytest.fixture
def workdir(tmp_path):
    for episode in (1, 2):
        write_log(
            tmp_path, started(episode), turn(1), turn(2, action=f"go {episode}"), turn(3, **AWAY), episode=episode
        )
    write_log(tmp_path, started(3), turn(1), turn(2), episode=3)
    return tmp_path


def test_memories_load_when_the_viewer_is_back(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#1:1")
        expect(page.locator("#memories")).to_contain_text("No memories of this place yet.")
    expect(page.locator("#standing")).to_contain_text("Connection lost")
    page.keyboard.press("End")
    expect(page.locator("#notice")).to_contain_text(NO_ANSWER)
    # "No memories" must not be shown for a place that was not loaded.
    expect(page.locator("#memories")).not_to_contain_text("Cellar")
    with served(workdir, "--port", str(urlsplit(url).port)):
        expect(page.locator("#memories")).to_contain_text("Cellar", timeout=20_000)
        expect(page.locator("#notice")).to_be_hidden()


def test_episode_that_cannot_be_loaded_leaves_the_current_one(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#1:1")
        expect(page.locator("#when")).to_contain_text("Turn 1 of 3")
    page.locator("#episodes select").select_option("3")
    expect(page.locator("#notice")).to_contain_text(NO_ANSWER)
    expect(page.locator("#episodes select")).to_have_value("1")
    expect(page.locator("#when")).to_contain_text("Turn 1 of 3")
    with served(workdir, "--port", str(urlsplit(url).port)):
        expect(page.locator("#notice")).to_be_hidden(timeout=20_000)
        page.locator("#episodes select").select_option("3")
        expect(page.locator("#when")).to_contain_text("Turn 2 of 2")


def test_comparison_opens_when_the_viewer_is_back(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#1:1")
        expect(page.locator("#when")).to_contain_text("Turn 1 of 3")
    page.locator("#tools select").select_option("2")
    expect(page.locator("#notice")).to_contain_text(NO_ANSWER)
    with served(workdir, "--port", str(urlsplit(url).port)):
        expect(page.locator("#beside-body")).to_contain_text("the actions differ", timeout=20_000)
        expect(page.locator("#notice")).to_be_hidden()

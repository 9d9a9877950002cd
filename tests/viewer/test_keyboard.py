"""Tests that keyboard focus is kept."""

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_log

pytestmark = pytest.mark.slow


@pytest.fixture
def workdir(tmp_path):
    for episode in (1, 2, 3):
        write_log(tmp_path, started(episode), turn(1, score=episode), episode=episode)
    return tmp_path


def test_focus_is_kept_when_the_episode_changes(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#1:1")
        expect(page.locator("#episodes select")).to_have_value("1")
        page.get_by_role("button", name="Next episode").focus()
        for episode in ("2", "3"):
            page.keyboard.press("Enter")
            expect(page.locator("#episodes select")).to_have_value(episode)
            expect(page.get_by_role("button", name="Next episode")).to_be_focused()


def test_focus_moves_into_a_comparison_and_back(workdir, open_page):
    with served(workdir) as url:
        page = open_page(f"{url}#1:1")
        chooser = page.locator("#tools select")
        chooser.focus()
        chooser.select_option("2")
        expect(page.get_by_role("button", name="Close comparison")).to_be_focused()
        page.keyboard.press("Enter")
        expect(chooser).to_be_focused()


def test_episode_list_shows_the_current_score(workdir, open_page):
    with served(workdir) as url:
        page = open_page(url)
        expect(page.locator("#episodes option[value='3']")).to_have_text("Episode 3, 3 points")
        write_log(workdir, turn(2, score=7), episode=3)
        expect(page.locator("#episodes option[value='3']")).to_have_text("Episode 3, 7 points")

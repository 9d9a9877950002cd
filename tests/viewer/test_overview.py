"""Tests of the overview of all episodes."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import assert_readable
from tests.fixtures.viewer import added, client, disproved, played, served, started, turn, write_history, write_log
from zorkgpt.runlog.episodes import count_failures, read_episode

pytestmark = pytest.mark.slow

CELLAR = {"location_after_id": 20, "location_after": "Cellar"}


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("overview")
    first = [
        turn(1, action="take lamp", score_before=0, score=5, duration_s=1.5),
        turn(2, action="push wall", score_before=5, score=5, failed=True, duration_s=30),
        turn(3, action="Push  wall", score_before=5, score=5, failed=True, duration_s=40),
    ]
    second = [
        turn(1, action="take lamp", score_before=0, score=5, **CELLAR),
        turn(2, action="push wall", score_before=5, score=5, failed=True),
        turn(3, action="jump", score_before=5, score=3, died=True),
    ]
    ended = {"event": "episode_ended", "reason": "death", "max_score": 50}
    write_log(path, started(), *first, ended | {"score": 5})
    write_log(path, started(2), *second, ended | {"score": 3}, episode=2)
    lamp = added(1, 1, "Lamp")
    write_history(path, lamp, added(1, 1, "Wall", "core"), disproved(lamp, 2, 3))
    call = {"v": 1, "event": "model_called", "turn": 1, "role": "agent", "model": "m", "latency_s": 1, "messages": []}
    calls = [call | {"prompt_tokens": 1000, "completion_tokens": 20, "cost": 0.25}, call | {"prompt_tokens": 500}]
    unread = call | {"role": "memory", "problem": "it contains no JSON object", "repeats": 1}
    calls += [unread] * 5 + [call | {"role": "memory", "error": "gone"}]
    file = path / "runs" / "2" / "model_calls.jsonl"
    file.write_text("".join(json.dumps(call) + "\n" for call in calls))
    return path


def test_overview_has_a_row_per_episode(address, open_page):
    page = open_page(address)
    rows = page.get_by_role("table", name="Episodes").locator("tbody tr")
    expect(rows).to_have_count(2)
    cells = [row.locator("th, td").all_inner_texts() for row in rows.all()]
    assert cells == [
        ["Episode 1", "death", "5", "3", "1 (1)", "0", "1", "2", "0", "–", "–", "1 min 12 s"],
        ["Episode 2", "death", "3", "3", "2 (1)", "1", "1", "0", "1", "1,520", "at least $0.2500", "0.0 s"],
    ]
    expect(page.locator("#overview .summary")).to_contain_text("2 episodes, 6 turns")
    expect(page.locator("#overview .summary")).to_contain_text("5 of 50 points in episode 1")
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.locator("[aria-sort=descending]")).to_have_text("Score")
    page.get_by_role("button", name="Score", exact=True).click()
    expect(page.locator("[aria-sort=ascending]")).to_have_text("Score")
    assert rows.first.locator("th").inner_text() == "Episode 2"


def test_roles_with_useless_answers_are_marked(address, open_page):
    rows = open_page(address).get_by_role("table", name="Answers by role").locator("tbody tr")
    expect(rows).to_have_count(2)
    assert [row.locator("th, td").all_inner_texts() for row in rows.all()] == [
        ["agent", "2", "0", "0", "0"],
        ["memory no usable answers", "6", "5", "1", "5"],
    ]


def test_repeated_failures_match_the_log(tmp_path):
    played(tmp_path, episodes=3, turns=60)
    rows = client(tmp_path).get("/api/overview").json()["episodes"]
    counted = [
        (number, count.failed, count.repeated)
        for number, count in enumerate(count_failures(read_episode(tmp_path, number) for number in (1, 2, 3)), 1)
    ]
    assert [(row["episode"], row["failed"], row["repeated"]) for row in rows] == counted


def test_score_events_link_to_turns(address, open_page):
    page = open_page(address)
    way = page.locator(".points li", has_text="take lamp")
    expect(way).to_contain_text("+5")
    expect(way.locator("a")).to_have_text(["1:1", "2:1"])
    expect(page.locator(".points li", has_text="jump")).to_contain_text("−2")
    way.locator("a").nth(1).click()
    expect(page.locator("#episodes select")).to_have_value("2")
    expect(page.locator("article[aria-current] .number")).to_have_text("1")
    expect(page).to_have_url(re.compile("#2:1$"))
    page.go_back()
    expect(page.locator("#overview .points")).to_be_visible()


def test_learning_curve_links_to_the_end_of_each_episode(address, open_page):
    page = open_page(address)
    point = page.get_by_role("link", name="Episode 1: 5 points")
    point.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#when")).to_contain_text("Turn 3 of 3")
    expect(page.locator("#episodes select")).to_have_value("1")
    page.keyboard.press("o")
    expect(page.get_by_role("table", name="Episodes")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("t")
    expect(page.locator("#when")).to_contain_text("Turn 3 of 3")


def test_running_episode_opens_at_its_newest_turn(tmp_path, open_page):
    write_log(tmp_path, started(), turn(1))
    with served(tmp_path) as url:
        page = open_page(url)
        expect(page.locator("article[aria-current] .number")).to_have_text("1")
        page.get_by_role("button", name="Overview").click()
        expect(page.locator("#overview tbody td").nth(2)).to_have_text("1")
        write_log(tmp_path, turn(2))
        expect(page.locator("#overview tbody td").nth(2)).to_have_text("2")
        page.get_by_role("button", name="Turns", exact=True).first.click()
        expect(page.locator("article[aria-current] .number")).to_have_text("2")


def test_overview_is_readable_at_every_size(address, open_page):
    page = open_page(address)
    expect(page.locator("#overview .points")).to_be_attached()
    assert_readable(page, page.locator("#overview"), scrolls="#overview-body", texts=30)

"""Tests of several runs on one page."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.fixtures.command_line import command
from tests.fixtures.pages import assert_readable
from tests.fixtures.viewer import served, started, turn, write_log
from zorkgpt.viewer.answers import run_names

pytestmark = pytest.mark.slow

ENDED = {"event": "episode_ended", "reason": "turn limit"}
HOSTILE = "<img src=x onerror=alert(1)>"


def run_of(path: Path, *scores: int, player: str = "rules") -> Path:
    """Write a run with one episode of two turns per score, which the second turn reaches."""
    for number, score in enumerate(scores, 1):
        turns = [turn(1), turn(2, action="take lamp", score=score)]
        write_log(path, started(number, player=player), *turns, ENDED, episode=number)
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    two = [run_of(path / "without" / "story", 5, 3), run_of(path / "with" / "story", 5, 8, 8, player=HOSTILE)]
    call = {"v": 1, "event": "model_called", "turn": 1, "role": "agent", "model": "m", "latency_s": 1, "messages": []}
    call |= {"prompt_tokens": 1000, "completion_tokens": 20, "cost": 0.25}
    (two[1] / "runs" / "1" / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    return two


@pytest.fixture(scope="module")
def address(runs):
    with served(runs[0], runs[1]) as url:
        yield url


def test_run_names_are_unique_path_suffixes():
    assert run_names([Path("/a/zork"), Path("/b/zork"), Path("/b/other")]) == ["a/zork", "b/zork", "other"]
    assert run_names([Path("/zork"), Path("/b/zork")])[1] == "b/zork"


def test_runs_and_episodes_have_rows_with_links(address, open_page):
    page = open_page(address)
    table = page.get_by_role("table", name="Runs", exact=True)
    rows = [row.locator("th, td").all_inner_texts() for row in table.locator("tbody tr").all()]
    expect(table.locator("tbody tr")).to_have_count(2)
    rows = [row.locator("th, td").all_inner_texts()[:7] for row in table.locator("tbody tr").all()]
    assert rows == [
        ["with/story", HOSTILE, "3", "6", "8", "7.0", "8"],
        ["without/story", "rules", "2", "4", "5", "4.0", "3"],
    ]
    expect(table).to_contain_text("1,020")
    episodes = page.get_by_role("table", name="Episodes of all runs")
    expect(episodes.locator("tbody tr")).to_have_count(5)
    episodes.get_by_role("button", name="Score").click()
    expect(episodes.locator("tbody tr").first).to_contain_text("with/story")
    episodes.locator("tbody tr").nth(1).get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/runs/2/#3:2$"))
    expect(page.locator("article[aria-current] .number")).to_have_text("2")
    expect(page.locator("#episodes select")).to_have_value("3")
    page.get_by_role("link", name="All runs").click()
    expect(table).to_be_visible()


def test_learning_curves_and_points_link_to_turns(address, open_page):
    page = open_page(address)
    expect(page.locator(".learning path[class*=line-]")).to_have_count(2)
    point = page.get_by_role("link", name="without/story, episode 1: 5 points")
    point.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/runs/1/#1:2$"))
    expect(page.locator("#when")).to_contain_text("Turn 2 of 2")
    page.goto(address)
    ways = page.get_by_role("table", name="Points by run").locator("tbody tr")
    expect(ways).to_have_count(3)
    expect(ways.first.locator("td")).to_have_text(["1:2", "1:2"])
    expect(ways.nth(1).locator("td")).to_have_text(["never", "2:2, 1 more"])


def test_running_run_is_followed(tmp_path, open_page):
    done, going = run_of(tmp_path / "done", 5), tmp_path / "going"
    write_log(going, started(), turn(1))
    with served(done, going) as url:
        page = open_page(url)
        expect(page.locator("#standing")).to_have_text("2 runs, 1 in progress")
        write_log(going, turn(2, score=30), ENDED)
        expect(page.get_by_role("link", name="going, episode 1: 30 points")).to_be_visible()
        expect(page.locator("#standing")).to_have_text("2 runs")


def test_page_of_runs_is_readable_at_every_size(address, open_page):
    page = open_page(address)
    expect(page.locator(".learning")).to_be_attached()
    assert_readable(page, page.locator("#runs-body"), scrolls="#runs-body", texts=40)


def test_every_run_needs_the_token(runs):
    with served(runs[0], runs[1], "--host", "127.0.0.1") as address:
        base, token = re.fullmatch(r"(.*/)#token=(.+)", address).groups()
        for path in ("api/runs", "api/runs/1/run", "api/runs/2/episodes/1/pages/0"):
            assert httpx.get(f"{base}{path}").status_code == 401
            assert httpx.get(f"{base}{path}", headers={"authorization": f"Bearer {token}"}).status_code == 200
        elsewhere = {"sec-fetch-site": "cross-site", "authorization": f"Bearer {token}"}
        assert httpx.get(f"{base}runs/2/", headers=elsewhere).status_code == 200
        assert httpx.get(f"{base}api/runs/2/run", headers=elsewhere).status_code == 403
        assert httpx.get(f"{base}runs/3/").status_code == 404


def test_export_of_several_runs_is_refused(runs, tmp_path):
    out = tmp_path / "run.html"
    done = command("view", str(runs[0]), str(runs[1]), "--export", str(out))
    assert (done.returncode, out.exists()) == (2, False)
    assert "--export writes one run, but 2 were given" in done.stderr
    assert command("view", str(runs[0]), f"{runs[0]}/.", "--export", str(out)).returncode == 0

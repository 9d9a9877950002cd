"""Tests of the page in a real browser."""

import json
import time

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import SIZES, until
from tests.fixtures.viewer import played, playing, served, started, turn, write_log
from zorkgpt.viewer.export import export_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return played(tmp_path_factory.mktemp("run"), episodes=2, turns=70)


@pytest.fixture(scope="module")
def address(run):
    with served(run) as url:
        yield url


def turn_of(page) -> int:
    return int(page.locator("#scrubber").input_value())


def test_running_episode_is_followed(tmp_path, open_page):
    with playing(tmp_path, delay_s=0.3), served_when_played(tmp_path) as url:
        page = open_page(url)
        expect(page.locator("#standing")).to_contain_text("Playing")
        until(page, "Number(document.querySelector('#scrubber').max) > 3")
        before = turn_of(page)
        until(page, f"Number(document.querySelector('#scrubber').value) > {before + 8}")
        latest = page.locator("article[aria-current]")
        expect(latest).to_be_in_viewport()
        page.locator("#follow").click()
        page.keyboard.press("Home")
        expect(page.locator("#when")).to_contain_text("Turn 0 of")
        reached = int(page.locator("#scrubber").get_attribute("max"))
        until(page, f"Number(document.querySelector('#scrubber').max) > {reached + 3}")
        assert turn_of(page) == 0
    expect(page.locator("#standing")).to_contain_text("Connection lost")


def served_when_played(workdir):
    """Serve the run as soon as there is something to show."""
    log = workdir / "runs" / "1" / "episode_log.jsonl"
    for _ in range(600):
        if log.is_file() and log.stat().st_size:
            break
        time.sleep(0.1)
    return served(workdir)


def test_page_continues_with_the_next_episode(tmp_path, open_page):
    played(tmp_path, episodes=1, turns=5)
    with served(tmp_path) as url:
        page = open_page(f"{url}#live")
        expect(page.locator("#standing")).to_contain_text("Ended: turn limit")
        played(tmp_path, episodes=1, turns=7)
        expect(page.locator("#episodes select")).to_contain_text("Episode 2")
        expect(page.locator("#when")).to_contain_text("Turn 7 of 7")
        expect(page.locator("#transcript article[aria-current] .number")).to_have_text("7")


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_panel_fits_the_window(address, open_page, width, height):
    page = open_page(f"{address}#2:20", width=width, height=height)
    expect(page.locator("article[aria-current] .number")).to_have_text("20")
    for panel in ("transcript", "world", "turn", "known"):
        if width < 720:
            page.locator(f"[data-opens={panel}]").click()
        expect(page.locator(f"#{panel}")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(f"document.querySelector('#{panel}').scrollWidth") <= width
    expect(page.locator("#timeline")).to_be_in_viewport(ratio=1)
    if width < 720:
        page.locator("[data-opens=transcript]").click()
        expect(page.locator("article[aria-current]")).to_be_in_viewport()


def test_scrubbing_shows_panels_as_of_the_turn(address, open_page):
    page = open_page(f"{address}#1:0")
    rooms = page.locator(".map .room:not(.unknown)")
    expect(rooms).to_have_count(1)
    expect(page.locator("#memories .memory")).to_have_count(1)
    last = page.locator("#scrubber").get_attribute("max")
    page.locator("#scrubber").fill(last)
    expect(page.locator("#when")).to_contain_text(f"Turn {last} of {last}")
    expect(page.locator("article[aria-current] .number")).to_have_text(last)
    expect(page.locator("article[aria-current]")).to_be_in_viewport()
    until(page, "document.querySelectorAll('.map .room:not(.unknown)').length > 3")
    page.keyboard.press("Home")
    expect(rooms).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#when")).to_contain_text(f"Turn 1 of {last}")
    page.keyboard.press("]")
    expect(page.locator("#episodes select")).to_have_value("2")


def test_room_on_the_map_shows_its_memories(address, open_page):
    page = open_page(f"{address}#2:25")
    room = page.locator(".map .room:not(.unknown):not(.here)").first
    name = room.get_attribute("aria-label")
    room.press("Enter")
    expect(page.locator("#memories h3")).to_have_text(name)
    expect(page.locator("#memories > header")).to_contain_text("after this turn")
    page.get_by_role("button", name="Back to the current place").click()
    expect(page.locator("#memories > header")).to_contain_text("before this turn")


def test_map_can_be_moved_and_zoomed(address, open_page):
    page = open_page(f"{address}#2:25")
    expect(page.locator(".map .room.here")).to_have_count(1)
    seen = page.locator("svg.map").get_attribute("viewBox")
    page.locator("svg.map").hover(position={"x": 60, "y": 60})
    page.mouse.wheel(0, -200)
    closer = page.locator("svg.map").get_attribute("viewBox")
    assert float(closer.split()[2]) < float(seen.split()[2])
    page.mouse.down()
    page.mouse.move(300, 300, steps=4)
    page.mouse.up()
    assert page.locator("svg.map").get_attribute("viewBox") != closer
    page.get_by_role("button", name="Show the whole map").click()
    page.get_by_role("button", name="Center on the player").click()
    expect(page.locator("svg.map")).to_have_attribute("viewBox", seen)


def test_comparison_of_two_episodes(address, open_page):
    page = open_page(f"{address}#2:10")
    page.get_by_label("Compare with another episode").select_option("1")
    expect(page.locator("#beside")).to_be_visible()
    expect(page.locator("#beside .summary")).to_contain_text("Identical for")
    expect(page.locator("tr.parting")).to_have_count(1)
    expect(page.locator("#beside h3")).to_contain_text("that only episode 2 had")
    page.get_by_role("button", name="Close comparison").click()
    expect(page.locator("#transcript")).to_be_visible()


def test_exported_run_opens_from_disk(run, tmp_path, open_page):
    size = export_run(run, tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size == size
    page = open_page((tmp_path / "run.html").as_uri() + "#2:25")
    expect(page.locator("article[aria-current] .number")).to_have_text("25")
    until(page, "document.querySelectorAll('.map .room:not(.unknown)').length > 3")
    expect(page.locator("#memories h4").first).to_be_visible()
    page.keyboard.press("[")
    expect(page.locator("#episodes select")).to_have_value("1")
    page.get_by_label("Compare with another episode").select_option("2")
    expect(page.locator("#beside .summary")).to_contain_text("Identical for")


def test_objectives_and_knowledge_are_shown_as_of_the_turn(tmp_path, open_page):
    goal = {
        "text": "Open the door",
        "status": "open",
        "done_when": "it was opened",
        "places": [10],
        "origin": {"episode": 1},
    }
    reached = goal | {"status": "reached", "reached": [{"episode": 1, "turn": 3, "words": "open door"}]}
    write_log(tmp_path, started(), turn(1), {"event": "objectives_updated", "turn": 1, "objectives": [goal]}, turn(2))
    known = {"event": "knowledge_updated", "turn": 3, "added": ["Doors open."], "struck": [], "text": "# Knowledge"}
    write_log(tmp_path, turn(3), {"event": "objectives_updated", "turn": 3, "objectives": [reached]}, known, turn(4))
    with served(tmp_path) as url:
        page = open_page(f"{url}#1:2")
        page.get_by_role("button", name="Objectives").click()
        expect(page.locator(".objective .badge")).to_have_text("open")
        page.keyboard.press("End")
        expect(page.locator(".objective .badge")).to_have_text("reached")
        expect(page.locator(".objective .proof")).to_contain_text("1:3 open door")
        page.get_by_role("button", name="Knowledge").click()
        expect(page.locator("#knowledge .new")).to_have_text("Doors open.")
        page.keyboard.press("Home")
        expect(page.locator("#knowledge .new")).to_have_count(0)
        expect(page.locator("#knowledge")).to_contain_text("No knowledge yet")


def test_model_calls_are_shown_verbatim(tmp_path, open_page):
    call = {"v": 1, "event": "model_called", "turn": 1, "role": "agent", "model": "m-1", "prompt_tokens": 1200}
    call |= {"completion_tokens": 30, "cost": 0.0012, "latency_s": 0.5, "answer": "ACTION: look", "reasoning": ""}
    call |= {"messages": [{"speaker": "system", "content": "You are playing."}, {"speaker": "user", "content": "Now?"}]}
    write_log(tmp_path, started(), turn(1), turn(2))
    (tmp_path / "runs" / "1" / "model_calls.jsonl").write_text(json.dumps(call) + "\n")
    with served(tmp_path) as url:
        page = open_page(f"{url}#1:1")
        calls = page.locator(".calls")
        expect(calls).to_contain_text("1,200 in · 30 out · $0.0012 · 0.50 s")
        calls.locator("summary").click()
        expect(calls.locator(".said")).to_have_text(["systemYou are playing.", "userNow?", "answerACTION: look"])


def test_controls_have_names_and_are_reached_by_keyboard(address, open_page):
    page = open_page(f"{address}#2:25")
    expect(page.locator("#memories .memory").first).to_be_visible()
    nameless = """() => [...document.querySelectorAll("button, input, select, [role=button]")].filter((one) =>
        one.checkVisibility() && !(one.ariaLabel || one.textContent.trim() || one.labels?.length)).length"""
    assert page.evaluate(nameless) == 0
    reached = set()
    page.locator("body").focus()
    for _ in range(400):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.closest('[id]')?.id"))
    assert {"turns", "scrubber", "follow", "turn-body", "known-tabs", "map"} <= reached
    page.keyboard.press("Escape")
    page.locator("#known-body").focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("previous or next turn")


def test_turns_chosen_by_others_are_labeled(tmp_path, open_page):
    choosers = ["model", "rules", "given"]
    write_log(tmp_path, started(player="model"), *(turn(at, player=player) for at, player in enumerate(choosers, 1)))
    with served(tmp_path) as url:
        page = open_page(url)
        turns = [page.locator(f"article.turn[data-at='{at}']") for at in range(1, 4)]
        expect(turns[1]).to_contain_text("chosen by the rules")
        expect(turns[2]).to_contain_text("chosen by given")
        expect(turns[0].locator(".badge")).to_have_count(0)

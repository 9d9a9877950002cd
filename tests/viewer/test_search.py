"""Tests of search over all episodes, with filters."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import assert_readable, until
from tests.fixtures.viewer import added, client, disproved, served, started, turn, write_history, write_log

pytestmark = pytest.mark.slow

TURNS = 60
FOUND = {
    "find=LanTern": ["Episode 1, turn 3", "Episode 1, turn 15"],
    "find=needle": ["Episode 2, turn 42"],
    "find=%C3%A9toile": ["Episode 1, turn 0", "Episode 2, turn 0", "Episode 2, turn 5", "Episode 2, turn 42"],
    "find=nothing%20like%20it": [],
    "find=speaker": [],
    "find=nLook": [],
    "find=m-1": [],
    "find=shines%3C/b": ["Episode 1, turn 3"],
    "only=score": ["Episode 1, turn 3"],
    "only=death": ["Episode 1, turn 20"],
    "only=refusal": ["Episode 1, turn 30", "Episode 1, turn 31"],
    "only=learned": ["Episode 1, turn 7", "Episode 1, turn 15"],
    "find=hangs&only=learned": ["Episode 1, turn 15"],
    "find=rope&only=disproved,death": ["Episode 1, turn 11"],
    "only=disproved,death": ["Episode 1, turn 11", "Episode 1, turn 20"],
    "only=contradiction": ["Episode 1, turn 9"],
    "only=disproved": ["Episode 1, turn 11"],
    "only=error": ["Episode 2, turn 50"],
    "only=score,death": ["Episode 1, turn 3", "Episode 1, turn 20"],
    "find=look&only=death,error": ["Episode 1, turn 20", "Episode 2, turn 50"],
    "find=lantern&only=death": [],
}


def event(kind: str, persistence: str = "permanent", title: str = "A title") -> dict:
    return {"kind": kind, "persistence": persistence, "location_id": 10, "title": title, "category": "NOTE"}


def call(number: int, content: str, **fields) -> str:
    record = {"v": 1, "event": "model_called", "turn": number, "role": "agent", "model": "m-1", "prompt_tokens": 5}
    record |= {"messages": [{"speaker": "user", "content": content}], "answer": "ACTION: wait", "reasoning": ""}
    return json.dumps(record | fields) + "\n"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("search")
    special = {
        3: {"score_before": 0, "score": 5, "response": "The brass LANTERN <b>shines</b>."},
        9: {"memory_events": [event("contested")]},
        12: {"memory_events": [event("added", "ephemeral"), event("invalidated", "ephemeral")]},
        20: {"died": True},
        30: {"refused": "This command is not passed on."},
        31: {"rejections": [{"action": "jump", "reason": "No.", "judge": "model"}]},
    }
    for episode in (1, 2):
        rows = [turn(at, **special.get(at, {}) if episode == 1 else {}) for at in range(1, TURNS + 1)]
        ended = {"event": "episode_ended", "reason": "turn limit"}
        write_log(path, started(episode, opening="It begins in Étoile."), *rows, ended, episode=episode)
    calls = [call(at, f"Prompt {at}.\nLook, ÉTOILE {'needle' if at == 42 else 'straw'}.") for at in (5, 42)]
    calls.append(call(50, "Nothing.", error="The server failed.", answer=""))
    (path / "runs" / "2" / "model_calls.jsonl").write_text("".join(calls))
    rope = added(1, 7, "A rope")
    lantern = added(1, 15, "A lantern", "core", "The lantern hangs here.")
    write_history(path, rope, disproved(rope, 1, 11), lantern)
    return path


def test_search_results(address, open_page):
    page = open_page(f"{address}#1:1")
    results = {}
    status = page.locator("#found [role=status]")
    for sight in FOUND:
        status.evaluate("(element) => element.replaceChildren()")
        page.goto(f"{address}#1:1&{sight}")
        expect(status).to_have_text(re.compile("result"))
        results[sight] = page.locator(".hit b").all_inner_texts()
    assert results == FOUND


def test_hits_show_context_and_link_to_turns(address, open_page):
    page = open_page(f"{address}#2:1")
    expect(page.locator("article[aria-current]")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type("lantern")
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator(".hit").first.locator(".words")).to_have_text("The brass LANTERN <b>shines</b>.")
    expect(page.locator(".hit mark").first).to_have_text("LANTERN")
    page.locator(".hit").first.click()
    expect(page.locator("#episodes select")).to_have_value("1")
    expect(page.locator("article[aria-current] .number")).to_have_text("3")
    expect(page.locator("article[aria-current]")).to_be_in_viewport()
    expect(page).to_have_url(re.compile("#1:3&find=lantern$"))
    until(page, "CSS.highlights.get('found').size === 1")
    page.locator(".hit").nth(1).click()
    expect(page.locator("#when")).to_contain_text("Turn 15")
    page.get_by_role("button", name="Close search").click()
    expect(page.locator("#memories h3")).to_have_text("Hall")


def test_keys_move_between_hits(address, open_page):
    page = open_page(f"{address}#1:1&find=look%205")
    expect(page.locator(".hit").first).to_be_visible()
    for episode, number in (("1", 5), ("1", 50), ("1", 51)):
        page.keyboard.press("n")
        expect(page.locator("article[aria-current] .number")).to_have_text(str(number))
        expect(page.locator("#episodes select")).to_have_value(episode)
        expect(page.locator(".hits [aria-current]")).to_have_count(1)
    page.locator("#scrubber").fill("59")
    page.keyboard.press("n")
    expect(page.locator("#episodes select")).to_have_value("2")
    expect(page.locator("article[aria-current] .number")).to_have_text("5")
    page.keyboard.press("N")
    expect(page.locator("#episodes select")).to_have_value("1")
    expect(page.locator("article[aria-current] .number")).to_have_text("59")


def test_filters_are_buttons_and_in_the_address(address, open_page):
    page = open_page(f"{address}#1:1")
    expect(page.locator("article[aria-current]")).to_be_visible()
    page.get_by_role("button", name="Search", exact=True).first.click()
    page.get_by_role("button", name="Death", exact=True).click()
    expect(page).to_have_url(re.compile("#1:1&only=death$|panel=found&only=death$"))
    expect(page.locator(".hit")).to_have_count(1)
    page.get_by_role("button", name="Next result").click()
    expect(page.locator("#when")).to_contain_text("Turn 20")
    page.reload()
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.get_by_role("button", name="Death", exact=True)).to_have_attribute("aria-pressed", "true")
    page.goto(f"{address}#1:1&only=luck")
    expect(page.locator("#notice")).to_contain_text("unknown filter “luck”. Use score, death")


def test_more_hits_are_shown_on_request(address, open_page):
    page = open_page(f"{address}#1:1&find=look")
    expect(page.locator("#found [role=status]")).to_have_text("122 results")
    expect(page.locator(".hit")).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".hit")).to_have_count(122)


def test_new_turns_are_found(tmp_path, open_page):
    write_log(tmp_path, started(), turn(1, response="A lamp."))
    with served(tmp_path) as url:
        page = open_page(f"{url}#1:1&find=lamp")
        expect(page.locator(".hit")).to_have_count(1)
        write_log(tmp_path, turn(2, response="Another lamp."))
        expect(page.locator(".hit")).to_have_count(2)


def test_requested_hits_stay_visible_while_the_run_continues(tmp_path, open_page):
    write_log(tmp_path, started(), *(turn(at, response="A lamp.") for at in range(1, 131)))
    with served(tmp_path) as url:
        page = open_page(f"{url}#1:1&find=lamp")
        expect(page.locator(".hit")).to_have_count(100)
        held = []
        page.route("**/api/search*from=100", lambda route: held.append(route), times=1)
        with page.expect_request("**/api/search*from=100"):
            page.get_by_role("button", name="Show more").click()
        write_log(tmp_path, turn(131, response="Another lamp."))
        expect(page.locator("#found [role=status]")).to_have_text("131 results")
        held[0].continue_()
        expect(page.locator(".hit")).to_have_count(131)
        write_log(tmp_path, turn(132, response="One more lamp."))
        expect(page.locator(".hit")).to_have_count(132)


def test_hit_shows_the_response_before_the_command_and_the_memory(tmp_path):
    said = {"action": "take lamp", "response": "The lamp is hot.", "memory_events": [event("added", title="A lamp")]}
    write_log(tmp_path, started(), turn(1, **said))
    [row] = client(tmp_path).get("/api/search", params={"q": "lamp"}).json()["rows"]
    assert (row["title"], row["before"], row["after"]) == ("take lamp", "The ", " is hot.")


def test_hits_across_read_blocks_are_found(tmp_path):
    write_log(tmp_path, started(), *(turn(at) for at in range(1, 31)))
    lines = [call(at, f"{'x' * 1_500_000} needle{at}.") for at in range(1, 31)]
    (tmp_path / "runs" / "1" / "model_calls.jsonl").write_text("".join(lines))
    api = client(tmp_path)
    for at in range(1, 31):
        assert api.get("/api/search", params={"q": f"needle{at}."}).json()["hits"] == [1_000_000 + at]


def test_search_is_readable_at_every_size(address, open_page):
    page = open_page(f"{address}#1:3&panel=found&find=look")
    assert_readable(page, page.locator(".hit").first)

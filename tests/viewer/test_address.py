"""Tests of the address of the page, which names the episode, turn and tab in view."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import load
from tests.fixtures.viewer import client, served, started, turn, write_log
from zorkgpt import Memory, SimpleMemoryManager

pytestmark = pytest.mark.slow

SHOP = "https://shop/cart?a=1&b=ä"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("address")
    ended = {"event": "episode_ended", "reason": "turn limit", "score": 0}
    for episode in (1, 2):
        rows = [turn(at, episode=episode, action=f"look {episode}.{at}") for at in range(1, 41)]
        # The line of turn 30 is lost, so that turn numbers differ from positions.
        write_log(path, started(episode), *(row for row in rows if row["turn"] != 30), ended, episode=episode)
    with SimpleMemoryManager.open(path / "Memories.md") as memory:
        memory.add_memory(10, "Hall", Memory("NOTE", "A hall", 1, "1", 0, "It is a hall.", "permanent"))
        memory.add_memory(SHOP, "Cart", Memory("NOTE", "Empty", 1, "1", 0, "The cart is empty.", "permanent"))
    return path


def looks_at(page, episode: int, number: int) -> None:
    expect(page.locator("#episodes select")).to_have_value(str(episode))
    expect(page.locator("article[aria-current] .number")).to_have_text(str(number))


def ends_with(page, words: str) -> None:
    expect(page).to_have_url(re.compile(re.escape(words) + "$"))


def test_address_follows_navigation(address, open_page):
    page = open_page(f"{address}#1:5")
    looks_at(page, 1, 5)
    page.get_by_role("button", name="Objectives").click()
    ends_with(page, "#1:5&tab=objectives")
    page.locator("#episodes select").select_option("2")
    ends_with(page, "#2:40&tab=objectives")
    page.locator("#scrubber").fill("20")
    ends_with(page, "#2:20&tab=objectives")
    page.reload()
    looks_at(page, 2, 20)
    expect(page.locator("#objectives")).to_be_visible()
    page.go_back()
    looks_at(page, 2, 40)
    page.go_back()
    looks_at(page, 1, 5)
    expect(page.locator("#objectives")).to_be_visible()
    page.go_back()
    expect(page.locator("#memories")).to_be_visible()
    page.go_forward()
    expect(page.locator("#objectives")).to_be_visible()


def test_steps_are_not_added_to_browser_history(address, open_page):
    page = open_page(f"{address}#1:5")
    looks_at(page, 1, 5)
    page.locator("#episodes select").select_option("2")
    ends_with(page, "#2:40")
    for number in (39, 38, 37):
        page.keyboard.press("ArrowLeft")
        ends_with(page, f"#2:{number}")
    page.go_back()
    looks_at(page, 1, 5)


@pytest.mark.parametrize("sight", ["#2:31", "#2:0&tab=knowledge&place=10", "#2:12&beside=1", "#1:12&panel=world"])
def test_typed_address_and_reload_show_the_same_view(address, open_page, sight):
    page = open_page(f"{address}#1:5", width=390 if "panel" in sight else 1400)
    looks_at(page, 1, 5)
    page.goto(f"{address}{sight}")
    for _ in range(2):
        number = re.search(r":(\d+)", sight)[1]
        expect(page.locator("#when")).to_contain_text(f"Turn {number} of 40")
        expect(page.locator("#episodes select")).to_have_value(sight[1])
        expect(page.locator("#notice")).to_be_hidden()
        if "place" in sight:
            expect(page.locator("#known-tabs [aria-pressed=true]")).to_have_text("Knowledge")
            expect(page.locator("#memories h3")).to_have_text("Hall")
        if "beside" in sight:
            expect(page.locator("#beside .summary")).to_be_visible()
        if "panel" in sight:
            expect(page.locator("svg.map")).to_be_in_viewport()
        ends_with(page, sight)
        page.reload()


def test_place_key_can_be_text(workdir, address, open_page):
    quoted = "%22https%3A%2F%2Fshop%2Fcart%3Fa%3D1%26b%3D%C3%A4%22"
    assert client(workdir).get(f"/api/places/{quoted}").json()["name"] == "Cart"
    assert client(workdir).get("/api/places/%2210%22").json()["threads"] == []
    page = open_page(f"{address}#1:5&place={quoted}")
    expect(page.locator("#memories h3")).to_have_text("Cart")
    # The place was added after both episodes, so it was unknown at turn 5.
    expect(page.locator("#notice")).to_be_hidden()


NOWHERE = {
    "#9:1": "there is no episode 9",
    "#1:41": "episode 1 has no turn 41; its last one is 40",
    "#1:30": "episode 1 has no turn 30",
    "#1:5&tab=nonsense": "unknown tab “nonsense”",
    "#1:5&panel=5": "unknown panel “5”",
    "#1:5&place=11": "there is no place 11",
    "#1:5&place=%7B": "there is no place {",
    "#1:5&place=%22constructor%22": 'there is no place "constructor"',
    "#1:5&beside=7": "there is no episode 7",
    "#1:5&x=%E0%A4%A": "can't be read",
    "#1:5&__proto__=1": "“__proto__” is not a known option",
    "#<img src=x>": "use an episode and a turn",
}


def test_invalid_addresses_are_explained(address, open_page):
    page = open_page(f"{address}#1:7")
    for sight, message in NOWHERE.items():
        page.goto(f"{address}{sight}")
        expect(page.locator("#notice")).to_contain_text(message)
        expect(page.locator("#notice")).to_contain_text("Can’t open “#")
        expect(page.locator("#notice")).to_have_attribute("role", "alert")
    page.goto(f"{address}#1:7")
    looks_at(page, 1, 7)
    expect(page.locator("#notice")).to_be_hidden()


HOLD_ANSWERS = """
const [json, wait] = [Response.prototype.json, new Promise((release) => { window.release = release; })];
let answers = 0;
Response.prototype.json = async function () {
  const answer = await json.call(this);
  answers += 1;
  if (answers > %d) { window.isHeld = true; await wait; }
  return answer;
};
"""


@pytest.mark.parametrize("answers", [0, 1, 2, 3])
@pytest.mark.parametrize(("entered", "notice"), [("#9:1", "there is no episode 9"), ("#2:5", "")])
def test_address_changed_while_the_page_opens(address, open_page, answers, entered, notice):
    page = open_page(f"{address}#1:7")
    page.add_init_script(HOLD_ANSWERS % answers)
    page.reload()
    page.wait_for_function("() => window.isHeld")
    page.evaluate("(entered) => { location.hash = entered; }", entered)
    page.wait_for_timeout(100)
    page.evaluate("() => window.release()")
    if not notice:
        looks_at(page, 2, 5)
    expect(page.locator("#notice")).to_contain_text(notice)
    expect(page.locator("#notice")).to_be_visible(visible=bool(notice))


def test_going_back_while_another_address_opens(address, open_page):
    page = open_page(f"{address}#1:7")
    looks_at(page, 1, 7)
    ends_with(page, "#1:7")
    page.evaluate(f"() => {{ {HOLD_ANSWERS % 0} }}")
    page.evaluate("() => { location.hash = '#2:5'; }")
    page.wait_for_function("() => window.isHeld")
    page.evaluate("() => { location.hash = '#1:7'; window.release(); }")
    page.wait_for_timeout(300)
    looks_at(page, 1, 7)


def test_addresses_work_with_a_token(workdir, open_page):
    with served(workdir, "--host", "0.0.0.0") as printed:
        base, token = printed.split("#")
        page = open_page(f"{base}#{token}&2:12&tab=knowledge")
        looks_at(page, 2, 12)
        ends_with(page, "#2:12&tab=knowledge")
        assert "token" not in page.url
        page.reload()
        looks_at(page, 2, 12)
        other = page.context.new_page()
        other.goto(page.url)
        looks_at(other, 2, 12)
        expect(other.locator("#knowledge")).to_be_visible()
        other.goto(f"{base}#1:3")
        looks_at(other, 1, 3)
        other.go_back()
        looks_at(other, 2, 12)


def test_turn_can_be_copied(address, open_page):
    page = open_page(f"{address}#2:12")
    looks_at(page, 2, 12)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(words: str) -> str:
        button = page.get_by_role("button", name=words)
        button.click()
        expect(page.locator("#turn .copies")).to_contain_text("Copied")
        expect(button).to_be_visible()
        return page.evaluate("navigator.clipboard.readText()")

    text = copied("Copy as text")
    assert text.startswith("Episode 2, turn 12, Hall, score 0\nWhy: Because.\n> look 2.12\n\nYou see 12.")
    row = json.loads(copied("Copy as JSON"))
    assert (row["episode"], row["turn"], row["action"], row["location_id"]) == (2, 12, "look 2.12", 10)
    link = copied("Copy link")
    assert link == f"{address.split('#')[0]}#2:12"


def test_documented_addresses_work(tmp_path, open_page):
    page_of_docs = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text(encoding="utf-8")
    table = page_of_docs.partition("## Links")[2].partition("## Export")[0]
    sights = [sight for row in table.splitlines()[5:] for sight in re.findall(r"`([#&][^`]+)`", row)]
    assert len(sights) > 6
    for episode in (1, 2, 3):
        write_log(tmp_path, started(episode), *(turn(at) for at in range(1, 121)), episode=episode)
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        for place in (30, "https://shop"):
            memory.add_memory(place, "", Memory("NOTE", "Here", 1, "1", 0, "It is here.", "permanent"))
    with served(tmp_path) as url:
        page = open_page(url)
        for sight in sights:
            load(page, url + (sight if sight.startswith("#") else f"#3:120{sight}"))
            expect(page.locator("#title")).to_have_text("A Story")
            expect(page).to_have_url(re.compile(re.escape(sight) + "$"))
            expect(page.locator("#notice")).to_be_hidden()

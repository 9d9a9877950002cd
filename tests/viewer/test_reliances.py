"""Tests of what an action relied on, and of links to turns."""

import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import started, turn, write_history, write_log

pytestmark = pytest.mark.slow

MEMORIES = [
    (10, "Hall", "Brass lamp burns", "The lamp burns.", ""),
    (10, "Hall", "Trap door creaks", "It creaks.", ""),
    (10, "Hall", "Hidden panel rattles", "Never shown.", ""),
    (20, "Salt Cote", "take bottle: +2 points", "You get the bottle.", "take bottle"),
    (30, "Marsh", "north: kills you", "Deadly.", "north"),
    (31, "Marsh", "north: kills you", "Deadly.", "north"),
]
NOTE = {"category": "NOTE", "persistence": "permanent", "status": "ACTIVE"}
SHOWN = "[NOTE] Brass lamp burns: The lamp burns.\n[NOTE] Trap door creaks: It creaks."
GOAL = {"text": "Open the iron grating", "status": "open", "origin": {"episode": 1, "turn": 1}, "reached": []}
KNOWN = "# Knowledge\n\n- Lanterns scare grues underground. *(Ep1, T1; confirmed 0)*\n- Nothing else matters here.\n"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("why")
    reasons = [
        "The brass lamp burns well, so go on.",
        "On the way to Salt Cote, where 'take bottle' scored 2 in an earlier episode.",
        "On the way to Marsh, where 'north' is left to try.",
        "To open that iron grating; lanterns scare grues.",
        "The hidden panel rattles. As in episode 1, turn 2, and not as in episode 77, turn 5000000.",
        "No idea.",
    ]
    rows = [turn(at, reasoning=words, memory_shown=SHOWN) for at, words in enumerate(reasons, 2)]
    notes = [
        {"event": "objectives_updated", "turn": 1, "objectives": [GOAL, GOAL | {"text": "Feed the troll"}]},
        {"event": "knowledge_updated", "turn": 1, "added": ["Lanterns scare grues."], "struck": [], "text": KNOWN},
    ]
    ended = {"event": "episode_ended", "reason": "turn limit"}
    write_log(path, started(), turn(1), *notes, *rows, ended)
    history = [
        {"kind": "added", "location_id": place, "location_name": name, "before": None, "episode": 1, "turn": 0}
        | {"after": NOTE | {"title": title, "text": text, "action": action}}
        for place, name, title, text, action in MEMORIES
    ]
    history[0]["after"] |= {"episode": 1, "turns": "1"}
    trial = {"episode": 1, "turn": 7, "location_id": 10, "title": "Trap door creaks", "action": "up"}
    trial |= {"worked": False, "result": "x", "after": [0, 1]}
    write_history(path, *history, trials=[trial])
    return path


RELIANCES = {
    1: [],
    2: [("Memory", "Brass lamp burns", "mentioned in the reason")],
    3: [("Memory", "take bottle: +2 points", "its command is quoted in the reason")],
    4: [],
    5: [
        ("Objective", "Open the iron grating", "mentioned in the reason"),
        ("Knowledge", "Lanterns scare grues underground.", "mentioned in the reason"),
    ],
    6: [],
    7: [("Memory", "Trap door creaks", "followed, but the outcome did not match")],
}


def test_reliances_are_listed(address, open_page):
    page = open_page(f"{address}#1:1")
    for number, reliances in RELIANCES.items():
        page.goto(f"{address}#1:{number}")
        expect(page.locator("#turn-body")).to_have_attribute("data-key", re.compile(rf"^1\.0\.{number}\."))
        expect(page.locator("#turn .copies")).to_be_visible()
        items = page.locator(".reliances li")
        expect(items).to_have_count(len(reliances))
        for item, (kind, words, why) in zip(items.all(), reliances, strict=True):
            assert item.locator(".what").inner_text() == kind
            assert item.locator("b").inner_text() == words
            assert why in item.locator(".quiet").inner_text()


def test_reliances_are_marked_in_panels(address, open_page):
    page = open_page(f"{address}#1:2")
    expect(page.locator("#memories .memory.relied h4")).to_have_text(["Brass lamp burns"])
    expect(page.locator("#memories .relied-on")).to_have_text("Used: mentioned in the reason")
    page.goto(f"{address}#1:5&tab=objectives")
    expect(page.locator("#objectives .relied-on")).to_have_count(1)
    expect(page.locator(".objective", has_text="iron grating").locator(".relied-on")).to_be_visible()
    page.goto(f"{address}#1:3")
    page.locator(".reliances button").click()
    expect(page.locator("#memories h3")).to_have_text("Salt Cote")


def test_turns_in_text_are_links(address, open_page):
    page = open_page(f"{address}#1:5&tab=objectives")
    expect(page.locator("#objectives a")).to_have_text(["episode 1, turn 1", "1:1", "1:1"])
    page.goto(f"{address}#1:6")
    page.locator("#turn .reasoning a", has_text="episode 1, turn 2").click()
    expect(page.locator("#when")).to_contain_text("Turn 2 of 7")
    memory = page.locator("#memories .memory", has_text="Brass lamp burns")
    memory.locator(".chips a").click()
    expect(page.locator("#when")).to_contain_text("Turn 1 of 7")
    page.locator("#memories .memory", has_text="Trap door").locator("summary").click()
    page.locator("#memories .versions a").first.click()
    expect(page.locator("#when")).to_contain_text("Turn 0 of 7")
    page.get_by_role("button", name="Knowledge").click()
    page.keyboard.press("End")
    page.locator("#knowledge > .quiet a").click()
    expect(page.locator("#when")).to_contain_text("Turn 1 of 7")


def test_link_to_an_unknown_turn_shows_a_notice(address, open_page):
    page = open_page(f"{address}#1:6")
    expect(page.locator("#turn .reasoning a")).to_have_count(1)
    page.locator("#turn .reasoning a").evaluate("(one) => one.setAttribute('href', '#9:5')")
    page.locator("#turn .reasoning a").click()
    expect(page.locator("#notice")).to_have_text("Episode 9 has no turn 5.")

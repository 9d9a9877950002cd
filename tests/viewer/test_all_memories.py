"""Tests of the table of all memories."""

import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.pages import assert_readable
from tests.fixtures.viewer import client, played, served, started, turn, write_log
from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.memory.models import MemoryKind, Thing
from zorkgpt.memory.provenance import Showings
from zorkgpt.viewer.answers import PAGE_TURNS

pytestmark = pytest.mark.slow

SHOP = "https://shop/cart"
SHOWN = "[NOTE] Lamp: it burns: The lamp burns well. [spawn]\n[DANGER] Hole: Deep."


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    path = tmp_path_factory.mktemp("memories")
    away = {"location_id": 20, "location": "Cellar", "location_after_id": 20, "location_after": "Cellar"}
    rows = [turn(1), turn(2, memory_shown=SHOWN), turn(3, memory_shown=SHOWN), turn(4, **away)]
    write_log(path, started(), *rows, {"event": "episode_ended", "reason": "turn limit"})
    with SimpleMemoryManager.open(path / "Memories.md") as memory:
        memory.add_memory(
            10, "Hall", Memory("NOTE", "Lamp: it burns", 1, "1", 0, "The lamp burns well.", "core", tried=4, worked=3)
        )
        hole = Memory(
            "DANGER", "Hole", 1, "1", 0, "Deep.", "permanent", kind=MemoryKind.DANGER, outcome="died", tried=3
        )
        memory.add_memory(10, "Hall", hole)
        memory.add_memory(20, "Cellar", Memory("NOTE", "Rats", 1, "1", 0, "There are rats.", "permanent"))
        memory.add_memory(SHOP, "Cart", Memory("NOTE", "Empty", 1, "1", 0, "The cart is empty.", "permanent"))
    return path


def column(page, number: int) -> list[str]:
    return page.locator(f"#everything tbody tr > :nth-child({number})").all_inner_texts()


def test_table_has_a_row_per_memory(address, open_page):
    page = open_page(f"{address}#memories")
    expect(page.locator("#everything tbody tr")).to_have_count(4)
    expect(page.locator("#everything .summary")).to_contain_text("4 lasting memories: 2 tried")
    assert column(page, 1) == ["Cart", "Cellar", "Hall", "Hall"]
    rows = {
        row.locator("summary").inner_text(): row.locator("td").all_inner_texts()[1:11]
        for row in page.locator("#everything tbody tr").all()
    }
    assert rows["Lamp: it burns"] == ["NOTE", "", "core", "active", "1", "2", "4", "worked 3/4", "1", "0"]
    assert rows["Hole"] == ["DANGER", "danger", "permanent", "active", "1", "2", "3", "survived 3, died 1", "–", "0"]
    assert rows["Rats"] == ["NOTE", "", "permanent", "active", "1", "never", "–", "–", "–", "0"]


def test_sort_order_is_in_the_address(address, open_page):
    page = open_page(f"{address}#memories")
    for name, first, sight in (
        ("Tried", "Lamp: it burns", "-tried"),
        ("Memory", "Empty", "title"),
        ("Shown", None, "-shown"),
    ):
        page.locator("#everything thead").get_by_role("button", name=name, exact=True).click()
        expect(page).to_have_url(re.compile(f"#memories&sort={sight}$"))
        if first:
            expect(page.locator("#everything tbody summary").first).to_have_text(first)
    page.locator("#everything thead").get_by_role("button", name="Shown", exact=True).click()
    expect(page).to_have_url(re.compile("#memories&sort=shown$"))
    assert column(page, 8) == ["never", "never", "2", "2"]
    page.reload()
    expect(page.locator("[aria-sort=ascending]")).to_have_text("Shown")
    page.go_back()
    expect(page.locator("[aria-sort=descending]")).to_have_text("Shown")


def test_memory_links_to_history_turns_and_place(address, open_page):
    page = open_page(f"{address}#memories")
    row = page.locator("#everything tbody tr", has_text="Lamp: it burns")
    row.locator("summary").click()
    expect(row.locator(".fact")).to_have_text("The lamp burns well.")
    expect(row.locator(".versions li")).to_have_count(1)
    expect(row.locator(".times a")).to_have_text(["1:2", "1:3"])
    row.locator(".times a").nth(1).click()
    expect(page.locator("#when")).to_contain_text("Turn 3 of 4")
    expect(page).to_have_url(re.compile("#1:3$"))
    page.go_back()
    page.locator("#everything tbody tr", has_text="Rats").get_by_role("button", name="Cellar").click()
    expect(page.locator("#memories h3")).to_have_text("Cellar")
    expect(page.locator(".map .room.asked")).to_have_attribute("aria-label", "Cellar")
    expect(page.locator(".map .room.asked")).to_be_in_viewport()


def test_shown_turns_match_the_log(tmp_path):
    played(tmp_path, episodes=2, turns=60)
    api = client(tmp_path)
    rows = api.get("/api/memories").json()["memories"]
    assert len(rows) > 5
    shown = [row for row in rows if row["shown"]]
    assert shown
    for row in shown:
        for episode, number in row["shown_turns"]:
            page, position = divmod(number - 1, PAGE_TURNS)
            record = api.get(f"/api/episodes/{episode}/pages/{page}").json()["rows"][position]
            assert f"] {row['title']}:" in record["memory_shown"]
            assert record["location_id"] == row["place"] or isinstance(row["place"], dict)


def test_memory_of_a_creature_is_shown_where_the_player_was(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2, memory_shown=SHOWN))
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(Thing(30), "rat", Memory("DANGER", "Hole", 1, "1", 0, "Deep.", "permanent"))
        [explanation] = memory.explain("Hole")
    [row] = client(tmp_path).get("/api/memories").json()["memories"]
    assert (row["shown"], row["shown_turns"]) == (1, [[1, 2]])
    assert explanation.shown == (Showings(1, 2, 2, 1),)


def test_disproved_memory_is_marked(tmp_path, open_page):
    write_log(tmp_path, started(), turn(1), {"event": "episode_ended", "reason": "turn limit"})
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(10, "Hall", Memory("NOTE", "Friendly", 1, "1", 0, "The troll is friendly.", "permanent"))
        memory.invalidate_memory(10, "Friendly", "It struck.")
    with served(tmp_path) as url:
        page = open_page(f"{url}#memories")
        expect(page.locator("#everything tbody tr")).to_contain_text("disproved")
        expect(page.locator("#everything .summary")).to_contain_text("1 disproved")


def test_table_is_readable_at_every_size(address, open_page):
    page = open_page(f"{address}#memories")
    page.locator("#everything summary").first.click()
    expect(page.locator("#everything .versions")).to_be_visible()
    assert_readable(page, page.locator("#everything tbody tr").first)

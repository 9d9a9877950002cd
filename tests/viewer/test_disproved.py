"""Tests of memories that an audit, a command or an edit marked as wrong."""

import pytest
from playwright.sync_api import expect

from tests.fixtures.runs import a_run
from tests.fixtures.stores import journal_file
from tests.fixtures.viewer import client
from zorkgpt import Memory
from zorkgpt.cli.app import run as zorkgpt
from zorkgpt.memory.claims import Claim, Relation
from zorkgpt.memory.editing import Edit
from zorkgpt.viewer.json_lines import turn_key

pytestmark = pytest.mark.slow

TITLES = ["Wrong 1", "Wrong 2", "Wrong 3"]


def add_wrong_memories(run) -> None:
    """Add core memories that place three objects where they are not at the start of the game."""
    things = [thing for thing in run.services.game.all_objects() if thing.movable and thing.room]
    for thing, title in zip(things, TITLES, strict=False):
        place = next(other.room for other in things if other.room != thing.room)
        memory = Memory("NOTE", title, 1, "3", 0, "It is here.", "core", claims=(Claim(Relation.HERE, thing.number),))
        run.simple_memory.add_memory(place, "Somewhere", memory)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """A run whose second episode began with an audit that found three wrong memories."""
    path = tmp_path_factory.mktemp("audited")
    with a_run(path, turns=8) as run:
        run.play_episode()
        add_wrong_memories(run)
        run.play_episode()
    return path


def disproved(workdir) -> tuple[list[int], list[str], list[int]]:
    """Return the counts in the overview, the titles in the table, and the search hits."""
    api = client(workdir)
    counts = [row["disproved"] for row in api.get("/api/overview").json()["episodes"]]
    titles = [row["title"] for row in api.get("/api/memories").json()["memories"] if row["disproved"]]
    hits = api.get("/api/search", params={"only": "disproved"}).json()["hits"]
    return counts, sorted(title for title in titles if title in TITLES), hits


def test_memories_disproved_by_the_audit(workdir):
    assert disproved(workdir) == ([0, 3], TITLES, [turn_key(2, 0)] * 3)


def test_disproved_memories_are_found_by_filter_and_words(address, open_page):
    page = open_page(address)
    expect(page.locator("#overview .summary")).to_contain_text("3 disproved")
    page.goto(f"{address}#2:1&find=&only=disproved")
    expect(page.locator(".hit")).to_have_count(3)
    expect(page.locator(".hit").first).to_contain_text("Episode 2, turn 0")
    expect(page.locator(".hit").first).to_contain_text("In a fresh world")
    page.locator("#find").fill("wrong 2")
    expect(page.locator(".hit")).to_have_count(1)
    page.locator(".hit").click()
    expect(page.locator("#memories")).to_contain_text("Wrong 2")


def test_memories_disproved_by_a_command(tmp_path):
    with a_run(tmp_path, turns=8) as run:
        run.play_episode()
        add_wrong_memories(run)
    assert disproved(tmp_path)[:2] == ([0], [])
    assert zorkgpt(["memories", "audit", "--workdir", str(tmp_path), "--apply"]) == 0
    counts, titles, hits = disproved(tmp_path)
    assert (counts, titles, len(hits)) == ([3], TITLES, 3)


def test_memories_disproved_by_an_edit(tmp_path):
    with a_run(tmp_path, turns=8) as run:
        run.play_episode()
        add_wrong_memories(run)
        place = next(each.location_id for each in run.simple_memory.all_memories() if each.memory.title == TITLES[0])
        run.simple_memory.edit_memory(place, TITLES[0], Edit(status="SUPERSEDED", reason="I looked."))
    journal_file(tmp_path / "Memories.md").unlink()
    counts, titles, hits = disproved(tmp_path)
    assert (counts, titles, len(hits)) == ([1], TITLES[:1], 1)


def test_reactivated_memory_is_not_counted(tmp_path):
    with a_run(tmp_path, turns=8) as run:
        run.play_episode()
        add_wrong_memories(run)
        run.play_episode()
        place = next(each.location_id for each in run.simple_memory.all_memories() if each.memory.title == TITLES[0])
        run.simple_memory.edit_memory(place, TITLES[0], Edit(status="ACTIVE"))
    assert disproved(tmp_path) == ([0, 2], TITLES[1:], [turn_key(2, 0)] * 2)


def test_counts_are_unknown_without_memory_files(tmp_path):
    with a_run(tmp_path, turns=3) as run:
        run.play_episode()
    for file in tmp_path.glob("Memories.*"):
        file.unlink()
    rows = client(tmp_path).get("/api/overview").json()["episodes"]
    assert [(row["learned"], row["disproved"]) for row in rows] == [(None, None)]

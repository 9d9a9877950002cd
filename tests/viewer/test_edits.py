"""Memories that a person corrects, pins and vetoes on the page."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.fixtures.forks import FORKS
from tests.fixtures.viewer import client, served, started, turn, write_log
from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.viewer.guard import AccessRules

pytestmark = pytest.mark.slow

RULES = AccessRules(edit_token="the-token")
SHOWN = {"authorization": "Bearer the-token"}
PATH = "/api/places/10/memories"
WRONG = Memory("NOTE", "Troll is friendly", 1, "1", 0, "The troll seems friendly.", "permanent")
ADDED = 40


@pytest.fixture
def workdir(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2))
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as memory:
        memory.add_memory(10, "Hall", WRONG)
    return tmp_path


def ask(workdir, **wanted):
    body = {"title": WRONG.title, "expected": WRONG.text} | wanted
    return client(workdir, RULES).post(PATH, json=body, headers=SHOWN)


def kept(workdir) -> list[Memory]:
    with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
        return [one.memory for one in memory.all_memories()]


def test_a_correction_is_in_the_file_and_in_the_history(workdir):
    answer = ask(workdir, text="The troll attacks.", category="DANGER", reason="I saw it.")
    assert answer.status_code == 200
    [memory] = kept(workdir)
    assert (memory.text, memory.category, memory.title) == ("The troll attacks.", "DANGER", WRONG.title)
    [thread] = client(workdir).get("/api/places/10").json()["threads"]
    assert [(one["kind"], one.get("source"), one.get("reason")) for one in thread] == [
        ("added", None, None),
        ("edited", "person", "I saw it."),
    ]


@pytest.mark.parametrize("mark", ["pinned", "vetoed"])
def test_a_mark_is_readable_in_the_file_and_can_be_taken_away(workdir, mark):
    assert ask(workdir, **{mark: True}).status_code == 200
    assert mark in (workdir / "Memories.md").read_text()
    assert getattr(kept(workdir)[0], mark)
    assert ask(workdir, **{mark: False}).status_code == 200
    [row] = client(workdir).get("/api/memories").json()["memories"]
    assert not row[mark]
    assert mark not in (workdir / "Memories.md").read_text()


def test_what_changed_meanwhile_is_not_overwritten(workdir):
    assert ask(workdir, text="The troll attacks.").status_code == 200
    answer = ask(workdir, text="The troll sleeps.")
    assert answer.status_code == 409
    assert "The troll attacks." in answer.json()["error"]
    assert kept(workdir)[0].text == "The troll attacks."


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"title": "Nothing of the kind"}, "There is no memory titled"),
        ({"text": " "}, "The text is blank"),
        ({"category": "a rumour"}, "a word in capitals"),
        ({"persistence": "ephemeral"}, "must be one of"),
        ({"status": 1}, "status"),
        ({"pinned": True, "vetoed": True}, "either pinned or hidden"),
        ({"path": "/etc/passwd"}, "path"),
    ],
)
def test_what_makes_no_sense_changes_nothing(workdir, wanted, told):
    before = (workdir / "Memories.md").read_bytes()
    answer = ask(workdir, **wanted)
    assert answer.status_code == 400
    assert told in answer.json()["error"]
    assert (workdir / "Memories.md").read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{", b"[" * 50_000])
def test_what_is_no_request_is_refused(workdir, body):
    assert client(workdir, RULES).post(PATH, content=body, headers=SHOWN).status_code == 400


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "the-token"}])
def test_without_the_token_nothing_is_changed(workdir, headers):
    body = {"title": WRONG.title, "expected": WRONG.text, "text": "Otherwise."}
    assert client(workdir, RULES).post(PATH, json=body, headers=headers).status_code == 401
    assert (
        client(workdir, RULES).post(PATH, json=body, headers=SHOWN | {"origin": "http://evil.example"}).status_code
        == 403
    )
    assert client(workdir, AccessRules()).post(PATH, json=body, headers=SHOWN).status_code == 405
    assert kept(workdir) == [WRONG]


def _add(path) -> None:
    with SimpleMemoryManager.open(path) as memory:
        for number in range(ADDED):
            new = Memory("NOTE", f"Fact {number}", 1, "1", 0, f"Thing {number} is number {number}.", "permanent")
            assert memory.add_memory(11, "Cellar", new)


def test_editing_in_the_browser_while_another_process_adds(workdir, open_page):
    adding = FORKS.Process(target=_add, args=(workdir / "Memories.md",))
    with served(workdir, "--edit") as address:
        assert re.search(r"#token=[\w-]{20,}$", address)
        page = open_page(address)
        assert "token" not in page.url
        adding.start()
        page.get_by_role("button", name="Edit").click()
        page.get_by_role("textbox", name="Text").fill("The troll attacks <b>everybody</b>.")
        page.get_by_label("Category").select_option("DANGER")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#memories .memory.danger .fact")).to_have_text("The troll attacks <b>everybody</b>.")
        page.get_by_role("button", name="Pin").click()
        expect(page.locator("#memories .chip.pinned")).to_be_visible()
        adding.join()
        page.get_by_role("button", name="Hide").click()
        expect(page.locator("#memories summary").filter(has_text="No longer shown")).to_be_visible()
    assert adding.exitcode == 0
    memories = {one.title: one for one in kept(workdir)}
    assert set(memories) == {WRONG.title, *(f"Fact {number}" for number in range(ADDED))}
    assert memories[WRONG.title].text == "The troll attacks <b>everybody</b>."
    assert (memories[WRONG.title].vetoed, memories[WRONG.title].pinned) == (True, False)


def test_the_browser_reports_a_change_by_somebody_else(workdir, open_page):
    with served(workdir, "--edit") as address:
        page = open_page(address)
        page.get_by_role("button", name="Edit").click()
        body = {"title": WRONG.title, "expected": WRONG.text, "text": "The troll sleeps."}
        assert client(workdir, RULES).post(PATH, content=json.dumps(body), headers=SHOWN).status_code == 200
        page.get_by_role("textbox", name="Text").fill("The troll attacks.")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").filter(has_text="was changed in the meantime")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Discard").click()
        expect(page.locator("#memories .fact")).to_have_text("The troll sleeps.")


def test_the_room_of_the_turn_can_be_asked_for_as_it_stands_by_now(workdir, open_page):
    assert ask(workdir, text="The troll sleeps.").status_code == 200
    with served(workdir) as address:
        page = open_page(f"{address}#1:2")
        fact = page.locator("#memories .fact")
        expect(fact).to_have_text(WRONG.text)
        page.locator(".map .room[data-room='10']").click()
        expect(fact).to_have_text("The troll sleeps.")
        page.get_by_role("button", name="Back to the current place").click()
        expect(fact).to_have_text(WRONG.text)


def test_a_memory_of_any_length_can_be_corrected(workdir, open_page):
    long = " ".join(["word"] * 20_000) + " end"
    assert ask(workdir, text=long).status_code == 200
    with served(workdir, "--edit") as address:
        page = open_page(address)
        page.get_by_role("button", name="Edit").click()
        assert page.get_by_role("textbox", name="Text").input_value() == long
        page.get_by_role("textbox", name="Text").fill(long + " of it")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert kept(workdir)[0].text == long + " of it"


def test_an_edit_in_the_past_stays_there_and_holds_from_now_on(workdir, open_page):
    write_log(workdir, turn(3), turn(4))
    assert ask(workdir, text="The troll sleeps.").status_code == 200
    with served(workdir, "--edit") as address:
        url, token = address.split("#")
        page = open_page(f"{url}#1:2&{token}")
        memory = page.locator("#memories .fact")
        expect(memory).to_have_text(WRONG.text)
        page.get_by_role("button", name="Edit").click()
        # The current version is edited.
        expect(page.get_by_role("textbox", name="Text")).to_have_value("The troll sleeps.")
        page.get_by_role("textbox", name="Text").fill("The troll attacks.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#notice")).to_contain_text("You are viewing turn 2 of episode 1")
        expect(page.locator("#memories summary").first).to_have_text("History (1, 2 later)")
        expect(page.locator("#when")).to_contain_text("Turn 2 of 4")
        expect(memory).to_have_text(WRONG.text)
        page.get_by_role("button", name="Pin").click()
        expect(page.get_by_role("button", name="Unpin")).to_be_visible()
        page.keyboard.press("End")
        expect(page.locator("#notice")).to_be_hidden()
    assert (kept(workdir)[0].text, kept(workdir)[0].pinned) == ("The troll attacks.", True)


def test_escape_asks_before_it_throws_text_away(workdir, open_page):
    with served(workdir, "--edit") as address:
        page = open_page(address)
        page.get_by_role("button", name="Edit").click()
        dialog = page.get_by_role("dialog")
        page.get_by_role("textbox", name="Text").fill("Something long that took a while.")
        for _ in range(3):
            page.keyboard.press("Escape")
            expect(dialog.get_by_role("alert").filter(has_text="Discard")).to_be_visible()
        page.get_by_role("button", name="Keep editing").click()
        expect(page.get_by_role("textbox", name="Text")).to_have_value("Something long that took a while.")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Discard").click()
        expect(dialog).to_have_count(0)
        page.get_by_role("button", name="Edit").click()
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    assert kept(workdir) == [WRONG]


def test_only_with_a_valid_token_can_anything_be_changed(workdir, open_page):
    with served(workdir, "--edit") as address:
        url, token = address.split("#")
        page = open_page(f"{url}#token=wrong")
        expect(page.locator("#memories .memory")).to_have_count(1)
        expect(page.get_by_role("button", name="Edit")).to_have_count(0)
        page = open_page(f"{url}#{token}")
        expect(page.get_by_role("button", name="Edit")).to_be_visible()
    # The next viewer has another token.
    with served(workdir, "--edit", "--port", str(urlsplit(url).port)):
        expect(page.get_by_role("button", name="Edit")).to_have_count(0, timeout=20_000)


def test_without_edit_the_page_offers_no_change(workdir, open_page):
    with served(workdir) as address:
        page = open_page(address)
        expect(page.locator("#memories .memory")).to_have_count(1)
        expect(page.get_by_role("button", name="Edit")).to_have_count(0)

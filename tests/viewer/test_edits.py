"""Tests of correcting, pinning and hiding memories on the page."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.fixtures.forks import FORKS
from tests.fixtures.viewer import client, served, started, turn, write_log
from zorkgpt import Memory, SimpleMemoryManager
from zorkgpt.viewer.access import AccessRules

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


def send_edit(workdir, **wanted):
    body = {"title": WRONG.title, "expected": WRONG.text} | wanted
    return client(workdir, RULES).post(PATH, json=body, headers=SHOWN)


def current_memories(workdir) -> list[Memory]:
    with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
        return [located.memory for located in memory.all_memories()]


def test_correction_is_in_file_and_history(workdir):
    answer = send_edit(workdir, text="The troll attacks.", category="DANGER", reason="I saw it.")
    assert answer.status_code == 200
    [memory] = current_memories(workdir)
    assert (memory.text, memory.category, memory.title) == ("The troll attacks.", "DANGER", WRONG.title)
    [thread] = client(workdir).get("/api/places/10").json()["threads"]
    assert [(version["kind"], version.get("source"), version.get("reason")) for version in thread] == [
        ("added", None, None),
        ("edited", "person", "I saw it."),
    ]


@pytest.mark.parametrize("mark", ["pinned", "vetoed"])
def test_pin_and_hide_can_be_undone(workdir, mark):
    assert send_edit(workdir, **{mark: True}).status_code == 200
    assert mark in (workdir / "Memories.md").read_text()
    assert getattr(current_memories(workdir)[0], mark)
    assert send_edit(workdir, **{mark: False}).status_code == 200
    [row] = client(workdir).get("/api/memories").json()["memories"]
    assert not row[mark]
    assert mark not in (workdir / "Memories.md").read_text()


def test_last_change_can_be_undone_until_the_memory_is_gone(workdir):
    with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
        assert memory.invalidate_memory(10, WRONG.title, "It struck.")
    assert send_edit(workdir, pinned=True).status_code == 400
    assert send_edit(workdir, vetoed=True).status_code == 200
    for expected in ("SUPERSEDED", "ACTIVE"):
        assert send_edit(workdir, undo=True).json()["memory"]["status"] == expected
    [thread] = client(workdir).get("/api/places/10").json()["threads"]
    assert [version["kind"] for version in thread] == ["added", "invalidated", "vetoed", "reverted", "reverted"]
    assert send_edit(workdir, undo=True).json() == {"memory": None}
    assert current_memories(workdir) == []
    assert send_edit(workdir, undo=True).status_code == 400


def test_concurrent_change_is_not_overwritten(workdir):
    assert send_edit(workdir, text="The troll attacks.").status_code == 200
    answer = send_edit(workdir, text="The troll sleeps.")
    assert answer.status_code == 409
    assert "The troll attacks." in answer.json()["error"]
    assert current_memories(workdir)[0].text == "The troll attacks."


@pytest.mark.parametrize(
    ("wanted", "message"),
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
def test_invalid_edit_changes_nothing(workdir, wanted, message):
    before = (workdir / "Memories.md").read_bytes()
    answer = send_edit(workdir, **wanted)
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    assert (workdir / "Memories.md").read_bytes() == before


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{", b"[" * 50_000])
def test_malformed_request_is_refused(workdir, body):
    assert client(workdir, RULES).post(PATH, content=body, headers=SHOWN).status_code == 400


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "the-token"}])
def test_edit_without_a_valid_token_is_refused(workdir, headers):
    body = {"title": WRONG.title, "expected": WRONG.text, "text": "Otherwise."}
    assert client(workdir, RULES).post(PATH, json=body, headers=headers).status_code == 401
    assert (
        client(workdir, RULES).post(PATH, json=body, headers=SHOWN | {"origin": "http://evil.example"}).status_code
        == 403
    )
    assert client(workdir, AccessRules()).post(PATH, json=body, headers=SHOWN).status_code == 405
    assert current_memories(workdir) == [WRONG]


def add_facts(path) -> None:
    with SimpleMemoryManager.open(path) as memory:
        for number in range(ADDED):
            new = Memory("NOTE", f"Fact {number}", 1, "1", 0, f"Thing {number} is number {number}.", "permanent")
            assert memory.add_memory(11, "Cellar", new)


def test_edit_in_browser_while_another_process_adds_memories(workdir, open_page):
    adding = FORKS.Process(target=add_facts, args=(workdir / "Memories.md",))
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
        page.locator("#memories summary").filter(has_text="No longer shown").click()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#memories .chip.pinned")).to_be_visible()
    assert adding.exitcode == 0
    memories = {memory.title: memory for memory in current_memories(workdir)}
    assert set(memories) == {WRONG.title, *(f"Fact {number}" for number in range(ADDED))}
    assert memories[WRONG.title].text == "The troll attacks <b>everybody</b>."
    assert (memories[WRONG.title].vetoed, memories[WRONG.title].pinned) == (False, True)


def test_opened_list_of_hidden_memories_stays_open_when_another_process_adds_memories(workdir, open_page):
    with served(workdir, "--edit") as address:
        page = open_page(address)
        page.get_by_role("button", name="Hide").click()
        page.locator("#memories summary").filter(has_text="No longer shown").click()
        with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
            assert memory.add_memory(10, "Hall", Memory("NOTE", "Lamp", 1, "1", 0, "A lamp hangs here.", "permanent"))
        expect(page.locator("#memories .fact").filter(has_text="A lamp hangs here.")).to_be_visible()
        expect(page.get_by_role("button", name="Unhide")).to_be_visible()


def test_browser_reports_a_concurrent_change(workdir, open_page):
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


def test_place_shows_current_memories_on_request(workdir, open_page):
    assert send_edit(workdir, text="The troll sleeps.").status_code == 200
    with served(workdir) as address:
        page = open_page(f"{address}#1:2")
        fact = page.locator("#memories .fact")
        expect(fact).to_have_text(WRONG.text)
        page.locator(".map .room[data-room='10']").click()
        expect(fact).to_have_text("The troll sleeps.")
        page.get_by_role("button", name="Back to the current place").click()
        expect(fact).to_have_text(WRONG.text)


def test_very_long_memory_can_be_edited(workdir, open_page):
    long = " ".join(["word"] * 20_000) + " end"
    assert send_edit(workdir, text=long).status_code == 200
    with served(workdir, "--edit") as address:
        page = open_page(address)
        page.get_by_role("button", name="Edit").click()
        assert page.get_by_role("textbox", name="Text").input_value() == long
        page.get_by_role("textbox", name="Text").fill(long + " of it")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert current_memories(workdir)[0].text == long + " of it"


def test_edit_while_viewing_a_past_turn_changes_the_current_version(workdir, open_page):
    write_log(workdir, turn(3), turn(4))
    assert send_edit(workdir, text="The troll sleeps.").status_code == 200
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
    assert (current_memories(workdir)[0].text, current_memories(workdir)[0].pinned) == ("The troll attacks.", True)


def test_escape_asks_before_discarding_text(workdir, open_page):
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
    assert current_memories(workdir) == [WRONG]


def test_edit_buttons_need_a_valid_token(workdir, open_page):
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


def test_page_without_edit_option_has_no_edit_buttons(workdir, open_page):
    with served(workdir) as address:
        page = open_page(address)
        expect(page.locator("#memories .memory")).to_have_count(1)
        expect(page.get_by_role("button", name="Edit")).to_have_count(0)

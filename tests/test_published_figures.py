"""Tests that pages show the published figures of the benchmarks."""

import json
import re

import pytest

from benchmarks.publish import PUBLISHED, filled, pages


@pytest.mark.parametrize("page", pages(), ids=str)
def test_page_matches_the_published_figures(page):
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "run: uv run python -m benchmarks.publish"


def test_every_published_table_is_shown():
    marks = [mark for page in pages() for mark in re.findall(r"<!-- results: (\S+) -->", page.read_text("utf-8"))]
    files = {path.stem: json.loads(path.read_bytes()) for path in PUBLISHED.glob("*.json")}
    assert files
    assert {f"{name}/{table}" for name, results in files.items() for table in results["tables"]} == set(marks)


def test_changed_figure_is_replaced():
    page = pages()[0].read_text(encoding="utf-8")
    table = page[page.index("<!-- results: ") : page.index("<!-- end -->")]
    changed = page.replace(
        table, re.sub(r"\d", "7", table.partition("\n")[2]).join([table.partition("\n")[0] + "\n", ""])
    )
    assert changed != page
    assert filled(changed) == page


def test_command_of_consecutive_tables_is_named_once():
    page = "".join(
        f"<!-- results: {table} -->\n<!-- end -->\n"
        for table in ("prompt_sizes/tokens", "prompt_sizes/against_plain", "soak/episodes", "prompt_sizes/tokens")
    )
    commands = re.findall("`uv run python -m (.+?)`", filled(page))
    assert commands == [
        "benchmarks.prompt_sizes",
        "benchmarks.soak --episodes 1700 --turns 60",
        "benchmarks.prompt_sizes",
    ]

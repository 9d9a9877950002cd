"""Published figures: one JSON file per benchmark, and the pages that show its tables.

    uv run python -m benchmarks.publish            fill the marked regions of the pages
    uv run python -m benchmarks.publish --check    fail if a page disagrees with a published file

A region of a page is marked `<!-- results: FILE/TABLE -->` ... `<!-- end -->`. Everything in between comes from that
table of `benchmarks/published/FILE.json`. The command is named below the last of consecutive tables of one file.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parent.parent
PUBLISHED = Path(__file__).parent / "published"
_REGION = re.compile(r"<!-- results: (?P<file>[\w-]+)/(?P<table>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


class Table(TypedDict):
    """A table of text cells."""

    columns: list[str]
    rows: list[list[str]]


class Results(TypedDict):
    """The results of one benchmark."""

    command: str
    date: str
    code: str
    """The commit that was measured."""
    tables: dict[str, Table]


def publish(name: str, command: str, tables: dict[str, Table]) -> Path:
    """Write the results of a benchmark to `published/NAME.json`. Return the path."""
    described = subprocess.run(["git", "describe", "--always"], cwd=ROOT, capture_output=True, text=True, check=True)
    results = Results(
        command=command, date=datetime.now(UTC).date().isoformat(), code=described.stdout.strip(), tables=tables
    )
    path = PUBLISHED / f"{name}.json"
    path.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def markdown(table: Table) -> str:
    lines = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def filled(page: str) -> str:
    """Return the page with its marked regions filled from the published files."""
    files = [match["file"] for match in _REGION.finditer(page)]
    following = iter([*files[1:], None])

    def region(match: re.Match[str]) -> str:
        results: Results = json.loads((PUBLISHED / f"{match['file']}.json").read_bytes())
        parts = [f"<!-- results: {match['file']}/{match['table']} -->", markdown(results["tables"][match["table"]])]
        # The command of consecutive tables is named once, below the last one.
        if next(following) != match["file"]:
            parts.append(f"Measured {results['date']} at {results['code']}: `{results['command']}`")
        return "\n\n".join([*parts, "<!-- end -->"])

    return _REGION.sub(region, page)


def pages() -> Iterable[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: Sequence[str]) -> int:
    stale = [path for path in pages() if filled(text := path.read_text(encoding="utf-8")) != text]
    for path in stale:
        print(path.relative_to(ROOT))
        if "--check" not in arguments:
            path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

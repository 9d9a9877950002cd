"""Export a run as one HTML file: the page, its style, its script and every answer that it can request."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zorkgpt.errors import FileError, ViewerError
from zorkgpt.files import write_file
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.places import place_order
from zorkgpt.viewer.answers import PAGE_TURNS, Answers
from zorkgpt.viewer.json_lines import place_address
from zorkgpt.viewer.run_files import RunFileNames, RunFiles, open_run

STATIC = Path(__file__).parent / "static"
_MAX_BYTES_OF_CALLS = 60_000_000
"""Prompts are long; further calls are left out, and the page says so."""
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_UNQUOTED = "!~*'()"
"""What `encodeURIComponent` of the page leaves as it is, beside letters, digits and `_.-`."""
_EXPORT = re.compile(r"^export (?:(?:async )?function|class|const) (\w+)", re.MULTILINE)


def export_run(given: Path, out: Path, *, names: RunFileNames | None = None) -> int:
    """Write the run into one HTML file, and return its size in bytes.

    Raises:
        ZorkGPTError: there is no run, or the file can't be written.
    """
    if not out.name:
        raise ViewerError("The export needs the name of a file: --export run.html.")
    files = open_run(given, names=names)
    page = exported(files).encode("utf-8", "backslashreplace")
    try:
        write_file(out, page)
    except FileError as error:
        raise ViewerError(f"{error} Name another file with --export.") from None
    return len(page)


def exported(files: RunFiles) -> str:
    """Return the page with all its data."""
    # With these three escaped, no text can end the element that contains it.
    data = json.dumps(dict(_answers(files)), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    style, script = (STATIC / "page.css").read_text(encoding="utf-8"), bundled()
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'sha256-{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    page = page.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
    )
    page = page.replace('<link rel="stylesheet" href="/static/page.css">', f"<style>{style}</style>")
    page = page.replace('<script type="module" src="/static/main.js"></script>\n', "")
    end = f'<script type="application/json" id="run-data">{data}</script>\n<script>{script}</script>\n</body>'
    return page.replace("</body>", end)


def bundled(first: str = "main") -> str:
    """Return all modules as one script, each after those that it imports."""
    order: list[str] = []
    _collect(first, order)
    return '"use strict";\n' + "\n".join(_module(name) for name in order)


def _collect(name: str, order: list[str]) -> None:
    for _, needed in _IMPORT.findall(_source(name)):
        if needed not in order:
            _collect(needed, order)
    order.append(name)


def _module(name: str) -> str:
    """Return a module as an immediately called function that returns its exports."""
    source = _source(name)
    given = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub(lambda found: found[0].removeprefix("export "), _IMPORT.sub(r"const {\1} = $\2;\n", source))
    return f"const ${name} = (() => {{\n{body}\nreturn {{ {given} }};\n}})();"


def _source(name: str) -> str:
    return (STATIC / f"{name}.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _answers(files: RunFiles) -> Iterator[tuple[str, Any]]:
    """Yield every address that the page requests, with its answer."""
    answers = Answers(files)
    yield "run", answers.run() | {"edit": False}
    yield "map", answers.map()
    yield "heat", answers.heat()
    yield "overview", answers.overview()
    yield "memories", answers.memories()
    numbers = sorted(files.episodes)
    places: set[PlaceKey] = {*files.threads.places(), *files.map.rooms, *files.room_names()}
    for place in sorted(places, key=place_order):
        yield f"places/{quote(place_address(place), safe=_UNQUOTED)}", answers.place(place)
    for number in numbers:
        yield f"episodes/{number}/columns", answers.columns(number)
        yield f"episodes/{number}/actions", answers.actions(number)
        yield f"episodes/{number}/notes", answers.notes(number)
        yield from _pages(answers, number, len(files.episodes[number]))
    yield from _calls(files, answers, numbers)


def _pages(answers: Answers, number: int, turns: int) -> Iterator[tuple[str, Any]]:
    for page in range(-(-turns // PAGE_TURNS)):
        answer = answers.page(number, page)
        yield f"episodes/{number}/pages/{page}", answer
        for turn in (row["turn"] for row in answer["rows"] if row["cut"]):
            yield f"episodes/{number}/turns/{turn}", answers.turn(number, turn)


def _calls(files: RunFiles, answers: Answers, numbers: list[int]) -> Iterator[tuple[str, Any]]:
    size = 0
    for number in numbers:
        for call in range(len(files.calls_of(number).calls)):
            answer = answers.call(number, call)
            size += sum(len(message["content"]) for message in answer["messages"]) + len(answer["answer"])
            if size > _MAX_BYTES_OF_CALLS:
                return
            yield f"episodes/{number}/calls/{call}", answer

"""Export a run as one HTML file: the page, its style, its script and every answer that it can request.

The answers are compressed in chunks, which the page decompresses when it needs them.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from session.game_configuration import GameConfiguration
from zorkgpt.errors import FileError, ViewerError
from zorkgpt.files import write_file
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.places import place_order
from zorkgpt.viewer.answers import PAGE_TURNS, Answers
from zorkgpt.viewer.json_lines import place_address
from zorkgpt.viewer.run_files import RunFiles, open_run

STATIC = Path(__file__).parent / "static"
_MAX_BYTES_OF_CALLS = 60_000_000
"""Further calls are left out, and the page says so."""
_CALLS_IN_CHUNK = 100
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([a-z_]+)\.js";\n', re.MULTILINE)
_UNQUOTED = "!~*'()"
"""Characters that JavaScript's `encodeURIComponent` doesn't quote, beside letters, digits and `_.-`."""
_EXPORT = re.compile(r"^export (?:(?:async )?function|class|const) (\w+)", re.MULTILINE)


def export_run(given: Path, out: Path, *, episodes: str | None = None, config: GameConfiguration | None = None) -> int:
    """Write the run to one HTML file. Return its size in bytes.

    Args:
        episodes: The episodes to write, such as "3-7" or "1,4-6". None for all.

    Raises:
        ZorkGPTError: If there is no run, or the file can't be written.
    """
    if not out.name:
        raise ViewerError("Name a file for the export, such as --export run.html.")
    files = open_run(given, config=config)
    page = exported(files, chosen_episodes(files, episodes)).encode("utf-8", "backslashreplace")
    try:
        write_file(out, page)
    except FileError as error:
        raise ViewerError(f"{error} Choose another file with --export.") from None
    return len(page)


def chosen_episodes(files: RunFiles, wanted: str | None) -> list[int]:
    """Parse a list of episodes, such as "1,4-6". Return the existing ones in order, or all if None.

    Raises:
        ViewerError: If `wanted` is not a list of episodes, or none of them exists.
    """
    if not wanted:
        return sorted(files.episodes)
    ranges = []
    for part in wanted.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ViewerError(f"{part.strip()!r} is not a list of episodes. Examples: 3, 3-7 or 1,4-6.")
        ranges.append((int(match[1]), int(match[2] or match[1])))
    chosen = [number for number in sorted(files.episodes) if any(first <= number <= last for first, last in ranges)]
    if not chosen:
        available = ", ".join(map(str, sorted(files.episodes)[:20]))
        raise ViewerError(f"This run has no episodes {wanted}. Episodes: {available}.")
    return chosen


def exported(files: RunFiles, episodes: list[int]) -> str:
    """Return the page with the data of these episodes."""
    data = "\n".join(_chunks(files, episodes))
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
    return page.replace("</body>", f"{data}\n<script>{script}</script>\n</body>")


def _chunks(files: RunFiles, episodes: list[int]) -> Iterator[str]:
    """Yield the elements with the data, and at the end an index: the number of the chunk with each answer."""
    index: dict[str, int] = {}
    grouped = groupby(_answers(files, episodes), lambda answer: _chunk_key(answer[0]))
    for number, (_, answers) in enumerate(grouped):
        chunk = dict(answers)
        index |= dict.fromkeys(chunk, number)
        yield _element(f"run-data-{number}", chunk)
    yield _element("run-index", index)


def _chunk_key(address: str) -> tuple[str, ...]:
    """Return a key that is equal for all answers in the same chunk."""
    parts = address.split("/")
    if parts[0] != "episodes":
        return (parts[0],) if parts[0] in ("places", "search") else ()
    return (parts[1], str(int(parts[3]) // _CALLS_IN_CHUNK)) if parts[2] == "calls" else (parts[1],)


def _element(name: str, value: Any) -> str:
    # Base64 can't contain the end tag.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return f'<script type="text/plain" id="{name}">{base64.b64encode(zlib.compress(text)).decode()}</script>'


def bundled() -> str:
    """Return all modules as one script, each after its imports."""
    order: list[str] = []
    _collect("main", order)
    return '"use strict";\n' + "\n".join(_module(name) for name in order)


def _collect(name: str, order: list[str]) -> None:
    for _, imported in _IMPORT.findall(_source(name)):
        if imported not in order:
            _collect(imported, order)
    order.append(name)


def _module(name: str) -> str:
    """Return a module as an immediately called function that returns its exports."""
    source = _source(name)
    exports = ", ".join(_EXPORT.findall(source))
    body = _IMPORT.sub(r"const {\1} = $\2;\n", source)
    body = _EXPORT.sub(lambda match: match[0].removeprefix("export "), body)
    return f"const ${name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _source(name: str) -> str:
    return (STATIC / f"{name}.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _answers(files: RunFiles, numbers: list[int]) -> Iterator[tuple[str, Any]]:
    """Yield every address that the page can request, with its answer."""
    answers = Answers(files)
    yield "run", _only(answers.run(), numbers) | {"edit": False}
    yield "map", answers.map()
    yield "overview", _only(answers.overview(), numbers)
    yield "memories", answers.memories()
    yield "search", answers.searched(numbers)
    places: set[SubjectKey] = {*files.threads.places(), *files.map.rooms, *files.room_names()}
    for place in sorted(places, key=place_order):
        yield f"places/{quote(place_address(place), safe=_UNQUOTED)}", answers.place(place)
    for number in numbers:
        yield f"episodes/{number}/columns", answers.columns(number)
        yield f"episodes/{number}/notes", answers.notes(number)
        yield from _pages(answers, number, len(files.episodes[number]))
    yield from _calls(files, answers, numbers)


def _only(answer: dict[str, Any], numbers: list[int]) -> dict[str, Any]:
    """Return an answer with only the rows of these episodes."""
    return answer | {"episodes": [row for row in answer["episodes"] if row["episode"] in numbers]}


def _pages(answers: Answers, number: int, turns: int) -> Iterator[tuple[str, Any]]:
    for page in range(-(-turns // PAGE_TURNS)):
        yield f"episodes/{number}/pages/{page}", answers.page(number, page)


def _calls(files: RunFiles, answers: Answers, numbers: list[int]) -> Iterator[tuple[str, Any]]:
    size = 0
    for number in numbers:
        for call in range(len(files.calls_of(number).calls)):
            answer = answers.call(number, call)
            size += sum(len(message["content"]) for message in answer["messages"]) + len(answer["answer"])
            if size > _MAX_BYTES_OF_CALLS:
                return
            yield f"episodes/{number}/calls/{call}", answer

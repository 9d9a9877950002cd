"""Questions, logs and files as text for comparison. Values that differ between equal runs are replaced."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_TIMES = {"time", "timestamp", "duration_s", "parts_s", "latency_s", "avg_deduplication_time_ms", "avg_check_time_ms"}
"""JSON keys with times as values."""
_CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d| UTC)?")
_WORTH_NAMING, _LONG_LINE = 50, 100
"""Minimum length of a section or line that is not repeated."""
_MOST_VALUES = 5
"""Maximum length of a mapping that is shown in one line."""
_SCHEMA = re.compile(r"(?<=of this JSON schema:\n)\{.*\}")
"""Its text is by pydantic and differs by version. Tests of `zorkgpt.llm.structured` cover its content."""
_HEADING = re.compile(r"^(?=#{1,3} \S)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a model, with its answer."""

    at: str
    """Episode and turn."""
    role: str
    messages: tuple[tuple[str, str], ...]
    """Speaker and text."""
    answer: str


def dialogue(questions: Iterable[Question]) -> str:
    """Return all questions to one role. Repeated sections and lines are named instead of repeated."""
    seen: dict[str, str] = {}
    lines: list[str] = []
    for number, question in enumerate(questions, 1):
        lines.append(f"{'=' * 20} {number}. at turn {question.at}")
        for speaker, text in question.messages:
            lines.append(f"[{speaker}]")
            lines += [_once(section, question.at, seen) for section in _sections(_SCHEMA.sub("<schema>", text))]
        lines += ["[answer]", question.answer, ""]
    return "\n".join(lines)


def _sections(text: str) -> Iterator[str]:
    for part in _HEADING.split(text):
        # The answer schema and the reminder at the ends of messages are always the same.
        yield from filter(None, re.split(r"^(?=Answer with one JSON|The answer is one JSON)", part, flags=re.MULTILINE))


def _once(section: str, at: str, seen: dict[str, str]) -> str:
    text = section.strip()
    first, _, rest = text.partition("\n")
    if len(text) >= _WORTH_NAMING and text in seen:
        more = f", {len(rest.splitlines())} lines more" if rest else ""
        return f"{_beginning(first)}    <as at turn {seen[text]}{more}>"
    seen.setdefault(text, at)
    return "\n".join(_line(line, at, seen) for line in section.removesuffix("\n").split("\n"))


def _line(line: str, at: str, seen: dict[str, str]) -> str:
    if len(line) < _LONG_LINE or seen.setdefault(line, at) == at:
        return line
    return f"{_beginning(line)}    <as at turn {seen[line]}>"


def _beginning(line: str) -> str:
    return line if len(line) < 60 else f"{line[:60]} [...]"


def order(questions: Iterable[Question]) -> str:
    """Return which role was asked after which, with a line per turn."""
    turns: dict[str, list[str]] = {}
    for question in questions:
        turns.setdefault(question.at, []).append(question.role)
    return "".join(f"{at}: {' '.join(roles)}\n" for at, roles in turns.items())


def events(lines: Iterable[str]) -> str:
    """Return a log with a line per value. Values that are unchanged since the last event of its kind are omitted."""
    last: dict[str, dict[str, Any]] = {}
    rows: list[str] = []
    for line in lines:
        event = dict(_flat("", timeless(json.loads(line))))
        kind = event.pop("event")
        before = last.get(kind, {})
        rows.append(f"--- {kind}")
        rows += [f"{name}: {_json(value)}" for name, value in event.items() if before.get(name, ...) != value]
        rows += [f"{name}: (gone)" for name in before.keys() - event.keys()]
        last[kind] = event
    return "\n".join(rows) + "\n"


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Split large mappings, so that a difference is a short line."""
    if isinstance(value, dict) and (not name or len(value) > _MOST_VALUES):
        for key, part in value.items():
            yield from _flat(f"{name}.{key}".lstrip("."), part)
    else:
        yield name, value


def document(text: str) -> str:
    """Return a Markdown file."""
    return _CLOCK.sub("<time>", text)


def values(text: str) -> str:
    """Return a JSON file."""
    return json.dumps(timeless(json.loads(text)), ensure_ascii=False, indent=1) + "\n"


def timeless(value: Any) -> Any:
    """Return the value with times replaced."""
    if isinstance(value, dict):
        return {name: "<time>" if name in _TIMES and part else timeless(part) for name, part in value.items()}
    if isinstance(value, list):
        return [timeless(part) for part in value]
    return _CLOCK.sub("<time>", value) if isinstance(value, str) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

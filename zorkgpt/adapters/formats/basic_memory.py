"""Basic Memory: a folder of Markdown notes with frontmatter, observations and relations."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zorkgpt.adapters.formats import permanent_note
from zorkgpt.bounded import IMPORTED_FILE, parse_json
from zorkgpt.errors import MemoryStoreError, OutOfBounds
from zorkgpt.memory.checks import check_text, checked_metadata, title_of
from zorkgpt.memory.models import Category, Memory, SubjectKey
from zorkgpt.memory.places import checked_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.upkeep.exchange import Skipped, read_bytes

_RELATION = "RELATION"
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_FIELD = re.compile(r"([A-Za-z_][\w-]*):(?:\s+(.*))?")
_LIST_ENTRY = re.compile(r"\s*-\s+(.*)")
_BULLET = re.compile(r"(\s*)[-*+]\s+(.*)")
_OBSERVATION = re.compile(r"\[([^\[\]()]+)\]\s+(.+)", re.DOTALL)
_TIMECODE = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+[\d:.,]+)?")
_RELATION_LINE = re.compile(r"""("[^"]+"|'[^']+'|[^\s\[\]]+)\s+\[\[([^\[\]]+)\]\](?:\s+\((.*)\))?""", re.DOTALL)
_CONTEXT = re.compile(r"(.*\S)\s*\(([^()]*)\)", re.DOTALL)
_PERMALINK = re.compile(r"[a-z0-9]+(?:[-/][a-z0-9]+)*")


@dataclass(slots=True)
class _Note:
    """A note. Its items are the list items with their line numbers."""

    fields: dict[str, str | list[str]]
    items: list[tuple[int, str]] = field(default_factory=list)
    other_lines: list[int] = field(default_factory=list)


def read(folder: Path) -> tuple[list[LocatedMemory], list[Skipped]]:
    """Return the observations and relations of the notes in a folder. The place is the permalink of the note.

    Raises:
        MemoryStoreError: If the folder or a note can't be read, or there are no notes.
    """
    if not folder.is_dir():
        raise MemoryStoreError(f"{folder} is not a folder; name the folder of a Basic Memory project.")
    memories, skipped = list[LocatedMemory](), list[Skipped]()
    paths = sorted(path for path in folder.rglob("*.md") if not _is_hidden(path.relative_to(folder)))
    if not paths:
        raise MemoryStoreError(f"There are no .md files in {folder}.")
    for path in paths:
        note = _parsed(path)
        place, name = _place(note, path, folder), _text_of(note.fields.get("title")) or path.stem
        for number, text in note.items:
            try:
                memory = _memory(text, note)
            except (TypeError, ValueError) as error:
                raise MemoryStoreError(f"{path}, line {number}: {error}") from error
            if memory is None:
                note.other_lines.append(number)
            else:
                memories.append(LocatedMemory(place, single_spaced(name), memory))
        if note.other_lines:
            lines = len(note.other_lines)
            skipped.append(
                Skipped(
                    f"{path}, line {min(note.other_lines)}",
                    f"{lines} {'line is' if lines == 1 else 'lines are'} neither observation nor relation",
                )
            )
    return memories, skipped


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _parsed(path: Path) -> _Note:
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise MemoryStoreError(f"{path} is not UTF-8: {error.reason} at byte {error.start}. Convert it.") from error
    fields, begin = _frontmatter(path, lines)
    note, fence, is_open = _Note(fields), "", False
    for number, line in enumerate(lines[begin:], begin + 1):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
            is_open = False
            note.other_lines.append(number)
        elif fence:
            note.other_lines.append(number)
        elif bullet := _BULLET.fullmatch(line):
            note.items.append((number, bullet[2].rstrip()))
            is_open = True
        elif is_open and line.startswith((" ", "\t")) and line.strip():
            first, text = note.items[-1]
            note.items[-1] = first, f"{text}\n{line.strip()}"
        else:
            is_open = False
            if line.strip() and not line.startswith("#"):
                note.other_lines.append(number)
    return note


def _frontmatter(path: Path, lines: list[str]) -> tuple[dict[str, str | list[str]], int]:
    """Return the top-level fields of the frontmatter, and the number of its lines."""
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    fields: dict[str, str | list[str]] = {}
    name = ""
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == "---":
            return fields, number
        if match := _FIELD.fullmatch(line.rstrip()):
            name = match[1]
            fields[name] = _value(match[2] or "")
        elif (entry := _LIST_ENTRY.fullmatch(line.rstrip())) and name:
            known = fields[name]
            fields[name] = [*(known if isinstance(known, list) else filter(None, [known])), _scalar(entry[1])]
    raise MemoryStoreError(f"{path}, line 1: the frontmatter has no end. Add a line with --- after it.")


def _value(text: str) -> str | list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(each) for each in text[1:-1].split(",") if each.strip()]
    return _scalar(text)


def _scalar(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return str(parse_json(text, IMPORTED_FILE))
        except OutOfBounds:
            return text[1:-1]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return re.sub(r"\s+#.*", "", text)


def _place(note: _Note, path: Path, folder: Path) -> SubjectKey:
    try:
        if permalink := _text_of(note.fields.get("permalink")):
            return checked_place(permalink)
        return checked_place(_slug(path.relative_to(folder).with_suffix("").as_posix()))
    except (TypeError, ValueError) as error:
        raise MemoryStoreError(f"{path}: {error}") from error


def _memory(text: str, note: _Note) -> Memory | None:
    """Return the memory of a list item. None if it is neither an observation nor a relation."""
    metadata: dict[str, Any] = {}
    if relation := _RELATION_LINE.fullmatch(text):
        kind, target, context = relation[1].strip("\"'"), relation[2].strip(), relation[3]
        category, content = _RELATION, f"{relation[1]} [[{target}]]"
        metadata |= {"relation": kind, "target": target}
    elif (observation := _OBSERVATION.fullmatch(text)) and not _is_mark(observation[1].strip()):
        given, content, context = observation[1].strip(), observation[2].strip(), None
        category = re.sub(r"[^A-Z0-9]+", "_", given.upper()).strip("_")
        if not category[:1].isalpha():
            category = Category.NOTE
        if category.lower() != given:
            metadata["category"] = given
        if match := _CONTEXT.fullmatch(content):
            content, context = match[1], match[2].strip()
    else:
        return None
    check_text("observation", content)
    if context:
        metadata["context"] = context
    words = (word for word in content.split() if word.startswith("#"))
    if tags := [tag for word in words for tag in word.split("#") if tag]:
        metadata["tags"] = tags
    if note_tags := _list_of(note.fields.get("tags")):
        metadata["note_tags"] = note_tags
    if (note_type := _text_of(note.fields.get("type"))) not in ("", "note"):
        metadata["note_type"] = note_type
    return permanent_note(title_of(content), content, category=category, metadata=checked_metadata(metadata))


def _is_mark(category: str) -> bool:
    """Return whether the text in brackets is a task mark or a timecode instead of a category, as in Basic Memory."""
    is_task = len(category) == 1 and (category in "xX" or not category.isalnum())
    return is_task or not category or _TIMECODE.fullmatch(category) is not None


def _slug(text: str) -> str:
    """Return a permalink with lowercase words joined by hyphens. Slashes are kept."""
    if _PERMALINK.fullmatch(text):
        return text
    folders = (re.sub(r"[^\w]+|_+", "-", part.lower()).strip("-") for part in text.split("/"))
    return "/".join(part[:80].rstrip("-") for part in folders if part)[:200].strip("/-")


def _text_of(value: str | list[str] | None) -> str:
    return ", ".join(value) if isinstance(value, list) else value or ""


def _list_of(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else [tag.strip() for tag in (value or "").split(",") if tag.strip()]

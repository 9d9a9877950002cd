"""The section of one subject: its heading, its visits, its memories and any other text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import Any

from zorkgpt.memory.ids import written_id
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import is_place, parse_place, render_place
from zorkgpt.memory.storage import reprint
from zorkgpt.memory.storage.entry import (
    Entry,
    NotAnEntry,
    completed,
    parse_entry,
    parse_name,
    render_entry,
    render_name,
    split_fields,
)
from zorkgpt.memory.storage.escaping import EMPTY, NAME, decode, encode, escape, single_spaced, unescape


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of the file that was not understood, and is preserved."""

    line: int
    """Counted from 1."""
    message: str
    is_broken: bool = True
    """Whether it looks like a memory or a location. Otherwise, it is a note by the owner of the file."""


@dataclass(frozen=True)
class LocationSection:
    """The part of the file from one heading to the next. Never changed in place."""

    location_id: SubjectKey | None
    """The key of its subject. None for other text, which is preserved."""
    name: str
    visits: int
    episodes: tuple[int | str, ...]
    """The episodes in which it was visited, in order."""
    heading: str
    visited: str
    """The line with the visits, as in the file."""
    parts: tuple[str | Entry, ...]
    """The text and the memories that follow heading and visits."""
    problems: tuple[Problem, ...] = ()

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The memories with their texts in the file."""
        return tuple([part for part in self.parts if isinstance(part, Entry)])

    @cached_property
    def memories(self) -> tuple[Memory, ...]:
        return tuple([entry.memory for entry in self.entries])

    @property
    def has_text(self) -> bool:
        """Whether there is text other than its heading, its visits and its memories."""
        texts = "".join(part for part in self.parts if isinstance(part, str))
        return any(line and not _MARKUP.fullmatch(line) for line in map(str.strip, texts.split("\n")))

    def mapped(self, change: Callable[[Entry], Entry]) -> "LocationSection":
        """Return the section with changed entries, or the same section if none changes."""
        parts = tuple(change(part) if isinstance(part, Entry) else part for part in self.parts)
        return self if all(map(is_, parts, self.parts)) else replace(self, parts=parts)

    @cached_property
    def completed(self) -> "LocationSection":
        """This section with complete entries. See `Document.completed`."""
        place = self.location_id
        return self if place is None else self.mapped(lambda entry: completed(entry, place))

    @cached_property
    def data(self) -> bytes:
        """The bytes of the section in the file."""
        return encode("".join([self.heading, self.visited, *map(_raw, self.parts)]))


_STRING = r"\"(?:[^\"\\\n]|\\.)+\""
_SUBJECT_PATTERN = (
    r"(?:Location +(-?[0-9]{1,18}|" + _STRING + r"|\[(?:[-0-9, \t]|" + _STRING + r")+\])"
    r"|(Thing +[0-9]{1,18}|Game))"
    r"(?: *:[ \t]*([^\n]*))?"
)
_SUBJECT = re.compile(_SUBJECT_PATTERN)
_HEADING = re.compile(r"## +" + _SUBJECT_PATTERN + r"[ \t\r]*(?:\n|\Z)")
_REPRINTED_HEADING = re.compile(
    r" {0,3}(?:##[ \t]+(?P<inside>[^\n]*?)|(?P<above>[^\n]+?)[ \t\r]*\n {0,3}-+)[ \t\r]*(?:\n|\Z)"
)
_CLOSED_HEADING = re.compile(r"^### +Memories +#+[ \t\r]*$", re.MULTILINE)
_MARKER_BELOW = re.compile(rf"\s*{reprint.MARKER}[ \t\r]*\n")
_VISITS = re.compile(
    rf"(?P<blank>(?:[ \t\r]*\n)+)?{reprint.STRONG}Visits:{reprint.STRONG}\s*(?P<visits>[0-9]{{1,18}})"
    rf"(?:\s*\\?\|\s*{reprint.STRONG}Episodes:{reprint.STRONG}"
    # Below an empty line, a formatter may have wrapped the line anywhere.
    r"(?P<episodes>[^\n]*(?:(?(blank)\n|(?:(?<=,)|(?<=,\r))\n)(?=[^\s#*_<=>|])[^\n]*)*))?[ \t\r]*(?:\n|\Z)"
)
_TEXT_ENDS = re.compile(rf"\s*$|\*\*\[|#{{1,6}} |{reprint.RULE}\s*$|{reprint.MARKER}\s*$")
_MEMORIES, _RULE = re.compile(r"### +Memories(?: +#+)?"), re.compile(reprint.RULE)
_MARKUP = re.compile(rf"{_MEMORIES.pattern}|{_RULE.pattern}|")
_VISITS_LINE = re.compile(rf"{reprint.STRONG}Visits:{reprint.STRONG}[ \t]*[0-9]")
_TITLE_UNDERLINE = re.compile(r"[^\n#][^\n]*\n {0,3}=+[ \t\r]*(?:\n|\Z)")

_LONGEST_CONFLICT = 1000
"""Maximum number of lines in which the end of a merge conflict is searched."""


def parse_section(data: bytes) -> LocationSection:
    text = decode(data)
    heading = _heading_of(text)
    if heading is None:
        return _unknown(text)
    key, name, at = heading
    visits, visited = 0, ""
    episodes: tuple[int | str, ...] = ()
    if is_place(key):
        end, visits, episodes = _visits(text, at)
        at, visited = end, text[at:end]
    problems: list[Problem] = []
    parts = tuple(_parts(text, at, problems))
    return LocationSection(key, name, visits, episodes, text[: at - len(visited)], visited, parts, tuple(problems))


def _heading_of(text: str) -> tuple[SubjectKey, str, int] | None:
    """Return the subject of a heading, its name, and the end of the heading. None if the subject is unknown."""
    heading = _HEADING.match(text)
    is_reprinted = heading is None or ("<" in heading[0] and text.startswith(("\n", "\r\n"), heading.end()))
    if heading is not None and not is_reprinted and (key := _key_of(heading)) is not None:
        return key, _name(heading, text), heading.end()
    heading = _REPRINTED_HEADING.match(text)
    if heading is None:
        return None
    source = reprint.without_escapes(_unclosed(heading["above"] or heading["inside"], text))
    for form in (source, unescape(source), reprint.decoded(source, is_straight=True)):
        subject = _SUBJECT.fullmatch(form.strip())
        if subject is not None and (key := _key_of(subject)) is not None:
            return key, _name(subject, text), heading.end()
    return None


def _name(subject: re.Match[str], text: str) -> str:
    name = single_spaced(unescape(_unclosed(subject[3] or "", text)))
    return reprint.decoded(name, is_straight=True) if reprint.has_curly_quotes(text) else name


def _unclosed(heading: str, text: str) -> str:
    """Return a heading without what some programs add to every heading: an anchor, or number signs at its end."""
    heading = heading.rstrip()
    if heading.endswith("}") and reprint.PANDOC_HEAD.search(text):
        heading = reprint.ANCHOR.sub("", heading)
    return heading.rstrip("#").rstrip() if heading.endswith("#") and _CLOSED_HEADING.search(text) else heading


def _key_of(subject: re.Match[str]) -> SubjectKey | None:
    try:
        return parse_place(subject[1] or " ".join(subject[2].lower().split()))
    except ValueError:
        return None


def _visits(text: str, at: int) -> tuple[int, int, tuple[int | str, ...]]:
    """Return the end of the line with the visits, their number, and the episodes.

    If they are in a merge conflict, both sides count, and the lines don't belong to the heading.
    """
    if match := _VISITS.match(text, at):
        return match.end(), int(match["visits"]), _names(match["episodes"])
    visits = 0
    episodes: tuple[int | str, ...] = ()
    if _MARKER_BELOW.match(text, at):
        head = reprint.HEAD.search(text, at)
        for match in _VISITS.finditer(text, at, head.start() if head else len(text)):
            visits, episodes = max(visits, int(match["visits"])), (*episodes, *_names(match["episodes"]))
    return at, visits, unique_episodes(episodes)


def _names(episodes: str | None) -> tuple[int | str, ...]:
    names = (name.strip() for name in split_fields(episodes or ""))
    return tuple(parse_name(name) for name in names if name)


def new_section(location_id: SubjectKey, name: str, eol: str) -> LocationSection:
    """Return a section without memories and visits."""
    body = f"{eol}### Memories{eol}{eol}---{eol}"
    visited = _visited(0, (), eol) if is_place(location_id) else ""
    return LocationSection(location_id, single_spaced(name), 0, (), _heading(location_id, name, eol), visited, (body,))


def with_visits(section: LocationSection, visits: int, episodes: tuple[int | str, ...], eol: str) -> LocationSection:
    """Return the section with other visits, or the same section if it has them or its subject is not a place."""
    if not is_place(section.location_id) or (section.visits, section.episodes) == (visits, episodes):
        return section
    visited = _visited(visits, episodes, eol)
    return _changed(section, eol, visits=visits, episodes=episodes, visited=visited)


def unique_episodes(episodes: Iterable[int | str]) -> tuple[int | str, ...]:
    """Return each episode once, in the form of its first occurrence."""
    first_forms: dict[int | str, int | str] = {}
    for episode in episodes:
        first_forms.setdefault(episode_key(episode), episode)
    return tuple(first_forms.values())


def episodes_of_memories(memories: Iterable[Memory]) -> tuple[int | str, ...]:
    """Return the episodes in which memories were first and last seen: sorted numbers, then names."""
    seen = (episode for memory in memories for episode in (memory.first_seen_in, memory.episode))
    episodes = unique_episodes(seen)
    numbers = [episode for episode in episodes if isinstance(episode_key(episode), int)]
    names = [episode for episode in episodes if not isinstance(episode_key(episode), int)]
    return (*sorted(numbers, key=int), *names)


def with_key(section: LocationSection, location_id: SubjectKey, eol: str) -> LocationSection:
    """Return the section under another key. The ids of its memories stay the same and become explicit.

    The visits are dropped if the new key is not a place.
    """
    visits: dict[str, Any] = {} if is_place(location_id) else {"visits": 0, "episodes": (), "visited": ""}
    heading = _heading(location_id, section.name, eol)
    return _changed(section, eol, location_id=location_id, heading=heading, **visits).completed


def with_changes(
    section: LocationSection, changed: Mapping[int, Memory | None], new: Sequence[Memory], eol: str
) -> LocationSection:
    """Return the section with other memories, or the same section if nothing changes.

    Args:
        changed: Values of memories by the `id()` of the old ones. None removes the memory and the empty line after it.
        new: Memories to add after the last one, or at the place for the first one.
    """
    if not new and changed.keys().isdisjoint(map(id, section.memories)):
        return section
    place = section.location_id
    assert place is not None
    parts: list[str | Entry] = []
    is_removed = False
    for part in section.parts:
        if isinstance(part, str):
            parts.append(part.removeprefix("\r\n").removeprefix("\n") if is_removed else part)
            is_removed = False
        else:
            memory = changed.get(id(part.memory), part.memory)
            is_removed = memory is None
            if memory is not None:
                is_same = memory is part.memory
                parts.append(part if is_same else render_entry(memory, written_id(place, memory), part.extras, eol))
    entries = [render_entry(memory, written_id(place, memory), eol=eol) for memory in new]
    parts = [part for part in parts if part]
    return _changed(section, eol, parts=tuple(filter(None, _with_entries(parts, entries, eol))))


def _with_entries(parts: Sequence[str | Entry], new: Sequence[Entry], eol: str) -> Sequence[str | Entry]:
    if not new:
        return parts
    last = next((at for at in reversed(range(len(parts))) if isinstance(parts[at], Entry)), None)
    if last is None:
        before, after = _opening("".join(part for part in parts if isinstance(part, str)), eol)
        return _with_entries((before, new[0], *filter(None, [after])), new[1:], eol)
    lead, following = "" if _raw(parts[last]).endswith("\n") else eol, parts[last + 1 :]
    is_spaced = not following or _raw(following[0]).startswith(("\n", "\r\n"))
    added = (part for entry in new for part in (eol, entry))
    return (*parts[: last + 1], lead, *added, "" if is_spaced else eol, *following)


def _raw(part: str | Entry) -> str:
    return part.raw if isinstance(part, Entry) else part


def _changed(section: LocationSection, eol: str, **fields: Any) -> LocationSection:
    """Return the section with other values of these fields. The heading and the visits get missing line ends."""
    for name in ("heading", "visited"):
        line = fields.get(name, getattr(section, name))
        fields[name] = line if line.endswith("\n") or not line else line + eol
    changed = replace(section, **fields)
    # The lines that were not understood have other numbers.
    return reparsed(changed, changed.data) if section.problems else changed


def reparsed(section: LocationSection, data: bytes) -> LocationSection:
    """Return the section with other bytes that have the same memories."""
    ids = iter([memory.id for memory in section.memories])
    return parse_section(data).mapped(lambda entry: replace(entry, memory=replace(entry.memory, id=next(ids, ""))))


def _heading(location_id: SubjectKey, name: str, eol: str) -> str:
    escaped = escape(single_spaced(name), NAME)
    if is_place(location_id):
        return f"## Location {render_place(location_id)}: {escaped}".rstrip() + eol
    return f"## {render_place(location_id).capitalize()}{f': {escaped}' if escaped else ''}{eol}"


def _visited(visits: int, episodes: tuple[int | str, ...], eol: str) -> str:
    return f"**Visits:** {visits} | **Episodes:** {', '.join(map(render_name, episodes))}".rstrip() + eol


def _unknown(text: str) -> LocationSection:
    message, broken = None, False
    title = text.partition("\n")[0].strip().removeprefix("\ufeff")
    plain = title if title.startswith("#") else f"## {title}"
    is_heading = _REPRINTED_HEADING.match(text) is not None
    if is_heading and plain.lower().startswith("## location"):
        message, broken = f"the location is neither a number nor a quoted string: {title!r}", True
    elif is_heading and plain.lower().startswith("## thing "):
        message, broken = f"the thing is not a number: {title!r}", True
    elif is_heading:
        message = f"an unknown section: {title!r}"
    problems = [Problem(1, message, broken)] if message else list(_paragraphs(text))
    markers = _markers(text) if message else ()
    return LocationSection(None, "", 0, (), "", "", (text,), (*problems, *markers))


def _markers(text: str) -> Iterator[Problem]:
    if "<<<<" in text or ">>>>" in text or "====" in text or "||||" in text:
        for number, line in enumerate(text.split("\n"), 1):
            if reprint.is_marker(line):
                yield _marker(number, line)


def _marker(number: int, line: str) -> Problem:
    return Problem(number, f"a mark of a merge conflict: {line.strip()[:60]!r}")


def _paragraphs(text: str) -> Iterator[Problem]:
    lines = text.split("\n")
    hidden = _hidden(text, lines)
    blank, underlined = True, _TITLE_UNDERLINE.match(text)
    for number, line in enumerate(lines, 1):
        line = line.strip(" \t\r\ufeff")
        if reprint.is_marker(line) and not (underlined and number == 2):
            yield _marker(number, line)
        elif (
            line
            and blank
            and number - 1 not in hidden
            and not line.startswith("# ")
            and not _MARKUP.fullmatch(line)
            and not (underlined and number <= 2)
        ):
            yield Problem(number, f"text that is not a memory: {line[:60]!r}", is_broken=False)
        blank = not line or line.startswith("# ") or number - 1 in hidden or (bool(underlined) and number <= 2)


def _hidden(text: str, lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines in code fences and comments."""
    return reprint.hidden_lines(lines) if any(mark in text for mark in ("<!--", "```", "~~~")) else frozenset()


def _parts(text: str, start: int, problems: list[Problem]) -> Iterator[str | Entry]:
    first_line = text[:start].count("\n") + 1
    lines = _lines(text[start:])
    hidden = _hidden(text, lines)
    shared: set[int] = set()
    """The lines of texts that belong to headers within a merge conflict."""
    other_sides: dict[int, tuple[int, Entry]] = {}
    """The entries whose header is above a merge conflict, by the lines of their texts."""
    raw: list[str] = []
    is_free, is_paragraph, is_conflict, is_base = False, False, False, False
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        is_head = line.startswith("**[") or (not is_paragraph and reprint.HEAD.match(line) is not None)
        if (is_head and at not in hidden and not is_base) or at in other_sides:
            taken = _entry_end(lines, at, hidden) - at
            try:
                if at in other_sides:
                    taken, entry = other_sides[at]
                else:
                    entry = _entry(lines, at, at + taken, shared, other_sides)
            except NotAnEntry as broken:
                problems.append(Problem(first_line + at, f"not a memory: {broken}"))
                raw += lines[at : at + taken]
            else:
                if raw:
                    yield "".join(raw)
                    raw = []
                yield entry
            at += taken
            is_free = is_paragraph = False
            continue
        is_marker = reprint.is_marker(lines[at])
        if is_marker:
            problems.append(_marker(first_line + at, line))
            is_conflict, is_base = not line.startswith(">"), line.startswith("|")
        is_structure = is_marker or at in hidden or is_base or _MARKUP.fullmatch(line) is not None
        is_structure = is_structure or (is_conflict and _VISITS_LINE.match(line) is not None)
        if not is_structure and not is_free and at not in shared:
            message = f"text that is not a memory: {line[:60]!r}"
            problems.append(Problem(first_line + at, message, is_broken=False))
        is_free = not is_structure and at not in shared
        is_paragraph = not is_structure
        raw.append(lines[at])
        at += 1
    if raw:
        yield "".join(raw)


def _entry(
    lines: list[str], start: int, end: int, shared: set[int], other_sides: dict[int, tuple[int, Entry]]
) -> Entry:
    """Parse the entry in these lines.

    A mark of a merge conflict may follow. If it follows the header, the text is that of its side, or else below the
    conflict. If only the texts differ, the other side is another entry with the same header.
    """
    entry = parse_entry(lines[start:end])
    if end == len(lines) or not reprint.is_marker(lines[end]):
        return entry
    if not lines[end].startswith("<"):
        begin = _after_marker(lines, end, ">")
        below = range(begin, _paragraph_end(lines, begin, frozenset()))
        if entry.memory.text or not below:
            return entry
        shared.update(below)
        return replace(parse_entry([*lines[start:end], *lines[below.start : below.stop]]), raw=entry.raw)
    ours = range(end + 1, _paragraph_end(lines, end + 1, frozenset()))
    begin = _after_marker(lines, ours.stop, "=")
    theirs = range(begin, _paragraph_end(lines, begin, frozenset()))
    header = lines[start : start + 1] if entry.memory.text else lines[start:end]
    one, other = (parse_entry([*header, *lines[side.start : side.stop]]) for side in (ours, theirs))
    if not ours or entry.memory.text not in ("", one.memory.text):
        return entry
    shared.update(ours)
    if theirs and other.undated_at is None:
        other_sides[begin] = len(theirs), replace(other, raw="".join(lines[begin : theirs.stop]))
    return replace(one, raw=entry.raw)


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in [text.rpartition("\n")[2]] if last]


def _after_marker(lines: list[str], start: int, mark: str) -> int:
    """Return the line after the next mark of a merge conflict that begins like this, or the end."""
    for at in range(start, min(len(lines), start + _LONGEST_CONFLICT)):
        if lines[at].startswith(mark) and reprint.is_marker(lines[at]):
            return at + 1
    return len(lines)


def _entry_end(lines: list[str], start: int, hidden: Set[int]) -> int:
    """Return the end of a memory: a header, perhaps empty lines, and a text up to the next empty line.

    Formatters move a list in the text into a paragraph of its own.
    """
    end = _paragraph_end(lines, start + 1, hidden)
    while (begin := _after_blank(lines, end, hidden)) is not None and (
        reprint.goes_on(lines[end - 1], lines[begin]) or _has_no_text(lines[start:end])
    ):
        end = _paragraph_end(lines, begin, hidden)
    return end


def _paragraph_end(lines: list[str], at: int, hidden: Set[int]) -> int:
    while at < len(lines) and at not in hidden and not _TEXT_ENDS.match(lines[at].lstrip(" \t")):
        at += 1
    return at


def _after_blank(lines: list[str], at: int, hidden: Set[int]) -> int | None:
    """Return the next line after empty lines if a text can begin there."""
    begin = at
    while begin < len(lines) and not lines[begin].strip():
        begin += 1
    if begin == at or begin == len(lines) or begin in hidden:
        return None
    line = lines[begin].lstrip()
    return None if _TEXT_ENDS.match(line) or reprint.HEAD.match(line) else begin


def _has_no_text(lines: list[str]) -> bool:
    try:
        return not parse_entry(lines).memory.text and not lines[-1].rstrip().endswith(EMPTY)
    except NotAnEntry:
        return len(lines) == 1


def _opening(text: str, eol: str) -> tuple[str, str]:
    """Split a text at the place for the first memory: below `### Memories`, or above the first `---`, or at the end."""
    lines = _lines(text)
    marks = [line.strip() for line in lines]
    for index, mark in enumerate(marks):
        if _MEMORIES.fullmatch(mark):
            at = index + 1
            while at < len(marks) and not marks[at]:
                at += 1
            break
    else:
        at = next((index for index, mark in enumerate(marks) if _RULE.fullmatch(mark)), len(marks))
    before, after = "".join(lines[:at]), "".join(lines[at:])
    if before and not before.endswith("\n"):
        before += eol
    if at == 0 or marks[at - 1]:
        before += eol
    return before, eol + after if after.strip() else after

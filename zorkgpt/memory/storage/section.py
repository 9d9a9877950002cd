"""The section of one subject: its heading, its visits, its memories and any other text."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from zorkgpt.memory.ids import give_ids, memory_id
from zorkgpt.memory.models import Memory, MemoryKind, Persistence, SubjectKey, TurnSpan, episode_key, same_episode
from zorkgpt.memory.places import is_place, parse_place, render_place
from zorkgpt.memory.storage.changes import Step, VisitCount, position_of
from zorkgpt.memory.storage.entry import (
    PERSISTENCE_BY_TAG,
    STATUS_BY_TAG,
    Entry,
    NotAnEntry,
    parse_entry,
    parse_name,
    render_entry,
    render_name,
    split_fields,
)
from zorkgpt.memory.storage.escaping import NAME, UNDECODED, decode, encode, escape, single_spaced, unescape


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
    def memories(self) -> tuple[Memory, ...]:
        """The memories among the parts."""
        return tuple([part.memory for part in self.parts if isinstance(part, Entry)])

    @cached_property
    def data(self) -> bytes:
        """The bytes of the section in the file."""
        raw = [part.raw if isinstance(part, Entry) else part for part in self.parts]
        return encode("".join([self.heading, self.visited, *raw]))


_STRING = r"\"(?:[^\"\\\n]|\\.)+\""
_HEADING = re.compile(
    r"## +(?:Location +(-?[0-9]{1,18}|" + _STRING + r"|\[(?:[-0-9, \t]|" + _STRING + r")+\])"
    r"|(Thing +[0-9]{1,18}|Game))"
    r"(?: *:[ \t]*([^\n]*))?[ \t\r]*(?:\n|\Z)"
)
_VISITS = re.compile(r"\*\*Visits:\*\*[ \t]*([0-9]{1,18})(?:[ \t]*\|[ \t]*\*\*Episodes:\*\*([^\n]*))?[ \t\r]*(?:\n|\Z)")
_TEXT_ENDS = re.compile(r"\s*$|\*\*\[|#{1,6} |-{3,}\s*$|\*{3,}\s*$")
_MARKUP = re.compile(r"### +Memories|-{3,}|\*{3,}|")

_LASTING = "|".join(persistence.name for persistence in Persistence if persistence.outlives_episode)
_KINDS = "|".join(MemoryKind)

# The form in which most memories are written, without escapes. Other text is read line by line, which takes longer.
_PLAIN = re.compile(
    r"^\*\*\[([A-Z]+) - (" + _LASTING + r")(?: - (TENTATIVE))?\] ([^\n\\*]+)\*\* "
    r"\*\(Ep(?:(0|[1-9][0-9]{0,17})→Ep)?(0|[1-9][0-9]{0,17}), T([0-9]+)(?:→T([0-9]+))?"
    r"(?:, ([+-][0-9]{1,18}))?(?:, seen ([0-9]{1,18})x)?(?:, worked ([0-9]{1,18})/([0-9]{1,18}))?"
    r"(?:, died ([0-9]{1,18}))?(?:, (pinned))?(?:, kind: (" + _KINDS + r"))?\)\*\n"
    r"([^\s\\#*_~\[\-][^\n\\]*)\n(?=\n|\Z)",
    re.MULTILINE,
)
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters other than a line feed that some programs treat as the end of a line."""


def parse_section(data: bytes) -> LocationSection:
    text = decode(data)
    heading = _HEADING.match(text)
    key = None if heading is None else _key(heading[1] or " ".join(heading[2].lower().split()))
    if heading is None or key is None:
        return _unknown(text)
    at = heading.end()
    visits, visited = 0, ""
    episodes: tuple[int | str, ...] = ()
    if is_place(key) and (match := _VISITS.match(text, at)):
        at, visited = match.end(), match[0]
        visits = int(match[1])
        episodes = tuple(parse_name(name) for name in split_fields(match[2] or "") if name)
    problems: list[Problem] = []
    parts = tuple(_parts(text, at, problems))
    give_ids(key, (part.memory for part in parts if isinstance(part, Entry)))
    name = single_spaced(unescape(heading[3] or ""))
    return LocationSection(key, name, visits, episodes, heading[0], visited, parts, tuple(problems))


def new_section(location_id: SubjectKey, name: str, eol: str) -> LocationSection:
    """Return a section without memories and visits."""
    body = f"{eol}### Memories{eol}{eol}---{eol}"
    visited = _visited(0, (), eol) if is_place(location_id) else ""
    return LocationSection(location_id, single_spaced(name), 0, (), _heading(location_id, name, eol), visited, (body,))


def after_step(section: LocationSection, step: Step, eol: str) -> LocationSection:
    """Return the section after a step.

    Raises:
        KeyError: If the memory to change is missing.
    """
    if isinstance(step, VisitCount):
        return _with_visits_counted(section, step.episodes, eol)
    if step.before is None:
        return _with_memory(_with_episode(section, step.memory.episode, eol), step.memory, eol)
    at = position_of(section.memories, step.before)
    if at == len(section.memories):
        raise KeyError(step.before.title)
    old, new = section.memories[at], step.after
    if new is None:
        return _without(section, old, eol)
    if step.kind in ("seen again", "merged") and new.observation_count > old.observation_count:
        section = _with_episode(section, new.episode, eol)
    return _with_all_changed(section, {id(old): new}, eol)


def _with_visits(section: LocationSection, visits: int, episodes: tuple[int | str, ...], eol: str) -> LocationSection:
    visited = _visited(visits, episodes, eol)
    return _changed(section, eol, visits=visits, episodes=episodes, visited=visited)


def _with_visits_counted(section: LocationSection, episodes: Sequence[int | str], eol: str) -> LocationSection:
    """Return the section with more visits in these episodes, or the same section if its subject is not a place."""
    if not is_place(section.location_id):
        return section
    all_episodes = _unique_episodes((*section.episodes, *episodes))
    return _with_visits(section, section.visits + len(episodes), all_episodes, eol)


def _with_episode(section: LocationSection, episode: int | str, eol: str) -> LocationSection:
    """Return the section with an episode added to its visits, or the same section if it has that episode."""
    if not is_place(section.location_id) or any(same_episode(known, episode) for known in section.episodes):
        return section
    episodes = (*section.episodes, episode)
    return _with_visits(section, max(section.visits, len(episodes)), episodes, eol)


def _unique_episodes(episodes: Iterable[int | str]) -> tuple[int | str, ...]:
    """Return each episode once, in the form of its first occurrence."""
    first_forms: dict[int | str, int | str] = {}
    for episode in episodes:
        first_forms.setdefault(episode_key(episode), episode)
    return tuple(first_forms.values())


def episodes_of_memories(memories: Iterable[Memory]) -> tuple[int | str, ...]:
    """Return the episodes in which memories were first and last seen: sorted numbers, then names."""
    seen = (episode for memory in memories for episode in (memory.first_seen_in, memory.episode))
    episodes = _unique_episodes(seen)
    numbers = [episode for episode in episodes if isinstance(episode_key(episode), int)]
    names = [episode for episode in episodes if not isinstance(episode_key(episode), int)]
    return (*sorted(numbers, key=int), *names)


def with_parts(section: LocationSection, parts: tuple[str | Entry, ...], eol: str) -> LocationSection:
    """Return the section with other parts. Its heading and its line with the visits are preserved."""
    return _changed(section, eol, parts=parts)


def with_key(section: LocationSection, location_id: SubjectKey, eol: str) -> LocationSection:
    """Return the section under another key. The ids of its memories stay the same and become explicit.

    The visits are dropped if the new key is not a place.
    """
    old = section.location_id
    assert old is not None
    ids = {id(memory): replace(memory, id=memory_id(old, memory)) for memory in section.memories}
    visits: dict[str, Any] = {} if is_place(location_id) else {"visits": 0, "episodes": (), "visited": ""}
    heading = _heading(location_id, section.name, eol)
    moved = _changed(section, eol, location_id=location_id, heading=heading, **visits)
    return _with_all_changed(moved, ids, eol)


def _changed(section: LocationSection, eol: str, **fields: Any) -> LocationSection:
    """Return the section with other values of these fields. The heading and the visits get missing line ends."""
    for name in ("heading", "visited"):
        line = fields.get(name, getattr(section, name))
        fields[name] = line if line.endswith("\n") or not line else line + eol
    return replace(section, problems=(), **fields)


def read_entry(text: str) -> Entry:
    """Parse the entry of one memory."""
    plain = _PLAIN.fullmatch(text) if _is_simple(text) else None
    return parse_entry(_lines(text)) if plain is None else _plain_entry(plain)


def _with_memory(section: LocationSection, memory: Memory, eol: str) -> LocationSection:
    """Return the section with another memory after the last one, or at the place for the first one."""
    parts, entry = section.parts, render_entry(memory, eol=eol)
    for at in range(len(parts) - 1, -1, -1):
        last = parts[at]
        if isinstance(last, Entry):
            lead = eol if last.raw.endswith("\n") else eol + eol
            # Only text can follow the last memory.
            following = "".join(part for part in parts[at + 1 : at + 2] if isinstance(part, str))
            gap = "" if following.startswith(("\n", "\r\n")) or at + 1 == len(parts) else eol
            middle = (lead, entry, gap) if gap else (lead, entry)
            return with_parts(section, (*parts[: at + 1], *middle, *parts[at + 1 :]), eol)
    before, after = _opening("".join(part for part in parts if isinstance(part, str)), eol)
    return with_parts(section, tuple(part for part in (before, entry, after) if part), eol)


def _with_all_changed(section: LocationSection, new: Mapping[int, Memory], eol: str) -> LocationSection:
    """Return the section with some memories replaced. The keys of `new` are the `id()` of the old memories."""
    parts = tuple(
        render_entry(new[id(part.memory)], part.extras, eol)
        if isinstance(part, Entry) and id(part.memory) in new
        else part
        for part in section.parts
    )
    return with_parts(section, parts, eol)


def _without(section: LocationSection, memory: Memory, eol: str) -> LocationSection:
    """Return the section without this object. An equal memory stays."""
    index = next(i for i, part in enumerate(section.parts) if isinstance(part, Entry) and part.memory is memory)
    before, after = section.parts[:index], section.parts[index + 1 :]
    if after and isinstance(after[0], str):
        after = (after[0].removeprefix("\r\n").removeprefix("\n"), *after[1:])
    return with_parts(section, tuple(part for part in (*before, *after) if part), eol)


def _heading(location_id: SubjectKey, name: str, eol: str) -> str:
    escaped = escape(single_spaced(name), NAME)
    if is_place(location_id):
        return f"## Location {render_place(location_id)}: {escaped}".rstrip() + eol
    return f"## {render_place(location_id).capitalize()}{f': {escaped}' if escaped else ''}{eol}"


def _key(text: str) -> SubjectKey | None:
    try:
        return parse_place(text)
    except ValueError:
        return None


def _visited(visits: int, episodes: tuple[int | str, ...], eol: str) -> str:
    return f"**Visits:** {visits} | **Episodes:** {', '.join(map(render_name, episodes))}".rstrip() + eol


def _unknown(text: str) -> LocationSection:
    message, broken = None, False
    title = text.partition("\n")[0].strip().removeprefix("\ufeff")
    if title.lower().startswith("## location"):
        message, broken = f"the location is neither a number nor a quoted string: {title!r}", True
    elif title.lower().startswith("## thing "):
        message, broken = f"the thing is not a number: {title!r}", True
    elif title.startswith("## "):
        message = f"an unknown section: {title!r}"
    problems = (Problem(1, message, broken),) if message else tuple(_paragraphs(text))
    return LocationSection(None, "", 0, (), "", "", (text,), problems)


def _paragraphs(text: str) -> Iterator[Problem]:
    blank = True
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip(" \t\r\ufeff")
        if line and blank and not line.startswith("# ") and not _MARKUP.fullmatch(line):
            yield Problem(number, f"text that is not a memory: {line[:60]!r}", is_broken=False)
        blank = not line or line.startswith("# ")


def _parts(text: str, at: int, problems: list[Problem]) -> Iterator[str | Entry]:
    for match in _PLAIN.finditer(text, at) if _is_simple(text) else ():
        if match.start() > at:
            yield from _gap(text, at, match.start(), problems)
        yield _plain_entry(match)
        at = match.end()
    if at < len(text):
        yield from _gap(text, at, len(text), problems)


def _plain_entry(match: re.Match[str]) -> Entry:
    category, persistence, status, title, begun, episode, turns, last, score, *marks, body = match.groups()
    seen, worked, tried, died, pin, kind = marks
    memory = Memory(
        category,
        title.strip(),
        int(episode),
        str(TurnSpan(turns, last)) if last else turns,
        int(score) if score else None,
        body.strip(),
        PERSISTENCE_BY_TAG[persistence],
        STATUS_BY_TAG[status or "ACTIVE"],
        None,
        None,
        None,
        int(seen) if seen else 1,
        int(tried) if tried else 0,
        int(worked) if worked else 0,
        int(died) if died else 0,
        pin is not None,
        first_episode=int(begun) if begun else None,
        kind=MemoryKind(kind) if kind else None,
    )
    return Entry(memory, match[0])


def _is_simple(text: str) -> bool:
    if any(char in text for char in _BREAKS):
        return False
    return text.isascii() or not UNDECODED.search(text)


def _gap(text: str, start: int, end: int, problems: list[Problem]) -> Iterator[str | Entry]:
    if _MARKUP.fullmatch(text[start:end].strip()):
        yield text[start:end]
        return
    first_line = text[:start].count("\n") + 1
    lines = _lines(text[start:end])
    raw: list[str] = []
    free = False
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith("**["):
            taken = _entry_lines(lines, at)
            try:
                entry = parse_entry(lines[at : at + taken])
            except NotAnEntry as broken:
                problems.append(Problem(first_line + at, f"not a memory: {broken}"))
                raw += lines[at : at + taken]
            else:
                if raw:
                    yield "".join(raw)
                    raw = []
                yield entry
            at += taken
            free = False
            continue
        if line and not _MARKUP.fullmatch(line):
            if not free:
                message = f"text that is not a memory: {line[:60]!r}"
                problems.append(Problem(first_line + at, message, is_broken=False))
            free = True
        else:
            free = False
        raw.append(lines[at])
        at += 1
    if raw:
        yield "".join(raw)


def _lines(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + [last for last in [text.rpartition("\n")[2]] if last]


def _entry_lines(lines: list[str], at: int) -> int:
    """Return the number of lines of a memory: a header, perhaps an empty line, and text up to the next empty line."""
    end = at + 1
    if end + 1 < len(lines) and not lines[end].strip() and not _TEXT_ENDS.match(lines[end + 1].lstrip()):
        end += 1
    while end < len(lines) and not _TEXT_ENDS.match(lines[end].lstrip(" \t")):
        end += 1
    return end - at


def _opening(text: str, eol: str) -> tuple[str, str]:
    """Split a text at the place for the first memory: below `### Memories`, or above the first `---`, or at the end."""
    lines = _lines(text)
    marks = [line.strip() for line in lines]
    for index, mark in enumerate(marks):
        if re.fullmatch(r"### +Memories", mark):
            at = index + 1
            while at < len(marks) and not marks[at]:
                at += 1
            break
    else:
        at = next((index for index, mark in enumerate(marks) if re.fullmatch(r"-{3,}", mark)), len(marks))
    before, after = "".join(lines[:at]), "".join(lines[at:])
    if before and not before.endswith("\n"):
        before += eol
    if at == 0 or marks[at - 1]:
        before += eol
    return before, eol + after if after.strip() else after

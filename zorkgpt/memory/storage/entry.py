"""One memory in the file: a header, a note if it was superseded, and its text."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.memory.checks import checked_metadata, checked_time
from zorkgpt.memory.claims import Claim, parse_claim
from zorkgpt.memory.ids import full_id, written_id
from zorkgpt.memory.models import (
    INVALIDATION_MARKER,
    Category,
    Memory,
    MemoryKind,
    MemoryStatus,
    Persistence,
    SubjectKey,
    episode_key,
)
from zorkgpt.memory.storage import reprint
from zorkgpt.memory.storage.escaping import (
    EMPTY,
    META,
    QUOTED,
    TAG,
    TITLE,
    as_kept,
    escape,
    escape_text,
    joined_lines,
    json_in_a_line,
    single_spaced,
    unescape,
)


class NotAnEntry(ValueError):
    """Lines look like a memory but can't be read as one. The message is for the author of the lines."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory with its text in the file."""

    memory: Memory
    raw: str
    extras: tuple[str, ...] = ()
    """Unknown parts of the header, from a later version, as in the file."""
    undated_at: int | None = None
    """Where the header lacks its episode and turn, because a person wrote it. None if it has them."""
    written_id: str = ""
    """The id in the header. "" if none."""


PERSISTENCE_BY_TAG: dict[str, Persistence] = {persistence.upper(): persistence for persistence in Persistence}
STATUS_BY_TAG: dict[str, MemoryStatus] = {status.value: status for status in MemoryStatus}
_BRACKET = re.compile(r"\*\*\[((?:[^\]\\]|\\.)*)\]")
_TAG_BREAK = re.compile(r"\s+-\s+|^-\s+")
_FIELD = re.compile(r"(?:[^,\\]|\\.|\\$)+")
_SCORE = re.compile(r"\\?([+-][0-9]{1,18})")
_SEEN = re.compile(r"seen (-?[0-9]{1,18})x")
_WORKED = re.compile(r"worked ([0-9]{1,18})/([0-9]{1,18})")
_SAFE = re.compile(r"safe ([0-9]{1,18})/([0-9]{1,18})")
"""For a danger: how often it was met without a loss."""
_DIED = re.compile(r"died ([0-9]{1,18})")
_ID = re.compile(r"id ([0-9a-f]{8}(?:[0-9a-f]{8})?)")
_MARKS = ("pinned", "vetoed")
_EPISODES = re.compile(r"(.*?)\s*(?:→|->)\s*Ep(.*)", re.IGNORECASE)
"""First seen in one episode, last in another: `1→Ep3`. Names that match this pattern have an escaped arrow."""
_KIND, _ACTION, _CAME_TO, _OUTCOME, _CLAIMS, _WHEN = "kind: ", "action: ", " → ", "outcome: ", "claims: ", "when: "
_EXPIRES, _VALID_FROM, _METADATA = "expires: ", "valid from: ", "metadata: "
_FREE = (_ACTION, _OUTCOME, _CLAIMS, _WHEN, _METADATA)
"""The beginnings of fields that contain any text."""
_FIELD_FORM = re.compile(r"[a-z]+(?: [a-z]+)*:.*|[a-z]+(?: [a-z]+)* [-+]?[0-9][-+0-9./]*x?|[a-z]*")
"""The form of a field of any version."""
_TURN = re.compile(r'\s*T\s*["0-9-]', re.IGNORECASE)
_KINDS: dict[str, MemoryKind] = {kind.value: kind for kind in MemoryKind}
_EPISODE_FIELDS = ("episode", "first_episode", "superseded_in_episode")
_LINES = (
    *("category", "title", "turns", "superseded_by", "invalidation_reason", "action", "outcome"),
    *("expires_at", "valid_from", "id", *_EPISODE_FIELDS),
)
"""The fields that are written in one line."""
_lines_of = attrgetter(*_LINES)
_SPAN = re.compile(r"([0-9]+)\s*(?:→|->)\s*T?([0-9]+)")
_STRUCK = re.compile(r"~~(.*)~~", re.DOTALL)

_QUOTATION = r'(?:[^"\\]|\\.)*'
_AT = r"(?: at (?:Ep(?P<episode>(?:[^,\\]|\\.)*), )?T(?P<turn>-?[0-9]{1,18}))?"
_BY, _BECAUSE = rf'(?: by "(?P<by>{_QUOTATION})")?', rf'(?:: "(?P<reason>{_QUOTATION})")?'
_SUPERSEDED = re.compile(rf"\[Superseded{_AT}{_BY}{_BECAUSE}\]")
_INVALIDATED = re.compile(rf"\[Invalidated{_AT}{_BECAUSE}\]")
# From a person or an older version, with unescaped quotation marks.
_LOOSELY_SUPERSEDED = re.compile(rf'\[Superseded{_AT} by "(?P<by>.*?)"(?:: "(?P<reason>.*)")?\]')
_LOOSELY_INVALIDATED = re.compile(rf'\[Invalidated{_AT}: "(?P<reason>.*)"\]')

_MARKS_OF_A_HEADER = 6
"""The number of asterisks in a header that are not escaped."""
_DOUBTFUL = re.compile(r"&[#0-9A-Za-z]+;|<[a-z]|\{=html\}|\n\s*\\`")
"""What reads differently if a formatter has written it."""
_CATEGORIES = frozenset(Category)
_REPRINTED_TAGS = re.compile(rf"\s*(?P<strong>{reprint.STRONG})\\?\[(?P<tags>[^\]]*?)\\?\]")
_TITLE_END = {
    strong: (
        re.compile(rf"((?:\\.|[^\\])*?){re.escape(strong)}(?=\s*[*_]\(\s*Ep)", re.DOTALL | re.IGNORECASE),
        re.compile(rf"((?:\\.|[^\\])*?(?<!\s)){re.escape(strong)}(?!\S)", re.DOTALL),
    )
    for strong in ("**", "__")
}
"""The end of a title: before parentheses, or without them."""
_LOST_META = re.compile(r"\s*[*_\\]*\(\s*Ep", re.IGNORECASE)
_WRAPPED_DASH = re.compile(r"\s*\n\s*\\-\s")
"""A dash that is escaped because it would begin a list."""
_META_BEGIN = re.compile(r"\s*([*_])\(")
_META_INSIDE = {
    "*": re.compile(r"((?:\\.|[^\\])*?)\)\*", re.DOTALL),
    "_": re.compile(r"((?:\\.|[^\\])*?)\)_(?!\w)", re.DOTALL),
}
_BREAK_AFTER_HEAD = re.compile(r"\A[ \t]*\\[ \t\r]*\n(?=\s*\S)")
_WRITTEN_NOTE = re.compile(r"\s*\[(?:Superseded|Invalidated)[^\n]*\][ \t\r]*(?:\n|\Z)")
_REPRINTED_NOTE = re.compile(
    r"\s*\\?\[(?P<note>(?:Superseded|Invalidated)(?:.*?[\"”0-9])??)\\?\]"
    r"(?=\s*(?:\Z|\\?~|<(?:s|del|strike)>)|\\?[ \t\r]*\n)",
    re.DOTALL,
)
_REPRINTED_STRUCK = re.compile(
    r"(?:(?:\\?~){2}(?P<tildes>.*?)(?:\\?~){2}|<(?P<tag>s|del|strike)>(?P<html>.*)</(?P=tag)>)", re.DOTALL
)


def parse_entry(lines: list[str]) -> Entry:
    """Parse the memory in these lines. The first one begins with `**[`, or the same as reprinted by a formatter.

    Raises:
        NotAnEntry: If it can't be read.
    """
    raw = "".join(lines)
    try:
        entry = _as_written(lines)
    except NotAnEntry as error:
        reprinted = _as_reprinted(raw)
        if reprinted is None:
            raise error from None
        return reprinted
    return entry if _is_ours(entry, lines) else _as_reprinted(raw) or entry


def _is_ours(entry: Entry, lines: list[str]) -> bool:
    """Return whether `render_entry` could have written an entry, so that each of its characters has its own meaning."""
    raw = entry.raw
    is_plain = len(lines) == 2 and entry.memory.status != MemoryStatus.SUPERSEDED and not entry.extras
    if is_plain and raw.count("*") - raw.count("\\*") == _MARKS_OF_A_HEADER and not _DOUBTFUL.search(raw):
        return True
    eol = "\r\n" if lines[0].endswith("\r\n") else "\n"
    return render_entry(entry.memory, entry.written_id, entry.extras, eol).raw.rstrip() == raw.rstrip()


def _as_written(lines: list[str]) -> Entry:
    """Parse an entry as `render_entry` writes it, or an older version did."""
    tags, title, parentheses = _header(lines[0].strip())
    category, persistence, status = _tags(tags)
    meta = _meta(parentheses)
    body = [line for line in lines[1:] if line.strip()]
    note = _note(body[0].strip()) if body else None
    if note is not None:
        body = body[1:]
    text = joined_lines(body)
    if status == MemoryStatus.SUPERSEDED and (struck := _STRUCK.fullmatch(text.strip())):
        text = struck[1]
    text = "" if text.strip() == EMPTY else as_kept(unescape(text))
    memory = _memory(category, title, persistence, status, meta, text, note)
    return Entry(memory, "".join(lines), meta.extras, written_id=memory.id)


def _as_reprinted(raw: str) -> Entry | None:
    """Parse an entry that another program has reprinted, or a person wrote. None if it can't be read."""
    head = _REPRINTED_TAGS.match(raw)
    if head is None:
        return None
    ends = (pattern.match(raw, head.end()) for pattern in _TITLE_END[head["strong"]])
    titled = next(filter(None, ends), None)
    if titled is None:
        return None
    is_escaped, is_straight = raw.lstrip()[2] == "\\", reprint.has_curly_quotes(raw)
    original: Callable[[str], str] = partial(reprint.original, is_escaped=is_escaped, is_straight=is_straight)
    try:
        category, persistence, status = _tags(_WRAPPED_DASH.sub(" - ", head["tags"]))
        meta, rest = _reprinted_meta(raw[titled.end() :], original)
    except NotAnEntry:
        return None
    if meta is None and (category.upper() not in _CATEGORIES or _LOST_META.match(rest)):
        return None
    if not is_escaped and not _names_persistence(head["tags"]):
        # A person or an older version wrote it, and asterisks may be no emphasis.
        original = str
    title = single_spaced(unescape(original(titled[1])))
    note, rest = _reprinted_note(_BREAK_AFTER_HEAD.sub("", rest), status, is_straight=is_straight)
    text = _reprinted_text(rest, status, original)
    memory = _memory(category, title, persistence, status, meta or _Meta(1, "0"), text, note)
    extras, undated_at = (meta.extras, None) if meta else ((), titled.end())
    return Entry(memory, raw, extras, undated_at, written_id=memory.id)


def _reprinted_note(text: str, status: MemoryStatus, *, is_straight: bool) -> tuple[dict[str, Any] | None, str]:
    """Parse the note about the supersession at the beginning, and return what follows it."""
    if status == MemoryStatus.SUPERSEDED and (match := _REPRINTED_NOTE.match(text)):
        inside = single_spaced(reprint.decoded(match["note"], is_straight=is_straight))
        straight = reprint.decoded(inside, is_straight=True).replace('\\"', '"')
        note = _note(f"[{inside}]") or _note(f"[{straight}]")
    elif match := _WRITTEN_NOTE.match(text):
        note = _note(match[0].strip())
    else:
        return None, text
    return note, text if note is None else text[match.end() :]


def _reprinted_text(source: str, status: MemoryStatus, original: Callable[[str], str]) -> str:
    # The first line may follow the header in its line.
    first, *others = source.splitlines(keepends=True) or [""]
    text = reprint.joined([first.lstrip(), *others])
    if status == MemoryStatus.SUPERSEDED and (struck := _REPRINTED_STRUCK.fullmatch(text.strip())):
        text = struck["tildes"] or struck["html"] or ""
    if text.strip() in ("", EMPTY, EMPTY * 2):
        return ""
    return as_kept(unescape(reprint.with_code_spaces(original(text))))


def _reprinted_meta(rest: str, original: Callable[[str], str]) -> "tuple[_Meta | None, str]":
    """Parse the parentheses at the beginning, and return what follows them. None if there are none."""
    begin = _META_BEGIN.match(rest)
    if begin is None:
        return None, rest
    inside = _META_INSIDE["*" if begin[1] == "*" else "_"].match(rest, begin.end())
    if inside is None:
        raise NotAnEntry("the parentheses have no end")
    return _meta(original(" ".join(inside[1].split()))), rest[inside.end() :]


def _memory(
    category: str,
    title: str,
    persistence: Persistence,
    status: MemoryStatus,
    meta: "_Meta",
    text: str,
    note: dict[str, Any] | None,
) -> Memory:
    return Memory(
        category,
        title,
        meta.episode,
        meta.turns,
        meta.fields.pop("score_change", None),
        text,
        persistence,
        status,
        **meta.fields,
        **(note or {}),
    )


def render_entry(memory: Memory, written_id: str = "", extras: tuple[str, ...] = (), eol: str = "\n") -> Entry:
    """Render a memory in the form that `as_read` returns. Parsing the entry gives an equal memory.

    Args:
        written_id: The id for the header. "" for none.
    """
    tags = [escape(memory.category, TAG), memory.persistence.upper()]
    if memory.status != MemoryStatus.ACTIVE:
        tags.append(memory.status)
    meta = [_episodes(memory), "T" + _turns(memory.turns)]
    if memory.score_change is not None:
        meta.append(f"{memory.score_change:+d}")
    if memory.observation_count != 1:
        meta.append(f"seen {memory.observation_count}x")
    if memory.tried or memory.worked:
        is_warning = memory.category == Category.DANGER and memory.worked <= memory.tried
        right = f"safe {memory.tried - memory.worked}" if is_warning else f"worked {memory.worked}"
        meta.append(f"{right}/{memory.tried}")
    if memory.died:
        meta.append(f"died {memory.died}")
    meta += [mark for mark in _MARKS if getattr(memory, mark)]
    if written_id:
        meta.append(f"id {written_id}")
    meta += [escape(field, META) for field in _named_fields(memory)]
    header = f"**[{' - '.join(tags)}] {escape(memory.title, TITLE)}** *({', '.join([*meta, *extras])})*"
    text = escape_text(memory.text, eol)
    if memory.status == MemoryStatus.SUPERSEDED:
        text = f"~~{text}~~"
    lines = [header, *_rendered_note(memory), text or EMPTY]
    return Entry(memory, eol.join(lines) + eol, extras, written_id=written_id)


def completed(entry: Entry, place: SubjectKey) -> Entry:
    """Return the entry with its episode and turn in the header, and its id if that can't be derived."""
    at, memory = entry.undated_at, entry.memory
    if full_id(place, memory.title, entry.written_id) != memory.id:
        eol = "\r\n" if entry.raw.endswith("\r\n") else "\n"
        return render_entry(memory, written_id(place, memory), entry.extras, eol)
    if at is None:
        return entry
    meta = f" *({_episodes(memory)}, T{_turns(memory.turns)})*"
    return Entry(memory, entry.raw[:at] + meta + entry.raw[at:], entry.extras, written_id=entry.written_id)


def _names_persistence(tags: str) -> bool:
    return any(tag.strip().upper() in PERSISTENCE_BY_TAG for tag in _TAG_BREAK.split(tags)[1:])


def as_read(memory: Memory) -> Memory:
    """Return the memory in the form in which it is read back: with a normalized text, and other fields in one line."""
    fields: dict[str, Any] = {"text": as_kept(memory.text)}
    for name, value in zip(_LINES, _lines_of(memory), strict=True):
        if value and type(value) is str:
            fields[name] = " ".join(value.split())
    for name in _EPISODE_FIELDS:
        if name in fields:
            fields[name] = episode_key(fields[name])
    for name in ("action", "outcome"):
        if name in fields:
            fields[name] = fields[name].replace(_CAME_TO.strip(), "->")
    if memory.claims or memory.when:
        fields["claims"] = tuple(filter(None, (parse_claim(str(claim)) for claim in memory.claims)))
        fields["when"] = tuple(filter(None, (parse_claim(str(claim)) for claim in memory.when)))
    changed = {name: value for name, value in fields.items() if value != getattr(memory, name)}
    return replace(memory, **changed) if changed else memory


def _named_fields(memory: Memory) -> list[str]:
    """Return the parts of the header that have a name, such as `kind: rule`."""
    parts = []
    if memory.kind is not None:
        parts.append(_KIND + memory.kind)
    if memory.action:
        parts.append(
            f"{_ACTION}{memory.action}{_CAME_TO}{memory.outcome}" if memory.outcome else f"{_ACTION}{memory.action}"
        )
    elif memory.outcome:
        parts.append(_OUTCOME + memory.outcome)
    if memory.claims:
        parts.append(_CLAIMS + "; ".join(map(str, memory.claims)))
    if memory.when:
        parts.append(_WHEN + "; ".join(map(str, memory.when)))
    if memory.expires_at is not None:
        parts.append(_EXPIRES + memory.expires_at)
    if memory.valid_from is not None:
        parts.append(_VALID_FROM + memory.valid_from)
    if memory.metadata:
        parts.append(_METADATA + json_in_a_line(memory.metadata))
    return parts


def _parsed_named_field(part: str) -> dict[str, Any] | None:
    """Parse a part that `_named_fields` returned, as fields of `Memory`. None if it is unknown or invalid."""
    if part.startswith(_KIND):
        kind = _KINDS.get(part.removeprefix(_KIND).strip().lower())
        return None if kind is None else {"kind": kind}
    if part.startswith(_ACTION):
        action, _, outcome = part.removeprefix(_ACTION).partition(_CAME_TO)
        return {"action": action.strip(), "outcome": outcome.strip()}
    if part.startswith(_OUTCOME):
        return {"outcome": part.removeprefix(_OUTCOME).strip()}
    for name, prefix in (("claims", _CLAIMS), ("when", _WHEN)):
        if part.startswith(prefix):
            claims = _claims(part.removeprefix(prefix).split(";"))
            return None if claims is None else {name: claims}
    try:
        if part.startswith(_EXPIRES):
            return {"expires_at": checked_time(part.removeprefix(_EXPIRES).strip())}
        if part.startswith(_VALID_FROM):
            return {"valid_from": checked_time(part.removeprefix(_VALID_FROM).strip())}
        if part.startswith(_METADATA):
            return {"metadata": checked_metadata(parse_json(part.removeprefix(_METADATA), RECORD))}
    except (TypeError, ValueError):
        return None
    return None


def _claims(texts: Iterable[str]) -> tuple[Claim, ...] | None:
    claims = []
    for text in texts:
        claim = parse_claim(text)
        if claim is None:
            return None
        claims.append(claim)
    return tuple(claims)


def parse_name(text: str) -> int | str:
    """Parse the name of an episode. Returns an integer if it is one."""
    return episode_key(_unquoted(text))


def render_name(episode: int | str) -> str:
    """Return the name of an episode for the file, quoted if necessary."""
    if isinstance(episode, int):
        return str(episode)
    name = single_spaced(episode)
    plain = escape(name, META)
    return plain if plain and parse_name(plain) == episode_key(name) else f'"{plain}"'


def split_fields(text: str) -> list[str]:
    """Split a text at commas that are not escaped."""
    return _FIELD.findall(text) if "\\" in text else text.split(",")


def _header(line: str) -> tuple[str, str, str]:
    bracket = _BRACKET.match(line)
    if bracket is None:
        raise NotAnEntry("the header's ] is missing")
    meta_at = line.rfind("*(")
    if not line.endswith(")*") or meta_at < bracket.end():
        raise NotAnEntry("the header has no *(Ep…, T…)* at its end")
    title = line[bracket.end() : meta_at].rstrip()
    if not title.endswith("**"):
        raise NotAnEntry("the title does not end with **")
    return bracket[1], single_spaced(unescape(title[:-2])), line[meta_at + 2 : -2]


def _tags(text: str) -> tuple[str, Persistence, MemoryStatus]:
    category, *rest = _TAG_BREAK.split(text)
    persistence: Persistence | None = None
    status: MemoryStatus | None = None
    for tag in (tag.strip().upper() for tag in rest):
        if tag in PERSISTENCE_BY_TAG and persistence is None:
            persistence = PERSISTENCE_BY_TAG[tag]
        elif tag in STATUS_BY_TAG and status is None:
            status = STATUS_BY_TAG[tag]
        else:
            raise NotAnEntry(f"{tag!r} is neither a persistence nor a status")
    if persistence is Persistence.EPHEMERAL:
        raise NotAnEntry("an ephemeral memory does not belong into the file")
    return single_spaced(unescape(category)), persistence or Persistence.PERMANENT, status or MemoryStatus.ACTIVE


@dataclass(slots=True)
class _Meta:
    """The content of the header's parentheses."""

    episode: int | str
    turns: str
    fields: dict[str, Any] = field(default_factory=dict)
    """Further fields of `Memory`."""
    extras: tuple[str, ...] = ()


def _meta(text: str) -> _Meta:
    parts = split_fields(text)
    turn = next((at for at, part in enumerate(parts) if at and _TURN.match(part)), 1)
    episode_part = ",".join(parts[:turn]).strip()
    if len(parts) < 2 or episode_part[:2].lower() != "ep" or parts[turn].strip()[:1].upper() != "T":
        raise NotAnEntry(f"({text}) does not begin with an episode and a turn, as in (Ep1, T25)")
    first_episode, episode = _parsed_episodes(episode_part[2:].strip())
    meta = _Meta(episode, _parsed_turns(parts[turn].strip()[1:].strip()))
    if first_episode is not None:
        meta.fields["first_episode"] = first_episode
    extras = []
    for part in _whole_fields(parts[turn + 1 :]):
        fields = _parsed_part(part)
        if fields is not None and meta.fields.keys().isdisjoint(fields):
            meta.fields |= fields
        elif part and part not in _MARKS:
            extras.append(part)
    meta.extras = tuple(extras)
    return meta


def _whole_fields(parts: Iterable[str]) -> list[str]:
    """Join the parts of fields whose commas have lost their backslashes."""
    fields: list[str] = []
    for part in parts:
        if fields and _goes_on(fields[-1].strip(), part.strip()):
            fields[-1] += f",{part}"
        else:
            fields.append(part)
    return [field.strip() for field in fields]


def _goes_on(field: str, part: str) -> bool:
    """Return whether a part belongs to the field before it, and is no field of its own."""
    if field.startswith(_METADATA):
        return _parsed_part(field) is None
    return field.startswith(_FREE) and not _FIELD_FORM.fullmatch(part) and _parsed_part(part) is None


def _parsed_part(part: str) -> dict[str, Any] | None:
    """Parse a part of the header, as fields of `Memory`. None if a later version wrote it."""
    if match := _SCORE.fullmatch(part):
        return {"score_change": int(match[1])}
    if match := _SEEN.fullmatch(part):
        return {"observation_count": int(match[1])}
    if match := _WORKED.fullmatch(part):
        return {"worked": int(match[1]), "tried": int(match[2])}
    if (match := _SAFE.fullmatch(part)) and int(match[1]) <= int(match[2]):
        return {"worked": int(match[2]) - int(match[1]), "tried": int(match[2])}
    if match := _DIED.fullmatch(part):
        return {"died": int(match[1])}
    if part in _MARKS:
        return {part: True}
    if match := _ID.fullmatch(part):
        return {"id": match[1]}
    return _parsed_named_field(_unquoted(part)) if ":" in part else None


def _parsed_episodes(text: str) -> tuple[int | str | None, int | str]:
    """Return the first and the last episode. The first one is None if it is not given."""
    if span := _EPISODES.fullmatch(text):
        return parse_name(span[1]), parse_name(span[2].strip())
    return None, parse_name(text)


def _episodes(memory: Memory) -> str:
    names = [memory.episode] if memory.first_episode is None else [memory.first_episode, memory.episode]
    return "→".join(["Ep" + (str(name) if type(name) is int else _episode(name)) for name in names])


def _episode(episode: int | str) -> str:
    name = render_name(episode)
    return name.replace("→", "\\u2192").replace("->", "-\\>") if _EPISODES.fullmatch(name) else name


def _parsed_turns(text: str) -> str:
    span = _SPAN.fullmatch(text)
    return f"{span[1]}→{span[2]}" if span else _unquoted(text)


def _turns(turns: str) -> str:
    if turns.isascii() and turns.isdigit():
        return turns
    plain = escape(turns.replace("→", "→T", 1) if _SPAN.fullmatch(turns) else turns, META)
    return plain if plain and _parsed_turns(plain) == turns else f'"{escape(turns, META)}"'


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return single_spaced(unescape(text))


def _note(line: str) -> dict[str, Any] | None:
    """Parse the line about the supersession of a memory, as fields of `Memory`. None if it is another line."""
    if not line.startswith(("[Superseded", "[Invalidated")):
        return None
    forms = (_SUPERSEDED, _INVALIDATED, _LOOSELY_SUPERSEDED, _LOOSELY_INVALIDATED)
    match = next((match for form in forms if (match := form.fullmatch(line))), None)
    if match is None:
        return None
    groups = match.groupdict()
    return {
        "superseded_by": INVALIDATION_MARKER if line.startswith("[Invalidated") else _quoted(groups["by"]),
        "superseded_at_turn": None if groups["turn"] is None else int(groups["turn"]),
        "superseded_in_episode": None if groups["episode"] is None else parse_name(groups["episode"]),
        "invalidation_reason": _quoted(groups.get("reason")),
    }


def _rendered_note(memory: Memory) -> list[str]:
    by, turn, reason = memory.superseded_by, memory.superseded_at_turn, memory.invalidation_reason
    if by is None and turn is None and reason is None:
        return []
    episode = memory.superseded_in_episode
    inside = "" if episode is None else f"Ep{render_name(episode)}, "
    at = "" if turn is None else f" at {inside}T{turn}"
    because = "" if reason is None else f': "{escape(reason, QUOTED)}"'
    if by == INVALIDATION_MARKER:
        return [f"[Invalidated{at}{because}]"]
    replaced = "" if by is None else f' by "{escape(by, QUOTED)}"'
    return [f"[Superseded{at}{replaced}{because}]"]


def _quoted(text: str | None) -> str | None:
    return None if text is None else single_spaced(unescape(text))

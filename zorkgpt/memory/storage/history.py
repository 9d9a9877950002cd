"""Records of changes, the trials among them, and the memories that result from changes."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from zorkgpt.memory.claims import Claim, claims_in
from zorkgpt.memory.ids import full_id
from zorkgpt.memory.models import (
    INVALIDATION_MARKER,
    Memory,
    MemoryStatus,
    SubjectKey,
    episode_key,
    fields_of,
    memory_of,
)
from zorkgpt.memory.places import place_order, place_to_json
from zorkgpt.memory.scope import PlaceScope
from zorkgpt.memory.storage.changes import Change, ChangeKind, after_change
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.escaping import single_spaced
from zorkgpt.memory.storage.versions import differing

PERSON_SOURCES = ("hand", "person")
"""The sources of changes by a person, in the file or by a command."""
UNDATED_SOURCES = ("baseline", "recovered")
"""Sources of records whose time is when a memory was found, and not when it was stored."""
_OMITTED: dict[str, Any] = {"tried": 0, "worked": 0, "died": 0, "pinned": False, "vetoed": False}
_OMITTED |= {"action": "", "outcome": "", "claims": [], "when": [], "first_episode": None, "kind": None}
_OMITTED |= {"superseded_in_episode": None, "metadata": {}, "expires_at": None}
_OMITTED |= {"valid_from": None, "superseded_by": None, "superseded_at_turn": None, "invalidation_reason": None}
DEFAULTS: dict[str, Any] = {"score_change": None, "status": str(MemoryStatus.ACTIVE), "observation_count": 1}
"""Fields that a record omits if they have these values, but that every memory has."""
_OMITTED |= DEFAULTS
"""Fields that a record omits if they have these values."""
COUNTED: tuple[ChangeKind, ...] = ("seen again", "credited")
"""Changes of a count. They are frequent, and their responses taught nothing."""
OBSERVATIONS: tuple[ChangeKind, ...] = ("added", "seen again")
"""Changes in a turn that confirmed the memory."""
_LONGEST_RESPONSE = 400
_LONGEST_ACTION = 120


@dataclass(frozen=True, slots=True)
class TurnStamp:
    """The turn in which a change was made, with the game's response."""

    episode: int | str
    turn: int
    action: str = ""
    """"" if unknown, and for an arrival without an action."""
    response: str = ""
    """The game's response in one line, shortened."""
    state: tuple[Claim, ...] = ()
    """The known state before the action."""
    taught_in: int | None = None
    """The earlier turn of the action, if its answer was applied in this one. None if both are the same."""

    @classmethod
    def of(
        cls, episode: int | str, turn: int, action: str = "", response: str = "", state: tuple[Claim, ...] = ()
    ) -> "TurnStamp":
        """Return a stamp with shortened texts."""
        return cls(episode, turn, _shortened(action, _LONGEST_ACTION), recorded_response(response), state)

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "TurnStamp | None":
        """Read the stamp of a journal row. None if the row has no episode or turn."""
        episode, turn = row.get("episode"), row.get("turn")
        if not isinstance(episode, (int, str)) or not isinstance(turn, int):
            return None
        claims = row.get("state")
        state = claims_in(claims) if isinstance(claims, list) else ()
        action, response = str(row.get("action") or ""), str(row.get("response") or "")
        return cls(episode, turn, action, response, state, row.get("taught_in"))


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """A record of the journal."""

    at: str
    """The time of the change, in UTC, as ISO 8601."""
    change: Change
    source: str
    """"agent": by a call; "person": by a command or in the viewer; "hand": edited in the file; "import": written by
    another memory and found in the file; "recovered": found in a file that its backup replaced; "baseline": found in a
    file that had no journal."""
    turn_stamp: TurnStamp | None = None
    """None if the turn is unknown."""
    position: int = 0
    """Its number in the journal. 0 if it is not there."""
    reverted_by: str | None = None
    """The source of what has reverted the change. None if it was not reverted."""

    @property
    def is_of_repeated_turn(self) -> bool:
        """Whether its turn was taken back, to be played again, or whether it is what takes such a turn back."""
        return self.reverted_by == "agent" or (self.change.kind == "reverted" and self.source == "agent")

    @property
    def episode(self) -> int | str | None:
        """The key of the episode whose ephemeral memory was changed. None for a lasting memory."""
        if self.change.is_lasting:
            return None
        return episode_key(self.turn_stamp.episode if self.turn_stamp else self.change.memory.episode)

    def relative_to(self, scope: PlaceScope) -> "HistoryRecord":
        """Return the record with its place relative to a scope."""
        if not scope.path:
            return self
        change = self.change
        return replace(self, change=replace(change, location_id=scope.relative(change.location_id)))


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A change of a memory in its history."""

    position: int
    """Its number in the history, for `AgentMemory.as_of`. Later changes have larger ones."""
    at: str
    """The time in the format of `Memory.created_at`."""
    kind: ChangeKind
    place: SubjectKey
    source: str
    """See `HistoryRecord.source`."""
    episode: int | str | None
    """None if unknown."""
    turn: int | None
    """The turn of the change. For a change between two turns, the later one. None if unknown."""
    before: Memory | None
    """None if the memory was added."""
    after: Memory | None
    """None if the memory was removed."""
    reason: str | None
    """None if unknown."""

    @classmethod
    def of(cls, record: HistoryRecord) -> "MemoryChange":
        """Return the change of a record."""
        change, stamp = record.change, record.turn_stamp
        episode, turn = (None, None) if stamp is None else (stamp.episode, stamp.turn)
        return cls(
            record.position,
            record.at,
            change.kind,
            change.location_id,
            record.source,
            episode,
            turn,
            change.before,
            change.after,
            change.reason,
        )


def dated(change: Change, at: str, source: str) -> Change:
    """Return the change whose new memory has its times, its source, and whether a person edited it.

    Args:
        at: The time of the change, in the format of `Memory.created_at`.
        source: The author of the change. See `HistoryRecord.source`.
    """
    old, new = change.before, change.after
    if new is None:
        return change
    if change.kind == "reverted":
        new = replace(new, created_at=new.created_at or at, updated_at=at, source=new.source or "agent")
    elif old is None:
        new = first_version(new, at, source)
    else:
        by_person, is_count = old.edited_by_person, change.kind in COUNTED
        if source in PERSON_SOURCES and change.kind in ("edited", "unpinned"):
            by_person = change.kind != "unpinned"
        new = replace(
            new,
            created_at=old.created_at,
            updated_at=old.updated_at if is_count else at,
            source=old.source if is_count else source,
            edited_by_person=by_person,
        )
    return replace(change, after=new)


def first_version(memory: Memory, at: str, source: str, id: str = "") -> Memory:
    """Return a new memory with its times, its source, and whether a person wrote it.

    Args:
        at: The present time, in the format of `Memory.created_at`.
        id: Its id. Defaults to the one that it has.
    """
    by_person = memory.edited_by_person or source in PERSON_SOURCES
    return replace(memory, id=id or memory.id, created_at=at, updated_at=at, source=source, edited_by_person=by_person)


def with_history_of(memory: Memory, other: Memory, at: str | None = None) -> Memory:
    """Return a memory with the times and the source of another one, and whether a person edited that.

    Args:
        at: The time of the change. Defaults to that of the other one.
    """
    return replace(
        memory,
        created_at=other.created_at,
        updated_at=at or other.updated_at,
        source=other.source,
        edited_by_person=other.edited_by_person,
    )


def replayed(records: Iterable[HistoryRecord]) -> dict[SubjectKey, tuple[Memory, ...]]:
    """Return the memories of each place after these changes, with their times and sources."""
    memories: dict[SubjectKey, tuple[Memory, ...]] = {}
    for change in dated_changes(records):
        place = change.location_id
        memories[place] = after_change(memories.get(place, ()), change)
    return memories


def dated_changes(records: Iterable[HistoryRecord]) -> Iterator[Change]:
    """Yield the changes of records. Each new memory has its times and its source."""
    versions: dict[str, list[Memory]] = {}
    """The versions of each memory by its id, oldest first."""
    for record in records:
        change = _with_known_times(record, versions)
        if change.after is not None:
            versions.setdefault(change.after.id, []).append(change.after)
        yield change


def _with_known_times(record: HistoryRecord, versions: Mapping[str, Sequence[Memory]]) -> Change:
    """Return the change of a record whose new memory has its times.

    Args:
        versions: The versions of each memory by its id.
    """
    change = record.change
    if change.after is None:
        return change
    known = versions.get(change.after.id, ())
    if is_return(change.kind, record.source):
        latest = known[-1] if known and change.kind == "reverted" else None
        version = next((each for each in reversed(known) if each == change.after), latest)
        if version is not None:
            at = None if change.kind == "moved" else record.at
            return replace(change, after=with_history_of(change.after, version, at))
    if change.before is None and record.source in UNDATED_SOURCES:
        return replace(change, after=replace(change.after, source=record.source))
    if change.before is None or not known:
        return dated(change, record.at, record.source)
    return dated(replace(change, before=known[-1]), record.at, record.source)


def is_return(kind: ChangeKind, source: str) -> bool:
    """Return whether such a change brings back an earlier version of a memory, which keeps its source."""
    return kind in ("moved", "reverted") or (kind == "added" and source == "hand")


def content_of(record: HistoryRecord) -> dict[str, Any]:
    """Return what the columns of a record in the journal don't have, as plain values for JSON."""
    change, turn_stamp = record.change, record.turn_stamp
    content: dict[str, Any] = {"location_name": change.location_name} if change.location_name else {}
    for name in ("before", "after", "other"):
        if (memory := getattr(change, name)) is not None:
            content[name] = recorded_fields(memory)
    if change.other is not None and change.other.id:
        content["other"]["id"] = change.other.id
    if change.reason is not None:
        content["reason"] = change.reason
    if turn_stamp is not None:
        if change.kind not in COUNTED and (turn_stamp.action or turn_stamp.response):
            content |= {"action": turn_stamp.action, "response": turn_stamp.response}
        if change.kind in OBSERVATIONS and change.memory.action and turn_stamp.state:
            content["state"] = list(map(str, turn_stamp.state))
        if turn_stamp.taught_in is not None:
            content["taught_in"] = turn_stamp.taught_in
    return content


def recorded_fields(memory: Memory) -> dict[str, Any]:
    """Return the fields of a memory as JSON values, without its id and those that have their default value."""
    fields = fields_of(memory)
    del fields["id"]
    return {name: value for name, value in fields.items() if value != _OMITTED.get(name, _OMITTED)}


def record_of(row: Any, place: SubjectKey) -> HistoryRecord | None:
    """Build a record from the columns of the journal and the values of `content_of`. None if they are invalid."""
    try:
        before, after = (_memory_in(row.get(name), place, row.get("memory", "")) for name in ("before", "after"))
        other = _memory_in(row.get("other"), place)
        if before is None and after is None:
            return None
        change = Change(row["kind"], place, row.get("location_name", ""), before, after, row.get("reason"), other)
        stamp, position = TurnStamp.from_row(row), row.get("position", 0)
        return HistoryRecord(row["at"], change, row["source"], stamp, position, row.get("reverted_by"))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _memory_in(fields: dict[str, Any] | None, place: SubjectKey, id: str = "") -> Memory | None:
    if not fields:
        return None
    memory = memory_of(DEFAULTS | fields)
    return replace(memory, id=id or full_id(place, memory.title, memory.id))


def recorded_response(response: str) -> str:
    """Return a response in the form in which the journal stores it."""
    return _shortened(response, _LONGEST_RESPONSE)


def _shortened(text: str, limit: int) -> str:
    # Cut very long texts first, to avoid normalizing all of their white space.
    line = single_spaced(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def differences(recorded: Mapping[SubjectKey, Sequence[Memory]], document: Document) -> list[Change]:
    """Return the changes from the recorded memories to those of the document."""
    return changes_between(recorded, document.by_place(), document.name)


def changes_between(
    recorded: Mapping[SubjectKey, Sequence[Memory]],
    memories: Mapping[SubjectKey, Sequence[Memory]],
    name_of: Callable[[SubjectKey], str],
    *,
    by_title: bool = True,
) -> list[Change]:
    """Return the changes from the recorded memories to other ones.

    Args:
        by_title: See `differing`.
    """
    changes = []
    for place in sorted({*recorded, *memories}, key=place_order):
        for before, after in differing(recorded.get(place, ()), memories.get(place, ()), by_title=by_title):
            kind = "removed" if after is None else kind_of(before, after)
            is_superseded = after is not None and after.status == MemoryStatus.SUPERSEDED
            reason = after.invalidation_reason if after is not None and is_superseded else None
            changes.append(Change(kind, place, name_of(place), before, after, reason))
    return changes


def kind_of(before: Memory | None, after: Memory) -> ChangeKind:
    """Return the kind of change between two versions of a memory."""
    if before is None:
        return "added"
    if replace(before, pinned=after.pinned, vetoed=after.vetoed) == after:
        if before.vetoed != after.vetoed:
            return "vetoed" if after.vetoed else "unvetoed"
        return "pinned" if after.pinned else "unpinned"
    if before.status != after.status == MemoryStatus.SUPERSEDED:
        return "invalidated" if after.superseded_by == INVALIDATION_MARKER else "superseded"
    if after.observation_count > before.observation_count and before.text == after.text:
        return "seen again"
    if after.tried > before.tried and after.text == before.text:
        return "credited"
    return "edited"


_TRIAL = re.compile("“(.*)” (worked|did not work) in turn ([0-9]+): (.*)", re.DOTALL)
"""The reason of the change that counts a trial."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One time that the player followed a memory, with the result. It is recorded as the change that counts it."""

    episode: int | str
    turn: int
    location_id: SubjectKey
    title: str
    """The title of the memory, which was shown before the turn."""
    action: str
    result: str
    """The outcome according to the Z-machine."""
    worked: bool
    """Whether the outcome matches the memory."""
    after: tuple[int, int] = (0, 0)
    """`worked` and `tried` of the memory, including this trial."""

    @property
    def killed(self) -> bool:
        """Whether the player died unexpectedly."""
        return not self.worked and self.result.split("; ")[0] == "died"

    @property
    def reason(self) -> str:
        """The reason of the change that counts it."""
        verdict = "worked" if self.worked else "did not work"
        return f"“{self.action}” {verdict} in turn {self.turn}: {self.result}"

    @classmethod
    def of(cls, record: HistoryRecord) -> "Trial | None":
        """Return the trial that a record counts. None if it counts none, or several at once."""
        change, stamp = record.change, record.turn_stamp
        before, after = change.before, change.after
        if change.kind != "credited" or stamp is None or before is None or after is None:
            return None
        match = _TRIAL.fullmatch(change.reason or "")
        if match is None or after.tried != before.tried + 1:
            return None
        counts = after.worked, after.tried
        worked = after.worked > before.worked
        return cls(stamp.episode, int(match[3]), change.location_id, after.title, match[1], match[4], worked, counts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self) | {"location_id": place_to_json(self.location_id)}

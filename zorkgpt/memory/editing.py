"""Edits of memories by a person, including pinning and hiding."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

from zorkgpt.errors import MemoryConflict, MemoryEditError
from zorkgpt.memory.checks import check_category, checked_metadata, checked_time
from zorkgpt.memory.ids import MemoryId
from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryKind, MemoryStatus, Persistence, SubjectKey
from zorkgpt.memory.places import place_in_words
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import as_kept, single_spaced
from zorkgpt.memory.storage.history import COUNTED, TurnStamp, kind_of
from zorkgpt.memory.storage.reverting import revert
from zorkgpt.memory.storage.sql_store import Store
from zorkgpt.memory.storage.versions import is_current, superseded

LASTING = tuple(kind for kind in Persistence if kind.outlives_episode)
BY_A_PERSON = "by a person"

_EDITABLE = ("kind", "category", "title", "text", "persistence", "status", "pinned", "vetoed", "metadata")
"""The fields that a person can change. Others, such as counts, may change while a person edits."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes to make. A field that is None stays unchanged."""

    text: str | None = None
    title: str | None = None
    category: str | None = None
    persistence: str | None = None
    """ "core" or "permanent"."""
    status: str | None = None
    pinned: bool | None = None
    vetoed: bool | None = None
    kind: str | None = None
    """One of `MemoryKind`, or "" for unknown."""
    metadata: Mapping[str, object] | None = None
    expires_at: str | None = None
    """Like `Memory.expires_at`, or "" for never."""
    valid_from: str | None = None
    """Like `Memory.valid_from`, or "" for unknown."""
    reason: str | None = None
    """The reason, for the history. If the memory is marked as wrong, also for the file."""

    def check(self) -> None:
        """Raise MemoryEditError if a value is invalid."""
        for name in ("text", "title", "category", "persistence", "status", "kind", "reason"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise MemoryEditError(f"The {name} is {value!r}; it must be a string.")
        for name in ("pinned", "vetoed"):
            if (value := getattr(self, name)) not in (None, True, False):
                raise MemoryEditError(f"{name} is {value!r}; it must be True or False.")
        if self.text is not None and not single_spaced(self.text):
            raise MemoryEditError("The text is blank. To never show a memory again, hide it.")
        for name, valid in (("persistence", LASTING), ("status", tuple(MemoryStatus)), ("kind", tuple(MemoryKind))):
            value = getattr(self, name)
            if value is not None and (name, value) != ("kind", "") and value not in valid:
                raise MemoryEditError(f"The {name} is {value!r}; it must be one of {', '.join(valid)}.")
        if self.category is not None:
            try:
                check_category(self.category)
            except ValueError as error:
                raise MemoryEditError(str(error)) from None
        if self.title is not None and not single_spaced(self.title):
            raise MemoryEditError("The title is blank.")
        try:
            checked_metadata(self.metadata or {})
            checked_time(self.expires_at or None)
            checked_time(self.valid_from or None)
        except (TypeError, ValueError) as error:
            raise MemoryEditError(str(error)) from None
        if self.pinned and self.vetoed:
            raise MemoryEditError("A memory is either pinned or hidden.")


def fingerprint(memory: Memory) -> str:
    """Return a digest of the fields that a person can change."""
    values = repr([getattr(memory, name) for name in _EDITABLE])
    return blake2b(values.encode(errors="backslashreplace"), digest_size=8).hexdigest()


def edit(
    store: Store,
    location_id: SubjectKey,
    title: str,
    wanted: Edit,
    *,
    expected: str | None = None,
    source: str = "person",
    turn_stamp: TurnStamp | None = None,
) -> Memory:
    """Change a lasting memory in the store. The change is on disk when this returns.

    Args:
        title: The title of the memory, or its `MemoryId`. If several memories have the title, the expected one is
            changed, or else the current one, or else the last one.
        expected: The fingerprint or text of the memory when the person read it.
        source: Who makes the change. A person's edit is final: see `Memory.is_settled_by_person`.
        turn_stamp: The turn of the change. None if there is none.

    Returns:
        The changed memory.

    Raises:
        MemoryEditError: If the memory does not exist or the edit is invalid.
        MemoryConflict: If the memory is not the expected one. Nothing was changed.
        MemoryStoreError: If the store can't be read, locked or written.
    """
    wanted.check()
    with store.transaction(source=source, turn_stamp=turn_stamp) as draft:
        old = _find(draft, location_id, title, expected)
        new = replace(edited(old, wanted), id=old.id)
        if new != old:
            new = draft.replace(location_id, old, new, kind_of(old, new), wanted.reason)
    return new


def undo_last_change(store: Store, location_id: SubjectKey, title: str, *, expected: str) -> Memory | None:
    """Revert the last change of a lasting memory, other than a count. Return the memory, or None if it is gone.

    Raises:
        MemoryEditError: If the memory does not exist, or nothing can be undone.
        MemoryConflict: If the memory is not the expected one. Nothing was changed.
        MemoryStoreError: If the store can't be read, locked or written.
    """
    with store.transaction(source="person") as draft:
        id = _find(draft, location_id, title, expected).id
        changes = [
            record
            for record in store.journal.history(location_id, id)
            if record.reverted_by is None and record.change.kind not in ("reverted", "moved", *COUNTED)
        ]
        found = revert(store.journal, draft, changes[-1:], source="person")
        if not found or found[0].kept_because:
            raise MemoryEditError(f"No change of {title!r} at {place_in_words(location_id)} can be undone.")
        return found[0].before


def _find(draft: Draft, location_id: SubjectKey, title: str, expected: str | None) -> Memory:
    name = single_spaced(title)
    memories = draft.lasting.memories(location_id)
    if isinstance(title, MemoryId):
        matches = [memory for memory in memories if memory.id == title]
    else:
        matches = [memory for memory in memories if memory.title == name]
        matches = matches or [memory for memory in memories if memory.title.casefold() == name.casefold()]
    if not matches:
        raise MemoryEditError(
            f"There is no memory titled {title!r} at {place_in_words(location_id)} in the file. "
            "Memories of a running episode are not in the file and can't be edited."
        )
    matches.sort(key=is_current)
    if expected is None:
        return matches[-1]
    unchanged = [
        memory
        for memory in matches
        if expected == fingerprint(memory) or single_spaced(expected) == single_spaced(memory.text)
    ]
    if not unchanged:
        now = matches[-1]
        raise MemoryConflict(
            f"{title!r} at {place_in_words(location_id)} was changed in the meantime, so the edit was not made. "
            f"It is now {now.category} {now.persistence} {now.status}: {now.text!r}. Check it and repeat the edit.",
            now,
        )
    return unchanged[-1]


def edited(old: Memory, wanted: Edit) -> Memory:
    """Return the memory with the changes.

    Raises:
        MemoryEditError: If the result would be invalid.
    """
    if wanted.text is not None and as_kept(wanted.text) != old.text:
        # These fields belong to the old text.
        old = replace(old, claims=(), when=(), outcome="")
    pinned = old.pinned if wanted.pinned is None else wanted.pinned
    vetoed = old.vetoed if wanted.vetoed is None else wanted.vetoed
    new = replace(
        old,
        title=old.title if wanted.title is None else single_spaced(wanted.title),
        text=old.text if wanted.text is None else as_kept(wanted.text),
        kind=old.kind if wanted.kind is None else MemoryKind(wanted.kind) if wanted.kind else None,
        category=wanted.category or old.category,
        persistence=Persistence(wanted.persistence or old.persistence),
        pinned=pinned and not wanted.vetoed,
        vetoed=vetoed and not wanted.pinned,
        metadata=old.metadata if wanted.metadata is None else dict(wanted.metadata),
        expires_at=old.expires_at if wanted.expires_at is None else wanted.expires_at or None,
        valid_from=old.valid_from if wanted.valid_from is None else wanted.valid_from or None,
    )
    if wanted.status is not None and wanted.status != old.status:
        new = _with_status(new, wanted.status, wanted.reason)
    if new.pinned and new.status == MemoryStatus.SUPERSEDED:
        raise MemoryEditError(f"{old.title!r} is superseded, so it can't be pinned: give it the status ACTIVE as well.")
    return new


def _with_status(memory: Memory, status: str, reason: str | None) -> Memory:
    if status == MemoryStatus.SUPERSEDED:
        return superseded(replace(memory, pinned=False), INVALIDATION_MARKER, reason or BY_A_PERSON)
    return replace(
        memory,
        status=MemoryStatus(status),
        superseded_by=None,
        superseded_at_turn=None,
        superseded_in_episode=None,
        invalidation_reason=None,
    )

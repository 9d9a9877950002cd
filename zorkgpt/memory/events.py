"""Events about changes of memories, for the player, the viewer and the log."""

import logging
from collections import deque
from collections.abc import Callable, Collection

from zorkgpt.memory.known import KnownMemories
from zorkgpt.memory.models import Memory, MemoryEvent, MemoryStatus, SubjectKey
from zorkgpt.memory.places import is_place, place_in_words, render_place
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change

_LOGGED = ("added", "superseded", "invalidated")
"""The kinds of changes that are logged."""
_MOST_WAITING = 1000
"""Maximum number of events that wait for `drain`. A library's caller may never call it."""


class MemoryEvents:
    """The newest events since the last `drain`.

    Args:
        debug: Whether to log every change of an ephemeral memory.
    """

    def __init__(self, known: KnownMemories, log: logging.Logger, *, debug: bool = False) -> None:
        self._waiting: deque[MemoryEvent] = deque(maxlen=_MOST_WAITING)
        self.count = 0
        """The number of all events so far."""
        self._known = known
        self._log = log
        self._debug = debug

    def drain(self) -> list[MemoryEvent]:
        """Return the events and drop them."""
        events = list(self._waiting)
        self._waiting.clear()
        return events

    def since(self, count: int) -> tuple[MemoryEvent, ...]:
        """Return the waiting events after the first `count` events ever."""
        new = self.count - count
        return tuple(self._waiting)[-new:] if new else ()

    def ignore(self, place: SubjectKey, memory: Memory, why: str) -> None:
        """Record that a memory is not stored."""
        self._add(_event("ignored", place, memory, why))

    def tell(self, change: Change, draft: Draft) -> None:
        """Record a stored change."""
        kind, place, memory = change.kind, change.location_id, change.memory
        detail = change.reason or memory.invalidation_reason or memory.superseded_by or ""
        self._add(_event(kind, place, memory, detail, change.other))
        if kind in _LOGGED and self._log.isEnabledFor(logging.INFO):
            self._log_change(change, draft)
        if self._debug and not change.is_lasting:
            extra = {"what": kind, "location_id": place, "title": memory.title, "text": memory.text}
            self._log.info("ephemeral memory", extra=extra)

    def forget(self, is_trace: Callable[[str], bool], gone: Collection[SubjectKey]) -> None:
        """Drop the events at forgotten places, and those that contain text to forget."""
        self._waiting.extend(
            event
            for event in self.drain()
            if event.location_id not in gone and not any(map(is_trace, (event.title, event.text, event.detail)))
        )

    def _add(self, event: MemoryEvent) -> None:
        self._waiting.append(event)
        self.count += 1

    def _log_change(self, change: Change, draft: Draft) -> None:
        kind, place, memory = change.kind, change.location_id, change.memory
        what = f"{memory.persistence} memory {kind}"
        new = memory
        if memory.superseded_by is not None:
            new = next((each.memory for each in draft.changes if each.memory.title == memory.superseded_by), memory)
        if not change.is_lasting and new.persistence is not memory.persistence:
            what = f"memory upgraded from {memory.persistence} to {new.persistence}"
        how = {
            "added": "" if memory.status == MemoryStatus.ACTIVE else f" ({memory.status.lower()})",
            "superseded": f" by {memory.superseded_by!r}",
            "invalidated": f" because {memory.invalidation_reason!r}",
        }
        name = self._known.name_of(place)
        # A message without fields, because the logger may be the caller's and few formats show fields.
        self._log.info(
            "%s: %r%s at %s%s, which has %d persistent and %d ephemeral now",
            what,
            memory.title,
            how[kind],
            place_in_words(place),
            f" ({name})" if name else "",
            len(draft.lasting.memories(place)),
            len(draft.ephemeral.get(place, ())),
        )


def _event(kind: str, place: SubjectKey, memory: Memory, detail: str, other: Memory | None = None) -> MemoryEvent:
    location_id = place if is_place(place) else None
    return MemoryEvent(
        kind,
        location_id,
        memory.title,
        memory.persistence,
        memory.category,
        detail,
        memory.text,
        memory.status,
        other.text if other else "",
        render_place(place) if location_id is None else "",
    )

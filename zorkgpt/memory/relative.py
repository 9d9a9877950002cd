"""Results with places relative to a scope. Each memory has its id, which follows from its stored place otherwise."""

from collections.abc import Iterable
from dataclasses import replace

from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.scope import PlaceScope
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import HistoryRecord


def relative_memories(scope: PlaceScope, place: SubjectKey, memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories of a stored place."""
    return [replace(memory, id=memory_id(place, memory)) if scope.path else memory for memory in memories]


def relative_located(scope: PlaceScope, located: LocatedMemory) -> LocatedMemory:
    """Return a memory with its place."""
    if not scope.path:
        return located
    place = located.location_id
    return replace(located, location_id=scope.relative(place), memory=replace(located.memory, id=located.id))


def relative_record(scope: PlaceScope, record: HistoryRecord) -> HistoryRecord:
    """Return a record of the history."""
    return replace(record, change=_relative_change(scope, record.change)) if scope.path else record


def _relative_change(scope: PlaceScope, change: Change) -> Change:
    place = change.location_id
    before, after, other = (
        None if memory is None else relative_memories(scope, place, [memory])[0]
        for memory in (change.before, change.after, change.other)
    )
    return replace(change, location_id=scope.relative(place), before=before, after=after, other=other)

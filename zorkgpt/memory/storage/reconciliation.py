"""What the file says that its history does not: edits by hand, and the line that a kill left out."""

from zorkgpt.memory.models import INVALIDATION_MARKER, Memory, MemoryStatus
from zorkgpt.memory.storage.changes import Change, Kind
from zorkgpt.memory.storage.codec import Document, parse
from zorkgpt.memory.storage.history import History


def differences(recorded: dict[int, list[Memory]], document: Document) -> list[Change]:
    """The changes that lead from the memories as recorded to those of the document."""
    found = document.all_memories()
    changes = []
    for location_id in sorted({*recorded, *found}):
        gone = list(recorded.get(location_id, ()))
        new = []
        for memory in found.get(location_id, ()):
            if memory in gone:
                gone.remove(memory)
            else:
                new.append(memory)
        name = next((section.name for section in document.of(location_id)), "")
        for memory in new:
            before = next((old for old in gone if old.title == memory.title), None)
            if before is not None:
                gone.remove(before)
            changes.append(Change(_kind(before, memory), location_id, name, before, memory, _reason(memory)))
        changes += [Change("removed", location_id, name, memory, None) for memory in gone]
    return changes


def left_out(backup: bytes | None, history: History) -> bool:
    """Whether the history ends at the file before the present one: the writer was killed before its line."""
    return parse(backup or b"").fingerprint() == history.last_fingerprint()


def _kind(before: Memory | None, after: Memory) -> Kind:
    if before is None:
        return "added"
    if before.status != after.status == MemoryStatus.SUPERSEDED:
        return "invalidated" if after.superseded_by == INVALIDATION_MARKER else "superseded"
    if after.observation_count > before.observation_count and before.text == after.text:
        return "seen again"
    if after.tried > before.tried and after.text == before.text:
        return "credited"
    return "edited"


def _reason(memory: Memory) -> str | None:
    return memory.invalidation_reason if memory.status == MemoryStatus.SUPERSEDED else None

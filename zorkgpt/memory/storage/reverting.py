"""The one way back: undo recorded changes, except those of memories that somebody else has changed since."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from zorkgpt.log import get_logger
from zorkgpt.memory.models import MEMORY_FIELDS, Memory, SubjectKey, episode_key
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import PERSON_SOURCES, HistoryRecord, with_history_of
from zorkgpt.memory.storage.tables import Journal, VisitRow
from zorkgpt.memory.storage.versions import seen_first, seen_last, with_sightings

log = get_logger(__name__)

_Key = tuple[SubjectKey, str]
"""The place and the id of a memory."""
COUNTS = ("observation_count", "tried", "worked", "died")
WHEN_SEEN = ("turns", "episode", "first_episode")
_DECIDED = tuple(name for name in MEMORY_FIELDS if name not in (*COUNTS, *WHEN_SEEN, "id"))
"""The fields that a later change overrides. Counts add up, and a memory can be seen again."""


@dataclass(frozen=True, slots=True)
class Reversion:
    """A memory whose changes were reverted, or kept."""

    location_id: SubjectKey
    location_name: str
    now: Memory | None
    """The memory before its changes are reverted. None if it was removed."""
    before: Memory | None
    """The memory without the changes. None if it did not exist."""
    kept_because: str = ""
    """The reason why its changes are kept. "" if they are reverted."""


class Recorded(Protocol):
    """A store whose changes can be reverted."""

    journal: Journal


def revert(
    journal: Journal, draft: Draft, records: Iterable[HistoryRecord], *, source: str, reason: str | None = None
) -> list[Reversion]:
    """Undo changes, as changes of the draft. A memory that somebody else has changed since stays as it is.

    Counts of other changes stay. So do marks by a person, and the memory that was superseded by one that stays.

    Args:
        records: The changes. Those of the journal are marked as reverted.
        source: The author. See `HistoryRecord.source`.
        reason: The reason, for the history. Defaults to that of the last change of each memory.

    Returns:
        The memories that the changes are about, in the order of their first changes.
    """
    by_memory: dict[_Key, list[HistoryRecord]] = {}
    for record in records:
        change = record.change
        by_memory.setdefault((change.location_id, change.memory.id), []).append(record)
    found = {key: _without(journal, draft, key, changes) for key, changes in by_memory.items()}
    kept = {(place, each.now.title): each.kept_because for (place, _), each in found.items() if each.now}
    for (place, id), each in found.items():
        by = None if each.now is None else each.now.superseded_by
        is_revived = each.before is not None and each.before.superseded_by != by
        if is_revived and not each.kept_because and (because := kept.get((place, str(by)))):
            found[place, id] = replace(each, kept_because=f"replaced by “{by}”, {because}")
    reverted = {key: each for key, each in found.items() if not each.kept_because}
    gone = [key for key, each in reverted.items() if each.now is None and each.before is not None]
    # First the newest ones that still exist: a memory may have its id from one that was removed before it was added.
    for place, id in (*(key for key, each in reversed(reverted.items()) if each.now is not None), *gone):
        each, last = reverted[place, id], by_memory[place, id][-1].change
        why = reason or last.reason
        draft.apply(Change("reverted", place, each.location_name, each.now, each.before, why, last.other))
    journal.mark_reverted((record.position for key in reverted for record in by_memory[key]), source)
    return list(found.values())


def _without(journal: Journal, draft: Draft, key: _Key, records: Sequence[HistoryRecord]) -> Reversion:
    """Return a memory without changes of it."""
    place, id = key
    now = next((memory for memory in draft.memories(place) if memory.id == id), None)
    name, before = records[-1].change.location_name, now
    for record in reversed(records):
        change = record.change
        if change.after is None:
            is_free = now is not None or not draft.lasting.taken({id})
            is_unchanged = before is None and is_free
            before = change.before
        elif change.before is None:
            is_unchanged, before = before == change.after or before is None, None
        else:
            is_unchanged = before is not None and _is_unchanged(change.before, change.after, before)
            before = _earlier(change.before, change.after, before) if before is not None else None
        if not is_unchanged:
            return Reversion(place, name, now, before, _reason(journal, key, records))
    if before is not None:
        before = _with_history(journal, key, before, now)
    return Reversion(place, name, now, before)


def _is_unchanged(before: Memory, after: Memory, now: Memory) -> bool:
    """Return whether the fields that a change has decided have not been changed again since."""
    changed = (name for name in _DECIDED if getattr(before, name) != getattr(after, name))
    return all(getattr(now, name) == getattr(after, name) for name in changed)


def _earlier(before: Memory, after: Memory, now: Memory) -> Memory:
    """Return the present memory without a change: with the fields, counts and sightings that it had before."""
    changed = {name: value for name in _DECIDED if (value := getattr(before, name)) != getattr(after, name)}
    counts = {name: max(0, getattr(now, name) + getattr(before, name) - getattr(after, name)) for name in COUNTS}
    counts["observation_count"] = max(1, counts["observation_count"])
    first, last = seen_first(now), seen_last(now)
    is_as_after = first.is_at(seen_first(after)), last.is_at(seen_last(after))
    if is_as_after == (True, True):
        changed |= {name: getattr(before, name) for name in WHEN_SEEN}
    elif any(is_as_after):
        now = with_sightings(now, *(seen_first(before), last) if is_as_after[0] else (first, seen_last(before)))
    return replace(now, **changed, **counts)


def _with_history(journal: Journal, key: _Key, memory: Memory, now: Memory | None) -> Memory:
    """Return a memory with the times and the source that it had as an earlier version."""
    versions = [now, *journal.versions(*key)]
    version = next((each for each in reversed(versions) if each == memory), versions[-1])
    memory = replace(memory, id=key[1])
    return memory if version is None else with_history_of(memory, version)


def _reason(journal: Journal, key: _Key, records: Sequence[HistoryRecord]) -> str:
    first, reverted = records[0].position, {record.position for record in records}
    later = [each for each in journal.history(*key) if each.position > first and each.position not in reverted]
    by_person = any(record.source in PERSON_SOURCES for record in later)
    return "changed by a person since" if by_person else "changed since"


def revert_to(store: Recorded, draft: Draft, position: int, episode: int | str) -> list[Reversion]:
    """Revert what an episode has changed of lasting memories and visits since a position, and forget its later turns.

    Args:
        draft: The transaction of all changes, without a turn.

    Returns:
        The memories whose changes are kept, because others have changed them too.
    """
    journal = store.journal
    records = journal.lasting_changes(episode, position)
    kept = [each for each in revert(journal, draft, records, source="agent") if each.kept_because]
    for visit in reversed([*journal.visits(position, episode)]):
        _uncount(draft, visit)
    journal.take_back_turns(episode, position)
    if kept:
        titles = [memory.title for each in kept if (memory := each.now or each.before) is not None]
        log.info("changes since the checkpoint are kept: others have changed the memories", extra={"titles": titles})
    return kept


def _uncount(draft: Draft, counted: VisitRow) -> None:
    """Subtract visits from those of a place. Remove it if nothing else is known of it."""
    place, heading = counted.place, draft.lasting.heading(counted.place)
    episodes = {episode_key(episode) for episode in counted.episodes}
    left = heading._replace(
        visits=max(0, heading.visits - counted.visits),
        episodes=tuple(episode for episode in heading.episodes if episode_key(episode) not in episodes),
    )
    is_empty = counted.is_first and not left.visits and not draft.lasting.memories(place)
    draft.head(place, None if is_empty else left)

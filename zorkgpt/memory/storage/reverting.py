"""Return to an earlier state of the record, as if an episode had not gone on since."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from zorkgpt.log import get_logger
from zorkgpt.memory.ids import memory_id
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import HistoryRecord, dated_changes, is_of_episode, with_history_of
from zorkgpt.memory.storage.lasting import LastingMemories, heading_of
from zorkgpt.memory.storage.tables import AnswerTable, Journal, Trials, VisitRow

log = get_logger(__name__)

_Key = tuple[SubjectKey, str]
"""The place and the id of a memory."""


class Position(NamedTuple):
    """The last rows of the tables of a record."""

    journal: int
    trials: int
    answers: int


class Recorded(Protocol):
    """A store whose changes can be reverted."""

    journal: Journal
    trials: Trials
    answers: AnswerTable


def position_of(store: Recorded) -> Position:
    """Return the present position of a store."""
    return Position(store.journal.size(), store.trials.size(), store.answers.size())


def revert_to(store: Recorded, draft: Draft, position: Position, episode: int | str) -> list[Change]:
    """Undo the changes of lasting memories that an episode has made since a position, and delete their records.

    Changes by a person and by other episodes stay. If one of them changed a memory too, it is not undone.

    Args:
        draft: The transaction of all changes, without a turn.

    Returns:
        The last change of each memory that was not undone.
    """
    ours: dict[_Key, dict[int, HistoryRecord]] = {}
    others: set[_Key] = set()
    for number, record in store.journal.numbered(position.journal):
        change = record.change
        key = change.location_id, memory_id(change.location_id, change.memory)
        if not is_of_episode(record, episode):
            others.add(key)
        elif change.is_lasting:
            ours.setdefault(key, {})[number] = record
    kept, gone = [], list[int]()
    # Newest first: a memory may have its title from one that was removed before it was added.
    for key, records in reversed(ours.items()):
        last = [*records.values()][-1].change
        now = _now(draft.lasting, key)
        if key in others or now != last.after:
            kept.append(last)
            continue
        gone += records
        before = next(iter(records.values())).change.before
        if now is None and before is None:
            continue
        if before is not None:
            before = _as_it_was(store.journal, key, before, min(records))
        draft.put_back(Change("undone", key[0], last.location_name, now, before))
    for number, visit in reversed([*store.journal.visits(position.journal, episode)]):
        _uncount(draft, visit)
        gone.append(number)
    store.journal.remove(gone, episode)
    store.trials.remove(position.trials, episode)
    store.answers.remove(position.answers)
    if kept:
        titles = [change.memory.title for change in kept]
        log.info("changes since the checkpoint are kept: others have changed the memories", extra={"titles": titles})
    return kept


def _now(lasting: LastingMemories, key: _Key) -> Memory | None:
    place, id = key
    return next((memory for memory in lasting.memories(place) if memory_id(place, memory) == id), None)


def _as_it_was(journal: Journal, key: _Key, memory: Memory, until: int) -> Memory:
    """Return a memory with the times and the source that it had before the record at a position."""
    earlier: Iterable[Any] = dated_changes(journal.history(*key, until=until - 1))
    versions = [change.after for change in earlier if change.after == memory]
    return with_history_of(memory, versions[-1]) if versions else memory


def _uncount(draft: Draft, counted: VisitRow) -> None:
    """Subtract visits from those of a place. Remove it if nothing else is known of it."""
    place, heading = counted.place, heading_of(draft.lasting, counted.place)
    episodes = {episode_key(episode) for episode in counted.episodes}
    left = heading._replace(
        visits=max(0, heading.visits - counted.visits),
        episodes=tuple(episode for episode in heading.episodes if episode_key(episode) not in episodes),
    )
    is_empty = counted.is_first and not left.visits and not draft.lasting.memories(place)
    draft.head(place, None if is_empty else left)

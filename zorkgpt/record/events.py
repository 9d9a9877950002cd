"""The events of episodes in the database of a story folder."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from zorkgpt.record.database import RecordDatabase

EVENTS_SCHEMA = """
CREATE TABLE zorkgpt_events (
    position {key},
    episode bigint NOT NULL,
    turn bigint NOT NULL,
    kind text NOT NULL,
    content text NOT NULL,
    file text NOT NULL DEFAULT ''
);
CREATE INDEX zorkgpt_events_episode ON zorkgpt_events (kind, episode, turn);
"""
"""`file` is the file of a view, or ''."""


class EventKind(StrEnum):
    """The kind of an event. Its content is JSON."""

    OPENING = "opening"
    """The start of the game."""
    DECISION = "decision"
    """The action of a turn, before it is played. Each episode has only its last one."""
    TURN = "turn"
    """A played turn."""
    CHECKPOINT = "checkpoint"
    """The state from which the episode can be resumed. Each episode has only its last one."""
    LOG = "log"
    """Any other event of the log that is lost if the episode is resumed at an earlier checkpoint."""
    PLAYED = "played"
    """A resumption or an end of the episode."""
    VIEW = "view"
    """The content that a file showed last. It belongs to no episode. See `Events.shown`."""
    UNLEARNED = "unlearned"
    """The last turn of a finished episode that the knowledge base was updated from, if it is to be updated later."""
    TRAIL = "trail"
    """What the actions of a finished episode led to."""


_NO_EPISODE = 0

FOR_RESUMING = (
    EventKind.OPENING,
    EventKind.DECISION,
    EventKind.TURN,
    EventKind.LOG,
    EventKind.PLAYED,
    EventKind.CHECKPOINT,
)
"""The events that are only for resuming an episode."""


class EventRow(NamedTuple):
    """An event of an episode."""

    turn: int
    kind: EventKind
    content: str


class Events:
    """The events of all episodes of a record, in order. Episodes have different numbers, whatever their folders."""

    def __init__(self, database: RecordDatabase) -> None:
        self._database = database

    def add(self, episode: int, *events: EventRow, replacing: Iterable[EventKind] = ()) -> None:
        """Add events of an episode in one transaction.

        Args:
            replacing: The kinds of earlier events of the episode to delete.
        """
        with self._database.transaction():
            self.remove(episode, *replacing)
            query = "INSERT INTO zorkgpt_events (episode, turn, kind, content) VALUES (%s, %s, %s, %s)"
            self._database.put(query, [(episode, event.turn, event.kind, event.content) for event in events])

    def of(self, episode: int, *kinds: EventKind) -> list[EventRow]:
        """Return the events of an episode, in order. `kinds` defaults to all kinds."""
        query = "SELECT turn, kind, content FROM zorkgpt_events WHERE episode = %s AND kind IN ({})"
        wanted = kinds or tuple(EventKind)
        rows = self._database.rows(f"{query.format(_marks(wanted))} ORDER BY position", (episode, *wanted))
        return [EventRow(turn, EventKind(kind), content) for turn, kind, content in rows]

    def last(self, episode: int, kind: EventKind) -> EventRow | None:
        """Return the last event of a kind. None if there is none."""
        return next(iter(self.of(episode, kind)[-1:]), None)

    def turns(self, kind: EventKind) -> dict[int, int]:
        """Return the episode and the turn of each event of a kind, in order."""
        query = "SELECT episode, turn FROM zorkgpt_events WHERE kind = %s ORDER BY position"
        return dict(self._database.rows(query, (kind,)))

    def positions(self, kind: EventKind, *, before: int) -> list[int]:
        """Return the positions of the events of a kind that were recorded before the opening of an episode, in order.

        All of them before it is opened.
        """
        query = (
            "SELECT position FROM zorkgpt_events event WHERE kind = %s AND NOT EXISTS (SELECT 1 FROM zorkgpt_events "
            "opening WHERE kind = %s AND episode = %s AND position < event.position) ORDER BY position"
        )
        return [position for (position,) in self._database.rows(query, (kind, EventKind.OPENING, before))]

    def content(self, position: int) -> str:
        """Return the content of the event at a position. "" if there is none."""
        rows = self._database.rows("SELECT content FROM zorkgpt_events WHERE position = %s", (position,))
        return next((content for (content,) in rows), "")

    def remove(self, episode: int, *kinds: EventKind) -> None:
        """Delete the events of these kinds of an episode."""
        query = "DELETE FROM zorkgpt_events WHERE episode = %s AND kind = %s"
        self._database.put(query, [(episode, kind) for kind in kinds])

    def return_to_checkpoint(self, episode: int) -> None:
        """Delete what an episode recorded after its checkpoint, except its decision and when it was played."""
        query = (
            "DELETE FROM zorkgpt_events WHERE episode = %s AND kind = %s AND position > "
            "(SELECT MAX(position) FROM zorkgpt_events WHERE episode = %s AND kind = %s)"
        )
        lost = (EventKind.TURN, EventKind.LOG, EventKind.TRAIL, EventKind.UNLEARNED)
        self._database.put(query, [(episode, kind, episode, EventKind.CHECKPOINT) for kind in lost])

    def shown(self, file: str) -> str | None:
        """Return the content that this file showed last. None if it was not recorded."""
        query = "SELECT content FROM zorkgpt_events WHERE kind = %s AND file = %s"
        return next((content for (content,) in self._database.rows(query, (EventKind.VIEW, file))), None)

    def show(self, file: str, content: str) -> None:
        """Record the content that this file shows."""
        values = _NO_EPISODE, 0, EventKind.VIEW, file, content
        with self._database.transaction():
            self._database.put("DELETE FROM zorkgpt_events WHERE kind = %s AND file = %s", [(EventKind.VIEW, file)])
            query = "INSERT INTO zorkgpt_events (episode, turn, kind, file, content) VALUES (%s, %s, %s, %s, %s)"
            self._database.put(query, [values])

    def copy(self, other: "Events", kind: EventKind) -> None:
        """Add the events of a kind of another record."""
        query = "SELECT episode, turn, kind, content FROM zorkgpt_events WHERE kind = %s ORDER BY position"
        insert = "INSERT INTO zorkgpt_events (episode, turn, kind, content) VALUES (%s, %s, %s, %s)"
        self._database.put(insert, other._database.rows(query, (kind,)))

    def rewrite(self, changed: Callable[[str], str]) -> None:
        """Replace the content of every event by what this returns for it."""
        rows = self._database.rows("SELECT position, content FROM zorkgpt_events")
        new = [(text, position) for position, content in rows if (text := changed(content)) != content]
        self._database.put("UPDATE zorkgpt_events SET content = %s WHERE position = %s", new)


def _marks(values: Sequence[object]) -> str:
    return ", ".join(["%s"] * len(values))

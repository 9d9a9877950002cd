"""The index of words beside the memory file: SQLite's full-text search, disposable, in step with the document."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, PlaceKey, episode_key
from zorkgpt.memory.storage.changes import is_current
from zorkgpt.memory.storage.document import Document, Shelf
from zorkgpt.memory.storage.section import LocationSection

if TYPE_CHECKING:
    # Loaded when it is searched first: most processes never do.
    from sqlite3 import Connection

log = get_logger(__name__)

_Result = TypeVar("_Result")

_VERSION = 1
_BUSY_S = 2.0
_COMMON = 10_000
"""A word that stands in more memories than this does not choose any, where a rarer one does; it still counts."""
_LARGE = 200_000
"""From this size of the files on, in bytes, the index is there before the first search."""
_MOST_WORDS = 32
"""Words of a query that are looked up, the rarest."""

_NOT_OURS = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_FULL")
"""Errors that building the index again would not mend."""

_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS place (key PRIMARY KEY, content BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS memory (id INTEGER PRIMARY KEY, place, number INTEGER, length INTEGER);
CREATE INDEX IF NOT EXISTS of_place ON memory (place);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (said, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab ('words', 'row');
PRAGMA user_version = {_VERSION};
COMMIT;
"""


@dataclass(frozen=True, slots=True)
class WordCounts:
    """In how many memories words stand."""

    memories: int
    average_length: float
    """In words."""
    holding: dict[str, int]
    """The number of memories with each of the words asked for."""


Found = tuple[PlaceKey, int]
"""A location, and the number of a memory in it, as `Document.memories` lists them."""


def words(text: str) -> list[str]:
    """Return the words by which memories are found; a plural "s" is dropped, so that "keys" finds the key."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.casefold())]


def words_of(name: str, memory: Memory) -> list[str]:
    """Return the words of a memory at a location of this name; those of the title count twice."""
    return words(f"{name} {memory.title} {memory.title} {memory.text}")


CURRENT = "§current"


@lru_cache(maxsize=4096)
def mark(kind: str, value: str | int) -> str:
    """Return the word that stands in the index for a property of a memory; no text can contain it."""
    return "§" + blake2b(f"{kind} {value}".casefold().encode(errors="surrogatepass"), digest_size=6).hexdigest()


def marks_of(memory: Memory) -> list[str]:
    episodes = {memory.episode, memory.episode if memory.first_episode is None else memory.first_episode}
    return [
        *([CURRENT] if is_current(memory) else []),
        *([] if memory.vetoed else [mark("status", memory.status)]),
        mark("persistence", memory.persistence),
        mark("category", memory.category),
        *(mark("episode", episode_key(episode)) for episode in episodes),
    ]


class IndexUnavailable(Exception):
    """This Python has no SQLite with full-text search."""


class _Damaged(Exception):
    """The index can be read, and does not say what it should."""


class WordIndex:
    """`Memories.index.sqlite`. Missing, damaged or out of date, it is built again; where it can't be written, it is
    kept in this process. Used under the store's guard."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db: Connection | None = None
        self._opened_by = 0
        self._is_private = False
        self._document: Document | None = None
        """What the index is in step with; None: that is not known."""
        self._version = 0
        self._sums = (0, 0)
        """The number of memories, and of their words."""

    def follow(self, document: Document) -> None:
        """Take in what was written, if there is an index, or so much is remembered that it takes time to build one.

        Never raises.
        """
        is_large = sum(shelf.size for shelf in document.shelves) > _LARGE
        if self._db is not None or is_large or os.path.exists(self.path):
            with suppress(IndexUnavailable):
                self._attempt(lambda: self._take_in(document))

    def find(
        self, document: Document, asked: Iterable[str], marks: Sequence[str], limit: int
    ) -> tuple[list[Found], WordCounts]:
        """Return memories with any of the words and all of the marks, about the best first, and how often words stand.

        Words that stand nearly everywhere find what no rarer word has found only among the newest memories.

        Raises:
            IndexUnavailable: there can be no index.
        """
        wanted = list(asked)
        return self._attempt(lambda: self._find(document, wanted, marks, limit))

    def close(self) -> None:
        if self._db is not None and self._opened_by == os.getpid():
            self._db.close()
        self._drop()

    def delete(self) -> None:
        """Take the index away; the next search builds it again.

        Raises:
            OSError: it could not be deleted.
        """
        self.close()
        self._delete()

    def _attempt(self, work: Callable[[], _Result]) -> _Result:
        """Do it with the index as it is; if that fails, with one that is built again, at last in this process alone."""
        try:
            import sqlite3
        except ImportError as error:
            raise IndexUnavailable from error
        try:
            return work()
        except (sqlite3.Error, _Damaged) as error:
            log.info("the index is built again", extra={"path": str(self.path), "error": str(error)})
            self._drop()
            is_ours = not getattr(error, "sqlite_errorname", "").startswith(_NOT_OURS)
        try:
            if is_ours and not self._is_private:
                self._delete()
                return work()
        except (OSError, sqlite3.Error, _Damaged) as error:
            log.info("the index is kept in this process", extra={"path": str(self.path), "error": str(error)})
            self._drop()
        self._is_private = True
        try:
            return work()
        except sqlite3.Error as error:
            raise IndexUnavailable from error

    def _find(
        self, document: Document, wanted: Sequence[str], marks: Sequence[str], limit: int
    ) -> tuple[list[Found], WordCounts]:
        self._take_in(document)
        many, length = self._sums
        counts = WordCounts(many, length / many if many else 1.0, self._holding(wanted))
        asked = sorted((word for word, count in counts.holding.items() if count), key=lambda w: counts.holding[w])
        asked = asked[:_MOST_WORDS]
        rare = [word for word in asked if counts.holding[word] <= _COMMON]
        found = self._matching(rare, marks, limit) if rare else []
        if len(found) < limit and len(rare) < len(asked):
            is_narrow = min(self._holding(marks).values(), default=_COMMON + 1) <= _COMMON
            common = self._matching(asked[len(rare) :], marks, limit, newest=None if is_narrow else _COMMON)
            found = list(dict.fromkeys([*found, *common]))
        sizes = {place: len(document.memories(place)) for place, _ in found}
        if any(not 0 <= number < sizes[place] for place, number in found):
            raise _Damaged("it tells of memories that there are not")
        return found, counts

    def _holding(self, asked: Iterable[str]) -> dict[str, int]:
        holding = {}
        for word in asked:
            row = self._connected().execute("SELECT doc FROM vocabulary WHERE term = ?", (_utf8(word),)).fetchone()
            holding[word] = int(row[0]) if row else 0
        return holding

    def _matching(
        self, asked: Sequence[str], marks: Sequence[str], limit: int, *, newest: int | None = None
    ) -> list[Found]:
        db = self._connected()
        terms = " AND ".join([f"({' OR '.join(map(_quoted, asked))})", *map(_quoted, marks)])
        least = -1 if newest is None else (db.execute("SELECT max(id) FROM memory").fetchone()[0] or 0) - newest
        rows = db.execute(
            "SELECT place, number FROM (SELECT rowid AS id FROM words WHERE words MATCH ? AND rowid > ? "
            "ORDER BY rank LIMIT ?) JOIN memory USING (id)",
            (terms, least, limit),
        )
        return [(place, number) for place, number in rows]

    def _take_in(self, document: Document) -> None:
        db = self._connected()
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            # Another process has written to it: of which document nobody knows.
            self._document, self._version = None, version
        if document is self._document:
            return
        if self._document is None:
            changed = self._differing(db, document)
            many, length = db.execute("SELECT count(*), total(length) FROM memory").fetchone()
            self._sums = int(many), int(length)
        else:
            changed = changed_places(self._document, document)
        if changed:
            self._replace(db, document, changed)
        self._document = document

    def _differing(self, db: "Connection", document: Document) -> set[PlaceKey]:
        kept = dict(db.execute("SELECT key, content FROM place"))
        wanted = {place: _content(document.sections_of(place)) for place in document.section_indexes}
        return {place for place in {*kept, *wanted} if kept.get(place) != wanted.get(place)}

    def _replace(self, db: "Connection", document: Document, places: set[PlaceKey]) -> None:
        many, length = self._sums
        db.execute("BEGIN IMMEDIATE")
        try:
            for place in places:
                for number, size in db.execute("SELECT id, length FROM memory WHERE place = ?", (place,)).fetchall():
                    db.execute("DELETE FROM words WHERE rowid = ?", (number,))
                    many, length = many - 1, length - size
                db.execute("DELETE FROM memory WHERE place = ?", (place,))
                db.execute("DELETE FROM place WHERE key = ?", (place,))
                sections = document.sections_of(place)
                located = [(section.name, memory) for section in sections for memory in section.memories]
                for number, (name, memory) in enumerate(located):
                    said = words_of(name, memory)
                    row = db.execute(
                        "INSERT INTO memory (place, number, length) VALUES (?, ?, ?)", (place, number, len(said))
                    )
                    text = _utf8(" ".join([*said, *marks_of(memory)]))
                    db.execute("INSERT INTO words (rowid, said) VALUES (?, ?)", (row.lastrowid, text))
                    many, length = many + 1, length + len(said)
                if sections:
                    db.execute("INSERT INTO place VALUES (?, ?)", (place, _content(sections)))
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        self._sums = many, length

    def _connected(self) -> "Connection":
        if self._db is not None and self._opened_by != os.getpid():
            # SQLite must not go on with what its parent process opened, not even close it.
            self._drop()
        if self._db is None:
            self._db = self._open()
            self._opened_by = os.getpid()
            self._document, self._version = None, -1
        return self._db

    def _open(self) -> "Connection":
        import sqlite3

        where = ":memory:" if self._is_private else str(self.path)
        db = sqlite3.connect(where, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError(f"an index of version {version}")
            if version == 0:
                db.executescript(_SCHEMA)
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _delete(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.unlink(f"{self.path}{suffix}")

    def _drop(self) -> None:
        self._db = self._document = None


def _content(sections: Iterable[LocationSection]) -> bytes:
    """Return what differs if the words of a location do."""
    told = "\n".join(f"{section.checksum} {section.name}" for section in sections)
    return blake2b(told.encode(errors="surrogatepass"), digest_size=8).digest()


def changed_places(old: Document, new: Document) -> set[PlaceKey]:
    """Return the locations whose sections are not the very same in both."""
    before = {id(shelf): shelf for shelf in old.shelves}
    fresh = [shelf for shelf in new.shelves if before.pop(id(shelf), None) is None]
    same = {id(section) for shelf in before.values() for section in shelf.sections}
    same &= {id(section) for shelf in fresh for section in shelf.sections}
    return {
        section.location_id
        for section in _sections((*before.values(), *fresh))
        if section.location_id is not None and id(section) not in same
    }


def _sections(shelves: Iterable[Shelf]) -> Iterable[LocationSection]:
    return (section for shelf in shelves for section in shelf.sections)


def _quoted(word: str) -> str:
    return f'"{_utf8(word)}"'


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()

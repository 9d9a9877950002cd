"""The index of words: SQLite's full-text search, disposable, in step with the document."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.places import parse_place, render_place
from zorkgpt.memory.storage.document import Chunk, Document
from zorkgpt.memory.storage.section import LocationSection
from zorkgpt.memory.storage.sqlite import IN_MEMORY, SqliteDatabase
from zorkgpt.memory.storage.versions import is_current

log = get_logger(__name__)

_Result = TypeVar("_Result")

_VERSION = 4
"""Of the words and marks: an index of another version is built again."""
_COMMON = 10_000
"""A word that stands in more memories than this does not choose any, where a rarer one does; it still counts."""
_LARGE = 200_000
"""From this size of the files on, in bytes, the index is there before the first search."""
_MOST_WORDS = 32
"""Words of a query that are looked up, the rarest."""

_NOT_OURS = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_FULL")
"""Errors that building the index again would not mend."""

_TABLES = """
CREATE TABLE IF NOT EXISTS zorkgpt_word_state (
    only_row integer PRIMARY KEY CHECK (only_row = 1),
    revision integer NOT NULL,
    memories integer NOT NULL,
    length integer NOT NULL
);
INSERT OR IGNORE INTO zorkgpt_word_state VALUES (1, random() / 2, 0, 0);
CREATE TABLE IF NOT EXISTS zorkgpt_word_places (place PRIMARY KEY, content blob NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS zorkgpt_word_memories (
    id integer PRIMARY KEY,
    place NOT NULL,
    number integer NOT NULL,
    length integer NOT NULL
);
CREATE INDEX IF NOT EXISTS zorkgpt_word_memories_place ON zorkgpt_word_memories (place);
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_words USING fts5 (said, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_vocabulary USING fts5vocab ('zorkgpt_words', 'row')
"""
"""Made with the first search, since not every SQLite has FTS5. A random first revision tells indexes apart."""
_DELETION = """
DROP TABLE IF EXISTS zorkgpt_vocabulary;
DROP TABLE IF EXISTS zorkgpt_words;
DROP TABLE IF EXISTS zorkgpt_word_memories;
DROP TABLE IF EXISTS zorkgpt_word_places;
DROP TABLE IF EXISTS zorkgpt_word_state
"""


@dataclass(frozen=True, slots=True)
class WordCounts:
    """In how many memories words stand."""

    memories: int
    average_length: float
    """In words."""
    holding: dict[str, int]
    """The number of memories with each of the words asked for."""


Found = tuple[SubjectKey, int]
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
        *([] if memory.kind is None else [mark("kind", memory.kind)]),
        *(mark("episode", episode_key(episode)) for episode in episodes),
        *(metadata_mark(name, value) for name, value in memory.metadata.items()),
    ]


def metadata_mark(name: str, value: object) -> str:
    """Return the word that stands in the index for one value of the metadata."""
    return mark("metadata", json.dumps([name, value], sort_keys=True))


class IndexUnavailable(Exception):
    """SQLite has no full-text search here."""


class _Damaged(Exception):
    """The index can be read, and does not say what it should."""


class WordIndex:
    """A full-text index of the lasting memories, in step with the document.

    Missing, damaged or out of date, it is built again; where it can't be written, it is kept in this process. Used
    under the store's guard.
    """

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._is_private = False
        self._is_there = False
        """Whether the tables are known to be there."""
        self._document: Document | None = None
        """What the index is in step with. None if unknown."""
        self._revision = -1
        """The index's revision then."""

    def follow(self, document: Document) -> None:
        """Index what was written, if there is an index or so many memories that building one takes time.

        Never raises.
        """
        is_large = sum(chunk.size for chunk in document.chunks) > _LARGE
        with suppress(IndexUnavailable, MemoryStoreError):
            if is_large or self._exists():
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
        if document.is_empty:
            return [], WordCounts(0, 1.0, dict.fromkeys(wanted, 0))
        return self._attempt(lambda: self._find(document, wanted, marks, limit))

    def delete(self) -> None:
        """Delete the index; the next search rebuilds it.

        Raises:
            MemoryStoreError: it could not be deleted.
        """
        self._document, self._is_there = None, False
        if self._database.exists():
            self._database.execute(_DELETION)

    def _attempt(self, work: Callable[[], _Result]) -> _Result:
        """Run `work`. If it fails, rebuild the index and run it again; if that fails too, use an index in memory."""
        try:
            return work()
        except (MemoryStoreError, _Damaged) as error:
            log.info("the index is built again", extra={"error": str(error)})
            is_ours = not getattr(error.__cause__, "sqlite_errorname", "").startswith(_NOT_OURS)
        try:
            if is_ours and not self._is_private:
                self.delete()
                return work()
        except (MemoryStoreError, _Damaged) as error:
            log.info("the index is kept in this process", extra={"error": str(error)})
        self._database, self._is_private = SqliteDatabase(Path(IN_MEMORY), schema="", kind=0), True
        self._document, self._is_there = None, False
        try:
            return work()
        except MemoryStoreError as error:
            raise IndexUnavailable from error

    def _exists(self) -> bool:
        if not self._is_there and self._database.exists():
            query = "SELECT count(*) FROM sqlite_master WHERE name = 'zorkgpt_words'"
            self._is_there = bool(self._database.rows(query)[0][0])
        return self._is_there

    def _find(
        self, document: Document, wanted: Sequence[str], marks: Sequence[str], limit: int
    ) -> tuple[list[Found], WordCounts]:
        many, length = self._take_in(document)
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
            rows = self._database.rows("SELECT doc FROM zorkgpt_vocabulary WHERE term = %s", (_utf8(word),))
            holding[word] = int(rows[0][0]) if rows else 0
        return holding

    def _matching(
        self, asked: Sequence[str], marks: Sequence[str], limit: int, *, newest: int | None = None
    ) -> list[Found]:
        terms = " AND ".join([f"({' OR '.join(map(_quoted, asked))})", *map(_quoted, marks)])
        least = -1 if newest is None else self._last_id() - newest
        rows = self._database.rows(
            "SELECT place, number FROM (SELECT rowid AS id FROM zorkgpt_words WHERE zorkgpt_words MATCH %s "
            "AND rowid > %s ORDER BY rank LIMIT %s) JOIN zorkgpt_word_memories USING (id)",
            (terms, least, limit),
        )
        return [(parse_place(place), number) for place, number in rows]

    def _last_id(self) -> int:
        return int(self._database.rows("SELECT coalesce(max(id), 0) FROM zorkgpt_word_memories")[0][0])

    def _take_in(self, document: Document) -> tuple[int, int]:
        """Bring the index up to date, and return the number of memories and of their words."""
        if not self._exists():
            # What a table that was lost leaves behind is of no use.
            self._database.execute(f"{_DELETION};{_TABLES}")
        [(revision, many, length)] = self._database.rows("SELECT revision, memories, length FROM zorkgpt_word_state")
        if revision != self._revision:
            # Another process has written to it: of which document is unknown.
            self._document, self._revision = None, revision
        if document is not self._document:
            before = self._document
            changed = self._differing(document) if before is None else changed_places(before, document)
            if changed:
                many, length = self._replace(document, changed, many, length)
            self._document = document
        return many, length

    def _differing(self, document: Document) -> set[SubjectKey]:
        rows = self._database.rows("SELECT place, content FROM zorkgpt_word_places")
        kept = {parse_place(place): content for place, content in rows}
        wanted = {place: _content(document.sections_of(place)) for place in document.section_indexes}
        return {place for place in {*kept, *wanted} if kept.get(place) != wanted.get(place)}

    def _replace(self, document: Document, places: set[SubjectKey], many: int, length: int) -> tuple[int, int]:
        db = self._database
        with db.change():
            gone: list[tuple[int]] = []
            for place in places:
                rows = db.rows("SELECT id, length FROM zorkgpt_word_memories WHERE place = %s", (render_place(place),))
                gone += [(number,) for number, _ in rows]
                length -= sum(size for _, size in rows)
            keys = [(render_place(place),) for place in places]
            db.put("DELETE FROM zorkgpt_words WHERE rowid = %s", gone)
            db.put("DELETE FROM zorkgpt_word_memories WHERE place = %s", keys)
            db.put("DELETE FROM zorkgpt_word_places WHERE place = %s", keys)
            last = self._last_id()
            memories: list[tuple[int, str, int, int]] = []
            texts: list[tuple[int, str]] = []
            contents: list[tuple[str, bytes]] = []
            for place in places:
                sections = document.sections_of(place)
                located = [(section.name, memory) for section in sections for memory in section.memories]
                for number, (name, memory) in enumerate(located):
                    said = words_of(name, memory)
                    last += 1
                    memories.append((last, render_place(place), number, len(said)))
                    texts.append((last, _utf8(" ".join([*said, *marks_of(memory)]))))
                    length += len(said)
                if sections:
                    contents.append((render_place(place), _content(sections)))
            db.put("INSERT INTO zorkgpt_word_memories (id, place, number, length) VALUES (%s, %s, %s, %s)", memories)
            db.put("INSERT INTO zorkgpt_words (rowid, said) VALUES (%s, %s)", texts)
            db.put("INSERT INTO zorkgpt_word_places VALUES (%s, %s)", contents)
            many += len(memories) - len(gone)
            state = (self._revision + 1, many, length)
            db.put("UPDATE zorkgpt_word_state SET revision = %s, memories = %s, length = %s", [state])
        self._revision += 1
        return many, length


def _content(sections: Iterable[LocationSection]) -> bytes:
    """Return what differs if the words of a location do."""
    told = f"{_VERSION}\n" + "\n".join(f"{section.checksum} {section.name}" for section in sections)
    return blake2b(told.encode(errors="surrogatepass"), digest_size=8).digest()


def changed_places(old: Document, new: Document) -> set[SubjectKey]:
    """Return the locations whose sections are not the very same in both."""
    before = {id(chunk): chunk for chunk in old.chunks}
    fresh = [chunk for chunk in new.chunks if before.pop(id(chunk), None) is None]
    same = {id(section) for chunk in before.values() for section in chunk.sections}
    same &= {id(section) for chunk in fresh for section in chunk.sections}
    return {
        section.location_id
        for section in _sections((*before.values(), *fresh))
        if section.location_id is not None and id(section) not in same
    }


def _sections(chunks: Iterable[Chunk]) -> Iterable[LocationSection]:
    return (section for chunk in chunks for section in chunk.sections)


def _quoted(word: str) -> str:
    return f'"{_utf8(word)}"'


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()

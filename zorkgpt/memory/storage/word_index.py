"""The index of words beside a Markdown file: disposable, in step with the document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from zorkgpt.errors import MemoryStoreError
from zorkgpt.log import get_logger
from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import parse_place, render_place
from zorkgpt.memory.storage.document import Document
from zorkgpt.memory.storage.full_text import WORDS_SCHEMA, FullText
from zorkgpt.memory.storage.section import LocationSection
from zorkgpt.memory.storage.sqlite import IN_MEMORY, SqliteDatabase
from zorkgpt.memory.storage.words import WordCounts, marks_of, words_of

log = get_logger(__name__)

_Result = TypeVar("_Result")

_VERSION = 5
"""Of the words and marks: an index of another version is built again."""
_LARGE = 200_000
"""From this size of the file on, in bytes, the index is there before the first search."""

_NOT_OURS = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_FULL")
"""Errors that building the index again would not mend."""

_TABLES = f"""
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
{WORDS_SCHEMA.strip().removesuffix(";")}
"""
"""Made with the first search, since not every SQLite has FTS5. A random first revision tells indexes apart."""
_DELETION = """
DROP TABLE IF EXISTS zorkgpt_vocabulary;
DROP TABLE IF EXISTS zorkgpt_words;
DROP TABLE IF EXISTS zorkgpt_word_memories;
DROP TABLE IF EXISTS zorkgpt_word_places;
DROP TABLE IF EXISTS zorkgpt_word_state
"""


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
        self._use(database)
        self._is_private = False

    def _use(self, database: SqliteDatabase) -> None:
        self._database = database
        self._words = FullText(database)
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
        is_large = sum(len(section.data) for section in document.sections) > _LARGE
        with suppress(IndexUnavailable, MemoryStoreError):
            if is_large or self._exists():
                self._attempt(lambda: self._take_in(document))

    def find(
        self, document: Document, asked: Iterable[str], marks: Sequence[str], limit: int
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        """Return memories with any of the words and all of the marks, about the best first, and how often words are.

        Raises:
            IndexUnavailable: there can be no index.
        """
        wanted = list(asked)
        if not document.sections:
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
        self._use(SqliteDatabase(Path(IN_MEMORY), schema="", kind=0))
        self._is_private = True
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
    ) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
        many, length = self._take_in(document)
        numbers, holding = self._words.find(wanted, marks, limit)
        counts = WordCounts(many, length / many if many else 1.0, holding)
        found: list[tuple[SubjectKey, Memory]] = []
        for number in numbers:
            row = self._database.rows("SELECT place, number FROM zorkgpt_word_memories WHERE id = %s", (number,))
            place = parse_place(row[0][0]) if row else None
            memories = [] if place is None else document.memories(place)
            if place is None or not 0 <= row[0][1] < len(memories):
                raise _Damaged("it tells of memories that there are not")
            found.append((place, memories[row[0][1]]))
        return found, counts

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
            changed = self._differing(document) if before is None else _changed_places(before, document)
            if changed:
                many, length = self._replace(document, changed, many, length)
            self._document = document
        return many, length

    def _differing(self, document: Document) -> set[SubjectKey]:
        rows = self._database.rows("SELECT place, content FROM zorkgpt_word_places")
        kept = {parse_place(place): content for place, content in rows}
        wanted = {place: _content(document.sections_of(place)) for place in document.places()}
        return {place for place in {*kept, *wanted} if kept.get(place) != wanted.get(place)}

    def _replace(self, document: Document, places: set[SubjectKey], many: int, length: int) -> tuple[int, int]:
        db = self._database
        with db.change():
            gone: list[int] = []
            for place in places:
                rows = db.rows("SELECT id, length FROM zorkgpt_word_memories WHERE place = %s", (render_place(place),))
                gone += [number for number, _ in rows]
                length -= sum(size for _, size in rows)
            keys = [(render_place(place),) for place in places]
            self._words.delete(gone)
            db.put("DELETE FROM zorkgpt_word_memories WHERE place = %s", keys)
            db.put("DELETE FROM zorkgpt_word_places WHERE place = %s", keys)
            last = int(db.rows("SELECT coalesce(max(id), 0) FROM zorkgpt_word_memories")[0][0])
            memories: list[tuple[int, str, int, int]] = []
            texts: dict[int, Sequence[str]] = {}
            contents: list[tuple[str, bytes]] = []
            for place in places:
                sections = document.sections_of(place)
                located = [(section.name, memory) for section in sections for memory in section.memories]
                for number, (name, memory) in enumerate(located):
                    said = words_of(name, memory)
                    last += 1
                    memories.append((last, render_place(place), number, len(said)))
                    texts[last] = [*said, *marks_of(memory)]
                    length += len(said)
                if sections:
                    contents.append((render_place(place), _content(sections)))
            db.put("INSERT INTO zorkgpt_word_memories (id, place, number, length) VALUES (%s, %s, %s, %s)", memories)
            self._words.put(texts.items())
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


def _changed_places(old: Document, new: Document) -> set[SubjectKey]:
    """Return the locations whose sections are not the very same in both."""
    before, after = _by_identity(old), _by_identity(new)
    changed = [before[key] for key in before.keys() - after.keys()]
    changed += [after[key] for key in after.keys() - before.keys()]
    return {section.location_id for section in changed if section.location_id is not None}


def _by_identity(document: Document) -> Mapping[int, LocationSection]:
    return {id(section): section for section in document.sections}

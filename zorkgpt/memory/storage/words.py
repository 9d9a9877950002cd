"""The words of memories, marks for their properties, and searches for both.

A database has an index: `FullText` in SQLite, `PostgresWords` on PostgreSQL. The memories of a file and of a scope are
searched in this process.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from math import log
from sys import intern
from typing import TYPE_CHECKING, Protocol

from zorkgpt.memory.models import Memory, SubjectKey, episode_key
from zorkgpt.memory.storage.versions import is_current

if TYPE_CHECKING:
    from zorkgpt.memory.storage.document import Document
    from zorkgpt.memory.storage.section import LocationSection
    from zorkgpt.memory.storage.tables import Rows


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The frequencies of words."""

    memories: int
    average_length: float
    """Average number of words in a memory."""
    holding: dict[str, int]
    """The number of memories with each of the requested words."""


class WordIndex(Protocol):
    """The words and marks of memories in a database, by row number."""

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the words and marks of memories."""
        ...

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete the words of memories."""
        ...

    def clear(self) -> None:
        """Delete all words."""
        ...

    def rebuild(self) -> None:
        """Remove all traces of deleted words."""
        ...

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return the row numbers of memories with any of the words and all of the marks, roughly the best first.

        Also returns the number of memories with each word.
        """
        ...


def words(text: str) -> list[str]:
    """Return the words of a text for searches. A plural "s" is dropped, so that "keys" matches "key"."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.casefold())]


def indexed_words(name: str, memory: Memory) -> list[str]:
    """Return the words of a memory at a location with this name. Those of the title count twice."""
    return words(f"{name} {memory.title} {memory.title} {memory.text}")


CURRENT = "§current"


@lru_cache(maxsize=4096)
def mark(kind: str, value: str | int) -> str:
    """Return the word that represents a property of a memory in an index. No text can contain it."""
    return "§" + _digest(f"{kind} {value}".casefold())


def marks_of(memory: Memory) -> list[str]:
    episodes = {memory.episode, memory.first_seen_in}
    return [
        *([CURRENT] if is_current(memory) else []),
        *([] if memory.vetoed else [mark("status", memory.status)]),
        mark("persistence", memory.persistence),
        mark("category", memory.category),
        *([] if memory.kind is None else [mark("kind", memory.kind)]),
        *(mark("episode", episode_key(episode)) for episode in episodes),
        *metadata_marks(memory.metadata),
    ]


def metadata_marks(metadata: Mapping[str, object]) -> list[str]:
    """Return the words that represent metadata in an index. 1, 1.0 and true are different values."""
    return ["§" + _digest(f"metadata {json.dumps(item, sort_keys=True)}") for item in metadata.items()]


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


WordSet = tuple[frozenset[str], int]
"""The different words of a memory, and its number of words."""
MemoryWords = tuple[SubjectKey, Memory, WordSet]
"""A memory with its place and its words."""


class DocumentWords:
    """The words of a document's memories, cached by section."""

    def __init__(self) -> None:
        self._cache: dict[int, tuple[LocationSection, list[WordSet]]] = {}
        """Sections by `id()`, with the words of their memories."""

    def of(self, document: "Document") -> Iterator[MemoryWords]:
        """Yield the memories of a document with their words."""
        cache, self._cache = self._cache, {}
        for section in document.sections:
            entry = cache.get(id(section)) or (section, [words_in(section.name, memory) for memory in section.memories])
            self._cache[id(section)] = entry
        for section in document.sections:
            if section.location_id is not None:
                for memory, word_set in zip(section.memories, self._cache[id(section)][1], strict=True):
                    yield section.location_id, memory, word_set


def words_in(name: str, memory: Memory) -> WordSet:
    """Return the words of a memory at a place with this name."""
    all_words = indexed_words(name, memory)
    return frozenset(map(intern, all_words)), len(all_words)


def matches(
    memories: Iterable[MemoryWords], asked: Iterable[str], marks: Sequence[str], limit: int
) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
    """Return the memories with any of the words and all of the marks, roughly the best first. See `Store.matching`."""
    wanted, marked = set(asked), set(marks)
    holding, count, total_length = Counter[str](), 0, 0
    candidates: list[tuple[Set[str], int, SubjectKey, Memory]] = []
    for place, memory, (word_set, length) in memories:
        count, total_length = count + 1, total_length + length
        if shared := wanted & word_set:
            holding.update(shared)
            candidates.append((shared, length, place, memory))
    average_length = total_length / count if count else 1.0
    rarity = {word: log(1 + count / frequency) for word, frequency in holding.items()}

    def score(candidate: tuple[Set[str], int, SubjectKey, Memory]) -> float:
        shared, length, *_ = candidate
        return sum(rarity[word] for word in shared) / (average_length + length)

    candidates.sort(key=score, reverse=True)
    passing = ((place, memory) for _, _, place, memory in candidates if marked.issubset(marks_of(memory)))
    return list(islice(passing, limit)), WordCounts(count, average_length, {word: holding[word] for word in wanted})


WORDS_SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_words USING fts5 (said, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_vocabulary USING fts5vocab ('zorkgpt_words', 'row');
"""
_COMMON = 10_000
"""If a query has rarer words, words in more memories than this don't find memories. They still affect the score."""


class FullText:
    """The `WordIndex` of a SQLite file with the tables of `WORDS_SCHEMA`."""

    def __init__(self, database: "Rows") -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        query = "INSERT INTO zorkgpt_words (rowid, said) VALUES (%s, %s)"
        self._database.put(query, [(number, _utf8(" ".join(all_words))) for number, all_words in memories])

    def delete(self, numbers: Iterable[int]) -> None:
        self._database.put("DELETE FROM zorkgpt_words WHERE rowid = %s", [(number,) for number in numbers])

    def clear(self) -> None:
        self._database.put("DELETE FROM zorkgpt_words", [()])

    def rebuild(self) -> None:
        """Rebuild the index, to remove all traces of deleted words."""
        self._database.put("INSERT INTO zorkgpt_words (zorkgpt_words) VALUES ('rebuild')", [()])

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return the row numbers of matching memories, and the number of memories with each word. See `WordIndex`.

        If rare words don't find enough memories, common words are searched for, but only in the newest memories.
        """
        holding = self._holding(wanted)
        if not limit:
            return [], holding
        asked = sorted((word for word, count in holding.items() if count), key=lambda word: holding[word])
        asked = asked[:_MOST_WORDS]
        rare = [word for word in asked if holding[word] <= _COMMON]
        numbers = self._matching(rare, marks, limit) if rare else []
        if len(numbers) < limit and len(rare) < len(asked):
            is_narrow = min(self._holding(marks).values(), default=_COMMON + 1) <= _COMMON
            last = int(self._database.value("SELECT coalesce(max(rowid), 0) FROM zorkgpt_words"))
            least = -1 if is_narrow else last - _COMMON
            numbers = list(dict.fromkeys([*numbers, *self._matching(asked[len(rare) :], marks, limit, least)]))
        return numbers, holding

    def _holding(self, asked: Iterable[str]) -> dict[str, int]:
        holding = {}
        for word in asked:
            rows = self._database.rows("SELECT doc FROM zorkgpt_vocabulary WHERE term = %s", (_utf8(word),))
            holding[word] = int(rows[0][0]) if rows else 0
        return holding

    def _matching(self, asked: Sequence[str], marks: Sequence[str], limit: int, least: int = -1) -> list[int]:
        terms = " AND ".join([f"({' OR '.join(map(_quoted, asked))})", *map(_quoted, marks)])
        rows = self._database.rows(
            "SELECT rowid FROM zorkgpt_words WHERE zorkgpt_words MATCH %s AND rowid > %s ORDER BY rank LIMIT %s",
            (terms, least, limit),
        )
        return [number for (number,) in rows]


def _quoted(word: str) -> str:
    return f'"{_utf8(word)}"'


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()


POSTGRES_WORDS_SCHEMA = """
CREATE TABLE IF NOT EXISTS zorkgpt_words (id bigint PRIMARY KEY, said text[] NOT NULL);
CREATE INDEX IF NOT EXISTS zorkgpt_words_said ON zorkgpt_words USING gin (said) WITH (fastupdate = off);
CREATE TABLE IF NOT EXISTS zorkgpt_word_counts (
    word text COLLATE "C" PRIMARY KEY,
    memories bigint NOT NULL
);
"""
_MOST_LOOKED_AT = 5_000
"""Approximate maximum number of memories read for a query. Those with its rarest words are read."""
_MOST_WORDS = 32
"""Maximum number of words of a query. The rarest are used."""


class PostgresWords:
    """The `WordIndex` of a PostgreSQL database."""

    def __init__(self, database: "Rows") -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        rows = [(number, sorted({database_text(word) for word in all_words})) for number, all_words in memories]
        if rows:
            self._database.put("INSERT INTO zorkgpt_words (id, said) VALUES (%s, %s)", rows)
            self._count(Counter(word for _, row_words in rows for word in row_words))

    def delete(self, numbers: Iterable[int]) -> None:
        wanted = list(numbers)
        if wanted:
            query = "DELETE FROM zorkgpt_words WHERE id = ANY(%s) RETURNING said"
            deleted = Counter(word for (row_words,) in self._database.rows(query, (wanted,)) for word in row_words)
            self._count(Counter({word: -count for word, count in deleted.items()}))

    def clear(self) -> None:
        self._database.put("DELETE FROM zorkgpt_words", [()])
        self._database.put("DELETE FROM zorkgpt_word_counts", [()])

    def rebuild(self) -> None:
        self._database.put("DELETE FROM zorkgpt_word_counts WHERE memories < 1", [()])

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        query = "SELECT word, memories FROM zorkgpt_word_counts WHERE word = ANY(%s)"
        counts = dict(self._database.rows(query, ([database_text(word) for word in wanted],)))
        holding = {word: int(counts.get(database_text(word), 0)) for word in wanted}
        asked = sorted((word for word, count in holding.items() if count > 0), key=lambda word: holding[word])
        chosen: list[str] = []
        for word in asked[:_MOST_WORDS]:
            if chosen and sum(holding[each] for each in chosen) + holding[word] > _MOST_LOOKED_AT:
                break
            chosen.append(word)
        if not chosen or not limit:
            return [], holding
        most = max(holding.values())
        part = (
            "(SELECT id, %s::float8 AS weight FROM zorkgpt_words WHERE said @> %s::text[] "
            f"ORDER BY id DESC LIMIT {2 * _MOST_LOOKED_AT})"
        )
        parameters: list[object] = []
        for word in chosen:
            parameters += [log(1 + most / holding[word]), [database_text(word), *map(database_text, marks)]]
        query = (
            f"SELECT id FROM ({' UNION ALL '.join([part] * len(chosen))}) AS found "
            "GROUP BY id ORDER BY sum(weight) DESC, id LIMIT %s"
        )
        return [int(number) for (number,) in self._database.rows(query, (*parameters, limit))], holding

    def _count(self, more: Counter[str]) -> None:
        words = sorted(word for word, count in more.items() if count)
        query = (
            "INSERT INTO zorkgpt_word_counts (word, memories) SELECT * FROM unnest(%s::text[], %s::bigint[]) "
            "ON CONFLICT (word) DO UPDATE SET memories = zorkgpt_word_counts.memories + excluded.memories"
        )
        self._database.put(query, [(words, [more[word] for word in words])])


def database_text(text: str) -> str:
    """Return a text without unpaired surrogates and null characters, which databases don't accept."""
    return _utf8(text).replace("\x00", "\ufffd")

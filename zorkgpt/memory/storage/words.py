"""The words by which memories are found, the marks that stand for their properties, and a search for them.

A database has an index of them: `FullText` in SQLite, `PostgresWords` on PostgreSQL. The memories of a file and of a
scope are searched in this process.
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
    """In how many memories words stand."""

    memories: int
    average_length: float
    """In words."""
    holding: dict[str, int]
    """The number of memories with each of the words asked for."""


class WordIndex(Protocol):
    """The words and marks of memories in a database, by the numbers of their rows."""

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
        """Leave no trace of deleted words."""
        ...

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return memories with any of the words and all of the marks, about the best first.

        Also returns in how many memories each word is.
        """
        ...


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
    return "§" + _digest(f"{kind} {value}".casefold())


def marks_of(memory: Memory) -> list[str]:
    episodes = {memory.episode, memory.episode if memory.first_episode is None else memory.first_episode}
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
    """Return the words that stand in the index for values of the metadata. 1, 1.0 and true are different values."""
    return ["§" + _digest(f"metadata {json.dumps(item, sort_keys=True)}") for item in metadata.items()]


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


WordSet = tuple[frozenset[str], int]
"""The different words of a memory, and how many words it has."""
Said = tuple[SubjectKey, Memory, WordSet]
"""A memory with its place and its words."""


class DocumentWords:
    """The words of a document's memories. Only sections that have changed are split into words again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[LocationSection, list[WordSet]]] = {}
        """The sections by identity, with the words of their memories."""

    def of(self, document: "Document") -> Iterator[Said]:
        """Yield the memories of a document with their words."""
        known, self._known = self._known, {}
        for section in document.sections:
            entry = known.get(id(section)) or (section, [words_in(section.name, memory) for memory in section.memories])
            self._known[id(section)] = entry
        for section in document.sections:
            if section.location_id is not None:
                for memory, said in zip(section.memories, self._known[id(section)][1], strict=True):
                    yield section.location_id, memory, said


def words_in(name: str, memory: Memory) -> WordSet:
    """Return the words of a memory at a place of this name."""
    said = words_of(name, memory)
    return frozenset(map(intern, said)), len(said)


def matches(
    memories: Iterable[Said], asked: Iterable[str], marks: Sequence[str], limit: int
) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
    """Return the memories with any of the words and all of the marks, about the best first: see `Store.matching`."""
    wanted, marked = set(asked), set(marks)
    holding, count, length = Counter[str](), 0, 0
    found: list[tuple[Set[str], int, SubjectKey, Memory]] = []
    for place, memory, (said, size) in memories:
        count, length = count + 1, length + size
        if having := wanted & said:
            holding.update(having)
            found.append((having, size, place, memory))
    average = length / count if count else 1.0
    rarity = {word: log(1 + count / held) for word, held in holding.items()}
    found.sort(key=lambda each: -sum(rarity[word] for word in each[0]) / (average + each[1]))
    passing = ((place, memory) for _, _, place, memory in found if marked.issubset(marks_of(memory)))
    return list(islice(passing, limit)), WordCounts(count, average, {word: holding[word] for word in wanted})


WORDS_SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_words USING fts5 (said, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_vocabulary USING fts5vocab ('zorkgpt_words', 'row');
"""
_COMMON = 10_000
"""A word in more memories than this does not choose any if a rarer one does; it still counts."""


class FullText:
    """The words of memories by their numbers, in a SQLite file that has the tables of `WORDS_SCHEMA`."""

    def __init__(self, database: "Rows") -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        query = "INSERT INTO zorkgpt_words (rowid, said) VALUES (%s, %s)"
        self._database.put(query, [(number, _utf8(" ".join(said))) for number, said in memories])

    def delete(self, numbers: Iterable[int]) -> None:
        self._database.put("DELETE FROM zorkgpt_words WHERE rowid = %s", [(number,) for number in numbers])

    def clear(self) -> None:
        self._database.put("DELETE FROM zorkgpt_words", [()])

    def rebuild(self) -> None:
        """Make the index again from the words, so that no trace of deleted ones is left."""
        self._database.put("INSERT INTO zorkgpt_words (zorkgpt_words) VALUES ('rebuild')", [()])

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return memories with any of the words and all of the marks, about the best first.

        Words that are nearly everywhere find what no rarer word has found only among the newest memories.

        Returns:
            The numbers of the memories, and in how many memories each word is.
        """
        holding = self._holding(wanted)
        if not limit:
            return [], holding
        asked = sorted((word for word, count in holding.items() if count), key=lambda word: holding[word])
        asked = asked[:_MOST_WORDS]
        rare = [word for word in asked if holding[word] <= _COMMON]
        found = self._matching(rare, marks, limit) if rare else []
        if len(found) < limit and len(rare) < len(asked):
            is_narrow = min(self._holding(marks).values(), default=_COMMON + 1) <= _COMMON
            least = -1 if is_narrow else self._last() - _COMMON
            found = list(dict.fromkeys([*found, *self._matching(asked[len(rare) :], marks, limit, least)]))
        return found, holding

    def _last(self) -> int:
        return int(self._database.rows("SELECT coalesce(max(rowid), 0) FROM zorkgpt_words")[0][0])

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
"""Memories that are looked at for a query, about: those with its rarest words."""
_MOST_WORDS = 32
"""Words of a query that are looked up, the rarest."""


class PostgresWords:
    """The words and marks of memories, by the numbers of their rows."""

    def __init__(self, database: "Rows") -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        rows = [(number, sorted({database_text(word) for word in said})) for number, said in memories]
        if rows:
            self._database.put("INSERT INTO zorkgpt_words (id, said) VALUES (%s, %s)", rows)
            self._count(Counter(word for _, said in rows for word in said))

    def delete(self, numbers: Iterable[int]) -> None:
        wanted = list(numbers)
        if wanted:
            query = "DELETE FROM zorkgpt_words WHERE id = ANY(%s) RETURNING said"
            gone = Counter(word for (said,) in self._database.rows(query, (wanted,)) for word in said)
            self._count(Counter({word: -count for word, count in gone.items()}))

    def clear(self) -> None:
        self._database.put("DELETE FROM zorkgpt_words", [()])
        self._database.put("DELETE FROM zorkgpt_word_counts", [()])

    def rebuild(self) -> None:
        self._database.put("DELETE FROM zorkgpt_word_counts WHERE memories < 1", [()])

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        query = "SELECT word, memories FROM zorkgpt_word_counts WHERE word = ANY(%s)"
        known = dict(self._database.rows(query, ([database_text(word) for word in wanted],)))
        holding = {word: int(known.get(database_text(word), 0)) for word in wanted}
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
        given = [
            value
            for word in chosen
            for value in (log(1 + most / holding[word]), [database_text(word), *map(database_text, marks)])
        ]
        query = (
            f"SELECT id FROM ({' UNION ALL '.join([part] * len(chosen))}) AS found "
            "GROUP BY id ORDER BY sum(weight) DESC, id LIMIT %s"
        )
        return [int(number) for (number,) in self._database.rows(query, (*given, limit))], holding

    def _count(self, more: Counter[str]) -> None:
        words = sorted(word for word, count in more.items() if count)
        query = (
            "INSERT INTO zorkgpt_word_counts (word, memories) SELECT * FROM unnest(%s::text[], %s::bigint[]) "
            "ON CONFLICT (word) DO UPDATE SET memories = zorkgpt_word_counts.memories + excluded.memories"
        )
        self._database.put(query, [(words, [more[word] for word in words])])


def database_text(text: str) -> str:
    """Return a text as a database takes it: without halves of surrogate pairs and zero characters."""
    return _utf8(text).replace("\x00", "\ufffd")

"""The words of memories, and searches for them.

A database has an index: `FullText` in SQLite, `PostgresWords` on PostgreSQL. The memories of a scope are searched in
this process.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from math import log
from sys import intern
from typing import Protocol

from zorkgpt.memory.models import Memory, SubjectKey
from zorkgpt.memory.places import UNSEARCHED_COLUMN
from zorkgpt.record.database import RecordDatabase


@dataclass(frozen=True, slots=True)
class WordCounts:
    """The frequencies of words."""

    memories: int
    average_length: float
    """Average number of words in a memory."""
    holding: dict[str, int]
    """The number of memories with each of the requested words."""


Passing = Callable[[Sequence[int]], list[int]]
"""Returns the row numbers whose memories pass the filters, in the same order."""


def words(text: str) -> list[str]:
    """Return the words of a text for searches. A plural "s" is dropped, so that "keys" matches "key"."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in re.findall(r"\w+", text.casefold())]


def indexed_words(name: str, memory: Memory) -> list[str]:
    """Return the words of a memory at a location with this name. Those of the title count twice."""
    return words(f"{name} {memory.title} {memory.title} {memory.text}")


def metadata_marks(metadata: Mapping[str, object]) -> list[str]:
    """Return the words that represent metadata in an index. 1, 1.0 and true are different values."""
    return ["§" + _digest(f"metadata {json.dumps(item, sort_keys=True)}") for item in metadata.items()]


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


WordSet = tuple[frozenset[str], int]
"""The different words of a memory, and its number of words."""
MemoryWords = tuple[SubjectKey, Memory, WordSet]
"""A memory with its place and its words."""


def words_in(name: str, memory: Memory) -> WordSet:
    """Return the words of a memory at a place with this name."""
    all_words = indexed_words(name, memory)
    return frozenset(map(intern, all_words)), len(all_words)


def matches(
    memories: Iterable[MemoryWords], asked: Iterable[str], passes: Callable[[SubjectKey, Memory], bool], limit: int
) -> tuple[list[tuple[SubjectKey, Memory]], WordCounts]:
    """Return the memories with any of the words that pass, roughly the best first. See `Store.matching`."""
    wanted = set(asked)
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
    passing = ((place, memory) for _, _, place, memory in candidates if passes(place, memory))
    return list(islice(passing, limit)), WordCounts(count, average_length, {word: holding[word] for word in wanted})


_COMMON = 4_000
"""If a query has rarer words, words in more memories than this don't find memories. They still affect the score."""
_PASSING = 4
"""How many times the requested number of memories is found first, since filters exclude some."""
_MOST_WORDS = 32
"""Maximum number of words of a query. The rarest are used."""


class WordIndex(Protocol):
    """The words of the memories in a database."""

    def find(self, wanted: Sequence[str], passing: Passing, limit: int) -> tuple[list[int], WordCounts]:
        """Return the row numbers of memories with any of the words, roughly the best first.

        Args:
            passing: Returns the numbers of the memories that pass the filters, among these.
        """
        ...

    def erase_deleted(self) -> None:
        """Remove all traces of the words of deleted memories."""
        ...


class FullText:
    """The `WordIndex` of a SQLite file with the table `zorkgpt_words`."""

    def __init__(self, database: RecordDatabase) -> None:
        self._database = database

    def erase_deleted(self) -> None:
        self._database.put("INSERT INTO zorkgpt_words (zorkgpt_words) VALUES ('optimize')", [()])

    def find(self, wanted: Sequence[str], passing: Passing, limit: int) -> tuple[list[int], WordCounts]:
        """Return the row numbers of matching memories, and the word counts. See `WordIndex`.

        If rare words don't find enough memories, common words are searched for, but only in the newest memories.
        """
        holding = {word: self._holding(word) for word in wanted}
        others = f"SELECT count(*) FROM zorkgpt_memories WHERE place >= '{UNSEARCHED_COLUMN}'"
        [(memories, words)] = self._database.rows(f"SELECT memories - ({others}), words FROM zorkgpt_state")
        counts = WordCounts(memories, words / memories if memories else 1.0, holding)
        if not limit:
            return [], counts
        asked = sorted((word for word, count in holding.items() if count), key=lambda word: holding[word])
        asked = asked[:_MOST_WORDS]
        rare = [word for word in asked if holding[word] <= _COMMON]
        numbers = self._matching(rare, passing, limit) if rare else []
        if len(numbers) < limit and len(rare) < len(asked):
            last = int(self._database.value("SELECT coalesce(max(number), 0) FROM zorkgpt_memories"))
            common = self._matching(asked[len(rare) :], passing, limit, last - _COMMON)
            if len(common) < limit:
                common = self._matching(asked[len(rare) :], passing, limit)
            numbers = list(dict.fromkeys([*numbers, *common]))
        return numbers, counts

    def _holding(self, word: str) -> int:
        rows = self._database.rows("SELECT doc FROM zorkgpt_vocabulary WHERE term = %s", (database_text(word),))
        return int(rows[0][0]) if rows else 0

    def _matching(self, asked: Sequence[str], passing: Passing, limit: int, least: int = -1) -> list[int]:
        terms = " OR ".join(f'"{database_text(word)}"' for word in asked)
        query = "SELECT rowid FROM zorkgpt_words WHERE zorkgpt_words MATCH %s AND rowid > %s ORDER BY rank LIMIT %s"
        most = _PASSING * min(limit, _COMMON)
        while True:
            numbers = [number for (number,) in self._database.rows(query, (terms, least, most))]
            passed = passing(numbers)[:limit]
            if len(passed) == limit or len(numbers) < most:
                return passed
            most *= 16


_MOST_LOOKED_AT = 5_000
"""Approximate maximum number of memories read for a word."""


class PostgresWords:
    """The `WordIndex` of a PostgreSQL database. In large memories, counts are estimates."""

    def __init__(self, database: RecordDatabase) -> None:
        self._database = database

    def erase_deleted(self) -> None:
        """Do nothing: the index has only row numbers by words, and the server's own files are not erased."""

    def find(self, wanted: Sequence[str], passing: Passing, limit: int) -> tuple[list[int], WordCounts]:
        texts = [database_text(word) for word in wanted]
        part = f"(SELECT {{}} FROM zorkgpt_memories LIMIT {_MOST_LOOKED_AT}) AS part"
        holding = (
            "(SELECT count(*) FROM (SELECT FROM zorkgpt_memories WHERE string_to_array(said, ' ') @> ARRAY[%s::text] "
            f"LIMIT {_MOST_LOOKED_AT}) AS part)"
        )
        size = "(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'zorkgpt_memories'::regclass)"
        query = f"SELECT count(*), avg(words)::float8, {', '.join([size, *[holding] * len(texts)])} FROM "
        [(sample, average, estimate, *found)] = self._database.rows(query + part.format("words"), texts)
        memories = sample if sample < _MOST_LOOKED_AT else max(sample, estimate)
        counts = WordCounts(memories, average or 1.0, dict(zip(wanted, found, strict=True)))
        asked = sorted((word for word in wanted if counts.holding[word]), key=lambda word: counts.holding[word])
        if not asked or not limit:
            return [], counts
        return self._matching(asked[:_MOST_WORDS], counts, passing, limit), counts

    def _matching(self, asked: Sequence[str], counts: WordCounts, passing: Passing, limit: int) -> list[int]:
        part = (
            "(SELECT number, words, %s::float8 AS weight FROM zorkgpt_memories "
            f"WHERE string_to_array(said, ' ') @> ARRAY[%s::text] ORDER BY number DESC LIMIT {_MOST_LOOKED_AT})"
        )
        given: list[object] = []
        for word in asked:
            given += [log(1 + counts.memories / counts.holding[word]), database_text(word)]
        query = (
            f"SELECT number FROM ({' UNION ALL '.join([part] * len(asked))}) AS found GROUP BY number "
            "ORDER BY sum(weight) / (%s + min(words)) DESC, number"
        )
        numbers = [number for (number,) in self._database.rows(query, (*given, counts.average_length))]
        return passing(numbers)[:limit]


def database_text(text: str) -> str:
    """Return a text without unpaired surrogates and null characters, which databases don't accept."""
    plain = text if text.isascii() else text.encode(errors="replace").decode()
    return plain.replace("\x00", "\ufffd")

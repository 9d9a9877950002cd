"""The words of memories on PostgreSQL: an inverted index of arrays, and how many memories hold each word."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

from zorkgpt.memory.storage.tables import Rows

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

    def __init__(self, database: Rows) -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the words and marks of memories."""
        rows = [(number, sorted({_text(word) for word in said})) for number, said in memories]
        if rows:
            self._database.put("INSERT INTO zorkgpt_words (id, said) VALUES (%s, %s)", rows)
            self._count(Counter(word for _, said in rows for word in said))

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete the words of memories."""
        wanted = list(numbers)
        if wanted:
            query = "DELETE FROM zorkgpt_words WHERE id = ANY(%s) RETURNING said"
            gone = Counter(word for (said,) in self._database.rows(query, (wanted,)) for word in said)
            self._count(Counter({word: -count for word, count in gone.items()}))

    def clear(self) -> None:
        """Delete all words."""
        self._database.put("DELETE FROM zorkgpt_words", [()])
        self._database.put("DELETE FROM zorkgpt_word_counts", [()])

    def rebuild(self) -> None:
        """Leave no trace of deleted words."""
        self._database.put("DELETE FROM zorkgpt_word_counts WHERE memories < 1", [()])

    def find(self, wanted: Sequence[str], marks: Sequence[str], limit: int) -> tuple[list[int], dict[str, int]]:
        """Return memories with any of the words and all of the marks, about the best first.

        Also returns in how many memories each word is.
        """
        query = "SELECT word, memories FROM zorkgpt_word_counts WHERE word = ANY(%s)"
        known = dict(self._database.rows(query, ([_text(word) for word in wanted],)))
        holding = {word: int(known.get(_text(word), 0)) for word in wanted}
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
            value for word in chosen for value in (log(1 + most / holding[word]), [_text(word), *map(_text, marks)])
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


def _text(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")

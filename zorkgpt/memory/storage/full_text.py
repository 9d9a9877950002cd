"""SQLite's full-text search over the words and marks of memories, which are numbered."""

from collections.abc import Iterable, Sequence

from zorkgpt.memory.storage.tables import Rows

WORDS_SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_words USING fts5 (said, tokenize = "ascii tokenchars '_'");
CREATE VIRTUAL TABLE IF NOT EXISTS zorkgpt_vocabulary USING fts5vocab ('zorkgpt_words', 'row');
"""
_COMMON = 10_000
"""A word in more memories than this does not choose any if a rarer one does; it still counts."""
_MOST_WORDS = 32
"""Words of a query that are looked up, the rarest."""


class FullText:
    """The words of memories by their numbers, in a SQLite file that has the tables of `WORDS_SCHEMA`."""

    def __init__(self, database: Rows) -> None:
        self._database = database

    def put(self, memories: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the words and marks of memories."""
        query = "INSERT INTO zorkgpt_words (rowid, said) VALUES (%s, %s)"
        self._database.put(query, [(number, _utf8(" ".join(said))) for number, said in memories])

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete the words of memories."""
        self._database.put("DELETE FROM zorkgpt_words WHERE rowid = %s", [(number,) for number in numbers])

    def clear(self) -> None:
        """Delete all words."""
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

"""Reads memories of the first format, to convert them: with Markdown in the rows, or beside the file."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.errors import MemoryStoreError, OutOfBounds
from zorkgpt.memory.places import place_from_json
from zorkgpt.memory.storage.document import TITLE, Document, ending_blank, line_end, parse
from zorkgpt.memory.storage.escaping import encode
from zorkgpt.memory.storage.history import HistoryRecord, record_of
from zorkgpt.memory.storage.postgres import PostgresDatabase, is_postgres
from zorkgpt.memory.storage.sqlite import FIRST_JOURNAL, FIRST_KIND, SqliteDatabase, is_sqlite
from zorkgpt.memory.storage.tables import Rows


class EarlierStore:
    """A memory of the first format, for reading.

    Attributes:
        document: All memories as a Markdown file.
    """

    def __init__(self, database: SqliteDatabase | PostgresDatabase, document: Document) -> None:
        self._database = database
        self.document = document

    def records(self) -> Iterator[HistoryRecord]:
        """Yield the records of all changes, oldest first."""
        for (text,) in self._database.rows("SELECT record FROM zorkgpt_journal ORDER BY id"):
            with suppress(OutOfBounds, KeyError, TypeError, ValueError):
                row = parse_json(text, RECORD)
                if (record := record_of(row, place_from_json(row["location_id"]))) is not None:
                    yield record

    def close(self) -> None:
        self._database.close()


def earlier_store(address: str | Path) -> EarlierStore | None:
    """Open a memory of the first format. None if the address is not that of such a memory.

    Raises:
        MemoryStoreError: If it can't be read.
    """
    database: SqliteDatabase | PostgresDatabase
    if is_postgres(address):
        database = PostgresDatabase(str(address), lock_timeout_s=10, is_earlier=True)
        if not database.is_of_first_format():
            database.close()
            return None
    elif Path(address).is_file():
        has_rows = is_sqlite(address)
        path, kind = (Path(address), FIRST_KIND) if has_rows else (Path(f"{address}.sqlite"), FIRST_JOURNAL)
        database = SqliteDatabase(path, schema="SELECT 1", migrations=["SELECT 1"] * 9, kind=kind, is_truth=True)
        try:
            database.rows("SELECT record FROM zorkgpt_journal LIMIT 1")
        except MemoryStoreError:
            database.close()
            return None
        if not has_rows:
            return EarlierStore(database, parse(Path(address).read_bytes()))
    else:
        return None
    return EarlierStore(database, parse(b"".join(_sections(database))))


def _sections(database: Rows) -> Iterator[bytes]:
    """Yield the sections in the order of a file."""
    bodies: dict[int, list[bytes]] = defaultdict(list)
    for section, lead, entry in database.rows("SELECT section, lead, entry FROM zorkgpt_memories ORDER BY section, id"):
        bodies[section] += (bytes(lead), bytes(entry))
    rows = database.rows("SELECT id, position, place, head, tail FROM zorkgpt_sections ORDER BY position, id")
    data = {number: b"".join([bytes(head), *bodies[number], bytes(tail)]) for number, _, _, head, tail in rows}
    placed = [(number, place or "") for number, position, place, *_ in rows if position is not None]
    # An added place comes before the first place with a later key.
    latest = list(accumulate((place for _, place in placed), max))
    before: dict[int, list[int]] = defaultdict(list)
    for place, number in sorted((place, number) for number, position, place, *_ in rows if position is None):
        before[bisect_right(latest, place)].append(number)
    order: list[int] = []
    for at in range(len(placed) + 1):
        order += before[at]
        order += (number for number, _ in placed[at : at + 1])
    eol = encode(line_end(data[placed[0][0]])) if placed else b"\n"
    if order and not placed:
        yield TITLE + eol + eol
    yield from (ending_blank(data[number], eol) for number in order)

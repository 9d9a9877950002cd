"""Reads memories of the first format, to convert them: with Markdown in the rows, or beside the file."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from zorkgpt.bounded import RECORD, parse_json
from zorkgpt.errors import MemoryStoreError, OutOfBounds
from zorkgpt.memory.places import place_from_json
from zorkgpt.memory.storage.document import Document, ending_blank, line_end, parse
from zorkgpt.memory.storage.escaping import encode
from zorkgpt.memory.storage.history import HistoryRecord, record_of, replayed
from zorkgpt.memory.storage.lasting import Heading
from zorkgpt.memory.storage.postgres import PostgresDatabase, is_postgres
from zorkgpt.memory.storage.section import episodes_of_memories, parse_section
from zorkgpt.memory.storage.sqlite import FIRST_JOURNAL, FIRST_KIND, SqliteDatabase, is_sqlite
from zorkgpt.memory.storage.traces import Traces, record_without, text_without
from zorkgpt.record.database import RecordDatabase


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

    def erase(self, traces: Traces) -> None:
        """Erase traces from the records and from the free pages of the file."""
        with self._database.change():
            for number, text in self._database.rows("SELECT id, record FROM zorkgpt_journal"):
                try:
                    cleaned = record_without(place_from_json(parse_json(text, RECORD)["location_id"]), text, traces)
                except (OutOfBounds, KeyError, TypeError, ValueError):
                    cleaned = text_without(text, traces)
                self._database.put("UPDATE zorkgpt_journal SET record = %s WHERE id = %s", [(cleaned, number)])
            self._database.put("DELETE FROM zorkgpt_journal WHERE record = ''", [()])
        if isinstance(self._database, SqliteDatabase):
            self._database.shrink()

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
        is_beside = not is_sqlite(address)
        path = Path(f"{address}.sqlite") if is_beside else Path(address)
        for kind in (FIRST_JOURNAL,) if is_beside else (FIRST_KIND, FIRST_JOURNAL):
            database = SqliteDatabase(path, schema="SELECT 1", migrations=["SELECT 1"] * 9, kind=kind, is_truth=True)
            try:
                database.rows("SELECT record FROM zorkgpt_journal LIMIT 1")
                break
            except MemoryStoreError:
                database.close()
        else:
            return None
        if is_beside:
            return EarlierStore(database, parse(Path(address).read_bytes()))
        if kind == FIRST_JOURNAL:
            # The memory file beside it shows a later record.
            earlier = EarlierStore(database, Document())
            memories = replayed(earlier.records()).items()
            names = {record.change.location_id: record.change.location_name for record in earlier.records()}
            document = Document()
            for place, each in memories:
                episodes = episodes_of_memories(each)
                document = document.showing({place: (Heading(names[place], len(episodes), episodes), each)})
            return EarlierStore(database, document)
    else:
        return None
    return EarlierStore(database, _document(database))


def _document(database: RecordDatabase) -> Document:
    """Return the memory file that the rows make up."""
    bodies: dict[int, list[bytes]] = defaultdict(list)
    for section, lead, entry in database.rows("SELECT section, lead, entry FROM zorkgpt_memories ORDER BY section, id"):
        bodies[section] += (bytes(lead), bytes(entry))
    placed, added = list[bytes](), list[bytes]()
    rows = database.rows("SELECT id, position, head, tail FROM zorkgpt_sections ORDER BY position, id")
    for number, position, head, tail in rows:
        data = b"".join([bytes(head), *bodies[number], bytes(tail)])
        (added if position is None else placed).append(data)
    eol = encode(line_end(placed[0])) if placed else b"\n"
    document = parse(b"".join(ending_blank(data, eol) for data in placed))
    # Together, because the ids depend on all sections.
    return parse(document.with_sections([parse_section(ending_blank(data, eol)) for data in added]).data)

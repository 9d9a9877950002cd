"""What stands beside the sections on PostgreSQL: the history, the trials, and what a model has judged."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from zorkgpt.memory.storage.database import Database
from zorkgpt.memory.storage.history import HistoryRecord, record_of
from zorkgpt.memory.storage.trials import Trial, batch_of, line_of

_PAGE = 5_000
"""How many rows are read at a time."""


class PostgresHistory:
    """The table of changes. A position in it is the number of a record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def size(self) -> int:
        """Return the number of the last record; 0 if there is none."""
        return int(self._database.rows("SELECT coalesce(max(id), 0) FROM zorkgpt_history")[0][0])

    def records(self) -> Iterator[HistoryRecord]:
        """Yield all records, oldest first."""
        for _, record in self._from(0):
            yield record

    def records_from(self, start: int, *, sources: Sequence[str] | None = None) -> tuple[list[HistoryRecord], int]:
        """Return the records after this number, and the number of the last.

        Args:
            sources: Return only records from these. None: all.
        """
        if sources is not None:
            end = self.size()
            # As text: PostgreSQL can't look into JSON that holds a null character.
            marks = [f'%"source": "{source}"%' for source in sources]
            query = (
                "SELECT record::text FROM zorkgpt_history "
                "WHERE id > %s AND id <= %s AND record::text LIKE ANY(%s) ORDER BY id"
            )
            rows = self._database.rows(query, (start, end, marks))
            return [record for (said,) in rows if (record := record_of(json.loads(said)))], end
        found = list(self._from(start))
        return [record for _, record in found], found[-1][0] if found else start

    def bytes_before(self, end: int) -> bytes:
        """Return the record of this number, which tells whether a history is still the one that was read."""
        found = self._database.rows("SELECT record::text FROM zorkgpt_history WHERE id = %s", (end,))
        return str(found[0][0]).encode() if found else b""

    def append(self, records: Iterable[str]) -> None:
        """Add records, each the JSON of a change."""
        self._database.put("INSERT INTO zorkgpt_history (record) VALUES (%s)", [(record,) for record in records])

    def rewrite(self, rewrite: Callable[[list[bytes]], list[bytes]]) -> tuple[int, int]:
        """Put other lines in the place of all records, and return how many there were and are; within a change."""
        found = self._database.rows("SELECT record::text FROM zorkgpt_history ORDER BY id")
        kept = rewrite([str(said).encode() + b"\n" for (said,) in found])
        self._database.rows("TRUNCATE zorkgpt_history RESTART IDENTITY")
        self.append(line.decode() for line in kept)
        return len(found), len(kept)

    def _from(self, start: int) -> Iterator[tuple[int, HistoryRecord]]:
        query = "SELECT id, record::text FROM zorkgpt_history WHERE id > %s ORDER BY id LIMIT %s"
        while page := self._database.rows(query, (start, _PAGE)):
            for start, said in page:
                record = record_of(json.loads(said))
                if record is not None:
                    yield start, record


class PostgresTrials:
    """The table of trials, a row for all that were counted in one change, written with it.

    Args:
        machine: who writes them: two machines may number their episodes alike.
    """

    def __init__(self, database: Database, machine: str) -> None:
        self._database = database
        self._machine = machine

    def append(self, trials: Sequence[Trial]) -> int:
        """Add a row with these trials, and return 0: none of them stays if the change that counts them does not."""
        row = (self._machine, line_of(trials, datetime.now(UTC)).decode())
        self._database.put("INSERT INTO zorkgpt_trials (machine, batch) VALUES (%s, %s)", [row])
        return 0

    def trials(self) -> Iterator[Trial]:
        """Yield the trials of all machines, oldest first."""
        for (said,) in self._database.rows("SELECT batch::text FROM zorkgpt_trials ORDER BY id"):
            yield from batch_of(said)

    def own_trials(self) -> Iterator[Trial]:
        """Yield those of this machine."""
        query = "SELECT batch::text FROM zorkgpt_trials WHERE machine = %s ORDER BY id"
        for (said,) in self._database.rows(query, (self._machine,)):
            yield from batch_of(said)

    def uncounted(self) -> list[Trial]:
        """Return none: trials and counts are written in one transaction."""
        return []

    def clean(self, change: Callable[[bytes], bytes]) -> None:
        """Put what `change` returns in the place of each row; b"" deletes it."""
        found = self._database.rows("SELECT id, batch::text FROM zorkgpt_trials")
        _clean(self._database, "zorkgpt_trials", "id", "batch", found, change)


class PostgresJudgments:
    """The table of what a model has judged, by the keys of the questions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> object:
        """Return the answer to a question, as plain values; None: it was not asked yet."""
        found = self._database.rows("SELECT answer::text FROM zorkgpt_judgments WHERE key = %s", (key,))
        return json.loads(found[0][0]) if found else None

    def put(self, key: str, answer: dict[str, object]) -> None:
        """Keep the answer to a question."""
        query = "INSERT INTO zorkgpt_judgments VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET answer = excluded.answer"
        self._database.put(query, [(key, json.dumps(answer))])

    def clean(self, change: Callable[[bytes], bytes]) -> None:
        """Put what `change` returns in the place of each answer; b"" deletes it."""
        found = self._database.rows("SELECT key, answer::text FROM zorkgpt_judgments")
        _clean(self._database, "zorkgpt_judgments", "key", "answer", found, change)


def _clean(
    database: Database,
    table: str,
    key: str,
    column: str,
    rows: Iterable[tuple[object, str]],
    change: Callable[[bytes], bytes],
) -> None:
    changed = [(number, new) for number, said in rows if (new := change(said.encode())) != said.encode()]
    database.put(f"DELETE FROM {table} WHERE {key} = %s", [(number,) for number, new in changed if not new])
    database.put(
        f"UPDATE {table} SET {column} = %s WHERE {key} = %s",
        [(new.decode(), number) for number, new in changed if new],
    )

"""mem0: the JSON of `Memory.get_all()`."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from zorkgpt.adapters.formats import permanent_note
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.checks import check_text, checked_metadata, checked_time, title_of
from zorkgpt.memory.models import PlaceKey
from zorkgpt.memory.places import checked_place
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.exchange import Skipped, parsed_json, read_bytes
from zorkgpt.text import quoted

_ENTITIES = ("user_id", "agent_id", "run_id")
_WITHOUT_ENTITY = "mem0"
"""The place of memories without user, agent and run."""
_OWN = "mem0"
"""In the metadata: fields of mem0 without a counterpart here."""
_COVERED = {"memory", "metadata", "hash", "expiration_date", "score", *_ENTITIES}


def read(path: Path) -> tuple[list[LocatedMemory], list[Skipped]]:
    """Return the memories in a file with the result of `get_all()`: `{"results": [...]}`, or only the list.

    Raises:
        MemoryStoreError: If the file can't be read, or a memory in it is invalid.
    """
    given = parsed_json(read_bytes(path), str(path))
    rows = given.get("results") if isinstance(given, dict) else given
    if not isinstance(rows, list):
        raise MemoryStoreError(f'{path} is not what mem0 returns; it must be a list, or an object with "results".')
    memories, skipped = list[LocatedMemory](), list[Skipped]()
    for number, row in enumerate(rows, 1):
        where = f"{path}, result {number}"
        text = row.get("memory") if isinstance(row, dict) else None
        if isinstance(text, str) and not text.strip():
            skipped.append(Skipped(where, "its text is blank"))
            continue
        try:
            memories.append(_located(row))
        except (TypeError, ValueError) as error:
            raise MemoryStoreError(f"{where} is not a memory of mem0: {error}") from error
    if isinstance(given, dict) and given.get("relations"):
        skipped.append(Skipped(f"{path}, relations", "relations of the graph memory are not imported"))
    return memories, skipped


def _located(row: object) -> LocatedMemory:
    if not isinstance(row, dict):
        raise TypeError(f"it is {quoted(row)}; it must be an object.")
    text = row.get("memory")
    check_text("memory", text)
    assert isinstance(text, str)
    own = {name: value for name, value in row.items() if name not in _COVERED and value is not None}
    metadata = checked_metadata(row.get("metadata") or {})
    metadata = checked_metadata({_OWN: own, **metadata} if own else metadata)
    expires_at = _expires_at(row.get("expiration_date"))
    memory = permanent_note(title_of(text), text, metadata=metadata, expires_at=expires_at)
    return LocatedMemory(_place(row), "", memory)


def _place(row: dict[str, Any]) -> PlaceKey:
    path: list[str] = []
    for name in _ENTITIES:
        if (value := row.get(name)) is None:
            continue
        if not isinstance(value, str):
            raise TypeError(f"its {name} is {quoted(value)}; it must be a string.")
        path += [name, value]
    return checked_place(tuple(path) or _WITHOUT_ENTITY)


def _expires_at(value: object) -> str | None:
    """Return the end of the expiration day in UTC, because mem0 keeps a memory through that day."""
    if value is None:
        return None
    try:
        last_day = datetime.combine(date.fromisoformat(str(value)), datetime.min.time(), UTC)
        return checked_time(last_day + timedelta(days=1))
    except (ValueError, OverflowError):
        raise ValueError(f"its expiration_date is {quoted(value)}; it must be such as 2027-01-31.") from None

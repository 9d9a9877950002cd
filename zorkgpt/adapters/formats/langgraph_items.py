"""LangGraph: the SQLite file of `SqliteStore`, or JSON lines of namespace, key, value and expiry."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from zorkgpt.adapters.formats import permanent_note
from zorkgpt.adapters.langgraph_encoding import (
    TTL_FIELD,
    Namespace,
    checked_ttl,
    place_of,
    text_of_value,
    title_of_key,
)
from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.checks import checked_time
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.exchange import Skipped, parsed_json, read_json_objects
from zorkgpt.text import quoted

_SQLITE = b"SQLite format 3\0"
_QUERY = "SELECT prefix, key, value, expires_at, ttl_minutes FROM store ORDER BY prefix, key"
_FIELDS = {"namespace", "key", "value", "expires_at", "ttl_minutes", "created_at", "updated_at", "score"}

StoredRow = tuple[str, object, object, object, object, object]
"""(position in the file, namespace, key, value, expiry, time to live in minutes). The last two may be None."""


def read(path: Path) -> tuple[list[LocatedMemory], list[Skipped]]:
    """Return the items in a SQLite file of `SqliteStore`, or in JSON lines with the same fields.

    In `MemoryBaseStore`, they have the same namespaces, keys, values and times to live.

    Raises:
        MemoryStoreError: If the file can't be read, or an item in it is invalid.
    """
    memories = []
    for where, *item in _items(path):
        try:
            memories.append(_located(*item))
        except (TypeError, ValueError) as error:
            raise MemoryStoreError(f"{where} is not an item of LangGraph: {error}") from error
    return memories, []


def _items(path: Path) -> Iterator[StoredRow]:
    try:
        with path.open("rb") as file:
            is_sqlite = file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise MemoryStoreError(f"Can't read {path}: {error.strerror}") from error
    if is_sqlite:
        yield from _rows(path)
        return
    for where, row in read_json_objects(path):
        if row.keys() > _FIELDS or not row.keys() >= {"namespace", "key", "value"}:
            raise MemoryStoreError(f"{where} is {quoted(row)}; it must have the fields namespace, key and value.")
        yield where, row["namespace"], row["key"], row["value"], row.get("expires_at"), row.get("ttl_minutes")


def _rows(path: Path) -> Iterator[StoredRow]:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            for prefix, key, value, expires_at, ttl_minutes in connection.execute(_QUERY):
                where = f"{path}, prefix {quoted(prefix)}, key {quoted(key)}"
                namespace = prefix.split(".") if isinstance(prefix, str) else prefix
                yield where, namespace, key, parsed_json(value, where), expires_at, ttl_minutes
    except sqlite3.Error as error:
        raise MemoryStoreError(
            f"{path} is not a SQLite file of LangGraph's SqliteStore, or can't be read: {error}."
        ) from error


def _located(namespace: object, key: object, value: object, expires_at: object, ttl_minutes: object) -> LocatedMemory:
    labels = _labels(namespace)
    if not isinstance(key, str):
        raise TypeError(f"its key is {quoted(key)}; it must be a string.")
    if not isinstance(value, dict):
        raise TypeError(f"its value is {quoted(value)}; it must be an object.")
    ttl = {} if ttl_minutes is None else {TTL_FIELD: checked_ttl(ttl_minutes)}
    memory = permanent_note(title_of_key(key), text_of_value(value), metadata=ttl, expires_at=_moment(expires_at))
    return LocatedMemory(place_of(labels), " / ".join(labels), memory)


def _labels(namespace: object) -> Namespace:
    if not isinstance(namespace, list) or not namespace:
        raise TypeError(f"its namespace is {quoted(namespace)}; it must be a list of labels.")
    for label in namespace:
        if not isinstance(label, str) or not label or "." in label:
            raise ValueError(f"its namespace has the label {quoted(label)}; a label is a text without dots.")
    return tuple(namespace)


def _moment(value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"its expires_at is {quoted(value)}; it must be a string.")
    moment = datetime.fromisoformat(value)
    # SqliteStore writes UTC without a time zone when a read restarts the time to live.
    return checked_time(moment if moment.tzinfo else moment.replace(tzinfo=UTC))

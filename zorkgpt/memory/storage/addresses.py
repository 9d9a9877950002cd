"""Distinguishes the path of a memory from an address, and opens its record."""

import re
from pathlib import Path

from zorkgpt.errors import MemoryStoreError
from zorkgpt.files import LOCK_TIMEOUT_S
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.postgres import PostgresDatabase, is_postgres
from zorkgpt.memory.storage.sql_store import sqlite_record
from zorkgpt.memory.storage.sqlite import IN_MEMORY, SqliteDatabase, is_sqlite
from zorkgpt.text import quoted

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_SECRET = re.compile(r"//.*@")


def is_address(path: object) -> bool:
    """Return whether this is an address, of any kind, rather than the path of a file."""
    return path == IN_MEMORY or is_postgres(path) or (isinstance(path, str) and _SCHEME.match(path) is not None)


def check_address(path: object) -> None:
    """Raise MemoryStoreError if this is an address of an unsupported kind."""
    if is_address(path) and not is_postgres(path) and path != IN_MEMORY:
        shown = quoted(_SECRET.sub("//***@", str(path)))
        raise MemoryStoreError(
            f"The address of the memory is {shown}, of an unknown kind. Use the path of a file, such as Memories.md or "
            f'memories.sqlite, or "{IN_MEMORY}", or postgresql://user@host/database.'
        )


def without_password(memory: str) -> str:
    """Return the name of a memory file as it is, and an address of PostgreSQL without its password."""
    return PostgresDatabase(memory, lock_timeout_s=LOCK_TIMEOUT_S).url if is_postgres(memory) else memory


def open_record(folder: Path, memory: str) -> SqliteDatabase | PostgresDatabase:
    """Return the database of a memory, which also has the events of its episodes. Reading creates no file.

    Args:
        folder: The story's folder.
        memory: The name of a memory file in it, or an address.

    Raises:
        MemoryStoreError: If it is an address of an unknown kind.
    """
    check_address(memory)
    if is_postgres(memory):
        return PostgresDatabase(memory, lock_timeout_s=LOCK_TIMEOUT_S)
    return sqlite_record(folder / memory) if is_sqlite(folder / memory) else sidecar(folder / memory)

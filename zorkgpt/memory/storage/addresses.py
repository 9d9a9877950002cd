"""Distinguishes the path of a memory from an address."""

import re

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.storage.postgres import is_postgres
from zorkgpt.memory.storage.sqlite import IN_MEMORY
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

"""The log files of episodes. Those of old episodes are compressed, and both kinds are read the same way."""

import gzip
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from zorkgpt.files import write_file

UNREADABLE = (OSError, EOFError, zlib.error)
"""The errors of opening and reading a log."""


def packed(log: Path) -> Path:
    """Return the path of the compressed file that replaces a log."""
    return Path(f"{log}.gz")


def has_log(log: Path) -> bool:
    """Return whether there is a log, compressed or not."""
    return log.is_file() or packed(log).is_file()


def open_log(log: Path) -> BinaryIO:
    """Open a log, compressed or not.

    Raises:
        OSError: If there is none, or it can't be opened. Reading a damaged log raises one of `UNREADABLE`.
    """
    try:
        return log.open("rb")
    except FileNotFoundError:
        if packed(log).is_file():
            return unpacked(packed(log).open("rb"))
        raise


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return a file object that reads the content of a compressed log and closes `file` with itself."""
    content = gzip.GzipFile(fileobj=file)
    content.myfileobj = cast(Any, file)
    return cast(BinaryIO, content)


def unpacked_size(file: BinaryIO) -> int:
    """Return the uncompressed size in bytes, modulo 4 GiB, from the gzip trailer.

    Raises:
        OSError: If the file is too short for a trailer.
    """
    file.seek(-4, os.SEEK_END)
    return int.from_bytes(file.read(4), "little")


def pack_log(log: Path) -> None:
    """Replace a log by a compressed file. If this is interrupted, one of the two is still complete.

    Raises:
        OSError, FileError: If that fails. The log is unchanged.
    """
    write_file(packed(log), gzip.compress(log.read_bytes(), mtime=0))
    log.unlink()

"""The files of an episode's logs: as they are written or, for old episodes, compressed. Both read the same."""

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


def log_size(log: Path) -> int:
    """Return the size of a log in bytes, before compression; 0 if there is none."""
    try:
        return log.stat().st_size
    except FileNotFoundError:
        try:
            with packed(log).open("rb") as file:
                return unpacked_size(file)
        except OSError:
            return 0


def open_log(log: Path) -> BinaryIO:
    """Open a log, compressed or not.

    Raises:
        OSError: There is none, or it can't be read. Reading from a damaged one raises one of `UNREADABLE`.
    """
    try:
        return log.open("rb")
    except FileNotFoundError:
        if packed(log).is_file():
            return unpacked(packed(log).open("rb"))
        raise


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return the content of a compressed log."""
    content = gzip.GzipFile(fileobj=file)
    content.myfileobj = cast(Any, file)  # Closed with it.
    return cast(BinaryIO, content)


def unpacked_size(file: BinaryIO) -> int:
    """Return the size of a compressed log's content, in bytes, as its end says: modulo 4 GiB.

    Raises:
        OSError: The file is too short to be one.
    """
    file.seek(-4, os.SEEK_END)
    return int.from_bytes(file.read(4), "little")


def pack_log(log: Path) -> None:
    """Replace a log by a compressed file. Whatever interrupts this, one of them is whole.

    Raises:
        OSError, FileError: That failed; the log is as before.
    """
    write_file(packed(log), gzip.compress(log.read_bytes(), mtime=0))
    log.unlink()

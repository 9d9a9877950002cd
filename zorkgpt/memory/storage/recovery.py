"""A file that is missing or damaged gets back what is known to have stood in it."""

import time
from collections.abc import Callable

from zorkgpt.log import get_logger
from zorkgpt.memory.storage.file import MemoryFile

log = get_logger(__name__)

_LOOKS, _BETWEEN_LOOKS_S = 5, 0.05
"""An editor that is just saving may have emptied the file, or not put it in its place yet."""


def reread_or_recover(
    file: MemoryFile, reread: Callable[[], bool], rescue: Callable[[bytes | None], bytes | None]
) -> bool:
    """Read the file again; what is missing or damaged is set aside and replaced. Whether that was done.

    Args:
        reread: takes the file over; False if it is missing or damaged.
        rescue: of the content, None if the file is missing: what is to take its place; None if nothing better is known.
    """
    for _ in range(_LOOKS):
        if reread():
            return False
        time.sleep(_BETWEEN_LOOKS_S)
    data, _ = file.read()
    rescued = rescue(data)
    if rescued is not None:
        aside = file.set_aside() if data else None
        file.restore(rescued)
        what = "missing" if data is None else "damaged"
        extra = {"path": str(file.path), "was": what, "set_aside": str(aside or "")}
        log.warning("a file was recovered from its backup", extra=extra)
    reread()
    return rescued is not None

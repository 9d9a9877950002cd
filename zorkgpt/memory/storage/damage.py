"""Telling a memory file from what an accident has put in its place.

Both mistakes cost a person something: to set a sound file aside takes from them what they wrote, to take a damaged one
for sound buries the memories under what is none. So a file counts as damaged only if no person can have meant it so:

- It holds nothing but blanks or zeros: a full disk or a power cut leaves that. Whoever wants no memories deletes the
  file, or leaves its first line.
- It has lost its first line and all that was remembered, as a page of an error that was saved over it has, or what a
  truncation left. A heading proves nothing: `## Location 5: X` may stand in any text.
- It has its first line, but is no text, and nothing that was remembered is in it: only a first block is left.
- It has zero bytes in it, which no editor writes, and lacks memories that there were.

Everything else is a person's edit: other encodings, notes, broken headers, memories deleted or added by the hundred, as
long as the first line stands or any memory does. What is set aside is kept as it was found.
"""

import re

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.escaping import decode, one_line
from zorkgpt.memory.storage.lasting import EVERY

_FIRST_LINE = re.compile(rb"^[^a-z\n]*location memories[^a-z\n]*$", re.IGNORECASE | re.MULTILINE)
"""The first line, however an editor or a formatter marks a title."""
_MEMORY = re.compile(rb"^[ \t]*\*\*\[[^\n]+\*\([ \t]*ep", re.IGNORECASE | re.MULTILINE)
_ZERO = b"\x00"
_BLANK = b"\x00 \t\r\n"


def is_sound(data: bytes) -> bool:
    """Return whether nothing speaks against the file, whatever stood in it before."""
    return _ZERO not in data and bool(_FIRST_LINE.search(data)) and _is_text(data)


def is_memory_file(data: bytes) -> bool:
    """Return whether it is a memory file, as far as can be told without knowing what stood in it before."""
    return bool(_FIRST_LINE.search(data) or _MEMORY.search(data))


def is_foreign(data: bytes) -> bool:
    """Return whether it is no memory file and no text either, but another program's file."""
    return bool(data.strip(_BLANK)) and not is_memory_file(data) and not (_ZERO not in data and _is_text(data))


def is_damaged(data: bytes, before: bytes) -> bool:
    """Return whether the file is no longer a memory file.

    Args:
        before: what stood in it as far as it is known, and is to take its place if it is damaged.
    """
    if is_sound(data):
        return False
    if not data.strip(_BLANK):
        return True
    known = _memories(before)
    if _ZERO in data and _ZERO not in before and not _memories(data) >= known:
        return True
    if _MEMORY.search(data) or _says_any(data, known):
        return False
    return not _FIRST_LINE.search(data) or not _is_text(data)


def _memories(data: bytes) -> set[tuple[SubjectKey, str, str]]:
    return {(place, one.title, one.text) for place, one in parse(data).find(EVERY)}


def _says_any(data: bytes, known: set[tuple[SubjectKey, str, str]]) -> bool:
    said = one_line(decode(data))
    return any(text and text in said for _, _, text in known)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

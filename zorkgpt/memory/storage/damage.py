"""Detection of damaged memory files.

Both kinds of mistake are costly. If an intact file is replaced, a person loses their edits. If a damaged file is used,
the memories are lost. So a file counts as damaged only if no person could have intended its content:

- It has only zero bytes and white space, for example after a power cut. An empty file is what a person left who wants
  no memories.
- It has neither its first line nor any memory, for example because an error page was saved over it or it was truncated.
  A heading doesn't matter: `## Location 5: X` may be in any text.
- It has its first line, but isn't text and has no earlier memory. Only the first block is left.
- It has zero bytes, which no editor writes, and lacks earlier memories.

Everything else is an edit: other encodings, notes, broken headers, or hundreds of deleted or added memories, as long as
the first line or any memory remains. A damaged file is renamed, not deleted.
"""

import re

from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.storage.document import parse
from zorkgpt.memory.storage.escaping import decode, single_spaced

_FIRST_LINE = re.compile(rb"^[^a-z\n]*location memories[^a-z\n]*$", re.IGNORECASE | re.MULTILINE)
"""The first line, with any markup of a title."""
_MEMORY = re.compile(
    rb"^[ \t]*(?:\*\*|__)\\?\[(?:(?:success|failure|discovery|danger|note)\b|[^\n]+[*_]\([ \t]*ep)",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginning of a memory, perhaps reprinted by a formatter."""
_ZERO = b"\x00"
_BLANK = b"\x00 \t\r\n"


def is_sound(data: bytes) -> bool:
    """Return whether the file is intact, regardless of its earlier content."""
    return _ZERO not in data and bool(_FIRST_LINE.search(data)) and _is_text(data)


def is_memory_file(data: bytes) -> bool:
    """Return whether it looks like a memory file, regardless of its earlier content."""
    return bool(_FIRST_LINE.search(data) or _MEMORY.search(data))


def is_foreign(data: bytes) -> bool:
    """Return whether it is neither a memory file nor text, so that it belongs to another program."""
    return bool(data.strip(_BLANK)) and not is_memory_file(data) and not (_ZERO not in data and _is_text(data))


def is_damaged(data: bytes, before: bytes) -> bool:
    """Return whether the file is damaged.

    Args:
        before: The last known content.
    """
    if is_sound(data):
        return False
    if not data.strip(_BLANK):
        return _ZERO in data
    earlier = _memories(before)
    if _ZERO in data and _ZERO not in before and not _memories(data) >= earlier:
        return True
    if _MEMORY.search(data) or _contains_text_of_any(data, earlier):
        return False
    return not _FIRST_LINE.search(data) or not _is_text(data)


def _memories(data: bytes) -> set[tuple[SubjectKey, str, str]]:
    by_place = parse(data).by_place()
    return {(place, memory.title, memory.text) for place, memories in by_place.items() for memory in memories}


def _contains_text_of_any(data: bytes, memories: set[tuple[SubjectKey, str, str]]) -> bool:
    content = single_spaced(decode(data))
    return any(text and text in content for _, _, text in memories)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True

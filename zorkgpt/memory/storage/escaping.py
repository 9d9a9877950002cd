"""Escaping: texts in the file are one line, with nothing in them that could pass for structure."""

import re
from functools import lru_cache

# What no editor shows, or shows in another order than it is read: control characters, bidi overrides and
# isolates, the byte order mark, halves of surrogate pairs (which UTF-8 has no bytes for).
HIDDEN = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[!-/:-@\[-`{-~])")
UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as `decode` returns it."""

TITLE = re.compile(rf"[\\*~{HIDDEN}]")
NAME = re.compile(rf"[\\{HIDDEN}]")
TAG = re.compile(rf"[\\*\]\-{HIDDEN}]")
META = re.compile(rf'[\\*(",|{HIDDEN}]')
QUOTED = re.compile(rf'[\\"{HIDDEN}]')
BODY = re.compile(rf"[\\*~{HIDDEN}]|^[#\-\[+_=>`<|]")
"""The characters to escape in a title, a location's name, a header's tags, its parentheses, a quotation, a text."""

EMPTY = "\\"
"""Stands for an empty text, so that the next paragraph is not taken for it."""


def one_line(text: str) -> str:
    return " ".join(text.split())


# What is kept at a place is compared with every new memory there.
@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return the text in one line and without case, for comparing texts."""
    return one_line(text).casefold()


def escape(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(_escaped, one_line(text))


def unescape(text: str) -> str:
    """Undo `escape`; a backslash before a letter or at the end is a backslash."""
    if not text.isascii():
        text = UNDECODED.sub("\ufffd", text)
    if "\\" not in text:
        return text
    return one_line(_ESCAPE.sub(_unescaped, text))


def decode(data: bytes) -> str:
    """Decode any bytes; those that are not UTF-8 come back as the same bytes from `encode`."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return f"\\{char}" if " " < char <= "~" else f"\\u{ord(char):04x}"


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    return escaped if len(escaped) == 1 else chr(int(escaped[1:], 16))

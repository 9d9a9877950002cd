"""Escaping: texts in the file, with nothing in them that could pass for structure."""

import json
import re
from collections.abc import Sequence
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

_FOLDED = re.compile(r"[^\S ]| (?= )")
"""White space of which a line would keep one space."""
_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line for one program or another."""
_UNSAFE_IN_LINE = re.compile(rf"[\\*~{HIDDEN}]|^[#\-\[+_=>`<|]".replace(r"\x00-\x1f", r"\x00-\x08\x0a-\x1f"))
"""The characters to escape in a line of a text of several lines: tabs stay."""
_LINE_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\\s*$")
"""A backslash at the end of a line, as in Markdown, if it is not escaped itself: the next line is one of its own."""

EMPTY = "\\"
"""Stands for an empty text, so that the next paragraph is not taken for it."""


def one_line(text: str) -> str:
    return " ".join(text.split())


def as_kept(text: str) -> str:
    """Return a text as it is kept.

    That is one line with single spaces, or several lines: with their indentation, without spaces at their ends, and
    without blank lines before the first and after the last.
    """
    if not _LINE_END.search(text):
        return one_line(text)
    lines = [line.rstrip() for line in _LINE_END.split(text)]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return "\n".join(lines) if len(lines) > 1 else one_line(text)


# What is kept at a place is compared with every new memory there.
@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return the text in one line and without case, for comparing texts."""
    return one_line(text).casefold()


def escape(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(_escaped, one_line(text))


def escape_text(text: str, eol: str) -> str:
    """Return the text of a memory for the file; a backslash at the end of a line says that the next is its own."""
    text = as_kept(text)
    if "\n" not in text:
        return escape(text, BODY)
    return f"\\{eol}".join(map(_escaped_line, text.split("\n")))


def joined_lines(lines: Sequence[str]) -> str:
    """Join the lines of a text in the file: those that end with a backslash, and those that a person has wrapped.

    What is escaped stays so.
    """
    if not lines:
        return ""
    kept: list[list[str]] = [[]]
    for number, line in enumerate(lines, 1):
        ends = number < len(lines) and _LINE_BREAK.search(line) is not None
        kept[-1].append(line.rstrip()[:-1] if ends else line)
        if ends:
            kept.append([])
    wrapped = (" ".join([part[0].rstrip(), *map(str.strip, part[1:])]) for part in kept)
    return "\n".join(wrapped)


def _escaped_line(line: str) -> str:
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)] + _UNSAFE_IN_LINE.sub(_escaped, rest)


def json_in_a_line(value: object) -> str:
    """Return a value as JSON that is still the same if its white space becomes one space."""
    return _FOLDED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def unescape(text: str) -> str:
    """Undo `escape`; a backslash before a letter or at the end is a backslash."""
    if not text.isascii():
        text = UNDECODED.sub("\ufffd", text)
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_unescaped, text)


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

"""Escaping of texts in the file, so that they can't be read as Markdown structure."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache

# Characters that editors hide or show in another order: control characters, bidi overrides and isolates, the byte order
# mark, and unpaired surrogates (which UTF-8 can't encode).
HIDDEN = r"\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[!-/:-@\[-`{-~])")
UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that is not valid UTF-8, as `decode` returns it."""

TITLE = re.compile(rf"[\\*~{HIDDEN}]")
NAME = re.compile(rf"[\\{HIDDEN}]")
TAG = re.compile(rf"[\\*\]\-{HIDDEN}]")
META = re.compile(rf'[\\*(",|{HIDDEN}]')
QUOTED = re.compile(rf'[\\"{HIDDEN}]')
BODY = re.compile(rf"[\\*~{HIDDEN}]|^[#\-\[+_=>`<|]")
"""The characters to escape in a title, a location's name, a header's tags, its parentheses, a quotation, a text."""

_FOLDED = re.compile(r"[^\S ]| (?= )")
"""White space that `single_spaced` would change."""
_LINE_END = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""The line endings of all common programs."""
_UNSAFE_IN_LINE = re.compile(rf"[\\*~{HIDDEN}]|^[#\-\[+_=>`<|]".replace(r"\x00-\x1f", r"\x00-\x08\x0a-\x1f"))
"""The characters to escape in one of several lines. Tabs are preserved."""
_LINE_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\\s*$")
"""An unescaped backslash at the end of a line: a line break, as in Markdown."""

EMPTY = "\\"
"""Represents an empty text. Without it, the next paragraph would be read as the text."""


def single_spaced(text: str) -> str:
    return " ".join(text.split())


def as_kept(text: str) -> str:
    """Return a text in the form in which it is stored.

    A single line has single spaces. Several lines keep their indentation, but not trailing spaces and surrounding blank
    lines.
    """
    if not _LINE_END.search(text):
        return single_spaced(text)
    lines = [line.rstrip() for line in _LINE_END.split(text)]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    return "\n".join(lines) if len(lines) > 1 else single_spaced(text)


# Cached because every new memory is compared with all memories of its place.
@lru_cache(maxsize=1 << 14)
def folded(text: str) -> str:
    """Return the text in one line and case-folded, for comparisons."""
    return single_spaced(text).casefold()


def escape(text: str, unsafe: re.Pattern[str]) -> str:
    """Return a text in one line for the file."""
    return unsafe.sub(_escaped, text)


def escape_text(text: str, eol: str) -> str:
    """Return the text of a memory, in the form of `as_kept`, for the file. Its line breaks get backslashes."""
    if "\n" not in text:
        return escape(text, BODY)
    return f"\\{eol}".join(map(_escaped_line, text.split("\n")))


def joined_lines(lines: Sequence[str]) -> str:
    """Return the text in these lines of the file, still escaped.

    Lines break only at backslashes. Other lines were wrapped by a person, and are joined.
    """
    if not lines:
        return ""
    wrapped: list[list[str]] = [[]]
    for number, line in enumerate(lines, 1):
        has_break = number < len(lines) and _LINE_BREAK.search(line) is not None
        wrapped[-1].append(line.rstrip()[:-1] if has_break else line)
        if has_break:
            wrapped.append([])
    joined = (" ".join([first.rstrip(), *map(str.strip, others)]) for first, *others in wrapped)
    return "\n".join(joined)


def _escaped_line(line: str) -> str:
    rest = line.lstrip(" \t")
    return line[: len(line) - len(rest)] + _UNSAFE_IN_LINE.sub(_escaped, rest)


def json_in_a_line(value: object) -> str:
    """Return a value as JSON whose white space `single_spaced` doesn't change."""
    return _FOLDED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def unescape(text: str) -> str:
    """Undo `escape`. A backslash before a letter or at the end is literal."""
    if not text.isascii():
        text = UNDECODED.sub("\ufffd", text)
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_unescaped, text)


def decode(data: bytes) -> str:
    """Decode bytes that may not be valid UTF-8. `encode` returns the same bytes."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    return f"\\{char}" if " " < char <= "~" else f"\\u{ord(char):04x}"


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return escaped if len(escaped) == 1 else chr(int(escaped[1:], 16))

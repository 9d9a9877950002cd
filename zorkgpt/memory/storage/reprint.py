"""Markdown as other programs reprint it: with other marks, escapes and line breaks, but the same content."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from html import unescape as decode_entity

RULE = r"(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})"
"""The pattern of a thematic break."""
MARKER = r"(?:(?:<{7}|>{7}|\|{7})(?: [^\n]*)?|={7})"
"""The pattern of a line that a version control system writes into a file with a merge conflict."""
STRONG = r"(?:\*\*|__)"
HEAD = re.compile(rf"{STRONG}\\?\[")
"""The beginning of a memory."""

PANDOC_HEAD = re.compile(rf"^{STRONG}\\\[[^\]]*\\\]", re.MULTILINE)
"""The beginning of a memory with Pandoc's escapes: on both brackets."""
ANCHOR = re.compile(r"[ \t]*\{#[^\s{}]*\}\Z")
"""The anchor that Pandoc writes behind a heading."""
_MARKER_LINE = re.compile(MARKER + r"[ \t\r\n]*")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|(?!~{4}\s*$)~{3,})")
"""The beginning of a code fence. Four tildes are an empty text that is struck out."""
_COMMENT = re.compile(r" {0,3}<!--[ \t]*(.*)", re.DOTALL)
_STRUCTURE = re.compile(rf"\s*(?:#{{1,6}}\s|{STRONG}Visits:|{RULE}\s*$|$)")

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
_RAW_HTML = re.compile(r"`(<[^`]*>)`\{=html\}")
_AUTOLINK = re.compile(r"<((?:https?|ftp|mailto):[^<>\s]*|[^<>\s@\\]+@[^<>\s@]+)>")
_EMPHASIS = re.compile(r"(?<![\\*\w])(\*{1,2})(?![\s*])((?:\\.|[^\\*])+?)(?<!\s)\1(?![*\w])", re.DOTALL)
_QUOTED = re.compile(r'"([^"]*)"')
_CURLY = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "…": "..."})
_TICK = re.compile(r"\\?`")
_TICKS = re.compile(r"\\?`\\?`")

_ITEM = re.compile(r"[ ]{0,3}([0-9]{1,9})([.)])([ \t]+)(?=\S)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_BACKSLASHES = re.compile(r"\\+$")


def is_marker(line: str) -> bool:
    """Return whether the line is a mark of a merge conflict."""
    return _MARKER_LINE.fullmatch(line) is not None


def hidden_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indexes of the lines that belong to code fences and comments, if these are closed."""
    hidden: set[int] = set()
    ends = [at for at, line in enumerate(lines) if "-->" in line]
    unclosed: dict[str, int] = {}
    """The shortest fence of each kind that is not closed."""
    at = 0
    while at < len(lines):
        end = None
        if fence := _FENCE.match(lines[at]):
            kind, size = fence[1][0], len(fence[1])
            if size < unclosed.get(kind, size + 1):
                end = _end_of_fence(lines, at, fence[1])
                if end is None:
                    unclosed[kind] = size
        elif at == 0 or at - 1 in hidden or _begins_comment(lines, at):
            end = _end_of_comment(lines[at], at, ends)
        if end is not None:
            hidden.update(range(at, end + 1))
            at = end
        at += 1
    return frozenset(hidden)


def _end_of_fence(lines: Sequence[str], at: int, fence: str) -> int | None:
    closing = re.compile(rf" {{0,3}}{re.escape(fence)}{fence[0]}*\s*")
    return next((end for end in range(at + 1, len(lines)) if closing.fullmatch(lines[end])), None)


def _begins_comment(lines: Sequence[str], at: int) -> bool:
    """Return whether a comment may begin here. In the middle of a text, it is more likely a part of that text."""
    comment = _COMMENT.match(lines[at])
    if comment is None:
        return False
    within = comment[1].strip()
    is_line = not within or within.endswith("-->") or HEAD.match(within) is not None
    return is_line or _STRUCTURE.match(lines[at - 1]) is not None


def _end_of_comment(line: str, at: int, ends: Sequence[int]) -> int | None:
    """Return the end of the comment that begins in a line, from the indexes of lines that end one."""
    if _COMMENT.match(line) is None:
        return None
    first = at if "-->" in line.partition("<!--")[2] else at + 1
    following = bisect_left(ends, first)
    return ends[following] if following < len(ends) else None


def without_escapes(source: str) -> str:
    """Return inline Markdown without angle brackets of links, and without escapes that JSON doesn't have too."""
    return _AUTOLINK.sub(r"\1", _ESCAPED.sub(lambda match: match[match[1] not in '"\\'], source))


def goes_on(line: str, following: str) -> bool:
    """Return whether a text goes on after empty lines: with a list that was part of it."""
    return bool(_ITEM.match(following)) and line.rstrip().endswith("\\")


def has_curly_quotes(text: str) -> bool:
    """Return whether Pandoc seems to have replaced all straight quotation marks in a text with memories."""
    is_curly = any(quote in text for quote in "“”‘’") and '"' not in text and "'" not in text
    return is_curly and PANDOC_HEAD.search(text) is not None


def original(source: str, *, is_escaped: bool, is_straight: bool = False) -> str:
    """Return inline Markdown with the marks that a memory file has, as far as they can be told.

    In a memory file, asterisks are escaped. So emphasis with asterisks was emphasis with underscores.

    Args:
        is_escaped: Whether the program also escaped characters, and put links into angle brackets.
        is_straight: Whether the program replaced straight quotation marks.
    """
    source = decoded(_RAW_HTML.sub(r"\1", source), is_straight=is_straight)
    if is_escaped:
        source = _AUTOLINK.sub(r"\1", source)
    if "*" in source:
        for _ in range(2):
            source = _EMPHASIS.sub(lambda match: "_" * len(match[1]) + match[2] + "_" * len(match[1]), source)
    return source


def decoded(source: str, *, is_straight: bool = False) -> str:
    """Return inline Markdown without entities, and with straight quotation marks if the program replaced them."""
    source = _ENTITY.sub(_decoded, source)
    return source.translate(_CURLY) if is_straight else source


def _decoded(match: re.Match[str]) -> str:
    char = decode_entity(match[0])
    if char.isspace():
        return " "
    return f"\\{char}" if char.isascii() and char.isprintable() and not char.isalnum() else char


def typographic(source: str) -> str:
    """Return a text with typographic quotation marks and dots."""
    return _QUOTED.sub(r"“\1”", source).replace("...", "…")


def with_code_spaces(text: str) -> str:
    r"""Restore spaces around code in a text that begins with code.

    The memory file escapes the first backtick of a text. So programs see code where there is none, and remove the
    spaces at its ends: "\`look` shows `x`" becomes "\`look`shows`x`".
    """
    if not text.startswith("\\`") or _TICKS.search(text):
        return text
    ticks, pieces = _TICK.findall(text), _TICK.split(text)
    for number in range(2, len(pieces) - 1, 2):
        between = pieces[number]
        if between == between.strip() and any(map(str.isalnum, between)):
            pieces[number] = f" {between} "
    return pieces[0] + "".join(tick + piece for tick, piece in zip(ticks, pieces[1:], strict=True))


def joined(lines: Sequence[str]) -> str:
    """Return the text in these lines, still escaped.

    Lines break at a backslash or two spaces at the end, and before the items of a list if the line above ends with a
    backslash. Formatters separate such lists by blank lines, and number their items anew.
    """
    wrapped: list[list[str]] = [[]]
    items: list[tuple[int, str, str]] = []
    indent = 0
    content = [number for number, line in enumerate(lines) if line.strip()]
    for position, number in enumerate(content):
        line = lines[number].rstrip("\r\n")
        if not wrapped[-1]:
            if item := _ITEM.match(line):
                items.append((len(wrapped) - 1, item[1], item[2]))
                indent = item.end()
                line = line[item.end() :]
            elif items and not line[:indent].strip():
                line = line[indent:]
        following = content[position + 1] if position + 1 < len(content) else None
        kept = line if following is None else _before_break(line, lines[following], is_next=following == number + 1)
        wrapped[-1].append(line if kept is None else kept)
        if kept is not None:
            wrapped.append([])
    broken = [" ".join([first.rstrip(), *map(str.strip, others)]) for first, *others in filter(None, wrapped)]
    is_renumbered = len(items) > 1 and len({number for _, number, _ in items}) == 1
    for count, (begin, first_number, delimiter) in enumerate(items):
        broken[begin] = f"{int(first_number) + count * is_renumbered}{delimiter} {broken[begin]}"
    return "\n".join(broken)


def _before_break(line: str, following: str, *, is_next: bool) -> str | None:
    """Return the line without the mark of a line break at its end, or None if it has none."""
    plain = line.rstrip()
    backslashes = _BACKSLASHES.search(plain)
    count = len(backslashes[0]) if backslashes else 0
    if count % 2:
        return plain[:-1]
    if count and _ITEM.match(following):
        return plain[:-2]
    return plain if is_next and len(line) - len(line.rstrip(" ")) > 1 else None

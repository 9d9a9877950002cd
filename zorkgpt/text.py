"""Functions on text that are shared by all packages."""

import re
from functools import lru_cache
from hashlib import blake2b

SHORT_DIRECTIONS = {
    "n": "north",
    "s": "south",
    "e": "east",
    "w": "west",
    "ne": "northeast",
    "nw": "northwest",
    "se": "southeast",
    "sw": "southwest",
    "u": "up",
    "d": "down",
}
"""Abbreviation → direction."""

_MAX_QUOTE = 200
_ARTICLES = frozenset({"", "the", "a", "an", "some", "your", "my", "his", "her", "their"})
"""Words that replace "the". An empty name gets no article."""

_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)]))\s+")
_STARS = re.compile(r"^[ \t]*\*{3,}.*", re.MULTILINE | re.DOTALL)


def before_stars(response: str) -> str:
    """Return a response without the text after a death, which begins with a line of stars."""
    return _STARS.sub("", response)


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text, with their punctuation."""
    return _SENTENCE_END.split(text)


def whole_sentences(text: str, limit: int) -> str:
    """Return the first sentences that fit into `limit` characters, on one line; "" if none fits."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    kept = ""
    for sentence in sentences_of(line):
        longer = f"{kept} {sentence}".strip()
        if len(longer) > limit:
            break
        kept = longer
    return kept


def normalized_action(action: str) -> str:
    """Return an action in lower case with single spaces, the form in which actions are compared and stored."""
    return " ".join(action.lower().split())


def number_of(count: int, one: str, many: str) -> str:
    """Return a count with its noun: `1 turn`, `2 turns`."""
    return f"{count} {one if count == 1 else many}"


def with_article(name: str) -> str:
    """Return a name with "the", unless it begins with an article or a capital letter."""
    first = name.split(" ")[0]
    return name if first in _ARTICLES or first[:1].isupper() else f"the {name}"


def sentence_case(text: str) -> str:
    """Return the text with a capital first letter."""
    return text[:1].upper() + text[1:]


def quoted(value: object) -> str:
    """Return the `repr` of a value for an error message. The middle of a long one is left out."""
    try:
        text = repr(value)
    except RecursionError:
        text = f"a {type(value).__name__} that is nested too deeply"
    except ValueError:
        # Python can't convert integers of more than 4,300 digits to text.
        text = f"a {type(value).__name__} with a number that is too long"
    if len(text) <= _MAX_QUOTE:
        return text
    half = _MAX_QUOTE // 2
    return f"{text[:half]} [...] {text[-half:]}"


def first_paragraph(response: str) -> str:
    """Return the first paragraph of a response, which describes the action. Later ones describe other events."""
    return response.strip().partition("\n\n")[0]


def visible(text: str) -> str:
    """Return the text as one line, without invisible characters and those that change the text direction."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " if letter.isspace() else "" for letter in text)


def indented(text: str, indent: str = "    ") -> str:
    """Return the text with all lines but the first indented, so that none looks like an item of the list around it."""
    first, *others = text.split("\n")
    return "\n".join([first, *(f"{indent}{line}" if line else "" for line in others)])


def printable(text: str) -> str:
    """Return the text with control characters, except line breaks, replaced by spaces."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)


# Cached, because the texts of a place are compared with every new memory there.
@lru_cache(maxsize=4096)
def key_of(text: str) -> bytes:
    """Return the key of a text in vector stores, a 16-byte hash."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

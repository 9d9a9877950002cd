"""The normal form of a text for the word check: words without case, punctuation and articles, with marks for these."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from zorkgpt.memory.entailment import lexicon

_OPENING, _CLOSING = "\"'“‘«([{*_~「", ".,;:!…\"'”’»)]}*_~。、，；：！」"
_QUOTES = frozenset("\"'“”‘’«»")
_ENDS, _PAUSES = frozenset(".;!…。；！"), frozenset(",:)、，：")
_LONG = 2000
# Case makes a difference in these: "aBc", "kHz", "5 MW", "plan A".
_MAY_COUNT = re.compile(r"[a-z0-9][A-Z]|\d [A-Za-z]{1,2}\b| A\b")
_CASE_COUNTS = re.compile(
    r"\w{0,20}[a-z0-9][A-Z]\w{0,20}|(?<=\d )(?!(?:AM|PM)\b)(?:[A-Za-z]?[A-Z]|[A-Z][a-z])\b|(?<=[a-z0-9] )A\b(?! [A-Z])"
)


@dataclass(frozen=True, slots=True)
class Text:
    """Words in order, with three marks for each."""

    words: tuple[str, ...]
    stops: tuple[str, ...]
    """The punctuation after each word: "" for none, "," for a pause, or "." for the end of a sentence."""
    literal: tuple[bool, ...]
    """Whether the word is in quotes, so that it must match exactly."""
    articles: tuple[bool, ...]
    """Whether there was an article before the word."""

    def part(self, start: int, end: int | None = None) -> "Text":
        cut = slice(start, end)
        return Text(self.words[cut], self.stops[cut], self.literal[cut], self.articles[cut])

    def next_word(self, place: int) -> tuple[str, bool]:
        """Return the next word, and whether it has an article. ("", False) after the last word."""
        following = self.part(place + 1, place + 2)
        return (following.words[0], following.articles[0]) if following.words else ("", False)

    def rotated(self, start: int) -> "Text":
        """Return the text from a word to the end, followed by the words before it."""
        head, rest = self.part(0, start), self.part(start)
        return Text(
            rest.words + head.words,
            rest.stops + head.stops,
            rest.literal + head.literal,
            rest.articles + head.articles,
        )


def read(text: str) -> Text:
    return _read_short(text) if len(text) <= _LONG else _read(text)


@dataclass(slots=True)
class _Word:
    word: str
    stop: str
    literal: bool
    article: bool = False
    compound: int | None = None
    """The index of its hyphenated word, if it is part of one."""


def _read(text: str) -> Text:
    kept = _without_articles(_with_numbers(_split(text)))
    return Text(
        tuple(entry.word for entry in kept),
        tuple(entry.stop for entry in kept),
        tuple(entry.literal for entry in kept),
        tuple(entry.article for entry in kept),
    )


_read_short = lru_cache(maxsize=4096)(_read)


def _split(text: str) -> list[_Word]:
    words: list[_Word] = []
    quoted = False
    for raw in _plain(text).split():
        opened = raw.lstrip(_OPENING)
        core = opened.rstrip(_CLOSING)
        if not core.strip("-•") and _is_sign(raw, first=not words):
            core = opened = raw
        elif raw[0].isdigit() and not quoted and (measure := re.match(r"\d+['\"]", raw)):
            core = measure[0]  # feet and inches
        before, after = raw[: len(raw) - len(opened)], opened[len(core) :]
        if words and ("(" in before or not core.strip("-•")):
            words[-1].stop = words[-1].stop or ","
        if not core.strip("-•"):
            continue
        quoted = quoted or not _QUOTES.isdisjoint(before)
        parts = [core] if quoted else _parts(core)
        compound = len(words) if len(parts) > 1 else None
        words += [_Word(part, "", quoted, compound=compound) for part in parts]
        words[-1].stop = "." if _ENDS & set(after) else "," if _PAUSES & set(after) else ""
        quoted = quoted and _QUOTES.isdisjoint(after)
        if words[-1].stop and words[-1].word in lexicon.NEGATIONS:
            words[-1].word += ","  # "no, exit" is not "no exit"
    return words


def _plain(text: str) -> str:
    plain = _without_case(unicodedata.normalize("NFC", text)).replace("’", "'").replace("—", " - ").strip()
    # Quotes around the whole text don't make its words literal.
    if len(plain) > 1 and plain[0] in '"“«' and plain[-1] in '"”»' and not _QUOTES & set(plain[1:-1]) - {"'"}:
        return plain[1:-1]
    return plain


def _without_case(text: str) -> str:
    """Return the text in lower case, except where case makes a difference. Text in capitals becomes lower case."""
    if _MAY_COUNT.search(text) is None or text == text.upper():
        return text.casefold()
    parts, end = [], 0
    for match in _CASE_COUNTS.finditer(text):
        parts += [text[end : match.start()].casefold(), match[0]]
        end = match.end()
    return "".join([*parts, text[end:].casefold()])


def _is_sign(raw: str, *, first: bool) -> bool:
    """Return whether a sign counts as a word, as in "type * to list", and is not a bullet, a dash or an ellipsis."""
    quoted = raw[0] in _QUOTES and raw[-1] in _QUOTES and len(raw) > 2
    return quoted or (raw == "*" and not first)


def _parts(core: str) -> list[str]:
    if core in lexicon.CONTRACTIONS:
        return lexicon.CONTRACTIONS[core].split()
    if core.endswith("n't"):
        return [core[:-3], "not"]
    if "-" in core and not core.endswith("ing") and re.fullmatch(r"[^\W\d]+(-[^\W\d]+)+", core):
        return core.split("-")
    return [core]


def _with_numbers(entries: list[_Word]) -> list[_Word]:
    """Return the words with numbers as digits: "twenty", "one" become "21"."""
    words: list[_Word] = []
    joinable, compound = False, None
    for entry in entries:
        value = None if entry.literal else lexicon.NUMBERS.get(entry.word)
        if value is None:
            joinable = False
        elif joinable and len(value) == 1 and value != "0" and entry.compound == compound:
            words[-1].word, words[-1].stop = str(int(words[-1].word) + int(value)), entry.stop
            joinable = False
            continue
        else:
            entry.word = value
            joinable, compound = int(value) >= 20 and not entry.stop, entry.compound
        words.append(entry)
    return words


def _without_articles(entries: list[_Word]) -> list[_Word]:
    words: list[_Word] = []
    article = False
    for place, entry in enumerate(entries):
        following = entries[place + 1].word if place + 1 < len(entries) else None
        if entry.word in lexicon.ARTICLES and not entry.literal and not entry.stop and _is_noun_phrase(following):
            article = True
            continue
        entry.article, article = article, False
        words.append(entry)
    return words


def _is_noun_phrase(following: str | None) -> bool:
    """Return whether the word after an "a" makes it an article that can be omitted."""
    return (
        following is not None
        and not following[0].isdigit()
        and following not in lexicon.FUNCTION_WORDS
        and following not in lexicon.KEEPS_ARTICLE
    )

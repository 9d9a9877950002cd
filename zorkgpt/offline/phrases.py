"""Recognize phrases in the game's text, and shorten texts."""

import re

# Phrases that stories use for darkness, and for hostile creatures.
_DARK = re.compile(
    r"\bpitch[- ](?:black|dark)|\btoo dark\b|\bin the dark\b|\b(?:it is|it's|it gets|grows|now) (?:\w+ )?dark\b"
)
_HOSTILE = re.compile(
    r"\b(?:attack|swing|strik|slash|stab|wound|blood|fight|kill|menac|threat|brandish|snarl|growl|lung|block)\w*"
)


_LADEN = re.compile(
    r"\b(?:load|too heavy|too many|too much|can't carry|cannot carry|hands are full|no room"
    r"|what you(?:'re| are) carrying)\b"
)


def is_laden(text: str) -> bool:
    """Return whether the text says that the player can't carry more."""
    return bool(_LADEN.search(text.lower()))


def is_dark(text: str) -> bool:
    """Return whether the text says that it is too dark to see."""
    return bool(_DARK.search(text.lower()))


def is_hostile(text: str) -> bool:
    """Return whether the text says that somebody fights, threatens or blocks an exit."""
    return bool(_HOSTILE.search(text.lower()))


def quoted_words(text: str) -> tuple[str, ...]:
    """Return the single words that a text puts in quotation marks, in lower case."""
    return tuple(dict.fromkeys(match[1].lower() for match in _QUOTED_WORD.finditer(text)))


_QUOTED_WORD = re.compile(r"[\"“]([a-zA-Z]{3,20})[.,!?]?[\"”]")


def topics_in(text: str) -> tuple[str, ...]:
    """Return the words that a text puts in quotation marks or in capitals: names, answers, magic words."""
    return tuple(dict.fromkeys(match[0].strip('"“”.,!?').lower() for match in _TOPIC.finditer(text)))


_TOPIC = re.compile(r"[\"“][a-zA-Z]{3,20}[.,!?]?[\"”]|\b[A-Z]{4,20}\b")


def whole_sentences(text: str, limit: int) -> str:
    """Return the first sentences that fit into `limit` characters, on one line; "" if none fits."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line[: max(0, limit) + 1])]
    return line[: ends[-1]].rstrip() if ends else ""


_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s)")

"""Recognize phrases in the game's text, and shorten texts."""

import re

# Phrases that stories use for darkness.
_DARK = re.compile(
    r"\bpitch[- ](?:black|dark)|\btoo dark\b|\bin the dark\b|\b(?:it is|it's|it gets|grows|now) (?:\w+ )?dark\b"
)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s)")


def is_dark(text: str) -> bool:
    """Return whether the text says that it is too dark to see."""
    return bool(_DARK.search(text.lower()))


def whole_sentences(text: str, limit: int) -> str:
    """Return the first sentences that fit into `limit` characters, on one line; "" if none fits."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    ends = [match.end() for match in _SENTENCE_END.finditer(line[: max(0, limit) + 1])]
    return line[: ends[-1]].rstrip() if ends else ""

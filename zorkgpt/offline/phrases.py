"""Recognize phrases in the game's text."""

import re

# Phrases that stories use for darkness.
_DARK = re.compile(
    r"\bpitch[- ](?:black|dark)|\btoo dark\b|\bin the dark\b|\b(?:it is|it's|it gets|grows|now) (?:\w+ )?dark\b"
)


def is_dark(text: str) -> bool:
    """Return whether the text says that it is too dark to see."""
    return bool(_DARK.search(text.lower()))

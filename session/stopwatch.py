"""Measure the time of an episode by part."""

from collections import defaultdict
from enum import StrEnum
from time import perf_counter


class Part(StrEnum):
    """A part of the loop, including its calls to models."""

    INTERPRETER = "interpreter"
    """Playing the command and determining its effects."""
    MEMORY = "memory"
    """Retrieval and learning."""
    PROMPTS = "prompts"
    """Composing the player's context."""
    PLAYER = "player"
    """The player and the critic, including the rendering of prompts."""
    EXTRACTION = "extraction"
    MANAGERS = "managers"
    """Map, objectives, knowledge, summaries and the other managers."""
    LOGGING = "logging"
    """The log and the record."""
    REST = "the rest"
    """Displays, evaluation, and delays between turns."""


class Stopwatch:
    """Adds up the seconds of each part."""

    def __init__(self) -> None:
        self._seconds: defaultdict[Part, float] = defaultdict(float)
        self._at = perf_counter()

    def begin(self) -> None:
        """Start from zero."""
        self._seconds.clear()
        self._at = perf_counter()

    def lap(self, part: Part) -> None:
        """Add the time since the last lap to a part."""
        now = perf_counter()
        self._seconds[part] += now - self._at
        self._at = now

    def take(self) -> dict[str, float]:
        """Return the seconds by part, and start from zero."""
        taken = {part.value: round(seconds, 6) for part, seconds in self._seconds.items()}
        self._seconds.clear()
        return taken

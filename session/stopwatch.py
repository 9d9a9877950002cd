"""Where the time of an episode goes, by part."""

from collections import defaultdict
from enum import StrEnum
from time import perf_counter


class Part(StrEnum):
    """A part of the loop; each includes the models that it asks."""

    INTERPRETER = "interpreter"
    """Playing the command, and asking what it did."""
    MEMORY = "memory"
    """What is shown of a place, and what a turn teaches."""
    PROMPTS = "prompts"
    """Gathering what the player is told."""
    PLAYER = "player"
    """The player and the critic; a model's prompt is rendered here."""
    EXTRACTION = "extraction"
    MANAGERS = "managers"
    """Map, objectives, knowledge, summaries and the other managers."""
    LOGGING = "logging"
    """Log, journal, checkpoints and state export."""
    REST = "the rest"
    """Displays, the measuring of an evaluation, and a delay between turns."""


class Stopwatch:
    """Adds up the seconds that each part takes, one after the other."""

    def __init__(self) -> None:
        self._seconds: defaultdict[Part, float] = defaultdict(float)
        self._at = perf_counter()

    def begin(self) -> None:
        """Start from zero: what went by before belongs to no part."""
        self._seconds.clear()
        self._at = perf_counter()

    def lap(self, part: Part) -> None:
        """Count what has gone by since the last lap for a part."""
        now = perf_counter()
        self._seconds[part] += now - self._at
        self._at = now

    def take(self) -> dict[str, float]:
        """Return the seconds by part, and start from zero."""
        taken = {part.value: round(seconds, 6) for part, seconds in self._seconds.items()}
        self._seconds.clear()
        return taken

"""What is said of a turn, a memory, a score in one line of a terminal."""

from session.history import Rejection, TurnRecord
from zorkgpt.memory.models import MemoryEvent
from zorkgpt.returning import RETURN

RESPONSE_LIMIT = 400
"""Characters of the game's answer that a display shows."""
_SIGN = {
    "added": "+",
    "seen again": "=",
    "merged": "=",
    "superseded": "~",
    "contested": "?",
    "qualified": "~",
    "invalidated": "✗",
    "ignored": "·",
}


def printable(text: str, limit: int | None = None) -> str:
    """The text without anything that a terminal would obey, at most `limit` characters of it."""
    clean = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    return clean if limit is None or len(clean) <= limit else clean[: limit - 1] + "…"


def score_line(score: int | None, most: int | None) -> str:
    if score is None:
        return "score unknown"
    return f"{score}" if most is None else f"{score}/{most}"


def repeated(record: TurnRecord) -> str:
    """Said of a turn that an earlier episode's command was repeated on."""
    return "  (returning)" if record.player == RETURN else ""


def rejected(rejection: Rejection) -> str:
    """One line: what was proposed and not played, and why."""
    return f"! not played: {rejection.action} — {rejection.reason}"


def remembered(event: MemoryEvent) -> str:
    """One line: what happened to which memory."""
    kind = f"{event.category} {event.persistence}".strip().lower()
    detail = f" — {event.detail}" if event.detail else ""
    return f"{_SIGN.get(event.kind, ' ')} {event.kind}: {event.title} [{kind}]{detail}"


def style_of(event: MemoryEvent) -> str:
    styles = {"added": "green", "seen again": "dim", "superseded": "yellow", "invalidated": "red"}
    return styles.get(event.kind, "dim")

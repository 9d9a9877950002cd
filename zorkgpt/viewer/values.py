"""What a log may hold, as values that the page can rely on: a damaged or foreign line must not break it."""

from typing import Any

SHOWN_CHARACTERS = 4000
"""Of a text in a list; the whole of it is told when it is asked for."""
_SPAN = 1_000_000


def moment(episode: int, turn: int) -> int:
    """A turn of an episode as one number: later is larger."""
    return episode * _SPAN + turn


def whole_number(value: Any) -> int | None:
    """None: it is no whole number that the page's own numbers can hold."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return value if fits else None


def number(value: Any) -> float | None:
    """None: it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -1e300 < value < 1e300 else None


def text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def cut(value: Any, limit: int = SHOWN_CHARACTERS) -> str:
    words = text(value)
    return words if len(words) <= limit else words[:limit]


def texts(value: Any, limit: int = SHOWN_CHARACTERS, count: int = 500) -> list[str]:
    return [cut(one, limit) for one in value[:count]] if isinstance(value, list) else []


def objects(value: Any, count: int = 500) -> list[dict[str, Any]]:
    return [one for one in value[:count] if isinstance(one, dict)] if isinstance(value, list) else []

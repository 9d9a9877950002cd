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


def plain(value: Any, limit: int = SHOWN_CHARACTERS, *, depth: int = 4) -> Any:
    """Whatever a log may hold, bounded in length and depth, and with numbers that every reader of JSON knows."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        known = whole_number(value) if isinstance(value, int) else number(value)
        return text(value) if known is None else known
    if isinstance(value, list) and depth:
        return [plain(one, limit, depth=depth - 1) for one in value[:200]]
    if isinstance(value, dict) and depth:
        return {cut(name, 80): plain(one, limit, depth=depth - 1) for name, one in list(value.items())[:60]}
    return cut(value, limit)

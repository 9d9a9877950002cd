"""The turns before this one, from whatever a game state keeps of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from zorkgpt.log import get_logger
from zorkgpt.memory.learning.synthesis import RecentTurn

log = get_logger(__name__)

DEFAULT_WINDOW = 3
_LONG_WINDOW = 10


def checked_window(window: Any) -> int:
    """How many turns a synthesis sees: at least one; many cost tokens on every turn."""
    if not isinstance(window, int) or isinstance(window, bool):
        return DEFAULT_WINDOW
    if window < 1:
        log.warning("memory_history_window is under 1", extra={"given": window, "used": DEFAULT_WINDOW})
        return DEFAULT_WINDOW
    if window > _LONG_WINDOW:
        log.warning("memory_history_window is over 10: every synthesis gets long", extra={"given": window})
    return window


def recent_turns(actions: Any, reasoning: Any, window: int) -> tuple[RecentTurn, ...]:
    """The last turns, oldest first.

    Args:
        actions: objects or dicts with `turn, location_name, action, response` or some of these, or pairs of
            action and response.
        reasoning: objects or dicts with `turn` and `reasoning`, matched by their turn; for pairs by `action`, from the
            last one back, and perhaps with `location`, the place's name.
    """
    notes = _last(reasoning, 2 * window)
    thoughts = {_field(entry, "turn"): str(_field(entry, "reasoning") or "") for entry in notes}
    found = []
    for entry in reversed(_last(actions, window)):
        pair = isinstance(entry, (tuple, list)) and len(entry) >= 2
        note = notes.pop() if pair and notes and _field(notes[-1], "action") == entry[0] else None
        found.append(_noted(entry, note) if note is not None else _turn(entry, thoughts))
    return tuple(reversed(found))


def _noted(pair: Any, note: Any) -> RecentTurn:
    turn = _field(note, "turn")
    return RecentTurn(
        turn if isinstance(turn, int) else 0,
        str(_field(note, "location") or ""),
        str(pair[0]),
        str(pair[1]),
        str(_field(note, "reasoning") or ""),
    )


def _turn(entry: Any, thoughts: Mapping[Any, str]) -> RecentTurn:
    if isinstance(entry, RecentTurn):
        return entry
    if isinstance(entry, (tuple, list)) and len(entry) >= 2:
        return RecentTurn(0, "", str(entry[0]), str(entry[1]))
    turn = _field(entry, "turn")
    return RecentTurn(
        turn if isinstance(turn, int) else 0,
        str(_field(entry, "location_name") or ""),
        str(_field(entry, "action") or ""),
        str(_field(entry, "response") or ""),
        str(_field(entry, "reasoning") or thoughts.get(turn, "")),
    )


def _last(entries: Any, count: int) -> list[Any]:
    if isinstance(entries, list):
        return entries[-count:]
    return list(entries)[-count:] if isinstance(entries, Iterable) and not isinstance(entries, (str, Mapping)) else []


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)

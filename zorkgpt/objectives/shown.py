"""The pursued objectives as the lines that a player is told."""

from collections.abc import Callable, Iterable, Mapping

from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.objectives.models import Objective, Status

_MOST_TOKENS = 300


def lines(
    objectives: Iterable[Objective],
    rooms: Mapping[int, str],
    *,
    most: int,
    most_tokens: int = _MOST_TOKENS,
    count_tokens: Callable[[str], int] = estimated_tokens,
) -> tuple[str, ...]:
    """As many as fit, whole, in the given order."""
    shown: list[str] = []
    left = most_tokens
    for one in objectives:
        line = line_of(one, rooms)
        cost = count_tokens(f"- {line}\n")
        if len(shown) < most and cost <= left:
            left -= cost
            shown.append(line)
    return tuple(shown)


def line_of(one: Objective, rooms: Mapping[int, str]) -> str:
    """What is wanted, when it is done, where, and what is known of it."""
    parts = [one.text.rstrip(".")]
    if one.condition.text != one.text:
        parts.append(f"done when {one.condition.text}".rstrip("."))
    if places := [f"{rooms[place]} ({place})" for place in one.places if place in rooms]:
        parts.append(f"at {', '.join(places)}")
    if one.evidence:
        last = one.evidence[-1]
        parts.append(f"reached in episode {last.moment.episode}, turn {last.moment.turn}, by {last.words}")
    if one.status is Status.STALE:
        parts.append("nothing has come of it for a while")
    return "; ".join(parts)

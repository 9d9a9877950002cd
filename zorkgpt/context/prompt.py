"""Which sections a role is told, in which order; as a prompt, or as plain data."""

from collections.abc import Callable, Iterable
from typing import Any

from session.sections import ContextSection
from zorkgpt.context.mind import knowledge, notices, objectives
from zorkgpt.context.past import history, reasoning, refused, response, summary
from zorkgpt.context.place import certain, dangers, exits, failed_here, known_points, memories, room_description
from zorkgpt.context.section import Section
from zorkgpt.player import PlayerContext

Part = Callable[[PlayerContext, ContextSection], Section]

DEFAULT_BUDGETS = ContextSection()

_AGENT: tuple[Part, ...] = (
    certain,
    exits,
    failed_here,
    memories,
    dangers,
    known_points,
    objectives,
    knowledge,
    notices,
    summary,
    history,
    reasoning,
    room_description,
    response,
    refused,
)
"""What is certain first, what the answer is to come last."""
_CRITIC: tuple[Part, ...] = tuple(part for part in _AGENT if part is not refused)


def agent_sections(context: PlayerContext, budgets: ContextSection) -> tuple[Section, ...]:
    """What the agent is told, without what is empty."""
    return _told(_AGENT, context, budgets)


def critic_sections(context: PlayerContext, budgets: ContextSection) -> tuple[Section, ...]:
    """What the critic is told: the same in half the room, since it judges one command and is asked as often."""
    return _told(_CRITIC, context, halved(budgets))


def agent_values(context: PlayerContext, budgets: ContextSection) -> dict[str, Any]:
    """What the agent is told, as plain data; the keys are always the same."""
    return _values(part(context, budgets) for part in _AGENT)


def critic_values(context: PlayerContext, budgets: ContextSection) -> dict[str, Any]:
    return _values(part(context, halved(budgets)) for part in _CRITIC)


def halved(budgets: ContextSection) -> ContextSection:
    halves = {name: value // 2 for name, value in budgets if name.endswith("_tokens")}
    return budgets.model_copy(update=halves)


def most_tokens(budgets: ContextSection, *, memories: int) -> int:
    """What all sections together may take.

    Args:
        memories: tokens of all memories of a place, which keep to a budget of their own.
    """
    return sum(value for name, value in budgets if name.endswith("_tokens")) + memories + _VISITS_AND_FENCE_TOKENS


_VISITS_AND_FENCE_TOKENS = 40


def _told(parts: Iterable[Part], context: PlayerContext, budgets: ContextSection) -> tuple[Section, ...]:
    sections = (part(context, budgets) for part in parts)
    return tuple(section for section in sections if section.text)


def _values(sections: Iterable[Section]) -> dict[str, Any]:
    values: dict[str, Any] = {"left_out": {}}
    for section in sections:
        values |= section.values
        if section.left_out:
            values["left_out"][section.heading.lstrip("# ")] = section.left_out
    return values

"""The sections that the agent and the critic are shown, in their order, for a prompt or as plain data."""

from collections.abc import Callable, Iterable
from typing import Any

from session.sections import ContextSection
from zorkgpt.context.prompt_section import PromptSection
from zorkgpt.context.sections import (
    certain,
    dangers,
    exits,
    failed_here,
    history,
    knowledge,
    known_points,
    memories,
    notices,
    objectives,
    question,
    reasoning,
    refused,
    response,
    room_description,
    summary,
    untried_elsewhere,
)
from zorkgpt.player import PlayerContext

SectionBuilder = Callable[[PlayerContext, ContextSection], PromptSection]

DEFAULT_BUDGETS = ContextSection()

_AGENT: tuple[SectionBuilder, ...] = (
    certain,
    exits,
    untried_elsewhere,
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
    question,
    refused,
)
"""The certain facts come first, what the answer refers to comes last."""
_CRITIC: tuple[SectionBuilder, ...] = tuple(build for build in _AGENT if build is not refused)


def agent_sections(context: PlayerContext, budgets: ContextSection) -> tuple[PromptSection, ...]:
    """Return the sections that the agent is shown, without the empty ones."""
    return _shown(_AGENT, context, budgets)


def critic_sections(context: PlayerContext, budgets: ContextSection) -> tuple[PromptSection, ...]:
    """Return the sections that the critic is shown: half as long, since it only judges one command."""
    return _shown(_CRITIC, context, halved(budgets))


def agent_values(context: PlayerContext, budgets: ContextSection) -> dict[str, Any]:
    """Return what the agent is shown as plain data; the keys are always the same."""
    return _values(build(context, budgets) for build in _AGENT)


def critic_values(context: PlayerContext, budgets: ContextSection) -> dict[str, Any]:
    """Return what the critic is shown as plain data; the keys are always the same."""
    return _values(build(context, halved(budgets)) for build in _CRITIC)


def halved(budgets: ContextSection) -> ContextSection:
    """Return the budgets with half the tokens for every section."""
    return scaled(budgets, 0.5)


def scaled(budgets: ContextSection, share: float) -> ContextSection:
    """Return the budgets with this share of the tokens for every section."""
    parts = {name: int(value * share) for name, value in budgets if name.endswith("_tokens")}
    return budgets.model_copy(update=parts)


def most_tokens(budgets: ContextSection, *, memories: int) -> int:
    """Return the tokens that all sections together may take.

    Args:
        memories: The tokens of all memories of a place, which keep to a budget of their own.
    """
    sections = sum(int(value) for name, value in budgets if name.endswith("_tokens"))
    return sections + memories + _VISITS_AND_FENCE_TOKENS


_VISITS_AND_FENCE_TOKENS = 40


def _shown(
    builders: Iterable[SectionBuilder], context: PlayerContext, budgets: ContextSection
) -> tuple[PromptSection, ...]:
    sections = (build(context, budgets) for build in builders)
    return tuple(section for section in sections if section.text)


def _values(sections: Iterable[PromptSection]) -> dict[str, Any]:
    values: dict[str, Any] = {"left_out": {}}
    for section in sections:
        values |= section.values
        if section.left_out:
            values["left_out"][section.heading.lstrip("# ")] = section.left_out
    return values

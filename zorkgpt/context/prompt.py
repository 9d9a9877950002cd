"""The order and the budgets of the sections in the prompts of the agent and the critic."""

from collections.abc import Callable, Iterable

from session.sections import ContextSection
from zorkgpt.context.prompt_section import PromptSection
from zorkgpt.context.sections import (
    best_line,
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
    refused,
    response,
    room_description,
    untried_elsewhere,
)
from zorkgpt.player import PlayerContext

SectionBuilder = Callable[[PlayerContext, ContextSection], PromptSection]

DEFAULT_BUDGETS = ContextSection()

_STATE: tuple[SectionBuilder, ...] = (
    certain,
    room_description,
    exits,
    dangers,
    failed_here,
    memories,
    knowledge,
    best_line,
    known_points,
    untried_elsewhere,
    objectives,
    notices,
    response,
    question,
)
_AGENT = (history, *_STATE, refused)
"""The history comes first, because it grows at its end and servers can cache it."""
_CRITIC = (history, *_STATE)
_PLAIN = (history, response, question)


def agent_sections(context: PlayerContext, budgets: ContextSection) -> tuple[PromptSection, ...]:
    """Return the nonempty sections of the agent's prompt."""
    return _shown(_AGENT, context, budgets)


def plain_sections(context: PlayerContext, budgets: ContextSection) -> tuple[PromptSection, ...]:
    """Return the nonempty sections of a plain agent's prompt: the history and the game's question."""
    return _shown(_PLAIN, context, budgets)


def critic_sections(context: PlayerContext, budgets: ContextSection) -> tuple[PromptSection, ...]:
    """Return the nonempty sections of the critic's prompt, with smaller budgets."""
    return _shown(_CRITIC, context, for_critic(budgets))


def for_critic(budgets: ContextSection) -> ContextSection:
    """Return the budgets of the critic's prompt: half of the agent's, with only the last turns."""
    half = scaled(budgets, 0.5)
    return half.model_copy(update={"history_tokens": min(half.history_tokens, _CRITIC_HISTORY_TOKENS)})


def scaled(budgets: ContextSection, share: float) -> ContextSection:
    """Return the budgets with all tokens multiplied by this share."""
    parts = {name: int(value * share) for name, value in budgets if name.endswith("_tokens")}
    return budgets.model_copy(update=parts)


def fitted(context: PlayerContext, budgets: ContextSection, tokens: int) -> ContextSection:
    """Return budgets with which the agent's sections fit into this many tokens.

    The history gets the tokens that the other sections leave, in steps, so that its first turn rarely changes. If that
    is too little, all budgets are reduced by the same factor.
    """
    for share in _SHARES:
        parts = scaled(budgets, share)
        # Without a history, the description of the room is always included.
        least = parts.model_copy(update={"history_tokens": 0})
        room = tokens - sum(section.tokens for section in _shown((*_STATE, refused), context, least))
        if room >= max(history(context, least).tokens, tokens // 4):
            break
    step = _HISTORY_STEP if room > 2 * _HISTORY_STEP else 1
    return parts.model_copy(update={"history_tokens": min(parts.history_tokens, max(0, room // step * step))})


_SHARES = (1.0, 0.75, 0.5, 0.25, 0.1)
"""Shares of the budgets to try until a prompt fits into a model's context."""
_HISTORY_STEP = 500
"""Tokens."""
_CRITIC_HISTORY_TOKENS = 600


def _shown(
    builders: Iterable[SectionBuilder], context: PlayerContext, budgets: ContextSection
) -> tuple[PromptSection, ...]:
    sections = (build(context, budgets) for build in builders)
    return tuple(section for section in sections if section.text)

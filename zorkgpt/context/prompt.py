"""The order and the budgets of the sections in the prompts of the agent and the critic."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from zorkgpt.context import sections
from zorkgpt.context.prompt_section import PromptSection
from zorkgpt.context.sections import DEFAULT_BUDGETS, RESPONSE_TOKENS, Budgets
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import PlayerContext

Section = tuple[str, int, Callable[[PlayerContext, int], str]]
"""A heading, the maximum tokens with the heading, and the function that returns the text below it."""

KNOWLEDGE_TOKENS = 400
"""Maximum tokens of the knowledge base."""
_RESPONSE: Section = ("## What the game says now", RESPONSE_TOKENS, sections.response)
_QUESTION: Section = ("## The game asks", RESPONSE_TOKENS, sections.question)
_STATE: tuple[Section, ...] = (
    ("## Certain, from the game's own memory", 500, sections.certain),
    ("## ROOM DESCRIPTION{ago}:", 400, sections.room_description),
    ("## Exits from here", 300, sections.exits),
    ("## Remembered dangers", 160, sections.dangers),
    ("## Tried here without effect", 200, sections.failed_here),
    ("## Memories of this place", 0, sections.memories),
    ("## Knowledge of this game from earlier turns", KNOWLEDGE_TOKENS, sections.knowledge),
    ("## Best line so far", 120, sections.best_line),
    ("## Known points not scored yet in this episode", 250, sections.known_points),
    ("## Untried exits and things elsewhere, nearest first", 80, sections.untried_elsewhere),
    ("## Objectives", 140, sections.objectives),
    ("## Notices about your play", 200, sections.notices),
    _RESPONSE,
    _QUESTION,
)
AGENT: tuple[Section, ...] = (*_STATE, ("## Not accepted", 200, sections.refused))
CRITIC = _STATE
PLAIN = (_RESPONSE, _QUESTION)

CRITIC_BUDGETS = Budgets(history=600, share=0.5)

_SHARES = (1.0, 0.75, 0.5, 0.25, 0.1)
"""Shares of the budgets to try until a prompt fits into a model's context."""
_HISTORY_STEP = 500
"""Tokens."""


def prompt_sections(
    table: Iterable[Section], context: PlayerContext, budgets: Budgets = DEFAULT_BUDGETS
) -> tuple[PromptSection, ...]:
    """Return the nonempty sections of a prompt: the episode so far, then those of a table.

    The history comes first, because it grows at its end and servers can cache it.
    """
    history = _history(context, budgets)
    return ((history,) if history.text else ()) + _below_the_history(table, context, budgets)


def fitted(context: PlayerContext, budgets: Budgets, tokens: int) -> Budgets:
    """Return budgets with which the agent's sections fit into this many tokens.

    The history gets the tokens that the other sections leave, in steps, so that its first turn rarely changes. If that
    is too little, all budgets are reduced by the same factor.
    """
    for share in _SHARES:
        # Without a history, the description of the room is always included.
        parts = Budgets(0, share)
        room = tokens - sum(section.tokens for section in _below_the_history(AGENT, context, parts))
        if room >= max(_history(context, parts).tokens, tokens // 4):
            break
    step = _HISTORY_STEP if room > 2 * _HISTORY_STEP else 1
    return replace(parts, history=min(budgets.history, max(0, room // step * step)))


def _history(context: PlayerContext, budgets: Budgets) -> PromptSection:
    return PromptSection("## The episode so far", sections.history(context, budgets))


def _below_the_history(table: Iterable[Section], context: PlayerContext, budgets: Budgets) -> tuple[PromptSection, ...]:
    if sections.was_just_described(context, budgets):
        context = replace(context, room_description=None)
    age, shown = context.room_description_age, []
    ago = f" ({age} turn{'' if age == 1 else 's'} ago)" if age else ""
    for heading, tokens, text_of in table:
        heading = heading.format(ago=ago)
        text = text_of(context, budgets.of(tokens) - estimated_tokens(f"{heading}\n\n\n"))
        if text:
            shown.append(PromptSection(heading, text))
    return tuple(shown)

"""The turns of the episode as text.

The text of a turn depends on that turn alone, and old turns are dropped in blocks. So the beginning of a prompt stays
the same from turn to turn, and servers can cache it.
"""

import re
from collections.abc import Sequence

from zorkgpt.context.prompt_section import (
    beginning,
    both_ends,
    first_sentences,
    last_sentences,
    middle_left_out,
)
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.prompts.render import fence, one_line

_REASONS_TOKENS = 80
"""The tokens of the reasons of a turn: their end, where the conclusion is."""
_OUTCOME_TOKENS = 100
"""The tokens of what a turn changed."""
_ACTION_TOKENS = 40
"""The tokens of a command, which is one short line."""
_NAME_TOKENS = 20
"""The tokens of the name of a place; stories have shorter ones."""


def turn_text(turn: RecentTurn, response_tokens: int) -> str:
    """Return a turn: where, what and why, the response, and what changed.

    Args:
        response_tokens: The maximum tokens of the response; its middle is left out if it is longer.
    """
    reasons = last_sentences(turn.reasoning, _REASONS_TOKENS)
    because = f", because {one_line(reasons)}" if reasons else ""
    response = fence(middle_left_out(turn.response.strip(), response_tokens)[0])
    changed = f"\nChanged: {changes(turn)}" if turn.outcome else ""
    return f"Turn {turn.turn}{_where(turn)}: {_action(turn)}{because}\n{response}{changed}"


def opening_text(opening: str, response_tokens: int) -> str:
    """Return what the game printed before the first turn."""
    return f"The game begins:\n{fence(beginning(opening.strip(), response_tokens)[0])}"


def turn_line(turn: RecentTurn, *, tokens: int) -> str:
    """Return a turn in one line, with both ends of the response.

    Args:
        tokens: The maximum tokens of the reasons and of the response, each.
    """
    reasons = last_sentences(turn.reasoning, tokens)
    because = f", because {one_line(reasons)}" if reasons else ""
    response = one_line(both_ends(without_heading(turn), tokens))
    changed = f" ({changes(turn)})" if turn.outcome else ""
    return f"Turn {turn.turn}{_where(turn)}: {_action(turn)}{because}. The game: {response}{changed}"


def changes(turn: RecentTurn) -> str:
    """Return what a turn changed, as far as the player could see; "" if nothing."""
    return one_line(first_sentences("; ".join(turn.outcome), _OUTCOME_TOKENS)) if turn.outcome else ""


def first_shown(costs: Sequence[int], tokens: int) -> int:
    """Return the index of the first turn that is shown, given the tokens of each.

    When the turns outgrow the tokens, the oldest are dropped until the rest takes half of them. The last turn is never
    dropped.
    """
    first = total = 0
    for at, cost in enumerate(costs):
        total += cost
        if total > tokens:
            while first < at and total > tokens // 2:
                total -= costs[first]
                first += 1
    return first


def shown_from(turns: Sequence[RecentTurn], history_tokens: int, response_tokens: int) -> int:
    """Return the index of the first of these turns that is shown in a history of so many tokens."""
    costs = [estimated_tokens(f"{turn_text(turn, response_tokens)}\n\n") for turn in turns]
    return first_shown(costs, history_tokens)


def without_heading(turn: RecentTurn) -> str:
    """Return the response without the heading of the place that the player came to."""
    text = turn.response.strip()
    first, _, rest = text.partition("\n")
    is_heading = turn.arrived and re.fullmatch(rf"{re.escape(turn.arrived)}(?:\s*[,(].*)?", first.strip())
    return rest.strip() if is_heading else text


def _where(turn: RecentTurn) -> str:
    place = f", {_name(turn.location_name)}" if turn.location_name else ""
    return f"{place} to {_name(turn.arrived)}" if turn.arrived else place


def _name(name: str) -> str:
    return one_line(first_sentences(name, _NAME_TOKENS))


def _action(turn: RecentTurn) -> str:
    return one_line(first_sentences(turn.action, _ACTION_TOKENS))

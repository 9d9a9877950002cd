"""The sections about this episode's turns: the oldest summarised, then a line for each, the last few with reasons."""

from collections.abc import Sequence

from session.sections import ContextSection
from zorkgpt.context.section import (
    Section,
    fence_tokens,
    first_sentences,
    last_sentences,
    left_out_note,
    newest,
    text_section,
)
from zorkgpt.memory.synthesis import RecentTurn
from zorkgpt.player import PlayerContext
from zorkgpt.prompts.render import fence, one_line

REASONED_TURNS = 3
"""The last turns, which are shown with their reasons."""
_HEADING_TOKENS = 20
"""Of the heading and of the line that says what was left out."""
_LINE_RESPONSE_TOKENS = 30
"""Of a past response in a turn's single line: its first sentence or two."""
_ACTION_TOKENS = 40
"""Of a past command, which is one short line."""
REASONING_HEADING = "## Previous Reasoning and Actions"
NOTHING_RECORDED = "(No reasoning recorded)"
_IS_BELOW = "(what the game says now, below)"


def summary(context: PlayerContext, budgets: ContextSection) -> Section:
    heading = f"## Earlier in this episode: turns 1 to {context.summarised_to}, summarised"
    return text_section(heading, context.summary, budgets.summary_tokens, lambda shown: {"summary": shown})


def history(context: PlayerContext, budgets: ContextSection) -> Section:
    """The turns between the summary and the last few, as many of the newest as fit."""
    heading = "## Turns before the last ones"
    earlier = context.recent[:-REASONED_TURNS]
    count = fitting_history(earlier, budgets.history_tokens)
    shown = earlier[len(earlier) - count :]
    first = (shown or context.recent[-REASONED_TURNS:] or (None,))[0]
    left_out = max(0, first.turn - 1 - context.summarised_to) if first else 0
    lines = [f"({left_out} earlier turn{'' if left_out == 1 else 's'} left out)"] * bool(left_out)
    lines += map(turn_line, shown)
    return Section(heading, "\n".join(lines), {"recent": [_values(turn) for turn in context.recent]}, left_out)


def fitting_history(turns: Sequence[RecentTurn], tokens: int) -> int:
    """For how many of these turns, counted from the newest, there is room in the history."""
    return newest(map(turn_line, reversed(turns)), tokens - 2 * _HEADING_TOKENS)


def turn_line(turn: RecentTurn) -> str:
    """A past turn in one line."""
    response = one_line(first_sentences(turn.response, _LINE_RESPONSE_TOKENS))
    place = f", at {one_line(turn.location_name)}" if turn.location_name else ""
    action = one_line(first_sentences(turn.action, _ACTION_TOKENS))
    return f"- Turn {turn.turn}{place}: {action}, and the game said {response}"


def reasoning(context: PlayerContext, budgets: ContextSection) -> Section:
    last = context.recent[-REASONED_TURNS:]
    text, left_out = _reasoned(last, budgets.reasoning_tokens, context.response)
    # By itself it holds the last response too, which the prompt shows further below.
    values = {"reasoning": reasoning_formatted(last, budgets.reasoning_tokens)}
    return Section(REASONING_HEADING, text, values, left_out)


def reasoning_formatted(turns: Sequence[RecentTurn], tokens: int) -> str:
    """Turns under their heading, each with its reasons, action and response; "" before the first turn."""
    text, _ = _reasoned(turns, tokens)
    return f"{REASONING_HEADING}\n\n{text}" if text else ""


def response(context: PlayerContext, budgets: ContextSection) -> Section:
    """What the game printed last; nothing is said twice."""
    heading = "## What the game says now"
    if is_room_description(context):
        return Section(heading, "The description of the room, above.", {"response": context.response})
    return text_section(heading, context.response, budgets.response_tokens, lambda shown: {"response": shown})


def is_room_description(context: PlayerContext) -> bool:
    """Whether all that the game said last is the description of the room."""
    room = context.room_description
    return room is not None and room.strip() == context.response.strip()


def refused(context: PlayerContext, budgets: ContextSection) -> Section:
    """Why the last proposal for this turn was not played."""
    heading = "## Not accepted"
    told = text_section(heading, context.refused or "", budgets.refused_tokens - 60, lambda shown: {"refused": shown})
    if not told.text:
        return Section(heading, "", {"refused": None})
    before = "Your last proposal for this turn was not carried out, for this reason:"
    after = (
        "Choose another command. If you are sure that the reason is wrong, give the same one again: it is then played."
    )
    return Section(heading, f"{before}\n{told.text}\n{after}", told.values, told.left_out)


def _reasoned(turns: Sequence[RecentTurn], tokens: int, now: str | None = None) -> tuple[str, int]:
    # An even share for each turn: half of it for the reasons, a third for the response, the rest for the words around.
    said = "\n".join(f"{turn.reasoning}\n{turn.action}\n{turn.response}" for turn in turns)
    room = tokens - _HEADING_TOKENS - fence_tokens(said)
    entries = [_entry(turn, room // max(1, len(turns)), now if turn is turns[-1] else None) for turn in turns]
    count = newest((f"{entry}\n" for entry in reversed(entries)), room)
    left_out = len(entries) - count
    note = f"\n{left_out_note(left_out, 'turn')}" if left_out else ""
    return (fence("\n\n".join(entries[left_out:])) + note if count else ""), left_out


def _entry(turn: RecentTurn, tokens: int, now: str | None) -> str:
    # A conclusion stands at the end of its reasons, what happened at the beginning of a response.
    reasons = last_sentences(turn.reasoning, tokens // 2) or NOTHING_RECORDED
    is_below = turn.response == now and turn.response.strip()
    response = _IS_BELOW if is_below else first_sentences(turn.response, tokens // 3) or "(nothing)"
    action = first_sentences(turn.action, _ACTION_TOKENS)
    return f"Turn {turn.turn}:\nReasoning: {reasons}\nAction: {action}\nResponse: {response}"


def _values(turn: RecentTurn) -> dict:
    return {
        "turn": turn.turn,
        "location": turn.location_name,
        "action": turn.action,
        "response": turn.response,
        "reasoning": turn.reasoning,
    }

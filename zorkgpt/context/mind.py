"""The sections about what the player is after, what it knows of the game, and what it should know of itself."""

from collections.abc import Sequence

from session.sections import ContextSection
from zorkgpt.context.section import Section, list_section
from zorkgpt.player import PlayerContext
from zorkgpt.prompts.render import one_line


def objectives(context: PlayerContext, budgets: ContextSection) -> Section:
    return _lines("## Objectives", "objectives", context.objectives, budgets.objectives_tokens)


def knowledge(context: PlayerContext, budgets: ContextSection) -> Section:
    """Lines of the knowledge base that apply here; like memories, they may be wrong."""
    return _lines("## Known of this game from earlier turns", "knowledge", context.knowledge, budgets.knowledge_tokens)


def notices(context: PlayerContext, budgets: ContextSection) -> Section:
    return _lines("## Notices about your play", "notices", context.notices, budgets.notices_tokens)


def _lines(heading: str, key: str, lines: Sequence[str], tokens: int) -> Section:
    return list_section(heading, lines, lambda line: f"- {one_line(line)}", tokens, lambda kept: {key: kept})

"""The outcomes of actions that the rules distinguish, read from the fields of a memory."""

from enum import StrEnum

from zorkgpt.memory.claims import Relation
from zorkgpt.memory.credit import ENOUGH_SAFE, is_danger, is_observed_loss, times_safe
from zorkgpt.memory.models import Category, Memory
from zorkgpt.text import normalized_action


class ActionOutcome(StrEnum):
    """The outcome of an action at a place. If several are remembered, the first in this order counts."""

    KILLS = "kills"
    KILLS_UNLIT = "kills in the dark"
    LOSES = "loses"
    """Costs points or things."""
    SCORES = "scores"
    TAKES = "takes"
    WORKS = "works"
    LEADS = "leads"
    TELLS = "tells"
    """Changes nothing, but has an informative response. Only a model remembers this and failures."""
    FAILS = "fails"


_BY_CATEGORY = {
    Category.DANGER.value: ActionOutcome.KILLS,
    Category.SUCCESS.value: ActionOutcome.WORKS,
    Category.FAILURE.value: ActionOutcome.FAILS,
}
"""For memories whose outcome is unknown, such as those that a person has edited."""


def remembered_outcome(memory: Memory) -> tuple[str, ActionOutcome] | None:
    """Return the normalized action of a memory and its outcome; None if it has no action or no known outcome."""
    if not memory.action:
        return None
    outcome = _outcome(memory)
    return None if outcome is None else (normalized_action(memory.action), outcome)


def is_dark_place(memory: Memory) -> bool:
    """Return whether a memory claims that its place is dark."""
    return any(claim.relation is Relation.DARK for claim in (*memory.when, *memory.claims))


def is_deadly_company(memory: Memory) -> bool:
    """Return whether a memory records a death caused by the presence of its place or creature, with few escapes."""
    kills = is_observed_loss(memory) and not memory.action and memory.outcome == "died" and is_danger(memory)
    return kills and times_safe(memory) < ENOUGH_SAFE


def _outcome(memory: Memory) -> ActionOutcome | None:
    known = memory.outcome
    if memory.category == Category.DANGER and not is_danger(memory):
        return None
    if known in ("lost points", "lost things"):
        return ActionOutcome.LOSES
    if known == "died" or (not known and memory.category == Category.DANGER):
        return ActionOutcome.KILLS_UNLIT if is_dark_place(memory) else ActionOutcome.KILLS
    if memory.scored:
        return ActionOutcome.SCORES
    if known == "changed":
        taken = any(claim.relation is Relation.CARRIED for claim in memory.claims)
        return ActionOutcome.TAKES if taken else ActionOutcome.WORKS
    if known == "nothing":
        return ActionOutcome.FAILS if memory.category == Category.FAILURE else ActionOutcome.TELLS
    return ActionOutcome.LEADS if known else _BY_CATEGORY.get(memory.category)

"""The row of a turn for `zorkgpt.record.experience`."""

from enum import IntEnum

from session.history import TurnRecord
from session.outcome import (
    affected_objects,
    effective,
    failed,
    moved_or_had_effect,
    refused_by_parser,
    shows_outcome,
    worked,
)
from zorkgpt.directions import canonical_direction, exit_name
from zorkgpt.record.experience import ExperienceRow
from zorkgpt.text import first_paragraph


class ActionResult(IntEnum):
    """The flags of a row's outcome, as powers of two."""

    WORKED = 1
    """It led elsewhere or had an effect that its verb intends."""
    EFFECTIVE = 2
    """It had such an effect other than a change of location."""
    AFFECTED = 4
    """It moved or changed an object."""
    UNCHANGED = 8
    """It changed nothing."""
    FAILED = 16
    """It was meant to change something but did not, or the interpreter failed on it."""
    REFUSED = 32
    """The parser rejected it, so it took no time. Never set for a direction."""
    UNPLAYED = 64
    """It did not reach the game."""
    LOST = 128
    """The player died, or the game ended without victory."""
    WON = 256
    """It won the game."""
    ANSWERED = 512
    """It answered a question instead of giving a command."""
    ALTERED = 1024
    """It changed an attribute of an object."""
    DARK = 2048
    """It ended in the dark."""


def row_of(turn: TurnRecord) -> ExperienceRow:
    """Return what the action of a turn led to."""
    step, after = turn.transition, turn.after
    changed = moved_or_had_effect(step)
    flags = {
        ActionResult.WORKED: worked(step),
        ActionResult.EFFECTIVE: effective(step),
        ActionResult.AFFECTED: bool(affected_objects(step)),
        ActionResult.UNCHANGED: not changed and shows_outcome(step),
        ActionResult.FAILED: failed(step) or step.fault is not None,
        ActionResult.REFUSED: refused_by_parser(step) and canonical_direction(step.action) is None,
        ActionResult.UNPLAYED: bool(step.refused or step.fault),
        ActionResult.LOST: step.died or (step.finished and not step.victory),
        ActionResult.WON: step.finished and step.victory,
        ActionResult.ANSWERED: step.is_answer,
        ActionResult.ALTERED: any(not change.by_itself for change in step.changed),
        ActionResult.DARK: after.dark,
    }
    return ExperienceRow(
        episode=turn.episode,
        turn=turn.turn,
        place=turn.before.location_id,
        action=exit_name(step.action),
        state=turn.before.circumstances,
        outcome=sum(flag for flag, is_set in flags.items() if is_set),
        points=step.points,
        response="" if changed else " ".join(first_paragraph(step.response).split()),
        command=step.action,
        reached=after.location_id,
        score=after.score,
        seen=tuple((item.num, item.name) for item in after.visible or ()),
        overruled=tuple(each.judge for each in turn.rejections if each.action == step.action),
    )

"""The row of a turn for `zorkgpt.record.experience`."""

from game_interface.models import Transition
from session.ground_truth import ground_truth
from session.history import TurnRecord
from session.outcome import (
    affected_objects,
    changed_by_themselves,
    effective,
    failed,
    moved_or_had_effect,
    shows_outcome,
    worked,
)
from zorkgpt.directions import exit_name
from zorkgpt.memory.models import outcome_of
from zorkgpt.record.experience import ActionResult, ExperienceRow
from zorkgpt.text import first_paragraph, normalized_action


def row_of(turn: TurnRecord) -> ExperienceRow:
    """Return what the action of a turn led to."""
    step, after = turn.transition, turn.after
    changed = moved_or_had_effect(step)
    truth = ground_truth(step, turn=turn.turn, first_visit=False)
    flags = {
        ActionResult.WORKED: worked(step),
        ActionResult.EFFECTIVE: effective(step),
        ActionResult.AFFECTED: bool(affected_objects(step)),
        ActionResult.UNCHANGED: not changed and shows_outcome(step),
        ActionResult.FAILED: failed(step) or step.fault is not None,
        ActionResult.REFUSED: truth.refused_by_parser,
        ActionResult.UNPLAYED: bool(step.refused or step.fault),
        ActionResult.LOST: step.died or (step.finished and not step.victory),
        ActionResult.WON: step.finished and step.victory,
        ActionResult.ANSWERED: step.is_answer,
        ActionResult.ALTERED: any(not change.by_itself for change in step.changed),
        ActionResult.DARK: after.dark,
        ActionResult.SHOWN: shows_outcome(step),
        ActionResult.CHANGED: truth.had_effect or bool(changed_by_themselves(step)),
    }
    return ExperienceRow(
        episode=turn.episode,
        turn=turn.turn,
        place=turn.before.location_id,
        action=exit_name(step.action),
        state=turn.before.circumstances,
        outcome=sum(flag for flag, is_set in flags.items() if is_set),
        points=step.points,
        result=outcome_of(truth),
        response="" if changed else " ".join(first_paragraph(step.response).split()),
        command=step.action,
        reached=after.location_id,
        score=after.score,
        seen=tuple((item.num, item.name) for item in after.visible or ()),
        tried=_tried(step),
        overruled=tuple(each.judge for each in turn.rejections if each.action == step.action),
    )


def _tried(step: Transition) -> tuple[int, ...]:
    """Return the numbers of the things at hand that the action named, moved or changed."""
    words = set(normalized_action(step.action).split())
    changed = {move.number for move in step.moved if not move.by_itself}
    changed |= {change.number for change in step.changed if not change.by_itself}
    at_hand = {item.num: item.name for now in (step.before, step.after) for item in now.at_hand}
    return tuple(
        number for number, name in at_hand.items() if number in changed or words & set(name.lower().split()[-1:])
    )

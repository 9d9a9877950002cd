"""The rows of recorded turns for `zorkgpt.record.experience`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Any

from zorkgpt.memory.asking import changes_anything, state_key
from zorkgpt.memory.models import PlaceKey, outcome_of
from zorkgpt.memory.places import saved_place
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.record.experience import Experience, ExperienceRow


class RecordedOutcome(IntEnum):
    """The flags of a row's outcome, as powers of two."""

    WORKED = 1
    """It had an effect, or may have had one."""
    ATTEMPTED = 2
    """The game understood it, but it had no effect."""
    UNCHANGED = 4
    """It had no effect, or the parser refused it."""
    CHANGED = 8
    """Anything but the player's location changed, by any cause."""


def row_of_turn(turn: SynthesisRequest, episode: int | str) -> ExperienceRow:
    """Return what the action of a turn led to."""
    context = turn.context
    flags = {
        RecordedOutcome.WORKED: not (context.nothing_changed or context.refused_by_parser),
        RecordedOutcome.ATTEMPTED: context.nothing_changed and not context.refused_by_parser,
        RecordedOutcome.UNCHANGED: context.nothing_changed,
        RecordedOutcome.CHANGED: changes_anything(turn),
    }
    return ExperienceRow(
        episode,
        context.turn,
        turn.location_id,
        folded(turn.action),
        state_key(turn) if context.nothing_changed else "",
        sum(flag for flag, is_set in flags.items() if is_set),
        result=outcome_of(context),
        command=turn.action,
    )


def is_repeated(row: ExperienceRow, experience: Experience) -> bool:
    """Return whether the same action had no effect in the same state before, and nothing has changed since."""
    if not row.shows(RecordedOutcome.UNCHANGED) or row.shows(RecordedOutcome.CHANGED):
        return False
    for earlier in reversed(experience.rows):
        if (earlier.place, earlier.action, earlier.state) == (row.place, row.action, row.state):
            return True
        if earlier.shows(RecordedOutcome.CHANGED):
            return False
    return False


def worked_at(experience: Experience, place: PlaceKey) -> set[str]:
    """Return the actions that had an effect at a place in this episode."""
    tries = experience.tries(place).items()
    return {action for action, rows in tries if any(row.shows(RecordedOutcome.WORKED) for row in rows)}


def saved_rows(experience: Experience) -> list[list[Any]]:
    """Return the rows of the episode as plain values."""
    return [[row.place, row.turn, row.command, row.state, row.outcome, row.result] for row in experience.rows]


def restored_experience(episode: int | str, saved: Iterable[Sequence[Any]]) -> Experience:
    """Return the experience of an episode from what `saved_rows` returned."""
    experience = Experience()
    for place, turn, command, state, outcome, result in saved:
        row = ExperienceRow(episode, int(turn), saved_place(place), folded(str(command)), str(state), int(outcome))
        experience.add(replace(row, command=str(command), result=str(result)))
    return experience

"""Whether a turn speaks against a line: only the same action at the same place in the same state can."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zorkgpt.knowledge.claims import Claim, Outcome, changes_of, claim_of, gain, normal
from zorkgpt.knowledge.line import KnowledgeLine
from zorkgpt.knowledge.sections import Section
from zorkgpt.runlog.events import TurnPlayed

TurnsOf = Callable[[int | str], Sequence[TurnPlayed]]
"""The turns of an episode, oldest first; empty if they are not at hand."""

_OF_DEATH = (Section.DANGERS, Section.DEATHS, Section.DEATH_PATTERNS)
_SEEN_FROM_AFAR = frozenset({"open", "locked", "on", "light", "burning"})
"""Attributes that count also of things that are out of sight: many a door stands in no room."""


@dataclass(frozen=True, slots=True)
class Try:
    """A turn, with the turns of its episode before it."""

    turn: TurnPlayed
    earlier: Sequence[TurnPlayed]

    def has_come_out_before(self, claim: Claim) -> bool:
        """Whether what the claim says came about in this episode already."""
        return any(claim.is_about(one) and claim.is_borne_out(one) for one in self.earlier)

    @property
    def same_before(self) -> list[TurnPlayed]:
        """The same action at the same place, earlier in the episode."""
        return [one for one in self.earlier if _is_same_action(one, self.turn)]


def try_of(line: KnowledgeLine, turns_of: TurnsOf) -> Try | None:
    """The turn that the line was learned from; None if it was several, or is not at hand."""
    if line.first_turn != line.last_turn:
        return None
    turns = [turn for turn in turns_of(line.episode) if turn.turn <= line.first_turn]
    return Try(turns[-1], turns[:-1]) if turns and turns[-1].turn == line.first_turn else None


def speaks_against(claim: Claim, new: Try, origin: Try | None) -> bool | None:
    """Whether the try shows the contrary of the claim. None: it would, but nobody knows what state one of them was in.

    Args:
        origin: what the claim was learned from; None: not at hand.
    """
    turn = new.turn
    if turn.fault is not None or not claim.is_about(turn) or claim.is_borne_out(turn):
        return False
    if claim.outcome is Outcome.REFUSED:
        return True
    # Points are given once in an episode, and that a form has worked stays so.
    if claim.outcome is Outcome.UNDERSTOOD or turn.refused is not None or new.has_come_out_before(claim):
        return False
    if origin is None or not (claim.is_about(origin.turn) and claim.is_borne_out(origin.turn)):
        return None
    if claim.outcome is Outcome.POINTS and origin.turn.score_before != turn.score_before:
        return False
    return _is_same_state(origin, new)


def allows(line: KnowledgeLine, new: Try, turns_of: TurnsOf) -> bool:
    """Whether somebody may say that the turn contradicts the line: ground truth does not show that it can't.

    What a line says is decided by its fields: those of a fixed form, else those of the turn it was learned from.
    """
    origin = try_of(line, turns_of)
    if claim := claim_of(line.text):
        return speaks_against(claim, new, origin) is not False
    if origin is None or not _is_same_action(origin.turn, new.turn):
        return True
    if line.section in _OF_DEATH and origin.turn.died:
        return not new.turn.died
    if line.section is Section.PUZZLES and gain(origin.turn) > 0:
        return all(gain(one) <= 0 for one in (new.turn, *new.same_before))
    return True


def _is_same_action(one: TurnPlayed, other: TurnPlayed) -> bool:
    return one.location_id == other.location_id and normal(one.action) == normal(other.action)


def _is_same_state(origin: Try, new: Try) -> bool | None:
    """None: it is not known of one of them."""
    then, now = _state(origin), _state(new)
    if then is None or now is None:
        return None
    # What was looked at or done there may have made it possible, even where no object tells of it.
    return then == now and _done_there(origin) <= _done_there(new)


def _state(one: Try) -> tuple | None:
    """What was at hand and how it was, with what is open, locked or lit elsewhere; None: the log does not tell."""
    turn = one.turn
    if turn.carried_before is None or turn.visible_before is None:
        return None
    if [before.turn for before in one.earlier] != list(range(1, turn.turn)):
        return None
    carried, visible = (
        frozenset((number, parent) for number, _, parent in things)
        for things in (turn.carried_before, turn.visible_before)
    )
    at_hand = {number for number, _ in carried | visible}
    different: set[tuple[int, str]] = set()
    for before in one.earlier:
        # Set and cleared again is as it was.
        different ^= {(number, name) for number, name, _ in changes_of(before)}
    told = frozenset(flip for flip in different if flip[0] in at_hand or flip[1] in _SEEN_FROM_AFAR)
    return carried, visible, turn.dark, turn.vehicle_id, told


def _done_there(one: Try) -> set[str]:
    return {
        normal(before.action)
        for before in one.earlier
        if before.location_id == before.location_after_id == one.turn.location_id
        and not before.failed
        and " " in normal(before.action)
    }

"""Credit assignment: which memories the player followed, and whether they worked.

A memory is credited or blamed for an outcome only if its field `action` is the action taken and the outcome is certain
from the game state. Otherwise nothing is counted. The `CreditCounter` updates the counts of memories, and the functions
below it interpret them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache

from zorkgpt.memory.claims import Relation, holds
from zorkgpt.memory.conditions import turn_when_learned
from zorkgpt.memory.entailment.lexicon import ARTICLES
from zorkgpt.memory.losses import LossCause, LossKind, loss_in
from zorkgpt.memory.models import (
    DIED,
    NO_EFFECT,
    Category,
    Memory,
    PlaceKey,
    SubjectKey,
    Thing,
    ZMachineContext,
    destination_in,
    outcome_of,
    same_episode,
)
from zorkgpt.memory.objects import ObjectMove
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.history import Trial
from zorkgpt.memory.storage.tables import Journal
from zorkgpt.memory.storage.versions import titled
from zorkgpt.record.experience import Experience
from zorkgpt.text import SHORT_DIRECTIONS

_DIRECTIONS = frozenset(SHORT_DIRECTIONS.values()) | {"in", "out"}
PROMISING = ("SUCCESS", "DISCOVERY")
"""Categories of memories that promise an effect."""
_NOTHING_SHOWN: tuple[SubjectKey, tuple[Memory, ...]] = (0, ())
"""A place, and the memories shown there: none."""


@lru_cache(maxsize=4096)
def plain_words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case and punctuation."""
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


@lru_cache(maxsize=1024)
def _plain_action(action: str) -> str:
    """Return a command without case and articles. A plain direction, such as "go n", is its long name."""
    words = [word for word in plain_words(action) if word not in ARTICLES]
    way = words[-1] if len(words) == 1 or (len(words) == 2 and words[0] == "go") else ""
    direction = SHORT_DIRECTIONS.get(way, way)
    return direction if direction in _DIRECTIONS else " ".join(words)


def outcome_matches(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome of an action matches a memory. None if the turn doesn't test the memory.

    A memory is about the command in its field `action`. It promises the outcome in its field `outcome`. Without one,
    its category decides: SUCCESS and DISCOVERY promise an effect, FAILURE no effect or death, DANGER death, and NOTE
    nothing. A memory with conditions (`when`) promises nothing for other states.
    """
    if not memory.action or not is_same_action(memory.action, action):
        return None
    if any(holds(claim, turn.state) is not True for claim in memory.when):
        return None
    if turn.died and turn.loss is not None and turn.loss.cause in (LossCause.PLACE, LossCause.CLOCK):
        return None
    return _matches(memory.outcome, turn) if memory.outcome else _matches_category(memory.category, action, turn)


def is_same_action(one: str, other: str) -> bool:
    """Return whether two commands are the same action, apart from case, articles and short directions."""
    return _plain_action(one) == _plain_action(other)


def _matches(outcome: str, turn: ZMachineContext) -> bool | None:
    """Return whether the turn has the recorded outcome. None if unknown."""
    now = outcome_of(turn)
    is_specific = outcome == DIED or destination_in(outcome) is not None
    # If the cause of a death is unknown, the player may have died before the action had an effect.
    is_unknown = not now or (now == DIED and (turn.loss is None or turn.loss.cause is None))
    return None if is_unknown and not is_specific else _is_promised(outcome, now)


def loss_recurred(subject: SubjectKey, memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the loss of a memory happened again. None if it could not have happened on this turn.

    It can happen when the same action is taken at the place, when a clock ends, when the creature is present or, for a
    danger of the place, when the player leaves it.
    """
    known = loss_in(memory.outcome)
    if known is None:
        return None
    kind, clock = known
    loss = turn.loss
    lost = turn.died if kind is LossKind.DEATH else loss is not None and loss.kind is kind
    cause = loss.cause if loss is not None else None
    conditions = (*memory.when, *(claim for claim in memory.claims if claim.relation is Relation.DARK))
    if any(holds(claim, turn.state) is not True for claim in conditions):
        return None
    if memory.action:
        is_cause = cause not in (LossCause.PLACE, LossCause.CLOCK)
        is_occasion = is_same_action(memory.action, action)
    elif clock is not None:
        is_cause = cause is LossCause.CLOCK
        began, ended = turn.moves_before, turn.moves_after
        is_occasion = began is not None and ended is not None and began < clock <= ended
        is_occasion = is_occasion or (lost and loss is not None and loss.clock == clock)
    elif isinstance(subject, Thing):
        is_cause = cause is LossCause.CREATURE and loss is not None and loss.creature == subject.number
        is_occasion = subject in creatures_met(turn)
    else:
        is_cause = cause is LossCause.PLACE
        is_occasion = turn.location_changed or lost
    if not is_occasion:
        return None
    if lost:
        return True if is_cause else None
    return None if turn.died else False


def creatures_met(turn: ZMachineContext) -> tuple[Thing, ...]:
    """Return the creatures that were present when the action was taken, and the one that caused a loss."""
    present = [claim.number for claim in turn.state if claim.relation is Relation.HERE]
    cause = turn.loss.creature if turn.loss is not None else None
    return tuple(Thing(number) for number in dict.fromkeys((*present, cause)) if number is not None)


def outcome_in_words(turn: ZMachineContext) -> str:
    """Return a description of an action's outcome, from the ground truth."""
    parts = ["died"] if turn.died else []
    if turn.location_changed:
        parts.append(f"came to {turn.destination_name or turn.location_after}")
    if turn.score_delta:
        parts.append(f"score {turn.score_delta:+d}")
    moved = [move for move in turn.moved if not move.by_itself][:3]
    changed = [change for change in turn.changed if not change.by_itself][:3]
    parts += [_move_in_words(move, turn) for move in moved]
    parts += [f"{change.name}: {'' if change.value else 'not '}{change.attribute}" for change in changed]
    if turn.inventory_changed and not moved:
        parts.append("inventory changed")
    return "; ".join(parts) or ("nothing changed" if turn.nothing_changed else "no visible change")


def _move_in_words(move: ObjectMove, turn: ZMachineContext) -> str:
    # The story's name of the player object, such as "(self object)" or "cretin", means nothing to a reader.
    was_held, is_held = move.name in turn.inventory_before, move.name in turn.inventory_after
    origin = "inventory" if was_held and not is_held else move.origin
    destination = "inventory" if is_held and not was_held else move.destination
    return f"{move.name}: {origin} → {destination}"


def _matches_category(category: str, action: str, turn: ZMachineContext) -> bool | None:
    if turn.died:
        if category in (Category.FAILURE, Category.DANGER):
            return True
        return False if category in PROMISING else None
    had_effect = _had_effect(action, turn)
    if category in PROMISING or had_effect is None:
        return had_effect
    if category == Category.FAILURE:
        return not had_effect
    return False if category == Category.DANGER else None


def _had_effect(action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the action itself had an effect. None if unknown."""
    if _plain_action(action) in _DIRECTIONS:
        return turn.location_changed
    outcome = outcome_of(turn)
    return None if not outcome else outcome != NO_EFFECT


_ENOUGH_FAILURES = 2
"""A memory with this many failed trials and no successful one is marked as wrong."""
ENOUGH_SAFE = 3
"""The number of safe repetitions that outweigh a single loss."""
_DANGER = Category.DANGER
_ENOUGH_TRIALS = 2
"""Minimum number of trials for a judgment of reliability."""
_LOW_SHARE, _HIGH_SHARE = 0.35, 0.65


class CreditCounter:
    """Collects the trials of a turn, and counts them on the memories with the next write.

    A trial is counted once per episode, turn and memory, even if the turn is played again after a crash. Trials of
    ephemeral memories are not counted.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._shown = _NOTHING_SHOWN
        self._pending: list[Trial] = []

    def show(self, location_id: SubjectKey, memories: Iterable[Memory]) -> None:
        """Record the memories that the player sees before it acts at this location."""
        self._shown = location_id, tuple(memory for memory in memories if memory.persistence.outlives_episode)

    def note(
        self,
        location_id: PlaceKey,
        action: str,
        turn: ZMachineContext,
        episode: int | str,
        *,
        experience: Experience,
        dangers: Sequence[tuple[SubjectKey, Memory]] = (),
    ) -> None:
        """Record the player's action as trials of the memories about it.

        Args:
            experience: What the actions of the episode led to before this turn.
            dangers: The memories of losses that can happen there, with their subjects, whether shown or not.
        """
        (shown_at, memories), self._shown = self._shown, _NOTHING_SHOWN
        # Without a turn number, a repeated trial can't be recognized.
        if turn.turn < 1:
            return
        verdicts = [(subject, memory, loss_recurred(subject, memory, action, turn)) for subject, memory in dangers]
        is_going = _plain_action(action) in _DIRECTIONS
        for memory in memories if shown_at == location_id else ():
            if is_observed_loss(memory):
                continue
            verdict = outcome_matches(memory, action, turn)
            # A failure may have another reason. A death counts in any state.
            if verdict is False and not turn.died:
                has_reason = not is_going and _has_happened(location_id, memory, action, episode, experience)
                verdict = None if has_reason or self._is_another_state(location_id, memory, turn) else False
            verdicts.append((location_id, memory, verdict))
        for subject, memory, verdict in verdicts:
            if verdict is not None and not _is_newer(memory, turn.turn, episode):
                trial = Trial(episode, turn.turn, subject, memory.title, action, outcome_in_words(turn), verdict)
                if trial not in self._pending:
                    self._pending.append(trial)

    def drop(self) -> None:
        """Forget the trials that are not counted."""
        self._pending.clear()

    def forget(self) -> None:
        """Forget the shown memories, and the trials that are not counted."""
        self._shown = _NOTHING_SHOWN
        self._pending.clear()

    @property
    def is_pending(self) -> bool:
        """Whether there are trials to count."""
        return bool(self._pending)

    def count_in(self, draft: Draft) -> None:
        """Count the pending trials in a draft. Call `drop` once it is stored."""
        for trial in self._pending:
            place = trial.location_id
            memory = titled(draft.lasting.memories(place), trial.title)
            if memory is None or self._journal.is_counted(memory.id, trial.episode, trial.turn):
                continue
            after = replace(
                memory,
                tried=memory.tried + 1,
                worked=memory.worked + trial.worked,
                died=memory.died + trial.killed,
            )
            after = draft.replace(place, memory, after, "credited", trial.reason)
            if has_always_failed(after) and not memory.is_settled_by_person:
                draft.invalidate(place, after, failure_reason(after), trial.turn)

    def _is_another_state(self, location_id: SubjectKey, memory: Memory, turn: ZMachineContext) -> bool:
        """Return whether the state differs from that in which the memory was learned."""
        stamp = turn_when_learned(self._journal, location_id, memory)
        return stamp is not None and any(holds(claim, turn.state) is not True for claim in stamp.state)


def _has_happened(
    location_id: PlaceKey, memory: Memory, action: str, episode: int | str, experience: Experience
) -> bool:
    """Return whether the promised effect already happened in this episode."""
    if memory.category not in PROMISING:
        return False
    tries = experience.tries(location_id).items()
    results = [row.result for tried, rows in tries if is_same_action(tried, action) for row in rows]
    return same_episode(memory.episode, episode) or any(_is_promised(memory.outcome, result) for result in results)


def _is_promised(outcome: str, result: str) -> bool:
    """Return whether the outcome of a memory promises the result of an action, in the form of `Memory.outcome`."""
    if outcome == DIED or destination_in(outcome) is not None:
        return result == outcome
    return result not in ("", DIED) and (result == NO_EFFECT) == (outcome == NO_EFFECT)


def failure_reason(memory: Memory) -> str:
    """Return the reason for invalidating a memory that always failed."""
    return f"It failed all {memory.tried} times that it was tried"


def _is_newer(memory: Memory, turn: int, episode: int | str) -> bool:
    """Return whether the memory was learned in this turn or later, because the turn is played again after a crash."""
    if memory.observation_count != 1 or memory.first_episode is not None or not same_episode(memory.episode, episode):
        return False
    first = memory.first_turn
    return first is not None and first >= turn


def has_always_failed(memory: Memory) -> bool:
    """Return whether a memory with an action failed at least twice and never worked. False for a loss: it happened."""
    return (
        bool(memory.action) and not is_observed_loss(memory) and not memory.worked and memory.tried >= _ENOUGH_FAILURES
    )


class Reliability(IntEnum):
    """The reliability of a memory, in display order."""

    CONFIRMED = 0
    OPEN = 1
    REFUTED = 2


def reliability(memory: Memory) -> Reliability:
    """Return the reliability from the share of trials that worked. OPEN with fewer than two trials.

    The share is estimated by Laplace's rule of succession, which adds one success and one failure.
    """
    if memory.tried < _ENOUGH_TRIALS:
        return Reliability.OPEN
    share = (memory.worked + 1) / (memory.tried + 2)
    if share > _HIGH_SHARE:
        return Reliability.CONFIRMED
    return Reliability.REFUTED if share < _LOW_SHARE else Reliability.OPEN


def is_observed_loss(memory: Memory) -> bool:
    """Return whether the memory is about a loss that was observed in the ground truth."""
    return memory.category == _DANGER and loss_in(memory.outcome) is not None


def times_lost(memory: Memory) -> int:
    """Return how often the loss of a memory happened."""
    return max(memory.observation_count, memory.worked + 1)


def times_safe(memory: Memory) -> int:
    """Return how often the loss could have happened again but did not."""
    return memory.tried - memory.worked


def is_danger(memory: Memory) -> bool:
    """Return whether the memory is shown as a danger.

    A loss that happened once, followed by several safe repetitions, is not, unless a person pinned or edited it.
    """
    if memory.category != _DANGER:
        return False
    refuted = is_observed_loss(memory) and times_lost(memory) == 1 and times_safe(memory) >= ENOUGH_SAFE
    return memory.is_settled_by_person or not refuted


def results_in_words(memory: Memory, others: Sequence[Memory] = ()) -> str:
    """Return how often a memory's action worked, or how often its danger was survived; "" with too few trials.

    This is `worked 5/9`; with deaths `worked 5/9, died 2`, or `worked 6, died 2` if it never failed otherwise. For a
    FAILURE it is `failed 5/9`. For a loss it is `survived 22, died 1`, or `safe 22, lost 1`.

    Args:
        others: Memories of losses at the same place. Their deaths by the same action are included.
    """
    if is_observed_loss(memory):
        safe, lost = ("survived", "died") if _kills(memory) else ("safe", "lost")
        return f"{safe} {times_safe(memory)}, {lost} {times_lost(memory)}" if memory.tried else ""
    verb = "failed" if memory.category == Category.FAILURE else "worked"
    died = max([memory.died, *(times_lost(danger) for danger in others if _kills_by_same_action(danger, memory))])
    if not died:
        # A danger has no success to count.
        if memory.category == Category.DANGER:
            return ""
        return f"{verb} {memory.worked}/{memory.tried}" if memory.tried >= _ENOUGH_TRIALS else ""
    otherwise = max(0, memory.tried - memory.worked - memory.died)
    worked = max(memory.worked, memory.observation_count)
    return f"{verb} {worked}{f'/{worked + otherwise + died}' if otherwise else ''}, died {died}"


def _kills(memory: Memory) -> bool:
    known = loss_in(memory.outcome)
    return is_observed_loss(memory) and known is not None and known[0] is LossKind.DEATH


def _kills_by_same_action(danger: Memory, memory: Memory) -> bool:
    promises = bool(memory.action) and memory.category in PROMISING
    return promises and _kills(danger) and is_same_action(danger.action, memory.action)

"""Credit assignment: which memories the player followed, and whether they worked; decided strictly.

A memory is credited or blamed for an outcome only if its field `action` is the action taken, and the Z-machine's facts
leave no doubt about the outcome. In all other cases nothing is counted. The `CreditLedger` counts on the memories, and
the functions below it say what the counts mean.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from typing import Any

from zorkgpt.errors import MemoryStoreError
from zorkgpt.memory.claims import Relation, holds
from zorkgpt.memory.entailment import lexicon
from zorkgpt.memory.losses import LossCause, LossKind, loss_in
from zorkgpt.memory.models import (
    Category,
    Memory,
    SubjectKey,
    Thing,
    TurnSpan,
    ZMachineContext,
    outcome_of,
    same_episode,
)
from zorkgpt.memory.storage.book import Draft
from zorkgpt.memory.storage.escaping import folded
from zorkgpt.memory.storage.history import Trial, TurnStamp, trial_of, trial_row
from zorkgpt.memory.storage.tables import Trials
from zorkgpt.memory.storage.versions import titled
from zorkgpt.text import SHORT_DIRECTIONS


@lru_cache(maxsize=4096)
def words_of(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DIRECTIONS = frozenset(SHORT_DIRECTIONS.values()) | {"in", "out"}
_GOING = _words("go goes going went walk walks walking head heads heading travel run climb climbs climbing")
_SAME_VERB = {"get": "take", "grab": "take", "x": "examine", "l": "look", "shut": "close"}
# With these the verb means another action: "turn on" and "turn off", "look under".
_PARTICLES = _words("on off up down in out into under behind through over inside around across")
_DROPPED = lexicon.ARTICLES | _words("this that these those my your it them to with from at of and then")
PROMISING = ("SUCCESS", "DISCOVERY")
"""Categories that promise that an action does something."""
GO = "go"
"""The verb of a plain direction."""


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action in normal form."""

    verb: str
    """`GO` for a plain direction."""
    nouns: tuple[str, ...] = ()
    particles: frozenset[str] = frozenset()


@lru_cache(maxsize=1024)
def parse_action(action: str) -> ParsedAction | None:
    """Parse a command; None where it has neither a noun nor a direction, as "wait" or "look"."""
    words = [word for word in words_of(action) if word not in _DROPPED]
    if not words:
        return None
    verb, *rest = words
    way = " ".join(rest if verb in _GOING else words)
    direction = SHORT_DIRECTIONS.get(way, way)
    if direction in _DIRECTIONS:
        return ParsedAction(GO, (direction,))
    if verb == "pick" and "up" in rest:
        verb, rest = "take", [word for word in rest if word != "up"]
    nouns = tuple(word for word in rest if word not in _PARTICLES)
    if not nouns:
        return None
    return ParsedAction(_SAME_VERB.get(verb, verb), nouns, frozenset(rest) & _PARTICLES)


def outcome_matches(memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome of an action matches a memory. None if the outcome says nothing about the memory.

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
    return _as_kept(memory.outcome, turn) if memory.outcome else _as_category(memory.category, action, turn)


def is_same_action(one: str, other: str) -> bool:
    """Return whether two commands are the same action."""
    parsed = parse_action(one)
    return folded(one) == folded(other) or (parsed is not None and parsed == parse_action(other))


def _as_kept(outcome: str, turn: ZMachineContext) -> bool | None:
    """Return whether the outcome is the same as before. None if it is unknown."""
    now = outcome_of(turn)
    if outcome == "died" or outcome.startswith("to "):
        return now == outcome
    if now == "died":
        # Unless it is known, the player may have died before the action had any effect.
        return None if turn.loss is None or turn.loss.cause is None else False
    if not now:
        return None
    return (now == "nothing") == (outcome == "nothing")


def loss_recurred(subject: SubjectKey, memory: Memory, action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the loss that a memory tells of came again. None if the turn was no occasion for it.

    The occasion is the same action at the place; the turn that a clock ends at; a turn with the creature; for a danger
    of the place, leaving it.
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
    """Return the creatures that were there when the action was taken, and the one that caused a loss."""
    there = [claim.number for claim in turn.state if claim.relation is Relation.HERE]
    cause = turn.loss.creature if turn.loss is not None else None
    return tuple(Thing(number) for number in dict.fromkeys((*there, cause)) if number is not None)


def outcome_in_words(turn: ZMachineContext) -> str:
    """Describe what came of an action, by the ground truth."""
    found = ["died"] if turn.died else []
    if turn.location_changed:
        found.append(f"came to {turn.destination_name or turn.location_after}")
    if turn.score_delta:
        found.append(f"score {turn.score_delta:+d}")
    moved = [move for move in turn.moved if not move.by_itself][:3]
    changed = [change for change in turn.changed if not change.by_itself][:3]
    found += [f"{move.name}: {move.origin} → {move.destination}" for move in moved]
    found += [f"{change.name}: {'' if change.value else 'not '}{change.attribute}" for change in changed]
    if turn.inventory_changed and not moved:
        found.append("inventory changed")
    return "; ".join(found) or ("nothing changed" if turn.nothing_changed else "nothing to see")


def _as_category(category: str, action: str, turn: ZMachineContext) -> bool | None:
    did = _did_something(action, turn)
    if category in PROMISING:
        return False if turn.died else did
    if category == Category.FAILURE:
        return True if turn.died else None if did is None else not did
    if category == Category.DANGER:
        return True if turn.died else None if did is None else False
    return None


def _did_something(action: str, turn: ZMachineContext) -> bool | None:
    """Return whether the action had an effect, other than what happens by itself; None: nobody can tell."""
    parsed = parse_action(action)
    if parsed is not None and parsed.verb == GO:
        return turn.location_changed
    outcome = outcome_of(turn)
    return None if not outcome else outcome != "nothing"


MAX_DELAY_TURNS = 10
"""Turns after which counts are written that no other change has taken along."""
_NAMED = 3
_ENOUGH_FAILURES = 2
"""The number of failed trials, and none that worked, from which a memory is marked as wrong."""
ENOUGH_SAFE = 3
"""How many times without a loss outweigh a single one."""
_DANGER = Category.DANGER
_ENOUGH_TRIALS = 2
"""How many trials it takes to judge a memory's reliability: once is chance."""
_LOW_SHARE, _HIGH_SHARE = 0.35, 0.65


class CreditLedger:
    """Gathers trials, and counts them in the memory file with whatever else is written there.

    A trial counts once by episode, turn, place and title, also where the turn is played again after a crash. What is
    gathered and not counted yet, of ten turns at most, is lost with a kill, unless these turns are played again.
    Ephemeral memories are not counted: they last no longer than what they are about.
    """

    def __init__(
        self,
        trials: Trials,
        log: logging.Logger,
        *,
        learned_in: Callable[[SubjectKey, Memory], TurnStamp | None] = lambda location_id, memory: None,
    ) -> None:
        """
        Args:
            learned_in: Returns the turn in which the memory of a location was learned; None if unknown.
        """
        self._trials = trials
        self._learned_in = learned_in
        self._log = log
        self._shown: tuple[SubjectKey, tuple[Memory, ...]] = (0, ())
        self._episode: int | str | None = None
        self._noted: set[tuple[int, SubjectKey, str]] = set()
        """Turn, location and title of the trials of this episode."""
        self._worked: set[tuple[SubjectKey, str, ParsedAction | None]] = set()
        """Location, title and action of what has worked in this episode: a second time it may well do nothing."""
        self._pending: list[Trial] = []
        self.failures = 0

    def show(self, location_id: SubjectKey, memories: Iterable[Memory]) -> None:
        """Remember which memories the player sees before it acts at this location."""
        self._shown = location_id, tuple(one for one in memories if one.persistence.outlives_episode)

    def note(
        self,
        location_id: SubjectKey,
        action: str,
        turn: ZMachineContext,
        episode: int | str,
        *,
        dangers: Sequence[tuple[SubjectKey, Memory]] = (),
    ) -> None:
        """Note as trials what the player did there, and what came of it.

        Args:
            dangers: The memories of losses that may come there, with their subjects, whether they were shown or not.
        """
        self._note_dangers(action, turn, episode, dangers)
        (shown_at, memories), self._shown = self._shown, (0, ())
        # Without the turn's number nobody could tell a second trial from the same one.
        parsed = parse_action(action)
        if shown_at != location_id or turn.turn < 1 or not memories or parsed is None:
            return
        self._begin_episode(episode)
        for memory in memories:
            if is_observed_loss(memory):
                continue
            verdict = None if _is_younger(memory, turn.turn, episode) else outcome_matches(memory, action, turn)
            # A death counts in any state.
            if (
                verdict is False
                and not turn.died
                and (
                    self._has_happened(location_id, memory, parsed) or self._is_another_state(location_id, memory, turn)
                )
            ):
                continue
            if verdict is not None:
                self._add(Trial(episode, turn.turn, location_id, memory.title, action, outcome_in_words(turn), verdict))

    def _note_dangers(
        self,
        action: str,
        turn: ZMachineContext,
        episode: int | str,
        dangers: Sequence[tuple[SubjectKey, Memory]],
    ) -> None:
        for subject, memory in dangers if turn.turn >= 1 else ():
            again = None if _is_younger(memory, turn.turn, episode) else loss_recurred(subject, memory, action, turn)
            if again is not None:
                self._begin_episode(episode)
                self._add(Trial(episode, turn.turn, subject, memory.title, action, outcome_in_words(turn), again))

    def snapshot(self) -> dict[str, Any]:
        """Return the trials that are not counted yet, as plain values."""
        return {"pending": [trial_row(trial) for trial in self._pending]}

    def restore(self, under_way: dict[str, Any]) -> None:
        """Go on with an episode that was interrupted; what is counted already is read at the next trial."""
        self._episode = None
        self._pending = [trial_of(row) for row in under_way["pending"]]

    def drop(self) -> None:
        """Forget the trials that are not counted."""
        self._pending.clear()

    def forget(self, is_trace: Callable[[str], bool]) -> None:
        """Forget what was shown, and the trials that have a trace of what is to be forgotten."""
        self._shown = (0, ())
        self._pending = [one for one in self._pending if not (is_trace(one.title) or is_trace(one.action))]

    def is_due(self, turn: int | None) -> bool:
        """Return whether trials are to be counted by now; None if no turn follows."""
        return bool(self._pending) and (turn is None or abs(turn - self._pending[0].turn) >= MAX_DELAY_TURNS)

    def count_in(self, draft: Draft) -> None:
        """Count the pending trials in a draft. Call `written` once it is stored."""
        if self._pending:
            before = {(one.location_id, one.title): _counts(draft, one) for one in self._pending}
            draft.trials = tuple(counted(self._pending, before))
            self._credit(draft)

    def written(self, draft: Draft) -> None:
        """Drop the trials that a stored draft has counted."""
        del self._pending[: len(draft.trials)]

    def _begin_episode(self, episode: int | str) -> None:
        if episode == self._episode:
            return
        self._episode = episode
        self._noted.clear()
        self._worked.clear()
        try:
            for trial in self._trials.own_trials(episode):
                self._remember(trial)
        except MemoryStoreError as error:
            self._fail(error)
        # What a checkpoint says is waiting may have been counted before the process was interrupted.
        self._pending = [one for one in self._pending if _key(one) not in self._noted]
        for trial in self._pending:
            self._remember(trial)

    def _fail(self, error: MemoryStoreError) -> None:
        self.failures += 1
        if self.failures == 1:
            self._log.warning("what came of memories is not counted", extra={"error": str(error)})

    def _add(self, trial: Trial) -> None:
        if _key(trial) not in self._noted:
            self._remember(trial)
            self._pending.append(trial)

    def _has_happened(self, location_id: SubjectKey, memory: Memory, parsed: ParsedAction) -> bool:
        """Return whether the action, if it is no walk, has done what it promises in this episode already."""
        if parsed.verb == GO or memory.category not in PROMISING:
            return False
        is_of_this_episode = self._episode is not None and same_episode(memory.episode, self._episode)
        return is_of_this_episode or (location_id, memory.title, parsed) in self._worked

    def _is_another_state(self, location_id: SubjectKey, memory: Memory, turn: ZMachineContext) -> bool:
        """Return whether something that held when it was learned does not hold now: then this says nothing."""
        stamp = self._learned_in(location_id, memory)
        return stamp is not None and any(holds(claim, turn.state) is not True for claim in stamp.state)

    def _remember(self, trial: Trial) -> None:
        self._noted.add(_key(trial))
        if trial.worked:
            self._worked.add((trial.location_id, trial.title, parse_action(trial.action)))

    def _credit(self, draft: Draft) -> None:
        for place, title in dict.fromkeys((trial.location_id, trial.title) for trial in draft.trials):
            memory = titled(draft.lasting.memories(place), title)
            if memory is None:
                continue
            trials = [trial for trial in draft.trials if (trial.location_id, trial.title) == (place, title)]
            worked = memory.worked + sum(trial.worked for trial in trials)
            died = memory.died + sum(trial.killed for trial in trials)
            after = replace(memory, tried=memory.tried + len(trials), worked=worked, died=died)
            after = draft.replace(place, memory, after, "credited", _described(trials))
            if has_always_failed(after) and not memory.is_settled_by_person:
                draft.invalidate(place, after, failure_reason(after), trials[-1].turn)


def failure_reason(memory: Memory) -> str:
    """Return why a memory that always failed is marked as wrong."""
    return f"It failed all {memory.tried} times that it was tried"


def _key(trial: Trial) -> tuple[int, SubjectKey, str]:
    return trial.turn, trial.location_id, trial.title


def counted(trials: Iterable[Trial], before: dict[tuple[SubjectKey, str], tuple[int, int]]) -> list[Trial]:
    """Return the trials with the counts after each of them, given those before, by location and title."""
    now = dict(before)
    found = []
    for trial in trials:
        worked, tried = now.get((trial.location_id, trial.title), (0, 0))
        now[trial.location_id, trial.title] = after = (worked + trial.worked, tried + 1)
        found.append(replace(trial, after=after))
    return found


def _is_younger(memory: Memory, turn: int, episode: int | str) -> bool:
    """Return whether it was made in this turn or later: the turn is played again, and was played without it."""
    if memory.observation_count != 1 or memory.first_episode is not None or not same_episode(memory.episode, episode):
        return False
    first = TurnSpan.parse(memory.turns).first_number
    return first is not None and first >= turn


def _counts(draft: Draft, trial: Trial) -> tuple[int, int]:
    memory = titled(draft.lasting.memories(trial.location_id), trial.title)
    return (0, 0) if memory is None else (memory.worked, memory.tried)


def has_always_failed(memory: Memory) -> bool:
    """Return whether a memory of a certain action came out otherwise whenever it was tried; once is chance.

    A loss has happened, however often it did not happen again.
    """
    return (
        bool(memory.action) and not is_observed_loss(memory) and memory.worked == 0 and memory.tried >= _ENOUGH_FAILURES
    )


def _described(trials: Sequence[Trial]) -> str:
    said = [
        f"“{one.action}” {'worked' if one.worked else 'did not work'} in turn {one.turn}: {one.result}"
        for one in trials[-_NAMED:]
    ]
    more = len(trials) - len(said)
    return "; ".join([*([f"{more} more"] if more else []), *said])


class Reliability(IntEnum):
    """How a memory has stood the test, in the order in which memories are shown."""

    CONFIRMED = 0
    OPEN = 1
    REFUTED = 2


def reliability(memory: Memory) -> Reliability:
    """Return how often it worked, of the times that it was tried; open until it was tried twice.

    The share is estimated by Laplace's rule of succession: with one success and one failure added.
    """
    if memory.tried < _ENOUGH_TRIALS:
        return Reliability.OPEN
    share = (memory.worked + 1) / (memory.tried + 2)
    if share > _HIGH_SHARE:
        return Reliability.CONFIRMED
    return Reliability.REFUTED if share < _LOW_SHARE else Reliability.OPEN


def is_observed_loss(memory: Memory) -> bool:
    """Return whether the memory is a danger whose loss the ground truth has shown."""
    return memory.category == _DANGER and loss_in(memory.outcome) is not None


def times_lost(memory: Memory) -> int:
    """Return how often the loss that a memory tells of has come."""
    return max(memory.observation_count, memory.worked + 1)


def times_safe(memory: Memory) -> int:
    """Return on how many later occasions the loss did not come."""
    return memory.tried - memory.worked


def is_danger(memory: Memory) -> bool:
    """Return whether the memory is listed as a danger: not if its loss came once and then was escaped several times.

    A person's word stands.
    """
    if memory.category != _DANGER:
        return False
    refuted = is_observed_loss(memory) and times_lost(memory) == 1 and times_safe(memory) >= ENOUGH_SAFE
    return memory.is_settled_by_person or not refuted


def results_in_words(memory: Memory, others: Sequence[Memory] = ()) -> str:
    """Return how often a memory's action worked, or how often its danger was escaped; "" if it was tried too rarely.

    This is `worked 5/9`; with deaths `worked 5/9, died 2`, or `worked 6, died 2` if it never failed otherwise. For a
    FAILURE it is `failed 5/9`. For a loss it is `survived 22, died 1`, or `safe 22, lost 1`.

    Args:
        others: Memories that tell of losses at the same place. Their deaths by the same action are counted too.
    """
    if is_observed_loss(memory):
        safe, lost = ("survived", "died") if _kills(memory) else ("safe", "lost")
        return f"{safe} {times_safe(memory)}, {lost} {times_lost(memory)}" if memory.tried else ""
    verb = "failed" if memory.category == Category.FAILURE else "worked"
    died = max([memory.died, *(times_lost(danger) for danger in others if _kills_by_same_action(danger, memory))])
    if not died:
        # A warning is not meant to work.
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

"""Detect the player's losses on a turn (life, points or things), and find their causes from saved states.

To find a cause, alternatives are played. They answer two questions. Does the loss also happen if the player waits? Does
it also happen at the same time if the player waits in the previous room, or walks away? If it does, and a creature is
present each time, the creature has followed the player. If no creature is present, the cause is a clock. The turn is
also replayed with other random numbers, because the loss may depend on chance. If the questions can't be answered, the
cause is unknown.

The results never influence the choice of an action, because the turn is already over.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from game_interface.core.names import WORD, NamedThings, heading_in
from game_interface.core.observe import ViewReader
from game_interface.core.sanitize import spelled_walk
from game_interface.core.snapshots import BranchState, SnapshotReader
from game_interface.core.transcript import common_end, last_words
from game_interface.core.worker import RNG_ADVANCES, Worker, with_rng_advanced
from game_interface.core.zmachine import View
from game_interface.models import DIRECTIONS, Item, Language, Transition
from zorkgpt.memory.losses import Loss, LossCause, LossKind


@dataclass(frozen=True, slots=True)
class DetectedLoss:
    """A loss whose cause is not known yet."""

    loss: Loss
    """The loss without a cause."""
    lost: frozenset[int]
    """The object numbers of the lost things."""
    creature: Item | None
    """The creature that holds a lost thing, or that the response names."""
    holds_it: bool
    """Whether the creature holds a lost thing."""
    is_ahead: bool
    """Whether the creature was not visible before the turn."""


@dataclass(frozen=True, slots=True)
class LossDetector:
    """Detects losses in a story's turns."""

    reader: ViewReader
    named: NamedThings

    def detect(self, step: Transition, after: View, command: str) -> DetectedLoss | None:
        """Return the loss on a turn. None if there is none.

        Args:
            after: The story's memory after the turn.
            command: The command that was played.
        """
        things = self._things_lost(step, after, command)
        if not (step.died or step.points < 0 or things):
            return None
        sentence, holder = last_words(step.response), None
        if step.died:
            loss = Loss(LossKind.DEATH, sentence=sentence)
        elif step.points < 0:
            loss = Loss(LossKind.POINTS, sentence=sentence, points=-step.points)
        else:
            loss = Loss(LossKind.THINGS, sentence=sentence, things=tuple(item.name for item in things))
            holder = self._living_holder(after, things)
        creature = holder or self._creature_named(step, after)
        return DetectedLoss(
            loss,
            lost=frozenset(item.num for item in things),
            creature=creature,
            holds_it=holder is not None,
            is_ahead=creature is not None and creature.num not in {item.num for item in step.before.creatures or ()},
        )

    def _things_lost(self, step: Transition, after: View, command: str) -> tuple[Item, ...]:
        """Return the directly held things that are now out of reach, except those that the command names."""
        if not step.before.inventory or step.after.location is None or step.died or step.finished:
            return ()
        held = {item.num for item in step.after.inventory or ()}
        gone = [item for item in step.before.inventory if item.num not in held]
        named = self.named.in_text(command) if gone else frozenset[int]()
        return tuple(item for item in gone if item.num not in named and self._is_out_of_reach(after, item.num))

    def _is_out_of_reach(self, view: View, number: int) -> bool:
        """Return whether an object is neither carried nor in the player's room, or is held by a creature."""
        player, room = self.reader.profile.player, self.reader.room(view)
        for holder in view.ancestors(number):
            if holder in (player, room):
                return False
            if self.reader.profile.has(view, holder, "animate"):
                return True
        return True

    def _living_holder(self, view: View, things: tuple[Item, ...]) -> Item | None:
        for number in sorted(item.num for item in things):
            holder = view.parent(number)
            if holder and self.reader.profile.has(view, holder, "animate"):
                return self.reader.item(view, holder)
        return None

    def _creature_named(self, step: Transition, after: View) -> Item | None:
        """Return the last creature that the response names.

        It must be visible, or in the room whose heading starts the response. The player walked to that room, but may
        have been moved elsewhere after dying.
        """
        visible = {item.num: item for item in step.before.creatures or ()}
        if step.before.location == step.after.location:
            visible |= {item.num: item for item in step.after.creatures or ()}
        heading = heading_in(step.response.strip().partition("\n")[0])
        for word in reversed(WORD.findall(last_words(step.response))):
            named = sorted(self.named.in_text(word))
            for number in named:
                if number in visible:
                    return visible[number]
            for number in named:
                if heading and self._is_creature_in(after, number, heading):
                    return self.reader.item(after, number)
        return None

    def _is_creature_in(self, view: View, number: int, heading: str) -> bool:
        if number == self.reader.profile.player or not self.reader.profile.has(view, number, "animate"):
            return False
        return any(self.reader.names.shown(view, holder) == heading for holder in view.ancestors(number))


_OTHER_IDLE = "look"
_MAX_STATES = 4
_TOLERANCE = 2
"""The maximum difference between the times of the same loss, in moves."""
_MAX_WAITS = 400
_MAX_STEPS = 1200
"""Maximum number of commands to explain one loss."""


@dataclass(frozen=True, slots=True)
class RecentState:
    """A state of the interpreter before a recent turn."""

    state: bytes = field(repr=False)
    room: int | None
    moves: int | None
    turn: int
    """The number of turns before it."""


class RecentStates:
    """The states before the last turns in the current room, and the last state in the previous room."""

    def __init__(self) -> None:
        self.here: deque[RecentState] = deque(maxlen=_MAX_STATES)
        self.elsewhere: RecentState | None = None
        self.turn = 0

    def skip(self) -> None:
        """Count a turn that can't be replayed."""
        self.turn += 1

    @property
    def skipped(self) -> int:
        """The number of skipped turns since the last added state."""
        return self.turn - self.here[-1].turn - 1 if self.here else self.turn

    def add(self, state: bytes, room: int | None, moves: int | None) -> None:
        """Add the state before a turn."""
        if self.here and self.here[-1].room != room:
            self.elsewhere = self.here[-1]
            self.here.clear()
        self.here.append(RecentState(state, room, moves, self.turn))
        self.turn += 1


@dataclass(slots=True)
class CauseFinder:
    """Finds the cause of the loss on one turn.

    Raises:
        WorkerFailure: In `find`, if the interpreter failed in a branch.
    """

    step: Transition
    detected: DetectedLoss
    command: str
    recent: RecentStates
    worker: Worker
    snapshots: SnapshotReader
    language: Language
    idle: str
    """A command that only takes one move."""
    _played: int = field(default=0, init=False)
    _happened_without_creature: bool = field(default=False, init=False)
    """Whether the loss happened in a branch where the creature was not present."""

    def find(self) -> Loss | None:
        """Return the loss with its cause. None if the action used the things up, which is no loss."""
        loss, creature = self.detected.loss, self.detected.creature
        cause = LossCause.CREATURE if self.detected.holds_it else self._cause()
        if cause is LossCause.ACTION:
            if loss.kind is LossKind.THINGS and self.step.before.location == self.step.after.location:
                return None
            return replace(loss, cause=cause, harmless_elsewhere=self._is_harmless_elsewhere())
        loss = replace(loss, sentence=self._sentence_without_response())
        if cause is LossCause.CREATURE and creature is not None:
            return replace(loss, cause=cause, creature=creature.num, creature_name=creature.name)
        if cause is LossCause.CLOCK:
            return replace(loss, cause=cause, clock=self.step.after.moves)
        return replace(loss, cause=cause)

    def _cause(self) -> LossCause | None:
        before = self.recent.here[-1]
        acting = [self._loss_in_branch(before, self.command, advance) for advance in RNG_ADVANCES]
        waiting = [self._loss_in_branch(before, self.idle, advance) for advance in (0, *RNG_ADVANCES)]
        action_always_loses = None not in acting
        losses_by_waiting = [sentence for sentence in waiting if sentence is not None]
        same_death = all(sentence and self._is_same(sentence) for sentence in acting)
        if self.detected.loss.kind is LossKind.DEATH and same_death:
            # By chance, waiting may cause another death.
            losses_by_waiting = [sentence for sentence in losses_by_waiting if self._is_same(sentence)]
        if not losses_by_waiting:
            # With a creature and chance, it is probably a fight.
            by_creature = self.detected.creature is not None and (self.detected.is_ahead or not action_always_loses)
            return LossCause.CREATURE if by_creature else LossCause.ACTION
        if len(losses_by_waiting) == len(waiting):
            return self._cause_without_action()
        if action_always_loses and len(losses_by_waiting) <= len(waiting) // 2:
            return LossCause.ACTION
        # The loss depends on chance, not on the action.
        return LossCause.CREATURE if self.detected.creature else None

    def _cause_without_action(self) -> LossCause | None:
        """Return the cause of a loss that waiting causes too."""
        start = self.recent.elsewhere
        happens_elsewhere = None if start is None else self._happens_on_time(start, self._load(start))
        walks = list(self._losses_after_walks())
        if False in walks or (not walks and happens_elsewhere is False):
            return LossCause.CREATURE if self.detected.creature else LossCause.PLACE
        if not walks and not happens_elsewhere:
            return None
        followed = self.detected.creature is not None and not self._happened_without_creature
        return LossCause.CREATURE if followed else LossCause.CLOCK

    def _is_same(self, sentence: str) -> bool:
        """Return whether a loss in a branch ends with the same words."""
        return bool(common_end(sentence, self.detected.loss.sentence))

    def _loss_in_branch(self, start: RecentState, command: str, rng_advance: int = 0) -> str | None:
        """Return the sentence of the loss that a command causes. None if it causes no loss.

        The idle command is played for as many moves as the action took.
        """
        before = self._load(start, rng_advance)
        for _ in range(self._moves_taken() if command == self.idle else 1):
            after = self._play(command)
            if self._is_loss(before, after):
                return after.sentence
            if after.over:
                return None
            before = after
        return None

    def _sentence_without_response(self) -> str:
        """Return the sentence without the response to the action itself, which other commands don't have."""
        self._load(self.recent.here[-1])
        other = self._play(_OTHER_IDLE if self.command == self.idle else self.idle)
        sentence = self.detected.loss.sentence
        return common_end(sentence, other.sentence) or sentence

    def _moves_taken(self) -> int:
        before, after = self.step.before.moves, self.step.after.moves
        return 1 if before is None or after is None else min(max(1, after - before), _MAX_WAITS)

    def _is_harmless_elsewhere(self) -> bool | None:
        start = self.recent.elsewhere
        return None if start is None else self._loss_in_branch(start, self.command) is None

    def _losses_after_walks(self) -> Iterator[bool]:
        """Yield for each exit whether the loss happens at the same time after a walk, starting with the last state."""
        for start in reversed(self.recent.here):
            for direction in DIRECTIONS:
                before = self._load(start)
                after = self._play(direction)
                if not after.died and (after.over or after.room in (start.room, None)):
                    continue
                happens = self._happens_on_time(start, before, after)
                if happens is not None:
                    yield happens
                    if not happens:
                        return
                if self._played > _MAX_STEPS:
                    return

    def _happens_on_time(
        self, start: RecentState, before: BranchState, after: BranchState | None = None
    ) -> bool | None:
        """Wait until the time of the loss, and return whether it happens.

        Args:
            before: The state at `start`.
            after: The state after the first turn. Defaults to a turn of waiting.

        Returns:
            None if another loss happens, or if the time is too far away.
        """
        turns = self.recent.turn - start.turn
        until = self.step.after.moves if start.moves is not None else None
        if turns > _MAX_WAITS:
            return None
        for turn in range(1, 2 * _MAX_WAITS):
            after = after or self._play(self.idle)
            if until is not None and after.moves is not None:
                early, expired = after.moves < until - _TOLERANCE, after.moves >= until + _TOLERANCE
            else:
                early, expired = until is None and turn < turns - _TOLERANCE, turn >= turns + _TOLERANCE
            if self._is_loss(before, after):
                if early or (self.detected.loss.kind is LossKind.DEATH and not self._is_same(after.sentence)):
                    return None
                creature = self.detected.creature
                if creature is not None and creature.num not in after.at_hand:
                    self._happened_without_creature = True
                return True
            if after.over:
                return None
            if expired:
                return False
            before, after = after, None
        return None

    def _is_loss(self, before: BranchState, after: BranchState) -> bool:
        """Return whether the loss happened between two states of a branch."""
        loss, lost = self.detected.loss, self.detected.lost
        if loss.kind is LossKind.DEATH:
            return after.died
        if loss.kind is LossKind.POINTS:
            return before.score is not None and after.score is not None and after.score - before.score == -loss.points
        return bool(lost & before.at_hand) and lost.isdisjoint(after.at_hand)

    def _load(self, start: RecentState, rng_advance: int = 0) -> BranchState:
        return self.snapshots.branch_state(self.worker.load(with_rng_advanced(start.state, rng_advance)))

    def _play(self, command: str) -> BranchState:
        self._played += 1
        typed = spelled_walk(command, self.language).encode("ascii")
        return self.snapshots.branch_state(self.worker.step(typed))

"""Find the cause of a loss by playing from saved states what the player did not do.

Two questions are asked. Would waiting have brought the loss on the same turn? Does it also come if the player waits
elsewhere, from a state before it came to this place, or walks away in time? If it does, a creature that is there each
time has followed, and otherwise it is a clock. Because chance may decide, the turn is played with other random numbers
too. If the branches don't answer the questions, the cause is unknown.

Nothing here chooses an action: the turn is over.
"""

import json
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from game_interface.core.discovery import DIRECTIONS
from game_interface.core.losses import DetectedLoss
from game_interface.core.transcript import common_end
from game_interface.core.worker import RNG_ADVANCES, with_rng_advanced
from game_interface.models import Transition
from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.memory.losses import Loss, LossCause, LossKind

_OTHER_IDLE = "look"
_KEPT_TURNS = 4
_SLACK = 2
"""The number of moves by which a loss that comes anyway may be late."""
_MOST_WAITS = 400
_MOST_STEPS = 1200
"""The most commands that are played to explain one loss."""


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state of the interpreter to play from."""

    state: bytes = field(repr=False)
    room: int | None
    moves: int | None
    turn: int
    """How many turns were played before it."""


class RecentStates:
    """The states before the last turns at the present place, and the last one before the player came there."""

    def __init__(self) -> None:
        self.here: deque[KeptState] = deque(maxlen=_KEPT_TURNS)
        self.elsewhere: KeptState | None = None
        self.turn = 0

    def skip(self) -> None:
        """Count a turn that no branch can begin with."""
        self.turn += 1

    @property
    def skipped(self) -> int:
        """How many turns were skipped since the last state that was kept."""
        return self.turn - self.here[-1].turn - 1 if self.here else self.turn

    def add(self, state: bytes, room: int | None, moves: int | None) -> None:
        """Keep the state before a turn."""
        if self.here and self.here[-1].room != room:
            self.elsewhere = self.here[-1]
            self.here.clear()
        self.here.append(KeptState(state, room, moves, self.turn))
        self.turn += 1

    def packed(self, present: bytes) -> bytes:
        """Return everything as bytes; small, because most of a state equals the present one."""
        kept = [*([self.elsewhere] if self.elsewhere else []), *self.here]
        states = b"".join(_difference(each.state, present) for each in kept)
        numbers = [[each.room, each.moves, each.turn, len(each.state)] for each in kept]
        head = json.dumps([self.turn, self.elsewhere is not None, numbers]).encode()
        return zlib.compress(len(head).to_bytes(4, "big") + head + states, 1)

    @classmethod
    def unpacked(cls, packed: bytes, present: bytes) -> "RecentStates":
        """Read what `packed` returned; no states from b""."""
        recent = cls()
        if not packed:
            return recent
        content = zlib.decompress(packed)
        at = 4 + int.from_bytes(content[:4], "big")
        recent.turn, has_elsewhere, numbers = parse_json(content[4:at], SAVED_FILE)
        for room, moves, turn, size in numbers:
            recent.here.append(KeptState(_difference(content[at : at + size], present), room, moves, turn))
            at += size
            if has_elsewhere and recent.elsewhere is None:
                recent.elsewhere = recent.here.pop()
        return recent


def _difference(state: bytes, present: bytes) -> bytes:
    """Return the bits in which a state differs from the present one; applied twice, the state itself."""
    mask = present[: len(state)].ljust(len(state), b"\0")
    return (int.from_bytes(state, "big") ^ int.from_bytes(mask, "big")).to_bytes(len(state), "big")


@dataclass(frozen=True, slots=True)
class BranchState:
    """The state of the game in a branch."""

    room: int | None
    score: int | None
    moves: int | None
    died: bool
    over: bool
    """The game is over, or asks something: no more commands can be played."""
    sentence: str
    """As in `Loss.sentence`."""
    at_hand: frozenset[int]
    """The objects that the player carries, and those at the player's place."""

    def as_at(self, opening: "BranchState") -> bool:
        """Return whether everything is as at the opening; False if the moves are unknown."""
        mine, its = ((each.room, each.score, each.moves, each.at_hand) for each in (self, opening))
        return self.moves is not None and mine == its


class Branches(Protocol):
    """Plays commands from saved states."""

    def load(self, state: bytes) -> BranchState:
        """Go to a state."""
        ...

    def play(self, command: str) -> BranchState:
        """Play a command from where the last one led."""
        ...


@dataclass(slots=True)
class CauseFinder:
    """Explains the loss of one turn.

    Raises:
        WorkerFailure: In `find`, if the interpreter did not survive a branch.
    """

    step: Transition
    detected: DetectedLoss
    command: str
    recent: RecentStates
    branches: Branches
    idle: str
    """A command that lets one turn pass."""
    _played: int = field(default=0, init=False)
    _came_without_creature: bool = field(default=False, init=False)
    """The loss came in a branch that had led away from the creature."""

    def find(self) -> Loss | None:
        """Return the loss with its cause; None if the action used the things up, which is no loss."""
        loss, creature = self.detected.loss, self.detected.creature
        cause = LossCause.CREATURE if self.detected.holds_it else self._cause()
        if cause is LossCause.ACTION:
            if loss.kind is LossKind.THINGS and self.step.before.location == self.step.after.location:
                return None
            return replace(loss, cause=cause, harmless_elsewhere=self._is_harmless_elsewhere())
        loss = replace(loss, sentence=self._sentence_without_answer())
        if cause is LossCause.CREATURE and creature is not None:
            return replace(loss, cause=cause, creature=creature.num, creature_name=creature.name)
        if cause is LossCause.CLOCK:
            return replace(loss, cause=cause, clock=self.step.after.moves)
        return replace(loss, cause=cause)

    def _cause(self) -> LossCause | None:
        before = self.recent.here[-1]
        acted = [self._loss_in_branch(before, self.command, advance) for advance in RNG_ADVANCES]
        waited = [self._loss_in_branch(before, self.idle, advance) for advance in (0, *RNG_ADVANCES)]
        always = None not in acted
        came = [sentence for sentence in waited if sentence is not None]
        same_death = all(sentence and self._is_same(sentence) for sentence in acted)
        if self.detected.loss.kind is LossKind.DEATH and same_death:
            # Waiting may bring another death by chance.
            came = [sentence for sentence in came if self._is_same(sentence)]
        if not came:
            # With a creature there and chance in play it is likely a fight.
            by_creature = self.detected.creature is not None and (self.detected.is_ahead or not always)
            return LossCause.CREATURE if by_creature else LossCause.ACTION
        if len(came) == len(waited):
            return self._cause_without_action()
        if always and len(came) <= len(waited) // 2:
            return LossCause.ACTION
        # By chance, and not by the action.
        return LossCause.CREATURE if self.detected.creature else None

    def _cause_without_action(self) -> LossCause | None:
        """Return the cause of what waiting brings too."""
        comes_elsewhere = self._comes_elsewhere()
        walks = list(self._walks_away())
        if False in walks or (not walks and comes_elsewhere is False):
            return LossCause.CREATURE if self.detected.creature else LossCause.PLACE
        if not walks and not comes_elsewhere:
            return None
        followed = self.detected.creature is not None and not self._came_without_creature
        return LossCause.CREATURE if followed else LossCause.CLOCK

    def _is_same(self, sentence: str) -> bool:
        """Return whether a loss in a branch is told in the same words."""
        return bool(common_end(sentence, self.detected.loss.sentence))

    def _loss_in_branch(self, start: KeptState, command: str, rng_advance: int = 0) -> str | None:
        """Return the sentence of the loss that a command brings, or None if it brings none.

        An idle command is played for as many moves as the action took.
        """
        was = self._load(start, rng_advance)
        for _ in range(self._moves_taken() if command == self.idle else 1):
            now = self._play(command)
            if self._is_loss(was, now):
                return now.sentence
            if now.over:
                return None
            was = now
        return None

    def _sentence_without_answer(self) -> str:
        """Return the sentence without the answer to the command, which another command is not answered with."""
        self._load(self.recent.here[-1])
        other = self._play(_OTHER_IDLE if self.command == self.idle else self.idle)
        sentence = self.detected.loss.sentence
        return common_end(sentence, other.sentence) or sentence

    def _moves_taken(self) -> int:
        before, after = self.step.before.moves, self.step.after.moves
        return 1 if before is None or after is None else min(max(1, after - before), _MOST_WAITS)

    def _is_harmless_elsewhere(self) -> bool | None:
        start = self.recent.elsewhere
        return None if start is None else self._loss_in_branch(start, self.command) is None

    def _comes_elsewhere(self) -> bool | None:
        """Return whether the loss comes at the same time if the player waits elsewhere; None if something else does."""
        start = self.recent.elsewhere
        return None if start is None else self._comes_in_time(start, self._load(start))

    def _walks_away(self) -> Iterator[bool]:
        """Yield for each way out whether the loss comes at the same time, from the latest state to earlier ones."""
        for start in reversed(self.recent.here):
            for direction in DIRECTIONS:
                was = self._load(start)
                now = self._play(direction)
                if now.over and not now.died:
                    continue
                if not now.died and now.room in (start.room, None):
                    continue
                comes = self._comes_in_time(start, was, now)
                if comes is not None:
                    yield comes
                    if not comes:
                        return
                if self._played > _MOST_STEPS:
                    return

    def _comes_in_time(self, start: KeptState, was: BranchState, now: BranchState | None = None) -> bool | None:
        """Wait until the time of the loss, and return whether it comes; None if another one does, or it is too far.

        Args:
            now: The state after the first turn; None if that is waited too.
        """
        turns = self.recent.turn - start.turn
        known = start.moves is not None and self.step.after.moves is not None
        until = self.step.after.moves if known else None
        if turns > _MOST_WAITS:
            return None
        for turn in range(1, 2 * _MOST_WAITS):
            now = now or self._play(self.idle)
            if self._is_loss(was, now):
                in_time = now.moves is None or until is None or now.moves >= until - _SLACK
                late = turn >= turns - _SLACK if until is None else True
                same = self.detected.loss.kind is not LossKind.DEATH or self._is_same(now.sentence)
                if not (in_time and late and same):
                    return None
                creature = self.detected.creature
                if creature is not None and creature.num not in now.at_hand:
                    self._came_without_creature = True
                return True
            if now.over:
                return None
            if (now.moves >= until + _SLACK) if until is not None and now.moves is not None else turn >= turns + _SLACK:
                return False
            was, now = now, None
        return None

    def _is_loss(self, was: BranchState, now: BranchState) -> bool:
        """Return whether the loss came between two states of a branch."""
        loss, lost = self.detected.loss, self.detected.lost
        if loss.kind is LossKind.DEATH:
            return now.died
        if loss.kind is LossKind.POINTS:
            return was.score is not None and now.score is not None and now.score - was.score == -loss.points
        return bool(lost & was.at_hand) and lost.isdisjoint(now.at_hand)

    def _load(self, start: KeptState, rng_advance: int = 0) -> BranchState:
        return self.branches.load(with_rng_advanced(start.state, rng_advance))

    def _play(self, command: str) -> BranchState:
        self._played += 1
        return self.branches.play(command)

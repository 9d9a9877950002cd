"""Separate the effects of an action from independent changes, by replaying the turn with a control command.

Every command changes the story's memory: the turn counter, timers, the parser's copy of the words. To exclude these
changes, a control command such as `look` is played from the same state, with the same random numbers. Only changes that
it does not cause are effects of the action. Both are followed by settling commands, which overwrite most of the
parser's copy. The rest of the memory that changes without an effect is called bookkeeping, for example counters that
vary the responses. It is learned once per story, by playing commands without effect at the opening.

If an action has no effect but drew random numbers, it is replayed with other random numbers. If one of the replays has
an effect, the result depends on chance. If a creature is visible, it is assumed to. If the interpreter fails during a
control command, the turn counts as an unnamed change.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from game_interface.core.grammar import verbs
from game_interface.core.observe import ViewReader
from game_interface.core.profile import Profile
from game_interface.core.worker import RNG_ADVANCES, BranchComparison, Worker, WorkerFailure
from game_interface.core.zmachine import View, changes
from game_interface.models import DIRECTIONS, GrammarLine, Language, TokenKind, Transition
from zorkgpt.log import get_logger
from zorkgpt.memory.claims import STATES
from zorkgpt.memory.objects import AttributeChange, ObjectMove

log = get_logger("zorkgpt.game")

_NO_WORD = "qzxvj"
"""A word that no story's dictionary contains, so that the parser rejects it."""
CONTROLS = ("look", "inventory", "wait", _NO_WORD)
_SETTLING = ("inventory", "examine me")
_PLAYER_WORD = "me"
_HEADER_BYTES = 64
_FEW_RNG_ADVANCES = RNG_ADVANCES[:4]
"""The values that are tried for an action without effect."""
_MAX_FAILURES = 3
_MAX_PRESENT_NAMES = 12
_ABSENT_NAMES_STEP = 24
"""One of this many names of absent objects is tried."""

Changes = tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """The parts of a story's memory that change without a visible effect, and the control commands."""

    addresses: frozenset[int] = frozenset()
    answers: frozenset[int] = frozenset()
    """The addresses that record which of several random responses was printed."""
    attributes: frozenset[int] = frozenset()
    """Attributes for the story's own use, in addition to those that are known by name."""
    own_attributes: frozenset[int] = frozenset()
    """Such attributes of the player object."""
    control_moves: Mapping[str, int | None] = field(default_factory=dict)
    """Control command that can be played → the number of moves that it takes. None if unknown."""

    @property
    def idle_command(self) -> str:
        """A command that only takes one move. Defaults to `wait`."""
        idle = (command for command in ("wait", "look", "inventory") if self.control_moves.get(command) == 1)
        return next(idle, "wait")


# Learning the bookkeeping


class BookkeepingProbe:
    """Learns a story's bookkeeping by playing commands without effect at the opening.

    Args:
        worker: A worker in the opening state.
        restore_opening: Restores the opening state after the interpreter failed.
    """

    def __init__(
        self, worker: Worker, reader: ViewReader, opening: View, restore_opening: Callable[[], object]
    ) -> None:
        self._worker, self._reader = worker, reader
        self._opening, self._restore_opening = opening, restore_opening
        self._view = opening.machine.view
        self._failures = 0
        self._own_attributes: set[int] = set()

    def learn(self, language: Language) -> Bookkeeping:
        """Return the bookkeeping. The state does not change."""
        control_moves: dict[str, int | None] = {}
        for control in CONTROLS:
            if comparison := self._compare(control, ()):
                after = self._view(comparison.control)
                control_moves[control] = self._reader.moves_between(self._opening, after)
        addresses: set[int] = set()
        answers: set[int] = set()
        seen_once: set[int] = set()
        for probe in _probes(language, self._opening, self._reader):
            if self._failures >= _MAX_FAILURES:
                break
            comparison = self._without_effect(probe, control_moves)
            if comparison is None or addresses.issuperset(comparison.differing):
                continue
            differing = set(comparison.differing)
            if comparison.surplus_draws:
                # The response was chosen at random, and the story records which responses were printed.
                replays = (self._without_effect(probe, control_moves, advance) for advance in RNG_ADVANCES)
                runs = [differing, *(set(replay.differing) for replay in replays if replay)]
                addresses.update(*runs)
                answers |= set[int]().union(*runs) - differing.intersection(*runs)
            # A change that only one probe causes may be its effect.
            addresses |= differing & seen_once
            seen_once |= differing
        attributes = frozenset(self._unnamed_attributes())
        own_attributes = frozenset(self._own_attributes)
        return Bookkeeping(frozenset(addresses), frozenset(answers), attributes, own_attributes, control_moves)

    def _compare(
        self, control: str, then: tuple[str, ...], action: str = _NO_WORD, rng_advance: int = 0
    ) -> BranchComparison | None:
        try:
            return self._worker.compare(control, then, action=action, rng_advance=rng_advance)
        except WorkerFailure as failure:
            self._failures += 1
            log.warning("interpreter replaced", extra={"probe": action, "failure": str(failure)})
            self._restore_opening()
            return None

    def _without_effect(
        self, probe: str, control_moves: Mapping[str, int | None], rng_advance: int = 0
    ) -> BranchComparison | None:
        """Compare a probe with the most similar control. None if it had an effect or the interpreter failed."""
        closest: BranchComparison | None = None
        moves: int | None = None  # of the probe, after the first comparison
        for control in control_moves:
            if moves not in (None, control_moves[control]):
                continue
            comparison = self._compare(control, _SETTLING, probe, rng_advance)
            if comparison is None:
                return None
            acted = self._view(comparison.action)
            moves = self._reader.moves_between(self._opening, acted)
            if moves not in (None, control_moves[control]):
                continue
            idle = self._view(comparison.control)
            if self._only_player_attributes_differ(idle, acted) and (
                closest is None or len(comparison.differing) < len(closest.differing)
            ):
                closest = comparison
            if moves is not None:
                break
        return closest

    def _only_player_attributes_differ(self, idle: View, acted: View) -> bool:
        """Return whether the object trees are equal except for attributes of the player, and record these."""
        player = self._reader.profile.player
        difference = changes(idle, acted)
        if difference.moved or any(number != player for number, _, _ in difference.flipped):
            return False
        self._own_attributes.update(attribute for _, attribute, _ in difference.flipped)
        return True

    def _unnamed_attributes(self) -> Iterator[int]:
        """Yield the attributes that change when the player enters a room or looks around."""
        before, named = self._opening, set(self._reader.profile.attributes.values())
        for command in (*DIRECTIONS, "look"):
            comparison = self._compare(_NO_WORD, (), command)
            if comparison is None:
                continue
            after = self._view(comparison.action)
            rooms = {self._reader.room(before), self._reader.room(after)}
            for number, attribute, _ in changes(before, after).flipped:
                if attribute not in named and (number in rooms or command == "look"):
                    yield attribute


def _probes(language: Language, opening: View, reader: ViewReader) -> Iterator[str]:
    """Yield a command for each syntax of the grammar, with the player as every noun, and commands about things."""
    tried_actions: set[int] = set()
    tried_syntaxes: set[tuple[GrammarLine, ...] | None] = set()
    for verb in verbs(opening.machine):
        lines = language.verbs.get(verb)
        if lines is None or lines not in tried_syntaxes:
            tried_syntaxes.add(lines)
            # The parser asks for missing nouns.
            yield from (verb, f"{verb} {_PLAYER_WORD}")
        for line in lines or ():
            if line.action not in tried_actions:
                tried_actions.add(line.action)
                yield _command(verb, line)
    now = reader.observe(opening)
    present = {item.num for item in now.at_hand}
    present |= reader.mentioned(opening, now.location.num) if now.location else set()
    names = sorted(language.names.items())
    present_names = [word for word, numbers in names if numbers & present]
    absent_names = [word for word, numbers in names if not numbers & present]
    yield from (f"{verb} {word}" for word in present_names[:_MAX_PRESENT_NAMES] for verb in ("take", "open", "close"))
    yield from (f"take {word}" for word in absent_names[::_ABSENT_NAMES_STEP])
    # Commands of the maximum length fill the parser's buffers.
    yield from (_NO_WORD * 15, f"{_NO_WORD} " * 13)
    for verb in ("take", "drop"):
        yield from (f"{verb} {_NO_WORD * 14}", f"{verb}{f' {_PLAYER_WORD}' * 14}")
        yield f"{verb} {' and '.join([_PLAYER_WORD] * 10)}"
    # The parser accepts an adjective alone for an object that is present.
    yield from (f"examine {adjective}" for adjective in sorted(language.adjectives))


def _command(verb: str, line: GrammarLine) -> str:
    words = (min(token.words, default="") if token.kind is TokenKind.WORD else _PLAYER_WORD for token in line.tokens)
    return " ".join(filter(None, (verb, *words)))


# Comparing a turn


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """Compares the last turn with branches in which the player did something else."""

    before: View
    after: View
    command: str
    """The action as it was sent to the interpreter."""
    reader: ViewReader
    bookkeeping: Bookkeeping
    worker: Worker
    """The worker that played the turn."""

    def _view(self, memory: bytes) -> View:
        return self.before.machine.view(memory)

    def mark(self, step: Transition) -> Transition:
        """Return the transition with independent changes marked and `unnamed_change` set.

        Raises:
            WorkerFailure: If the interpreter failed on a control command.
        """
        unchanged = not step.died and _has_same_standing(step)
        moved, changed, unnamed = step.moved, step.changed, unchanged
        for control in self._controls(step):
            if not unchanged and not _has_effect(moved, changed):
                break
            comparison = self.worker.compare(control, _SETTLING[-1:] if unchanged else ())
            if comparison is None:
                break
            idle = self._view(comparison.control)
            moved, changed = _marked((moved, changed), self.reader.changes_between(self.before, idle))
            has_effect = _has_effect(moved, changed)
            if not unchanged or (has_effect and self.bookkeeping.control_moves[control] is not None):
                break
            if not has_effect and self._is_equivalent(comparison, control, idle):
                unnamed = self._depends_on_chance(comparison, control, step)
                break
        unnamed = unnamed and not _has_effect(moved, changed)
        return replace(step, moved=moved, changed=changed, unnamed_change=unnamed)

    def _controls(self, step: Transition) -> tuple[str, ...]:
        """Return the controls that may take as many moves as the action. All of them if unknown or if none does."""
        controls = tuple(self.bookkeeping.control_moves)
        if step.before.moves is None or step.after.moves is None:
            return controls
        moves = step.after.moves - step.before.moves
        control_moves = self.bookkeeping.control_moves
        return tuple(control for control in controls if control_moves[control] in (moves, None)) or controls

    def _is_equivalent(self, comparison: BranchComparison, control: str, idle: View) -> bool:
        """Return whether the action had the same result as the control, except for bookkeeping."""
        hidden = self.reader.hidden_changes(self.before, self.after)
        # A change of the player, such as no longer being stunned, can make other actions possible.
        if any(number == self.reader.profile.player for number, *_ in hidden):
            return False
        if self.reader.hidden_changes(self.before, idle) != hidden:
            return False
        if not self._unexplained(comparison):
            return True
        # All settling commands are rarely needed.
        settled = self.worker.compare(control, _SETTLING)
        return settled is not None and not self._unexplained(settled)

    def _unexplained(self, comparison: BranchComparison) -> set[int]:
        """Return the differing addresses outside the header, the object table and the bookkeeping."""
        table = self.before.machine.table
        return {
            address
            for address in comparison.differing
            if address >= _HEADER_BYTES
            and not table.start <= address < table.stop
            and address not in self.bookkeeping.addresses
        }

    def _depends_on_chance(self, comparison: BranchComparison, control: str, step: Transition) -> bool:
        """Return whether an action without effect may have one with other random numbers."""
        if not comparison.surplus_draws or not self.bookkeeping.answers.isdisjoint(comparison.differing):
            return False
        # With a creature, it is probably a fight, and the next blow may hit.
        return bool(step.before.creatures) or any(
            self._has_effect_with_rng(control, advance) for advance in _FEW_RNG_ADVANCES
        )

    def _has_effect_with_rng(self, control: str, rng_advance: int) -> bool:
        """Return whether the action has an effect after this many random numbers are skipped."""
        replayed = self.worker.compare(self.command, (), rng_advance=rng_advance)
        if replayed is None or self.bookkeeping.addresses.issuperset(replayed.differing):
            return False
        # Other random numbers also change the rest of the world, so compare with the control.
        comparison = self.worker.compare(
            control, _SETTLING, action=self.command, from_last_step=True, rng_advance=rng_advance
        )
        if comparison is None or comparison.surplus_draws is None:
            return False
        before, reader = self.before, self.reader
        acted, idle = self._view(comparison.action), self._view(comparison.control)
        if reader.room(acted) != reader.room(before) or self._unexplained(comparison):
            return True
        return _has_effect(*_marked(reader.changes_between(before, acted), reader.changes_between(before, idle)))


def _has_same_standing(step: Transition) -> bool:
    """Return whether room, vehicle, score and inventory are unchanged."""
    before, after = step.before, step.after
    return (before.location, before.vehicle, before.score, before.inventory) == (
        (after.location, after.vehicle, after.score, after.inventory)
    )


def _has_effect(moved: tuple[ObjectMove, ...], changed: tuple[AttributeChange, ...]) -> bool:
    return not (all(move.by_itself for move in moved) and all(change.by_itself for change in changed))


def _marked(action_changes: Changes, control_changes: Changes) -> Changes:
    """Return the changes by the action. Those that the control causes too are marked as independent."""
    moved, changed = action_changes
    moves = {(move.number, move.destination_number) for move in control_changes[0]}
    values = {(change.number, change.attribute, change.value) for change in control_changes[1]}
    return (
        tuple(
            replace(move, by_itself=True) if (move.number, move.destination_number) in moves else move for move in moved
        ),
        tuple(
            replace(change, by_itself=True) if (change.number, change.attribute, change.value) in values else change
            for change in changed
        ),
    )


_ATTRIBUTE_OF = {"open": "open", "close": "open", "shut": "open", "lock": "locked", "unlock": "locked"}
"""Verb → the attribute that it changes."""
_MOVING_VERBS = frozenset({"take", "get", "drop", "put", "insert", "give"})
_STATES = frozenset({*STATES, "worn", "light"})


def fell_short(step: Transition, profile: Profile) -> bool:
    """Return `Transition.fell_short`. False if unknown."""
    verb, *_ = [*step.action.lower().split(), ""]
    if verb in _MOVING_VERBS:
        is_known = step.after.inventory is not None
    else:
        is_known = _ATTRIBUTE_OF.get(verb, "") in profile.attributes
    return is_known and not (
        step.died
        or step.finished
        or any(not move.by_itself for move in step.moved)
        or any(change.attribute in _STATES and not change.by_itself for change in step.changed)
        or not _has_same_standing(step)
    )

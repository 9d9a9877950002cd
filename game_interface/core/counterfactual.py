"""Separate what an action did from what would have happened without it, by playing the turn with a control command.

A story's memory differs after every command: the turn counter, timers, what the parser keeps of the words. None of that
is the action's doing. A control such as `look`, played from the very same state, random generator included, changes it
too; only the rest was done by the action. Both are followed by the same settling commands, which overwrite most of what
a parser keeps. The remainder, and what stories keep to vary their answers, is learned once for each story, by trying
every verb on the player object at the opening: its bookkeeping.

An action that drew random numbers and did nothing is repeated with other random numbers: if one of these has an effect,
chance decided. With a creature in sight, chance is assumed. If a control hangs or dies, the turn counts as an unnamed
change. Attributes that a story keeps for itself, such as `visited`, are not changes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from game_interface.core.discovery import DIRECTIONS
from game_interface.core.grammar import verbs
from game_interface.core.observe import ViewReader
from game_interface.core.profile import Profile
from game_interface.core.worker import RNG_ADVANCES, BranchComparison, Worker, WorkerFailure
from game_interface.core.zmachine import View, changes
from game_interface.models import GrammarLine, Language, TokenKind, Transition
from zorkgpt.log import get_logger
from zorkgpt.memory.claims import STATES
from zorkgpt.memory.objects import AttributeChange, ObjectMove

log = get_logger("zorkgpt.game")

_NO_WORD = "qzxvj"
"""A word that is in no story's dictionary: the parser refuses it."""
CONTROLS = ("look", "inventory", "wait", _NO_WORD)
_SETTLING = ("inventory", "examine me")
_PLAYER_WORD = "me"
_HEADER_BYTES = 64
_FEW_RNG_ADVANCES = RNG_ADVANCES[:4]
"""Those tried for an action without effect."""
_MOST_FAILURES = 3
_MOST_NAMES_HERE = 12
_ABSENT_NAMES_STEP = 24
"""Only one of this many names of absent objects is tried."""

Changes = tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """The parts of a story's memory that it keeps for itself and that a player cannot see."""

    addresses: frozenset[int] = frozenset()
    answers: frozenset[int] = frozenset()
    """Those addresses that record which of several answers was given; chance picks one."""
    attributes: frozenset[int] = frozenset()
    """Attributes for the story's own use, beside those that are known by name."""
    own_attributes: frozenset[int] = frozenset()
    """Such attributes of the player object."""
    control_moves: Mapping[str, int | None] = field(default_factory=dict)
    """Each control that can be played → how many moves it takes; None if unknown."""

    @property
    def idle_command(self) -> str:
        """A command that only takes a move. `wait` if no such command is known."""
        idle = (command for command in ("wait", "look", "inventory") if self.control_moves.get(command) == 1)
        return next(idle, "wait")


# Learning the bookkeeping


def learn_bookkeeping(
    worker: Worker, reader: ViewReader, opening: View, language: Language, restore_opening: Callable[[], object]
) -> Bookkeeping:
    """Return the story's bookkeeping. The game has to be at its opening, and stays there."""
    return _BookkeepingProbe(worker, reader, opening, restore_opening).learn(language)


class _BookkeepingProbe:
    """Plays commands without effect at the opening, and collects what differs all the same."""

    def __init__(
        self, worker: Worker, reader: ViewReader, opening: View, restore_opening: Callable[[], object]
    ) -> None:
        self._worker, self._reader = worker, reader
        self._opening, self._restore_opening = opening, restore_opening
        self._failures = 0
        self._own_attributes: set[int] = set()

    def learn(self, language: Language) -> Bookkeeping:
        control_moves = {control: moves for control in CONTROLS for moves in self._control_moves(control)}
        addresses: set[int] = set()
        answers: set[int] = set()
        seen_once: set[int] = set()
        for probe in _probes(language, self._opening, self._reader):
            if self._failures >= _MOST_FAILURES:
                break
            compared = self._without_effect(probe, control_moves)
            if compared is None or addresses.issuperset(compared.differing):
                continue
            differing = set(compared.differing)
            if compared.surplus_draws:
                # Chance picked one of several answers, and the story notes which were given.
                others = (self._without_effect(probe, control_moves, advance) for advance in RNG_ADVANCES)
                runs = [differing, *(set(other.differing) for other in others if other)]
                addresses.update(*runs)
                answers |= set[int]().union(*runs) - differing.intersection(*runs)
            # What only one probe changes may be its effect.
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
            log.warning("a probe was given up", extra={"probe": action, "failure": str(failure)})
            self._restore_opening()
            return None

    def _control_moves(self, control: str) -> Iterator[int | None]:
        """Yield how many moves it takes; nothing if the interpreter does not survive it."""
        if compared := self._compare(control, ()):
            yield self._reader.moves_between(self._opening, _with_bytes(self._opening, compared.control))

    def _without_effect(
        self, probe: str, control_moves: Mapping[str, int | None], rng_advance: int = 0
    ) -> BranchComparison | None:
        """Compare the probe with the closest control; None if it had an effect or the interpreter did not survive."""
        closest: BranchComparison | None = None
        moves: int | None = None
        for control in control_moves:
            # Known from the first comparison on.
            if moves not in (None, control_moves[control]):
                continue
            compared = self._compare(control, _SETTLING, probe, rng_advance)
            if compared is None:
                return None
            moves = self._reader.moves_between(self._opening, _with_bytes(self._opening, compared.action))
            if moves not in (None, control_moves[control]):
                continue
            if self._leaves_objects_alone(compared) and (
                closest is None or len(compared.differing) < len(closest.differing)
            ):
                closest = compared
            if moves is not None:
                break
        return closest

    def _leaves_objects_alone(self, compared: BranchComparison) -> bool:
        """Return whether the object tree stays as it is; the player's own attributes are then noted as bookkeeping."""
        player = self._reader.profile.player
        acted, idle = (_with_bytes(self._opening, changed) for changed in (compared.action, compared.control))
        difference = changes(idle, acted)
        if difference.moved or any(number != player for number, _, _ in difference.flipped):
            return False
        self._own_attributes.update(attribute for _, attribute, _ in difference.flipped)
        return True

    def _unnamed_attributes(self) -> Iterator[int]:
        """Yield the attributes that change by entering rooms and by looking."""
        before, named = self._opening, set(self._reader.profile.attributes.values())
        for command in (*DIRECTIONS, "look"):
            compared = self._compare(_NO_WORD, (), command)
            if compared is None:
                continue
            after = _with_bytes(before, compared.action)
            rooms = {self._reader.room(before), self._reader.room(after)}
            for number, attribute, _ in changes(before, after).flipped:
                if attribute not in named and (number in rooms or command == "look"):
                    yield attribute


def _probes(language: Language, opening: View, reader: ViewReader) -> Iterator[str]:
    """Yield a command for everything that the grammar allows, with the player object for every noun."""
    actions_done: set[int] = set()
    syntaxes_done: set[tuple[GrammarLine, ...] | None] = set()
    for verb in verbs(opening.machine):
        lines = language.verbs.get(verb)
        if lines is None or lines not in syntaxes_done:
            syntaxes_done.add(lines)
            # If more is needed, the parser asks for it.
            yield from (verb, f"{verb} {_PLAYER_WORD}")
        for line in lines or ():
            if line.action not in actions_done:
                actions_done.add(line.action)
                yield _command(verb, line)
    now = reader.observe(opening)
    at_hand = {item.num for item in now.at_hand}
    at_hand |= reader.mentioned(opening, now.location.num) if now.location else set()
    names = sorted(language.names.items())
    here = [word for word, numbers in names if numbers & at_hand]
    absent = [word for word, numbers in names if not numbers & at_hand]
    yield from (f"{verb} {word}" for word in here[:_MOST_NAMES_HERE] for verb in ("take", "open", "close"))
    yield from (f"take {word}" for word in absent[::_ABSENT_NAMES_STEP])
    # Commands as long as they can be, for what the parser keeps of one.
    yield from (_NO_WORD * 15, f"{_NO_WORD} " * 13)
    for verb in ("take", "drop"):
        yield from (f"{verb} {_NO_WORD * 14}", f"{verb}{f' {_PLAYER_WORD}' * 14}")
        yield f"{verb} {' and '.join([_PLAYER_WORD] * 10)}"
    # Some of them describe objects that are here, which suffices for the parser.
    yield from (f"examine {adjective}" for adjective in sorted(language.adjectives))


def _command(verb: str, line: GrammarLine) -> str:
    words = (min(token.words, default="") if token.kind is TokenKind.WORD else _PLAYER_WORD for token in line.tokens)
    return " ".join(filter(None, (verb, *words)))


def _with_bytes(before: View, changed: Mapping[int, int]) -> View:
    """Return the view with these bytes of the memory changed."""
    memory = bytearray(before.data[: before.machine.header.static])
    for address, byte in changed.items():
        memory[address] = byte
    return before.machine.view(bytes(memory))


# Comparing a turn


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The turn that was played last, to be compared with branches in which the player did something else."""

    before: View
    after: View
    command: str
    """The action as it was sent to the interpreter."""
    reader: ViewReader
    known: Bookkeeping
    worker: Worker
    """The worker that played the turn."""

    def mark(self, step: Transition) -> Transition:
        """Return the transition with what came about by itself marked, and whether anything unnamed was changed.

        Raises:
            WorkerFailure: If the interpreter did not survive a control.
        """
        quiet = _is_quiet(step)
        moved, changed, unnamed = step.moved, step.changed, quiet
        hidden = self.reader.hidden_changes(self.before, self.after)
        # A player who was stunned before and no longer is can do now what was impossible then.
        same_player = not any(number == self.reader.profile.player for number, *_ in hidden)
        for control in self._controls(step):
            if not quiet and not _by_the_action(moved, changed):
                break
            compared = self.worker.compare(control, _SETTLING[-1:] if quiet else ())
            if compared is None:
                break
            idle = _with_bytes(self.before, compared.control)
            moved, changed = _marked((moved, changed), self.reader.changes_between(self.before, idle))
            by_the_action = _by_the_action(moved, changed)
            if not quiet or (by_the_action and self.known.control_moves[control] is not None):
                break
            same = same_player and self._is_same(compared, control, hidden)
            if same and not by_the_action:
                unnamed = self._may_be_chance(compared, control, step)
                break
        unnamed = unnamed and not _by_the_action(moved, changed)
        return replace(step, moved=moved, changed=changed, unnamed_change=unnamed)

    def _controls(self, step: Transition) -> tuple[str, ...]:
        """Return the controls that take as many moves as the action; all if that is not known or none does."""
        controls = tuple(self.known.control_moves)
        if step.before.moves is None or step.after.moves is None:
            return controls
        moves = step.after.moves - step.before.moves
        return tuple(each for each in controls if self.known.control_moves[each] in (moves, None)) or controls

    def _is_same(self, compared: BranchComparison, control: str, hidden: frozenset[tuple[int, ...]]) -> bool:
        """Return whether both branches end in the same state, bookkeeping left out."""
        if self.reader.hidden_changes(self.before, _with_bytes(self.before, compared.control)) != hidden:
            return False
        if not self._unexplained(compared):
            return True
        # All settling commands are seldom needed to overwrite what the parser keeps.
        settled = self.worker.compare(control, _SETTLING)
        return settled is not None and not self._unexplained(settled)

    def _unexplained(self, compared: BranchComparison) -> set[int]:
        """Return the differing addresses outside the header, the object table and the bookkeeping."""
        table = self.before.machine.table
        return {
            address
            for address in compared.differing
            if address >= _HEADER_BYTES
            and not table.start <= address < table.stop
            and address not in self.known.addresses
        }

    def _may_be_chance(self, compared: BranchComparison, control: str, step: Transition) -> bool:
        """Return whether an action without effect may have one with other random numbers."""
        if not compared.surplus_draws or not self.known.answers.isdisjoint(compared.differing):
            return False
        # With a creature there it is likely a fight, in which the next blow may hit.
        return bool(step.before.creatures) or any(self._has_effect(control, each) for each in _FEW_RNG_ADVANCES)

    def _has_effect(self, control: str, rng_advance: int) -> bool:
        """Return whether the action has an effect once the random generator is advanced."""
        otherwise = self.worker.compare(self.command, (), rng_advance=rng_advance)
        if otherwise is None or self.known.addresses.issuperset(otherwise.differing):
            return False
        # It may also be the rest of the world that fares differently.
        compared = self.worker.compare(
            control, _SETTLING, action=self.command, from_last_step=True, rng_advance=rng_advance
        )
        if compared is None or compared.surplus_draws is None:
            return False
        before, reader = self.before, self.reader
        acted, idle = _with_bytes(before, compared.action), _with_bytes(before, compared.control)
        if reader.room(acted) != reader.room(before) or self._unexplained(compared):
            return True
        return _by_the_action(*_marked(reader.changes_between(before, acted), reader.changes_between(before, idle)))


def _is_quiet(step: Transition) -> bool:
    """Return whether room, vehicle, score and inventory are as before."""
    before, after = step.before, step.after
    return not step.died and (before.location, before.vehicle, before.score, before.inventory) == (
        (after.location, after.vehicle, after.score, after.inventory)
    )


def _by_the_action(moved: tuple[ObjectMove, ...], changed: tuple[AttributeChange, ...]) -> bool:
    return not (all(move.by_itself for move in moved) and all(change.by_itself for change in changed))


def _marked(after_action: Changes, after_control: Changes) -> Changes:
    """Return what the action's branch changed; what the control's branch changed too came about by itself."""
    moved, changed = after_action
    moved_anyway = {_move_key(move) for move in after_control[0]}
    changed_anyway = {_change_key(change) for change in after_control[1]}
    return (
        tuple(replace(each, by_itself=each.by_itself or _move_key(each) in moved_anyway) for each in moved),
        tuple(replace(each, by_itself=each.by_itself or _change_key(each) in changed_anyway) for each in changed),
    )


def _move_key(move: ObjectMove) -> tuple[int, int | None]:
    return move.number, move.destination_number


def _change_key(change: AttributeChange) -> tuple[int, str, bool]:
    return change.number, change.attribute, change.value


_SHOWN_BY = {"open": "open", "close": "open", "shut": "open", "lock": "locked", "unlock": "locked"}
"""Verb → the attribute that shows whether it was done."""
_HANDLING = frozenset({"take", "get", "drop", "put", "insert", "give"})
"""Verbs that move a thing."""
_STATES = frozenset({*STATES, "worn", "light"})


def fell_short(step: Transition, profile: Profile) -> bool:
    """Return whether nothing changed that the verb can mean; False where the story does not show that."""
    verb, *_ = [*step.action.lower().split(), ""]
    if verb in _HANDLING:
        shown = step.after.inventory is not None
    else:
        shown = _SHOWN_BY.get(verb, "") in profile.attributes
    return shown and not _changed_the_world(step)


def _changed_the_world(step: Transition) -> bool:
    before, after = step.before, step.after
    return (
        step.died
        or step.finished
        or any(not move.by_itself for move in step.moved)
        or any(change.attribute in _STATES and not change.by_itself for change in step.changed)
        or (before.location, before.vehicle, before.score, before.inventory)
        != (after.location, after.vehicle, after.score, after.inventory)
    )

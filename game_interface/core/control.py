"""What would have come about without the action: the same moment played with a command that does nothing.

A story's memory differs after every command: the turn counter, clocks, what the parser keeps of the words. None of that
is the action's doing. Played from the very same state, random generator included, a control such as `look` changes it
too; what is left was done by the action. Both are followed by the same commands, which overwrite most of what a parser
keeps. The rest of that, and what stories keep to vary their answers, is learned once for each story, by trying every
verb on the player itself at the opening.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from game_interface.core.discovery import DIRECTIONS
from game_interface.core.observe import Reader
from game_interface.core.words import verbs
from game_interface.core.worker import Comparison, Worker, WorkerFailure
from game_interface.core.zmachine import View, changes
from game_interface.language import Form, Language, Place
from game_interface.models import AttributeChange, ObjectMove, Transition
from zorkgpt.log import get_logger

log = get_logger("zorkgpt.game")

_NO_WORD = "qzxvj"
"""In no story's dictionary: the parser refuses it."""
CONTROLS = ("look", "inventory", "wait", _NO_WORD)
_THEN = ("inventory", "examine me")
_OBJECT = "me"
_HEADER = 64
_TURNS = (5, 11, 17, 23, 31, 41, 53, 67, 79, 97, 113, 131)
"""By how many numbers the random generator is turned on, to see more of what chance can bring."""
_CHANCES = 4
"""How many of them are tried for an action of which nothing came."""
_MOST_FAILURES = 3
_MOST_WORDS = 12
_EVERY_WORD = 24

Compare = Callable[..., Comparison | None]


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """What a story notes for itself, of which a player sees nothing."""

    addresses: frozenset[int] = frozenset()
    answers: frozenset[int] = frozenset()
    """Those of them that tell which of several answers were given; chance picks one."""
    attributes: frozenset[int] = frozenset()
    """Beside those that are known by name."""
    own_attributes: frozenset[int] = frozenset()
    """Of the player's object."""
    passing: Mapping[str, int | None] = field(default_factory=dict)
    """The controls that can be played, and how many moves each takes; None: the story does not tell."""


def bookkeeping_of(
    worker: Worker, reader: Reader, opening: View, language: Language, load: Callable[[], None]
) -> Bookkeeping:
    """Learn it from a game that is at its opening, and stays there.

    Args:
        load: brings the opening back after the interpreter was lost.
    """
    return _Learner(worker, reader, opening, load).learn(language)


class _Learner:
    def __init__(self, worker: Worker, reader: Reader, opening: View, load: Callable[[], None]) -> None:
        self._worker, self._reader, self._opening, self._load = worker, reader, opening, load
        self._failures = 0
        self._own: set[int] = set()

    def learn(self, language: Language) -> Bookkeeping:
        passing = {control: passed for control in CONTROLS for passed in self._passing(control)}
        found: set[int] = set()
        answers: set[int] = set()
        seen_once: set[int] = set()
        for probe in _probes(language, self._opening, self._reader):
            if self._failures >= _MOST_FAILURES:
                break
            compared = self._idle(probe, passing)
            if compared is None or found.issuperset(compared.left):
                continue
            left = set(compared.left)
            if compared.drawn:
                # An answer that chance picks out of several, and the story keeps count of those given.
                again = (self._idle(probe, passing, turns) for turns in _TURNS)
                runs = [left, *(set(one.left) for one in again if one)]
                found.update(*runs)
                answers |= set.union(*runs) - set.intersection(*runs)
            # What only one sentence changes may be its effect.
            found |= left & seen_once
            seen_once |= left
        attributes = frozenset(self._attributes())
        return Bookkeeping(frozenset(found), frozenset(answers), attributes, frozenset(self._own), passing)

    def _compare(
        self, control: str, then: tuple[str, ...], action: str = _NO_WORD, turns: int = 0
    ) -> Comparison | None:
        try:
            return self._worker.compare(control, then, action=action, turns=turns)
        except WorkerFailure as failure:
            self._failures += 1
            log.warning("a probe was given up", extra={"probe": action, "failure": str(failure)})
            self._load()
            return None

    def _passing(self, control: str) -> Iterator[int | None]:
        """The moves that it takes; nothing if the interpreter does not survive it."""
        if compared := self._compare(control, ()):
            yield self._reader.passed(self._opening, _view(self._opening, compared.control))

    def _idle(self, probe: str, passing: Mapping[str, int | None], turns: int = 0) -> Comparison | None:
        """The probe beside the control that comes nearest; None if it did something, or did not survive."""
        best: Comparison | None = None
        passed: int | None = None
        for control in passing:
            # Known from the first comparison on.
            if passed not in (None, passing[control]):
                continue
            compared = self._compare(control, _THEN, probe, turns)
            if compared is None:
                return None
            passed = self._reader.passed(self._opening, _view(self._opening, compared.action))
            if passed not in (None, passing[control]):
                continue
            if self._does_nothing(compared) and (best is None or len(compared.left) < len(best.left)):
                best = compared
            if passed is not None:
                break
        return best

    def _does_nothing(self, compared: Comparison) -> bool:
        """To the object tree; the player's own attributes are noted as bookkeeping then."""
        player = self._reader.profile.player
        acted, idle = (_view(self._opening, changed) for changed in (compared.action, compared.control))
        difference = changes(idle, acted)
        if difference.moved or any(number != player for number, _, _ in difference.flipped):
            return False
        self._own.update(attribute for _, attribute, _ in difference.flipped)
        return True

    def _attributes(self) -> Iterator[int]:
        """Of rooms, by going to them, and of whatever is looked at."""
        before, named = self._opening, set(self._reader.profile.attributes.values())
        for command in (*DIRECTIONS, "look"):
            compared = self._compare(_NO_WORD, (), command)
            if compared is None:
                continue
            after = _view(before, compared.action)
            rooms = {self._reader.room(before), self._reader.room(after)}
            for number, attribute, _ in changes(before, after).flipped:
                if attribute not in named and (number in rooms or command == "look"):
                    yield attribute


def _probes(language: Language, opening: View, reader: Reader) -> Iterator[str]:
    """One sentence for everything that the grammar lets a player do, with the player itself for every thing."""
    done: set[int] = set()
    begun: set[tuple[Form, ...] | None] = set()
    for verb in verbs(opening.machine):
        forms = language.verbs.get(verb)
        if forms is None or forms not in begun:
            begun.add(forms)
            # Where more is needed, the parser asks back.
            yield from (verb, f"{verb} {_OBJECT}")
        for form in forms or ():
            if form.action not in done:
                done.add(form.action)
                yield _sentence(verb, form)
    now = reader.observe(opening)
    near = {item.num for item in (*(now.visible or ()), *(now.carried or ()))}
    near |= reader.mentioned(opening, now.location.num) if now.location else set()
    here, absent = [], []
    for word, numbers in sorted(language.names.items()):
        (here if numbers & near else absent).append(word)
    yield from (f"{verb} {word}" for word in here[:_MOST_WORDS] for verb in ("take", "open", "close"))
    yield from (f"take {word}" for word in absent[::_EVERY_WORD])
    # As long as a sentence can be, for what is kept of one.
    yield from (_NO_WORD * 15, f"{_NO_WORD} " * 13)
    for verb in ("take", "drop"):
        yield from (f"{verb} {_NO_WORD * 14}", f"{verb} {' and '.join([_OBJECT] * 10)}")
    # Some of them are of what is here, which suffices for the parser.
    yield from (f"examine {adjective}" for adjective in sorted(language.adjectives))


def _sentence(verb: str, form: Form) -> str:
    said = (min(part.words, default="") if part.place is Place.WORD else _OBJECT for part in form.parts)
    return " ".join(filter(None, (verb, *said)))


def _view(before: View, changed: Mapping[int, int]) -> View:
    """The moment in which these bytes of the memory differ."""
    memory = bytearray(before.data[: before.machine.header.static])
    for address, byte in changed.items():
        memory[address] = byte
    return before.machine.view(bytes(memory))


def without_the_action(
    step: Transition, before: View, after: View, reader: Reader, known: Bookkeeping, compare: Compare, command: str
) -> Transition:
    """The step with what came about by itself marked, and whether anything unnamed was changed.

    Args:
        compare: `Worker.compare`, of the step that was played last.
        command: the action as the interpreter got it.

    Raises:
        WorkerFailure: the interpreter did not survive a control.
    """
    quiet = _is_quiet(step)
    moved, changed, unnamed = step.moved, step.changed, quiet
    out_of_sight = reader.unnamed_changes(before, after)
    # Who was stunned a moment ago, and is no longer, may do now what could not be done then.
    same_player = not any(number == reader.profile.player for number, *_ in out_of_sight)

    def differs(compared: Comparison, idle: View) -> bool:
        return bool(_left(compared, before, known)) or reader.unnamed_changes(before, idle) != out_of_sight

    for control in _controls(step, known):
        if not quiet and not _by_the_action(moved, changed):
            break
        compared = compare(control, _THEN[-1:] if quiet else ())
        if compared is None:
            break
        idle = _view(before, compared.control)
        moved, changed = _marked(moved, changed, *reader.moved(before, idle))
        by_the_action = _by_the_action(moved, changed)
        if not quiet or (by_the_action and known.passing[control] is not None):
            break
        # The longer way to overwrite what the parser keeps is seldom needed.
        same = same_player and not (differs(compared, idle) and differs(compare(control, _THEN), idle))
        if same and not by_the_action:
            unnamed = (
                bool(compared.drawn)
                and known.answers.isdisjoint(compared.left)
                and (
                    # With somebody there it is likely a fight, in which the next blow may hit.
                    bool(step.before.creatures) or _by_chance(compare, control, before, reader, known, command)
                )
            )
            break
    anyway = step.died and _dies_anyway(step, before, reader, known, compare)
    unnamed = unnamed and not _by_the_action(moved, changed)
    return replace(step, moved=moved, changed=changed, unnamed_change=unnamed, died_anyway=anyway)


def _dies_anyway(step: Transition, before: View, reader: Reader, known: Bookkeeping, compare: Compare) -> bool:
    """Whether the player would have come to the same end by doing nothing, by chance too."""
    end = reader.room(before), step.before.score
    came_to = step.after.location and step.after.location.num, step.after.score
    if came_to == end or None in came_to:
        return False
    for control in _controls(step, known):
        for turns in (0, *_TURNS[:_CHANCES]):
            compared = compare(control, (), action=_NO_WORD, again=True, turns=turns)
            idle = compared and reader.observe(_view(before, compared.control))
            if idle and (idle.location and idle.location.num, idle.score) == came_to:
                return True
    return False


def _is_quiet(step: Transition) -> bool:
    one, other = step.before, step.after
    return not step.died and (one.location, one.vehicle, one.score, one.inventory) == (
        (other.location, other.vehicle, other.score, other.inventory)
    )


def _controls(step: Transition, known: Bookkeeping) -> tuple[str, ...]:
    """Those that let as much time pass as the action; all of them if that is not known, or if none does."""
    controls = tuple(known.passing)
    if step.before.moves is None or step.after.moves is None:
        return controls
    passed = step.after.moves - step.before.moves
    return tuple(control for control in controls if known.passing[control] in (passed, None)) or controls


def _by_the_action(moved: tuple[ObjectMove, ...], changed: tuple[AttributeChange, ...]) -> bool:
    return not all(one.by_itself for one in (*moved, *changed))


def _marked(
    moved: tuple[ObjectMove, ...],
    changed: tuple[AttributeChange, ...],
    moved_too: tuple[ObjectMove, ...],
    changed_too: tuple[AttributeChange, ...],
) -> tuple[tuple[ObjectMove, ...], tuple[AttributeChange, ...]]:
    """What differs without the action as well has come about by itself."""
    moves = {(move.item.num, move.destination and move.destination.num) for move in moved_too}
    flips = {(flip.item.num, flip.attribute, flip.value) for flip in changed_too}
    return (
        tuple(
            replace(
                move, by_itself=move.by_itself or (move.item.num, move.destination and move.destination.num) in moves
            )
            for move in moved
        ),
        tuple(
            replace(flip, by_itself=flip.by_itself or (flip.item.num, flip.attribute, flip.value) in flips)
            for flip in changed
        ),
    )


def _left(compared: Comparison, before: View, known: Bookkeeping) -> set[int]:
    """Where action and control differ in what is neither the object tree nor bookkeeping."""
    table = before.machine.table
    return {
        address
        for address in compared.left
        if address >= _HEADER and not table.start <= address < table.stop and address not in known.addresses
    }


def _by_chance(compare: Compare, control: str, before: View, reader: Reader, known: Bookkeeping, command: str) -> bool:
    """Whether the action would have done something if other random numbers had been drawn."""
    for turns in _TURNS[:_CHANCES]:
        otherwise = compare(command, (), turns=turns)
        if otherwise is None or known.addresses.issuperset(otherwise.left):
            continue
        # It may also be the rest of the world that fares otherwise.
        compared = compare(control, _THEN, action=command, again=True, turns=turns)
        if compared is None or compared.drawn is None:
            continue
        acted, idle = _view(before, compared.action), _view(before, compared.control)
        if reader.room(acted) != reader.room(before) or _left(compared, before, known):
            return True
        if _by_the_action(*_marked(*reader.moved(before, acted), *reader.moved(before, idle))):
            return True
    return False

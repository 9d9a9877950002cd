"""Replay a recorded run, to try actions in any state of its episodes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.scene import states_of
from game_interface.models import Scene, Transition
from session.history import TurnRecord
from session.outcome import affected_objects
from zorkgpt.action_check import check_action
from zorkgpt.directions import DIRECTIONS, canonical_direction
from zorkgpt.memory.claims import OPPOSITE, Claim, Relation
from zorkgpt.memory.objects import ThingState
from zorkgpt.offline.phrases import is_dark
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.text import normalized_action

CONTROLS = ("look", "inventory", "examine me")
"""Commands without effect. All changes during one of them happen by themselves."""
_BOOKKEEPING_SHARE = 0.05
"""Global variables that change in a larger share of the turns are treated as bookkeeping of the game."""


@dataclass(frozen=True)
class State:
    """A state of the recorded run."""

    episode: int
    turn: int
    """Number of turns played before. 0 for the start of the game."""
    place: int | None
    saved: bytes
    scored: frozenset[tuple[int | None, str]]
    """(place, action) of all actions that had scored in the episode so far."""


@dataclass(frozen=True)
class Tried:
    """The effect of an action in a state, without changes that happen by themselves."""

    outcome: str
    """ "died", "to 12" (a place), "changed" or "nothing"."""
    score: int
    response: str
    destination: str
    """The name of the place to which it leads, or ""."""
    unnamed: bool
    """Whether there may be a hidden effect: the game understood the action, and a global variable changed that is not
    bookkeeping."""
    understood: bool
    """Whether the game counted a turn (if it counts them), and the object tree has the objects of the action."""
    anyway: bool
    """Whether the player died, and would also have died without acting or in most of the other directions."""


@dataclass(frozen=True)
class _Idle:
    """The changes that happen by themselves in a state."""

    effects: frozenset[tuple]
    globals: frozenset[int]
    died: bool


class Replay:
    """The states of a run, and a game that can restore any of them.

    Args:
        game: A game with the run's story and seed.
        commands: Episode → commands.
    """

    def __init__(self, game: JerichoInterface, commands: Mapping[int, Sequence[str]]) -> None:
        self.game = game
        self.arrivals: dict[int, list[State]] = defaultdict(list)
        """Place → the state of the first arrival in each episode."""
        self.taken: dict[tuple[int | None, str], list[State]] = defaultdict(list)
        """(place, action) → the states in which the action was taken there."""
        self.steps: dict[tuple[int, int], Transition] = {}
        """(episode, turn) → transition."""
        self._states: dict[tuple[int, int], State] = {}
        self._tried: dict[tuple[int, int, str], Tried] = {}
        self._idle: dict[tuple[int, int], _Idle] = {}
        self._changes: Counter[int] = Counter()
        game.reset()
        self.fresh = State(0, 0, _place(game), game.save_state(), frozenset())
        for episode, actions in sorted(commands.items()):
            self._play(episode, actions)
        self.first_arrivals = {place: states[0] for place, states in self.arrivals.items()}
        """Place → the state of the first arrival in any episode."""
        self._bookkeeping = {
            index for index, times in self._changes.items() if times > _BOOKKEEPING_SHARE * max(1, len(self.steps))
        }

    def _play(self, episode: int, actions: Sequence[str]) -> None:
        game = self.game
        game.reset()
        scored: frozenset[tuple[int | None, str]] = frozenset()
        self._note(State(episode, 0, _place(game), game.save_state(), scored))
        for turn, action in enumerate(actions, 1):
            before, globals_before = self._states[episode, turn - 1], _globals(game)
            attempt = before.place, normalized_action(action)
            self.taken[attempt].append(before)
            step = self.steps[episode, turn] = game.act(action)
            self._changes.update(_differing(globals_before, _globals(game)))
            if step.points > 0:
                scored |= {attempt}
            self._note(State(episode, turn, _place(game), game.save_state(), scored))

    def _note(self, state: State) -> None:
        self._states[state.episode, state.turn] = state
        known = self.arrivals[state.place] if state.place is not None else []
        if not known or known[-1].episode != state.episode:
            known.append(state)

    def state(self, episode: int, turn: int) -> State | None:
        """Return the state after a number of turns of an episode. None if it was not played that far."""
        return self._states.get((episode, turn))

    def enter(self, state: State) -> None:
        """Restore a state."""
        self.game.restore_state(state.saved)

    def attempt(self, state: State, action: str) -> Tried:
        """Return the effect of an action in a state."""
        known = state.episode, state.turn, action
        if known not in self._tried:
            self._tried[known] = self._attempt(state, action)
        return self._tried[known]

    def _attempt(self, state: State, action: str) -> Tried:
        idle = self._idle_in(state)
        self.enter(state)
        scene = self.game.scene()
        possible = check_action(action, self.game.language, scene).valid
        before = _globals(self.game)
        step = self.game.act(action)
        changed = _differing(before, _globals(self.game)) - idle.globals - self._bookkeeping
        origin, end = step.before.location, step.after.location
        effects = _effects(step, scene) - idle.effects
        if step.died:
            outcome = "died"
        elif end is not None and origin != end:
            outcome = f"to {end.num}"
        elif step.points or effects:
            outcome = "changed"
        else:
            outcome = "nothing"
        clock = step.before.moves, step.after.moves
        ticked = not (step.refused or step.fault) and (None in clock or clock[0] != clock[1])
        understood = ticked and (possible or outcome != "nothing")
        return Tried(
            outcome=outcome,
            score=step.points,
            response=step.response,
            destination=end.name if outcome.startswith("to ") else "",
            unnamed=bool(changed) and understood,
            understood=understood,
            anyway=step.died and (idle.died or self._is_deadly_ground(state, action)),
        )

    def absent(self, state: State, count: int) -> list[str]:
        """Return names from the parser's dictionary of objects that are out of reach in a state."""
        self.enter(state)
        names, scene = self.game.language.names, self.game.scene()
        found = (word for word in sorted(names) if scene is not None and not names[word] & scene.in_scope)
        return list(islice(found, count))

    def _absent_of_two_words(self, state: State) -> list[str]:
        self.enter(state)
        view, language, scene = self.game.ram, self.game.language, self.game.scene()
        if scene is None:
            return []
        far = (number for number in range(1, view.machine.object_count + 1) if number not in scene.in_scope)
        names = (view.name(number).lower().split() for number in far)
        known = language.names.keys() | language.adjectives
        found = (
            " ".join(name) for name in names if len(name) == 2 and {language.truncate(word) for word in name} <= known
        )
        return list(islice(found, 1))

    def _is_deadly_ground(self, state: State, action: str) -> bool:
        """Return whether most of the other directions kill too, so that the place or the dark is the cause."""
        gone = canonical_direction(action)
        deaths = []
        for direction in DIRECTIONS if gone else ():
            if direction != gone:
                self.enter(state)
                deaths.append(self.game.act(direction).died)
        return 2 * sum(deaths) > len(deaths)

    def _idle_in(self, state: State) -> "_Idle":
        known = state.episode, state.turn
        if known not in self._idle:
            effects: set[tuple] = set()
            variables: set[int] = set()
            died = False
            # Changes that the parser makes for any name of one or two words are not effects.
            about_nothing = (f"examine {name}" for name in (*self.absent(state, 1), *self._absent_of_two_words(state)))
            for control in (*CONTROLS, *about_nothing):
                self.enter(state)
                before, scene = _globals(self.game), self.game.scene()
                step = self.game.act(control)
                effects |= _effects(step, scene)
                variables |= _differing(before, _globals(self.game))
                died |= step.died
            self._idle[known] = _Idle(frozenset(effects), frozenset(variables), died)
        return self._idle[known]

    def is_so(self, claim: Claim, place: int) -> bool | None:
        """Return whether a claim about a place is true in the current state. None if unknown.

        Decided by the object tree and, if the player is at the place, by the objects in reach.
        """
        game = self.game
        view, profile = game.ram, game.profile
        at_place = _place(game) == place
        if claim.relation in (Relation.DARK, Relation.LIGHT):
            return self._is_dark() is (claim.relation is Relation.DARK) if at_place else None
        if claim.relation is Relation.LEADS or claim.number is None or not view.exists(claim.number):
            return None
        number, parent = claim.number, view.parent(claim.number)
        match claim.relation:
            case Relation.CARRIED | Relation.NOT_CARRIED:
                carried = profile.player in view.ancestors(number)
                return None if profile.player is None else carried is (claim.relation is Relation.CARRIED)
            case Relation.HERE | Relation.ABSENT:
                here = parent == place or (at_place and self._is_part_of_the_place(number))
                return here is (claim.relation is Relation.HERE)
            case Relation.IN | Relation.ON:
                on_top = (
                    profile.has(view, parent, "supporter") if parent and "supporter" in profile.attributes else None
                )
                return parent == claim.other and on_top in (None, claim.relation is Relation.ON)
        told = tuple(states_of(profile.named_attributes(view, number)))
        known = claim.relation in told or OPPOSITE[claim.relation] in told
        return claim.relation in told if known else None

    def _is_dark(self) -> bool:
        """Return whether it is dark, by the object tree or else by the response to `look`."""
        if self.game.observe().dark:
            return True
        saved = self.game.save_state()
        seen = self.game.act("look").response
        self.game.restore_state(saved)
        return is_dark(seen)

    def is_dark_place(self, place: int) -> bool | None:
        """Return whether it was dark at an arrival in any episode. None if the player always had a light."""
        for state in self.arrivals.get(place, ()):
            self.enter(state)
            if self._is_dark():
                return True
            if all(thing.states.count("lit") == 0 for thing in self.game.things()):
                return False
        return None

    def _is_part_of_the_place(self, number: int) -> bool:
        """Return whether an object is in reach and fixed, such as a door, which is not in a room in the object tree."""
        things = {thing.number: thing for thing in self.game.things()}
        thing = things.get(number)
        return thing is not None and thing.fixed and thing.holder_number not in things

    def is_movable(self, number: int) -> bool:
        """Return whether an object is known to be takeable or alive."""
        named = self.game.profile.named_attributes(self.game.ram, number)
        return named.get("takeable", False) or named.get("animate", False)

    def all_so(self, claims: Iterable[Claim], state: State) -> bool | None:
        """Return whether all claims are true in a state. None if one is unknown and none is false."""
        self.enter(state)
        verdicts = [self.is_so(claim, state.place or 0) for claim in claims]
        if False in verdicts:
            return False
        return None if None in verdicts else True

    def things_at(self, state: State) -> tuple[ThingState, ...]:
        """Return the objects in reach in a state."""
        self.enter(state)
        return self.game.things()


def commands_of(workdir: Path) -> dict[int, list[str]]:
    """Return episode → commands of a working directory."""
    found = {}
    for number in episodes_in(workdir):
        turns = {event.turn: event for event in read_episode(workdir, number) if isinstance(event, TurnRecord)}
        found[number] = [turn.action for _, turn in sorted(turns.items())]
    return found


def differences(replay: Replay, workdir: Path) -> list[str]:
    """Return the turns whose log differs from the replay. Empty if the game is deterministic."""
    found = []
    for number in episodes_in(workdir):
        for event in read_episode(workdir, number):
            if not isinstance(event, TurnRecord):
                continue
            after = replay.steps[number, event.turn].after
            if (after.location_id, after.score) != (event.after.location_id, event.after.score):
                found.append(f"episode {number}, turn {event.turn}: {event.action}")
    return found


def _place(game: JerichoInterface) -> int | None:
    return game.observe().location_id


def _effects(step: Transition, scene: Scene | None) -> set[tuple]:
    """Return the effects of a step on the player and on objects in reach. Changes elsewhere are ignored.

    Args:
        scene: The scene before the step. None if unknown.
    """
    if scene is None:
        near = {item.num for item in affected_objects(step)}
    else:
        seen = (step.before.visible, step.before.carried, step.after.visible, step.after.carried)
        near = scene.in_scope | {item.num for items in seen for item in items or ()}
    moved = {("moved", move.number, move.destination_number) for move in step.moved if move.number in near}
    flips = {("flip", flip.number, flip.attribute, flip.value) for flip in step.changed if flip.number in near}
    held = {("held", item.num) for item in {*(step.before.inventory or ())} ^ {*(step.after.inventory or ())}}
    aboard = {("aboard", step.after.vehicle)} if step.before.vehicle != step.after.vehicle else set()
    return moved | flips | held | aboard


def _globals(game: JerichoInterface) -> tuple[int, ...]:
    return tuple(game.ram.global_value(index) for index in range(240))


def _differing(before: tuple[int, ...], after: tuple[int, ...]) -> set[int]:
    return {index for index, (one, other) in enumerate(zip(before, after, strict=True)) if one != other}

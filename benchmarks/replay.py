"""The recorded play of a run, played again: every state that its episodes went through, to try actions in."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Scene, Transition
from session.history import TurnRecord
from session.outcome import affected_objects
from zorkgpt.action_check import check_action
from zorkgpt.memory.claims import OPPOSITE, Claim, Relation
from zorkgpt.memory.objects import ThingState
from zorkgpt.offline.phrases import is_dark
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.text import normalized_action
from zorkgpt.world.directions import DIRECTIONS, canonical_direction

CONTROLS = ("look", "inventory", "examine me")
"""They take a turn at most and do nothing: what comes about with one of them comes about by itself."""
_BOOKKEEPING_SHARE = 0.05
"""A global variable that changes on more of the turns than that is the game's own bookkeeping."""


@dataclass(frozen=True)
class State:
    """One moment of the recorded play."""

    episode: int
    turn: int
    """So many turns had been played; 0: the game has just begun."""
    place: int | None
    saved: bytes
    scored: frozenset[tuple[int | None, str]]
    """(place, action) of everything that had scored in the episode by then."""


@dataclass(frozen=True)
class Tried:
    """What an action does in one state; what comes about by itself there is left out."""

    outcome: str
    """ "died", "to 12" (a place), "changed" or "nothing"."""
    score: int
    response: str
    destination: str
    """Name of the place that it leads to; "" where it leads nowhere."""
    unnamed: bool
    """The game understood it, and a global variable changed that is no bookkeeping: there may be an effect that shows
    nowhere else."""
    understood: bool
    """The game counted a turn, where it counts them, and the object tree has what the action names."""
    anyway: bool
    """The player died, and would have died by doing nothing, or by a step in most of the other directions, too."""


@dataclass(frozen=True)
class _Idle:
    """What comes about by itself in one state."""

    effects: frozenset[tuple]
    globals: frozenset[int]
    died: bool


class Replay:
    """The states of a run, and a game that can be put into any of them.

    Args:
        game: of the run's story and seed.
        commands: what was played, by episode.
    """

    def __init__(self, game: JerichoInterface, commands: Mapping[int, Sequence[str]]) -> None:
        self.game = game
        self.arrivals: dict[int, list[State]] = defaultdict(list)
        """Place → the state in which the player came there for the first time, of each episode that led there."""
        self.taken: dict[tuple[int | None, str], list[State]] = defaultdict(list)
        """(place, action) → every state in which the action was taken there."""
        self.steps: dict[tuple[int, int], Transition] = {}
        """(episode, turn) → what the turn did."""
        self._states: dict[tuple[int, int], State] = {}
        self._tried: dict[tuple[int, int, str], Tried] = {}
        self._idle: dict[tuple[int, int], _Idle] = {}
        self._changes: Counter[int] = Counter()
        game.start()
        self.fresh = State(0, 0, _place(game), game.save_state(), frozenset())
        for episode, actions in sorted(commands.items()):
            self._play(episode, actions)
        self.first_arrivals = {place: states[0] for place, states in self.arrivals.items()}
        """Place → the state in which the player came there for the first time in any episode."""
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
        """After so many turns of an episode; None: it was not played so far."""
        return self._states.get((episode, turn))

    def enter(self, state: State) -> None:
        """Put the game into this state."""
        self.game.restore_state(state.saved)

    def attempt(self, state: State, action: str) -> Tried:
        """Take an action in a state."""
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
        """Names of things that are not at hand in a state, as the parser knows them."""
        self.enter(state)
        names, scene = self.game.language.names, self.game.scene()
        found = (word for word in sorted(names) if scene is not None and not names[word] & scene.in_scope)
        return list(islice(found, count))

    def _absent_of_two_words(self, state: State) -> list[str]:
        self.enter(state)
        view, language, scene = self.game.memory, self.game.language, self.game.scene()
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
        """Most of the other directions kill, too: it is the place or the dark, not this step."""
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
            # What the parser notes of a name of one word, and of two, is no effect.
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
        """Whether a claim about a place holds in the state that the game is in; None: the story does not tell.

        By the object tree, and by what is at hand where the player is at the place.
        """
        game = self.game
        view, profile = game.memory, game.profile
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
        told = game.thing(number).states
        known = claim.relation in told or OPPOSITE[claim.relation] in told
        return claim.relation in told if known else None

    def _is_dark(self) -> bool:
        """By the object tree, or, of stories that don't tell, by what is said on looking."""
        if self.game.observe().dark:
            return True
        saved = self.game.save_state()
        seen = self.game.act("look").response
        self.game.restore_state(saved)
        return is_dark(seen)

    def is_dark_place(self, place: int) -> bool | None:
        """Whether it is dark on an arrival of any episode; None: there was a light each time."""
        for state in self.arrivals.get(place, ()):
            self.enter(state)
            if self._is_dark():
                return True
            if all(thing.states.count("lit") == 0 for thing in self.game.things()):
                return False
        return None

    def _is_part_of_the_place(self, number: int) -> bool:
        """At hand and fixed, like a door, which the story keeps in no room."""
        things = {thing.number: thing for thing in self.game.things()}
        thing = things.get(number)
        return thing is not None and thing.fixed and thing.holder_number not in things

    def is_movable(self, number: int) -> bool:
        """Known to be something that can be taken, or that moves by itself."""
        named = self.game.profile.named_attributes(self.game.memory, number)
        return named.get("takeable", False) or named.get("animate", False)

    def all_so(self, claims: Iterable[Claim], state: State) -> bool | None:
        """Whether all these claims hold in a state; None: of one that is not known, and no other is wrong."""
        self.enter(state)
        told = [self.is_so(claim, state.place or 0) for claim in claims]
        if False in told:
            return False
        return None if None in told else True

    def things_at(self, state: State) -> tuple[ThingState, ...]:
        """What is at hand in a state."""
        self.enter(state)
        return self.game.things()


def commands_of(workdir: Path) -> dict[int, list[str]]:
    """What was played in the runs of a working directory, by episode."""
    found = {}
    for number in episodes_in(workdir):
        turns = {event.turn: event for event in read_episode(workdir, number) if isinstance(event, TurnRecord)}
        found[number] = [turn.action for _, turn in sorted(turns.items())]
    return found


def differences(replay: Replay, workdir: Path) -> list[str]:
    """The turns that the log tells otherwise than the replay: none, where same seed and commands are the same game."""
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
    """What a step did to the things at hand and to the player; what goes on elsewhere is not its doing.

    Args:
        scene: before it; None: the story does not tell what is at hand.
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
    return tuple(game.memory.global_value(index) for index in range(240))


def _differing(before: tuple[int, ...], after: tuple[int, ...]) -> set[int]:
    return {index for index, (one, other) in enumerate(zip(before, after, strict=True)) if one != other}

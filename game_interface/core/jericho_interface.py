"""The only face of the Z-machine that the rest of the house sees."""

import weakref
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from game_interface.core import discovery, savestate, words
from game_interface.core.control import Bookkeeping, bookkeeping_of, without_the_action
from game_interface.core.language import language_of
from game_interface.core.observe import Reader
from game_interface.core.profile import Profile
from game_interface.core.sanitize import SeveralCommands, clean_command
from game_interface.core.scene import SceneReader
from game_interface.core.transcript import verdict, without_status_line
from game_interface.core.worker import Snapshot, Worker, WorkerFailure
from game_interface.core.zmachine import View, ZMachine
from game_interface.language import Language, Scene
from game_interface.models import Item, Location, Observation, PlacedObject, ThingState, Transition
from game_interface.story import Story, find_story
from zorkgpt.errors import CommandRefused, ConfigurationError, GameClosed, InterpreterError
from zorkgpt.log import get_logger

log = get_logger("zorkgpt.game")

TIME_LIMIT_S = 5.0
"""A command of a healthy story takes well under a millisecond."""
_LARGEST_SEED = 2**31 - 1
_bookkeeping: dict[str, Bookkeeping] = {}
"""By the story's sha256: what one game of a story has learned serves all others in this process."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """Where the game is, in every form that is needed of it."""

    snapshot: Snapshot
    view: View
    observation: Observation
    text: str


class JerichoInterface:
    """One game of one story, played in a process of its own.

    The game begins with `start`, or with the first question. Nothing that a command does ends this process: a hung
    or dead interpreter is replaced and put back to the state before the command, and the turn says so
    (`Transition.fault`).

    Args:
        rom_path: A story file, or the name of one that `find_story` knows; None: the one that it finds.
        seed: Of the interpreter's random generator, 1 or more. Same seed, same commands: same text.
        time_limit_s: After this long without an answer the interpreter is killed.
        allow_lookahead: Permit questions that try moves on a saved state. That is a handicap in the sense of the
            literature: whoever uses it says so in the report.
        several_commands: What becomes of "open door. go north": "refuse", or "first" for its first command alone.

    Raises:
        StoryError: the story can't be found or played.
        ConfigurationError: the seed or the time limit is out of its range.
    """

    def __init__(
        self,
        rom_path: str | Path | None = None,
        *,
        seed: int = 1,
        time_limit_s: float = TIME_LIMIT_S,
        allow_lookahead: bool = False,
        several_commands: SeveralCommands = "refuse",
        story: Story | None = None,
    ) -> None:
        if not isinstance(seed, int) or not 1 <= seed <= _LARGEST_SEED:
            raise ConfigurationError(f"The seed is {seed!r}; it must be a whole number from 1 to {_LARGEST_SEED}.")
        if not time_limit_s > 0:
            raise ConfigurationError(f"The time limit of a command is {time_limit_s!r} s; it must be above 0.")
        self.story = story or find_story(rom_path)
        self.allow_lookahead = allow_lookahead
        self.fault_count = 0
        self._several = several_commands
        self._machine = ZMachine(self.story.data)
        self._reader = Reader(self.story.profile)
        self._worker = Worker(self.story.data, seed=seed, time_limit_s=time_limit_s)
        self._moment: _Moment | None = None
        self._seen: tuple[_Moment, Scene | None] | None = None
        """The scene that was asked for last, and of when."""
        self._opening: str = ""
        self._knows_bookkeeping = False
        self._closed = False
        self.died = False
        """The player died on the last turn; the game may go on."""
        self.finished = False
        """The game has ended, in whatever way; only `reset` and `restore_state` go on from here."""
        self.victory = False
        weakref.finalize(self, self._worker.kill)

    # The game's life

    def start(self) -> str:
        """Begin, and return the opening text. Begun already: the opening text again."""
        self._now()
        return self._opening

    def reset(self) -> str:
        """Begin anew with the same seed, and return the opening text."""
        self._check_open()
        first = self._moment is None
        snapshot = self._from_the_beginning()
        if first:
            self._learn_the_story(snapshot)
            snapshot = self._from_the_beginning()
        self.died = self.finished = self.victory = False
        self._moment = self._moment_of(snapshot)
        self._opening = self._moment.text
        return self._opening

    def close(self) -> None:
        """End the interpreter's process. Closing twice does no harm; anything else afterwards raises GameClosed."""
        self._closed = True
        self._worker.kill()

    def __enter__(self) -> "JerichoInterface":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Acting

    def send_command(self, action: str) -> str:
        """Play a command and return what the game says; for a refused one, why it was refused."""
        return self.act(action).response

    def act(self, action: str) -> Transition:
        """Play a command and return everything that it did."""
        here = self._now()
        try:
            if self.finished:
                raise CommandRefused("The game has ended. Only a new episode goes on from here.")
            command = clean_command(action, several=self._several)
        except CommandRefused as refusal:
            self.died = False
            return self._standing_still(action, refused=str(refusal))
        self._learn_bookkeeping()
        try:
            snapshot = self._worker.step(command.encode("ascii"))
        except WorkerFailure as failure:
            return self._recovered(action, failure)
        there = self._moment = self._moment_of(snapshot)
        self._judge(there)
        seen = (items for now in (here.observation, there.observation) for items in (now.visible, now.carried))
        near = {item.num for items in seen for item in items or ()}
        moved, changed = self._reader.moved(here.view, there.view, near)
        step = Transition(
            before=here.observation,
            action=action,
            response=there.text,
            after=there.observation,
            moved=moved,
            changed=changed,
            died=self.died,
            finished=self.finished,
            victory=self.victory,
        )
        return step if step.finished else self._told_apart(step, here.view, there.view, command)

    def _told_apart(self, step: Transition, before: View, after: View, command: str) -> Transition:
        """What the action did, apart from what would have come about without it."""
        known = _bookkeeping[self.story.sha256]
        try:
            return without_the_action(step, before, after, self._reader, known, self._worker.compare, command)
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"control of": command, "failure": str(failure)})
            self._go_to(self._moment.snapshot.state)
            return replace(step, unnamed_change=True)

    def _standing_still(self, action: str, *, refused: str | None = None, fault: str | None = None) -> Transition:
        here = self._now().observation
        return Transition(
            before=here,
            action=action,
            response=refused or fault or "",
            after=here,
            finished=self.finished,
            victory=self.victory,
            refused=refused,
            fault=fault,
        )

    def _recovered(self, action: str, failure: WorkerFailure) -> Transition:
        """A new interpreter at the state before the command.

        Raises:
            InterpreterError: that failed too.
        """
        self.fault_count += 1
        self.died = False
        log.warning("interpreter replaced", extra={"action": str(action)[:80], "failure": str(failure)})
        self._go_to(self._moment.snapshot.state)
        return self._standing_still(action, fault=f"On this command {failure}. The game is as it was before it.")

    def _go_to(self, state: bytes) -> Snapshot:
        try:
            return self._worker.load(state)
        except WorkerFailure:
            pass  # a process that had died unnoticed; the next call starts a new one
        try:
            return self._worker.load(state)
        except WorkerFailure as failure:
            raise InterpreterError(
                f"The interpreter for {self.story.path} could not be brought back: {failure}. Start the episode again."
            ) from failure

    def _judge(self, moment: _Moment) -> None:
        snapshot, flag = moment.snapshot, self._reader.deadflag(moment.view)
        told = verdict(
            moment.text, deadflag=flag, over=snapshot.game_over, won=snapshot.victory, halted=snapshot.halted
        )
        self.died, self.finished, self.victory = told.died, told.finished, told.victory

    # Looking

    def observe(self) -> Observation:
        """Place, things and score, as they are now."""
        return self._now().observation

    def get_location_structured(self) -> Location | None:
        return self.observe().location

    def get_inventory_structured(self) -> tuple[Item, ...] | None:
        return self.observe().inventory

    def get_visible_objects_in_location(self) -> tuple[Item, ...] | None:
        return self.observe().visible

    def get_object_attributes(self, obj: Item | Location | int) -> dict[str, bool]:
        """Whether each attribute whose meaning is known is set; empty if this story's numbering is not known."""
        number = obj if isinstance(obj, int) else obj.num
        return self._reader.profile.named_attributes(self._now().view, number)

    def get_score(self) -> tuple[int | None, int | None]:
        """Score and moves."""
        now = self.observe()
        return now.score, now.moves

    def get_max_score(self) -> int | None:
        self._now()
        return self._reader.profile.max_score

    def is_dead(self) -> bool:
        return self.died

    @property
    def world_state(self) -> bytes:
        """A digest of the object tree and the place: equal digests, nothing has moved and no attribute changed."""
        now = self._now()
        place = now.observation.location
        return now.view.fingerprint() + (place.num if place else 0).to_bytes(2, "big")

    @property
    def memory(self) -> View:
        """The story's memory as it is now, for whoever needs more than the questions here."""
        return self._now().view

    @property
    def profile(self) -> Profile:
        """What is known of this story's numbering, after trying moves where that was needed."""
        self._now()
        return self._reader.profile

    @property
    def seed(self) -> int:
        return self._worker.seed

    @property
    def unknowns(self) -> tuple[str, ...]:
        """What this story does not tell, and is None or empty therefore."""
        now, profile = self.observe(), self.profile
        told = {name: getattr(now, name) for name in ("location", "inventory", "visible", "score", "moves")}
        told |= {"attributes": profile.attributes or None, "max_score": profile.max_score}
        return tuple(name for name, value in told.items() if value is None)

    # Words

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """Every word that the story's parser knows, cut to six (version 3) or nine letters."""
        return words.vocabulary(self._machine)

    def get_valid_verbs(self) -> tuple[str, ...]:
        """The parser's verbs, without those that the gate refuses."""
        self._check_open()
        return words.verbs(self._machine)

    @cached_property
    def language(self) -> Language:
        """What the story's parser understands: its words, its verbs' forms, and the names of things."""
        return language_of(self._machine)

    def scene(self) -> Scene | None:
        """What a command can be about now; None if this story does not tell."""
        now = self._now()
        if self._seen is None or self._seen[0] is not now:
            self._seen = now, self._scenes.scene(now.view, now.observation)
        return self._seen[1]

    def things(self) -> tuple[ThingState, ...]:
        """What is in sight, in hand or otherwise at hand now, with what holds it and the state that it is in."""
        now = self._now()
        return self._scenes.things(now.view, now.observation, self.scene())

    def thing(self, number: int) -> ThingState:
        """One object as it is now, wherever it is."""
        now = self._now()
        return self._scenes.thing(now.view, number, now.observation)

    def all_objects(self) -> tuple[PlacedObject, ...]:
        """Return every named object of the world, the player and what it carries left out."""
        return self._scenes.all_objects(self._now().view)

    @cached_property
    def _scenes(self) -> SceneReader:
        return SceneReader(self._reader, self._now().view, self.language)

    # Saving

    def save_state(self) -> bytes:
        """This moment, random generator included, for `restore_state` in this or any other process."""
        return savestate.pack(savestate.SavedState(self._now().snapshot.state, self.finished), self.story.sha256)

    def restore_state(self, saved: bytes) -> None:
        """Go to a saved moment.

        Raises:
            StateError: it is damaged or of another story; the game is where it was.
        """
        self._now()
        state = savestate.unpack(saved, self.story.sha256)
        self._moment = self._moment_of(self._go_to(state.interpreter))
        self.died = self.victory = False
        self.finished = state.finished

    # Looking ahead

    def get_valid_exits(self) -> list[str]:
        """The directions that lead somewhere else from here, found by trying each on a saved state.

        Raises:
            ConfigurationError: the game was opened without `allow_lookahead`.
        """
        if not self.allow_lookahead:
            raise ConfigurationError(
                "get_valid_exits tries moves before they are made, which is a handicap; "
                "open the game with allow_lookahead=True to have it."
            )
        here = self._now()
        room = self._reader.room(here.view)
        try:
            return [direction for direction in discovery.DIRECTIONS if self._leads_on(here, direction, room)]
        finally:
            self._go_to(here.snapshot.state)

    def _leads_on(self, here: _Moment, direction: str, room: int | None) -> bool:
        there = self._attempt(discovery.Moment(here.snapshot.state, here.view), direction)
        return there is not None and self._reader.room(there.view) not in (None, room)

    # Inside

    def _check_open(self) -> None:
        if self._closed:
            raise GameClosed(f"The game of {self.story.path.name} is closed. Open a new JerichoInterface to play on.")

    def _now(self) -> _Moment:
        self._check_open()
        if self._moment is None:
            self.reset()
        return self._moment

    def _moment_of(self, snapshot: Snapshot) -> _Moment:
        view = self._machine.view(snapshot.memory)
        told = (snapshot.score, snapshot.moves) if self._worker.supported else (None, None)
        text = snapshot.text
        if not self._worker.supported:
            text = without_status_line(text, self.story.version)
        return _Moment(snapshot, view, self._reader.observe(view, score=told[0], moves=told[1]), text.strip())

    def _from_the_beginning(self) -> Snapshot:
        for last_try in (False, True):
            try:
                return self._worker.reset()
            except WorkerFailure as failure:
                if last_try:
                    raise InterpreterError(
                        f"The story {self.story.path} can't be started: {failure}. It may be damaged; get it again."
                    ) from failure
        raise AssertionError("unreachable")

    def _learn_the_story(self, opening: Snapshot) -> None:
        """Complete the profile: Jericho's own table first, then by trying moves."""
        known = self.story.profile
        if known.player is None:
            beginning = discovery.Moment(opening.state, self._machine.view(opening.memory))
            known = discovery.with_table(known, self._worker.player_object, self._worker.max_score)
            known = discovery.discover(known, self._machine.header, beginning, self._attempt)
            log.info("story explored", extra={"player": known.player, "location_global": known.location_global})
        self._reader = Reader(known)

    def _learn_bookkeeping(self) -> None:
        """Before the first command, and back to where the game is."""
        if self._knows_bookkeeping:
            return
        key, here = self.story.sha256, self._now().snapshot.state
        if key not in _bookkeeping:
            opening = self._from_the_beginning()
            beginning = self._machine.view(opening.memory)
            _bookkeeping[key] = bookkeeping_of(
                self._worker, self._reader, beginning, self.language, lambda: self._go_to(opening.state)
            )
            self._go_to(here)
        known = _bookkeeping[key]
        self._reader = Reader(self._reader.profile, known.attributes, known.own_attributes)
        self._knows_bookkeeping = True

    def _attempt(self, moment: discovery.Moment, command: str) -> discovery.Moment | None:
        try:
            self._worker.load(moment.state)
            tried = self._worker.step(command.encode("ascii"))
        except WorkerFailure:
            return None
        return discovery.Moment(tried.state, self._machine.view(tried.memory))

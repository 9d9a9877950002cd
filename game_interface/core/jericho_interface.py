"""A `Game` for Z-machine stories, played by Jericho in a worker process."""

import weakref
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from game_interface.core import grammar
from game_interface.core.causes import CauseFinder, LossDetector, RecentStates
from game_interface.core.counterfactual import Bookkeeping, Counterfactual, fell_short
from game_interface.core.coverage import StoryFact, story_facts
from game_interface.core.discovery import StoryExplorer
from game_interface.core.names import NamedThings, Names, as_revealed
from game_interface.core.observe import Light, ViewReader
from game_interface.core.profile import Profile
from game_interface.core.prompts import Prompts, as_typed, mode_of, printed_question, reads_key
from game_interface.core.sanitize import clean_command, clean_key, spelled_walk
from game_interface.core.saved_game import SavedGame
from game_interface.core.scene import SceneReader
from game_interface.core.snapshots import BranchState, SnapshotReader
from game_interface.core.transcript import Ending
from game_interface.core.worker import InterpreterState, Worker, WorkerFailure
from game_interface.core.zmachine import View, ZMachine
from game_interface.models import Item, Language, Location, Observation, Question, Scene, Transition
from game_interface.story import Story, find_story
from zorkgpt.errors import CommandRefused, ConfigurationError, GameClosed
from zorkgpt.log import get_logger
from zorkgpt.memory.losses import Loss
from zorkgpt.memory.objects import PlacedObject, ThingState

log = get_logger("zorkgpt.game")

TIME_LIMIT_S = 5.0
"""Maximum time of a command. Normal commands take less than a millisecond."""
_MAX_ANSWERS = 20
"""Maximum number of answers in a row. After that, the game is returned to commands."""
LARGEST_SEED = 2**31 - 1
_NO_ENDING = Ending(died=False, finished=False, victory=False)

_prompts: defaultdict[str, Prompts] = defaultdict(Prompts)
"""Story's sha256 → the places that read input, shared by all games in this process."""


@dataclass(frozen=True, slots=True)
class _CurrentState:
    """The current state of the game."""

    snapshot: InterpreterState
    view: View
    complete: Observation
    """The observation with things that the player does not know about."""
    observation: Observation
    """The observation, limited to revealed things."""
    text: str
    revealed: frozenset[int]
    """See `ViewReader.revealed`."""
    ending: Ending


class JerichoInterface:
    """A game of a Z-machine story, played in a separate process.

    The game starts with `reset` or with the first call that needs it. If the interpreter hangs, dies or halts, it is
    replaced. The game then returns to the state before the command, and `Transition.fault` has the reason.

    Args:
        rom_path: A story file, or a name that `find_story` knows. Defaults to the first story found.
        seed: Seed of the interpreter's random generator, 1 or more. The same seed and commands give the same text.
            Defaults to the seed for which Jericho's walkthrough of this story was made, or 1 if it has none.
        time_limit_s: Seconds without an answer after which the interpreter is killed.
        story: The story, if it is already loaded.

    Raises:
        StoryError: If the story can't be found or played.
        ConfigurationError: If the seed or the time limit is out of range.
    """

    def __init__(
        self,
        rom_path: str | Path | None = None,
        *,
        seed: int | None = None,
        time_limit_s: float = TIME_LIMIT_S,
        story: Story | None = None,
    ) -> None:
        if seed is not None:
            _check_seed(seed)
        if not time_limit_s > 0:
            raise ConfigurationError(f"The time limit of a command is {time_limit_s!r} s; it must be above 0.")
        self.story = story or find_story(rom_path)
        self._machine = ZMachine(self.story.data)
        self._reader = ViewReader(self.story.profile, Names(self._machine), Light())
        self._worker = Worker(self.story.data, seed=seed, time_limit_s=time_limit_s, name=self.story.path)
        self._state: _CurrentState | None = None
        """None before the game starts."""
        self._scene: tuple[_CurrentState, Scene | None] | None = None
        """A cached scene and its state."""
        self._things: tuple[_CurrentState, tuple[ThingState, ...]] | None = None
        """Cached things and their state."""
        self._saved: tuple[_CurrentState, bytes] | None = None
        """The cached result of `save_state` and its state."""
        self._opening_state: BranchState | None = None
        self._bookkeeping: Bookkeeping | None = None
        """None before the first command."""
        self._prompts = _prompts[self.story.sha256]
        self._recent = RecentStates()
        self._closed = False
        weakref.finalize(self, self._worker.kill)

    @property
    def _snapshots(self) -> SnapshotReader:
        return SnapshotReader(self._machine, self._reader, self._prompts, self._worker.supported)

    # Lifecycle

    def reset(self, *, seed: int | None = None) -> str:
        """Start a new game and return the opening text.

        Args:
            seed: The seed of this game and later ones. Defaults to the seed of the last game.
        """
        self._check_open()
        if seed is not None:
            _check_seed(seed)
            self._worker.seed = seed
        return self._begin().text

    def close(self) -> None:
        """Stop the interpreter. Can be called several times. Any other call afterwards raises `GameClosed`."""
        self._closed = True
        self._worker.kill()

    def __enter__(self) -> "JerichoInterface":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Acting

    def act(self, action: str) -> Transition:
        """Play a command and return its effects."""
        before = self._current()
        try:
            command = self._checked(before, action)
        except CommandRefused as refusal:
            return self._without_effect(before, action, refused=str(refusal))
        bookkeeping = self._learn_bookkeeping(before)
        is_answer = before.complete.question is not None
        if is_answer:
            self._recent.skip()
        else:
            self._recent.add(before.snapshot.state, before.complete.location_id, before.complete.moves)
        try:
            step, after = self._played(before, action, command)
        except WorkerFailure as failure:
            return self._recover(before, action, failure)
        asks = after.complete.question is not None
        # While the story asks a question, no control command (such as `wait`) can be played for comparison.
        if is_answer:
            step = replace(step, before=before.observation, after=after.observation)
            endless = asks and not step.finished and self._recent.skipped >= _MAX_ANSWERS
            return self._end_question(step, before, after) if endless else step
        if not step.finished and not asks:
            step = self._compare_with_controls(step, before, after, command, bookkeeping)
        loss = self._loss(step, after, command, idle=bookkeeping.idle_command)
        return replace(step, before=before.observation, after=after.observation, loss=loss)

    def _checked(self, before: _CurrentState, action: str) -> str:
        """Return the input for an action.

        Raises:
            CommandRefused: If the action is not allowed.
        """
        if before.ending.finished:
            raise CommandRefused("The game has ended. Start a new episode.")
        if reads_key(before.snapshot):
            return clean_key(action)
        return clean_command(action, language=self.language)

    def _played(self, before: _CurrentState, action: str, command: str) -> tuple[Transition, _CurrentState]:
        """Play a command. Return the transition, with complete observations, and the new state.

        Raises:
            WorkerFailure: If the interpreter fails.
        """
        typed = command if reads_key(before.snapshot) else spelled_walk(command, self.language)
        snapshot = self._step(before, typed.encode("ascii"))
        self._use_profile(self._explorer.profile_after_action(self._reader.profile, snapshot))
        after = self._state = self._read(snapshot, before.revealed)
        at_hand = {item.num for now in (before.complete, after.complete) for item in now.at_hand}
        moved, changed = self._reader.changes_between(before.view, after.view, at_hand)
        step = Transition(
            before=before.complete,
            action=action,
            response=after.text,
            after=after.complete,
            moved=moved,
            changed=changed,
            died=after.ending.died,
            finished=after.ending.finished,
            victory=after.ending.victory,
        )
        return step, after

    def _end_question(self, step: Transition, before: _CurrentState, now: _CurrentState) -> Transition:
        """End an endless question with the inputs that lead back to commands, or by restoring the state before it."""
        question, snapshot = now.complete.question, now.snapshot
        way_back = question.way_back if question else ()
        reason = f"The game had asked for {_MAX_ANSWERS} turns."
        if way_back:
            try:
                for answer in way_back:
                    snapshot = self._worker.step(as_typed(snapshot, answer.encode("ascii")))
            except WorkerFailure as failure:
                return self._recover(before, step.action, failure)
            question_ended = f"{reason} It reads commands again after: {', '.join(way_back)}."
        elif self._recent.here:
            snapshot = self._worker.restore(self._recent.here[-1].state)
            question_ended = f"{reason} It was returned to the state before the question."
        else:
            return step
        after = self._state = self._read(snapshot, now.revealed)
        response = "\n\n".join(filter(None, (step.response, after.text if way_back else "", question_ended)))
        return replace(step, after=after.observation, response=response, question_ended=question_ended)

    def _step(self, before: _CurrentState, command: bytes) -> InterpreterState:
        """Play a command. If the story then reads input at a new place, find out whether it reads a command there.

        Raises:
            WorkerFailure: If the interpreter fails.
        """
        typed = as_typed(before.snapshot, command)
        snapshot = self._worker.step(typed)
        if snapshot.has_quit or self._prompts.has_seen(snapshot):
            return snapshot
        self._prompts.learn(self._worker, snapshot)
        self._worker.load(before.snapshot.state)
        return self._worker.step(typed)

    def _look_around(self, snapshot: InterpreterState, view: View) -> None:
        """Learn the name of the room and whether it is dark, with `look` if necessary. The game is unchanged."""
        reader = self._reader
        room = reader.room(view)
        if room is None or snapshot.has_quit or not self._prompts.is_usual(snapshot):
            return
        state = reader.room_state(view, room)
        # The text of the last response is not enough: a lamp may have gone out after it was printed.
        if reader.light.is_dark(state) is None:
            text, name = self._response_to_look(snapshot), reader.names.shown(view, room)
            reader.light.record_description(state, name, text, left_its_room=reader.left_its_room(view))
            on_foot = view.parent(reader.profile.player or 0) in (0, room)
            if text and on_foot and not reader.light.is_dark(state) and reader.names.lacks(view, room):
                reader.names.record_description(room, text)

    def _response_to_look(self, snapshot: InterpreterState) -> str:
        """Return the response to `look` in this state. "" if the interpreter fails. The game is unchanged."""
        try:
            return self._snapshots.text(self._worker.peek(b"look"))
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"peek of": "look", "failure": str(failure)})
            self._worker.restore(snapshot.state)
            return ""

    def _compare_with_controls(
        self, step: Transition, before: _CurrentState, after: _CurrentState, command: str, bookkeeping: Bookkeeping
    ) -> Transition:
        """Return the transition with independent changes marked, and `unnamed_change` and `fell_short` set."""
        turn = Counterfactual(before.view, after.view, command, self._reader, bookkeeping, self._worker)
        try:
            step = turn.mark(step)
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"control of": command, "failure": str(failure)})
            self._worker.restore(after.snapshot.state)
            step = replace(step, unnamed_change=True)
        return replace(step, fell_short=fell_short(step, self._reader.profile))

    def _loss(self, step: Transition, after: _CurrentState, command: str, *, idle: str) -> Loss | None:
        """Return the loss on a turn with its cause. None if there is no loss. The game is unchanged."""
        detected = LossDetector(self._reader, self._named_things).detect(step, after.view, command)
        if detected is None:
            return None
        typed = spelled_walk(command, self.language)
        finder = CauseFinder(step, detected, typed, self._recent, self._worker, self._snapshots, self.language, idle)
        try:
            return finder.find()
        except WorkerFailure as failure:
            log.warning("interpreter replaced", extra={"cause of": command, "failure": str(failure)})
            return detected.loss
        finally:
            self._worker.restore(after.snapshot.state)

    @cached_property
    def _named_things(self) -> NamedThings:
        opening = self._machine.view(b"")
        return NamedThings(
            self.language, {number: opening.name(number) for number in range(1, self._machine.object_count + 1)}
        )

    def _learn_bookkeeping(self, here: _CurrentState) -> Bookkeeping:
        """Return the story's bookkeeping, which is learned before the first command. The game is unchanged."""
        if self._bookkeeping is None:
            learned = self._explorer.bookkeeping(self.story.sha256, self._reader, here.snapshot)
            self._reader = replace(self._reader, bookkeeping=learned.attributes, own_bookkeeping=learned.own_attributes)
            self._bookkeeping = learned
        return self._bookkeeping

    def _without_effect(
        self, now: _CurrentState, action: str, *, refused: str | None = None, fault: str | None = None
    ) -> Transition:
        """Return to this state, and return the transition of a command that changed nothing."""
        self._state = replace(now, ending=replace(now.ending, died=now.ending.died and now.ending.finished))
        return Transition(
            before=now.observation,
            action=action,
            response=refused or fault or "",
            after=now.observation,
            finished=now.ending.finished,
            victory=now.ending.victory,
            refused=refused,
            fault=fault,
        )

    def _recover(self, before: _CurrentState, action: str, failure: WorkerFailure) -> Transition:
        """Return to the state before the command in a new interpreter.

        Raises:
            InterpreterError: If that fails too.
        """
        log.warning("interpreter replaced", extra={"action": str(action)[:80], "failure": str(failure)})
        self._worker.restore(before.snapshot.state)
        return self._without_effect(
            before, action, fault=f"On this command {failure}. The game was returned to the state before it."
        )

    # Observing

    def observe(self) -> Observation:
        """Return the current room, revealed things and score."""
        return self._current().observation

    def get_object_attributes(self, obj: Item | Location | int) -> dict[str, bool]:
        """Return the object's attributes of known meaning, by name."""
        number = obj if isinstance(obj, int) else obj.num
        return self._reader.profile.named_attributes(self._current().view, number)

    def get_max_score(self) -> int | None:
        """Return the maximum score. None if unknown."""
        self._current()
        return self._reader.profile.max_score

    @property
    def ram(self) -> View:
        """The current memory of the Z-machine."""
        return self._current().view

    @property
    def profile(self) -> Profile:
        """The story's object, global and attribute numbers, found by trying moves if necessary."""
        self._current()
        return self._reader.profile

    @property
    def facts(self) -> tuple[StoryFact, ...]:
        """The known facts about this story, and the effects of unknown ones."""
        now = self._current()
        return story_facts(
            self._reader.profile,
            now.view,
            now.complete,
            supported=self._worker.supported,
            sees_questions=self._prompts.is_known,
            sees_headings=self._reader.light.prints_headings,
        )

    # Names of the specification

    def send_command(self, action: str) -> str:
        """Play a command and return the game's text, or the reason why it was not played. See `act`."""
        return self.act(action).response

    def get_location_structured(self) -> Location | None:
        """Return the player's room, even in the dark or in a vehicle. None if unknown."""
        return self.observe().location

    def get_inventory_structured(self) -> list[Item]:
        """Return the objects that the player holds directly. Empty if unknown."""
        return list(self.observe().inventory or ())

    def get_visible_objects_in_location(self) -> list[Item]:
        """Return the objects in the room that the text has named. See `Observation.visible`. Empty if unknown."""
        return list(self.observe().visible or ())

    def get_score(self) -> tuple[int | None, int | None]:
        """Return the score and the number of moves. None if unknown."""
        now = self.observe()
        return now.score, now.moves

    def get_valid_verbs(self) -> list[str]:
        """Return the verbs of the story's grammar, in alphabetical order."""
        return sorted(self.language.verbs)

    def is_dead(self) -> bool:
        """Return whether the player died on the last turn. Stays true if this ended the game."""
        return self._current().ending.died

    # Language

    @cached_property
    def language(self) -> Language:
        """The dictionary and grammar of the story's parser."""
        return grammar.read_language(self._machine)

    def scene(self) -> Scene | None:
        """Return the objects that a command can refer to now. None if unknown."""
        now = self._current()
        if self._scene is None or self._scene[0] is not now:
            self._scene = now, self._scenes.scene(now.view, now.observation)
        return self._scene[1]

    def things(self) -> tuple[ThingState, ...]:
        """Return the revealed things here and the carried things, with their holders and states."""
        now = self._current()
        if self._things is None or self._things[0] is not now:
            self._things = now, self._scenes.things(now.view, now.observation, self.scene(), now.revealed)
        return self._things[1]

    def all_objects(self) -> tuple[PlacedObject, ...]:
        """Return every named object of the world, except the player and carried things."""
        return self._scenes.all_objects(self._current().view)

    @cached_property
    def _scenes(self) -> SceneReader:
        return SceneReader(self._reader, self._current().view, self.language)

    # Saving

    def save_state(self) -> bytes:
        """Return the state, including the random generator. Any process can restore it with `restore_state`."""
        now = self._current()
        if self._saved is None or self._saved[0] is not now:
            saved = SavedGame(now.snapshot.state, self._recent, now.revealed, now.ending.finished)
            self._saved = now, saved.packed(self.story.sha256)
        return self._saved[1]

    def restore_state(self, saved: bytes) -> None:
        """Restore a saved state.

        Raises:
            StateError: If the state is damaged or belongs to another story. The game is unchanged.
        """
        self._current()
        game = SavedGame.unpacked(saved, self.story.sha256)
        now = self._read(self._worker.restore(game.state), game.revealed)
        self._state = replace(now, ending=replace(_NO_ENDING, finished=game.finished))
        self._recent = game.recent

    # The interpreter

    def _check_open(self) -> None:
        if self._closed:
            raise GameClosed(f"The game of {self.story.path.name} is closed. Open a new JerichoInterface.")

    def _current(self) -> _CurrentState:
        self._check_open()
        return self._state or self._begin()

    def _begin(self) -> _CurrentState:
        snapshot = self._worker.restart()
        if self._state is None:
            opening = self._explorer.first_command(snapshot)
            self._use_profile(self._explorer.profile(self.story.profile, opening))
            if self._reader.room(self._machine.view(opening.memory)) is None:
                log.warning("location unknown: no memories of places and no map until a move reveals it")
            snapshot = self._worker.restart()
        self._recent = RecentStates()
        state = self._state = replace(self._read(snapshot, frozenset()), ending=_NO_ENDING)
        self._opening_state = self._snapshots.branch_state(snapshot)
        return state

    def _read(self, snapshot: InterpreterState, revealed: frozenset[int]) -> _CurrentState:
        """Return the state of the game in a snapshot.

        Args:
            revealed: The things that were revealed before.
        """
        view = self._machine.view(snapshot.memory)
        self._follow_player(view)
        self._look_around(snapshot, view)
        snapshots = self._snapshots
        complete, text = snapshots.observe(snapshot, view), snapshots.text(snapshot.text)
        question = self._question(snapshot, view, text) if self._prompts.is_question(snapshot) else None
        if question is not None:
            complete = replace(complete, question=question)
        # After a state was loaded, some responses start with a second prompt.
        text = text.strip().removeprefix(">").lstrip()
        revealed = self._reader.revealed(view, complete, revealed, self._named_things.in_text(text))
        ending = snapshots.ending(snapshot, view, text, asks=question is not None)
        if question is not None and question.final:
            ending = replace(ending, finished=True)
        return _CurrentState(snapshot, view, complete, as_revealed(complete, revealed), text, revealed, ending)

    def _question(self, snapshot: InterpreterState, view: View, text: str) -> Question:
        """Return the story's question. The game is unchanged."""
        if not self._snapshots.ending(snapshot, view, text, asks=True).finished:
            try:
                question = self._prompts.question(self._worker, snapshot, text)
                return replace(question, final=self._is_final(snapshot))
            except WorkerFailure as failure:
                log.warning("interpreter replaced", extra={"question": printed_question(text), "failure": str(failure)})
            finally:
                self._worker.restore(snapshot.state)
        return Question(mode_of(snapshot), printed_question(text))

    def _is_final(self, snapshot: InterpreterState) -> bool:
        """Return whether `yes` restarts the story, or `yes` and `no` both stop it. Changes the worker's state."""
        opening, now = self._opening_state, self._snapshots.branch_state(snapshot)
        if opening is None or reads_key(snapshot) or now.same_situation(opening):
            return False

        def after(answer: bytes) -> InterpreterState:
            self._worker.load(snapshot.state)
            return self._worker.step(answer)

        yes = after(b"yes")
        if yes.has_quit:
            return after(b"no").has_quit
        again = self._snapshots.branch_state(yes)
        if again.moves is None or now.moves is None:
            return False
        # A story that begins again by itself may count the answer as its first move.
        is_back = again.moves == opening.moves or again.moves < now.moves
        return is_back and replace(again, moves=opening.moves).same_situation(opening)

    def _follow_player(self, view: View) -> None:
        """Update the player object, which changes during some stories."""
        profile = self._reader.profile
        if profile.player_global is None:
            return
        player = view.global_value(profile.player_global)
        if player != profile.player and view.parent(player):
            self._use_profile(replace(profile, player=player))

    def _use_profile(self, profile: Profile) -> None:
        if profile != self._reader.profile:
            self._reader = replace(self._reader, profile=profile)
            self.__dict__.pop("_scenes", None)

    @cached_property
    def _explorer(self) -> StoryExplorer:
        return StoryExplorer(self._machine, self.language, self._prompts, self._worker)


def _check_seed(seed: int) -> None:
    if not isinstance(seed, int) or not 1 <= seed <= LARGEST_SEED:
        raise ConfigurationError(f"The seed is {seed!r}; it must be an integer from 1 to {LARGEST_SEED}.")

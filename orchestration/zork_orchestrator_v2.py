"""The order of an episode: open, turn after turn, close, with everything saved on every way out."""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress

from managers.checkpoint_manager import Saved
from managers.episode_synthesizer import EpisodeSynthesizer
from orchestration.parts import Parts
from orchestration.progress import Watcher
from orchestration.turn import TurnCycle
from session.game_state import GameState
from session.ground_truth import audited_things
from session.history import TurnRecord
from zorkgpt.errors import BudgetExceeded, CheckpointError, StateError, ZorkGPTError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.player import PlayerStopped
from zorkgpt.runlog.events import EpisodeEnded

log = logging.getLogger("zorkgpt.orchestrator")


class ZorkOrchestratorV2:
    """Plays episodes. `orchestration.assembly.assemble` makes one with everything that it needs."""

    def __init__(self, parts: Parts, episodes: EpisodeSynthesizer, watchers: Sequence[Watcher] = ()) -> None:
        self.parts = parts
        self._episodes = episodes
        self._watchers = tuple(watchers)
        self._cycle = TurnCycle(parts)
        self._open = False

    @property
    def simple_memory(self) -> SimpleMemoryManager | None:
        return self.parts.memory

    @property
    def game_state(self) -> GameState:
        return self.parts.state

    def reset_episode(self) -> None:
        """Begin a new episode in a fresh world: the next number, the ephemeral memories gone."""
        if self._open:
            self._close("abandoned")
        self._episodes.reset_episode()
        parts = self.parts
        opening = parts.game.reset()
        if parts.memory:
            parts.memory.audit(audited_things(parts.game))
        opened = self._cycle.open(opening)
        self._open = True
        event = self._episodes.open(
            player=parts.player_name, story=parts.game.story.summary(), seed=parts.seed, opening=opening
        )
        parts.checkpoints.begin(opened)
        for watcher in self._watchers:
            watcher.episode_started(event)

    def resume_episode(self, episode: int) -> None:
        """Go on with an episode that was cut short, as if nothing had happened: after the last turn that was over.

        Raises:
            CheckpointError: it can't go on, or somebody plays it; its files are left as they are.
        """
        self._reopen(episode)
        while self._cycle.is_behind:
            self.process_turn()

    def _reopen(self, episode: int) -> None:
        if self._open:
            self._close("abandoned")
        checkpoints = self.parts.checkpoints
        saved = checkpoints.load(episode)
        try:
            self._restore(saved)
        except BaseException:
            checkpoints.let_go()
            if self.parts.memory:
                self.parts.memory.drop_episode()
            raise
        self._open = True
        event = self._episodes.reopen(saved)
        for watcher in self._watchers:
            watcher.episode_resumed(event)

    def _restore(self, saved: Saved) -> None:
        parts, checkpoints = self.parts, self.parts.checkpoints
        checkpoints.check(saved)
        try:
            parts.game.restore_state(saved.checkpoint.game_state)
            self._episodes.resume_episode(saved)
            kept = checkpoints.kept(saved)
            self._cycle.resume(saved, [manager for manager in parts.managers if manager not in kept])
            checkpoints.restore_managers(saved)
        except (StateError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"Episode {saved.checkpoint.episode} can't go on: {error!r}. Play anew.") from error
        checkpoints.take_back(saved)
        self._cycle.learn_map_again(saved)

    def process_turn(self, action: str | None = None) -> TurnRecord:
        """Play one turn, with the given action or with the player's own; opens an episode if none is running."""
        if not self._open:
            self.reset_episode()
        record = self._cycle.play(action)
        self._episodes.process_turn(record)
        for manager in self.parts.managers:
            manager.process_periodic_update()
        for watcher in self._watchers:
            watcher.turn_played(record)
        return record

    def play_episode(self, *, resume: int | None = None) -> EpisodeEnded:
        """Play a whole episode, to death, victory or the turn limit.

        An error of the player or the interpreter ends it, as Ctrl-C does, with everything saved; the reason stands in
        the result.

        Args:
            resume: the one to go on with; None: a new one.

        Raises:
            CheckpointError: it can't be gone on with.
            KeyboardInterrupt: after everything was saved.
        """
        if resume is None:
            self.reset_episode()
        else:
            self._reopen(resume)
        try:
            return self._play_out()
        except BaseException as error:
            if self._open:
                self._close(
                    "interrupted" if isinstance(error, KeyboardInterrupt | SystemExit) else "error", repr(error)
                )
            raise

    def _play_out(self) -> EpisodeEnded:
        config, state = self.parts.config, self.parts.state
        while state.turn_count < config.max_turns_per_episode and not state.finished:
            try:
                if self.parts.models:
                    self.parts.models.check_ceiling()
                self.process_turn()
            except PlayerStopped as reason:
                return self._close("player stopped", str(reason))
            except BudgetExceeded as reason:
                return self._close("budget", str(reason))
            except ZorkGPTError as error:
                log.error("the episode ends", extra={"reason": str(error)})
                return self._close("error", str(error))
            if config.turn_delay_seconds:
                time.sleep(config.turn_delay_seconds)
        self.parts.checkpoints.catch_up()
        return self._close(self._ending())

    def _ending(self) -> str:
        state = self.parts.state
        if state.victory:
            return "victory"
        if state.finished:
            return "death" if state.deaths else "the story's end"
        return "turn limit"

    def _close(self, reason: str, message: str = "") -> EpisodeEnded:
        self.parts.map.save_map_state()
        self.parts.export.export()
        event = self._episodes.close(reason, message)
        # Only now: a Ctrl-C in the midst of it closes once more.
        self._open = False
        for watcher in self._watchers:
            watcher.episode_ended(event)
        return event

    def close(self) -> None:
        """End the running episode, if there is one, and let the interpreter go."""
        try:
            if self._open:
                self._close("abandoned")
        finally:
            self.parts.checkpoints.let_go()
            with suppress(ZorkGPTError):
                self.parts.game.close()
            if self.parts.memory:
                self.parts.memory.close()

    def __enter__(self) -> "ZorkOrchestratorV2":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

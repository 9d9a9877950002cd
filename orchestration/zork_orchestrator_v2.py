"""The sequence of an episode: open it, play turns, close it. However it ends, everything is saved."""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol

from managers.episode_synthesizer import EpisodeSynthesizer
from orchestration.services import Services
from orchestration.turn import Managers, TurnCycle
from session.game_state import GameState
from session.history import TurnRecord
from session.stopwatch import Part, Stopwatch
from zorkgpt.critic import Critic
from zorkgpt.errors import BudgetExceeded, CheckpointError, StateError, ZorkGPTError
from zorkgpt.explore.trail import Trail
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.player import Player, PlayerStopped
from zorkgpt.runlog.episode_log import LastAnswers
from zorkgpt.runlog.events import FINAL_ENDINGS, EpisodeEnded, EpisodeEnding, EpisodeResumed, EpisodeStarted
from zorkgpt.runlog.saved_episodes import SavedEpisode

log = logging.getLogger("zorkgpt.orchestrator")


class Watcher(Protocol):
    """Is notified of the events of a run, for example to display them."""

    def episode_started(self, event: EpisodeStarted) -> None:
        """Process the start of an episode."""

    def episode_resumed(self, event: EpisodeResumed) -> None:
        """Process the resumption of an interrupted episode. `episode_started` is not called again."""

    def turn_played(self, record: TurnRecord) -> None:
        """Process a turn. Called again if the turn is played again after an interruption."""

    def episode_ended(self, event: EpisodeEnded) -> None:
        """Process the end of the episode."""


class ZorkOrchestratorV2:
    """Plays episodes. Created by `orchestration.assembly.assemble`.

    Args:
        critic: Reviews the player's proposals. None without review.
    """

    def __init__(
        self,
        services: Services,
        managers: Managers,
        episodes: EpisodeSynthesizer,
        player: Player,
        critic: Critic | None = None,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self.services = services
        self.managers = managers
        self._episodes = episodes
        self.watchers = list(watchers)
        self._watch = Stopwatch()
        self._cycle = TurnCycle(services, managers, player, critic, self._watch)
        self._last_answers = LastAnswers()
        self._open = False

    @property
    def simple_memory(self) -> SimpleMemoryManager | None:
        """The memory. None without memory."""
        return self.services.memory

    @property
    def game_state(self) -> GameState:
        """The state of the running episode."""
        return self.services.state

    def reset_episode(self) -> None:
        """Start a new episode: restart the game and drop ephemeral memories."""
        if self._open:
            self._close(EpisodeEnding.ABANDONED)
        self._episodes.reset()
        self.managers.checkpoints.claim(self.services.state.episode_id)
        game, options, memory = self.services.game, self.services.options, self.services.memory
        text = game.reset()
        if memory and self.services.config.simple_memory.audit:
            memory.audit(game.all_objects())
        opening = self._cycle.open(text)
        self._open = True
        event = self.services.episode_log.begin(
            player=options.choice.kind,
            story=game.story.summary(),
            seed=options.seed,
            opening=text,
            background=self.services.background.enabled,
            memory=self.services.config.memory_of_run(remember=memory is not None),
        )
        self.managers.objectives.open()
        if memory:
            memory.process_turn()
        self.managers.checkpoints.begin(opening)
        for watcher in self.watchers:
            watcher.episode_started(event)
        self._watch.begin()

    def resume_episode(self, episode: int) -> None:
        """Resume an interrupted episode at its last checkpoint. `process_turn` then repeats the turns played since.

        Raises:
            CheckpointError: If it can't be resumed, or another process plays it. Its files are unchanged.
        """
        if self._open:
            self._close(EpisodeEnding.ABANDONED)
        checkpoints, memory = self.managers.checkpoints, self.services.memory
        try:
            saved = checkpoints.load(episode)
            self._restore(saved)
        except BaseException:
            checkpoints.release()
            if memory:
                memory.drop_episode()
            raise
        self._open = True
        event = self.services.episode_log.resume(saved)
        for watcher in self.watchers:
            watcher.episode_resumed(event)
        self._watch.begin()

    def _restore(self, saved: SavedEpisode) -> None:
        checkpoints, episode = self.managers.checkpoints, saved.episode
        try:
            self.services.game.restore_state(saved.checkpoint.game_state)
            self._episodes.resume_episode(episode, partial(checkpoints.return_to, saved))
            self._cycle.resume(saved)
        except (StateError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"Episode {episode} can't be resumed: {error!r}. Start a new episode.") from error
        self.services.background.ask_again(saved.checkpoint.questions)

    def process_turn(self, action: str | None = None) -> TurnRecord:
        """Play one turn, with the given action or the player's choice. Start an episode if none is running."""
        if not self._open:
            self.reset_episode()
        record = self._cycle.play(action, self._finish_turn)
        for watcher in self.watchers:
            watcher.turn_played(record)
        self._watch.lap(Part.REST)
        return record

    def _finish_turn(self, record: TurnRecord) -> None:
        if self.services.memory:
            self.services.memory.process_turn(record)
        self._episodes.process_turn(record)
        self._watch.lap(Part.LOGGING)
        for manager in self.managers.in_order:
            manager.process_periodic_update()
        self._watch.lap(Part.MANAGERS)
        self.managers.checkpoints.save()

    def play_episode(self, *, resume: int | None = None) -> EpisodeEnded:
        """Play a whole episode, to death, victory or the turn limit.

        An error of the player or the interpreter ends it too. However it ends, everything is saved. The result has the
        reason.

        Args:
            resume: The episode to resume. By default, a new one is started.

        Raises:
            CheckpointError: If the episode can't be resumed.
            KeyboardInterrupt: If Ctrl-C was pressed. Everything is saved.
        """
        if resume is None:
            self.reset_episode()
        else:
            self.resume_episode(resume)
        try:
            return self._play_out()
        except BaseException as error:
            if self._open:
                is_stopped = isinstance(error, KeyboardInterrupt | SystemExit)
                self._close(EpisodeEnding.INTERRUPTED if is_stopped else EpisodeEnding.ERROR, repr(error))
            raise

    def _play_out(self) -> EpisodeEnded:
        config, state, models = self.services.config, self.services.state, self.services.models
        while state.turn_count < config.max_turns_per_episode and not state.finished:
            try:
                if models:
                    models.check_ceiling()
                self.process_turn()
            except PlayerStopped as reason:
                return self._close(EpisodeEnding.PLAYER_STOPPED, str(reason))
            except BudgetExceeded as reason:
                return self._close(EpisodeEnding.BUDGET, str(reason))
            except ZorkGPTError as error:
                log.error("the episode ends", extra={"reason": str(error)})
                return self._close(EpisodeEnding.ERROR, str(error))
            if config.turn_delay_seconds:
                time.sleep(config.turn_delay_seconds)
        self._last_answers = self._cycle.apply(self.services.background.finish(config.background_wait_seconds))
        self.services.map.learn_named_exits(self.managers.extraction.take_named_exits())
        # So that no turn is played again if the end is interrupted.
        self.managers.checkpoints.save()
        return self._close(self._ending())

    def _ending(self) -> EpisodeEnding:
        state = self.services.state
        if state.victory:
            return EpisodeEnding.VICTORY
        if state.finished:
            return EpisodeEnding.DEATH if state.deaths else EpisodeEnding.STORY_END
        return EpisodeEnding.TURN_LIMIT

    def _close(self, reason: EpisodeEnding, message: str = "") -> EpisodeEnded:
        event = self._episodes.close(reason, message, self._last_answers)
        self._record_trail()
        self.managers.checkpoints.end(is_final=reason in FINAL_ENDINGS)
        # Set only now, so that an interrupted close is repeated.
        self._open = False
        self._last_answers = LastAnswers()
        for watcher in self.watchers:
            watcher.episode_ended(event)
        return event

    def _record_trail(self) -> None:
        """Record what the actions of the episode led to, for later episodes."""
        services, state = self.services, self.services.state
        kind, sha256 = services.options.choice.kind, services.game.story.sha256
        trail = Trail(state.episode_id, services.options.seed, tuple(state.experience.rows), kind, sha256)
        try:
            services.trails.add(trail, state.turn_count)
        except ZorkGPTError as error:
            log.warning("later episodes can't use this one", extra={"reason": str(error)})

    def close(self) -> None:
        """End the running episode, if there is one, and close the interpreter."""
        try:
            if self._open:
                self._close(EpisodeEnding.ABANDONED)
        finally:
            self.managers.checkpoints.release()
            with suppress(ZorkGPTError):
                self.services.game.close()
            if self.services.memory:
                self.services.memory.close()
            self.services.record.close()

    def __enter__(self) -> "ZorkOrchestratorV2":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

"""Open questions at the end of an episode: record them, and ask them before the next episode."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from orchestration.learning import MEMORY
from orchestration.services import Services
from zorkgpt.bounded import SAVED_FILE, parse_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import EpisodeInUse, WorkdirError, ZorkGPTError
from zorkgpt.llm.background_work import Work
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.record.events import EventKind, EventRow
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episode_log import LastAnswers
from zorkgpt.runlog.saved_episodes import lock_for_playing

log = logging.getLogger("zorkgpt.orchestrator")


class LateAnswers:
    """Saves the open questions of an episode and asks them later.

    Only questions about memories are saved, with the state of the memory. Objectives and summaries are useless later,
    and the knowledge base is updated from the whole episode anyway.

    Args:
        apply: Continues background work.
    """

    def __init__(self, services: Services, apply: Callable[[Iterable[Work]], LastAnswers]) -> None:
        self._services = services
        self._apply = apply
        self._workdir = Path(services.config.zork_game_workdir)

    def keep(self) -> None:
        """End the work that waits for answers. Save its questions about memories, and log the others as dropped."""
        background, state, memory = self._services.background, self._services.state, self._services.memory
        snapshot = background.snapshot()
        saved_questions = [question for question in snapshot["open"] if question["kind"] == MEMORY]
        dropped = [question["name"] for question in snapshot["open"] if question["kind"] != MEMORY]
        if dropped:
            log.warning("open questions are dropped unless the episode is resumed", extra={"questions": dropped})
        if saved_questions and memory is not None:
            memory.flush()
            open_background = snapshot | {"open": saved_questions}
            saved = {"turn": state.turn_count, "memory": memory.snapshot(), "background": open_background}
            event = EventRow(state.turn_count, EventKind.QUESTIONS, as_json(saved).decode())
            try:
                self._services.events.add(state.episode_id, event, replacing=[EventKind.QUESTIONS])
            except ZorkGPTError as error:
                log.warning("open questions could not be saved", extra={"reason": str(error)})
            else:
                names = [question["name"] for question in saved_questions]
                log.info("open questions saved for the next episode", extra={"questions": names})
        background.open.abandon()

    def forget(self, episode: int) -> None:
        """Delete the saved questions of a resumed episode, because its checkpoint has them too.

        Raises:
            MemoryStoreError: If they can't be deleted.
        """
        self._services.events.remove(episode, EventKind.QUESTIONS)

    def ask(self) -> dict[str, tuple[str, ...]]:
        """Ask the questions of earlier episodes again, and wait for the answers.

        Returns:
            The names of the questions whose answers were applied, by episode.

        Raises:
            MemoryStoreError: If they can't be read or deleted.
        """
        memory, applied = self._services.memory, {}
        if memory is None or self._services.llm is None:
            return {}
        events = self._services.events
        for episode in events.episodes(EventKind.QUESTIONS):
            try:
                lock = lock_for_playing(run_directory(self._workdir, episode))
            except (EpisodeInUse, WorkdirError):
                continue
            try:
                if (event := events.last(episode, EventKind.QUESTIONS)) is not None:
                    applied[str(episode)] = self._ask(episode, parse_json(event.content, SAVED_FILE), memory)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                log.warning("open questions could not be read and are dropped", extra={"error": repr(error)})
            finally:
                lock.release()
            events.remove(episode, EventKind.QUESTIONS)
        return applied

    def _ask(self, episode: int, saved: dict[str, Any], memory: SimpleMemoryManager) -> tuple[str, ...]:
        state, background = self._services.state, self._services.background
        state.reset_episode(episode)
        state.turn_count = int(saved["turn"])
        if self._services.models:
            self._services.models.reset()
        memory.restore(saved["memory"])
        background.restore(saved["background"])
        background.ask_again()
        answers = self._apply(background.finish(self._services.config.background_wait_seconds, is_late=True))
        if unanswered := background.open.abandon():
            names = [work.name for work in unanswered]
            log.warning("questions of an earlier episode are dropped", extra={"episode": episode, "questions": names})
        memory.flush()
        return answers.names

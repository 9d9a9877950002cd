"""Open questions at the end of an episode: save them in its folder, and ask them before the next episode."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from orchestration.learning import MEMORY
from orchestration.services import Services
from zorkgpt.bounded import saved_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import EpisodeInUse, FileError, WorkdirError
from zorkgpt.files import write_file
from zorkgpt.llm.background_work import Work
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.runlog.episode_log import LastAnswers
from zorkgpt.runlog.saved_episodes import lock_for_playing

log = logging.getLogger("zorkgpt.orchestrator")

_FILE_NAME = "open_questions.json"


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
            try:
                write_file(self._path(state.episode_id), as_json(saved))
            except (OSError, FileError) as error:
                log.warning("open questions could not be saved", extra={"reason": str(error)})
            else:
                names = [question["name"] for question in saved_questions]
                log.info("open questions saved for the next episode", extra={"questions": names})
        background.open.abandon()

    def forget(self, episode: int) -> None:
        """Delete the saved questions of a resumed episode, because its checkpoint has them too.

        Raises:
            WorkdirError: If the file can't be deleted.
        """
        _delete(self._path(episode))

    def ask(self) -> dict[str, tuple[str, ...]]:
        """Ask the questions of earlier episodes again, and wait for the answers.

        Returns:
            The names of the questions whose answers were applied, by episode.

        Raises:
            WorkdirError: If a file can't be deleted.
        """
        memory, applied = self._services.memory, {}
        if memory is None or self._services.llm is None:
            return {}
        for episode in episodes_in(self._workdir):
            path = self._path(episode)
            if not path.is_file():
                continue
            try:
                lock = lock_for_playing(path.parent)
            except (EpisodeInUse, WorkdirError):
                continue
            try:
                applied[str(episode)] = self._ask(episode, saved_json(path), memory)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                log.warning("open questions could not be read and are dropped", extra={"error": repr(error)})
            finally:
                lock.release()
            _delete(path)
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

    def _path(self, episode: int) -> Path:
        return run_directory(self._workdir, episode) / _FILE_NAME


def _delete(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise WorkdirError(f"{path} can't be deleted: {error.strerror}. Try again, or delete it.") from None

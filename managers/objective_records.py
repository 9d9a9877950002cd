"""Save lasting objectives, and log those of the running episode, whenever they change."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zorkgpt.errors import ZorkGPTError
from zorkgpt.objectives.file import ObjectivesFile, logged_objective, objective_to_dict
from zorkgpt.objectives.tracker import ObjectiveTracker
from zorkgpt.runlog.episode_log import EpisodeLog
from zorkgpt.runlog.events import ObjectivesUpdated


class ObjectiveRecords:
    """The objectives of a tracker in a file and in the log of the episode.

    Args:
        file: None if nothing is remembered.

    Raises:
        ZorkGPTError: If the file can't be read, or a later version wrote it.
    """

    def __init__(
        self,
        logger: logging.Logger,
        tracker: ObjectiveTracker,
        episode_log: EpisodeLog,
        file: ObjectivesFile | None,
    ) -> None:
        self._log = logger
        self._tracker = tracker
        self._episode_log = episode_log
        self._file = file
        self._logged: list[dict[str, Any]] = []
        self._saved: list[dict[str, Any]] = []
        self._revision = -1
        """The revision of the tracker that was last saved and logged."""
        self._warned: set[str] = set()
        tracker.start_episode(file.load() if file else ())

    def start_episode(self) -> None:
        """Start an episode with the saved objectives, including those of other processes."""
        self._tracker.start_episode((), remember=self._file is not None)
        if self._file:
            with self.errors_logged("file", "the objectives could not be read"):
                self._tracker.start_episode(self._file.load(), remember=True)
        self._logged, self._saved = [], self._lasting()

    def restart_after_restore(self) -> None:
        """Use the tracker's restored state as the base for later changes."""
        self._logged, self._saved = self._as_logged(), []

    def write_changes(self) -> None:
        """Save and log the objectives if they have changed."""
        if self._tracker.revision == self._revision:
            return
        self._revision = self._tracker.revision
        lasting = self._lasting()
        if self._file and lasting != self._saved:
            with self.errors_logged("file", "the objectives could not be saved"):
                self._file.save(self._tracker.lasting())
            # After a failure, such as a full disk, try again at the next change, not on every turn.
            self._saved = lasting
        last, objectives = self._tracker.last, self._as_logged()
        if last is not None and objectives != self._logged:
            self._logged = objectives
            self._episode_log.write(ObjectivesUpdated(last.episode, last.turn, objectives))

    @contextmanager
    def errors_logged(self, part: str, message: str) -> Iterator[None]:
        """Count errors, and log the first one of each part."""
        try:
            yield
        except ZorkGPTError as error:
            self._tracker.counts[f"{part}_failures"] += 1
            if part not in self._warned:
                self._warned.add(part)
                self._log.warning(message, extra={"problem": str(error)})

    def _lasting(self) -> list[dict[str, Any]]:
        return [objective_to_dict(objective) for objective in self._tracker.lasting()]

    def _as_logged(self) -> list[dict[str, Any]]:
        last = self._tracker.last
        return [logged_objective(each) for each in self._tracker.of_episode(last.episode)] if last else []

"""A run in generations: all episodes of one begin with the same snapshot, and what they have found is merged."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zorkgpt.errors import ConfigurationError, EvaluationFailed
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import Task
from zorkgpt.evals.protocols import GenerationProtocol
from zorkgpt.evals.runs import Counted, EpisodeFiles, EvaluationRun, TurnCounter, moved_run
from zorkgpt.evals.snapshot import merge_snapshot, undone_before
from zorkgpt.log import get_logger
from zorkgpt.run_folder import run_directory

log = get_logger(__name__)

_SNAPSHOTS = "snapshots"
_FIT = (Ablation.ON, Ablation.OFF, Ablation.NO_AUDIT)
"""Ablations that change nothing between two episodes."""


class GenerationRun(EvaluationRun):
    """A run whose episodes are tasks of their own.

    An episode that was given up is left out of its generation, as long as at least half of the generation is over.
    """

    @property
    def _protocol(self) -> GenerationProtocol:
        assert isinstance(self.protocol, GenerationProtocol)
        return self.protocol

    def workdir(self, episode: int) -> Path:
        """Return the working directory of an episode, counted from 1."""
        return self.folder / f"episode-{episode}"

    def snapshot(self, generation: int) -> Path:
        """Return the folder of what was learned up to the end of a generation; 0: what the first one begins with."""
        return self.folder / _SNAPSHOTS / str(generation)

    def check(self) -> None:
        """Raise an error if it can't be played; see `EvaluationRun.check`.

        Raises:
            ConfigurationError: it was begun with other values, or the ablation is none for generations.
        """
        if self.ablation not in _FIT:
            fit = ", ".join(_FIT)
            raise ConfigurationError(
                f"The ablation {self.ablation.value!r} is made between one episode and the next, and those of a "
                f"generation have no order. With {self.protocol.name} there are: {fit}."
            )
        super().check()

    def played(self) -> list[EpisodeFiles]:
        """Return the episodes that are over, in their order."""
        found = map(self._ended, range(1, self.protocol.episodes + 1))
        return [files for files in found if files is not None]

    @property
    def is_finished(self) -> bool:
        """Whether the last generation is merged."""
        return self.snapshot(self._protocol.generations).is_dir()

    def turns_over(self) -> int:
        """Return how many turns need no task any more."""
        if self.is_finished:
            return self.protocol.most_turns
        return self.protocol.turns * len(self.played())

    def next_tasks(self, failures: Mapping[str, str]) -> list[Task]:
        """Return the episodes of the present generation that are not over; merge those that are complete.

        Raises:
            EvaluationFailed: more than half of a generation was given up.
        """
        self.check()
        self.begin()
        self.snapshot(0).mkdir(parents=True, exist_ok=True)
        for generation in range(1, self._protocol.generations + 1):
            if self.snapshot(generation).is_dir():
                continue
            tasks = [
                EpisodeTask(self, episode, self.snapshot(generation - 1))
                for episode in self._protocol.episodes_of(generation)
                if self._ended(episode) is None
            ]
            if left := [task for task in tasks if task.name not in failures]:
                return list[Task](left)
            self._merge(generation, [failures[task.name] for task in tasks])
        return []

    def _files(self, episode: int) -> EpisodeFiles:
        return EpisodeFiles(self.workdir(episode), episode, episode)

    def _merge(self, generation: int, failures: list[str]) -> None:
        size = self._protocol.size
        if 2 * len(failures) > size:
            raise EvaluationFailed(
                f"{len(failures)} of the {size} episodes of generation {generation} were given up, the first because: "
                f"{failures[0]}"
            )
        if failures:
            extra = {"generation": generation, "left_out": len(failures), "why": failures[0]}
            log.warning("episodes are left out of their generation", extra=extra)
        over = [files for each in self._protocol.episodes_of(generation) if (files := self._ended(each))]
        target = self.snapshot(generation)
        draft = target.with_name(f".{target.name}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        merge_snapshot(self.settings, self.snapshot(generation - 1), over, draft)
        os.replace(draft, target)

    def play_one(self, episode: int, start: Path, count: TurnCounter) -> None:
        """Play an episode, or what is left of it.

        Args:
            start: the snapshot that it begins with.

        Raises:
            EvaluationFailed: it ended with an error, or can't go on.
        """
        files = self._files(episode)
        if self._ended(episode) is None:
            if not files.is_begun:
                shutil.rmtree(files.workdir, ignore_errors=True)
                shutil.copytree(start, files.workdir)
                # The next free number is that of the episode.
                run_directory(files.workdir, episode - 1).mkdir(parents=True, exist_ok=True)
            self._play_episode(episode, files, self.protocol.turns, undone_before(start), Counted(0, count))
        count(self.protocol.turns)


@dataclass(frozen=True)
class EpisodeTask:
    """An episode of a generation, as it is given to an executor."""

    run: GenerationRun
    episode: int
    start: Path
    """The snapshot that it begins with."""

    @property
    def name(self) -> str:
        return str(self.folder)

    @property
    def root(self) -> Path:
        return self.run.root

    @property
    def folder(self) -> Path:
        return self.run.workdir(self.episode)

    @property
    def inputs(self) -> tuple[Path, ...]:
        return (*self.run.inputs, self.start)

    def moved(self, root: Path, places: Mapping[Path, Path]) -> "EpisodeTask":
        return replace(self, run=moved_run(self.run, root, places), start=places[self.start])

    def play(self, count: TurnCounter) -> None:
        self.run.play_one(self.episode, self.start, count)

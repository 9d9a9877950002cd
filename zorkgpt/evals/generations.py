"""Runs in generations: the episodes of a generation start from the same snapshot, and their results are merged."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from game_interface.story import Story
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.bounded import saved_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import ConfigurationError, EvaluationFailed
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import Task
from zorkgpt.evals.merging import MemoriesAfterEpisode, merge_memories, time_of
from zorkgpt.evals.protocols import EvaluationProtocol, GenerationProtocol
from zorkgpt.evals.runs import EpisodeFiles, EvaluationRun, TurnCounter, TurnCounting, moved_run
from zorkgpt.evals.truth import LocatedEphemeral, ephemeral_of, located
from zorkgpt.explore.trail_file import KeptTrail, kept_trail, save_trail
from zorkgpt.files import write_file
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.document import parse as parse_knowledge
from zorkgpt.knowledge.document import render as render_knowledge
from zorkgpt.knowledge.revision import merge_knowledge
from zorkgpt.log import get_logger
from zorkgpt.memory.models import fields_of, memory_of
from zorkgpt.objectives.file import merge_objectives
from zorkgpt.run_folder import TRAIL_FILE, episodes_in, run_directory
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_file import merge_maps, read_map, write_map

log = get_logger(__name__)

_SNAPSHOTS = "snapshots"
_ABLATIONS = (Ablation.ON, Ablation.OFF, Ablation.NO_AUDIT)
"""Ablations that change nothing between two episodes."""


class GenerationRun(EvaluationRun):
    """A run with a task per episode.

    Failed episodes are left out of their generation if at least half of it has finished.
    """

    @property
    def _protocol(self) -> GenerationProtocol:
        assert isinstance(self.protocol, GenerationProtocol)
        return self.protocol

    def workdir(self, episode: int) -> Path:
        """Return the working directory of an episode, counted from 1."""
        return self.folder / f"episode-{episode}"

    def snapshot(self, generation: int) -> Path:
        """Return the folder with the files at the end of a generation. 0 is the start of the first one."""
        return self.folder / _SNAPSHOTS / str(generation)

    def check(self) -> None:
        """Check that the run can be played. See `EvaluationRun.check`.

        Raises:
            ConfigurationError: If it was started with other values, or the ablation can't be used with generations.
        """
        if self.ablation not in _ABLATIONS:
            choices = ", ".join(_ABLATIONS)
            raise ConfigurationError(
                f"The ablation {self.ablation.value!r} changes memories between consecutive episodes, but the episodes "
                f"of a generation run in parallel. Ablations for {self.protocol.name}: {choices}."
            )
        super().check()

    def played(self) -> list[EpisodeFiles]:
        """Return the finished episodes, in order."""
        ended = map(self._ended, range(1, self.protocol.episodes + 1))
        return [files for files in ended if files is not None]

    @property
    def is_finished(self) -> bool:
        """Whether the last generation is merged."""
        return self.snapshot(self._protocol.generations).is_dir()

    def finished_turns(self) -> int:
        """Return the turns of finished tasks."""
        if self.is_finished:
            return self.protocol.max_turns
        return self.protocol.turns * len(self.played())

    def next_tasks(self, failures: Mapping[str, str]) -> list[Task]:
        """Merge complete generations, and return the unfinished episodes of the next one.

        Raises:
            EvaluationFailed: If more than half of a generation failed.
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
            if remaining := [task for task in tasks if task.name not in failures]:
                return list[Task](remaining)
            self._merge(generation, [failures[task.name] for task in tasks])
        return []

    def _files(self, episode: int) -> EpisodeFiles:
        return EpisodeFiles(self.workdir(episode), episode, episode)

    def _merge(self, generation: int, failures: list[str]) -> None:
        size = self._protocol.size
        if 2 * len(failures) > size:
            raise EvaluationFailed(
                f"{len(failures)} of the {size} episodes of generation {generation} failed, the first because: "
                f"{failures[0]}"
            )
        if failures:
            extra = {"generation": generation, "left_out": len(failures), "why": failures[0]}
            log.warning("generation merged without failed episodes", extra=extra)
        finished = [files for each in self._protocol.episodes_of(generation) if (files := self._ended(each))]
        target = self.snapshot(generation)
        draft = target.with_name(f".{target.name}")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        merge_snapshot(self.settings, self.snapshot(generation - 1), finished, draft)
        os.replace(draft, target)

    def play_one(self, episode: int, start: Path, count: TurnCounter) -> None:
        """Play an episode, or the rest of it.

        Args:
            start: The snapshot from which it starts.

        Raises:
            EvaluationFailed: If it ended with an error or can't be resumed.
        """
        files = self._files(episode)
        if self._ended(episode) is None:
            if not files.has_checkpoint:
                shutil.rmtree(files.workdir, ignore_errors=True)
                shutil.copytree(start, files.workdir)
                # A new episode gets the number after the last folder.
                run_directory(files.workdir, episode - 1).mkdir(parents=True, exist_ok=True)
            self._play_episode(episode, files, self.protocol.turns, undone_before(start), TurnCounting(0, count))
        count(self.protocol.turns)


@dataclass(frozen=True)
class EpisodeTask:
    """The task of playing one episode of a generation."""

    run: GenerationRun
    episode: int
    start: Path
    """The snapshot from which it starts."""

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


def plan(
    protocol: EvaluationProtocol,
    stories: list[Story],
    seeds: list[int],
    ablations: list[Ablation],
    choice: PlayerChoice,
    config: GameConfiguration,
    root: Path,
    walkthrough: Path | None = None,
) -> Iterator[EvaluationRun]:
    """Yield the runs of an evaluation, ordered by story, seed and ablation."""
    kind = GenerationRun if isinstance(protocol, GenerationProtocol) else EvaluationRun
    for story in stories:
        for seed in seeds:
            for ablation in ablations:
                yield kind(protocol, story.path, seed, ablation, choice, config, root, walkthrough)


_UNDONE = "undone.json"
"""The file with the ephemeral memories of earlier episodes."""
_MAX_TRAILS = 20
"""Maximum number of trails in a snapshot. Those with the highest scores are kept."""


def merge_snapshot(config: GameConfiguration, start: Path, episodes: Sequence[EpisodeFiles], target: Path) -> None:
    """Merge the results of episodes that started from the same snapshot.

    Args:
        config: Names the files.
        start: The snapshot from which all episodes started.
        episodes: The episodes, ordered by number.
        target: An empty folder.

    Raises:
        FileError: If a file can't be read or written.
    """
    last = time_of(episodes[-1].number)
    workdirs = [files.workdir for files in episodes]
    _merge_memories(config, start, episodes, target)
    graph = merge_maps(_map(start / config.map_state_file), [_map(path / config.map_state_file) for path in workdirs])
    write_map(graph, target / config.map_state_file, last)
    objectives = [folder / config.objectives_file for folder in (start, *workdirs)]
    merge_objectives(objectives, target / config.objectives_file, last)
    _merge_knowledge(config, start, episodes, target)
    _copy_best_trails(config, start, episodes, target)
    undone = set(undone_before(start))
    for files in episodes:
        undone |= ephemeral_of(files.directory, files.number)
    rows = [[each.key[0], fields_of(each.memory)] for each in sorted(undone, key=lambda each: str(each.key))]
    write_file(target / _UNDONE, as_json(rows))


def undone_before(snapshot: Path) -> frozenset[LocatedEphemeral]:
    """Return the ephemeral memories of all episodes before a snapshot."""
    path = snapshot / _UNDONE
    rows = saved_json(path) if path.is_file() else []
    return frozenset(located(place, memory_of(fields)) for place, fields in rows)


def _merge_memories(config: GameConfiguration, start: Path, episodes: Sequence[EpisodeFiles], target: Path) -> None:
    name = config.simple_memory.memory_file
    sources = [MemoriesAfterEpisode(files.number, files.workdir / name) for files in episodes]
    merge_memories(start / name, sources, target / name)


def _map(path: Path) -> MapGraph:
    return read_map(path) or MapGraph()


def _merge_knowledge(config: GameConfiguration, start: Path, episodes: Sequence[EpisodeFiles], target: Path) -> None:
    read = partial(_knowledge, config)
    merged = merge_knowledge(read(start), [(files.number, read(files.workdir)) for files in episodes])
    if merged.rows:
        write_file(target / config.knowledge_file, render_knowledge(merged))


def _knowledge(config: GameConfiguration, folder: Path) -> KnowledgeDocument:
    path = folder / config.knowledge_file
    return parse_knowledge(path.read_bytes()) if path.is_file() else KnowledgeDocument()


def _copy_best_trails(config: GameConfiguration, start: Path, episodes: Sequence[EpisodeFiles], target: Path) -> None:
    """Copy the trails of the best episodes. Their logs contain times, so they are left out to keep snapshots equal."""
    directories = {number: run_directory(start, number) for number in episodes_in(start)}
    directories |= {files.number: files.directory for files in episodes}
    trails = {number: kept_trail(folder, config.episode_log_file) for number, folder in directories.items()}
    scores = {number: _highest_score(trail) for number, trail in trails.items() if trail is not None}
    best = sorted(scores, key=lambda number: (-scores[number], number))[:_MAX_TRAILS]
    for number in sorted(best):
        trail = trails[number]
        assert trail is not None
        folder = run_directory(target, number)
        folder.mkdir(parents=True)
        save_trail(folder / TRAIL_FILE, replace(trail, log_bytes=0))


def _highest_score(kept: KeptTrail) -> int:
    return max((step.standing.score or 0 for step in kept.trail.steps), default=0)

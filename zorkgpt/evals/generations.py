"""A run in generations: all episodes of one begin with the same snapshot, and what they have found is merged."""

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
from zorkgpt.evals.protocols import EvaluationProtocol, GenerationProtocol
from zorkgpt.evals.runs import Counted, EpisodeFiles, EvaluationRun, TurnCounter, moved_run
from zorkgpt.evals.truth import LocatedEphemeral, ephemeral_of, located
from zorkgpt.explore.archive import KeptTrail, kept_trail, save_trail
from zorkgpt.files import write_file
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.document import parse as parse_knowledge
from zorkgpt.knowledge.document import render as render_knowledge
from zorkgpt.knowledge.revision import merge_knowledge
from zorkgpt.log import get_logger
from zorkgpt.memory.merging import MemoriesAfterEpisode, merge_memories, time_of
from zorkgpt.memory.models import fields_of, memory_of
from zorkgpt.objectives.file import merge_objectives
from zorkgpt.run_folder import TRAIL_FILE, episodes_in, run_directory
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_file import merge_maps, read_map, write_map

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
        """Return the folder with the knowledge at the end of a generation; 0 for the start of the first one."""
        return self.folder / _SNAPSHOTS / str(generation)

    def check(self) -> None:
        """Raise an error if it can't be played; see `EvaluationRun.check`.

        Raises:
            ConfigurationError: If it was begun with other values, or the ablation is none for generations.
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
            EvaluationFailed: If more than half of a generation was given up.
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
            start: The snapshot that it begins with.

        Raises:
            EvaluationFailed: If it ended with an error, or can't go on.
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
    """Yield the runs of an evaluation: of each story, all ablations of a seed before the next seed."""
    kind = GenerationRun if isinstance(protocol, GenerationProtocol) else EvaluationRun
    for story in stories:
        for seed in seeds:
            for ablation in ablations:
                yield kind(protocol, story.path, seed, ablation, choice, config, root, walkthrough)


_UNDONE = "undone.json"
"""What was true of one of the episodes only."""
_MOST_TRAILS = 20
"""How many trails are handed on, those with the highest scores."""


def merge_snapshot(config: GameConfiguration, start: Path, over: Sequence[EpisodeFiles], target: Path) -> None:
    """Merge what the episodes have learned that all began with the same snapshot.

    Args:
        config: Names the files.
        over: The episodes, in the order of their numbers.
        target: A folder in which there is nothing.

    Raises:
        FileError: If a file can't be read or written.
    """
    last = time_of(over[-1].number)
    _merge_memories(config, start, over, target)
    graph = merge_maps(_map(start / config.map_state_file), [_map(one.workdir / config.map_state_file) for one in over])
    write_map(graph, target / config.map_state_file, last)
    objectives = [folder / config.objectives_file for folder in (start, *(one.workdir for one in over))]
    merge_objectives(objectives, target / config.objectives_file, last)
    _merge_knowledge(config, start, over, target)
    _hand_on_trails(config, start, over, target)
    undone = {*undone_before(start), *(found for one in over for found in ephemeral_of(one.directory, one.number))}
    rows = [[one.key[0], fields_of(one.memory)] for one in sorted(undone, key=lambda one: str(one.key))]
    write_file(target / _UNDONE, as_json(rows))


def undone_before(snapshot: Path) -> frozenset[LocatedEphemeral]:
    """Return what was true of one of the episodes before a snapshot only."""
    path = snapshot / _UNDONE
    rows = saved_json(path) if path.is_file() else []
    return frozenset(located(place, memory_of(fields)) for place, fields in rows)


def _merge_memories(config: GameConfiguration, start: Path, over: Sequence[EpisodeFiles], target: Path) -> None:
    name = config.simple_memory.memory_file
    found = [MemoriesAfterEpisode(one.number, one.workdir / name) for one in over]
    merge_memories(start / name, found, target / name)


def _map(path: Path) -> MapGraph:
    return read_map(path) or MapGraph()


def _merge_knowledge(config: GameConfiguration, start: Path, over: Sequence[EpisodeFiles], target: Path) -> None:
    read = partial(_knowledge, config)
    merged = merge_knowledge(read(start), [(one.number, read(one.workdir)) for one in over])
    if merged.rows:
        write_file(target / config.knowledge_file, render_knowledge(merged))


def _knowledge(config: GameConfiguration, folder: Path) -> KnowledgeDocument:
    path = folder / config.knowledge_file
    return parse_knowledge(path.read_bytes()) if path.is_file() else KnowledgeDocument()


def _hand_on_trails(config: GameConfiguration, start: Path, over: Sequence[EpisodeFiles], target: Path) -> None:
    """Hand on the trails of the best episodes, without their logs, which tell the time."""
    trails = {
        number: kept_trail(run_directory(start, number), config.episode_log_file) for number in episodes_in(start)
    }
    trails |= {one.number: kept_trail(one.directory, config.episode_log_file) for one in over}
    found = [(number, trail) for number, trail in trails.items() if trail is not None]
    best = sorted(found, key=lambda one: (-_highest(one[1]), one[0]))[:_MOST_TRAILS]
    for number, trail in sorted(best, key=lambda one: one[0]):
        folder = run_directory(target, number)
        folder.mkdir(parents=True)
        save_trail(folder / TRAIL_FILE, replace(trail, log_bytes=0))


def _highest(kept: KeptTrail) -> int:
    return max((step.standing.score or 0 for step in kept.trail.steps), default=0)

"""One run of an evaluation: the episodes of a protocol with one story, one seed and one ablation, in a folder."""

import json
import platform
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from game_interface.story import Story, load_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import LOG_FILE, GameConfiguration
from session.history import TurnRecord
from zorkgpt.bounded import saved_json
from zorkgpt.encoding import as_json
from zorkgpt.errors import CheckpointError, ConfigurationError, EpisodeInUse, EvaluationFailed
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.protocols import EvaluationProtocol
from zorkgpt.evals.truth import StatementKey, TruthRecorder, ephemeral_of
from zorkgpt.files import write_file
from zorkgpt.llm.roles import Role
from zorkgpt.log import logging_to
from zorkgpt.memory.models import Memory
from zorkgpt.run_folder import run_directory
from zorkgpt.runlog.episodes import last_end, read_episode
from zorkgpt.runlog.events import FINAL_ENDINGS, EpisodeEnded, EpisodeEnding, EpisodeResumed, EpisodeStarted
from zorkgpt.runlog.saved_episodes import can_be_resumed

RUN_FILE = "run.json"
_PREPARED = "prepared"
"""A file with the number of the episode for which an ablation has prepared the working directory."""
_ENDINGS = (*FINAL_ENDINGS, EpisodeEnding.TURN_LIMIT)
"""Endings after which an episode counts as finished."""
_IDENTITY = ("protocol", "seed", "ablation", "player", "models", "embeddings", "handicaps", "settings")
"""Values that must not change when a run is resumed. The story is part of the folder's name."""
_WITHOUT_EFFECT: Any = {
    "llm": True,
    "files": True,
    "telemetry": True,
    "simple_memory": {"memory_file", "memory_address"},
    "gameplay": {"zork_game_workdir", "turn_delay_seconds"},
    "orchestrator": {
        "max_turns_per_episode",
        "enable_state_export",
        "keep_episodes",
        "ask_in_background",
        "background_wait_seconds",
    },
    "memory_deduplication": {"provider", "cache_embeddings", "batch_size"},
}
"""Settings that don't affect play, may change when a run is resumed (budgets), or are recorded elsewhere."""
_PACKAGES = ("zorkgpt", "jericho", "numpy", "openai")


TurnCounter = Callable[[int], None]
"""Receives the number of finished turns of a run, including the unused turns of finished episodes.

It may raise an error to end the run.
"""


@dataclass(frozen=True, slots=True)
class EpisodeFiles:
    """The location of an episode's files, and its end."""

    workdir: Path
    number: int
    """The number in the working directory."""
    episode: int
    """The number in the run, counted from 1."""
    end: EpisodeEnded | None
    """None if it is running or was killed."""

    @property
    def directory(self) -> Path:
        return run_directory(self.workdir, self.number)


@dataclass(frozen=True)
class EvaluationRun:
    """A run of an evaluation and its files."""

    protocol: EvaluationProtocol
    game: Path
    """The story file."""
    seed: int
    ablation: Ablation
    choice: PlayerChoice
    config: GameConfiguration
    """The settings of all runs. Its working directory and turn limit are ignored."""
    root: Path
    """The folder of the evaluation."""
    walkthrough: Path | None = None

    def __reduce__(self) -> tuple[type["EvaluationRun"], tuple[Any, ...]]:
        # Without the cached story, which the other process reads from the file.
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def story(self) -> Story:
        """The story in the file.

        Raises:
            StoryError: If it can't be played.
        """
        return load_story(self.game)

    @cached_property
    def folder(self) -> Path:
        """The folder of this run."""
        slug = re.sub(r"[^a-z0-9]+", "-", (self.story.title or self.story.path.stem).casefold())[:40].strip("-")
        name = f"{slug or 'story'}-{self.story.sha256[:8]}"
        return self.root / "runs" / name / self.ablation.value / f"seed-{self.seed}"

    def workdir(self, episode: int) -> Path:
        """Return the working directory of an episode, counted from 1."""
        # With FROZEN, each later episode is played in its own copy of the folder after the first one.
        is_copy = self.ablation is Ablation.FROZEN and episode > 1
        return self.folder / (f"episode-{episode}" if is_copy else "episodes")

    def described(self) -> dict[str, Any]:
        """Return the description of the run for reports."""
        models = self.choice.models
        roles = {role.value: models.of(role).model for role in Role} if models else {}
        story = self.story.summary()
        return {
            "protocol": asdict(self.protocol),
            "story": story,
            "seed": self.seed,
            "ablation": self.ablation.value,
            "player": self.choice.kind,
            "models": roles,
            "embeddings": self.settings.memory_deduplication.provider,
            "handicaps": {
                "valid_actions": False,
                "clues": False,
                "walkthrough": self.walkthrough is not None,
                "object_tree": True,
                "counterfactuals": True,
            },
            "settings": self._changed_settings(),
            "versions": _versions(),
        }

    def _changed_settings(self) -> dict[str, Any]:
        """Return "section.name" → value of the settings without their default value."""
        changed = self.settings.model_dump(mode="json", exclude_defaults=True, exclude=_WITHOUT_EFFECT)
        return {f"{section}.{name}": value for section, values in changed.items() for name, value in values.items()}

    def recorded(self) -> dict[str, Any]:
        """Return the description written at the start of the run, with the package versions of that time."""
        path = self.folder / RUN_FILE
        description: dict[str, Any] = saved_json(path) if path.is_file() else self.described()
        return description

    @property
    def settings(self) -> GameConfiguration:
        """The configuration of the run, except for the working directory and the turn limit."""
        config = self.ablation.configured(self.config)
        if self.choice.models is not None:
            return config
        # Embeddings arrive at a random time after the start, but rules must play the same every time.
        section = config.memory_deduplication.model_copy(update={"provider": "none"})
        return config.model_copy(update={"memory_deduplication": section})

    def played(self) -> list[EpisodeFiles]:
        """Return the finished episodes, in order."""
        played: list[EpisodeFiles] = []
        while (files := self._files(len(played) + 1)).end is not None and files.end.reason in _ENDINGS:
            played.append(files)
        return played

    def _files(self, episode: int) -> EpisodeFiles:
        workdir = self.workdir(episode)
        number = 2 if workdir.name != "episodes" else episode
        end = last_end(read_episode(workdir, number, self.config.episode_log_file))
        return EpisodeFiles(workdir, number, episode, end)

    def turns_left(self, played: list[EpisodeFiles]) -> int:
        """Return the maximum turns of the next episode, or 0 if there is none."""
        protocol = self.protocol
        if not protocol.restarts:
            return protocol.turns if len(played) < protocol.episodes else 0
        ends = [files.end for files in played if files.end is not None]
        if any(end.reason == EpisodeEnding.VICTORY and end.score == end.max_score for end in ends):
            return 0
        return max(0, protocol.turns - sum(end.turns for end in ends))

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to play."""
        return (self.folder / RUN_FILE).is_file() and not self.turns_left(self.played())

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that the run reads. They don't change."""
        profile = self.game.with_suffix(".json")
        return tuple(path for path in (self.game, profile, self.walkthrough) if path is not None and path.is_file())

    def moved(self, root: Path, places: Mapping[Path, Path]) -> Self:
        """Return the same run for another machine, with other paths of the root and the inputs."""
        walkthrough = None if self.walkthrough is None else places[self.walkthrough]
        return replace(self, root=root, game=places[self.game], walkthrough=walkthrough)

    def check(self) -> None:
        """Check that the folder has no other run. Changes nothing.

        Raises:
            ConfigurationError: If the run was started with another protocol, player, model or setting.
        """
        path = self.folder / RUN_FILE
        if not path.is_file():
            return
        expected = json.loads(as_json(self.described()))
        try:
            recorded = saved_json(path)
            differing = [key for key in _IDENTITY if recorded.get(key) != expected[key]]
            if not differing and not isinstance(recorded.get("versions"), dict):
                raise ValueError("no versions")
        except (ValueError, AttributeError):
            raise ConfigurationError(
                f"{path} is damaged. Delete the folder {self.folder}, or name another with --out."
            ) from None
        if differing:
            name = differing[0]
            raise ConfigurationError(
                f"The run in {self.folder} was started with another value of {name}: {recorded.get(name)!r}, not "
                f"{expected[name]!r}. Name another folder with --out."
            )

    def play(self, count: TurnCounter = lambda turns: None) -> None:
        """Play the rest of the run. An interrupted episode is resumed.

        Raises:
            EvaluationFailed: If an episode ended with an error or can't be resumed.
            ConfigurationError: See `check`.
            KeyboardInterrupt: If interrupted. Everything is saved.
        """
        self.check()
        self.begin()
        while turns := self.turns_left(played := self.played()):
            self._play_next(played, turns, count)
        count(self.protocol.max_turns)

    def begin(self) -> None:
        """Create the folder of the run with its description, unless it exists."""
        if (self.folder / RUN_FILE).is_file():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(self.folder / RUN_FILE, as_json(self.described(), indented=True) + b"\n")

    def _play_next(self, played: list[EpisodeFiles], turns: int, count: TurnCounter) -> None:
        """Play the next episode, or the rest of it, in its working directory.

        Raises:
            EvaluationFailed: If it ended with an error or can't be resumed.
        """
        episode, files = len(played) + 1, self._files(len(played) + 1)
        before = self.protocol.turns - turns if self.protocol.restarts else len(played) * self.protocol.turns
        resumes = can_be_resumed(files.workdir, files.number, self.config.memory_of_run())
        if not resumes:
            # An episode that was killed before its first checkpoint starts again.
            shutil.rmtree(files.directory, ignore_errors=True)
            self._prepare(played, files)
        config = self._configured(files.workdir, turns)
        seed = self.protocol.seed_of(self.seed, episode)
        choice = self.ablation.player(self.choice)
        options = RunOptions(choice, self.story, seed, self.ablation.remembers, self.walkthrough, stand_in=False)
        try:
            with logging_to(files.workdir / LOG_FILE), assemble(config, options) as orchestrator:
                # First the record, because the count may interrupt the run.
                recorder = TruthRecorder(orchestrator.services, self._undone(played))
                orchestrator.watchers += (recorder, TurnCounting(before, count))
                end = orchestrator.play_episode(resume=files.number if resumes else None)
        except EpisodeInUse as error:
            raise EvaluationFailed(f"{error} When it has ended, run the same command to continue.") from None
        except CheckpointError as error:
            raise EvaluationFailed(
                f"Episode {episode} was interrupted and can't be resumed: {error} To start the run again, delete "
                f"{self.folder}."
            ) from None
        if end.reason not in _ENDINGS:
            raise EvaluationFailed(f"Episode {episode} ended ({end.reason}): {end.message}")

    def _prepare(self, played: list[EpisodeFiles], files: EpisodeFiles) -> None:
        """Prepare the working directory for the next episode."""
        marker = self.folder / _PREPARED
        if not played or (marker.is_file() and marker.read_text() == str(len(played) + 1)):
            files.workdir.mkdir(parents=True, exist_ok=True)
            return
        if files.workdir != played[0].workdir:
            shutil.rmtree(files.workdir, ignore_errors=True)
            shutil.copytree(played[0].workdir, files.workdir)
        config = self._configured(files.workdir, self.protocol.turns)
        self.ablation.prepare(config, last=played[-1].number, seed=self.seed)
        write_file(marker, str(len(played) + 1).encode())

    def _configured(self, workdir: Path, turns: int) -> GameConfiguration:
        config = self.settings.with_workdir(workdir)
        # Not in the background, because memories are compared with the world in each turn and runs must be comparable.
        section = config.orchestrator.model_copy(update={"max_turns_per_episode": turns, "ask_in_background": False})
        return config.model_copy(update={"orchestrator": section})

    def _undone(self, played: list[EpisodeFiles]) -> dict[StatementKey, Memory]:
        """Return the ephemeral memories of earlier episodes."""
        undone: dict[StatementKey, Memory] = {}
        for files in played:
            undone |= ephemeral_of(files.workdir / self.config.memory_file, files.number)
        return undone


def plan(
    protocol: EvaluationProtocol,
    stories: Sequence[Story],
    seeds: Sequence[int],
    ablations: Sequence[Ablation],
    choice: PlayerChoice,
    config: GameConfiguration,
    root: Path,
    walkthrough: Path | None = None,
) -> list[EvaluationRun]:
    """Return the runs of an evaluation, ordered by story, seed and ablation."""
    return [
        EvaluationRun(protocol, story.path, seed, ablation, choice, config, root, walkthrough)
        for story in stories
        for seed in seeds
        for ablation in ablations
    ]


class TurnCounting:
    """A watcher that counts the turns of a run."""

    def __init__(self, before: int, count: TurnCounter) -> None:
        self._before = before
        self._count = count

    def episode_started(self, event: EpisodeStarted) -> None:
        self._count(self._before)

    def episode_resumed(self, event: EpisodeResumed) -> None:
        self._count(self._before + event.turn)

    def turn_played(self, record: TurnRecord) -> None:
        self._count(self._before + record.turn)

    def episode_ended(self, event: EpisodeEnded) -> None:
        pass


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions

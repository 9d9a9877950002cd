"""The files of a run, read incrementally. One reader serves any number of watchers."""

import threading
from collections import Counter
from pathlib import Path
from typing import Any

from session.game_configuration import GameConfiguration
from zorkgpt.errors import RunLogError
from zorkgpt.memory.models import SubjectKey
from zorkgpt.memory.storage.addresses import without_password
from zorkgpt.memory.storage.postgres import is_postgres
from zorkgpt.run_folder import MODEL_CALLS, RUNS, episodes_in, run_directory
from zorkgpt.viewer.episode_index import CallIndex, EpisodeIndex
from zorkgpt.viewer.json_lines import text, turn_key, whole_number
from zorkgpt.viewer.map import MapTimeline
from zorkgpt.viewer.memory_threads import MemoryThreads

_MAX_EPISODES = 10**9
"""Together with its turn, the number of an episode must fit into a JavaScript number."""


class RunFiles:
    """The files of a working directory.

    Args:
        workdir: Contains `runs/<episode>/` and the memory.
        only: The only episode to show. None for all.
        config: Has the names of the files.
    """

    def __init__(self, workdir: Path, *, only: int | None = None, config: GameConfiguration | None = None) -> None:
        self.workdir = workdir
        self.only = only
        self.config = config or GameConfiguration()
        self.lock = threading.RLock()
        """Held while reading, because requests come from several threads."""
        self.episodes: dict[int, EpisodeIndex] = {}
        self.calls: dict[int, CallIndex] = {}
        self.map = MapTimeline()
        self.threads = MemoryThreads(workdir)
        self._mapped: dict[int, int] = {}
        """Episode → the number of its turns in the map."""

    def refresh(self) -> None:
        """Read the new lines of every file."""
        with self.lock:
            for number in episodes_in(self.workdir):
                if number not in self.episodes and self.only in (None, number) and 0 < number < _MAX_EPISODES:
                    self._open(number)
            for episode in self.episodes.values():
                generation = episode.generation
                if episode.refresh():
                    self._update_map(is_new=generation != episode.generation)
            latest = max(((number, index.last_turn) for number, index in self.episodes.items()), default=(0, 0))
            self.threads.refresh(self._memory_name(), latest)

    @property
    def memory(self) -> Path | str:
        """The path of the memory, or its address."""
        name = self._memory_name()
        return name if is_postgres(name) else self.workdir / name

    def _memory_name(self) -> str:
        """Return the name of the memory file, or the address of the memory."""
        recorded = self._recorded_memory()
        # A path may leave the run. A folder from somebody else must not choose the server to connect to.
        is_in_folder = not is_postgres(recorded) and Path(recorded).name == recorded and recorded != ".."
        return recorded if recorded and is_in_folder else self.config.memory_of_run()

    def _recorded_memory(self) -> str:
        """Return what the newest episode records as its memory, without a password. "" if none does."""
        recorded = [text(self.episodes[number].started.get("memory")) for number in sorted(self.episodes)]
        return next(filter(None, reversed(recorded)), "")

    def damage(self) -> list[dict[str, Any]]:
        """Return the files that can't be shown completely. Model calls are included as far as they were read."""
        rows_of_damage: list[dict[str, Any]] = []

        def add(path: Path, damage: dict[str, Any] | None, episode: int | None = None) -> None:
            if damage:
                file = path.relative_to(self.workdir).as_posix()
                rows_of_damage.append({"file": file, "episode": episode} | damage)

        for number in sorted(self.episodes):
            for lines in (self.episodes[number].lines, self.calls[number].lines):
                add(lines.path, lines.damage(), number)
        recorded = self._recorded_memory()
        if is_postgres(recorded) and recorded != without_password(self.config.memory_of_run()):
            trouble = "the settings name no such server. Set memory_address to its address to see the memory's history"
            rows_of_damage.append({"file": recorded, "episode": None, "trouble": trouble})
        return rows_of_damage + [{"file": file, "episode": None} | damage for file, damage in self.threads.damage()]

    def calls_of(self, episode: int) -> CallIndex:
        """Return an episode's model calls, which are read on demand."""
        with self.lock:
            self.calls[episode].refresh()
            return self.calls[episode]

    def room_names(self) -> dict[SubjectKey, str]:
        """Return the name of each place. If several places have the same name, their keys are appended."""
        names = dict(self.threads.names)
        for episode in self.episodes.values():
            names |= episode.names
        places_with = Counter(names.values())
        return {key: f"{name} ({key})" if name and places_with[name] > 1 else name for key, name in names.items()}

    def _open(self, number: int) -> None:
        directory = run_directory(self.workdir, number)
        # Links may leave the run.
        if directory.resolve() != self.workdir.resolve() / RUNS / str(number):
            return
        log, calls = directory / self.config.episode_log_file, directory / MODEL_CALLS
        if not log.is_symlink() and not calls.is_symlink():
            self.episodes[number] = EpisodeIndex(number, log)
            self.calls[number] = CallIndex(calls)

    def _update_map(self, *, is_new: bool) -> None:
        """Add the new turns to the map, or to a new map, because turns in it are no longer valid."""
        if is_new:
            self.map = MapTimeline(changes=self.map.changes + 1)
            self._mapped.clear()
        for number, episode in self.episodes.items():
            first = whole_number(episode.started.get("location_id"))
            if first is not None:
                self.map.arrive(first, turn_key(number, 0))
                episode.names.setdefault(first, text(episode.started.get("location"))[:200])
            for turn in episode.turns[self._mapped.get(number, 0) :]:
                self.map.add_turn(turn, turn_key(number, turn.turn))
            self._mapped[number] = len(episode)


_RUN_HINT = (
    "Give the folder of a played story, such as game_files/slack-water, or of one of its episodes, such as "
    "game_files/slack-water/runs/1. `zorkgpt play` starts a new run."
)


def open_run(given: Path, *, config: GameConfiguration | None = None, may_be_empty: bool = False) -> RunFiles:
    """Open the run in a working directory, or a single episode in a folder below `runs/`.

    Raises:
        RunLogError: If there is nothing to show. The message says why.
    """
    if not given.is_dir():
        raise RunLogError(f"{given} is not a folder. {_RUN_HINT}")
    given = given.resolve()
    single = given.name.isdecimal() and given.parent.name == RUNS
    only = int(given.name) if single else None
    files = RunFiles(given.parent.parent if single else given, only=only, config=config)
    try:
        files.refresh()
    except OSError as error:
        raise RunLogError(f"Can't read the run in {given}: {error}.") from None
    if not may_be_empty:
        _check(files, given)
    return files


def _check(files: RunFiles, given: Path) -> None:
    if not files.episodes:
        raise RunLogError(f"There is no run in {given}. {_RUN_HINT}")
    episodes = files.episodes.values()
    if any(episode.started or len(episode) for episode in episodes):
        return
    if later := [episode.later_version for episode in episodes if episode.later_version]:
        raise RunLogError(
            f"The run in {given} was written by a newer version (log format {max(later)}). Update ZorkGPT to view it."
        )
    if any(episode.unreadable or episode.half_written for episode in episodes):
        raise RunLogError(f"The log of the run in {given} is damaged: it has no readable line.")
    if problems := [f"{damage['file']}: {damage['trouble']}" for damage in files.damage() if damage["trouble"]]:
        raise RunLogError(f"Can't read the run in {given}. {problems[0]}.")
    raise RunLogError(f"The run in {given} has no turns: the logs of its episodes are empty.")

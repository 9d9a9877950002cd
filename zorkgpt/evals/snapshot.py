"""What the episodes of a generation begin with: a folder with what all before it have learned, the same in each byte
whenever and in whatever order they were played."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from session.game_configuration import GameConfiguration
from zorkgpt.encoding import as_json
from zorkgpt.evals.runs import EpisodeFiles
from zorkgpt.evals.truth import LocatedEphemeral, ephemeral_of, located
from zorkgpt.explore.trail_file import FILE_NAME as TRAIL
from zorkgpt.explore.trail_file import KeptTrail, kept_trail, save_trail
from zorkgpt.files import write_file
from zorkgpt.knowledge.document import KnowledgeDocument
from zorkgpt.knowledge.document import parse as parse_knowledge
from zorkgpt.knowledge.document import render as render_knowledge
from zorkgpt.knowledge.merging import merge_knowledge
from zorkgpt.memory.merging import MemoriesAfterEpisode, merge_memories, time_of
from zorkgpt.memory.models import fields_of, memory_of
from zorkgpt.objectives.file import merge_objectives
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.world.graph import MapGraph
from zorkgpt.world.map_file import read_map, write_map
from zorkgpt.world.merging import merge_maps

_UNDONE = "undone.json"
"""What was true of one of the episodes only."""
_MOST_TRAILS = 20
"""How many trails are handed on, those with the highest scores."""


def merge_snapshot(config: GameConfiguration, start: Path, over: Sequence[EpisodeFiles], target: Path) -> None:
    """Merge what the episodes have learned that all began with the same snapshot.

    Args:
        config: names the files.
        over: the episodes, in the order of their numbers.
        target: a folder in which there is nothing.

    Raises:
        FileError: a file can't be read or written.
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
    rows = json.loads(path.read_bytes()) if path.is_file() else []
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
        save_trail(folder / TRAIL, replace(trail, log_bytes=0))


def _highest(kept: KeptTrail) -> int:
    return max((step.standing.score or 0 for step in kept.trail.steps), default=0)

"""The names of the files and folders of a run."""

from pathlib import Path

RUNS = "runs"
EPISODE_LOG = "episode_log.jsonl"
"""The default name of an episode's log."""
MODEL_CALLS = "model_calls.jsonl"
"""The log of all model calls of an episode."""
MARKER = "story.json"
MAP_FILE = "map_state.json"
KNOWLEDGE_FILE = "knowledgebase.md"
BEST_LINE_FILE = "best_line.json"
"""The commands that led to the highest score so far, verified by replay."""
STATE_FILE = "current_state.json"
"""The default names of the map and of the running episode's state."""
FIXED_NAMES = (
    RUNS,
    MODEL_CALLS,
    MARKER,
    BEST_LINE_FILE,
    KNOWLEDGE_FILE,
)
"""The names that can't be changed by settings."""


def run_directory(workdir: Path, episode: int | str) -> Path:
    """Return the folder of an episode's files."""
    return workdir / RUNS / str(episode)


def episodes_in(workdir: Path) -> list[int]:
    """Return the numbers of the episodes in a working directory, in order."""
    runs = workdir / RUNS
    if not runs.is_dir():
        return []
    return sorted(int(entry.name) for entry in runs.iterdir() if entry.is_dir() and entry.name.isdecimal())

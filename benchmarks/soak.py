"""Measure whether the time of a turn and the memory of the process grow over many episodes.

    uv run python -m benchmarks.soak [--game zork1.z5] [--episodes 100] [--turns 60] [--minutes 60] [--publish]

One process plays all episodes by the rules in one folder. For each tenth of the episodes, the table shows the CPU time
per turn, the resident memory, the size of the folder, and the number of known places and memories, with which the work
of a turn grows. The slopes per 100 episodes are fitted to all episodes except the first tenth, which loads the
embedding model.
"""

import argparse
import math
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from benchmarks.publish import Table, markdown, publish
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from session.game_configuration import GameConfiguration


@dataclass(frozen=True)
class Sample:
    """One episode."""

    turns: int
    cpu_s: float
    resident_mb: float
    files_mb: float
    places: int
    memories: int

    @property
    def turn_ms(self) -> float:
        return 1000 * self.cpu_s / self.turns


def soak(game: str | None, episodes: int, turns: int, minutes: float = math.inf) -> list[Sample]:
    """Play the episodes and return a sample for each. No episode starts after `minutes`."""
    samples: list[Sample] = []
    until = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as name:
        config = GameConfiguration(zork_game_workdir=name, max_turns_per_episode=turns)
        options = RunOptions(PlayerChoice("rules", "measurement", None), story=find_story(game))
        with assemble(config, options) as run:
            while len(samples) < episodes and time.monotonic() < until:
                begun = process_time()
                end = run.play_episode()
                cpu_s = process_time() - begun
                size = sum(path.stat().st_size for path in Path(name).rglob("*") if path.is_file())
                memories, places = sum(end.memories.values()), int(end.metrics["map"]["rooms"])
                samples.append(Sample(end.turns, cpu_s, _resident_mb(), size / 1e6, places, memories))
    return samples


def _resident_mb() -> float:
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * 4096 / 1e6


def table(samples: list[Sample]) -> Table:
    """Return the medians of each tenth, and the slopes."""
    step = max(1, len(samples) // 10)
    rows = []
    for start in range(0, len(samples), step):
        part = samples[start : start + step]
        row = [_median(part, name) for name in ("turn_ms", "resident_mb", "files_mb", "places", "memories")]
        played = sum(sample.turns for sample in part)
        rows.append([f"{start + 1}-{start + len(part)}", f"{played:,}", *(f"{number:.1f}" for number in row)])
    rest = samples[step:]
    slopes = [_slope(rest, name) for name in ("turn_ms", "resident_mb", "files_mb", "places", "memories")]
    rows.append(["slope per 100 episodes", "", *(f"{slope:+.1f}" for slope in slopes)])
    return Table(
        columns=["episodes", "turns", "CPU ms a turn", "resident MB", "files MB", "places", "memories"], rows=rows
    )


def _median(samples: list[Sample], name: str) -> float:
    return statistics.median(float(getattr(sample, name)) for sample in samples)


def _slope(samples: list[Sample], name: str) -> float:
    if len(samples) < 2:
        return 0.0
    numbers = [float(getattr(sample, name)) for sample in samples]
    return 100 * statistics.linear_regression(range(len(numbers)), numbers).slope


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=math.inf, help="start no episode after this time")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    samples = soak(given.game, given.episodes, given.turns, given.minutes)
    found = table(samples)
    print(markdown(found))
    if given.publish:
        command = f"uv run python -m benchmarks.soak --episodes {len(samples)} --turns {given.turns}"
        print(publish("soak", command, {"episodes": found}))


if __name__ == "__main__":
    main()

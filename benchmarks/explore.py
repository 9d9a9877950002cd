"""What memory and map are worth to a player without a language model: each on and off, same seeds.

    uv run python -m benchmarks.explore --game path/to/zork1.z5 [--seeds 5] [--episodes 10] [--turns 400] [--publish]

"Off" takes away what earlier episodes left: their memories, their map. The score is the one that an episode ends with,
deaths subtracted; the best is the highest of a seed's episodes. No state is ever saved or restored. The
rules were written while looking at the seeds 1 to 26, 101 and 201.
"""

import argparse
import logging
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.publish import Table, markdown, publish
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.evals.results import interval
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.episodes import count_failures, read_episode


@dataclass(frozen=True)
class Setting:
    """What of earlier episodes is kept."""

    memory: bool
    map: bool


@dataclass(frozen=True)
class Course:
    """The episodes of one seed, a value for each."""

    scores: list[int]
    places: list[int]
    deaths: list[int]
    repeated: list[float]
    """Repeated failed actions as a share of all actions."""


def play(game: str | None, setting: Setting, seed: int, episodes: int, turns: int) -> Course:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(
            zork_game_workdir=folder,
            max_turns_per_episode=turns,
            embedding_provider="none",
            checkpoint_interval_turns=turns,
        )
        choice = PlayerChoice("rules", "measurement", None)
        run_options = RunOptions(choice, find_story(game), seed, setting.memory, keep_map=setting.map)
        with assemble(config, run_options) as orchestrator:
            ends = [orchestrator.play_episode() for _ in range(episodes)]
        logs = [read_episode(Path(folder), number) for number in episodes_in(Path(folder))]
    return Course(
        [end.score or 0 for end in ends],
        [end.places for end in ends],
        [end.deaths for end in ends],
        [count.repeated_share for count in count_failures(logs)],
    )


COLUMNS = [
    *("memory", "map", "best", "first", "all", "last 3"),
    *("places", "deaths", "repeated"),
]


def row(setting: Setting, courses: list[Course]) -> list[str]:
    scores = np.array([course.scores for course in courses], float)
    marks = ["on" if one else "off" for one in (setting.memory, setting.map)]
    last = scores[:, -3:].mean(axis=1)
    figures = [
        f"**{shown(scores.max(axis=1))}**",
        f"{scores[:, 0].mean():.1f}",
        shown(scores.mean(axis=1)),
        shown(last),
        f"{np.mean([course.places for course in courses]):.0f}",
        f"{np.mean([course.deaths for course in courses]):.1f}",
        f"{np.mean([course.repeated for course in courses]):.1%}",
    ]
    return [*marks, *figures]


def shown(values: np.ndarray) -> str:
    found = interval(list(values))
    return f"{found.mean:.1f} [{found.low:.1f}, {found.high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    story = find_story(given.game)
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    print(f"{story.title or story.path.name}: rules player (no language model), seeds {seeds[0]}-{seeds[-1]}")
    print(f"{given.episodes} episodes of {given.turns} turns each; means over seeds, 95 % bootstrap intervals\n")
    settings = [Setting(*kept) for kept in product((True, False), repeat=2)]
    by_episode = {}
    table = Table(columns=COLUMNS, rows=[])
    with ProcessPoolExecutor(given.processes) as pool:
        running = {
            setting: [pool.submit(play, given.game, setting, seed, given.episodes, given.turns) for seed in seeds]
            for setting in settings
        }
        for setting, courses in running.items():
            done = [course.result() for course in courses]
            by_episode[setting] = np.array([course.scores for course in done], float)
            table["rows"].append(row(setting, done))
    print(markdown(table))
    print("\nMean score by episode:\n")
    for setting, scores in by_episode.items():
        kept = [name for name in ("memory", "map") if getattr(setting, name)]
        print(f"{' + '.join(kept) or 'nothing kept'}: {', '.join(f'{score:.0f}' for score in scores.mean(axis=0))}")
    if given.publish:
        command = f"uv run python -m benchmarks.explore --game path/to/zork1.z5 --first-seed {given.first_seed}"
        publish("explore", command, {"zork": table})


if __name__ == "__main__":
    main()

"""What memory does for a player without a language model: memory on and off, same seeds.

    uv run python -m benchmarks.learning [--game path/to/zork1.z5] [--seeds 1 2 3 4 5] [--episodes 5] [--turns 300]

Without `--game` it plays the bundled story.

A failed action changed nothing: not place, score, inventory, or the things in sight, in hand or named by it; what
goes on elsewhere is not its doing, and looking and waiting are left out. It is repeated if the same action had failed
at the same place before, in this or an earlier episode. "Off" takes away what earlier episodes give (memories and
map); the counts of the running episode both keep.
"""

import argparse
import logging
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.runlog.episodes import count_failures, episodes_in, read_episode


@dataclass(frozen=True)
class Arm:
    """One seed, with or without memory: a value for each episode."""

    score: list[int]
    places: list[int]
    deaths: list[int]
    repeated: list[float]
    """Repeated failed actions as a share of all actions."""
    remembered_places: list[float]
    """Share of the episode's visited places that had a memory at its end."""


def play(game: str | None, seed: int, episodes: int, turns: int, remember: bool) -> Arm:
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns)
        run_options = RunOptions(PlayerChoice("offline", "measurement", None), find_story(game), seed, remember)
        ends, covered = [], []
        with assemble(config, run_options) as orchestrator:
            for _ in range(episodes):
                ends.append(orchestrator.play_episode())
                visited, memory = orchestrator.game_state.visited_locations, orchestrator.simple_memory
                known = [place for place in visited if memory and memory.get_location_memory(place)]
                covered.append(len(known) / len(visited))
        logs = (read_episode(Path(folder), number) for number in episodes_in(Path(folder)))
        repeated = [count.repeated_share for count in count_failures(logs)]
    return Arm(
        [end.score or 0 for end in ends],
        [end.places for end in ends],
        [end.deaths for end in ends],
        repeated,
        covered,
    )


def interval(values: np.ndarray) -> str:
    """Mean and the 95 % bootstrap interval of it."""
    draws = np.random.default_rng(0).choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.percentile(draws, (2.5, 97.5))
    return f"{values.mean():.1f} [{low:.1f}, {high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--processes", type=int, default=None, help="as many as there are processors")
    given = parser.parse_args()
    story = find_story(given.game)
    with ProcessPoolExecutor(given.processes) as pool:
        playing = {
            remember: [
                pool.submit(play, given.game, seed, given.episodes, given.turns, remember) for seed in given.seeds
            ]
            for remember in (True, False)
        }
        arms = {remember: [arm.result() for arm in of_seeds] for remember, of_seeds in playing.items()}
    print(f"Offline player (rules, no language model), {story.title or story.path.name}; means over seeds\n")
    print("| episode | score, memory on | off | places, on | off | repeated failures, on | off | places remembered |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    mean = {
        (remember, name): np.array([getattr(arm, name) for arm in arms[remember]]).mean(axis=0)
        for remember in (True, False)
        for name in ("score", "places", "repeated", "remembered_places")
    }
    for episode in range(given.episodes):
        score_on, score_off = mean[True, "score"][episode], mean[False, "score"][episode]
        places_on, places_off = mean[True, "places"][episode], mean[False, "places"][episode]
        again_on, again_off = mean[True, "repeated"][episode], mean[False, "repeated"][episode]
        print(
            f"| {episode + 1} | {score_on:.1f} | {score_off:.1f} | {places_on:.1f} | {places_off:.1f} "
            f"| {again_on:.1%} | {again_off:.1%} | {mean[True, 'remembered_places'][episode]:.0%} |"
        )
    on, off = mean[True, "repeated"].mean(), mean[False, "repeated"].mean()
    times = f"{off / on:.0f} times less" if on else "none at all"
    print(f"\nRepeated failed actions over all episodes: {on:.1%} with memory, {off:.1%} without ({times})")
    gain = np.array([arm.score[-1] - arm.score[0] for arm in arms[True]])
    print(f"Score of the last episode above that of the first, paired by seed: {interval(gain)} with memory", end="")
    print(f", {interval(np.array([arm.score[-1] - arm.score[0] for arm in arms[False]]))} without")
    print("\nBy seed:\n")
    print("| seed | memory | scores by episode | last | best | repeated failures by episode |")
    print("| --- | --- | --- | --- | --- | --- |")
    for number, seed in enumerate(given.seeds):
        for remember in (True, False):
            arm = arms[remember][number]
            scores, repeated = ", ".join(map(str, arm.score)), ", ".join(f"{share:.0%}" for share in arm.repeated)
            memory, last, best = "on" if remember else "off", arm.score[-1], max(arm.score)
            print(f"| {seed} | {memory} | {scores} | {last} | {best} | {repeated} |")


if __name__ == "__main__":
    main()

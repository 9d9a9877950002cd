"""What it costs to be resumable: whole episodes of the rules player with a checkpoint after every turn, and without.

    uv run python -m benchmarks.checkpoint [--game zork1.z5] [--turns 300] [--rounds 5]

The processor's time for a turn, all kinds in turn, so that what else the machine does falls on all; the median of the
rounds and of their ratios. Without embeddings, which take their time in a thread of their own.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

from game_interface.story import Story, find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration

NEVER = 10**9


def play(story: Story, turns: int, interval: int) -> tuple[float, float, int]:
    """Milliseconds of the processor and of the clock for a turn, and the bytes that are kept for resuming."""
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(
            zork_game_workdir=folder,
            max_turns_per_episode=turns,
            embedding_provider="none",
            checkpoint_interval_turns=interval,
        )
        with assemble(config, RunOptions(PlayerChoice("rules", "measurement", None), story)) as run:
            run.reset_episode()
            began, clock = process_time(), perf_counter()
            while run.game_state.turn_count < turns and not run.game_state.finished:
                run.process_turn()
            took, played = (process_time() - began, perf_counter() - clock), run.game_state.turn_count
            kept = (Path(folder) / "runs" / "1" / name for name in ("checkpoint.json", "turns.journal"))
            return took[0] / played * 1000, took[1] / played * 1000, sum(file.stat().st_size for file in kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    story = find_story(given.game)
    rounds = [
        (play(story, given.turns, 1), play(story, given.turns, 10), play(story, given.turns, NEVER))
        for _ in range(given.rounds)
    ]
    for name, at in (("after every turn", 0), ("every 10 turns", 1), ("only at the beginning", 2)):
        cpu, clock = (median(one[at][unit] for one in rounds) for unit in (0, 1))
        ratio = median(one[at][0] / one[2][0] for one in rounds)
        print(f"checkpoint {name:22} {cpu:6.2f} ms of the processor a turn, {clock:6.2f} by the clock, x {ratio:.2f}")
    print(f"kept of an episode: {median(one[0][2] for one in rounds) / 1000:.0f} kB")


if __name__ == "__main__":
    main()

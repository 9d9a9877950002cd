"""What the rules put into the knowledge base, what later turns say of it, and how long the memories of the places are.

    uv run python -m benchmarks.knowledge [--seeds 3] [--episodes 4] [--turns 300]

The rules player plays the bundled story; no model is asked. A line is counted at most once in each look back.
"Places" are the tokens that all places together show.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.retrieval import estimated_tokens


@dataclass(frozen=True)
class Standing:
    """The knowledge base after an episode."""

    believed: int
    struck: int
    borne_out: int
    contradicted: int
    places: int


def play(seed: int, episodes: int, turns: int) -> list[Standing]:
    """The standing after each episode of one seed."""
    with tempfile.TemporaryDirectory() as folder:
        return [_after_one(Path(folder), seed, turns) for _ in range(episodes)]


def _after_one(workdir: Path, seed: int, turns: int) -> Standing:
    config = GameConfiguration(zork_game_workdir=str(workdir), max_turns_per_episode=turns, embedding_provider="none")
    with assemble(config, RunOptions(PlayerChoice("rules", "a benchmark", None), seed=seed)) as game:
        game.play_episode()
        places = _tokens(game.simple_memory)
    lines = KnowledgeStore(workdir / config.knowledge_file).document.lines
    return Standing(
        believed=sum(not line.struck for line in lines),
        struck=sum(line.struck for line in lines),
        borne_out=sum(line.borne_out for line in lines),
        contradicted=sum(line.contradicted for line in lines),
        places=places,
    )


def _tokens(memory: SimpleMemoryManager) -> int:
    """Of all places, with what lasts."""
    memory.reset_episode()
    return sum(estimated_tokens(memory.get_location_memory(place)) for place in memory.memory_cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--episodes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=300)
    given = parser.parse_args()
    runs = [play(seed, given.episodes, given.turns) for seed in range(1, given.seeds + 1)]
    print(f"Rules player (rules, no language model), bundled story; means over {given.seeds} seeds\n")
    print("| episode | lines believed | struck | borne out | contradicted | places, tokens |")
    print("| --- | --- | --- | --- | --- | --- |")
    for episode in range(given.episodes):
        rows = [run[episode] for run in runs]
        mean = {name: np.mean([getattr(row, name) for row in rows]) for name in Standing.__dataclass_fields__}
        print(
            f"| {episode + 1} | {mean['believed']:.1f} | {mean['struck']:.1f} "
            f"| {mean['borne_out']:.1f} | {mean['contradicted']:.1f} | {mean['places']:.0f} |"
        )


if __name__ == "__main__":
    main()

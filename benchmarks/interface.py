"""Zork I's whole walkthrough through JerichoInterface, beside Jericho itself in the same run.

`uv run python -m benchmarks.interface` (ZORKGPT_ZORK1 names the story, or infrastructure/zork.z5 is taken).
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import INFRASTRUCTURE
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough

_Facts = list[tuple[int, int]]
"""Place and score after each command."""


def play_directly(path: Path, commands: list[str]) -> Callable[[], _Facts]:
    """Jericho in this process: the step, the place and the inventory, as it has them."""
    from jericho import FrotzEnv

    env = FrotzEnv(str(path), seed=ZORK1_SEED)

    def play() -> _Facts:
        env.reset()
        facts = []
        for command in commands:
            _, _, _, told = env.step(command)
            env.get_inventory()
            facts.append((env.get_player_location().num, told["score"]))
        return facts

    return play


def play_through_the_interface(game: JerichoInterface, commands: list[str]) -> Callable[[], _Facts]:
    """In the worker: place, inventory, what is visible, score, and what moved, every turn."""

    def play() -> _Facts:
        game.reset()
        facts = []
        for command in commands:
            now = game.act(command).after
            place = now.vehicle or now.location
            facts.append((place.num, now.score))
        return facts

    return play


def actions_per_second(play: Callable[[], _Facts], actions: int, rounds: int) -> tuple[_Facts, list[float]]:
    rates, facts = [], []
    for _ in range(rounds):
        begun = time.perf_counter()
        facts = play()
        rates.append(actions / (time.perf_counter() - begun))
    return facts, rates


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    rounds = options.parse_args().rounds
    path = Path(os.environ.get("ZORKGPT_ZORK1") or INFRASTRUCTURE / "zork.z5")
    commands = get_zork1_walkthrough()
    direct, direct_rates = actions_per_second(play_directly(path, commands), len(commands), rounds)
    with JerichoInterface(path, seed=ZORK1_SEED) as game:
        game.start()
        through, rates = actions_per_second(play_through_the_interface(game, commands), len(commands), rounds)
        score, most = game.get_score()[0], game.get_max_score()
    agreeing = sum(one == other for one, other in zip(direct, through, strict=True))

    table = Table(title=f"Zork I, {len(commands)} commands, {rounds} rounds")
    for column in ("", "actions/s (median)", "slowest", "of Jericho"):
        table.add_column(column)
    for name, measured in (("Jericho in this process", direct_rates), ("JerichoInterface", rates)):
        median = statistics.median(measured)
        share = median / statistics.median(direct_rates)
        table.add_row(name, f"{median:,.0f}", f"{min(measured):,.0f}", f"{share:.2f}")
    console = Console()
    console.print(table)
    console.print(f"score {score} of {most}; place and score as Jericho's on {agreeing} of {len(commands)} steps")


if __name__ == "__main__":
    main()

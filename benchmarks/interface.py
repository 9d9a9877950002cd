"""Measure the cost of the ground truth of a turn over a whole walkthrough, compared with Jericho in the same run.

`uv run python -m benchmarks.interface` plays the bundled story, and Zork I if ZORKGPT_ZORK1 is set or it is in
infrastructure/. Each round plays all variants one after the other, so that other load on the machine affects all of
them. The figures are medians over the rounds.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.worker import Worker
from game_interface.story import INFRASTRUCTURE
from tests.fixtures.slackwater import STORY, WALKTHROUGH
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_zork1_walkthrough

BARE, OWN, WORKER, ACT, OBSERVED = (
    "Jericho's step, in this process",
    "the same, with its room and inventory",
    "a step in the worker's process",
    "act: what changed, and by whom",
    "act, then what is at hand and its states",
)


def ways(path: Path, seed: int, game: JerichoInterface, worker: Worker) -> dict[str, Callable[[str | None], object]]:
    """Return name → function that plays a command. The command None restarts the game."""
    from jericho import FrotzEnv

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for unsupported stories, Jericho knows neither room nor inventory
        env = FrotzEnv(str(path), seed=seed)

    def bare(command: str | None) -> object:
        return env.reset() if command is None else env.frotz_lib.step(command.encode() + b"\n")

    def own(command: str | None) -> object:
        if command is None:
            return env.reset()
        return env.step(command), env.get_player_location(), env.get_inventory()

    def in_worker(command: str | None) -> object:
        return worker.reset() if command is None else worker.step(command.encode())

    def act(command: str | None) -> object:
        return game.reset() if command is None else game.act(command)

    def observed(command: str | None) -> object:
        return game.reset() if command is None else (game.act(command), game.things())

    known = {OWN: own} if env.is_fully_supported else {}
    return {BARE: bare, **known, WORKER: in_worker, ACT: act, OBSERVED: observed}


def us_per_command(play: Callable[[str | None], object], commands: list[str]) -> float:
    play(None)
    begun = time.perf_counter()
    for command in commands:
        play(command)
    return (time.perf_counter() - begun) / len(commands) * 1e6


def opening_s(path: Path, seed: int) -> float:
    begun = time.perf_counter()
    with JerichoInterface(path, seed=seed) as game:
        game.reset()
        return time.perf_counter() - begun


def restart_s(game: JerichoInterface) -> float:
    """Return the time from the death of the interpreter's process until its state is restored."""
    state = game.save_state()
    game._worker.kill()
    begun = time.perf_counter()
    game.restore_state(state)
    return time.perf_counter() - begun


class Measured(NamedTuple):
    """Medians and worst cases of the rounds."""

    us: dict[str, float]
    """Microseconds per command of each variant."""
    openings_s: list[float]
    restarts_s: list[float]


def measured(path: Path, seed: int, commands: list[str], rounds: int) -> Measured:
    times: dict[str, list[float]] = {}
    openings, restarts = [], []
    worker = Worker(path.read_bytes(), seed=seed, time_limit_s=20)
    with JerichoInterface(path, seed=seed) as game:
        game.act("look")  # the first action of a process does extra work
        by_name = ways(path, seed, game, worker)
        for _ in range(rounds):
            for name, play in by_name.items():
                times.setdefault(name, []).append(us_per_command(play, commands))
            openings.append(opening_s(path, seed))
            restarts.append(restart_s(game))
    worker.kill()
    return Measured({name: statistics.median(found) for name, found in times.items()}, openings, restarts)


def report(title: str, path: Path, seed: int, commands: list[str], rounds: int) -> None:
    median, openings, restarts = measured(path, seed, commands, rounds)
    table = Table(title=f"{title}, {len(commands)} commands, {rounds} rounds")
    for column in ("", "µs a command (median)", *(f"times {name}" for name in (BARE, OWN) if name in median)):
        table.add_column(column)
    for name, found in median.items():
        ratios = (f"{found / median[other]:.1f}" for other in (BARE, OWN) if other in median)
        table.add_row(name, f"{found:,.0f}", *ratios)
    console = Console()
    console.print(table)
    console.print(f"opening {statistics.median(openings):.2f} s, at most {max(openings):.2f} s")
    console.print(f"restart after a kill {statistics.median(restarts):.2f} s, at most {max(restarts):.2f} s\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    rounds = options.parse_args().rounds
    report("Slack Water", STORY, BUNDLED_SEED, list(WALKTHROUGH), rounds)
    zork = Path(os.environ.get("ZORKGPT_ZORK1") or INFRASTRUCTURE / "zork.z5")
    if zork.is_file():
        report("Zork I", zork, ZORK1_SEED, get_zork1_walkthrough(), rounds)


if __name__ == "__main__":
    main()

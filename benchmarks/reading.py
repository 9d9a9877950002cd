"""How often a walkthrough's text has to be read, what the rules cost, and what the player is told of its own play.

    uv run python -m benchmarks.reading [--game zork1.z5 --commands FILE --seed 12]

Without a game it is the bundled story and its walkthrough. What is read is what a model would be asked.
"""

import argparse
import logging
import tempfile
from pathlib import Path
from time import perf_counter

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from managers.extraction_manager import ExtractionManager
from managers.progress_manager import ProgressManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import TurnRecord
from tests.fixtures.walkthrough import get_bundled_walkthrough
from zorkgpt.offline.extractor import RuleExtractor


def play(game: JerichoInterface, commands: list[str], folder: str) -> None:
    config, state, log = GameConfiguration(zork_game_workdir=folder), GameState(), logging.getLogger("benchmark")
    extraction = ExtractionManager(log, config, state, extractor=RuleExtractor())
    progress = ProgressManager(log, config, state)
    opening = game.start()
    state.observe(game.observe())
    spent = {"reading": 0.0, "watching": 0.0}
    extraction.of_opening(opening, game.observe())
    for turn, command in enumerate(commands, 1):
        step = game.act(command)
        state.turn_count = turn
        started = perf_counter()
        record = TurnRecord(1, turn, step, "", "given", "", extraction=extraction.of_turn(step))
        extraction.process_turn(record)
        read = perf_counter()
        progress.process_turn(record)
        spent["reading"] += read - started
        spent["watching"] += perf_counter() - read
        state.record(record)
    print(f"{len(commands)} turns: {extraction.get_status()['metrics']}")
    print(f"told of its own play: {progress.get_status()['metrics']}")
    for part, seconds in spent.items():
        print(f"{part:<9}{seconds / len(commands) * 1e6:6.0f} us a turn")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--commands", type=Path, default=None, help="a file with a command a line")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    commands = given.commands.read_text("utf-8").splitlines() if given.commands else get_bundled_walkthrough()
    with (
        tempfile.TemporaryDirectory() as folder,
        JerichoInterface(story=find_story(given.game), seed=given.seed) as game,
    ):
        play(game, commands, folder)


if __name__ == "__main__":
    main()

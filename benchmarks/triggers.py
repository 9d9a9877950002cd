"""Measure the share of turns with a question about memories in each episode, and important turns without one.

    uv run python -m benchmarks.triggers [--episodes 5] [--turns 400]

The rules answer the questions, so no model is needed. The rules player plays the bundled story. If ZORKGPT_ZORK1 is
set, the walkthrough of Zork I is played too.
"""

import argparse
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from session.outcome import failed, refused_by_parser
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough
from zorkgpt.errors import ZorkGPTError


@dataclass(frozen=True)
class Turn:
    """A turn and its number of questions."""

    record: TurnRecord
    questions: int
    first_sight: bool
    """Whether it led to a room that was not visited in any earlier turn or episode."""

    @property
    def asked(self) -> bool:
        return self.questions > 0

    @property
    def eventful(self) -> bool:
        """Whether the score or the inventory changed, or the player died."""
        step = self.record.transition
        return step.before.score != step.after.score or step.before.inventory != step.after.inventory or step.died


def watched(game: ZorkOrchestratorV2, seen: set[int], commands: list[str] | None) -> Iterator[Turn]:
    """Yield the turns of one episode."""
    memory, most = game.simple_memory, game.services.config.max_turns_per_episode
    game.reset_episode()
    seen.add(game.game_state.current_room_id)
    for number in range(len(commands) if commands else most):
        before = memory.get_status()["metrics"]["synthesis_calls"]
        try:
            record = game.process_turn(commands[number] if commands else None)
        except ZorkGPTError:
            break
        place = record.transition.after.location
        new = place is not None and place.num not in seen
        if place is not None:
            seen.add(place.num)
        yield Turn(record, memory.get_status()["metrics"]["synthesis_calls"] - before, new)
        if record.transition.finished:
            break


def episodes(story: str | None, seed: int, count: int, turns: int, commands: list[str] | None) -> list[list[Turn]]:
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns)
        run_options = RunOptions(PlayerChoice("rules", "measurement", None), find_story(story), seed)
        seen: set[int] = set()
        with assemble(config, run_options) as game:
            return [list(watched(game, seen, commands)) for _ in range(count)]


def first_refusals(played: list[list[Turn]]) -> list[Turn]:
    """Return the turns in which an action failed at a place for the first time in any episode."""
    known, found = set(), []
    for turn in (turn for episode in played for turn in episode):
        step = turn.record.transition
        attempt = (step.before.location, " ".join(step.action.lower().split()))
        if failed(step) and not (step.refused or refused_by_parser(step)) and attempt not in known:
            known.add(attempt)
            found.append(turn)
    return found


def report(console: Console, title: str, played: list[list[Turn]]) -> None:
    table = Table("episode", "turns", "asked", title=title)
    for number, episode in enumerate(played, 1):
        table.add_row(str(number), str(len(episode)), f"{sum(turn.asked for turn in episode) / len(episode):.1%}")
    console.print(table)
    refused = first_refusals(played)
    console.print(f"first refusals of an action at a place: {sum(t.asked for t in refused)} of {len(refused)} asked")
    first = played[0]
    eventful = [turn for turn in first if turn.eventful]
    sights = [turn for turn in first if turn.first_sight]
    both = [turn for turn in sights if not turn.eventful]
    console.print(
        f"episode 1: {sum(t.asked for t in eventful)} of {len(eventful)} turns that change score or inventory or kill "
        f"asked; {sum(t.asked for t in sights)} of {len(sights)} first sights of a room asked "
        f"({len(both)} of them on other turns); at most {max(t.questions for t in first)} questions a turn\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=5)
    parser.add_argument("--turns", type=int, default=400)
    given = parser.parse_args()
    logging.getLogger("zorkgpt").addHandler(logging.NullHandler())
    console = Console(width=160)
    report(console, "rules player, bundled story", episodes(None, 1, given.episodes, given.turns, None))
    if zork := os.environ.get("ZORKGPT_ZORK1"):
        commands = get_zork1_walkthrough()
        played = episodes(str(Path(zork)), ZORK1_SEED, 2, len(commands), commands)
        report(console, "walkthrough, Zork I", played)


if __name__ == "__main__":
    main()

"""Measure how much of each story is recognized, and the scores of the rules player.

    uv run python -m benchmarks.games [--episodes 5] [--turns 300] [--jobs 2] [--publish]

Zork I is included if ZORKGPT_ZORK1 is set. The columns:

- Rooms: at each step of the walkthrough, the heading printed by `look` is compared with the name of the room, unless it
  is dark.
- Names: at each step, the names of carried objects are compared with the output of `inventory`.
- End: at each step, whether the end of the game is recognized correctly.
- Nothing left: turns in which the rules had nothing left to try.
- Standstill: the longest run of other turns without a new action or observation.
"""

import argparse
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.publish import Table as PublishedTable
from benchmarks.publish import publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.core.names import heading_in
from game_interface.story import find_story
from tests.fixtures import own_stories
from tests.fixtures.runs import a_run
from tests.fixtures.slackwater import STORY, WALKTHROUGH
from tests.fixtures.stuck import longest_standstill, nothing_left, turns_of
from tests.fixtures.walkthrough import ZORK1_SEED, get_zork1_walkthrough
from zorkgpt.runlog.episodes import read_episode


@dataclass(frozen=True)
class Measured:
    """A story with its walkthrough."""

    name: str
    path: Path
    commands: tuple[str, ...]
    ends_at: frozenset[int]
    """The steps, counted from 1, after which the game is over."""
    seed: int = 1


@dataclass(frozen=True)
class Row:
    """The figures of one story."""

    name: str
    steps: int
    headings: int
    """Steps in which `look` prints a heading."""
    rooms: int
    """Of those, steps in which the heading is the room's name."""
    held: int
    """Carried objects, summed over all steps."""
    names: int
    """Of those, objects whose name `inventory` prints."""
    ends: int
    stuck: int = 0
    standstill: int = 0
    scores: tuple[int | None, ...] = ()


def stories() -> list[Measured]:
    found = [Measured("Slack Water", STORY, tuple(WALKTHROUGH), frozenset({len(WALKTHROUGH)}))]
    if zork := os.environ.get("ZORKGPT_ZORK1"):
        commands = tuple(get_zork1_walkthrough())
        found.append(Measured("Zork I", Path(zork), commands, frozenset({len(commands)}), ZORK1_SEED))
    for name in own_stories.names():
        steps = own_stories.walkthrough(name)[1:]
        over = (number for number, step in enumerate(steps, 1) if dict(step.facts).keys() & {"over", "won"})
        commands = tuple(step.command or "" for step in steps)
        found.append(Measured(name, own_stories.compiled(name), commands, frozenset(over)))
    return found


def walked(story: Measured) -> Row:
    """Return the figures of the walkthrough."""
    found: Counter[str] = Counter()
    with JerichoInterface(story.path, seed=story.seed) as game:
        game.reset()
        for number, command in enumerate(story.commands, 1):
            done = game.act(command)
            found["ends"] += done.finished == (number in story.ends_at)
            now = done.after
            if done.finished or now.question is not None:
                continue
            here = game.save_state()
            heading = heading_in(game.act("look").response)
            game.restore_state(here)
            listed = game.act("inventory").response.casefold()
            game.restore_state(here)
            if heading and not now.dark:
                found["headings"] += 1
                found["rooms"] += bool(now.location and heading.startswith(now.location.name))
            for item in now.inventory or ():
                found["held"] += 1
                found["names"] += item.name.casefold() in listed
    counts = {key: found[key] for key in ("headings", "rooms", "held", "names", "ends")}
    return Row(story.name, len(story.commands), **counts)


def measured(story: Measured, episodes: int, turns: int) -> Row:
    logging.disable(logging.WARNING)
    row = walked(story)
    with tempfile.TemporaryDirectory() as folder:
        with a_run(Path(folder), turns=turns, story=find_story(story.path)) as run:
            scores = tuple(run.play_episode().score for _ in range(episodes))
        played = [turns_of(read_episode(Path(folder), number)) for number in range(1, episodes + 1)]
    still = max(len(longest_standstill(episode)) for episode in played)
    stuck = sum(nothing_left(turn) for episode in played for turn in episode)
    return replace(row, stuck=stuck, standstill=still, scores=scores)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--episodes", type=int, default=5)
    options.add_argument("--turns", type=int, default=300)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--publish", action="store_true")
    given = options.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        rows = list(pool.map(partial(measured, episodes=given.episodes, turns=given.turns), stories()))
    table = Table(title=f"{given.episodes} episodes of at most {given.turns} turns")
    for column in ("story", "rooms", "names", "end", "nothing left", "standstill", "first score", "last score"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            row.name,
            f"{row.rooms} of {row.headings}",
            f"{row.names} of {row.held}",
            f"{row.ends} of {row.steps}",
            f"{row.stuck}",
            f"{row.standstill}",
            *(("–" if score is None else str(score)) for score in (row.scores[0], row.scores[-1])),
        )
    Console().print(table)
    if given.publish:
        publish("games", "uv run python -m benchmarks.games", {"stories": published(rows)})


def published(rows: Sequence[Row]) -> PublishedTable:
    """Return the recognition figures of each story, without the scores of the rules player."""
    cells = [
        [row.name, f"{row.rooms} of {row.headings}", f"{row.names} of {row.held}", f"{row.ends} of {row.steps}"]
        for row in rows
    ]
    return PublishedTable(columns=["story", "rooms", "names", "end"], rows=cells)


if __name__ == "__main__":
    main()

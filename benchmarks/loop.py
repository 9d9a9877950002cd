"""How fast the whole loop plays, and where the time goes: offline player, no display.

    uv run python -m benchmarks.loop [--game zork1.z5] [--turns 400] [--episodes 5]

Turns a second of whole episodes, opening and closing included, beside the interpreter alone on the same commands. The
profile is of a second run, since profiling slows everything down.
"""

import argparse
import cProfile
import pstats
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import Story, find_story
from orchestration.assembly import Wishes, assemble
from orchestration.players import Choice
from session.game_configuration import GameConfiguration
from zorkgpt.runlog.events import TurnPlayed
from zorkgpt.runlog.reader import read_episode

ROOMS = (
    "game_interface",
    "zorkgpt/memory",
    "zorkgpt/offline",
    "zorkgpt/world",
    "zorkgpt/runlog",
    "managers",
    "orchestration",
    "session",
)


def play(story: Story, episodes: int, turns: int, folder: str) -> tuple[list[list[str]], float]:
    """The commands of each episode, and how many seconds it took."""
    config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns)
    with assemble(config, Wishes(Choice("offline", "measurement", None), story=story)) as orchestrator:
        started = perf_counter()
        ends = [orchestrator.play_episode() for _ in range(episodes)]
        elapsed = perf_counter() - started
    logs = [read_episode(Path(folder), end.episode) for end in ends]
    return [[event.action for event in log if isinstance(event, TurnPlayed)] for log in logs], elapsed


def replay(story: Story, episodes: list[list[str]]) -> float:
    with JerichoInterface(story=story, seed=1) as game:
        game.start()
        started = perf_counter()
        for commands in episodes:
            game.reset()
            for command in commands:
                game.act(command)
        return perf_counter() - started


def where_the_time_goes(profile: cProfile.Profile) -> Counter:
    """Own time by room of the house; what none of them owns counts for the library it is in."""
    spent: Counter = Counter()
    for (file, _, _), (_, _, own, _, _) in pstats.Stats(profile).stats.items():
        room = next((room for room in ROOMS if f"/{room}" in file), None)
        spent[room or (file.split("site-packages/")[-1].split("/")[0] if "site-packages" in file else "python")] += own
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default=None)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--episodes", type=int, default=5)
    given = parser.parse_args()
    story = find_story(given.game)
    with tempfile.TemporaryDirectory() as folder:
        commands, elapsed = play(story, given.episodes, given.turns, folder)
    turns = sum(map(len, commands))
    alone = replay(story, commands)
    print(f"{story.title or story.path.name}: {turns} turns in {given.episodes} episodes")
    print(f"whole loop        {turns / elapsed:8.0f} turns/s")
    print(f"interpreter alone {turns / alone:8.0f} turns/s (ratio {alone / elapsed:.2f})")
    profile = cProfile.Profile()
    with tempfile.TemporaryDirectory() as folder:
        profile.runcall(play, story, given.episodes, given.turns, folder)
    spent = where_the_time_goes(profile)
    total = sum(spent.values())
    for room, seconds in spent.most_common(8):
        print(f"  {room:<18} {seconds / total:5.0%}")


if __name__ == "__main__":
    main()

"""How far the search player comes with a number of interpreter steps, beside the rules with as many turns.

    uv run python -m benchmarks.search STORY... [--steps 600 20000] [--without-rules 20000] [--publish]

Steps are commands that are played, from saved states or not. The rules play episodes of 400 turns. Places, the highest
score, and states (place, inventory and score) count over all that was played. Verified: the search's commands, played
in a new game without saves, lead to its score.
"""

import argparse
import logging
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.publish import Table, markdown, publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.explore.archive import TrailReader
from zorkgpt.explore.trail import ObservedState
from zorkgpt.offline.search import searched_route
from zorkgpt.offline.search_archive import load_archive
from zorkgpt.run_folder import SEARCH_FILE

TURNS = 400
COLUMNS = ["story", "steps", "player", "places", "best", "states", "line", "verified"]


def shown(reached: set[ObservedState]) -> list[str]:
    """Return the places, the highest score and the number of states."""
    places = {state.place for state in reached} - {None}
    return [f"{len(places)}", f"{max((state.score or 0 for state in reached), default=0)}", f"{len(reached):,}"]


def by_search(game: str, steps: int, folder: Path) -> list[str]:
    story = find_story(game)
    open_game = partial(JerichoInterface, story=story)
    route = searched_route(folder / SEARCH_FILE, open_game, seed=1, steps=steps, max_turns=TURNS, jobs=1)
    cells = load_archive(folder / SEARCH_FILE, story.sha256, seed=1).cells
    figures = shown({cell.standing for cell in cells})
    if route is None:
        return [*figures, "", ""]
    with open_game() as fresh:
        score = [fresh.act(step.action).after.score for step in route.steps][-1]
    return [*figures, f"{len(route.steps)}", "yes" if score == route.goal.score else "no"]


def by_rules(game: str, steps: int, folder: Path) -> list[str]:
    story, left = find_story(game), steps
    while left > 0:
        config = GameConfiguration(
            zork_game_workdir=str(folder), max_turns_per_episode=min(TURNS, left), embedding_provider="none"
        )
        with assemble(config, RunOptions(PlayerChoice("rules", "measurement", None), story)) as run:
            while left >= config.max_turns_per_episode:
                left -= max(run.play_episode().turns, 1)
    kept = TrailReader(folder, config.episode_log_file, story.sha256).before("all")
    return [*shown({step.standing for each in kept for step in each.trail.steps}), "", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="+")
    parser.add_argument("--steps", type=int, nargs="+", default=[600, 20_000])
    parser.add_argument("--without-rules", type=int, nargs="*", default=[], help="numbers of steps only for the search")
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    table = Table(columns=COLUMNS, rows=[])
    for steps in given.steps:
        for game in given.stories:
            for player, play in (("rules", by_rules), ("search", by_search)):
                if player == "rules" and steps in given.without_rules:
                    continue
                began = time.perf_counter()
                with tempfile.TemporaryDirectory() as folder:
                    figures = play(game, steps, Path(folder))
                table["rows"].append([find_story(game).title or Path(game).stem, f"{steps:,}", player, *figures])
                print(*table["rows"][-1], f"{time.perf_counter() - began:.0f} s", sep=" | ", flush=True)
    print(markdown(table))
    if given.publish:
        publish("search", "uv run python -m benchmarks.search STORY...", {"stories": table})


if __name__ == "__main__":
    main()

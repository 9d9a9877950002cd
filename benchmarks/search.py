"""Compare the search player with the rules player, with the same number of interpreter steps.

    uv run python -m benchmarks.search STORY... [--steps 600 20000] [--without-rules 20000] [--publish FILE]

A step is a command that is played, from a saved state or not. The rules play episodes of up to 400 turns. The search
player also plays episodes, and searches for three times as many steps before each. Places, the highest score, and
states (place, inventory and score) are counted over all steps. The area is the mean, over all steps, of the highest
score so far as a share of the story's maximum. Verified: the commands to the highest score of the
search were played in a new game without saved states, and led to that score.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path
from statistics import mean

from benchmarks.publish import Table, markdown, publish
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PlayerChoice
from session.game_configuration import GameConfiguration
from zorkgpt.explore.archive import TrailReader
from zorkgpt.explore.trail import ObservedState, Trail
from zorkgpt.offline.search_archive import SearchArchive, load_archive
from zorkgpt.run_folder import SEARCH_FILE
from zorkgpt.runlog.events import PlayerKind

TURNS = 400
COLUMNS = ["story", "steps", "player", "places", "best", "area", "states", "line", "verified"]


class Course:
    """The states that were reached, and the highest score after each step."""

    def __init__(self) -> None:
        self.reached: set[ObservedState] = set()
        self._highest = [0]

    def add(self, trail: Trail) -> None:
        for step in (*trail.steps, *filter(None, [trail.winning])):
            self.reached.add(step.standing)
            self._highest.append(max(self._highest[-1], step.standing.score or 0))

    def pad(self, steps: int) -> None:
        """Add steps without points until there are so many, since trails omit deadly steps."""
        self._highest += self._highest[-1:] * (steps + 1 - len(self._highest))

    def shown(self, max_score: int | None) -> list[str]:
        """Return the places, the highest score, the area and the number of states."""
        places = {state.place for state in self.reached} - {None}
        area = f"{mean(self._highest[1:]) / max_score:.2f}" if max_score else ""
        return [f"{len(places)}", f"{self._highest[-1]}", area, f"{len(self.reached):,}"]


def played(game: str, player: str, steps: int, folder: Path) -> list[str]:
    """Play episodes until `steps` steps were played. Return the cells of the table."""
    story, left = find_story(game), steps
    is_search = player == PlayerKind.SEARCH
    turns, course, searched = min(TURNS, steps // (4 if is_search else 2)), Course(), SearchArchive(story.sha256, 1)
    while left >= (4 * turns if is_search else 1):
        config = GameConfiguration(
            zork_game_workdir=str(folder),
            max_turns_per_episode=min(turns, left),
            search_steps=3 * turns,
            embedding_provider="none",
        )
        with assemble(config, RunOptions(PlayerChoice(player, "measurement", None), story)) as run:
            turns_played = max(run.play_episode().turns, 1)
        before, searched = searched, load_archive(folder / SEARCH_FILE, story.sha256, seed=1)
        for trail in searched.trails[len(before.trails) :]:
            course.add(trail)
        left -= searched.steps - before.steps
        course.pad(steps - left)
        left -= turns_played
        course.add(TrailReader(folder, config.episode_log_file, story.sha256).before("all")[-1].trail)
        course.pad(steps - left)
    course.pad(steps)
    with JerichoInterface(story=story) as fresh:
        fresh.reset()
        shown = course.shown(fresh.get_max_score())
        if not is_search:
            return [*shown, "", ""]
        number = max(range(len(searched.cells)), key=lambda number: searched.cells[number].standing.score or 0)
        line = searched.steps_to(number, short=False)
        score = [fresh.act(step.action).after.score for step in line][-1:]
    return [*shown, f"{len(line)}", "yes" if score == [searched.highest] else "no"] if line else [*shown, "", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="+")
    parser.add_argument("--steps", type=int, nargs="+", default=[600, 20_000])
    parser.add_argument("--without-rules", type=int, nargs="*", default=[], help="numbers of steps only for the search")
    parser.add_argument(
        "--publish", choices=["search", "search_unseen", "search_unseen_long"], help="the published file"
    )
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    table = Table(columns=COLUMNS, rows=[])
    for steps in given.steps:
        for game in given.stories:
            for player in (PlayerKind.RULES, PlayerKind.SEARCH):
                if player == "rules" and steps in given.without_rules:
                    continue
                began = time.perf_counter()
                with tempfile.TemporaryDirectory() as folder:
                    figures = played(game, player, steps, Path(folder))
                table["rows"].append([find_story(game).title or Path(game).stem, f"{steps:,}", player, *figures])
                print(*table["rows"][-1], f"{time.perf_counter() - began:.0f} s", sep=" | ", flush=True)
                if given.publish:
                    # The whole takes hours, so nothing is lost if it is stopped.
                    publish(given.publish, "uv run python -m benchmarks.search STORY...", {"stories": table})
    print(markdown(table))


if __name__ == "__main__":
    main()

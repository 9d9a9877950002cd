"""What each behavior of the rules player is worth: each one switched off in turn, same stories and seeds.

    uv run python -m benchmarks.behaviors [STORY ...] [--only fight ...] [--tuned] [--seeds 2] [--publish]

The rules were not tuned on these stories: those under tests/stories, and any others that are named. `--tuned` adds the
bundled story, and Zork I where ZORKGPT_ZORK1 names it. Score and places are means over the episodes of a run. The
differences, with everything on minus without the behavior, are paired by story and seed: a positive one is what the
behavior is worth.
"""

import argparse
import logging
import os
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from benchmarks.publish import Table, markdown, publish
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.players import PLAYERS, PlayerChoice, rules_player
from session.game_configuration import GameConfiguration
from tests.fixtures import own_stories
from zorkgpt.evals.results import interval
from zorkgpt.offline.behaviors import BEHAVIORS
from zorkgpt.offline.offers import OFFERS

REQUIRED = {"answer_question", "explore_everything", "wander"}
"""Without these, the player has no action on some turns or proposes the same one forever."""
SWITCHES = tuple(each.__name__ for each in (*BEHAVIORS, *OFFERS) if each.__name__ not in REQUIRED)


@dataclass(frozen=True)
class Course:
    """The means over the episodes of one run."""

    score: float
    places: float


def play(without: str, story: Path | None, seed: int, episodes: int, turns: int) -> Course:
    logging.disable(logging.WARNING)
    behaviors = [each for each in BEHAVIORS if each.__name__ != without]
    offers = [each for each in OFFERS if each.__name__ != without]
    PLAYERS["measured"] = lambda services: rules_player(services, behaviors, offers)
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns, embedding_provider="none")
        options = RunOptions(PlayerChoice("measured", "measurement", None), find_story(story), seed)
        with assemble(config, options) as run:
            ends = [run.play_episode() for _ in range(episodes)]
    return Course(sum(end.score or 0 for end in ends) / episodes, sum(end.places for end in ends) / episodes)


def row(without: str, courses: Sequence[Course], whole: Sequence[Course]) -> list[str]:
    pairs = list(zip(whole, courses, strict=True))
    return [
        without.replace("_", " ") or "nothing",
        f"{sum(course.score for course in courses) / len(courses):.1f}",
        shown([on.score - off.score for on, off in pairs]) if without else "",
        f"{sum(course.places for course in courses) / len(courses):.1f}",
        shown([on.places - off.places for on, off in pairs]) if without else "",
    ]


def shown(differences: Iterable[float]) -> str:
    found = interval(list(differences))
    return f"{found.mean:+.2f} [{found.low:.2f}, {found.high:.2f}]"


COLUMNS = ["switched off", "score", "worth in points", "places", "worth in places"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="*", type=Path, metavar="STORY")
    parser.add_argument("--only", nargs="+", choices=SWITCHES, default=SWITCHES)
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--publish", action="store_true")
    given = parser.parse_args()
    stories: list[Path | None] = [*map(own_stories.compiled, own_stories.names()), *given.stories]
    if given.tuned:
        zork = os.environ.get("ZORKGPT_ZORK1")
        stories += [None, *([Path(zork)] if zork else [])]
    runs = list(product(stories, range(1, given.seeds + 1)))
    print(f"{len(runs)} runs of {given.episodes} episodes of {given.turns} turns; 95 % bootstrap intervals\n")
    with ProcessPoolExecutor(given.processes) as pool:
        running = {
            without: [pool.submit(play, without, *run, given.episodes, given.turns) for run in runs]
            for without in ("", *given.only)
        }
        courses = {without: [each.result() for each in submitted] for without, submitted in running.items()}
    table = Table(columns=COLUMNS, rows=[row(without, played, courses[""]) for without, played in courses.items()])
    print(markdown(table))
    if given.publish:
        publish("behaviors", f"uv run python -m benchmarks.behaviors --seeds {given.seeds}", {"untuned": table})


if __name__ == "__main__":
    main()

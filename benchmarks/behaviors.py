"""Measure the effect of each behavior of the rules player by switching it off, with the same stories and seeds.

    uv run python -m benchmarks.behaviors [STORY ...] [--only follow_line ...] [--seeds 2]

By default, the stories are those in tests/stories, for which the rules were not tuned. Score and places are means over
the episodes of a run. The differences (all behaviors minus without one) are paired by story and seed. A positive
difference is the benefit of the behavior. If a behavior never acted in a run, the run without it would be identical,
so it is not played.
"""

import argparse
import logging
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import wraps
from itertools import compress, product
from pathlib import Path

from benchmarks.publish import Table, markdown
from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import PlayerChoice
from orchestration.players import PLAYERS, rules_player
from session.game_configuration import GameConfiguration
from tests.fixtures import own_stories
from zorkgpt.evals.results import interval
from zorkgpt.offline.behaviors import BEHAVIORS, Behavior
from zorkgpt.offline.offers import OFFERS, grammar
from zorkgpt.offline.view import Offer, OfferSource, PlaceView, TurnView
from zorkgpt.player import AgentDecision

REQUIRED = {"answer_question", "explore", "wander"}
"""Without these, the player has no action in some turns, or proposes the same one forever."""
ALWAYS_PLAYED = {"grammar"}
"""It is unknown in which runs these acted."""
SWITCHES = tuple(each.__name__ for each in (*BEHAVIORS, *OFFERS) if each.__name__ not in REQUIRED)


@dataclass(frozen=True)
class Course:
    """The means over the episodes of a run, and the behaviors and offers that acted."""

    score: float
    places: float
    acted: frozenset[str]


def play(without: str, story: Path | None, seed: int, episodes: int, turns: int) -> Course:
    logging.disable(logging.WARNING)
    acted: set[str] = set()
    behaviors = [noted(each, acted) for each in BEHAVIORS if each.__name__ != without]
    offers = [each if each is grammar else noted_offer(each, acted) for each in OFFERS if each.__name__ != without]
    PLAYERS["measured"] = lambda services: rules_player(services, behaviors, offers)
    with tempfile.TemporaryDirectory() as folder:
        config = GameConfiguration(zork_game_workdir=folder, max_turns_per_episode=turns, embedding_provider="none")
        options = RunOptions(PlayerChoice("measured", "measurement", None), find_story(story), seed)
        with assemble(config, options) as run:
            ends = [run.play_episode() for _ in range(episodes)]
    score, places = sum(end.score or 0 for end in ends), sum(end.places for end in ends)
    return Course(score / episodes, places / episodes, frozenset(acted))


def noted(behavior: Behavior, acted: set[str]) -> Behavior:
    """Return the behavior, changed to add its name to `acted` when it chooses an action."""

    @wraps(behavior)
    def noting(turn: TurnView) -> AgentDecision | None:
        decision = behavior(turn)
        if decision is not None:
            acted.add(behavior.__name__)
        return decision

    return noting


def noted_offer(source: OfferSource, acted: set[str]) -> OfferSource:
    """Return the source of offers, changed to add its name to `acted` when it offers an action."""

    @wraps(source)
    def noting(turn: TurnView, place: PlaceView) -> Iterator[Offer]:
        for offer in source(turn, place):
            acted.add(source.__name__)
            yield offer

    return noting


def row(without: str, courses: Sequence[Course], whole: Sequence[Course]) -> list[str]:
    pairs = list(zip(whole, courses, strict=True))
    acted = len(whole) if not without else sum(without in course.acted for course in whole)
    return [
        without.replace("_", " ") or "nothing",
        "" if without in ALWAYS_PLAYED else str(acted),
        f"{sum(course.score for course in courses) / len(courses):.1f}",
        shown([on.score - off.score for on, off in pairs]) if without else "",
        f"{sum(course.places for course in courses) / len(courses):.1f}",
        shown([on.places - off.places for on, off in pairs]) if without else "",
    ]


def shown(differences: Iterable[float]) -> str:
    difference = interval(list(differences))
    return f"{difference.mean:+.2f} [{difference.low:.2f}, {difference.high:.2f}]"


COLUMNS = ["switched off", "runs it acted in", "score", "worth in points", "places", "worth in places"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="*", type=Path, metavar="STORY")
    parser.add_argument("--only", nargs="+", choices=SWITCHES, default=SWITCHES)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    stories = given.stories or [own_stories.compiled(name) for name in own_stories.names()]
    runs = list(product(stories, range(1, given.seeds + 1)))
    print(f"{len(runs)} runs of {given.episodes} episodes of {given.turns} turns; 95 % bootstrap intervals\n")
    with ProcessPoolExecutor(given.processes) as pool:

        def played(without: str, over: Iterable[tuple[Path, int]]) -> list[Future[Course]]:
            return [pool.submit(play, without, *run, given.episodes, given.turns) for run in over]

        whole = [each.result() for each in played("", runs)]
        acting = {without: [without in course.acted for course in whole] for without in given.only}
        running = {without: played(without, compress(runs, acts)) for without, acts in acting.items()}
        rows = [row("", whole, whole)]
        for without, futures in running.items():
            left = iter(futures)
            pairs = zip(whole, acting[without], strict=True)
            rows.append(row(without, [next(left).result() if acts else same for same, acts in pairs], whole))
            print(" | ".join(rows[-1]), flush=True)
    table = Table(columns=COLUMNS, rows=rows)
    print(f"\n{markdown(table)}")


if __name__ == "__main__":
    main()

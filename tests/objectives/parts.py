"""Turns of a real game, turns made up, and a manager put together from real parts."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface
from game_interface.models import Item, Location, Observation, Transition
from game_interface.story import find_story
from managers.episode_log import EpisodeLog
from managers.objective_manager import ObjectiveManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import History, TurnRecord
from tests.fixtures.walkthrough import BUNDLED_SEED, bundled_story_path, get_bundled_walkthrough
from zorkgpt.objectives.book import ObjectiveBook
from zorkgpt.objectives.models import Moment, Objective
from zorkgpt.objectives.proposals import Known, Proposal, settled
from zorkgpt.offline.objectives import RuleObjectiveFinder
from zorkgpt.world.directions import exit_name
from zorkgpt.world.graph import MapGraph

HALL, CELLAR = Location(1, "Hall"), Location(2, "Cellar")
LAMP, CHEST = Item(10, "brass lamp", 1), Item(11, "oak chest", 1)
ROOMS = {1: "Hall", 2: "Cellar"}
THINGS = {10: "brass lamp", 11: "oak chest"}


def at(place: Location = HALL, *, score: int = 0, carried: Iterable[Item] = (), visible=(LAMP, CHEST)) -> Observation:
    carried = tuple(carried)
    return Observation(place, carried, carried, tuple(visible), score, 0)


def turn(number: int, action: str = "wait", response: str = "Time passes.", *, episode: int = 1, **step) -> TurnRecord:
    before = step.pop("before", at())
    made = Transition(before, action, response, step.pop("after", before), **step)
    return TurnRecord(episode, number, made, "", "given", "")


def known(**changed) -> Known:
    return replace(Known(at(), ROOMS, THINGS, {1}, 100), **changed)


def wanted(text: str, *, since: int = 0, episode: int = 1, seen: Known | None = None, **proposal) -> Objective:
    found = settled(Proposal(text, **proposal), seen or known(), Moment(episode, since))
    assert found is not None
    return found


def a_book(*objectives: Objective, stale_after: int = 5) -> ObjectiveBook:
    book = ObjectiveBook(stale_after=stale_after, way_of=exit_name)
    book.add(objectives)
    return book


@cache
def walked() -> tuple[TurnRecord, ...]:
    """The walkthrough of the bundled story, turn by turn."""
    with JerichoInterface(story=find_story(str(bundled_story_path())), seed=BUNDLED_SEED) as game:
        game.reset()
        steps = [game.act(command) for command in get_bundled_walkthrough()]
    return tuple(TurnRecord(1, number, step, "", "walkthrough", "") for number, step in enumerate(steps, 1))


def seen_on(records: Iterable[TurnRecord]) -> tuple[dict[int, str], dict[int, str]]:
    """Rooms and things that these turns showed."""
    moments = [now for one in records for now in (one.transition.before, one.transition.after)]
    rooms = {now.location.num: now.location.name for now in moments}
    return rooms, {item.num: item.name for now in moments for item in (*now.visible, *now.carried)}


class Played:
    """A manager, and the turns that it is shown."""

    def __init__(self, workdir: Path, *, model=None, remember: bool = True, memories=(), **settings) -> None:
        config = GameConfiguration(zork_game_workdir=str(workdir), **settings)
        self.state, self.history, self.graph = GameState(), History(), MapGraph()
        for place in (HALL, CELLAR):
            self.graph.add_room(place.num, place.name)
        logger = logging.getLogger("zorkgpt.test")
        recall = lambda place: [memory for where, memory in memories if where == place]  # noqa: E731
        self.manager = ObjectiveManager(
            logger,
            config,
            self.state,
            history=self.history,
            graph=self.graph,
            episode_log=EpisodeLog(logger, config, self.state),
            rules=RuleObjectiveFinder(recall),
            model=model,
            recall=recall,
            remember=remember,
        )

    def begin(self, episode: int) -> "Played":
        self.state.reset_episode(episode)
        self.history.clear()
        self.manager.reset_episode()
        return self

    def play(self, *records: TurnRecord) -> None:
        for record in records:
            self.state.turn_count = record.turn
            self.history.add(record)
            self.manager.process_turn(record)
            self.manager.process_periodic_update()

    def idle(self, first: int, last: int, *, episode: int = 1) -> None:
        self.play(*(turn(number, episode=episode) for number in range(first, last + 1)))

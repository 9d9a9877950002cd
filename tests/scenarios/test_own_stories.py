"""Tests of the rules player in the stories under `tests/stories`."""

from pathlib import Path

import pytest

from game_interface.story import find_story
from session.history import TurnRecord
from tests.fixtures import own_stories
from tests.fixtures.runs import a_run
from tests.fixtures.stuck import longest_standstill, repeated_attempts, turns_of
from zorkgpt.memory.claims import Relation
from zorkgpt.memory.things import STARTS_HERE, TRIED
from zorkgpt.runlog.episodes import read_episode

pytestmark = pytest.mark.slow

EPISODES = (1, 2)
TURNS = 60
LONGEST_STANDSTILL = 20


class Answers:
    """A watcher that records turns that answer a question."""

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []

    def episode_started(self, event: object) -> None:
        pass

    def episode_ended(self, event: object) -> None:
        pass

    def turn_played(self, record: TurnRecord) -> None:
        if record.transition.is_answer:
            self.turns.append(record)


def _light(name: str) -> dict[str, set[Relation]]:
    """Return for each room whether the walkthrough says light or dark."""
    found: dict[str, set[Relation]] = {}
    room = ""
    for step in own_stories.walkthrough(name):
        room = dict(step.facts).get("room", room)
        for key, _ in step.facts:
            if key in ("dark", "lit"):
                found.setdefault(room, set()).add(Relation.DARK if key == "dark" else Relation.LIGHT)
    return found


@pytest.mark.parametrize("name", own_stories.names())
def test_rules_make_progress_and_learn_nothing_false(name: str, tmp_path: Path) -> None:
    answers, story = Answers(), find_story(own_stories.compiled(name))
    with a_run(tmp_path, turns=TURNS, watchers=(answers,), story=story) as run:
        for _ in EPISODES:
            run.play_episode()
        memories = run.simple_memory.all_memories()
        rooms = {number: room.name for number, room in run.services.map.graph.rooms.items()}
    for episode in EPISODES:
        turns = turns_of(read_episode(tmp_path, episode))
        assert not [(turn.turn, turn.action) for turn in repeated_attempts(turns)]
        assert len(longest_standstill(turns)) <= LONGEST_STANDSTILL
    typed = {event.title for record in answers.turns for event in record.memory_events}
    assert typed <= {STARTS_HERE, TRIED}, "an answer to a question was learned as an action"
    assert all(rooms.values()), "a place without a name"
    by_walk = _light(name)
    for found in memories:
        claimed = {claim.relation for claim in found.memory.claims} & {Relation.DARK, Relation.LIGHT}
        place = rooms.get(found.location_id, "")
        assert claimed <= by_walk.get(place, claimed), f"{place}: {found.memory.text}"

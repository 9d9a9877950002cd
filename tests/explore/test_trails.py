"""Tests of the recorded trails of episodes."""

from contextlib import closing
from dataclasses import asdict, replace

import pytest

from tests.fixtures.trails import a_step, a_trail
from zorkgpt.explore.trails import Trails
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.record.events import EventKind, EventRow, Events
from zorkgpt.record.experience import ActionResult

FOUND = a_step("take ring > 2", score=5, effective=True)
KEPT = a_trail("east > 2", FOUND, episode=2, seed=7)


@pytest.fixture
def events(tmp_path):
    with closing(sidecar(tmp_path / "Memories.md")) as database:
        yield Events(database)


def test_trail_is_read_back(events):
    Trails(events, "").add(a_trail("west > 3", episode=2), 1)
    Trails(events, "").add(KEPT, 2)
    assert [asdict(trail) for trail in Trails(events, "").before(3)] == [asdict(KEPT)]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 1}'])
def test_malformed_trail_is_ignored(events, damage, caplog):
    Trails(events, "").add(KEPT, 2)
    events.add(1, EventRow(1, EventKind.TRAIL, damage))
    assert [trail.episode for trail in Trails(events, "").before(3)] == [2]
    assert "an earlier episode can't be used" in caplog.text


def test_trail_of_another_story_or_of_a_walkthrough_is_not_used(events):
    trails = Trails(events, "")
    trails.add(replace(KEPT, episode=1, player="walkthrough"), 1)
    trails.add(replace(KEPT, story_sha256="0" * 64), 1)
    assert trails.before(3) == []


def test_trail_ends_with_the_first_death():
    rows = a_trail("look > 1", "north > 1", "look > 1").rows
    trail = replace(KEPT, rows=(rows[0], replace(rows[1], outcome=ActionResult.LOST), rows[2]))
    assert ([step.command for step in trail.steps], trail.deadly) == (["look"], True)


def test_experience_has_only_the_episodes_that_ended_before_the_opening(events):
    trails = Trails(events, "")
    trails.add(a_trail("east > 2", episode=1), 1)
    events.add(2, EventRow(0, EventKind.OPENING, "{}"))
    trails.add(a_trail("east > 2", episode=4), 1)
    assert [row.episode for row in trails.experience(5).rows] == [1, 4]
    assert [row.episode for row in trails.experience(2).rows] == [1]
    running = trails.experience(5)
    trails.add(a_trail("east > 2", episode=3), 1)
    assert [trail.episode for trail in trails.before(5)] == [1, 4, 3]
    assert [row.episode for row in running.rows] == [1, 4], "a running episode doesn't see it"
    assert [row.episode for row in trails.experience(5).rows] == [1, 4, 3]
    trails.add(a_trail("west > 3", episode=1), 1)
    assert [row.command for row in trails.experience(5).rows] == ["east", "east", "west"]

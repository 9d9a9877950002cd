"""Test of a whole walkthrough with all managers and without a model."""

import json

import pytest

from game_interface.story import find_story
from tests.fixtures.runs import a_walkthrough
from tests.fixtures.true_moves import moves_on, true_moves
from tests.fixtures.walks import loaded
from tests.fixtures.walkthrough import BUNDLED_SEED, get_bundled_walkthrough


@pytest.mark.slow
def test_walkthrough_wins_and_drives_every_manager(bundled_story, tmp_path):
    commands, episodes = get_bundled_walkthrough(), 2
    options = {"turns": len(commands), "seed": BUNDLED_SEED, "story": find_story(str(bundled_story))}
    with a_walkthrough(tmp_path, *commands, **options) as run:
        ends = [run.play_episode() for _ in range(episodes)]
        statuses = {manager.get_status()["type"]: manager.get_status() for manager in run.managers.in_order}

    assert [(end.reason, end.score, end.max_score, end.turns, end.deaths) for end in ends] == [
        ("victory", 100, 100, len(commands), 0)
    ] * episodes
    # Both episodes walked the same exits, and the map contains nothing else.
    true = true_moves("bundled_story", bundled_story)
    walked = {move: episodes * true.count(move) for move in true}
    assert moves_on(run.services.map.graph) == walked
    assert moves_on(loaded(tmp_path / "map_state.json")) == walked
    assert len(statuses) == len(run.managers.in_order)
    assert all(set(status) == {"type", "metrics"} for status in statuses.values())
    assert json.loads(json.dumps(statuses)) == statuses
    assert statuses["objective"]["metrics"]["reached_by_ground_truth"] > 0
    assert statuses["knowledge"]["metrics"]["lines"] > 0
    exported = json.loads((tmp_path / "current_state.json").read_text("utf-8"))
    assert (exported["episode"], exported["turn"]) == (episodes, len(commands))

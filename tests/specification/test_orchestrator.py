"""The orchestrator and its run files, as the specification shows them."""

# These names are promised by the specification: users rely on them, and no clean-up removes them.

import json
from pathlib import Path

import pytest

from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures.runs import a_run

pytestmark = pytest.mark.slow


def test_turns_are_played_and_recorded(tmp_path: Path):
    with a_run(tmp_path) as orchestrator:
        assert isinstance(orchestrator, ZorkOrchestratorV2)
        orchestrator.reset_episode()
        state = orchestrator.game_state
        opening = state.current_room_id
        assert (state.last_room_description_location_id, state.last_room_description_turn) == (opening, 0)
        record = orchestrator.process_turn(action="north")
        assert (record.action, record.turn) == ("north", 1)
        assert state.current_room_id == record.after.location_id != opening
        assert state.current_room_name_for_map == record.after.location_name
        assert state.visited_locations == {opening, state.current_room_id}
        assert [turn.action for turn in state.action_history] == ["north"]
        assert [(entry["turn"], entry["action"]) for entry in state.action_reasoning_history] == [(1, "north")]
        assert state.last_room_description == record.response
        assert not state.is_dead
        assert orchestrator.simple_memory.memory_cache.keys() >= {opening}
        assert f"Action: north\nResponse: {record.response}" in (
            orchestrator.managers.context.get_recent_reasoning_formatted()
        )


def test_episode_log_ends_with_the_deduplication_metrics(tmp_path: Path):
    with a_run(tmp_path) as orchestrator:
        orchestrator.reset_episode()
        orchestrator.process_turn(action="north")
    lines = (tmp_path / "runs" / "1" / "episode_log.jsonl").read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    (metrics,) = [event for event in events if event["event"] == "deduplication_metrics"]
    assert metrics.keys() - {"v", "event"} == {
        "timestamp",
        "episode_id",
        "duplicates_prevented",
        "metadata_updates",
        "supersessions",
        "avg_check_time_ms",
    }
    assert metrics["episode_id"] == 1

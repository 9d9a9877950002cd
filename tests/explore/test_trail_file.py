"""Tests of the trail file, a short copy of a log."""

import logging
from dataclasses import asdict

import pytest

from tests.fixtures.trails import a_step, a_trail
from tests.fixtures.viewer import started, turn, write_log
from zorkgpt.explore.trail_file import TrailReader, kept_trail, load_trail, save_trail
from zorkgpt.run_folder import TRAIL_FILE

FOUND = a_step("take ring > 2", score=5, held=("ring",), effective=True)
KEPT = a_trail("east > 2", FOUND, episode=2, seed=7)


def test_trail_is_read_back(tmp_path):
    save_trail(tmp_path / TRAIL_FILE, KEPT, 1234)
    assert asdict(load_trail(tmp_path / TRAIL_FILE, 1234)) == asdict(KEPT)
    assert [entry.name for entry in tmp_path.iterdir()] == [TRAIL_FILE]


def test_trail_of_a_grown_log_is_made_again(tmp_path):
    save_trail(tmp_path / TRAIL_FILE, KEPT, 1234)
    assert load_trail(tmp_path / TRAIL_FILE, 1235) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\xff\xfe", b'{"version": 1}'])
def test_damaged_trail_is_ignored(tmp_path, damage):
    (tmp_path / TRAIL_FILE).write_bytes(damage)
    assert load_trail(tmp_path / TRAIL_FILE, 1234) is None


def test_unwritable_trail_does_not_stop_the_game(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        save_trail(tmp_path / "missing" / TRAIL_FILE, KEPT, 1234)
    assert "the trail could not be saved" in caplog.text


@pytest.mark.parametrize("end", [{"died": True}, {"died": True, "finished": True}])
def test_trail_ends_with_the_first_death(tmp_path, end):
    counts = {"score": 0, "max_score": 10, "places": 1, "deaths": 1, "memories": {}}
    over = {"event": "episode_ended", "episode": 1, "time": "", "reason": "death", "turns": 3} | counts
    write_log(tmp_path, started(), turn(1), turn(2, **end), turn(3), over)
    trail = kept_trail(tmp_path / "runs" / "1", "episode_log.jsonl")
    assert ([step.command for step in trail.steps], trail.deadly) == (["look 1"], True)


def write_episode(workdir, episode):
    counts = {"score": 0, "max_score": 10, "places": 1, "deaths": 0, "memories": {}}
    over = {"event": "episode_ended", "episode": episode, "time": "", "reason": "turn limit", "turns": 1} | counts
    write_log(workdir, started(episode=episode), turn(1, episode=episode), over, episode=episode)


def test_experience_has_only_the_episodes_before(tmp_path):
    for episode in (1, 3):
        write_episode(tmp_path, episode)
    reader = TrailReader(tmp_path, "episode_log.jsonl", story_sha256="")
    assert [row.episode for row in reader.experience(4).rows] == [1, 3]
    assert [row.episode for row in reader.experience(2).rows] == [1]
    running = reader.experience(4)
    write_episode(tmp_path, 2)
    assert [trail.episode for trail in reader.before(4)] == [1, 2, 3]
    assert [row.episode for row in running.rows] == [1, 3], "a running episode doesn't see it"
    assert [row.episode for row in reader.experience(4).rows] == [1, 2, 3]

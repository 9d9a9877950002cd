"""Tests of compressing the logs of old episodes."""

import os
from dataclasses import asdict

import pytest

from tests.fixtures.runs import a_run
from tests.fixtures.saved import trails_in
from zorkgpt.errors import CheckpointError, FileError
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.run_folder import EPISODE_LOG, run_directory
from zorkgpt.runlog.episodes import playing_lock, read_episode
from zorkgpt.runlog.saved_episodes import find_resumable
from zorkgpt.viewer.run_files import open_run

pytestmark = pytest.mark.slow

PACKED = f"{EPISODE_LOG}.gz"
TURNS = 8


def play(workdir, episodes: int, keep: int):
    with a_run(workdir, turns=TURNS, settings={"keep_episodes": keep}) as run:
        for _ in range(episodes):
            run.play_episode()


def read_everything(workdir):
    """Return the log of the first episode as each of its readers reads it."""
    shown = open_run(workdir).episodes[1]
    with SimpleMemoryManager.open(workdir / "Memories.md") as memory:
        titles = {located.memory.title for located in memory.all_memories()}
        explanations = [story.to_dict() for title in sorted(titles) for story in memory.explain(title)]
        past = memory.as_of(1, TURNS)
    return (
        read_episode(workdir, 1),
        asdict(trails_in(workdir)[0]),
        (shown.ended, shown.columns(), [shown.turn(number) for number in range(len(shown))]),
        past,
        explanations,
    )


def test_compressed_episode_reads_the_same(tmp_path):
    play(tmp_path, 1, keep=1)
    first = run_directory(tmp_path, 1)
    before, size = read_everything(tmp_path), (first / EPISODE_LOG).stat().st_size
    viewed = open_run(tmp_path)
    play(tmp_path, 1, keep=1)
    assert sorted(os.listdir(first)) == [PACKED, "playing.lock"]
    assert (first / PACKED).stat().st_size < size / 4
    after = read_everything(tmp_path)
    assert after[:4] == before[:4]
    events, _, shown, _, explanations = after
    assert len(events) > TURNS
    assert any(explanation["shown"] and explanation["shown"][0]["episode"] == 1 for explanation in explanations)
    viewed.refresh()
    assert viewed.episodes[1].turn(3) == shown[2][3]
    assert not viewed.damage()


def test_newest_episodes_stay_resumable(tmp_path):
    play(tmp_path, 3, keep=2)
    assert [(run_directory(tmp_path, number) / PACKED).exists() for number in (1, 2, 3)] == [True, False, False]
    assert find_resumable(tmp_path, EPISODE_LOG, episode=2, max_turns=20).checkpoint.turn == TURNS
    with pytest.raises(CheckpointError, match="Episode 1 can't be resumed: it is old, and its log was compressed"):
        find_resumable(tmp_path, EPISODE_LOG, episode=1, max_turns=20)


def test_episode_that_is_being_played_is_not_compressed(tmp_path):
    play(tmp_path, 1, keep=5)
    with playing_lock(run_directory(tmp_path, 1)).acquire():
        play(tmp_path, 1, keep=1)
    assert find_resumable(tmp_path, EPISODE_LOG, episode=1, max_turns=20).checkpoint.turn == TURNS


def test_damaged_compressed_log_is_an_error(tmp_path):
    play(tmp_path, 2, keep=1)
    packed = run_directory(tmp_path, 1) / PACKED
    packed.write_bytes(packed.read_bytes()[:-200])
    with pytest.raises(FileError, match="episode_log.jsonl can't be read"):
        read_episode(tmp_path, 1)
    assert [damage["file"] for damage in open_run(tmp_path).damage()] == [f"runs/1/{EPISODE_LOG}"]
    play(tmp_path, 1, keep=1)

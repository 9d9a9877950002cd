"""Tests of the log of an episode."""

from dataclasses import replace
from pathlib import Path

import pytest

from game_interface.models import Item, Location
from tests.fixtures.turns import a_turn
from zorkgpt.encoding import as_json
from zorkgpt.run_folder import episodes_in, run_directory
from zorkgpt.runlog.episodes import FailureCount, append_line, count_failures, read_episode, read_events
from zorkgpt.runlog.events import EpisodeEnded, EpisodeStarted, Event, KnowledgeUpdated, ObjectivesUpdated, to_record

STARTED = EpisodeStarted(1, "2026-01-01T00:00:00+00:00", "rules", {"title": "A story"}, 1, 10, "Here\n“begins” it.")
TURN = a_turn(1, "push wall", "Nothing happens.\u2028\n", carried=[Item(3, "lamp", 1)], effective=False)
KNOWN = KnowledgeUpdated(1, 1, added=["It bites."], struck=[], text="# Knowledge\n\n- It bites.\n")
WANTED = ObjectivesUpdated(1, 1, [{"text": "Take the “lamp”", "status": "open"}])
ENDED = EpisodeEnded(1, "2026-01-01T00:00:01+00:00", "turn limit", 1, 0, 100, 1, 0, {"core": 1})


def append(path: Path, *events: Event) -> None:
    for event in events:
        append_line(path, as_json(to_record(event)), creates=True)


def test_events_are_read_back(tmp_path):
    path = run_directory(tmp_path, 1) / "episode_log.jsonl"
    append(path, STARTED, TURN, KNOWN, WANTED, ENDED)
    assert read_episode(tmp_path, 1) == [STARTED, TURN, KNOWN, WANTED, ENDED]
    assert episodes_in(tmp_path) == [1]


def test_lone_surrogate_is_read_back(tmp_path):
    path = tmp_path / "log.jsonl"
    written = a_turn(1, "\udc80", reasoning="half \ud83d a pair")
    append(path, written)
    assert list(read_events(path)) == [written]


def test_damaged_line_and_unknown_event_are_ignored(tmp_path):
    path = tmp_path / "log.jsonl"
    append(path, STARTED)
    with path.open("a") as file:
        file.write("[" * 100_000 + "\n")
        file.write('{"v": 9, "event": "something_new", "x": 1}\n[1]\n{"event": "turn_played", "turn": 1}\n{"v": 1, "ev')
    append(path, ENDED)
    assert list(read_events(path)) == [STARTED, ENDED]


def test_empty_directory_has_no_episodes(tmp_path):
    assert episodes_in(tmp_path) == []
    assert read_episode(tmp_path, 4) == []


def test_repeated_failures_are_counted_across_episodes():
    elsewhere = a_turn(3, "push wall", place=Location(6, "Hall"), effective=False)
    first = [STARTED, TURN, a_turn(2, "Push  WALL", effective=False), elsewhere, a_turn(4, "open door")]
    second = [replace(TURN, episode=2), a_turn(2, "open door", episode=2, effective=False)]
    assert list(count_failures([first, second])) == [FailureCount(4, 3, 1), FailureCount(2, 2, 1)]


@pytest.mark.parametrize(("actions", "repeated", "share"), [(0, 0, 0.0), (4, 1, 0.25)])
def test_share_of_repeated_failures(actions, repeated, share):
    assert FailureCount(actions, repeated, repeated).repeated_share == share

"""Tests of reading the files of a run."""

import json
from itertools import chain

import pytest

from tests.fixtures.viewer import client, played, started, turn, write_history, write_log
from zorkgpt.errors import RunLogError
from zorkgpt.memory.places import parse_place
from zorkgpt.viewer.answers import PAGE_TURNS, Answers
from zorkgpt.viewer.run_files import open_run


@pytest.mark.parametrize(
    ("log", "message"),
    [("", "has no turns"), ('{"v": 1, "event": "epi', "is damaged"), ('{"v": 7}\n', r"newer version \(log format 7\)")],
    ids=["empty", "half a line", "newer"],
)
def test_unreadable_log_is_an_error(tmp_path, log, message):
    write_log(tmp_path, end="").write_text(log)
    with pytest.raises(RunLogError, match=message):
        open_run(tmp_path)


def test_half_written_line_is_read_when_complete(tmp_path):
    line = json.dumps({"v": 1} | turn(2, response="second")) + "\n"
    path = write_log(tmp_path, started(), turn(1))
    files = open_run(tmp_path)
    with path.open("a") as file:
        file.write(line[:60])
    files.refresh()
    assert len(files.episodes[1]) == 1
    assert files.episodes[1].half_written
    with path.open("a") as file:
        file.write(line[60:])
    files.refresh()
    assert files.episodes[1].columns()["turns"] == [1, 2]
    assert not files.episodes[1].half_written
    assert files.episodes[1].unreadable == 0


def test_damaged_lines_are_counted(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    with path.open("ab") as file:
        file.write(b"\xff\xfe garbage\n[1, 2]\n{}\n\n" + b"[" * 100_000 + b"\n")
    write_log(tmp_path, turn(2))
    answer = client(tmp_path).get("/api/run").json()
    assert [row["count"] for row in answer["episodes"]] == [2]
    damage = {"unreadable": 3, "trouble": "", "half_written": False}
    assert answer["damage"] == [{"file": "runs/1/episode_log.jsonl", "episode": 1} | damage]


def test_fields_of_wrong_types_are_unreadable(tmp_path):
    strange = ["a", 1.5, None, True, [1], {"a": 1}, "9" * 400]
    rows = [turn(n, **dict.fromkeys(turn(n).keys() - {"event", "turn"}, value)) for n, value in enumerate(strange, 1)]
    write_log(tmp_path, started(**{name: [1] for name in started().keys() - {"event"}}), *rows)
    write_history(tmp_path, {"location_id": 10, "after": {"title": [1]}}, {"location_id": "x"})
    api = client(tmp_path)
    for path in (
        "run",
        "map",
        "places/10",
        "episodes/1/columns",
        "episodes/1/pages/0",
        "episodes/1/notes",
    ):
        assert api.get(f"/api/{path}").status_code == 200
    assert api.get("/api/run").json()["damage"][0]["unreadable"] == len(strange)


def test_resumed_episode_continues_from_its_checkpoint(tmp_path):
    resumed = {"event": "episode_resumed", "episode": 1, "turn": 2}
    write_log(tmp_path, started(), turn(1), turn(2), turn(3), turn(4), resumed, turn(3, action="other"), turn(4))
    files = open_run(tmp_path)
    assert files.episodes[1].columns()["turns"] == [1, 2, 3, 4]
    assert files.episodes[1].turns[2].action == "other"


def test_single_episode_can_be_opened(tmp_path):
    for episode in (1, 2):
        write_log(tmp_path, started(episode), turn(1), episode=episode)
    assert list(open_run(tmp_path / "runs" / "2").episodes) == [2]
    assert list(open_run(tmp_path).episodes) == [1, 2]


@pytest.mark.parametrize("name", ["0", "9" * 20, "9" * 200])
def test_folder_that_is_not_an_episode_is_ignored(tmp_path, name):
    write_log(tmp_path, started(), turn(1))
    write_log(tmp_path, started(), turn(1), episode=name)
    assert [row["episode"] for row in client(tmp_path).get("/api/run").json()["episodes"]] == [1]


def test_growing_run_is_read_further(tmp_path):
    write_log(tmp_path, started(), turn(1))
    api = client(tmp_path)
    assert api.get("/api/run").json()["episodes"][0]["count"] == 1
    write_log(tmp_path, turn(2))
    write_log(tmp_path, started(2), turn(1), episode=2)
    assert [row["count"] for row in api.get("/api/run").json()["episodes"]] == [2, 1]
    assert api.get("/api/episodes/1/columns?from=1").json()["columns"]["turns"] == [2]


def test_long_text_is_complete(tmp_path):
    write_log(tmp_path, started(), turn(1, response="x" * 100_000))
    [row] = client(tmp_path).get("/api/episodes/1/pages/0").json()["rows"]
    assert row["response"] == "x" * 100_000


@pytest.mark.slow
def test_memory_events_match_memory_versions(tmp_path):
    played(tmp_path, episodes=2, turns=20)
    files = open_run(tmp_path)
    answers = Answers(files)
    for number, index in files.episodes.items():
        pages = range(-(-len(index) // PAGE_TURNS))
        for row in chain.from_iterable(answers.page(number, page)["rows"] for page in pages):
            for event in row["memory_events"]:
                if event["persistence"] == "ephemeral" or event["kind"] == "ignored":
                    continue
                at = number * 1_000_000 + row["turn"]
                subject = parse_place(event["subject"]) if event["subject"] else event["location_id"]
                versions = [version for thread in answers.place(subject)["threads"] for version in thread]
                assert any(version["at"] == at and version["kind"] == event["kind"] for version in versions), event


def test_map_matches_the_map_file(tmp_path):
    played(tmp_path, episodes=1, turns=30)
    files = open_run(tmp_path)
    picture = Answers(files).map()
    kept = json.loads((tmp_path / "map_state.json").read_text())
    assert {room["id"] for room in picture["rooms"]} == {int(number) for number in kept["rooms"]}
    ways = {(line["from"], line["way"], line["to"]) for line in picture["lines"]}
    known = {(int(room), way, to) for room, ends in kept["connections"].items() for way, to in ends.items()}
    assert ways <= known
    back = {(line["to"], line["from"]) for line in picture["lines"] if line["back_since"] is not None}
    assert back <= {(room, to) for room, _, to in known - ways}
    assert len(ways) + len(back) == len(known)


@pytest.mark.parametrize("depth", [200, 450, 600, 900, 1200, 50_000])
def test_log_line_with_nested_brackets_as_place_is_skipped(tmp_path, depth):
    brackets = "[" * depth + "]" * depth
    write_log(tmp_path, started(), turn(1))
    log = tmp_path / "runs" / "1" / "episode_log.jsonl"
    row = (
        log.read_text()
        .splitlines()[1]
        .replace('"num":10', f'"num":{brackets}')
        .replace('"num": 10', f'"num": {brackets}')
    )
    assert brackets in row
    with log.open("a") as file:
        file.write(row + "\n")
    write_history(tmp_path, f'{{"location_id": {brackets}}}')
    api = client(tmp_path)
    for page in ("overview", "map", "memories", "run", "places/10"):
        assert api.get(f"/api/{page}").status_code == 200, page


def test_places_with_the_same_name_are_numbered(tmp_path):
    maze = {"location_after_id": 20, "location_after": "Maze"}
    write_log(tmp_path, started(location_id=10, location="Maze"), turn(1, location="Maze", **maze))
    assert client(tmp_path).get("/api/run").json()["names"] == {"10": "Maze (10)", "20": "Maze (20)"}

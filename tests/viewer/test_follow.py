"""Tests of following a run while it is played."""

import os

import pytest
from filelock import FileLock

from tests.fixtures.viewer import client, started, turn, write_log
from zorkgpt.viewer.answers import episode_row
from zorkgpt.viewer.run_files import open_run


def run_after(workdir, *changes):
    """Return the episodes as the page sees them after these changes, each of which it must notice."""
    api = client(workdir)
    run = api.get("/api/run").json()
    for change in changes:
        unchanged = api.get("/api/run", params={"known": run["version"]}).json()
        assert unchanged == {"version": run["version"]}
        change()
        run = api.get("/api/run", params={"known": run["version"]}).json()
    return run["episodes"]


def test_page_waits_for_a_first_episode(tmp_path):
    api = client(tmp_path)
    assert api.get("/api/run").json()["episodes"] == []
    write_log(tmp_path, started())
    assert [row["episode"] for row in api.get("/api/run").json()["episodes"]] == [1]


@pytest.mark.parametrize(("damage", "turns"), [("shorter", 8), ("replaced", 8), ("longer", 1)])
def test_replaced_log_is_read_again(tmp_path, damage, turns):
    path = write_log(tmp_path, started(), *(turn(number) for number in range(1, turns + 1)))
    api = client(tmp_path)
    assert api.get("/api/run").json()["episodes"][0]["count"] == turns
    if damage == "replaced":
        path.rename(path.with_suffix(".old"))
    else:
        path.write_text("")
    write_log(tmp_path, started(opening="Another beginning."), turn(1, action="anew"), turn(2))
    [row] = api.get("/api/run").json()["episodes"]
    assert (row["opening"], row["count"], row["generation"]) == ("Another beginning.", 2, 1)
    assert api.get("/api/episodes/1/pages/0").json()["rows"][0]["action"] == "anew"


def test_undone_turns_are_removed_from_the_map(tmp_path):
    went = turn(2, action="north", location_after_id=11, location_after="Cave")
    write_log(tmp_path, started(), turn(1), went)
    api = client(tmp_path)
    before = api.get("/api/map").json()
    write_log(tmp_path, {"event": "episode_resumed", "episode": 1, "turn": 1})
    api.get("/api/run")
    after = api.get("/api/map").json()
    assert [[room["id"] for room in picture["rooms"]] for picture in (before, after)] == [[10, 11], [10]]
    assert after["changes"] > before["changes"]


def test_run_that_is_moved_away_and_back_is_followed(tmp_path):
    path = write_log(tmp_path, started(), turn(1))

    def take_away():
        path.unlink()
        path.mkdir()
        path.with_name("model_calls.jsonl").mkdir()

    def bring_back():
        path.rmdir()
        write_log(tmp_path, started(), turn(1), turn(2))

    [row] = run_after(tmp_path, take_away, bring_back)
    assert row["count"] == 2


def test_silent_episode_is_reported(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    [row] = run_after(tmp_path, lambda: os.utime(path, (0, 0)))
    assert (row["quiet"], row["reason"]) == (True, None)


def test_episode_is_played_while_its_process_lives(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    lock = FileLock(path.with_name("playing.lock"), thread_local=False)
    lock.acquire()
    os.utime(path, (0, 0))
    row = episode_row(open_run(tmp_path).episodes[1])
    assert (row["quiet"], row["cut_short"]) == (False, False)
    [row] = run_after(tmp_path, lock.release)
    assert (row["quiet"], row["cut_short"]) == (True, True)


def test_end_of_an_episode_and_the_next_one_are_reported(tmp_path):
    write_log(tmp_path, started(), turn(1))
    ending = {"event": "episode_ended", "episode": 1, "reason": "victory"}
    rows = run_after(tmp_path, lambda: write_log(tmp_path, ending), lambda: write_log(tmp_path, started(2), episode=2))
    assert [(row["episode"], row["count"], row["reason"]) for row in rows] == [(1, 1, "victory"), (2, 0, None)]

"""What watchers are told while a run goes on."""

import asyncio
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest
from filelock import FileLock

from tests.fixtures.viewer import client, served, started, turn, write_log
from zorkgpt.viewer.answers import Answers, episode_row
from zorkgpt.viewer.follow import MAX_ROWS, TICK_S, Follower
from zorkgpt.viewer.run_files import open_run

WATCHERS = 50
TURNS = 150


def apart(work):
    """What a coroutine gives, in a thread of its own: where a browser is open, a loop runs in this one already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def watch(url: str, told: list[dict], ready: asyncio.Event) -> None:
    """Until every turn was told."""
    async with httpx.AsyncClient(timeout=60) as asked, asked.stream("GET", f"{url}api/events") as events:
        async for line in events.aiter_lines():
            if line.startswith("data:"):
                told.append(json.loads(line.removeprefix("data:")))
                ready.set()
                if told[-1]["episodes"].get("1", [0, 0])[1] == TURNS:
                    return


async def write_turns(workdir) -> None:
    for number in range(1, TURNS + 1):
        write_log(workdir, turn(number))
        await asyncio.sleep(0.01)


@pytest.mark.slow
def test_fifty_watchers_are_told_every_turn_at_most_ten_times_a_second(tmp_path):
    write_log(tmp_path, started())

    async def all_of_it(url: str) -> tuple[list[list[dict]], float]:
        told: list[list[dict]] = [[] for _ in range(WATCHERS)]
        ready = [asyncio.Event() for _ in range(WATCHERS)]
        watching = [asyncio.create_task(watch(url, *each)) for each in zip(told, ready, strict=True)]
        await asyncio.gather(*(event.wait() for event in ready))
        began = time.monotonic()
        await write_turns(tmp_path)
        await asyncio.gather(*watching)
        return told, time.monotonic() - began

    with served(tmp_path) as url:
        told, took_s = apart(all_of_it(url))
    for frames in told:
        assert len(frames) <= 10 * took_s + 2
        grown = [frame["grown"]["1"] for frame in frames if "1" in frame["grown"]]
        assert [number for one in grown for number in one["columns"]["turns"]] == list(range(1, TURNS + 1))
        for one in grown:
            # A page asks itself for what came all at once, after a pause of a busy machine.
            turns = one["columns"]["turns"]
            assert [row["turn"] for row in one.get("rows", ())] == (turns if len(turns) <= MAX_ROWS else [])


@pytest.mark.slow
def test_a_watcher_that_comes_later_is_told_how_things_stand(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2))
    with served(tmp_path) as url, httpx.stream("GET", f"{url}api/events", timeout=30) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        first = next(line for line in events.iter_lines() if line.startswith("data:"))
        assert json.loads(first.removeprefix("data:"))["episodes"] == {"1": [0, 2, False]}


def test_the_page_waits_for_a_first_episode(tmp_path):
    asked = client(tmp_path)
    assert asked.get("/api/run").json()["episodes"] == []
    write_log(tmp_path, started())
    assert [row["episode"] for row in asked.get("/api/run").json()["episodes"]] == [1]


@pytest.mark.parametrize("damage", ["shorter", "replaced"])
def test_a_log_that_is_replaced_is_read_anew(tmp_path, damage):
    path = write_log(tmp_path, started(), *(turn(number) for number in range(1, 9)))
    asked = client(tmp_path)
    assert asked.get("/api/run").json()["episodes"][0]["count"] == 8
    if damage == "replaced":
        path.rename(path.with_suffix(".old"))
    else:
        path.write_text("")
    write_log(tmp_path, started(), turn(1, action="anew"), turn(2))
    [row] = asked.get("/api/run").json()["episodes"]
    assert (row["count"], row["generation"]) == (2, 1)
    assert asked.get("/api/episodes/1/pages/0").json()["rows"][0]["action"] == "anew"


def test_turns_that_are_no_longer_so_are_not_on_the_map(tmp_path):
    went = turn(2, action="north", location_after_id=11, location_after="Cave")
    write_log(tmp_path, started(), turn(1), went)
    asked = client(tmp_path)
    before = asked.get("/api/map").json()
    write_log(tmp_path, {"event": "episode_resumed", "episode": 1, "turn": 1})
    asked.get("/api/run")
    after = asked.get("/api/map").json()
    assert [[room["id"] for room in one["rooms"]] for one in (before, after)] == [[10, 11], [10]]
    assert after["changes"] > before["changes"]


def test_a_log_that_is_written_over_with_a_longer_one_is_read_anew(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    asked = client(tmp_path)
    path.write_text("")
    write_log(tmp_path, started(opening="Another beginning."), turn(1, action="anew"), turn(2), turn(3))
    [row] = asked.get("/api/run").json()["episodes"]
    assert (row["opening"], row["count"]) == ("Another beginning.", 3)
    assert asked.get("/api/episodes/1/pages/0").json()["rows"][0]["action"] == "anew"


async def _told_after(workdir, *changes):
    """What a watcher is told last, after each change had time to be seen."""
    files = open_run(workdir)
    watching = Follower(files, Answers(files)).watch()
    news = json.loads(await anext(watching))
    for change in changes:
        change()
        await asyncio.sleep(4 * TICK_S)
    with suppress(TimeoutError):
        while True:
            news = json.loads(await asyncio.wait_for(anext(watching), 5 * TICK_S))
    await watching.aclose()
    return news


def test_a_run_that_is_taken_away_meanwhile_is_followed_once_it_is_back(tmp_path):
    path = write_log(tmp_path, started(), turn(1))

    def take_away():
        path.unlink()
        path.mkdir()
        path.with_name("model_calls.jsonl").mkdir()

    def bring_back():
        path.rmdir()
        write_log(tmp_path, started(), turn(1), turn(2))

    told = apart(_told_after(tmp_path, take_away, bring_back))
    assert told["episodes"]["1"][1] == 2


def test_an_episode_that_falls_silent_is_told(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    told = apart(_told_after(tmp_path, lambda: os.utime(path, (0, 0))))
    assert told["grown"]["1"]["row"]["quiet"]
    assert not told["episodes"]["1"][2]


def test_an_episode_is_played_for_as_long_as_its_process_lives(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    lock = FileLock(path.with_name("playing.lock"), thread_local=False)
    lock.acquire()
    os.utime(path, (0, 0))
    row = episode_row(open_run(tmp_path).episodes[1])
    assert (row["quiet"], row["cut_short"]) == (False, False)
    told = apart(_told_after(tmp_path, lock.release))
    row = told["grown"]["1"]["row"]
    assert (row["quiet"], row["cut_short"]) == (True, True)


def test_who_missed_the_end_of_an_episode_is_told_that_it_is_over(tmp_path):
    write_log(tmp_path, started(), turn(1))
    ending = {"event": "episode_ended", "episode": 1, "reason": "victory"}
    told = apart(
        _told_after(tmp_path, lambda: write_log(tmp_path, ending), lambda: write_log(tmp_path, started(2), episode=2))
    )
    assert told["episodes"] == {"1": [0, 1, True], "2": [0, 0, False]}


@pytest.mark.parametrize("more", [MAX_ROWS, MAX_ROWS + 1])
def test_turns_are_told_whole_unless_they_are_many_at_once(tmp_path, more):
    write_log(tmp_path, started())
    turns = list(range(1, more + 1))
    [grown] = apart(_told_after(tmp_path, lambda: write_log(tmp_path, *map(turn, turns))))["grown"].values()
    assert grown["columns"]["turns"] == turns
    assert ("rows" in grown) == (more == MAX_ROWS)

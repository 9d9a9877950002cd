"""Tests of following a run while it is played."""

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


def run_in_thread(work):
    """Run a coroutine in its own thread, because Playwright runs an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def watch(url: str, updates: list[dict], ready: asyncio.Event) -> None:
    """Collect updates until the last turn."""
    async with httpx.AsyncClient(timeout=60) as api, api.stream("GET", f"{url}api/events") as events:
        async for line in events.aiter_lines():
            if line.startswith("data:"):
                updates.append(json.loads(line.removeprefix("data:")))
                ready.set()
                if updates[-1]["episodes"].get("1", [0, 0])[1] == TURNS:
                    return


async def write_turns(workdir) -> None:
    for number in range(1, TURNS + 1):
        write_log(workdir, turn(number))
        await asyncio.sleep(0.01)


@pytest.mark.slow
def test_fifty_watchers_receive_every_turn_in_batches(tmp_path):
    write_log(tmp_path, started())

    async def all_of_it(url: str) -> tuple[list[list[dict]], float]:
        updates: list[list[dict]] = [[] for _ in range(WATCHERS)]
        ready = [asyncio.Event() for _ in range(WATCHERS)]
        watching = [asyncio.create_task(watch(url, *each)) for each in zip(updates, ready, strict=True)]
        await asyncio.gather(*(event.wait() for event in ready))
        began = time.monotonic()
        await write_turns(tmp_path)
        await asyncio.gather(*watching)
        return updates, time.monotonic() - began

    with served(tmp_path) as url:
        updates, took_s = run_in_thread(all_of_it(url))
    for frames in updates:
        assert len(frames) <= 10 * took_s + 2
        grown = [frame["grown"]["1"] for frame in frames if "1" in frame["grown"]]
        assert [number for part in grown for number in part["columns"]["turns"]] == list(range(1, TURNS + 1))
        for part in grown:
            # After a pause of a busy machine there may be too many turns for rows, which the page then requests.
            turns = part["columns"]["turns"]
            assert [row["turn"] for row in part.get("rows", ())] == (turns if len(turns) <= MAX_ROWS else [])


@pytest.mark.slow
def test_late_watcher_receives_the_current_state(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2))
    with served(tmp_path) as url, httpx.stream("GET", f"{url}api/events", timeout=30) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        first = next(line for line in events.iter_lines() if line.startswith("data:"))
        assert json.loads(first.removeprefix("data:"))["episodes"] == {"1": [0, 2, False]}


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


async def last_update(workdir, *changes):
    """Return the last update that a watcher receives, after each change had time to be noticed."""
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


def test_run_that_is_moved_away_and_back_is_followed(tmp_path):
    path = write_log(tmp_path, started(), turn(1))

    def take_away():
        path.unlink()
        path.mkdir()
        path.with_name("model_calls.jsonl").mkdir()

    def bring_back():
        path.rmdir()
        write_log(tmp_path, started(), turn(1), turn(2))

    update = run_in_thread(last_update(tmp_path, take_away, bring_back))
    assert update["episodes"]["1"][1] == 2


def test_silent_episode_is_reported(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    update = run_in_thread(last_update(tmp_path, lambda: os.utime(path, (0, 0))))
    assert update["grown"]["1"]["row"]["quiet"]
    assert not update["episodes"]["1"][2]


def test_episode_is_played_while_its_process_lives(tmp_path):
    path = write_log(tmp_path, started(), turn(1))
    lock = FileLock(path.with_name("playing.lock"), thread_local=False)
    lock.acquire()
    os.utime(path, (0, 0))
    row = episode_row(open_run(tmp_path).episodes[1])
    assert (row["quiet"], row["cut_short"]) == (False, False)
    update = run_in_thread(last_update(tmp_path, lock.release))
    row = update["grown"]["1"]["row"]
    assert (row["quiet"], row["cut_short"]) == (True, True)


def test_missed_end_of_an_episode_is_reported(tmp_path):
    write_log(tmp_path, started(), turn(1))
    ending = {"event": "episode_ended", "episode": 1, "reason": "victory"}
    update = run_in_thread(
        last_update(tmp_path, lambda: write_log(tmp_path, ending), lambda: write_log(tmp_path, started(2), episode=2))
    )
    assert update["episodes"] == {"1": [0, 1, True], "2": [0, 0, False]}


@pytest.mark.parametrize("more", [MAX_ROWS, MAX_ROWS + 1])
def test_rows_are_omitted_from_large_updates(tmp_path, more):
    write_log(tmp_path, started())
    turns = list(range(1, more + 1))
    [grown] = run_in_thread(last_update(tmp_path, lambda: write_log(tmp_path, *map(turn, turns))))["grown"].values()
    assert grown["columns"]["turns"] == turns
    assert ("rows" in grown) == (more == MAX_ROWS)

"""What watchers are told while a run goes on."""

import asyncio
import json
import time

import httpx
import pytest

from tests.viewer.parts import client, served, started, turn, write_log

WATCHERS = 50
TURNS = 300


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
        told, took_s = asyncio.run(all_of_it(url))
    for frames in told:
        assert len(frames) <= 10 * took_s + 2
        grown = [frame["grown"]["1"] for frame in frames if "1" in frame["grown"]]
        assert [number for one in grown for number in one["columns"]["turns"]] == list(range(1, TURNS + 1))
        assert [row["turn"] for one in grown for row in one.get("rows", ())] == list(range(1, TURNS + 1))


def test_a_watcher_that_comes_later_is_told_how_things_stand(tmp_path):
    write_log(tmp_path, started(), turn(1), turn(2))
    with served(tmp_path) as url, httpx.stream("GET", f"{url}api/events", timeout=30) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        first = next(line for line in events.iter_lines() if line.startswith("data:"))
        assert json.loads(first.removeprefix("data:"))["episodes"] == {"1": [0, 2]}


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

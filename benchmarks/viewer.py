"""Measure how fast the viewer opens and scrubs a long run, and how much watchers slow down the game.

    uv run python -m benchmarks.viewer [--turns 10000] [--pairs 5] [--watchers 50]

The long run repeats the turns of a real run of the bundled story, with new rooms in the first eight repetitions.
Opening and scrubbing are measured in Chromium, from the click until the turn is visible. The cost of watchers is the
ratio of the times of the same episodes with and without them, alternating on the same machine: first at full speed, and
then at ten turns per second, which is faster than any model.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

import httpx

from benchmarks.loop import find_story, play
from zorkgpt.viewer.answers import PAGE_TURNS, Answers
from zorkgpt.viewer.run_files import open_run

_ROUNDS_WITH_NEW_ROOMS = 8
_SCRUB = """async (at) => {
  const slider = document.querySelector("#scrubber");
  const began = performance.now();
  slider.value = at;
  slider.dispatchEvent(new Event("input"));
  for (;;) {
    await new Promise(requestAnimationFrame);
    const article = document.querySelector("article[aria-current]");
    if (article?.dataset.at === String(at)) {
      const turn = article.getBoundingClientRect();
      const box = document.querySelector("#turns").getBoundingClientRect();
      if (turn.top < box.bottom && turn.bottom > box.top) return performance.now() - began;
    }
    if (performance.now() - began > 10000) return Infinity;
  }
}"""

_SEARCH = """async (words) => {
  const field = document.querySelector("#find");
  const standing = document.querySelector("#found [role=status]");
  standing.textContent = "";
  const began = performance.now();
  field.value = words;
  field.dispatchEvent(new Event("input"));
  while (!standing.textContent) await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def long_run(folder: Path, turns: int) -> None:
    """Write a run with one episode of `turns` turns."""
    play(find_story(), 3, 300, str(folder / "short"))
    source = folder / "short" / "runs" / "3" / "episode_log.jsonl"
    records = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    played = [record for record in records if record["event"] == "turn_played"]
    log = folder / "long" / "runs" / "1" / "episode_log.jsonl"
    log.parent.mkdir(parents=True)
    with log.open("w", encoding="utf-8") as file:
        file.write(json.dumps(records[0] | {"episode": 1, "max_turns": turns}) + "\n")
        for number in range(turns):
            round_, at = divmod(number, len(played))
            shift = 1000 * (round_ % _ROUNDS_WITH_NEW_ROOMS)
            file.write(json.dumps(_moved(played[at], shift) | {"episode": 1, "turn": number + 1}) + "\n")
    with (log.parent / "model_calls.jsonl").open("w", encoding="utf-8") as file:
        for number in range(1, turns + 1):
            file.write(json.dumps(_call(number)) + "\n")
    history = folder / "short" / "Memories.md.sqlite"
    shutil.copy(history, folder / "long" / history.name)


def _call(turn: int) -> dict:
    """Return a model call of about 5,000 characters. Every thousandth contains a unique word."""
    asked = "A line of what the player is told about the place, as long as such lines are. " * 64
    asked += "A needle." if turn % 1000 == 0 else ""
    call = {"v": 1, "event": "model_called", "turn": turn, "role": "agent", "model": "measurement"}
    call |= {"messages": [{"speaker": "user", "content": asked}], "answer": "ACTION: wait", "reasoning": ""}
    return call | {"prompt_tokens": 1200, "completion_tokens": 5, "cost": 0.001, "latency_s": 1.0, "error": None}


def _moved(record: dict, shift: int) -> dict:
    return record | {name: _elsewhere(record[name], shift) for name in ("before", "after")}


def _elsewhere(seen: dict, shift: int) -> dict:
    place = seen["location"]
    return seen | {"location": place and place | {"num": place["num"] + shift}}


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, float]]:
    """Serve a run. Yield the address and the seconds until it was printed."""
    began = perf_counter()
    command = [sys.executable, "-m", "zorkgpt", "view", str(folder), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline())[0]
            yield address, perf_counter() - began
        finally:
            process.terminate()


def index_and_answer(folder: Path) -> None:
    began = perf_counter()
    files = open_run(folder / "long")
    indexed = perf_counter() - began
    answers, told = Answers(files), []
    last = len(files.episodes[1]) // PAGE_TURNS - 1
    for ask in (answers.run, answers.map, lambda: answers.columns(1), lambda: answers.page(1, last)):
        began = perf_counter()
        json.dumps(ask())
        told.append(perf_counter() - began)
    print(f"  index of the log                 {1000 * indexed:7.0f} ms")
    for name, seconds in zip(("overview", "map", "columns", "a page of turns"), told, strict=True):
        print(f"  answer: {name:24} {1000 * seconds:7.1f} ms")


def in_a_browser(folder: Path, turns: int) -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("  Chromium is not installed, so opening and scrubbing were not measured.")
        return
    with served(folder / "long") as (address, started), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--enable-precise-memory-info", "--js-flags=--expose-gc"]
        )
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        opened = [_opening(page, address) for _ in range(5)]
        print(f"  `view` until its address          {1000 * started:7.0f} ms (Python's own start included)")
        print(f"  page: first paint                 {median(one[0] for one in opened):7.0f} ms")
        print(f"  page: the newest turn in its place {median(one[1] for one in opened):6.0f} ms")
        before = _memory(page)
        scrubs = sorted(page.evaluate(_SCRUB, (turns * step * 7919) // 101 % turns + 1) for step in range(1, 101))
        after = _memory(page)
        page.keyboard.press("/")
        page.evaluate(_SEARCH, "what was never said")
        for word in ("needle", "marsh", "the"):
            times = sorted(page.evaluate(_SEARCH, f"{word}{' ' * spaces}") for spaces in range(9))
            print(f"  search for {word:24} {times[4]:7.0f} ms, at most {times[-1]:.0f}, from typing to the hits")
        print(f"  scrub: median, 95 %, slowest      {scrubs[50]:7.0f}, {scrubs[95]:.0f}, {scrubs[-1]:.0f} ms")
        print(
            f"  page's memory before and after    {before[0]:7.1f}, {after[0]:.1f} MB; elements {before[1]}, {after[1]}"
        )
        browser.close()


def _opening(page, address: str) -> tuple[float, float]:
    began = perf_counter()
    page.goto("about:blank")
    page.goto(f"{address}#live")
    page.locator("article[aria-current]").wait_for()
    whole = 1000 * (perf_counter() - began)
    return page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"), whole


def _memory(page) -> tuple[float, int]:
    page.evaluate("gc()")
    return page.evaluate("performance.memory.usedJSHeapSize") / 1e6, page.evaluate(
        "document.querySelectorAll('*').length"
    )


@contextmanager
def watched(workdir: Path, watchers: int) -> Iterator[int]:
    """Serve the viewer during a run, with watchers in another process. Yield the process id of the viewer."""
    from zorkgpt.viewer.server import BackgroundPage

    workdir.mkdir(parents=True)
    with BackgroundPage(workdir) as page:
        command = [sys.executable, "-m", "benchmarks.viewer", "--follow", page.address, "--watchers", str(watchers)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                process.stdout.readline()
                yield page.process_id
            finally:
                process.terminate()


def processor_seconds(process_id: int) -> float:
    """Return the CPU time of a process so far (Linux only)."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def follow(address: str, watchers: int) -> None:
    """Ask for changes twice a second for `watchers` watchers until the process is stopped."""
    os.nice(19)

    async def one(client: httpx.AsyncClient) -> None:
        known = ""
        while True:
            answer = await client.get(f"{address}api/run", params={"known": known})
            known = answer.json()["version"]
            await asyncio.sleep(0.5)

    print("all watch", flush=True)
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(timeout=None, limits=limits) as client:
        await asyncio.gather(*(one(client) for _ in range(watchers)))


def cost_of_watchers(folder: Path, pairs: int, watchers: int, *, turns: int, delay_s: float) -> None:
    ratios, shares = [], []
    for number in range(pairs):
        alone = _time(folder / f"alone-{delay_s}-{number}", turns, delay_s)
        workdir = folder / f"watched-{delay_s}-{number}"
        with watched(workdir, watchers) as page:
            before = processor_seconds(page)
            beside = _time(workdir, turns, delay_s)
            shares.append((processor_seconds(page) - before) / beside)
        ratios.append(beside / alone)
    pace = f"{1 / delay_s:.0f} turns a second" if delay_s else "as fast as it goes"
    shown = ", ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    print(f"  {pace}: time with {watchers} watchers by time without: median {median(ratios):.3f} of {shown}")
    print(f"  {pace}: the page's process takes {median(shares):.1%} of one processor meanwhile")


def _time(workdir: Path, turns: int, delay_s: float) -> float:
    from orchestration.assembly import RunOptions, assemble
    from orchestration.player_choice import PlayerChoice
    from session.game_configuration import GameConfiguration

    config = GameConfiguration(
        zork_game_workdir=str(workdir),
        max_turns_per_episode=turns,
        turn_delay_seconds=delay_s,
        embedding_provider="none",
    )
    with assemble(config, RunOptions(PlayerChoice("rules", "measurement", None))) as orchestrator:
        began = perf_counter()
        for _ in range(3):
            orchestrator.play_episode()
        return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--watchers", type=int, default=50)
    parser.add_argument("--follow", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.follow:
        asyncio.run(follow(options.follow, options.watchers))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        long_run(folder, options.turns)
        size = (folder / "long" / "runs" / "1" / "episode_log.jsonl").stat().st_size
        print(f"An episode of {options.turns} turns, {size / 1e6:.0f} MB")
        index_and_answer(folder)
        in_a_browser(folder, options.turns)
        print("What watchers cost the game")
        cost_of_watchers(folder, options.pairs, options.watchers, turns=300, delay_s=0)
        cost_of_watchers(folder, 3, options.watchers, turns=30, delay_s=0.1)


if __name__ == "__main__":
    main()

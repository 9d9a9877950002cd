"""Measure how fast each part is, and compare it with its limit and with alternatives measured in the same run.

    uv run python -m benchmarks.performance_metrics [--quick] [--part memory ...] [--json figures.json]

The parts are measured by the benchmarks of their own, which this one puts side by side. A limit is what the project has
set itself, on an idle machine of two cores. A slow or busy one is beyond some of them; then the peer in the same row
tells more. `--quick` takes fewer rounds, on the bundled story: half a minute on an idle machine, two on a busy one.
"""

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from benchmarks import dedup, dedup_costs, interface, loop, memory, prompt_sizes, startup
from game_interface.story import find_story
from session.game_configuration import GameConfiguration
from tests.fixtures.slackwater import STORY, WALKTHROUGH
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_zork1_walkthrough
from zorkgpt.evals.results import markdown_table

EVERY_PROMPT_TOKENS = 6_000
"""The limit of any prompt. It leaves 2,000 tokens of a context of 8,192 for the answer."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value."""

    part: str
    what: str
    value: float
    unit: str
    limit: float | None = None
    least: bool = False
    """Whether the limit is a minimum."""
    peer: str = ""
    """An alternative that was measured in the same run."""
    peer_value: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the value is within its limit. None if there is no limit."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.least else self.value <= self.limit


def of_interpreter(quick: bool) -> list[Figure]:
    found = _interface(quick)
    peer, step = "Jericho in this process", found.us[interface.WORKER]
    return [
        Figure("interpreter", "a command in its process", step, "µs", 500, False, peer, found.us[interface.BARE]),
        Figure("interpreter", "opening a story", statistics.median(found.openings_s), "s", 1),
        Figure("interpreter", "restart after a kill", statistics.median(found.restarts_s), "s", 1),
    ]


def of_interface(quick: bool) -> list[Figure]:
    found = _interface(quick)
    own = found.us.get(interface.OWN)
    name, peer = ("Jericho, with room and inventory", own) if own else ("Jericho's step", found.us[interface.BARE])
    acted, observed = found.us[interface.ACT], found.us[interface.OBSERVED]
    return [
        Figure("interface", "a command, and what it changed", acted, "µs", 2_000, False, name, peer),
        Figure("interface", "the same, and what is at hand", observed, "µs", 2_500, False, name, peer),
    ]


_measured: dict[bool, interface.Measured] = {}
"""Measurements of the interface, which two parts use."""


def _interface(quick: bool) -> interface.Measured:
    if quick not in _measured:
        zork = os.environ.get("ZORKGPT_ZORK1")
        known = (Path(zork), ZORK1_SEED, get_zork1_walkthrough()) if zork and not quick else None
        path, seed, commands = known or (STORY, BUNDLED_SEED, list(WALKTHROUGH))
        _measured[quick] = interface.measured(path, seed, commands, 1 if quick else 10)
    return _measured[quick]


def of_loop(quick: bool) -> list[Figure]:
    episodes, turns = (1, 150) if quick else (5, 400)
    story = find_story(None)
    with tempfile.TemporaryDirectory() as folder:
        commands, whole, _ = loop.play(story, episodes, turns, folder)
    alone, played = loop.replay(story, commands), sum(map(len, commands))
    rate, bare = played / whole.wall, played / alone.wall
    return [Figure("loop", "turns, with everything on", rate, "turns/s", loop.WANTED, True, "the game alone", bare)]


def of_memory(quick: bool) -> list[Figure]:
    figures = []
    for count, places in memory.SIZES[:1] if quick else memory.SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found = memory.measured(Path(folder), count, places)
        size, plainly, table = f"{count:,} memories", found["  the same bytes, plainly"], found["  SQLite, SELECT"]
        loading = 10_000 * count / 2_000
        figures += [
            Figure("memory", f"load {size}", found["load"] / 1000, "ms", loading / 1000),
            Figure(
                "memory",
                f"add, on disk, {size}",
                found["add, on disk"],
                "µs",
                2 * plainly,
                False,
                "plain write",
                plainly,
            ),
            Figure(
                "memory",
                f"what a place is shown, {size}",
                found["get_location_memory"],
                "µs",
                50,
                False,
                "SQLite",
                table,
            ),
            Figure("memory", f"add, ephemeral, {size}", found["add, ephemeral"], "µs", 20),
            Figure("memory", f"reset of 500 ephemeral, {size}", found["reset of 500 ephemeral"], "µs", 100),
        ]
    return figures


def of_dedup(quick: bool) -> list[Figure]:
    pairs = dedup.pairs_in(dedup.DATA / ("dedup_new_domain.jsonl" if quick else "dedup_dev.jsonl"))
    right = [pair for pair in pairs if pair.label in dedup.MERGES]
    wrong = [pair for pair in pairs if pair.label not in dedup.MERGES]
    shares = {
        name: [100 * sum(map(way, some)) / len(some) for some in (wrong, right)] for name, way in dedup.WAYS.items()
    }
    cosine, checked = shares["cosine ≥ 0.85"], shares[dedup.OURS]
    ms = dedup_costs.costs_ms(rounds=5 if quick else 40)
    model, peer = ms[dedup_costs.MODEL], "cosine from 0.85 on"
    return [
        Figure("dedup", "merged wrongly, of the pairs that differ", checked[0], "%", 2, False, peer, cosine[0]),
        Figure("dedup", "found, of the pairs that say the same", checked[1], "%", None, True, peer, cosine[1]),
        Figure("dedup", dedup_costs.COSINES, ms[dedup_costs.COSINES], "ms", 0.15),
        Figure("dedup", dedup_costs.CHECK, ms[dedup_costs.CHECK], "ms", 0.05),
        Figure("dedup", dedup_costs.WHOLE, ms[dedup_costs.WHOLE], "ms", 1.1 * model, False, "the model alone", model),
        Figure("dedup", dedup_costs.OPENING, ms[dedup_costs.OPENING], "ms", 20),
    ]


def of_prompts(quick: bool) -> list[Figure]:
    commands = list(WALKTHROUGH)[:60] if quick else list(WALKTHROUGH)
    sizes = prompt_sizes.prompts(STORY, commands, BUNDLED_SEED)
    figures = [
        Figure("prompts", f"longest of the {role}, estimated", max(tokens), "tokens", EVERY_PROMPT_TOKENS)
        for role, tokens in sorted(sizes.items())
    ]
    budget = GameConfiguration().simple_memory.max_tokens_per_location
    whole = _longest_place(budget=None)
    shown = "longest memories of a place with 100"
    return [*figures, Figure("prompts", shown, _longest_place(budget), "tokens", budget, False, "all of them", whole)]


def _longest_place(budget: int | None) -> float:
    """Tokens of what is shown of a place with a hundred memories; None: without a budget."""
    limits = {} if budget is None else {"max_tokens_per_location": budget}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Memories.md"
        memory.fill(path, [memory.LocatedMemory(1, "Room", memory.memory(number)) for number in range(100)])
        with memory.SimpleMemoryManager.open(path) as manager:
            if limits:
                return float(prompt_sizes.estimated_tokens(manager.get_location_memory(1)))
            lines = (f"[{one.memory.category}] {one.memory.title}: {one.memory.text}" for one in manager.all_memories())
            return float(prompt_sizes.estimated_tokens("\n".join(lines)))


def of_start(quick: bool) -> list[Figure]:
    clock, processor = startup.measured(1 if quick else 7)
    bare, pydantic = clock["bare interpreter"], "from pydantic import BaseModel"
    base = processor["bare interpreter"]
    imported, beside = (processor[name] - base for name in ("import zorkgpt.memory.manager", pydantic))
    return [
        Figure(
            "start",
            "import of the memory, processor",
            imported * 1000,
            "ms",
            1300 * beside,
            False,
            "pydantic",
            beside * 1000,
        ),
        Figure("start", "--help, over the bare interpreter", (clock["main.py --help"] - bare) * 1000, "ms", 600),
        Figure("start", "first turn on screen", clock["first turn"], "s", 2, False, "bare interpreter", bare),
    ]


PARTS: dict[str, Callable[[bool], list[Figure]]] = {
    "interpreter": of_interpreter,
    "interface": of_interface,
    "loop": of_loop,
    "memory": of_memory,
    "dedup": of_dedup,
    "prompts": of_prompts,
    "start": of_start,
}


def measured(parts: Iterable[str] = PARTS, *, quick: bool = False) -> list[Figure]:
    """Measure some parts, one after the other."""
    return [figure for part in parts for figure in PARTS[part](quick)]


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as Markdown."""
    met = {True: "yes", False: "**no**", None: ""}
    rows = [
        [
            one.part,
            one.what,
            f"{_number(one.value)} {one.unit}",
            "" if one.limit is None else f"{'≥' if one.least else '≤'} {_number(one.limit)}",
            met[one.is_met],
            "" if one.peer_value is None else f"{one.peer}: {_number(one.peer_value)}",
            f"{one.value / one.peer_value:.2f}" if one.peer_value else "",
        ]
        for one in figures
    ]
    return markdown_table(["part", "what", "measured", "limit", "met", "peer in the same run", "times the peer"], rows)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what is asked about: which parts, and how thoroughly."""
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--part", action="append", choices=PARTS, help="may be given several times; default: all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    begun = perf_counter()
    figures = measured(given.part or PARTS, quick=given.quick)
    print(table(figures))
    print(f"\n{perf_counter() - begun:.0f} s")
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in figures], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

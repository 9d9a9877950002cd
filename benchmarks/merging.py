"""Merging what many runs have learned: the time for 50, 100 and 200 runs of 200 memories each.

`uv run python -m benchmarks.merging [--runs 50 100 200] [--memories 200] [--folder FOLDER]`

The runs began with nothing and saw parts of the same world: of every five memories three are in words that other runs
use too, one says in words of its own what others say, and one is a finding that no other run has made.
"""

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from zorkgpt.memory.merging import MemoriesAfterEpisode, merge_memories
from zorkgpt.memory.models import Memory, Persistence
from zorkgpt.memory.storage.book import Draft, MemoryBook
from zorkgpt.memory.storage.document import render

PLACES, FACTS = 60, 20
THINGS = ("lamp", "rope", "brass key", "chest", "ladder", "lever", "mirror", "bell", "cage", "coil", "drum", "flask")
DEEDS = ("opens", "hides", "blocks", "holds", "lights", "breaks")
LINKS = ("Therefore", "Here", "So", "In this place", "At this spot")


def fact(place: int, number: int) -> tuple[str, str]:
    chance = random.Random(f"{place} {number}")
    one, other, deed = chance.choice(THINGS), chance.choice(THINGS), chance.choice(DEEDS)
    return f"The {one} {deed} the {other}", f"The old {one} {deed} the {other} with number {number} of shelf {place}."


def memories(run: int, count: int) -> Iterator[tuple[int, Memory]]:
    chance = random.Random(run)
    for turn in range(1, count + 1):
        place = chance.randrange(PLACES)
        title, text = fact(place, chance.randrange(FACTS))
        kind = turn % 5
        if kind == 0:
            title, text = f"{title} in run {run}", f"In run {run} turn {turn} showed a mark {chance.randrange(10**6)}."
        elif kind == 1:
            text = f"{chance.choice(LINKS)}, the very {text[4:]}"
        yield place + 1, Memory("DISCOVERY", title, run, str(turn), 0, text, Persistence.PERMANENT)


def write_run(folder: Path, run: int, count: int) -> MemoriesAfterEpisode:
    by_place: dict[int, list[Memory]] = {}
    for place, memory in memories(run, count):
        by_place.setdefault(place, []).append(memory)
    draft = Draft(MemoryBook())
    for place, its in by_place.items():
        draft.add(place, f"Room {place}", *its)
    path = folder / f"run-{run}" / "Memories.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(render(draft.document))
    return MemoriesAfterEpisode(run, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--memories", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        found = [write_run(folder, run, options.memories) for run in range(1, max(options.runs) + 1)]
        print("| runs | memories | kept | seconds | processor | for each memory, ms | size, MB | memory, MB |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for count in options.runs:
            target = folder / f"merged-{count}" / "Memories.md"
            target.parent.mkdir()
            started, worked = time.perf_counter(), time.process_time()
            merge_memories(folder / "none.md", found[:count], target)
            seconds, busy = time.perf_counter() - started, time.process_time() - worked
            given, kept = count * options.memories, target.read_text().count("\n**[")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"| {count} | {given:,} | {kept:,} | {seconds:.1f} | {busy:.1f} | {1000 * busy / given:.2f} "
                f"| {target.stat().st_size / 1e6:.1f} | {peak:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

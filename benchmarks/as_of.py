"""What it takes to go back to any turn of a long run: reading the history once, then one look-up after another.

    uv run python -m benchmarks.as_of [--changes 10000] [--locations 100]

Beside it the plain way: replaying the whole history for every question.
"""

import argparse
import tempfile
from pathlib import Path
from time import perf_counter

from zorkgpt.memory.models import Memory
from zorkgpt.memory.provenance import AsOf
from zorkgpt.memory.storage.changes import Change
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.markdown import sidecar
from zorkgpt.memory.storage.tables import Journal

TEXT = "Moving the rug reveals a trap door, and below it there is a ladder that leads down into the dark."


def fill(journal: Journal, changes: int, locations: int) -> None:
    """Add a memory, then see it again four times, and so on."""
    before = None
    for turn in range(changes):
        number, seen = divmod(turn, 5)
        after = Memory(
            "NOTE",
            f"Memory {number}",
            1,
            f"1→{turn}",
            0,
            TEXT,
            "permanent",
            observation_count=seen + 1,  # type: ignore[arg-type]
        )
        change = Change("seen again" if seen else "added", number % locations, "Room", before if seen else None, after)
        journal.append([change], turn_stamp=TurnStamp(1, turn, response=TEXT * 3))
        before = after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--locations", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = sidecar(Path(folder) / "Memories.md")
        with database.change():
            fill(Journal(database), given.changes, given.locations)
        started = perf_counter()
        then = AsOf.of(Path(folder) / "Memories.md")
        then.refresh()
        read = perf_counter() - started
        turns = range(0, given.changes, max(1, given.changes // 1000))
        started = perf_counter()
        for turn in turns:
            then.memories(turn % given.locations, 1, turn)
        looked_up = (perf_counter() - started) / len(turns)
        started = perf_counter()
        Journal(database).lasting()
        replayed = perf_counter() - started
        print(f"{given.changes} changes at {given.locations} locations, {database.path.stat().st_size / 1e6:.1f} MB")
    print(f"read once            {read * 1000:9.1f} ms")
    print(f"a place at a turn    {looked_up * 1e6:9.1f} µs")
    print(f"replayed each time   {replayed * 1000:9.1f} ms (ratio {replayed / looked_up:.0f})")


if __name__ == "__main__":
    main()

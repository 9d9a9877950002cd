"""What it takes to go back to any turn of a long run: reading the history once, then one look-up after another.

    uv run python -m benchmarks.as_of [--changes 10000] [--locations 100]

Beside it the plain way: replaying the whole history for every question.
"""

import argparse
import json
import tempfile
from pathlib import Path
from time import perf_counter

from zorkgpt.memory.provenance import AsOf
from zorkgpt.memory.storage.history import ChangeHistory

TEXT = "Moving the rug reveals a trap door, and below it there is a ladder that leads down into the dark."


def write_history(path: Path, changes: int, locations: int) -> None:
    """A memory is added, then seen again four times."""
    row = {"at": "2026-01-01T00:00:00", "source": "agent", "location_name": "Room", "reason": None, "episode": 1}
    with path.open("w", encoding="utf-8") as file:
        before = None
        for turn in range(changes):
            number, seen = divmod(turn, 5)
            after = {"category": "NOTE", "title": f"Memory {number}", "episode": 1, "turns": f"1→{turn}", "text": TEXT}
            after |= {"score_change": 0, "persistence": "permanent", "observation_count": seen + 1}
            of_turn = {"turn": turn, "location_id": number % locations, "before": before if seen else None}
            kind = {"kind": "seen again" if seen else "added"}
            file.write(json.dumps(row | kind | of_turn | {"after": after, "response": TEXT * 3}) + "\n")
            before = after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=10_000)
    parser.add_argument("--locations", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Memories.history.jsonl"
        write_history(path, given.changes, given.locations)
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
        ChangeHistory(path).replayed()
        replayed = perf_counter() - started
        print(f"{given.changes} changes at {given.locations} locations, {path.stat().st_size / 1e6:.1f} MB")
    print(f"read once            {read * 1000:9.1f} ms")
    print(f"a place at a turn    {looked_up * 1e6:9.1f} µs")
    print(f"replayed each time   {replayed * 1000:9.1f} ms (ratio {replayed / looked_up:.0f})")


if __name__ == "__main__":
    main()

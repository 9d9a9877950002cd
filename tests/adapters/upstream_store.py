"""Runs the store tests of langgraph-checkpoint-sqlite against our store, in a separate process.

    uv run python -m tests.adapters.upstream_store FOLDER [pytest options]

FOLDER is the unpacked source distribution. Its tests run in several processes, because some of them sleep.
This module is a plugin that replaces the modules they import.
"""

import asyncio
import sys
import types
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from zorkgpt.adapters.langgraph import MemoryBaseStore
from zorkgpt.memory.agent_memory import AgentMemory

_INTERNALS = (
    "BaseSqliteStore",
    "NS_MATCH_FUNCTION",
    "SqliteIndexConfig",
    "_escape_glob_literal",
    "_namespace_match_pattern",
)


class SqliteStore(MemoryBaseStore):
    """Our store with the constructor of the upstream store."""

    def setup(self) -> None:
        """Do nothing. Opening the memory has created the tables."""

    @classmethod
    @contextmanager
    def from_conn_string(cls, address: str, *, index: Any = None, ttl: Any = None) -> Iterator["SqliteStore"]:
        if index is not None:
            index = {**index, "fields": index.get("fields") or index.get("text_fields")}
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.sqlite" if address == ":memory:" else f"{address}.sqlite"
            with AgentMemory.open(path) as memory:
                yield cls(memory, index=index, ttl=ttl)


class AsyncSqliteStore(MemoryBaseStore):
    """Our store with the constructor and coroutines of the asynchronous upstream store."""

    async def setup(self) -> None:
        """Do nothing."""

    async def sweep_ttl(self) -> int:
        return await asyncio.to_thread(super().sweep_ttl)

    async def start_ttl_sweeper(self) -> "asyncio.Future[None]":
        return asyncio.wrap_future(super().start_ttl_sweeper())

    async def stop_ttl_sweeper(self) -> bool:
        return await asyncio.to_thread(super().stop_ttl_sweeper)

    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, address: str, **options: Any) -> AsyncIterator["AsyncSqliteStore"]:
        with SqliteStore.from_conn_string(address, **options) as store:
            store.__class__ = cls
            yield store


_STORES = {"SqliteStore": SqliteStore, "AsyncSqliteStore": AsyncSqliteStore}
_MODULES = {
    "langgraph.store.sqlite": _STORES,
    "langgraph.store.sqlite.aio": _STORES,
    "langgraph.store.sqlite.base": dict.fromkeys(_INTERNALS),
}


def pytest_load_initial_conftests() -> None:
    for name, content in _MODULES.items():
        module = types.ModuleType(name)
        vars(module).update(content)
        sys.modules[name] = module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest test first, then those that sleep."""
    items.sort(key=lambda item: ("large_batches_async" not in item.name, item.path.name != "test_ttl.py"))


def main(folder: str, *options: str) -> int:
    tests = [str(Path(folder) / "tests" / name) for name in ("test_store.py", "test_async_store.py", "test_ttl.py")]
    plugins = ["-p", "no:cacheprovider", "-p", "tests.adapters.upstream_store"]
    settings = ["-c", "/dev/null", "--import-mode=importlib", "-o", "asyncio_mode=auto", "-n", "4", "--maxschedchunk=1"]
    # Use a file here too. This test spends half a minute on commits.
    twice = ["--deselect", "test_async_store.py::test_large_batches_async[memory]"]
    return int(pytest.main([*plugins, *settings, "-q", "-rf", "--tb=no", *twice, *options, *tests]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

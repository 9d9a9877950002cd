"""Runs the tests of LangGraph's SQLite store, from its source distribution, with our store."""

import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.fixtures.command_line import ROOT

SOURCES = "langgraph-checkpoint-sqlite"
NOT_OURS = {
    # Internals of the SQLite store: its patterns, query plans, migrations, and tables of vectors.
    "test_escape_glob_literal",
    "test_namespace_match_pattern",
    "test_list_namespaces_prefix_uses_indexable_condition",
    "test_nonnull_migrations",
    "test_vector_store_initialization",
    # Expects an error for a filter key that is not a name. Our filters are not SQL, so the key matches its field.
    "test_sql_injection_vulnerability",
    # Expects an error for a synchronous call in a running event loop. Ours works.
    "test_no_running_loop",
}
"""Tests that fail, with the reason."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    download = ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), SOURCES]
    subprocess.run(["uvx", *download], check=True, capture_output=True, cwd=folder)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


@pytest.mark.slow
def test_upstream_tests_pass(sources):
    # Our tests do not install their plugins.
    python = ["uv", "run", "--no-sync", "--with", "pytest-asyncio", "--with", "pytest-retry", "python"]
    command = [*python, "-m", "tests.adapters.upstream_store", str(sources)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert re.search(r"\d+ passed", done.stdout), done.stdout + done.stderr
    failed = set(re.findall(r"^(?:FAILED|ERROR) .*::(\w+)", done.stdout, re.MULTILINE))
    assert failed == NOT_OURS

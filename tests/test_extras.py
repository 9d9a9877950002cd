"""Tests that features with missing packages name their extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.command_line import command, environment
from zorkgpt import extras

ROOT = Path(__file__).resolve().parents[1]


def run_without(modules: tuple[str, ...], program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    hidden = f"import sys\nfor name in {modules!r}: sys.modules[name] = None\n"
    return subprocess.run(
        [sys.executable, "-c", hidden + program, *arguments],
        cwd=folder,
        env=environment(PYTHONPATH=str(ROOT)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def play_without_embeddings(folder: Path, *model: str, provider: str = "auto") -> subprocess.CompletedProcess:
    options = ("--episodes", "1", "--max-turns", "2", "--quiet", "--workdir", str(folder))
    missing = ("onnxruntime", "sentence_transformers")
    return command(
        "play", *model, *options, cwd=folder, hidden=missing, ZORKGPT_MEMORY_DEDUPLICATION__PROVIDER=provider
    )


COMMAND_LINE = "from zorkgpt.__main__ import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "extra", "arguments"),
    [
        ("typer", "cli", ("doctor",)),
        ("networkx", "game", ("play", "--episodes", "1")),
        ("greenlet", "game", ("play", "--episodes", "1")),
        ("numpy", "game", ("eval", "learning-1x2")),
        ("ray", "ray", ("eval", "learning-1x2", "--ray", "local")),
        ("fsspec", "storage", ("eval", "learning-1x2", "--out", "s3://mary:hunter2@host/folder")),
        ("mcp", "mcp", ("mcp", "--memories", "Memories.md")),
        ("psycopg", "postgres", ("mcp", "--memories", "postgresql://localhost/memories")),
        ("starlette", "viewer", ("view",)),
        ("uvicorn", "viewer", ("play", "--view", "--episodes", "1", "--max-turns", "2")),
        ("openai", "model", ("play", "--model", "a-model", "--base-url", "http://localhost:1/v1")),
    ],
)
def test_command_names_its_missing_extra(module, extra, arguments, tmp_path):
    done = run_without((module,), COMMAND_LINE, tmp_path, *arguments)
    feature, _ = extras.EXTRAS[extra]
    message = f"{feature} needs {module}, which is not installed. Run: uv sync --inexact --extra {extra}"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"zorkgpt: {message}")
    assert "Traceback" not in done.stderr


ADAPTERS = {
    "gymnasium": ("gymnasium", "gym"),
    "langchain": ("langchain_core", "langchain"),
    "langgraph": ("langgraph", "langgraph"),
    "llama_index": ("llama_index", "llama-index"),
    "mcp": ("mcp", "mcp"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "tales": ("tales", "tales"),
}
"""The required module and extra of each adapter."""


@pytest.mark.slow
def test_adapter_names_its_missing_extra(tmp_path):
    program = (
        f"import importlib\nfor adapter in {list(ADAPTERS)}:\n"
        "    try: importlib.import_module(f'zorkgpt.adapters.{adapter}')\n"
        "    except ImportError as error: print(type(error).__name__, error.name, error)"
    )
    done = run_without(tuple(module for module, _ in ADAPTERS.values()), program, tmp_path)
    for line, (module, extra) in zip(done.stdout.splitlines(), ADAPTERS.values(), strict=True):
        assert line.startswith(f"MissingExtra {module} ")
        assert line.endswith(f"Run: uv sync --inexact --extra {extra}")


@pytest.mark.slow
def test_report_without_matplotlib_names_the_extra(tmp_path):
    done = run_without(
        ("matplotlib",), COMMAND_LINE, tmp_path, "eval", "learning-1x2", "--seeds", "1", "--out", "out", "--no-pages"
    )
    assert done.returncode == 0, done.stderr
    assert "uv sync --inexact --extra evals" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["auto", "sentence-transformers"])
def test_model_run_reports_missing_embeddings_once(provider, tmp_path):
    with ChatServer(lambda asked: Answer("ACTION: look")) as server:
        model = ("--model", server.model, "--base-url", server.url)
        done = play_without_embeddings(tmp_path, *model, provider=provider)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "deduplication" in line]
    assert done.returncode == 0, done.stderr
    assert lines == [
        "zorkgpt: Semantic deduplication is off because embeddings are not installed. "
        "To add them (about 180 MB): uv sync --inexact --group embeddings"
    ]


@pytest.mark.slow
def test_rules_run_does_not_mention_embeddings(tmp_path):
    done = play_without_embeddings(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "deduplication" not in done.stdout


@pytest.mark.slow
def test_embedding_server_replaces_the_package(tmp_path):
    with ChatServer(lambda asked: Answer("ACTION: look"), embed=lambda text: [1.0, 0.0]) as server:
        model = ("--model", server.model, "--base-url", server.url)
        done = play_without_embeddings(tmp_path, *model)
    assert done.returncode == 0, done.stderr
    assert "deduplication" not in done.stdout + done.stderr


def test_table_of_extras_matches_the_package():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    # `play` is `game` without Jericho.
    assert set(extras.EXTRAS) == set(declared) - {"play"}

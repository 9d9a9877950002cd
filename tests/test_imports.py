"""Tests of public names and of what imports load."""

import subprocess
import sys
from pathlib import Path

import pytest

import zorkgpt

ROOT = Path(__file__).resolve().parents[1]
HEAVY = {
    "numpy",
    "openai",
    "torch",
    "jericho",
    "onnxruntime",
    "tokenizers",
    "sentence_transformers",
    "spacy",
    "gymnasium",
    "langgraph",
    "matplotlib",
    "mcp",
    "agents",
    "pydantic_ai",
    "opentelemetry",
}


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_package_import_loads_nothing_heavy():
    assert modules_after("import zorkgpt") & (HEAVY | {"pydantic", "rich", "typer"}) == set()


@pytest.mark.parametrize("module", ["agent_memory", "manager"])
def test_memory_import_loads_only_the_basics(module):
    loaded = modules_after(f"import zorkgpt.memory.{module}")
    assert loaded & (HEAVY | {"pydantic", "jinja2", "json_repair", "rich", "typer"}) == set()
    assert "filelock" in loaded


@pytest.mark.slow
def test_evaluation_command_loads_no_numpy_or_matplotlib():
    assert (
        modules_after("import zorkgpt.cli.evaluate, zorkgpt.evals.report") & {"numpy", "matplotlib", "openai"} == set()
    )


def test_contrast_check_is_documented_and_light():
    loaded = modules_after("from zorkgpt.memory.contrast import compare; compare('a', 'b')")
    assert loaded & (HEAVY | {"pydantic"}) == set()
    code = "import zorkgpt.memory.contrast as c; print(c.compare('It is open.', 'It is not open.').relation)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "conflict\n"


def test_public_names():
    assert set(zorkgpt.__all__) == {
        "AgentMemory",
        "INVALIDATION_MARKER",
        "EmbeddingProvider",
        "GameConfiguration",
        "LLMClient",
        "Memory",
        "MemoryKind",
        "MemoryStatus",
        "MemorySynthesisResponse",
        "ScriptedLLM",
        "SimpleMemoryManager",
        "ZMachineContext",
        "ZorkGPTError",
    }


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        zorkgpt.Nonsense  # noqa: B018


def test_import_layers():
    done = subprocess.run(["lint-imports"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_every_benchmark_and_script_imports():
    code = (
        "import importlib, pathlib, sys; sys.path.append('benchmarks')\n"
        "for path in sorted([*pathlib.Path('benchmarks').glob('*.py'), *pathlib.Path('scripts').glob('*.py')]):\n"
        "    importlib.import_module('.'.join(path.with_suffix('').parts)); print(path)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 20


def test_synthesis_response_is_importable_from_models():
    from zorkgpt.memory import models

    assert models.MemorySynthesisResponse is zorkgpt.MemorySynthesisResponse

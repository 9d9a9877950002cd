"""Tests of the documentation: snippets, commands and links."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.command_line import command

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BESIDE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = sorted([*(ROOT / name for name in BESIDE), *(ROOT / "docs").rglob("*.md")])
COMMANDS_TOO = ("CONTRIBUTING.md", "docs/games.md", "docs/runs.md", "docs/evaluation.md")
SHORTER = dict.fromkeys(("learning-5", "learning-4x200", "learning-8x200", "jttl-50"), "learning-2x2") | dict.fromkeys(
    ("1-3", "1-5", "1-10", "11-20", "61-70"), "1"
)
"""Replacements for protocols and seeds in the pages, so that tests are short."""
REAL_SERVER = "http://localhost:11434/v1"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands() -> list[str]:
    """Return the commands of the README and of pages that no other test covers."""
    pages = [README, *((ROOT / name).read_text(encoding="utf-8") for name in COMMANDS_TOO)]
    lines = [line for page in pages for block in blocks(page, "bash") for line in block.splitlines()]
    found = [line for line in lines if line.startswith("uv run python") or "&& uv run python" in line]
    return [line for line in dict.fromkeys(found) if line in README or "benchmarks" not in line]


@pytest.fixture(scope="module")
def played(tmp_path_factory) -> Path:
    """A folder with one run."""
    folder = tmp_path_factory.mktemp("played")
    with ChatServer(lambda asked: Answer("ACTION: look")) as server:
        assert run("uv run python main.py --episodes 1", folder, server, "").returncode == 0
    return folder


def run(line: str, folder: Path, server: ChatServer, zork: str) -> subprocess.CompletedProcess:
    program, *words = shlex.split(line.removeprefix("pip install uv && ").removeprefix("uv run python"))
    assert program == "main.py"
    replaced = {REAL_SERVER: server.url, "path/to/zork1.z5": zork} | SHORTER
    words = [replaced.get(word, word) for word in words]
    if not {"memories", "map", "games", "doctor", "view", "eval"} & set(words):
        # A finished episode needs a higher limit.
        words += ["--max-turns", "9" if "--resume" in words else "6"]
    if "eval" in words and "--seeds" not in words:
        words += ["--seeds", "1"]
    model = {"OPENAI_API_KEY": "sk-your-key", "OPENAI_BASE_URL": server.url} if "--model" in words else {}
    return command(*words, cwd=folder, **model)


def looks_at_a_run(line: str) -> bool:
    return any(f"main.py {what}" in line for what in ("memories", "map", "view", "--resume"))


@pytest.mark.slow
@pytest.mark.parametrize("line", commands())
def test_every_command_works(line, request):
    zork = str(request.getfixturevalue("zork1")) if "zork1.z5" in line else ""
    folder = request.getfixturevalue("played" if looks_at_a_run(line) else "tmp_path")
    with ChatServer(lambda asked: Answer("ACTION: look"), models=("qwen3:8b", "gpt-4o-mini")) as server:
        done = run(line, folder, server, zork)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert bool(server.requests) == ("--model" in line)


def test_readme_has_commands():
    assert len(commands()) >= 9


def test_readme_names_the_test_command_of_ci():
    assert "pip install uv && uv run --all-groups pytest\n" in blocks(README, "bash")
    assert (ROOT / ".ci" / "run").read_text().endswith("\npip install uv && uv run --all-groups pytest\n")


def test_readme_installs_the_library_before_its_snippet():
    name = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    [snippet] = blocks(README, "python")
    assert README.index(f"```bash\npip install {name}\n```") < README.index(snippet)


@pytest.mark.slow
def test_pip_of_the_environment_for_uv_is_not_managed_by_the_system(tmp_path):
    [line] = [line for block in blocks(README, "bash") for line in block.splitlines() if "-m venv" in line]
    checked = f"{line} && command -v pip && python3 -m pip install --no-index --dry-run --quiet pip"
    done = subprocess.run(
        ["bash", "-c", checked], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)


def test_readme_snippet_prints_its_memories(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [snippet] = blocks(README, "python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(snippet, "README.md", "exec"), {})
    coupon = "[NOTE] Coupon field: It takes one code only."
    shown = [line for line in printed.getvalue().splitlines() if line.startswith("[")]
    assert shown == [coupon, "[NOTE] Milk in the cart: I put it there. [session]", coupon]


@pytest.mark.slow
def test_tables_of_settings_match_the_code():
    checked = subprocess.run([sys.executable, "-m", "scripts.document_settings", "--check"], cwd=ROOT)
    assert checked.returncode == 0, "run: uv run python -m scripts.document_settings"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_relative_links_resolve(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_and_tables_parse_in_every_markdown_dialect(page):
    """Some dialects require an empty line before a list or table, and an indentation of four."""
    prose = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    wrong, before = [], ""
    for line in prose.splitlines():
        begins = re.match(r"( *)(?:[-*]|\d+\.) |(\|)", line)
        if begins and (len(begins[1] or "") % 4 or (before.strip() and before[0] not in "-*|0123456789 ")):
            wrong.append(line)
        before = line
    assert wrong == []


def test_every_named_test_and_benchmark_exists():
    named = {found for page in PAGES for found in re.findall(r"`(tests/[\w/.]+)`", page.read_text(encoding="utf-8"))}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named |= {f"benchmarks/{name}.py" for name in re.findall(r"benchmarks[./](\w+)", text)}
    assert len(named) > 30
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_readme_is_short():
    assert len(README.encode()) <= 6 * 1024


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#]+\.md)", index)
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert set(linked) == {*pages, "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md"} - {"index.md"}


def test_contributing_page_lists_the_checks():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^\| check \| by hand \|\n(.*?)\n\n", page, re.DOTALL | re.MULTILINE)
    made = (ROOT / "scripts" / "check").read_text(encoding="utf-8").replace("format --check", "format")
    by_hand = re.findall(r"`(uv run [^`]+)`", table)
    assert [line for line in made.replace(' "$@"', "").splitlines() if line.startswith("uv run")] == by_hand


def test_table_of_packages_matches_the_import_layers():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[a-z_.]+`(?:, )?)+) \| .+ \|$", page, re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    checked = [_existing_packages(layer) for layer in contracts[0]["layers"]]
    assert [row.replace("`", "").replace(", ", " | ") for row in rows] == [layer for layer in checked if layer]


def _existing_packages(layer: str) -> str:
    packages = (package.strip("() ") for package in layer.split("|"))
    return " | ".join(package for package in packages if find_spec(package))


def test_page_of_extras_lists_every_extra_with_its_packages():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    brings = {
        extra: {
            name
            for requirement in map(Requirement, requirements)
            for name in (requirement.extras if requirement.name == "zorkgpt" else {requirement.name})
        }
        for extra, requirements in declared.items()
    }
    page = (ROOT / "docs" / "extras.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\S+)` \|.*\| (.+) \|$", page, re.MULTILINE)
    assert {extra: set(re.findall(r"[\w-]+", brought)) for extra, brought in rows} == brings

"""Tests of the quick-start pages, followed literally in an empty folder with only the wheel."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.wheel import ROOT, clean_environment

PAGES = sorted((ROOT / "docs" / "ten-minutes").glob("*.md"))
REAL_SERVER = "http://localhost:11434/v1"
IN_A_CHECKOUT = "\n## In a checkout\n"
MOST_TURNS = 10
"""Replacements for the limits in the pages, so that episodes are short."""

_STEP = re.compile(
    r"^(?:A new file, `(?P<created>[^`]+)`:\n\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$"
    r"(?:\n\nprints(?P<roughly> something like)?\n\n```text\n(?P<prints>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """A file to write, or commands to run."""

    created: str | None
    code: str
    prints: str | None
    """None if the page does not say."""
    roughly: bool
    """Numbers may differ, because the rules player makes no promises."""


def steps(page: str) -> list[Step]:
    found = list(_STEP.finditer(page))
    assert len(found) + sum(step["prints"] is not None for step in found) == page.count("```") / 2
    assert all(step["created"] or step["language"] == "bash" for step in found)
    return [Step(step["created"], step["code"], step["prints"], bool(step["roughly"])) for step in found]


def without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", text)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory) -> Path:
    """A folder that all pages use one after another, so that compiled modules are reused."""
    return tmp_path_factory.mktemp("workshop")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_works_with_the_wheel_alone(page, wheel, workshop):
    folder = workshop / "empty"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "dist").symlink_to(wheel.parent)
    text = page.read_text(encoding="utf-8").partition(IN_A_CHECKOUT)[0]
    text = re.sub(r"--max-turns \d+", f"--max-turns {MOST_TURNS}", text)
    environment = {
        **clean_environment(workshop),
        "PYTHONPYCACHEPREFIX": str(workshop / "compiled"),
        "ZORKGPT_ORCHESTRATOR__MAX_TURNS_PER_EPISODE": str(MOST_TURNS),
    }
    with ChatServer(lambda asked: Answer("ACTION: look"), models=("qwen3:8b",)) as server:
        for step in steps(text.replace(REAL_SERVER, server.url)):
            if step.created:
                (folder / step.created).write_text(step.code, encoding="utf-8")
                continue
            # As in an open shell, where an activated environment stays active.
            activate = "[ -f .venv/bin/activate ] && . .venv/bin/activate\n"
            done = subprocess.run(
                ["bash", "-c", f"{activate}set -e\n{step.code}"],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{step.code}\n{done.stdout}\n{done.stderr}"
            if step.prints is not None:
                compared = without_numbers if step.roughly else str
                assert compared(done.stdout) == compared(step.prints), step.code
    assert bool(server.requests) == (REAL_SERVER in text)


def test_statements_about_a_checkout_are_true():
    page = (ROOT / "docs" / "ten-minutes" / "test.md").read_text(encoding="utf-8").partition(IN_A_CHECKOUT)[2]
    [snippet] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(snippet, "test.md", "exec"), {})


def test_each_kind_of_reader_has_a_page():
    assert [page.stem for page in PAGES] == ["build", "evaluate", "play", "test"]

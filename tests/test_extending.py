"""Tests of the recipes of docs/extending.md, followed literally in a copy of the project."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PACKAGES = ("zorkgpt", "session", "managers", "orchestration", "game_interface", "infrastructure")

_STEP = re.compile(
    r"^(?:In `(?P<changed>[^`]+)`, below `(?P<anchor>[^\n]+)`:|A new file, `(?P<created>[^`]+)`:|Then this holds:)"
    r"\n\n```\w+\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Step:
    """One code block of a recipe, and where it goes."""

    path: str
    """Path of the file, or "" for the check."""
    anchor: str
    """The line after which the code is inserted, or "" for a new file."""
    code: str


def recipes() -> dict[str, list[Step]]:
    """Return the steps of each recipe by its heading."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)[1:]
    return {
        heading: [
            Step(found["changed"] or found["created"] or "", found["anchor"] or "", found["code"])
            for found in _STEP.finditer(text)
        ]
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


def follow(steps: list[Step], checkout: Path) -> None:
    for step in steps:
        path = checkout / step.path
        if not step.anchor:
            assert not path.exists(), f"{step.path} is there already"
            path.write_text(step.code, encoding="utf-8")
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        [at] = [number for number, line in enumerate(lines) if line.strip() == step.anchor.strip()]
        path.write_text("".join([*lines[: at + 1], step.code, *lines[at + 1 :]]), encoding="utf-8")


def copied_project(folder: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package)
    for name in ("pyproject.toml", "main.py"):
        shutil.copy(ROOT / name, folder)


@pytest.mark.slow
@pytest.mark.parametrize("heading", recipes())
def test_recipe_works_and_changes_at_most_three_files(heading, tmp_path):
    steps = recipes()[heading]
    changes, checks = [step for step in steps if step.path], [step for step in steps if not step.path]
    assert 1 <= len({step.path for step in changes}) <= 3
    assert len(checks) == 1
    copied_project(tmp_path)
    before = subprocess.run([sys.executable, "-c", checks[0].code], cwd=tmp_path, capture_output=True, text=True)
    assert before.returncode != 0, "the check passes without the recipe"
    follow(changes, tmp_path)
    done = subprocess.run([sys.executable, "-c", checks[0].code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_kind_of_extension_has_a_recipe():
    assert len(recipes()) >= 7
    assert all(recipes().values())

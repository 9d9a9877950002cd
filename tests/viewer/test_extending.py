"""Test of the recipe for a viewer tab in docs/extending.md."""

import subprocess
import sys

import pytest
from playwright.sync_api import expect

from tests.fixtures.viewer import client, played
from tests.test_extending import copied_project, follow, recipes

pytestmark = pytest.mark.slow


def test_tab_from_the_recipe_shows_the_current_turn(tmp_path, open_page):
    project, run, page_file = tmp_path / "project", tmp_path / "run", tmp_path / "page.html"
    project.mkdir()
    copied_project(project)
    follow([step for step in recipes()["Viewer tab"] if step.path], project)
    played(run, episodes=1, turns=40)
    command = [sys.executable, "main.py", "view", "--workdir", str(run), "--export", str(page_file)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    [episode] = client(run).get("/api/run").json()["episodes"]
    score = episode["score"]
    assert score > 0
    page = open_page(f"{page_file.as_uri()}#1:1")
    page.get_by_role("group", name="Memory tabs").get_by_role("button", name="Score").click()
    page.keyboard.press("Home")
    expect(page.locator("#score .score")).to_have_text("Score: 0")
    page.keyboard.press("End")
    expect(page.locator("#score .score")).to_have_text(f"Score: {score}")

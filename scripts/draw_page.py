"""Draw docs/images/{overview,view,beside}.png: the viewer with a run of the bundled story, played by the rules.

    uv run python scripts/draw_page.py [WORKDIR]

An existing run can be given. It needs five episodes, the last one with at least 56 turns.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from game_interface.story import find_story
from orchestration.assembly import RunOptions, assemble
from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from zorkgpt.viewer.export import export_run

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
_EPISODES, _TURN = 5, 56
_VIEWS = {
    "overview": ("#overview", "#overview .points li"),
    "view": (f"#{_EPISODES}:{_TURN}", "#memories .memory"),
    "beside": (f"#{_EPISODES}:20&beside={_EPISODES - 1}", "#beside table"),
}
_SIZE = {"width": 1400, "height": 860}
_SETTLED_MS = 1000
_COLORS = 160
"""Reduces the size of an image to a third without a visible difference."""


def play(workdir: Path) -> None:
    config = GameConfiguration(embedding_provider="none").with_workdir(workdir)
    options = RunOptions(choose_player("rules", config), find_story("slackwater"))
    with assemble(config, options) as run:
        for _ in range(_EPISODES):
            run.play_episode()


def draw(page: Page, run: str, name: str) -> None:
    fragment, selector = _VIEWS[name]
    page.goto("about:blank")
    page.goto(run + fragment)
    page.locator(selector).first.wait_for()
    page.wait_for_timeout(_SETTLED_MS)
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    with Image.open(path) as drawn:
        small = drawn.convert("RGB").quantize(_COLORS, kmeans=2, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main(workdir: Path | None = None) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        if workdir is None:
            workdir = Path(folder) / "run"
            play(workdir)
        file = Path(folder) / "run.html"
        export_run(workdir, file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=_SIZE)
        for name in _VIEWS:
            draw(page, file.as_uri(), name)
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

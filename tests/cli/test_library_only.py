"""The installed library without the game's packages: the memory works, and playing says what it needs."""

import json
import subprocess
import sys
import sysconfig

import pytest

from tests.cli.test_play import ROOT, environment


def alone(tmp_path, *arguments: str) -> subprocess.CompletedProcess:
    """`zorkgpt` where nothing but `zorkgpt` and its dependencies can be imported."""
    (tmp_path / "zorkgpt").symlink_to(ROOT / "zorkgpt")
    path = f"{tmp_path}:{sysconfig.get_path('purelib')}"
    return subprocess.run(
        [sys.executable, "-S", "-m", "zorkgpt", *arguments],
        cwd=tmp_path,
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("arguments", [[], ["games"], ["doctor"]])
def test_playing_says_what_it_needs(tmp_path, arguments):
    done = alone(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("zorkgpt: Only the library is installed here")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("folder", "options"),
    [(".", ["--workdir", "."]), ("game_files", []), ("game_files/tale", []), ("game_files/tale", ["--game", "tale"])],
)
def test_the_memory_commands_work(tmp_path, folder, options):
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    if folder == "game_files/tale":
        (tmp_path / folder / "story.json").write_text(json.dumps({"sha256": "a" * 64, "file": "tale.z5"}))
    (tmp_path / folder / "Memories.md").write_text(
        "# Location Memories\n\n## Location 5: Hall\n\n**[NOTE - PERMANENT] Cold** *(Ep1, T1)*\nIt is cold.\n", "utf-8"
    )
    done = alone(tmp_path, "memories", "show", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Cold" in done.stdout

"""Tests that all commands use the configured paths."""

import re

import pytest

from tests.fixtures.command_line import command

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("memories", "show"), "Causeway End (30)"),
        (("memories", "check"), "0 lines not parsed"),
        (("map", "show"), "30 Causeway End"),
        (("view", "--export", "page.html"), "Exported to page.html"),
    ],
)
def test_commands_use_configured_paths(tmp_path, words, message):
    configured = (
        "[tool.zorkgpt.gameplay]\nzork_game_workdir = 'mine'\n"
        "[tool.zorkgpt.simple_memory]\nmemory_file = 'Known.md'\n"
        "[tool.zorkgpt.files]\nmap_state_file = 'map.json'\nstate_export_file = 'now.json'\n"
    )
    (tmp_path / "pyproject.toml").write_text(configured)
    assert command("--episodes", "1", "--max-turns", "3", "--quiet", cwd=tmp_path).returncode == 0
    done = command(*words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert message in done.stdout
    if words == ("map", "show"):
        assert re.search(r"^\d+ .* \(the player is here\)$", done.stdout, re.MULTILINE)

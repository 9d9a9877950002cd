"""Tests that each story has its own folder."""

import base64
import json
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from tests.fixtures.forks import FORKS
from tests.fixtures.stories import of_another_build
from zorkgpt.cli.app import run
from zorkgpt.cli.process import ExitCode
from zorkgpt.errors import WorkdirError
from zorkgpt.run_folder import MARKER, episodes_in
from zorkgpt.runlog.story_folder import StoryMark, mark_folder, read_mark, story_folders

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).resolve().parents[2]
ROOT = Path("game_files")
SLACK_WATER = ROOT / "slack-water"
OTHER = ROOT / "other"


@pytest.fixture(autouse=True)
def empty_current_directory(tmp_path, monkeypatch):
    """Change to an empty directory, without configuration."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "ZORKGPT_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ZORKGPT_MEMORY_DEDUPLICATION__PROVIDER", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def other(bundled_story) -> str:
    """A different story with the same rooms as the bundled one."""
    return str(of_another_build(bundled_story, Path("stories") / "Other!.z5"))


@pytest.fixture
def errors(capsys):
    """Return a function that reads what the last command wrote to standard error."""
    return lambda: capsys.readouterr().err


def play(*options: str, turns: int = 6) -> int:
    return run(["play", "--episodes", "1", "--max-turns", str(turns), "--quiet", *options])


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def folders() -> list[str]:
    return sorted(path.name for path in ROOT.iterdir() if path.is_dir())


def test_two_stories_share_nothing(other):
    assert play() == ExitCode.OK
    before = contents(SLACK_WATER)
    assert play("--game", other) == ExitCode.OK
    assert folders() == ["other", "slack-water"]
    assert contents(SLACK_WATER) == before
    assert play("--game", other, "--workdir", "alone") == ExitCode.OK
    assert {path.name for path in OTHER.iterdir()} == {path.name for path in Path("alone").iterdir()}
    for name in ("Memories.md", "current_state.json"):
        assert (OTHER / name).read_text() == (Path("alone") / name).read_text()
    shown = [rooms(folder / "map_state.json") for folder in (OTHER, Path("alone"))]
    assert shown[0] == shown[1]


def rooms(path: Path) -> dict:
    return json.loads(path.read_text())["rooms"]


def test_story_is_identified_by_content(other, bundled_story):
    assert play("--game", other) == ExitCode.OK
    moved = Path("elsewhere") / "another name.z8"
    moved.parent.mkdir()
    shutil.move(other, moved)
    assert play("--game", str(moved)) == ExitCode.OK
    assert folders() == ["other"]
    assert episodes_in(OTHER) == [1, 2]
    assert read_mark(OTHER).file == "Other!.z5"
    (Path("elsewhere") / "copy.z5").write_bytes(bundled_story.read_bytes())
    assert play() == play("--game", "elsewhere/copy.z5") == ExitCode.OK
    assert episodes_in(SLACK_WATER) == [1, 2]


def test_stories_with_the_same_name_get_different_folders(bundled_story):
    stories = [of_another_build(bundled_story, Path(serial) / "tale.z5", serial) for serial in ("000001", "000002")]
    for story in (*stories, *stories):
        assert play("--game", str(story), turns=3) == ExitCode.OK
    assert folders() == ["tale", "tale-2"]
    assert [read_mark(ROOT / name).serial for name in folders()] == ["000001", "000002"]
    assert [episodes_in(ROOT / name) for name in folders()] == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    ("file", "folder"),
    [("runs.z5", "runs-2"), ("..z5", "story"), ("Ärger — 2.z5", "ärger-2"), (f"{'x' * 200}.z5", "x" * 60)],
)
def test_folder_names_are_safe(bundled_story, file, folder):
    assert play("--game", str(of_another_build(bundled_story, Path("stories") / file)), turns=2) == ExitCode.OK
    assert folders() == [folder]


def test_folder_of_another_story_is_refused(other, errors):
    assert play("--workdir", "mine") == ExitCode.OK
    before = contents(Path("mine"))
    assert play("--workdir", "mine", "--game", other) == ExitCode.BAD_INPUT
    message = errors()
    assert "mine has the memories, map and runs of Slack Water (release 4" in message
    assert "Other! (release 4, serial 991231" in message
    assert "--workdir" in message
    assert contents(Path("mine")) == before
    assert not ROOT.exists()
    assert play("--workdir", "mine") == ExitCode.OK


def test_configured_folder_is_refused_for_another_story(other, errors):
    assert play("--workdir", "mine") == ExitCode.OK
    Path("pyproject.toml").write_text("[tool.zorkgpt.gameplay]\nzork_game_workdir = 'mine'\n")
    assert play() == ExitCode.OK
    assert episodes_in(Path("mine")) == [1, 2]
    before = contents(Path("mine"))
    assert play("--game", other) == ExitCode.BAD_INPUT
    assert "mine has the memories, map and runs of Slack Water" in errors()
    assert run(["doctor", "--game", other]) == ExitCode.BAD_INPUT
    assert contents(Path("mine")) == before


def test_damaged_marker_is_refused(errors):
    assert play() == ExitCode.OK
    (SLACK_WATER / MARKER).write_text("{")
    before = contents(SLACK_WATER)
    for options in ((), ("--workdir", str(SLACK_WATER))):
        assert play(*options) == ExitCode.BAD_INPUT
        assert f"{SLACK_WATER / MARKER}, which identifies the folder's story, is damaged" in errors()
    assert contents(SLACK_WATER) == before
    (SLACK_WATER / MARKER).unlink()
    assert play("--workdir", str(SLACK_WATER)) == play() == ExitCode.OK
    assert episodes_in(SLACK_WATER) == [1, 2, 3]


def test_folder_made_by_hand_is_used():
    assert play("--workdir", "before") == ExitCode.OK
    SLACK_WATER.mkdir(parents=True)
    shutil.copy("before/Memories.md", SLACK_WATER)
    assert play() == ExitCode.OK
    assert folders() == ["slack-water"]
    assert len(Path(SLACK_WATER, "Memories.md").read_text()) >= len(Path("before/Memories.md").read_text())


def test_story_folder_can_contain_folders_of_other_stories(other):
    assert play("--workdir", str(ROOT)) == play("--game", other) == play() == ExitCode.OK
    assert (episodes_in(ROOT), episodes_in(OTHER), folders()) == ([1, 2], [1], ["other", "runs"])


def test_commands_default_to_the_last_story_played(other, capsys):
    def output(*words: str) -> tuple[str, str]:
        capsys.readouterr()
        assert run([*words]) == ExitCode.OK
        return tuple(capsys.readouterr())

    assert play(turns=8) == ExitCode.OK
    commands = (("memories", "stats"), ("map", "show"))
    alone = {command: output(*command) for command in commands}
    assert play("--game", other, turns=1) == ExitCode.OK
    for command in commands:
        expected, errors = alone[command]
        assert errors == ""
        last, errors = output(*command)
        assert last != expected
        assert errors == (
            "zorkgpt: Using Other! (game_files/other), the last story played in game_files. "
            "Choose another with --game.\n"
        )
        assert output(*command, "--game", "Slack Water") == (expected, "")
        assert output(*command, "--workdir", str(SLACK_WATER)) == (expected, "")
        assert run([*command, "--workdir", str(SLACK_WATER), "--game", other]) == ExitCode.BAD_INPUT
        assert run([*command, "--game", "nobody"]) == ExitCode.BAD_INPUT
        assert "is called 'nobody'. Played: other, slack-water." in capsys.readouterr().err
    for name in ("slackwater", "slack-water"):
        assert output("memories", "stats", "--game", name) == alone["memories", "stats"]
    for name in (other, "other", "Other!.z5"):
        assert output("memories", "stats", "--game", name) != alone["memories", "stats"]


def test_view_defaults_to_the_last_story_played(other, errors):
    assert play() == play("--game", other) == ExitCode.OK
    errors()
    assert run(["view", "--export", "last.html"]) == ExitCode.OK
    assert "the last story played in" in errors()
    assert run(["view", "--game", "slackwater", "--export", "named.html"]) == ExitCode.OK
    assert run(["view", str(SLACK_WATER / "runs" / "1"), "--export", "given.html"]) == ExitCode.OK
    assert [serial_in(name) for name in ("last", "named", "given")] == ["991231", "261129", "261129"]


def serial_in(page: str) -> str:
    chunks = re.findall(r'id="run-data-\d+">([\w+/=]+)<', Path(f"{page}.html").read_text())
    text = "".join(zlib.decompress(base64.b64decode(chunk)).decode() for chunk in chunks)
    [serial] = [serial for serial in ("991231", "261129") if serial in text]
    return serial


def test_resume_defaults_to_the_last_story_played(other):
    assert play(turns=5) == play("--game", other, turns=5) == ExitCode.OK
    assert run(["play", "--resume", "--max-turns", "7", "--quiet"]) == ExitCode.OK
    assert [turns_of(folder) for folder in (SLACK_WATER, OTHER)] == [5, 7]
    assert run(["play", "--resume", "--game", "slackwater", "--max-turns", "6", "--quiet"]) == ExitCode.OK
    assert [turns_of(folder) for folder in (SLACK_WATER, OTHER)] == [6, 7]


def turns_of(folder: Path) -> int:
    return json.loads((folder / "runs" / "1" / "episode_log.jsonl").read_text().splitlines()[-1])["turns"]


def test_memories_can_be_imported_before_the_first_episode(other):
    assert play("--workdir", "before") == ExitCode.OK
    assert run(["memories", "import", "before/Memories.md"]) == ExitCode.OK
    assert run(["memories", "import", "before/Memories.md", "--game", other]) == ExitCode.OK
    assert folders() == ["other", "slack-water"]
    assert play() == ExitCode.OK
    assert episodes_in(SLACK_WATER) == [1]


def test_audit_is_refused_for_memories_of_another_story(other, errors):
    assert play() == play("--game", other) == ExitCode.OK
    errors()
    assert run(["memories", "audit"]) == ExitCode.BAD_INPUT
    assert "Other!" in errors()
    assert run(["memories", "audit", "--game", other]) == ExitCode.OK
    assert run(["memories", "audit", "--game", other, "--file", str(SLACK_WATER / "Memories.md")]) == ExitCode.BAD_INPUT
    assert "has the memories of Slack Water" in errors()
    assert run(["memories", "audit", "--file", str(SLACK_WATER / "Memories.md")]) == ExitCode.OK


def test_games_and_doctor_show_the_story_folder(other, capsys):
    assert play() == play("--game", other) == ExitCode.OK
    capsys.readouterr()
    assert run(["games"]) == ExitCode.OK
    listed = capsys.readouterr().out
    assert ", 1 episode in game_files/other\n" in listed
    assert listed.index("in game_files/other") < listed.index("in game_files/slack-water")
    assert run(["doctor", "--game", other]) == ExitCode.OK
    assert "game_files/other is writable" in capsys.readouterr().out
    assert run(["doctor", "--game", other, "--workdir", str(SLACK_WATER)]) == ExitCode.BAD_INPUT
    assert contents(OTHER)


def mark_folders(folders: list[Path], sha256: str, start, outcomes) -> None:
    for folder in folders:
        start.wait(30)
        try:
            mark_folder(folder, StoryMark(sha256=sha256))
            outcomes.put((folder, sha256))
        except WorkdirError:
            outcomes.put((folder, None))


def test_two_stories_racing_for_one_folder(tmp_path):
    folders = [tmp_path / str(number) for number in range(100)]
    for folder in folders:
        folder.mkdir()
    start, outcomes = FORKS.Barrier(2), FORKS.Queue()
    both = [FORKS.Process(target=mark_folders, args=(folders, digit * 64, start, outcomes)) for digit in ("a", "b")]
    for process in both:
        process.start()
    results = {outcomes.get(timeout=30) for _ in folders for _ in both}
    for process in both:
        process.join(30)
    assert results == {(folder, marked) for folder in folders for marked in (None, read_mark(folder).sha256)}
    assert all([path.name for path in folder.iterdir()] == [MARKER] for folder in folders)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"sha256": "abc"}', '{"sha256": 5}', "\xff"])
def test_invalid_marker_is_ignored_in_listings(tmp_path, content):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / MARKER).write_text(content, "latin-1")
    assert story_folders(tmp_path) == []
    with pytest.raises(WorkdirError, match="is damaged"):
        read_mark(tmp_path / "folder")


def test_escape_sequences_in_a_marker_are_removed(tmp_path):
    (tmp_path / MARKER).write_text(json.dumps({"sha256": "a" * 64, "title": "\x1b[31mRed", "later": 1}))
    assert read_mark(tmp_path).name == "\ufffd[31mRed"


def test_run_leaves_git_status_clean(tmp_path):
    shutil.copy(PROJECT / ".gitignore", tmp_path)
    (tmp_path / ROOT).mkdir()
    shutil.copy(PROJECT / ROOT / "README.md", tmp_path / ROOT)
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "."], check=True)
    assert run(["--episodes", "2", "--max-turns", "9", "--quiet"]) == 0
    assert run(["eval", "learning-2x9", "--games", "slackwater", "--seeds", "1", "--ablate", "off", "--jobs", "1"]) == 0
    assert run(["map", "svg", "--out", "map.svg"]) == 0
    assert run(["map", "graphml", "--out", "map.graphml"]) == 0
    assert run(["view", "--export", "run.html"]) == 0
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True)
    assert status.stdout.splitlines() == ["A  .gitignore", "A  game_files/README.md"]

"""Tests of what the command line prints and restores when memory files are missing, damaged or replaced."""

import json
import os
import re
import socket
import time
from pathlib import Path

import pytest

from tests.fixtures.command_line import Started, command
from tests.fixtures.stores import journal_rows
from zorkgpt.cli.process import ExitCode

pytestmark = pytest.mark.slow

PAGE = b"<!DOCTYPE html>\n<html><body><h1>502 Bad Gateway</h1></body></html>\n## Location 5: X\n"


def play(workdir, *more):
    return command("--workdir", str(workdir), "--max-turns", "20", "--episodes", "1", *more)


def started_run(workdir, *more) -> Started:
    """Start a long run and wait until it has learned something."""
    process = Started("--workdir", str(workdir), "--max-turns", "300", "--delay", "0.01", *more)
    log = Path(workdir) / "runs" / "1" / "episode_log.jsonl"
    while process.returncode is None and not (log.is_file() and log.read_bytes().count(b"\n") > 15):
        time.sleep(0.01)
    return process


def restart_hint(workdir) -> str:
    return f"To start over instead, delete both Memories.md and Memories.md.backup in {workdir}.\n"


@pytest.mark.parametrize("arguments", [("--quiet",), ("--json",), ("memories", "stats")])
@pytest.mark.parametrize(("kind", "name"), [("folder", "a folder"), ("pipe", "a pipe"), ("socket", "a socket")])
def test_memory_file_that_is_not_a_file_is_refused(tmp_path, kind, name, arguments):
    path = tmp_path / "Memories.md"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(os.path.relpath(path))
    done = command(*arguments, "--workdir", str(tmp_path))
    assert (done.returncode, done.stdout) == (ExitCode.BAD_INPUT, "")
    assert done.stderr == f"zorkgpt: Can't read {path}: it is {name}, not a file. Move it away, or name another file.\n"


def deletion_of(text: str) -> str:
    """Return the report about the deletion of a file with this text."""
    return f"{text.count('**[')} memories are no longer in the file (the file was deleted)"


def test_deleted_memory_file_is_reported_and_can_be_brought_back(tmp_path):
    play(tmp_path, "--quiet")
    path = tmp_path / "Memories.md"
    note = f"Note: {deletion_of(path.read_text())}: {path}\n      To bring them back: `memories undo`.\n"
    path.unlink()
    quiet = play(tmp_path, "--quiet")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    assert note in quiet.stdout
    note = f"Note: {deletion_of(path.read_text())}: {path}\n"
    path.unlink()
    live = play(tmp_path)
    # When it happens, and in the summary.
    assert live.stdout.count(note) == 2
    assert live.stdout.index(note) < live.stdout.index("[3.1]")
    before = path.read_text()
    path.unlink()
    shown = command("memories", "show", "--workdir", str(tmp_path))
    assert (shown.returncode, shown.stdout) == (ExitCode.BAD_INPUT, "")
    first, second = shown.stderr.splitlines()
    assert first == f"zorkgpt: {path}: {deletion_of(before)}. To bring them back: `memories undo`."
    assert second.startswith(f"zorkgpt: No memories. {before.count('**[')} memories were deleted from the file before ")
    undone = command("memories", "undo", "--workdir", str(tmp_path))
    assert (undone.stderr, undone.stdout) == ("", f"{before.count('**[')} memories brought back.\n")
    # The counts of visits are not brought back.
    counts = re.compile(r"\*\*Visits:.*")
    assert sorted(counts.sub("", path.read_text()).split("\n")) == sorted(counts.sub("", before).split("\n"))


def test_record_that_cannot_be_used_prevents_a_run(tmp_path):
    play(tmp_path, "--quiet")
    path, journal = tmp_path / "Memories.md", tmp_path / "Memories.md.sqlite"
    before = path.read_bytes()
    journal.unlink()
    journal.mkdir()
    done = play(tmp_path)
    message = f"Can't read {journal}: it is a folder, not a file. Move it away, or name another file."
    assert (done.returncode, done.stderr) == (2, f"zorkgpt: {message}\n")
    assert path.read_bytes() == before


def test_deleting_memories_starts_over(tmp_path):
    play(tmp_path, "--quiet")
    path = tmp_path / "Memories.md"
    report = deletion_of(path.read_text())
    path.unlink()
    summary = json.loads(play(tmp_path, "--json").stdout)
    assert [row["what"] for row in summary["damaged_files"]] == [report]
    assert "| **Episodes:** 2\n" in path.read_text()
    assert "| **Episodes:** 1" not in path.read_text()


def test_memory_file_replaced_by_a_web_page_is_restored(tmp_path):
    play(tmp_path, "--quiet")
    path, aside = tmp_path / "Memories.md", tmp_path / "Memories.md.damaged-1"
    path.write_bytes(PAGE)
    done = play(tmp_path, "--quiet")
    assert done.returncode == 0
    assert f"Note: a file was recovered from its backup: {aside}\n      {restart_hint(tmp_path)}" in done.stdout
    assert aside.read_bytes() == PAGE
    assert b"502" not in path.read_bytes()
    path.write_bytes(PAGE)
    looked_at = command("memories", "check", "--workdir", str(tmp_path))
    again = tmp_path / "Memories.md.damaged-2"
    assert f"{path} was damaged (set aside as {again}). It was restored from its backup." in looked_at.stderr


def test_memory_file_deleted_during_a_run_is_reported(tmp_path):
    process = started_run(tmp_path, "--episodes", "1", "--json")
    (tmp_path / "Memories.md").unlink()
    output, errors = process.finish()
    assert (process.returncode, errors) == (0, "")
    [found] = json.loads(output)["damaged_files"]
    path = tmp_path / "Memories.md"
    rows = journal_rows(path)
    removed = [row for row in rows if row["source"] == "hand"]
    assert found == {
        "what": f"{len(removed)} {'memory is' if len(removed) == 1 else 'memories are'} no longer in the file "
        "(the file was deleted)",
        "file": str(path),
        "set_aside": "",
        "way_out": "To bring them back: `memories undo`.",
    }
    assert {row["kind"] for row in removed} == {"removed"}


@pytest.mark.parametrize(
    ("mode", "part", "what"),
    [
        *((mode, "", "The folder {}") for mode in ("--quiet", "--json")),
        ("--quiet", "runs", "The log in {}/runs/1"),
    ],
)
def test_workdir_deleted_during_a_run_ends_it(tmp_path, mode, part, what):
    workdir = tmp_path / "work"
    process = started_run(workdir, "--episodes", "3", mode)
    os.rename(workdir / part, tmp_path / "trash")
    output, errors = process.finish()
    assert (process.returncode, errors) == (ExitCode.EPISODE_FAILED, "")
    assert output.count(f"{what.format(workdir)} was deleted or moved") == 1
    assert "--resume" not in output
    assert not (workdir / part).exists()
    if mode == "--json":
        assert [episode["ending"] for episode in json.loads(output)["episodes"]] == ["error"]


def test_symbolic_link_to_memory_file_is_kept(tmp_path):
    kept, workdir = tmp_path / "kept.md", tmp_path / "work"
    workdir.mkdir()
    (workdir / "Memories.md").symlink_to(kept)
    for episode in (1, 2):
        assert play(workdir, "--quiet").returncode == 0
        assert f"**Episodes:** {', '.join(map(str, range(1, episode + 1)))}\n" in kept.read_text()
    assert (workdir / "Memories.md").is_symlink()
    assert (tmp_path / "kept.md.backup").is_file()

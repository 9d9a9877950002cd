"""Tests of the command line with memories on PostgreSQL. No output contains the password."""

import json
import re

import psycopg
import pytest
from typer.testing import CliRunner

from tests.fixtures.command_line import command
from tests.fixtures.memory import memory
from zorkgpt.cli.app import run as in_process
from zorkgpt.cli.memory_changes import app

SECRET = "s3cr%40t"
FILE = "# Location Memories\n\n## Location 7: Attic\n\n### Memories\n\n**[NOTE] Rope** *(Ep1, T1)*\nA rope.\n"


@pytest.fixture
def address(postgres):
    """Address with a password, which this server ignores."""
    with postgres.open() as manager:
        manager.add_memory(5, "Hall", memory("Sword", "core", text="A sword hangs here."))
        manager.add_memory(5, "Hall", memory("Troll", category="DANGER"))
        manager.add_memory("https://shop/cart", "Cart", memory("Voucher"))
        manager.invalidate_memory(5, "Troll", "It killed me", 25)
    return re.sub(r"postgres:@", f"postgres:{SECRET}@", postgres.address)


def run(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments)])
    output = done.stdout + done.stderr
    assert "s3cr" not in output
    return done.exit_code, output


def test_reading_commands_take_an_address(address):
    expected = {
        ("show", 5): "[NOTE core] Sword (episode 1, turn 3): A sword hangs here.",
        ("explain", "Troll"): "invalidated",
        ("history", "Troll"): "It killed me",
        ("search", "voucher"): "Cart (https://shop/cart): ",
        ("stats",): "2 locations, 3 memories",
        ("check",): "3 memories read, 0 lines not parsed and left unchanged.",
        ("export",): "## Location 5: Hall\n",
        ("export", "--to", "jsonl"): '"title": "Voucher"',
        ("undo", "--list"): "There is nothing to undo.",
        ("dedupe", "--provider", "none"): "0 memories repeat others.",
        ("show", "--as-of", "9:1"): "there is no episode 9",
        ("audit",): "Choose the story with --game",
    }
    for arguments, message in expected.items():
        assert message in run(*arguments, "--file", address)[1], arguments


def test_writing_commands_take_an_address(address, tmp_path):
    other = tmp_path / "Other.md"
    other.write_text(FILE)
    assert run("import", other, "--file", address) == (0, "1 memory imported, 0 already known, 0 skipped.\n")
    assert run("edit", "Sword", "--text", "A rusty sword.", "--file", address)[0] == 0
    assert run("pin", "Sword", "--file", address)[0] == 0
    assert run("hide", "Voucher", "--file", address)[0] == 0
    assert run("move", 7, 8, "--file", address) == (0, "1 memory moved from location 7 to 8.\n")
    assert run("convert", tmp_path / "copy.sqlite", "--file", address)[0] == 0
    shown = [json.loads(line) for line in run("export", "--to", "jsonl", "--file", address)[1].splitlines()]
    assert [(row["place"], row["title"], row["text"], row["pinned"], row["vetoed"]) for row in shown] == [
        (5, "Sword", "A rusty sword.", True, False),
        (5, "Troll", "The text of Troll.", False, False),
        (8, "Rope", "A rope.", False, False),
        ("https://shop/cart", "Voucher", "The text of Voucher.", False, True),
    ]


def test_imported_memories_have_a_persistence(postgres, tmp_path):
    file = tmp_path / "Mine.md"
    file.write_text(FILE)
    assert run("import", file, "--file", postgres.address) == (0, "1 memory imported, 0 already known, 0 skipped.\n")
    assert "PERMANENT] Rope" in run("export", "--file", postgres.address)[1]


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://me:{SECRET}@localhost:1/memories",
        f"postgresql:/me:{SECRET}@localhost/memories",
        f"postgresql+psycopg://me:{SECRET}@localhost/memories",
        f"postgres://me:{SECRET}%@localhost/memories",
        f"PostgreSQL://me:{SECRET}@localhost:x/memories",
        "postgresql://me@localhost:1/memories?password=s3cr%40t",
    ],
)
def test_invalid_address_is_an_error_without_the_password(given, capsys):
    code, output = run("show", "--file", given)
    assert (code, in_process(["mcp", "--memories", given])) == (2, 2)
    assert capsys.readouterr().err == output
    assert "Can't reach PostgreSQL at postgresql://me@localhost:1" in output or "can't be read as one of" in output


@pytest.mark.slow
def test_runs_on_two_machines_share_one_memory(address, postgres, tmp_path, monkeypatch, capsys):
    machines = [{"XDG_STATE_HOME": str(tmp_path / name)} for name in ("one", "other")]
    settings = {"ZORKGPT_SIMPLE_MEMORY__MEMORY_ADDRESS": address}
    played = []
    for number, machine in enumerate(machines):
        workdir = str(tmp_path / f"run{number}")
        done = command("--workdir", workdir, "--max-turns", "12", "--episodes", "1", "--json", **settings, **machine)
        assert (done.returncode, "s3cr" in done.stdout + done.stderr) == (0, False)
        [episode] = json.loads(done.stdout)["episodes"]
        played.append(episode["episode"])
        log = (tmp_path / f"run{number}" / "zorkgpt.log").read_text(encoding="utf-8")
        assert "s3cr" not in log
        assert not (tmp_path / f"run{number}" / "Memories.md").exists()
    assert played == [1, 2]
    knowledge = (tmp_path / "run1" / "knowledgebase.md").read_text(encoding="utf-8")
    assert "*(Ep1, T" in knowledge
    with postgres.open() as manager:
        assert {section.visits for section in manager.store.document.sections} - {0, 1}
    for name, value in {**settings, **machines[0]}.items():
        monkeypatch.setenv(name, value)
    assert in_process(["doctor", "--workdir", str(tmp_path / "run0")]) == 0
    doctor = capsys.readouterr().out
    assert re.search(r"memories +ok +postgresql://postgres@\S+ has \d+ memories; vectors are stored in the d", doctor)
    assert in_process(["eval", "tales-100"]) == 2
    assert "Unset memory_address" in capsys.readouterr().err

    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("UPDATE zorkgpt_state SET subject = 'abc Another Story (sha256 abc…)'")
    refused = command("--workdir", str(tmp_path / "run0"), "--max-turns", "1", **settings, **machines[0])
    assert refused.returncode == 2
    assert re.search(r"keeps memories of Another Story .*; .* can't be played with them", refused.stderr)
    assert "s3cr" not in refused.stderr

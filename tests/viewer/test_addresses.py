"""Tests of the page of a run whose memory is in a database."""

import json
import socket

import pytest

from session.game_configuration import GameConfiguration
from tests.fixtures.runs import a_run
from tests.fixtures.stores import past_of
from tests.fixtures.viewer import client, started, turn, write_log
from zorkgpt.memory.storage.addresses import open_record, without_password
from zorkgpt.viewer.access import AccessRules

pytestmark = pytest.mark.slow

RULES, HEADERS = AccessRules(edit_token="t"), {"authorization": "Bearer t"}


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request):
    """Settings of a run with its memory in a database."""
    if request.param == "sqlite":
        return {"memory_file": "memories.sqlite"}
    return {"memory_address": request.getfixturevalue("postgres").address}


@pytest.fixture
def workdir(tmp_path, settings):
    with a_run(tmp_path / "run", turns=12, settings=settings) as run:
        run.play_episode()
    return tmp_path / "run"


def test_history_of_a_memory_in_a_database_is_shown(workdir, settings):
    [memory] = settings.values()
    remembered = past_of(open_record(workdir, memory))(1, 12)
    api = client(workdir, config=GameConfiguration(**settings))
    assert api.get("/api/run").json()["damage"] == []
    shown = [row["title"] for row in api.get("/api/memories").json()["memories"] if row["persistence"] != "ephemeral"]
    lasting = [each.title for memories in remembered.values() for each in memories if each.persistence != "ephemeral"]
    assert sorted(shown) == sorted(lasting) != []


def test_memory_in_a_database_can_be_edited(workdir, settings):
    api = client(workdir, RULES, config=GameConfiguration(**settings))
    row = next(row for row in api.get("/api/memories").json()["memories"] if row["persistence"] != "ephemeral")
    path = f"/api/places/{json.dumps(row['place'])}" if isinstance(row["place"], int) else "/api/places/game"
    thread = api.get(path).json()["threads"][row["thread"]]
    body = {"title": row["title"], "expected": thread[-1]["memory"]["text"], "text": "As I saw it."}
    assert api.post(f"{path}/memories", json=body, headers=HEADERS).status_code == 200
    api.get("/api/run")
    edited = api.get(path).json()["threads"][row["thread"]][-1]
    assert (edited["kind"], edited["source"], edited["memory"]["text"]) == ("edited", "person", "As I saw it.")


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ("postgresql://u:pw@host:5433/zork", "postgresql://u@host/zork?port=5433"),
        ("postgresql://u@[::1]/zork?password=pw", "postgresql://u@/zork?host=%3A%3A1"),
        (
            "postgres:///a%20b?host=/run/pg&options=-csearch_path%3Dx",
            "postgresql:///a%20b?host=%2Frun%2Fpg&options=-csearch_path%3Dx",
        ),
        ("Memories.md", "Memories.md"),
    ],
)
def test_address_is_recorded_without_its_password(given, recorded):
    assert without_password(given) == recorded
    assert without_password(recorded) == recorded


def test_unreachable_database_is_reported(tmp_path):
    address = "postgresql://nobody@127.0.0.1:1/none"
    write_log(tmp_path, started(memory=without_password(address)), turn(1))
    [damage] = client(tmp_path, config=GameConfiguration(memory_address=address)).get("/api/run").json()["damage"]
    assert "127.0.0.1" in damage["file"]
    assert "Can't reach PostgreSQL" in damage["trouble"]


def test_folder_does_not_choose_the_server(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = without_password(f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/memory")
        write_log(tmp_path, started(memory=address), turn(1))
        [damage] = client(tmp_path).get("/api/run").json()["damage"]
        assert damage["file"] == address
        assert "memory_address" in damage["trouble"]
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("name", ["../other/Memories.md", "/etc/passwd", "http://host/memory", ".."])
def test_path_out_of_the_run_is_ignored(tmp_path, name):
    write_log(tmp_path, started(memory=name), turn(1))
    answer = client(tmp_path).get("/api/run")
    assert (answer.status_code, answer.json()["damage"]) == (200, [])

"""Tests of the objectives file: format, damage, versions and concurrent processes."""

import json
import subprocess
import sys

import pytest

from tests.fixtures.objectives import wanted
from zorkgpt.errors import FileError, ObjectivesFileError
from zorkgpt.objectives.file import ObjectivesFile
from zorkgpt.objectives.models import EpisodeTurn, ObjectiveEvidence, reached

FILE = "objectives.json"


def lamp(**changed):
    return wanted("Take the lamp", kind="holds", thing=10, scope="world", places=(1,), **changed)


def test_file_has_the_documented_format(tmp_path):
    one = reached(lamp(since=15), ObjectiveEvidence(EpisodeTurn(1, 20), "game", "take lamp", 5))
    ObjectivesFile(tmp_path / FILE).save([one])
    state = json.loads((tmp_path / FILE).read_text())
    assert state["metadata"] | {"timestamp": ""} == {"version": 1, "total_objectives": 1, "timestamp": ""}
    assert state["objectives"] == [
        {
            "text": "Take the lamp",
            "condition": {"kind": "holds", "thing": 10, "text": "you carry the brass lamp"},
            "places": [1],
            "origin": {"episode": 1, "turn": 15},
            "reached": [{"episode": 1, "turn": 20, "judge": "game", "words": "take lamp", "gain": 5}],
            "given_up": [],
        }
    ]
    [again] = ObjectivesFile(tmp_path / FILE).load()
    assert (again.key, again.evidence) == (one.key, one.evidence)


def test_file_is_written_only_for_changes(tmp_path):
    ObjectivesFile(tmp_path / FILE).save([])
    assert not (tmp_path / FILE).exists()
    ObjectivesFile(tmp_path / FILE).save([lamp()])
    before = (tmp_path / FILE).stat()
    ObjectivesFile(tmp_path / FILE).save([lamp()])
    ObjectivesFile(tmp_path / FILE).save([])
    assert (tmp_path / FILE).stat() == before


DAMAGED = {
    "cut off": b'{"objectives": [{"text": "Ta',
    "no object": b"[1, 2]",
    "bytes": b"\xff\xfe\x00",
    "empty": b"",
    "no metadata": b'{"objectives": []}',
    "a kind from nowhere": json.dumps(
        {
            "metadata": {"version": 1},
            "objectives": [
                {
                    "text": "x",
                    "condition": {"kind": "magic"},
                    "places": [],
                    "origin": {"episode": 1, "turn": 1},
                    "reached": [],
                    "given_up": [],
                }
            ],
        }
    ).encode(),
    "a condition without its thing": json.dumps(
        {
            "metadata": {"version": 1},
            "objectives": [
                {
                    "text": "x",
                    "condition": {"kind": "holds"},
                    "places": [],
                    "origin": {"episode": 1, "turn": 1},
                    "reached": [],
                    "given_up": [],
                }
            ],
        }
    ).encode(),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("meets_it", ["load", "save"])
def test_damaged_file_is_set_aside_and_reported(tmp_path, caplog, damage, meets_it):
    (tmp_path / FILE).write_bytes(damage)
    if meets_it == "load":
        assert ObjectivesFile(tmp_path / FILE).load() == []
    else:
        ObjectivesFile(tmp_path / FILE).save([lamp()])
        assert len(ObjectivesFile(tmp_path / FILE).load()) == 1
    assert (tmp_path / f"{FILE}.damaged-1").read_bytes() == damage
    assert "was set aside" in caplog.text


def test_file_of_a_newer_version_is_refused_and_kept(tmp_path):
    text = json.dumps({"metadata": {"version": 2}, "objectives": "who knows"})
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ObjectivesFileError, match="later version"):
        ObjectivesFile(tmp_path / FILE).load()
    with pytest.raises(ObjectivesFileError, match="later version"):
        ObjectivesFile(tmp_path / FILE).save([lamp()])
    assert (tmp_path / FILE).read_text() == text


def test_unwritable_folder_is_an_error(tmp_path):
    (tmp_path / f"{FILE}.lock").mkdir()
    with pytest.raises(FileError, match="objectives.json"):
        ObjectivesFile(tmp_path / FILE).save([lamp()])


def test_oldest_unreached_objectives_are_dropped(tmp_path):
    old = reached(lamp(episode=1), ObjectiveEvidence(EpisodeTurn(1, 3), "game", "take lamp"))
    many = [wanted(f"Find number {number}", episode=2, since=number, scope="world") for number in range(320)]
    ObjectivesFile(tmp_path / FILE).save([old, *many])
    left = {objective.text for objective in ObjectivesFile(tmp_path / FILE).load()}
    assert len(left) == 300
    assert {"Take the lamp", "Find number 319"} <= left
    assert "Find number 0" not in left


_PLAYER = """
import sys
from pathlib import Path
from tests.fixtures.objectives import wanted
from zorkgpt.objectives.file import ObjectivesFile
from zorkgpt.objectives.models import ObjectiveEvidence, EpisodeTurn, reached
path, own = Path(sys.argv[1]), int(sys.argv[2])
both = wanted("Take the lamp", kind="holds", thing=10, scope="world")
file, mine = ObjectivesFile(path), []
for number in range(1, 16):
    mine.append(wanted(f"Find number {own * 100 + number}", episode=own, since=number, scope="world"))
    file.save([*mine, reached(both, ObjectiveEvidence(EpisodeTurn(own, 1), "game", "take lamp"))])
"""


@pytest.mark.slow
def test_concurrent_processes_share_one_file(tmp_path):
    path = tmp_path / FILE
    players = [subprocess.Popen([sys.executable, "-c", _PLAYER, str(path), str(own)]) for own in (1, 2, 3)]
    assert [player.wait(timeout=120) for player in players] == [0, 0, 0]
    stored = ObjectivesFile(path).load()
    assert {objective.text for objective in stored} == {
        "Take the lamp",
        *(f"Find number {own * 100 + number}" for own in (1, 2, 3) for number in range(1, 16)),
    }
    [both] = [objective for objective in stored if objective.condition.checkable]
    assert [shown.turn for shown in both.evidence] == [EpisodeTurn(1, 1), EpisodeTurn(2, 1), EpisodeTurn(3, 1)]

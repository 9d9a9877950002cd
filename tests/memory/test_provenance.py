"""Tests of explaining a memory from journal, trials and logs."""

import json

import pytest

from tests.fixtures.memory import FAILS, WORKS, Answers, Play, memory, remember
from tests.fixtures.runs import a_run, turns_of
from tests.fixtures.stores import journal_file, past_of
from zorkgpt.memory.manager import SimpleMemoryManager
from zorkgpt.memory.places import column_of, is_place
from zorkgpt.memory.provenance import Showings
from zorkgpt.memory.storage.history import TurnStamp
from zorkgpt.memory.storage.markdown import sidecar


def test_explanation_contains_origin_changes_and_trials(path):
    play = Play(path)
    answer = remember("Lever", text="It opens the gate.", action="pull lever", category="SUCCESS")
    better = remember("Rope", text="It opens the gate.", supersedes_memory_titles={"Lever"})
    play.manager = SimpleMemoryManager(
        game_state=play.state, path=path, synthesizer=Answers(answer, answer, None, better)
    )
    for title in ("Axe", "Zither"):
        play.manager.add_memory(5, "Hall", memory(title, text=f"{title}s.", action="pull lever", category="SUCCESS"))
    play.turn(3, "pull lever", **WORKS)
    play.turn(4, "pull lever", **WORKS)
    play.turn(6, "pull lever", **FAILS)
    play.turn(9, "pull rope", **WORKS)
    play.manager.reset_episode()
    [explanation] = play.manager.explain("lever")
    assert (explanation.location_id, explanation.location_name, explanation.title) == (5, "Hall", "Lever")
    assert explanation.made.turn_stamp == TurnStamp(2, 3, "pull lever", "Click.")
    kinds = [record.change.kind for record in explanation.records]
    assert kinds == ["added", "credited", "seen again", "superseded"]
    assert explanation.records[-1].turn_stamp == TurnStamp(2, 9, "pull rope", "Click.")
    assert explanation.memory.superseded_by == "Rope"
    assert [(trial.turn, trial.action, trial.worked) for trial in explanation.trials] == [(4, "pull lever", True)]
    assert explanation.shown == ()


def test_title_at_several_places_is_explained_per_place(path):
    with SimpleMemoryManager.open(path) as manager:
        for place in (7, 5):
            manager.add_memory(place, f"Room {place}", memory("Sword"))
        assert [(explanation.location_id, explanation.location_name) for explanation in manager.explain("SWORD")] == [
            (5, "Room 5"),
            (7, "Room 7"),
        ]
        assert [explanation.location_id for explanation in manager.explain("Sword", 7)] == [7]
        assert manager.explain("Axe") == manager.explain("Sword", 6) == []


def test_memory_without_a_journal_is_explained(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("Sword"))
    journal_file(path).unlink()
    with SimpleMemoryManager.open(path) as manager:
        [explanation] = manager.explain("Sword")
    assert (explanation.memory.title, [record.source for record in explanation.records]) == ("Sword", ["baseline"])


def test_deleted_memory_is_explained(path):
    with SimpleMemoryManager.open(path) as manager:
        manager.add_memory(5, "Hall", memory("Sword"))
    path.write_text(path.read_text().replace("**[NOTE - PERMANENT] Sword** *(Ep1, T3, +0)*\nThe text of Sword.\n", ""))
    with SimpleMemoryManager.open(path) as manager:
        [explanation] = manager.explain("Sword")
    assert (explanation.memory, [record.change.kind for record in explanation.records]) == (None, ["added", "removed"])


def test_former_title_is_explained_and_found(home):
    with home.open() as manager:
        manager.add_memory(5, "Hall", memory("Sword"))
        manager.update("Sword", 5, title="Elvish sword")
        manager.add_memory(6, "Attic", memory("Sword"))
        by_title = {title: manager.explain(title) for title in ("sword ", "ELVISH SWORD")}
        pages = [manager.history(after=position, limit=1) for position in (0, manager.history()[0].position)]
    assert [(each.location_id, len(each.records)) for each in by_title["sword "]] == [(5, 2), (6, 1)]
    assert [(each.location_id, len(each.records)) for each in by_title["ELVISH SWORD"]] == [(5, 2)]
    assert [[(change.kind, change.after.title) for change in page] for page in pages] == [
        [("added", "Sword")],
        [("edited", "Elvish sword")],
    ]


def test_long_texts_are_shortened(path):
    play = Play(path)
    play.manager = SimpleMemoryManager(game_state=play.state, path=path, synthesizer=Answers(remember("Lever")))
    play.state.turn_count = 3
    context = {"score_delta": 5, "turn": 3}
    play.manager.record_action_outcome(5, "Hall", "pull " * 100, "A long\nstory. " * 10_000, context)
    [explanation] = play.manager.explain("Lever")
    assert len(explanation.made.turn_stamp.response) == 400
    assert explanation.made.turn_stamp.response.startswith("A long story. A long")
    assert explanation.made.turn_stamp.response.endswith("…")
    assert len(explanation.made.turn_stamp.action) == 120


@pytest.mark.slow
def test_explanation_of_a_real_run_lists_when_it_was_shown(tmp_path):
    with a_run(tmp_path, turns=30) as run:
        run.play_episode()
        run.play_episode()
        turns = turns_of(tmp_path, 1) + turns_of(tmp_path, 2)
        located = [each for each in run.simple_memory.all_memories() if is_place(each.location_id)]
        kept = {(each.memory.title, each.location_id) for each in located}
        explanations = [explanation for title, place in kept for explanation in run.simple_memory.explain(title, place)]
    assert any(each.shown for each in explanations)
    for each in explanations:
        here = [turn for turn in turns if turn.before.location_id == each.location_id]
        with_it = [turn for turn in here if f"] {each.title}: " in turn.memory_shown]
        by_episode = [[turn.turn for turn in with_it if turn.episode == episode] for episode in (1, 2)]
        shown = [Showings(number, its[0], its[-1], len(its)) for number, its in enumerate(by_episode, start=1) if its]
        assert list(each.shown) == shown
        rows = json.loads(json.dumps(each.to_dict()))["shown"]
        assert [row["first_turn"] for row in rows] == [showings.first_turn for showings in shown]


def test_ephemeral_memory_is_explained_during_and_after_its_episode(tmp_path):
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        manager.add_memory(5, "Hall", memory("Rope", "ephemeral"))
        [during] = manager.explain("rope")
        assert during.memory == manager.ephemeral_cache[5][0]
        manager.reset_episode()
        [after] = manager.explain("rope")
    assert (after.memory, after.made, after.title) == (None, during.made, "Rope")


def test_invalid_log_lines_are_ignored(tmp_path):
    with a_run(tmp_path, turns=8) as run:
        run.play_episode()
        kept = run.simple_memory
        place = min(kept.memory_cache)
        before = kept.explain("Starts here", place)
    bad = "[" * 100_000 + "] Starts here:\n"
    with (tmp_path / "runs/1/episode_log.jsonl").open("a") as file:
        file.write(bad)
    database = sidecar(tmp_path / "Memories.md")
    database.put(
        "INSERT INTO zorkgpt_journal (place, memory, source, record) VALUES (%s, 'a', 'agent', %s)",
        [(column_of(place), bad)],
    )
    of_nothing = json.loads(database.rows("SELECT record FROM zorkgpt_journal")[0][0]) | {"before": None, "after": None}
    database.put(
        "INSERT INTO zorkgpt_journal (place, memory, source, record) VALUES (%s, 'a', 'agent', %s)",
        [(column_of(place), json.dumps(of_nothing))],
    )
    database.put(
        "INSERT INTO zorkgpt_journal (place, memory, source, kind, record) VALUES (%s, 'a', 'agent', 'credited', %s)",
        [(column_of(place), bad)],
    )
    with SimpleMemoryManager.open(tmp_path / "Memories.md") as manager:
        assert all(trial.turn <= 8 for trial in manager.store.journal.trials())
        assert manager.explain("Starts here", place) == before
        manager.add_memory(place, "", memory("Later"))
        assert len(manager.explain("Later", place)[0].records) == 1
    assert place in past_of(tmp_path / "Memories.md")(1, 8)
    with a_run(tmp_path, turns=8) as run:
        assert run.play_episode().reason == "turn limit"

"""Tests of the objectives of a run, with and without a model."""

import json

import pytest

from tests.fixtures.objectives import LAMP, Played, at, turn
from zorkgpt.encoding import as_json
from zorkgpt.errors import LLMError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.storage.markdown import MarkdownStore
from zorkgpt.objectives.finder import ModelObjectiveFinder
from zorkgpt.objectives.models import ObjectiveStatus
from zorkgpt.objectives.saved import ObjectiveMemories
from zorkgpt.runlog.events import from_record, to_record

LAMP_WANTED = {"new": [{"text": "Take the lamp", "kind": "holds", "thing": 10, "places": [1], "scope": "world"}]}
NOTHING = {"new": []}
SETTINGS = {"objective_update_interval": 5}
TAKEN = {"action": "take lamp", "after": at(carried=[LAMP], score=5)}


def played(workdir, *answers, **settings) -> tuple[Played, ScriptedLLM]:
    llm = ScriptedLLM({"objectives": answers})
    run = Played(workdir, model=ModelObjectiveFinder(llm), **SETTINGS | settings)
    return run.begin(1), llm


def metrics(run: Played) -> dict:
    return run.manager.get_status()["metrics"]


def test_model_is_asked_at_the_interval_and_objectives_are_shown_until_reached(tmp_path):
    run, llm = played(tmp_path, LAMP_WANTED, NOTHING)
    run.idle(1, 4)
    assert (run.manager.lines(), llm.calls) == ((), [])
    run.idle(5, 9)
    assert run.manager.lines() == ("Take the lamp; done when you carry the brass lamp; at Hall (1)",)
    assert len(llm.calls) == 1
    run.play(turn(10, **TAKEN))
    assert run.manager.lines() == ()
    assert len(llm.calls) == 2
    status = run.manager.get_status()
    assert status["type"] == "objective"
    assert (metrics(run)["discovered"], metrics(run)["reached_by_ground_truth"]) == (1, 1)


def test_objectives_are_updated_once_per_turn(tmp_path):
    run, llm = played(tmp_path, LAMP_WANTED)
    run.idle(1, 5)
    run.manager.process_periodic_update()
    run.play(turn(5))
    assert len(llm.calls) == 1


def test_objective_in_words_is_judged_with_evidence(tmp_path):
    asked = {"new": [{"text": "Find out who lives here", "done_when": "Somebody tells."}]}
    verdict = {"reached": [{"number": 1, "turn": 7, "quote": "The miller lives here"}]}
    run, _ = played(tmp_path, asked, verdict)
    run.idle(1, 6)
    run.play(turn(7, "knock", "“The miller lives here,” she says."))
    assert metrics(run)["open"] == 1
    run.idle(8, 10)
    assert (metrics(run)["reached_by_model"], metrics(run)["unsupported"]) == (1, 0)


def test_failing_model_is_logged_once_and_counted(tmp_path, caplog):
    run, _ = played(tmp_path, LLMError("no answer"), "nonsense", "nonsense", LAMP_WANTED)
    run.idle(1, 15)
    assert metrics(run)["model_failures"] == 2
    assert caplog.text.count("the model could not review the objectives") == 1
    assert len(run.manager.lines()) == 1


def many(first: int, count: int = 5) -> dict:
    return {"new": [{"text": f"Find number {number}"} for number in range(first, first + count)]}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ({"keep": [6, 1, 99]} | many(11, 1), [11, 1, 6]),
        ({"keep": []}, [*range(6, 11), *range(1, 6)]),
        (LLMError("no answer"), [*range(6, 11), *range(1, 6)]),
    ],
    ids=["by the model", "the model keeps all", "the model fails"],
)
def test_too_many_objectives_are_reduced_by_the_next_review(tmp_path, answer, left):
    settings = {"max_objectives_before_forced_refinement": 7, "refined_objectives_target_count": 3}
    run, llm = played(tmp_path, many(1), many(6), answer, **settings)
    run.idle(1, 15)
    assert ["The list is too long" in call.prompt for call in llm.calls] == [False, False, True]
    assert list(run.manager.lines()) == [f"Find number {number}" for number in left]
    assert metrics(run)["refined"] == (8 if 11 in left else 0)
    assert metrics(run)["reached_by_model"] == 0


def test_objectives_are_reduced_at_the_interval(tmp_path):
    settings = {"objective_refinement_interval": 10, "refined_objectives_target_count": 3}
    run, llm = played(tmp_path / "on", many(1), {"keep": [2]}, **settings)
    run.idle(1, 10)
    assert (len(run.manager.lines()), len(llm.calls)) == (1, 2)
    off, llm = played(tmp_path / "off", many(1), {"keep": [2]}, enable_objective_refinement=False, **settings)
    off.idle(1, 10)
    assert (metrics(off)["open"], len(llm.calls)) == (5, 2)
    few, llm = played(tmp_path / "few", many(1, 3), {"keep": [2]}, **settings)
    few.idle(1, 10)
    assert (metrics(few)["open"], len(llm.calls)) == (3, 2)


def test_world_objectives_continue_in_later_episodes(tmp_path):
    run, _ = played(tmp_path, LAMP_WANTED | {"new": [*LAMP_WANTED["new"], {"text": "Wait for rain"}]}, NOTHING)
    run.idle(1, 5)
    run.play(turn(6, **TAKEN))
    run.begin(2)
    assert len(run.manager.lines()) == 1
    other = Played(tmp_path).begin(3)
    assert other.manager.lines() == (
        "Take the lamp; done when you carry the brass lamp; at Hall (1); "
        "to be done again as in episode 1, turn 6, by “take lamp”",
    )


def test_without_memory_nothing_is_read_or_saved(tmp_path):
    run, _ = played(tmp_path, LAMP_WANTED, remember=False)
    run.idle(1, 5)
    assert len(run.manager.lines()) == 1
    run.begin(2)
    assert run.manager.lines() == ()
    assert list(tmp_path.iterdir()) == []


def test_objectives_of_another_process_join_at_the_next_episode(tmp_path):
    run, _ = played(tmp_path / "shared", NOTHING)
    other, _ = played(tmp_path / "shared", LAMP_WANTED)
    other.idle(1, 5)
    run.idle(1, 5)
    assert run.manager.lines() == ()
    run.begin(2)
    assert len(run.manager.lines()) == 1


def test_unwritable_record_is_logged_once(tmp_path, caplog):
    run, _ = played(tmp_path, LAMP_WANTED, NOTHING, NOTHING)
    (tmp_path / "Memories.md.lock").unlink(missing_ok=True)
    (tmp_path / "Memories.md.lock").mkdir()
    run.idle(1, 7)
    run.play(turn(8, **TAKEN))
    assert caplog.text.count("the objectives could not be saved") == 1
    assert metrics(run)["file_failures"] == 2
    assert metrics(run)["reached_by_ground_truth"] == 1
    (tmp_path / "Memories.md.lock").rmdir()
    run.begin(2)
    assert len(run.manager.lines()) == 1


def test_logged_objectives_restore_all(tmp_path):
    answers = (many(1), LAMP_WANTED, {"reached": [{"number": 1, "turn": 12, "quote": "rain falls"}]})
    records = [turn(n) for n in range(1, 12)] + [turn(12, "wait", "The rain falls."), *(turn(n) for n in (13, 14, 15))]
    whole, _ = played(tmp_path / "whole", *answers)
    whole.play(*records)
    for stop in (0, 3, 5, 11, 12):
        before, _ = played(tmp_path / f"stopped-{stop}", *answers)
        before.play(*records[:stop])
        logged = from_record(json.loads(as_json(to_record(before.manager.state()))))
        after, _ = played(tmp_path / f"stopped-{stop}", *answers[stop // 5 :])
        for record in records[:stop]:
            after.state.history.add(record)
            after.manager.process_turn(record)
        after.manager.repeat(logged)
        for record in records[:stop]:
            after.manager.process_turn(record)
        after.play(*records[stop:])
        assert after.manager.state() == whole.manager.state()
        assert after.manager.lines() == whole.manager.lines()


def test_pursued_objectives_are_listed_with_stale_ones_last(tmp_path):
    run, _ = played(tmp_path, many(1), many(6), *[NOTHING] * 11)
    run.idle(1, 65)
    lines = run.manager.lines()
    assert list(lines[:5]) == [f"Find number {number}" for number in range(6, 11)]
    assert list(lines[5:]) == [f"Find number {number}; no progress for a while" for number in range(1, 6)]
    assert {objective.status for objective in run.manager.tracker.pursued()} == {
        ObjectiveStatus.OPEN,
        ObjectiveStatus.STALE,
    }


def test_episode_objectives_are_dropped_at_the_end(tmp_path):
    run, _ = played(tmp_path, {"new": [*LAMP_WANTED["new"], {"text": "Wait for rain"}]})
    run.idle(1, 5)
    run.manager.end_episode("turn limit")
    assert [objective.text for objective in run.manager.tracker.pursued()] == ["Take the lamp"]
    assert (metrics(run)["open"], metrics(run)["ended_with_the_episode"]) == (1, 1)
    run.manager.end_episode("turn limit")
    assert metrics(run)["ended_with_the_episode"] == 1
    saved = ObjectiveMemories(MarkdownStore(tmp_path / "Memories.md")).load()
    assert [objective.text for objective in saved] == ["Take the lamp"]


def test_last_turn_is_announced_and_does_not_reduce_objectives(tmp_path):
    settings = {"objective_refinement_interval": 5, "refined_objectives_target_count": 1, "max_turns_per_episode": 10}
    run, llm = played(tmp_path, many(1), many(6), **settings)
    run.idle(1, 10)
    for wanted in ("The episode ends with this turn", "The list is too long"):
        assert [wanted in call.prompt for call in llm.calls] == [False, wanted.startswith("The episode")]

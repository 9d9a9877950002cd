"""Tests of the knowledge base over turns and episodes, with rules and a scripted model."""

from pathlib import Path

import pytest

from game_interface.game import Game
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from tests.fixtures.memory import memory
from tests.fixtures.runs import CtrlC, CutGame, a_run, a_walkthrough, press_ctrl_c, resume
from zorkgpt.errors import LLMError, LLMUnreachable
from zorkgpt.knowledge.file import parse
from zorkgpt.knowledge.lines import evidence_of, is_struck
from zorkgpt.knowledge.store import KnowledgeStore
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.models import Memory
from zorkgpt.runlog.episodes import last_end, read_episode
from zorkgpt.runlog.events import KnowledgeUpdated

pytestmark = pytest.mark.slow

LESSON = {"new": [{"section": "dangers", "text": "Green ground gives way.", "turns": [2]}]}
WISDOM = {"new": [{"section": "insights", "text": "See the village first.", "turns": []}]}
NOTHING = {"new": []}
REMEMBER_NOTHING = {"should_remember": False}


class Script:
    """Answers the knowledge role from a list, and other roles without content."""

    def __init__(self, *answers) -> None:
        self._answers = list(answers)

    def __call__(self, messages, role):
        if role != "knowledge":
            return REMEMBER_NOTHING
        if not self._answers:
            raise LLMError("The script is at its end.")
        answer = self._answers.pop(0)
        if isinstance(answer, type):
            raise answer
        return answer


def scripted(
    workdir: Path, *answers, turns: int = 30, game: Game | None = None, **settings
) -> tuple[ZorkOrchestratorV2, ScriptedLLM]:
    """Return a run of the rules player with a model for all other roles."""
    llm = ScriptedLLM(Script(*answers))
    settings = {"enable_critic": False, "knowledge_update_interval": 10} | settings
    return a_run(workdir, turns=turns, llm=llm, game=game, settings=settings), llm


def asked(llm: ScriptedLLM) -> list[str]:
    return [call.prompt for call in llm.calls if call.role == "knowledge"]


def knowledge(workdir: Path) -> tuple[Memory, ...]:
    path = workdir / "knowledgebase.md"
    return parse(path.read_bytes()).lines if path.exists() else ()


def texts(workdir: Path) -> list[str]:
    return [line.text for line in knowledge(workdir)]


def postponed(workdir: Path) -> dict[int, int]:
    """Return the episodes that are to be learned from later, with the turns that were learned from."""
    return KnowledgeStore.open(workdir).postponed()


def updates(workdir: Path, episode: int = 1) -> list[KnowledgeUpdated]:
    return [event for event in read_episode(workdir, episode) if isinstance(event, KnowledgeUpdated)]


def test_model_is_asked_at_intervals_about_new_turns(tmp_path):
    run, llm = scripted(tmp_path, LESSON, NOTHING, NOTHING, turns=25)
    with run:
        run.play_episode()
    first, second, last = asked(llm)
    assert [("An episode is over" in question) for question in (first, second, last)] == [False, False, True]
    assert ("Turn 1," in first, "Turn 10," in first, "Turn 11," in first) == (True, True, False)
    assert ("Turn 10," in second, "Turn 11," in second, "Turn 20," in second) == (False, True, True)
    assert ("Turn 21," in last, "Turn 25," in last) == (True, True)
    assert 'Green ground gives way." (confirmed 0 times' in second
    [line] = knowledge(tmp_path)
    assert (line.text, line.episode, line.first_turn, line.last_turn) == ("Green ground gives way.", 1, 2, 2)


def test_numbered_lines_are_confirmed_and_contradicted(tmp_path):
    more = {"new": [{"section": "lessons", "text": "Crabs come at night.", "turns": []}]}
    second = more | {"confirmed": [1, 7, 0], "contradicted": [{"number": 9, "reason": "x"}]}
    third = {"new": [], "contradicted": [{"number": at, "reason": "No.", "turns": [25]} for at in (1, 2)]}
    gulls = {"section": "lessons", "text": "Gulls sleep on one leg.", "turns": []}
    fourth = {"new": [gulls], "contradicted": [{"number": 1, "reason": "No."}]}
    run, _ = scripted(tmp_path, LESSON, second, third, fourth, turns=40)
    with run:
        end = run.play_episode()
    ground, crabs, _ = knowledge(tmp_path)
    assert (evidence_of(ground), ground.invalidation_reason) == ("confirmed 1, contradicted 1", None)
    assert (evidence_of(crabs), crabs.invalidation_reason) == ("contradicted 1", "Ep1, T25: No.")
    assert [is_struck(ground), is_struck(crabs)] == [False, True]
    counted = end.metrics["knowledge"]
    assert (counted["numbers_ignored"], counted["contradictions_without_a_turn"]) == (3, 1)
    assert [(event.turn, event.added, event.struck) for event in updates(tmp_path)] == [
        (10, ["Green ground gives way."], []),
        (20, ["Crabs come at night."], []),
        (30, [], ["Crabs come at night."]),
        (end.turns, ["Gulls sleep on one leg."], []),
    ]
    assert updates(tmp_path)[-1].text == (tmp_path / "knowledgebase.md").read_text()


@pytest.mark.parametrize("answer", ["no JSON at all", '{"new": "much"}', {"new": [{"section": "x", "text": "y"}]}])
def test_unusable_answer_teaches_nothing_and_is_not_repeated(tmp_path, answer):
    run, llm = scripted(tmp_path, answer, answer, LESSON, NOTHING, turns=25)
    with run:
        end = run.play_episode()
    assert "Turn 1," not in asked(llm)[2]
    assert (texts(tmp_path), end.metrics["knowledge"]["unusable_answers"]) == (["Green ground gives way."], 1)


def test_failed_question_is_repeated_later(tmp_path, caplog):
    run, llm = scripted(tmp_path, LLMUnreachable("gone"), LESSON, turns=20)
    with run:
        end = run.play_episode()
    assert (end.reason, end.turns, end.metrics["knowledge"]["failures"]) == ("turn limit", 20, 1)
    assert "Turn 1," in asked(llm)[1]
    assert "Turn 20," in asked(llm)[1]
    assert texts(tmp_path) == ["Green ground gives way."]
    assert caplog.text.count("the knowledge base could not be updated") == 1


def test_model_text_never_becomes_structure(tmp_path):
    forged = "## LESSONS LEARNED\n- Obey. *(Ep1, T1)* <script> --> ~~x~~"
    run, _ = scripted(tmp_path, {"new": [{"section": "lessons", "text": forged}]}, turns=10)
    with run:
        run.play_episode()
    assert texts(tmp_path) == [" ".join(forged.split())]
    assert (tmp_path / "knowledgebase.md").read_text().count("## LESSONS LEARNED") == 2


@pytest.mark.parametrize(
    ("settings", "turns", "about_the_episode"),
    [({}, 3, True), ({}, 100, True), ({"enable_inter_episode_synthesis": False}, 100, False)],
)
def test_every_episode_is_asked_about_once_at_its_end(tmp_path, settings, turns, about_the_episode):
    llm = ScriptedLLM(Script(WISDOM if about_the_episode else LESSON))
    with a_walkthrough(tmp_path, *["look"] * turns, turns=turns, llm=llm, settings=settings) as run:
        run.play_episode()
    assert texts(tmp_path) == ["See the village first." if about_the_episode else "Green ground gives way."]
    [question] = asked(llm)
    assert ("An episode is over" in question, f"Turn {turns}," in question) == (about_the_episode, True)


def test_interrupted_episode_is_asked_about_at_the_next_start(tmp_path):
    run, llm = scripted(tmp_path, turns=200)
    run.watchers = [CtrlC(5)]
    with run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    assert asked(llm) == []
    assert 1 in postponed(tmp_path)
    run, llm = scripted(tmp_path, LESSON, turns=1)
    with run:
        run.process_turn()
        assert texts(tmp_path) == ["Green ground gives way."]
    assert 'Episode 1, ended by: "interrupted", after 5 turns' in asked(llm)[0]
    assert "Turn 5," in asked(llm)[0]
    assert 1 not in postponed(tmp_path)
    assert next(event.added for event in updates(tmp_path, 2)) == ["Green ground gives way."]


def test_ctrl_c_during_the_last_question_defers_it(tmp_path):
    run, llm = scripted(tmp_path, KeyboardInterrupt, turns=5)
    with run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    assert len(asked(llm)) == 1
    assert 1 in postponed(tmp_path)
    assert read_episode(tmp_path, 1)[-1].reason == "interrupted"


@pytest.mark.parametrize("reason", ["interrupted", "error", "budget"])
def test_no_model_is_asked_after_an_abnormal_end(tmp_path, reason):
    run, llm = scripted(tmp_path)
    with run:
        run.process_turn()
        manager_of(run).end_episode(reason)
        assert asked(llm) == []
        assert 1 in postponed(tmp_path)


def test_rules_conclude_an_interrupted_episode_at_once(tmp_path):
    run = a_walkthrough(tmp_path, "take penny", "save", "wait", watchers=(CtrlC(3),))
    with run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    assert postponed(tmp_path) == {}
    assert any(text.startswith("“save” is not accepted") for text in texts(tmp_path))


@pytest.mark.parametrize("left", ["log gone", "still failing"])
def test_failed_catch_up_ends_nothing(tmp_path, left):
    run, _ = scripted(tmp_path, turns=200)
    run.watchers = [CtrlC(5)]
    with run, pytest.raises(KeyboardInterrupt):
        run.play_episode()
    if left == "log gone":
        (tmp_path / "runs" / "1" / "episode_log.jsonl").unlink()
    run, _ = scripted(tmp_path, turns=3)
    with run:
        assert run.play_episode().reason == "turn limit"
    assert (1 in postponed(tmp_path)) is (left == "still failing")


def test_player_sees_knowledge_without_struck_lines(tmp_path):
    (tmp_path / "knowledgebase.md").write_text(
        "## LESSONS LEARNED\n\n- Look first.\n- ~~Sing.~~ *(Ep1, T1; confirmed 0, contradicted 1)*\n"
    )
    run, _ = scripted(tmp_path)
    with run:
        run.reset_episode()
        now = run.services.game.observe()
        assert run.managers.context.player_context(now, "").knowledge == ("Look first.",)


def test_ending_an_episode_again_changes_nothing(tmp_path):
    run, llm = scripted(tmp_path, LESSON, LESSON, turns=10)
    with run:
        run.play_episode()
        before = (tmp_path / "knowledgebase.md").read_bytes()
        manager_of(run).end_episode("turn limit")
    assert (tmp_path / "knowledgebase.md").read_bytes() == before
    assert len(asked(llm)) == 1


def manager_of(run: ZorkOrchestratorV2):
    return next(manager for manager in run.managers.in_order if manager.get_status()["type"] == "knowledge")


@pytest.mark.parametrize("edited", [False, True])
def test_resumed_episode_restores_knowledge_but_no_edit(tmp_path, edited):
    path = tmp_path / "knowledgebase.md"
    path.write_text("## LESSONS LEARNED\n\n- Look first.\n")
    run, _ = scripted(tmp_path, LESSON, game=CutGame(10, press_ctrl_c))
    with run:
        for _ in range(9):
            run.process_turn()
        with pytest.raises(KeyboardInterrupt):
            run.process_turn()
    # A model that is asked within the turn leaves no transaction open.
    assert "Green ground" in path.read_text()
    if edited:
        path.write_text(path.read_text() + "\nMy words.\n")
    run, llm = scripted(tmp_path, LESSON)
    with run:
        resume(run, 10)
        assert texts(tmp_path) == ["Green ground gives way.", "Look first."]
    # The line was undone with its turn, which is asked about again, but not the edit.
    assert len(asked(llm)) == 1
    assert ("My words." in path.read_text()) is edited


def test_resumed_episode_has_the_same_counts(tmp_path):
    lessons = [LESSON] * 6
    whole, _ = scripted(tmp_path / "whole", *lessons)
    with whole:
        whole.play_episode()
    cut, _ = scripted(tmp_path / "cut", *lessons)
    with cut:
        for _ in range(25):
            cut.process_turn()
    again, _ = scripted(tmp_path / "cut", *lessons)
    with again:
        again.play_episode(resume=1)
    expected, found = (last_end(read_episode(tmp_path / name, 1)).metrics["knowledge"] for name in ("whole", "cut"))
    assert expected["updates"] > 1
    assert found == expected


def test_unwritable_file_ends_nothing(tmp_path):
    (tmp_path / "knowledgebase.md.lock").mkdir()
    run, _ = scripted(tmp_path, LESSON, LESSON, LESSON, turns=12)
    with run:
        end = run.play_episode()
    assert (end.reason, end.metrics["knowledge"]["failures"] > 0) == ("turn limit", True)
    assert not (tmp_path / "knowledgebase.md").exists()


def test_memories_with_the_same_text_are_not_knowledge(tmp_path):
    run, _ = scripted(tmp_path, *[NOTHING] * 20, turns=10)
    push = memory("push wall: works", category="SUCCESS", text="It gives way a little.")
    with run:
        for number in (901, 902, 903):
            run.simple_memory.add_memory(number, f"Cave {number}", push)
        run.play_episode()
        shown = [run.simple_memory.get_location_memory(number) for number in (901, 902, 903)]
    assert shown == ["[SUCCESS] push wall: works: It gives way a little."] * 3
    assert not [line for line in knowledge(tmp_path) if "push wall" in line.text]

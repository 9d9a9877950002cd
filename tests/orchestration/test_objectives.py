"""Objectives in the whole loop: the real game, the real log, the player's prompt."""

from itertools import count

import pytest

from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.runs import MODEL, a_run, a_walkthrough
from tests.fixtures.walkthrough import BUNDLED_SEED, get_bundled_walkthrough
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.runlog.episodes import read_episode
from zorkgpt.runlog.events import ObjectivesUpdated

LINE = "Put the chest to use; done when the amber bead is on or in the sea chest"
PROPOSED = {
    "new": [
        {"text": "Put the chest to use", "kind": "thing_at", "thing": "amber bead", "place": "sea chest"},
        {"text": "Carry the punt away", "kind": "holds", "thing": "no such thing", "done_when": "The punt is moved."},
    ]
}


@pytest.mark.slow
def test_the_player_is_told_what_to_pursue_until_the_game_shows_it_is_done(tmp_path):
    commands = get_bundled_walkthrough()[:60]
    script = iter(commands)
    reviewed: list[int] = []
    """The turns after which the objectives were reviewed."""

    def answer(messages, role):
        played = sum(call.role == "agent" for call in llm.calls)
        match role:
            case "agent":
                return f"ACTION: {next(script)}"
            case "objectives":
                reviewed.append(played)
                return PROPOSED if played >= 32 else {"new": []}
            case "critic":
                return {"score": 1, "reason": "as planned"}
        return {"should_remember": False}

    llm = ScriptedLLM(answer)
    with a_run(tmp_path, choice=MODEL, turns=len(commands), seed=BUNDLED_SEED, llm=llm) as run:
        end = run.play_episode()
    told = [LINE in call.prompt for call in llm.calls if call.role == "agent"]
    put = commands.index("put amber bead in chest") + 1
    assert end.turns == len(commands)
    proposed = next(turn for turn in reviewed if turn >= 32)
    assert proposed < put
    assert told == [proposed < turn <= put for turn in range(1, len(commands) + 1)]
    opening = next(call.prompt for call in llm.calls if call.role == "objectives")
    assert reviewed[0] == 0
    assert "The game begins. It said\n```\nThe tide came in behind you" in opening


def test_the_player_sets_and_settles_objectives_of_its_own(tmp_path):
    answers = iter(
        [
            "It is far.\nNEW OBJECTIVE: Find out who lives in the house.\n**New objective:** no\nACTION: north",
            "NEW OBJECTIVE: Take the penny\nACTION: south",
            "DONE: 1\nDONE: find out who lives in the house\nDONE: 7\nACTION: wait",
        ]
    )
    llm = ScriptedLLM(lambda messages, role: next(answers) if role == "agent" else {"new": []})
    with a_run(tmp_path, choice=MODEL, turns=3, remember=False, llm=llm) as run:
        run.play_episode()
        kept = run.managers.objectives.tracker.objectives.values()
        metrics = run.managers.objectives.get_status()["metrics"]
    prompts = [call.prompt for call in llm.calls if call.role == "agent"]
    assert '## Objectives\n\n1. "Take the penny"\n2. "Find out who lives in the house"\n' in prompts[2]
    assert {one.text: (one.status, [each.judge for each in one.evidence]) for one in kept} == {
        "Find out who lives in the house": ("reached", ["player"]),
        "Take the penny": ("reached", ["player"]),
    }
    assert (metrics["reached_by_player"], metrics["unsupported"]) == (2, 1)


@pytest.mark.slow
def test_the_log_says_what_was_pursued_as_of_each_turn(tmp_path):
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.play_episode()
        status = run.managers.objectives.get_status()
    turn, told = 0, []
    for event in read_episode(tmp_path, 1):
        if isinstance(event, TurnRecord):
            turn = event.turn
        elif isinstance(event, ObjectivesUpdated):
            assert (event.episode, event.turn) == (1, turn)
            told.append(event)
    assert told[0].turn < 15
    assert len({event.turn for event in told}) == len(told)
    reached = [one for one in told[-1].objectives if one["status"] == "reached"]
    assert status["metrics"]["reached_by_ground_truth"] == len(reached) > 0
    for one in reached:
        [shown] = one["reached"]
        assert shown["judge"] == "game"
        assert shown["words"] == commands[shown["turn"] - 1]


@pytest.mark.slow
def test_a_second_run_goes_on_with_what_is_of_the_world(tmp_path):
    commands = get_bundled_walkthrough()[:40]
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.play_episode()
        left = {one.key for one in run.managers.objectives.tracker.pursued()}
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.reset_episode()
        assert left <= {one.key for one in run.managers.objectives.tracker.pursued()}
    assert left


def greedy(commands):
    """A player that follows the commands, and a reader of the turns who wants five more things at each look."""
    script, number = iter(commands), count()

    def answer(messages, role):
        match role:
            case "agent":
                return f"ACTION: {next(script)}"
            case "critic":
                return {"score": 1, "reason": "as planned"}
            case "summary":
                return {"summary": "Much was tried."}
            case "objectives" if "You shorten" in messages[0].content:
                return {"keep": list(range(1, 9))}
            case "objectives":
                wanted = (f"Find number {next(number)}, {'which somebody spoke of ' * 6}" for _ in range(5))
                return {"new": [{"text": text} for text in wanted]}
            case "knowledge":
                return {"new": []}
        return {"should_remember": False}

    return ScriptedLLM(answer)


@pytest.mark.slow
def test_every_question_over_a_whole_walkthrough_is_within_its_budget(tmp_path):
    commands = get_bundled_walkthrough()
    llm = greedy(commands)
    with a_run(tmp_path, choice=MODEL, turns=len(commands), seed=BUNDLED_SEED, llm=llm) as run:
        end = run.play_episode()
        pursued = run.managers.objectives.tracker.pursued()
    asked = [call.prompt for call in llm.calls if call.role == "objectives"]
    assert end.turns == len(commands)
    assert len(asked) >= len(commands) // 15
    assert any("You shorten" in prompt for prompt in asked)
    assert max(map(estimated_tokens, asked)) < 6_000
    assert len(pursued) <= GameConfiguration().max_objectives_before_forced_refinement
    assert not any(one.evidence for one in pursued)

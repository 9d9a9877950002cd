"""Tests of objectives in whole episodes."""

from itertools import count

import pytest

from session.game_configuration import GameConfiguration
from session.history import TurnRecord
from tests.fixtures.runs import MODEL, a_run, a_walkthrough
from tests.fixtures.walkthrough import BUNDLED_SEED, get_bundled_walkthrough, turn_of
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
def test_objective_is_in_the_prompt_until_reached(tmp_path):
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
    shown = [LINE in call.prompt for call in llm.calls if call.role == "agent"]
    put = turn_of(commands, "fill bottle", "south", "south")
    """The turn of the return to the open chest, into which the bead goes by itself."""
    assert end.turns == len(commands)
    proposed = next(turn for turn in reviewed if turn >= 32)
    assert proposed < put
    assert shown == [proposed < turn <= put for turn in range(1, len(commands) + 1)]
    opening = next(call.prompt for call in llm.calls if call.role == "objectives")
    assert reviewed[0] == 0
    assert "The game begins. It said\n```\nThe tide came in behind you" in opening


def test_player_adds_and_completes_objectives(tmp_path):
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
    assert {
        objective.text: (objective.status, [evidence.judge for evidence in objective.evidence]) for objective in kept
    } == {
        "Find out who lives in the house": ("reached", ["player"]),
        "Take the penny": ("reached", ["player"]),
    }
    assert (metrics["reached_by_player"], metrics["unsupported"]) == (2, 1)


@pytest.mark.slow
def test_log_contains_objectives_after_each_change(tmp_path):
    commands = get_bundled_walkthrough()
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.play_episode()
        status = run.managers.objectives.get_status()
    turn, updates = 0, []
    for event in read_episode(tmp_path, 1):
        if isinstance(event, TurnRecord):
            turn = event.turn
        elif isinstance(event, ObjectivesUpdated):
            assert (event.episode, event.turn) == (1, turn)
            updates.append(event)
    assert updates[0].turn < 15
    assert len({event.turn for event in updates}) == len(updates)
    reached = [objective for objective in updates[-1].objectives if objective["status"] == "reached"]
    assert status["metrics"]["reached_by_ground_truth"] == len(reached) > 0
    for objective in reached:
        [evidence] = objective["reached"]
        assert evidence["judge"] == "game"
        assert evidence["words"] == commands[evidence["turn"] - 1]


@pytest.mark.slow
def test_world_objectives_continue_in_the_next_run(tmp_path):
    commands = get_bundled_walkthrough()[:40]
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.play_episode()
        pursued = {objective.key for objective in run.managers.objectives.tracker.pursued()}
    with a_walkthrough(tmp_path, *commands, turns=len(commands), seed=BUNDLED_SEED) as run:
        run.reset_episode()
        assert pursued <= {objective.key for objective in run.managers.objectives.tracker.pursued()}
    assert pursued


def greedy(commands):
    """Return a model that follows the commands and proposes five more objectives at each review."""
    script, number = iter(commands), count()

    def answer(messages, role):
        match role:
            case "agent":
                return f"ACTION: {next(script)}"
            case "critic":
                return {"score": 1, "reason": "as planned"}
            case "summary":
                return {"summary": "Much was tried."}
            case "objectives":
                wanted = (f"Find number {next(number)}, {'which somebody spoke of ' * 6}" for _ in range(5))
                return {"new": [{"text": text} for text in wanted], "keep": list(range(1, 9))}
            case "knowledge":
                return {"new": []}
        return {"should_remember": False}

    return ScriptedLLM(answer)


@pytest.mark.slow
def test_objective_prompts_stay_within_budget(tmp_path):
    commands = get_bundled_walkthrough()
    llm = greedy(commands)
    with a_run(tmp_path, choice=MODEL, turns=len(commands), seed=BUNDLED_SEED, llm=llm) as run:
        end = run.play_episode()
        pursued = run.managers.objectives.tracker.pursued()
    prompts = [call.prompt for call in llm.calls if call.role == "objectives"]
    assert end.turns == len(commands)
    assert len(prompts) >= len(commands) // 15
    assert any("The list is too long" in prompt for prompt in prompts)
    assert max(map(estimated_tokens, prompts)) < 6_000
    assert len(pursued) <= GameConfiguration().max_objectives_before_forced_refinement
    assert not any(objective.evidence for objective in pursued)

"""Tests of summarizing turns that no longer fit into the prompt."""

import logging
import re

import pytest

from tests.fixtures.chatty_model import ChattyLLM
from tests.fixtures.runs import MODEL, a_run, a_walkthrough
from zorkgpt.context.prompt import AGENT, prompt_sections
from zorkgpt.context.sections import Budgets
from zorkgpt.context.turns import prompt_for
from zorkgpt.errors import LLMError
from zorkgpt.llm.scripted import ScriptedLLM
from zorkgpt.memory.synthesis import RecentTurn

pytestmark = pytest.mark.slow

TURNS = 20
SETTINGS = {"history_tokens": 1000, "summary_interval": 3}


def played(workdir, answer, turns: int = TURNS):
    """Play a number of turns. Return the run and its model."""
    chatty = ChattyLLM(["wait", "look"] * turns)
    llm = ScriptedLLM(lambda messages, role: answer(messages) if role == "summary" else chatty._reply(messages, role))
    run = a_run(workdir, choice=MODEL, turns=turns, llm=llm, remember=False, settings={"context": SETTINGS})
    run.reset_episode()
    for _ in range(turns):
        run.process_turn()
    return run, llm


def asked(llm, role: str) -> list[str]:
    return [call.messages[-1].content for call in llm.calls if call.role == role]


def test_older_turns_are_summarized_repeatedly(tmp_path):
    numbers = iter(range(1, 100))
    run, llm = played(tmp_path, lambda messages: {"summary": f"Summary {next(numbers)}: I waited."})
    with run:
        state, questions, prompts = run.game_state, asked(llm, "summary"), asked(llm, "agent")
        assert 2 <= len(questions) <= TURNS // SETTINGS["summary_interval"]
        assert "# The previous summary" not in questions[0]
        assert "Summary 1: I waited." in questions[1]
        assert state.history_summary == f"Summary {len(questions)}: I waited."
        heading = f"Turns 1 to {state.history_summarized_to}, summarized:"
        assert f"{heading}\n```\n{state.history_summary}\n```\n" in prompts[-1]


def test_summarized_turn_contains_destination_and_reason():
    walk = RecentTurn(4, "Hall", "west", "Cellar\nIt is damp.", "Something glints there.", arrived="Cellar")
    question = prompt_for((walk,), "")[1].content
    assert 'Turn 4, "Hall" to "Cellar": "west", because "Something glints there.". The game: "It is damp."' in question


def test_every_turn_is_in_the_prompt_or_a_summary(tmp_path):
    run, llm = played(tmp_path, lambda messages: {"summary": "I waited."})
    with run:
        summarized = [line for question in asked(llm, "summary") for line in question.splitlines()]
        turns = [int(line.split(",")[0].removeprefix("Turn ")) for line in summarized if line.startswith("Turn ")]
        assert turns == list(range(1, run.game_state.history_summarized_to + 1))
        last = asked(llm, "agent")[-1]
    shown = [turn for turn in range(1, TURNS) if f"\nTurn {turn}, " in last]
    assert shown == list(range(turns[-1] + 1, TURNS))


def test_summary_belongs_to_one_episode(tmp_path):
    run, _ = played(tmp_path, lambda messages: {"summary": "I waited."})
    with run:
        assert run.game_state.history_summary == "I waited."
        run.reset_episode()
        assert run.game_state.history_summary == ""
        assert run.game_state.history_summarized_to == 0


def test_failed_summary_is_repeated_later(tmp_path, caplog):
    def fail(messages):
        raise LLMError("busy")

    with caplog.at_level(logging.WARNING):
        run, llm = played(tmp_path, fail)
    with run:
        metrics = run.managers.context.get_status()["metrics"]
    assert metrics["summaries"] == 0
    assert 1 < metrics["summary_failures"] == len(asked(llm, "summary")) <= TURNS // SETTINGS["summary_interval"]
    assert caplog.text.count("older turns could not be summarized") == 1
    assert "earlier turns left out)\n\nTurn " in asked(llm, "agent")[-1]


def test_turns_are_counted_without_a_model(tmp_path):
    with a_walkthrough(tmp_path, *["wait"] * 40, turns=40, settings={"history_tokens": 250}) as run:
        run.play_episode()
        context = run.managers.context.player_context(run.services.game.observe(), "")
    sections = prompt_sections(AGENT, context, Budgets(250))
    assert re.match(r"The game begins:\n```\n[^`]+\n```\n\n\(\d+ earlier turns left out\)\n\nTurn ", sections[0].text)


@pytest.mark.parametrize("turns", [1, 3])
def test_short_episode_has_no_summary(tmp_path, turns):
    run, llm = played(tmp_path, lambda messages: {"summary": "x"}, turns)
    with run:
        assert asked(llm, "summary") == []

"""Tests of prompt sections in real turns, in this episode and the next."""

import pytest

from tests.fixtures.runs import a_walkthrough
from zorkgpt.agent import prompt_for
from zorkgpt.player import PlayerContext

pytestmark = pytest.mark.slow

COMMANDS = ("north", "south", "wait", "eat milestone")


def context_of(run) -> PlayerContext:
    now = run.services.game.observe()
    return run.managers.context.player_context(now, run.simple_memory.get_location_memory(now.location.num))


def test_context_after_walking_there_and_back(tmp_path):
    with a_walkthrough(tmp_path, *COMMANDS) as run:
        run.reset_episode()
        for _ in COMMANDS:
            last = run.process_turn()
        context = context_of(run)
        prompt = prompt_for(context)[1].content
    assert '- Place: "Causeway End" (location 30)\n' in prompt
    assert '- "north" leads to "Hollow Lane"\n' in prompt
    assert '- "eat milestone"\n' in prompt
    assert "You've been here 2 times, all in this episode.\n" in prompt
    assert "## ROOM DESCRIPTION" not in prompt
    assert '\nTurn 1, "Causeway End" to "Hollow Lane": "north", because ' in prompt
    assert f'"\n```\n{last.transition.response}\n```\n\n## Certain' in prompt
    assert (context.room_description_age, context.response) == (2, last.transition.response)
    assert [turn.action for turn in context.recent] == list(COMMANDS)


def test_next_episode_keeps_visits_only(tmp_path):
    with a_walkthrough(tmp_path, *COMMANDS) as run:
        run.reset_episode()
        for _ in COMMANDS:
            run.process_turn()
        run.reset_episode()
        context = context_of(run)
        prompt = prompt_for(context)[1].content
    assert "You've been here 3 times across 2 episodes.\n" in prompt
    first_line = context.opening.strip().splitlines()[0]
    assert prompt.startswith(f"## The episode so far\n\nThe game begins:\n```\n{first_line}\n")
    assert "\nTurn 1," not in prompt
    assert (context.recent, context.failed_here, context.exits[0].leads_to) == ((), (), "Hollow Lane")

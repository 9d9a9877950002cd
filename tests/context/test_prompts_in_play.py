"""Tests that prompts stay within their budgets over whole walkthroughs with a growing memory."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.fixtures.chatty_model import a_chatty_run
from tests.fixtures.prompt_limits import allowed
from tests.fixtures.walkthrough import BUNDLED_SEED, ZORK1_SEED, get_bundled_walkthrough, get_zork1_walkthrough
from zorkgpt.llm.scripted import ScriptedCall
from zorkgpt.memory.retrieval import estimated_tokens

OTHER_ROLES = {"memory": 6000, "objectives": 6000, "summary": 6000, "knowledge": 12_000}
"""The last role is asked about a hundred turns at once. A server with 16,000 tokens has room for that."""

REMEMBERED = re.compile(r"^## (?:Memories of this place|Remembered dangers)\n(.*?)(?=^## |\Z)", re.S | re.M)
"""Memories of this place, and dangers of its neighbors."""
FENCE_AND_VISITS = 40
IN_THE_HALL = (
    *("close chest", "open chest", "drop sword", "take sword"),
    *("drop letter", "take letter", "turn on lamp", "turn off lamp"),
)


def _beginning(prompt: str) -> str:
    """Return everything before the first turn in the history."""
    return re.split(r"^Turn \d+,", prompt, maxsplit=1, flags=re.M)[0]


def tokens(call: ScriptedCall) -> int:
    return estimated_tokens(call.prompt)


def check(run, llm, commands: list[str]) -> None:
    with run:
        ended = run.play_episode()
        most = OTHER_ROLES | allowed(run.services.config)
        status = run.managers.context.get_status()["metrics"]
    assert ended.turns == len(commands)
    roles = {call.role for call in llm.calls}
    assert roles == set(most)
    for call in llm.calls:
        assert tokens(call) <= most[call.role], call.role
    # The oldest turns are in a summary, and none was lost.
    assert status["summaries"] >= 2
    asked = [call.prompt for call in llm.calls if call.role == "agent"]
    remembered = [estimated_tokens("".join(REMEMBERED.findall(prompt))) for prompt in asked]
    assert 300 < max(remembered) <= 500 + FENCE_AND_VISITS
    assert not any("earlier turns left out" in prompt for prompt in asked)
    assert any("more memories not shown" in prompt for prompt in asked)
    assert any(', because "[...] ' in prompt for prompt in asked)
    changes = sum(_beginning(earlier) != _beginning(other) for earlier, other in pairwise(asked))
    assert changes <= 1 + status["summaries"]


@pytest.mark.slow
def test_prompts_of_the_bundled_story(tmp_path: Path, bundled_story: Path):
    commands = get_bundled_walkthrough()
    # Enough turns in the hall to exceed the budget of its memories.
    at = commands.index("open chest") + 1
    commands[at:at] = IN_THE_HALL
    check(*a_chatty_run(tmp_path, bundled_story, commands, BUNDLED_SEED, history_tokens=4000), commands)


@pytest.mark.slow
def test_prompts_of_zork(tmp_path: Path, zork1: Path):
    commands = get_zork1_walkthrough()[:150]
    check(*a_chatty_run(tmp_path, zork1, commands, ZORK1_SEED, history_tokens=4000), commands)

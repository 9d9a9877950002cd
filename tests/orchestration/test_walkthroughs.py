"""Whole walkthroughs drive all managers without a model: the map is the true one, every prompt within its budget."""

import json

import pytest

from game_interface.story import find_story
from session.history import TurnRecord
from tests.fixtures.prompt_limits import allowed
from tests.fixtures.runs import a_walkthrough
from tests.fixtures.true_moves import WALKTHROUGHS, moves_on, true_moves
from zorkgpt.agent import prompt_for as agent_prompt
from zorkgpt.critic import prompt_for as critic_prompt
from zorkgpt.memory.retrieval import estimated_tokens
from zorkgpt.player import AgentDecision
from zorkgpt.world.map_file import load_map


class Prompts:
    """After every turn: what the player and the critic would be asked next, were they models."""

    def __init__(self) -> None:
        self.run = None
        self.longest = {"agent": 0, "critic": 0}
        self.turns = 0

    def episode_started(self, event) -> None:
        pass

    def episode_ended(self, event) -> None:
        pass

    def turn_played(self, record: TurnRecord) -> None:
        self.turns += 1
        now, budgets = record.transition.after, self.run.services.config.context
        memories = self.run.simple_memory.get_location_memory(now.location.num) if now.location else ""
        context = self.run.managers.context.player_context(
            now, memories, refused=f"{record.transition.action}: why not"
        )
        self._note("agent", agent_prompt(context, budgets))
        self._note("critic", critic_prompt(AgentDecision(record.transition.action, "A plan. " * 200), context, budgets))

    def _note(self, role: str, messages) -> None:
        tokens = sum(estimated_tokens(message.content) for message in messages)
        self.longest[role] = max(self.longest[role], tokens)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "episodes"), [("bundled_story", 2), ("zork1", 1)])
def test_a_walkthrough_drives_every_manager(name, episodes, tmp_path, request):
    story, (seed, walkthrough, _) = request.getfixturevalue(name), WALKTHROUGHS[name]
    commands, prompts = walkthrough(), Prompts()
    options = {"turns": len(commands), "seed": seed, "story": find_story(str(story)), "watchers": (prompts,)}
    with a_walkthrough(tmp_path, *commands, **options) as run:
        prompts.run = run
        ends = [run.play_episode() for _ in range(episodes)]
        told = {manager.get_status()["type"]: manager.get_status() for manager in run.managers.in_order}
        most = allowed(run.services.config)

    assert [end.turns for end in ends] == [len(commands)] * episodes
    assert prompts.turns == episodes * len(commands)
    assert {role: tokens <= most[role] for role, tokens in prompts.longest.items()} == {"agent": True, "critic": True}
    # In all episodes the same was walked, and nothing else is on the map, in memory or on disk.
    true = true_moves(name, story)
    walked = {move: episodes * true.count(move) for move in true}
    assert moves_on(run.services.map.graph) == walked
    assert moves_on(load_map(tmp_path / "map_state.json")) == walked
    assert len(told) == len(run.managers.in_order)
    assert all(set(status) == {"type", "state", "metrics"} for status in told.values())
    assert json.loads(json.dumps(told)) == told
    assert told["objective"]["metrics"]["reached_by_ground_truth"] > 0
    assert told["knowledge"]["metrics"]["lines"] > 0
    exported = json.loads((tmp_path / "current_state.json").read_text("utf-8"))
    assert (exported["episode"], exported["turn"]) == (episodes, len(commands))

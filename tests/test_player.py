"""Tests of what a player must implement."""

from game_interface.models import Observation
from zorkgpt.delegating_players import FollowingPlayer
from zorkgpt.player import AgentDecision, Player, PlayerContext

CONTEXT = PlayerContext(Observation(None, None, None, None, 0, 0), "A hall.")


class Waiting(Player):
    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        return AgentDecision("wait")


class NoLine:
    """A run without a best line."""

    followed = None

    def follow(self, now: Observation, most: int) -> None:
        return None


def test_player_needs_one_method():
    assert Waiting().get_action_with_reasoning(CONTEXT).action == "wait"


def test_following_player_asks_the_inner_one_without_a_line():
    assert FollowingPlayer(Waiting(), NoLine()).get_action_with_reasoning(CONTEXT).action == "wait"

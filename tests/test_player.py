"""Tests of what a player must implement."""

from dataclasses import dataclass, field

from game_interface.models import Observation
from zorkgpt.delegating_players import FollowingPlayer
from zorkgpt.player import AgentDecision, Player, PlayerContext

CONTEXT = PlayerContext(Observation(None, None, None, None, 0, 0), "A hall.")


class Waiting(Player):
    def get_action_with_reasoning(self, context: PlayerContext) -> AgentDecision:
        return AgentDecision("wait")


@dataclass
class Counting(Waiting):
    """A player that counts its resumed turns in its notes."""

    resumed: list[dict[str, int]] = field(default_factory=list)

    def changed_notes(self) -> dict[str, int]:
        return {"resumed": len(self.resumed)}

    def resume(self, notes) -> None:
        self.resumed = list(notes)


class NoLine:
    """A run without a best line."""

    followed = None

    def follow(self, now: Observation, most: int) -> None:
        return None


def test_player_without_notes_needs_one_method():
    player = Waiting()
    player.look_on(CONTEXT, "north")
    player.resume([])
    assert player.changed_notes() == {}
    assert player.get_action_with_reasoning(CONTEXT).action == "wait"


def test_following_player_keeps_the_notes_of_the_inner_one():
    inner = Counting()
    player = FollowingPlayer(inner, NoLine())
    player.resume([{"resumed": 0}, {"resumed": 0}])
    assert inner.resumed == [{"resumed": 0}, {"resumed": 0}]
    assert player.changed_notes() == {"resumed": 2}
    assert player.get_action_with_reasoning(CONTEXT).action == "wait"

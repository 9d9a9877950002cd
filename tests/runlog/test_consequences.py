"""What a list of turns says that each of them has changed."""

import pytest

from session.log_entries import turn_played
from tests.fixtures.objectives import walked
from zorkgpt.runlog.consequences import consequences


@pytest.mark.slow
def test_every_change_of_score_and_of_what_is_carried_on_a_walkthrough_is_told():
    for turn in map(turn_played, walked()):
        told = consequences(turn)
        assert ("score " in told) == (turn.score != turn.score_before)
        taken = turn.action.startswith(("take ", "get ")) and not turn.failed
        assert not taken or "gained " in told, turn.action
        assert ("the player died" in told) == turn.died


@pytest.mark.slow
def test_what_lies_in_something_carried_is_not_told_as_gained_or_lost():
    told = {turn.action: consequences(turn) for turn in map(turn_played, walked())}
    assert told["take lamp"] == "score 10 to 13, gained storm lamp"
    assert "lost" not in told["fill bottle"]
    assert told["put amber bead in chest"].endswith("lost amber bead")

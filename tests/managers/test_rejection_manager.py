"""Tests of when a rejection counts, and when the player overrules it."""

import logging

from hypothesis import given
from hypothesis import strategies as st

from game_interface.models import Location, Observation, Transition
from managers.rejection_manager import LEAST_TRUST, RejectionManager
from session.game_configuration import GameConfiguration
from session.game_state import GameState
from session.history import Rejection, TurnRecord
from zorkgpt.critic import CriticVerdict

HERE = Observation(Location(1, "Hall"), (), (), (), 0, 1)
THERE = Observation(Location(2, "Yard"), (), (), (), 0, 2)
NO = CriticVerdict(False, "It was tried.", "model", -0.8)
YES = CriticVerdict(True)


def a_manager() -> RejectionManager:
    return RejectionManager(logging.getLogger("test"), GameConfiguration(), GameState())


def play(manager: RejectionManager, action: str, *, in_vain: bool) -> None:
    state = manager.game_state
    step = Transition(HERE, action, "Well.", HERE if in_vain else THERE)
    record = TurnRecord(state.episode_id, 1, step, "", "model", "", rejections=manager.of_turn())
    state.add_experience(record)
    manager.process_turn(record)


def overruled(manager: RejectionManager, times: int, *, in_vain: bool) -> None:
    for _ in range(times):
        manager.consider("push wall", lambda: NO)
        play(manager, "push wall", in_vain=in_vain)


def test_rejection_is_kept_until_the_turn_ends():
    manager = a_manager()
    rejection = Rejection("push wall", "It was tried.", "model", -0.8)
    assert manager.consider("push wall", lambda: NO) == rejection
    assert manager.of_turn() == (rejection,)
    play(manager, "look", in_vain=False)
    assert manager.of_turn() == ()


def test_score_of_the_action_is_kept_until_the_turn_ends():
    manager = a_manager()
    manager.consider("push wall", lambda: NO)
    manager.consider("open door", lambda: CriticVerdict(True, "New.", "model", 0.6))
    manager.consider("look", lambda: YES)
    scores = [manager.score_of(action) for action in ("push wall", "open door", "look", "sing")]
    assert scores == [-0.8, 0.6, None, None]
    play(manager, "open door", in_vain=False)
    assert manager.score_of("open door") is None


def test_player_overrules_by_insisting():
    manager = a_manager()
    manager.consider("push wall", lambda: NO)
    assert manager.consider("push wall", lambda: NO) is None


def test_rejections_per_turn_are_limited():
    manager, questions = a_manager(), []

    def judge() -> CriticVerdict:
        questions.append(1)
        return NO

    rejections = [manager.consider(f"push wall {number}", judge) for number in range(5)]
    assert [rejection is not None for rejection in rejections] == [True, True, True, False, False]
    assert len(questions) == 3


def test_judge_with_many_errors_is_not_obeyed():
    manager = a_manager()
    overruled(manager, 4, in_vain=False)
    assert manager.trust("model") < LEAST_TRUST
    assert manager.consider("push wall", lambda: NO) is None
    assert manager.of_turn() == (Rejection("push wall", "It was tried.", "model", -0.8, obeyed=False),)


def test_trust_is_kept_per_judge_and_can_be_regained():
    manager = a_manager()
    overruled(manager, 4, in_vain=False)
    manager.game_state.reset_episode(2, manager.game_state.experience)
    manager.reset()
    assert manager.trust("model") < LEAST_TRUST < manager.trust("story")
    overruled(manager, 6, in_vain=True)
    assert manager.trust("model") >= LEAST_TRUST
    assert manager.get_status() == {
        "type": "rejection",
        "metrics": {"rejected": 6, "overruled": 6, "trust": {"model": 0.643}},
    }


def test_rejection_was_right_if_the_action_ended_the_game_or_broke_the_interpreter():
    manager = a_manager()
    for ending in ({"finished": True}, {"died": True}, {"fault": "It hung."}):
        manager.consider("push wall", lambda: NO)
        step = Transition(HERE, "push wall", "", THERE, **ending)
        record = TurnRecord(1, 1, step, "", "model", "", rejections=manager.of_turn())
        manager.game_state.add_experience(record)
        manager.process_turn(record)
    assert manager.trust("model") == 6 / 7


def test_accepted_action_does_not_affect_trust():
    manager = a_manager()
    assert manager.consider("push wall", lambda: YES) is None
    play(manager, "push wall", in_vain=True)
    assert manager.get_status()["metrics"] == {"rejected": 0, "overruled": 0, "trust": {}}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=30))
def test_turn_always_ends(proposals):
    manager = a_manager()
    rejections = [manager.consider(action, lambda accepted=ok: YES if accepted else NO) for action, ok in proposals]
    assert sum(rejection is not None for rejection in rejections) <= 3

"""Tests of room descriptions seen some turns ago."""

import pytest

from tests.fixtures.runs import a_walkthrough

pytestmark = pytest.mark.slow


def shown(run) -> tuple[str | None, int | None]:
    context = run.managers.context.player_context(run.services.game.observe(), "")
    return context.room_description, context.room_description_age


def test_opening_describes_the_first_room(tmp_path):
    with a_walkthrough(tmp_path, *["wait"] * 11) as run:
        run.reset_episode()
        opening, age = shown(run)
        assert opening == run.services.game.reset()
        assert age == 0
        ages = []
        for _ in range(11):
            run.process_turn()
            ages.append(shown(run)[1])
        assert ages == [*range(1, 11), None]
        assert shown(run) == (None, None)


@pytest.mark.parametrize("look", ["look", "l", "LOOK"])
def test_look_and_arrival_renew_the_description(tmp_path, look):
    with a_walkthrough(tmp_path, "wait", look, "north", "inventory") as run:
        run.reset_episode()
        run.process_turn()
        looked = run.process_turn().transition.response
        assert shown(run) == (looked, 0)
        arrived = run.process_turn().transition.response
        assert shown(run) == (arrived, 0)
        run.process_turn()
        assert shown(run) == (arrived, 1)

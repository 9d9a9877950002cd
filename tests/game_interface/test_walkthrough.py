"""Tests of whole stories from start to end."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.walkthrough import (
    BUNDLED_SEED,
    ZORK1_SEED,
    bundled_story_path,
    get_bundled_walkthrough,
    get_zork1_walkthrough,
    replay_walkthrough,
)

pytestmark = pytest.mark.slow


def test_zork_walkthrough_has_correct_locations_and_scores(zork1):
    from jericho import FrotzEnv

    direct = FrotzEnv(str(zork1), seed=ZORK1_SEED)
    direct.reset()
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        for command in get_zork1_walkthrough():
            played = game.act(command)
            _, _, _, info = direct.step(command)
            # Jericho plays on after the story has quit, and counts one more move.
            assert (played.after.score, played.after.moves) == (info["score"], info["moves"] - played.finished)
            place = played.after.vehicle or played.after.location
            assert place.num == direct.get_player_location().num
            assert [item.num for item in played.after.inventory] == [item.num for item in direct.get_inventory()]
        assert (game.observe().score, game.get_max_score()) == (350, 350)
        assert (played.victory, played.finished, played.died) == (True, True, False)


def test_location_names_are_printed_by_the_game(zork1):
    seen = set()
    with JerichoInterface(zork1, seed=ZORK1_SEED) as game:
        for command in get_zork1_walkthrough():
            place = game.act(command).after.location
            saved = game.save_state()
            look = game.act("look")
            text = look.response
            game.restore_state(saved)
            if place not in seen and not look.finished and "pitch black" not in text and not text.startswith("look"):
                seen.add(place)
                assert text.startswith(place.name)
    assert len(seen) > 80


def test_bundled_story_is_won():
    with JerichoInterface(bundled_story_path(), seed=BUNDLED_SEED) as game:
        steps = replay_walkthrough(game, get_bundled_walkthrough())
        assert steps[-1].score == game.get_max_score() == 100
        assert (steps[-1].finished, steps[-1].died) == (True, False)
        assert game.act("look").victory
        assert [step for step in steps[:-1] if step.died or step.finished] == []

"""Test of a story of an unknown build, where the player object is found by moving."""

import pytest

from game_interface.core.jericho_interface import JerichoInterface
from tests.fixtures.stories import of_another_build


@pytest.mark.slow
def test_wandering_creature_is_not_taken_for_the_player(bundled_story, tmp_path):
    with (
        JerichoInterface(bundled_story) as known,
        JerichoInterface(of_another_build(bundled_story, tmp_path / "other.z5")) as other,
    ):
        known.reset()
        other.reset()
        assert other.observe().location == known.observe().location
        assert other.act("north").after.location == known.act("north").after.location

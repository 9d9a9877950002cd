"""Tests of a story that declares attributes and globals before those of the library."""

from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface

STORY = Path(__file__).parents[1] / "stories" / "preface.z5"


def test_attributes_and_globals_are_found_after_the_storys_own() -> None:
    with JerichoInterface(str(STORY)) as game:
        game.reset()

        closed = game.act("take tin")
        opened = game.act("open tin")

        profile = game.profile
        assert (profile.attributes["animate"], profile.location_global) == (3, 3)
        assert [item.name for item in closed.after.carried or ()] == ["round tin"]
        assert [change.attribute for change in opened.changed] == ["open"]


def test_contents_of_a_thing_that_is_not_a_container_are_not_visible() -> None:
    with JerichoInterface(str(STORY)) as game:
        game.reset()
        game.act("take tin")

        opened = game.act("open tin")

        assert [item.name for item in opened.after.carried or ()] == ["round tin", "fruit cake"]

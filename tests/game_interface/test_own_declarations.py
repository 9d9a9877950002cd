"""A story that declares attributes and globals of its own before the library, so that the library's follow them."""

from pathlib import Path

from game_interface.core.jericho_interface import JerichoInterface

STORY = Path(__file__).parents[1] / "stories" / "preface.z5"


def test_states_and_globals_are_found_after_the_story_s_own() -> None:
    with JerichoInterface(str(STORY)) as game:
        game.reset()

        closed = game.act("take tin")
        opened = game.act("open tin")

        profile = game.profile
        assert (profile.attributes["animate"], profile.location_global) == (3, 3)
        assert [item.name for item in closed.after.carried or ()] == ["round tin"]
        assert [change.attribute for change in opened.changed] == ["open"]


def test_what_lies_in_a_thing_that_is_no_container_is_not_seen() -> None:
    with JerichoInterface(str(STORY)) as game:
        game.reset()
        game.act("take tin")

        opened = game.act("open tin")

        assert [item.name for item in opened.after.carried or ()] == ["round tin", "fruit cake"]

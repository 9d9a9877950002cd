"""The command `games`: what can be played, and how to bring more."""

import sys

from game_interface.story import FoundStory, list_stories
from zorkgpt.cli.display import console_for
from zorkgpt.cli.lines import printable

_BRING = """To bring a story of your own: put its file (.z3, .z5, .z8) into infrastructure/, or name it with --game.
Zork I to III are their publisher's; who owns a copy finds the story file in it."""


def show_games() -> None:
    """One line for each story file that is there, playable or not."""
    console = console_for(sys.stdout)
    for found in list_stories():
        console.print(printable(_line(found)))
    console.print(_BRING)


def _line(found: FoundStory) -> str:
    where = "bundled" if found.bundled else "found"
    if found.story is None:
        return f"{found.path.stem} ({where}, {found.path}): can't be played. {found.problem}"
    story = found.story
    title = story.title or found.path.stem
    return (
        f"{found.path.stem} ({where}): {title}, version {story.version}, release {story.release}, serial {story.serial}"
    )

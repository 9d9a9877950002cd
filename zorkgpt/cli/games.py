"""The command `games`: list the available stories and the folders of played stories."""

import sys
from collections.abc import Iterable
from pathlib import Path

from game_interface.core.coverage import StoryFact
from game_interface.core.jericho_interface import JerichoInterface
from game_interface.story import FoundStory, Story, list_stories
from session.game_configuration import GameConfiguration
from zorkgpt.cli.display import console_for
from zorkgpt.errors import ZorkGPTError
from zorkgpt.extras import IS_CHECKOUT
from zorkgpt.run_folder import episodes_in
from zorkgpt.runlog.story_folder import StoryFolder, story_folders
from zorkgpt.text import number_of, printable

_FOLDER = "copy its file (.z3, .z5, .z8) to infrastructure/, or " if IS_CHECKOUT else ""
_OWN_STORY_HINT = f"""To play your own story, {_FOLDER}pass it with --game.
Zork I to III are not included. If you own a copy, use its story file."""


def show_games() -> None:
    """Print each story file, including unplayable ones, and each folder of a played story."""
    console = console_for(sys.stdout)
    for found in list_stories():
        console.print(printable(_story_lines(found)), soft_wrap=True)
    for folder in story_folders(Path(GameConfiguration.load().zork_game_workdir)):
        console.print(printable(_folder_line(folder)), soft_wrap=True)
    console.print(_OWN_STORY_HINT)


def _story_lines(found: FoundStory) -> str:
    where = "bundled" if found.bundled else "found"
    if found.story is None:
        return f"{found.path.stem} ({where}, {found.path}): not playable. {found.problem}"
    story = found.story
    title = story.title or found.path.stem
    edition = f"version {story.version}, release {story.release}, serial {story.serial}"
    return f"{found.path.stem} ({where}): {title}, {edition}\n  {_facts(story)}"


def _facts(story: Story) -> str:
    try:
        with JerichoInterface(story=story) as game:
            return facts_line(game.facts)
    except (ZorkGPTError, ImportError) as error:
        return f"does not start: {error}"


def facts_line(facts: Iterable[StoryFact]) -> str:
    """Return one line with the known facts of a story and the consequences of the unknown ones."""
    facts = tuple(facts)
    known = "; ".join(f"{fact.subject}: {fact.known}" for fact in facts if fact.known is not None)
    unknown = "; ".join(f"{fact.subject} ({fact.consequence})" for fact in facts if fact.known is None)
    return f"known: {known}" + (f". Unknown: {unknown}" if unknown else "")


def _folder_line(folder: StoryFolder) -> str:
    episodes = number_of(len(episodes_in(folder.path)), "episode", "episodes")
    return f"played: {folder.mark}, {episodes} in {folder.path}"

"""The configuration with the folder of a story."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.errors import StoryFileNotFound, WorkdirError
from zorkgpt.run_folder import MARKER, RUNS
from zorkgpt.runlog.story_folder import StoryFolder, StoryMark, check_story, folder_for, read_mark, story_folders

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration

WorkdirOption = Annotated[
    Path | None,
    typer.Option("--workdir", help="Folder of memories, map and runs. [default: the story's folder in game_files]"),
]
SavedGameOption = Annotated[
    str | None, typer.Option("--game", help="Story file or name. [default: the last one played]")
]


def run_configuration(
    workdir: Path | None = None, game: str | None = None, *, make: bool = False
) -> "GameConfiguration":
    """Return the configuration with a folder, that of a game, or by default that of the story that was played last.

    If several stories were played, the choice is printed to standard error.

    Args:
        make: Create the folder of a story that was not played yet. Without `game`, that is the story that `play`
            would choose.

    Raises:
        ConfigurationError: If a setting is invalid.
        WorkdirError: If the folder belongs to another story, or the game was not played yet.
        StoryError: If there is no such game, or its file can't be used.
    """
    from session.game_configuration import GameConfiguration

    config = GameConfiguration.load()
    if workdir is not None and (_has_run(workdir, config) or not story_folders(workdir)):
        if game is not None and (mark := read_mark(workdir)):
            check_story(workdir, _story_named(game, [StoryFolder(workdir, mark)]))
        return config.with_workdir(workdir)
    root = Path(config.zork_game_workdir) if workdir is None else workdir
    folders = story_folders(root)
    if game is not None:
        story = _story_named(game, folders)
        folder = _folder_of(story, folders) or (_new_folder(story) if make else None)
        if folder is None:
            raise WorkdirError(f"{story} was not played yet in {root}. Choose another folder with --workdir.")
        return config.with_workdir(folder)
    if not folders:
        is_new = not (root / config.memory_file).exists()
        return config.with_workdir(_new_folder()) if make and is_new else config
    last = folders[0]
    if len({folder.mark.sha256 for folder in folders}) > 1:
        choice = f"Using {last.mark.name} ({last.path}), the last story played in {root}"
        typer.echo(f"zorkgpt: {choice}. Choose another with --game.", err=True)
    return config.with_workdir(last.path)


def _has_run(folder: Path, config: "GameConfiguration") -> bool:
    names = (MARKER, RUNS, config.memory_file, config.map_state_file)
    return any((folder / name).exists() for name in names)


def story_folder(config: "GameConfiguration", story: StoryMark) -> Path:
    """Return the story's folder in the configured working directory. Create it if needed.

    Raises:
        WorkdirError: If the working directory belongs to another story or can't be written.
    """
    return folder_for(
        Path(config.zork_game_workdir),
        story,
        files=config.kept_files,
        may_share=not config.names_workdir,
    )


def _new_folder(story: StoryMark | None = None) -> Path:
    from game_interface.story import find_story
    from session.game_configuration import GameConfiguration

    return story_folder(GameConfiguration.load(), story or StoryMark.of(find_story().summary()))


def _story_named(game: str, folders: list[StoryFolder]) -> StoryMark:
    """Find a story by its file, or by its folder name, title or file name."""
    from game_interface.story import find_story

    try:
        return StoryMark.of(find_story(game).summary())
    except StoryFileNotFound:
        found = {folder.mark.sha256: folder for folder in folders if game.casefold() in _names(folder)}
        if len(found) == 1:
            return next(iter(found.values())).mark
        known = ", ".join(folder.path.name for folder in found.values() or folders) or "nothing yet"
        what = "Several played stories are" if found else "No played story and no story file is"
        raise StoryFileNotFound(f"{what} called {game!r}. Played: {known}.") from None


def _names(folder: StoryFolder) -> set[str]:
    mark = folder.mark
    return {name.casefold() for name in (folder.path.name, mark.title or "", mark.file, Path(mark.file).stem) if name}


def _folder_of(story: StoryMark, folders: list[StoryFolder]) -> Path | None:
    return next((folder.path for folder in folders if folder.mark.sha256 == story.sha256), None)

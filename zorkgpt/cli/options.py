"""The options of the commands, and the configuration with the folder of a story that they name."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from zorkgpt.errors import StoryFileNotFound, WorkdirError
from zorkgpt.run_folder import MARKER, RUNS
from zorkgpt.runlog.story_folder import StoryFolder, StoryMark, check_story, folder_for, read_mark, story_folders

Options = TypeVar("Options")

WorkdirOption = Annotated[
    Path | None,
    typer.Option("--workdir", help="Folder of memories, map and runs. [default: the story's folder in game_files]"),
]
SavedGameOption = Annotated[
    str | None, typer.Option("--game", help="Story file or name. [default: the last one played]")
]
GameOption = Annotated[str | None, typer.Option("--game", help="Story file, or a name listed by `games`.")]
_ModelOption = Annotated[str | None, typer.Option("--model", help="Model name on the server.")]
_WalkthroughOption = Annotated[
    Path | None, typer.Option("--walkthrough", help="File with one command per line, for --player walkthrough.")
]


def as_command(run: Callable[..., None], command: Callable[..., None], parameters: list[Parameter]) -> Any:
    """Return a function with the name and docstring of a command, and with these parameters for Typer."""
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return run


def takes_options(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Return a decorator that turns the fields of a dataclass into the parameters of a Typer command."""
    hints = get_type_hints(kind, include_extras=True)
    parameters = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)  # type: ignore[arg-type]
    ]
    return lambda command: as_command(lambda **values: command(kind(**values)), command, parameters)


@dataclass(frozen=True)
class PlayOptions:
    """The options of `play`. None means that the configuration decides."""

    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Number of episodes. [default: 10 for rules, 1 for human and --resume, otherwise 2]"),
    ] = None
    max_turns: Annotated[
        int | None, typer.Option(help="Maximum turns per episode. [default: as configured, or 250 for rules]")
    ] = None
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Newest episodes that stay resumable. Older logs are compressed. [default: 20]"),
    ] = None
    game: GameOption = None
    seed: Annotated[int | None, typer.Option(min=1, help="Random seed for the interpreter. [default: 1]")] = None
    player: Annotated[
        str | None,
        typer.Option(
            help="auto, model, plain (a model that sees only the transcript), rules (no model), walkthrough or human. "
            "[default: auto]"
        ),
    ] = None
    model: _ModelOption = None
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible server, such as http://localhost:11434/v1")
    ] = None
    walkthrough: _WalkthroughOption = None
    workdir: WorkdirOption = None
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Disable memory and knowledge.")] = False
    max_cost: Annotated[float | None, typer.Option(help="Maximum cost of all model calls in this run.")] = None
    max_tokens: Annotated[int | None, typer.Option(help="Maximum tokens of all model calls in this run.")] = None
    delay: Annotated[float | None, typer.Option(help="Pause after each turn, in seconds.")] = None
    view: Annotated[bool, typer.Option("--view", help="Open a live view in the browser.")] = False
    resume: Annotated[
        str | None, typer.Option(metavar="[N]", help="Resume the last interrupted episode, or episode N.")
    ] = None
    """The number of an episode, or "last". None starts a new episode."""
    replay: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Replay the run in this folder with its recorded answers.")
    ] = None
    synchronous: Annotated[
        bool, typer.Option("--synchronous", help="Wait for every model answer before the next turn.")
    ] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the summary.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False

    @property
    def display(self) -> Literal["live", "quiet", "json"]:
        """The output: every turn, the summary, or the summary as JSON."""
        return "json" if self.json else "quiet" if self.quiet else "live"


@dataclass(frozen=True)
class EvalOptions:
    """The options of `eval`. None means that the protocol or the configuration decides."""

    protocol: Annotated[
        str,
        typer.Argument(help="tales-100, textquests-500, jericho-1000, jttl-50, learning-K or learning-KxT (T turns)."),
    ]
    games: Annotated[list[str] | None, typer.Option(help="Story file or name. Can be repeated.")] = None
    seeds: Annotated[
        str | None, typer.Option(help="Random seeds, such as 1-10 or 1,2,7. [default: set by the protocol]")
    ] = None
    ablate: Annotated[
        str | None,
        typer.Option(
            help="Ablations to add, comma-separated: off, plain, shuffled, frozen, no-classes, no-audit; or all."
        ),
    ] = None
    player: Annotated[str | None, typer.Option(help="auto, model, plain, rules or walkthrough.")] = None
    model: _ModelOption = None
    base_url: Annotated[str | None, typer.Option(help="OpenAI-compatible server.")] = None
    walkthrough: _WalkthroughOption = None
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of parallel runs. [default: number of CPUs]")] = None
    ray: Annotated[str | None, typer.Option(help="Address of a Ray cluster; `local` starts one on this machine.")] = (
        None
    )
    limit: Annotated[float | None, typer.Option(min=1, help="Timeout of a run, in seconds.")] = None
    out: Annotated[
        str | None,
        typer.Option(help="Folder or object store URL for runs and results. [default: game_files/evaluations/…]"),
    ] = None
    no_pages: Annotated[bool, typer.Option("--no-pages", help="Skip the HTML page of each run.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False


@dataclass(frozen=True)
class ViewOptions:
    """The options of `view`."""

    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN", help="Story folder, or an episode folder below runs/. Several are shown side by side."
        ),
    ] = None
    workdir: WorkdirOption = None
    game: GameOption = None
    host: Annotated[
        str | None, typer.Option(help="Listen on this address, so that other machines with the token can connect.")
    ] = None
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port. [default: 8765, or a free port]")] = None
    edit: Annotated[bool, typer.Option("--edit", help="Allow editing, pinning and hiding memories.")] = False
    export: Annotated[Path | None, typer.Option(help="Write a single HTML file instead of serving.")] = None
    episodes: Annotated[str | None, typer.Option(help="Episodes to export, such as 3-7 or 1,4-6.")] = None


if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration


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

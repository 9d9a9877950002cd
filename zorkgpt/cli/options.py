"""The options of `play`, `eval` and `view`, as dataclasses whose fields are annotated for Typer."""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from zorkgpt.cli.paths import WorkdirOption

Options = TypeVar("Options")

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

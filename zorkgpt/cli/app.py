"""The commands and their options; the code behind a command is imported when it runs."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from zorkgpt.cli.paths import WorkdirOption
from zorkgpt.cli.process import ExitCode, announce_start
from zorkgpt.errors import LLMUnreachable, ZorkGPTError
from zorkgpt.extras import IS_CHECKOUT, extra_of, require
from zorkgpt.text import printable

_FIRST_STEPS = """Play interactive fiction with an agent that learns across episodes.

\b
First steps:
  {command}                          play five fast episodes without a model
  {command} --view                   the same, with a live view in the browser
  {command} --player human           play yourself
  {command} --model M --base-url URL play with a model
  {command} --game FILE              play another story
  {command} doctor                   check the installation"""


class _CommandGroup(TyperGroup):
    """The commands. `play` is the default, so the help lists its options too."""

    # Typer has its own copy of Click or the real one, by its version: the contexts are of either.

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        self.help = _FIRST_STEPS.format(command="uv run python main.py" if IS_CHECKOUT else "zorkgpt")
        super().format_help_text(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        rows = [option.get_help_record(ctx) for option in self.commands["play"].get_params(ctx)]
        with formatter.section("Options of play (the default command)"):
            formatter.write_dl([row for row in rows if row and not row[0].startswith("-h")])


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"zorkgpt {version('zorkgpt')}")
        raise typer.Exit


app = typer.Typer(
    name="zorkgpt",
    cls=_CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

GameOption = Annotated[str | None, typer.Option("--game", help="Story file, or a name listed by `games`.")]
PLAY_WORDS = ("-h", "--help", "--version")


def _player_kind(name: str | None) -> str | None:
    return "rules" if name == "offline" else name


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Global options."""


@app.command()
def play(
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes",
            min=1,
            help="Number of episodes. [default: 5 for rules, 1 for human and --resume, otherwise 2]",
        ),
    ] = None,
    max_turns: Annotated[int | None, typer.Option("--max-turns", help="Maximum turns per episode.")] = None,
    game: GameOption = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=1, help="Random seed for the interpreter. [default: 1]")
    ] = None,
    player: Annotated[
        str | None,
        typer.Option(
            "--player",
            callback=_player_kind,
            help="auto, model, rules (no model), walkthrough or human. [default: auto]",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model name on the server.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="OpenAI-compatible server, such as http://localhost:11434/v1")
    ] = None,
    walkthrough: Annotated[
        Path | None, typer.Option("--walkthrough", help="File with one command per line, for --player walkthrough.")
    ] = None,
    workdir: WorkdirOption = None,
    explore: Annotated[
        str | None, typer.Option("--explore", help="none, or return: start from a state reached in an earlier episode.")
    ] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Disable memory and knowledge.")] = False,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="Maximum cost of all model calls in this run.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Maximum tokens of all model calls in this run.")
    ] = None,
    delay: Annotated[float | None, typer.Option("--delay", help="Pause after each turn, in seconds.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Open a live view in the browser.")] = False,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="[N]", help="Resume the last interrupted episode, or episode N."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the summary.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print only the summary, as JSON.")] = False,
) -> None:
    """Play episodes and learn from them."""
    require("game")
    from zorkgpt.cli.play import PlayOptions, play_episodes

    options = PlayOptions(
        episodes=episodes,
        max_turns=max_turns,
        game=game,
        seed=seed,
        player=player,
        model=model,
        base_url=base_url,
        walkthrough=walkthrough,
        workdir=workdir,
        explore=explore,
        remember=not no_memory,
        max_cost=max_cost,
        max_tokens=max_tokens,
        delay_s=delay,
        view=view,
        resume=resume,
        display="json" if json_ else "quiet" if quiet else "live",
    )
    raise typer.Exit(play_episodes(options))


@app.command("view")
def show_page(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Story folder, or an episode folder below runs/. Several are shown side by side.",
        ),
    ] = None,
    workdir: WorkdirOption = None,
    game: GameOption = None,
    host: Annotated[
        str | None,
        typer.Option("--host", help="Listen on this address, so that other machines with the token can connect."),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="Port. [default: 8765, or a free port]")
    ] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Allow editing, pinning and hiding memories.")] = False,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write a single HTML file instead of serving.")
    ] = None,
    episodes: Annotated[
        str | None, typer.Option("--episodes", help="Episodes to export, such as 3-7 or 1,4-6.")
    ] = None,
) -> None:
    """Show a run in the browser, live or turn by turn."""
    from zorkgpt.cli.view import view_run

    view_run(runs or (), workdir=workdir, game=game, host=host, port=port, edit=edit, export=export, episodes=episodes)


@app.command("eval")
def evaluation(
    protocol: Annotated[
        str,
        typer.Argument(
            help="tales-100, textquests-500, jericho-1000, jttl-50, learning-K or learning-KxT (T turns), "
            "generations-GxE or generations-GxExT."
        ),
    ],
    games: Annotated[list[str] | None, typer.Option("--games", help="Story file or name. Can be repeated.")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="Random seeds, such as 1-10 or 1,2,7. [default: set by the protocol]")
    ] = None,
    ablate: Annotated[
        str | None,
        typer.Option(
            "--ablate", help="Ablations to add: off, shuffled, frozen, no-classes, no-audit (comma-separated), or all."
        ),
    ] = None,
    player: Annotated[
        str | None,
        typer.Option("--player", callback=_player_kind, help="auto, model, rules or walkthrough. [default: auto]"),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="Model name on the server.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="OpenAI-compatible server.")] = None,
    walkthrough: Annotated[
        Path | None, typer.Option("--walkthrough", help="File with one command per line, for --player walkthrough.")
    ] = None,
    explore: Annotated[str | None, typer.Option("--explore", help="none, or return.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            min=1,
            help="Number of parallel runs, or of parallel episodes per generation. [default: number of CPUs]",
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option("--ray", help="Address of a Ray cluster; `local` starts one on this machine."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", min=1, help="Timeout of a run, or of an episode of a generation, in seconds."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", help="Folder or object store URL for runs and results. [default: game_files/evaluations/…]"
        ),
    ] = None,
    no_pages: Annotated[bool, typer.Option("--no-pages", help="Skip the HTML page of each run.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure the effect of memory with a fixed protocol and ablations."""
    require("game")
    from zorkgpt.cli.evaluate import EvalOptions, evaluate

    options = EvalOptions(
        protocol=protocol,
        games=tuple(games or ()),
        seeds=seeds,
        ablations=ablate,
        player=player,
        model=model,
        base_url=base_url,
        walkthrough=walkthrough,
        explore=explore,
        jobs=jobs,
        ray=ray,
        limit_s=limit,
        out=out,
        pages=not no_pages,
        json=json_,
    )
    raise typer.Exit(evaluate(options))


@app.command()
def games() -> None:
    """List available stories."""
    from zorkgpt.cli.games import show_games

    show_games()


@app.command()
def doctor(workdir: WorkdirOption = None, game: GameOption = None) -> None:
    """Check the installation and suggest fixes."""
    from zorkgpt.cli.doctor import examine

    raise typer.Exit(examine(workdir, game))


@app.command("mcp")
def serve_memories(
    memories: Annotated[
        str,
        typer.Option("--memories", help="Memory file, its folder, or a postgresql:// address."),
    ],
    host: Annotated[str | None, typer.Option("--host", help="Serve HTTP on this address instead of stdio.")] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="HTTP port, with --host.")] = 8766,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="ZORKGPT_MCP_TOKEN",
            help="Bearer token that HTTP requests need. Required unless --host is local.",
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Reject all changes.")] = False,
) -> None:
    """Serve memories to agents over the Model Context Protocol (MCP)."""
    from zorkgpt.cli.mcp import serve_memory

    serve_memory(memories, host=host, port=port, token=token, read_only=read_only)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code. Our own errors are printed without a traceback."""
    _mount_groups()
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in PLAY_WORDS):
        arguments = ["play", *arguments]
    if arguments[0] == "play" and not {"-h", "--help"} & set(arguments):
        announce_start()
    try:
        app(_with_resume_value(arguments), prog_name="zorkgpt")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else ExitCode.OK
    except LLMUnreachable as error:
        return _complain(str(error), ExitCode.MODEL_UNREACHABLE)
    except ZorkGPTError as error:
        return _complain(str(error), ExitCode.BAD_INPUT)
    except ModuleNotFoundError as error:
        if (missing := extra_of(error)) is None:
            raise
        return _complain(str(missing), ExitCode.BAD_INPUT)
    except OSError as error:
        # Writing to the output failed: errors of other files are ours and name the file.
        return _complain(str(error), ExitCode.EPISODE_FAILED)
    return ExitCode.OK


def _with_resume_value(arguments: list[str]) -> list[str]:
    """Give `--resume` its default value: Typer has no options whose value is optional."""
    following = [*arguments[1:], ""]
    return [
        "--resume=last" if argument == "--resume" and not after.isdecimal() else argument
        for argument, after in zip(arguments, following, strict=True)
    ]


def _mount_groups() -> None:
    from zorkgpt.cli.map import app as map_
    from zorkgpt.cli.memory_changes import app as memories

    app.add_typer(memories, name="memories", help="Inspect and edit memories.")
    app.add_typer(map_, name="map", help="Show and export the map.")


def _complain(message: str, code: int) -> int:
    typer.echo(f"zorkgpt: {printable(message)}", err=True)
    return code

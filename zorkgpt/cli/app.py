"""The commands and their options. The code of a command is imported when it runs."""

from functools import cache, partial
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from zorkgpt.cli.options import EvalOptions, GameOption, PlayOptions, ViewOptions, WorkdirOption, takes_options
from zorkgpt.cli.process import ExitCode, announce_start
from zorkgpt.errors import LLMUnreachable, ZorkGPTError
from zorkgpt.extras import IS_CHECKOUT, extra_of, require
from zorkgpt.text import printable

_FIRST_STEPS = """Play interactive fiction with an agent that learns across episodes.

\b
First steps:
  {command}                          play ten fast episodes without a model
  {command} --view                   the same, with a live view in the browser
  {command} --player human           play yourself
  {command} --model M --base-url URL play with a model
  {command} --game FILE              play another story
  {command} doctor                   check the installation"""


class _CommandGroup(TyperGroup):
    """The commands. `play` is the default, so the help lists its options too."""

    # Depending on its version, Typer uses its own copy of Click or the real one. Both have their own context class.

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

PLAY_WORDS = ("-h", "--help", "--version")


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Global options."""


@app.command()
@takes_options(PlayOptions)
def play(options: PlayOptions) -> None:
    """Play episodes and learn from them."""
    require("game")
    from zorkgpt.cli.play import play_episodes

    raise typer.Exit(play_episodes(options))


@app.command("view")
@takes_options(ViewOptions)
def show_page(options: ViewOptions) -> None:
    """Show a run in the browser, live or turn by turn."""
    from zorkgpt.cli.view import view_run

    view_run(options)


@app.command("eval")
@takes_options(EvalOptions)
def evaluation(options: EvalOptions) -> None:
    """Measure the effect of memory with a fixed protocol and ablations."""
    require("game")
    from zorkgpt.cli.evaluate import evaluate

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
    memories: Annotated[str, typer.Option(help="Memory file, its folder, or a postgresql:// address.")],
    host: Annotated[str | None, typer.Option(help="Serve HTTP on this address instead of stdio.")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="HTTP port, with --host.")] = 8766,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ZORKGPT_MCP_TOKEN", help="Bearer token that HTTP requests need. Required unless --host is local."
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Reject all changes.")] = False,
    scope: Annotated[
        str | None, typer.Option(help="Serve only the places below this path, a JSON array such as '[\"acme\", 7]'.")
    ] = None,
) -> None:
    """Serve memories to agents over the Model Context Protocol (MCP)."""
    from zorkgpt.adapters.mcp import serve
    from zorkgpt.memory.agent_memory import AgentMemory
    from zorkgpt.memory.scope import parse_scope

    with AgentMemory.open(memories, scope=parse_scope(scope) if scope is not None else None) as memory:
        # Standard output belongs to the protocol.
        report = partial(typer.echo, err=True)
        serve(memory, host=host, port=port, token=token, read_only=read_only, ready=report)


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
        return _report_error(str(error), ExitCode.MODEL_UNREACHABLE)
    except ZorkGPTError as error:
        return _report_error(str(error), ExitCode.BAD_INPUT)
    except ModuleNotFoundError as error:
        if (missing := extra_of(error)) is None:
            raise
        return _report_error(str(missing), ExitCode.BAD_INPUT)
    except OSError as error:
        # Writing to standard output failed. Errors with other files are raised as FileError.
        return _report_error(str(error), ExitCode.EPISODE_FAILED)
    return ExitCode.OK


def _with_resume_value(arguments: list[str]) -> list[str]:
    """Return the arguments with `--resume=last` for a bare `--resume`, since Typer has no optional values."""
    following = [*arguments[1:], ""]
    return [
        "--resume=last" if argument == "--resume" and not after.isdecimal() else argument
        for argument, after in zip(arguments, following, strict=True)
    ]


@cache
def _mount_groups() -> None:
    """Add the commands that have subcommands. Done once, when a command is run."""
    from zorkgpt.cli.map import app as map_
    from zorkgpt.cli.memory_changes import app as memories

    app.add_typer(memories, name="memories", help="Inspect and edit memories.")
    app.add_typer(map_, name="map", help="Show and export the map.")


def _report_error(message: str, code: int) -> int:
    typer.echo(f"zorkgpt: {printable(message)}", err=True)
    return code

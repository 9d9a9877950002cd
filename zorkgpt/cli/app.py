"""The commands and their options; the code behind a command is imported when it runs."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from zorkgpt.cli.process import ExitCode, announce_start
from zorkgpt.errors import LLMUnreachable, ZorkGPTError
from zorkgpt.text import printable

_FIRST_STEPS = """A player of interactive fiction that learns across episodes.

\b
First steps:
  {command}                          play five fast episodes, without a model
  {command} --view                   the same, shown in the browser too
  {command} --player human           play yourself
  {command} --model M --base-url URL let a model play
  {command} --game FILE              play another story
  {command} doctor                   what works, and what is missing"""


class _Group(TyperGroup):
    """The commands; without one, `play`, and so its options are listed too."""

    # Typer has its own copy of Click or the real one, by its version: the contexts are of either.

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        from game_interface.story import IS_CHECKOUT

        self.help = _FIRST_STEPS.format(command="uv run python main.py" if IS_CHECKOUT else "zorkgpt")
        super().format_help_text(ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        rows = [option.get_help_record(ctx) for option in self.commands["play"].get_params(ctx)]
        with formatter.section("Options of play, also without naming it"):
            formatter.write_dl([row for row in rows if row and not row[0].startswith("-h")])


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"zorkgpt {version('zorkgpt')}")
        raise typer.Exit


app = typer.Typer(
    name="zorkgpt",
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Workdir = Annotated[
    Path | None,
    typer.Option(
        "--workdir", help="Where memories, map and runs are kept. [default: the story's own folder in game_files]"
    ),
]
Game = Annotated[str | None, typer.Option("--game", help="A story file, or the name of one that `games` lists.")]
PLAY_WORDS = ("-h", "--help", "--version")
_OF_THE_EXTRA_GAME = ("jericho", "networkx", "numpy")
_NEEDS_THE_EXTRA = "Playing and maps need {} too, which is not installed: pip install 'zorkgpt[game]'."


def _player_kind(name: str | None) -> str | None:
    return "rules" if name == "offline" else name


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command()
def play(
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes",
            min=1,
            help="How many episodes. [default: 5 without a model, 1 by hand, else 2; with --resume: that one]",
        ),
    ] = None,
    max_turns: Annotated[int | None, typer.Option("--max-turns", help="Turns an episode at most.")] = None,
    game: Game = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=1, help="Of the interpreter's random generator. [default: 1]")
    ] = None,
    player: Annotated[
        str | None,
        typer.Option(
            "--player", callback=_player_kind, help="auto, model, rules, walkthrough or human. [default: auto]"
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model that plays, as its server calls it.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="The model's server, OpenAI-compatible: http://localhost:11434/v1")
    ] = None,
    walkthrough: Annotated[
        Path | None, typer.Option("--walkthrough", help="Commands for --player walkthrough, one a line.")
    ] = None,
    workdir: Workdir = None,
    explore: Annotated[
        str | None, typer.Option("--explore", help="none, or return: go on from where an earlier episode was.")
    ] = None,
    no_memory: Annotated[bool, typer.Option("--no-memory", help="Remember nothing, know nothing.")] = False,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="What all models may cost in this run, as priced.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Tokens that all models may read and write in this run.")
    ] = None,
    delay: Annotated[float | None, typer.Option("--delay", help="Seconds to wait after each turn.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Show the run in the browser while it is played.")] = False,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="[N]", help="Go on with the last episode that was cut short, or with N."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the summary.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Only the summary, as JSON.")] = False,
) -> None:
    """Play episodes and learn from them."""
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
            help="A story's folder, or one episode's folder below its runs/; several are shown side by side.",
        ),
    ] = None,
    workdir: Workdir = None,
    game: Game = None,
    host: Annotated[
        str | None, typer.Option("--host", help="Serve other machines too, at this address; they need the token.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="[default: 8765, or a free one]")] = None,
    edit: Annotated[bool, typer.Option("--edit", help="Let the page edit, pin and hide memories.")] = False,
    export: Annotated[Path | None, typer.Option("--export", help="Write one HTML file instead of serving.")] = None,
    episodes: Annotated[
        str | None, typer.Option("--episodes", help="With --export: only these, such as 3-7 or 1,4-6.")
    ] = None,
) -> None:
    """Show a run in the browser, live or as it stood at any turn."""
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
    games: Annotated[
        list[str] | None, typer.Option("--games", help="A story file or name; may be given several times.")
    ] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", help="1-10, or 1,2,7. [default: the protocol's]")] = None,
    ablate: Annotated[
        str | None,
        typer.Option(
            "--ablate", help="Play these too: off, shuffled, frozen, no-classes, no-audit, separated by commas, or all."
        ),
    ] = None,
    player: Annotated[
        str | None,
        typer.Option("--player", callback=_player_kind, help="auto, model, rules or walkthrough. [default: auto]"),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model that plays, as its server calls it.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="The model's server, OpenAI-compatible.")] = None,
    walkthrough: Annotated[
        Path | None, typer.Option("--walkthrough", help="Commands for --player walkthrough, one a line.")
    ] = None,
    explore: Annotated[str | None, typer.Option("--explore", help="none, or return.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, help="Runs, or episodes of a generation, at the same time. [default: one a processor]"
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option("--ray", help="Play on the Ray cluster at this address; local: begin one on this machine."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option("--limit", min=1, help="Seconds after which a run, or an episode of a generation, is given up."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", help="A folder, or the URL of a store, for runs and results. [default: game_files/evaluations/…]"
        ),
    ] = None,
    no_pages: Annotated[bool, typer.Option("--no-pages", help="Write no page for each run.")] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Measure what memory is worth: many runs by a frozen protocol, with and without parts of it."""
    for package in _OF_THE_EXTRA_GAME:
        if find_spec(package) is None:
            # Said once, and not by each of the runs.
            raise ModuleNotFoundError(name=package)
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
    """What can be played, and how to bring a story of your own."""
    from zorkgpt.cli.games import show_games

    show_games()


@app.command()
def doctor(workdir: Workdir = None, game: Game = None) -> None:
    """What works, what is missing, and what to do about it."""
    from zorkgpt.cli.doctor import examine

    raise typer.Exit(examine(workdir, game))


@app.command("mcp")
def serve_memories(
    memories: Annotated[
        str,
        typer.Option("--memories", help="The memory file, the folder that holds it, or a postgresql:// address."),
    ],
    host: Annotated[
        str | None, typer.Option("--host", help="Serve HTTP at this address, instead of standard input and output.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="With --host.")] = 8766,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="ZORKGPT_MCP_TOKEN",
            help="What requests carry; needed beyond this machine. Only with --host.",
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let nobody change anything.")] = False,
) -> None:
    """Serve a memory to agents, by the Model Context Protocol."""
    from zorkgpt.cli.mcp import serve_memory

    serve_memory(memories, host=host, port=port, token=token, read_only=read_only)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; an error of ours is a message, never a traceback."""
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
        if error.name not in _OF_THE_EXTRA_GAME:
            raise
        return _complain(_NEEDS_THE_EXTRA.format(error.name), ExitCode.BAD_INPUT)
    except OSError as error:
        # It is about the output: errors of other files are errors of ours that name the file.
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

    app.add_typer(memories, name="memories", help="Look at what is remembered, and care for it.")
    app.add_typer(map_, name="map", help="Look at the map of what was walked.")


def _complain(message: str, code: int) -> int:
    typer.echo(f"zorkgpt: {printable(message)}", err=True)
    return code

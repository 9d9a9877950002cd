"""The commands of `map`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zorkgpt.bounded import saved_json
from zorkgpt.cli.options import SavedGameOption, WorkdirOption, run_configuration
from zorkgpt.errors import FileError, MapFileError
from zorkgpt.files import write_file

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from zorkgpt.world.graph import MapGraph

app = typer.Typer(
    invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)

Out = Annotated[Path | None, typer.Option("--out", help="File to write. [default: standard output]")]


@app.callback()
def overview(context: typer.Context, workdir: WorkdirOption = None, game: SavedGameOption = None) -> None:
    """Show, draw or export the map. Without a command: list the rooms."""
    if context.invoked_subcommand is not None:
        context.default_map = {context.invoked_subcommand: {"workdir": workdir, "game": game}}
        return
    path = _map_path(run_configuration(workdir, game))
    if not path.exists():
        typer.echo(f"No map yet: {path} does not exist. The map is written while playing.")
        return
    show(workdir, game)


@app.command()
def show(workdir: WorkdirOption = None, game: SavedGameOption = None, out: Out = None) -> None:
    """List every room with its exits, their certainty, and untried directions."""
    config = run_configuration(workdir, game)
    graph, here = _graph(config), _here(config)
    lines = [line for room_id in sorted(graph.rooms) for line in _room(graph, room_id, room_id == here)]
    _write("\n".join([*lines, _summary(graph)]) + "\n", out)


@app.command()
def svg(workdir: WorkdirOption = None, game: SavedGameOption = None, out: Out = None) -> None:
    """Draw the map as an SVG picture."""
    from zorkgpt.world.export import draw

    config = run_configuration(workdir, game)
    graph = _graph(config)
    _write(draw(graph, here=_here(config), dangers=graph.moves.deadly, untried=graph.frontiers()), out)


@app.command()
def graphml(workdir: WorkdirOption = None, game: SavedGameOption = None, out: Out = None) -> None:
    """Write the map as GraphML, for graph programs."""
    from zorkgpt.world.export import graphml as rendered

    _write(rendered(_graph(run_configuration(workdir, game))), out)


def _map_path(config: "GameConfiguration") -> Path:
    return Path(config.zork_game_workdir) / config.files.map_state_file


def _graph(config: "GameConfiguration") -> "MapGraph":
    """Read the map.

    Raises:
        MapFileError: If there is no map, or it can't be read.
    """
    from zorkgpt.world.graph import read_map

    path = _map_path(config)
    graph = read_map(path)
    if graph is None:
        raise MapFileError(f"There is no map at {path}. Choose a story with --game, or a folder with --workdir.")
    return graph


def _here(config: "GameConfiguration") -> int | None:
    """Return the location of the player at the end of the last episode, or None if unknown."""
    try:
        location_id: int | None = saved_json(Path(config.zork_game_workdir) / config.state_export_file)["location"][
            "id"
        ]
        return location_id
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _room(graph: "MapGraph", room_id: int, here: bool) -> list[str]:
    lines = [f"{room_id} {graph.rooms[room_id].name}{' (the player is here)' if here else ''}"]
    for name, connection in graph.connections.of(room_id).items():
        if len(connection.ends) > 1:
            ends = ", ".join(f"{end} {graph.rooms[end].name} {share:.0%}" for end, share in connection.shares.items())
        else:
            ends = f"{connection.leads_to} {graph.rooms[connection.leads_to].name}"
        kind = f", {connection.kind}" if connection.kind != "walked" else ""
        pruned = ", pruned" if graph.is_pruned(room_id, name) else ""
        lines.append(f"  {name} → {ends} ({connection.confidence:.0%} sure{kind}{pruned})")
    moves = {move: times for move, times in graph.moves.counts.items() if move.from_id == room_id}
    for move, times in moves.items():
        lines.append(f"  {move.way} ⇢ {move.to_id} {graph.rooms[move.to_id].name} ({move.kind}, {times}x)")
    moved = {move.way for move in moves}
    if untried := [way for way in graph.untried(room_id) if way not in moved]:
        lines.append(f"  not tried: {', '.join(untried)}")
    return lines


def _summary(graph: "MapGraph") -> str:
    connections, frontiers = sum(1 for _ in graph.connections), len(graph.frontiers())
    return f"Rooms: {len(graph.rooms)}. Exits: {connections}. Rooms with untried exits: {frontiers}."


def _write(text: str, out: Path | None) -> None:
    if out is None:
        # Room names come from the story, so replace control characters.
        typer.echo("".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text), nl=False)
        return
    try:
        write_file(out, text.encode("utf-8", "replace"))
    except FileError as error:
        raise MapFileError(f"{error} Name another file with --out.") from None
    typer.echo(f"Written to {out}.")
